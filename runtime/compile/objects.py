"""Kernel text to callable machine code: compiled by numba once, kept as object code, loaded by llvmlite.

A kernel is compiled, or loaded, on first use: a run needs about half of the kernels of a program. A warm process never
imports numba: it finds the object code of a kernel in the cache directory. The key is a digest of the text, the modules
that the text and the compiler import (`sources`), the name and signature, the versions of numba and llvmlite, and the
processor. A damaged or foreign entry is ignored and rebuilt. Entries are written atomically, so that two processes may
build the same one at once.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from vlang.errors import InternalError
from vlang.runtime.compile.kept import key_of, read_entry, write_entry
from vlang.runtime.compile.llvm import cpu, execution_engine, llvm
from vlang.runtime.compile.sources import sources_digest
from vlang.runtime.threads.tasks import completed

if TYPE_CHECKING:
    from vlang.runtime.compile.compile_numba import Compiler

__all__ = ["Kernel", "Kernels", "address_of", "compiled", "load_kernels"]

_NOTHING = ctypes.c_char * 0

_MAGIC = b"vlang kernels 2\n"

_CTYPES: dict[str, Any] = {
    "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
    "f32": ctypes.c_float, "f64": ctypes.c_double,
}  # fmt: skip


@dataclass(frozen=True)
class _Signature:
    """A parsed signature `i64(u32*, i64)`: the result ("void" or "i64") and the argument types ("u32*", "i64")."""

    result: str
    args: tuple[str, ...]

    @staticmethod
    @lru_cache(maxsize=256)
    def parse(text: str) -> _Signature:
        result, _, rest = text.partition("(")
        args = tuple(a.strip() for a in rest.rstrip(") ").split(",") if a.strip())
        if result not in ("void", "i64") or any(a.rstrip("*") not in _CTYPES for a in args):
            raise ValueError(f"not a kernel signature: {text!r}")
        return _Signature(result, args)


class Kernel:
    """Machine code as a callable. Arrays are passed as pointers (dtype and contiguity are checked), numbers as scalars.

    A call releases the GIL. The machine code is `int32 (void *result, void *unused, args...)`. address: of the code.
    wide: whether all arguments take 64 bits.
    """

    __slots__ = ("_checks", "_function", "address", "name", "wide")

    def __init__(self, name: str, address: int, signature: _Signature) -> None:
        self.name, self.address = name, address
        types = [ctypes.c_void_p if a.endswith("*") else _CTYPES[a] for a in signature.args]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *types)
        self._function = prototype(address)
        self.wide = all(a.endswith("*") or a in ("i64", "u64") for a in signature.args)
        self._checks = tuple(_dtype(a[:-1]) if a.endswith("*") else None for a in signature.args)

    def __call__(self, *args: Any) -> int:
        result = ctypes.c_int64(0)
        self.ended(self._function(ctypes.addressof(result), None, *self.words(args)))
        return result.value

    def words(self, args: Sequence[Any]) -> list[int | None]:
        """The arguments as passed: addresses and numbers. The arrays must stay alive until the kernel has run."""
        if len(args) != len(self._checks):
            raise TypeError(f"{self.name} takes {len(self._checks)} arguments, not {len(args)}")
        return [a if check is None else _address(self.name, a, check) for a, check in zip(args, self._checks)]

    def ended(self, status: int) -> None:
        """Raise InternalError unless the status means success."""
        if status:
            raise InternalError(f"kernel {self.name} stopped with status {status}")


@cache
def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(name.replace("f", "float").replace("i", "int") if name[0] != "u" else f"uint{name[1:]}")


def _address(name: str, array: Any, dtype: np.dtype[Any]) -> int | None:
    if array is None:
        return None
    if isinstance(array, int):
        return array
    if array.dtype != dtype and not (dtype == np.uint8 and array.dtype == np.bool_):
        raise TypeError(f"{name}: an array of {dtype} is needed, not {array.dtype}")
    try:
        return address_of(array)
    except ValueError:
        raise TypeError(f"{name}: the array is not contiguous") from None


def address_of(array: NDArray[Any]) -> int:
    """The address of a contiguous array, four times faster than NumPy's own. Raises ValueError for other arrays."""
    try:
        return ctypes.addressof(_NOTHING.from_buffer(cast(Any, array)))
    except TypeError:  # read-only, or not contiguous
        if not array.flags.c_contiguous:
            raise ValueError("not contiguous") from None
        return int(array.ctypes.data)


class Kernels(Mapping[str, Kernel]):
    """The kernels of one text, by name; keeps the loaded code alive. Threads may share it."""

    def __init__(self, text: str, exports: Mapping[str, str]) -> None:
        self._text, self._key = text, ""  # the inputs of a cache key, without the kernel's name and types
        self._signatures = {name: _Signature.parse(signature) for name, signature in exports.items()}
        self._compiler: Compiler | None = None
        self._engine: Any = None
        self._kernels: dict[str, Kernel] = {}
        self._sizes: list[int] = []

    @property
    def compiled(self) -> tuple[int, ...]:
        """The size of the object code, in bytes, of each kernel that this object compiled."""
        return tuple(self._sizes)

    def __getitem__(self, name: str) -> Kernel:
        known = self._kernels.get(name)
        if known is None:
            signature = self._signatures[name]
            # numba and LLVM keep process-wide state, which an interrupt would leave inconsistent.
            known = completed(lambda: self._loaded_once(name, signature))
        return known

    def _loaded_once(self, name: str, signature: _Signature) -> Kernel:
        with _lock:
            known = self._kernels.get(name)
            if known is None:
                known = self._kernels[name] = self._load(name, signature)
            return known

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def prepare(self, names: Iterable[str]) -> None:
        """Load kernels now, and compile those that the cache lacks, so that no pass waits for them.

        An interrupt takes effect after the kernel that is being compiled.
        """
        for name in names:
            self[name]

    def _load(self, name: str, signature: _Signature) -> Kernel:
        if not self._key:
            self._key = key_of(self._text, sources_digest(self._text), *_environment())
        key = key_of(self._key, name, signature.result, *signature.args)
        data = read_entry(key, "kernels", _MAGIC)
        symbol = f"vlang_{key[:12]}_{name}"
        if data is None:
            data = self._compile(name, signature, symbol)
            self._sizes.append(len(data))
            write_entry(key, "kernels", _MAGIC, data)
        if self._engine is None:
            self._engine = execution_engine()
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()
        address = self._engine.get_function_address(symbol)
        if not address:
            raise InternalError(f"kernel {name} is not in the object code")
        return Kernel(name, address, signature)

    def _compile(self, name: str, signature: _Signature, symbol: str) -> bytes:
        if self._compiler is None:
            from vlang.runtime.compile.compile_numba import Compiler  # start-up

            self._compiler = Compiler(self._text)
        return self._compiler.object_code(name, signature.result, signature.args, symbol)


_lock = threading.RLock()
_loaded: dict[str, Kernels] = {}
_MOST_SEEN = 256
_seen: dict[tuple[int, int], tuple[str, Mapping[str, str], Kernels]] = {}  # by identity; values keep the objects


def _wait_for_compiler() -> None:
    """Wait for a kernel that is still being compiled after an interrupt: a process must not end or fork meanwhile."""
    with _lock:
        pass


atexit.register(_wait_for_compiler)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def load_kernels(text: str, exports: Mapping[str, str]) -> Kernels:
    """The functions named in `exports`, compiled from a Python module's `text` when they are first looked up.

    exports: function name -> signature such as `"void(u32*, i64, f32*)"`; result `void` or `i64`; scalars and
    pointers of i8..i64, u8..u64, f32, f64. In the text a pointer is indexed with int64. Looking a function up raises
    InternalError if numba rejects the text: kernels are written by vlang, so that is a bug of vlang.
    """
    seen = _seen.get((id(text), id(exports)))
    if seen is not None:
        return seen[2]
    key = key_of(text, json.dumps(dict(exports), sort_keys=True))
    with _lock:
        kernels = _loaded.get(key)
        if kernels is None:
            kernels = _loaded[key] = Kernels(text, exports)
        if len(_seen) >= _MOST_SEEN:
            _seen.clear()
        _seen[id(text), id(exports)] = text, exports, kernels
    return kernels


def compiled() -> tuple[int, ...]:
    """The size of the object code, in bytes, of each kernel that this process has compiled so far."""
    with _lock:
        return tuple(size for kernels in _loaded.values() for size in kernels.compiled)


@cache
def _environment() -> tuple[str, ...]:
    """The versions and the processor that object code depends on."""
    return (_numba_version(), llvm.llvm_version_info.__repr__(), *cpu())


def _numba_version() -> str:
    """Text that differs between versions of numba.

    A release has a file with its version. It is read instead of the metadata of the package, since the library that
    reads those takes 11 ms to load, and instead of numba, which takes half a second.
    """
    found = find_spec("numba")
    if found is None or found.origin is None:
        raise InternalError("numba is not installed; vlang needs it to compile programs: pip install numba")
    with suppress(OSError):
        text = Path(found.origin).with_name("_version.py").read_text(encoding="utf-8")
        if "version_json" in text:
            return text
    from importlib.metadata import version  # start-up

    return version("numba")

"""Kernels: functions of a kernel text. numba compiles them, the cache keeps their object code, and llvmlite loads it.

A kernel is compiled or loaded on first use, because a run needs only about half of the kernels of a program. If all
kernels are in the cache directory, a process never imports numba. Under a memory budget another process compiles
(`apart`). The cache key is a digest of the kernel text, of all modules that the text and the compiler import
(`sources`), and of the name and signature of the kernel. The key also covers the versions of numba and LLVM, and the
processor. An invalid entry is ignored and written again. Entries are written atomically, so two processes may compile
the same kernel at the same time.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vlang.errors import CacheWarning, InternalError
from vlang.records import dataclass
from vlang.runtime.compile.kept import key_of, read_entry, write_entry
from vlang.runtime.compile.llvm import cpu, execution_engine, haste, in_haste, llvm
from vlang.runtime.compile.sources import sources_digest
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.threads.activity import step
from vlang.runtime.threads.tasks import completed

if TYPE_CHECKING:
    from vlang.runtime.compile.compile_numba import Compiler

__all__ = ["Kernel", "Kernels", "address_of", "compiled", "load_kernels"]

_NOTHING = ctypes.c_char * 0
_UNUSED = ctypes.c_int64(0)  # what kernels without a result write there is not read
_UNUSED_AT = ctypes.addressof(_UNUSED)

_MAGIC = b"vlang kernels 2\n"

_CTYPES: dict[str, Any] = {
    "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
    "f32": ctypes.c_float, "f64": ctypes.c_double,
}  # fmt: skip


@dataclass(frozen=True)
class _Signature:
    """A parsed signature such as `i64(u32*, i64)`: the result type ("void" or "i64") and the argument types."""

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
    """A compiled kernel that Python can call. A call releases the GIL.

    Arrays are passed as pointers, after a check of dtype and contiguity. Numbers are passed as scalars. In C the
    function is `int32 f(void *result, void *unused, args...)`.

    Attributes:
        address: the address of the machine code.
        wide: whether all arguments have 64 bits.
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
        words = self.words(args)
        result = ctypes.c_int64(0)
        self.ended(self._function(ctypes.addressof(result), None, *words))
        return result.value

    def at(self, *words: int) -> None:
        """Call a kernel without result, with addresses in place of arrays. Nothing is checked; arrays must be alive."""
        status = self._function(_UNUSED_AT, None, *words)
        if status:
            self.ended(status)

    def words(self, args: Sequence[Any]) -> list[int | None]:
        """Convert arguments to addresses and numbers. The caller must keep the arrays alive until the kernel has run.
        """
        if len(args) != len(self._checks):
            raise TypeError(f"{self.name} takes {len(self._checks)} arguments, not {len(args)}")
        return [a if check is None else _address(self.name, a, check) for a, check in zip(args, self._checks)]

    def ended(self, status: int) -> None:
        """Raise InternalError unless `status` is 0 (success)."""
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
    kind = array.dtype
    if kind is not dtype and kind != dtype and not (dtype == np.uint8 and array.dtype == np.bool_):
        raise TypeError(f"{name}: an array of {dtype} is needed, not {array.dtype}")
    try:
        return address_of(array)
    except ValueError:
        raise TypeError(f"{name}: the array is not contiguous") from None


def address_of(array: Any) -> int:
    """Return the address of an array. This function is four times faster than `array.ctypes`.

    Raises ValueError if the array is not contiguous.
    """
    try:
        return ctypes.addressof(_NOTHING.from_buffer(array))
    except TypeError:  # read-only, or not contiguous
        if not array.flags.c_contiguous:
            raise ValueError("not contiguous") from None
        return int(array.ctypes.data)


class Kernels(Mapping[str, Kernel]):
    """The kernels of one text, by name.

    A kernel is compiled, or loaded from the cache, when it is first used. The machine code stays in memory as long as
    this object. Several threads may use the object at the same time.
    """

    def __init__(self, text: str, exports: Mapping[str, str]) -> None:
        self._text, self._key = text, ""  # _key: digest of the inputs that all kernels share
        self._signatures = {name: _Signature.parse(signature) for name, signature in exports.items()}
        self._compiler: Compiler | None = None
        self._engine: Any = None
        self._kernels: dict[str, Kernel] = {}
        self._sizes: list[int] = []

    @property
    def compiled(self) -> tuple[int, ...]:
        """The size in bytes of the object code of each kernel that this object compiled."""
        return tuple(self._sizes)

    def __getitem__(self, name: str) -> Kernel:
        known = self._kernels.get(name)
        if known is None:
            signature = self._signatures[name]
            # numba and LLVM have global state, which an interrupt would leave inconsistent.
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
        """Load the named kernels now, so that no pass waits for a kernel.

        Kernels that are not in the cache are compiled.

        An interrupt takes effect when the compilation of the current kernel has ended.
        """
        for name in names:
            self[name]

    def _load(self, name: str, signature: _Signature) -> Kernel:
        if not self._key:
            self._key = key_of(self._text, sources_digest(self._text), *_environment(), str(in_haste(self._text)))
        key = key_of(self._key, name, signature.result, *signature.args)
        data = read_entry(key, "kernels", _MAGIC)
        symbol = f"vlang_{key[:12]}_{name}"
        if data is None:
            with step("compiling" if ledger.limit is None else "compiling in another process", name):
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
        if ledger.limit is not None:
            from vlang.runtime.compile.apart import Unavailable, object_code  # start-up

            try:
                return object_code(self._text, name, signature.result, signature.args, symbol)
            except Unavailable as error:
                _beside_budget(str(error))
        if self._compiler is None:
            from vlang.runtime.compile.compile_numba import Compiler  # start-up

            self._compiler = Compiler(self._text)
        return self._compiler.object_code(name, signature.result, signature.args, symbol)


_lock = threading.RLock()
_loaded: dict[str, Kernels] = {}
_MOST_SEEN = 256
_seen: dict[tuple[int, int, bool], tuple[str, Mapping[str, str], Kernels]] = {}  # by id(); values keep the objects


def _wait_for_compiler() -> None:
    """Wait until no thread compiles a kernel.

    After an interrupt, the process must not end or fork before the compilation has ended.
    """
    with _lock:
        pass


atexit.register(_wait_for_compiler)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def load_kernels(text: str, exports: Mapping[str, str]) -> Kernels:
    """Return the functions of a kernel text that `exports` lists. Each function is compiled at its first lookup.

    A lookup raises InternalError if numba rejects the text. A rejection is a bug of vlang, because vlang generates the
    text.

    Args:
        text: the source of a Python module. The text indexes pointers with int64.
        exports: the signature of each function by name, such as `"void(u32*, i64, f32*)"`. The result is `void` or
            `i64`; arguments are scalars of, or pointers to, i8..i64, u8..u64, f32 and f64.
    """
    quick = haste()
    seen = _seen.get((id(text), id(exports), quick))
    if seen is not None:
        return seen[2]
    key = key_of(text, json.dumps(dict(exports), sort_keys=True), str(quick))
    with _lock:
        kernels = _loaded.get(key)
        if kernels is None:
            kernels = _loaded[key] = Kernels(text, exports)
        if len(_seen) >= _MOST_SEEN:
            _seen.clear()
        _seen[id(text), id(exports), quick] = text, exports, kernels
    return kernels


@cache
def _beside_budget(reason: str) -> None:
    warnings.warn("kernels are compiled in this process, which takes some 200 MB beside the memory budget, as no other "
                  f"process can compile: {reason}; `vlang warm` compiles in advance", CacheWarning, stacklevel=3)


def compiled() -> tuple[int, ...]:
    """The size in bytes of the object code of each kernel that this process has compiled so far."""
    with _lock:
        return tuple(size for kernels in _loaded.values() for size in kernels.compiled)


@cache
def _environment() -> tuple[str, ...]:
    """The versions of numba and LLVM, and the processor. Object code depends on all three."""
    return (_numba_version(), llvm.llvm_version_info.__repr__(), *cpu())


def _numba_version() -> str:
    """A text that differs between versions of numba.

    The text is the contents of numba's `_version.py` if the file states the version, as in releases; otherwise the
    version number. Reading the file is faster than importing importlib.metadata (11 ms) or numba (half a second).
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

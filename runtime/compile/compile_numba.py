"""Compilation of kernel text to object code by numba.

This module is imported only when a kernel is not in the cache.
"""

from __future__ import annotations

import gc
import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import config, njit, types
from numba.core.errors import NumbaError

from vlang.errors import InternalError
from vlang.runtime.compile.common_functions import share
from vlang.runtime.compile.front_end import OPTIONS, link
from vlang.runtime.compile.llvm import in_haste, target_machine
from vlang.runtime.compile.shortcuts import shortcuts

__all__ = ["Compiler"]

_TYPES: dict[str, Any] = {
    "i8": types.int8, "i16": types.int16, "i32": types.int32, "i64": types.int64,
    "u8": types.uint8, "u16": types.uint16, "u32": types.uint32, "u64": types.uint64,
    "f32": types.float32, "f64": types.float64, "void": types.void,
}  # fmt: skip


def _with_room(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function with deep recursion from a stack frame that reserves stack memory for the callees (see below)."""
    return function(*args)


# CPython keeps the frames of functions in chunks of 16 KiB, and frees a chunk as soon as its first frame ends. If a
# loop deep inside numba makes calls across the end of a chunk, every call maps and unmaps memory (390,000 times in a
# test of 17 s). A frame that reserves space for _ROOM values gets a chunk that is large enough for the frames of all
# its callees. Untouched pages of the chunk take no memory. This saves up to a quarter of the compile time, depending
# on the call depth.
_ROOM = 1 << 15
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=_ROOM)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Disable garbage collection while a kernel is compiled, because collection would take a fifth of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _compiling() -> Iterator[None]:
    """Make numba compile even if NUMBA_DISABLE_JIT is set, because kernels can only run as machine code."""
    disabled, config.DISABLE_JIT = config.DISABLE_JIT, 0
    try:
        yield
    finally:
        config.DISABLE_JIT = disabled


class Compiler:
    """Compiles the functions of one kernel text on request. A function that several kernels call is typed only once,
    also if the kernels belong to several texts.

    Integer division by zero and similar errors yield the same values as in NumPy, so no kernel raises an exception.
    """

    def __init__(self, text: str) -> None:
        filename = f"<vlang kernels {hash(text):x}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        self._text, self._filename = text, filename
        self._namespace: dict[str, Any] = {}

    def object_code(self, name: str, result: str, args: tuple[str, ...], symbol: str) -> bytes:
        """Compile a function of the text to object code. Raises InternalError if numba rejects the text.

        Args:
            name: the name of the function in the text.
            result: the result type, "void" or "i64".
            args: the argument types, such as "u32*".
            symbol: the name of the function in the object code.
        """
        with _without_collections(), _compiling(), shortcuts():
            code: bytes = _with_room(self._object_code, name, result, args, symbol)
        return code

    def _object_code(self, name: str, result: str, args: tuple[str, ...], symbol: str) -> bytes:
        pointed = tuple(types.CPointer(_TYPES[a[:-1]]) if a.endswith("*") else _TYPES[a] for a in args)
        try:
            if not self._namespace:
                namespace: dict[str, Any] = {"__name__": "vlang_kernels"}
                exec(compile(self._text, self._filename, "exec"), namespace)
                share(namespace)
                self._namespace = namespace
            function = self._namespace[name]
            jit = njit(_TYPES[result](*pointed), nogil=True, boundscheck=False, **OPTIONS)
            made = jit(getattr(function, "py_func", function))
        except (NumbaError, SyntaxError, NameError, TypeError, KeyError) as error:
            raise InternalError(
                "numba rejected the code that vlang wrote; this is a bug in vlang, please report it with the program.\n"
                f"{error}"
            ) from error
        compiled = made.overloads[pointed]
        quick = in_haste(self._text)
        module = link(compiled.library, compiled.fndesc.llvm_func_name, symbol, quick)
        code: bytes = target_machine(quick).emit_object(module)
        return code

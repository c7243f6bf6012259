"""The allocator that NumPy uses under a memory budget: it calls the C library, and counts every large array.

NumPy allocates the data of arrays through a handler, a table of C functions (NEP 49). An array keeps its handler until
it is freed. The handler in this module updates the counters of a ledger (`vlang.runtime.storage.ledger`). An allocation
beyond the limit fails, so NumPy raises MemoryError before it touches the memory. Every large array is counted,
including temporary arrays, and Python code cannot bypass the count. The functions do not need the GIL, as NumPy
requires.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST", "LIMIT", "PEAK", "REFUSED", "USED", "WORDS", "capsule_of", "install", "return_at_once"]

USED, PEAK, LIMIT, REFUSED = range(4)
"""Indices of the int64 counters of a ledger: bytes in use, peak bytes in use, limit, size of the last refused request.
"""
WORDS = 8

LEAST = 1 << 16
"""Size in bytes of the smallest array that is counted."""
_HUGE = 1 << 22  # size in bytes of the smallest array for which NumPy asks for huge pages

_MMAP_THRESHOLD = -3  # a parameter of mallopt
_SET_HANDLER = 304  # index of PyDataMem_SetHandler in NumPy's table of functions (numpy/_core/code_generators)

_TEXT = f"""
declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare i64 @malloc_usable_size(ptr)
declare i32 @madvise(ptr, i64, i32)

define private i64 @take(ptr %words, i64 %size) {{
  %before = atomicrmw add ptr %words, i64 %size seq_cst
  %after = add i64 %before, %size
  %at_limit = getelementptr i64, ptr %words, i64 {LIMIT}
  %limit = load atomic i64, ptr %at_limit monotonic, align 8
  %grows = icmp sgt i64 %size, 0
  %over = icmp sgt i64 %after, %limit
  %refused = and i1 %grows, %over
  br i1 %refused, label %no, label %yes
no:
  %sunk = atomicrmw sub ptr %words, i64 %size seq_cst
  %at_refused = getelementptr i64, ptr %words, i64 {REFUSED}
  store atomic i64 %size, ptr %at_refused monotonic, align 8
  ret i64 0
yes:
  %at_peak = getelementptr i64, ptr %words, i64 {PEAK}
  %peak = atomicrmw max ptr %at_peak, i64 %after monotonic
  ret i64 1
}}

define private i64 @counted(ptr %data) {{
  %none = icmp eq ptr %data, null
  br i1 %none, label %small, label %look
look:
  %size = call i64 @malloc_usable_size(ptr %data)
  %large = icmp uge i64 %size, {LEAST}
  br i1 %large, label %full, label %small
full:
  ret i64 %size
small:
  ret i64 0
}}

define private ptr @kept(ptr %words, ptr %data) {{
  %size = call i64 @counted(ptr %data)
  %small = icmp eq i64 %size, 0
  br i1 %small, label %good, label %large
large:
  %fits = call i64 @take(ptr %words, i64 %size)
  %over = icmp eq i64 %fits, 0
  br i1 %over, label %bad, label %advise
bad:
  call void @free(ptr %data)
  ret ptr null
advise:
  %huge = icmp uge i64 %size, {_HUGE}
  br i1 %huge, label %pages, label %good
pages:
  %address = ptrtoint ptr %data to i64
  %up = add i64 %address, 4095
  %first = and i64 %up, -4096
  %skipped = sub i64 %first, %address
  %rest = sub i64 %size, %skipped
  %start = inttoptr i64 %first to ptr
  %ignored = call i32 @madvise(ptr %start, i64 %rest, i32 14)
  br label %good
good:
  ret ptr %data
}}

define ptr @vlang_malloc(ptr %words, i64 %size) {{
  %data = call ptr @malloc(i64 %size)
  %result = call ptr @kept(ptr %words, ptr %data)
  ret ptr %result
}}

define ptr @vlang_calloc(ptr %words, i64 %count, i64 %each) {{
  %data = call ptr @calloc(i64 %count, i64 %each)
  %result = call ptr @kept(ptr %words, ptr %data)
  ret ptr %result
}}

define ptr @vlang_realloc(ptr %words, ptr %data, i64 %size) {{
  %before = call i64 @counted(ptr %data)
  %large = icmp uge i64 %size, {LEAST}
  %wanted = select i1 %large, i64 %size, i64 0
  %more = sub i64 %wanted, %before
  %fits = call i64 @take(ptr %words, i64 %more)
  %over = icmp eq i64 %fits, 0
  br i1 %over, label %bad, label %try
bad:
  ret ptr null
try:
  %moved = call ptr @realloc(ptr %data, i64 %size)
  %failed = icmp eq ptr %moved, null
  %there = select i1 %failed, ptr %data, ptr %moved
  %after = call i64 @counted(ptr %there)
  %error = sub i64 %wanted, %after
  %mended = atomicrmw sub ptr %words, i64 %error seq_cst
  ret ptr %moved
}}

define void @vlang_free(ptr %words, ptr %data, i64 %size) {{
  %held = call i64 @counted(ptr %data)
  %left = atomicrmw sub ptr %words, i64 %held seq_cst
  call void @free(ptr %data)
  ret void
}}
"""


class _Allocator(ctypes.Structure):
    """`PyDataMemAllocator` of NumPy's C API."""

    _fields_ = (("ctx", ctypes.c_void_p), ("malloc", ctypes.c_void_p), ("calloc", ctypes.c_void_p),
                ("realloc", ctypes.c_void_p), ("free", ctypes.c_void_p))


class _Handler(ctypes.Structure):
    """`PyDataMem_Handler` of NumPy's C API."""

    _fields_ = (("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("allocator", _Allocator))


@cache
def _code() -> Any:
    """The LLVM execution engine that holds the machine code of this module until the process ends."""
    import llvmlite.binding as llvm  # start-up

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2, codemodel="jitdefault", jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_TEXT), machine)
    engine.finalize_object()
    return engine


@cache
def return_at_once() -> None:
    """From now on, let the C library return every large array to the system as soon as it is freed.

    By default the C library keeps freed blocks of up to 32 MB, which would count towards the memory of the process.
    """
    with suppress(OSError, AttributeError):  # a C library without mallopt
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, LEAST)


def capsule_of(words: NDArray[np.int64]) -> tuple[Any, object]:
    """A capsule for `install` whose arrays are counted in `words` (int64[WORDS]), and the handler inside the capsule.

    `words` and the handler must outlive all arrays that are allocated through the capsule.
    """
    handler = _Handler(b"vlang_counted", 1)
    handler.allocator = _Allocator(
        words.ctypes.data, *(_code().get_function_address(f"vlang_{name}")
                             for name in ("malloc", "calloc", "realloc", "free")))
    made = ctypes.pythonapi.PyCapsule_New
    made.restype, made.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return made(ctypes.addressof(handler), _NAME, None), handler


_NAME = b"mem_handler"  # a global, because a capsule stores only the address of its name


def install(capsule: Any) -> Any:
    """Let NumPy allocate through this handler in the current context (PEP 567); returns the previous handler's capsule.
    """
    found: Any = _set_handler()(capsule)
    return found


@cache
def _set_handler() -> Any:
    module = import_module("numpy.core._multiarray_umath" if np.__version__.startswith("1.") else
                           "numpy._core._multiarray_umath")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = pointer(module._ARRAY_API, None)
    address = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[_SET_HANDLER]
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address or 0)

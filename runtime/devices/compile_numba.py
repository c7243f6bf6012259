"""Kernel text to object code, by numba. Imported only when the cache has no entry."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from typing import Any

import llvmlite.binding as llvm
from numba import njit, types
from numba.core.errors import NumbaError

from vlang.runtime.devices.objects import target_machine
from vlang.runtime.errors import InternalError

_TYPES: dict[str, Any] = {
    "i8": types.int8, "i16": types.int16, "i32": types.int32, "i64": types.int64,
    "u8": types.uint8, "u16": types.uint16, "u32": types.uint32, "u64": types.uint64,
    "f32": types.float32, "f64": types.float64, "void": types.void,
}  # fmt: skip


def compile_object(
    text: str, exports: Mapping[str, tuple[str, tuple[str, ...]]], prefix: str
) -> tuple[bytes, dict[str, str]]:
    """Object code for the exported functions of `text`, and the symbol of each.

    Integer division by zero and the like follow NumPy, so that no kernel raises.
    """
    filename = f"<{prefix}kernels>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace: dict[str, Any] = {"__name__": "vlang_kernels"}
    try:
        exec(compile(text, filename, "exec"), namespace)
        modules = [
            _llvm_module(namespace[name], result, args, prefix + name) for name, (result, args) in exports.items()
        ]
    except (NumbaError, SyntaxError, NameError, TypeError) as error:
        raise InternalError(
            "numba rejected the code that vlang wrote; this is a bug in vlang, please report it with the program.\n"
            f"{error}"
        ) from error
    whole = modules[0]
    for module in modules[1:]:
        whole.link_in(module)
    return target_machine().emit_object(whole), {name: prefix + name for name in exports}


def _llvm_module(function: Any, result: str, args: tuple[str, ...], symbol: str) -> Any:
    """The optimised LLVM module of one function, with the function renamed to `symbol`."""
    pointed = tuple(types.CPointer(_TYPES[a[:-1]]) if a.endswith("*") else _TYPES[a] for a in args)
    signature = _TYPES[result](*pointed)
    options: dict[str, Any] = {
        "error_model": "numpy", "nogil": True, "boundscheck": False,
        "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
    }  # fmt: skip
    compiled = njit(signature, **options)(getattr(function, "py_func", function)).overloads[pointed]
    module = llvm.parse_assembly(compiled.library.get_llvm_str())
    for defined in list(module.functions):
        if defined.is_declaration:
            continue
        if defined.name == compiled.fndesc.llvm_func_name:
            defined.name = symbol
        else:
            defined.name = f"{symbol}.{defined.name}"
            defined.linkage = "internal"
    for variable in list(module.global_variables):
        if not variable.is_declaration:
            variable.name = f"{symbol}.{variable.name}"
            variable.linkage = "internal"
    return module

"""Shortcuts in numba, in force while a kernel is compiled. None of them changes the object code.

numba repeats much work for each function, operator and statement. Each shortcut replaces one function of numba by one
that has the same result for kernel text. `tests/devices/test_compile_numba.py` compares the object code with that of an
unchanged numba.

- For every operator, type inference first tries the rules of NumPy arrays, which refuse operands that are no arrays.
- For each rule that fails, numba formats an error message in colour, although one of the next rules succeeds.
- At each place in the text, numba infers anew the type of an operation such as i64 + i64, and looks for an attribute
  `__call__` of the operation.
- For each statement, numba enters a generator that adds the place to the message of an error.
- Before each function, numba looks through 20 modules for new rules.
- numba reports to listeners whenever a lock is taken. The locks of the compiler are taken for every call of LLVM.
- For each use of an operation, numba inspects the parameters of the function that writes its code.
- For each variable, numba asks LLVM for a size that only information for debuggers needs.
- When numba loads its functions on arrays, it also loads scipy.linalg to test for a BLAS.
- For each variable with several assignments, numba goes through all statements of the function twice.
- For each statement, numba saves and restores Python's filters of warnings.
- For each function, numba twice tries to import the module of kernels, which does not exist.
- numba searches each function for dictionaries, `with` and calls with `*`, also if its byte code has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from importlib.util import find_spec
from types import BuiltinFunctionType
from typing import Any

from numba import types
from numba.core import base, errors, event, funcdesc, interpreter, ir, lowering, ssa, typeinfer, utils
from numba.core.cgutils import alloca_once
from numba.core.targetconfig import TargetConfig
from numba.core.types.functions import BaseFunction
from numba.core.typing import context
from numba.core.typing.npydecl import NumpyRulesArrayOperator
from numba.np import linalg

__all__ = ["shortcuts"]

_of_arrays = NumpyRulesArrayOperator.generic


def _of_arrays_only(self: Any, args: Any, kws: Any) -> Any:
    """The rule of an operator on arrays. Without an array argument the rule does not apply; numba's own rule detects
    this late.
    """
    return _of_arrays(self, args, kws) if any(isinstance(arg, types.ArrayCompatible) for arg in args) else None


def _plain(self: Any, message: str, color: str | None = None, style: str | None = None) -> str:
    return message


_PLAIN_TYPES = (types.Number, types.Boolean, types.CPointer, types.IntegerLiteral, types.BooleanLiteral)
_call_type = BaseFunction.get_call_type
_known_calls: dict[Any, Any] = {}


def _known_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a call. For an operator on numbers and pointers, the type is inferred only once.

    Operations that numba compiles from Python text, such as `min`, depend on the options of the caller. Their code has
    another key than the operation itself.
    """
    operation = self.typing_key
    if kws or not all(isinstance(arg, _PLAIN_TYPES) for arg in args):
        return _call_type(self, context, args, kws)
    key = context, operation, tuple(self.templates), tuple(args)
    if key in _known_calls:
        return _known_calls[key]
    signature = _call_type(self, context, args, kws)
    if signature is not None and self._impl_keys[signature.args] is operation:
        _known_calls[key] = signature
    return signature


_refreshes = {base.BaseContext: base.BaseContext.refresh, context.BaseContext: context.BaseContext.refresh}
_refreshed: dict[int, int] = {}  # by id(); contexts of several functions share their registries


def _registered(one: Any) -> int:
    """The number of rules in all registries of a context."""
    return sum(len(getattr(registry, kind)) for registry, loader in one._registries.items()
               for kind in loader.registry_items)  # fmt: skip


def _refresher(kind: Any) -> Any:
    """`refresh` of a context, for a context whose registries have got new rules."""

    def refresh(self: Any) -> None:
        if _refreshed.get(id(self._registries)) != _registered(self):
            _refreshes[kind](self)
            _refreshed[id(self._registries)] = _registered(self)

    return refresh


_LOCKS = ("numba:compiler_lock", "numba:llvm_lock")
_start, _end = event.start_event, event.end_event


def _start_event(kind: str, data: Any = None) -> None:
    if kind not in _LOCKS:
        _start(kind, data)


def _end_event(kind: str, data: Any = None, exc_details: Any = None) -> None:
    if kind not in _LOCKS:
        _end(kind, data, exc_details)


def _plain_alloca(self: Any, name: str, lltype: Any, datamodel: Any = None) -> Any:
    """Reserve stack memory for a variable."""
    return alloca_once(self.builder, lltype, name=name, zfill=False)


def _values(self: Any) -> dict[str, Any]:
    """The values of all options, without a call of a property for each."""
    given = self._values
    return {name: given.get(name, option.default) for name, option in self.options.items()}


_attribute = context.BaseContext.resolve_getattr


_conversions: dict[Any, Any] = {}


def _known_attribute(self: Any, kind: Any, name: str) -> Any:
    """The type of an attribute. Functions have no attribute `__call__`, and that of a type such as i64 stays the same.
    """
    if name != "__call__":
        return _attribute(self, kind, name)
    if isinstance(kind, (BaseFunction, types.Dispatcher)):
        return None
    if not isinstance(kind, types.NumberClass):
        return _attribute(self, kind, name)
    if (self, kind) not in _conversions:
        _conversions[self, kind] = _attribute(self, kind, name)
    return _conversions[self, kind]


_LEAVES = frozenset((ir.Loc, str, int, bool, type(None), BuiltinFunctionType))


def _variables(self: Any, value: Any) -> list[Any]:
    """The variables in the fields of a statement, in order."""
    found: list[Any] = []
    _collect(value.values() if isinstance(value, dict) else (value,), found)
    return found


def _collect(values: Iterable[Any], found: list[Any]) -> None:
    for value in values:
        kind = type(value)
        if kind is ir.Var:
            found.append(value)
        elif kind in _LEAVES:
            continue
        elif isinstance(value, ir.Inst):
            found += value.list_vars()
        elif isinstance(value, (list, tuple)):
            _collect(value, found)
        elif isinstance(value, dict):
            _collect(value.values(), found)


_context_of_errors: Any = lowering.new_error_context


class _ErrorContext:
    """`new_error_context` of numba without a generator: the place is added to the message if there is an error."""

    __slots__ = ("_args", "_kwargs", "_text")

    def __init__(self, text: str, *args: Any, **kwargs: Any) -> None:
        self._text, self._args, self._kwargs = text, args, kwargs

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, errors.NumbaError):
            with _context_of_errors(self._text, *self._args, **self._kwargs):
                raise error


def _rewritten(blocks: Any, states: Any, handler: Any) -> dict[int, Any]:
    """The blocks with another name for a variable. Only blocks with the variable are copied."""
    name = states["varname"]
    new = {}
    for label, block in blocks.items():
        if name in _names_in(block):
            states["label"], states["block"] = label, block
            changed = ir.Block(scope=block.scope, loc=block.loc)
            for statement in block.body:
                assigned = isinstance(statement, ir.Assign)
                changed.body.append((handler.on_assign if assigned else handler.on_other)(states, statement))
            block = changed
        new[label] = block
    return new


def _names_in(block: Any) -> set[str]:
    """The names of the variables in a block, which is not changed later."""
    names: set[str] | None = getattr(block, "vlang_names", None)
    if names is None:
        names = {variable.name for statement in block.body for variable in statement.list_vars()}
        block.vlang_names = names
    return names


_fixer: Any = errors.__dict__["WarningsFixer"]  # mypy sees only a part of the module
_NO_FILTERS = nullcontext()


def _no_filters(self: Any, filename: str | None = None, lineno: int | None = None) -> Any:
    return _NO_FILTERS


_modules: dict[str, Any] = {}
_find_module = funcdesc.FunctionDescriptor.lookup_module


def _module_of(self: Any) -> Any:
    """The module of a function. Kernels have none, which numba would find out twice for each function."""
    if self.modname not in _modules:
        _modules[self.modname] = _find_module(self)
    return _modules[self.modname]


_RARE = ("BEFORE_WITH", "BUILD_MAP", "CALL_FUNCTION_EX", "DICT_MERGE", "DICT_UPDATE", "LIST_EXTEND", "LIST_TO_TUPLE",
         "LOAD_SPECIAL", "MAP_ADD", "SETUP_WITH")  # fmt: skip
_peepholes = interpreter.Interpreter.post_process


def _needed_peepholes(self: Any, peepholes: Any, func_ir: Any) -> Any:
    """The function after the rewrites of rare byte codes."""
    rare = self.syntax_blocks or any(inst.opname in _RARE for inst in self.bytecode.table.values())
    return _peepholes(self, peepholes, func_ir) if rare else func_ir


def _load_array_functions() -> None:
    """Load numba's functions on arrays without scipy.linalg, which takes 0.15 s. Products of matrices load it later."""
    if find_spec("scipy") is None:
        return
    ask = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        from numba.np import arraymath  # start-up: after the change
    finally:
        linalg.ensure_blas = ask
    arraymath.ensure_blas = ask


_load_array_functions()

_Colours: Any = type(errors.termcolor())

_SHORTCUTS: tuple[tuple[Any, str, Any], ...] = (
    (NumpyRulesArrayOperator, "generic", _of_arrays_only),
    (BaseFunction, "get_call_type", _known_call_type),
    (base.BaseContext, "refresh", _refresher(base.BaseContext)),
    (context.BaseContext, "refresh", _refresher(context.BaseContext)),
    (event, "start_event", _start_event),
    (event, "end_event", _end_event),
    (utils, "pysignature", lru_cache(maxsize=1024)(utils.pysignature)),
    (lowering.Lower, "alloca_lltype", _plain_alloca),
    (TargetConfig, "values", _values),
    (ir.Inst, "_rec_list_vars", _variables),
    (context.BaseContext, "resolve_getattr", _known_attribute),
    (ssa, "_run_block_rewrite", _rewritten),
    (_fixer, "catch_warnings", _no_filters),
    (funcdesc.FunctionDescriptor, "lookup_module", _module_of),
    (interpreter.Interpreter, "post_process", _needed_peepholes),
    *((module, "new_error_context", _ErrorContext) for module in (lowering, typeinfer)),
    *([(_Colours, "_markup", _plain)] if hasattr(_Colours, "_markup") else []),  # messages are plain without colorama
)
"""The owner of a function of numba, its name, and the function that replaces it."""

_ORIGINALS = tuple((owner, name, getattr(owner, name)) for owner, name, _ in _SHORTCUTS)


@contextmanager
def shortcuts() -> Iterator[None]:
    """Use the shortcuts of this module in numba. Callers hold the lock of `vlang.runtime.compile.objects`."""
    for owner, name, replacement in _SHORTCUTS:
        setattr(owner, name, replacement)
    try:
        yield
    finally:
        for owner, name, original in _ORIGINALS:
            setattr(owner, name, original)

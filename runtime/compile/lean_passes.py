"""Passes of numba without the analyses whose results kernels do not need, and shortcuts in numba's type inference.

numba finds the lifetimes of all variables after each of four passes. Only the last result is used, by `IRLegalization`,
which finds it itself. The others are for generators, closures and parallel loops, which kernel text does not contain.

For every operator, numba's type inference first tries the rules of NumPy arrays. It looks for a loop of the ufunc, and
then refuses operands that are no arrays. For each rule that fails, it formats an error message in colour, although one
of the next rules succeeds. `shortcuts` omits both. Neither changes a type.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import types
from numba.core import transforms, typed_passes, untyped_passes
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import termcolor
from numba.core.ir_utils import build_definitions
from numba.core.typing.npydecl import NumpyRulesArrayOperator

__all__ = ["Canonical", "LeanSSA", "LeanStripPhis", "shortcuts"]


@register_pass(mutates_CFG=True, analysis_only=False)
class Canonical(FunctionPass):
    """`IRProcessing` without lifetimes: remove dead blocks and merge blocks."""

    _name = "vlang_canonical"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Change `state.func_ir`."""
        state.func_ir.blocks = transforms.canonicalize_cfg(state.func_ir.blocks)
        state.func_ir.generator_info = None
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class LeanSSA(untyped_passes.ReconstructSSA):
    """`ReconstructSSA` without lifetimes."""

    _name = "vlang_ssa"

    def run_pass(self, state: Any) -> bool:
        """Change `state.func_ir`."""
        state.func_ir = _renewed(untyped_passes.reconstruct_ssa(state.func_ir))
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class LeanStripPhis(typed_passes.PreLowerStripPhis):
    """`PreLowerStripPhis` without lifetimes."""

    _name = "vlang_strip_phis"

    def run_pass(self, state: Any) -> bool:
        """Change `state.func_ir`."""
        state.func_ir = _renewed(self._strip_phi_nodes(state.func_ir))
        return True


def _renewed(func_ir: Any) -> Any:
    """The function, with definitions and merged blocks that fit its changed statements."""
    func_ir._definitions = build_definitions(func_ir.blocks)
    func_ir.blocks = transforms.canonicalize_cfg(func_ir.blocks)
    return func_ir


_Colours: Any = type(termcolor())
_of_arrays = NumpyRulesArrayOperator.generic


def _of_arrays_only(self: Any, args: Any, kws: Any) -> Any:
    """The rule of an operator on arrays. Without an array it does not apply; numba's own rule finds that out late."""
    given = [arg.type if isinstance(arg, types.Optional) else arg for arg in args]
    return _of_arrays(self, args, kws) if any(isinstance(arg, types.ArrayCompatible) for arg in given) else None


def _plain(self: Any, message: str, color: str | None = None, style: str | None = None) -> str:
    return message


@contextmanager
def shortcuts() -> Iterator[None]:
    """Use the shortcuts of this module in numba. Callers hold the lock of `vlang.runtime.compile.objects`."""
    coloured = getattr(_Colours, "_markup", None)  # None without colorama: messages are plain then
    NumpyRulesArrayOperator.generic = _of_arrays_only
    if coloured is not None:
        _Colours._markup = _plain
    try:
        yield
    finally:
        NumpyRulesArrayOperator.generic = _of_arrays
        if coloured is not None:
            _Colours._markup = coloured

"""Passes of numba without the analyses whose results kernels do not need.

numba finds the lifetimes of all variables after each of four passes. Only `IRLegalization` uses lifetimes, and it
computes them itself. The other uses are for generators, closures and parallel loops, which kernel text does not
contain.
"""

from __future__ import annotations

from typing import Any

from numba.core import transforms, typed_passes, untyped_passes
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import build_definitions

__all__ = ["Canonical", "LeanSSA", "LeanStripPhis"]


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

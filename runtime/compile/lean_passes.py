"""Passes of numba without the analyses and the bookkeeping that kernels do not need.

numba finds the lifetimes of all variables after each of four passes, marks the end of each lifetime for reference
counts, and lowers these marks. Kernels count no references. The other uses of lifetimes are for generators, closures
and parallel loops, which kernel text does not contain.
"""

from __future__ import annotations

from typing import Any

from numba.core import errors, ir, lowering, transforms, typed_passes, untyped_passes
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import build_definitions
from numba.core.rewrites.static_getitem import RewriteConstGetitems, RewriteConstSetitems

__all__ = ["Canonical", "ConstantIndices", "LeanLowering", "LeanSSA", "LeanStripPhis"]


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


@register_pass(mutates_CFG=True, analysis_only=False)
class ConstantIndices(FunctionPass):
    """`GenericRewrites` without lifetimes, and without the rewrites of `print` and `raise`: constant indices."""

    _name = "vlang_constant_indices"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Change `state.func_ir`."""
        blocks = state.func_ir.blocks
        for kind in (RewriteConstGetitems, RewriteConstSetitems):
            for label, block in list(blocks.items()):
                rewrite = kind(state)
                if rewrite.match(state.func_ir, block, None, None):
                    blocks[label] = rewrite.apply()
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


class _Lower(lowering.Lower):
    """Lowers a function without marks for debuggers, ends of lifetimes and `try`. Variables get their memory when they
    are first used.
    """

    def pre_block(self, block: Any) -> None:
        """Do nothing: numba gives memory to each variable whose lifetime ends, and looks for `try`."""

    def post_block(self, block: Any) -> None:
        """Do nothing."""

    def lower_block(self, block: Any) -> None:
        """Lower a block. The place is added to the message of an error."""
        types = self.fndesc.typemap
        for statement in block.body:
            self.loc = statement.loc
            try:
                if type(statement) is ir.Assign:
                    name = statement.target.name
                    self.storevar(self.lower_assign(types[name], statement), name)
                else:
                    self.lower_inst(statement)
            except errors.NumbaError:
                with lowering.new_error_context("lowering \"{one}\" at {loc}", one=statement, loc=self.loc):
                    raise

    def loadvar(self, name: str) -> Any:
        """The value of a variable."""
        value = self._blk_local_varmap.get(name)
        return self.builder.load(self.getvar(name)) if value is None else value

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Set a variable. numba would first load the old value, to count its references."""
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))


@register_pass(mutates_CFG=True, analysis_only=False)
class LeanLowering(typed_passes.NativeLowering):
    """`NativeLowering` by `_Lower`."""

    _name = "vlang_lowering"

    @property
    def lowering_class(self) -> Any:
        """The class that lowers a function."""
        return _Lower

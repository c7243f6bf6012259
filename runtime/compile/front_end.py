"""The front end of numba without its back end: it compiles Python functions to LLVM text.

By default numba makes every function callable from Python: it optimises each function, generates machine code for it,
and repeats both steps in each caller. Kernels need no such code: vlang links a kernel with all functions that it calls,
optimises the result once, and caches the object code. Kernel text has no closures, no `with` and no loops over tuples
of several types. Half of numba's passes only rewrite these constructs, and are omitted. Programs of the standard
library compile in a third of the time that numba's default pipeline takes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from llvmlite.binding import newpassmanagers
from numba.core import codegen, compiler, typed_passes, untyped_passes
from numba.core.compiler_machinery import PassManager

from vlang.runtime.compile.lean_passes import Canonical, ConstantIndices, LeanLowering, LeanSSA, LeanStripPhis
from vlang.runtime.compile.llvm import haste

__all__ = ["OPTIONS", "FrontEnd", "link"]

_PASSES: tuple[tuple[Any, str], ...] = (
    (untyped_passes.TranslateByteCode, "byte code to numba's IR"),
    (untyped_passes.FixupArgs, "arguments"),
    (Canonical, "blocks"),
    (untyped_passes.RewriteSemanticConstants, "constants"),
    (ConstantIndices, "constant indices of tuples"),
    (LeanSSA, "single assignments"),
    (typed_passes.NopythonTypeInference, "types"),
    (LeanStripPhis, "phi nodes"),
    (LeanLowering, "LLVM text"),
    (typed_passes.NoPythonBackend, "result"),
)


_APART = re.compile(r"_ZN\d+vlang_kernels\d+(arrive|after_block)_")
"""Matches functions that are never inlined. They are called only a few times per task, and if they were inlined, their
loops would change LLVM's optimisation of the loops over edges."""

_INSIDE = re.compile(r"_ZN\d+vlang_kernels\d+batch_")
"""Matches functions that are always inlined, because LLVM unrolls their loops where the call has a constant length."""


class FrontEnd(compiler.CompilerBase):
    """The compiler pipeline of the front end. The class is the value of the option `pipeline_class` of numba.njit."""

    def define_pipelines(self) -> list[PassManager]:
        """Define the passes by which numba compiles a function for a `_Library`."""
        self.state.targetctx = self.state.targetctx.subtarget(_internal_codegen=_texts())
        return [_passes()]


OPTIONS: dict[str, Any] = {
    "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False,
    "pipeline_class": FrontEnd,
}  # fmt: skip
"""Options of numba.njit: division by zero as in NumPy, no wrappers for calls from Python, and no reference counts."""


class _Passes(PassManager):
    """The passes of a function, without the times and invariants that numba checks after each of them. The dispatcher
    holds the lock of the compiler meanwhile.
    """

    def _runPass(self, index: int, one: Any, state: Any) -> None:
        one.analysis = self._analysis
        one.run_initialization(state)
        one.run_pass(state)
        one.run_finalizer(state)


@cache
def _passes() -> PassManager:
    passes = _Passes("vlang")
    for one, what in _PASSES:
        passes.add_pass(one, what)
    passes.finalize()
    return passes


class _Library(codegen.JITCodeLibrary):
    """The LLVM text of one function, and the libraries of the functions that it calls.

    The text is not optimised, except that local variables are moved from memory to registers.
    """

    _final_module: Any
    _filled = False

    def _optimize_functions(self, ll_module: Any) -> None:
        """Move local variables to registers. numba prepares LLVM's passes for each declaration, too, in vain."""
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = _passes_of_functions(haste())
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def add_llvm_module(self, ll_module: Any) -> None:
        """Add a module of LLVM. The first replaces an empty module, into which numba would link it."""
        self._optimize_functions(ll_module)
        if self._filled:
            self._final_module.link_in(ll_module)
        else:
            self._final_module, self._filled = ll_module, True

    def finalize(self) -> None:
        """Mark the library as complete; no machine code is generated."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, because the functions of this library are never called."""
        return 0

    def parts(self, found: dict[Any, Any]) -> dict[Any, Any]:
        """Add the LLVM modules of this library, and of all libraries that it needs, to the dict `found`, by library."""
        if self not in found:
            found[self] = self._final_module
            for library in self._linking_libraries:
                if isinstance(library, _Library):
                    library.parts(found)
                else:  # a library of one of numba's own functions, such as `min`
                    found[library] = library._get_module_for_linking()
        return found


class _Texts(codegen.JITCPUCodegen):
    """A code generator of numba that creates a `_Library` for each function.

    The code of these libraries is never run.
    """

    _library_class = _Library

    def _add_module(self, module: Any) -> None:
        """Do nothing, because no code is added to the execution engine."""

    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing: functions of these libraries are never called, so their global variables need no values."""


@cache
def _texts() -> _Texts:
    return _Texts("vlang")


@cache
def _passes_of_functions(quick: bool) -> tuple[Any, Any]:
    """LLVM's passes over each function before kernels are linked, and their builder."""
    passes, builder = _texts()._function_pass_manager()
    if quick:
        passes = newpassmanagers.create_new_function_pass_manager()
        passes.add_sroa_pass()
    return passes, builder


def link(library: Any, entry: str, symbol: str, quick: bool = False) -> Any:
    """Link a compiled function and all its callees into one LLVM module, and optimise the module.

    Args:
        library: the `_Library` of the function.
        entry: the name of the function in LLVM.
        symbol: the new name of the function, and the only exported name of the module.
        quick: whether to optimise little, without vectors.
    """
    whole = _texts().create_library(symbol)
    for module in library.parts({}).values():
        whole._final_module.link_in(module, preserve=True)
    module = whole._final_module
    for defined in [*module.functions, *module.global_variables]:
        if defined.name == entry:
            defined.name = symbol
        elif not defined.is_declaration:
            defined.linkage = "internal"
            if _APART.match(defined.name):
                defined.add_function_attribute("noinline")
            elif _INSIDE.match(defined.name):
                defined.add_function_attribute("alwaysinline")
    if quick:
        builder = _texts()._pass_builder(opt=1, loop_vectorize=False, slp_vectorize=False)
        builder.getModulePassManager().run(module, builder)
    else:
        whole._optimize_final_module()
    return module

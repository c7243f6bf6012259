"""numba's front end alone: from Python functions to LLVM text, without machine code for any of them.

numba makes every function runnable from Python: it optimises each helper by itself, makes machine code of it, and does
both again for whatever calls it. Kernels need neither, as vlang links a kernel with its helpers, optimises that once,
and keeps the object code itself. And kernel text has no closures, no `with` and no loops over tuples of several types,
so the passes that rewrite those, half of all, have nothing to do. Measured on the stdlib: a third of the time.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from numba.core import codegen, compiler, typed_passes, untyped_passes
from numba.core.compiler_machinery import PassManager

__all__ = ["OPTIONS", "FrontEnd", "link"]

_PASSES: tuple[tuple[Any, str], ...] = (
    (untyped_passes.TranslateByteCode, "byte code to numba's IR"),
    (untyped_passes.FixupArgs, "arguments"),
    (untyped_passes.IRProcessing, "blocks and variables"),
    (untyped_passes.RewriteSemanticConstants, "constants"),
    (untyped_passes.GenericRewrites, "constant indices of tuples"),
    (untyped_passes.ReconstructSSA, "single assignments"),
    (typed_passes.NopythonTypeInference, "types"),
    (typed_passes.PreLowerStripPhis, "phi nodes"),
    (typed_passes.IRLegalization, "deletions"),
    (typed_passes.NativeLowering, "LLVM text"),
    (typed_passes.NoPythonBackend, "result"),
)


_APART = re.compile(r"_ZN\d+vlang_kernels\d+(arrive|after_block)_")
"""Functions that stay apart from their callers: they are called a few times a task, and LLVM takes the loops of what it
inlines into account when it decides what to do with those over edges."""


class FrontEnd(compiler.CompilerBase):
    """A `pipeline_class` of numba.njit."""

    def define_pipelines(self) -> list[PassManager]:
        """The passes over one function, which lies in a library of ours."""
        self.state.targetctx = self.state.targetctx.subtarget(_internal_codegen=_texts())
        return [_passes()]


OPTIONS: dict[str, Any] = {
    "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False,
    "pipeline_class": FrontEnd,
}  # fmt: skip
"""Of numba.njit: division follows NumPy, no way in from Python is built, and nothing is counted by reference."""


@cache
def _passes() -> PassManager:
    passes = PassManager("vlang")
    for one, what in _PASSES:
        passes.add_pass(one, what)
    passes.finalize()
    return passes


class _Library(codegen.JITCodeLibrary):
    """LLVM text of one function, in registers as far as that takes no inlining, and the libraries that it calls."""

    def finalize(self) -> None:
        """Nothing is added any more; there is nothing else to do."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """No function can be called."""
        return 0

    def parts(self, found: dict[Any, Any]) -> dict[Any, Any]:
        """Its text and that of all libraries that it needs, by library."""
        if self not in found:
            found[self] = self._final_module
            for library in self._linking_libraries:
                if isinstance(library, _Library):
                    library.parts(found)
                else:  # of numba's own functions, such as `min`
                    found[library] = library._get_module_for_linking()
        return found


class _Texts(codegen.JITCPUCodegen):
    """Makes libraries for this processor, and never runs them."""

    _library_class = _Library

    def _add_module(self, module: Any) -> None:
        """The engine gets nothing."""

    def set_env(self, env_name: str, env: Any) -> None:
        """No function can be called, so none needs its globals."""


@cache
def _texts() -> _Texts:
    return _Texts("vlang")


def link(library: Any, entry: str, symbol: str) -> Any:
    """One optimised LLVM module of a compiled function and all that it calls, with one symbol for others to see.

    entry: the function's name in LLVM.
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
    whole._optimize_final_module()
    return module

"""LLVM for this processor: processor name and features, the target machine, and execution engines."""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import binding as llvm

__all__ = ["cpu", "execution_engine", "target_machine"]


@cache
def cpu() -> tuple[str, str]:
    """The name and the features of this processor, as LLVM spells them."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def target_machine() -> Any:
    """LLVM's target machine for this processor, at full optimisation."""
    _initialize()
    name, features = cpu()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=features, opt=3, codemodel="jitdefault", jit=True
    )


def execution_engine() -> Any:
    """An empty LLVM execution engine, into which object code is loaded."""
    machine = target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)

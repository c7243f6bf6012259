"""LLVM for this processor: the name and features of the processor, the target machine, and execution engines."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from vlang.runtime.storage.room import require_address_space

__all__ = ["cpu", "execution_engine", "llvm", "target_machine"]

_LIBRARY = 160 << 20  # bytes of address space that the library takes
_LEAST = 64 << 20  # additional bytes; LLVM ends the process if one of its allocations fails


def _binding() -> Any:
    """Import llvmlite.

    Raises OutOfMemory if there is too little memory, because llvmlite would end the process in that case.
    """
    if "llvmlite.binding" not in sys.modules:
        require_address_space(_LIBRARY + _LEAST, "LLVM")
    import llvmlite.binding  # start-up: after the check

    return llvmlite.binding


llvm = _binding()


@cache
def cpu() -> tuple[str, str]:
    """The name and the features of this processor, in LLVM's spelling."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def target_machine() -> Any:
    """LLVM's target machine for this processor, with full optimisation. Raises OutOfMemory where LLVM would abort."""
    require_address_space(_LEAST, "machine code")
    _initialize()
    name, features = cpu()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=features, opt=3, codemodel="jitdefault", jit=True
    )


def execution_engine() -> Any:
    """Return an empty LLVM execution engine, into which object code can be loaded."""
    machine = target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)

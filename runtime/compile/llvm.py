"""LLVM for this processor: the name and features of the processor, the target machine, execution engines, and how much
kernels are optimised.
"""

from __future__ import annotations

import os
import sys
import zlib
from functools import cache
from typing import Any

from vlang.runtime.storage.room import require_address_space

__all__ = ["cpu", "execution_engine", "haste", "in_haste", "llvm", "target_machine"]

_LIBRARY = 160 << 20  # bytes of address space that the library takes
_OF_PROGRAM = "\nfrom vlang.runtime.plan.plan import "  # in each kernel text that vlang generates from a program
_OPTIMISED = 8  # with VLANG_HASTE=1, one program in so many is fully optimised
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


def haste() -> bool:
    """Return whether most programs are compiled with little optimisation, in two thirds of the time.

    VLANG_HASTE=1 asks for this. The tests of vlang set it, because compilation takes most of their time.
    """
    return os.environ.get("VLANG_HASTE") == "1"


def in_haste(text: str) -> bool:
    """Return whether the kernels of a text are compiled with little optimisation.

    With VLANG_HASTE=1, one program in eight is still fully optimised. A checksum of the text chooses it. Kernels that
    belong to no program are always fully optimised.
    """
    return haste() and _OF_PROGRAM in text and zlib.crc32(text.encode()) % _OPTIMISED > 0


def target_machine(quick: bool = False) -> Any:
    """LLVM's target machine for this processor, with full optimisation, or with none if `quick` is true.

    Raises OutOfMemory where LLVM would abort.
    """
    require_address_space(_LEAST, "machine code")
    _initialize()
    name, features = cpu()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=features, opt=0 if quick else 3, codemodel="jitdefault", jit=True
    )


def execution_engine() -> Any:
    """Return an empty LLVM execution engine, into which object code can be loaded."""
    machine = target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)

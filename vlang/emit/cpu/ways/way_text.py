"""The code that a way of running a loop on a CPU adds to a pass; vlang.emit.cpu.ways.way_texts lists the ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Function
from vlang.records import dataclass

__all__ = ["CREW", "PASS", "SPARSE", "Added", "WayText"]

PASS = "void(u64*, i64*, i64, i64*)"
"""The signature of kernels whose workers take tasks."""
SPARSE = "void(u64*, i64*, i64, i64*, u64*)"
"""The signature of kernels whose workers take tasks, and which also get the address of a table."""
CREW = "void(u64*, i64*, u64*)"
"""The signature of kernels whose workers synchronise at barriers inside the kernel."""


@dataclass(frozen=True)
class Added:
    """The parts that a way adds to a pass.

    Attributes:
        spec: the data of the pass for the way's code in vlang.runtime (`StageSpec.way`); None if the pass cannot run
            that way.
        reason: the reason why the pass cannot run that way; "" if the reason is not shown.
        functions: the functions that the way's kernels call, besides the functions of every pass.
        texts: more code. The functions that this code defines have names that end with the name of the pass. Calls of
            `functions` are renamed later.
        skeletons: the names of the skeletons that contain the way's kernels.
        roles: the signature of the kernel of each role; the kernel is named ROLE_PASS.
        support: the names of skeletons that the module needs once.
    """

    spec: object = None
    reason: str = ""
    functions: tuple[Function, ...] = ()
    texts: tuple[str, ...] = ()
    skeletons: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    support: tuple[str, ...] = ()


class WayText(Protocol):
    """Generates the code of a way.

    Attributes:
        name: the name of the way in vlang.runtime.cpu.ways that runs the loop.
    """

    @property
    def name(self) -> str: ...
    def write(self, writer: StageWriter) -> Added:
        """The parts that the way adds to a pass; if the pass cannot run that way, only the reason."""

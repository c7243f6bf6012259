"""What a way of running a loop on the CPU adds to the text of a pass; the list: vlang.emit.cpu.ways.way_texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from vlang.emit.shared.dialect import Function
from vlang.emit.shared.stage import StageWriter

__all__ = ["CREW", "SPARSE", "Added", "WayText"]

SPARSE = "void(u64*, i64*, i64, i64*, u64*)"
"""The signature of kernels that take tasks, with a table beside the frame."""
CREW = "void(u64*, i64*, u64*)"
"""The signature of kernels whose workers wait for each other inside."""


@dataclass(frozen=True)
class Added:
    """What a way adds to a pass.

    Args:
        spec: what the run half of the way must know of the pass (`StageSpec.way`); None where the pass cannot run so.
        reason: why it cannot; "" where there is nothing to say.
        functions: what its kernels call, beside the functions of every pass.
        texts: more text, whose own functions are named for the pass; calls of `functions` are renamed as there.
        skeletons: names of skeletons, with the kernels.
        roles: the signature of the kernel of each role; the kernel is named ROLE_PASS.
        support: names of skeletons that the module needs once.
    """

    spec: object = None
    reason: str = ""
    functions: tuple[Function, ...] = ()
    texts: tuple[str, ...] = ()
    skeletons: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    support: tuple[str, ...] = ()


class WayText(Protocol):
    """The emit half of a way. name: that of its run half (vlang.runtime.cpu.ways)."""

    @property
    def name(self) -> str: ...
    def write(self, writer: StageWriter) -> Added:
        """What the way adds to a pass; a reason alone where the pass cannot run so."""

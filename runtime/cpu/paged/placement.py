"""Where the edges of a run are: read into memory if they fit into its budget, else streamed from disk."""

from __future__ import annotations

from dataclasses import dataclass

from vlang.errors import OutOfMemory
from vlang.runtime.cpu.paged.needs import needs_of
from vlang.runtime.graph.topology.stored import StoredEdges
from vlang.runtime.plan.plan import Plan
from vlang.runtime.storage.limits import default_memory
from vlang.runtime.storage.ring import LEAST_BUFFERS, Ring

__all__ = ["Placement", "place"]


@dataclass(frozen=True)
class Placement:
    """Where the edges of a run are.

    Attributes:
        streams: whether they are read from disk as the run needs them.
        budget: bytes for pages, where they are streamed.
        largest: bytes of the largest page.
        needed: bytes with which they would be in memory.
        text: one sentence about it.
        buffers: buffers of the ring at most; None for as many as are useful.
    """

    streams: bool
    budget: int
    largest: int
    needed: int
    text: str
    buffers: int | None = None

    def ring(self, stored: StoredEdges) -> Ring:
        """The ring that delivers the pages. Raises OutOfMemory."""
        return Ring(stored, self.largest, self.budget, buffers=self.buffers)


def place(plan: Plan, stored: StoredEdges, memory: int | None) -> Placement:
    """Decide where the edges of a run are.

    Args:
        plan: the program.
        stored: the edges.
        memory: bytes that the run may take; None for 80 % of what is free.

    Raises OutOfMemory if not even a stream of pages fits, with the least that would do.
    """
    limit = default_memory() if memory is None else memory
    needs = needs_of(plan, stored)
    whole = needs.state + needs.edges
    if whole <= limit:
        text = f"edges in memory: {size_text(whole)} needed of {size_text(limit)}"
        return Placement(False, 0, needs.page, whole, text)
    if stored.unstreamed:
        raise OutOfMemory(f"{plan.name} on {stored.name} needs {size_text(whole)} and may take {size_text(limit)}, and "
                          f"its pages cannot be streamed: {stored.unstreamed}")
    least = needs.state + LEAST_BUFFERS * needs.page
    if limit < least:
        raise OutOfMemory(
            f"{plan.name} needs {size_text(needs.state)} for the values of {stored.n:,} vertices, and "
            f"{size_text(needs.edges)} for all edges or {size_text(LEAST_BUFFERS * needs.page)} for the pages of a "
            f"stream; it may take {size_text(limit)}: give {size_text(min(least, whole))} of memory or more")
    budget = min(limit - needs.state, needs.streamed + LEAST_BUFFERS * needs.page)
    stays = min(1.0, budget / max(1, needs.streamed))
    text = (f"edges streamed from {stored.name}: {size_text(whole)} would be needed in memory, and {size_text(limit)} "
            f"may be taken; {size_text(budget)} for pages, so that {stays:.0%} of them stay there")
    return Placement(True, budget, needs.page, whole, text + (f"; {stored.note}" if stored.note else ""))


def size_text(size: int) -> str:
    """A number of bytes as people read it, rounded up: 512K, 8M, 1.5G."""
    for unit, bits in (("G", 30), ("M", 20)):
        if size >= 10 << bits:
            return f"{-(-size >> bits)}{unit}"
        if size >= 1 << bits:
            return f"{-(-size * 10 >> bits) / 10:.1f}{unit}"
    return f"{-(-size >> 10)}K"

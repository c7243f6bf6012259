"""Passes whose reductions over the edges may be computed for several runs at a time (vlang.runtime.cpu.together).

Runs share a pass if they differ only in the values that they read at neighbours. Graph-level values must be equal,
which is tested at run time. The contributions of all runs are reduced together, in the order of the kernel "pull" and
by the functions of that kernel. The kernel "summed" computes the rest of the superstep of one run.
"""

from __future__ import annotations

from vlang.emit.cpu.ways.push_text import pushing
from vlang.emit.cpu.ways.way_text import PASS, SPARSE, Added
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.together import shared_spec, unshared_because

__all__ = ["TogetherText", "alone_because"]


class TogetherText:
    """Says whether several runs may share the reductions of a pass."""

    name = "together"

    def write(self, writer: StageWriter) -> Added:
        """Return the kernels over woven arrays, and the slots that these kernels read and write.

        If runs cannot share the pass, because they differ in more than values of neighbours, the result is only the
        reason.
        """
        reason = alone_because(writer)
        if reason:
            return Added(reason=reason)
        roles = {"summed": PASS, **dict.fromkeys(("woven", "woven_parts", "woven_longs"), SPARSE)}
        return Added(shared_spec(writer), skeletons=("woven",), roles=roles)


def alone_because(writer: StageWriter) -> str:
    """Return the reason why runs may not share the reductions of a pass on a CPU; "" if they may."""
    reason = unshared_because(writer)
    if not reason and not pushing(writer).reason:
        return "its active vertices push, which reads fewer edges than shared passes save"
    return reason

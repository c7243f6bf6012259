"""The reasons why loops end, as text for the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.engine.machine import Loop, Machine, Stats
from vlang.runtime.plan.plan import LoopSpec, PrioritySpec, ScalarSpec

__all__ = ["at_target", "ended", "final_vertices", "gap", "interrupted", "repeats"]


def ended(spec: LoopSpec, loop: Loop, machine: Machine) -> tuple[str, bool]:
    """Return the reason why a loop ends after a superstep, and whether it converged (docs/language.md, section 4.6).

    The reason is "" if the loop continues.
    """
    stats: Stats = loop.stats
    if spec.until is not None:
        if machine.scalar(spec.until.name):
            return f"`until` holds{_reached(spec.until, machine)}", True
        if stats.changed == 0 and not spec.reads_iteration and not _unsent(spec, machine):
            return "nothing changes any more, and `until` does not hold", False
    elif not (spec.exact and spec.limit is not None):
        if stats.active == 0:
            return "no vertex is active", True
    elif stats.changed == 0 and not spec.reads_iteration:
        return "nothing changes any more", True
    return "", True


def _reached(until: ScalarSpec, machine: Machine) -> str:
    """The value that `until` compares with a tolerance, and the tolerance, as text; "" for other conditions."""
    sides = [f"{value:.3g}" for value in gap(until, machine)]
    return f": {', tolerance '.join(sides)}" if sides else ""


def gap(until: ScalarSpec | None, machine: Machine) -> tuple[float, ...]:
    """The value that `until` compares with a tolerance, and the tolerance; () for other conditions."""
    return () if until is None else tuple(machine.scalar(side) for side in until.sides)


def _unsent(spec: LoopSpec, machine: Machine) -> bool:
    """Return whether any vertex has a change that it has not yet sent to its neighbours."""
    array = machine.array
    pairs = [(array(f"field:{name}"), array(spec.slot("sent", name))) for name in spec.sent]
    return any(bool(np.any((now != sent) & ((now == now) | (sent == sent)))) for now, sent in pairs)


def final_vertices(spec: LoopSpec, array: Callable[[str], NDArray[Any]], target: int) -> NDArray[np.bool_]:
    """Return bool[n]: for each vertex, whether its value is final, given that the value of the target is final.

    A value is final if it is no worse than the value of the target. The field that defines the priority never has the
    type f16, because it is joined with a gather. No gather has the type f16, because arithmetic widens f16.

    Args:
        spec: a loop that ran in priority order.
        array: returns the vertex array of a slot.
        target: the dense number of the target.
    """
    (stage,) = spec.stages
    priority = stage.way("priority", PrioritySpec)
    assert priority is not None
    values = array(f"field:{priority.field}")
    bound = values[target]
    worse: NDArray[np.bool_] = values > bound if priority.low else values < bound
    return ~worse


def at_target(final: NDArray[np.bool_], reason: str) -> tuple[str, bool]:
    """The reason why a run with a target ended, and whether it converged.

    Args:
        final: for each vertex, whether its value is final.
        reason: the reason if all values are final.
    """
    if final.all():
        return reason, True
    return f"stopped at its target: {np.count_nonzero(final):,} of {len(final):,} vertices have final values", False


def repeats(period: int) -> str:
    """The message for a loop that stops because its states repeat."""
    what = f"the last {period} supersteps would repeat" if period > 1 else "the last superstep would repeat"
    return (f"stopped: {what} for ever, as rounding keeps the values from converging; ask for a larger tolerance, or "
            "precision 64")


def interrupted(rounds: int) -> str:
    """The message for a run that was ended by an interrupt."""
    return f"interrupted after {rounds:,} round{'s' * (rounds != 1)}"

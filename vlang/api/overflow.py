"""Runs whose float sums left their type: the statement, a vertex, and whether the outputs show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vlang.errors import RangeError
from vlang.ir.overflow_watch import Place

if TYPE_CHECKING:
    from vlang.runtime.engine.engine import Outcome
    from vlang.runtime.graph.graph import Graph

__all__ = ["Overflow", "reported"]


@dataclass(frozen=True)
class Overflow:
    """A statement whose value is infinite at `vertex`, the user's id (None for a graph-level value), although every
    term is finite."""

    place: Place
    vertex: int | str | None

    def __str__(self) -> str:
        where = "" if self.vertex is None else f" for vertex {self.vertex}"
        return (f"line {self.place.span.line}: `{self.place.what}` is infinite{where}, although no term is: the value "
                f"is too large for {self.place.type}")


def reported(
    outcome: Outcome, places: Sequence[Place], run: Callable[[], Mapping[str, Any]], graph: Graph
) -> tuple[str, ...]:
    """What to warn of after a run.

    run: runs the program with its notes, and gives them by field, bool[n]. Raises RangeError where what left its type
    is no output, as the outputs computed from it may look like any other number.
    """
    import numpy as np  # start-up

    notes = run()
    for place in places:
        found = np.flatnonzero(np.asarray(notes[place.note]))
        if found.size:
            text = str(Overflow(place, graph.label(int(found[0])) if place.vertices else None))
            if outcome.infinite_inside:
                raise RangeError(f"{text}, and what is computed from it would be wrong")
            return (text,)
    return ()

"""Reports float sums that overflowed in a run: the statement, a vertex, and whether the outputs show the overflow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vlang.errors import RangeError
from vlang.ir.overflow_watch import Place
from vlang.records import dataclass

if TYPE_CHECKING:
    from vlang.runtime.engine.run_outcome import Outcome
    from vlang.runtime.graph.graph import Graph

__all__ = ["Overflow", "reported"]


@dataclass(frozen=True)
class Overflow:
    """A statement with an infinite value at `vertex` although every term is finite.

    Attributes:
        vertex: the user's id; None for a graph-level value.
    """

    place: Place
    vertex: int | str | None

    def __str__(self) -> str:
        where = "" if self.vertex is None else f" for vertex {self.vertex}"
        return (f"line {self.place.span.line}: `{self.place.what}` is infinite{where}, although no term is: the value "
                f"is too large for {self.place.type}")


def reported(
    outcome: Outcome, places: Sequence[Place], run: Callable[[], Mapping[str, Any]], graph: Graph
) -> tuple[str, ...]:
    """The warning about the first float sum that overflowed; () if none did.

    Args:
        outcome: the outcome of a run that left infinite values.
        places: the statements to check.
        run: runs the program again, and returns a field of bool[n] for each place: whether a sum overflowed there.
        graph: the graph of the run.

    Raises RangeError if the overflowed value is not an output, since outputs computed from it may look like ordinary
    numbers.
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

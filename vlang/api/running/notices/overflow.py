"""Reports floats that overflowed in a run. A report contains the statement, a vertex, and whether outputs show the
overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vlang.errors import RangeError

if TYPE_CHECKING:
    from vlang.ir.notes import Place
    from vlang.runtime.graph.graph import Graph

__all__ = ["reported"]


def reported(places: Sequence[Place], run: Callable[[], Mapping[str, Any]], graph: Graph) -> tuple[str, ...]:
    """Return the warning about the first float that overflowed; () if no float overflowed.

    Args:
        places: the statements to check.
        run: runs the program again, and returns for each place an array bool[n] that says at which vertices a value
            overflowed.
        graph: the graph of the run.

    Raises RangeError if the overflowed value is not an output, since outputs computed from it may look like ordinary
    numbers.
    """
    import numpy as np  # start-up

    notes = run()
    for place in places:
        found = np.flatnonzero(np.asarray(notes[place.note]))
        if found.size:
            where = f" for vertex {graph.label(int(found[0]))}" if place.vertices else ""
            finite = "no term is" if place.terms else "its operands are finite"
            text = (f"line {place.span.line}: `{place.what}` is infinite{where}, although {finite}: the value is too "
                    f"large for {place.type}")
            if place.hidden:
                raise RangeError(f"{text}, and what is computed from it would be wrong")
            return (text,)
    return ()

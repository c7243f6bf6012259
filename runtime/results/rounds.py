"""The rounds of a run, as a tuple with a method `plot`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.runtime.engine.trace import Round

if TYPE_CHECKING:
    from vlang.runtime.results.pictures.picture import Picture

__all__ = ["Rounds"]


class Rounds(tuple[Round, ...]):
    """One `Round` per round of a run, in order."""

    __slots__ = ()

    def plot(self) -> Picture:
        """Draw active vertices, edges and seconds of every round, coloured by mode. Needs the extra `plot`.

        Raises VlangError if matplotlib is missing.
        """
        from vlang.runtime.results.pictures.rounds_picture import plot_rounds  # start-up

        return plot_rounds(self)

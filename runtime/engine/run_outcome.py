"""The goal of a run, and its outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.engine.machine import Values
from vlang.runtime.engine.trace import History
from vlang.runtime.threads.moved import NOTHING, Moved

__all__ = ["Goal", "Kept", "Outcome", "Stopped"]


@dataclass(frozen=True)
class Goal:
    """The early end of a run: the number of a loop, and the number of its supersteps after which the run ends."""

    loop: int
    supersteps: int


@dataclass
class Outcome:
    """The results of a run: values, and the history of its loops.

    Attributes:
        values: the values of output fields and globals.
        rounds: the number of supersteps of all loops.
        converged: whether every loop converged.
        reason: the reason why a loop ended. The loop is the first one that did not converge or, if all converged, the
            last one.
        history: the records of the supersteps.
        seconds: wall-clock time, excluding the time for building, for compiling, and for the checks of `require`.
        kept: copies of the requested vertex arrays, by slot.
        final: for runs that may stop at a target, whether the values of each vertex are final, bool[n].
        infinite: whether a watched value was infinite.
        infinite_inside: whether a watched value that is not an output was infinite.
        nan: the watched outputs with a NaN.
        interrupted: whether an interrupt ended the run before its end.
        failures: in trap mode, the numbers (Watch.note) of the failed operations that ended the run. Each number comes
            with the position, in the list of ids, of the vertex where the operation failed; -1 if there is no such
            vertex.
        superstep: the superstep of the innermost loop in which a failure ended the run, counted from 1; 0 outside of
            loops.
        moved: the counts of the edges that the run moved, inside and outside of loops.
    """

    values: Values = field(default_factory=Values)
    rounds: int = 0
    converged: bool = True
    reason: str = "no loop"
    history: History = field(default_factory=History)
    seconds: float = 0.0
    kept: dict[str, NDArray[Any]] = field(default_factory=dict)
    final: NDArray[np.bool_] | None = None
    infinite: bool = False
    infinite_inside: bool = False
    nan: tuple[str, ...] = ()
    interrupted: bool = False
    failures: tuple[tuple[int, int], ...] = ()
    superstep: int = 0
    moved: Moved = NOTHING


@dataclass
class Kept:
    """The part of a run's state that the engine holds, outside of the machine.

    Attributes:
        outcome: returns the attributes of the outcome so far, by name.
        history: the supersteps so far.
    """

    outcome: Callable[[], Mapping[str, Any]]
    history: History


class Stopped(Exception):
    """Raised to end the run after an interrupt. The interrupted run then returns its current values."""

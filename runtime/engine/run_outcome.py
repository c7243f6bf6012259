"""What a run is asked for beside its plan, and what it hands back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.engine.machine import Values
from vlang.runtime.engine.trace import History

__all__ = ["Goal", "Kept", "Outcome", "Stopped"]


@dataclass(frozen=True)
class Goal:
    """The early end of a run: a loop, by number, and how many supersteps of it to run."""

    loop: int
    supersteps: int


@dataclass
class Outcome:
    """The results of a run: values, and the history of its loops.

    Attributes:
        values: of fields and globals.
        rounds: supersteps, of all loops.
        converged: whether every loop ended as it should.
        reason: why the last loop ended.
        history: of the supersteps.
        seconds: wall-clock time, without building, compiling and the checks of `require`.
        kept: copies of the requested vertex arrays, by slot.
        final: bool[n], whether the values of a vertex are final, for runs that may stop at a target.
        infinite: whether a watched value was infinite.
        infinite_inside: whether one was that is no output.
        interrupted: whether an interrupt ended the run before its end.
        failures: in check mode, what ended the run: numbers (Watch.note), each with its vertex as the place of its id,
            or -1 for none.
        superstep: of the innermost loop under way when a failure ended the run, from 1; 0 outside of loops.
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
    interrupted: bool = False
    failures: tuple[tuple[int, int], ...] = ()
    superstep: int = 0


@dataclass
class Kept:
    """The part of the run that the engine itself holds.

    outcome: by name, the values of an outcome so far. history: its supersteps.
    """

    outcome: Callable[[], Mapping[str, Any]]
    history: History


class Stopped(Exception):
    """The run ends here, at an interrupt, and returns what it has."""

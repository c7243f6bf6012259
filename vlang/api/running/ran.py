"""A bound call that has run, and its conversion to text and arrays for another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.engine.machine import Values
from vlang.runtime.engine.run_outcome import Outcome
from vlang.runtime.engine.trace import History
from vlang.runtime.threads.moved import Moved

if TYPE_CHECKING:
    from vlang.runtime.plan.plan import Plan
    from vlang.runtime.policies.cost_models import StreamedPages

__all__ = ["Ran", "packed", "unpacked"]

_TEXTS = ("device", "reason", "resumed", "remembered")
_LISTS = ("before", "after", "notes")
_NUMBERS = ("rounds", "converged", "reason", "seconds", "infinite", "infinite_inside", "interrupted")
_HISTORY = ("parts", "seconds", "rows", "moved")


@dataclass(frozen=True)
class Ran:
    """A bound call that has run.

    Attributes:
        plan: the plan that was run.
        outcome: the values and the history.
        device, reason: the device of the run, and the reason for this choice.
        before, after: the warnings that the result lists before, and after, the warnings about inputs.
        resumed, remembered, notes, placement, read_bytes: see `Result`.
        streamed: the pages that were streamed to a GPU, by adjacency direction.
    """

    plan: Plan
    outcome: Outcome
    device: str
    reason: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    resumed: str = ""
    remembered: str = ""
    notes: tuple[str, ...] = ()
    placement: str = ""
    read_bytes: int = 0
    streamed: Mapping[str, StreamedPages] = field(default_factory=dict)


def packed(ran: Ran) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Convert a run on ranks to values that JSON supports, and to arrays by name."""
    outcome = ran.outcome
    modes, history = outcome.history.packed()
    about = {name: getattr(ran, name) for name in (*_TEXTS, *_LISTS)}
    about |= {"outcome": {name: np.asarray(getattr(outcome, name)).item() for name in _NUMBERS},
              "modes": modes, "moved": outcome.moved,
              "globals": {name: np.asarray(value).item() for name, value in outcome.values.globals.items()}}
    arrays = {f"field:{name}": np.asarray(array) for name, array in outcome.values.fields.items()}
    arrays |= {f"kept:{slot}": array for slot, array in outcome.kept.items()}
    return about, arrays | {f"history:{name}": array for name, array in zip(_HISTORY, history)}


def unpacked(plan: Plan, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Ran:
    """The run that `packed` has converted to `about` and `arrays`. Raises ValueError if the history belongs to another
    program.
    """
    values = Values({name.partition(":")[2]: array for name, array in arrays.items() if name.startswith("field:")},
                    about["globals"])
    kept = {name.partition(":")[2]: array for name, array in arrays.items() if name.startswith("kept:")}
    history = History.unpacked(about["modes"], [arrays[f"history:{name}"] for name in _HISTORY], len(plan.counted))
    outcome = Outcome(values, history=history, kept=kept, moved=Moved(*about["moved"]), **about["outcome"])
    texts: dict[str, Any] = {name: about[name] for name in _TEXTS} | {name: tuple(about[name]) for name in _LISTS}
    return Ran(plan, outcome, **texts)

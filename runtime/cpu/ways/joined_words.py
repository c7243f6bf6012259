"""The words into which passes that push join contributions, and the fields of which they are made."""

from __future__ import annotations

import numpy as np

from vlang.runtime.engine.state import State
from vlang.runtime.plan.plan import PushSpec, StageSpec

__all__ = ["close_words", "open_words", "push_spec"]


def push_spec(stage: StageSpec) -> PushSpec:
    """The arrays into which a pass that pushes joins contributions."""
    spec = stage.way("push", PushSpec)
    assert spec is not None
    return spec


def open_words(state: State, spec: PushSpec) -> None:
    """Copy the values of the fields to the words into which contributions are joined."""
    for part in spec.parts:
        now = state.arrays[f"field:{part.field}"]
        np.copyto(state.arrays[spec.slot].view(now.dtype)[part.first :: part.stride], now)


def close_words(state: State, spec: PushSpec) -> None:
    """Copy the joined values back to the fields."""
    for part in spec.parts:
        now = state.arrays[f"field:{part.field}"]
        np.copyto(now, state.arrays[spec.slot].view(now.dtype)[part.first :: part.stride])

"""The words in which a push combines contributions, and copies between the words and the fields."""

from __future__ import annotations

import numpy as np

from vlang.runtime.engine.state import State
from vlang.runtime.plan.plan import PushSpec, StageSpec

__all__ = ["close_words", "open_words", "push_spec"]


def push_spec(stage: StageSpec) -> PushSpec:
    """The layout of the words in which a push of this pass combines contributions."""
    spec = stage.way("push", PushSpec)
    assert spec is not None
    return spec


def open_words(state: State, spec: PushSpec) -> None:
    """Copy the values of the fields to the words in which contributions are combined."""
    for part in spec.parts:
        now = state.arrays[f"field:{part.field}"]
        np.copyto(state.arrays[spec.slot].view(now.dtype)[part.first :: part.stride], now)


def close_words(state: State, spec: PushSpec) -> None:
    """Copy the combined values from the words back to the fields."""
    for part in spec.parts:
        now = state.arrays[f"field:{part.field}"]
        np.copyto(now, state.arrays[spec.slot].view(now.dtype)[part.first :: part.stride])

"""The position of a run in its plan: the blocks in progress, from the outermost to the innermost.

In a position, lists of steps and blocks alternate. The entry of a list contains the number of its next step. The entry
of a block contains the number of complete passes through the block. A run can begin at a position after the state at
this position was restored (vlang.runtime.engine.checkpoint).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from vlang.records import dataclass
from vlang.runtime.engine.cycle import CycleWatch
from vlang.runtime.plan.plan import ForRangeSpec, ForVerticesSpec, LoopSpec, Step, SweepSpec

__all__ = ["Block", "Position", "describe", "walk"]

_MOST = 1 << 62

_WORDS: Mapping[str, tuple[str, ...]] = {
    "steps": ("at", "edges"),
    "sweep": ("at", "edges"),
    "each": ("at", "edges"),
    "range": ("at", "low", "high"),
    "loop": ("at", "limit", "kept_at", "kept_changed", "kept_active"),
}
"""The names of the numbers of each kind of block.

`at` is the next step of "steps", or the number of complete passes of a block; `edges` counts the edges that these
traversed. `low` and `high` are the bounds of a range. `limit` is the maximum number of supersteps of a loop, or -1.
`kept_...` are the numbers of its CycleWatch, with kept_at = -1 if there is no copy."""


@dataclass
class Block:
    """A block or list of steps in progress.

    Attributes:
        kind: "steps", "sweep", "each" (`for v in S`), "range" (`for i from a to b`) or "loop".
        numbers: the counters of the block. _WORDS has their names.
        again: whether the run begins at a checkpoint inside of this block.
        watch: the CycleWatch of a loop; None for other blocks.
    """

    kind: str
    numbers: dict[str, int]
    again: bool = False
    watch: CycleWatch | None = field(default=None, repr=False)

    @property
    def at(self) -> int:
        """For a block, this is the number of complete passes through it; for a list, it is the number of its next step.
        """
        return self.numbers["at"]

    @at.setter
    def at(self, value: int) -> None:
        self.numbers["at"] = value

    @property
    def edges(self) -> int:
        """The number of edges that the complete passes or steps have traversed."""
        return self.numbers["edges"]

    @edges.setter
    def edges(self, value: int) -> None:
        self.numbers["edges"] = value


class Position:
    """The blocks in progress.

    Args:
        coming: the blocks of the position at which the run begins, from the outermost to the innermost.
    """

    def __init__(self, coming: Sequence[Block] = ()) -> None:
        self.blocks: list[Block] = []
        self._coming = list(coming)

    @property
    def arriving(self) -> bool:
        """Whether the run has not yet entered all blocks of the position at which it begins."""
        return bool(self._coming)

    def enter(self, kind: str, **numbers: int) -> Block:
        """Enter a block.

        The counters of the block are `numbers`, unless the run begins at a checkpoint inside of this block.
        """
        block = Block(kind, {"at": 0, **numbers})
        if self._coming:
            block = self._coming.pop(0)
            assert block.kind == kind, (block.kind, kind)
            block.again = True
        self.blocks.append(block)
        return block

    def leave(self) -> None:
        """Leave the innermost block."""
        self.blocks.pop()

    def saved(self) -> list[dict[str, Any]]:
        """The blocks in progress, in types that JSON supports."""
        for block in self.blocks:
            if block.watch is not None:
                block.numbers |= block.watch.numbers
        return [{"kind": block.kind, **block.numbers} for block in self.blocks]


def walk(saved: object, steps: Sequence[Step]) -> list[tuple[Block, Step | None]]:
    """The blocks of a saved position, and for each block its step in a plan. For a list, the step is None.

    `saved` comes from `Position.saved`, and `steps` are the steps of the plan. Raises ValueError if the plan does not
    have the position.
    """
    if not isinstance(saved, list) or not saved:
        raise ValueError("it has no position")
    found: list[tuple[Block, Step | None]] = []
    block: Step | None = None  # the block whose steps the next list is
    for number, one in enumerate(saved):
        if number % 2:
            found.append((_read(one, _kind(block)), block))
            continue
        if block is not None:
            steps = _steps_of(block)
        here = _read(one, "steps")
        if here.at >= len(steps):
            raise ValueError("its position lies outside of the program")
        found.append((here, None))
        block = steps[here.at]
    inner, last = found[-1]
    if last is not None and not (isinstance(last, LoopSpec) and not last.nested and inner.at > 0):
        raise ValueError("its position lies between two steps")
    return found


def _steps_of(block: Step) -> Sequence[Step]:
    if isinstance(block, LoopSpec) and not block.nested:
        raise ValueError("its position lies inside of a superstep")
    assert isinstance(block, (LoopSpec, SweepSpec, ForVerticesSpec, ForRangeSpec))
    return block.steps


def _kind(step: Step | None) -> str:
    if isinstance(step, LoopSpec):
        return "loop"
    if isinstance(step, SweepSpec):
        return "sweep"
    if isinstance(step, ForVerticesSpec):
        return "each"
    if isinstance(step, ForRangeSpec):
        return "range"
    raise ValueError("its position lies outside of the program")


def _read(saved: object, kind: str) -> Block:
    words = _WORDS[kind]
    if not isinstance(saved, dict) or set(saved) != {"kind", *words} or saved["kind"] != kind or \
            not all(type(saved[word]) is int and -_MOST <= saved[word] <= _MOST for word in words) or saved["at"] < 0:
        raise ValueError("its position is none of this program")
    return Block(kind, {word: saved[word] for word in words})


def describe(blocks: Sequence[tuple[Block, Step | None]]) -> str:
    """A position as text, with the innermost block first."""
    texts = []
    for block, step in reversed(blocks):
        if isinstance(step, LoopSpec):
            texts.append(f"superstep {block.at + 1:,} of the loop in line {step.line}")
        elif isinstance(step, ForRangeSpec):
            texts.append(f"round {block.at + 1:,} of the `for` in line {step.line}")
        elif isinstance(step, ForVerticesSpec):
            texts.append(f"vertex {block.at + 1:,} of the `for` in line {step.line}")
        elif isinstance(step, SweepSpec):
            texts.append(f"level {block.at + 1:,} of the sweep in line {step.line}")
    return ", in ".join(texts) or f"step {blocks[0][0].at + 1:,} of the program"

"""Gathers of `change(u.x)` (language.md 4.5), and the messages that inactive vertices send to these gathers.

Changes are sent as messages, since a neighbour may update its sent value and change again before a receiver reads the
change. Only active neighbours contribute. If the whole contribution is one message, an inactive neighbour sends the
identity. If the contribution is more than one message, a flag stored with the messages says whether the neighbour is
active.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vlang.emit.shared.loop_spec import changes_read
from vlang.ir.forms import forms as f
from vlang.ir.stages import Stage
from vlang.records import dataclass
from vlang.reductions import identity
from vlang.types import BOOL, Scalar, Tuple, Vector

__all__ = ["ACTIVE", "ChangesSent", "changes_sent"]

ACTIVE = f.GraphValue(BOOL, "active", "sent")
"""A term of a condition at an edge: whether the neighbour is active."""

_NEUTRAL = frozenset({"+", "min", "max", "or", "and"})


@dataclass(frozen=True)
class ChangesSent:
    """How the gathers of a stage read changes.

    Attributes:
        flagged: The reductions that also test the flag of the neighbour in their condition.
        nothing: For each other message, the value (the identity) that an inactive neighbour sends.
    """

    flagged: frozenset[f.Expr]
    nothing: Mapping[f.Expr, bool | int | float | None]

    def __bool__(self) -> bool:
        return bool(self.flagged or self.nothing)

    def received(self, reduce: f.Reduce) -> f.Reduce:
        """Return the reduction to evaluate at an edge. If the given reduction is in `flagged`, the condition of the
        returned reduction also tests the flag.
        """
        if reduce not in self.flagged:
            return reduce
        cond = ACTIVE if reduce.cond is None else f.Op(BOOL, "and", (reduce.cond, ACTIVE))
        return replace(reduce, cond=cond)


def changes_sent(stage: Stage, messages: Mapping[f.Expr, int]) -> ChangesSent:
    """How the gathers of a stage read changes."""
    nothing: dict[f.Expr, bool | int | float | None] = {}
    flagged: set[f.Expr] = set()
    reduces = [gather.reduce for gather in stage.gathers]
    for reduce in reduces:
        if not changes_read(reduce):
            continue
        body = reduce.body
        elsewhere = sum(part == body for other in reduces for part in f.walk(other))
        alone = body in messages and elsewhere == 1 and reduce.default is None
        if alone and reduce.operator in _NEUTRAL and not isinstance(body.type, Tuple):
            item = body.type.item if isinstance(body.type, Vector) else body.type
            assert isinstance(item, Scalar)
            nothing[body] = identity(reduce.name, item)
        else:
            flagged.add(reduce)
    return ChangesSent(frozenset(flagged), nothing)

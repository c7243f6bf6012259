"""Gathers of changes (language.md 4.5): what a neighbour that is not active sends.

Changes travel as messages, since a neighbour may be told, and change again, before a receiver looks. Only active
neighbours contribute: where the whole contribution is one message, others send what adds nothing; elsewhere a flag
beside the messages says who is active.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from vlang.emit.shared.loop_spec import changes_read
from vlang.ir.forms import forms as f
from vlang.ir.stages import Stage
from vlang.reductions import identity
from vlang.types import BOOL, Scalar, Tuple, Vector

__all__ = ["ACTIVE", "Telling", "telling"]

ACTIVE = f.GraphValue(BOOL, "active", "sent")
"""Stands, in a condition at an edge, for whether the neighbour is active."""

_NEUTRAL = frozenset({"sum", "min", "max", "any", "all"})


@dataclass(frozen=True)
class Telling:
    """How the gathers of a stage read changes. flagged: the reductions that need the flag. nothing: what
    other messages are of a neighbour that is not active."""

    flagged: frozenset[f.Expr]
    nothing: Mapping[f.Expr, bool | int | float | None]

    def __bool__(self) -> bool:
        return bool(self.flagged or self.nothing)

    def received(self, reduce: f.Reduce) -> f.Reduce:
        """A reduction at an edge, its condition with the flag where it needs that."""
        if reduce not in self.flagged:
            return reduce
        cond = ACTIVE if reduce.cond is None else f.Op(BOOL, "and", (reduce.cond, ACTIVE))
        return replace(reduce, cond=cond)


def telling(stage: Stage, messages: Mapping[f.Expr, int]) -> Telling:
    """How the gathers of a stage read changes."""
    nothing: dict[f.Expr, bool | int | float | None] = {}
    flagged: set[f.Expr] = set()
    reduces = [gather.reduce for gather in stage.gathers]
    for reduce in reduces:
        if not changes_read(reduce):
            continue
        body = reduce.body
        elsewhere = sum(part == body for other in reduces for part in f.walk(other))
        alone = body in messages and elsewhere == 1 and reduce.default is None and not reduce.user
        if alone and reduce.name in _NEUTRAL and not isinstance(body.type, Tuple):
            item = body.type.item if isinstance(body.type, Vector) else body.type
            assert isinstance(item, Scalar)
            nothing[body] = identity(reduce.name, item)
        else:
            flagged.add(reduce)
    return Telling(frozenset(flagged), nothing)

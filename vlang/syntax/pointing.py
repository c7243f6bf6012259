"""Finds reductions over the vertices whose pointer is this vertex: `R(e for v in vertices if v.f == self and q)`."""

from __future__ import annotations

from collections.abc import Iterator

from vlang.records import dataclass
from vlang.syntax import tree as t

__all__ = ["Pointing", "conjuncts", "equalities", "pointing"]


@dataclass(frozen=True)
class Pointing:
    """The parts of the condition of a reduction over the vertices whose pointer is this vertex.

    Attributes:
        test: The comparison `v.f == self` or `self == v.f`.
        pointer: The side `v.f` of this comparison.
        rest: The other conjuncts, in order.
    """

    test: t.Compare
    pointer: t.Member
    rest: tuple[t.Expr, ...]


def conjuncts(cond: t.Expr | None) -> Iterator[t.Expr]:
    """Return the operands of the `and`s of a condition, in order."""
    if isinstance(cond, t.Logical) and cond.op == "and":
        yield from conjuncts(cond.left)
        yield from conjuncts(cond.right)
    elif cond is not None:
        yield cond


def equalities(node: t.Reduce) -> list[tuple[t.Compare, t.Member]]:
    """Return the conjuncts `v.f == self` of a reduction over vertices, and the side `v.f` of each conjunct."""
    if node.domain.kind not in ("vertices", "set"):
        return []
    found: list[tuple[t.Compare, t.Member]] = []
    for part in conjuncts(node.cond):
        if isinstance(part, t.Compare) and part.op == "==":
            for side, other in ((part.left, part.right), (part.right, part.left)):
                if isinstance(other, t.Self) and isinstance(side, t.Member) and _is_member(side, node.domain.name):
                    found.append((part, side))
    return found


def _is_member(expr: t.Member, name: str) -> bool:
    return isinstance(expr.value, t.Name) and expr.value.name == name


def pointing(node: t.Reduce) -> Pointing | None:
    """Return the parts of the condition of a reduction over the vertices whose pointer is this vertex; None for other
    reductions.
    """
    found = equalities(node)
    if len(found) != 1 or node.domain.kind != "vertices":
        return None
    test, pointer = found[0]
    return Pointing(test, pointer, tuple(part for part in conjuncts(node.cond) if part is not test))

"""The one table of reductions: identity, algebra and types (language.md section 8).

The checker, the analysis and the code generators of both targets read this table. Each code generator has its own table
of code for reductions, with the names of the reductions as keys.
"""

from __future__ import annotations

from vlang.records import dataclass
from vlang.types import BOOL, F64, I64, U64, VERTEX, Scalar

__all__ = ["REDUCTIONS", "ReductionRule", "identity", "accumulator"]


@dataclass(frozen=True)
class ReductionRule:
    """Properties of a reduction.

    Attributes:
        name: Its name in programs.
        accepts: The kinds of types that its body may have: "int", "uint", "float", "bool", "vertex", "category",
            "time", "vector", "tuple".
        operator: The binary operator or function that joins its result into a field (the normal form of language.md
            10.1); None if there is none.
        idempotent: Whether joining the same contribution again changes nothing.
        has_identity: Whether the reduction of no values has a result without `default`.
        holistic: Whether it needs all contributions of a vertex at once.
        exact: Whether the bits of the result are independent of the order of contributions, even for floats.
        direction: "up" if joining never decreases a field, "down" if it never increases one, else None.
        over_vertices: Whether it may range over vertices as well as edges.
    """

    name: str
    accepts: frozenset[str]
    operator: str | None
    idempotent: bool
    has_identity: bool = True
    holistic: bool = False
    exact: bool = True
    direction: str | None = None
    over_vertices: bool = True


_NUMBERS = frozenset({"int", "uint", "float", "vector"})
_ORDERED = _NUMBERS | {"vertex", "category", "time", "tuple"}
_BITS = frozenset({"int", "uint", "vector"})

REDUCTIONS: dict[str, ReductionRule] = {
    rule.name: rule
    for rule in (
        ReductionRule("sum", _NUMBERS, "+", idempotent=False, exact=False),
        ReductionRule("prod", _NUMBERS, "*", idempotent=False, exact=False),
        ReductionRule("min", _ORDERED, "min", idempotent=True, direction="down"),
        ReductionRule("max", _ORDERED, "max", idempotent=True, direction="up"),
        ReductionRule("any", frozenset({"bool"}), "or", idempotent=True, direction="up"),
        ReductionRule("all", frozenset({"bool"}), "and", idempotent=True, direction="down"),
        ReductionRule("count", frozenset({"bool"}), None, idempotent=False),
        ReductionRule("bitor", _BITS, "|", idempotent=True, direction="up"),
        ReductionRule("bitand", _BITS, "&", idempotent=True, direction="down"),
        ReductionRule("bitxor", _BITS, "^", idempotent=False),
        ReductionRule("mean", frozenset({"int", "uint", "float"}), None, idempotent=False, has_identity=False,
                      exact=False),
        ReductionRule("mode", frozenset({"int", "uint", "bool", "vertex", "category", "time"}), None, idempotent=False,
                      has_identity=False, holistic=True, over_vertices=False),
        ReductionRule("mex", frozenset({"int", "uint"}), None, idempotent=False, holistic=True, over_vertices=False),
        ReductionRule("hindex", frozenset({"int", "uint"}), None, idempotent=False, holistic=True,
                      over_vertices=False),
        ReductionRule("median", frozenset({"int", "uint", "float", "time"}), None, idempotent=False, has_identity=False,
                      holistic=True, over_vertices=False),
    )
}


def identity(name: str, type_: Scalar) -> bool | int | float | None:
    """The result of a reduction over no values of `type_`; None stands for the vertex `none`.

    The identity of a tuple or vector consists of the identities of its components. Raises KeyError if the reduction has
    no identity.
    """
    if name in ("min", "max"):
        if type_ == VERTEX:
            return None
        if type_ == BOOL:
            return name == "min"
        if type_.floating:
            return float("inf") if name == "min" else float("-inf")
        return type_.highest if name == "min" else type_.lowest
    if name in ("any", "all"):
        return name == "all"
    if name in ("sum", "count", "bitor", "bitxor", "mex", "hindex"):
        return 0.0 if type_.floating else 0
    if name == "prod":
        return 1.0 if type_.floating else 1
    if name == "bitand":
        return -1 if type_.kind == "int" else type_.highest
    raise KeyError(name)


def accumulator(name: str, type_: Scalar, over_vertices: bool) -> Scalar:
    """The type in which values of `type_` are accumulated.

    Sums and products of floats accumulate in 64 bits and are rounded once. Sums and products of integers over vertices
    accumulate in i64, or in u64 for unsigned types. Counts accumulate like sums of integers.
    """
    if name in ("sum", "prod", "mean") and type_.floating:
        return F64
    if name == "mean":
        return F64
    if over_vertices and name in ("sum", "prod", "count") and (type_.integral or type_ == BOOL):
        return U64 if type_.kind == "uint" else I64
    return type_

"""The only table of reductions: types, algebra and help texts (language.md section 8).

The checker, the analysis, the code generators of both targets and the editor support read this table. A reduction that
combines contributions by an operator of MONOIDS is one row of REDUCTIONS.
"""

from __future__ import annotations

from vlang.records import dataclass
from vlang.types import BOOL, F64, I64, U64, VERTEX, Scalar

__all__ = ["MONOIDS", "REDUCTIONS", "Monoid", "ReductionRule", "accumulator", "constant", "identity", "operator_of"]


@dataclass(frozen=True)
class Monoid:
    """A commutative and associative operator by which contributions are combined.

    Attributes:
        operator: The operator or function of the language.
        merge: The operator that merges two accumulators on both targets: one of + * | & ^, or "min" or "max".
        atomic: the word OP in the names of two GPU functions: `shared_OP`, which combines in shared memory, and
            `improve_OP`, which combines in global memory (only if `idempotent`). These functions are in
            vlang/emit/cuda/skeletons/atomics.cuh.
        identity: The result if there are no contributions: "0", "1", "false", "true", "all ones", or the "greatest" or
            "least" value of the type.
        absorbing: The value that no contribution changes, in the words of `identity`; "" if there is none.
        idempotent: Whether the result does not change if the same contribution is combined a second time.
        exact: Whether the bits of the result are independent of the order of contributions, even for floats.
        direction: "up" if the operator never decreases a field, "down" if the operator never increases a field, else
            None.
        wide: Whether accumulators have 64 bits (see `accumulator`).
    """

    operator: str
    merge: str
    atomic: str
    identity: str
    absorbing: str = ""
    idempotent: bool = False
    exact: bool = True
    direction: str | None = None
    wide: bool = False


MONOIDS: dict[str, Monoid] = {
    monoid.operator: monoid
    for monoid in (
        Monoid("+", "+", "add", "0", exact=False, wide=True),
        Monoid("*", "*", "mul", "1", exact=False, wide=True),
        Monoid("min", "min", "min", "greatest", idempotent=True, direction="down"),
        Monoid("max", "max", "max", "least", idempotent=True, direction="up"),
        Monoid("or", "|", "any", "false", "true", idempotent=True, direction="up"),
        Monoid("and", "&", "all", "true", "false", idempotent=True, direction="down"),
        Monoid("|", "|", "or", "0", "all ones", idempotent=True, direction="up"),
        Monoid("&", "&", "and", "all ones", "0", idempotent=True, direction="down"),
        Monoid("^", "^", "xor", "0"),
    )
}


@dataclass(frozen=True)
class ReductionRule:
    """Properties of a reduction.

    Attributes:
        name: Its name in programs.
        accepts: The kinds of types that its body may have: "int", "uint", "float", "bool", "vertex", "category",
            "time", "vector", "tuple".
        operator: The key in MONOIDS of the operator that combines contributions; None if the reduction needs all
            contributions of a vertex at once.
        help: One line for editors.
        result: "value" if the result is the combined contributions, "int" if the result is a count, "float" if the
            result is the combined contributions divided by their number.
        has_identity: Whether the reduction of no values has a result without `default`.
    """

    name: str
    accepts: frozenset[str]
    operator: str | None
    help: str
    result: str = "value"
    has_identity: bool = True

    @property
    def monoid(self) -> Monoid | None:
        """The row of MONOIDS for `operator`; None if there is no operator."""
        return None if self.operator is None else MONOIDS[self.operator]

    @property
    def holistic(self) -> bool:
        """Whether the reduction needs all contributions of a vertex at once. Such a reduction ranges only over edges.
        """
        return self.operator is None

    @property
    def idempotent(self) -> bool:
        """Whether the same contribution may be combined twice."""
        return self.monoid is not None and self.monoid.idempotent

    @property
    def exact(self) -> bool:
        """Whether the bits of the result are independent of the order of contributions, even for floats."""
        return self.result == "int" or self.monoid is None or self.monoid.exact


_NUMBERS = frozenset({"int", "uint", "float", "vector"})
_ORDERED = _NUMBERS | {"vertex", "category", "time", "tuple"}
_BITS = frozenset({"int", "uint", "vector"})
_BOOL = frozenset({"bool"})

REDUCTIONS: dict[str, ReductionRule] = {
    rule.name: rule
    for rule in (
        ReductionRule("sum", _NUMBERS, "+", "the sum; 0 of nothing"),
        ReductionRule("prod", _NUMBERS, "*", "the product; 1 of nothing"),
        ReductionRule("min", _ORDERED, "min", "the least value; `inf` (or `none`) of nothing"),
        ReductionRule("max", _ORDERED, "max", "the greatest value; `-inf` (or `none`) of nothing"),
        ReductionRule("any", _BOOL, "or", "whether one holds"),
        ReductionRule("all", _BOOL, "and", "whether all hold"),
        ReductionRule("count", _BOOL, "+", "how many hold", result="int"),
        ReductionRule("bitor", _BITS, "|", "the bits set in one of them"),
        ReductionRule("bitand", _BITS, "&", "the bits set in all of them"),
        ReductionRule("bitxor", _BITS, "^", "the bits set in an odd number of them"),
        ReductionRule("mean", frozenset({"int", "uint", "float"}), "+", "the mean; needs a `default`", result="float",
                      has_identity=False),
        ReductionRule("mode", frozenset({"int", "uint", "bool", "vertex", "category", "time"}), None,
                      "the most frequent value, the smallest on ties; needs a `default`", has_identity=False),
        ReductionRule("mex", frozenset({"int", "uint"}), None, "the smallest integer >= 0 that does not occur",
                      result="int"),
        ReductionRule("hindex", frozenset({"int", "uint"}), None, "the largest h such that h values are >= h",
                      result="int"),
        ReductionRule("median", frozenset({"int", "uint", "float", "time"}), None,
                      "the value in the middle, the lower one of two; needs a `default`", has_identity=False),
    )
}


def operator_of(name: str) -> str | None:
    """Return the operator of a built-in reduction if its result is the combined contributions; None for any other
    reduction.
    """
    rule = REDUCTIONS.get(name)
    return rule.operator if rule is not None and rule.result == "value" else None


def identity(name: str, type_: Scalar) -> bool | int | float | None:
    """The result of a reduction over no values of `type_`; None stands for the vertex `none`.

    The identity of a tuple or vector consists of the identities of its components. Raises KeyError if the reduction has
    no identity.
    """
    rule = REDUCTIONS[name]
    if not rule.has_identity:
        raise KeyError(name)
    return constant(rule.monoid.identity if rule.monoid is not None else "0", type_)


def constant(word: str, type_: Scalar) -> bool | int | float | None:
    """The value of a type that `Monoid` names by `word`; None stands for the vertex `none`."""
    if word in ("false", "true"):
        return word == "true"
    if word in ("0", "1"):
        return float(word) if type_.floating else int(word)
    if word == "all ones":
        return -1 if type_.kind == "int" else type_.highest
    if type_ == VERTEX:
        return None
    if type_ == BOOL:
        return word == "greatest"
    if type_.floating:
        return float("inf") if word == "greatest" else float("-inf")
    return type_.highest if word == "greatest" else type_.lowest


def accumulator(name: str, type_: Scalar, over_vertices: bool) -> Scalar:
    """The type in which values of `type_` are accumulated.

    Sums and products of floats accumulate in 64 bits and are rounded once. Sums and products of integers over vertices
    accumulate in i64, or in u64 for unsigned types. Counts accumulate like sums of integers.
    """
    rule = REDUCTIONS[name]
    wide = rule.monoid is not None and rule.monoid.wide
    if rule.result == "float" or (wide and type_.floating):
        return F64
    if over_vertices and wide and (type_.integral or type_ == BOOL):
        return U64 if type_.kind == "uint" else I64
    return type_

"""The results of the checker for a correct program: the tables that lowering reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from vlang.syntax import tree as t
from vlang.types import Type

__all__ = ["Checked", "Laws", "Symbol"]


@dataclass(frozen=True, eq=False)
class Symbol:
    """The declaration behind a name. Symbols compare by identity: two loops may both have a `near`.

    Attributes:
        kind: "parameter", "edge", "field", "global", "let", "accumulator", "loop" (variable of a `for`, of either
            form), "function", "reduction", "neighbour" (the u of a domain over edges), "member" (the v of
            `v in vertices` or `v in S`), "argument" (a parameter of a `fn`, an operand of a `reduction`), "builtin"
            (N, M, iteration, degree, indegree, outdegree).
        name: as declared.
        type: None after a mistake.
        decl: the node that declares it; None for builtins.
        local: whether it is a field declared in the block of a loop.
    """

    kind: str
    name: str
    type: Type | None
    decl: t.Node | None
    local: bool = False


@dataclass(frozen=True)
class Laws:
    """The laws of a declared reduction that was not refuted (language.md section 12).

    method: "structure", "exhaustion" and "solver" are proofs; "sampling" found no counterexample in `tried` triples;
    "untested" could not be evaluated outside a run. idempotent: f(a, a) = a, as far as the method shows.
    """

    method: str
    idempotent: bool
    tried: int = 0

    @property
    def proved(self) -> bool:
        """Whether the laws are proved; only then may the compiler rely on idempotence."""
        return self.method in ("structure", "exhaustion", "solver")

    @property
    def said(self) -> str:
        """The method and its result as text."""
        how = {"structure": "proved by its structure", "exhaustion": "proved by trying all operands",
               "solver": "proved by z3", "sampling": f"no counterexample in {self.tried:,} triples of operands",
               "untested": "not tested: its body has a value only in a run"}[self.method]
        return f"{how}; {'idempotent' if self.idempotent else 'not idempotent'}"


@dataclass(frozen=True)
class Checked:
    """A correct program with its tables.

    Arguments of a `fn` that are left out have the defaults of its parameters. Updates (`x += e`) have no node for
    `x + e`: its type is `common` of both. The shifts take the type of their left side unless that is a literal.

    Attributes:
        file: the tree.
        types: the type of every expression that has one; literals and counters may be weak (`vlang.types.INTEGER`,
            `NUMBER`) and take the type of their place. Inside a `fn` or `reduction` body: the type as declared there.
        symbols: the symbol of each use of a name, keyed by the node that uses it (Name, Member for its field, Call for
            a `fn` or declared reduction, Reduce for a declared reduction, Domain for its `set_name`, Target by its
            position through `targets`, Sweep for its field, ForVertices for its set).
        targets: for each Target, the symbols written, in order.
        declared: for each declaring node, the symbols it declares, in the order of its names (Reduction: the reduction
            and its two operands; Domain: its vertex; Param of a `fn`: the argument).
        precision: 32 or 64, the bits of `int` and `float`.
        warnings: problems of severity "warning".
        laws: what is known of each declared reduction.
    """

    file: t.File
    types: dict[t.Expr, Type]
    symbols: dict[t.Node, Symbol]
    targets: dict[t.Target, tuple[Symbol, ...]]
    declared: dict[t.Node, tuple[Symbol, ...]]
    precision: int = 32
    warnings: tuple[object, ...] = field(default=())
    laws: dict[t.Reduction, Laws] = field(default_factory=dict)

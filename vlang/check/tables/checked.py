"""The results of the checker for a correct program: the tables that lowering reads."""

from __future__ import annotations

from dataclasses import field

from vlang.records import dataclass
from vlang.syntax import tree as t
from vlang.types import Type

__all__ = ["Checked", "Laws", "Symbol"]


@dataclass(frozen=True, eq=False)
class Symbol:
    """The declaration behind a name. Symbols compare by identity, since two loops may declare the same name.

    Attributes:
        kind: "parameter", "edge", "field", "global", "let", "accumulator", "loop" (the variable of a `for` over
            vertices or numbers), "function", "reduction", "neighbour" (the u of a domain over edges), "member" (the v
            of `v in vertices` or `v in S`), "argument" (a parameter of a `fn`, an operand of a `reduction`), "builtin"
            (N, M, iteration, degree, indegree, outdegree).
        name: the name as declared.
        type: its type; None if the declaration is wrong and has been reported.
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
    """The result of testing the laws of a declared reduction whose laws are not refuted (language.md section 12).

    Attributes:
        method: "structure", "exhaustion" and "solver" are proofs. "sampling" found no counterexample in `tried` triples
            of operands. "untested" means that the body could not be evaluated outside of a run.
        idempotent: whether f(a, a) = a holds according to the method.
        tried: the number of triples of operands that "sampling" tried.
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
        """The method and its result, as text."""
        how = {"structure": "proved by its structure", "exhaustion": "proved by trying all operands",
               "solver": "proved by z3", "sampling": f"no counterexample in {self.tried:,} triples of operands",
               "untested": "not tested: its body has a value only in a run"}[self.method]
        return f"{how}; {'idempotent' if self.idempotent else 'not idempotent'}"


@dataclass(frozen=True)
class Checked:
    """A correct program with its tables.

    If a call of a `fn` leaves out an argument, the default of the parameter is used. An update (`x += e`) has no node
    for `x + e`; the type of this sum is `vlang.types.common(type of x, type of e)`. A shift has the type of its left
    operand, unless that operand is a literal.

    Attributes:
        file: the tree.
        types: the type of every expression that has a type. Literals and counters may have weak types
            (`vlang.types.INTEGER`, `NUMBER`), which adapt to their context. In the body of a `fn` or `reduction`, types
            follow from the declaration, not from calls.
        symbols: the symbol of each use of a name, by the node of the use (Name, Member for its field, Call for a `fn`
            or declared reduction, Reduce for a declared reduction, Domain for its `set_name`, Sweep for its field,
            ForVertices for its set). The symbols of Target nodes are in `targets` instead.
        targets: the symbols that each Target writes, in order.
        declared: the symbols that each declaration declares, in the order of its names. A Reduction declares the
            reduction and its two operands. A Domain declares its vertex. A Param of a `fn` declares the argument.
        precision: 32 or 64, the bits of `int` and `float`.
        warnings: the problems of severity "warning".
        laws: the result of testing the laws of each declared reduction.
        values: the value of each constant; in `file`, literals replace the constants.
        written: the tree of the text, with constants; None if the program has no constants, because `file` is then the
            same tree.
    """

    file: t.File
    types: dict[t.Expr, Type]
    symbols: dict[t.Node, Symbol]
    targets: dict[t.Target, tuple[Symbol, ...]]
    declared: dict[t.Node, tuple[Symbol, ...]]
    precision: int = 32
    warnings: tuple[object, ...] = field(default=())
    laws: dict[t.Reduction, Laws] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    written: t.File | None = None

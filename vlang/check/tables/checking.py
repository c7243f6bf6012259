"""The state of one run of the checker: the tables that it fills and the problems that it finds."""

from __future__ import annotations

import re
from dataclasses import field
from itertools import chain, count

from vlang.check.tables.checked import Symbol
from vlang.check.tables.scope import Level, Scope
from vlang.check.tables.typing import holds
from vlang.records import dataclass
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.syntax.constants import constants_of
from vlang.syntax.keywords import PREDEFINED, RESERVED, WORDS
from vlang.syntax.problems import Problem
from vlang.syntax.rewrite import inside
from vlang.types import INTEGER, TEXT, Type, scalar_named

__all__ = ["Run"]

Notes = tuple[tuple[t.Span, str], ...]

_DECLARED = re.compile(r"^(?:gather|let|vertex) (\w+)", re.MULTILINE)


@dataclass(eq=False)
class Run:
    """The state of one check.

    Attributes:
        file: the tree.
        precision: 32 or 64, the bits of `int` and `float`.
        broken: the names on lines that did not parse; they are not reported as unknown.
        clashed: the names that are declared twice; problems with reads of these names are not reported.
        problems: the problems found so far.
        types, symbols, targets, declared: as in `Checked`.
        levels: the level of every expression: graph, vertex or edge.
        builtins: the symbols of the predefined names.
        root: the names of the whole program.
        places: the place where each symbol is declared.
        later: symbols for all names that the program declares, for messages about names that are used before their
            declaration.
        arguments: the parameters of each `fn`.
        initial: for the declaration of a field, the reduction that initialises the field.
        used_on: for each declared reduction, the expressions that use the reduction.
        read: the symbols that are read somewhere.
        neighbours: the names of the vertices of all domains, for messages.
        constants: the constants of the program, with their defaults.
    """

    file: t.File
    precision: int
    broken: frozenset[str] = frozenset()
    clashed: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    types: dict[t.Expr, Type] = field(default_factory=dict)
    levels: dict[t.Expr, Level] = field(default_factory=dict)
    symbols: dict[t.Node, Symbol] = field(default_factory=dict)
    targets: dict[t.Target, tuple[Symbol, ...]] = field(default_factory=dict)
    declared: dict[t.Node, tuple[Symbol, ...]] = field(default_factory=dict)
    builtins: dict[str, Symbol] = field(default_factory=dict)
    root: Scope = field(default_factory=Scope)
    places: dict[Symbol, t.Span] = field(default_factory=dict)

    later: tuple[Symbol, ...] = ()
    arguments: dict[Symbol, tuple[Symbol, ...]] = field(default_factory=dict)
    initial: dict[t.Node, t.Reduce] = field(default_factory=dict)
    used_on: dict[Symbol, list[t.Reduce]] = field(default_factory=dict)
    read: set[Symbol] = field(default_factory=set)
    neighbours: frozenset[str] = frozenset()
    constants: dict[str, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        many = (t.VertexField, t.EdgeField, t.EdgeState)
        named = (*many, t.GlobalValue, t.Let)
        self.later = tuple(Symbol("later", n, None, i) for i in self.file.items if isinstance(i, named)
                           for n in (i.names if isinstance(i, many) else (i.name,)))
        self.neighbours = frozenset(n.name for n in inside(self.file) if isinstance(n, t.Domain))
        self.constants = constants_of(self.file)
        self.int = scalar_named("int", self.precision)
        self.float = scalar_named("float", self.precision)
        for name in sorted(PREDEFINED):
            type_ = self.int if name.endswith("degree") else INTEGER
            self.builtins[name] = Symbol("builtin", name, type_, None)

    def report(self, code: Code, title: str, span: t.Span, label: str = "", *, notes: Notes = (),
               help: str | tuple[str, ...] = (), write: str | tuple[str, ...] = (),
               replaces: t.Span | None = None) -> None:
        """Record a problem.

        Args:
            code: the code of the diagnostic.
            title: a sentence that says what is wrong.
            span: the wrong part of the program.
            label: a text shown beside that part; may be empty.
            notes: further parts of the program, each with a label.
            help: lines that say what to write instead.
            write: correct program lines.
            replaces: the part that `write` replaces; None for the reported lines.
        """
        helps = (help,) if isinstance(help, str) else help
        writes = (write,) if isinstance(write, str) else write
        self.problems.append(Problem(code, title, span, label, notes, helps, writes, replaces))

    def text(self, node: t.Node) -> str:
        """The program text of a node."""
        return self.file.text[node.span.start : node.span.end]

    def note(self, symbol: Symbol, label: str) -> Notes:
        """A note at the declaration of `symbol`; () for a builtin."""
        span = symbol.decl.span if symbol.decl is not None else None
        return () if span is None else ((first_line(self.file.text, span), label),)

    def declare(self, scope: Scope, node: t.Node, kind: str, name: str, span: t.Span, type_: Type | None, *,
                local: bool = False) -> Symbol:
        """Enter a name into a scope and return its symbol. A name that is already declared is reported (V102) and not
        entered.

        Args:
            scope: the names of the block.
            node: the declaration.
            kind: the kind of the symbol, see `Symbol`.
            name: the name to enter.
            span: the place of the name.
            type_: the type of the symbol; None if the declaration is wrong and has been reported.
            local: whether it is a field declared in the block of a loop.
        """
        if holds(type_, TEXT):
            self.report(Code.WRONG_TYPE, f"`{name}` is a text, which has no type by itself", span,
                        help="a text stands for the name of a category, or for a time: declare which, as in "
                        f"`{name}: category`")
            type_ = None
        symbol = Symbol(kind, name, type_, node, local)
        self.places[symbol] = span
        self.declared[node] = (*self.declared.get(node, ()), symbol)
        if self.free(scope, name, span):
            scope.names[name] = symbol
        return symbol

    def free(self, scope: Scope, name: str, span: t.Span) -> bool:
        """Return whether `name` may be declared in this scope; reports V102 if not."""
        if name in RESERVED:
            self.report(Code.NAME_TAKEN, f"`{name}` is a word of the language", span, "choose another name")
            return False
        if name in PREDEFINED:
            self.report(Code.NAME_TAKEN, f"`{name}` is predefined", span, "choose another name")
            return False
        other = scope.find(name)
        if other is None or name in self.broken:
            return True
        self.clashed.add(name)
        here, there = sorted((span, self.places[other]), key=lambda s: s.start)
        self.report(Code.NAME_TAKEN, f"`{name}` is declared twice", there, "declared again here",
                    notes=((here, "declared here first"),),
                    help="fields, parameters, edge fields, `let`s and accumulators share one namespace")
        return False

    def argument_types(self, symbol: Symbol) -> list[Type | None]:
        """The types of the arguments that a `fn` or declared reduction takes."""
        if isinstance(symbol.decl, t.Reduction):
            return [symbol.type, symbol.type]
        return [s.type for s in self.arguments.get(symbol, ())]

    def least_arguments(self, symbol: Symbol) -> int:
        """The number of arguments that a call must pass: all arguments up to the last parameter without default."""
        if not isinstance(symbol.decl, t.Function):
            return 2
        needed = [i for i, p in enumerate(symbol.decl.params) if p.default is None]
        return needed[-1] + 1 if needed else 0

    def variable(self, scope: Scope, wish: str) -> str:
        """Return a name for the vertex of a domain: `wish`, with a number added if the name `wish` is visible in the
        scope.
        """
        return wish if scope.find(wish) is None else self.fresh(wish)

    def fresh(self, wish: str) -> str:
        """The name `wish`, followed by a number if the program or the proposal of an earlier message uses this name."""
        proposed = "\n".join(line for problem in self.problems for line in problem.write)
        taken = WORDS | set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", self.file.text)) | set(_DECLARED.findall(proposed))
        return next(n for n in chain([wish], (f"{wish}{k}" for k in count(2))) if n not in taken)


def first_line(text: str, span: t.Span) -> t.Span:
    """Return the part of a span that is on the first line of the span."""
    end = text.find("\n", span.start, span.end)
    stop = span.end if end < 0 else end
    return t.Span(span.start, stop, span.line, span.column)

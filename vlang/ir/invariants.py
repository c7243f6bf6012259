"""The rules that the IR obeys, one sentence each. Other modules check the rules of schedules and plans.

The rules state what `vlang.ir.lower` guarantees to all later modules. With VLANG_INVARIANTS=1, which tests set, every
program is checked against all rules. Without this setting, the module is not loaded. A broken rule is a bug of vlang,
and raises an InternalError with the sentence of the rule and the first place that breaks the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from vlang.errors import InternalError
from vlang.ir.forms import forms as f
from vlang.ir.forms.text import expression
from vlang.ir.forms.visible import statements
from vlang.ir.type_invariants import broken_type
from vlang.records import dataclass
from vlang.types import BOOL, I64, VERTEX, Scalar, Tuple, Type, VertexSet

__all__ = ["PROGRAM_RULES", "Rule", "assert_rules", "assert_program"]

T = TypeVar("T")


@dataclass(frozen=True)
class Rule(Generic[T]):
    """A rule that the compiler checks in the forms of a program.

    Attributes:
        sentence: the rule in words.
        broken: yields a description of each place where the rule does not hold.
    """

    sentence: str
    broken: Callable[[T], Iterable[str]]


def assert_rules(rules: Iterable[Rule[T]], form: T, name: str) -> None:
    """Raise InternalError with the sentence of every rule that is broken, and the first place where the rule is broken.
    """
    found = [f"  {rule.sentence}\n    {place}" for rule in rules for place in list(rule.broken(form))[:1]]
    if found:
        raise InternalError(f"{name}: the compiler broke its own rules; this is a bug in vlang, please report it with "
                            "the program.\n" + "\n".join(found))


def assert_program(program: f.Program) -> None:
    """Check the IR of a program. Raises InternalError."""
    assert_rules(PROGRAM_RULES, program, program.name)


# ------------------------------------------------------------------------------------------------ sites and nodes
@dataclass(frozen=True)
class Site:
    """An expression of a statement or declaration.

    Attributes:
        expr: the expression.
        level: whether it is evaluated per "graph", "vertex" or "edge".
        names: kind and name of the accumulators, `let`s, `global`s and variables that are defined before it.
        loops: the number of `repeat`s around it.
        where: its place, for messages.
        wanted: the type that it must have; None if any type is allowed.
    """

    expr: f.Expr
    level: str
    names: frozenset[tuple[str, str]]
    loops: int
    where: str
    wanted: Type | None = None


@dataclass(frozen=True)
class Node:
    """An expression in a Site.

    Attributes:
        expr: the expression.
        level: the level of the expression: "edge" inside a reduction over edges, else the level of the Site.
        site: the Site that it belongs to.
        outer: the expression directly around it; None for the outermost expression.
        reduce: the innermost reduction around it; None if there is none.
    """

    expr: f.Expr
    level: str
    site: Site
    outer: f.Expr | None = None
    reduce: f.Reduce | None = None

    def __str__(self) -> str:
        return f"{expression(self.expr)}, in {self.site.where}"


def sites(program: f.Program) -> Iterator[Site]:
    """Every expression of a program."""
    names: frozenset[tuple[str, str]] = frozenset()
    for param in program.params:
        if param.default is not None:
            yield Site(param.default, "graph", names, 0, f"the parameter {param.name}", param.type)
        names |= {("parameter", param.name)}
    for edge in program.edges:
        if edge.default is not None:
            yield Site(edge.default, "graph", names, 0, f"the edge field {edge.name}", edge.type)
    for require in program.requires:
        yield Site(require.cond, "edge", names, 0, f"`require {require.text}`", BOOL)
    for reduction in program.reductions:
        sides = names | {("accumulator", reduction.left), ("accumulator", reduction.right)}
        where = f"the reduction {reduction.name}"
        yield Site(reduction.body, "vertex", sides, 0, where, reduction.wide)
        yield Site(reduction.identity, "graph", names, 0, where, reduction.wide)
    yield from _Walk(program).block(program.body, names, 0)


class _Walk:
    """Walks through blocks and yields their expressions, each with the names defined before it."""

    def __init__(self, program: f.Program) -> None:
        self._types: dict[str, Type] = {decl.name: decl.type for decl in program.fields}
        self._types |= {decl.name: decl.type for decl in program.globals}

    def block(self, body: Iterable[f.Statement], names: frozenset[tuple[str, str]], loops: int) -> Iterator[Site]:
        for statement in body:
            yield from self._statement(statement, names, loops)
            if isinstance(statement, f.Gather):
                names |= {("accumulator", statement.name)}
            elif isinstance(statement, (f.Let, f.InitGlobal)):
                names |= {("let" if isinstance(statement, f.Let) else "global", statement.name)}

    def _statement(self, one: f.Statement, names: frozenset[tuple[str, str]], loops: int) -> Iterator[Site]:
        def site(expr: f.Expr, level: str, wanted: Type | None, inside: int = loops) -> Site:
            return Site(expr, level, names, inside, f"line {one.span.line}", wanted)

        if isinstance(one, (f.InitField, f.InitGlobal)):
            yield site(one.value, "vertex" if isinstance(one, f.InitField) else "graph", self._types.get(one.name))
        elif isinstance(one, f.Gather):
            yield site(one.reduce, "vertex", None)
        elif isinstance(one, f.Apply):
            yield site(one.value, "vertex", self._place(one.fields))
        elif isinstance(one, f.Let):
            yield site(one.value, "graph", None)
        elif isinstance(one, f.Activate):
            yield site(one.cond, "vertex", BOOL)
        elif isinstance(one, f.Where):
            yield site(one.cond, "vertex", BOOL)
            yield from self.block(one.body, names, loops)
        elif isinstance(one, f.Repeat):
            yield from (site(expr, "graph", I64) for expr in (one.limit,) if expr is not None)
            yield from self.block(one.body, names, loops + 1)
            yield from self._until(one, names, loops + 1)
        elif isinstance(one, f.ForRange):
            yield from (site(expr, "graph", I64) for expr in (one.low, one.high))
            yield from self.block(one.body, names | {("loop", one.name)}, loops)
            yield from self._until(one, names | {("loop", one.name)}, loops)
        elif isinstance(one, f.ForVertices):
            yield from self.block(one.body, names | {("loop", one.name)}, loops)
        elif isinstance(one, f.Sweep):
            yield from self.block(one.body, names, loops)

    @staticmethod
    def _until(one: f.Repeat | f.ForRange, names: frozenset[tuple[str, str]], loops: int) -> Iterator[Site]:
        """Yield the condition of an `until`, which comes after the block and can read the `let`s of the block."""
        if one.until is not None:
            names |= {("let", s.name) for s in one.body if isinstance(s, f.Let)}
            yield Site(one.until, "graph", names, loops, f"`until` of line {one.span.line}", BOOL)

    def _place(self, fields: tuple[str, ...]) -> Type | None:
        types = [self._types[name] for name in fields if name in self._types]
        scalars = tuple(type_ for type_ in types if isinstance(type_, Scalar))
        return Tuple(scalars) if len(fields) > 1 else types[0] if types else None


def nodes(program: f.Program) -> Iterator[Node]:
    """Every expression of a program, and every expression inside it."""
    for site in sites(program):
        yield from _inside(Node(site.expr, site.level, site))


def _inside(node: Node) -> Iterator[Node]:
    yield node
    expr = node.expr
    if isinstance(expr, f.Reduce):
        inner = "edge" if expr.domain.edges else "vertex"
        for part in (expr.body, expr.having) if expr.group is not None else ():
            if part is not None:
                yield from _inside(Node(part, "vertex", node.site, expr, expr))
        for part in (expr.cond, expr.key, *(() if expr.group is not None else (expr.body,))):
            if part is not None:
                yield from _inside(Node(part, inner, node.site, expr, expr))
        if expr.default is not None:
            yield from _inside(Node(expr.default, node.level, node.site, expr, node.reduce))
    else:
        for child in f.children(expr):
            yield from _inside(Node(child, node.level, node.site, expr, node.reduce))


# --------------------------------------------------------------------------------------------------------- rules
def _twice(program: f.Program) -> Iterator[str]:
    """Yield names with two meanings. The initializer of a field or `global` is not a second meaning of its name."""
    names = [decl.name for decls in (program.params, program.edges, program.states, program.fields, program.globals,
                                     program.reductions) for decl in decls]
    names += [s.name for s in statements(program.body) if isinstance(s, (f.Gather, f.Let, f.ForVertices, f.ForRange))]
    yield from sorted({name for name in names if names.count(name) > 1})


def _undeclared(program: f.Program) -> Iterator[str]:
    fields: dict[str, Type] = {decl.name: decl.type for decl in program.fields}
    edges, states = ({decl.name: decl.type for decl in decls} for decls in (program.edges, program.states))
    for node in nodes(program):
        expr = node.expr
        known = fields if isinstance(expr, f.Field) else edges if isinstance(expr, f.EdgeValue) else states
        type_ = expr.value.type if isinstance(expr, f.Keep) else expr.type
        if isinstance(expr, f.Field | f.EdgeValue | f.EdgeState | f.Keep) and known.get(expr.name) != type_:
            yield str(node)


def _unseen(program: f.Program) -> Iterator[str]:
    for node in nodes(program):
        expr = node.expr
        if isinstance(expr, f.Accumulator) and ("accumulator", expr.name) not in node.site.names:
            yield str(node)
        elif isinstance(expr, f.GraphValue) and expr.kind == "builtin":
            if expr.name not in (("N", "M", "iteration") if node.site.loops else ("N", "M")):
                yield str(node)
        elif isinstance(expr, f.GraphValue) and (expr.kind, expr.name) not in node.site.names:
            yield str(node)


def _of_others(program: f.Program) -> Iterator[str]:
    for node in nodes(program):
        expr = node.expr
        of = expr.of if isinstance(expr, (f.Field, f.Degree, f.Vertex)) else None
        if node.level != "edge" and (of == "other" or isinstance(expr, f.EdgeValue | f.EdgeState)):
            yield str(node)
        if node.level == "graph" and (of == "self" or isinstance(expr, f.Accumulator)):
            yield str(node)
        if isinstance(of, f.Expr) and of.type != VERTEX:
            yield str(node)


def _in_time(program: f.Program) -> Iterator[str]:
    for node in nodes(program):
        times = ("now", "old", "change") if node.site.loops else ("now",)
        if isinstance(node.expr, f.Field) and node.expr.time not in times:
            yield str(node)


def _places(program: f.Program) -> Iterator[str]:
    for site in sites(program):
        if site.wanted is not None and site.expr.type != site.wanted:
            yield f"{expression(site.expr)} is {site.expr.type}, not {site.wanted}, in {site.where}"


def _types(program: f.Program) -> Iterator[str]:
    for node in nodes(program):
        why = broken_type(node.expr, node.outer, {r.name: r.type for r in program.reductions})
        if why:
            yield f"{why}: {node}"


def _nested(program: f.Program) -> Iterator[str]:
    for node in nodes(program):
        if isinstance(node.expr, f.Reduce):
            inside = node.reduce is not None and node.reduce.domain.edges
            grouped = node.reduce is not None and node.reduce.group is not None and node.level == "vertex"
            if node.expr.domain.kind == "group":
                inside = not grouped
            elif node.expr.domain.kind == "common":
                inside = node.level != "edge"
                if inside:
                    yield str(node)
                continue
            if inside or (node.expr.domain.edges and node.level != "vertex"):
                yield str(node)


def _pointing(program: f.Program) -> Iterator[str]:
    for node in nodes(program):
        expr, reduce = node.expr, node.reduce
        points = isinstance(expr, f.Reduce) and expr.group is None and _is_pointer(expr.key)
        if isinstance(expr, f.Reduce) and (expr.domain.kind == "pointing") != points:
            yield str(node)
        own = isinstance(expr, (f.Field, f.Degree, f.Vertex)) and expr.of == "self"
        if reduce is not None and reduce.domain.kind == "pointing" and (own or isinstance(expr, f.Accumulator)):
            yield str(node)


def _grouped(program: f.Program) -> Iterator[str]:
    for node in nodes(program):
        expr, reduce = node.expr, node.reduce
        if isinstance(expr, f.Reduce) and expr.group is None and (expr.having or expr.part is not None):
            yield str(node)
        if isinstance(expr, f.Reduce) and expr.group is not None and (expr.key is None or not expr.domain.stored):
            yield str(node)
        if isinstance(expr, f.GroupKey):
            outer = reduce is not None and node.level == "vertex" and reduce.group == expr.name
            if not outer or reduce is None or reduce.key is None or reduce.key.type != expr.type:
                yield str(node)


def _kept(program: f.Program) -> Iterator[str]:
    for node in [node for node in nodes(program) if isinstance(node.expr, f.EdgeState | f.Keep)]:
        over, whole = node.reduce, isinstance(node.expr, f.Keep)
        if over is None or over.domain.kind not in ("in", "group", "common") or (whole and over.body is not node.expr):
            yield str(node)


def _is_pointer(key: f.Expr | None) -> bool:
    """Return whether a key is the present value of a field of type vertex at the other vertex."""
    return isinstance(key, f.Field) and (key.of, key.time, key.type) == ("other", "now", VERTEX)


def _named(program: f.Program) -> Iterator[str]:
    types: dict[tuple[str, str], Type] = {("builtin", name): I64 for name in ("N", "M", "iteration")}
    types |= {("parameter", decl.name): decl.type for decl in program.params}
    types |= {("global", decl.name): decl.type for decl in program.globals}
    for side in program.reductions:
        types |= {("accumulator", name): side.wide for name in (side.left, side.right)}
    for one in statements(program.body):
        if isinstance(one, f.Gather):
            types["accumulator", one.name] = one.reduce.type
        elif isinstance(one, f.Let):
            types["let", one.name] = one.value.type
        elif isinstance(one, (f.ForVertices, f.ForRange)):
            types["loop", one.name] = VERTEX if isinstance(one, f.ForVertices) else I64
    for node in nodes(program):
        expr = node.expr
        if isinstance(expr, (f.Accumulator, f.GraphValue)):
            kind = "accumulator" if isinstance(expr, f.Accumulator) else expr.kind
            if types.get((kind, expr.name), expr.type) != expr.type:
                yield f"{expr.type}: {node}"


def _sets(program: f.Program) -> Iterator[str]:
    lists = {param.name for param in program.params if isinstance(param.type, VertexSet)}
    yield from (str(node) for node in nodes(program) if isinstance(node.expr, f.Reduce)
                and (node.expr.domain.kind == "set") != (node.expr.domain.set_name in lists))
    yield from (f"for {s.name} in {s.set_name}" for s in statements(program.body)
                if isinstance(s, f.ForVertices) and s.set_name not in (None, *lists))


def _written(program: f.Program) -> Iterator[str]:
    declared = {decl.name for decl in program.fields}
    for one in statements(program.body):
        fields = one.fields if isinstance(one, f.Apply) else (one.name,) if isinstance(one, f.InitField) else ()
        yield from (f"{name}, in line {one.span.line}" for name in fields if name not in declared)


def _begun(program: f.Program) -> Iterator[str]:
    begun = [s.name for s in statements(program.body) if isinstance(s, f.InitField)]
    for decl in program.fields:
        if begun.count(decl.name) != (0 if decl.required else 1):
            yield f"{decl.name} has {begun.count(decl.name)} initializers"
    values = [s.name for s in statements(program.body) if isinstance(s, f.InitGlobal)]
    yield from (f"{decl.name} has {values.count(decl.name)} values" for decl in program.globals
                if values.count(decl.name) != 1)


def _ends(program: f.Program) -> Iterator[str]:
    last = {s.body[-1] for s in statements(program.body) if isinstance(s, f.Repeat) and s.body}
    yield from (f"line {s.span.line}" for s in statements(program.body) if isinstance(s, f.Activate) and s not in last)


def _swept(program: f.Program) -> Iterator[str]:
    types = {decl.name: decl.type for decl in program.fields}
    for sweep in statements(program.body):
        if isinstance(sweep, f.Sweep):
            type_ = types.get(sweep.field)
            written = {name for s in statements(sweep.body) if isinstance(s, f.Apply) for name in s.fields}
            if not isinstance(type_, Scalar) or not type_.integral or sweep.field in written:
                yield f"sweep {sweep.field}, in line {sweep.span.line}"


PROGRAM_RULES: tuple[Rule[f.Program], ...] = (
    Rule("A name stands for one thing in the whole program.", _twice),
    Rule("A field that is read is declared, and the read has the type of the declaration.", _undeclared),
    Rule("An accumulator, `let`, `global`, parameter or variable is named before it is read, in a block around the "
         "read; `iteration` is read in loops only.", _unseen),
    Rule("Such a value is read with the type with which it is named.", _named),
    Rule("A neighbour and an edge are read at edges only, a vertex itself at vertices and edges only, and another "
         "vertex through a value of type vertex.", _of_others),
    Rule("The past of a field is read in loops only.", _in_time),
    Rule("The value of a place has the type of the place: conversions are casts that stand in the text.", _places),
    Rule("The operands of an operator have the types that it takes, its value the type that it gives, and no type is "
         "left to the context.", _types),
    Rule("A reduction over edges is evaluated for a vertex, and holds no other reduction but those of its groups.",
         _nested),
    Rule("A reduction over the vertices that point here names their pointer, a field, and reads nothing else of this "
         "vertex; no other reduction has a pointer.", _pointing),
    Rule("A grouped gather has a key for each edge, which its body and the condition of its groups read as the key of "
         "the group.", _grouped),
    Rule("The value of an edge is read over in-edges, and stored by a gather over them that does nothing else.", _kept),
    Rule("A set that is named is a parameter of type vertices, and only reductions over a set name one.", _sets),
    Rule("A field that is written is declared.", _written),
    Rule("A field has one initializer, unless the caller must pass it, and a `global` has one value.", _begun),
    Rule("`activate when` is the last statement of a loop.", _ends),
    Rule("A sweep goes over a field of integers that its block does not write.", _swept),
)

"""Random programs with graphs and inputs. The programs are correct by construction and always end.

All values are exact except the values of fields of kind "real", which no condition reads. Exact results are therefore
compared bit by bit, and results of kind "real" with a tolerance. Floats stay small multiples of 1/4 because every
`apply` rounds floats down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.reference.generators.expressions import EXACT, TYPES, Expressions, Function, Scope
from tests.reference.graph import RefGraph
from tests.reference.graphs import ref_graphs

__all__ = ["Generated", "Moving", "Writer", "finished", "programs", "started"]

Moving = tuple[str, str, dict[str, str]]
"""A gather and an apply of a loop whose fields change monotonically, and the kinds of the fields declared for it."""


@dataclass(frozen=True)
class Generated:
    """A program and all its inputs.

    Attributes:
        text: The program.
        graph: The graph.
        params: Vertices as dense numbers.
        fields: Input fields.
        inexact: The fields that may be rounded.
    """

    text: str
    graph: RefGraph
    params: dict[str, Any]
    fields: dict[str, Any]
    inexact: frozenset[str]

    def __repr__(self) -> str:
        return f"Generated(params={self.params}, fields={self.fields}, graph={self.graph}, text:\n{self.text})"


@dataclass
class Writer:
    """A writer of one program.

    Attributes:
        e: The generator of expressions.
        lines: The text so far.
        kinds: The kind of each field.
        graph_names: The kind of each parameter, let and global.
        edges: The kind of each edge field.
        counter: The number of the next fresh name.
        base: The indentation of the current block.
    """

    e: Expressions
    lines: list[str] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    graph_names: dict[str, str] = field(default_factory=dict)
    edges: dict[str, str] = field(default_factory=dict)
    counter: int = 0
    base: int = 0

    def fresh(self, stem: str) -> str:
        self.counter += 1
        name = f"{stem}{self.counter}"
        return self.fresh(stem) if name in ("f16", "f32", "f64") else name  # these are names of types

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * (self.base + indent) + text)

    @property
    def scope(self) -> Scope:
        """The names that a vertex-level expression outside loops may read."""
        return Scope(own=dict(self.kinds), fields=dict(self.kinds), graph=dict(self.graph_names))

    def over_edges(self, scope: Scope) -> Scope:
        """Return the scope inside of a reduction over edges."""
        return replace(scope, edges=self.edges, other="u", loop=False, changed=False)

    def over_vertices(self) -> Scope:
        """Return the scope inside of a reduction over vertices."""
        return Scope(fields=dict(self.kinds), graph=dict(self.graph_names), other="v", here=False)

    # ---- reductions

    def reduction(self, kind: str, scope: Scope, domain: str, test: str = "") -> str:
        """Return a reduction of a kind over `domain`.

        Args:
            kind: The kind of the value.
            scope: The names that the body may read.
            domain: The edges or vertices.
            test: A condition that is always part of the reduction; "" for none.
        """
        e = self.e
        names = {"int": ["sum", "min", "max", "count", "bitor", "bitand", "bitxor", "prod"], "bool": ["any", "all"],
                 "vertex": ["min", "max"], "u8": ["sum", "min", "max", "bitor", "bitand", "bitxor", "prod"],
                 "i64": ["sum", "min", "max", "bitxor"], "float": ["sum", "min", "max"], "dist": ["min"],
                 "real": ["sum", "mean"]}[kind]
        if "self" in domain:  # over edges, reductions of all contributions at once are possible, too
            whole = {"int": ["mode", "median", "mex", "hindex"], "float": ["median"], "u8": ["mode"]}
            names = [*names, *whole.get(kind, [])]
        name = e.pick(names)
        body_kind = "bool" if name == "count" else kind
        body = e.expr(body_kind, scope)
        if kind == "u8":  # an expression of literals has the type int
            body = f"({self.named(scope)} {e.pick('+-^')} {body})"
        if name == "sum" and kind in ("real", "float"):
            body = f"tanh({body})" if kind == "real" else f"max(-8.0, min(8.0, {body}))"
        cond = f" if {e.expr('bool', scope)}" if e.chance(35) else ""
        if test:
            cond = f" if {test} and ({cond[4:]})" if cond else f" if {test}"
        needs = name in ("mean", "mode", "median") or (kind == "float" and name in ("min", "max"))
        default = f", default = {e.literal(kind)}" if needs or (e.chance(15) and kind != "vertex") else ""
        return f"{name}({body} for {domain}{cond}{default})"

    def named(self, scope: Scope) -> str:
        """Return a u8 field of the neighbour."""
        return f"{scope.other}.{self.e.pick(name for name, kind in scope.fields.items() if kind == 'u8')}"

    def gathered(self, kind: str, scope: Scope) -> str:
        """Return a reduction over edges."""
        domain = self.e.pick(["u -> self", "self -> u", "u -- self"])
        return self.reduction(kind, self.over_edges(scope), domain)

    def grouped(self, kind: str, scope: Scope) -> str:
        """Return a grouped gather of integers, bools or vertices. For other kinds, return another reduction over edges.
        """
        e, edge = self.e, self.over_edges(scope)
        domain = e.pick(["u -> self", "self -> u", "u -- self"])
        keys = {"int": f"({e.expr('int', edge, 1)}) % 3", "bool": e.expr("bool", edge, 1),
                "vertex": e.expr("vertex", edge, 1)}
        key = e.pick(["int", "bool", "vertex"])
        cond = f" if {e.expr('bool', edge, 1)}" if e.chance(30) else ""
        if kind in ("vertex", "bool", "int") and e.chance(30):
            votes = {"int": e.expr("int", edge, 1), **keys}[kind] if kind != "int" else keys["int"]
            weight = e.pick([e.expr("int", edge, 1), "2", "u.degree"])
            return f"mode({votes} for {domain}{cond}, weight = {weight}, default = {e.literal(kind)})"
        inner = {"int": f"{e.pick(['sum', 'min', 'max'])}(({e.expr('int', edge, 1)}) % 50 for u, default = 3)",
                 "bool": f"{e.pick(['any', 'all'])}({e.expr('bool', edge, 1)} for u if {e.expr('bool', edge, 1)})",
                 "vertex": f"{e.pick(['min', 'max'])}({e.expr('vertex', edge, 1)} for u)"}
        if kind not in inner:
            return self.gathered(kind, scope)
        over = {"int": e.pick(["sum", "min", "max", "bitxor"]), "bool": e.pick(["any", "all"]),
                "vertex": e.pick(["min", "max"])}[kind]
        own = {"int": [name for name, known in scope.own.items() if known == "int"], "bool": [], "vertex": []}[kind]
        body = inner[kind] + (f" + {e.pick([*own, 'g' if key == 'int' else '1', 'k'])}" if kind == "int" else "")
        if key == "vertex" and kind == "int" and e.chance(50):
            body += " - g.degree"
        having = f" if count({e.expr('bool', edge, 1)} for u) > {e.pick([0, 1])}" if e.chance(40) else ""
        default = f", default = {e.literal(kind)}" if e.chance(30) and kind != "vertex" else ""
        return f"{over}({body} for {domain}{cond} by g = {_plain(keys[key])}{having}{default})"

    def picked(self, kind: str, scope: Scope) -> str:
        """Return a `pick`. For kinds that have no exact literals of their type, return another reduction over edges."""
        if kind not in ("int", "bool", "vertex", "float"):
            return self.gathered(kind, scope)
        e, edge = self.e, self.over_edges(scope)
        domain = e.pick(["u -> self", "self -> u", "u -- self"])
        cond = f" if {e.expr('bool', edge, 1)}" if e.chance(30) else ""
        keys = e.pick(["1", "k", "k, self", f"N, {e.expr('int', replace(scope, loop=False, changed=False), 1)}"])
        weight = f", weight = {e.pick([e.expr('int', edge, 1), 'u.degree', '0.5'])}" if e.chance(40) else ""
        default = f", default = {e.literal(kind)}" if kind != "vertex" or e.chance(30) else ""
        return f"pick({e.expr(kind, edge, 1)} for {domain}{cond}, {keys}{weight}{default})"

    def of_pair(self, kind: str, scope: Scope) -> str:
        """Return the text of a reduction over edges. If `kind` is "int", its term reduces over common neighbours.
        """
        if kind != "int":
            return self.gathered(kind, scope)
        e, edge = self.e, self.over_edges(scope)
        domain, ends = e.pick(["u -> self", "self -> u", "u -- self"]), e.pick(["self, u", "u, self"])
        between = e.pick(["edges(u, mid)", "edges(mid, self)", "edges(u, self)",
                          *(f"{name}(mid, u)" for name, known in edge.edges.items() if known == "int")])
        third = replace(edge, other="mid", edges={})
        body = e.pick([e.expr("int", third, 1), f"({between} + {e.expr('int', edge, 1)})", f"{between} * mid.degree"])
        cond = f" if {e.expr('bool', third, 1)}" if e.chance(30) else ""
        inner = f"{e.pick(['sum', 'min', 'max', 'bitxor'])}({body} for mid in common({ends}){cond}, default = 3)"
        return f"{e.pick(['sum', 'min', 'max'])}(({inner}) % 50 + {e.expr('int', edge, 1)} for {domain})"

    def pointed(self, kind: str, scope: Scope) -> str:
        """Return a reduction over the vertices whose pointer is this vertex. Without a pointer field, return a
        reduction over edges.
        """
        pointers = [name for name, known in scope.fields.items() if known == "vertex"]
        if not pointers:
            return self.gathered(kind, scope)
        test = self.e.pick(["v.{} == self", "self == v.{}"]).format(self.e.pick(pointers))
        return self.reduction(kind, self.over_vertices(), "v in vertices", test)

    def overall(self, kind: str) -> str:
        """Return a reduction over vertices. The kind is i64, bool or float, since integer sums over vertices have 64
        bits.
        """
        return self.reduction(kind, self.over_vertices(), "v in vertices")

    # ---- statements

    def quantised(self, kind: str, text: str) -> str:
        """Return the text of a value that may be stored: floats are rounded to small multiples of 1/4."""
        if kind == "float":
            return f"max(-64.0, min(64.0, floor(({text}) * 4) / 4))"
        return f"tanh({text})" if kind == "real" else text

    def field(self) -> None:
        """Declare a vertex field."""
        e = self.e
        name, kind = self.fresh("f"), e.pick([*EXACT, "int", "float", "real"])
        scope = self.scope
        if self.kinds and e.chance(40) and (kind != "u8" or "u8" in self.kinds.values()):
            value = (self.pointed if e.chance(20) else self.gathered)(kind, scope)
            if kind in ("int", "i64", "u8") and e.chance(40):
                value = f"{value} + {e.expr(kind, scope, 1)}"
        else:
            value = e.expr(kind, scope)
        self.line(0, f"vertex {name}: {TYPES[kind]} = {self.quantised(kind, value)}")
        self.kinds[name] = kind

    def gathers(self, indent: int, scope: Scope, kinds: list[str]) -> Scope:
        """Write one or two gathers; return the scope with their accumulators."""
        for _ in range(self.e.number(1, 2)):
            name, kind = self.fresh("a"), self.e.pick(kinds)
            if self.e.chance(15):
                self.line(indent, f"gather {name} = {self.pairs(scope)}")
                scope = scope.with_own(f"{name}[0]", "int").with_own(f"{name}[1]", "vertex")
                continue
            form = self.picked if self.e.chance(10) else self.of_pair if self.e.chance(10) else self.gathered
            form = self.pointed if self.e.chance(20) else self.grouped if self.e.chance(20) else form
            self.line(indent, f"gather {name} = {form(kind, scope)}")
            scope = scope.with_own(name, kind)
        return scope

    def pairs(self, scope: Scope) -> str:
        """Return the `min` or `max` of tuples over edges."""
        inner = self.over_edges(scope)
        body = f"({self.e.expr('int', inner)}, {self.e.expr('vertex', inner, 1)})"
        domain, way = self.e.pick(["u -> self", "self -> u", "u -- self"]), self.e.pick(["min", "max"])
        default = ", default = (k, self)" if self.e.chance(20) else ""
        return f"{way}({body} for {domain}{default})"

    def applies(self, indent: int, scope: Scope, fields: dict[str, str]) -> set[str]:
        """Write one or two applies of any form; return the fields written."""
        e, written = self.e, set()
        for _ in range(e.number(1, 2)):
            name = e.pick(fields)
            kind = fields[name]
            written.add(name)
            form = e.pick(["=", "=", "update", "pair"])
            other = e.pick(fields)
            if form == "update" and kind in ("int", "i64", "u8"):
                op = e.pick(["+=", "-=", "*=", "|=", "&=", "^="])
                self.line(indent, f"apply {name} {op} {e.expr(kind, scope)}")
            elif form == "pair" and other != name:
                written.add(other)
                values = [self.quantised(fields[f], e.expr(fields[f], scope)) for f in (name, other)]
                self.line(indent, f"apply ({name}, {other}) = ({', '.join(values)})")
            else:
                self.line(indent, f"apply {name} = {self.quantised(kind, e.expr(kind, scope))}")
        return written

    def loop_scope(self) -> Scope:
        return replace(self.scope, loop=True, changed=True)

    def stepping(self) -> None:
        """Write a loop with any body. The loop has a count, `at most`, or both `until` and `at most`."""
        e = self.e
        count = e.number(1, 4)
        form = e.pick(["times", "most", "until"])
        rounded = form == "times"  # rounding of `real` fields adds up, so they need a fixed number of supersteps
        fields = {n: k for n, k in self.kinds.items() if k not in ("dist", "vector") and (rounded or k != "real")}
        if not fields:
            return
        head = len(self.lines)
        scope = self.loop_scope()
        if e.chance(30):
            name, kind = self.fresh("l"), e.pick(["i64", "bool", "float"])
            self.line(1, f"let {name} = {self.overall(kind)}")
            scope = scope.with_graph(name, kind)
        usable = list(fields.values())
        if e.chance(85):
            scope = self.gathers(1, scope, usable)
        written = self.applies(1, scope, fields)
        if e.chance(30):
            self.line(1, f"where {e.expr('bool', scope)}:")
            inner = self.gathers(2, scope, usable) if e.chance(60) else scope
            written |= self.applies(2, inner, fields)
        if e.chance(25):
            self.gathers(1, scope, usable)
            written |= self.applies(1, scope, fields)
        if form == "most" and e.chance(25):
            self.line(1, "activate when " + " or ".join(f"changed({name})" for name in sorted(written)))
        limit = {"times": f"{count} times", "most": f"at most {count} times"}.get(form)
        self.line(0, f"repeat {limit or f'at most {count + 2} times until {self.ending(written)}'}:")
        self.lines.insert(head, self.lines.pop())

    def ending(self, written: set[str]) -> str:
        """Return a condition for `until`.

        Args:
            written: the fields that the loop writes.
        """
        changing = sorted(n for n in written if self.kinds[n] in ("int", "i64"))
        if changing and self.e.chance(50):
            return f"max(abs(change(v.{self.e.pick(changing)})) for v in vertices) <= {self.e.number(0, 5)}"
        if self.e.chance(50):
            return self.overall("bool")
        return f"{self.overall('i64')} > {self.e.number(0, 50)}"

    def fixpoint(self) -> None:
        """Write a loop whose fields change monotonically. The loop ends because each field has finitely many values."""
        e = self.e
        forms = [e.pick(self.fixpoint_forms()) for _ in range(e.number(1, 2))]
        bodies = [form() for form in forms]
        self.line(0, "repeat:")
        constant = Scope(own=dict(self.kinds), fields=dict(self.kinds), graph=dict(self.graph_names))
        guarded = e.chance(25)
        if guarded:
            self.line(1, f"where {e.expr('bool', constant, 1)}:")
        for gather, apply, _ in bodies:
            self.line(2 if guarded else 1, gather)
            self.line(2 if guarded else 1, apply)
        if e.chance(25):
            self.line(1, "activate when " + " or ".join(f"changed({n})" for _, _, new in bodies for n in new))
        for _, _, new in bodies:
            self.kinds.update(new)

    def fixpoint_forms(self) -> list[Callable[[], Moving]]:
        """Return the forms of fixpoint loops.

        Each form consists of a gather, an apply, and the kinds of the fields that the form declares.
        """
        return [self._label, self._distance, self._flag, self._bits, self._widest, self._tree]

    def _ends(self) -> tuple[str, str]:
        """Return a domain, and sometimes a condition that is constant in the loop."""
        scope = self.over_edges(self.scope)
        cond = f" if {self.e.expr('bool', scope, 1)}" if self.e.chance(30) else ""
        return self.e.pick(["u -> self", "self -> u", "u -- self"]), cond

    def _start(self, kind: str) -> str:
        """Return an initial value that differs at one or several vertices."""
        source = self.e.pick([n for n, k in self.graph_names.items() if k == "vertex"] or ["none"])
        where = self.e.pick([f"self == {source}", self.e.expr("bool", self.scope, 1)])
        return f"{self.e.pick(['0', '1', '3'])} if {where} else {kind}"

    def _declare(self, type_: str, value: str) -> str:
        name = self.fresh("x")
        self.line(0, f"vertex {name}: {type_} = {value}")
        return name

    def _label(self) -> Moving:
        way = self.e.pick(["min", "max"])
        type_ = self.e.pick(["vertex", "int", "u8", "i64"])
        name = self._declare(type_, "self" if type_ == "vertex" else self.e.expr(type_, self.scope, 1))
        acc, (domain, cond) = self.fresh("a"), self._ends()
        return (f"gather {acc} = {way}(u.{name} for {domain}{cond})", f"apply {name} = {way}({name}, {acc})",
                {name: type_})

    def _distance(self) -> Moving:
        kind = self.e.pick(["dist", "int", "i64"])
        name = self._declare(TYPES[kind], self._start("inf"))
        steps = [n for n, k in self.edges.items() if k == ("float" if kind == "dist" else "int")]
        step = self.e.pick([*steps, "1", "2"])
        acc, (domain, cond) = self.fresh("a"), self._ends()
        return (f"gather {acc} = min(u.{name} + {step} for {domain}{cond})", f"apply {name} = min({name}, {acc})",
                {name: kind})

    def _widest(self) -> Moving:
        name = self._declare("int", self._start("0"))
        cap = self.e.pick([*(n for n, k in self.edges.items() if k == "int"), "5"])
        acc, (domain, cond) = self.fresh("a"), self._ends()
        return (f"gather {acc} = max(min(u.{name} + {self.number()}, {cap}) for {domain}{cond})",
                f"apply {name} = max({acc}, {name})", {name: "int"})

    def number(self) -> int:
        """Return 0 or 1 at random."""
        return self.e.number(0, 1)

    def whole(self, low: int, high: int) -> int:
        """Return an integer in a range, or sometimes an integer near the limits of its type."""
        top = 2**31 - 1
        return self.e.pick([top, top - 1, top // 2 + 1, -top, -top - 1]) if self.e.chance(12) else \
            self.e.number(low, high)

    def _flag(self) -> Moving:
        way, word = self.e.pick([("any", "or"), ("all", "and")])
        name = self._declare("bool", self.e.expr("bool", self.scope, 1))
        acc, (domain, cond) = self.fresh("a"), self._ends()
        return (f"gather {acc} = {way}(u.{name} for {domain}{cond})", f"apply {name} = {name} {word} {acc}",
                {name: "bool"})

    def _bits(self) -> Moving:
        way, sign = self.e.pick([("bitor", "|="), ("bitand", "&=")])
        name = self._declare("u8", self.e.expr("u8", self.scope, 1))
        acc, (domain, cond) = self.fresh("a"), self._ends()
        return f"gather {acc} = {way}(u.{name} for {domain}{cond})", f"apply {name} {sign} {acc}", {name: "u8"}

    def _tree(self) -> Moving:
        far = self._declare("int", self._start("inf"))
        parent = self._declare("vertex", f"self if {far} < inf else none")
        acc, (domain, cond) = self.fresh("a"), self._ends()
        return (f"gather {acc} = min((u.{far} + 1, u) for {domain}{cond})",
                f"apply ({far}, {parent}) = min(({far}, {parent}), {acc})", {far: "int", parent: "vertex"})

    def sending_changes(self) -> None:
        """Write a loop over changes of integers, so that every sum is exact."""
        name, acc = self._declare("int", self.e.expr("int", self.scope, 1)), self.fresh("a")
        self.kinds[name] = "int"
        self.line(0, f"repeat {self.e.pick(['at most', ''])} {self.e.number(1, 4)} times:".replace("  ", " "))
        factor = self.e.pick(["", " * 2", " * (u.outdegree + 1)"])
        self.line(1, f"gather {acc} = sum(change(u.{name}){factor} for {self._ends()[0]})")
        self.line(1, f"apply {name} += {acc}")
        if self.e.chance(60):
            self.line(1, f"activate when abs(change({name})) > {self.e.pick([0, 1, 3, 10])}")

    def function(self) -> None:
        """Declare a `fn`."""
        name, kind = self.fresh("g"), self.e.pick(["int", "float", "bool"])
        arguments = tuple(self.e.pick(["int", "float"]) for _ in range(self.e.number(1, 2)))
        names = {f"p{k}": argument for k, argument in enumerate(arguments)}
        scope = Scope(graph={**names, **self.graph_names}, here=False)
        body = self.e.expr(kind, scope)
        if kind == "float":  # arguments may be any floats in scope, so the result must stay small
            body = self.quantised("float", body)
        listed = ", ".join(f"{n}: {k}" for n, k in names.items())
        self.line(0, f"fn {name}({listed}): {kind} = {body}")
        self.e.functions.append(Function(name, arguments, kind))


def _plain(key: str) -> str:
    """Return a key as text. A choice (`a if c else b`) is put in parentheses, as the grammar requires."""
    return f"({key})" if " if " in key else key


def started(w: Writer, group: bool = False) -> Generated:
    """Return the head of a program, with its graph and inputs.

    Args:
        group: whether the program has a set of vertices as a parameter.
    """
    e = w.e
    columns = e.pick([{}, {"w": "int"}, {"w": "wide"}, {"w": "float"}, {"w": "int", "c": "float"}])
    graph = e.draw(ref_graphs(max_n=10, max_edges=24, columns=columns, min_n=1))
    params: dict[str, Any] = {"s": e.number(0, graph.n - 1), "k": w.whole(-3, 9), "t": e.number(-8, 8) / 4}
    if group:
        params["group"] = [e.number(0, graph.n - 1) for _ in range(e.number(0, min(3, graph.n)))]
    if group and e.chance(50):
        params["size"] = e.number(1, 5)
    w.line(0, f"program random(s: vertex, k: int, t = 0.5{', group: vertices, size: const = 2' if group else ''})")
    w.graph_names = {"s": "vertex", "k": "int", "t": "float"}
    for name, drawn in columns.items():
        kind = "int" if drawn == "wide" else drawn
        w.line(0, f"edge {name}: {kind} = 1" if e.chance(50) else f"edge {name}: {kind}")
        w.edges[name] = kind
    if columns and "wide" not in columns.values() and e.chance(40):
        w.line(0, "require w >= 0 and w <= 100")
    if e.chance(30):
        w.function()
    fields: dict[str, Any] = {}
    if e.chance(30):
        w.line(0, "vertex given: int")
        w.kinds["given"] = "int"
        fields["given"] = np.array([w.whole(-5, 5) for _ in range(graph.n)], np.int32)
    for _ in range(e.number(1, 3)):
        w.field()
    return Generated("", graph, params, fields, frozenset())


def finished(w: Writer, made: Generated) -> Generated:
    """Return the whole program, with the graph and inputs from `started`."""
    e = w.e
    if e.chance(40):
        kind = e.pick(["i64", "bool", "float"])
        w.line(0, f"global total: {kind} = {w.overall(kind)}")
    inexact = frozenset(name for name, kind in w.kinds.items() if kind == "real")
    return replace(made, text="\n".join(w.lines) + "\n", inexact=inexact)


@st.composite
def programs(draw: st.DrawFn) -> Generated:
    """Draw programs with one or two loops over several fields, with a graph and inputs."""
    w = Writer(Expressions(draw))
    made = started(w)
    for _ in range(w.e.number(1, 2)):
        w.e.pick([w.stepping, w.stepping, w.fixpoint, w.fixpoint, w.sending_changes])()
        if w.e.chance(25):
            w.field()
    return finished(w, made)

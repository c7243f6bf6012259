"""Random programs with edge states: declared with every type, written for in-edges, and read in gathers.

A third of the programs runs on any graph, a third reads opposite edges of undirected graphs, and a third reads the
edges between common neighbours in simple undirected graphs. All values are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.reference.cases import simple_graph
from tests.reference.generators.programs import Generated
from tests.reference.graphs import ref_graphs

__all__ = ["edge_state_programs"]

_INTEGERS = ("int", "i64", "u8", "i16", "u32", "i8")
_ENDS = (("w", "self"), ("self", "w"), ("w", "u"), ("u", "w"))


@dataclass
class _Writer:
    """Writes one program with the vertex fields `n`, `x` and `marked`, and the edge field `weight`.

    Each expression has a place: "vertex", "edge", "pair" (at a common neighbour), "both" (at edges that are not
    in-edges), or "far" (at a common neighbour, over edges that are not in-edges).
    """

    draw: st.DrawFn
    opposite: bool
    triangles: bool
    lines: list[str] = field(default_factory=list)
    states: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def one(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) < percent

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def state(self, kind: str, at: str) -> str | None:
        """Return a read of an edge state of a kind ("int", "float" or "bool"). Return None if this place has no state
        of this kind.
        """
        names = [name for name, type_ in self.states.items() if self._kind(type_) == kind]
        if not names or at not in ("edge", "pair", "far"):
            return None
        name, forms = self.one(*names), []
        if at != "far":
            forms += [name, *([f"reverse({name})"] if self.opposite else [])]
            forms += [f"{name}(u, self)", f"{name}(self, u)"] if self.triangles else []
        if at != "edge":
            forms += [f"{name}({a}, {b})" for a, b in _ENDS] * 2
        return self.one(*forms)

    @staticmethod
    def _kind(type_: str) -> str:
        return type_ if type_ in ("float", "bool") else "int"

    def integer(self, at: str, depth: int = 2) -> str:
        leaves = ["n", "indegree", str(self.draw(st.integers(0, 9)))]
        leaves += ["u.n", "u.outdegree", "weight"] if at != "vertex" else []
        leaves += ["w.n", "w.degree", "weight(w, u)"] if at in ("pair", "far") else []
        found = self.state("int", at)
        leaf = found if found is not None and self.chance(60) else self.one(*leaves)
        if depth == 0 or self.chance(35):
            return leaf
        other = self.integer(at, depth - 1)
        forms = [f"({leaf} {self.one('+', '-', '*')} {other})", f"{self.one('min', 'max')}({leaf}, {other})",
                 f"({leaf} if {self.test(at, depth - 1)} else {other})", f"({leaf} + {other}) % 17"]
        if self.triangles and at == "edge" and self.chance(50):
            return self.pairs("int")
        return self.one(*forms)

    def real(self, at: str, depth: int = 1) -> str:
        leaves = ["x", "0.25"] + (["u.x"] if at != "vertex" else []) + (["w.x"] if at in ("pair", "far") else [])
        found = self.state("float", at)
        leaf = found if found is not None and self.chance(60) else self.one(*leaves)
        if depth == 0 or self.chance(40):
            return leaf
        other = self.real(at, depth - 1)
        if self.triangles and at == "edge" and self.chance(40):
            return self.pairs("float")
        return self.one(f"({leaf} {self.one('+', '-')} {other})", f"{self.one('min', 'max')}({leaf}, {other})",
                        f"({leaf} if {self.test(at, 0)} else {other})")

    def test(self, at: str, depth: int = 1) -> str:
        sign = self.one("==", "!=", "<", "<=", ">")
        forms = ["marked", f"{self.integer(at, 0)} {sign} {self.integer(at, 0)}"]
        forms += ["u.marked", "u < self", "u != self"] if at != "vertex" else []
        found = self.state("bool", at)
        if found is not None and self.chance(60):
            forms = [found, f"not {found}"]
        if self.triangles and at == "edge" and depth and self.chance(40):
            return self.pairs("bool")
        if depth and self.chance(30):
            return f"({self.one(*forms)} {self.one('and', 'or')} {self.test(at, 0)})"
        return f"({self.one(*forms)})"

    def pairs(self, kind: str, at: str = "pair") -> str:
        """Return a reduction over the common neighbours of the two ends of an edge."""
        domain = f"for w in {self.one('common(self, u)', 'common(u, self)')}"
        cond = f" if {self.test(at, 1)}" if self.chance(40) else ""
        if kind == "bool":
            return f"{self.one('any', 'all')}({self.test(at)} {domain}{cond})"
        if kind == "float":
            return f"{self.one('min', 'max')}({self.real(at)} {domain}{cond}, default = 0.5)"
        body = self.integer(at, 1)
        return self.one(f"sum({body} {domain}{cond})", f"count({self.test(at)} {domain}{cond})",
                        f"{self.one('min', 'max')}({body} {domain}{cond}, default = 3)")

    def value(self, type_: str, at: str) -> str:
        """Return an expression for a field or state of a type. The expression keeps floats small and exact."""
        kind = self._kind(type_)
        if kind == "bool":
            return self.test(at)
        if kind == "float":
            return f"max(-64.0, min(64.0, floor(({self.real(at)}) * 4) / 4))"
        text = self.integer(at)
        return f"{type_}({text})"

    # ---- statements

    def declare(self) -> None:
        """Declare one or two edge states of a type."""
        type_ = self.one(*_INTEGERS, "float", "bool", "bool")
        names = [self.fresh("e") for _ in range(2 if self.chance(20) else 1)]
        start = {"bool": self.one("true", "weight > 4", "indegree > 2"), "float": self.one("0", "weight / 4", "x")}
        text = start.get(self._kind(type_), f"{type_}({self.one('0', 'outdegree', '1 + indegree')})")
        if self._kind(type_) == "int" and type_[0] == "i" and self.chance(25):
            text = "inf"
        self.lines.append(f"edge state {', '.join(names)}: {type_} = {text}")
        self.states.update(dict.fromkeys(names, type_))

    def write(self, indent: str) -> None:
        """Write an `apply` of an edge state."""
        name = self.one(*self.states)
        type_ = self.states[name]
        op = self.one("=", "=", "+=", "-=", "*=") if self._kind(type_) == "int" else "="
        cond = f" if {self.test('edge')}" if self.chance(45) else ""
        self.lines.append(f"{indent}apply {name} {op} {self.value(type_, 'edge')} for u -> self{cond}")

    def gather(self, indent: str) -> None:
        """Write a gather, and an `apply` of a vertex field, sometimes inside a `where`."""
        g = self.fresh("g")
        at = "edge" if self.chance(75) or not self.triangles else "both"
        domain = "u -> self" if at == "edge" else self.one("u -- self", "self -> u")
        cond = f" if {self.test(at)}" if self.chance(35) else ""
        body, test = self.integer(at, 1), self.test(at)
        if at == "both":
            body, test = self.pairs("int", "far"), self.pairs("bool", "far")
        least = self.one("min", "max")
        forms = {f"sum(({body}) % 50 for {domain}{cond})": "n", f"count({test} for {domain}{cond})": "n",
                 f"{least}({body} for {domain}{cond}, default = 2)": "n", f"any({test} for {domain}{cond})": "marked",
                 f"{least}(({body}, u) for {domain}{cond}, default = (1, none))[0]": "n"}
        if at == "edge":
            triangles, self.triangles = self.triangles, False  # not in a gather by groups
            key = f"({self.one('u.n', 'weight', self.state('int', 'edge') or 'u.outdegree')}) % 3"
            group = self.integer(at, 0)
            self.triangles = triangles
            forms |= {f"{least}({self.real(at)} for {domain}{cond}, default = x)": "x",
                      f"{self.one('mode', 'median')}(({body}) % 5 for {domain}{cond}, default = 1)": "n",
                      f"count(true for {domain}{cond} by c = {key})": "n",
                      f"max((sum({group} for u) % 9, c) for {domain}{cond} by c = {key}, "
                      "default = (0, 0))[1]": "n"}
        form = self.draw(st.sampled_from(sorted(forms)))
        target, item = forms[form], ""
        if form.endswith("]"):
            form, item = form[:-3], form[-3:]
        if self.chance(25):
            self.lines.append(f"{indent}where {self.test('vertex')}:")
            indent += "    "
        self.lines.append(f"{indent}gather {g} = {form}")
        text = f"{g}{item}"
        value = {"n": f"int(({text} + n) % 100)", "marked": f"({text} != marked)",
                 "x": f"max(-64.0, min(64.0, floor({text} * 4) / 4))"}[target]
        self.lines.append(f"{indent}apply {target} = {value}")

    def block(self, indent: str, depth: int) -> None:
        """Write two to four statements. At least one of these statements writes an edge state."""
        forms: list[Callable[[str], None]] = [self.write, self.gather, self.write]
        if depth:
            forms.append(lambda indent: self.loop(indent, depth - 1))
        self.write(indent)
        for _ in range(self.draw(st.integers(1, 3))):
            self.draw(st.sampled_from(forms))(indent)

    def loop(self, indent: str, depth: int = 1) -> None:
        """Write a loop with a bound."""
        turns = self.draw(st.integers(1, 3))
        k = self.fresh("k")
        head = self.one(f"repeat {turns} times:", f"repeat at most {turns + 2} times:", f"for {k} from 1 to {turns}:",
                        f"repeat at most 4 times until sum(v.n for v in vertices) > {20 * turns}:")
        self.lines.append(indent + head)
        self.block(indent + "    ", depth)


@st.composite
def edge_state_programs(draw: st.DrawFn) -> Generated:
    """Draw programs with edge states, and a graph for each program."""
    form = draw(st.sampled_from(("any", "undirected", "simple")))
    w = _Writer(draw, form != "any", form == "simple")
    graph = draw(ref_graphs(columns={"weight": "int"}, min_n=1, directed=None if form == "any" else False))
    w.lines = ["program stateful"]
    if form != "any":
        w.lines.append("require undirected")
    if form == "simple":
        w.lines.append("require simple")
        graph = simple_graph(graph, False)
    w.lines += ["edge weight: int", "vertex n: int = indegree", "vertex x: float = outdegree / 4",
                f"vertex marked: bool = {w.one('indegree > 1', 'outdegree == 1', 'false')}"]
    for _ in range(draw(st.integers(1, 3))):
        w.declare()
    for _ in range(draw(st.integers(1, 2))):
        w.loop("")
    if w.chance(40):
        w.gather("")
    params: dict[str, Any] = {}
    return Generated("\n".join(w.lines) + "\n", graph, params, {}, frozenset())

"""Random programs over names and points in time: columns, fields and parameters of categories, dates and times.

The programs compare and order names and times, apply every possible reduction to them, and group edges by them. The
programs also pick names and times, gather them from pointing vertices, read them at distant vertices, and spread them
until nothing changes. All values are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from dataclasses import replace as replaced
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.reference.generators.programs import Generated
from tests.reference.graphs import ref_graphs

__all__ = ["NAMES", "named_programs"]

NAMES = ("road", "rail", "ferry", "A", "Straße", "zoo", "\U0001d518", "a,b")
_UNITS = {"date": "D", "time": "s", "time[ms]": "ms", "time[ns]": "ns"}
_DOMAINS = ("u -> self", "self -> u", "u -- self")


@dataclass
class _Writer:
    """Writes one program with the vertex fields `home`, `label`, `born`, `when`, `near` and `n`.

    The program has the edge fields `kind`, `leaves` and `weight`, and the parameters `k` and `since`. The argument `of`
    is "u." for an expression at an edge, "v." for an expression in a reduction over vertices, and "" for an expression
    at a vertex.
    """

    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def one(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) < percent

    def text(self) -> str:
        return f'"{self.one(*NAMES, "no such name")}"'

    def day(self) -> str:
        return f'"2024-05-{self.draw(st.integers(1, 9)):02d}"'

    def name(self, of: str, depth: int = 1) -> str:
        """Return an expression for a category."""
        more = {"u.": ("kind", "kind"), "": ("near.label",)}.get(of, ())
        leaf = self.one(f"{of}home", f"{of}label", *more, "k")
        if depth == 0 or self.chance(60):
            return leaf
        other = self.text() if self.chance(40) else self.name(of, depth - 1)
        return self.one(f"{self.one('min', 'max')}({leaf}, {other})", f"({leaf} if {self.test(of, 0)} else {other})")

    def time(self, of: str, depth: int = 1) -> str:
        """Return an expression for a point in time."""
        more = {"u.": ("leaves", "leaves"), "": ("near.when",)}.get(of, ())
        leaf = self.one(f"{of}born", f"{of}when", *more, "since")
        if depth == 0 or self.chance(50):
            return leaf
        other = self.time(of, depth - 1)
        return self.one(f"{self.one('min', 'max')}({leaf}, {other})", f"({leaf} if {self.test(of, 0)} else {other})",
                        f"({leaf} + {self.draw(st.integers(-3, 90))})", f"({leaf} - {self.draw(st.integers(0, 5))})")

    def test(self, of: str, depth: int = 1) -> str:
        """Return a condition."""
        sign, order = self.one("==", "!="), self.one("<", "<=", ">", ">=", "==", "!=")
        a, b = self.name(of, 0), self.time(of, 0)
        forms = [f"{a} {sign} {self.text()}", f"{a} {order} {self.name(of, 0)}", f"{b} {order} {self.time(of, 0)}",
                 f"{b} {order} {self.day()}", f"{b} < inf", f"{a} {order} {self.text()}",
                 f"{self.day()} <= {b} < {self.day()}"]
        if depth and self.chance(30):
            return f"({self.one(*forms)} {self.one('and', 'or')} {self.test(of, 0)})"
        return f"({self.one(*forms)})"

    def gather(self, indent: str, pointing: bool = True) -> None:
        """Write a gather, and an `apply` that stores the result of the gather."""
        self.count += 1
        g, domain = f"g{self.count}", self.one(*_DOMAINS)
        cond = f" if {self.test('u.')}" if self.chance(40) else ""
        name, time, least, text = self.name("u."), self.time("u."), self.one("min", "max"), self.text()
        forms = {
            f"{least}({name} for {domain}{cond}, default = {self.one('home', self.text())})": "label",
            f"mode({name} for {domain}{cond}, default = {self.text()})": "label",
            f"mode({name} for {domain}{cond}, weight = {self.one('weight', '2', '0.5')}, default = label)": "label",
            f"pick({name} for {domain}{cond}, {self.one('7', 'n')}, default = k)": "label",
            f"{least}({time} for {domain}{cond})": "when",
            f"{self.one('median', 'mode')}({time} for {domain}{cond}, default = {self.day()})": "when",
            f"count({self.test('u.')} for {domain}{cond})": "n",
            f"sum({self.one('u.n', 'weight')} % 50 for {domain}{cond})": "n",
            f"max(({self.one('sum(weight for u)', 'count(true for u)')}, c) for {domain}{cond} by c = {name}, "
            f"default = (0, {self.text()}))": "label 1",
            f"min((min(u.n for u), c) for {domain}{cond} by c = {time}, default = (0, inf))": "when 1",
            f"{least}(({time}, {name}) for {domain}{cond}, default = ({self.one('inf', '-inf')}, {text}))": "both",
            f"count(true for {domain} by c = {name} if any({self.test('u.')} for u))": "n",
            f"sum(count(true for u) for {domain} by c = {name} if c {self.one('==', '<')} {self.one('k', text)})": "n",
        }
        if pointing:
            forms |= {f"count({self.test('v.')} for v in vertices if v.near == self)": "n",
                      f"{least}({self.name('v.', 0)} for v in vertices if v.near == self, default = home)": "label",
                      f"{least}({self.time('v.', 0)} for v in vertices if v.near == self)": "when"}
        found = self.draw(st.sampled_from(sorted(forms)))
        what = forms[found]
        self.lines.append(f"{indent}gather {g} = {found}")
        if what == "both":
            self.lines.append(f"{indent}apply (when, label) = ({g}[0], {g}[1])")
        elif what == "n":
            self.lines.append(f"{indent}apply n = ({self.one('n', '0')} + {g}) % 1000")
        else:
            target, item = what.split()[0], f"{g}[1]" if what.endswith("1") else g
            self.lines.append(f"{indent}apply {target} = " + self.one(
                item, f"{item} if {self.test('', 0)} else {target}", f"{least}({item}, {target})"))

    def loop(self) -> None:
        """Write a loop. The loop runs for some supersteps, or until no name or time changes."""
        if self.chance(50):
            self.lines.append(f"repeat {self.draw(st.integers(1, 3))} times:")
            for _ in range(self.draw(st.integers(1, 2))):
                self.gather("    ")
            return
        self.count += 1
        g, domain, least = f"g{self.count}", self.one(*_DOMAINS), self.one("min", "max")
        cond = self.one("", ' if kind != "road"', " if leaves >= since", " if kind == u.home", " if weight > 3")
        self.lines.append("repeat:")
        if self.chance(50):
            value = self.one("u.label", f"{least}(u.label, kind)")
            self.lines += [f"    gather {g} = {least}({value} for {domain}{cond}, default = label)",
                           f"    apply label = {least}(label, {g})"]
        else:
            value = self.one("u.when", "max(u.when, leaves)", "min(u.when, leaves)")
            self.lines += [f"    gather {g} = {least}({value} for {domain}{cond})",
                           f"    apply when = {least}(when, {g})"]


@st.composite
def named_programs(draw: st.DrawFn) -> Generated:
    """Draw programs over names and times, with a graph and inputs."""
    w = _Writer(draw)
    unit = w.one(*_UNITS)
    graph = draw(ref_graphs(columns={"weight": "int"}, min_n=1))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    graph = replaced(graph, columns={**graph.columns, **_columns(rng, graph, unit)})
    w.lines = ["program named(k: category, since: " + unit + ")", "edge kind: category", f"edge leaves: {unit}",
               "edge weight: int", "vertex home: category", f"vertex born: {unit}",
               "vertex near: vertex = " + w.one("min(u for u -- self)", "max(u for self -> u)", "self"),
               f"vertex label: category = {w.one('home', 'k', w.text())}",
               f"vertex when: {unit} = {w.one('inf', 'born', 'since', 'born if indegree > 1 else inf')}",
               "vertex n: int = indegree"]
    for _ in range(draw(st.integers(1, 3))):
        w.loop()
    w.lines += [f"vertex late: bool = {w.test('')}", f"global different: i64 = count({w.test('v.')} for v in vertices)"]
    fields = {"home": _names(rng, graph.n), "born": _times(rng, graph.n, unit)}
    params: dict[str, Any] = {"k": w.one(*NAMES), "since": w.one("2024-05-01", "2024-05-04")}
    return Generated("\n".join(w.lines) + "\n", graph, params, fields, frozenset())


def _columns(rng: np.random.Generator, graph: Any, unit: str) -> dict[str, Any]:
    """Return the columns of names and times. Both directions of an edge have the same name and the same time."""
    once = graph.m
    loops = graph.src == graph.dst
    if not graph.directed:
        once = (graph.m + int(loops.sum())) // 2
    back = np.flatnonzero(~loops[:once]) if not graph.directed else np.zeros(0, np.int64)
    return {name: np.concatenate([values, values[back]]) for name, values in
            (("kind", _names(rng, once)), ("leaves", _times(rng, once, unit)))}


def _names(rng: np.random.Generator, count: int) -> Any:
    return np.array(NAMES, object)[rng.integers(0, len(NAMES), count)]


def _times(rng: np.random.Generator, count: int, unit: str) -> Any:
    start: Any = np.array("2024-05-01", f"M8[{_UNITS[unit]}]")
    return start + rng.integers(-20, 200, count).astype(f"m8[{_UNITS[unit]}]")

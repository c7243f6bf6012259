"""Random programs with nested blocks: where, repeat, for and sweep around statements, loops and each other."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from hypothesis import strategies as st

from tests.reference.generators.expressions import Expressions, Scope
from tests.reference.generators.programs import Generated, Writer, finished, started

__all__ = ["Nested", "nested_programs"]

_FORMS = ("where", "repeat", "range", "set", "sweep")


class Nested(Writer):
    """A writer of blocks. Fields of kind "real" may be rounded, so that blocks do not write these fields."""

    def loop_scope(self) -> Scope:
        scope = super().loop_scope()
        return scope.with_graph("iteration", "int") if self.e.chance(40) else scope

    def block(self, depth: int) -> None:
        """Write a block with statements, and with up to `depth` levels of blocks inside."""
        form = self.e.pick(_FORMS)
        if form == "sweep":
            self._sweep()
            return
        kinds, names, head = dict(self.kinds), dict(self.graph_names), len(self.lines)
        opening = "" if form == "repeat" else self._opening(form)
        self.base += 1
        if form != "where" and self.e.chance(50):
            self.field()
        makers: list[Callable[[], None]] = [self.plain, self.stepping]
        makers.append(partial(self.block, depth - 1) if depth else self.plain)
        if form != "where":
            makers.append(self.fixpoint)
        for _ in range(self.e.number(1, 2)):
            self.e.pick(makers)()
        if len(self.lines) == head or self.lines[-1].lstrip().startswith("vertex"):
            self.plain()
        self.kinds, self.graph_names = kinds, names
        written = self._written(head)
        if form == "repeat":
            opening = self._repeat(written)
        self.base -= 1
        self.line(0, opening + (f" until {self.ending(set())}" if form == "range" and self.e.chance(30) else "") + ":")
        self.lines.insert(head, self.lines.pop())

    def _opening(self, form: str) -> str:
        e = self.e
        if form == "where":
            return f"where {e.expr('bool', self.scope)}"
        name = self.fresh("e")
        if form == "range":
            self.graph_names[name] = "int"
            return f"for {name} from {e.number(-1, 2)} to {e.pick(['1', '2', 'k % 3'])}"
        self.graph_names[name] = "vertex"
        return f"for {name} in group"

    def _repeat(self, written: set[str]) -> str:
        """Return the first line of a `repeat` around the lines written so far. An `activate when` may be appended to
        these lines first.
        """
        e, count = self.e, self.e.number(1, 3)
        form = e.pick(["times", "most", "until"])
        if form == "most" and e.chance(40):
            tests = [f"changed({name})" for name in sorted(written)] or ["false"]
            cond = " or ".join(tests) if e.chance(50) else e.expr("bool", self.loop_scope())
            self.line(0, f"activate when {cond}")
        if form == "times":
            return f"repeat {count} times"
        return f"repeat at most {count} times" + (f" until {self.ending(written)}" if form == "until" else "")

    def _written(self, head: int) -> set[str]:
        """Return the fields of the enclosing block that line `head` and the following lines write."""
        targets = [m for line in self.lines[head:] for m in re.findall(r"^\s*apply (\(?[\w, ]+\)?) \S*=", line)]
        return {name for target in targets for name in re.findall(r"\w+", target)} & set(self.kinds)

    def plain(self, besides: str = "") -> None:
        """Write statements without loops. The statements do not write the field `besides`."""
        e, scope = self.e, self.scope
        fields = {n: k for n, k in self.kinds.items() if k not in ("dist", "vector", "real") and n != besides}
        if not fields:
            name = self.fresh("a")
            self.line(0, f"gather {name} = {self.gathered('int', scope)}")
            return
        if e.chance(10):
            name, best = self.fresh("l"), self.fresh("l")
            body = e.expr("i64", self.over_vertices())
            self.line(0, f"let ({name}, {best}) = {e.pick(['min', 'max'])}(({body}, v) for v in vertices)")
            scope = scope.with_graph(name, "i64").with_graph(best, "vertex")
        elif e.chance(25):
            name, kind = self.fresh("l"), e.pick(["i64", "bool", "float"])
            self.line(0, f"let {name} = {self.overall(kind)}")
            scope = scope.with_graph(name, kind)
        if e.chance(70):
            scope = self.gathers(0, scope, list(fields.values()))
        self.applies(0, scope, fields)
        if e.chance(25):
            self.line(0, f"where {e.expr('bool', scope)}:")
            inner = self.gathers(1, scope, list(fields.values())) if e.chance(60) else scope
            self.applies(1, inner, fields)

    def _sweep(self) -> None:
        whole = [name for name, kind in self.kinds.items() if kind in ("int", "i64", "u8")]
        if not whole:
            self.plain()
            return
        name = self.e.pick(whole)
        self.line(0, f"sweep {name} {self.e.pick(['up', 'down'])}:")
        self.base += 1
        self.plain(besides=name)
        self.base -= 1


@st.composite
def nested_programs(draw: st.DrawFn) -> Generated:
    """Draw programs with one to three blocks, nested up to three deep, with a graph and inputs."""
    w = Nested(Expressions(draw))
    made = started(w, group=True)
    for _ in range(w.e.number(1, 3)):
        w.block(2)
    return finished(w, made)

"""Random programs with values of several components.

The programs have vectors and matrices (some of them are parameters), declared reductions, sets of vertices, fields of
vertices that are not neighbours, and gathers of changes. All numbers are integers, or floats with small integral
values, so that results are compared bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from tests.reference.generators.programs import Generated
from tests.reference.graphs import ref_graphs

__all__ = ["value_programs"]

_REDUCTIONS = """reduction wider(a, b): (int, u16) = (max(a[0], b[0]), wrap(a[1] + b[1])), identity (-inf, 0)
reduction total(a, b): i64 = a + b, identity 0
reduction odd(a, b): u16 = a ^ b, identity 0
"""
_DOMAINS = ("u -> self", "self -> u", "u -- self")
_FOLDS = ("sum", "min", "max", "bitor", "bitand", "bitxor")


@dataclass
class _Writer:
    """A writer of one program with the fields `x`, `y` and `const` (u16 vectors), u16 scalars, `far` (a vertex), and
    `k` (an int).

    The parameters are a u16 vector `p`, a square u16 matrix `A`, and a square float matrix `B`.
    """

    draw: st.DrawFn
    width: int
    lines: list[str] = field(default_factory=list)
    gathered: list[str] = field(default_factory=list)

    def one(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def vector(self, depth: int, of: str = "") -> str:
        """Return a vector expression.

        Args:
            of: "" for fields of the vertex itself, "u." for fields of the neighbour.
        """
        leaf = [f"{of}x", f"{of}y", f"{of}const", "p"] + ([] if of else self.gathered)
        if depth == 0:
            return self.one(*leaf)
        a, b = self.vector(depth - 1, of), self.vector(depth - 1, of)
        forms = [f"({a} + {b})", f"({a} * {b})", f"min({a}, {b})", f"max({a}, {self.scalar(0, of)})", f"reverse({a})",
                 f"({a} | {b})", f"({a} ^ {self.scalar(0, of)})", f"({a} // 3)", f"({a} << 1)", f"(A @ {a})", a,
                 f"({a} if {self.test(of)} else {b})"]
        return self.one(*forms, *([] if of else ["far.x", "far.far.y"]))

    def scalar(self, depth: int, of: str = "") -> str:
        leaf = [f"{of}s", "3", f"{of}x[0]", f"{of}y[{self.width - 1}]"]
        if depth == 0:
            return self.one(*leaf, *([] if of else ["far.s"]))
        v, w = self.vector(depth - 1, of), self.vector(depth - 1, of)
        return self.one(f"sum({v})", f"min({v})", f"max({v})", f"dot({v}, {w})", f"odd({leaf[0]}, sum({w}))")

    def test(self, of: str = "") -> str:
        return self.one(f"{of}s > 4", f"sum({of}x) % 2 == 0", f"{of}x != {of}y", f"position({of or 'self'}, S) >= 0"
                        if not of else "position(u, S) >= 1", f"{of}outdegree > 1")

    def gather(self, number: int, changes: bool) -> None:
        """Write a gather of a vector, of pairs, or of changes."""
        domain = self.one(*_DOMAINS)
        cond = self.draw(st.sampled_from(["", f" if {self.test('u.')}"]))
        kind = self.one("vector", "pair", *(["change"] if changes else []))
        name = f"g{number}"
        if kind == "pair":
            self.lines.append(f"gather {name} = wider((u.k, {self.scalar(0, 'u.')}) for {domain}{cond})")
            self.lines.append(f"apply k = {name}[0] if {name}[1] > 2 else k // 2")
            self.lines.append(f"apply s = s + {name}[1]")
            self.lines.append(f"gather {name}t = total(u.k + {self.scalar(0, 'u.')} for {domain})")
            self.lines.append(f"apply k = k if {name}t > 5 else k + 1")
        elif kind == "change":
            fold = self.one("sum", "max")
            self.lines.append(f"gather {name} = {fold}(change(u.x){self.one('', ' + u.const', ' * u.s')} for "
                              f"{domain}{cond})")
            self.gathered.append(name)
        else:
            default = self.one("", ", default = x")
            fold, body = self.one(*_FOLDS), self.vector(1, "u.")
            self.lines.append(f"gather {name} = {fold}({body} for {domain}{cond}{default})")
            self.gathered.append(name)

    def loop(self, number: int) -> list[str]:
        """Return the lines of a loop with about two supersteps."""
        self.lines, self.gathered = [], []
        changes = self.draw(st.booleans())
        for at in range(self.draw(st.integers(1, 2))):
            self.gather(10 * number + at, changes)
        if self.draw(st.booleans()):
            self.lines.append(f"where {self.test()}:")
            self.lines.append(f"    apply y = {self.vector(1)}")
        self.lines.append(f"apply x = {self.vector(2)}")
        if self.draw(st.booleans()):
            self.lines.append("apply far = far.far")
        self.lines.append(f"apply s = {self.scalar(1)}")
        if changes or self.draw(st.booleans()):
            self.lines.append(self.one("activate when max(change(x)) > 2", "activate when changed(x)"))
        return [f"repeat at most {self.draw(st.integers(1, 4))} times:", *(f"    {line}" for line in self.lines)]


@st.composite
def value_programs(draw: st.DrawFn) -> Generated:
    """Draw a program with a graph of at most 12 vertices and its inputs."""
    graph = draw(ref_graphs())
    width = draw(st.sampled_from([1, 2, 3, 5, 9]))
    writer = _Writer(draw, width)
    rows = [[draw(st.integers(0, 3)) for _ in range(width)] for _ in range(3 if width < 9 else 1)]
    matrix = [(rows[i % len(rows)] * 2)[i % width : i % width + width] for i in range(width)]
    head = [f"program values(S: vertices, p: u16[{width}] = {rows[0]}, A: u16[{width}, {width}] = {matrix},",
            f"               B: float[{width}, {width}] = {matrix[::-1]})", _REDUCTIONS + f"vertex x: u16[{width}]",
            f"vertex const: u16[{width}] = x",
            f"vertex y: u16[{width}] = reverse(x) + 1", "vertex s: u16 = odd(x[0], 5)", "vertex far: vertex",
            "vertex k: int = position(self, S)"]
    loops = [line for number in range(draw(st.integers(1, 2))) for line in writer.loop(number)]
    writer.gathered = []
    tail = [f"vertex last: u64[{width}] = {writer.vector(1)} + sum(v.x for v in vertices)",
            f"vertex real: float[{width}] = B @ min(x, 999) - p",
            f"vertex some: u16[{width}] = max(v.{writer.one('x', 'y')} for v in S) ^ x" if graph.n else ""]
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    members = rng.integers(0, graph.n, draw(st.integers(0, graph.n))).tolist() if graph.n else []
    fields = {"x": rng.integers(0, 9, (graph.n, width)).astype(np.uint16),
              "far": rng.integers(-1, graph.n, graph.n) if graph.n else np.zeros(0, np.int64)}
    text = "\n".join([*head, *loops, *tail]) + "\n"
    return Generated(text, graph, {"S": members}, fields, frozenset())

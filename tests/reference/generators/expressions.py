"""Random typed expressions as text, correct by construction, for `programs`.

The kinds "int", "i64", "u8", "bool" and "vertex" are exact in any order of evaluation. "float" holds small multiples of
1/4, so that sums and comparisons are exact in f32, too. "dist" is a float that may be inf; values of this kind are only
compared, minimised and added. "real" may be rounded (roots, quotients) and is never compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

__all__ = ["EXACT", "TYPES", "Expressions", "Function", "Scope"]

TYPES = {"int": "int", "i64": "i64", "u8": "u8", "bool": "bool", "vertex": "vertex", "float": "float", "dist": "float",
         "real": "float"}
EXACT = ("int", "i64", "u8", "bool", "vertex", "float")

# for each kind, the other kinds that may be used in its place
_WIDENS = {"i64": ("i64", "int"), "real": ("real", "float")}
_OPERATION = re.compile(r"[^A-Za-z]*\d\)* (?:[-+*/%&|^]|\*\*|//|<<|>>) [^A-Za-z]*")


def _without_literals(text: str) -> str:
    """Return the text, or only its first literal if the text is an operation on literals alone. The result of such an
    operation might not fit its type (V106).
    """
    if _OPERATION.fullmatch(re.sub(r"0x[0-9a-f]+", "9", text)) is None:
        return text
    number = re.search(r"0x[0-9a-f]+|\d+", text)
    assert number is not None
    return number[0]


@dataclass(frozen=True)
class Function:
    """A `fn` of the program: the kinds of its arguments and of its result."""

    name: str
    arguments: tuple[str, ...]
    result: str


@dataclass(frozen=True)
class Scope:
    """The names that an expression may read, each mapped to its kind.

    Attributes:
        own: Fields and accumulators of `self`.
        fields: Fields that exist for every vertex.
        graph: Parameters, lets, globals.
        edges: Edge fields.
        other: The variable of the neighbour or member, or None.
        here: Whether there is a `self`.
        loop: Whether `old` and `changed` are defined.
        changed: Whether the place allows `changed`.
    """

    own: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    graph: dict[str, str] = field(default_factory=dict)
    edges: dict[str, str] = field(default_factory=dict)
    other: str | None = None
    here: bool = True
    loop: bool = False
    changed: bool = False

    def with_own(self, name: str, kind: str) -> Scope:
        """Return the scope after a gather."""
        return replace(self, own={**self.own, name: kind})

    def with_graph(self, name: str, kind: str) -> Scope:
        """Return the scope after a `let` or `global`."""
        return replace(self, graph={**self.graph, name: kind})


class Expressions:
    """A generator of random expressions."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.functions: list[Function] = []

    def chance(self, percent: int) -> bool:
        """Return True with a probability of `percent` percent."""
        return self.draw(st.integers(0, 99)) < percent

    def number(self, low: int, high: int) -> int:
        """Return a whole number in a range."""
        return self.draw(st.integers(low, high))

    def pick(self, choices: Iterable[T]) -> T:
        """Return one of the choices."""
        return self.draw(st.sampled_from(list(choices)))

    # ---- leaves

    def literal(self, kind: str) -> str:
        """Return a constant of a kind; some integers are near the limits of their type."""
        if kind in ("int", "i64"):
            ends = ["2147483646", "1500000000", "46341"]
            return self.pick(ends if self.chance(12) else ["0", "1", "2", "3", "7", "100"])
        if kind == "u8":
            return str(self.pick([0, 1, 2, 5, 128, 255]))
        if kind == "bool":
            return self.pick(["true", "false"])
        if kind == "vertex":
            return "none"
        return self.pick(["0.0", "0.25", "0.5", "1.0", "1.5", "2.75"])

    def leaf(self, kind: str, scope: Scope) -> str:
        """Return a name of the kind that is in scope, or a literal."""
        good = _WIDENS.get(kind, (kind,))
        found = [name for name, own in scope.own.items() if own in good and scope.here]
        found += [name for name, own in scope.graph.items() if own in good]
        found += [name for name, own in scope.edges.items() if own in good]
        if scope.other is not None:
            found += [f"{scope.other}.{name}" for name, own in scope.fields.items() if own in good]
        if scope.loop and scope.here and scope.other is None:
            found += [f"old({name})" for name, own in scope.fields.items() if own in good]
        if kind == "vertex":
            found += ["self"] if scope.here else []
            found += [scope.other] if scope.other is not None else []
        if kind == "real":
            found += ["(degree + 0.0)"] if scope.here else []
        if kind in ("int", "i64"):
            found += ["degree", "outdegree"] if scope.here else []
            found += [f"{scope.other}.indegree"] if scope.other is not None else []
            found += ["N"]
        if not found or self.chance(15):
            return self.literal(kind)
        return self.pick(found)

    # ---- expressions

    def expr(self, kind: str, scope: Scope, depth: int = 2) -> str:
        """Return an expression of a kind."""
        if depth <= 0 or self.chance(20):
            return self.leaf(kind, scope)
        if self.chance(12):
            yes, no = self.expr(kind, scope, depth - 1), self.expr(kind, scope, depth - 1)
            return f"({yes} if {self.expr('bool', scope, depth - 1)} else {no})"
        usable = [f for f in self.functions if f.result == kind]
        if usable and self.chance(25):
            function = self.pick(usable)
            return f"{function.name}({', '.join(self.expr(a, scope, depth - 1) for a in function.arguments)})"
        makers: dict[str, Callable[[Scope, int], str]] = {
            "bool": self._bool, "vertex": self._vertex, "float": self._float, "dist": self._dist, "real": self._real,
        }
        if kind in makers:
            return makers[kind](scope, depth - 1)
        return _without_literals(self._integer(kind, scope, depth - 1))

    def _integer(self, kind: str, scope: Scope, depth: int) -> str:
        def part() -> str:
            return self.expr(kind, scope, depth)

        unsigned = kind == "u8"
        form = self.pick(["+", "-", "*", "//", "%", "min", "max", "bits", "unary", "power", "floor", "infinite",
                          "widen", "wrap", "clamp", "sign", "convert", "random"])
        if form == "random" and kind == "int":  # every program has an int parameter k
            keys = self.pick(["edge", "edge, u", "7, edge"]) if scope.other == "u" else "3"
            return f"floor(random(k, {keys}) * {self.pick(['2', '16'])})"
        if form == "clamp":
            return f"clamp({part()}, {self.literal(kind)}, {self.leaf(kind, scope)})"
        if form == "sign":
            return f"sign({part()})"
        if form == "convert":
            return f"{kind}({self.expr(self.pick(['int', 'u8', 'bool', 'float']), scope, depth)})"
        if form == "wrap":
            return f"wrap({part()} {self.pick('+-*')} {self.leaf(kind, scope)})"
        if form in ("+", "-", "*", "//", "%"):
            right = self.pick(["2", "3", "7"]) if form in ("//", "%") and self.chance(70) else part()
            return f"({part()} {form} {right})"
        if form in ("min", "max"):
            return f"{form}({part()}, {part()})"
        if form == "bits":
            return f"({part()} {self.pick('|&^')} {part()})"
        if form == "power":
            return f"({part()} ** {self.number(0, 3)})"
        if form == "floor" and kind == "int":
            word = self.pick(["floor", "ceil", "round", "trunc"])
            return f"{word}({self.expr('float', scope, 0)} * {self.pick(['2', '0.5', '3'])})"
        if form == "widen" and not unsigned:  # every program has an int parameter k
            return f"(k + {self.expr('u8', scope, depth)})"
        if form == "infinite" and not unsigned:
            return self.pick([f"min({part()}, inf)", f"(inf if {self.expr('bool', scope, depth)} else {part()})"])
        return part() if unsigned else self.pick([f"abs({part()})", f"(-{part()})"])

    def _float(self, scope: Scope, depth: int) -> str:
        """Return a sum or choice of small multiples of 1/4. Each level at most doubles the values, which stay far below
        2^20.
        """
        def part() -> str:
            return self.expr("float", scope, depth)

        form = self.pick(["+", "-", "min", "max", "scale", "abs", "negate", "clamp", "sign"])
        if form == "clamp":
            return f"clamp({part()}, {self.literal('float')}, {part()})"
        if form == "sign":
            return f"sign({part()})"
        if form in ("+", "-"):
            return f"({part()} {form} {part()})"
        if form in ("min", "max"):
            return f"{form}({part()}, {part()})"
        if form == "scale":
            return f"({self.leaf('float', scope)} * {self.pick(['2', '0.5', '3'])})"
        return f"abs({part()})" if form == "abs" else f"(-{part()})"

    def _dist(self, scope: Scope, depth: int) -> str:
        form = self.pick(["+", "min", "max"])
        if form == "+":
            return f"({self.expr('dist', scope, depth)} + {self.literal('dist')})"
        return f"{form}({self.expr('dist', scope, depth)}, {self.expr('dist', scope, depth)})"

    def _real(self, scope: Scope, depth: int) -> str:
        def part() -> str:
            return self.expr("real", scope, depth)

        form = self.pick(["+", "*", "/", "tanh", "sqrt", "exp", "log1p", "smooth", "atan2"])
        if form == "smooth":
            return f"{self.pick(['sin', 'cos'])}(tanh({part()}))"
        if form == "atan2":
            return f"atan2({part()}, 1.5 + abs({part()}))"
        if form in ("+", "*"):
            return f"tanh({part()} {form} {part()})"
        if form == "/":
            return f"({part()} / (1.5 + abs({part()})))"
        if form == "tanh":
            return f"tanh({part()})"
        return {"sqrt": f"sqrt(abs({part()}) + 0.5)", "exp": f"exp(-abs({part()}))",
                "log1p": f"log1p(abs({part()}))"}[form]

    def _vertex(self, scope: Scope, depth: int) -> str:
        name = self.pick(["min", "max"])
        return f"{name}({self.expr('vertex', scope, depth)}, {self.expr('vertex', scope, depth)})"

    def _bool(self, scope: Scope, depth: int) -> str:
        form = self.pick(["compare", "compare", "logical", "not", "changed", "vertices", "chain"])
        exact = [name for name, kind in scope.fields.items() if kind != "real"]
        if form == "changed" and scope.changed and exact:
            return f"changed({self.pick(exact)})"
        if form == "chain":
            kind = self.pick(["int", "float"])
            low, middle, high = (self.expr(kind, scope, depth) for _ in range(3))
            return f"({low} {self.pick(['<', '<='])} {middle} {self.pick(['<', '<=', '!='])} {high})"
        if form == "logical":
            left, right = self.expr("bool", scope, depth), self.expr("bool", scope, depth)
            return f"({left} {self.pick(['and', 'or'])} {right})"
        if form == "not":
            return f"(not {self.expr('bool', scope, depth)})"
        if form == "vertices":
            left, right = self.expr("vertex", scope, depth), self.expr("vertex", scope, depth)
            return f"({left} {self.pick(['==', '!='])} {right})"
        kind = self.pick(["int", "i64", "u8", "float", "dist"])
        sign = self.pick(["==", "!=", "<", "<=", ">", ">="])
        return f"({self.expr(kind, scope, depth)} {sign} {self.expr(kind, scope, depth)})"

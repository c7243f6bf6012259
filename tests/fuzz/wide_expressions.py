"""Random typed expressions with every type and function of the language.

The expressions extend `tests.reference.generators.expressions`. Additional kinds are integers of all widths and floats
of 64 bits ("double"). Additional forms are random numbers, positions, common neighbours, bit operations and shifts,
fields of vertices held in a field, old values of neighbours, declared reductions as functions, hexadecimal numbers, and
the limits of every integer type.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.reference.generators.expressions import Expressions, Scope

__all__ = ["INTEGERS", "SPELLED", "Joined", "WideExpressions", "signed"]

INTEGERS = ("int", "i64", "i8", "i16", "u8", "u16", "u32", "u64")
SPELLED = {**{kind: kind for kind in INTEGERS}, "bool": "bool", "vertex": "vertex", "float": "float", "dist": "float",
           "real": "float", "double": "f64"}
"""Each kind as a program writes its type."""

_NARROWER = {"int": ("i8", "u8", "i16", "u16"), "i64": ("u32", "u8", "i16", "int"), "i16": ("i8", "u8"),
             "u16": ("u8",), "u32": ("u16", "u8"), "u64": ("u32", "u16", "u8")}
"""Kinds whose values convert without loss."""


def signed(kind: str) -> bool:
    """Return whether a kind of integers has infinities."""
    return not kind.startswith("u")


def _bits(kind: str) -> int:
    return 32 if kind == "int" else int(kind[1:])


@dataclass(frozen=True)
class Joined:
    """A declared reduction.

    Attributes:
        idempotent: whether a fixpoint loop may join its results into a field.
    """

    name: str
    kind: str
    idempotent: bool


class WideExpressions(Expressions):
    """A generator of expressions.

    Attributes:
        sets: names of parameters of type `vertices`.
        declared: reductions of the program.
    """

    def __init__(self, draw: st.DrawFn, sets: tuple[str, ...] = ()) -> None:
        super().__init__(draw)
        self.sets = sets
        self.declared: list[Joined] = []

    def literal(self, kind: str) -> str:
        if kind in INTEGERS:
            bits = 32 if kind == "i64" else _bits(kind)  # a `default` has the type of its reduction, which may be `int`
            ends = ((1 << (bits - signed(kind))) - 1, (1 << (bits - 1)) - 2, 1 << (bits // 2))
            if self.chance(10):
                return hex(self.pick(ends)) if self.chance(50) else str(self.pick(ends))
            return str(self.pick([0, 1, 2, 3, 7, 100]))
        return super().literal("float" if kind == "double" else kind)

    def leaf(self, kind: str, scope: Scope) -> str:
        found = list(self._leaves(kind, scope)) if self.chance(25) else []
        if found:
            return self.pick(found)
        if kind == "double" and self.chance(50):
            return super().leaf("float", scope)
        return super().leaf(kind, scope)

    def _leaves(self, kind: str, scope: Scope) -> list[str]:
        """Return leaves of the additional forms. The result is empty for kinds without additional forms."""
        found, own = [], scope.here and scope.other is None
        fields = [name for name, held in scope.fields.items() if held == kind]
        holders = [name for name, held in scope.fields.items() if held == "vertex"]
        if own and holders and fields:  # of any vertex; `none` reads the values of the last vertex
            found.append(f"{self.pick(holders)}.{self.pick(fields)}")
        if fields and not scope.loop and scope.graph.get("s") == "vertex":  # of one vertex of the graph
            found.append(f"s.{self.pick(fields)}")
        if scope.other is not None and scope.loop and fields:
            found.append(f"old({scope.other}.{self.pick(fields)})")
        if kind in ("int", "float") and (someone := self._someone(scope)):
            one, two = self.pick(someone), self.pick(someone)
            if kind == "float":
                more = self.pick(["", "", ", k", f", {two}", ", -1", ", N, k"])
                found.append(f"random({self.pick(['1', '7', 'k'])}, {one}{more})")
            else:
                found.append(f"common({one}, {two})")
                found += [f"position({one}, {name})" for name in self.sets] + [f"len({name})" for name in self.sets]
        if kind in ("int", "i64"):
            found.append("M")
        if kind == "i64" and fields and (own or scope.other is not None):  # other values may have the type `int`
            name = self.pick(fields) if scope.other is None else f"{scope.other}.{self.pick(fields)}"
            found.append(f"({name} {self.pick('+-^')} {self.pick(['9223372036854775807', '0x4000000000000000'])})")
        if kind == "u64":
            found.append(f"bit({self.pick(['0', '5', '63', 'k'])})")
        return found

    def _someone(self, scope: Scope) -> list[str]:
        """Return expressions for the vertices in scope."""
        found = [name for name, kind in scope.graph.items() if kind == "vertex"]
        found += ["self"] if scope.here else []
        return found + ([scope.other] if scope.other is not None else [])

    def strict(self, kind: str, scope: Scope) -> str:
        """Return a name in scope with exactly the type of the kind, or "". A literal would take the type of the other
        operand.
        """
        found = [name for name, held in scope.own.items() if held == kind and scope.here]
        found += [name for name, held in scope.graph.items() if held == kind and name != "iteration"]
        if scope.other is not None:
            found += [f"{scope.other}.{name}" for name, held in scope.fields.items() if held == kind]
        return self.pick(found) if found else "bit(3)" if kind == "u64" else ""

    # ---- expressions

    def expr(self, kind: str, scope: Scope, depth: int = 2) -> str:
        usable = [one for one in self.declared if one.kind == kind]
        if usable and depth > 0 and scope.other is None and self.chance(15):
            return f"{self.pick(usable).name}({self.expr(kind, scope, depth - 1)}, {self.leaf(kind, scope)})"
        return super().expr(kind, scope, depth)

    def _integer(self, kind: str, scope: Scope, depth: int) -> str:
        """Return a form for an integer of any width. A literal alone has the type `int`, so that some forms need a name
        of the kind.
        """
        def part() -> str:
            return self.expr(kind, scope, depth)

        if kind == "double":
            return self._double(scope, depth)
        form = self.pick(["+", "-", "*", "//", "%", "least", "bits", "shift", "power", "wrap", "widen", "infinite",
                          "unary", "floor", "clamp", "sign", "convert"])
        if form == "clamp":
            return f"clamp({part()}, {self.literal(kind)}, {part()})"
        if form == "convert":  # of any number, and of bools
            return f"{kind}({self.expr(self.pick([*INTEGERS, 'double', 'float', 'bool']), scope, depth)})"
        name = self.strict(kind, scope)
        if form in ("//", "%"):
            return f"({part()} {form} {self.pick(['2', '3', '7']) if self.chance(70) else part()})"
        if form == "least":
            return f"{self.pick(['min', 'max'])}({', '.join(part() for _ in range(self.number(2, 3)))})"
        if form == "bits":
            return f"({part()} {self.pick('|&^')} {part()})"
        if form == "shift":
            return f"({part()} {self.pick(['<<', '>>'])} {self.number(0, 6)})"
        if form == "power":
            return f"({part()} ** {self.number(0, 3)})"
        if form == "wrap" and name:
            return f"wrap({name} {self.pick('+-*')} {part()})"
        if form == "widen" and name and kind in _NARROWER:
            return f"({name} {self.pick('+-*')} {self.expr(self.pick(_NARROWER[kind]), scope, depth)})"
        if form == "infinite" and name and signed(kind):
            return self.pick([f"min(({name} + {part()}), inf)", f"(inf if {self.expr('bool', scope, depth)} else "
                              f"({name} + {part()}))", f"max(({name} - {part()}), -inf)"])
        if form == "sign" and name:
            return f"sign({name} - {part()})"
        if form == "unary" and name:
            return self.pick([f"abs({name} - {part()})", f"(-({name} + {part()}))"])
        if form == "floor" and kind == "int":
            word = self.pick(["floor", "ceil", "round", "trunc"])
            return f"{word}({self.expr('float', scope, 0)} * {self.pick(['2', '0.5', '3'])})"
        return f"({part()} {form if form in '+-*' else '+'} {part()})"

    def _double(self, scope: Scope, depth: int) -> str:
        left, right = self.expr("double", scope, depth), self.expr("double", scope, depth)
        return self.pick([f"({left} + {right})", f"({left} - {right})", f"min({left}, {right})",
                          f"max({left}, {right})", f"abs({left})", f"sign({left})", f"clamp({left}, -4.0, {right})",
                          f"f64({left})"])

    def _bool(self, scope: Scope, depth: int) -> str:
        if self.sets and self.chance(12):
            return f"({self.expr('vertex', scope, depth)} {self.pick(['in', 'not in'])} {self.pick(self.sets)})"
        kind = self.pick([*INTEGERS, "double", *["usual"] * 8])
        if kind == "usual":
            return super()._bool(scope, depth)
        sign = self.pick(["==", "!=", "<", "<=", ">", ">="])
        return f"({self.expr(kind, scope, depth)} {sign} {self.expr(kind, scope, depth)})"

"""The dialect of numba: Python code whose values are tuples and scalars of fixed types."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vlang.emit.cpu.skeleton import skeletons
from vlang.emit.shared.values.dialect import SATURATED, Dialect, Entry, Function
from vlang.emit.shared.values.wide import LEAST, Element, Part, joined
from vlang.maths import MATHS
from vlang.types import Scalar, Type

__all__ = ["NumbaDialect"]


class NumbaDialect(Dialect):
    """The dialect of numba, in which an accumulator is a tuple."""

    boolean, true, false = "boolean", "True", "False"
    wides = True

    def integer(self, value: int, type_: Scalar) -> str:
        return f"{self.typename(type_)}({value})"

    def floating(self, value: float, type_: Scalar) -> str:
        name = self.typename(type_)
        if math.isinf(value):
            return f"{name}(np.inf)" if value > 0 else f"{name}(-np.inf)"
        return f"{name}({value!r})"

    def arithmetic(self, sign: str, type_: Type, a: str, b: str) -> str:
        return self.convert(type_, f"{a} {sign} {b}")

    def saturated(self, name: str, type_: Type, a: str, b: str) -> str:
        kind = self.typename(type_)
        return f"{SATURATED[name]}({kind}({a}), {kind}({b}))"

    def negative(self, type_: Type, a: str) -> str:
        assert isinstance(type_, Scalar)
        return f"-{a}" if type_.floating else self.convert(type_, f"-{a}")

    def absolute(self, type_: Type, a: str) -> str:
        return f"abs({a})"

    def function(self, name: str, type_: Type, *arguments: str) -> str:
        return f"np.{MATHS[name].numpy or name}({', '.join(arguments)})"

    def power(self, type_: Type, a: str, exponent: Type, b: str) -> str:
        return f"{a} ** {b}"

    def select(self, test: str, yes: str, no: str) -> str:
        return f"{yes} if {test} else {no}"

    def negation(self, a: str) -> str:
        return f"not {a}"

    def both(self, *parts: str) -> str:
        return " & ".join(parts)

    def either(self, *parts: str) -> str:
        return " | ".join(parts)

    def conjunction(self, *parts: str) -> str:
        return " and ".join(parts)

    def disjunction(self, *parts: str) -> str:
        return " or ".join(parts)

    def bits(self, *parts: str) -> str:
        return " | ".join(parts)

    def flags(self, bits: Sequence[str]) -> str:
        return " | ".join(f"(i64({1 << k}) if {bit} else i64(0))" for k, bit in enumerate(bits)) or "i64(0)"

    def named(self, name: str, text: str) -> str:
        return f"{name} = {text}"

    def assign(self, place: str, text: str) -> str:
        return f"{place} = {text}"

    def variable(self, name: str, type_: Scalar, text: str) -> str:
        return f"{name} = {text}"

    def intersection(
        self, number: int, lists: tuple[str, str], ends: tuple[str, str], guard: str, body: Sequence[str]
    ) -> list[str]:
        (starts, targets), k = lists, number
        lines = [f"{p}{k}, {q}{k} = i64({starts}[i64({end})]), i64({starts}[i64({end}) + 1])"
                 for p, q, end in (("i_", "e", ends[0]), ("j", "s", ends[1]))]
        lines += [f"i_{k} = i_{k} if {guard} else e{k}"] if guard else []
        lines += [f"g{k} = longer_list(e{k} - i_{k}, s{k} - j{k})",
                  f"i_{k}, j{k} = next_common({targets}, i_{k}, e{k}, j{k}, s{k}, g{k})", f"while i_{k} < e{k}:"]
        inside = [f"w{k} = i64({targets}[i_{k}])", *body,
                  f"i_{k}, j{k} = next_common({targets}, i_{k} + 1, e{k}, j{k} + 1, s{k}, g{k})"]
        return [*lines, *(f"    {line}" for line in inside)]

    def store_scalar(self, dtype: str, slot: int, text: str) -> str:
        return f"store_{dtype}(frame, {slot}, {text})"

    def element(self, pointer: str, index: str, width: int, part: int) -> str:
        if width == 1:
            return f"{pointer}[{index}]"
        return Element(f"{pointer}[i64({index}) * {width} + {part}]", pointer, f"i64({index}) * {width}", part)

    def registers(self, names: Sequence[str]) -> str:
        return self.pack("", names)

    def product(self, type_: Scalar, matrix: str, rows: int, vector: tuple[str, ...]) -> str:
        return f"wide_product({matrix}, {joined(vector)}, {rows})"

    def product_row(self, product: str, row: int, rows: int) -> str:
        return Part(product, row, rows)

    def part(self, packed: str, number: int) -> str:
        return f"{packed}[{number}]"

    def pack(self, struct: str, items: Sequence[str]) -> str:
        if struct == "Acc" and len(items) >= LEAST:
            return joined(items)
        return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"

    def entry(self, number: int, name: str) -> str:
        return f"env[{number}]"

    def column(self, number: int, name: str) -> str:
        return f"columns[{number}]"

    def edge_place(self, edge: str, columns: int) -> str:
        return f"{self.column(columns, 'first edge')} + {edge}"  # edges are numbered within a page

    # ------------------------------------------------------------------------- functions
    def define(self, function: Function, name: str = "") -> str:
        """Code of a generated function.

        Args:
            name: a name to use in place of the function's own name.
        """
        body = [*function.lines, *([f"return {function.result}"] if function.result else [])] or ["pass"]
        head = f"{name or function.name}({skeletons().heads[function.name]})"
        return f"@inner\ndef {head}:\n" + "".join(f"    {line}\n" for line in body)

    def bind(self, entries: Sequence[Entry]) -> str:
        """Return the function `bind`, which reads the environment from the frame into a tuple once per launch."""
        texts = [f"{entry.kind}_{entry.dtype}(frame, {entry.number})" for entry in entries]
        items = "".join(f"        {text},\n" for text in texts)
        result = f"(\n{items}    )" if items else "()"
        return self.define(Function("bind", (), result))

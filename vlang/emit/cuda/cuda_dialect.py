"""The dialect of CUDA C. Each line assigns one name once, and operations avoid undefined behaviour.

C++ promotes integers that are narrower than `int`, and signed overflow is undefined. Therefore integers are computed in
unsigned types of at least 32 bits and cast back. A selection is a conditional expression with two values of the same
type.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from vlang.emit.shared.values.dialect import SATURATED, Dialect, Entry, Function
from vlang.maths import MATHS
from vlang.types import BOOL, Scalar, Type

__all__ = ["CudaDialect", "edge_name", "indented", "used"]

_HEADS = {
    "bind": "Env bind(const u64* frame)",
    "bind_columns": "Columns bind_columns(const u64* row, bool streams = false)",
    "ready": "Masks ready(const Env& env, u32 v)",
    "wanted": "bool wanted(const Masks& masks)",
    "identity": "Acc identity(const Env& env)",
    "nothing": "Item nothing(const Env& env)",
    "contribute": "Item contribute(const Env& env, const Columns& columns, u32 v, u32 u, i64 k)",
    "lift": "Acc lift(const Env& env, const Item& item)",
    "merge": "Acc merge(const Env& env, const Acc& a, const Acc& b)",
    "from_lane": "Acc from_lane(unsigned mask, const Acc& acc, int lane)",
    "put": "void put(const Env& env, i64 s, const Acc& acc)",
    "get": "Acc get(const Env& env, i64 s)",
    "take": "Acc gather(const Env& env, const Acc& acc, u32 v)",
    "apply": "u32 apply(const Env& env, u32 v, const Masks& masks, const Acc& acc)",
    "send": "void send(const Env& env, u32 v)",
    "decided": "bool decided(const Acc& acc)",
    "is_final": "bool is_final(const Env& env, u32 v)",
    "notifies": "u8 notifies(const Env& env, u32 v)",
    "cells": "Cells cells(unsigned char* memory, u32 count)",
    "clear": "void clear(const Env& env, const Cells& cells, u32 i)",
    "join": "void join(const Env& env, const Cells& cells, u32 i, const Item& item)",
    "taken": "Acc take(const Cells& cells, u32 i)",
    "fold": "void fold(const Env& env, const Cells& cells, u32 i, u32 j)",
    "pour": "void pour(const Env& env, const Cells& cells, u32 i, const Cells& to, u32 j)",
    "push": "bool push(const Env& env, u32 v, const Item& item)",
    "improves": "bool improves(const Env& env, u32 v, const Item& item)",
    "open": "void open(const Env& env, u32 v)",
    "pushed": "Acc pushed(const Env& env, u32 v)",
    "silent": "bool silent(const Env& env, u32 v)",
    "scratch_words": "u64 scratch_words(u64 degree)",
    "file": "void file(const Scratch& scratch, const Item& item, u32 place)",
    "combine": "void combine(const Env& env, const Group& group, const Scratch& scratch, u32 first, u32 count)",
    "conclude": "Acc conclude(const Env& env, const Group& group, const Scratch& scratch, u32 v)",
    "priority": "f64 priority(const Env& env, u32 v)",
    "store": "void store(u64* frame, const Env& env)",
    "store folded": "void store(u64* frame, const Env& env, const Acc& acc)",
}
_NAMED = re.compile(r"const auto (t\d+) = ")
_HIGHEST_F32 = 3.4028235677973366e38  # an f64 of at least this is rounded to an infinite f32
_WORDS = {"|": "||", "&": "&&", "^": "!="}
_READ = {"pointer": "pointer", "value": "value_at"}


def indented(text: str) -> str:
    """The text with every line indented by two more spaces."""
    return "".join(f"  {line}\n" if line else "\n" for line in text.splitlines())


def edge_name(column: str) -> str:
    """The name of the struct member that points to an edge column."""
    return "edge_" + re.sub(r"\W", "_", column)


def used(lines: Sequence[str], result: str) -> list[str]:
    """The given lines, except definitions of names that are never used."""
    kept: list[str] = []
    seen = set(re.findall(r"\bt\d+\b", result))
    for line in reversed(lines):
        named = _NAMED.match(line)
        if named is None or named[1] in seen:
            kept.append(line)
            seen.update(re.findall(r"\bt\d+\b", line))
    return kept[::-1]


class CudaDialect(Dialect):
    """The dialect of CUDA C, in which generated functions are static members of a struct."""

    boolean, true, false = "bool", "true", "false"

    def integer(self, value: int, type_: Scalar) -> str:
        name = self.typename(type_)
        if value == -(1 << 63):
            return f"{name}({value + 1}ll - 1)"
        unsigned = "u" if value > 0 and name.startswith("u") else ""
        suffix = f"{unsigned}ll" if abs(value) >= 1 << 32 else unsigned if value >= 1 << 31 else ""
        return f"{name}({value}{suffix})"

    def floating(self, value: float, type_: Scalar) -> str:
        name = self.typename(type_)
        if math.isinf(value) or (name == "f32" and abs(value) >= _HIGHEST_F32):
            bits = "__int_as_float(0x7f800000)" if name == "f32" else "__longlong_as_double(0x7ff0000000000000ll)"
            return bits if value > 0 else f"-{bits}"
        return f"{name}({value!r})"

    def arithmetic(self, sign: str, type_: Type, a: str, b: str) -> str:
        assert isinstance(type_, Scalar)
        if type_ == BOOL:
            return f"{a} {_WORDS[sign]} {b}"
        if type_.floating or sign in "|&^" or self.typename(type_) in ("u32", "u64"):
            return self.convert(type_, f"{a} {sign} {b}")
        wide = self._unsigned(type_)
        return self.convert(type_, f"{wide}({a}) {sign} {wide}({b})")

    def saturated(self, name: str, type_: Type, a: str, b: str) -> str:
        return f"{SATURATED[name]}<{self.typename(type_)}>({a}, {b})"

    def _unsigned(self, type_: Scalar) -> str:
        """Return the unsigned type in which integers of a type are computed; C++ does not promote this type, because it
        is wide enough.
        """
        return "u64" if type_.bits == 64 else "u32"

    def negative(self, type_: Type, a: str) -> str:
        assert isinstance(type_, Scalar)
        if type_.floating:
            return f"-{a}"
        wide = self._unsigned(type_)
        return self.convert(type_, f"{wide}(0) - {wide}({a})")

    def absolute(self, type_: Type, a: str) -> str:
        return f"{self._function('fabs', type_)}({a})"

    def function(self, name: str, type_: Type, *arguments: str) -> str:
        return f"{self._function(MATHS[name].library or name, type_)}({', '.join(arguments)})"

    def _function(self, name: str, type_: Type) -> str:
        return f"{name}f" if self.typename(type_) == "f32" else name

    def power(self, type_: Type, a: str, exponent: Type, b: str) -> str:
        if self.typename(type_) == self.typename(exponent):
            return f"{self._function('pow', type_)}({a}, {b})"
        return f"pow(f64({a}), f64({b}))"

    def select(self, test: str, yes: str, no: str) -> str:
        return f"({test} ? {yes} : {no})"

    def negation(self, a: str) -> str:
        return f"!{a}"

    def both(self, *parts: str) -> str:
        return " && ".join(parts)

    def either(self, *parts: str) -> str:
        return " || ".join(parts)

    def conjunction(self, *parts: str) -> str:
        return " && ".join(parts)

    def disjunction(self, *parts: str) -> str:
        return " || ".join(parts)

    def bits(self, *parts: str) -> str:
        return f"u8({' | '.join(parts)})"

    def flags(self, bits: Sequence[str]) -> str:
        return " | ".join(f"({bit} ? {1 << k}u : 0u)" for k, bit in enumerate(bits)) or "0u"

    def named(self, name: str, text: str) -> str:
        return f"const auto {name} = {text};"

    def assign(self, place: str, text: str) -> str:
        return f"{place} = {text};"

    def variable(self, name: str, type_: Scalar, text: str) -> str:
        return f"{self.typename(type_)} {name} = {text};"

    def intersection(
        self, number: int, lists: tuple[str, str], ends: tuple[str, str], guard: str, body: Sequence[str]
    ) -> list[str]:
        (starts, targets), k = lists, number
        lines = [f"u64 {p}{k} = {starts}[{end}]; const u64 {q}{k} = {starts}[u64({end}) + 1];"
                 for p, q, end in (("i_", "e", ends[0]), ("j", "s", ends[1]))]
        lines += [f"i_{k} = {guard} ? i_{k} : e{k};"] if guard else []
        lines += [f"const int g{k} = longer_list(e{k} - i_{k}, s{k} - j{k});",
                  f"next_common({targets}, i_{k}, e{k}, j{k}, s{k}, g{k});", f"while (i_{k} < e{k}) {{"]
        inside = [f"const u32 w{k} = {targets}[i_{k}];", *used(body, f"w{k}"), f"(void)w{k};", f"i_{k} += 1;",
                  f"j{k} += 1;", f"next_common({targets}, i_{k}, e{k}, j{k}, s{k}, g{k});"]
        return [*lines, *(f"  {line}" for line in inside), "}"]

    def store_scalar(self, dtype: str, slot: int, text: str) -> str:
        return f"store_at<{dtype}>(frame, {slot}, {text});"

    def element(self, pointer: str, index: str, width: int, part: int) -> str:
        return f"{pointer}[{index}]" if width == 1 else f"{pointer}[u64({index}) * {width} + {part}]"

    def registers(self, names: Sequence[str]) -> str:
        return f"Registers{{{{{', '.join(names)}}}}}"

    def product(self, type_: Scalar, matrix: str, rows: int, vector: tuple[str, ...]) -> str:
        kind = f"Vector<{self.typename(type_)}, {len(vector)}>"
        return f"product<{rows}>({matrix}, {kind}{{{{{', '.join(vector)}}}}})"

    def product_row(self, product: str, row: int, rows: int) -> str:
        return f"{product}.a[{row}]"

    def part(self, packed: str, number: int) -> str:
        return f"{packed}.a{number}"

    def pack(self, struct: str, items: Sequence[str]) -> str:
        return f"{struct}{{{', '.join(items)}}}"

    def entry(self, number: int, name: str) -> str:
        return f"env.{name}"

    def column(self, number: int, name: str) -> str:
        return f"columns.{edge_name(name)}"

    def edge_place(self, edge: str, columns: int) -> str:
        return edge  # edges are numbered in the whole adjacency

    # ------------------------------------------------------------------------- functions
    def define(self, function: Function) -> str:
        """Code of a generated function as a static member."""
        body = [*used(function.lines, function.result), *([f"return {function.result};"] if function.result else [])]
        head = f"static __device__ __forceinline__ {function.head or _HEADS[function.name]}"
        return f"{head} {{\n{indented(chr(10).join(body))}}}\n" if body else f"{head} {{}}\n"

    def struct(self, name: str, members: Sequence[str]) -> str:
        """A struct with the given members, each of which is a declaration without semicolon."""
        if not members:
            return f"struct {name} {{}};\n"
        return f"struct {name} {{\n{indented(chr(10).join(f'{one};' for one in members))}}};\n"

    def environment(self, entries: Sequence[Entry]) -> str:
        """The struct Env and the function that fills it from the frame."""
        members = [f"{e.dtype}{'*' if e.kind == 'pointer' else ''} {e.name}" for e in entries]
        values = [f"{_READ[e.kind]}<{e.dtype}>(frame, {e.number})" for e in entries]
        result = "Env{\n" + "".join(f"    {one},\n" for one in values) + "}" if values else "Env{}"
        return self.struct("Env", members) + self.define(Function("bind", (), result))

"""Reductions that need all contributions of a vertex at the same time (rule R): mode, mex, hindex and median.

One worker (on a GPU, a group of lanes) adds the contributions of a vertex one by one to a structure in scratch memory.
The structure is a hash table that counts values, a bitmap, an array of counts by size, or a list. Time and memory are
linear in the number of contributions. In the worst case, a median takes the time of the other reductions multiplied by
the number of bits of a value. The result does not depend on the order of the contributions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vlang.emit.shared.reductions.accumulate import Accumulation
from vlang.emit.shared.reductions.grouped import Grouped
from vlang.emit.shared.values.dialect import Dialect, Function
from vlang.emit.shared.values.formulas import Unwritable, Writer
from vlang.ir.forms import forms as f
from vlang.ir.forms.ranges import Ranges
from vlang.records import dataclass
from vlang.reductions import REDUCTIONS
from vlang.types import BOOL, I32, I64, U32, U64, VERTEX, Scalar

__all__ = ["FIRST_PLACE", "Holistic", "accumulated", "conclude", "prepare", "structures"]

FIRST_PLACE = 3
"""The item of `room` that holds the place of the first structure; `room` is scratch memory (see counting.py)."""

_MOST = (1 << 32) - 1  # no vertex has more edges, so mex and hindex need not distinguish larger values


@dataclass(frozen=True)
class Holistic(Accumulation):
    """How a holistic reduction is accumulated.

    types: for mode, the leading value and its count; for median, a key (see `key_type`); for mex and hindex, the
    result. The components of these types are final only after the last contribution. With a `default`, the last
    component is a bool that is true if there was a contribution.
    """

    @staticmethod
    def whole(reduce: f.Reduce) -> Holistic:
        """The accumulation of a holistic reduction. Raises Unwritable if this version cannot write the reduction."""
        body, result = reduce.body.type, reduce.type
        if not isinstance(body, Scalar) or not isinstance(result, Scalar):
            raise Unwritable(f"`{reduce.name}` of these values")
        types: tuple[Scalar, ...] = (result,)
        if reduce.name in ("mode", "median"):
            types = (key_type(reduce.name, body), U32)[: 2 if reduce.name == "mode" else 1]
        return Holistic(reduce, (*types, *((BOOL,) if reduce.default is not None else ())))

    @property
    def key(self) -> Scalar:
        """The type in which contributions are compared and counted."""
        assert isinstance(self.reduce.body.type, Scalar)
        return key_type(self.reduce.name, self.reduce.body.type)

    @property
    def structure(self) -> str:
        """The kind of structure to fill: "mode32", "mode64", "median32", "median64", "mex" or "hindex"."""
        name = self.reduce.name
        return f"{name}{self.key.bits}" if name in ("mode", "median") else name

    @property
    def width(self) -> int:
        """The number of components that hold the value."""
        return 2 if self.reduce.name == "mode" else 1

    def identity(self, writer: Writer, types: tuple[Scalar, ...] | None = None) -> tuple[str, ...]:
        """The components before any contribution; `mex` starts at the largest value.

        Args:
            types: a contribution's types.
        """
        d = writer.d
        if types is not None:
            return d.constant(0, types[0]), d.false
        first = self.types[0].highest if self.reduce.name == "mex" else 0
        values = (d.constant(first, self.types[0]), *(d.constant(0, t) for t in self.types[1 : self.width]))
        return values if self.reduce.default is None else (*values, d.false)

    def sent(self, writer: Writer, types: tuple[Scalar, ...]) -> tuple[str, ...]:
        """Return the two items of a sent contribution: its value, and a bool that is true if the condition holds."""
        return self.found(writer)

    def merge(self, writer: Writer, a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
        """Merge the components of two parts of one structure."""
        d, name = writer.d, self.reduce.name
        joined: tuple[str, ...]
        if name == "mode":
            tie = d.conjunction(f"{b[1]} == {a[1]}", f"{b[0]} < {a[0]}")
            ahead = writer.name(d.disjunction(f"{b[1]} > {a[1]}", f"({tie})"))
            joined = tuple(writer.name(d.select(ahead, y, x)) for x, y in zip(a[:2], b[:2]))
        else:
            joined = (writer.name(writer.least("min" if name == "mex" else "max", self.types[0], a[0], b[0])),)
        return joined if self.reduce.default is None else (*joined, writer.name(d.either(a[-1], b[-1])))

    def finish(self, writer: Writer, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The value of the reduction; `default` if nothing contributed."""
        d, result = writer.d, self.reduce.type
        assert isinstance(result, Scalar)
        if self.reduce.name == "mode":
            text = f"{parts[0]} != 0" if result == BOOL else d.convert(result, parts[0])
        elif self.reduce.name == "median":
            text = _value_of(writer, result, parts[0])
        elif self.reduce.name == "mex":
            text = d.select(f"{parts[0]} == {d.constant(result.highest, result)}", d.constant(0, result), parts[0])
        else:
            text = parts[0]
        value = writer.name(text)
        if self.reduce.default is None:
            return (value,)
        return (writer.name(d.select(parts[-1], value, writer.value(self.reduce.default))),)

    def found(self, writer: Writer) -> tuple[str, str]:
        """Return the contribution of an edge, converted to the type `key`, and whether the condition of the reduction
        holds.
        """
        d, body = writer.d, self.reduce.body
        value = writer.value(body)
        assert isinstance(body.type, Scalar)
        holds = d.true if self.reduce.cond is None else writer.value(self.reduce.cond)
        if self.reduce.name == "median":
            return writer.name(_key_of(d, body.type, value)), holds
        if self.reduce.name != "mode":
            return writer.name(_size(d, body.type, value, self.reduce.name)), holds
        if body.type == BOOL:
            return writer.name(d.select(value, d.constant(1, U32), d.constant(0, U32))), holds
        return writer.name(d.convert(self.key, value)), holds

    def take_into(self, writer: Writer, place: str, before: tuple[str, ...]) -> tuple[str, ...]:
        """The components after one more contribution has been added to the structure at `place`."""
        d = writer.d
        key, holds = self.found(writer)
        call = f"{self.structure}_take(room, {place}, {', '.join([holds, key, *before[: self.width]])})"
        if self.reduce.name == "mode":
            pair = writer.name(call)
            after = tuple(writer.name(f"{pair}[{i}]") for i in range(2))
        else:
            after = (writer.name(call),)
        return after if self.reduce.default is None else (*after, writer.name(d.either(before[-1], holds)))


def accumulated(reduce: f.Reduce, declared: Mapping[str, f.UserReduction], ranges: Ranges) -> Accumulation:
    """How a reduction over edges is accumulated. Raises Unwritable.

    Args:
        declared: the program's reductions, by name.
    """
    if reduce.group is not None:
        return Grouped.by_key(reduce, declared, ranges)
    rule = None if reduce.user else REDUCTIONS.get(reduce.name)
    return Holistic.whole(reduce) if rule is not None and rule.holistic else Accumulation.of(reduce, declared, ranges)


def key_type(name: str, type_: Scalar) -> Scalar:
    """The type, of 32 or 64 bits, in which contributions of a type are counted.

    For `median`, this is the unsigned type of keys that have the order of the values.
    """
    if name == "median":
        return U64 if type_.bits == 64 else U32
    if name != "mode" or type_ in (BOOL, VERTEX):
        return U32
    if type_.bits == 64:
        return U64 if type_.kind == "uint" else I64
    return U32 if type_.kind == "uint" else I32


def _key_of(d: Dialect, type_: Scalar, value: str) -> str:
    """Code that converts a value to its key, for a median."""
    wide = key_type("median", type_)
    if type_.floating:
        return f"float_key_{wide.bits}({value})"
    if type_.kind == "uint":
        return d.convert(wide, value)
    return d.arithmetic("^", wide, d.convert(wide, value), d.constant(1 << (wide.bits - 1), wide))


def _value_of(writer: Writer, type_: Scalar, key: str) -> str:
    """Code that converts the key of a median back to a value."""
    d, wide = writer.d, key_type("median", type_)
    if type_.floating:
        return f"key_float_{wide.bits}({key})"
    if type_.kind == "uint":
        return d.convert(type_, key)
    plain = writer.name(d.arithmetic("^", wide, key, d.constant(1 << (wide.bits - 1), wide)))
    return d.convert(type_, d.convert(I64 if wide == U64 else I32, plain))


def _size(d: Dialect, type_: Scalar, value: str, name: str) -> str:
    """Code that converts an integer to u32; a larger value becomes the largest u32.

    A negative value must not change the result. Therefore a negative value becomes 0 for `hindex`, and the largest u32
    for `mex`.
    """
    high = d.constant(_MOST, U32)
    text = d.convert(U32, value)
    if type_.bits == 64:
        text = d.select(f"{value} > {d.constant(_MOST, type_)}", high, text)
        text = text if type_.kind == "uint" else f"({text})"
    if type_.kind == "uint":
        return text
    return d.select(f"{value} < 0", d.constant(0, U32) if name == "hindex" else high, text)


def structures(accumulations: Sequence[Accumulation]) -> tuple[str, ...]:
    """The structures that a stage fills for each vertex, in order."""
    return tuple(a.structure for a in accumulations if isinstance(a, (Holistic, Grouped)))


def prepare(accumulations: Sequence[Accumulation], opened: Callable[[Grouped, int, str], list[str]]) -> Function:
    """Return the function `prepare`, which clears the structures for a vertex with `degree` edges. The structures begin
    at word `base` of `space`.

    The memory of a worker begins at this word. The first words of this memory hold the offset of the direct table of
    each structure.

    Args:
        opened: the lines that clear the table of a grouped gather.
    """
    tables = [a for a in accumulations if isinstance(a, (Holistic, Grouped))]
    lines, places, at = ["bits = table_bits(degree)", f"start = base + {len(tables)}"], [], "start"
    for number, one in enumerate(tables):
        places.append(at)
        lines += opened(one, number, at) if isinstance(one, Grouped) else \
            [f"at{number} = {one.structure}_clear(space, {at}, degree, bits)"]
        at = f"at{number}"
    ways = [f"first{i}, way{i}, direct{i}" for i, one in enumerate(tables) if isinstance(one, Grouped)]
    return Function("prepare", tuple(lines), f"(space, degree, bits, {', '.join([*places, *ways])})")


def conclude(d: Dialect, accumulations: Sequence[Accumulation]) -> Function:
    """Return the function `conclude`, which reads the accumulators from the structures (numba only)."""
    items, lines, at, number = [], list[str](), 0, 0
    for a in accumulations:
        parts = [d.part("acc", at + i) for i in range(len(a.types))]
        at += len(a.types)
        if isinstance(a, Grouped):
            lines.append(f"c{number} = close{number}(env, room, room[{FIRST_PLACE + number}], acc, held, v)")
            parts = [f"c{number}[{i}]" for i in range(len(a.types))]
            number += 1
        if isinstance(a, Holistic):
            if a.reduce.name != "mode":
                parts[0] = d.convert(a.types[0], f"{a.structure}_read(room, room[{FIRST_PLACE + number}])")
            number += 1
        items.extend(parts)
    return Function("conclude", tuple(lines), d.pack("Acc", items))

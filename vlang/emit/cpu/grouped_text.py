"""The code of grouped gathers on a CPU. Each edge is added to the entry of its key, and the groups are reduced at the
end of a row.

The group of the last edge is kept in registers (`held`), because neighbours often have the same key. An edge with
another key stores the accumulators of the held group, and loads the accumulators of its own group.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlang.emit.cpu.numba_dialect import NumbaDialect
from vlang.emit.shared.reductions.accumulate import Accumulation
from vlang.emit.shared.reductions.grouped import Grouped
from vlang.emit.shared.reductions.holistic import FIRST_PLACE, Holistic
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Function, stored_as
from vlang.emit.shared.values.formulas import Writer
from vlang.ir.forms import forms as f
from vlang.records import dataclass
from vlang.types import VERTEX

__all__ = ["GroupTable", "group_tables", "hold", "opened", "segment"]


@dataclass(frozen=True)
class GroupTable:
    """The table of a grouped gather, and the places of its values in functions.

    Attributes:
        grouped: the grouped gather.
        number: the number of the table among the structures of the stage.
        room: the number of the item of `room` that holds the offset of the entries. The way and the direct table
            follow.
        held: the number of the item of `held` that holds the number of groups. The key, the offset and the accumulators
            of the group of the last edge follow.
        first: the number of the first component of the gather among all accumulators of the stage.
    """

    grouped: Grouped
    number: int
    room: int
    held: int
    first: int

    @property
    def place(self) -> str:
        """The offset of the table, as code."""
        return f"room[{FIRST_PLACE + self.number}]"

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the accumulators for the group of the last edge, in functions that change these accumulators."""
        return tuple(f"part{self.number}_{i}" for i in range(len(self.grouped.components)))

    def loaded(self, d: NumbaDialect, at: str, first: int) -> tuple[str, ...]:
        """Return code that loads accumulators, of which the first one is in word `at` + `first`."""
        return tuple(d.load(t, f"value_{stored_as(t)}(space, {at} + {first + i})")
                     for i, t in enumerate(self.grouped.components))

    def unpacked(self) -> list[str]:
        """Lines that give names to the items of `held`."""
        names = (f"count{self.number}", f"key{self.number}", f"at{self.number}", *self.parts)
        return [f"{name} = held[{self.held + i}]" for i, name in enumerate(names)]

    def packed(self, parts: Sequence[str]) -> list[str]:
        """Return the items of `held` with `parts` as the accumulators."""
        return [f"count{self.number}", f"key{self.number}", f"at{self.number}", *parts]

    def stored(self, d: NumbaDialect, at: str, first: int, names: tuple[str, ...]) -> list[str]:
        """Lines that store accumulators.

        Args:
            d: the dialect.
            at: an offset, as code.
            first: the number of words from `at` to the first accumulator.
            names: the values of the accumulators.
        """
        return [f"store_{stored_as(t)}(space, {at} + {first + i}, {d.store(t, name)})"
                for i, (t, name) in enumerate(zip(self.grouped.components, names))]

    def identity(self, writer: Writer) -> tuple[str, ...]:
        """The accumulators of a group without edges."""
        return tuple(text for one in self.grouped.inside for text in one.identity(writer))

    def flushed(self, d: NumbaDialect) -> list[str]:
        """Lines that store the accumulators of the group of the last edge."""
        return [*self.unpacked(), *self.stored(d, f"at{self.number}", 1, self.parts)]

    def take(self, edge: Writer, d: NumbaDialect) -> list[str]:
        """Write into `edge` the lines that add an edge to the table if the edge satisfies the condition; return the new
        items of `held`.

        An edge without a group changes entry 0, which belongs to no group.
        """
        n, room, grouped = self.number, self.room, self.grouped
        holds, word = grouped.edge(edge)
        identity = self.identity(edge)
        edge.lines += [
            *self.unpacked(),
            f"if not ({holds} and {word} == key{n} and at{n} != room[{room}]):",
            "    space = room[0]",
            *(f"    {line}" for line in self.stored(d, f"at{n}", 1, self.parts)),
            f"    at{n}, fresh{n} = room[{room}], True",
            f"    if {holds}:",
            f"        at{n}, fresh{n} = group_of(space, {self.place}, room[{room}], room[{room + 1}], room[{room + 2}],"
            f" count{n}, {word}, {grouped.words}, {grouped.key.bits > 32})",
            f"        key{n} = {word}",
            f"        count{n} += i64(1) if fresh{n} else i64(0)",
            *(f"    {part} = {d.select(f'fresh{n}', one, f'({text})')}"
              for part, one, text in zip(self.parts, identity, self.loaded(d, f"at{n}", 1)))]
        after = [name for one, parts in grouped.parts(self.parts) for name in one.take(edge, parts)]
        return self.packed(after)

    def merged(self, writer: Writer, d: NumbaDialect, at: str, back: str) -> tuple[str, ...]:
        """Return the accumulators of a group, merged from the accumulators of earlier segments and of the last segment.

        Args:
            writer: receives the lines.
            d: the dialect.
            at: the offset of the entry of the group, as code.
            back: the offset of the accumulators of earlier segments, as code.
        """
        earlier = tuple(map(writer.name, self.loaded(d, back, 0)))
        last = tuple(map(writer.name, self.loaded(d, at, 1)))
        pairs = zip(self.grouped.parts(earlier), self.grouped.parts(last))
        return tuple(name for (one, a), (_, b) in pairs for name in one.merge(writer, a, b))

    def parted(self, writer: StageWriter, d: NumbaDialect) -> list[str]:
        """Return lines that begin segment `number` of a long row: they save the accumulators of all groups, merged with
        the accumulators of earlier segments.
        """
        n, grouped = self.number, self.grouped
        if not grouped.segmented:
            return self.unpacked()
        inner = writer.writer(writer.scope())
        merged, identity = self.merged(inner, d, "at", "back"), self.identity(inner)
        found = [f"{part} = {name}" for part, name in zip(self.parts, merged)]
        return [*self.flushed(d), f"place, seen = {self.place}, i64(space[{self.place} + GROUPS_SEEN])",
                "if number > 0:", f"    for i in range(1, count{n} + 1):",
                f"        at = room[{self.room}] + i * {grouped.words}",
                f"        back = i64(space[place + GROUPS_EARLIER]) + i * {grouped.kept}",
                *(f"        {part} = {text}" for part, text in zip(self.parts, self.loaded(d, "at", 1))),
                "        if i <= seen:", *(f"            {line}" for line in (*inner.lines, *found)),
                *(f"        {line}" for line in self.stored(d, "back", 0, self.parts)),
                *(f"        {line}" for line in self.stored(d, "at", 1, identity)),
                f"    space[place + GROUPS_SEEN] = u64(count{n})", f"    at{n} = room[{self.room}]",
                *(f"{part} = {text}" for part, text in zip(self.parts, identity))]

    def closed(self, writer: StageWriter, d: NumbaDialect) -> Function:
        """The function that reduces over the groups of a vertex."""
        grouped = self.grouped
        scope = writer.scope()
        scope.at_edge = True  # no operation here can be reported for the vertex
        inner = writer.writer(scope)
        inner.lines += [f"{part} = {text}" for part, text in zip(self.parts, self.loaded(d, "at", 1))]
        if grouped.segmented:
            merging = inner.elsewhere(inner.place)
            merging.lines = []
            found = [f"{part} = {name}" for part, name in zip(self.parts, self.merged(merging, d, "at", "back"))]
            inner.lines += ["if number <= seen:", *(f"    {line}" for line in (*merging.lines, *found))]
        assert grouped.whole.group is not None
        scope.values[f.GroupKey(grouped.key, grouped.whole.group)] = (inner.name(grouped.of_word(d, "word")),)
        for one, parts in grouped.parts(self.parts):
            scope.values[one.reduce] = tuple(map(inner.name, one.finish(inner, parts)))
        size = len(grouped.types)
        before = tuple(f"a{i}" for i in range(size))
        after = grouped.take(inner, before)
        inner.lines += [f"b{i} = {name}" for i, name in enumerate(after)] + [f"a{i} = b{i}" for i in range(size)]
        lines = ["space = room[0]", *self.flushed(d), f"count, first = count{self.number}, room[{self.room}]"]
        where = "i + 1"
        if grouped.segmented:
            lines += ["seen = i64(space[place + GROUPS_SEEN])", "earlier = i64(space[place + GROUPS_EARLIER])"]
        if grouped.ordered:
            lines += ["space[place + GROUPS_COUNT] = u64(count)", f"sort_groups(space, place, first, {grouped.words})"]
            where = "i64(space[i64(space[place + GROUPS_SLOTS]) + i])"
        lines += [f"a{i} = {d.part('acc', self.first + i)}" for i in range(size)]
        lines += ["for i in range(count):", f"    number = {where}", f"    at = first + number * {grouped.words}",
                  "    word = space[at]"]
        if grouped.segmented:
            lines.append(f"    back = earlier + number * {grouped.kept}")
        lines += [f"    {line}" for line in inner.lines]
        return Function(f"close{self.number}", tuple(lines), d.pack("Acc", before))


def group_tables(accumulations: Sequence[Accumulation]) -> list[GroupTable]:
    """The tables of the grouped gathers of a stage, in order."""
    found = list[GroupTable]()
    number = sum(isinstance(a, (Holistic, Grouped)) for a in accumulations)
    room, held, first, at = FIRST_PLACE + number, 0, 0, 0
    for one in accumulations:
        if isinstance(one, Grouped):
            found.append(GroupTable(one, at, room, held, first))
            room, held = room + 3, held + 3 + len(one.components)
        at += isinstance(one, (Holistic, Grouped))
        first += len(one.types)
    return found


def hold(writer: StageWriter, d: NumbaDialect) -> Function:
    """Return the function `hold`, which returns the state before the first edge of a vertex."""
    inner = writer.writer(writer.scope())
    items = list[str]()
    for table in group_tables(writer.accumulations):
        items += ["i64(0)", "u64(0)", f"room[{table.room}]", *table.identity(inner)]
    return Function("hold", tuple(inner.lines), d.pack("", items))


def segment(writer: StageWriter, d: NumbaDialect) -> Function:
    """The function `segment`, which begins a segment of a long row."""
    tables = group_tables(writer.accumulations)
    lines = [line for table in tables for line in table.parted(writer, d)]
    items = [item for table in tables for item in table.packed(table.parts)]
    return Function("segment", ("space = room[0]", *lines), d.pack("", items))


def opened(grouped: Grouped, number: int, at: str) -> list[str]:
    """Return the lines that clear table number `number` for a vertex; the table begins at word `at`."""
    most = f"min(degree, i64({grouped.keys}))" if grouped.keys else "degree"
    direct = f"i64(space[base + {number}])" if grouped.key == VERTEX else "i64(0)"
    call = f"groups_clear(space, direct{number}, {at}, {most}, {grouped.words}, {grouped.kept})"
    return [f"direct{number} = {direct}", f"at{number}, first{number}, way{number} = {call}"]

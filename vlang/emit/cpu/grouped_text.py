"""The code of grouped gathers on a CPU: it adds each edge to the entry of its key, and reduces at the end of a row."""

from __future__ import annotations

from vlang.emit.cpu.numba_dialect import NumbaDialect
from vlang.emit.shared.reductions.grouped import Grouped
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Function, stored_as
from vlang.emit.shared.values.formulas import Writer
from vlang.ir.forms import forms as f
from vlang.types import Scalar

__all__ = ["closed", "opened", "taken"]


def _loaded(d: NumbaDialect, types: tuple[Scalar, ...], at: str, first: int) -> tuple[str, ...]:
    """Code that loads accumulators, which are stored from word `at` + `first` on."""
    return tuple(d.load(t, f"value_{stored_as(t)}(space, {at} + {first + i})") for i, t in enumerate(types))


def _stored(d: NumbaDialect, types: tuple[Scalar, ...], at: str, first: int, names: tuple[str, ...]) -> list[str]:
    """Lines that store accumulators from word `at` + `first` on."""
    return [f"store_{stored_as(t)}(space, {at} + {first + i}, {d.store(t, name)})"
            for i, (t, name) in enumerate(zip(types, names))]


def taken(edge: Writer, d: NumbaDialect, grouped: Grouped, place: str) -> None:
    """Write into `edge` the lines that add an edge to the table at `place` if the edge satisfies the condition.

    An edge without a group changes entry 0, which belongs to no group.

    Args:
        edge: the writer of the function that is called for every edge.
        d: the dialect.
        grouped: the grouped gather.
        place: the offset of this gather's table, as code.
    """
    types = grouped.components
    holds, word = grouped.edge(edge)
    found = edge.name(f"group_of(room, {place}, {holds}, {word}, {grouped.words})")
    at, fresh = edge.name(f"{found}[0]"), edge.name(f"{found}[1]")
    edge.lines += ["space = room[0]", *([f"segment_ = space[{place} + 2]"] if grouped.segmented else [])]
    identity = tuple(text for one in grouped.inside for text in one.identity(edge))
    if grouped.segmented:  # a second set of accumulators has the segments before this one
        size = len(types)
        edge.lines += [f"if {fresh}:", f"    store_u64(space, {at} + {1 + size}, segment_)"]
        edge.lines += [f"    {line}" for line in _stored(d, types, at, 2 + size, identity)]
        edge.lines.append(f"elif value_u64(space, {at} + {1 + size}) != segment_:")
        inner = edge.elsewhere(edge.place)
        inner.lines = []
        names = _merged(inner, d, grouped, at)
        edge.lines += [f"    {line}" for line in (*inner.lines, *_stored(d, types, at, 2 + size, names))]
        edge.lines += [f"    store_u64(space, {at} + {1 + size}, segment_)", f"    {fresh} = True"]
    before = tuple(edge.name(d.select(fresh, first, f"({text})"))
                   for first, text in zip(identity, _loaded(d, types, at, 1)))
    after = [name for one, parts in grouped.parts(before) for name in one.take(edge, parts)]
    edge.lines += _stored(d, types, at, 1, tuple(after))


def _merged(writer: Writer, d: NumbaDialect, grouped: Grouped, at: str) -> tuple[str, ...]:
    """Code of the accumulators of a group, merged over all segments including the last one."""
    types = grouped.components
    last = tuple(map(writer.name, _loaded(d, types, at, 1)))
    if not grouped.segmented:
        return last
    earlier = tuple(map(writer.name, _loaded(d, types, at, 2 + len(types))))
    pairs = zip(grouped.parts(earlier), grouped.parts(last))
    return tuple(name for (one, a), (_, b) in pairs for name in one.merge(writer, a, b))


def opened(grouped: Grouped, number: int, at: str) -> str:
    """Return the line that clears table number `number`, which begins at word `at`, for a vertex."""
    _, words, keys, _ = grouped.structure.split(":")
    most = f"min(degree, i64({keys}))" if keys != "0" else "degree"
    return f"at{number} = groups_clear(space, {at}, {most}, {words})"


def closed(writer: StageWriter, d: NumbaDialect, grouped: Grouped, number: int, first: int) -> Function:
    """The function that reduces over the groups of a vertex.

    Args:
        writer: the writer of the stage.
        d: the dialect.
        grouped: the grouped gather.
        number: the number of the gather among the grouped gathers of the stage.
        first: the number of the first component of the gather among all accumulators of the stage.
    """
    scope = writer.scope()
    scope.at_edge = True  # no operation here can be reported for the vertex
    inner = writer.writer(scope)
    at, word = "at", "word"
    names = _merged(inner, d, grouped, at)
    assert grouped.whole.group is not None
    scope.values[f.GroupKey(grouped.key, grouped.whole.group)] = (inner.name(grouped.of_word(d, word)),)
    for one, parts in grouped.parts(names):
        scope.values[one.reduce] = tuple(map(inner.name, one.finish(inner, parts)))
    size = len(grouped.types)
    before = tuple(f"a{i}" for i in range(size))
    after = grouped.take(inner, before)
    inner.lines += [f"b{i} = {name}" for i, name in enumerate(after)] + [f"a{i} = b{i}" for i in range(size)]
    lines = ["space = room[0]", "count = i64(space[place])"]
    if grouped.ordered:
        lines.append(f"sort_groups(space, place, {grouped.words})")
    lines += [f"a{i} = {d.part('acc', first + i)}" for i in range(size)]
    lines.append("for i in range(count):")
    where = "i64(space[place + 3 + i])" if grouped.ordered else "i + 1"
    lines += [f"    at = group_at(space, place, {where}, {grouped.words})", "    word = space[at]"]
    lines += [f"    {line}" for line in inner.lines]
    return Function(f"close{number}", tuple(lines), d.pack("Acc", before))

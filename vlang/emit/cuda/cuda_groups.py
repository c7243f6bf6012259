"""The code of grouped gathers on a GPU (groups.cuh): an entry for each edge, and the reduction over the groups."""

from __future__ import annotations

from vlang.emit.cuda.cuda_dialect import CudaDialect, used
from vlang.emit.shared.reductions.grouped import Grouped
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.formulas import Writer
from vlang.ir.forms import forms as f
from vlang.types import BOOL, U64, Scalar

__all__ = ["closed", "filed", "joined", "nothing", "sent", "travelling"]


def travelling(grouped: Grouped) -> tuple[Scalar, ...]:
    """Return the types of the items of an edge: the key as a word, whether the edge is in a group, and the
    contributions.
    """
    return (U64, BOOL, *grouped.components)


def sent(grouped: Grouped, edge: Writer) -> tuple[str, ...]:
    """Code of the items of an edge."""
    holds, word = grouped.edge(edge)
    return (word, holds, *(text for one in grouped.inside for text in one.sent(edge, one.types)))


def nothing(grouped: Grouped, empty: Writer) -> tuple[str, ...]:
    """Code of the items of an edge that is in no group."""
    d = empty.d
    return (d.constant(0, U64), d.false, *(text for one in grouped.inside for text in one.identity(empty)))


def _size(grouped: Grouped) -> int:
    """The number of 64-bit words of an entry."""
    return 1 + len(grouped.components)


def _loaded(d: CudaDialect, grouped: Grouped, at: str) -> tuple[str, ...]:
    """Code of the accumulators of an entry."""
    return tuple(f"WordAs<{d.typename(t)}>::of({at}[{1 + i}])" for i, t in enumerate(grouped.components))


def filed(grouped: Grouped, place: str, at: int) -> list[str]:
    """Return lines that write the entry of an edge; item number `at` of `item` is the first item of the edge."""
    name = f"groups{place[5:]}"
    lines = [f"const Groups<{_size(grouped)}> {name}({place}, scratch.degree);",
             f"{name}.list[place] = item.a{at + 1} ? place : u32(NO_ENTRY);",
             f"{name}.entry(place)[0] = item.a{at};"]
    return [*lines, *(f"put_word({name}.entry(place) + {1 + i}, item.a{at + 2 + i});"
                      for i in range(len(grouped.components)))]


def joined(writer: StageWriter, d: CudaDialect, grouped: Grouped, place: str) -> list[str]:
    """Lines that join the entries of each key.

    Args:
        writer: the writer of the stage.
        d: the dialect.
        grouped: the grouped gather.
        place: the name of the gather's structure in scratch memory.
    """
    inner = writer.writer(writer.scope())
    a, b = (tuple(map(inner.name, _loaded(d, grouped, at))) for at in ("a", "b"))
    pairs = zip(grouped.parts(a), grouped.parts(b))
    after = [name for (one, left), (_, right) in pairs for name in one.merge(inner, left, right)]
    stored = [f"put_word(a + {1 + i}, {d.typename(t)}({name}));" for i, (t, name) in
              enumerate(zip(grouped.components, after))]
    body = [*used(inner.lines, " ".join(stored)), *stored]
    head = f"join_groups<{_size(grouped)}>(group, {place}, scratch.degree, first, count, "
    return [head + "[&](u64* a, const u64* b) {",
            *(f"  {line}" for line in body), "  (void)a, (void)b;", "});"]


def closed(writer: StageWriter, d: CudaDialect, grouped: Grouped, place: str) -> tuple[list[str], list[str]]:
    """Lines that reduce over the groups of this thread, and the names of the components of the result.

    Args:
        writer: the writer of the stage.
        d: the dialect.
        grouped: the grouped gather.
        place: the name of the gather's structure in scratch memory.
    """
    scope = writer.scope()
    scope.at_edge = True  # no operation here can be reported for the vertex
    inner = writer.writer(scope)
    names = tuple(map(inner.name, _loaded(d, grouped, "at")))
    assert grouped.whole.group is not None
    scope.values[f.GroupKey(grouped.key, grouped.whole.group)] = (inner.name(grouped.of_word(d, "at[0]")),)
    for one, parts in grouped.parts(names):
        scope.values[one.reduce] = tuple(map(inner.name, one.finish(inner, parts)))
    results = [f"over{place[5:]}_{i}" for i in range(len(grouped.types))]
    after = grouped.take(inner, tuple(results))
    assigned = [f"{d.typename(t)} now_{name} = {value};" for t, name, value in zip(grouped.types, results, after)]
    assigned += [f"{name} = now_{name};" for name in results]
    empty = writer.writer(writer.scope())
    start = grouped.identity(empty)
    opened = [f"{d.typename(t)} {name};" for t, name in zip(grouped.types, results)]
    starts = (f"{name} = {text};" for name, text in zip(results, start))
    opened += ["{", *(f"  {line}" for line in (*empty.lines, *starts)), "}"]
    head = [f"const Groups<{_size(grouped)}> groups({place}, scratch.degree);",
            "for (u64 i = group.rank(); scratch.live && i < scratch.degree && groups.list[i] != NO_ENTRY; "
            "i += group.size()) {",
            "  const u64* at = groups.entry(groups.list[i]);", "  (void)at;"]
    body = [*used(inner.lines, " ".join(assigned)), *assigned]
    return [*opened, "{", *(f"  {line}" for line in head), *(f"    {line}" for line in body), "  }", "}"], results

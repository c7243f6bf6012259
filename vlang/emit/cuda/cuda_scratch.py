"""Members of a struct for gathers that need all contributions of a vertex at the same time (see scratch.cuh)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vlang.emit.cuda.cuda_dialect import CudaDialect
from vlang.emit.cuda.cuda_groups import closed, filed, joined
from vlang.emit.shared.reductions.accumulate import Accumulation
from vlang.emit.shared.reductions.grouped import Grouped
from vlang.emit.shared.reductions.holistic import Holistic
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Function
from vlang.emit.shared.values.formulas import Writer
from vlang.types import Scalar

__all__ = ["lifted", "scratch_members"]

_WORDS = {"mode32": "table_words<u32>", "mode64": "table_words<u64>",
          "median32": "list_words<u32>", "median64": "list_words<u64>", "mex": "bitmap_words", "hindex": "sizes_words"}
_PUT = {"mode32": "table_put<u32>", "mode64": "table_put<u64>",
        "median32": "list_put<u32>", "median64": "list_put<u64>", "mex": "bitmap_put", "hindex": "sizes_put"}


def lifted(
    empty: Writer, d: CudaDialect, accumulation: Accumulation, items: Sequence[Scalar], at: int
) -> list[str]:
    """The accumulator's components after one contribution.

    If a contribution is stored in scratch memory, the accumulator only records that there was a contribution.

    Args:
        empty: the writer of the components of an empty accumulator.
        d: the dialect.
        accumulation: the accumulation of the gather.
        items: the types of the items, which are the components of a contribution.
        at: the number of the first item.
    """
    if isinstance(accumulation, Grouped):
        return list(accumulation.identity(empty))
    if isinstance(accumulation, Holistic):
        flag = [d.part("item", at + 1)] if accumulation.reduce.default is not None else []
        return [*accumulation.identity(empty)[: accumulation.width], *flag]
    return [d.part("item", at + i) if a == b else d.convert(b, d.part("item", at + i))
            for i, (a, b) in enumerate(zip(items, accumulation.types))]


def scratch_members(writer: StageWriter, d: CudaDialect, widths: Sequence[int]) -> str:
    """The functions of scratch memory; "" if the stage needs no scratch memory.

    Args:
        widths: items per accumulation.
    """
    if not writer.structures:
        return ""
    total = " + ".join(f"{_words(one)}(degree)" for one in writer.accumulations if isinstance(one, (Holistic, Grouped)))
    counts = any(isinstance(one, Holistic) for one in writer.accumulations)
    return "".join([
        f"static constexpr bool COUNTS = {d.true if counts else d.false};\n",
        d.define(Function("scratch_words", (), total)),
        d.define(Function("file", _file(writer.accumulations, widths), "")),
        "template <class Group>\n" + d.define(Function("combine", _combine(writer, d), "")),
        "template <class Group>\n" + d.define(_conclude(writer, d)),
    ])


def _words(accumulation: Holistic | Grouped) -> str:
    """Return the name of the function that computes the number of words of a structure."""
    if isinstance(accumulation, Grouped):
        return f"group_words<{1 + len(accumulation.components)}>"
    return _WORDS[accumulation.structure]


def _places(accumulations: Sequence[Accumulation]) -> Iterator[tuple[Accumulation, str, list[str]]]:
    """Return each accumulation, the name of its structure in scratch memory ("" for none), and the line that defines
    the name.
    """
    number, before = 0, "scratch.at"
    for accumulation in accumulations:
        if not isinstance(accumulation, (Holistic, Grouped)):
            yield accumulation, "", []
            continue
        place = f"place{number}"
        yield accumulation, place, [f"u32* {place} = {before};"]
        before = f"{place} + {_words(accumulation)}(scratch.degree)"
        number += 1


def _file(accumulations: Sequence[Accumulation], widths: Sequence[int]) -> tuple[str, ...]:
    lines, at = [], 0
    for (accumulation, place, line), width in zip(_places(accumulations), widths):
        if isinstance(accumulation, Holistic):
            lines += line
            call = f"{_PUT[accumulation.structure]}({place}, scratch.degree, {_key(accumulation, at)});"
            lines.append(f"if (item.a{at + 1}) {call}")
        elif isinstance(accumulation, Grouped):
            lines += [*line, *filed(accumulation, place, at)]
        at += width
    return tuple(lines)


def _combine(writer: StageWriter, d: CudaDialect) -> tuple[str, ...]:
    """Return the lines that join the entries of each group of edges in a row or in a part of a row."""
    lines: list[str] = []
    before: list[str] = []
    for accumulation, place, line in _places(writer.accumulations):
        before += line
        if isinstance(accumulation, Grouped):
            lines += [*before, *joined(writer, d, accumulation, place)]
            before = []
    return tuple(lines)


def _key(accumulation: Holistic, at: int) -> str:
    return f"u{accumulation.key.bits}(item.a{at})"


def _conclude(writer: StageWriter, d: CudaDialect) -> Function:
    empty = writer.writer(writer.scope())
    lines: list[str] = []
    items: list[str] = []
    for accumulation, place, line in _places(writer.accumulations):
        lines += line
        if isinstance(accumulation, Grouped):
            more, names = closed(writer, d, accumulation, place)
            lines += more
            items += names
            continue
        nothing = accumulation.identity(empty)
        if not isinstance(accumulation, Holistic):
            items += nothing
            continue
        type_ = d.typename(accumulation.types[0])
        if accumulation.reduce.name == "mode":
            name = f"ahead{place[5:]}"
            lines.append(f"const Ahead<{type_}> {name} = "
                         f"table_read<u{accumulation.key.bits}, {type_}>(group, {place}, scratch);")
            items += [f"{name}.value", f"{name}.count"]
        elif accumulation.reduce.name == "median":
            items.append(f"list_read<{type_}>(group, {place}, scratch)")
        elif accumulation.reduce.name == "mex":
            items.append(f"bitmap_read<{type_}>(group, {place}, scratch, {nothing[0]})")
        else:
            items.append(f"{type_}(sizes_read(group, {place}, scratch))")
        items += [d.false] if accumulation.reduce.default is not None else []
    return Function("conclude", (*empty.lines, *lines), d.pack("Acc", items))

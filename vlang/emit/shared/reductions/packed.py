"""Packed accumulators, in which several reductions are side by side: the parts of an accumulator, the merge of two
accumulators, and arrays that store accumulators.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlang.emit.shared.reductions.accumulate import Accumulation
from vlang.emit.shared.values.dialect import Dialect, Function, Run, stored_as
from vlang.emit.shared.values.formulas import Writer
from vlang.emit.shared.values.frame import Environment
from vlang.emit.shared.values.wide import Part, loaded, spans, whole
from vlang.types import Scalar

__all__ = ["merged", "parts_of", "put_and_get", "stores"]


def parts_of(d: Dialect, accumulations: list[Accumulation], name: str) -> list[tuple[Accumulation, tuple[str, ...]]]:
    """Return each accumulation, together with the code of its components in the packed accumulator `name`."""
    result, at = [], 0
    size = sum(len(accumulation.types) for accumulation in accumulations)
    for accumulation in accumulations:
        width = len(accumulation.types)
        wide = d.wides and spans(accumulation.types[: accumulation.width])
        result.append((accumulation, tuple(Part(name, i, size) if wide else d.part(name, i)
                                           for i in range(at, at + width))))
        at += width
    return result


def stores(d: Dialect, places: Sequence[str], types: Sequence[Scalar], names: Sequence[str]) -> list[str]:
    """The lines that store components in array elements.

    Args:
        d: The dialect.
        places: The code of each element.
        types: The types of the components.
        names: The components.
    """
    at = loaded(places) if d.wides and spans(types) else None
    if at is not None:
        return [f"wide_store({at[0]}, {at[1]}, {whole(names)}, {len(names)})"]
    return [d.assign(place, d.store(t, name)) for place, t, name in zip(places, types, names)]


def merged(writer: Writer, accumulations: list[Accumulation]) -> Function:
    """Return the function `merge`, which joins two accumulators. The contributions of `a` precede the contributions of
    `b`.
    """
    pairs = zip(parts_of(writer.d, accumulations, "a"), parts_of(writer.d, accumulations, "b"))
    names = [name for (a, left), (_, right) in pairs for name in a.merge(writer, left, right)]
    return Function("merge", tuple(writer.lines), writer.d.pack("Acc", names))


def put_and_get(
    env: Environment, accumulations: list[Accumulation], slot: str, length: str, put: str, get: str
) -> list[Function]:
    """The functions that store and load an accumulator, with one array `slot`.0, .1, ... for each run of components.

    Args:
        env: The environment of the functions.
        accumulations: The accumulations, side by side in the accumulator.
        slot: The first part of the names of the arrays.
        length: The kind of object to which each entry of the arrays belongs, such as "vertices".
        put: The name of the function that stores.
        get: The name of the function that loads.
    """
    d = env.dialect
    size = sum(len(a.types) for a in accumulations)
    lines: list[str] = []
    items: list[str] = []
    for number, run in enumerate(_side_by_side(accumulations)):
        env.frame.array(f"{slot}.{number}", stored_as(run.type), length, run.width)
        pointer = env.pointer(f"{slot}.{number}", stored_as(run.type))
        places = [d.element(pointer, "s", run.width, part) for part in range(run.width)]
        at, types = len(items), (run.type,) * run.width
        wide = d.wides and spans(types)
        names = [Part("acc", at + i, size) if wide else d.part("acc", at + i) for i in range(run.width)]
        lines += stores(d, places, types, names)
        items += [d.load(run.type, place) for place in places]
    return [Function(put, tuple(lines), ""), Function(get, (), d.pack("Acc", items))]


def _side_by_side(accumulations: list[Accumulation]) -> list[Run]:
    return [run for accumulation in accumulations for run in accumulation.runs]

"""Binds categories and times: makes one list of category names for a run, and replaces each name by its position in the
list.

The list contains the names in all columns and arguments of type `category`, and every name that the program stores or
orders. The list is sorted by code point, and a category is stored as the position of its name. A name that the program
only compares by `==` and `!=` may be missing in the list. Then no value equals the name, and the run gives a warning.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import BindError, GraphError
from vlang.ir.forms import forms as f
from vlang.records import dataclass
from vlang.runtime.graph.edges.kinds import Kind, Names, Times, codes_in, coding_of, counted, encoded, merged
from vlang.times import UNITS, WRITTEN, time_of
from vlang.types import CATEGORY, Scalar

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["Coded", "Named", "check_kinds", "codes_of", "name_run", "time_value", "times_of"]

Array = NDArray[Any]
_MOST = 10_000  # in a longer list of names, no similar name is searched


@dataclass(frozen=True)
class Coded:
    """The values of a vertex field of type `category`: positions in `names`, int32[n]."""

    codes: Array
    names: tuple[str, ...]


@dataclass(frozen=True)
class Named:
    """The data of a run, with all category names replaced by positions in one list.

    Attributes:
        graph: the graph; its columns of type `category` have positions in `names`.
        scalars: the parameters in the form that the engine takes.
        fields: the given vertex fields, as stored.
        names: the category names of the run.
        warnings: one text for each category name that occurs in the program text or in a parameter, but in no value of
            the run.
    """

    graph: Graph
    scalars: dict[str, Any]
    fields: dict[str, Array]
    names: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())


def name_run(
    program: f.Program, graph: Graph, scalars: Mapping[str, Any], fields: Mapping[str, Any],
    names: tuple[str, ...] | None = None,
) -> Named:
    """Replace all category names of a run by codes, which are positions in one list.

    Args:
        program: the IR.
        graph: the graph of the run.
        scalars: the bound parameters; a category is a text.
        fields: the bound vertex fields; a field of type `category` is a `Coded`.
        names: the names of an earlier run, which must include all names of this run; None for a new run.

    Raises:
        BindError: a name is not among `names`.
    """
    if not program.shown:
        return Named(graph, dict(scalars), dict(fields))
    declared = {edge.name: program.shown[edge.name] for edge in program.edges
                if edge.name in graph.kinds and edge.name in program.shown}
    there = {name: kind.names for name, kind in graph.kinds.items() if name in declared and isinstance(kind, Names)}
    texts = {**program.texts, **{name: value for name, value in scalars.items()
                                 if program.shown.get(name) == CATEGORY}}
    coded = {name: value for name, value in fields.items() if isinstance(value, Coded)}
    stored = [text for name, text in texts.items() if name not in program.compared]
    found = merged([*there.values(), *(value.names for value in coded.values()), tuple(sorted(set(stored)))])
    if names is not None and not set(found) <= set(names):
        raise BindError(f"there are new names of categories, such as {min(set(found) - set(names))!r}")
    found = found if names is None else names
    absent = sorted({text for text in texts.values() if not _has(found, text)})
    codes = {name: -1 - absent.index(text) if text in absent else int(codes_in(found, [text])[0])
             for name, text in texts.items()}
    arrays = {name: codes_in(found, value.names)[value.codes] if isinstance(value, Coded) else value
              for name, value in fields.items()}
    wanted: dict[str, Kind] = {name: Names(found) if type_ == CATEGORY else Times(UNITS[type_.name])
                               for name, type_ in declared.items()}
    return Named(graph.read_as(wanted), {**scalars, **codes}, arrays, found,
                 tuple(_unknown(program, texts, absent, found)))


def _has(names: Sequence[str], text: str) -> bool:
    at = int(codes_in(names, [text])[0])
    return at < len(names) and names[at] == text


def _unknown(
    program: f.Program, texts: Mapping[str, str], absent: Sequence[str], names: Sequence[str]
) -> Iterator[str]:
    """Yield a warning for each category name that is only compared by `==` and `!=` and that occurs in no value of the
    run.
    """
    spans = {param.name: param.span for param in program.params}
    for name, text in texts.items():
        if text not in absent:
            continue
        near = difflib.get_close_matches(text, names[:_MOST], n=1) if len(names) <= _MOST else []
        known = f"did you mean \"{near[0]}\"?" if near else "there are " + ", ".join(
            f'"{one}"' for one in names[:5]) + (", ..." if len(names) > 5 else "") if names else "there are no names"
        where = f"line {spans[name].line}: \"{text}\"" if name in program.texts else f"{name}={text!r}"
        yield f"{where} is the name of no category in this run, so nothing equals it: {known}"


def check_kinds(program: f.Program, graph: Graph, name: str) -> None:
    """Check that exactly the columns with categories or times have a declared type `category` or a type of times.

    Raises BindError.

    Args:
        name: the name of the program.
    """
    for edge in program.edges:
        if edge.name not in graph.columns:
            continue
        wanted, kind = program.shown.get(edge.name), graph.kinds.get(edge.name)
        if wanted is None and kind is not None:
            held = "names of categories" if isinstance(kind, Names) else f"points in time ({kind})"
            raise BindError(f"{name} reads the edge field `{edge.name}` as {edge.type}, and that column holds {held}: "
                            f"declare it as `edge {edge.name}: {kind}`")
        if wanted is None or (kind is not None and (wanted == CATEGORY) == isinstance(kind, Names)):
            continue
        if wanted == CATEGORY:
            held = "numbers" if kind is None else "points in time"
            raise BindError(f"{name} reads the edge field `{edge.name}` as a category, and that column holds {held}; "
                            f"give it as texts, or read it as one: columns={{\"{edge.name}\": \"category\"}}")
        if kind is not None or graph.columns[edge.name].kind == "f":
            held = "names of categories" if kind is not None else "fractions"
            raise BindError(f"{name} reads the edge field `{edge.name}` as a {wanted}, and that column holds {held}; "
                            "times are dates and times, or integers that count the unit from 1970-01-01 on")


def codes_of(name: str, array: Array) -> Coded:
    """Convert an array of texts to a vertex field of type `category`. Raises BindError."""
    if array.dtype.kind not in "UTO":
        raise BindError(f"`{name}` is an array of names, as texts, not of {array.dtype}")
    try:
        codes, kind = encoded(f"`{name}`", array)
    except GraphError as error:
        raise BindError(str(error)) from None
    assert isinstance(kind, Names)
    return Coded(codes, kind.names)


def times_of(name: str, type_: Scalar, array: Array) -> Array:
    """Convert an array of datetime64, texts or integers (numbers of units) to a vertex field of times, int64.

    NaT becomes `inf`. Raises BindError.
    """
    if array.dtype.kind in "UTO":
        values = [time_value(name, type_, one) for one in array.tolist()]
        return np.array([type_.highest if one == math.inf else type_.lowest if one == -math.inf else one
                         for one in values], dtype=np.int64)
    if array.dtype.kind != "M":
        return array
    never = np.isnat(array)
    try:
        plain, kind = counted(f"`{name}`", np.where(never, np.zeros(1, array.dtype), array))
        coding = coding_of(kind, Times(UNITS[type_.name]))
        read = plain if coding is None else coding.read(name, plain, np.dtype(np.int64))
    except GraphError as error:
        raise BindError(str(error).replace("edge column", "vertex field")) from None
    return np.where(never, type_.highest, read)


def time_value(name: str, type_: Scalar, value: Any) -> int | float:
    """Convert a value of a time type to a number of the type's units, or to an infinity.

    Args:
        name: the parameter or field, for messages.
        type_: the type.
        value: a text, a date, a datetime (in UTC if it has no time zone), a datetime64, or a number of units.

    Raises:
        BindError: the value is not a time, or is not a whole number of units.
    """
    if isinstance(value, np.datetime64):
        never = np.isnat(value)
        return math.inf if never else int(times_of(name, type_, np.array([value]))[0])
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, (date, datetime)):
        value = value.isoformat()
    if isinstance(value, str):
        if value in ("inf", "-inf"):
            return float(value)
        if value.lstrip("-").isdigit() and "-" not in value[1:]:
            return int(value)
        try:
            return time_of(value, type_.name)
        except ValueError as error:
            raise BindError(f"`{name}` is a {type_}: {value!r} {error}") from None
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise BindError(f"`{name}` is a {type_}, such as {WRITTEN.partition(' ')[0]!r}, not {value!r}")
    return value.item() if isinstance(value, np.generic) else value

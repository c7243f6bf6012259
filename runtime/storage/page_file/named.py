"""The sections of a page file that give the meaning of the integers in columns of categories and times."""

from __future__ import annotations

import json
from collections.abc import Mapping

from vlang.runtime.graph.edges.kinds import Kind, Names, Times
from vlang.runtime.storage.page_file.form import ColumnInfo, Section
from vlang.times import UNITS

__all__ = ["NAMED", "kinds_from", "kinds_to"]

NAMED = (Section.DICTIONARIES, Section.TIME_UNITS)
"""Sections that a file has only if it has such columns: JSON objects with a value for each of them."""


def kinds_to(kinds: Mapping[str, Kind]) -> dict[Section, bytes]:
    """The sections for these kinds of columns, as bytes."""
    names = {name: kind.names for name, kind in kinds.items() if isinstance(kind, Names)}
    units = {name: kind.unit for name, kind in kinds.items() if isinstance(kind, Times)}
    found = {Section.DICTIONARIES: names, Section.TIME_UNITS: units}
    return {section: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
            for section, value in found.items() if value}


def kinds_from(sections: Mapping[Section, bytes], columns: Mapping[str, ColumnInfo]) -> dict[str, Kind]:
    """The kinds of columns that sections describe.

    Args:
        sections: the bytes of the sections in NAMED that the file has.
        columns: the edge columns, whose bounds the names must cover.

    Raises:
        ValueError: the sections are not JSON, or do not fit the columns. The message names the damaged part.
    """
    kinds: dict[str, Kind] = {}
    for section, data in sections.items():
        try:
            listed = dict(json.loads(data))
        except (ValueError, TypeError, RecursionError):
            raise ValueError("the names of categories, or the units of times") from None
        for name, value in listed.items():
            info = columns.get(name)
            if info is None or info.dtype.kind not in "iu" or name in kinds:
                raise ValueError("the columns of categories and times")
            if section == Section.TIME_UNITS:
                if value not in UNITS.values():
                    raise ValueError(f"the unit {value!r} of the column {name!r}")
                kinds[name] = Times(value)
                continue
            fits = isinstance(value, list) and all(isinstance(one, str) for one in value)
            if not fits or value != sorted(set(value)) or info.least < 0 or info.greatest >= max(1, len(value)):
                raise ValueError(f"the names of the column {name!r}")
            kinds[name] = Names(tuple(value))
    return kinds

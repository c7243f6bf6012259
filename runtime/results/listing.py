"""Formats the columns of a result as csv and JSON, in blocks of rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.storage.output import BLOCK, csv_texts, json_texts

__all__ = ["Column", "Columns", "csv_blocks", "json_blocks"]


class Column(NamedTuple):
    """A block of rows of an output. `values` and `missing` have shape [rows], or [rows, k] for vectors."""

    name: str
    values: NDArray[Any]
    missing: NDArray[np.bool_] | None

    def components(self) -> list[Column]:
        """The columns of a value: one column per component of a vector, or the column itself if it is scalar."""
        if self.values.ndim == 1:
            return [self]
        lost = self.missing
        return [Column(self.name, self.values[:, k], None if lost is None else lost[:, k])
                for k in range(self.values.shape[1])]

    def json(self) -> Sequence[str]:
        """One JSON value per row."""
        texts = [json_texts(part.values, part.missing) for part in self.components()]
        return texts[0] if self.values.ndim == 1 else [f"[{', '.join(row)}]" for row in zip(*texts)]


Columns = Callable[[int, int], Iterator[Column]]
"""A function of a range of rows (first, end) that yields all columns for these rows, ids first."""


def csv_blocks(
    widths: Mapping[str, int], rows: int, columns: Columns, mark: str = ",", ids: Sequence[str] = ("vertex",)
) -> Iterator[str]:
    """Yield a header line, then one line per row, in blocks.

    Args:
        widths: the number of components of each field, 0 if it is not a vector.
        rows: the number of rows.
        columns: yields the values of a range of rows.
        mark: the separator, a comma or a tab.
        ids: the names of the columns with ids, which come first.
    """
    names = [part for name, width in widths.items()
             for part in ([f"{name}.{k}" for k in range(width)] if width else [name])]
    yield mark.join([*ids, *names]) + "\n"
    for start in range(0, rows, BLOCK):
        texts = [csv_texts(c.values, c.missing, mark) for whole in columns(start, min(start + BLOCK, rows))
                 for c in whole.components()]
        yield "\n".join(map(mark.join, zip(*texts, strict=True))) + "\n"


def json_blocks(
    summary: Mapping[str, Any], names: Sequence[str], rows: int, columns: Columns, ids: Sequence[str] = ("vertex",),
    group: str = "fields",
) -> Iterator[str]:
    """Yield one JSON object, in blocks: the entries of the summary, then the ids and the fields as lists.

    Args:
        summary: the first entries of the object.
        names: the names of the fields.
        rows: the number of rows.
        columns: yields the values of a range of rows.
        ids: the names of the columns with ids, which come first.
        group: the name of the entry with the lists of all fields.
    """
    yield json.dumps(summary)[:-1]
    for number, name in enumerate(ids):
        yield f"{', ' if number or summary else ''}{json.dumps(name)}: "
        yield from _json_list(number, rows, columns)
    yield f', "{group}": {{'
    for number, name in enumerate(names, len(ids)):
        yield f"{', ' if number > len(ids) else ''}{json.dumps(name)}: "
        yield from _json_list(number, rows, columns)
    yield "}}\n"


def _json_list(number: int, rows: int, columns: Columns) -> Iterator[str]:
    """Yield column `number` as a JSON list, in blocks."""
    yield "["
    for start in range(0, rows, BLOCK):
        column = next(c for i, c in enumerate(columns(start, min(start + BLOCK, rows))) if i == number)
        yield (", " if start else "") + ", ".join(column.json())
    yield "]"

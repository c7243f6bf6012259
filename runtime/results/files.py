"""Writes results to files, in the format of the file's suffix."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

from vlang.errors import GraphError
from vlang.runtime.graph.arrow.library import pyarrow
from vlang.runtime.graph.packed_text import packed_output
from vlang.runtime.storage.output import whole_file

if TYPE_CHECKING:
    from vlang.runtime.results.edge_states import EdgeStates
    from vlang.runtime.results.exported import Exported

__all__ = ["FORMATS", "check_output", "save"]

Writer = Callable[[Any, Any], None]


def _parquet(result: Exported | EdgeStates, file: Any) -> None:
    import pyarrow.parquet as parquet  # optional

    parts = result.arrow_parts()
    first = next(parts)
    with parquet.ParquetWriter(file, first.schema) as out:
        for part in chain([first], parts):
            out.write_table(part)


def _arrow(result: Exported | EdgeStates, file: Any) -> None:
    pa, parts = pyarrow("an Arrow file"), result.arrow_parts()
    first = next(parts)
    with pa.ipc.new_file(file, first.schema) as out:
        for part in chain([first], parts):
            out.write_table(part)


_WRITERS: dict[str, Writer] = {
    ".csv": lambda result, file: result.to_csv(file),
    ".tsv": lambda result, file: result.to_csv(file, "\t"),
    ".json": lambda result, file: result.to_json(file),
    ".npz": lambda result, file: result.to_npz(file),
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
}
_TEXTS = (".csv", ".tsv", ".json")
_PACKED = (".gz", ".zst")
_LIBRARY = (".parquet", ".arrow", ".feather", ".zst")

FORMATS = tuple(_WRITERS)
"""The suffixes of file names that select a format."""


def check_output(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Parse the suffix of a file name: (format, a key of `_WRITERS`; compression, a member of `_PACKED` or "").

    Raises GraphError for any other suffix, and if a required library is missing.
    """
    name = os.fspath(path)
    packed = next((one for one in _PACKED if name.endswith(one)), "")
    form = next((one for one in FORMATS if name.removesuffix(packed).endswith(one)), "")
    if not form or (packed and form not in _TEXTS):
        raise GraphError(f"unknown format of `{name}`; end it in {', '.join(FORMATS)}, or "
                         f"{', '.join(f'{text}.gz' for text in _TEXTS)} (or .zst)")
    if form in _LIBRARY or packed in _LIBRARY:
        pyarrow(f"writing {name}")
    return form, packed


def save(result: Exported | EdgeStates, path: str | os.PathLike[str]) -> None:
    """Write a result or its edge states to a file, atomically; see `Result.save`."""
    form, packed = check_output(path)
    with whole_file(path) as file, packed_output(file, packed) as out:
        _WRITERS[form](result, out)

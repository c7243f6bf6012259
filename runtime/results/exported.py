"""What a result gives other libraries: tables, frames, and files of any format."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from vlang.runtime.results.listing import Column

__all__ = ["Exported"]


class Exported(ABC):
    """The exports of a result, from its columns."""

    @abstractmethod
    def summary_dict(self) -> dict[str, Any]:
        """The run without the values of the fields, in types that JSON supports."""

    @property
    @abstractmethod
    def _rows(self) -> int:
        """The number of rows."""

    @abstractmethod
    def _columns(self, start: int, stop: int) -> Iterator[Column]:
        """The columns for the rows start..stop-1: ids first."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file in the format of its name, atomically: .parquet, .arrow, .feather, .csv, .tsv, .json or .npz.

        Of the texts among them, .csv.gz and .csv.zst are compressed. Parquet, Arrow and .zst need the extra `arrow`.
        Raises GraphError for another name, DiskError.
        """
        from vlang.runtime.results.files import save  # start-up

        save(self, path)

    def to_arrow(self) -> Any:
        """A pyarrow.Table with a row per vertex: `vertex`, then every field. Needs the extra `arrow`.

        Null are integers that are `inf` or `-inf`, and vertices that are `none`; floats are as in memory. A vector is
        a list of fixed size. Columns without nulls share the memory of this result, but for bools and ids. The
        metadata of the schema has `summary_dict()` without the history, as JSON under `vlang`.
        """
        from vlang.runtime.results.frames import arrow_table  # start-up

        return arrow_table(self.summary_dict(), self._columns(0, self._rows))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """`to_arrow()` for libraries that import tables of Arrow: polars.DataFrame(result), duckdb.sql("from result").

        requested_schema: see the Arrow PyCapsule interface.
        """
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_polars(self) -> Any:
        """`to_arrow()` as a polars.DataFrame."""
        from vlang.runtime.results.frames import polars_frame  # start-up

        return polars_frame(self.to_arrow())

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row per vertex: `vertex`, then every field, a vector x as x.0, x.1, ...

        Integers that are `inf` or `-inf`, and vertices that are `none`, are missing values: such columns have a
        nullable type of pandas. Floats are as in memory.
        """
        from vlang.runtime.results.frames import pandas_frame  # start-up

        return pandas_frame(self._columns(0, self._rows))

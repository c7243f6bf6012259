"""Exports of a result: pictures, tables, data frames, and files of any format."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from vlang.runtime.results.listing import Column

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.edge_list import VertexIds
    from vlang.runtime.results.pictures.picture import Picture
    from vlang.runtime.results.result import Result

__all__ = ["Exported"]


class Exported(ABC):
    """The exports of a result, from its columns."""

    _globals: dict[str, Any]
    """The globals in the format of the engine."""

    _ids: VertexIds
    """The user's vertex ids."""

    types: Mapping[str, str]
    """The type of each field and global."""

    @abstractmethod
    def summary_dict(self) -> dict[str, Any]:
        """A description of the run without the values of fields, in types that JSON supports."""

    @property
    @abstractmethod
    def _rows(self) -> int:
        """The number of rows."""

    @abstractmethod
    def _columns(self, start: int, stop: int) -> Iterator[Column]:
        """Yield the columns for the rows start..stop-1, ids first."""

    def global_texts(self) -> dict[str, str]:
        """The text of each global as programs write it, such as `inf`, `none` or `true`."""
        from vlang.runtime.results.columns import global_text  # start-up

        result = cast("Result", self)
        return {name: global_text(self._globals[name], shown, self.types.get(name, ""))
                for name, shown in result.globals.items()}

    def plot(self, by: str | None = None, kind: str = "auto") -> Picture:
        """Draw a field: a picture that notebooks show, and that `save("a.png")` writes. Needs the extra `plot`.

        Args:
            by: the field; by default the first field that is not of type `vertex`. `x.1` is the second component of x.
            kind: "histogram"; "rank", values in decreasing order; "bars", vertices per value; "map", vertices at the
                coordinates x and y, which are fields or columns of the vertex table; "graph", a drawing of at most 400
                vertices; or "auto". The kind "auto" chooses "map" if there are coordinates, and "graph" for up to 60
                vertices. Otherwise "auto" chooses a kind that suits the type and the distribution of the values.

        Raises BindError if the kind does not suit the field, VlangError if matplotlib is missing.
        """
        from vlang.runtime.results.pictures.values import plot_result  # start-up

        return plot_result(cast("Result", self), by, kind)

    def _repr_html_(self) -> str:
        """Return HTML for notebooks with the end of the run and the first rows."""
        from vlang.runtime.results.html import result_html  # start-up

        return result_html(cast("Result", self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file atomically, in the format of its suffix: .parquet, .arrow, .feather, .csv, .tsv, .json or .npz.

        The suffixes .gz and .zst after a text format, as in .csv.gz, compress the file. Parquet, Arrow and .zst need
        the extra `arrow`. Raises GraphError for any other suffix, DiskError if the file cannot be written.
        """
        from vlang.runtime.results.files import save  # start-up

        save(self, path)

    def to_arrow(self) -> Any:
        """A pyarrow.Table with a row per vertex: `vertex`, then every field. Needs the extra `arrow`.

        Integers `inf` and `-inf` and vertices `none` become null; floats are unchanged. A vector becomes a list of
        fixed size. Columns without nulls share the memory of this result, except for bools and ids. The metadata of the
        schema has the key `vlang` with `summary_dict()`, without the history, as JSON.
        """
        from vlang.runtime.results.frames import arrow_table  # start-up

        return arrow_table(self.summary_dict(), self._columns(0, self._rows))

    def arrow_parts(self) -> Iterator[Any]:
        """Yield `to_arrow()` in parts, so that the ids of a result that is larger than memory are not all made at once.
        """
        from vlang.runtime.results.frames import PART, arrow_table  # start-up

        summary = self.summary_dict()
        texts = {name for name, type_ in self.types.items() if type_ == "category"}
        if self._ids.text:
            texts |= {"vertex", *(name for name, type_ in self.types.items() if type_ == "vertex")}
        for start in range(0, max(1, self._rows), PART):
            yield arrow_table(summary, self._columns(start, min(start + PART, self._rows)), texts)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export `to_arrow()` to libraries that import Arrow: polars.DataFrame(result), duckdb.sql("from result").

        Args:
            requested_schema: see the Arrow PyCapsule interface.
        """
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_polars(self) -> Any:
        """`to_arrow()` as a polars.DataFrame."""
        from vlang.runtime.results.frames import polars_frame  # start-up

        return polars_frame(self.to_arrow())

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row per vertex: `vertex`, then every field, a vector x as x.0, x.1, ...

        Integers `inf` and `-inf` and vertices `none` become missing values; columns with such values have a nullable
        dtype of pandas. Floats are unchanged.
        """
        from vlang.runtime.results.frames import pandas_frame  # start-up

        return pandas_frame(self._columns(0, self._rows))

"""The interface of a table that is read in batches, and its implementation for data frames in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from vlang.errors import GraphError
from vlang.runtime.graph.arrow.library import pyarrow

__all__ = ["ArrowTable", "Frame", "check_names"]


class ArrowTable(Protocol):
    """A table that is read in record batches.

    Attributes:
        name: name of the table, for messages.
        format: the kind of table, for notes.
        schema: the pyarrow schema.
        rows: the number of rows; None if the number is unknown before the rows are read.
        notes: sentences about parts that are not read.
    """

    @property
    def name(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def schema(self) -> Any: ...
    @property
    def rows(self) -> int | None: ...
    @property
    def notes(self) -> tuple[str, ...]: ...

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows in order, as record batches with these columns in this order.

        This method can be called only once.
        """


class Frame:
    """A table from an object with `__arrow_c_stream__` or `__arrow_c_array__`, whose memory is not copied."""

    def __init__(self, given: object, what: str) -> None:
        """Open `given`, for which `is_table` is true.

        `what` is the name of the table, for messages. Raises GraphError if `given` exports no table.
        """
        pa = pyarrow(f"{what}, a {type(given).__name__},")
        self.name = what
        self.format = f"Table ({type(given).__module__.partition('.')[0]}.{type(given).__name__})"
        try:
            self._reader = _reader(pa, given)
        except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
            raise GraphError(f"{what}: its columns cannot be read as Arrow: {str(error).splitlines()[0]}") from None
        self.schema = self._reader.schema
        self.rows = getattr(given, "num_rows", None) if isinstance(given, (pa.Table, pa.RecordBatch)) else None
        self.notes: tuple[str, ...] = ()
        check_names(self.name, self.schema)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """See `ArrowTable.batches`."""
        pa = pyarrow(self.name)
        try:
            for batch in self._reader:
                yield batch.select(list(columns))
        except (pa.ArrowException, OSError) as error:
            raise GraphError(f"{self.name}: cannot be read: {str(error).splitlines()[0]}") from None


def _reader(pa: Any, given: Any) -> Any:
    if not hasattr(given, "__arrow_c_stream__"):
        batch = pa.record_batch(given)
        return pa.RecordBatchReader.from_batches(batch.schema, [batch])
    opened = getattr(pa.RecordBatchReader, "from_stream", None)
    found = opened(given) if opened is not None else pa.table(given).to_reader()
    if not isinstance(found.schema, pa.Schema):
        raise TypeError("it is no table")
    return found


def check_names(name: str, schema: Any) -> None:
    """Raise GraphError if two columns of a table have the same name, or if a name is not UTF-8."""
    try:
        names = schema.names
    except UnicodeDecodeError:
        raise GraphError(f"{name}: the name of a column is not UTF-8; the file is damaged") from None
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise GraphError(f"{name}: two columns are called {twice[0]!r}; rename one")

"""The interface of a table that is read in batches, and its implementation for data frames in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from vlang.errors import GraphError
from vlang.runtime.graph.arrow.library import pyarrow
from vlang.runtime.storage.ledger import ledger

__all__ = ["ArrowTable", "Frame", "check_names", "rows_at_once"]

_ROWS = 1 << 18  # rows that are converted at a time; the converted copies stay in cache
_LEAST_ROWS = 1 << 12  # with a small memory budget
_ROW = 1 << 8  # bytes of a budget for each row of a batch, of which texts and their copies take about a hundred


def rows_at_once() -> int:
    """The number of rows of a table that are read and converted at a time: fewer if the memory budget is small."""
    return _ROWS if ledger.left is None else min(_ROWS, max(_LEAST_ROWS, ledger.left // _ROW))


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
        self._once = isinstance(given, pa.RecordBatchReader)
        self.format = f"Table ({type(given).__module__.partition('.')[0]}.{type(given).__name__})"
        try:
            self._reader = _reader(pa, given)
        except MemoryError:
            raise
        except Exception as error:  # of the library of the table, such as DuckDB's
            raise GraphError(f"{what}: its columns cannot be read as Arrow: {_said(error)}") from None
        self.schema = self._reader.schema
        self.rows = getattr(given, "num_rows", None) if isinstance(given, (pa.Table, pa.RecordBatch)) else None
        self.notes: tuple[str, ...] = ()
        check_names(self.name, self.schema)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """See `ArrowTable.batches`."""
        rows = 0
        while (batch := self._next()) is not None:
            rows += batch.num_rows
            yield batch.select(list(columns))
        if self._once and not rows:
            raise GraphError(f"{self.name}: the reader has no rows, perhaps because they were read before\n"
                             "  expected: a table, which can be read more than once: reader.read_all()")  # fmt: skip

    def _next(self) -> Any:
        """The next batch; None at the end."""
        try:
            return next(iter(self._reader), None)
        except MemoryError:
            raise
        except Exception as error:  # of the library of the table
            raise GraphError(f"{self.name}: cannot be read: {_said(error)}") from None

    def close(self) -> None:
        """Release the stream. Until then, a connection of DuckDB runs no other query."""
        self._reader.close()


def _said(error: Exception) -> str:
    """The message of an error in one line. pandas raises errors of Arrow with several texts."""
    texts = [text for text in error.args if isinstance(text, str)] if len(error.args) > 1 else []
    return "; ".join(texts) or next(iter(str(error).splitlines()), type(error).__name__)


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

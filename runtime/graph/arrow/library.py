"""Loads pyarrow, which the extra `arrow` installs, when a table is read or written."""

from __future__ import annotations

from types import ModuleType

from vlang.errors import GraphError

__all__ = ["is_table", "pyarrow"]

_LEAST = (14, 0, 1)  # earlier versions run code from the metadata of a file (CVE-2023-47248)


def pyarrow(what: str) -> ModuleType:
    """Import pyarrow; raises GraphError if pyarrow is missing or too old.

    `what` is the subject of the message "... needs pyarrow".
    """
    try:
        import pyarrow as found  # optional
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "pyarrow":
            raise
        raise GraphError(f"{what} needs pyarrow: pip install 'vlang[arrow]'") from None
    if _version(found.__version__) < _LEAST:
        raise GraphError(f"{what} needs pyarrow {'.'.join(map(str, _LEAST))} or newer, since older ones run code that "
                         f"a file contains; {found.__version__} is installed: pip install -U 'vlang[arrow]'")
    module: ModuleType = found
    return module


def _version(text: str) -> tuple[int, ...]:
    """The leading numbers of a version string."""
    numbers = []
    for part in text.split(".")[:3]:
        digits = part[: next((i for i, c in enumerate(part) if not c.isdigit()), len(part))]
        numbers.append(int(digits or 0))
    return tuple(numbers)


def is_table(value: object) -> bool:
    """Return whether an object exports a table in Arrow's format, like the tables of pandas, polars, pyarrow and
    DuckDB.

    An object with a dtype or type but without column names is a single column, not a table.
    """
    shared = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    single = any(hasattr(type(value), name) for name in ("dtype", "type"))
    return shared and (not single or any(hasattr(type(value), name) for name in ("columns", "schema", "column_names")))


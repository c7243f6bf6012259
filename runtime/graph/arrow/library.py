"""The library of the extra `arrow`, loaded when a table is read or written."""

from __future__ import annotations

from types import ModuleType

from vlang.errors import GraphError

__all__ = ["is_table", "pyarrow"]

_LEAST = (14, 0, 1)  # earlier ones run code from the metadata of a file (CVE-2023-47248)


def pyarrow(what: str) -> ModuleType:
    """The module `pyarrow`. what: that needs it, as the beginning of a sentence. Raises GraphError without it."""
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
    """The leading numbers of a version."""
    numbers = []
    for part in text.split(".")[:3]:
        digits = part[: next((i for i, c in enumerate(part) if not c.isdigit()), len(part))]
        numbers.append(int(digits or 0))
    return tuple(numbers)


def is_table(value: object) -> bool:
    """Whether an object gives a table as Arrow: of pandas, polars, pyarrow, DuckDB. A single column has only a type."""
    shared = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    single = any(hasattr(type(value), name) for name in ("dtype", "type"))
    return shared and (not single or any(hasattr(type(value), name) for name in ("columns", "schema", "column_names")))


"""Points in time as integers: the units of the time types, and the texts of dates and times."""

from __future__ import annotations

import re
from datetime import date

__all__ = ["PARTS", "UNITS", "WRITTEN", "time_of"]

UNITS = {"date": "D", "time": "s", "time[ms]": "ms", "time[us]": "us", "time[ns]": "ns"}
"""The unit that a type of times counts, as NumPy names it."""

PARTS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""The number of each unit in a second."""

WRITTEN = "2024-05-01 or 2024-05-01T17:30:00 (UTC)"
"""Texts that are read as times, for messages."""

_TEXT = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?Z?", re.ASCII)
_EPOCH = date(1970, 1, 1).toordinal()


def time_of(text: str, type_: str) -> int:
    """The number of units from 1970-01-01T00:00:00 UTC to the time that a text names.

    Args:
        text: a date such as 2024-05-01, or a time such as 2024-05-01T17:30:00.25. A space may replace the T, and a Z
            may follow the time.
        type_: the name of the type of times.

    Raises:
        ValueError: the text is not a time, or is not a whole number of units. The message continues a sentence that
            begins with the text.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"is no time: times are written {WRITTEN}")
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    try:
        days = date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        raise ValueError("is no date of the calendar") from None
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("is no time of a day")
    parts = int((found[7] or "").ljust(9, "0"))
    unit, seconds = UNITS[type_], 3600 * hour + 60 * minute + second
    if unit == "D":
        if seconds or parts:
            raise ValueError("has a time of day, and a `date` counts days: declare a `time`")
        return days
    step = 10**9 // PARTS[unit]
    if parts % step:
        finer = next(name for name, part in PARTS.items() if parts % (10**9 // part) == 0)
        raise ValueError(f"is finer than the unit of `{type_}`: declare a `time[{finer}]`")
    value = (86400 * days + seconds) * PARTS[unit] + parts // step
    if not -(1 << 63) < value < (1 << 63) - 1:
        raise ValueError(f"is out of the range of `{type_}`, which ends in 2262: declare a `time[us]`")
    return value

"""Divides the memory budget of a conversion among its steps, and reports its progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vlang.errors import OutOfMemory
from vlang.runtime.storage.available import default_budget

__all__ = ["Budget", "Report"]

Report = Callable[[str, float], None]
"""A callback that receives the name of the step and the finished fraction of the whole conversion, 0 to 1."""

_MIB = 1 << 20
_LEAST = 8 * _MIB
_MOST_ENTRIES = 1 << 18  # maximum entries of a bucket; larger buckets exceed the caches and take longer to sort
_LEAST_ENTRIES = 1 << 14
_UNKNOWN = 1 << 30  # the budget if the system does not report free memory


class Budget:
    """A budget of `total` bytes of memory, which does not include the interpreter and machine code.

    Attributes:
        total: the size of the budget in bytes.
        threads: how many threads the conversion may use.
        window: bytes of text that are read at a time.
        chunk: bytes of text that one thread scans at a time.
        ids: bytes for the numbering of ids.
    """

    def __init__(self, total: int | None, threads: int, report: Report) -> None:
        """total: bytes; None for most of the free memory. Raises OutOfMemory if `total` is too small for any graph."""
        self.total = max(_LEAST, default_budget() or _UNKNOWN) if total is None else total
        if self.total < _LEAST:
            raise OutOfMemory(f"a conversion needs at least --memory {_LEAST >> 20}M")
        self.threads = max(1, min(threads, self.total // _LEAST))
        self.window = min(8 * _MIB, max(_MIB // 2, self.total // 16))
        self.chunk = max(1 << 14, min(1 << 18, self.window // (4 * self.threads)))
        self.ids = self.total // 2
        self._report = report
        self._shares: Mapping[str, float] = {}
        self._done = 0.0

    def plan(self, shares: Mapping[str, float]) -> None:
        """Set the steps of the conversion in order: name -> expected share of the time."""
        self._shares = shares

    def progress(self, step: str, fraction: float) -> None:
        """Report that a fraction of a step, 0 to 1, is done."""
        before = 0.0
        for name, share in self._shares.items():
            if name == step:
                self._report(step, (before + share * min(1.0, fraction)) / sum(self._shares.values()))
                return
            before += share

    def within(self, step: str, low: float = 0.0, high: float = 1.0) -> Callable[[float], None]:
        """A callback that reports progress in the part low..high of a step.

        The argument of the callback is the finished fraction, 0 to 1.
        """
        return lambda fraction: self.progress(step, low + (high - low) * fraction)

    def check(self, need: int, what: str) -> None:
        """Raise OutOfMemory if `need` bytes exceed the budget.

        what: the subject of the message, in the plural.
        """
        if need > self.total:
            raise OutOfMemory(f"{what} need at least --memory {-(-need // _MIB)}M")

    def entries(self, ordering: int, state: int, page: int, each: Callable[[int], int]) -> int:
        """The largest number of entries of a bucket that fits in memory. Uses fewer threads if the budget requires it.

        Args:
            ordering: bytes of the arrays over vertices while their order is computed, before entries are sorted.
            state: bytes of the arrays over vertices while entries are sorted.
            page: bytes of a page.
            each: returns the bytes per entry for a number of threads.
        """
        while self.threads > 1 and self.least(ordering, state, page, each, self.threads) > self.total:
            self.threads -= 1
        least = self.least(ordering, state, page, each)
        if least > self.total:
            raise OutOfMemory(f"this graph needs at least --memory {-(-least // _MIB)}M to be converted: its "
                              f"vertices alone take {-(-max(ordering, state) // _MIB)} MiB")
        return min((self.total - _fixed(state, page, self.threads)) // each(self.threads), _MOST_ENTRIES)

    def least(self, ordering: int, state: int, page: int, each: Callable[[int], int], threads: int = 1) -> int:
        """The least sufficient budget in bytes for this number of threads; other arguments as for `entries`."""
        return max(ordering, _fixed(state, page, threads) + _LEAST_ENTRIES * each(threads), _LEAST)


def _fixed(state: int, page: int, threads: int) -> int:
    """Bytes that do not depend on the number of entries of a bucket; arguments as for `Budget.entries`."""
    return state + page + 2 * _MIB * threads

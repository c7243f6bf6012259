"""How the memory of a conversion is shared out, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vlang.errors import OutOfMemory
from vlang.runtime.storage.available import default_budget

__all__ = ["Budget", "Report"]

Report = Callable[[str, float], None]
"""Called with the name of the step and the fraction of the whole conversion that is done."""

_MIB = 1 << 20
_LEAST = 8 * _MIB
_MOST_ENTRIES = 1 << 18  # of a bucket: larger ones leave the caches, and take longer to sort
_LEAST_ENTRIES = 1 << 14
_UNKNOWN = 1 << 30  # where the system does not say what is free


class Budget:
    """At most `total` bytes of memory beside the interpreter and machine code.

    Attributes:
        total: the bytes.
        threads: how many threads work.
        window, chunk: bytes of text that are read together, and by one thread.
        ids: bytes for the numbering of ids.
    """

    def __init__(self, total: int | None, threads: int, report: Report) -> None:
        """total: None for most of what is free. Raises OutOfMemory if it is too small for any graph."""
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
        """The steps of the conversion in order, and the share of the time that each takes."""
        self._shares = shares

    def progress(self, step: str, fraction: float) -> None:
        """A fraction of a step is done."""
        before = 0.0
        for name, share in self._shares.items():
            if name == step:
                self._report(step, (before + share * min(1.0, fraction)) / sum(self._shares.values()))
                return
            before += share

    def within(self, step: str, low: float = 0.0, high: float = 1.0) -> Callable[[float], None]:
        """A callback for one part of a step: it takes the finished fraction of the part, 0 to 1."""
        return lambda fraction: self.progress(step, low + (high - low) * fraction)

    def check(self, need: int, what: str) -> None:
        """Raise OutOfMemory if something needs more than the budget; what: the thing, in the plural."""
        if need > self.total:
            raise OutOfMemory(f"{what} need at least --memory {-(-need // _MIB)}M")

    def entries(self, state: int, page: int, each: int) -> int:
        """How many entries of a bucket fit in memory. Raises OutOfMemory, with the least budget that would do.

        Args:
            state: bytes of arrays over vertices.
            page: bytes of a page.
            each: bytes for each entry.
        """
        fixed = state + page + 2 * _MIB * self.threads
        most = (self.total - fixed) // each
        if most < _LEAST_ENTRIES:
            least = -(-(fixed + _LEAST_ENTRIES * each) // _MIB)
            raise OutOfMemory(f"this graph needs at least --memory {max(least, _LEAST >> 20)}M to be converted: its "
                              f"vertices alone take {-(-state // _MIB)} MiB")  # fmt: skip
        return min(most, _MOST_ENTRIES)


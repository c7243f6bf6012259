"""Which page lies in which slot of device memory: bookkeeping of the cache and of the order of a pass."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from vlang.runtime.gpu.device.device import Event

__all__ = ["Slot", "Slots"]


@dataclass(eq=False)
class Slot:
    """A place for one page. held: arrays of the page that are there. used: the end of the last work on it."""

    address: int
    page: int | None = None
    held: set[str] = field(default_factory=set)
    used: Event | None = None


class Slots:
    """Slots by age of their last use, the oldest first. A page that is not there takes the oldest slot whose own page
    is not awaited by the same pass.

    A pass takes cached pages first: so every slot still holds a page that the next full pass finds, whatever the
    number of pages, and no page is evicted before its turn (plain LRU in page order would find none).
    """

    def __init__(self, addresses: Sequence[int]) -> None:
        self._slots = OrderedDict((address, Slot(address)) for address in addresses)
        self._where: dict[int, Slot] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def find(self, page: int) -> Slot | None:
        """The slot of a page, if it is cached."""
        return self._where.get(page)

    def touch(self, slot: Slot) -> None:
        """The slot is used now."""
        self._slots.move_to_end(slot.address)

    def take(self, page: int, awaited: set[int]) -> Slot:
        """Give the oldest slot to a page; those of `awaited` pages stay. There must be one."""
        slot = next(s for s in self._slots.values() if s.page not in awaited)
        if slot.page is not None:
            del self._where[slot.page]
        slot.page = page
        slot.held.clear()
        self._where[page] = slot
        return slot

    def order(self, pages: Sequence[int], ahead: int) -> Iterator[int]:
        """The order in which a pass takes its pages: `ahead` cached ones, then cached and missing ones by turns, so
        that copies begin at once, each into a slot whose page has had its turn."""
        asked = set(pages)
        cached = [slot.page for slot in self._slots.values() if slot.page is not None and slot.page in asked]
        missing = iter([page for page in pages if page not in self._where])
        for number, page in enumerate(cached):
            yield page
            if number + 1 >= ahead:
                yield from _one(missing)
        yield from missing


def _one(items: Iterator[int]) -> Iterator[int]:
    for item in items:
        yield item
        return

"""The slots of device memory, which cache pages, and the order in which a pass processes pages."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import field

from vlang.records import dataclass
from vlang.runtime.gpu.device.device import Event

__all__ = ["Slot", "Slots"]


@dataclass(eq=False)
class Slot:
    """Memory for one page.

    Attributes:
        address: the device address.
        page: the number of the page in the slot; None if the slot is empty.
        held: the keys of those arrays of the page that have been copied.
        used: an event after the last work on the slot; None if there was no work.
    """

    address: int
    page: int | None = None
    held: set[str] = field(default_factory=set)
    used: Event | None = None


class Slots:
    """Slots in the order of their last use, oldest first.

    A page that is not cached replaces the oldest page that the pass no longer needs. A pass processes cached pages
    first. Therefore no page is evicted before the pass has used it, and every slot holds a page that the next full pass
    can use. With plain LRU replacement, passes in page order would never find a page in the cache.
    """

    def __init__(self, addresses: Sequence[int]) -> None:
        self._slots = OrderedDict((address, Slot(address)) for address in addresses)
        self._where: dict[int, Slot] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def find(self, page: int) -> Slot | None:
        """The slot of a page; None if the page is not cached."""
        return self._where.get(page)

    def touch(self, slot: Slot) -> None:
        """Mark a slot as the most recently used."""
        self._slots.move_to_end(slot.address)

    def take(self, page: int, awaited: set[int]) -> Slot:
        """Assign to a page the oldest slot whose page is not in `awaited`, or the oldest slot if all pages are."""
        slot = next((s for s in self._slots.values() if s.page not in awaited), next(iter(self._slots.values())))
        if slot.page is not None:
            del self._where[slot.page]
        slot.page = page
        slot.held.clear()
        self._where[page] = slot
        return slot

    def order(self, pages: Sequence[int], ahead: int) -> Iterator[int]:
        """Yield pages in the order of processing: `ahead` cached pages, then missing and cached pages in turn.

        In this order of pages, copies can begin early, each into a slot whose page has been processed.
        """
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

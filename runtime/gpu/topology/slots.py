"""Which page is in which slot of device memory: bookkeeping of the cache, and the page order of a pass."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from vlang.runtime.gpu.device.device import Event

__all__ = ["Slot", "Slots"]


@dataclass(eq=False)
class Slot:
    """Memory for one page.

    Attributes:
        address: device address.
        page: the page in the slot; None if the slot is empty.
        held: keys of the page's arrays that have been copied.
        used: an event after the last work on the slot.
    """

    address: int
    page: int | None = None
    held: set[str] = field(default_factory=set)
    used: Event | None = None


class Slots:
    """Slots in the order of their last use, oldest first.

    A missing page replaces the oldest page that the same pass does not need any more. A pass processes cached pages
    first. Every slot therefore still holds a page that the next full pass can use, and no page is evicted before the
    pass has used it. Plain LRU in page order would have no hits.
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
        """Move a slot to the end of the order: it is used now."""
        self._slots.move_to_end(slot.address)

    def take(self, page: int, awaited: set[int]) -> Slot:
        """Assign the oldest slot to a page, except for slots with `awaited` pages. At least one must qualify."""
        slot = next(s for s in self._slots.values() if s.page not in awaited)
        if slot.page is not None:
            del self._where[slot.page]
        slot.page = page
        slot.held.clear()
        self._where[page] = slot
        return slot

    def order(self, pages: Sequence[int], ahead: int) -> Iterator[int]:
        """The order in which a pass processes its pages: `ahead` cached pages, then cached and missing pages in turn.

        This lets copies begin at once, each into a slot with a page that has been processed.
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

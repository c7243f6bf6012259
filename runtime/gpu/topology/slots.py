"""The slots of device memory, which cache pages, and the order in which a pass processes pages."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import field

from vlang.records import dataclass
from vlang.runtime.gpu.device.device import Event
from vlang.runtime.gpu.topology.tasks import Task

__all__ = ["Slot", "Slots"]


@dataclass(eq=False)
class Slot:
    """Memory for one page.

    Attributes:
        address: the device address.
        page: the number of the page in the slot; None if the slot is empty.
        held: the keys of the arrays of the page that have been copied.
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
        """Return the slot of a page; None if the page is not cached."""
        return self._where.get(page)

    def touch(self, slot: Slot) -> None:
        """Mark a slot as the most recently used."""
        self._slots.move_to_end(slot.address)

    def take(self, page: int, awaited: dict[int, int]) -> Slot:
        """Assign to a page the oldest slot whose page is not in `awaited`.

        Args:
            page: the page.
            awaited: the cached pages that the pass has not processed. The value of a page is its position in the
                pass. If all slots have such a page, the last one is evicted, and is removed from `awaited`.
        """
        slot = next((s for s in self._slots.values() if s.page not in awaited), None)
        if slot is None:
            last = max(awaited, key=lambda one: awaited[one] if one in self._where else -1)
            del awaited[last]
            slot = self._where[last]
        if slot.page is not None:
            del self._where[slot.page]
        slot.page = page
        slot.held.clear()
        self._where[page] = slot
        return slot

    def done(self, task: Task, event: Event, awaited: dict[int, int]) -> None:
        """Record an event after the work on the pages of a task, which are no longer awaited."""
        for page in task:
            self._where[page].used = event
            awaited.pop(page, None)

    def plan(
        self, tasks: Sequence[Task], missing: set[int], ahead: int
    ) -> tuple[Iterator[Task], dict[int, int]]:
        """Return the order of tasks, and the cached pages that tasks wait for, each with the number of its task (see
        `take`).

        Args:
            tasks: the tasks.
            missing: pages that are processed in another way; each of these pages is a task of its own.
            ahead: see `order`; 0 for the order of `tasks`.
        """
        here = [task for task in tasks if task[0] not in missing]
        awaited = {page: at for at, task in enumerate(here) for page in task if page in self._where}
        return (self.order(here, ahead) if ahead else iter(here)), awaited

    def order(self, tasks: Sequence[Task], ahead: int) -> Iterator[Task]:
        """Yield tasks in the order of processing: `ahead` cached pages, then missing and cached tasks alternately.

        This order lets copies begin early, because each copy goes into slots whose pages have been processed. A task is
        cached if all of its pages are cached.
        """
        places = {slot.page: place for place, slot in enumerate(self._slots.values())}
        cached = sorted((task for task in tasks if all(page in self._where for page in task)),
                        key=lambda task: places[task[0]])
        known = set(cached)
        missing = [task for task in tasks if task not in known]
        free = at = 0
        for task in cached:
            yield task
            free += len(task)
            while at < len(missing) and free >= ahead - 1 + len(missing[at]):
                yield missing[at]
                free -= len(missing[at])
                at += 1
        yield from missing[at:]

"""Page-locked arrays are counted and shared, and may be refused."""

from __future__ import annotations

import numpy as np
import pytest

from vlang.runtime.storage.pagelock import PageLocks, address_of


class System:
    """A stand-in for page-locking by the system. An address for kernels is the host address plus 1 << 60."""

    def __init__(self, refuse: bool = False, only_read: bool = False) -> None:
        self.refuse, self.only_read = refuse, only_read
        self.locked: dict[int, tuple[int, int]] = {}

    def lock(self, address: int, nbytes: int, flags: int) -> None:
        if self.refuse or (self.only_read and not flags & 8):
            raise RuntimeError("refused")
        assert address not in self.locked
        self.locked[address] = nbytes, flags

    def locks(self) -> PageLocks:
        return PageLocks(self.lock, lambda address: self.locked.pop(address) and None, lambda a: a + (1 << 60),
                         (RuntimeError,))  # fmt: skip


def test_the_last_user_unlocks() -> None:
    system = System()
    locks, array = system.locks(), np.zeros(1000, np.uint32)
    address = address_of(array) + (1 << 60)
    assert locks.register(array) == locks.register(array) == address
    assert locks.register(array[10:20]) == address + 40
    assert system.locked == {address_of(array): (4000, 3)}
    assert locks.covers(array[5:])
    for user in (array, array[10:20]):
        locks.unregister(user)
        assert system.locked
    locks.unregister(array)
    assert not system.locked
    assert not locks.covers(array)
    locks.unregister(array)


def test_what_the_system_refuses() -> None:
    locks = System(refuse=True).locks()
    array = np.zeros(10)
    assert locks.register(array) == 0
    locks.unregister(array)
    assert locks.register(np.zeros(0)) == 0


@pytest.mark.parametrize("writeable", [True, False])
def test_memory_that_is_mapped_for_reading(writeable: bool) -> None:
    system = System(only_read=True)
    array = np.zeros(10)
    array.flags.writeable = writeable
    assert (system.locks().register(array) != 0) is (not writeable)
    assert list(system.locked.values()) == ([] if writeable else [(80, 3 | 8)])

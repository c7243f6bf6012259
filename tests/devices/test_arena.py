"""Device memory within a budget, on a stand-in for a device that counts allocations."""

from __future__ import annotations

import random
import re

import pytest

from vlang.errors import OutOfMemory
from vlang.runtime.gpu.device.arena import GRAIN, Arena, Block, in_bytes

MIB = 1 << 20


class Counted:
    """A stand-in for a device with limited memory. `now` is the position in the device's queue of work."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.held, self.now, self.queued = capacity, dict[int, int](), 0, 0
        self.most = self.next = 0

    def malloc(self, nbytes: int) -> int | None:
        if sum(self.held.values()) + nbytes > self.capacity:
            return None
        self.next += 1 << 40
        self.held[self.next] = nbytes
        self.most = max(self.most, sum(self.held.values()))
        return self.next

    def release(self, pointer: int, size: int) -> None:
        self.now = self.queued
        del self.held[pointer]

    def mark(self) -> int:
        return self.queued

    def passed(self, mark: int) -> bool:
        return mark <= self.now


def test_the_message_has_the_need_the_budget_and_what_would_help() -> None:
    arena = Arena(Counted(1 << 40), 64 * MIB, "; a larger gpu_memory helps")
    arena.allocate(40 * MIB, "the first")
    with pytest.raises(OutOfMemory) as caught:
        arena.allocate(30 * MIB, "`rank`")
    assert str(caught.value) == ("`rank` needs 30.00 MiB of GPU memory, and 24.00 MiB of the 64.00 MiB that may be "
                                 "used are free; a larger gpu_memory helps")
    arena.allocate(24 * MIB, "the rest")
    assert arena.used == arena.budget


def test_a_device_that_has_less_than_the_budget() -> None:
    source = Counted(10 * MIB)
    arena = Arena(source, 64 * MIB)
    arena.free(arena.allocate(8 * MIB, "kept for reuse"))
    block = arena.allocate(9 * MIB, "needs what was kept")
    with pytest.raises(OutOfMemory, match=r"the GPU has no more, .* other programs"):
        arena.allocate(2 * MIB, "more")
    arena.free(block)
    arena.close()
    assert (arena.used, arena.cached, source.held) == (0, 0, {})


def test_memory_is_reused_when_the_work_on_it_is_done() -> None:
    source = Counted(1 << 40)
    arena = Arena(source, 64 * MIB)
    first = arena.allocate(MIB, "first")
    source.queued = 1
    arena.free(first)
    arena.free(first)
    assert (arena.used, arena.cached) == (0, MIB)
    second = arena.allocate(MIB, "while the work runs")
    assert second.pointer != first.pointer
    source.now = 1
    assert arena.allocate(MIB, "after the work").pointer == first.pointer
    assert (arena.used, arena.cached) == (2 * MIB, 0)


def test_what_is_handed_over_is_no_longer_accounted() -> None:
    source = Counted(1 << 40)
    arena = Arena(source, 64 * MIB)
    pointer = arena.hand_over(arena.allocate(MIB, "field"))
    assert arena.used == 0
    arena.close()
    assert list(source.held) == [pointer]


def test_sizes_are_rounded_up() -> None:
    arena = Arena(Counted(1 << 40), 3 * GRAIN)
    assert [arena.allocate(n, "x").size for n in (0, 1, GRAIN)] == [GRAIN] * 3
    with pytest.raises(OutOfMemory, match=r"x needs 1 bytes of GPU memory, and 0 bytes of the 1\.50 KiB"):
        arena.allocate(1, "x")


@pytest.mark.parametrize("seed", range(5))
def test_the_budget_is_never_passed(seed: int) -> None:
    print("seed", seed)
    rng = random.Random(seed)
    source = Counted(rng.choice([50, 100, 1000]) * 1000)
    arena = Arena(source, 100_000)
    live: dict[int, Block] = {}
    for step in range(2000):
        source.queued = step
        source.now = max(source.now, step - rng.randrange(20))
        if live and rng.random() < 0.5:
            arena.free(live.pop(rng.choice(list(live))))
        else:
            try:
                block = arena.allocate(rng.choice([10, 600, 3000, 3100, 20_000]), "block")
            except OutOfMemory:
                continue
            assert block.pointer not in live
            live[block.pointer] = block
        assert arena.used == sum(b.size for b in live.values())
        assert sum(source.held.values()) == arena.used + arena.cached <= arena.budget
    arena.close()
    assert not source.held
    assert source.most <= 100_000


def test_bytes_for_people() -> None:
    shown = [in_bytes(n) for n in (0, 1023, 1024, 3 * MIB // 2, 1 << 30, 5 << 40)]
    assert shown == ["0 bytes", "1023 bytes", "1.00 KiB", "1.50 MiB", "1.00 GiB", "5.00 TiB"]
    assert re.fullmatch(r"\d+ bytes", in_bytes(7))

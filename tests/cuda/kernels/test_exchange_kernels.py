"""The kernels that move values between devices are compared with NumPy for several warps, values of several words, and
every form of a message.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cuda.emulation.emulated import EmulatedDevice, needs_compiler
from vlang import load
from vlang.runtime.gpu.kernels.entries import EXCHANGE_PREPARATIONS, EXCHANGE_SIGNATURES, entry

pytestmark = needs_compiler

TYPES = ("u8", "u16", "u32", "u64")


@cache
def text() -> str:
    return load("sssp").plan(frozenset({"weight"}), target="cuda").text


class Card:
    """An emulated device with arrays."""

    def __init__(self, seed: int) -> None:
        self.device = EmulatedDevice(seed, flags=("-O0",))
        entries = dict([*(entry(name) for name in EXCHANGE_PREPARATIONS),
                        *(entry(name, one) for name in EXCHANGE_SIGNATURES for one in TYPES)])
        self.kernels = self.device.load(text(), entries)

    def put(self, array: NDArray[Any]) -> int:
        """Copy an array to the device; return the address of the copy."""
        at = self.device.allocate(array.nbytes, "an array").pointer
        self.device.upload(at, array)
        return at

    def get(self, at: int, like: NDArray[Any]) -> NDArray[Any]:
        found = np.empty_like(like)
        self.device.download(found, at)
        return found

    def run(self, name: str, *args: int, threads: int = 64, blocks: int = 3) -> None:
        self.device.launch(self.kernels[name], blocks, threads, args)


@pytest.mark.parametrize(("dtype", "width", "share"), [
    ("u32", 1, 0.01), ("u32", 1, 0.5), ("u64", 2, 0.1), ("u8", 3, 0.3), ("u16", 1, 1.0), ("u32", 2, 0.0),
])
def test_refined_values_arrive(dtype: str, width: int, share: float) -> None:
    """Changed values among 4,700 of 6,000 vertices arrive, both as a list and with a bitmap."""
    seed = 11
    print(f"seed {seed}")
    rng, card, count = np.random.default_rng(seed), Card(seed), 4_700
    values: NDArray[Any] = rng.integers(0, 200, (6_000, width)).astype(f"u{int(dtype[1:]) // 8}")
    places = np.sort(rng.choice(6_000, count, replace=False)).astype(np.uint32)
    before = values.copy()
    picked = rng.random(6_000) < share
    values[picked, rng.integers(width)] += 1
    changed = picked[places]
    words, warps = -(-count // 32), -(-count // 1024)
    at, its = card.put(values), card.put(places)
    sent, total = card.put(before[places]), card.put(np.zeros(1, np.uint64))
    bits, sums = (card.put(np.zeros(length, np.uint32)) for length in (words, warps))
    card.run(f"refine_values_{dtype}", at, its, count, width, 1, sent, bits, sums)
    card.run("sum_counts_kernel", sums, warps, total, threads=32, blocks=1)
    assert card.get(total, np.zeros(1, np.uint64))[0] == changed.sum()
    assert np.array_equal(card.get(sent, values[places]), values[places])
    found_bits = np.unpackbits(card.get(bits, np.zeros(words, np.uint32)).view(np.uint8), bitorder="little")[:count]
    assert np.array_equal(found_bits, changed)
    wanted, some = values[places][changed], int(changed.sum())
    packed = card.put(np.zeros_like(values[places]))
    listed = card.put(np.zeros(count, np.uint32))
    card.run(f"collect_values_{dtype}", bits, sums, count, width, sent, packed, listed)
    assert np.array_equal(card.get(packed, wanted), wanted)
    assert np.array_equal(card.get(listed, np.zeros(some, np.uint32)), np.flatnonzero(changed))
    again = card.put(np.zeros(warps, np.uint32))
    card.run("count_bits_kernel", bits, words, again)
    card.run("sum_counts_kernel", again, warps, total, threads=32, blocks=1)
    get = partial(card.get, like=before[places])
    by_list, by_bits = card.put(before[places]), card.put(before[places])
    card.run(f"place_listed_{dtype}", listed, packed, some, width, by_list)
    card.run(f"place_flagged_{dtype}", bits, again, count, width, packed, by_bits)
    assert np.array_equal(get(by_list), values[places])
    assert np.array_equal(get(by_bits), values[places])
    card.device.close()


def test_first_values_are_all_sent() -> None:
    """If no values were sent before, every value counts as changed. The outbox is not compared, since it contains
    garbage if no values were sent before.
    """
    card, count = Card(3), 70
    values = np.arange(100, dtype=np.uint32)
    at, its = card.put(values), card.put(np.arange(count, dtype=np.uint32))
    sent = card.device.allocate(4 * count, "the outbox").pointer
    bits, sums = (card.put(np.zeros(length, np.uint32)) for length in (3, 1))
    total = card.put(np.zeros(1, np.uint64))
    card.run("refine_values_u32", at, its, count, 1, 0, sent, bits, sums)
    card.run("sum_counts_kernel", sums, 1, total, threads=32, blocks=1)
    assert card.get(total, np.zeros(1, np.uint64))[0] == count
    assert np.array_equal(card.get(sent, values[:count]), values[:count])
    card.device.close()

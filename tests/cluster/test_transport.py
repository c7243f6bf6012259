"""Transports, ranges and messages, and the errors if ranks are at different places of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vlang import Graph
from vlang.errors import ClusterError
from vlang.runtime.cluster.job.launched import launched_ranks
from vlang.runtime.cluster.messages import (
    Picks,
    Reader,
    Sent,
    bytes_of,
    flag_part,
    joined_parts,
    value_part,
)
from vlang.runtime.cluster.ranges import Ranges, cut_ranges
from vlang.runtime.cluster.rank_reach import long_bits
from vlang.runtime.cluster.transports.thread_ranks import run_ranks
from vlang.runtime.cluster.transports.transport import Solo, Transport, agree, gathered, summed
from vlang.runtime.kernels import mirror_kernels, paged_frontier_kernels
from vlang.runtime.plan.layouts.reach_words import REACH_LONG
from vlang.runtime.plan.plan import BLOCK


def test_sums_and_values() -> None:
    def work(transport: Transport) -> tuple[list[int], int, list[int]]:
        parts = gathered(transport, np.arange(transport.rank, dtype=np.int32), "parts")
        return summed(transport, [transport.rank, 1], "sum"), agree(transport, transport.rank + 5, "a"), \
            [len(part) for part in parts]

    assert run_ranks(3, work) == [([3, 3], 5, [0, 1, 2])] * 3
    assert summed(Solo(), [4], "sum") == [4]


def test_ranks_at_different_places() -> None:
    """If each rank draws its next step at random, all ranks get an error instead of a deadlock."""
    def work(transport: Transport) -> None:
        rng = np.random.default_rng(transport.rank)
        for number in range(50):
            summed(transport, [1], f"step {number}, way {rng.integers(4)}")

    with pytest.raises(ClusterError, match=r"rank 0 at 'step .*rank 2 at 'step .*report this"):
        run_ranks(3, work)


def test_a_rank_that_fails() -> None:
    def work(transport: Transport) -> None:
        if transport.rank == 1:
            raise ValueError("no more")
        summed(transport, [1], "the step")

    with pytest.raises(ValueError, match="no more"):
        run_ranks(3, work)


def test_a_rank_that_does_not_come() -> None:
    def work(transport: Transport) -> None:
        if transport.rank:
            summed(transport, [1], "pass s1")

    with pytest.raises(ClusterError, match=r"have come within 0.1 s: rank [12] waits at 'pass s1'.*; missing: 0"):
        run_ranks(3, work, patience=0.1)


def test_ranges() -> None:
    """No rank has more than 1.1 times the mean work, and each block belongs to one rank."""
    rng = np.random.default_rng(3)
    work = (200 / (1 + np.arange(50_000)) ** 0.5 + rng.random(50_000) * 3).astype(np.int64)
    for size in (1, 2, 3, 4, 7, 64):
        ranges = cut_ranges(work, size)
        parts = [int(work[slice(*ranges.of(rank))].sum()) for rank in range(size)]
        assert max(parts) <= 1.1 * work.sum() / size
        blocks = [block for rank in range(size) for block in range(*ranges.blocks(rank))]
        assert blocks == list(range(-(-len(work) // BLOCK)))
    edges = np.sort(Graph.read("kron:14").row_lengths("in"))[::-1].astype(np.int64)  # by degree, as in a page file
    parts = [int(edges[slice(*cut_ranges(edges + 1, 4).of(rank))].sum()) for rank in range(4)]
    assert max(parts) <= 1.1 * edges.sum() / 4
    for n in range(4):
        ranges = cut_ranges(np.ones(n, np.int64), 7)
        assert ranges.n == n
        assert sorted(np.diff(ranges.bounds).tolist())[-1] <= 1
    inside = Ranges(np.array([0, 100, 300, 9000, 9000]))
    assert [inside.blocks(rank) for rank in range(4)] == [(0, 0), (0, 0), (0, 3), (2, 2)]
    assert [inside.padded(rank) for rank in range(4)] == [(0, 0), (0, 0), (0, 300), (0, 0)]
    assert inside.owners(np.array([0, 99, 100, 8999])).tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(("environ", "ranks"), [
    ({}, 0), ({"PMI_SIZE": "1"}, 1), ({"OMPI_COMM_WORLD_SIZE": "4"}, 4), ({"SLURM_STEP_NUM_TASKS": "8"}, 8),
    ({"SLURM_STEP_NUM_TASKS": "1"}, 0), ({"SLURM_NTASKS": "8"}, 0)])
def test_launched_ranks(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], ranks: int) -> None:
    """mpiexec and srun are detected from the environment. The shell of a SLURM script is no rank, and starts ranks."""
    for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)
    for name, size in environ.items():
        monkeypatch.setenv(name, size)
    assert launched_ranks() == ranks


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.int64])
@pytest.mark.parametrize("width", [1, 3])
def test_messages(dtype: type, width: int) -> None:
    """Values arrive unchanged as a list, with a bitmap, complete, or without any value. The message has the expected
    size.
    """
    rng = np.random.default_rng(width)
    n, size = 700, np.dtype(dtype).itemsize * width
    places = np.flatnonzero(rng.random(n) < 0.6).astype(np.uint32)
    values: NDArray[Any] = np.zeros(n * width, dtype)
    sent = Sent.of(len(places), size)
    mirrors: list[NDArray[Any]] = [np.zeros(len(places) * width, dtype) for _ in range(2)]
    for part in (0, 1, 1, 1 / 300, 1 / 300, 1 / 12, 0.5, 1, 0):
        which = rng.permutation(n)[: int(part * n)]
        values.reshape(n, width)[which, -1] = rng.integers(1, 100, len(which))
        before, dense = sent.values.copy(), sent.dense
        message = joined_parts(value_part(values, places, size, sent, known=True))
        changes = int((before != sent.values).reshape(len(places), size).any(axis=1).sum())
        forms = bytes_of(len(places), changes, size)
        assert len(message) == 8 + (forms[-1] if dense and changes else min(forms) if changes else 0)
        assert sent.dense == (changes > 0 and forms[-1] <= min(forms))
        Reader(message).values(mirrors, size)
        for mirror in mirrors:
            assert np.array_equal(mirror.reshape(-1, width), values.reshape(n, width)[places])


def test_flags() -> None:
    flags = np.zeros(500, np.uint8)
    places = np.arange(0, 500, 2, dtype=np.uint32)
    for count in (0, 1, 100):
        flags[:] = 2
        flags[:count] |= 1
        message = joined_parts(flag_part(flags, places))
        found = np.zeros(len(places), np.uint8)
        Reader(message).flags(found)
        assert np.array_equal(found, flags[places] & 1)
        assert len(message) <= 8 + min(bytes_of(len(places), -(-count // 2), 0))


@pytest.mark.parametrize("share", [0.0, 0.002, 0.2, 0.7, 1.0])
def test_fronts(share: float) -> None:
    """The frontier among the mirrored vertices arrives at the mirrors, from lists, sparse and dense bitmaps."""
    rng, n, low, high = np.random.default_rng(int(1000 * share)), 1 << 12, 130, 3900
    for wanted_share in (0.3, 0.98, 1.0):
        wanted = low + np.flatnonzero(rng.random(high - low) < wanted_share).astype(np.uint32)
        flags = np.zeros(n, np.uint8)
        flags[low:high] = rng.random(high - low) < share
        front = np.packbits(flags, bitorder="little").view(np.uint64)
        degrees = rng.integers(0, 1 << 30, n).astype(np.uint32)
        edges = paged_frontier_kernels()["edges_of"](front, n, degrees)
        assert edges == int(degrees[flags == 1].sum(dtype=np.int64))

        first = 77  # the mirrors begin inside of a word
        picks, begin = Picks.of(wanted), 3
        message, memory = np.full(begin + 1 + -(-n // 64), 7, np.uint64), np.full(-(-n // 64), 7, np.uint64)
        words = mirror_kernels()["front_message"](
            front[picks.first :], picks.bits, picks.before, len(picks.bits), len(wanted), memory, message, begin)
        assert 8 * words <= 8 + min(bytes_of(len(wanted), int(flags[wanted].sum()), 0)[:2])
        degree = np.where(rng.random(n + first) < 0.01, REACH_LONG + 5, 3)
        offsets = np.concatenate([[0], np.cumsum(degree)]).astype(np.uint64)
        here, longs, one = np.zeros(-(-(n + first) // 64), np.uint64), np.zeros(2 * n, np.uint64), np.full(1, -1)
        count = mirror_kernels()["front_read"](
            message[: begin + words].copy(), begin, first, len(wanted), here, long_bits(offsets), offsets, longs, 0,
            one)
        chosen = first + np.flatnonzero(flags[wanted])
        found = np.flatnonzero(np.unpackbits(here.view(np.uint8), bitorder="little"))
        assert found.tolist() == chosen.tolist()
        assert sorted(longs[:count].tolist()) == sorted(
            (part << 32) | v for v in chosen[degree[chosen] > REACH_LONG].tolist() for part in range(2))
        assert one[0] in chosen if len(chosen) else one[0] == -1
        listed = wanted[flags[wanted] == 1]
        cuts = mirror_kernels()["cut_rows"](listed, len(listed), offsets, longs)
        assert cuts == 2 * int((degree[listed] > REACH_LONG).sum())

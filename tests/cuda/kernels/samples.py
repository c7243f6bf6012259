"""The hand-written passes of samples.cuh, their NumPy equivalents, and graphs with rows of every relevant length."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.emit.cuda.cuda_target import CudaTarget
from vlang.runtime.plan.gpu_stage import GpuStage
from vlang.runtime.plan.plan import FIRST_SLOT, SEGMENT, SLOT_LONGS, SLOT_SEGMENTS, SLOT_STATS

__all__ = ["HUB", "SAMPLES", "Rows", "Sample", "State", "random_rows", "sample_text"]

HUB = 40_000  # edges of the largest vertex: more than two segments
Array = NDArray[Any]


def sample_text() -> str:
    """Return the text of the skeletons, followed by the samples."""
    return CudaTarget().module([], [], [], {}).text + (Path(__file__).parent / "samples.cuh").read_text()


@dataclass(frozen=True)
class Rows:
    """An adjacency: offsets u64[n + 1], targets u32[m], weights f32[m]."""

    offsets: Array
    targets: Array
    weights: Array

    @property
    def n(self) -> int:
        """The number of vertices."""
        return len(self.offsets) - 1

    def segments(self) -> tuple[Array, Array]:
        """Return the tables of segments and of long vertices: i64[S, 3] and i64[L, 3]."""
        pieces: list[tuple[int, int, int]] = []
        longs: list[tuple[int, int, int]] = []
        degrees = np.diff(self.offsets).astype(np.int64)
        for v in np.flatnonzero(degrees > SEGMENT).tolist():
            begin, end = int(self.offsets[v]), int(self.offsets[v + 1])
            first = len(pieces)
            pieces += [(v, k, min(k + SEGMENT, end)) for k in range(begin, end, SEGMENT)]
            longs.append((v, first, len(pieces)))
        return np.array(pieces, np.int64).reshape(-1, 3), np.array(longs, np.int64).reshape(-1, 3)


def random_rows(rng: np.random.Generator, degrees: Array, n: int | None = None) -> Rows:
    """Return rows of the given degrees with random targets among n vertices (default: the number of rows)."""
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint64)
    count = int(offsets[-1])
    targets = rng.integers(0, max(1, n or len(degrees)), count).astype(np.uint32)
    return Rows(offsets, targets, rng.random(count, dtype=np.float32))


class State:
    """Arrays of a run over n vertices, and the frame with the addresses of the arrays.

    Attributes:
        parts: space for partial results.
    """

    def __init__(self, rng: np.random.Generator, rows: Rows, dtypes: tuple[str, str] = ("f4", "f4")) -> None:
        n = rows.n
        self.values = rng.standard_normal(n).astype(np.float32)
        self.numbers = rng.integers(-1000, 20, n).astype(np.int32)
        self.chosen = (rng.random(n) < 0.9).astype(np.uint8)
        self.results = [np.zeros(n, dtypes[0]), np.zeros(n, dtypes[1])]
        self.longs = rows.segments()
        room = len(self.longs[0]) + n // 4096 + 2
        self.parts = [np.full(4 * room, np.nan) for _ in range(4)]  # a partial result has at most 32 bytes
        self.stats = np.zeros(4, np.uint64)
        self.frame = np.zeros(FIRST_SLOT + 10, np.uint64)
        self.frame[SLOT_STATS] = self.stats.ctypes.data
        self.frame[SLOT_SEGMENTS], self.frame[SLOT_LONGS] = (t.ctypes.data for t in self.longs)
        arrays: list[Array] = [self.values, self.numbers, self.chosen, *self.results, *self.parts]
        for slot, array in enumerate(arrays):
            self.frame[FIRST_SLOT + slot] = array.ctypes.data


@dataclass(frozen=True)
class Sample:
    """A hand-written pass.

    Attributes:
        gpu: the properties of the pass for the engine.
        dtypes: the types of its results.
        expected: a function that computes the results in NumPy.
        exact: whether results must be equal bit by bit.
        early: whether some vertices of the pass need not gather.
    """

    gpu: GpuStage
    dtypes: tuple[str, str]
    expected: Callable[[State, Rows], tuple[Array, ...]]
    exact: bool = True
    early: bool = False


def by_row(ufunc: np.ufunc, start: Any, rows: Rows, values: Array, chosen: Array) -> Array:
    """Return the reduction of edge values by row. Rows that are empty or not chosen get `start`."""
    result = np.full(rows.n, start, values.dtype)
    filled = np.flatnonzero(np.diff(rows.offsets) > 0)
    if len(filled):
        result[filled] = ufunc.reduceat(values, rows.offsets[filled].astype(np.int64))
    result[chosen == 0] = start
    return result


def _total(s: State, rows: Rows) -> tuple[Array, ...]:
    each = (s.values[rows.targets] * rows.weights).astype(np.float64)
    return (by_row(np.add, 0.0, rows, each, s.chosen).astype(np.float32),)


def _apart(s: State, rows: Rows) -> tuple[Array, ...]:
    own = np.repeat(s.values, np.diff(rows.offsets).astype(np.int64))
    each = np.abs(s.values[rows.targets] - own).astype(np.float64)
    return (by_row(np.add, 0.0, rows, each, s.chosen).astype(np.float32),)


def _least(s: State, rows: Rows) -> tuple[Array, ...]:
    return (by_row(np.minimum, 2**31 - 1, rows, s.numbers[rows.targets], s.chosen),)


def _nearest(s: State, rows: Rows) -> tuple[Array, ...]:
    each = s.values[rows.targets] + rows.weights
    best = by_row(np.minimum, np.inf, rows, each, s.chosen)
    ties = each == np.repeat(best, np.diff(rows.offsets).astype(np.int64))
    who = by_row(np.minimum, 2**32 - 1, rows, np.where(ties, rows.targets, np.uint32(2**32 - 1)), s.chosen)
    return best, who


def _some(s: State, rows: Rows) -> tuple[Array, ...]:
    each = (s.numbers[rows.targets] > 0).astype(np.uint8)
    return (by_row(np.maximum, 0, rows, each, s.chosen) | s.results[1],)


def _several(s: State, rows: Rows) -> tuple[Array, ...]:
    count = by_row(np.add, 0, rows, (s.numbers[rows.targets] > 0).astype(np.uint32), s.chosen)
    sums = by_row(np.add, 0.0, rows, s.values[rows.targets].astype(np.float64), s.chosen)
    degrees = np.where(s.chosen, np.diff(rows.offsets), 0)
    means = np.where(degrees > 0, sums / np.maximum(degrees, 1), -1.0)
    return means.astype(np.float32), count


SAMPLES: Mapping[str, Sample] = {
    "total": Sample(GpuStage("total", 4, 8, 8, exact=False), ("f4", "f4"), _total, exact=False),
    "apart": Sample(GpuStage("apart", 4, 8, 8, exact=False, reads_self=True), ("f4", "f4"), _apart, exact=False),
    "least": Sample(GpuStage("least", 4, 4, 4, native=True), ("i4", "i4"), _least),
    "nearest": Sample(GpuStage("nearest", 8, 8, 8), ("f4", "u4"), _nearest),
    "some": Sample(GpuStage("some", 1, 1, 1, native=True, early="absorbing"), ("u1", "u1"), _some, early=True),
    "several": Sample(GpuStage("several", 24, 32, 21, exact=False), ("f4", "u4"), _several, exact=False),
}

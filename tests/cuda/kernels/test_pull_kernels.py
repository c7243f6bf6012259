"""The kernels of full passes run on the CPU over hand-written passes, and are compared with NumPy."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from tests.cuda.emulation.gxx import ORDERS, Library, compile_text, needs_compiler
from tests.cuda.kernels.samples import HUB, SAMPLES, Array, Rows, State, random_rows, sample_text
from vlang.runtime.gpu.kernels.entries import PREPARATIONS, cell_count, entry, row_block_count, shared_bytes
from vlang.runtime.plan.plan import (
    BLOCK,
    ROW_BLOCKS,
    ROW_COLUMNS,
    ROW_OFFSETS,
    ROW_PLACES,
    ROW_REPLICAS,
    ROW_SHARDS,
    ROW_TARGETS,
    ROW_WORDS,
    SEGMENT,
)

pytestmark = needs_compiler
SEED = 20261121
LANES = (2, 4, 8, 16, 32)
REPLICAS = (1, 2, 4, 8, 16, 32)
KERNELS = (("pull_thread", ()), *(("pull_lanes", (lanes,)) for lanes in LANES), ("pull_segmented", ()),
           ("pull_stream", ()), *(("pull_shards", (r,)) for r in REPLICAS))
Kernel = tuple[str, tuple[int, ...]]


@functools.cache
def library() -> Library:
    """Return a compiled library of every kernel for every sample."""
    wanted = [("segments", ()), ("finish", ()), ("finish_list", ()), ("pull_shards", ()),
              *(k for k in KERNELS if k[0] != "pull_shards")]
    entries = dict(entry(template, struct, *constants) for struct in SAMPLES for template, constants in wanted)
    entries |= dict([entry("pull_shards", "copies"), entry("compute", "plain"),
                     entry("messages", "total"), entry("messages_list", "total"),
                     entry("fold", "folded"), entry("scalar", "folded"), entry("fold_scalar", "folded"),
                     entry("scalar", "constant")])
    entries |= dict(entry(name) for name in PREPARATIONS)
    return compile_text(sample_text(), entries)


class Device:
    """A device for kernels over one adjacency, with a given order of lanes and number of threads."""

    def __init__(self, struct: str, rows: Rows, state: State, threads: int, order: str, seed: int) -> None:
        self.struct, self.rows, self.state, self.threads = struct, rows, state, threads
        self.order, self.seed = order, seed
        self.gpu = SAMPLES[struct].gpu
        self.row = np.zeros(ROW_WORDS, np.uint64)
        self.row[ROW_OFFSETS] = rows.offsets.ctypes.data
        self.row[ROW_TARGETS] = rows.targets.ctypes.data
        self.row[ROW_COLUMNS] = rows.weights.ctypes.data

    def launch(self, name: str, blocks: int, args: tuple[int, ...], shared: int) -> None:
        """Run one kernel."""
        library().run(name, blocks, self.threads, args, shared, order=self.order, seed=self.seed)

    def run(self, template: str, constants: tuple[int, ...], low: int, high: int, blocks: int = 0) -> None:
        """Run a pull kernel over the items low..high - 1 with a number of blocks (default: as many as needed)."""
        struct = entry(template, self.struct, *constants)[0]
        cells = self._cells if template == "pull_shards" else 0
        shared = shared_bytes(template, self.gpu, self.threads, cells)
        lanes = {"pull_lanes": constants[0] if constants else 1, "pull_stream": self.threads,
                 "pull_shards": self.threads, "segments": self.threads}.get(template, 1)
        blocks = blocks or max(1, -(-(high - low) * lanes // self.threads))
        args = (self.state.frame.ctypes.data, self.row.ctypes.data, low, high)
        self.launch(struct, blocks, args if template != "finish" else (args[0], low, high), shared)

    def page(self, kernel: Kernel, low: int, high: int, blocks: int = 0) -> None:
        """Process the vertices low..high - 1, except long vertices."""
        template, constants = kernel
        if template == "pull_stream":
            count = self._row_blocks(low, high)
            self.run(template, constants, 0, count, blocks)
        elif template == "pull_shards":
            count = self._shards(low, high, constants[0])
            self.run(template, (), 0, count, blocks)
        else:
            self.run(template, constants, low, high, blocks)

    def longs(self) -> None:
        """Process the long vertices."""
        segments, longs = self.state.longs
        if len(longs):
            self.run("segments", (), 0, len(segments))
            self.run("finish", (), 0, len(longs))

    def _row_blocks(self, low: int, high: int) -> int:
        offsets = self.rows.offsets
        count = row_block_count(int(offsets[high]) - int(offsets[low]), high - low)
        self._blocks = np.full(count + 1, 2**32 - 1, np.uint32)
        args = (offsets.ctypes.data, self._blocks.ctypes.data, low, high, count)
        self.launch("row_blocks_kernel", 2, args, 0)
        assert self._blocks[0] == low
        assert self._blocks[-1] == high
        assert (np.diff(self._blocks.astype(np.int64)) >= 0).all()
        self.row[ROW_BLOCKS] = self._blocks.ctypes.data
        return count

    def _shards(self, low: int, high: int, replicas: int) -> int:
        bounds = np.unique(np.concatenate([np.arange(low, high, 24), [high]])).astype(np.uint32)
        self._bounds, self._replicas = bounds, np.full(max(1, len(bounds) - 1), replicas, np.uint8)
        self._places = np.full(len(self.rows.targets), 2**16 - 1, np.uint16)
        count = len(bounds) - 1
        if count:
            args = (self.rows.offsets.ctypes.data, bounds.ctypes.data, self._places.ctypes.data, 0, count)
            self.launch("places_kernel", 3, args, 0)
        self._cells = cell_count(24, replicas)
        for word, array in ((ROW_SHARDS, bounds), (ROW_REPLICAS, self._replicas), (ROW_PLACES, self._places)):
            self.row[word] = array.ctypes.data
        return count


def mixed(rng: np.random.Generator, n: int, hub: bool) -> Rows:
    """Return rows of every length that some kernel handles separately, in random order, and also isolated vertices and
    a hub.
    """
    degrees = rng.choice([0, 0, 1, 2, 3, 5, 9, 16, 31, 32, 33, 34, 64, 65, 100], n)
    for length in (1023, 1024, 1025, 1500, 2047, 2048, 2100)[: max(0, n // 20)]:
        degrees[rng.integers(n)] = length
    if hub:
        degrees[rng.integers(n)] = HUB
    return random_rows(rng, degrees)


def state_of(struct: str, rng: np.random.Generator, rows: Rows, cancel: bool = False) -> State:
    """Return a state with initial values. If the pass has final vertices, some vertices are final.

    Args:
        cancel: whether large values of both signs are mixed with small values. Sums then depend on the order of the
            edges, even after rounding to f32.
    """
    state = State(rng, rows, SAMPLES[struct].dtypes)
    if cancel:
        state.values[:] = np.where(rng.random(rows.n) < 0.3, rng.choice([-1e20, 1e20], rows.n), state.values)
    if SAMPLES[struct].early:
        state.results[1][:] = rng.random(rows.n) < 0.2
    return state


def swept(struct: str, rows: Rows, kernel: Kernel, seed: int, threads: int = 256, cuts: tuple[int, ...] = (),
          blocks: int = 0, order: str = "random", cancel: bool = False) -> tuple[State, list[Array]]:
    """Run a full pass with a kernel in pages cut at `cuts`. Return the state, and the results."""
    state = state_of(struct, np.random.default_rng(seed), rows, cancel)
    device = Device(struct, rows, state, threads, order, seed)
    bounds = (0, *cuts, rows.n)
    for low, high in itertools.pairwise(bounds):
        device.page(kernel, low, high, blocks)
    device.longs()
    return state, state.results


def check(struct: str, rows: Rows, state: State, seed: int, about: str) -> None:
    """Compare results and counts with NumPy."""
    sample = SAMPLES[struct]
    before = state_of(struct, np.random.default_rng(seed), rows)
    expected = sample.expected(before, rows)
    for one, (found, right) in enumerate(zip(state.results, expected)):
        if sample.exact or right.dtype.kind != "f":
            np.testing.assert_array_equal(found, right, about)
        else:
            np.testing.assert_allclose(found, right, rtol=2e-6, atol=1e-4 * 2e-3, err_msg=f"{about}, result {one}")
    flags = [(f != b, f > 0) for f, b in zip(state.results, before.results)][: len(expected)]
    changed, active = (np.logical_or.reduce(which).sum() for which in zip(*flags))
    assert state.stats.tolist()[:2] == [changed, active], about


def seeds() -> Iterator[int]:
    """Return seeds of random graphs."""
    return iter(range(SEED, SEED + 3))


@pytest.mark.parametrize("struct", SAMPLES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: "-".join(map(str, (k[0], *k[1]))))
def test_kernel_agrees_with_numpy(struct: str, kernel: Kernel) -> None:
    for number, seed in enumerate(seeds()):
        rows = mixed(np.random.default_rng(seed), (197, 1, 331)[number], hub=number == 0)
        for threads in (64, 128, 256):
            about = f"{struct} {kernel} seed {seed} threads {threads}"
            order, blocks = ORDERS[(number + threads // 64) % 3], (0, 2, 1)[number]
            state, _ = swept(struct, rows, kernel, seed, threads, blocks=blocks, order=order)
            check(struct, rows, state, seed, about)


@pytest.mark.parametrize("struct", SAMPLES)
def test_pages_and_launches_do_not_change_bits(struct: str) -> None:
    for kernel in KERNELS[:8]:  # without the atomic kernels
        for seed in seeds():
            rng = np.random.default_rng(seed)
            rows = mixed(rng, 205, hub=False)
            rows.weights[:] = 1
            _, whole = swept(struct, rows, kernel, seed, cancel=True)
            cuts = tuple(sorted({1, *rng.integers(0, rows.n, 4).tolist()}))
            for blocks in (0, 1, 3):
                _, cut = swept(struct, rows, kernel, seed, cuts=cuts, blocks=blocks, order="descending", cancel=True)
                for a, b in zip(whole, cut):
                    np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8), f"{kernel} {seed} {cuts}")


def test_bits_are_those_of_the_edges_in_order() -> None:
    """The results have the same bits as a reduction of the edges in order, if one thread reduces each row. The bits are
    the same for a thread per vertex, and for the rows that pull_stream gives to one thread.
    """
    rows = random_rows(np.random.default_rng(SEED), np.arange(33).repeat(5))
    before = state_of("total", np.random.default_rng(SEED), rows)
    each = (before.values[rows.targets] * rows.weights).astype(np.float64)
    pairs = itertools.pairwise(rows.offsets.astype(np.int64))
    right = [np.float32(functools.reduce(lambda a, b: a + b, each[a:b].tolist(), 0.0)) for a, b in pairs]
    for kernel in (KERNELS[0], ("pull_stream", ())):
        _, (found, _) = swept("total", rows, kernel, SEED)
        np.testing.assert_array_equal(found, np.where(before.chosen, right, np.float32(0)))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: "-".join(map(str, (k[0], *k[1]))))
def test_graphs_without_edges(kernel: Kernel) -> None:
    for n in (0, 1, 31, 32, 33, 600, 5000):
        rows = random_rows(np.random.default_rng(SEED), np.zeros(n, np.int64))
        state, _ = swept("several", rows, kernel, SEED, 128)
        check("several", rows, state, SEED, f"{kernel} {n}")


def test_rows_that_only_just_fit() -> None:
    """Results are right for row blocks of extreme shapes: blocks that begin with empty rows, blocks that end in a row
    of any length, and blocks of two rows that need a whole block each.
    """
    for number, degrees in enumerate((
        [0] * 2047 + [1024], [2047, 16384], [1500, 400, 16384], [1200, 847, 1025], [16384, 16384], [2046, 1, 1024],
        [HUB, 3, HUB, 1025, 0, 0], [0] * 4096 + [7], [32] * 200, [33] * 200, [1024] * 5, [1025] * 5, [16385],
    )):
        rows = random_rows(np.random.default_rng(number), np.array(degrees))
        for struct in ("total", "apart", "several"):
            state, _ = swept(struct, rows, ("pull_stream", ()), SEED, (64, 256)[number % 2])
            check(struct, rows, state, SEED, f"{struct} {degrees[:9]}")


@pytest.mark.parametrize("replicas", REPLICAS)
def test_lanes_update_different_copies(replicas: int) -> None:
    """Neighbouring edges are joined to different copies. All copies are used if a vertex has at least as many edges as
    there are copies.
    """
    rows = mixed(np.random.default_rng(SEED), 200, hub=True)
    state = state_of("least", np.random.default_rng(SEED), rows)
    device = Device("least", rows, state, 64, "random", SEED)
    device.struct = "copies"  # with the cells of "least"
    device.page(("pull_shards", (replicas,)), 0, rows.n)
    degrees = np.diff(rows.offsets.astype(np.int64))
    seen = (degrees <= SEGMENT) & (state.chosen != 0)
    np.testing.assert_array_equal(-state.results[0][seen], np.minimum(degrees[seen], replicas))


@pytest.mark.parametrize("threads", [64, 256])
def test_lists_of_long_vertices(threads: int) -> None:
    rows = random_rows(np.random.default_rng(SEED), np.array([3, HUB, 20_000, 0, 17_000]))
    state = state_of("least", np.random.default_rng(SEED), rows)
    device = Device("least", rows, state, threads, "random", SEED)
    segments, _ = state.longs
    device.run("segments", (), 0, len(segments))
    listed, count = np.array([2, 0, 9], np.uint32), np.array([2], np.uint64)
    name = entry("finish_list", "least")[0]
    device.launch(name, 1, (state.frame.ctypes.data, listed.ctypes.data, count.ctypes.data), 8 * threads // 32)
    (expected,) = SAMPLES["least"].expected(state, rows)
    assert state.results[0].tolist() == [0, expected[1], 0, 0, expected[4]]


@pytest.mark.parametrize("threads", [64, 256])
def test_passes_over_vertices(threads: int) -> None:
    for n in (0, 1, 3, 1000, BLOCK, BLOCK + 1, 3 * BLOCK + 77):
        rows = random_rows(np.random.default_rng(SEED), np.zeros(n, np.int64))
        state = State(np.random.default_rng(SEED), rows)
        frame = state.frame.ctypes.data
        note, fold = shared_bytes("compute", None, threads), shared_bytes("fold", None, threads)
        library().run("compute_plain", 3, threads, (frame, 0, n), note)
        right = state.values + state.numbers.astype(np.float32)
        np.testing.assert_array_equal(state.results[0], right)
        assert state.stats[:2].tolist() == [np.count_nonzero(right), np.count_nonzero(right > 0)]
        library().run("messages_total", 2, threads, (frame, n // 2, n), 0)
        listed, count = np.array([0, n // 3], np.uint32), np.array([min(n, 2)], np.uint64)
        library().run("messages_list_total", 1, threads, (frame, listed.ctypes.data, count.ctypes.data), 0)
        right[n // 2 :] = 2 * state.values[n // 2 :]
        right[listed[: min(n, 2)]] = 2 * state.values[listed[: min(n, 2)]]
        np.testing.assert_array_equal(state.results[0], right)
        library().run("fold_folded", 2, threads, (frame, 0, n, 0), fold, order="random", seed=SEED)
        library().run("scalar_folded", 1, threads, (frame, -(-n // BLOCK)), fold)
        value = state.frame[17:18].view(np.float64)[0]
        largest = state.numbers.max() if n else -(2**31)
        assert value == pytest.approx(state.values.astype(np.float64).sum() + largest, rel=1e-9)
        for order in ("ascending", "random") if n else ():
            state.frame[17], blocks = 0, -(-n // BLOCK)
            library().run("fold_scalar_folded", blocks, threads, (frame, n, blocks), fold, order=order, seed=SEED)
            assert (state.frame[17:18].view(np.float64)[0], state.stats[2]) == (value, 0)
        library().run("scalar_constant", 1, threads, (frame, 0), fold)
        assert state.frame[17] == 42


def test_entries_say_what_they_call() -> None:
    name, text = entry("pull_lanes", "s1", 8)
    assert name == "pull_lanes_s1_8"
    assert text == ('extern "C" __global__ void __launch_bounds__(256) pull_lanes_s1_8(u64* frame, const u64* row, '
                    "u64 low, u64 high) { pull_lanes<s1, 8>(frame, row, low, high); }\n")
    with pytest.raises(KeyError):
        entry("pull_backwards", "s1")
    with pytest.raises(KeyError):
        shared_bytes("pull_backwards")

"""Two choices: the kernel for a page, and the number of cell copies for a shard. The timings of a device change both
choices.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cuda.emulation.emulated import EmulatedDevice, needs_compiler
from vlang import Graph
from vlang.emit import cuda
from vlang.errors import BindError
from vlang.runtime.compile import cachedir
from vlang.runtime.gpu.device.device import DeviceInfo
from vlang.runtime.gpu.kernels import calibrate
from vlang.runtime.gpu.kernels.choose_kernel import NAMES, choose_kernel, choose_kernels, grid, template_of
from vlang.runtime.gpu.kernels.entries import SIGNATURES, cell_count, shared_bytes
from vlang.runtime.gpu.kernels.replication import (
    DEFAULTS,
    Constants,
    check_replication,
    class_of,
    replicas_of,
    shard_vertices,
)
from vlang.runtime.gpu.kernels.row_lengths import Rows, page_rows, whole_rows
from vlang.runtime.plan.gpu_stage import GpuStage
from vlang.runtime.plan.plan import SEGMENT

H200_SHARED = 227 << 10
FLOAT_SUM = GpuStage("s1", item=4, accumulator=8, cell=8, native=False, exact=False)
FLOAT_MIN = GpuStage("s1", item=4, accumulator=4, cell=4, native=True, exact=True)
HOLISTIC = GpuStage("s1", item=8, accumulator=64, cell=0, cell_reason="mode needs all values at once")


def rows_of(degrees: Any) -> Rows:
    return Rows.measured(np.concatenate(([7], 7 + np.cumsum(degrees, dtype=np.int64))))


# ---------------------------------------------------------------------------------------------------------- kernels
@pytest.mark.parametrize("name", NAMES[1:-2])
def test_kernel_asked_for(name: str) -> None:
    choice = choose_kernel(FLOAT_MIN, 1000, 16000, name)
    assert (choice.name, choice.reason) == (name, "as asked")
    assert (choice.template, choice.constants) == template_of(name)
    assert choice.template in SIGNATURES


def test_no_such_kernel() -> None:
    with pytest.raises(BindError, match=r"kernel is one of 'auto', 'thread', .*, not 'warp'"):
        choose_kernel(FLOAT_MIN, 10, 10, "warp")


def test_edge_without_cells_gives_way() -> None:
    for deterministic in (False, True):
        choice = choose_kernel(HOLISTIC, 1000, 16000, "edge", deterministic)
        assert choice.name != "edge"
        assert choice.reason.startswith("edge cannot run this pass: mode needs all values at once; ")


def test_deterministic_refuses_what_depends_on_timing() -> None:
    with pytest.raises(BindError, match=r"depends on timing.*deterministic=True"):
        choose_kernel(FLOAT_SUM, 1000, 16000, "edge", deterministic=True)
    assert choose_kernel(FLOAT_MIN, 1000, 16000, "edge", deterministic=True).name == "edge"
    assert choose_kernel(FLOAT_SUM, 1000, 16000, "edge").name == "edge"


@pytest.mark.parametrize("density", [0, 1, 3, 9, 40, 600])
def test_deterministic_never_takes_edge_for_float_sums(density: int) -> None:
    degrees = np.random.default_rng(density).poisson(density, 5000)
    choice = choose_kernel(FLOAT_SUM, 5000, int(degrees.sum()), deterministic=True, rows=rows_of(degrees))
    assert choice.name != "edge"


def test_density_decides() -> None:
    def chosen(degrees: Any, stage: GpuStage = FLOAT_SUM) -> str:
        return choose_kernel(stage, len(degrees), int(degrees.sum()), rows=rows_of(degrees)).name

    rng = np.random.default_rng(3)
    assert chosen(np.ones(1 << 20, dtype=np.int64)) == "thread"  # each lane has one edge
    assert chosen(np.full(1 << 20, 4)) == "thread"  # the lanes of a warp read the same lines
    assert chosen(rng.poisson(2, 1 << 20)) == "stream"  # a warp with a thread per row would wait for its longest row
    skewed = np.minimum(SEGMENT, rng.pareto(1.2, 1 << 18) * 4).astype(np.int64)
    assert chosen(skewed) in ("stream", "warp-segmentation")  # with a thread per row, a warp would wait for one row
    assert chosen(np.full(1000, 0)) in NAMES


def test_the_hybrid_by_density() -> None:
    """Each page uses one of the two kernels of the paper, with a thread or a warp per vertex, even if another kernel is
    faster.
    """
    pages = [rows_of(np.full(1 << 14, degree)) for degree in (1, 4, 64, 512)]
    chosen = [one.name for one in choose_kernels(FLOAT_SUM, pages, "density", deterministic=True)]
    assert chosen == ["thread", "thread", "virtual-warp-32", "virtual-warp-32"]
    alone = choose_kernel(FLOAT_SUM, 1 << 20, 1 << 21, "density")
    assert alone.name in ("thread", "virtual-warp-32")
    assert "expected" in alone.reason


def test_stream_needs_room() -> None:
    wide = replace(FLOAT_SUM, item=256, accumulator=256)
    choice = choose_kernel(wide, 1000, 16000, "stream")
    assert choice.name != "stream"
    assert "bytes of shared memory" in choice.reason
    small = choose_kernel(FLOAT_MIN, 1000, 16000, "stream", shared=8 << 10)
    assert small.name != "stream"


def test_rows_as_measured() -> None:
    degrees = np.array([0, 1, 33, 5, SEGMENT + 1, 2] * 16)  # long vertices go to another kernel
    rows = rows_of(degrees)
    assert (rows.vertices, rows.edges, rows.longest) == (96, int(degrees.sum()), 33)
    short = np.where(degrees > SEGMENT, 0, degrees).reshape(3, 32)
    for number, lanes in enumerate((1, 2, 4, 8, 16, 32)):
        slots = 0
        for warp in short.tolist():
            for first in range(0, 32, 32 // lanes):
                slots += 32 * max(-(-d // lanes) for d in warp[first : first + 32 // lanes])
        assert rows.waste[number] == pytest.approx(max(1.0, slots / short.sum()))
    even = Rows.even(64, 64 * 6)
    assert even.waste == pytest.approx(rows_of(np.full(64, 6)).waste)
    assert Rows.measured(np.zeros(1, np.uint32)).edges == 0


def test_rows_are_measured_once_for_all_pages() -> None:
    rng = np.random.default_rng(8)
    degrees = np.minimum(rng.pareto(1.1, 90_000) * 3, 2 * SEGMENT).astype(np.int64)
    dst = np.repeat(np.arange(len(degrees)), degrees)
    side = Graph.from_edges(np.zeros_like(dst), dst, n=len(degrees)).adjacency("in")
    lows = np.array([0, 10, 10, 40_007, 40_008, 90_000])
    for one, low, high in zip(page_rows(side, lows), lows, lows[1:]):
        assert one == rows_of(degrees[low:high])
    assert page_rows(side, lows) is page_rows(side, lows.copy())
    assert page_rows(side, lows[[0, -1]])[0] is whole_rows(side)
    assert whole_rows(side) == rows_of(degrees)


@pytest.mark.parametrize(("template", "constants", "blocks"), [
    ("pull_thread", (), 4), ("pull_lanes", (8,), 32), ("pull_segmented", (), 4), ("compute", (), 4),
    ("pull_stream", (), 1000), ("pull_shards", (), 1000), ("segments", (), 1000), ("finish", (), 125),
])
def test_grid(template: str, constants: tuple[int, ...], blocks: int) -> None:
    assert grid(template, constants, 1000) == blocks
    assert grid(template, constants, 0) == 1
    assert grid(template, constants, 1 << 50) == 2**31 - 1


# ---------------------------------------------------------------------------------------------------------- replicas
@pytest.mark.parametrize(("density", "garaph", "loop", "native"), [
    (0.5, 1, 1, 1), (2, 2, 1, 1), (8, 8, 4, 1), (32, 32, 16, 4), (128, 32, 16, 8), (5000, 32, 16, 8),
])
def test_replication_as_published_and_as_measured(density: float, garaph: int, loop: int, native: int) -> None:
    vertices = np.array([256, 0], dtype=np.int64)
    edges = np.array([int(256 * density), 0], dtype=np.int64)
    for asked, constants, expected in (("garaph", "loop32", garaph), ("auto", "loop32", loop),
                                       ("auto", "native", native), ("none", "loop32", 1), (8, "native", 8)):
        found = replicas_of(vertices, edges, asked, 4, H200_SHARED, DEFAULTS[constants])
        assert found.dtype == np.uint8
        assert found.tolist() == [expected, 1]


@pytest.mark.parametrize("asked", ["auto", "none", "garaph", 1, 4, 32])
@pytest.mark.parametrize("shared", [48 << 10, 64 << 10, H200_SHARED])
@pytest.mark.parametrize("cell", [1, 4, 8, 512])
def test_shards_fit_shared_memory(asked: str | int, shared: int, cell: int) -> None:
    stage = replace(FLOAT_MIN, cell=cell)
    for density in (0.0, 1.0, 16.0, 300.0):
        vertices = shard_vertices(asked, density, cell, shared, DEFAULTS["loop32"])
        assert 1 <= vertices <= 1 << 16
        full = np.full(3, vertices, dtype=np.int64)
        edges = np.array([0, 1, 1000]) * vertices
        copies = replicas_of(full, edges, asked, cell, shared, DEFAULTS["loop32"])
        most = int(max(cell_count(vertices, int(r)) for r in copies))
        assert shared_bytes("pull_shards", stage, cells=most) <= shared


@pytest.mark.parametrize("asked", [0, 3, 64, -1, "fast", True, 2.5, None])
def test_replication_refused(asked: Any) -> None:
    with pytest.raises(BindError, match="replication is 'auto', 'none', 'garaph' or a power of two up to 32"):
        check_replication(asked)


def test_replication_from_the_command_line() -> None:
    assert [check_replication(a) for a in ("auto", "garaph", "16", 16, "1")] == ["auto", "garaph", 16, 16, 1]


def test_class_of() -> None:
    assert class_of(FLOAT_MIN) == "native"
    assert class_of(replace(FLOAT_SUM, cell=4)) == "loop32"
    assert class_of(FLOAT_SUM) == "loop64"


# -------------------------------------------------------------------------------------------------------- calibration
def _by_degree(one: float, four: float, all_: float) -> list[float]:
    """Return the times of an operation with 1, 2, ..., 32 colliding lanes, interpolated from the rates at 1, 4 and 32.
    """
    return [float(t) for t in np.exp(np.interp(range(6), [0, 2, 5], np.log([1 / one, 1 / four, 1 / all_])))]


def test_fit_from_measured_rates() -> None:
    default = Constants(0, 0)
    loop = calibrate.fit(_by_degree(2207, 652, 86), 1 / 200, default)  # giga-operations a second on one H200
    native = calibrate.fit(_by_degree(4423, 1737, 255), 1 / 200, default)
    flat = calibrate.fit(_by_degree(5000, 5000, 5000), 1 / 200, default)
    assert flat.cap == 0
    assert abs(loop.shift - DEFAULTS["loop32"].shift) <= 1
    assert abs(native.shift - DEFAULTS["native"].shift) <= 1
    assert loop.shift > native.shift
    assert loop.cap > native.cap


@pytest.mark.parametrize("bad", [[0.0] * 6, [float("nan")] * 6, [1.0, 2.0, -1.0, 1.0, 1.0, 1.0]])
def test_fit_of_nonsense_is_the_default(bad: list[float]) -> None:
    assert calibrate.fit(bad, 1.0, Constants(-1, 4)) == Constants(-1, 4)


class _Clock:
    """A device that runs nothing. The events of the device report how long launches would take."""

    info = DeviceInfo("Clock", "sm_90", 4, H200_SHARED, 1 << 30, True)

    def __init__(self) -> None:
        self.now, self.loads, self.live = 0.0, 0, 0

    def load(self, text: str, entries: dict[str, str]) -> dict[str, str]:
        assert "template <class Operation>" in text
        self.loads += 1
        return {name: name for name in entries}

    def allocate(self, nbytes: int, what: str) -> Any:
        self.live += 1
        return type("Memory", (), {"pointer": 256, "nbytes": nbytes})()

    def free(self, buffer: Any) -> None:
        self.live -= 1

    def resident(self, kernel: Any, threads: int, shared: int = 0) -> int:
        return 8

    def launch(self, kernel: str, blocks: int, threads: int, args: Any, shared: int = 0) -> None:
        if kernel == "time_copies_kernel":
            self.now += blocks * args[1] * args[3] / 200e9
        else:
            rates = {"native_min": (4423, 1737, 255), "loop32_add": (2207, 652, 86), "loop64_add": (1222, 400, 59)}
            each = _by_degree(*rates[kernel.removeprefix("time_join_")])[int(args[1]).bit_length() - 1]
            self.now += blocks * threads * args[2] * each * 1e-9

    def record(self) -> float:
        return self.now

    def elapsed(self, start: float, end: float) -> float:
        return end - start

    def synchronize(self) -> None:
        pass


def test_calibration_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLANG_CACHE", str(tmp_path))
    cachedir.cache_dir.cache_clear()
    try:
        device: Any = _Clock()
        first = calibrate.constants_of(device, "// a plan")
        assert device.now < 0.5  # seconds of the device
        assert device.loads == 1
        assert device.live == 0
        assert first["loop32"] == calibrate.fit(_by_degree(2207, 652, 86), 1 / 200, Constants(0, 0))
        assert calibrate.constants_of(device, "// another plan") == first
        assert device.loads == 1
        [kept] = tmp_path.iterdir()
        kept.write_bytes(kept.read_bytes()[:-3])  # a damaged file causes a new measurement
        assert calibrate.constants_of(device, "// a plan") == first
        assert device.loads == 2
    finally:
        cachedir.cache_dir.cache_clear()


@needs_compiler
def test_calibration_runs() -> None:
    """The kernels of the calibration end and stay inside their memory. The times of these kernels have no meaning on a
    CPU.
    """
    folder = Path(cuda.__file__).parent / "skeletons"
    names = ("prelude.cuh", "operators.cuh", "saturating.cuh", "atomics.cuh")
    text = "\n".join((folder / name).read_text() for name in names)
    device = EmulatedDevice(multiprocessors=1)
    constants = calibrate.measure(device, text, rounds=4)
    assert constants.keys() == DEFAULTS.keys()
    assert device.allocated() == 0
    assert set(device.launches) == {"time_copies_kernel", "time_join_native_min", "time_join_loop32_add",
                                    "time_join_loop64_add"}
    device.close()

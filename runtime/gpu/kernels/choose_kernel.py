"""Chooses the kernel that pulls the contributions of a page, and its launch parameters.

The kernels differ in how the edges of a row (the edges of one vertex) are distributed over lanes. For every kernel
except "edge", the bits of a result depend only on the edges of the vertex, not on timing or page boundaries. "edge"
combines contributions by atomic operations. The order of these operations changes the bits of float sums, but not the
bits of integers, minima and maxima.

The kernels are:
- "thread": one thread processes a row (CSR-scalar; Bell, Garland, SC'09).
- "virtual-warp-L": L lanes of a warp process a row (virtual warps; Hong et al., PPoPP'11).
- "warp-segmentation": a warp processes 32 rows, edge by edge (Khorasani et al., PACT'15).
- "stream": a block processes the rows that fit into its shared memory (CSR-Stream; Greathouse, Daga, SC'14).
- "edge": the threads of a block process the edges of a shard, by atomic operations (Garaph; Ma et al., USENIX ATC'17).
- "edge-list": the threads of a block process the edges of an unsorted list (WolfGraph; Zhu et al., FGCS'19). This
  kernel needs no adjacency lists, so it runs either all passes of a program or none (`ways/listed_passes.py`).

- "density": for each page the faster of the two kernels "thread" and "virtual-warp-32". GTS chooses between vertex- and
  edge-centric kernels by the density of a page in this way (Kim et al., SIGMOD'16, section 6.2).

With "auto" each page uses the kernel with the lowest estimated time. The estimate is the sum of the cost of lane slots,
the cost per vertex, and the latency of the chain of dependent steps through the longest row. A lane slot is a step of
one lane. A lane that waits for a longer row of its warp costs as much as a lane that works. The constants of the
estimate are in `Costs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from vlang.errors import BindError
from vlang.records import dataclass
from vlang.runtime.gpu.kernels.entries import shared_bytes
from vlang.runtime.gpu.kernels.row_lengths import LANES, WIDTHS, Rows
from vlang.runtime.plan.gpu_stage import GpuStage
from vlang.runtime.plan.plan import THREADS

__all__ = ["EDGE_LIST", "H200", "NAMES", "Choice", "Costs", "choose_kernel", "choose_kernels", "grid", "template_of"]

_TEMPLATES: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "thread": ("pull_thread", ()),
    **{f"virtual-warp-{lanes}": ("pull_lanes", (lanes,)) for lanes in LANES},
    "warp-segmentation": ("pull_segmented", ()),
    "stream": ("pull_stream", ()),
    "edge": ("pull_shards", ()),
}
EDGE_LIST = "edge-list"
_HYBRID = ("thread", "virtual-warp-32")
NAMES = ("auto", *_TEMPLATES, "density", EDGE_LIST)

_BUSY = 3  # blocks per multiprocessor that saturate its memory bandwidth
_MOST_BLOCKS = 2**31 - 1  # in the first dimension of a grid, on every architecture


@dataclass(frozen=True)
class Costs:
    """The costs of kernels on a fully occupied device.

    Costs are in picoseconds, except `step`, which is in seconds, and `early`, which is a fraction.

    Attributes:
        edge: cost per lane slot, by name of the kernel.
        vertex: cost per vertex in addition to the cost of its edges, by name of the kernel. For virtual warps, this is
            the cost per lane of a vertex.
        word: cost per edge of moving another 4 bytes of the contribution between lanes.
        search: cost per edge of finding the receiver, if the contribution reads the receiver.
        step: latency of a load that the next load depends on.
        strided: additional cost per edge for each step that a lane takes through its row on average. The first 8 steps
            cost nothing, because the lanes of a warp read the same cache lines; at most 40 steps are charged.
        early: the fraction of the edges that a pass with early exit reads.
    """

    edge: Mapping[str, float] = field(
        # Estimates from two measured rates (language.md, section 13; shards, no gathers): 260 to 294 G edges per second
        # by segmentation, and up to 390 with atomics or plain stores. "edge" also reads a cell index for each edge. The
        # costs of vertices and of strides are fitted to sweeps of uniform graphs with 2 to 128 edges a vertex and of a
        # grid (docs/internals/gpu-performance.md).
        default_factory=lambda: {"thread": 2.7, "virtual-warp": 2.7, "warp-segmentation": 3.4, "stream": 2.7,
                                 "edge": 4.0, "edge loop": 6.0})
    vertex: Mapping[str, float] = field(
        default_factory=lambda: {"thread": 3.0, "virtual-warp": 7.5, "warp-segmentation": 9.5, "stream": 9.0,
                                 "edge": 8.0})
    word: float = 0.4
    search: float = 0.8
    step: float = 0.3e-6
    strided: float = 0.04
    early: float = 0.3


H200 = Costs()


@dataclass(frozen=True)
class Choice:
    """A chosen kernel.

    Attributes:
        name: the name of the kernel, as in the option `kernel`.
        template: the kernel template.
        constants: template arguments after the struct.
        reason: why this kernel was chosen.
    """

    name: str
    template: str
    constants: tuple[int, ...]
    reason: str


def template_of(name: str) -> tuple[str, tuple[int, ...]]:
    """Return the template of a named kernel, and the template arguments after the struct.

    Raises BindError for an unknown name.
    """
    if name not in _TEMPLATES:
        raise BindError(f"kernel is one of {', '.join(map(repr, NAMES))}, not {name!r}")
    return _TEMPLATES[name]


def choose_kernel(
    stage: GpuStage, vertices: int, edges: int, asked: str = "auto", deterministic: bool = False,
    table: Costs = H200, rows: Rows | None = None, shared: int = 227 << 10,
) -> Choice:
    """Choose the kernel for the only page of a stage.

    Args:
        stage: the stage.
        vertices: the number of vertices of the page.
        edges: the number of edges of the page.
        asked: one of NAMES.
        deterministic: whether results must not depend on timing.
        table: the costs of the device.
        rows: the rows of the page; None for rows of equal length.
        shared: bytes of shared memory that a block may use.

    Raises:
        BindError: as for `choose_kernels`.
    """
    return choose_kernels(stage, [rows or Rows.even(vertices, edges)], asked, deterministic, table, shared)[0]


def choose_kernels(
    stage: GpuStage, pages: Sequence[Rows], asked: str = "auto", deterministic: bool = False, table: Costs = H200,
    shared: int = 227 << 10,
) -> list[Choice]:
    """Choose the kernel for each page of a stage.

    If the kernel requested by name cannot run the stage, the kernel is chosen as with "auto", and the reason says so.

    Args:
        stage: the stage.
        pages: the rows of each page.
        asked: one of NAMES.
        deterministic: whether results must not depend on timing.
        table: the costs of the device.
        shared: bytes of shared memory that a block may use.

    Raises:
        BindError: the name is unknown, or `deterministic` rules out the requested kernel.
    """
    if asked in ("auto", "density"):
        return _fastest(stage, pages, deterministic, table, shared, "", _HYBRID if asked == "density" else _TEMPLATES)
    template, constants = template_of(asked)
    refused = _refused(asked, stage, shared)
    if refused:
        return _fastest(stage, pages, deterministic, table, shared, f"{asked} cannot run this pass: {refused}; ")
    if deterministic and not _timeless(asked, stage):
        raise BindError("kernel 'edge' joins sums of floats by atomic operations, whose order depends on timing: with "
                        "deterministic=True take another kernel (warp-segmentation keeps the order of the edges)")
    return [Choice(asked, template, constants, "as asked")] * len(pages)


def grid(template: str, constants: tuple[int, ...], count: int, threads: int = THREADS) -> int:
    """Return the number of blocks of `threads` threads that cover `count` items of a template.

    A thread processes one vertex (kernels over rows, `compute`, `messages`). A block processes one row block
    (`pull_stream`), shard (`pull_shards`) or segment (`segments`). A warp processes one long vertex (`finish`), or one
    vertex of several runs (`pull_woven`).

    Args:
        template: name of the kernel template.
        constants: template arguments after the struct.
        count: number of items.
        threads: threads per block.
    """
    lanes = {"pull_lanes": constants[0] if constants else 1, "pull_stream": threads, "pull_shards": threads,
             "segments": threads, "finish": 32, "finish_list": 32,
             "segments_whole": threads, "finish_whole": threads, "pull_woven": 32, "rows_woven": 1,
             "segments_woven": threads}.get(template, 1)
    return max(1, min(_MOST_BLOCKS, -(-count * lanes // threads)))


def _refused(name: str, stage: GpuStage, shared: int) -> str:
    """Return the reason why a kernel cannot run a stage; "" if it can."""
    if name == "stream":
        need = shared_bytes("pull_stream", stage)
        if need > shared:
            return f"its contributions need {need:,} bytes of shared memory, and the device grants {shared:,}"
    if name == "edge" and not stage.cell:
        return stage.cell_reason or "no atomic operation joins its contributions"
    return ""


def _timeless(name: str, stage: GpuStage) -> bool:
    """Return whether the bits of a result are independent of the timing of threads."""
    return name != "edge" or stage.exact


@dataclass(frozen=True)
class _Terms:
    """The cost of a kernel for a stage, for all pages.

    Attributes:
        name: the name of the kernel.
        lanes: the number of lanes for each row.
        edge: cost per lane slot.
        vertex: cost per vertex.
        strided: additional cost per lane slot for each step of a lane; 0 for a kernel in which several rows share a
            lane.
        wasteful: whether lanes wait for the longest row of their warp.
        share: the fraction of the edges that is read.
    """

    name: str
    lanes: int
    edge: float
    vertex: float
    strided: float
    wasteful: bool
    share: float

    @staticmethod
    def of(name: str, stage: GpuStage, table: Costs, shared: int) -> _Terms:
        """Return the terms of a kernel."""
        lanes = (_TEMPLATES[name][1] or (1,))[0]
        kind = "virtual-warp" if lanes > 1 else name
        by_row = kind in ("thread", "virtual-warp")  # these kernels stop at the first edge that determines the result
        words = max(1, -(-stage.accumulator // 4))
        item_words = max(1, -(-stage.item // 4))
        edge = table.edge["edge loop" if name == "edge" and not stage.native else kind]
        if name == "warp-segmentation":
            edge += table.word * (words - 1)
        elif name in ("stream", "edge"):
            edge += table.word * (item_words - 1) + table.search * (name == "stream" and stage.reads_self)
        if name == "stream":  # too few blocks per multiprocessor leave memory bandwidth unused
            edge *= max(1.0, _BUSY * shared_bytes("pull_stream", stage) / shared)
        vertex = table.vertex[kind]
        if kind == "virtual-warp":
            vertex *= 1 + lanes / 8 + words * lanes.bit_length() * lanes / 32
        share = table.early if stage.early == "absorbing" and by_row else 1.0
        return _Terms(name, lanes, edge, vertex, table.strided if by_row else 0.0, by_row, share)

    def seconds(self, rows: Rows, step: float) -> float:
        """Return the estimated time of the kernel on a page, without the launch; `step` is the latency of a load."""
        edge, slots = self.edge, float(rows.edges)
        if self.wasteful:
            steps = rows.edges / max(1, rows.vertices) / self.lanes
            edge += self.strided * min(max(0.0, steps - 8), 40)
            slots *= rows.waste[WIDTHS.index(self.lanes)]
        return 1e-12 * (slots * edge * self.share + rows.vertices * self.vertex) + step * self._chain(rows)

    def _chain(self, rows: Rows) -> float:
        """Return the number of dependent steps through the longest row, if a thread has four loads in flight."""
        if self.name == "warp-segmentation":
            return (rows.longest + 31 * rows.edges / max(1, rows.vertices)) / 32 / 4
        if self.name in ("stream", "edge"):
            return 4 + rows.longest / THREADS  # 4: barriers between staging and reducing
        return rows.longest / self.lanes / 4


def _fastest(
    stage: GpuStage, pages: Sequence[Rows], deterministic: bool, table: Costs, shared: int, before: str,
    names: Iterable[str] = _TEMPLATES,
) -> list[Choice]:
    """Return for each page the kernel with the lowest estimated time. The text with the reason for a kernel begins with
    `before`.
    """
    able = [_Terms.of(name, stage, table, shared) for name in names
            if not _refused(name, stage, shared) and (not deterministic or _timeless(name, stage))]
    if len(pages) > 1:  # a choice for each kernel, as texts for each page would take longer than the choice
        known = [Choice(one.name, *_TEMPLATES[one.name], f"{before}{one.name}: the least time for the rows of the page")
                 for one in able]
        return [min(zip([one.seconds(rows, table.step) for one in able], range(len(able)), known))[2] for rows in pages]
    rows = pages[0]
    (least, best), (next_, second) = sorted((one.seconds(rows, table.step), k) for k, one in enumerate(able))[:2]
    density = rows.edges / max(1, rows.vertices)
    name, other = able[best].name, able[second].name
    return [Choice(name, *_TEMPLATES[name],
                   f"{before}{name}: {density:.3g} edges a vertex, {rows.longest:,} at most; "
                   f"{_in_units(least)} expected, {_in_units(next_)} with {other}")]


def _in_units(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"

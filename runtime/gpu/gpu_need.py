"""An estimate of the host memory that a run on a GPU takes if its graph is in memory."""

from __future__ import annotations

from collections.abc import Sequence

from vlang.options import Options
from vlang.records import dataclass
from vlang.runtime.cpu.need import Need, need_of
from vlang.runtime.gpu.device.staging import staging_bytes
from vlang.runtime.gpu.gpu_placement import read_kinds
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import LoopSpec, Plan
from vlang.runtime.threads.processors import available_threads

__all__ = ["need_on_gpu"]

_NEIGHBOUR = 4  # bytes of a neighbour on the GPU
_RECORD_ID = 2  # bytes of a record id of slotted pages, at least


@dataclass(frozen=True)
class _OnGpu:
    """A loop on a GPU, which takes no host memory besides the adjacency directions `kinds`."""

    kinds: Sequence[str]

    def optional(self, loop: LoopSpec, shape: Shape) -> int:
        """The bytes that only make the loop faster: none."""
        return 0

    def directions(self, loop: LoopSpec) -> Sequence[str]:
        """The adjacency directions that the run may read."""
        return self.kinds

    def memory(self, loop: LoopSpec, shape: Shape, threads: int) -> int:
        """The bytes that the loop allocates: none."""
        return 0


def need_on_gpu(plan: Plan, for_gpu: Plan, shape: Shape, options: Options, graph: Graph, limit: int) -> Need:
    """Estimate the host memory of a run on a GPU.

    Slotted pages count with the fewest bytes that they can take, and only if `gpu_memory` cannot hold the edges. So no
    run is refused that has enough memory.

    Args:
        plan: the program for the CPU, whose arrays the host would have.
        for_gpu: the program for a GPU.
        shape: the counts of the graph.
        options: the options of the run.
        graph: the graph.
        limit: the budget in bytes, which bounds the buffers for uploads.
    """
    kinds = read_kinds(for_gpu, graph, options)
    slotted = 0
    if options.layout != "csr" and options.gpu_memory is not None:
        slotted = sum(_RECORD_ID * shape.entries(kind) for kind in kinds
                      if _NEIGHBOUR * shape.entries(kind) > options.gpu_memory)
    return need_of(plan, shape, options.threads or available_threads(), lambda loop: _OnGpu(kinds),
                   beside=staging_bytes(limit) + slotted)

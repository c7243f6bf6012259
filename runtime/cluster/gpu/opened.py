"""Opens the GPU of a rank, and the machine that runs on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import ALL_GPUS, Options, device_names
from vlang.runtime.cluster.gpu.direct_exchange import DirectExchange
from vlang.runtime.cluster.gpu.host_exchange import HostExchange
from vlang.runtime.cluster.gpu.nccl import joined_gpus
from vlang.runtime.cluster.gpu.rank_gpu import RankGpuMachine
from vlang.runtime.cluster.local_graph import local_graph
from vlang.runtime.cluster.transports.transport import Transport
from vlang.runtime.gpu.device.choose import all_gpus, open_device
from vlang.runtime.gpus.cut_graph import STEP
from vlang.runtime.gpus.exchange_subset import SubsetExchange
from vlang.runtime.gpus.part_machine import PartMachine
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Plan

__all__ = ["rank_on_gpu"]


class _Lengths:
    """The row lengths of the whole graph in one direction, from which kernels are chosen."""

    def __init__(self, lengths: NDArray[np.uint32]) -> None:
        self.offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.uint64)]).astype(np.uint64)
        self._derived: dict[Any, Any] = {}

    def derived(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the object that `make` has returned for a key."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]


class _Whole:
    """The whole graph, reduced to the lengths of its rows."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._found: dict[str, _Lengths] = {}

    def adjacency(self, kind: str) -> _Lengths:
        """Return the rows of a direction."""
        if kind not in self._found:
            self._found[kind] = _Lengths(self._graph.row_lengths(kind))
        return self._found[kind]


@contextmanager
def rank_on_gpu(
    plan: Plan, graph: Graph, options: Options, transport: Transport
) -> Iterator[tuple[RankGpuMachine, str]]:
    """A context manager that yields the machine of a rank and the name of its GPU.

    The ranks on a host are assigned, round-robin, to the GPUs that the option `device` names. The value "gpu" names all
    GPUs of the host.

    Args:
        plan: the program for GPUs.
        graph: the whole graph, whose rows may be on disk.
        options: the options of the run.
        transport: the transport of the rank.

    Raises DeviceError and OutOfMemory.
    """
    asked = all_gpus() if options.device in (ALL_GPUS, "gpu") else options.device
    names = device_names(asked)
    name = names[transport.place % len(names)]
    part = local_graph(plan, graph, transport, STEP)
    with ExitStack() as stack:
        device = open_device(name, options.gpu_memory)
        stack.callback(device.close)
        device.cache = options.device_cache
        whole: Any = _Whole(graph)
        machine = PartMachine(device, plan, part, replace(options, mode="pull"), whole, SubsetExchange)
        stack.callback(machine.close)
        nccl, why = joined_gpus(device, transport)
        exchange = HostExchange(machine, transport, why) if nccl is None else DirectExchange(machine, transport, nccl)
        made = RankGpuMachine(machine, part, transport, exchange)
        stack.callback(made.synchronize)
        yield made, name

"""Chooses and opens the machine that runs a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from vlang.errors import BindError, OutOfMemory
from vlang.options import Options, device_names
from vlang.records import dataclass
from vlang.runtime.cluster.transports.transport import Transport, here
from vlang.runtime.engine.draws import Draws
from vlang.runtime.engine.machine import Machine
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Plan, field_of
from vlang.runtime.storage.state.windows import Windows, writable_folder

if TYPE_CHECKING:
    from vlang.runtime.cpu.placement import Placement
    from vlang.runtime.gpu.device.device import Device
    from vlang.runtime.gpu.gpu_machine import GpuMachine
    from vlang.runtime.gpu.topology.sides import DiskPages
    from vlang.runtime.policies.cost_models import StreamedPages
    from vlang.runtime.storage.reading.ring import Reading

__all__ = ["Opened", "open_machine", "placement_of"]


@dataclass(frozen=True)
class Opened:
    """A machine, and the plan compiled for this machine.

    Attributes:
        machine: the machine.
        plan: the plan.
        device: "cpu", "gpu:K", or the names of several GPUs, such as "gpu:0,1".
        reason: why this device was chosen.
        placement: where the edges of a graph on disk are during the run; None for other graphs.
        reading: counts of the bytes read from disk so far; None if nothing is streamed.
        streamed: returns the pages that are streamed to a GPU, by adjacency direction.
        notes: returns sentences about the run so far.
    """

    machine: Machine
    plan: Plan
    device: str
    reason: str
    placement: Placement | None = None
    reading: Reading | None = None
    streamed: Callable[[], Mapping[str, StreamedPages]] = dict
    notes: Callable[[], tuple[str, ...]] = tuple


@contextmanager
def open_machine(
    plan_for: Callable[[str], Plan], graph: Graph, options: Options, draws: Draws | None = None,
    placement: Placement | None = None,
) -> Iterator[Opened]:
    """A context manager that opens the machine that the options select, and closes the machine at the end.

    Args:
        plan_for: compiles the plan for "numba" or "cuda".
        graph: the graph to run on.
        options: the run options.
        draws: the random choices of a chaos run on a CPU (`--chaos`); None for an ordinary run.
        placement: where the edges of a graph on disk are; None lets `placement_of` decide.

    Raises:
        DeviceError: the requested device does not exist.
        OutOfMemory: the state of the run does not fit into memory.

    Exceptions of `plan_for` are passed on.
    """
    transport = here()
    if transport is not None:
        with _on_ranks(plan_for, graph, options, transport) as opened:
            yield opened
        return
    if options.device == "cpu":
        with _on_cpu(plan_for, graph, options, "as asked", draws, placement) as opened:
            yield opened
        return
    from vlang.runtime.gpu.device.choose import choose  # start-up

    if len(device_names(options.device)) > 1:
        with _on_gpus(plan_for("cuda"), graph.loaded(), options) as opened:
            yield opened
        return
    placement = placement or placement_of(plan_for, graph, options)
    streams = placement is not None and placement.streams
    if streams and options.device == "auto":
        reason = "edges come from disk, which bounds the CPU as well; a GPU streams them if it is asked for by name"
        with _on_cpu(plan_for, graph, options, reason, None, placement) as opened:
            yield opened
        return
    if streams and options.kernel == "edge-list":
        raise BindError(f"kernel='edge-list' reads a list of edges in memory, and the edges of {graph.name} stay on "
                        "disk under the budget: give a larger memory, or leave it out")
    graph = graph if streams else graph.loaded()
    choice = choose(options.device, options.gpu_memory, graph.m, lambda: _state_bytes(plan_for("cuda"), graph))
    if choice.device is None:
        with _on_cpu(plan_for, graph, options, choice.reason) as opened:
            yield opened
        return
    choice.device.cache = options.device_cache
    try:
        with _on_gpu(plan_for, graph, options, choice.device, placement) as (machine, reading):
            yield Opened(machine, machine.plan, choice.name, choice.reason, placement, reading,
                         machine.passes.streamed, machine.passes.notes)
    finally:
        choice.device.close()


@contextmanager
def _on_ranks(
    plan_for: Callable[[str], Plan], graph: Graph, options: Options, transport: Transport
) -> Iterator[Opened]:
    """A context manager for the machine of this rank."""
    if options.device != "cpu":
        from vlang.runtime.cluster.gpu.opened import rank_on_gpu  # start-up

        with rank_on_gpu(plan_for("cuda"), graph, options, transport) as (gpu, name):
            yield Opened(gpu, gpu.plan, name, f"rank {transport.rank} of {transport.size}", notes=gpu.notes)
        return
    from vlang.runtime.cluster.cluster_machine import ClusterMachine, turned_plan  # start-up
    from vlang.runtime.cluster.local_graph import local_graph  # start-up
    from vlang.runtime.cluster.rank_priority import deals  # start-up

    plan = turned_plan(plan_for("numba"))
    deal = deals(plan) and options.checkpoint is None  # files of checkpoints have ranges of the graph
    machine = ClusterMachine(plan, local_graph(plan, graph, transport, deal=deal), options, transport)
    try:
        yield Opened(machine, plan, "cpu", f"rank {transport.rank} of {transport.size}")
    finally:
        machine.close()


@contextmanager
def _on_gpu(
    plan_for: Callable[[str], Plan], graph: Graph, options: Options, device: Device, placement: Placement | None
) -> Iterator[tuple[GpuMachine, Reading | None]]:
    """A context manager for the machine of a GPU, and for the counts of bytes that it reads from disk."""
    from vlang.runtime.gpu.topology.sides import DiskPages  # start-up

    disk = None
    if placement is not None and placement.streams:
        assert graph.stored is not None
        disk = DiskPages(device, graph.stored, placement.ring)
    try:
        plan = plan_for("cuda")
        if not options.device_arrays:
            sizes = [graph.n * spec.width * DTYPES[spec.dtype].itemsize for spec in plan.fields if spec.output]
            entries = graph.shape().entries("in") if plan.states else 0
            device.expect([*sizes, *(entries * DTYPES[spec.dtype].itemsize for spec in plan.states)])
        machine = _gpu_machine(plan_for, graph, options, device, disk, placement)
        try:
            yield machine, None if disk is None else disk.reading
        finally:
            machine.close()
    finally:
        if disk is not None:
            disk.close()


def _gpu_machine(
    plan_for: Callable[[str], Plan], graph: Graph, options: Options, device: Device, disk: DiskPages | None,
    placement: Placement | None,
) -> GpuMachine:
    """The machine of a GPU; with windows of vertex arrays if the arrays do not fit into GPU memory.

    Args:
        plan_for: compiles the plan for "numba" or "cuda".
        graph: the graph.
        options: the options of the run.
        device: an open device.
        disk: the pages of a graph that is streamed from disk; None for a graph in memory.
        placement: where the edges of a graph on disk are; None for other graphs.
    """
    from vlang.runtime.gpu.gpu_machine import GpuMachine  # start-up
    from vlang.runtime.gpu.windows.window import no_windows  # start-up

    plan = plan_for("cuda")
    if placement is not None and placement.pushes:
        assert disk is not None
        try:
            return _windowed(device, plan, graph, replace(options, mode="push"), disk)
        except OutOfMemory:
            if not placement.full:
                raise
        disk.forget()  # full passes need less GPU memory, and the tables of the other direction
    if placement is not None and placement.full:
        options = replace(options, mode="pull")
    if options.dispatch != "gpu":
        from vlang.runtime.gpu.dispatch.dispatch_machine import DispatchMachine  # start-up

        return DispatchMachine(device, plan, graph, options, disk, lambda: plan_for("numba"))
    try:
        return GpuMachine(device, plan, graph, options, disk)
    except OutOfMemory as short:
        why = no_windows(plan, options)
        if why:
            raise OutOfMemory(f"{short}; vertex arrays cannot move to the GPU in windows, because {why}") from None
        try:
            return _windowed(device, plan, graph, options, disk)
        except OutOfMemory as shorter:
            raise (short if 0 < short.least <= shorter.least else shorter) from None


def _windowed(device: Device, plan: Plan, graph: Graph, options: Options, disk: DiskPages | None) -> GpuMachine:
    """The machine of a GPU that is too small for the vertex arrays of a run; arguments as for `_gpu_machine`.

    Raises OutOfMemory.
    """
    from vlang.runtime.gpu.windows.windowed_machine import WindowedMachine  # start-up

    folder = None if disk is None else writable_folder(disk.stored.path)
    room = None if folder is None else Windows(folder, graph.n)
    return WindowedMachine(device, plan, graph, options, disk, room)


def _of_part(short: OutOfMemory, plan: Plan, options: Options) -> OutOfMemory:
    """The error of one of several GPUs without memory for its part; says that one GPU has windows, if the plan may."""
    from vlang.runtime.gpu.windows.window import no_windows  # start-up

    if no_windows(plan, options):
        return short
    error = OutOfMemory(f"{short}; several GPUs do not move vertex arrays in windows, as one GPU does")
    error.least = short.least
    return error


@contextmanager
def _on_gpus(plan: Plan, graph: Graph, options: Options) -> Iterator[Opened]:
    """A context manager for the machine of several GPUs."""
    from vlang.runtime.gpu.device.choose import open_device  # start-up
    from vlang.runtime.gpus.cut_graph import cut_graph  # start-up
    from vlang.runtime.gpus.group_machine import GroupMachine  # start-up
    from vlang.runtime.gpus.mirrors import choose_exchange, run_at_once  # start-up
    from vlang.runtime.gpus.part_machine import PartMachine  # start-up

    names = device_names(options.device)
    with ExitStack() as stack:
        devices = []
        for name in names:
            devices.append(open_device(name, options.gpu_memory))
            stack.callback(devices[-1].close)
            devices[-1].cache = options.device_cache
        exchange, why = choose_exchange(options.exchange, devices)
        at_once, parts = run_at_once(devices), []
        for device, part in zip(devices, cut_graph(plan, graph, len(names), options.strategy == "p")):
            try:
                parts.append(PartMachine(device, plan, part, options, graph, exchange, at_once))
            except OutOfMemory as short:
                raise _of_part(short, plan, options) from None
            stack.callback(parts[-1].close)
        machine = GroupMachine(parts, exchange)
        stack.callback(machine.synchronize)
        about = f"{len(names)} GPUs, as asked: {', '.join(dict.fromkeys(device.info.name for device in devices))}; " \
                f"exchange {exchange.name}: {why}"
        yield Opened(machine, plan, options.device, about, notes=machine.notes)


@contextmanager
def _on_cpu(
    plan_for: Callable[[str], Plan], graph: Graph, options: Options, reason: str, draws: Draws | None = None,
    placement: Placement | None = None,
) -> Iterator[Opened]:
    from vlang.runtime.cpu.cpu_machine import CpuMachine  # start-up

    plan = plan_for("numba")
    ring = windows = None
    if graph.stored is not None:
        placement = placement or placement_of(plan_for, graph, replace(options, device="cpu"))
    if placement is not None and graph.stored is not None:
        if placement.streams:
            windows = placement.held(graph.n)
            ring = placement.ring(graph.stored)
        else:
            graph = graph.loaded()
    try:
        if draws is None:
            machine = CpuMachine(plan, graph, options, ring=ring, windows=windows)
        else:
            from vlang.runtime.cpu.cpu_chaos import Chaos  # start-up

            machine = CpuMachine(plan, graph, options, Chaos(draws), ring)
        try:
            yield Opened(machine, plan, "cpu", reason, placement, None if ring is None else ring.reading)
        finally:
            machine.close()
    finally:
        if ring is not None:
            ring.close()


def placement_of(
    plan_for: Callable[[str], Plan], graph: Graph, options: Options, beside: int = 0
) -> Placement | None:
    """Decide where the edges of a graph on disk are during a run; returns None for a graph in memory.

    Args:
        plan_for: compiles the plan for "numba" or "cuda".
        graph: the graph.
        options: the options of the run.
        beside: bytes of host memory that other runs on the CPU take at the same time.

    Raises OutOfMemory, BindError.
    """
    if graph.stored is None:
        return None
    if options.device in ("cpu", "auto"):
        from vlang.runtime.cpu.placement import place  # start-up

        return place(plan_for("numba"), graph, options, beside)
    from vlang.runtime.gpu.gpu_placement import place_on_gpu  # start-up
    from vlang.runtime.gpu.windows.windowed_push import windowed_kinds  # start-up

    plan = plan_for("cuda")
    return place_on_gpu(plan, graph, options, windowed_kinds(plan, graph, options))


def _state_bytes(plan: Plan, graph: Graph) -> int:
    """The bytes of the arrays over vertices and of edge states, plus the offsets of one adjacency."""
    dtypes = {field.name: field.dtype for field in plan.fields}
    sizes = [DTYPES[dtypes[name]].itemsize for name in map(field_of, plan.slots) if name is not None]
    sizes += [DTYPES[array.dtype].itemsize for array in plan.arrays if array.length == "vertices"]
    edges = sum(DTYPES[array.dtype].itemsize for array in plan.arrays if array.length == "edges")
    return graph.n * (sum(sizes) + 8) + edges * graph.shape().entries("in")

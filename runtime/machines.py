"""The choice of the machine that runs a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vlang.options import Options
from vlang.runtime.engine.draws import Draws
from vlang.runtime.engine.machine import Machine
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Plan, field_of

__all__ = ["Opened", "open_machine"]


@dataclass(frozen=True)
class Opened:
    """A machine and the plan compiled for it.

    Attributes:
        machine: the machine.
        plan: the plan.
        device: "cpu" or "gpu:K".
        reason: why this device was chosen.
    """

    machine: Machine
    plan: Plan
    device: str
    reason: str


@contextmanager
def open_machine(
    plan_for: Callable[[str], Plan], graph: Graph, options: Options, draws: Draws | None = None
) -> Iterator[Opened]:
    """A context with the machine that the options select; it closes the machine at the end.

    Args:
        plan_for: compiles the plan for "numba" or "cuda".
        graph: the graph to run on.
        options: the run options.
        draws: random draws with which a machine of the CPU takes every freedom of the plan; None for an ordinary run.

    Raises:
        DeviceError: there is no such device.
        OutOfMemory: the state does not fit.

    Exceptions of `plan_for` pass through.
    """
    if options.device == "cpu":
        with _on_cpu(plan_for, graph, options, "as asked", draws) as opened:
            yield opened
        return
    from vlang.runtime.gpu.device.choose import choose  # start-up

    choice = choose(options.device, options.gpu_memory, graph.m, lambda: _state_bytes(plan_for("cuda"), graph))
    if choice.device is None:
        with _on_cpu(plan_for, graph, options, choice.reason) as opened:
            yield opened
        return
    from vlang.runtime.gpu.gpu_machine import GpuMachine  # start-up

    try:
        plan = plan_for("cuda")
        machine = GpuMachine(choice.device, plan, graph, options)
        try:
            yield Opened(machine, plan, choice.name, choice.reason)
        finally:
            machine.close()
    finally:
        choice.device.close()


@contextmanager
def _on_cpu(
    plan_for: Callable[[str], Plan], graph: Graph, options: Options, reason: str, draws: Draws | None = None
) -> Iterator[Opened]:
    from vlang.runtime.cpu.cpu_machine import CpuMachine  # start-up

    plan = plan_for("numba")
    if draws is None:
        machine = CpuMachine(plan, graph, options)
    else:
        from vlang.runtime.cpu.cpu_chaos import Chaos  # start-up

        machine = CpuMachine(plan, graph, options, Chaos(draws))
    try:
        yield Opened(machine, plan, "cpu", reason)
    finally:
        machine.close()


def _state_bytes(plan: Plan, graph: Graph) -> int:
    """Bytes of the arrays over vertices, and of the offsets of one adjacency."""
    dtypes = {field.name: field.dtype for field in plan.fields}
    sizes = [DTYPES[dtypes[name]].itemsize for name in map(field_of, plan.slots) if name is not None]
    sizes += [DTYPES[array.dtype].itemsize for array in plan.arrays if array.length == "vertices"]
    return graph.n * (sum(sizes) + 8)

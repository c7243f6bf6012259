"""The data of each page that the passes of a run read: columns and shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.runtime.gpu.kernels.calibrate import constants_of
from vlang.runtime.gpu.kernels.choose_kernel import choose_kernel
from vlang.runtime.gpu.kernels.replication import DEFAULTS, class_of, replicas_of, shard_vertices
from vlang.runtime.gpu.kernels.row_lengths import whole_rows
from vlang.runtime.gpu.topology.cut import Sharding
from vlang.runtime.gpu.topology.footprint import Use
from vlang.runtime.gpu.ways.way import NOTIFY, pushed_use
from vlang.runtime.gpu.ways.ways import candidates
from vlang.runtime.plan.plan import StageSpec
from vlang.types import OPPOSITE

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["use_name", "uses_of"]


def use_name(kind: str, stage: StageSpec | None) -> str:
    """Return the name of the `Use` with which a stage reads a direction; stage None stands for notifications."""
    if stage is None:
        return NOTIFY
    return stage.name if stage.domain == kind else pushed_use(stage.name)


def uses_of(machine: GpuMachine) -> dict[str, dict[str, Use]]:
    """Return the `Use` of every pass, by adjacency direction and name."""
    uses: dict[str, dict[str, Use]] = {}
    pushed = _pushed(machine) if machine.windowed else set()
    for stage in machine.plan.stages:
        if stage.side is None or stage.gpu is None or stage.name in pushed:
            continue
        uses.setdefault(stage.side, {})[stage.name] = Use(stage.columns, _sharding(machine, stage))
    for loop in machine.plan.loops:
        for way in candidates(machine.ways, loop, machine.graph, machine.options):
            for kind, name, use in way.uses(loop):
                uses.setdefault(kind, {})[name] = use
    return uses


def _pushed(machine: GpuMachine) -> set[str]:
    """Return the names of the passes that surely push, and along other edges than those along which they gather."""
    found = set[str]()
    for loop in machine.plan.loops:
        way = next(candidates(machine.ways, loop, machine.graph, machine.options))
        if way.sure and not way.pulls(loop, machine.options):
            found |= {stage.name for stage in loop.stages if OPPOSITE[stage.domain or "in"] != stage.domain}
    return found


def _sharding(machine: GpuMachine, stage: StageSpec) -> Sharding | None:
    """Return the rule for shards if the kernel chosen for the whole graph is pull_shards; otherwise None."""
    gpu, options = stage.gpu, machine.options
    assert gpu is not None
    assert stage.domain is not None
    if not gpu.cell or options.kernel not in ("auto", "edge") or machine.windowed:
        return None
    side = machine.side(stage.domain)

    def sharded() -> bool:
        rows = whole_rows(side)
        choice = choose_kernel(gpu, rows.vertices, rows.edges, options.kernel, options.deterministic, rows=rows)
        return choice.template == "pull_shards"

    if not side.derived(("sharded", gpu, options.kernel, options.deterministic), sharded):
        return None
    shared, asked = machine.device.info.shared, options.replication
    rule = DEFAULTS[class_of(gpu)]
    if asked == "auto":
        rule = constants_of(machine.device, machine.plan.text)[class_of(gpu)]
    return Sharding(lambda density: shard_vertices(asked, density, gpu.cell, shared, rule),
                    lambda vertices, edges: replicas_of(vertices, edges, asked, gpu.cell, shared, rule),
                    (asked, gpu.cell, shared, rule))

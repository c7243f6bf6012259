"""Refuses programs and options that cannot run on several ranks, with the reason."""

from __future__ import annotations

from vlang.errors import BindError
from vlang.options import Options
from vlang.runtime.plan.derived import COMMON
from vlang.runtime.plan.plan import Plan, field_of

__all__ = ["refuse_options", "refuse_plan"]

_OPTIONS = {
    "target": "the order of priority needs all vertices on one machine",
    "chaos": "it takes random choices on one machine",
}


def refuse_options(options: Options) -> None:
    """Raise BindError for an option that is not supported on several ranks."""
    for name, why in _OPTIONS.items():
        if getattr(options, name) is not None:
            raise BindError(f"cluster and {name} do not go together: {why}")
    if options.memory is not None and options.device != "cpu":
        raise BindError("cluster, device and memory do not go together: budgets are for ranks without a GPU")
    if options.on_interrupt != "stop":
        raise BindError("cluster and on_interrupt do not go together: an interrupt ends all ranks")
    if options.device == "auto":
        raise BindError("cluster and device=\"auto\" do not go together: machines may differ; write \"cpu\", or "
                        "\"gpu\" for ranks that own a GPU each")
    if options.asynchronous or options.schedule == "priority" or options.mode == "push":
        raise BindError("a cluster runs supersteps of full passes or of notify-pull: leave out asynchronous, "
                        "schedule=\"priority\" and mode=\"push\"")


def refuse_plan(plan: Plan, common: int | None = None, one: str = "machine", all_: str = "a cluster") -> None:
    """Raise BindError for a program that cannot run on several ranks.

    Args:
        plan: the program.
        common: the line of the first call of `common` in the program; None if there is no such call.
        one: the name of the processor that runs a rank, for messages.
        all_: the name of all ranks together, for messages.
    """
    whole = any(name == COMMON for stage in plan.stages for name, _ in stage.columns)
    if whole or "near:neighbours" in plan.far:
        line = common or plan.far.get("near:neighbours", 0)
        raise BindError(f"{plan.name}, line {line}: `common` intersects the neighbours of two vertices, which may be "
                        f"on any {one}s, so this program cannot run on {all_}; run it on one {one}")
    if plan.far:
        slot, line = min(plan.far.items(), key=lambda item: item[1])
        name = field_of(slot) or slot.partition(":")[2]
        raise BindError(f"{plan.name}, line {line}: this reads `{name}` of a vertex that need not be a neighbour, and "
                        f"may be on any {one}, so this program cannot run on {all_}; run it on one {one}")

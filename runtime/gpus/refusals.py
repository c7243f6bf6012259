"""Refuses programs and options that cannot run on several GPUs, with the reason."""

from __future__ import annotations

from vlang.errors import BindError
from vlang.options import Options
from vlang.runtime.cluster.refusals import refuse_plan as refuse_far
from vlang.runtime.plan.plan import Plan

__all__ = ["refuse_options", "refuse_plan"]

def refuse_options(options: Options) -> None:
    """Raise BindError for an option that is not supported on several GPUs."""
    if options.memory is not None:
        raise BindError("several GPUs and memory do not go together: budgets of host memory for several GPUs are not "
                        "there yet")
    if options.device_arrays:
        raise BindError("device_arrays are on one GPU, and each of several GPUs has a part of the values: leave one of "
                        "them out")
    if options.kernel == "edge-list":
        raise BindError("kernel='edge-list' runs on one GPU, and several GPUs have parts of adjacency lists: leave one "
                        "of them out")
    if options.asynchronous or options.mode not in ("auto", "pull", "push"):
        asked = "asynchronous=True" if options.asynchronous else f"mode={options.mode!r}"
        raise BindError(f"several GPUs run full passes (mode=\"pull\") or pushes (mode=\"push\"), and {asked} was "
                        "asked for: leave it out, or name one GPU")


def refuse_plan(plan: Plan, common: int | None = None) -> None:
    """Raise BindError for a program that cannot run on several GPUs.

    Args:
        plan: the program.
        common: the line of the first call of `common` in the program; None if there is no such call.
    """
    refuse_far(plan, common, "GPU", "several GPUs")
    for pointer, line in plan.pointers.items():
        raise BindError(f"{plan.name}, line {line}: this gathers along `{pointer}`, which leads to vertices on any "
                        "GPU, so this program cannot run on several GPUs; run it on one GPU")

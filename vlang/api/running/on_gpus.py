"""Refuses programs and options that several GPUs cannot run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.api.running.columns import refuse_ordinals
from vlang.api.running.memory import chosen_budget
from vlang.api.running.on_disk import whole_lists
from vlang.errors import BindError
from vlang.options import ALL_GPUS, device_names
from vlang.runtime.gpus.refusals import refuse_options, refuse_plan

if TYPE_CHECKING:
    from vlang.api.program import Program
    from vlang.options import Options
    from vlang.runtime.plan.plan import Plan

__all__ = ["refuse", "refuse_early"]


def refuse(program: Program, plan: Plan, options: Options) -> None:
    """Raise BindError for a program or an option that several GPUs cannot run."""
    refuse_options(options)
    if chosen_budget(options) is not None:
        raise BindError("VLANG_MEMORY: budgets of host memory for several GPUs are not there yet; unset it")
    refuse_plan(plan, whole_lists(program))
    refuse_ordinals(program, "GPU", "several GPUs")


def refuse_early(program: Program, options: Options) -> None:
    """For a run on GPUs, call `refuse` before the graph is read, as if the graph had all edge columns."""
    if options.device != ALL_GPUS and len(device_names(options.device)) == 1:
        return
    columns = frozenset(edge.name for edge in program.edges)
    given = frozenset(field.name for field in program.fields if field.required)
    refuse(program, program.plan(columns, given, target="cuda", renumbered=True), options)

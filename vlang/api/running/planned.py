"""Turns the IR into a plan: schedules it and emits kernels. If VLANG_INVARIANTS is set, both results are tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.api.running.asserted import asserted_plan, asserted_schedule
from vlang.ir.facts import Facts
from vlang.ir.forms import forms as f
from vlang.ir.forms.ranges import Sizes
from vlang.ir.schedule import schedule
from vlang.runtime.plan.derived import DERIVED

if TYPE_CHECKING:
    from vlang.runtime.plan.plan import Plan

__all__ = ["planned"]


def planned(program: f.Program, facts: Facts, columns: frozenset[str], given: frozenset[str], target: str,
            without: frozenset[str], renumbered: bool, sizes: Sizes) -> Plan:
    """Return the plan of a program in IR form with its facts; other arguments as for `Program.plan`."""
    from vlang.emit.emitter import emit  # start-up
    from vlang.emit.requires import contract_stages  # start-up

    present = columns & {*(e.name for e in program.edges), *DERIVED}
    whole = asserted_schedule(schedule(program, given, without))
    contracts = contract_stages(program, whole, present)
    return asserted_plan(emit(whole, facts, present, contracts, target, without, renumbered, sizes))

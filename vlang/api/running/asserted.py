"""Checks the rules that the compiler itself must obey, if VLANG_INVARIANTS is set. Without VLANG_INVARIANTS, the
modules of the rules are not imported.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vlang.ir.forms.forms import Program
    from vlang.ir.stages import Schedule
    from vlang.runtime.plan.plan import Plan

__all__ = ["asserted_plan", "asserted_program", "asserted_schedule"]


def asserted_program(program: Program) -> Program:
    """Return the program. If VLANG_INVARIANTS is set, raises InternalError if the program breaks a rule of the IR."""
    if os.environ.get("VLANG_INVARIANTS"):
        from vlang.ir.invariants import assert_program  # start-up

        assert_program(program)
    return program


def asserted_schedule(schedule: Schedule) -> Schedule:
    """Return the schedule. If VLANG_INVARIANTS is set, raises InternalError if the schedule breaks a rule."""
    if os.environ.get("VLANG_INVARIANTS"):
        from vlang.ir.schedule_invariants import assert_schedule  # start-up

        assert_schedule(schedule)
    return schedule


def asserted_plan(plan: Plan) -> Plan:
    """Return the plan. If VLANG_INVARIANTS is set, raises InternalError if the plan breaks a rule."""
    if os.environ.get("VLANG_INVARIANTS"):
        from vlang.emit.plan_invariants import assert_plan  # start-up

        assert_plan(plan)
    return plan

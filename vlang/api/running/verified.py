"""Verifies the compiler's own rules if VLANG_VERIFY_IR is set. If the variable is not set, the verifiers are not
imported.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vlang.ir.forms.forms import Program
    from vlang.ir.stages import Schedule
    from vlang.runtime.plan.plan import Plan

__all__ = ["verified_plan", "verified_program", "verified_schedule"]


def verified_program(program: Program) -> Program:
    """Return the program. If VLANG_VERIFY_IR is set, raises InternalError if the program breaks a rule of the IR."""
    if os.environ.get("VLANG_VERIFY_IR"):
        from vlang.ir.verify import verify_program  # start-up

        verify_program(program)
    return program


def verified_schedule(schedule: Schedule) -> Schedule:
    """Return the schedule. If VLANG_VERIFY_IR is set, raises InternalError if the schedule breaks a rule."""
    if os.environ.get("VLANG_VERIFY_IR"):
        from vlang.ir.verify_schedule import verify_schedule  # start-up

        verify_schedule(schedule)
    return schedule


def verified_plan(plan: Plan) -> Plan:
    """Return the plan. If VLANG_VERIFY_IR is set, raises InternalError if the plan breaks a rule."""
    if os.environ.get("VLANG_VERIFY_IR"):
        from vlang.emit.verify_plan import verify_plan  # start-up

        verify_plan(plan)
    return plan

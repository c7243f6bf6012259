"""Contracts (`require`) as passes that run before the program's own steps and find violations."""

from __future__ import annotations

import math

from vlang.emit.emitter import ContractStage
from vlang.emit.shared.values.dialect import stored_as
from vlang.ir.forms import forms as f
from vlang.ir.stages import Schedule, Stage, Write
from vlang.runtime.plan.plan import Bound, Contract
from vlang.types import BOOL, F16, VERTEX, Scalar

__all__ = ["contract_stages"]

_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def contract_stages(program: f.Program, schedule: Schedule, present: frozenset[str]) -> tuple[ContractStage, ...]:
    """The contracts of a program as steps.

    Args:
        present: the edge fields of the graph; other fields have defaults.
    """
    domain = _first_domain(schedule)
    found = [_needs(program)] if program.needs else []
    for number, require in enumerate(program.requires):
        level = _level(require.cond, present)
        name = f"require.{number}"
        bounds = _bounds(require.cond) if level == "edge" else ()
        contract = Contract(name, level, domain if level == "edge" else None, require.text, require.span.line, bounds)
        if level == "graph":
            found.append(ContractStage(contract, None, require.cond, require.span))
            continue
        gathers: tuple[f.Gather, ...] = ()
        value = require.cond
        if level == "edge":  # the smallest neighbour whose edge violates the contract, or `none`
            bad = f.Op(BOOL, "not", (require.cond,))
            reduce = f.Reduce(VERTEX, "min", f.Vertex(VERTEX, "other"), f.Domain(domain), bad, None)
            gathers = (f.Gather(require.span, f"{name}.at", reduce),)
            value = f.Accumulator(VERTEX, f"{name}.at")
        write = Write((name,), value, None, require.span, init=True)
        stage = Stage(f"r{number}", domain if level == "edge" else None, None, (), gathers, (write,))
        found.append(ContractStage(contract, stage, None, require.span))
    return tuple(found)


def _needs(program: f.Program) -> ContractStage:
    """All required properties of the graph as one step, so that one message names all properties that are missing."""
    first = program.needs[0].span
    words = " ".join(sorted({need.word for need in program.needs}, reverse=True))
    return ContractStage(Contract("require.graph", "needs", None, words, first.line), None, None, first)


def _bounds(cond: f.Expr) -> tuple[Bound, ...]:
    """Return the bounds on one edge field in a condition, in the form `field op number`; empty for any other condition.
    """
    if not isinstance(cond, f.Op) or cond.op not in _MIRRORED:
        return ()
    op, (left, right) = cond.op, cond.args
    if isinstance(left, f.Const):
        op, left, right = _MIRRORED[op], right, left
    if not isinstance(left, f.EdgeValue) or not isinstance(right, f.Const):
        return ()
    type_, value = left.type, right.value
    if not isinstance(type_, Scalar) or not type_.floating or type_ == F16 or right.type != type_:
        return ()
    if value is None or isinstance(value, bool) or not math.isfinite(value):
        return ()
    return (Bound(left.name, stored_as(type_), op, value),)


def _level(cond: f.Expr, present: frozenset[str]) -> str:
    inside = list(f.walk(cond))
    if any(isinstance(e, f.EdgeValue) and e.name in present for e in inside):
        return "edge"
    return "vertex" if any(isinstance(e, (f.Field, f.Degree, f.Vertex)) for e in inside) else "graph"


def _first_domain(schedule: Schedule) -> str:
    """Return an adjacency direction that some pass of the program reads; "in" if there is none."""
    return next((stage.domain for stage in schedule.stages if stage.domain in ("in", "out")), "in")

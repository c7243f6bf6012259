"""Loops in order of priority on a CPU (rule O): what an edge offers, and who goes first.

The functions here are called by the skeleton `priority`. Values are joined into the field in place, by
compare-and-swap guarded by a read: rule A says that every order ends in the same state.
"""

from __future__ import annotations

from dataclasses import dataclass

from vlang.emit.dialect import Function, stored_as
from vlang.emit.numba_push import push_functions
from vlang.emit.sending import early_of, joined_writes
from vlang.emit.stage import StageWriter
from vlang.ir import forms as f
from vlang.reductions import identity
from vlang.runtime.kernelset import PrioritySpec
from vlang.types import BOOL, VERTEX, Scalar

__all__ = ["Ordered", "in_order"]


@dataclass(frozen=True)
class Ordered:
    """The functions of a stage whose loop may run in order of priority, or the reason why it may not."""

    functions: tuple[Function, ...] = ()
    spec: PrioritySpec | None = None
    reason: str = ""


def in_order(writer: StageWriter) -> Ordered:
    """offer, rank and what is brought near; `silent` is that of passes that push."""
    reason = _refused(writer)
    if reason:
        return Ordered(reason=reason)
    (write,), (gather,) = joined_writes(writer)[0], writer.stage.gathers
    (name,) = write.fields
    type_ = writer.types[name]
    assert isinstance(type_, Scalar)
    log = any(isinstance(e, f.Op) and e.op == "mul" for e in f.walk(gather.reduce.body))
    low = gather.reduce.name == "min"
    offer, rank = _offer(writer, name, type_, low, log), _rank(writer, name, type_, low, log)
    return Ordered((offer, rank, *_near(writer, name, type_)), PrioritySpec(log, writer.columns, low))


def _refused(writer: StageWriter) -> str:
    """Why a loop runs in rounds; "" if priorities may decide."""
    plan = writer.plan
    writes, reason = joined_writes(writer)
    if plan is None or reason:
        return reason
    facts = plan.facts.loop(plan.loop.repeat)
    if not facts.priority.granted or "final" not in facts.priority.marks:
        return facts.priority.reason
    if early_of(writer).kind == "frontier":
        return "every vertex of a frontier has the same value: rounds are in order of priority already"
    if isinstance(writer.stage.gathers[0].reduce.body, f.Field):
        return "values are copied as they are: nothing is added on the way, so all go at once"
    if not plan.asynchronous:
        return plan.asynchronous_reason
    if not push_functions(writer)[0] or writer.types[writes[0].fields[0]] in (BOOL, VERTEX):
        return "what is gathered is more than one number that is joined into a field as it is"
    return ""


def _offer(writer: StageWriter, name: str, type_: Scalar, low: bool, log: bool) -> Function:
    """Whether the contribution of an edge changed the receiver, and its priorities before and after."""
    d = writer.dialect
    pointer = writer.env.pointer(f"next:{name}", stored_as(type_))
    nothing = d.constant(identity("min" if low else "max", type_), type_)
    lines = (
        "while True:",
        f"    old = {pointer}[v]",
        f"    was = {d.load(type_, 'old')}",
        f"    new = gather(env, columns, {d.pack('Acc', ['was'])}, v, u, k)[0]",
        "    if new == was or was != was:" if type_.floating else "    if new == was:",
        "        return False, f64(0.0), f64(0.0)",
        f"    if replace({pointer}, v, old, {d.store(type_, 'new')}):",
        f"        before = {_key('was', low, log)}",
        f"        after = {_key('new', low, log)}",
        f"        return True, f64(np.inf) if was == {nothing} else before, after",
    )
    return Function("offer", lines, "")


def _rank(writer: StageWriter, name: str, type_: Scalar, low: bool, log: bool) -> Function:
    """The priority of a vertex."""
    (value,) = writer.scope().read(f.Field(type_, name, "self"), "field", "v")
    return Function("rank", (f"value = {value}",), _key("value", low, log))


def _near(writer: StageWriter, name: str, type_: Scalar) -> tuple[Function, ...]:
    """What an edge and a vertex that come soon will read."""
    pointer = writer.env.pointer(f"next:{name}", stored_as(type_))
    edge = tuple(f"prefetch(columns[{number}], k)" for number in range(len(writer.columns)))
    return Function("near_vertex", (f"prefetch({pointer}, v)",), ""), Function("near_edge", edge, "")


def _key(value: str, low: bool, log: bool) -> str:
    """The text of a priority, the least first. Where values are multiplied, the order of their bits, which is that of
    a logarithm to the base of two, linear in between."""
    if log:
        return f"-f64(bits_of(f64({value}))) * 2.0**-52 if {value} > 0.0 else f64(np.inf)"
    return f"f64({value})" if low else f"-f64({value})"

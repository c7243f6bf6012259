"""Decides for every target whether a loop may push, end gathers early, and skip senders that contribute nothing."""

from __future__ import annotations

from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Function
from vlang.ir.forms import forms as f
from vlang.ir.stages import Write
from vlang.records import dataclass
from vlang.reductions import MONOIDS, constant, identity
from vlang.types import BOOL, Scalar

__all__ = ["Early", "decided", "early_of", "joined_writes", "one_write", "is_final", "silent"]


@dataclass(frozen=True)
class Early:
    """How a gather may end early under rule X.

    Attributes:
        kind: "frontier", "absorbing" or "".
        decided: whether every gather ends at the absorbing element of its reduction.
        done: pairs of a field and a value. A vertex need not gather if each of the fields in `done` has the value of
            its pair.
    """

    kind: str = ""
    decided: bool = False
    done: tuple[tuple[str, bool], ...] = ()


def joined_writes(writer: StageWriter) -> tuple[tuple[Write, ...], str]:
    """Return, for each gather of a stage, the write that joins the gather. If active vertices may not push, return ()
    and the reason.
    """
    plan, stage = writer.plan, writer.stage
    if plan is None:
        return (), "runs once, for every vertex: there is no frontier"
    if "skip" in writer.without:
        return (), "switched off"
    facts = plan.facts.loop(plan.loop.repeat)
    if not facts.push.granted:
        return (), facts.push.reason
    if not plan.fused:
        return (), "the loop takes several passes a superstep"
    writes = tuple(_target(stage.writes, gather) for gather in stage.gathers)
    joined = tuple(write for write in writes if write is not None)
    if facts.kind != "fixpoint":
        return (), "changes are sent once and added up, so none may be joined again"
    if len(joined) != len(stage.gathers) or len(joined) != len(stage.writes):
        return (), "the pass gathers more than it joins"
    if stage.stored or plan.explicit:
        return (), "activity is decided by more than a change of the pushed field"
    return joined, ""


def one_write(writer: StageWriter, writes: tuple[Write, ...]) -> str:
    """Return the reason why contributions may not be joined into the field directly; "" if they may be joined."""
    stage = writer.stage
    if len(writes) > 1:
        return "the pass writes several fields"
    if stage.before or stage.guard or len(stage.after) != len(writes):
        return "a `where` guards the write"
    return ""


def _target(writes: tuple[Write, ...], gather: f.Gather) -> Write | None:
    """The write that uses the result of a gather."""
    return next((w for w in writes for e in f.walk(w.value) if e == f.Accumulator(gather.reduce.type, gather.name)),
                None)


def early_of(writer: StageWriter) -> Early:
    """Return whether a vertex may stop gathering early, or need not gather at all."""
    plan, stage = writer.plan, writer.stage
    if plan is None or not stage.gathers or "early" in writer.without:
        return Early()
    facts = plan.facts.loop(plan.loop.repeat).early_exit
    plain = not stage.before and not stage.guard and len(stage.after) == 1
    if facts.frontier.granted and plan.fused and plain and not set(stage.written) & writer.given:
        return Early("frontier")
    decided = all(gather.name in facts.gathers for gather in stage.gathers)
    done = [_done(stage.writes, gather, set(facts.done)) for gather in stage.gathers]
    fields = tuple((name, facts.done[name]) for name in dict.fromkeys(done) if name) if all(done) else ()
    return Early("absorbing" if decided or fields else "", decided, fields)


def _done(writes: tuple[Write, ...], gather: f.Gather, fields: set[str]) -> str:
    """Return the field into which a gather is joined, if the final value of the field makes the gather unnecessary;
    otherwise "".
    """
    write = _target(writes, gather)
    return write.fields[0] if write is not None and write.fields[0] in fields else ""


def is_final(writer: StageWriter, early: Early) -> str:
    """Return code that tests that no gather can change a vertex: its fields are final (X1), or the vertex was reached
    before (X2).
    """
    d, scope = writer.dialect, writer.scope()
    if early.kind == "frontier":
        (name,) = writer.stage.written
        type_ = writer.types[name]
        low = writer.stage.gathers[0].reduce.name == "min"
        far = d.constant(float("inf") if low else float("-inf"), type_)
        return f"{scope.read(f.Field(type_, name, 'self'), 'field', 'v')[0]} != {far}"
    tests = [scope.read(f.Field(BOOL, name, "self"), "field", "v")[0] for name, _ in early.done]
    holds = [f"({test})" if value else d.negation(f"({test})")
             for test, (_, value) in zip(tests, early.done)]
    return d.both(*(holds if len(holds) == 1 else [f"({hold})" for hold in holds])) if holds else d.false


def decided(writer: StageWriter, early: Early) -> str:
    """Code that tests that no further contribution can change the accumulators (rule X1)."""
    d = writer.dialect
    if not early.decided:
        return d.false
    tests, at = [], 0
    for accumulation in writer.accumulations:
        operator = accumulation.reduce.operator
        assert operator is not None
        absorbing = MONOIDS[operator].absorbing
        for number, type_ in enumerate(accumulation.types[: accumulation.width], at):
            part = d.part("acc", number)
            if absorbing in ("true", "false"):
                tests.append(part if absorbing == "true" else d.negation(part))
            else:
                tests.append(f"{part} == {d.constant(constant(absorbing, type_), type_)}")
        at += len(accumulation.types)
    return d.both(*(tests if len(tests) == 1 else [f"({test})" for test in tests]))


def silent(writer: StageWriter) -> Function:
    """Return the function `silent`, which tests whether a vertex contributes nothing over any edge (rule Z)."""
    d = writer.dialect
    assert writer.plan is not None
    if "identity" in writer.without:
        return Function("silent", (), d.false)
    facts = {one.name: one.silencing for one in writer.plan.facts.loop(writer.plan.loop.repeat).gathers}
    tests = []
    for gather in writer.stage.gathers:
        held = [_at_identity(writer, name, gather.reduce) for name in facts[gather.name]]
        tests.append(held[0] if len(held) == 1 else f"({d.disjunction(*held)})" if held else d.false)
    return Function("silent", (), d.conjunction(*tests))


def _at_identity(writer: StageWriter, name: str, reduce: f.Reduce) -> str:
    d, type_ = writer.dialect, writer.types[name]
    assert isinstance(type_, Scalar)
    (value,) = writer.scope().read(f.Field(type_, name, "self"), "field", "v")
    if type_ == BOOL:
        return value if reduce.operator == "and" else d.negation(f"({value})")
    return f"{value} == {d.constant(identity(reduce.name, type_), type_)}"

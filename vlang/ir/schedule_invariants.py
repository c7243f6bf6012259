"""The rules that a schedule obeys: passes read only stored values, and every statement of the program runs once."""

from __future__ import annotations

from collections.abc import Iterator

from vlang.ir import stages as s
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import statements
from vlang.ir.invariants import Rule, assert_rules

__all__ = ["SCHEDULE_RULES", "assert_schedule"]


def assert_schedule(schedule: s.Schedule) -> None:
    """Check the steps of a program. Raises InternalError."""
    assert_rules(SCHEDULE_RULES, schedule, schedule.program.name)


def _masks(stage: s.Stage) -> Iterator[s.Mask]:
    """The masks that a stage computes, in order."""
    yield from (item for item in (*stage.before, *stage.after) if isinstance(item, s.Mask))


def _computed(stage: s.Stage) -> set[str]:
    return {gather.name for gather in stage.gathers} | {mask.name for mask in _masks(stage)}


def _twice(schedule: s.Schedule) -> Iterator[str]:
    names = [stage.name for stage in schedule.stages]
    names += [name for stage in schedule.stages for name in sorted(_computed(stage))]
    yield from sorted({name for name in names if names.count(name) > 1})


def _domains(schedule: s.Schedule) -> Iterator[str]:
    for stage in schedule.stages:
        kinds = {gather.reduce.over for gather in stage.gathers}
        if kinds != ({stage.domain} if stage.domain else set()):
            yield f"{stage.name} over {stage.domain} gathers over {', '.join(sorted(kinds)) or 'nothing'}"


def _early(schedule: s.Schedule) -> Iterator[str]:
    """Yield masks or accumulators that a pass reads before it has computed their values."""
    for stage in schedule.stages:
        own, known = _computed(stage), set[str]()
        for item in stage.before:
            yield from (f"{name}, in {stage.name}" for name in sorted((_needs(item) & own) - known))
            known.add(item.name)
        needed = s.accumulators_in(gather.reduce for gather in stage.gathers)
        needed |= {stage.guard} if stage.guard else set()
        yield from (f"{name}, in {stage.name}" for name in sorted((needed & own) - known))
        known |= {gather.name for gather in stage.gathers}
        for late in stage.after:
            yield from (f"{name}, in {stage.name}" for name in sorted((_needs(late) & own) - known))
            known |= {late.name} if isinstance(late, s.Mask) else set()


def _needs(item: s.Mask | s.Write) -> set[str]:
    """The accumulators and masks that a mask or write reads."""
    expr = item.value if isinstance(item, s.Write) else item.cond
    return s.accumulators_in((expr,)) | ({item.guard} if item.guard else set())


def _stored(schedule: s.Schedule) -> Iterator[str]:
    known: set[str] = set()
    for step in s.every(schedule.steps):
        if isinstance(step, s.Stage):
            yield from (f"{name}, in {step.name}" for name in sorted(s.reads_of(step) - known))
            known |= step.stored
        elif isinstance(step, s.Sweep) and step.guard and step.guard not in known:
            yield f"{step.guard}, of {step.level}"
        elif isinstance(step, s.Loop) and step.repeat.activate and step.guard and step.guard not in known:
            yield f"{step.guard}, of {step.name}"


def _kept(schedule: s.Schedule) -> Iterator[str]:
    for stage in schedule.stages:
        yield from (f"{name}, in {stage.name}" for name in sorted(stage.stored - _computed(stage)))


def _anywhere(schedule: s.Schedule) -> Iterator[str]:
    """Yield fields that a pass reads at an arbitrary vertex after it has written these fields. Gathers run before all
    writes.
    """
    for stage in schedule.stages:
        written: set[str] = set()
        for item in stage.after:
            read = s.anywhere(item.value if isinstance(item, s.Write) else item.cond)
            yield from (f"{name}, in {stage.name}" for name in sorted(read & written))
            written |= set(item.fields) if isinstance(item, s.Write) else set()


def _overtaken(schedule: s.Schedule) -> Iterator[str]:
    """Yield reads by a gather of a field that an earlier statement of the same pass writes. (Gathers of a pass run
    before its writes.)
    """
    for stage in schedule.stages:
        for gather in stage.gathers:
            read = {e.name for e in f.walk(gather.reduce) if isinstance(e, f.Field)}
            ahead = {name for write in stage.writes if write.span.start < gather.span.start for name in write.fields}
            yield from (f"{gather.name} reads {name}, in {stage.name}" for name in sorted(read & ahead))


def _all(schedule: s.Schedule) -> Iterator[str]:
    """Yield statements that are not scheduled exactly once. Statements are compared by identity. Passed fields may
    replace initializers.
    """
    body = list(statements(schedule.program.body))
    gathers = [gather for stage in schedule.stages for gather in stage.gathers]
    yield from (one.name for one in body if isinstance(one, f.Gather) and gathers.count(one) != 1)
    applied = sorted(one.fields for one in body if isinstance(one, f.Apply))
    begun = [(one.name,) for one in body if isinstance(one, f.InitField)]
    writes = [write for stage in schedule.stages for write in stage.writes]
    if sorted(write.fields for write in writes if not write.init) != applied:
        yield f"the text applies {applied}"
    started = [write.fields for write in writes if write.init]
    if len(started) != len(set(started)) or not set(started) <= set(begun):
        yield f"the text initializes {begun}"
    named = [step.name for step in s.every(schedule.steps) if isinstance(step, s.ScalarStep)]
    yield from (one.name for one in body if isinstance(one, (f.Let, f.InitGlobal)) and named.count(one.name) != 1)


def _levels(schedule: s.Schedule) -> Iterator[str]:
    def below(steps: tuple[s.Step, ...], level: int) -> Iterator[str]:
        for step in steps:
            if isinstance(step, s.Loop) and step.level != level:
                yield f"{step.name} has level {step.level}, and {level} loops around it"
            if not isinstance(step, (s.Stage, s.ScalarStep)):
                yield from below(step.steps, level + isinstance(step, s.Loop))

    if [loop.number for loop in schedule.loops] != list(range(len(schedule.loops))):
        yield f"numbers {[loop.number for loop in schedule.loops]}"
    yield from below(schedule.steps, 0)


def _guards(schedule: s.Schedule) -> Iterator[str]:
    masks = {mask.name for stage in schedule.stages for mask in _masks(stage)}
    for stage in schedule.stages:
        used = (stage.guard, *(item.guard for item in (*stage.before, *stage.after)))
        yield from (f"{name}, in {stage.name}" for name in used if name is not None and name not in masks)


SCHEDULE_RULES: tuple[Rule[s.Schedule], ...] = (
    Rule("A pass, an accumulator and a mask have names of their own.", _twice),
    Rule("All gathers of a pass go over its domain, and a pass over vertices has none.", _domains),
    Rule("In a pass, masks come before what they guard, and accumulators before what reads them.", _early),
    Rule("What guards is a mask.", _guards),
    Rule("What a pass reads of another one, an earlier one has stored.", _stored),
    Rule("A pass stores what it computes itself.", _kept),
    Rule("A pass does not read of a vertex anywhere what it has written.", _anywhere),
    Rule("A gather does not run ahead of a write that the text has before it and that it reads.", _overtaken),
    Rule("Every statement of the program is done once, and nothing else is.", _all),
    Rule("Loops are numbered in the order of the text, and have the level of their place.", _levels),
)

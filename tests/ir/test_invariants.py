"""Each violation of a rule of the IR, of schedules or of plans is found and reported with the text of the rule."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import vlang
from tests.ir.helpers import ir
from vlang import stdlib
from vlang.emit.plan_invariants import PLAN_RULES, assert_plan
from vlang.errors import InternalError
from vlang.ir import stages as s
from vlang.ir.forms import forms as f
from vlang.ir.invariants import PROGRAM_RULES, assert_program
from vlang.ir.schedule import schedule
from vlang.ir.schedule_invariants import SCHEDULE_RULES, assert_schedule
from vlang.ir.type_invariants import broken_type
from vlang.runtime.plan.plan import LoopSpec, Plan, StageSpec
from vlang.syntax.tree import Span
from vlang.types import BOOL, F16, F32, I32, INTEGER, U64, VERTEX, Vector

TEXT = """\
program p(source: vertex, some: vertices, turns: int = 5)

edge weight: float = 1.0
vertex far: float = 0.0 if self == source else inf
vertex near: f16 = 0.0
vertex level: int = 1
global best = max(v.far for v in vertices)

repeat at most turns times:
    let low = min(v.far for v in vertices)
    gather new = min(u.far + weight for u -> self)
    where level > 0:
        apply far = min(far, new)
    apply near = new - low + old(far)
    activate when changed(far)

sweep level up:
    gather all_of = sum(u.far for self -> u)
    apply far = all_of

for k from 1 to 3:
    apply far = far + k * best
"""


@functools.cache
def program() -> f.Program:
    """Return the program that the tests damage."""
    return ir(TEXT)


@functools.cache
def steps() -> s.Schedule:
    """Return the schedule of the program."""
    return schedule(program())


@functools.cache
def plan(target: str = "numba") -> Plan:
    """Return the plan of the program."""
    return vlang.compile(TEXT).plan(frozenset(), target=target)


# ------------------------------------------------------------------------------------------------------------ damage
def _exprs(change: Callable[[f.Expr], f.Expr | None], body: Any = None) -> Any:
    """Return the program in which `change` replaces each expression; if `change` returns None, the expression stays."""
    value = program() if body is None else body
    if isinstance(value, f.Expr):
        changed = change(value)
        if changed is not None:
            return changed
        return f.rebuild(value, tuple(_exprs(change, child) for child in f.children(value)))
    if isinstance(value, tuple):
        return tuple(_exprs(change, item) for item in value)
    if isinstance(value, (f.Program, f.Statement)):
        names = [name for name in ("body", "value", "cond", "reduce", "limit", "until") if hasattr(value, name)]
        return replace(value, **{name: _exprs(change, getattr(value, name)) for name in names
                                 if getattr(value, name) is not None})
    return value


def _body(change: Callable[[f.Statement], tuple[f.Statement, ...]], body: tuple[f.Statement, ...]) -> Any:
    """Return the statements in which `change` replaces each statement, including statements inside blocks."""
    found: list[f.Statement] = []
    for one in body:
        for other in change(one):
            inner = getattr(other, "body", None)
            found.append(other if inner is None or other is not one else
                         replace(other, **{"body": _body(change, inner)}))
    return tuple(found)


def _statements(change: Callable[[f.Statement], tuple[f.Statement, ...]]) -> f.Program:
    return replace(program(), body=_body(change, program().body))


def _stages(change: Callable[[s.Stage], s.Stage], body: Any = None) -> Any:
    """Return the schedule in which `change` replaces the passes."""
    if body is None:
        return replace(steps(), steps=_stages(change, steps().steps))
    return tuple(change(step) if isinstance(step, s.Stage) else step if isinstance(step, s.ScalarStep) else
                 replace(step, steps=_stages(change, step.steps)) for step in body)


def _spec(**changes: Any) -> Plan:
    """Return the plan in which the first pass of the loop has the attributes `changes`."""
    loop = next(step for step in plan().steps if isinstance(step, LoopSpec))
    stage = next(step for step in loop.steps if isinstance(step, StageSpec))
    new = replace(loop, steps=tuple(replace(stage, **changes) if step is stage else step for step in loop.steps))
    return replace(plan(), steps=tuple(new if step is loop else step for step in plan().steps))


def _is(kind: type[Any], **fields: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind) and all(getattr(value, k) == v for k, v in fields.items())


def _when(test: Callable[[Any], bool], new: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: new(value) if test(value) else None


def _instead(test: Callable[[Any], bool], new: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda value: new(value) if test(value) else (value,)


_NEW = f.Accumulator(F32, "new")
_OLD = f.EdgeState(F32, "kept")
_GATHER = _is(f.Gather, name="new")

PROGRAMS: dict[str, tuple[Callable[[], f.Program], str]] = {
    "the value of an edge at a vertex": (lambda: replace(
        _statements(_instead(_is(f.Apply), lambda one: (replace(one, value=_OLD),))),
        states=(f.StateDecl("kept", F32, "rows", Span(0, 0, 1, 1)),)), "The value of an edge is read over in-edges"),
    "an operand of another type": (lambda: _exprs(_when(
        _is(f.Op, op="add"), lambda e: replace(e, args=(e.args[0], f.Const(I32, 1))))), "The operands of an operator"),
    "a literal without a type": (lambda: _exprs(_when(
        _is(f.Const, type=I32), lambda e: replace(e, type=INTEGER))), "The operands of an operator"),
    "a constant beyond its type": (lambda: _exprs(_when(
        _is(f.Const, type=I32), lambda e: replace(e, value=1 << 40))), "The operands of an operator"),
    "a comparison that is no bool": (lambda: _exprs(_when(
        _is(f.Op, op="gt"), lambda e: replace(e, type=F32))), "The operands of an operator"),
    "f16 without a conversion": (lambda: replace(program(), body=(*program().body, f.Apply(
        program().body[0].span, ("near",), f.Op(F16, "neg", (f.Field(F16, "near", "self"),))))),
        "The operands of an operator"),
    "a conversion left out": (lambda: _exprs(_when(
        _is(f.Op, op="cast", type=F16), lambda e: e.args[0])), "The value of a place has the type of the place"),
    "a field that is not declared": (lambda: _exprs(_when(
        _is(f.Field, name="level"), lambda e: replace(e, name="other"))), "A field that is read is declared"),
    "a name given twice": (lambda: _statements(_instead(
        _GATHER, lambda g: (g, replace(g)))), "A name stands for one thing"),
    "an accumulator before its gather": (lambda: _statements(_instead(
        _GATHER, lambda g: (f.Apply(g.span, ("far",), _NEW), g))), "An accumulator, `let`, `global`, parameter"),
    "`iteration` outside of loops": (lambda: replace(program(), body=(*program().body, f.Let(
        program().body[0].span, "x", f.GraphValue(vlang.types.I64, "iteration", "builtin")))),
        "An accumulator, `let`, `global`, parameter"),
    "an accumulator of another type": (lambda: _exprs(_when(
        _is(f.Accumulator, name="all_of"), lambda e: replace(e, type=I32))), "Such a value is read with the type"),
    **{f"a {kind} of another type": (functools.partial(_exprs, _when(_is(f.GraphValue, name=name),
       functools.partial(replace, type=F16))), "Such a value is read with the type")
       for kind, name in (("parameter", "turns"), ("let", "low"), ("global", "best"), ("loop", "k"))},
    "a neighbour at a vertex": (lambda: _exprs(_when(
        _is(f.Field, name="level"), lambda e: replace(e, of="other"))), "A neighbour and an edge are read at edges"),
    "a vertex for the graph": (lambda: _statements(_instead(
        _is(f.Let), lambda e: (replace(e, value=f.Field(F32, "far", "self")),))), "A neighbour and an edge"),
    "the past outside of loops": (lambda: _exprs(_when(
        _is(f.Field, of="other", name="far"), lambda e: replace(e, time="old"))), "The past of a field"),
    "a reduction inside one over edges": (lambda: _exprs(_when(
        _is(f.EdgeValue), lambda e: f.Reduce(
            F32, "min", f.Field(F32, "far", "self"), f.Domain("vertices"), None, None))),
        "A reduction over edges is evaluated for a vertex"),
    "a set that is no parameter": (lambda: _exprs(_when(
        _is(f.Reduce, domain=f.Domain("vertices")), lambda e: replace(e, domain=f.Domain("set", "source")))),
        "A set that is named is a parameter"),
    "vertices that point here without a pointer": (lambda: _exprs(_when(
        _is(f.Reduce, domain=f.Domain("out")), lambda e: replace(e, domain=f.Domain("pointing")))),
        "A reduction over the vertices that point here"),
    "a pointer of edges": (lambda: _exprs(_when(
        _is(f.Reduce, domain=f.Domain("out")), lambda e: replace(e, key=f.Field(VERTEX, "level", "other")))),
        "A reduction over the vertices that point here"),
    "the key of a group outside of it": (lambda: _exprs(_when(
        _is(f.Field, name="far", of="self"), lambda e: f.GroupKey(F32, "c"))), "A grouped gather has a key"),
    "a condition of groups without groups": (lambda: _exprs(_when(
        _is(f.Reduce, domain=f.Domain("out")), lambda e: replace(e, having=f.Const(BOOL, True)))),
        "A grouped gather has a key"),
    "a part of groups without groups": (lambda: _exprs(_when(
        _is(f.Reduce, domain=f.Domain("out")), lambda e: replace(e, part=0))), "A grouped gather has a key"),
    "groups without a key": (lambda: _exprs(_when(
        _is(f.Reduce, domain=f.Domain("out")), lambda e: replace(e, group="c"))), "A grouped gather has a key"),
    "a write to nothing": (lambda: _statements(_instead(
        _is(f.Apply, fields=("near",)), lambda e: (replace(e, fields=("nowhere",)),))), "A field that is written"),
    "an initializer left out": (lambda: _statements(_instead(
        _is(f.InitField, name="level"), lambda e: ())), "A field has one initializer"),
    "`activate when` in the middle": (lambda: _statements(_instead(
        _is(f.Activate), lambda e: (e, f.Apply(e.span, ("far",), f.Field(F32, "far", "self"))))),
        "`activate when` is the last statement"),
    "a sweep over a float": (lambda: _statements(_instead(
        _is(f.Sweep), lambda e: (replace(e, field="far"),))), "A sweep goes over a field of integers"),
}  # fmt: skip


NARROWED = """\
program q
vertex near: int = 1
repeat at most 3 times:
    where near > 0:
        where near < 3:
            gather most = max(u.near for u -> self)
            apply near = most
"""


def _narrowed(change: Callable[[s.Stage], s.Stage]) -> s.Schedule:
    """Return the schedule of NARROWED with a changed pass. The pass computes two masks before its gather."""
    whole = schedule(ir(NARROWED))
    (loop,) = [step for step in whole.steps if isinstance(step, s.Loop)]
    (stage,) = [step for step in loop.steps if isinstance(step, s.Stage) and step.gathers]
    assert len(stage.before) == 2
    steps = tuple(change(stage) if step is stage else step for step in loop.steps)
    return replace(whole, steps=tuple(replace(step, steps=steps) if step is loop else step for step in whole.steps))


AROUND = """\
program q
vertex far: int = degree
where far > 2:
    repeat at most 5 times:
        let least = min(u.far for u in vertices)
        activate when far > least
"""


def _around(change: Callable[[s.Stage], s.Stage]) -> s.Schedule:
    """Return the schedule of AROUND with changed passes. The mask in this schedule is read only where the loop decides
    which vertices are active.
    """
    whole = schedule(ir(AROUND))
    return replace(whole, steps=tuple(change(step) if isinstance(step, s.Stage) else step for step in whole.steps))


SCHEDULES: dict[str, tuple[Callable[[], s.Schedule], str]] = {
    "two passes of one name": (lambda: _stages(lambda x: replace(x, name="s0")), "A pass, an accumulator and a mask"),
    "a gather over other edges": (lambda: _stages(lambda x: replace(x, domain="both" if x.domain else None)),
                                  "All gathers of a pass go over its domain"),
    "a mask after what it guards": (lambda: _stages(lambda x: replace(x, after=x.after[::-1])),
                                    "In a pass, masks come before what they guard"),
    "a mask before the mask that guards it": (lambda: _narrowed(lambda x: replace(x, before=x.before[::-1])),
                                              "In a pass, masks come before what they guard"),
    "gathers before the mask that guards them": (lambda: _narrowed(lambda x: replace(
        x, before=(), after=(*x.before, *x.after))), "In a pass, masks come before what they guard"),
    "a guard that is nothing": (lambda: _stages(lambda x: replace(x, guard="nothing" if x.gathers else None)),
                                "What guards is a mask"),
    "what is read is not stored": (lambda: _stages(
        lambda x: replace(x, after=tuple(w for w in x.after if isinstance(w, s.Mask))) if x.gathers else replace(
            x, after=(*x.after, s.Write(("far",), _NEW, None, steps().program.body[0].span)))),
        "What a pass reads of another one"),
    "the mask around a loop is not stored": (lambda: _around(lambda x: replace(x, stored=frozenset())),
                                             "What a pass reads of another one"),
    "something else is stored": (lambda: _stages(lambda x: replace(x, stored=frozenset({"nothing"}))),
                                 "A pass stores what it computes itself"),
    "a read anywhere of what is written": (lambda: _stages(lambda x: replace(x, after=(*x.after, s.Write(
        ("far",), f.Field(F32, "far", f.GraphValue(VERTEX, "source", "parameter")), None,
        steps().program.body[0].span)))), "A pass does not read of a vertex anywhere"),
    "a gather ahead of a write": (lambda: _stages(lambda x: replace(x, after=tuple(
        replace(w, span=steps().program.body[0].span) for w in x.after)) if x.gathers else x),
        "A gather does not run ahead of a write"),
    "a statement left out": (lambda: _stages(lambda x: replace(x, after=x.after[:-1])),
                             "Every statement of the program"),
    "a loop of another level": (lambda: replace(steps(), steps=tuple(
        replace(x, level=1) if isinstance(x, s.Loop) else x for x in steps().steps)), "Loops are numbered"),
}  # fmt: skip

PLANS: dict[str, tuple[Callable[[], Plan], str]] = {
    "a kernel that is not exported": (lambda: replace(plan(), exports={"scalars": "void(u64*, i64, i64)"}),
                                      "A kernel that a step names is exported"),
    "a kernel for nothing": (lambda: replace(plan(), exports={**plan().exports, "more": "void(i64)"}),
                             "A kernel that is exported is named"),
    "a kernel without text": (lambda: replace(plan(), text=""), "The text defines each kernel"),
    "a struct without text": (lambda: replace(plan("cuda"), text=""), "The text defines each kernel"),
    "a slot of the engine": (lambda: replace(plan(), slots={k: v - 1 for k, v in plan().slots.items()}),
                             "Slots are numbered"),
    "a slot that is missing": (lambda: replace(plan(), slots={k: v for k, v in plan().slots.items()
                                                              if k != "field:far"}), "A slot that a field"),
    "a field that is missing": (lambda: _spec(written=("nowhere",)), "A field that a step names"),
    "a swap without a write": (lambda: _spec(swaps=("level",)), "A pass that swaps the buffers"),
    "an array of bools": (lambda: replace(plan(), arrays=(replace(plan().arrays[0], dtype="bool"),)),
                          "Arrays have a type"),
    "an array as long as nothing": (lambda: replace(plan(), arrays=(replace(plan().arrays[0], length="most"),)),
                                    "Arrays have a type"),
    "a value left out": (lambda: replace(plan(), defaults={}), "The graph-level values"),
    "a value without a scalar": (lambda: replace(plan(), scalars={}), "A graph-level value has a scalar"),
    "a loop of another level": (lambda: replace(plan(), steps=tuple(
        replace(x, level=1) if isinstance(x, LoopSpec) else x for x in plan().steps)), "Loops have the level"),
}  # fmt: skip


@pytest.mark.parametrize("what", PROGRAMS)
def test_damaged_ir_is_found(what: str) -> None:
    damage, sentence = PROGRAMS[what]
    assert_program(program())
    with pytest.raises(InternalError, match=f"\n  {sentence}"):
        assert_program(damage())


def test_degrees_and_vertices_of_other_types_are_found() -> None:
    for type_ in (I32, U64, VERTEX, F32, BOOL, Vector(I32, 2)):
        for expr in (f.Degree(type_, "in", "self"), f.Vertex(type_, "self")):
            assert broken_type(expr, None, {}) == ("" if type_ in (I32, U64, VERTEX) else f"the type is {type_}")


@pytest.mark.parametrize("what", SCHEDULES)
def test_a_damaged_schedule_is_found(what: str) -> None:
    damage, sentence = SCHEDULES[what]
    for text in (TEXT, NARROWED, AROUND):
        assert_schedule(schedule(ir(text)))
    with pytest.raises(InternalError, match=f"\n  {sentence}"):
        assert_schedule(damage())


@pytest.mark.parametrize("what", PLANS)
def test_a_damaged_plan_is_found(what: str) -> None:
    damage, sentence = PLANS[what]
    assert_plan(plan())
    assert_plan(plan("cuda"))
    with pytest.raises(InternalError, match=f"\n  {sentence}"):
        assert_plan(damage())


def test_every_rule_is_broken_here() -> None:
    starts = tuple(start for cases in (PROGRAMS, SCHEDULES, PLANS) for _, start in cases.values())
    sentences = [rule.sentence for rules in (PROGRAM_RULES, SCHEDULE_RULES, PLAN_RULES) for rule in rules]
    assert [sentence for sentence in sentences if not sentence.startswith(starts)] == []


@pytest.mark.parametrize("name", stdlib.names())
def test_programs_that_come_with_vlang_keep_the_rules(name: str) -> None:
    program = vlang.load(name)
    for precision in (32, 64):
        assert_program(program.stages(precision).program)
    for without in (frozenset[str](), frozenset({"merge", "narrow", "fuse"})):
        assert_schedule(schedule(program.stages().program, without=without))
        for target in ("numba", "cuda"):
            assert_plan(program.plan(frozenset(e.name for e in program.edges), target=target, without=without))


@pytest.mark.parametrize("switch", ["1", ""])
def test_rules_are_loaded_where_they_are_asked_for(switch: str) -> None:
    code = "import sys, vlang; vlang.load('bfs').plan(frozenset()); print(any('_invariants' in m for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], env={"PATH": "", "VLANG_INVARIANTS": switch}, text=True,
                          capture_output=True, check=True)
    assert done.stdout == f"{bool(switch)}\n"

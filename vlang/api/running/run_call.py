"""Runs a bound call: opens a machine within the budget, runs the plan, and looks for values that overflowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from vlang.api.running.columns import columns_of
from vlang.api.running.edge_states import with_opposites
from vlang.api.running.memory import within_budget
from vlang.api.running.notices.input_notes import input_notes
from vlang.api.running.observed import observed
from vlang.api.running.planned import planned
from vlang.api.running.ran import Ran
from vlang.api.running.watched import watched
from vlang.ir.facts import analyse
from vlang.ir.forms import forms as f
from vlang.ir.forms.ranges import sizes_of
from vlang.ir.overflow_watch import noting
from vlang.options import ALL_GPUS, device_names
from vlang.runtime.cluster.transports.transport import here
from vlang.runtime.engine.engine import run_plan
from vlang.runtime.engine.run_outcome import Outcome
from vlang.runtime.machines import open_machine
from vlang.runtime.plan.derived import COMMON
from vlang.runtime.plan.plan import NO_WATCH
from vlang.runtime.policies.policies import choices_of, policy_notes, refuse_policy, with_models
from vlang.runtime.results.origin import Origin
from vlang.runtime.results.outcomes import result_of
from vlang.runtime.results.rounds import Rounds

if TYPE_CHECKING:
    from vlang.api.calls import Call
    from vlang.api.program import Program
    from vlang.options import Options
    from vlang.runtime.cpu.placement import Placement
    from vlang.runtime.engine.draws import Draws
    from vlang.runtime.engine.keeper import Keeper
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.machines import Opened
    from vlang.runtime.plan.plan import Plan, Watch
    from vlang.runtime.results.result import Result
    from vlang.runtime.storage.state.state_folder import StateFolder

__all__ = ["check_call", "ran_call", "renumbered", "result_of_run", "run_call", "warnings_after"]


def run_call(program: Program, call: Call, draws: Draws | None = None) -> Result:
    """Run a bound call of a program. With `draws`, the engine makes every free choice at random (chaos mode)."""
    if call.options.device == ALL_GPUS and call.options.cluster is None and here() is None:
        from vlang.runtime.gpu.device.choose import all_gpus  # start-up

        call = replace(call, options=replace(call.options, device=all_gpus()))
    if call.options.cluster is None or here() is not None:
        return result_of_run(program, call, ran_call(program, call, draws))
    from vlang.api.running.on_ranks import as_mpi_rank, starts_ranks  # start-up

    if not starts_ranks(call.options):
        return as_mpi_rank(call, lambda: run_call(program, call, draws))
    from vlang.api.running.driver import driven  # start-up

    return result_of_run(program, call, driven(program, call))


def ran_call(program: Program, call: Call, draws: Draws | None = None) -> Ran:
    """Run a bound call on the machine that its options name, and look for values that overflowed."""
    graph, precision = call.graph, call.precision
    stages = program.stages(precision)
    arrays = {**call.fields, **call.old}
    columns, given, sizes = columns_of(stages.program, graph), frozenset(arrays), sizes_of(graph.n, graph.m)

    plans: dict[str, Plan] = {}

    def plan_for(target: str) -> Plan:
        if target not in plans:
            plans[target] = program.plan(columns, given, precision, target, call.options.without,
                                         renumbered(graph, call.options), sizes)
        return plans[target]

    plan = plan_for("numba" if call.options.device in ("cpu", "auto") else "cuda")
    refuse_policy(plan, call.options)
    transport = here()
    if transport is not None:
        from vlang.api.running.on_ranks import check_same_call, refuse  # start-up

        check_same_call(program, call, transport)
        refuse(program, plan, call.options)
    elif len(device_names(call.options.device)) > 1:
        from vlang.api.running.on_gpus import refuse as refuse_gpus  # start-up

        refuse_gpus(program, plan, call.options)
    watch = NO_WATCH if draws is not None else watched(program, call)[0]
    with observed(call.options, f"{program.name} on {graph.name}"), _folder_of(call.options) as folder, \
            within_budget(plan_for, graph, call.options) as short, with_opposites(program, graph), \
            open_machine(plan_for, graph, call.options, draws, _placed(program, plan_for, call)) as opened:
        remembered = _remembered(opened.plan, graph)
        slots = [slot for names in stages.sent.values() for slot in names.values() if slot in opened.plan.slots]
        outcome, resumed, problems = _run_on(program, opened, call, arrays, slots, watch, folder)
        streamed, notes = opened.streamed(), opened.notes()
    warnings = warnings_after(program, call, outcome, draws is None)
    placed = opened.placement
    return Ran(
        opened.plan, outcome, opened.device, opened.reason, before=tuple(short), after=(*warnings, *problems),
        resumed=resumed, remembered=remembered, notes=notes, streamed=streamed,
        placement="" if placed is None else placed.text,
        read_bytes=0 if placed is None or opened.reading is None else opened.reading.nbytes)


def warnings_after(program: Program, call: Call, outcome: Outcome, integers: bool) -> tuple[str, ...]:
    """Warnings about values that overflowed in a run.

    Args:
        program: the program.
        call: the bound call.
        outcome: the outcome of the run.
        integers: whether to report integers as well.

    Raises RangeError if the outputs do not show an overflow of floats.
    """
    warnings = _overflows(program, call, outcome) if outcome.infinite else ()
    return warnings or (_integers(program, call, outcome) if integers else ())


def result_of_run(program: Program, call: Call, ran: Ran) -> Result:
    """The result of a bound call that has run."""
    graph, outcome, stages = call.graph, ran.outcome, program.stages(call.precision)
    sent = {number: {name: outcome.kept[slot] for name, slot in names.items() if slot in outcome.kept}
            for number, names in stages.sent.items()}
    origin = Origin(program.source, call.precision, program.derive, graph.as_stored, call.parameters, call.fields, sent,
                    call.names, call.constants)
    result = result_of(ran.plan, graph, outcome, stages.falling, origin, ran.device, ran.reason,
                       {name: str(type_) for name, type_ in stages.program.shown.items()})
    if ran.plan.states:
        from vlang.runtime.results.edge_states import states_of  # start-up

        result.edge_states = states_of(ran.plan, graph, outcome.values.edges)
    result.placement, result.read_bytes = ran.placement, ran.read_bytes
    result.warnings = (*graph.warnings, *call.notes, *ran.before, *input_notes(stages, call, program.source),
                       *ran.after, *_not_numbers(outcome, graph))
    result.resumed, result.remembered = ran.resumed, ran.remembered
    result.policy, result.choices = call.options.policy, choices_of(call.options)
    result.notes = (*policy_notes(ran.plan, call.options), *ran.notes)
    rounds, compared = with_models(ran.plan, call.options, lambda: result.history, ran.streamed)
    if compared:
        result.history, result.notes = Rounds(rounds), (*result.notes, compared)
    return result


def _remembered(plan: Plan, graph: Graph) -> str:
    """Return a sentence which says that the run used cached numbers of common neighbours; "" if the graph has no such
    cache.
    """
    kinds = {stage.domain for stage in plan.stages if (COMMON, "u32") in stage.columns}
    if not kinds or not all(kind is not None and graph.holds(kind, COMMON) for kind in kinds):
        return ""
    return "the graph kept the numbers of common neighbours from an earlier run, and this run did not count them again"


def renumbered(graph: Graph, options: Options) -> bool:
    """Return whether vertices are stored in another order than by id, because of the graph or because the run has
    several parts.
    """
    return graph.order is not None or here() is not None or len(device_names(options.device)) > 1


def _folder_of(options: Options) -> AbstractContextManager[StateFolder | None]:
    """A context manager that opens and locks the checkpoint folder of a run.

    Yields None for a run without checkpoints.
    """
    if options.checkpoint is None:
        return nullcontext()
    from vlang.api.running.checkpoints import opened_folder  # start-up

    return opened_folder(options.checkpoint)


def _placed(program: Program, plan_for: Callable[[str], Plan], call: Call) -> Placement | None:
    """Return whether the run streams the edges of a graph on disk; None for a graph in memory."""
    if call.graph.stored is None or here() is not None or len(device_names(call.options.device)) > 1:
        return None
    from vlang.api.running.on_disk import placed  # start-up

    return placed(program, plan_for, call.graph, call.options)


def _run_on(
    program: Program, opened: Opened, call: Call, arrays: Mapping[str, Any], slots: list[str], watch: Watch,
    folder: StateFolder | None,
) -> tuple[Outcome, str, Sequence[str]]:
    """Run a bound call on a machine, with checkpoints if its options ask for them.

    Args:
        program: the program.
        opened: the machine and the plan.
        call: the bound call.
        arrays: the fields that replace initializers, by name.
        slots: the slots of the arrays to keep after the run.
        watch: the values to test for infinities.
        folder: the folder of the checkpoints; None for a run without checkpoints.

    Returns:
        The outcome; a sentence that says where the run continued; and messages about problems with checkpoints.
    """
    def run(keeper: Keeper | None) -> Outcome:
        return run_plan(opened.plan, call.graph, opened.machine, call.scalars, arrays, call.options, call.starts,
                        slots, watch=watch, keeper=keeper)

    if call.options.checkpoint is None and call.options.on_interrupt == "stop":
        return run(None), "", ()
    from vlang.api.running.checkpoints import Notes, keeping  # start-up

    transport = here()
    notes = Notes(call.options.notices if transport is None or transport.rank == 0 else None)
    with keeping(opened.plan, opened.machine, call, program, folder, notes) as keeper:
        outcome = run(keeper)
    return outcome, notes.resumed, notes.problems


def _not_numbers(outcome: Outcome, graph: Graph) -> tuple[str, ...]:
    """The warnings about outputs that are NaN."""
    if not outcome.nan:
        return ()
    from vlang.api.running.notices.nan_outputs import nan_warnings  # start-up

    return tuple(nan_warnings(outcome, graph))


def _overflows(program: Program, call: Call, outcome: Outcome) -> tuple[str, ...]:
    """The warning about a float that overflowed. Runs the program once more to find the statement.

    Raises RangeError if the outputs do not show the overflow.
    """
    from vlang.api.running.notices.overflow import reported  # start-up

    watch, risky = watched(program, call)
    made, places = noting(program.stages(call.precision).program, frozenset({**call.fields, **call.old}), watch, risky)
    return reported(places, lambda: _noted(call, made), call.graph)


def check_call(program: Program, call: Call) -> None:
    """Run a bound call in trap mode. Raises TrapError."""
    from vlang.api.running.trap_run import trap_run  # start-up

    with with_opposites(program, call.graph):
        trap_run(program.stages(call.precision).program, frozenset(call.fields), call.graph,
                 lambda made: _again(call, made.program, made.watch))


def _noted(call: Call, program: f.Program) -> Mapping[str, Any]:
    """Run a version of the program that also writes note fields (`vlang.ir.integer_watch`), and return its fields."""
    return _again(call, program, NO_WATCH).values.fields


def _again(call: Call, program: f.Program, watch: Watch) -> Outcome:
    """Run another version of the program with the arguments of the call, in plain supersteps and within the memory
    budget.
    """
    graph, arrays, facts = call.graph, {**call.fields, **call.old}, analyse(program)
    columns, given, sizes = columns_of(program, graph), frozenset(arrays), sizes_of(graph.n, graph.m)
    options = replace(call.options, target=None, schedule="auto", asynchronous=False, chaos=None,
                      device_arrays=False, checkpoint=None, every=None, on_interrupt="stop")
    plan_for = cache(lambda target: planned(program, facts, columns, given, target, options.without,
                                            renumbered(graph, options), sizes))
    with within_budget(plan_for, graph, options), open_machine(plan_for, graph, options) as opened:
        return run_plan(opened.plan, graph, opened.machine, call.scalars, arrays, options, call.starts, watch=watch)


def _integers(program: Program, call: Call, outcome: Outcome) -> tuple[str, ...]:
    """The warning after a run in which an integer became infinite from finite operands; () if there is no such integer.
    """
    from vlang.api.running.notices.infinite import integer_warnings  # start-up

    given = frozenset({**call.fields, **call.old})
    ranges, found = program.leaving(call.precision, given, sizes_of(call.graph.n, call.graph.m))
    if not found.fields and not found.globals:
        return ()
    return integer_warnings(program.stages(call.precision), ranges, found, call, outcome.values, given,
                            lambda made: _noted(call, made))

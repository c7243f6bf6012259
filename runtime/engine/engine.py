"""Runs a plan on a graph: walks the tree of its steps.

The plan says what a superstep computes, and a machine (`cpu_machine`, `gpu.machine`) runs it. This module decides only
the order of steps, and when a loop ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.engine.contracts import check_contract, open_checks
from vlang.runtime.engine.cycle import CycleWatch
from vlang.runtime.engine.machine import Loop, Machine, Start, Stats, Values
from vlang.runtime.engine.nesting import NestedLoop
from vlang.runtime.engine.trace import Done, History
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import (
    NO_WATCH,
    Contract,
    ForRangeSpec,
    ForVerticesSpec,
    LoopSpec,
    Plan,
    PrioritySpec,
    ScalarSpec,
    StageSpec,
    Step,
    SweepSpec,
    Watch,
)

__all__ = ["Goal", "Options", "Outcome", "run_plan"]


@dataclass(frozen=True)
class Goal:
    """The early end of a run: a loop, by number, and how many supersteps of it to run."""

    loop: int
    supersteps: int


class _Reached(Exception):
    """The goal of a run."""


@dataclass
class Outcome:
    """The results of a run: values, and the history of its loops.

    seconds: wall-clock time, without building, compiling and the checks of `require`. kept: copies of the requested
    vertex arrays, by slot. settled: bool[n], whether the values of a vertex are final, for runs that may stop at a
    target. infinite: whether a watched value was infinite. infinite_inside: whether one was that is no output.
    """

    values: Values = field(default_factory=Values)
    rounds: int = 0
    converged: bool = True
    reason: str = "no loop"
    history: History = field(default_factory=History)
    seconds: float = 0.0
    kept: dict[str, NDArray[Any]] = field(default_factory=dict)
    settled: NDArray[np.bool_] | None = None
    infinite: bool = False
    infinite_inside: bool = False


def run_plan(
    plan: Plan, graph: Graph, machine: Machine, scalars: Mapping[str, Any], fields: Mapping[str, NDArray[Any]],
    options: Options, starts: Mapping[int, Start] | None = None, keep: Sequence[str] = (), goal: Goal | None = None,
    watch: Watch = NO_WATCH,
) -> Outcome:
    """Run a plan on a graph.

    Args:
        plan: the program.
        graph: the graph.
        machine: holds the state, and runs passes.
        scalars: the given parameters, by name.
        fields: the given arrays of vertex fields, by name; they replace the initializers.
        options: the options of the run.
        starts: by number, loops that continue another run; each is entered once.
        keep: slots of arrays to return.
        goal: where to stop early; None for the end.
        watch: the values tested for infinities, at the end of every block and of the run.

    Raises OutOfMemory, GraphError (a contract that does not hold), DeviceError, InternalError.
    """
    return _Run(plan, graph, machine, options, starts or {}, goal, watch).run(scalars, fields, keep)


class _Run:
    def __init__(
        self, plan: Plan, graph: Graph, machine: Machine, options: Options, starts: Mapping[int, Start],
        goal: Goal | None, watch: Watch,
    ) -> None:
        self.plan, self.graph, self.machine, self.options = plan, graph, machine, options
        self._starts, self._goal, self._watch = starts, goal, watch
        self.outcome = Outcome()
        self._sets: dict[str, NDArray[Any]] = {}
        self._iteration: int | None = None  # of the innermost loop under way
        self._numbers = {id(spec): number for number, spec in enumerate(plan.counted)}  # as the history has them

    def run(self, scalars: Mapping[str, Any], fields: Mapping[str, NDArray[Any]], keep: Sequence[str]) -> Outcome:
        """Run every step."""
        self._bind(scalars, fields)
        checks = max((at + 1 for at, step in enumerate(self.plan.steps) if isinstance(step, Contract)), default=0)
        self._steps(open_checks(self.plan.steps[:checks], self.graph))
        self.machine.settle()
        begin = time.perf_counter()
        with suppress(_Reached):
            self._steps(self.plan.steps[checks:])
        self.machine.settle()
        self.outcome.seconds = time.perf_counter() - begin
        self.outcome.kept = {slot: np.array(self.machine.array(slot)) for slot in keep}
        values = self.outcome.values = self.machine.values()
        self._look_inside()
        self._outward(values)
        shown = [values.fields[name] for name in self._watch.fields]
        self.outcome.infinite |= any(map(_has_infinity, shown)) or \
            any(math.isinf(values.globals[name]) for name in self._watch.globals)
        return self.outcome

    def _outward(self, values: Values) -> None:
        """Bring what users see into the order of the ids."""
        order = self.graph.order
        if order is None:
            return
        for name, array in values.fields.items():
            values.fields[name] = order.outward(array)
        if self.outcome.settled is not None:
            self.outcome.settled = order.outward(self.outcome.settled)

    def _look_inside(self) -> None:
        """Test values that the next pass through a block overwrites, until one was infinite."""
        if self.outcome.infinite_inside:
            return
        inside = any(math.isinf(self.machine.scalar(name)) for name in self._watch.lets) or \
            any(_has_infinity(self.machine.array(f"field:{name}")) for name in self._watch.hidden)
        self.outcome.infinite_inside |= inside
        self.outcome.infinite |= inside

    def _steps(self, steps: Sequence[Step]) -> int:
        """Run steps in order; returns the edges traversed, without those of loops, which report their own."""
        return sum(map(self._step, steps))

    def _step(self, step: Step) -> int:
        if isinstance(step, StageSpec):
            return self.machine.run_pass(step)
        if isinstance(step, SweepSpec):
            return self._sweep(step)
        if isinstance(step, ForVerticesSpec):
            return self._for_vertices(step)
        if isinstance(step, ScalarSpec):
            self.machine.evaluate(step)
        elif isinstance(step, ForRangeSpec):
            self._for_range(step)
        elif isinstance(step, Contract):
            check_contract(step, self.graph, self.machine)
        else:
            self._loop(step)
        return 0

    def _bind(self, scalars: Mapping[str, Any], fields: Mapping[str, NDArray[Any]]) -> None:
        """Store parameters, defaults and given fields in their slots."""
        machine, graph = self.machine, self.graph
        machine.set_scalar("N", graph.n)
        machine.set_scalar("M", graph.m)
        for name, value in scalars.items():
            machine.set_scalar(name, value)
            if isinstance(value, np.ndarray):
                self._sets[name] = value
        for name, spec in self.plan.defaults.items():
            if name not in scalars:
                machine.evaluate(spec)
        for name, array in fields.items():
            machine.give(name, array if graph.order is None else graph.order.inward(array))

    def _value(self, spec: ScalarSpec) -> Any:
        """Evaluate a graph-level value and return it."""
        self.machine.evaluate(spec)
        return self.machine.scalar(spec.name)

    # ----------------------------------------------------------------------- blocks
    def _sweep(self, spec: SweepSpec) -> int:
        sweep = self.machine.begin_sweep(spec)
        edges = 0
        for number, level in enumerate(sweep.levels):
            self.machine.set_scalar(spec.level, level)
            for step in spec.steps:
                edges += sweep.run_pass(step, number) if isinstance(step, StageSpec) else self._step(step)
        return edges

    def _for_vertices(self, spec: ForVerticesSpec) -> int:
        edges = 0
        for vertex in self._sets[spec.members].tolist():
            self.machine.set_scalar(spec.name, vertex)
            edges += self._steps(spec.steps)
            self._look_inside()
        return edges

    def _for_range(self, spec: ForRangeSpec) -> None:
        """Rounds are counted, bounded and recorded like those of a loop, but have no activity."""
        low, high, most = int(self._value(spec.low)), int(self._value(spec.high)), self.options.max_rounds
        rounds, reason, converged = 0, "", True
        while not reason:
            if low + rounds > high:
                converged = spec.until is None or not rounds
                reason = f"ran {rounds} rounds, as the program says" if converged else \
                    f"stopped after {rounds} rounds, the most that the program allows"
            elif most is not None and rounds >= most:
                reason, converged = f"stopped after {rounds} rounds, as asked", False
            else:
                begin = time.perf_counter()
                self.machine.set_scalar(spec.name, low + rounds)
                edges = self._steps(spec.steps)
                rounds += 1
                self._look_inside()
                reason = "`until` holds" if spec.until is not None and self._value(spec.until) else ""
                self._note(spec, rounds, time.perf_counter() - begin, (Done(self.graph.n, "pull", edges),))
        self._finish(rounds, reason, converged)

    def _loop(self, spec: LoopSpec) -> None:
        limit = None if spec.limit is None else max(0, int(self._value(spec.limit)))
        goal = self._goal if self._goal is not None and self._goal.loop == spec.number else None
        if goal is not None:
            limit = goal.supersteps
        start = self._starts.get(spec.number)
        for name, array in ({} if start is None else start.fields).items():
            self.machine.give(name, array)
        bounds = [bound for bound in (limit, self.options.max_rounds) if bound is not None]
        bound = min(bounds, default=None)
        around = self._iteration
        loop: Loop = NestedLoop(spec, self.machine, self._steps) if spec.nested else \
            self.machine.loop(spec, bound, start)
        watch = CycleWatch(spec, self.machine)
        rounds, reason, converged = 0, "", True
        while not reason:
            if limit is not None and rounds >= limit:
                converged = spec.exact
                reason = f"ran {rounds} supersteps, as the program says" if converged else \
                    f"stopped after {rounds} supersteps, the most that the program allows"
            elif self.options.max_rounds is not None and rounds >= self.options.max_rounds:
                reason, converged = f"stopped after {rounds} supersteps, as asked", False
            else:
                rounds = self._advance(loop, spec, rounds, bound)
                reason, converged = self._ended(spec, loop)
                period = None if reason else watch.period(rounds, loop.stats)
                if period is not None:
                    reason, converged = _repeats(period), False
        loop.close()
        watch.close()
        self._look_inside()
        if self.options.target is not None:
            reason, converged = self._at_target(spec, self.options.target, reason)
        self._iteration = around
        if spec.reads_iteration and around is not None:
            self.machine.set_scalar("iteration", around)
        self._finish(rounds, reason, converged)
        if goal is not None:
            raise _Reached

    def _finish(self, rounds: int, reason: str, converged: bool) -> None:
        """Record the end of a loop in the outcome."""
        outcome = self.outcome
        outcome.rounds += rounds
        if outcome.converged:  # the reason of the first loop that did not converge, or else of the last loop
            outcome.reason = reason
        outcome.converged &= converged

    def _note(self, spec: LoopSpec | ForRangeSpec, first: int, seconds: float, done: Sequence[Done]) -> None:
        """Add rounds of a loop to the history, from number `first` on, and report progress. seconds: of each round."""
        self.outcome.history.add(self._numbers[id(spec)], first, seconds, done)
        if self.options.progress is not None:
            for shown in self.outcome.history.rounds(-1):
                self.options.progress(shown)

    def _advance(self, loop: Loop, spec: LoopSpec, rounds: int, bound: int | None) -> int:
        """Run at least one superstep; returns the number of supersteps so far."""
        begin = time.perf_counter()
        self._iteration = rounds + 1
        if spec.reads_iteration:
            self.machine.set_scalar("iteration", rounds + 1)
        done = loop.advance(None if bound is None else bound - rounds)
        if spec.nested:
            self._look_inside()
        if spec.until is not None:  # before the counts are read, so that a device is waited for once
            self.machine.evaluate(spec.until)
        if not done:
            done = (loop.last(),)
        each = (time.perf_counter() - begin) / len(done)
        self._note(spec, rounds + 1, each, done)
        return rounds + len(done)

    def _ended(self, spec: LoopSpec, loop: Loop) -> tuple[str, bool]:
        """Why the loop ends here ("" if it does not), and whether it converged (docs/language.md, section 4.6)."""
        stats: Stats = loop.stats
        if spec.until is not None:
            if self.machine.scalar(spec.until.name):
                return f"`until` holds{self._reached(spec.until)}", True
            if stats.changed == 0 and not spec.reads_iteration and not self._untold(spec):
                return "nothing changes any more, and `until` does not hold", False
        elif not (spec.exact and spec.limit is not None):
            if stats.active == 0:
                return "no vertex is active", True
        elif stats.changed == 0 and not spec.reads_iteration:
            return "nothing changes any more", True
        return "", True

    def _reached(self, until: ScalarSpec) -> str:
        """The value that a tolerance was compared with, and the tolerance; "" for another condition."""
        sides = [f"{self.machine.scalar(side):.3g}" for side in until.sides]
        return f": {', tolerance '.join(sides)}" if sides else ""

    def _at_target(self, spec: LoopSpec, target: int, reason: str) -> tuple[str, bool]:
        """Record which vertices are final, and return why the loop ended; `reason` if all vertices are final."""
        settled = self.outcome.settled = _settled_vertices(spec, self.machine.array, target)
        if settled.all():
            return reason, True
        return f"stopped at its target: {np.count_nonzero(settled):,} of {len(settled):,} vertices are settled", False

    def _untold(self, spec: LoopSpec) -> bool:
        """Whether some vertex has a change that it has not sent to its neighbours."""
        array = self.machine.array
        pairs = [(array(f"field:{name}"), array(spec.slot("told", name))) for name in spec.tolds]
        return any(bool(np.any((now != told) & ((now == now) | (told == told)))) for now, told in pairs)


def _has_infinity(array: Any) -> bool:
    """Whether a stored vertex array has an infinite float, in host memory or on a device (f16: as 16 bits)."""
    return bool(np.isinf(array.view(np.float16) if array.dtype == np.uint16 else array).any())


def _settled_vertices(spec: LoopSpec, array: Callable[[str], NDArray[Any]], target: int) -> NDArray[np.bool_]:
    """bool[n]: whether the value of a vertex is final once the target is: if it is no worse than that of the target.

    spec: a loop that ran in order of priority. array: returns the vertex array in a slot. The field that decides the
    order is never f16: arithmetic widens f16, so no gather is joined with it.
    """
    (stage,) = spec.stages
    priority = stage.way("priority", PrioritySpec)
    assert priority is not None
    values = array(f"field:{priority.field}")
    bound = values[target]
    worse: NDArray[np.bool_] = values > bound if priority.low else values < bound
    return ~worse


def _repeats(period: int) -> str:
    """The message for a loop that stops because its supersteps repeat each other."""
    what = f"the last {period} supersteps would repeat" if period > 1 else "the last superstep would repeat"
    return (f"stopped: {what} for ever, as rounding keeps the values from settling; ask for a larger tolerance, or "
            "precision 64")

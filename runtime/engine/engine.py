"""The engine, which runs a plan on a graph by walking over the tree of the plan's steps.

The plan defines what a superstep computes, and a machine (`cpu_machine`, `gpu_machine`) runs the passes. This module
decides only the order of steps, and when a loop ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import RangeError
from vlang.options import Options
from vlang.runtime.engine.binding import bind_values
from vlang.runtime.engine.contracts import check_contract, open_checks
from vlang.runtime.engine.cycle import CycleWatch
from vlang.runtime.engine.endings import at_target, ended, final_vertices, gap, interrupted, repeats
from vlang.runtime.engine.failures import failures, has_infinity, refuse_faults, unusual_outputs
from vlang.runtime.engine.machine import Loop, Machine, Start, Values
from vlang.runtime.engine.moving import Moving
from vlang.runtime.engine.nesting import NestedLoop
from vlang.runtime.engine.position import Block, Position
from vlang.runtime.engine.run_outcome import Goal, Kept, Outcome, Stopped
from vlang.runtime.engine.trace import Done
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import (
    NO_WATCH,
    Contract,
    ForRangeSpec,
    ForVerticesSpec,
    LoopSpec,
    Plan,
    ScalarSpec,
    StageSpec,
    Step,
    SweepSpec,
    Watch,
)
from vlang.runtime.threads.activity import Supersteps, listeners, reach, step

if TYPE_CHECKING:
    from vlang.runtime.engine.keeper import Keeper

__all__ = ["run_plan"]

_SAVED = ("rounds", "converged", "reason", "seconds", "infinite", "infinite_inside")  # saved in checkpoints
_MOST_ITERATIONS = (1 << 31) - 2  # the largest finite int of 32 bits (vlang/ir/forms/ranges.py)


class _Reached(Exception):
    """Raised when the run has reached its goal, or must end because an operation has failed."""


def run_plan(
    plan: Plan, graph: Graph, machine: Machine, scalars: Mapping[str, Any], fields: Mapping[str, NDArray[Any]],
    options: Options, starts: Mapping[int, Start] | None = None, keep: Sequence[str] = (), goal: Goal | None = None,
    watch: Watch = NO_WATCH, keeper: Keeper | None = None,
) -> Outcome:
    """Run a plan on a graph.

    Args:
        plan: the program.
        graph: the graph.
        machine: holds the state, and runs passes.
        scalars: the given parameters, by name.
        fields: the given arrays of vertex fields, by name; they replace the initializers.
        options: the options of the run.
        starts: the start of each loop that continues another run, by number of the loop. A loop that continues another
            run is executed only once in the run.
        keep: the slots of arrays to return.
        goal: where to stop early; None to run to the end.
        watch: the values that are tested for infinity at the end of every block and at the end of the run.
        keeper: writes checkpoints, and restores the checkpoint from which the run continues; None for a run without
            checkpoints.

    Raises OutOfMemory, GraphError (if a contract does not hold), DeviceError and InternalError.
    """
    return _Run(plan, graph, machine, options, starts or {}, goal, watch, keeper).run(scalars, fields, keep)


class _Run:
    def __init__(
        self, plan: Plan, graph: Graph, machine: Machine, options: Options, starts: Mapping[int, Start],
        goal: Goal | None, watch: Watch, keeper: Keeper | None,
    ) -> None:
        self.plan, self.graph, self.machine, self.options = plan, graph, machine, options
        self._starts, self._goal, self._watch = starts, goal, watch
        self._keeper = keeper
        self._position = Position() if keeper is None else keeper.position
        self.outcome = Outcome()
        self._begin = 0.0
        self._sets: Mapping[str, NDArray[Any]] = {}
        self._iteration: int | None = None  # superstep of the innermost loop in progress
        self._moving = Moving(machine)

    def run(self, scalars: Mapping[str, Any], fields: Mapping[str, NDArray[Any]], keep: Sequence[str]) -> Outcome:
        """Run all steps; returns the outcome."""
        self._sets = bind_values(self.plan, self.graph, self.machine, scalars, fields)
        checks = self.plan.checks
        if not self._go_on(frozenset(scalars)):
            for check in open_checks(self.plan.steps[:checks], self.graph):
                self._step(check)
        self.machine.synchronize()
        self._begin = time.perf_counter() - self.outcome.seconds
        try:
            with suppress(_Reached), step("running", self.plan.name):
                self._steps(self.plan.steps, checks)
        except Stopped:
            self._stopped()
        self.machine.synchronize()
        self.outcome.seconds = time.perf_counter() - self._begin
        self.outcome.moved = self.machine.moved()
        self.outcome.kept = {slot: np.array(self.machine.array(slot)) for slot in keep}
        values = self.outcome.values = self.machine.values()
        self._outward(values)
        if self.outcome.interrupted:  # the values have not converged
            return self.outcome
        self._look_inside()
        infinite, self.outcome.nan = unusual_outputs(values, self._watch)
        self.outcome.infinite |= infinite
        return self.outcome

    def _end_at_failures(self) -> None:
        """In trap mode, end the run if an operation has failed."""
        if self._watch.note and (found := failures(self._watch, self.machine, self.graph)):
            self.outcome.failures, self.outcome.superstep = found, self._iteration or 0
            raise _Reached

    def _outward(self, values: Values) -> None:
        """Permute the arrays that users see into the order of the ids."""
        order = self.graph.order
        if order is None:
            return
        for name, array in values.fields.items():
            values.fields[name] = order.outward(array)
        if self.outcome.final is not None:
            self.outcome.final = order.outward(self.outcome.final)

    # ------------------------------------------------------------------ checkpoints
    def _go_on(self, given: frozenset[str]) -> bool:
        """Restore a checkpoint, except the parameters `given` by the caller; returns False if there is no checkpoint.
        """
        if self._keeper is None or self._keeper.saved is None:
            return False
        from vlang.runtime.engine.checkpoint import restored  # start-up

        saved, outcome = self._keeper.saved, self.outcome
        restored(saved, self._keeper.machine, given | {"N", "M"})
        outcome.rounds, outcome.converged, outcome.reason, outcome.seconds, outcome.infinite, \
            outcome.infinite_inside = (saved.outcome[name] for name in _SAVED)
        outcome.history = saved.history
        return True

    def _so_far(self) -> dict[str, Any]:
        """The attributes of the outcome so far, for a checkpoint."""
        now = {**vars(self.outcome), "seconds": time.perf_counter() - self._begin}
        return {name: now[name] for name in _SAVED}

    def _point(self, loop: Loop | None = None) -> None:
        """Write a checkpoint if it is due, or end the run after an interrupt.

        This method is called between steps and between supersteps.
        """
        if self._keeper is not None:
            self._keeper.point(Kept(self._so_far, self.outcome.history), loop)

    def _stopped(self) -> None:
        """Record that an interrupt has ended the run."""
        outcome = self.outcome
        outcome.rounds = len(outcome.history)
        outcome.reason, outcome.converged, outcome.interrupted = interrupted(outcome.rounds), False, True

    def _look_inside(self) -> None:
        """Look for infinite values that the next superstep would overwrite, unless an infinite value was already found.

        All ranks look at the fields in the same order, because `array` is an exchange.
        """
        refuse_faults(self.plan, self.machine, self.graph)
        if self.outcome.infinite_inside:
            return
        inside = any(math.isinf(self.machine.scalar(name)) for name in self._watch.lets) or \
            any(has_infinity(self.machine.array(f"field:{name}")) for name in sorted(self._watch.hidden))
        self.outcome.infinite_inside |= inside
        self.outcome.infinite |= inside

    # ------------------------------------------------------------------------ steps
    def _steps(self, steps: Sequence[Step], first: int = 0, run_pass: Callable[[StageSpec], int] | None = None) -> int:
        """Run steps in order, beginning with number `first`; returns the number of edges traversed outside of loops.

        `run_pass` replaces `machine.run_pass` in a sweep."""
        here = self._position.enter("steps", at=first, edges=0)
        for at in range(here.at, len(steps)):
            here.at = at
            self._point()
            here.edges += self._step(steps[at], run_pass)
            self._end_at_failures()
        self._position.leave()
        return here.edges

    def _step(self, step: Step, run_pass: Callable[[StageSpec], int] | None = None) -> int:
        if isinstance(step, StageSpec):
            return (run_pass or self.machine.run_pass)(step)
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

    def _value(self, spec: ScalarSpec) -> Any:
        """Evaluate a graph-level value and return it."""
        self.machine.evaluate(spec)
        return self.machine.scalar(spec.name)

    # ----------------------------------------------------------------------- blocks
    def _sweep(self, spec: SweepSpec) -> int:
        sweep = self.machine.begin_sweep(spec)
        here = self._position.enter("sweep", edges=0)
        levels = sweep.levels
        while here.at < len(levels):
            self.machine.set_scalar(spec.level, levels[here.at])
            here.edges += self._steps(spec.steps, run_pass=partial(sweep.run_pass, level=here.at))
            ran, edges = sweep.run_levels(here.at + 1)
            here.at += 1 + ran
            here.edges += edges
        self._position.leave()
        return here.edges

    def _for_vertices(self, spec: ForVerticesSpec) -> int:
        here = self._position.enter("each", edges=0)
        members = self._sets[spec.members].tolist() if spec.members else range(self.graph.n)
        for at in range(here.at, len(members)):
            here.at = at
            reach(at / len(members), f"{spec.name} {at + 1:,} of {len(members):,}")
            self.machine.set_scalar(spec.name, members[at])
            here.edges += self._steps(spec.steps)
            self._look_inside()
        self._position.leave()
        return here.edges

    def _for_range(self, spec: ForRangeSpec) -> None:
        """Run a loop `for i from a to b`. The rounds of the block are counted, limited and recorded like supersteps."""
        here, most = self._position.enter("range", low=0, high=0), self.options.max_rounds
        if not here.again:
            here.numbers |= {"low": int(self._value(spec.low)), "high": int(self._value(spec.high))}
        low, high = here.numbers["low"], here.numbers["high"]
        reason, converged, outer = "", True, self._moving.enter()
        while not reason:
            rounds = here.at
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
                self._look_inside()
                reason = "`until` holds" if spec.until is not None and self._value(spec.until) else ""
                self._note(spec, rounds + 1, begin, time.perf_counter() - begin,
                           (Done(self.graph.n, "pull", edges),), high - low + 1)
                here.at += 1
        self._moving.leave(outer)
        self._position.leave()
        self._finish(here.at, reason, converged)

    def _loop(self, spec: LoopSpec) -> None:
        here = self._position.enter("loop", limit=-1, kept_at=-1, kept_changed=0, kept_active=0)
        goal = self._goal if self._goal is not None and self._goal.loop == spec.number else None
        limit = self._limit(spec, here, goal)
        bound = min((most for most in (limit, self.options.max_rounds) if most is not None), default=None)
        around, outer = self._iteration, self._moving.enter()
        loop = self._begun(spec, here, bound)
        watch = here.watch = self._watched(spec, here)
        reason, converged, first = "", True, here.at
        while not reason:
            if limit is not None and here.at >= limit:
                converged = spec.exact
                reason = f"ran {here.at} supersteps, as the program says" if converged else \
                    f"stopped after {here.at} supersteps, the most that the program allows"
            elif self.options.max_rounds is not None and here.at >= self.options.max_rounds:
                reason, converged = f"stopped after {here.at} supersteps, as asked", False
            else:
                if here.at > first and not spec.nested:
                    self._point(loop)
                here.at = self._advance(loop, spec, here.at, bound)
                reason, converged = ended(spec, loop, self.machine)
                period = None if reason else watch.period(here.at, loop.stats)
                if period is not None:
                    reason, converged = repeats(period), False
        loop.close()
        watch.close()
        self._position.leave()
        self._look_inside()
        if self.options.target is not None:
            final = self.outcome.final = final_vertices(spec, self.machine.array, self.options.target)
            reason, converged = at_target(final, reason)
        self._iteration = around
        self._moving.leave(outer)
        if spec.reads_iteration and around is not None:
            self.machine.set_scalar("iteration", around)
        self._finish(here.at, reason, converged)
        if goal is not None:
            raise _Reached

    def _limit(self, spec: LoopSpec, here: Block, goal: Goal | None) -> int | None:
        """The maximum number of supersteps that the goal or the program sets; None for no limit."""
        if goal is not None:
            return goal.supersteps
        if spec.limit is None:
            return None
        if not here.again:
            here.numbers["limit"] = max(0, int(self._value(spec.limit)))
        return here.numbers["limit"]

    def _begun(self, spec: LoopSpec, here: Block, bound: int | None) -> Loop:
        """Begin a loop of at most `bound` supersteps, from its start or at the position of a checkpoint."""
        start = self._starts.get(spec.number)
        if here.again and self._keeper is not None and self._keeper.saved is not None:
            start = Start(flags=self._keeper.saved.flags, placed=True, rounds=here.at)
        for name, array in ({} if start is None else start.fields).items():
            self.machine.give(name, array)
        if self._keeper is not None:
            self._keeper.begin_loop()
        if spec.nested:
            return NestedLoop(spec, self.machine, self._steps, here.again)
        return self.machine.loop(spec, bound, start)

    def _watched(self, spec: LoopSpec, here: Block) -> CycleWatch:
        """The CycleWatch of a loop, with the copy from the checkpoint if the loop continues from one."""
        watch = CycleWatch(spec, self.machine)
        if here.again and here.numbers["kept_at"] >= 0 and self._keeper is not None:
            watch.keep(self._keeper.copy_of(here), here.numbers)
        return watch

    def _finish(self, rounds: int, reason: str, converged: bool) -> None:
        """Record the end of a loop in the outcome."""
        outcome = self.outcome
        outcome.rounds += rounds
        if outcome.converged:  # the first loop that did not converge determines the reason, otherwise the last one
            outcome.reason = reason
        outcome.converged &= converged

    def _note(self, spec: LoopSpec | ForRangeSpec, first: int, begin: float, seconds: float, done: Sequence[Done],
              bound: int | None) -> None:
        """Report rounds to listeners, and add the rounds to the history.

        The rounds begin with number `first`, and each round took `seconds`.
        """
        number, moved = self.plan.numbers[id(spec)], self._moving.round()
        self.outcome.history.add(number, first, seconds, done, moved)
        for one in listeners():
            one.rounds(Supersteps(number, spec.line, first, begin, seconds, done, bound, gap(spec.until, self.machine),
                                  moved))

    def _advance(self, loop: Loop, spec: LoopSpec, rounds: int, bound: int | None) -> int:
        """Run at least one superstep; returns the number of supersteps so far."""
        begin = time.perf_counter()
        self._iteration = rounds + 1
        if spec.reads_iteration:
            if rounds >= _MOST_ITERATIONS:
                raise RangeError(f"line {spec.line}: this loop reads `iteration`, and after {rounds:,} supersteps the "
                                 "next number is too large for an int of 32 bits")
            self.machine.set_scalar("iteration", rounds + 1)
        room = None if bound is None else bound - rounds
        if self._watch.note:
            room = 1  # stop after a superstep, to report the first failure
        done = loop.advance(room if self._keeper is None else self._keeper.room(room))
        self._end_at_failures()
        if spec.nested:
            self._look_inside()
        if spec.until is not None:  # before the counts are read, to wait only once for a device
            self.machine.evaluate(spec.until)
        if not done:
            done = (loop.last(),)
        each = (time.perf_counter() - begin) / len(done)
        if self._keeper is not None:
            self._keeper.measure(each * len(done), len(done))
        self._note(spec, rounds + 1, begin, each, done, bound)
        return rounds + len(done)

"""The superstep loop: runs a plan on a graph.

What a superstep does is in the plan, how it runs in `superstep`, how a pass is launched in `passes`; here is only the
order of things.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.contracts import check_contract
from vlang.runtime.cycle import CycleWatch
from vlang.runtime.devices.cpu import Cpu
from vlang.runtime.devices.objects import load_kernels
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.pages import DEFAULT_PAGE_SIZE
from vlang.runtime.kernels import frontier_kernels
from vlang.runtime.kernelset import BLOCK, Contract, LoopSpec, Plan, ScalarSpec, StageSpec
from vlang.runtime.passes import Passes, Stats, pages_of
from vlang.runtime.state import State
from vlang.runtime.superstep import Superstep
from vlang.runtime.trace import Round

__all__ = ["Options", "Outcome", "run_plan"]


@dataclass(frozen=True)
class Options:
    """How to run, as opposed to what.

    mode: "auto", "pull" or "notify-pull". threads: None for all processors. page_size: bytes of neighbours in a page.
    blocking: "auto", "always" or "never" run full passes by cache blocks.
    max_rounds: supersteps at most in each loop. asynchronous: loops proved independent of order update in place.
    progress: called after every superstep.
    """

    max_rounds: int | None = None
    threads: int | None = None
    mode: str = "auto"
    page_size: int = DEFAULT_PAGE_SIZE
    asynchronous: bool = False
    blocking: str = "auto"
    progress: Callable[[Round], None] | None = None


@dataclass
class Outcome:
    """What a run left: the state, and how its loops went. seconds: wall-clock, without building and compiling."""

    state: State
    rounds: int = 0
    converged: bool = True
    reason: str = "no loop"
    history: list[Round] = field(default_factory=list)
    seconds: float = 0.0


def run_plan(
    plan: Plan, graph: Graph, scalars: Mapping[str, Any], fields: Mapping[str, NDArray[Any]], options: Options
) -> Outcome:
    """Run a plan. scalars: parameters given. fields: arrays of vertex fields given, which skip their initializers.

    Raises OutOfMemory, GraphError (a contract that does not hold), InternalError.
    """
    kernels = load_kernels(plan.text, plan.exports)
    if any(isinstance(step, LoopSpec) and step.skip for step in plan.steps):
        frontier_kernels()
    with Cpu(options.threads) as cpu:
        return _Run(plan, graph, kernels, cpu, options).run(scalars, fields)


class _Run:
    def __init__(self, plan: Plan, graph: Graph, kernels: Any, cpu: Cpu, options: Options) -> None:
        self.plan, self.graph, self.kernels, self.options = plan, graph, kernels, options
        domains = {stage.domain for stage in _stages(plan) if stage.domain}
        pages = {kind: pages_of(graph, kind, options.page_size) for kind in sorted(domains)}
        self.state = State(plan, graph.n, {kind: len(p.segments) for kind, p in pages.items()})
        self.passes = Passes(graph, self.state, kernels, cpu, options.page_size, pages)
        self.outcome = Outcome(self.state)

    def run(self, scalars: Mapping[str, Any], fields: Mapping[str, NDArray[Any]]) -> Outcome:
        """Run every step."""
        self._bind(scalars, fields)
        loops, begin = 0, time.perf_counter()
        for step in self.plan.steps:
            if isinstance(step, StageSpec):
                self._pass(step)
            elif isinstance(step, ScalarSpec):
                self._scalar(step)
            elif isinstance(step, Contract):
                check_contract(step, self.graph, self.state)
            else:
                self._loop(step, loops)
                loops += 1
        self.outcome.seconds = time.perf_counter() - begin
        return self.outcome

    def _bind(self, scalars: Mapping[str, Any], fields: Mapping[str, NDArray[Any]]) -> None:
        """Parameters, defaults, degrees and given fields to their slots."""
        state, graph = self.state, self.graph
        state.set_scalar("N", graph.n)
        state.set_scalar("M", graph.m)
        for name, value in scalars.items():
            state.set_scalar(name, value)
        for name, spec in self.plan.defaults.items():
            if name not in scalars:
                self._scalar(spec)
        for kind, attribute in (("in", "in_degree"), ("out", "out_degree"), ("all", "degree")):
            if f"degree:{kind}" in self.plan.slots:
                state.put(f"degree:{kind}", getattr(graph, attribute))
        for name, array in fields.items():
            state.arrays[f"field:{name}"][:] = array

    def _scalar(self, spec: ScalarSpec) -> Any:
        """Evaluate a graph-level value and return it."""
        if spec.fold is not None:
            self.passes.fold(spec.fold)
        self.kernels["scalars"](self.state.frame, spec.index, -(-self.graph.n // BLOCK))
        return self.state.scalar(spec.name)

    def _pass(self, stage: StageSpec) -> tuple[Stats, int]:
        stats, edges = self.passes.full(stage)
        for name in stage.swaps:
            self.state.swap(name)
        return stats, edges

    # ------------------------------------------------------------------------ loops
    def _loop(self, spec: LoopSpec, number: int) -> None:
        limit = None if spec.limit is None else max(0, int(self._scalar(spec.limit)))
        bounds = [bound for bound in (limit, self.options.max_rounds) if bound is not None]
        loop = Superstep(spec, self.passes, self._scalar, self.options.mode, self.options.blocking,
                         min(bounds, default=None), self.options.asynchronous and spec.asynchronous)
        watch = CycleWatch(spec, self.state)
        rounds, reason, converged = 0, "", True
        while not reason:
            if limit is not None and rounds >= limit:
                converged = spec.exact
                reason = f"ran {rounds} supersteps, as the program says" if converged else \
                    f"stopped after {rounds} supersteps, the most that the program allows"
            elif self.options.max_rounds is not None and rounds >= self.options.max_rounds:
                reason, converged = f"stopped after {rounds} supersteps, as asked", False
            else:
                rounds += 1
                self._record(loop, spec, number, rounds)
                reason, converged = self._ended(spec, loop.stats)
                period = None if reason else watch.period(rounds, loop.stats)
                if period is not None:
                    reason, converged = _repeats(period), False
        loop.close()
        outcome = self.outcome
        outcome.rounds += rounds
        outcome.converged &= converged
        outcome.reason = reason

    def _record(self, loop: Superstep, spec: LoopSpec, number: int, rounds: int) -> None:
        begin = time.perf_counter()
        self.state.set_scalar("iteration", rounds)
        mode, edges = loop.run()
        row = Round(number, rounds, loop.stats.active, mode, time.perf_counter() - begin, edges)
        self.outcome.history.append(row)
        if self.options.progress is not None:
            self.options.progress(row)

    def _ended(self, spec: LoopSpec, stats: Stats) -> tuple[str, bool]:
        """Why the loop ends here, or nothing, and whether it did what its text wants (language.md 4.6)."""
        if spec.until is not None:
            if self._scalar(spec.until):
                return "`until` holds", True
            if stats.changed == 0 and not spec.reads_iteration and not self._untold(spec):
                return "nothing changes any more, and `until` does not hold", False
        elif not (spec.exact and spec.limit is not None):
            if stats.active == 0:
                return "no vertex is active", True
        elif stats.changed == 0 and not spec.reads_iteration:
            return "nothing changes any more", True
        return "", True

    def _untold(self, spec: LoopSpec) -> bool:
        """Whether some vertex has a change that it has not told its neighbours."""
        arrays = self.state.arrays
        pairs = [(arrays[f"field:{name}"], arrays[f"told:{name}"]) for name in spec.tolds]
        return any(bool(np.any((now != told) & ((now == now) | (told == told)))) for now, told in pairs)


def _repeats(period: int) -> str:
    """Why a loop is stopped whose supersteps repeat each other."""
    what = f"the last {period} supersteps would repeat" if period > 1 else "the last superstep would repeat"
    return (f"stopped: {what} for ever, as rounding keeps the values from settling; ask for a larger tolerance, or "
            "precision 64")


def _stages(plan: Plan) -> list[StageSpec]:
    """Every pass of a plan."""
    found: list[StageSpec] = []
    for step in plan.steps:
        inner = step.steps if isinstance(step, LoopSpec) else (step,)
        found.extend(s for s in inner if isinstance(s, StageSpec))
    return found

"""Rule I: run a program on a changed graph from the result on the graph before the change (language.md 10.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.api.arguments.bind import bind_parameters
from vlang.api.arguments.bind_options import bind_options
from vlang.api.arguments.named import name_run
from vlang.api.calls import Call, Stages
from vlang.api.constants import defaults_of
from vlang.api.partial_run import run_to
from vlang.errors import BindError, ResumeError
from vlang.ir.going import ChangeKind, Going, going_on
from vlang.options import Options
from vlang.records import dataclass
from vlang.runtime.engine.machine import Start
from vlang.runtime.engine.run_outcome import Goal
from vlang.runtime.graph.edges.naming import NONE
from vlang.runtime.graph.edit import Change, change
from vlang.runtime.results.origin import Origin
from vlang.types import VERTEX

if TYPE_CHECKING:
    from vlang.api.program import Program
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.results.result import Result

__all__ = ["resume"]

Array = NDArray[Any]


def resume(program: Program, result: Result, added: Any, removed: Any, arguments: dict[str, Any]) -> Result:
    """Continue from a result after edges were added or removed (see `Program.resume`).

    Raises ResumeError unless the rules prove that the result equals the result of a new run.

    Args:
        program: the program that gave the result.
        result: the result of a run that converged.
        added: the added edges, as for `Graph.changed`; None if there are none.
        removed: the removed edges, as for `Graph.changed`; None if there are none.
        arguments: options of the run, by name.
    """
    origin = _origin(program, result)
    defaults = {name: value for name, value in defaults_of(program.stages().checked).items() if value is not None}
    program = program.with_constants(**{**defaults, **origin.constants}).derived(origin.derive)
    options = _options(program, origin, arguments)
    changed = change(origin.graph, added, removed)
    stages = program.stages(origin.precision)
    loops = _loops(stages, result, changed)
    bound, _ = bind_parameters(stages.program, changed.graph, dict(origin.parameters), program.name)
    try:
        named = name_run(stages.program, changed.graph, bound, {}, origin.names)
    except BindError as error:
        raise ResumeError(f"{program.name} cannot go on from this result: {error}. Run it anew: program(graph), with "
                          "graph = result.graph.changed(added, removed)") from None
    scalars = named.scalars
    work = _Work(program, origin, changed, scalars, options, result)
    starts = {loop.number: work.start(loop) for loop in loops}
    return program.run(Call(named.graph, options, origin.precision, origin.parameters, scalars, origin.fields,
                            work.given(loops, starts), starts, origin.names, constants=origin.constants))


def _origin(program: Program, result: Result) -> Origin:
    """The origin of the result. Raises ResumeError if no run can continue from the result."""
    origin = result.origin
    if origin is None:
        raise ResumeError("this result has lost the graph that it was computed on (it was read, or copied by pickle): "
                          "run the program anew")
    if origin.source != program.source:
        raise ResumeError(f"this result is of another program ({result.program}) than {program.name}: run it anew")
    if origin.graph.order is not None:
        raise ResumeError("the rows of the graph have an order of their own, those of a changed graph that of the ids: "
                          f"run {program.name} on graph.plain() first, and continue from that result")
    if not result.converged:
        raise ResumeError(f"the run was stopped before its end ({result.reason}), so its result is no start: run "
                          f"{program.name} anew")
    return origin


def _options(program: Program, origin: Origin, arguments: dict[str, Any]) -> Options:
    options, rest = bind_options(program, arguments)
    if rest:
        raise BindError(f"`{next(iter(rest))}` is that of the result from which {program.name} goes on; for another "
                        "value run it anew")
    partial = None if options.on_interrupt == "stop" else options.on_interrupt
    for name, given in (("chaos", options.chaos), ("trap", options.trap or None), ("target", options.target),
                        ("checkpoint", options.checkpoint), ("on_interrupt", partial)):
        if given is not None:
            raise BindError(f"{name} is for runs of a whole program; leave it out")
    if options.derive not in (None, origin.derive):
        raise BindError(f"the result is not of a run in {options.derive} form; leave out derive, or run {program.name} "
                        "anew")
    if options.precision not in (None, origin.precision):
        raise BindError(f"the result is of a run with {origin.precision} bits; for another precision run "
                        f"{program.name} anew")
    return options


def _loops(stages: Stages, result: Result, changed: Change) -> tuple[Going, ...]:
    """The loops that may continue from the result. Raises ResumeError, with the reasons, if no loop may continue."""
    name, grows = stages.program.name, changed.graph.n > changed.old.n
    if grows and result.origin is not None and result.origin.fields:
        given = min(result.origin.fields)
        raise ResumeError(f"added has new vertices, which have no value of `{given}`, which the caller passed: run "
                          f"{name} anew")
    kind = ChangeKind(bool(len(changed.added[0])), bool(len(changed.removed[0])), grows)
    loops, refused = going_on(stages.program, stages.facts, kind)
    if not loops:
        why = "; ".join(refused) or "it has no loop"
        raise ResumeError(f"{name} cannot go on from this result (rule I): {why}. Run it anew: program(graph), with "
                          "graph = result.graph.changed(added, removed)")
    return loops


@dataclass(frozen=True)
class _Work:
    """Builds the states from which loops continue."""

    program: Program
    origin: Origin
    changed: Change
    scalars: Mapping[str, Any]
    options: Options
    result: Result

    def start(self, loop: Going) -> Start:
        """The state from which a loop continues."""
        if loop.kind == "delta":
            return self._sent_again(loop)
        fields = self._moved(loop, {name: self.result.stored(name) for name in loop.fields})
        if self.options.device != "cpu" or loop.kind == "contraction":
            return Start(fields)
        if loop.merges:
            return self._merged(loop, fields)
        flags = np.zeros(self.changed.graph.n, np.uint8)
        flags[self._ends()] = 2 | loop.notifies
        return Start(fields, flags=flags)

    @staticmethod
    def given(loops: Iterable[Going], starts: Mapping[int, Start]) -> dict[str, Array]:
        """The fields that must replace their initializers, by name.

        The result contains the fields of loops with a uniform initial frontier (rule X2). If the initializers of these
        fields were compiled in, kernels would assume this frontier.
        """
        return {name: array for loop in loops if loop.facts.early_exit.frontier.granted
                for name, array in starts[loop.number].fields.items()}

    # --------------------------------------------------------------------------------------- I1
    def _merged(self, loop: Going, fields: dict[str, Array]) -> Start:
        """Return the state after one superstep over the inserted edges only. The vertices that this superstep changes
        are active.

        Let L be the old result. Let e(L), e_old(L) and e_new(L) be the gathers over all edges, over the old edges and
        over the inserted edges. The superstep computes L v e_new(L), where v is the join. The result equals the result
        of a superstep over all edges: e(L) = e_old(L) v e_new(L), and L v e_old(L) = L since L is a fixed point of the
        old edges.
        """
        after = self._superstep(loop, self.changed.inserted, self.scalars, Start(fields))
        flags = np.zeros(self.changed.graph.n, np.uint8)
        for name in loop.fields:
            rows = (after[name] != fields[name]).reshape(len(flags), -1)
            flags[rows.any(axis=1)] = 3 if loop.reruns else 1
        return Start(after, flags=flags)

    def _ends(self) -> Array:
        """The two ends of every changed edge, as vertex numbers of the new graph, with repetitions."""
        return np.concatenate([*self.changed.added, *map(self.changed.moved, self.changed.removed)])

    # --------------------------------------------------------------------------------------- I2
    def _sent_again(self, loop: Going) -> Start:
        """The initial state of a loop in delta form, after withdrawal of the contributions of changed edges.

        Let x be the values of the vertices, b their constant terms, A the coefficients of the edges, and t the values
        sent so far. The old result satisfies x = b + A t over the old edges. A vertex withdraws its sent value over the
        old edges, and sets its t to 0, if its contributions depend on a changed edge. The equation then holds over the
        new edges as well, and every vertex that withdrew its value must send its whole value again. Only these vertices
        are active at
        first: other vertices would otherwise forward the withdrawal before the new contribution arrives. Vertices that
        lost a contribution run in the first superstep, which decides whether they become active.
        """
        (name,) = loop.fields
        sent, value = self.origin.sent[loop.number][name], self.result.stored(name)
        width = max(1, len(value) // max(1, self.changed.old.n))
        sources = np.zeros(self.changed.old.n, np.bool_)
        sources[self._sources(loop)] = True
        each = np.repeat(sources, width)
        back = np.where(each, -sent, np.zeros_like(sent))
        program = self._stages.program
        bound, _ = bind_parameters(program, self.changed.old, dict(self.origin.parameters), "")
        scalars = name_run(program, self.changed.old, bound, {}, self.origin.names).scalars
        after = self._superstep(loop, self.changed.old, scalars, Start({name: back}, flags=sources.view(np.uint8)))
        moved = after[name] - back
        fewer = (moved != 0).reshape(len(sources), width).any(axis=1)
        fields = self._moved(loop, {name: value + moved})
        rest = self._spread(np.where(each, np.zeros_like(sent), sent), np.zeros(1, sent.dtype))
        flags = self._spread(sources | (2 * fewer).astype(np.uint8), np.ones(1, np.uint8))
        return Start(fields, {name: rest}, None if self.options.device != "cpu" else flags)

    def _sources(self, loop: Going) -> Array:
        """The vertices of the old graph whose contributions depend on a changed edge."""
        gone = tuple(map(self.changed.moved, self.changed.removed))
        picked = [end for ends in (self.changed.added, gone) for end, word in zip(ends, ("tail", "head"))
                  if word in loop.sources or not self.changed.graph.directed]
        found: Array = np.unique(np.concatenate(picked))
        places = self.changed.places
        if places is None:
            return found
        at = np.searchsorted(places, found)
        known = at < len(places)
        known[known] = places[at[known]] == found[known]
        return at[known]

    # --------------------------------------------------------------------------------------- fields
    def _moved(self, loop: Going, fields: dict[str, Array]) -> dict[str, Array]:
        """Convert fields over the old graph to fields over the new graph; new vertices have initial values."""
        if self.changed.places is None:
            return fields
        types = {decl.name: decl.type for decl in self._stages.program.fields}
        fresh = self._run(self.changed.graph, self.scalars, {}, {}, Goal(loop.number, 0))
        found = {}
        for name, values in fields.items():
            if types[name] == VERTEX:
                none = values == NONE
                values = self.changed.places[np.where(none, 0, values)]
                values[none] = NONE
            found[name] = self._spread(values, fresh[name])
        return found

    def _spread(self, values: Array, new: Array) -> Array:
        """Move the rows of old vertices to their places in the new graph.

        Args:
            new: the values of new vertices, as one row for each vertex of the new graph, or as a single row for all
                vertices.
        """
        if self.changed.places is None:
            return values
        n, width = self.changed.graph.n, max(1, len(values) // max(1, self.changed.old.n))
        out = np.array(np.broadcast_to(new.reshape(-1, 1) if len(new) == 1 else new.reshape(n, -1), (n, width)))
        out[self.changed.places] = values.reshape(-1, width)
        return out.reshape(-1)

    # --------------------------------------------------------------------------------------- runs
    @property
    def _stages(self) -> Stages:
        return self.program.stages(self.origin.precision)

    def _superstep(self, loop: Going, graph: Graph, scalars: Mapping[str, Any], start: Start) -> dict[str, Array]:
        """The fields of a loop after one superstep from `start`."""
        starts = {loop.number: start}
        after = self._run(graph, scalars, self.given((loop,), starts), starts, Goal(loop.number, 1))
        return {name: after[name] for name in start.fields}

    def _run(
        self, graph: Graph, scalars: Mapping[str, Any], given: dict[str, Array], starts: Mapping[int, Start], goal: Goal
    ) -> dict[str, Array]:
        """Run the program on the CPU up to a superstep of one loop, and return the fields.

        Args:
            given: further fields that replace initializers, in addition to the fields that the caller of the old run
                passed.
        """
        arrays = {**self.origin.fields, **given}
        graph = name_run(self._stages.program, graph, {}, {}, self.origin.names).graph
        options = Options(threads=self.options.threads, without=self.options.without)
        return run_to(self.program, self.origin.precision, graph, scalars, arrays, options, goal, starts).values.fields

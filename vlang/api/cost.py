"""The memory that a run needs and the bytes that a superstep moves, computed from counts without a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vlang.ir.facts import Facts, GatherFacts, LoopFacts
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import LoopScope
from vlang.records import dataclass
from vlang.runtime.cpu.need import Need
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import LoopSpec, Plan, field_of
from vlang.types import Scalar, Tuple, Type, Vector

__all__ = ["Cost", "SuperstepCost", "cost_of"]

_ID = 4  # bytes of a neighbour's number
_OFFSET = 8  # bytes of an offset into the edges


@dataclass(frozen=True)
class SuperstepCost:
    """The cost of a superstep in which every vertex is active and pulls.

    Attributes:
        line: the line of the loop in the program.
        edges: the number of edges that the superstep traverses.
        bytes: the number of bytes that the superstep reads and writes, as if there were no caches. Neighbour ids, edge
            columns and values of neighbours count once per edge; offsets and written fields count once per vertex.
    """

    line: int
    edges: int
    bytes: int


@dataclass(frozen=True)
class Cost:
    """The bytes that a run on a graph needs, and the cost of a superstep of each loop.

    Attributes:
        state: bytes of arrays with one value per vertex.
        adjacency: bytes of the neighbour lists and offsets of every adjacency direction that the program reads.
            Functions of neighbourhoods, such as `common`, also read the neighbour lists without directions.
        columns: bytes of the edge columns that the program reads.
        supersteps: one entry per loop, in the order of the text.
        memory: the peak of host memory in bytes: the maximum of `building` and `running`.
        building, running: the peak of host memory in bytes while adjacency lists are built, or while the program runs.
        optional: bytes of further memory that make a run faster if this memory is free.
    """

    state: int
    adjacency: int
    columns: int
    supersteps: tuple[SuperstepCost, ...]
    memory: int
    building: int
    running: int
    optional: int

    def __str__(self) -> str:
        more = f"; for speed up to {self.optional / 1e6:,.1f} more" if self.optional else ""
        lines = [f"needs {self.memory / 1e6:,.1f} MB: while the graph is built {self.building / 1e6:,.1f}, while the "
                 f"program runs {self.running / 1e6:,.1f} (vertex state {self.state / 1e6:,.1f}, adjacency "
                 f"{self.adjacency / 1e6:,.1f}, edge columns {self.columns / 1e6:,.1f}){more}"]
        lines += [f"a full superstep of the loop in line {one.line}: {one.edges:,} edges, {one.bytes:,} bytes"
                  for one in self.supersteps]
        return "\n".join(lines)


def cost_of(plan: Plan, facts: Facts, graph: Graph, need: Need, without: frozenset[str]) -> Cost:
    """The cost of a plan on a graph.

    Args:
        plan: the plan.
        facts: the facts of the same program.
        graph: the graph of the run.
        need: the host memory that the run needs.
        without: the names of the optimisations that the plan leaves out.
    """
    arrays = {spec.slot: _stored(spec.dtype) * spec.width for spec in plan.arrays if spec.length == "vertices"}
    fields = {spec.name: _stored(spec.dtype) * spec.width for spec in plan.fields}
    arrays |= {slot: fields[name] for slot in plan.slots if (name := field_of(slot)) is not None}
    arrays |= {slot: _ID for slot in plan.slots if slot.startswith("degree:")}
    domains = {_kept(graph, domain) for stage in plan.stages for domain in (stage.side, stage.notify)
               if domain is not None}
    lists = [*domains, *(["both"] if "near:neighbours" in plan.slots else [])]
    columns = {(_kept(graph, stage.side), column) for stage in plan.stages if stage.side is not None
               for column in stage.columns}
    loops = dict(enumerate(facts.loops.values()))
    return Cost(
        state=graph.n * sum(arrays.values()),
        adjacency=sum(_ID * _edges(graph, domain) + _OFFSET * (graph.n + 1) for domain in lists),
        columns=sum(_edges(graph, domain) * _stored(dtype) for domain, (_, dtype) in columns),
        supersteps=tuple(_superstep(loop, loops[loop.number], facts, graph, fields, without) for loop in plan.loops),
        memory=need.peak, building=need.building, running=need.running, optional=need.optional,
    )


def _kept(graph: Graph, domain: str) -> str:
    """Return the direction of the stored adjacency from which a domain is read.

    An undirected graph has one adjacency for all directions.
    """
    return domain if graph.directed else "in"


def _edges(graph: Graph, domain: str) -> int:
    """The number of entries in an adjacency. In the domain "both" of a directed graph, every edge has two entries.

    A domain "pointing" has one entry per vertex, since every vertex has one pointer.
    """
    if domain.startswith("pointing"):
        return graph.n
    return graph.m * (2 if domain == "both" and graph.directed else 1)


def _superstep(
    loop: LoopSpec, fact: LoopFacts, facts: Facts, graph: Graph, fields: dict[str, int], without: frozenset[str]
) -> SuperstepCost:
    edges = moved = 0
    for stage in loop.stages:
        if stage.domain is not None:
            mine = _edges(graph, stage.domain)
            edges += mine
            moved += mine * (_ID + sum(_stored(dtype) for _, dtype in stage.columns)) + _OFFSET * (graph.n + 1)
        moved += graph.n * sum(fields.get(name, 0) for name in stage.written)
    scope = LoopScope(facts.program, fact.loop)
    for domain in fact.domains:
        read = {value for gather in fact.gathers if gather.domain == domain
                for value in _of_neighbours(scope.gathers[gather.name], gather, without)}
        moved += _edges(graph, domain) * sum(_width(value.type) for value in read)
    return SuperstepCost(loop.line, edges, moved)


def _of_neighbours(gather: f.Gather, facts: GatherFacts, without: frozenset[str]) -> Iterator[f.Expr]:
    """The values of a neighbour that a gather reads per edge: a stored message, or fields and degrees."""
    messages = () if "hoist" in without else facts.messages
    reduce = gather.reduce
    return _values((reduce.body, *(() if reduce.cond is None else (reduce.cond,))), messages)


def _values(exprs: Iterable[f.Expr], messages: tuple[f.Expr, ...]) -> Iterator[f.Expr]:
    for expr in exprs:
        if expr in messages or (isinstance(expr, (f.Field, f.Degree)) and expr.of == "other"):
            yield expr
        else:
            yield from _values(f.children(expr), messages)


def _width(type_: Type) -> int:
    """The size of a value of a type in bytes."""
    if isinstance(type_, Vector):
        return type_.size * _width(type_.item)
    if isinstance(type_, Tuple):
        return sum(map(_width, type_.items))
    return type_.bits // 8 if isinstance(type_, Scalar) else 0


def _stored(dtype: str) -> int:
    """The size of a value of a stored type, such as f32, in bytes."""
    return int(dtype[1:]) // 8

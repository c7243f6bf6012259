"""The steps of a plan: passes, graph-level values, loops and other blocks, and what each needs to run.

The slots of arrays are explained in vlang.runtime.plan.plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from vlang.runtime.plan.gpu_stage import GpuStage

T = TypeVar("T")

__all__ = [
    "Bound", "Contract", "CopySpec", "Fold", "Fused", "ForRangeSpec", "ForVerticesSpec", "LoopSpec", "Part",
    "PrioritySpec", "PushSpec", "ScalarSpec", "StageSpec", "Step", "SumSpec", "SweepSpec", "every_step", "level_slot",
]


@dataclass(frozen=True)
class Part:
    """The place of a field in the array into which contributions are joined.

    The value of vertex v is entry `stride` v + `first`, with that array viewed as entries of the field's dtype.
    """

    field: str
    stride: int
    first: int


@dataclass(frozen=True)
class PushSpec:
    """The array into which a pass that pushes on a CPU joins contributions.

    slot: the second buffer of a field ("next:F"), or 64-bit words beside the fields. parts: the fields in it.
    """

    slot: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class PrioritySpec:
    """The field whose order decides which vertices push first (rule O).

    Attributes:
        log: priorities are logarithms of the values.
        columns: the edge columns that contributions use; without any, all edges weigh the same.
        low: the least values are first; False: the largest.
        field: the name of the field; other fields that are written with it move along.
        packed: an edge may be one word of its receiver and its only column (vlang.runtime.graph.topology.packed).
        refined: the width of buckets may change while the loop runs.
    """

    log: bool
    columns: tuple[str, ...]
    low: bool
    field: str
    packed: bool = False
    refined: bool = True


@dataclass(frozen=True)
class SumSpec:
    """How a pass pushes sums of changes on a CPU: into accumulators that are all zero between two supersteps.

    slot: the accumulators are in the arrays `slot`.0, .1, ... exact: sums are the same in any order. quiet: a vertex
    that receives nothing does not change, to the bit.
    """

    slot: str
    exact: bool
    quiet: bool


@dataclass(frozen=True)
class StageSpec:
    """One pass.

    Attributes:
        name: its name, unique in the plan.
        domain: "in", "out", "both" or None (over vertices).
        kernels: role -> name in the code. Roles: "pull", "segments", "finish", "compute", "messages", "blocked",
            "fused", "listed" where "pull" takes no lists; on a CPU also the roles of each way.
        columns: edge columns (name, dtype) in the order of the page row.
        written: the fields that the pass writes.
        swaps: fields with two buffers that the pass writes.
        loop_end: the pass also decides activity.
        notify: the adjacency direction from a changed vertex to its receivers, if the pass may skip. Its flags are
            work:notify.NAME then: 1 if a vertex must notify its receivers, 2 if it must run again itself.
        sole: no other pass of the loop writes its fields.
        gpu: the data for a GPU; None in a plan for the CPU.
        structures: the scratch structures filled for each vertex, if one worker must process all its contributions
            ("mode32", "median64", "mex", ...); on a CPU, long vertices are tasks of "pull" then.
        senders: in a sweep whose vertices receive messages, the level of the senders minus the current level; None if
            all vertices send.
        notes: the optimisations applied to the pass, as text for people.
        ways: by the name of a way of running its loop on a CPU, the data of the pass for it (PushSpec, SumSpec, ...).
        refused: by the name of a way, why the pass cannot run that way.
        fused: the work fused into a full pass on a CPU.
    """

    name: str
    domain: str | None
    kernels: Mapping[str, str]
    columns: tuple[tuple[str, str], ...] = ()
    written: tuple[str, ...] = ()
    swaps: tuple[str, ...] = ()
    loop_end: bool = False
    notify: str | None = None
    sole: bool = True
    gpu: GpuStage | None = None
    structures: tuple[str, ...] = ()
    senders: int | None = None
    notes: tuple[str, ...] = ()
    ways: Mapping[str, object] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    fused: Fused | None = None

    def way(self, name: str, kind: type[T]) -> T | None:
        """The data of the pass for a way, an object of type `kind`; None if the pass cannot run that way."""
        spec = self.ways.get(name)
        assert spec is None or isinstance(spec, kind), (name, spec)
        return spec


@dataclass(frozen=True)
class Fused:
    """Folds and messages fused into a full pass on a CPU, block by block (vlang/emit/fused.py).

    Attributes:
        kernel: the kernel that computes them for whole blocks.
        kernels: the kernels of the folds and messages that it replaces.
        inside: the kernels of the pass compute them as soon as a block is complete.
        own: slots of messages that the pass itself still reads; the new messages go to the slots later:NAME.
    """

    kernel: str
    kernels: tuple[str, ...]
    inside: bool
    own: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fold:
    """The reductions over vertices that one scalar needs. kernel: its name."""

    kernel: str


@dataclass(frozen=True)
class ScalarSpec:
    """A graph-level value: run `fold`, if any; then the kernel "scalars" with `index` stores it to scalar:`name`.

    Attributes:
        name: of the scalar.
        kind: "let", "global", "until", "limit" or "contract".
        index: the number for the kernel.
        fold: the reductions over vertices that it needs; None for none.
        sides: further scalars that it stores: both sides of an `until` that compares a reduction with a tolerance.
    """

    name: str
    kind: str
    index: int
    fold: Fold | None = None
    sides: tuple[str, ...] = ()


@dataclass(frozen=True)
class CopySpec:
    """A loop that ends with the join of the values of `field` over each connected component (rule K).

    domain: "both"; "in" or "out" if the rule applies to undirected graphs only. join: "min", "max", "last" (the largest
    vertex, `none` below all), "bitor" or "bitand", of values as stored.
    """

    field: str
    domain: str
    join: str


@dataclass(frozen=True)
class LoopSpec:
    """A loop of supersteps.

    Attributes:
        number: its number in the order of the text, from 0.
        level: how many loops enclose it; loops of one level share the arrays that `slot` names.
        steps: the steps of a superstep.
        limit: the scalar that bounds supersteps; None for no bound.
        exact: the loop runs exactly `limit` supersteps.
        until: the scalar that ends the loop when true; None for none.
        explicit: `activate when` decides activity; else a change of an applied field does.
        reads_iteration: some step reads `iteration`.
        skip: passes may leave out a vertex if no input of it changed (rule N).
        skip_reason: why `skip` holds, or why not.
        asynchronous: passes may run in place (rule A).
        asynchronous_reason: why `asynchronous` holds, or why not.
        starts: fields with a copy start:F.
        sent: fields with a copy sent:F.
        line: its line in the program.
        copied: the result of the loop under rule K; None where that is refused.
        order: the rule by which vertices may run in any order: "A", "A'" (active vertices send in any order) or "S" (a
            vertex is written once); "" where none is granted.
    """

    number: int
    level: int
    steps: tuple[Step, ...]
    limit: ScalarSpec | None
    exact: bool
    until: ScalarSpec | None
    explicit: bool
    reads_iteration: bool
    skip: bool
    skip_reason: str
    asynchronous: bool
    asynchronous_reason: str
    starts: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    line: int = 0
    copied: CopySpec | None = None
    order: str = ""

    @cached_property
    def stages(self) -> tuple[StageSpec, ...]:
        """Its own passes, without the passes of inner blocks."""
        return tuple(step for step in self.steps if isinstance(step, StageSpec))

    @cached_property
    def plain(self) -> tuple[StageSpec | ScalarSpec, ...]:
        """Its steps without inner blocks."""
        return tuple(step for step in self.steps if isinstance(step, (StageSpec, ScalarSpec)))

    @cached_property
    def nested(self) -> bool:
        """Whether a superstep holds other blocks."""
        return len(self.plain) < len(self.steps)

    def slot(self, kind: str, name: str) -> str:
        """The slot of its own arrays: start:F, sent:F, work:active."""
        return level_slot(kind, name, self.level)


@dataclass(frozen=True)
class SweepSpec:
    """A sweep: runs `steps` once for each finite value of an integer field, for the vertices that have this value.

    Attributes:
        field: the field.
        up: values increase; else they decrease.
        guard: the slot of a u8 array; only vertices with a nonzero entry take part. None: all do.
        level: the scalar that holds the current value.
        steps: the steps.
        line: its line in the program.
    """

    field: str
    up: bool
    guard: str | None
    level: str
    steps: tuple[Step, ...]
    line: int = 0


@dataclass(frozen=True)
class ForVerticesSpec:
    """A block that runs for each vertex of a parameter, in order, or for every vertex.

    Attributes:
        name: the scalar with the vertex.
        members: the parameter; "" for all vertices, in the order of their numbers.
        steps: of the block.
        line: of the program.
    """

    name: str
    members: str
    steps: tuple[Step, ...]
    line: int = 0


@dataclass(frozen=True)
class ForRangeSpec:
    """A block that runs for each number of a range.

    Attributes:
        name: the scalar with the number.
        low: the first number.
        high: the last number.
        until: tested after each; None for none.
        steps: of the block.
        line: of the program.
    """

    name: str
    low: ScalarSpec
    high: ScalarSpec
    until: ScalarSpec | None
    steps: tuple[Step, ...]
    line: int = 0


@dataclass(frozen=True)
class Bound:
    """`column op value` for every edge.

    Attributes:
        column: of the edges.
        dtype: the type of the column in the program.
        op: "lt", "le", "gt" or "ge".
        value: a constant.
    """

    column: str
    dtype: str
    op: str
    value: int | float


@dataclass(frozen=True)
class Contract:
    """A `require`.

    Attributes:
        name: the hidden field that marks where it fails; for kind "graph" a scalar, for "needs" nothing.
        kind: "graph", "vertex" or "edge"; "needs" for what the graph must be.
        domain: for kind "edge", the direction of the edges.
        text: the condition as in the program; for "needs" the words, with spaces between them.
        line: its line in the program.
        bounds: if not empty, an equivalent of the condition; if the ranges of columns prove it, no edge is read.
    """

    name: str
    kind: str  # "graph", "vertex" (a bool per vertex that must be true), "edge" (the first bad neighbour, or none)
    domain: str | None
    text: str
    line: int
    bounds: tuple[Bound, ...] = ()


Step = StageSpec | ScalarSpec | LoopSpec | SweepSpec | ForVerticesSpec | ForRangeSpec | Contract


def every_step(steps: Iterable[Step]) -> Iterator[Step]:
    """Every step of a tree, each block before its steps."""
    for step in steps:
        yield step
        if not isinstance(step, (StageSpec, ScalarSpec, Contract)):
            yield from every_step(step.steps)


def level_slot(kind: str, name: str, level: int) -> str:
    """The slot of an array that the loops of one nesting level share."""
    return f"{kind}{level}:{name}" if level else f"{kind}:{name}"

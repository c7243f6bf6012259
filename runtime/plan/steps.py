"""The steps of a plan: passes, graph-level values, loops and other blocks, with the data that the engine needs to run
each step.

runtime/plan/plan.py explains the slots of arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from vlang.records import dataclass
from vlang.runtime.plan.contract import Contract

if TYPE_CHECKING:
    from vlang.runtime.plan.gpu_stage import GpuStage

T = TypeVar("T")

_POINTING = "pointing:"

__all__ = [
    "CopySpec", "Fold", "Fused", "ForRangeSpec", "ForVerticesSpec", "LoopSpec", "Part", "PrioritySpec", "PushSpec",
    "ScalarSpec", "StageSpec", "Step", "SumSpec", "SweepSpec", "every_step", "level_slot", "pointer_of",
]


@dataclass(frozen=True)
class Part:
    """The position of a field in the array into which contributions are joined.

    If the array is viewed with the dtype of the field, the value of vertex v is entry `stride` * v + `first`.
    """

    field: str
    stride: int
    first: int


@dataclass(frozen=True)
class PushSpec:
    """The array into which a pass that pushes on a CPU joins contributions.

    Attributes:
        slot: the second buffer of a field ("next:F"), or a separate array of 64-bit words.
        parts: the fields in this array.
    """

    slot: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class PrioritySpec:
    """The field whose values decide which vertices push first (rule O).

    Attributes:
        log: whether priorities are logarithms of the values.
        columns: the edge columns that contributions use; if empty, all edges have the same weight.
        low: True if the smallest values come first, False if the largest values come first.
        field: the name of the field. Other fields that the pass writes do not affect the order.
        packed: whether receiver and column of an edge may be packed into one word (runtime/graph/topology/packed.py).
        refined: whether the width of buckets may change while the loop runs.
    """

    log: bool
    columns: tuple[str, ...]
    low: bool
    field: str
    packed: bool = False
    refined: bool = True


@dataclass(frozen=True)
class SumSpec:
    """The accumulators into which a pass on a CPU pushes sums of changes; they are all zero between two supersteps.

    Attributes:
        slot: the accumulators are the arrays `slot`.0, `slot`.1, ...
        exact: whether sums have the same bits in any order.
        quiet: whether a vertex that receives no contribution keeps the bits of its values.
    """

    slot: str
    exact: bool
    quiet: bool


@dataclass(frozen=True)
class StageSpec:
    """One pass.

    Attributes:
        name: the name of the pass, unique in the plan.
        domain: "in", "out", "both", "pointing:FIELD" (a row has the vertices whose FIELD is the vertex of the row), or
            None (a pass over vertices).
        kernels: role -> name of the kernel. Roles are "pull", "segments", "finish", "compute", "messages", "blocked",
            "fused", and "listed" if "pull" does not accept lists of vertices; in a plan for the CPU, each execution way
            adds roles of its own.
        columns: the edge columns as (name, dtype), in the order of the page row.
        written: the fields that the pass writes.
        swaps: the fields with two buffers that the pass writes.
        loop_end: whether the pass also decides which vertices are active.
        notify: the adjacency direction from a changed vertex to its receivers if the pass may skip vertices, else None.
            If `notify` is not None, the flags are in work:notify.NAME: 1 if a vertex must notify its receivers, 2 if it
            must run again itself.
        sole: whether no other pass of the loop writes the fields of this pass.
        gpu: the data for a GPU; None in a plan for the CPU.
        structures: the scratch structures ("mode32", "median64", "mex", ...) that a worker fills for a vertex. They are
            needed if one worker must process all contributions of a vertex. In such a pass long vertices are tasks of
            "pull" on a CPU.
        senders: in a sweep with messages, the level of the senders minus the current level; None if all vertices send.
        notes: the optimisations applied to the pass, as sentences for `explain`.
        ways: name of a way to run the loop on a CPU -> the data of the pass for this way (PushSpec, SumSpec, ...).
        refused: name of a way -> the reason why the pass cannot run that way.
        fused: the work that is fused into a full pass on a CPU; None if there is no such work.
        near: the slots of the arrays over vertices that the kernels of the pass read at neighbours.
        arrays: the slots of all arrays that the kernels of the pass access.
        stores: the edge states that the pass writes.
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
    near: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()

    @property
    def side(self) -> str | None:
        """The adjacency direction whose edges the pass reads; None if the pass reads no edges of the graph."""
        return None if self.pointer else self.domain

    @cached_property
    def pointer(self) -> str:
        """The field of vertices along which the pass gathers; "" if the pass does not gather along pointers."""
        return pointer_of(self.domain)

    def way(self, name: str, kind: type[T]) -> T | None:
        """The data of the pass for the way `name`, of type `kind`; None if the pass cannot run that way."""
        spec = self.ways.get(name)
        assert spec is None or isinstance(spec, kind), (name, spec)
        return spec


@dataclass(frozen=True)
class Fused:
    """Folds and messages fused into a full pass on a CPU, block by block (vlang/emit/fused.py).

    Attributes:
        kernel: the kernel that computes the folds and messages of whole blocks.
        kernels: the kernels of the folds and messages that `kernel` replaces.
        inside: whether the kernels of the pass do this work themselves as soon as a block is complete.
        own: slots of messages that the pass itself still reads; new messages are therefore written to the slots
            later:NAME.
    """

    kernel: str
    kernels: tuple[str, ...]
    inside: bool
    own: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fold:
    """The reductions over vertices that one scalar needs.

    Attributes:
        kernel: name of the kernel that computes the reductions.
        arrays: the slots of the arrays that the kernel accesses, with the arrays part:NAME of its partial results.
    """

    kernel: str
    arrays: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScalarSpec:
    """A graph-level value. After the reductions `fold`, the kernel "scalars" stores the value in the slot
    scalar:`name`.

    Attributes:
        name: the name of the scalar.
        kind: "let", "global", "until", "limit" or "contract".
        index: the argument of the kernel "scalars".
        fold: the reductions over vertices that the value needs; None if the value needs no reduction.
        sides: further scalars that the kernel stores: both sides of an `until` that compares a reduction with a
            tolerance.
    """

    name: str
    kind: str
    index: int
    fold: Fold | None = None
    sides: tuple[str, ...] = ()


@dataclass(frozen=True)
class CopySpec:
    """A loop whose result is, for each connected component, the join of the values of `field` (rule K).

    Attributes:
        domain: "both", or "in" or "out" if the rule applies only to undirected graphs.
        join: the operator on stored values: "min", "max", "last" (the largest vertex, with `none` as the least),
            "bitor" or "bitand".
    """

    field: str
    domain: str
    join: str


@dataclass(frozen=True)
class LoopSpec:
    """A loop of supersteps.

    Attributes:
        number: the number of the loop in the order of the program text, from 0.
        level: how many loops enclose this loop. Loops of the same level share the arrays that `slot` names.
        steps: the steps of a superstep.
        limit: the scalar that bounds the number of supersteps; None if there is no bound.
        exact: whether the loop runs exactly `limit` supersteps.
        until: the scalar that ends the loop when it is true; None if there is no such condition.
        explicit: True if `activate when` decides which vertices are active, False if a change of an applied field
            activates a vertex.
        reads_iteration: whether some step reads `iteration`.
        skip: whether passes may skip a vertex if none of its inputs has changed (rule N).
        skip_reason: why `skip` is true or false.
        asynchronous: whether passes may run in place (rule A).
        asynchronous_reason: why `asynchronous` is true or false.
        starts: the fields that have a copy start:F.
        sent: the fields that have a copy sent:F.
        line: the line in the program.
        copied: the result of the loop under rule K; None if the rule does not apply.
        order: the rule that permits vertices to run in any order: "A", "A'" (active vertices send in any order) or "S"
            (a vertex is written once); "" if no such rule applies.
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
        """The passes of this loop, without the passes of inner blocks."""
        return tuple(step for step in self.steps if isinstance(step, StageSpec))

    @cached_property
    def plain(self) -> tuple[StageSpec | ScalarSpec, ...]:
        """The steps of this loop, without inner blocks."""
        return tuple(step for step in self.steps if isinstance(step, (StageSpec, ScalarSpec)))

    @cached_property
    def nested(self) -> bool:
        """Whether the loop contains inner blocks."""
        return len(self.plain) < len(self.steps)

    def slot(self, kind: str, name: str) -> str:
        """The slot of an array of this loop: start:F, sent:F or work:active."""
        return level_slot(kind, name, self.level)


@dataclass(frozen=True)
class SweepSpec:
    """A sweep: runs `steps` once for each finite value of an integer field, on the vertices that have this value.

    Attributes:
        field: the name of the field.
        up: True if the sweep goes from the smallest value to the largest, False for the opposite.
        guard: the slot of a u8 array; only vertices with a nonzero entry take part; None if all vertices take part.
        level: the scalar that holds the current value.
        steps: the steps of the sweep.
        line: the line in the program.
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
        name: the scalar that holds the current vertex.
        members: the name of the parameter; "" for all vertices, in the order of their numbers.
        steps: the steps of the block.
        line: the line in the program.
    """

    name: str
    members: str
    steps: tuple[Step, ...]
    line: int = 0


@dataclass(frozen=True)
class ForRangeSpec:
    """A block that runs for each number of a range.

    Attributes:
        name: the scalar that holds the current number.
        low: the first number.
        high: the last number.
        until: the scalar that ends the block if it is true after an iteration; None if there is no such condition.
        steps: the steps of the block.
        line: the line in the program.
    """

    name: str
    low: ScalarSpec
    high: ScalarSpec
    until: ScalarSpec | None
    steps: tuple[Step, ...]
    line: int = 0


Step = StageSpec | ScalarSpec | LoopSpec | SweepSpec | ForVerticesSpec | ForRangeSpec | Contract


def every_step(steps: Iterable[Step]) -> Iterator[Step]:
    """All steps of a tree of steps; a block comes before the steps inside it."""
    for step in steps:
        yield step
        if not isinstance(step, (StageSpec, ScalarSpec, Contract)):
            yield from every_step(step.steps)


def pointer_of(domain: str | None) -> str:
    """The field in a domain "pointing:FIELD"; "" for another domain."""
    return domain[len(_POINTING):] if domain is not None and domain.startswith(_POINTING) else ""


def level_slot(kind: str, name: str, level: int) -> str:
    """The slot of an array that all loops of the same nesting level share."""
    return f"{kind}{level}:{name}" if level else f"{kind}:{name}"

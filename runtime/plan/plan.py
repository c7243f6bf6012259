"""The kernel set: the one interface between the language and the engine.

The language hands over a *plan*: steps in the order of the run, each with its kernels and the arrays that it reads and
writes. The engine allocates the arrays, puts their addresses into a *frame* and launches the kernels. The engine does
not depend on the syntax, and the language does not depend on pages.

A frame is an array of 64-bit slots: addresses and scalars. Its first slots are the engine's (SLOT_...); the others
are named in `Plan.slots`:

    scalar:NAME   a parameter, let, global, limit or until value, stored as `Plan.scalars` says; of a set of vertices
                  the number of its members. Vectors and tuples are scalars NAME.0, NAME.1, ...
    set:NAME      the members of a set of vertices, u32; sorted:NAME the same in increasing order, and places:NAME where
                  each of those stands in the set
    field:F       the values of field F before the pass; next:F where the pass writes them (the same array for a
                  field with one buffer); start:F the copy taken at the start of the superstep; told:F the value last
                  sent to the neighbours; startL and toldL belong to loops that are nested L deep
    work:NAME     any other array over vertices: messages, stored accumulators and masks, "heard" and "active" flags
    later:NAME    messages for the pass after the one that reads work:NAME
    kept:NAME     accumulators of a pass that runs by cache blocks
    pushed:NAME   accumulators of a pass that pushes sums
    part:NAME     partial results: one a segment for passes over edges, one a block for folds
    degree:KIND   "in", "out" or "all", u32
    ids:base      u64, the caller's number of vertex 0 where the ids are consecutive integers; 0 where they are texts
    ids:listed    u64, 1 where they are other integers: then ids:list, u64[n], has the number of each vertex
    ids:dense     u32[n], the dense number of the vertex at each index, and ids:internal, the index of each dense
                  number, where the graph has an order of its own (vlang.runtime.graph.edges.order)
    near:starts   u64[n + 1], where the neighbours of each vertex begin in near:neighbours, u32: directions, loops and
                  repetitions ignored

A page is described by a row of PAGE_WORDS words, a cache block by one of BLOCK_WORDS, and a page on a GPU by one of
ROW_WORDS. What passes of a CPU work on beside the frame: vlang.runtime.plan.layouts.pass_words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from vlang.runtime.plan.layout import Layout

if TYPE_CHECKING:
    from vlang.runtime.plan.gpu_stage import GpuStage

T = TypeVar("T")

__all__ = [
    "BLOCK", "BLOCK_GROUP", "BLOCK_HIGH", "BLOCK_LONG", "BLOCK_LONG_END", "BLOCK_LOW", "BLOCK_MADE", "BLOCK_MOST",
    "BLOCK_ORDER", "BLOCK_PLACES", "BLOCK_RUNS", "BLOCK_SENDERS", "BLOCK_WORDS", "FIRST_SLOT", "LANES", "PAGE_COLUMNS",
    "PAGE_FIRST", "PAGE_OFFSETS", "PAGE_TARGETS", "PAGE_WORDS", "ROW_BEGIN", "ROW_BLOCKS", "ROW_COLUMNS", "ROW_END",
    "ROW_OFFSETS", "ROW_PLACES", "ROW_REPLICAS", "ROW_SHARDS", "ROW_TARGETS", "ROW_WORDS", "RUN", "SEGMENT",
    "SLOT_FOLLOW", "SLOT_LIST", "SLOT_LISTED", "SLOT_LONGS", "SLOT_PAGES", "SLOT_SCRATCH", "SLOT_SEGMENTS",
    "SLOT_STATS", "THREADS", "ArraySpec", "Bound", "Contract", "CopySpec", "FieldSpec", "Fold", "Follow",
    "ForRangeSpec", "ForVerticesSpec", "LoopSpec", "Part", "Plan", "PrioritySpec", "PushSpec", "ScalarSpec",
    "StageSpec", "Step", "SumSpec", "SweepSpec", "every_step", "field_of", "level_slot",
]

SEGMENT = 16384  # edges: the grain in which the edges of one vertex are cut
BLOCK = 4096  # vertices: the grain of reductions over vertices
LANES = 64  # vertices of a block that are reduced side by side
RUN = 256  # vertices whose accumulators a worker of a CPU keeps side by side, in the first level of its cache

BLOCK_MOST = 1 << 16  # vertices of a cache block at most: their numbers inside it have 16 bits
BLOCK_GROUP = 4  # edges of a row that stand together
THREADS = 256  # of a block of a GPU

# The row of a page. Of a whole adjacency that stands for one, offsets are u64.
_PAGE = Layout()
PAGE_OFFSETS = _PAGE.word("u32: offsets of the edges of each vertex, relative to the page, from its first vertex on")
PAGE_TARGETS = _PAGE.word("u32: the neighbours")
PAGE_FIRST = _PAGE.word("the first vertex")
PAGE_WORDS = 16
PAGE_COLUMNS = _PAGE.part(PAGE_WORDS - 3, "the columns of the stage, in order")

# The row of a cache block (vlang.runtime.graph.topology.blocks), which has its columns where a page has them.
_BLOCK = Layout(PAGE_WORDS)
BLOCK_SENDERS = _BLOCK.word("u32: the neighbours, in the order of the runs")
BLOCK_RUNS = _BLOCK.word("u32[., 3]: the first place of a run, its places, and edges of each that stand side by side")
BLOCK_MADE = _BLOCK.word("how many runs there are")
BLOCK_ORDER = _BLOCK.word("u16: the vertex of each place, relative to BLOCK_LOW")
BLOCK_PLACES = _BLOCK.word("u16: the place of each vertex")
BLOCK_LOW = _BLOCK.word("the first vertex")
BLOCK_HIGH = _BLOCK.word("the vertex behind the last")
BLOCK_LONG = _BLOCK.word("the first of its long vertices, which are left out, in the table of those")
BLOCK_LONG_END = _BLOCK.word("the long vertex behind the last of them")
BLOCK_WORDS = _BLOCK.size(2 * PAGE_WORDS)

# The row of a page on a GPU. Offsets are those of the whole adjacency, u64[n + 1]; targets, places and columns are
# addressed by the number of the edge in the whole adjacency, so their addresses lie before the page's own memory.
_ROW = Layout()
ROW_OFFSETS = _ROW.word("u64: the offsets")
ROW_TARGETS = _ROW.word("u32: the neighbours")
ROW_BEGIN = _ROW.word("the first edge of the page")
ROW_END = _ROW.word("the edge behind the last")
ROW_BLOCKS = _ROW.word("u32: where the vertices of each row block begin")
ROW_PLACES = _ROW.word("u16: the place of each edge's receiver in its shard")
ROW_SHARDS = _ROW.word("u32: the bounds of the shards")
ROW_REPLICAS = _ROW.word("u8: copies of the accumulators of each shard in shared memory")
_ROW.skip(12)
ROW_COLUMNS = _ROW.part(20, "the columns of the stage, in order")
ROW_WORDS = _ROW.size()

# The slots of a frame that are the engine's.
_SLOTS = Layout()
SLOT_PAGES = _SLOTS.word("the table of pages, or of cache blocks")
SLOT_LIST = _SLOTS.word("u32: the vertices that a launch is for, if SLOT_LISTED")
SLOT_LISTED = _SLOTS.word("whether tasks are runs of a list")
SLOT_SEGMENTS = _SLOTS.word("i64[., 3]: vertex, first edge and edge behind the last of each segment, in its page")
SLOT_LONGS = _SLOTS.word("i64[., 3]: vertex, first segment and segment behind the last of each long vertex")
SLOT_STATS = _SLOTS.word("i64: vertices changed, vertices active, and numbers for workers")
SLOT_SCRATCH = _SLOTS.word("scratch memory")
SLOT_FOLLOW = _SLOTS.word("what follows the pass, 0 for nothing")
FIRST_SLOT = _SLOTS.size()


@dataclass(frozen=True)
class FieldSpec:
    """A vertex field.

    Attributes:
        name: its name.
        dtype: the stored type.
        type: the type in the program.
        output: it is a result of the program.
        required: the caller must pass it.
        width: consecutive array entries of a vertex: k for a vector.
    """

    name: str
    dtype: str
    type: str
    output: bool
    required: bool
    width: int = 1


@dataclass(frozen=True)
class ArraySpec:
    """An array other than a field.

    Attributes:
        slot: its full slot name.
        dtype: the stored type.
        length: "vertices", "segments:KIND", "blocks", "blocked" (for each worker, one for each place of a cache block;
            allocated when a pass first runs by blocks), "pushed" (one a vertex; allocated when a pass first pushes
            sums), "later" (one a vertex; allocated when a pass first sends messages for the pass after it) or "set:S"
            (one a member of S).
        width: consecutive entries for each of these.
    """

    slot: str
    dtype: str
    length: str
    width: int = 1


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
            "followed", "listed" where "pull" takes no lists; on a CPU also the roles of each way.
        columns: edge columns (name, dtype) in the order of the page row.
        written: the fields that the pass writes.
        swaps: fields with two buffers that the pass writes.
        loop_end: the pass also decides activity.
        notify: the adjacency direction from a changed vertex to its receivers, if the pass may skip. Its flags are
            work:heard.NAME then: 1 if a vertex must notify its receivers, 2 if it must run again itself.
        sole: no other pass of the loop writes its fields.
        gpu: the data for a GPU; None in a plan for the CPU.
        structures: the scratch structures filled for each vertex, if one worker must process all its contributions
            ("mode32", "median64", "mex", ...); on a CPU, long vertices are tasks of "pull" then.
        senders: in a sweep whose vertices receive messages, the level of the senders minus the current level; None if
            all vertices send.
        notes: the optimisations applied to the pass, as text for people.
        ways: by the name of a way of running its loop on a CPU, the data of the pass for it (PushSpec, SumSpec, ...).
        refused: by the name of a way, why the pass cannot run that way.
        follow: the work fused into a full pass on a CPU.
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
    follow: Follow | None = None

    def way(self, name: str, kind: type[T]) -> T | None:
        """The data of the pass for a way, an object of type `kind`; None if the pass cannot run that way."""
        spec = self.ways.get(name)
        assert spec is None or isinstance(spec, kind), (name, spec)
        return spec


@dataclass(frozen=True)
class Follow:
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
        tolds: fields with a copy told:F.
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
    tolds: tuple[str, ...] = ()
    line: int = 0
    copied: CopySpec | None = None
    order: str = ""

    @property
    def stages(self) -> tuple[StageSpec, ...]:
        """Its own passes, without the passes of inner blocks."""
        return tuple(step for step in self.steps if isinstance(step, StageSpec))

    @property
    def plain(self) -> tuple[StageSpec | ScalarSpec, ...]:
        """Its steps without inner blocks."""
        return tuple(step for step in self.steps if isinstance(step, (StageSpec, ScalarSpec)))

    @property
    def nested(self) -> bool:
        """Whether a superstep holds other blocks."""
        return len(self.plain) < len(self.steps)

    def slot(self, kind: str, name: str) -> str:
        """The slot of its own arrays: start:F, told:F, work:active."""
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
    """Runs `steps` for each vertex of the parameter `members`, in order; the vertex is in the scalar `name`."""

    name: str
    members: str
    steps: tuple[Step, ...]
    line: int = 0


@dataclass(frozen=True)
class ForRangeSpec:
    """Runs `steps` for each number from `low` to `high`, which is in the scalar `name`; until: tested after each."""

    name: str
    low: ScalarSpec
    high: ScalarSpec
    until: ScalarSpec | None
    steps: tuple[Step, ...]
    line: int = 0


@dataclass(frozen=True)
class Bound:
    """`column op value` for every edge. op: "lt", "le", "gt", "ge"; dtype: the type of the column in the program."""

    column: str
    dtype: str
    op: str
    value: int | float


@dataclass(frozen=True)
class Contract:
    """A `require`.

    Attributes:
        name: the hidden field that marks where it fails; for kind "graph" a scalar.
        kind: "graph", "vertex" or "edge".
        domain: for kind "edge", the direction of the edges.
        text: the condition as in the program.
        line: its line in the program.
        bounds: if not empty, an equivalent of the condition; if the ranges of columns prove it, no edge is read.
    """

    name: str
    kind: str  # "graph", "vertex" (a bool per vertex that must be true), "edge" (the first bad neighbour, or none)
    domain: str | None
    text: str
    line: int
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True)
class Watch:
    """The names of the values that a run tests for infinities.

    Attributes:
        fields: vertex fields that are outputs.
        hidden: other vertex fields.
        globals: graph-level values that are outputs.
        lets: other graph-level values.
    """

    fields: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    globals: frozenset[str] = frozenset()
    lets: frozenset[str] = frozenset()


NO_WATCH = Watch()


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


def field_of(slot: str) -> str | None:
    """The field whose present or past values are in a slot; None for other slots."""
    kind, _, name = slot.partition(":")
    return name if kind.rstrip("0123456789") in ("field", "next", "start", "told") else None


@dataclass(frozen=True)
class Plan:
    """A program ready to run on one target.

    Attributes:
        name: the name of the program.
        text: the code of its kernels.
        exports: kernel name -> signature.
        slots: slot name -> number.
        scalars: name -> type name ("f32", "u8", ...).
        fields: the vertex fields.
        arrays: the other arrays.
        steps: the run; a contract is checked at its place among the steps.
        globals: the graph-level results (name, type name).
        defaults: scalars used for parameters that are not given, and for edge fields ("edge.NAME") that the graph does
            not have.
    """

    name: str
    text: str
    exports: Mapping[str, str]
    slots: Mapping[str, int]
    scalars: Mapping[str, str]
    fields: tuple[FieldSpec, ...]
    arrays: tuple[ArraySpec, ...]
    steps: tuple[Step, ...]
    globals: tuple[tuple[str, str], ...]
    defaults: Mapping[str, ScalarSpec] = field(default_factory=dict)

    @property
    def stages(self) -> tuple[StageSpec, ...]:
        """Every pass, in the order of the text."""
        return tuple(step for step in every_step(self.steps) if isinstance(step, StageSpec))

    @property
    def loops(self) -> tuple[LoopSpec, ...]:
        """Every loop of supersteps, in the order of the text."""
        return tuple(step for step in every_step(self.steps) if isinstance(step, LoopSpec))

    @property
    def counted(self) -> tuple[LoopSpec | ForRangeSpec, ...]:
        """Every block whose rounds are counted, in the order of the text."""
        return tuple(step for step in every_step(self.steps) if isinstance(step, (LoopSpec, ForRangeSpec)))

    @property
    def values(self) -> tuple[ScalarSpec, ...]:
        """Every graph-level value that is computed."""
        found: list[ScalarSpec | None] = list(self.defaults.values())
        for step in every_step(self.steps):
            if isinstance(step, ScalarSpec):
                found.append(step)
            elif isinstance(step, LoopSpec):
                found += [step.limit, step.until]
            elif isinstance(step, ForRangeSpec):
                found += [step.low, step.high, step.until]
        return tuple(spec for spec in found if spec is not None)

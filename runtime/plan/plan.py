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
                  field with one buffer); start:F the copy taken at the start of the superstep; sent:F the value last
                  sent to the neighbours; startL and sentL belong to loops that are nested L deep
    work:NAME     any other array over vertices: messages, stored accumulators and masks, "notify" and "active" flags
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

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from vlang.runtime.plan.page_words import (
    BLOCK,
    BLOCK_GROUP,
    BLOCK_HIGH,
    BLOCK_LONG,
    BLOCK_LONG_END,
    BLOCK_LOW,
    BLOCK_MADE,
    BLOCK_MOST,
    BLOCK_ORDER,
    BLOCK_PLACES,
    BLOCK_RUNS,
    BLOCK_SENDERS,
    BLOCK_WORDS,
    FIRST_SLOT,
    LANES,
    PAGE_COLUMNS,
    PAGE_FIRST,
    PAGE_OFFSETS,
    PAGE_TARGETS,
    PAGE_WORDS,
    ROW_BEGIN,
    ROW_BLOCKS,
    ROW_COLUMNS,
    ROW_END,
    ROW_OFFSETS,
    ROW_PLACES,
    ROW_REPLICAS,
    ROW_SHARDS,
    ROW_TARGETS,
    ROW_WORDS,
    RUN,
    SEGMENT,
    SLOT_FUSED,
    SLOT_LIST,
    SLOT_LISTED,
    SLOT_LONGS,
    SLOT_PAGES,
    SLOT_SCRATCH,
    SLOT_SEGMENTS,
    SLOT_STATS,
    THREADS,
)
from vlang.runtime.plan.steps import (
    Bound,
    Contract,
    CopySpec,
    Fold,
    ForRangeSpec,
    ForVerticesSpec,
    Fused,
    LoopSpec,
    Part,
    PrioritySpec,
    PushSpec,
    ScalarSpec,
    StageSpec,
    Step,
    SumSpec,
    SweepSpec,
    every_step,
    level_slot,
)

__all__ = [
    "BLOCK", "BLOCK_GROUP", "BLOCK_HIGH", "BLOCK_LONG", "BLOCK_LONG_END", "BLOCK_LOW", "BLOCK_MADE", "BLOCK_MOST",
    "BLOCK_ORDER", "BLOCK_PLACES", "BLOCK_RUNS", "BLOCK_SENDERS", "BLOCK_WORDS", "FIRST_SLOT", "LANES", "NO_WATCH",
    "PAGE_COLUMNS", "PAGE_FIRST", "PAGE_OFFSETS", "PAGE_TARGETS", "PAGE_WORDS", "ROW_BEGIN", "ROW_BLOCKS",
    "ROW_COLUMNS", "ROW_END", "ROW_OFFSETS", "ROW_PLACES", "ROW_REPLICAS", "ROW_SHARDS", "ROW_TARGETS", "ROW_WORDS",
    "RUN", "SEGMENT", "SLOT_FUSED", "SLOT_LIST", "SLOT_LISTED", "SLOT_LONGS", "SLOT_PAGES", "SLOT_SCRATCH",
    "SLOT_SEGMENTS", "SLOT_STATS", "THREADS", "ArraySpec", "Bound", "Contract", "CopySpec", "Fault", "FieldSpec",
    "Fold", "Fused", "ForRangeSpec", "ForVerticesSpec", "LoopSpec", "Part", "Plan", "PrioritySpec", "PushSpec",
    "ScalarSpec", "StageSpec", "Step", "SumSpec", "SweepSpec", "Watch", "every_step", "field_of", "level_slot",
]


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
        type: the type in the program; "" where the array has none.
    """

    slot: str
    dtype: str
    length: str
    width: int = 1
    type: str = ""


@dataclass(frozen=True)
class Watch:
    """The names of the values that a run tests for infinities.

    Attributes:
        fields: vertex fields that are outputs.
        hidden: other vertex fields.
        globals: graph-level values that are outputs.
        lets: other graph-level values.
        note: in check mode, a vertex field of u32: the number of what failed at a vertex, 0 for nothing.
        numbers: in check mode, graph-level values that are such a number, or the largest u32 for nothing; each with the
            value that names its vertex, or "".
    """

    fields: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    globals: frozenset[str] = frozenset()
    lets: frozenset[str] = frozenset()
    note: str = ""
    numbers: tuple[tuple[str, str], ...] = ()


NO_WATCH = Watch()


def field_of(slot: str) -> str | None:
    """The field whose present or past values are in a slot; None for other slots."""
    kind, _, name = slot.partition(":")
    return name if kind.rstrip("0123456789") in ("field", "next", "start", "sent") else None


@dataclass(frozen=True)
class Fault:
    """Where it is noted that a declared reduction left its type, which ends the run.

    Attributes:
        name: the slot of an array, or the name of a scalar; not 0 where it left.
        line: of the statement.
        vertices: whether it is an array with an entry for each vertex.
    """

    name: str
    line: int
    vertices: bool


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
        faults: what ends the run.
        vertices: the scalars that name vertices.
        scattered: the slots of arrays over vertices that kernels of passes and folds read or write for another vertex
            than the one that they process; others are read and written in the order of the vertices.
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
    faults: tuple[Fault, ...] = ()
    vertices: frozenset[str] = frozenset()
    scattered: frozenset[str] = frozenset()

    @cached_property
    def stages(self) -> tuple[StageSpec, ...]:
        """Every pass, in the order of the text."""
        return tuple(step for step in every_step(self.steps) if isinstance(step, StageSpec))

    @cached_property
    def loops(self) -> tuple[LoopSpec, ...]:
        """Every loop of supersteps, in the order of the text."""
        return tuple(step for step in every_step(self.steps) if isinstance(step, LoopSpec))

    @cached_property
    def counted(self) -> tuple[LoopSpec | ForRangeSpec, ...]:
        """Every block whose rounds are counted, in the order of the text."""
        return tuple(step for step in every_step(self.steps) if isinstance(step, (LoopSpec, ForRangeSpec)))

    @cached_property
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

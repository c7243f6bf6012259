"""The plan: the only interface between the language and the engine.

The compiler produces a *plan*: steps in the order of the run. A step has its kernels, and the arrays that it reads and
writes. The engine allocates the arrays, stores their addresses in a *frame* and launches the kernels. The engine does
not depend on the syntax, and the language does not depend on pages.

A frame is an array of 64-bit slots: addresses and scalars. The engine reserves the first slots (SLOT_...); `Plan.slots`
names the other slots:

    scalar:NAME   a parameter, let, global, limit or until value, with the type in `Plan.scalars`. The scalar of a set
                  of vertices is its number of members. A vector or tuple has the scalars NAME.0, NAME.1, ...
    given:NAME    the components of a vector parameter, or of a matrix parameter column by column
    set:NAME      u32, the members of a set of vertices; sorted:NAME has them in increasing order, and places:NAME the
                  index in set:NAME of each member of sorted:NAME
    field:F       the values of field F before the pass; next:F is the array to which the pass writes them (the same
                  array if the field has one buffer); start:F is the copy from the start of the superstep, and sent:F
                  has the values last sent to neighbours; startL and sentL belong to loops that are nested L deep
    work:NAME     any other array over vertices: messages, stored accumulators and masks, "notify" and "active" flags
    later:NAME    messages for the pass after the pass that reads work:NAME
    kept:NAME     accumulators of a pass that runs by cache blocks
    pushed:NAME   accumulators of a pass that pushes sums
    part:NAME     partial results: one per segment for passes over edges, one per block for folds
    degree:KIND   u32, degrees of kind "in", "out" or "all"
    ids:base      u64, the id of vertex 0 if ids are consecutive integers; 0 if they are texts
    ids:listed    u64, 1 if ids are other integers; ids:list, u64[n], then has the id of each vertex
    ids:dense     u32[n], the dense number of each row, and ids:internal, u32[n], the row of each dense number, if rows
                  are not in the order of the ids (runtime/graph/edges/order.py)
    near:WAY:T:C  T[1 + entries of near:neighbours]: a leading 0, then for each entry the sum of the edge column C over
                  the edges between its two vertices in direction WAY ("out" or "in"); without C, the number of these
                  edges
    near:opposite u32, for each entry of near:neighbours the place of the opposite entry, in a simple undirected graph
    near:starts   u64[n + 1], the offsets of the rows in near:neighbours, u32, which has the distinct neighbours of each
                  vertex in either direction, without self-loops

Tables of words describe the pieces of a graph: PAGE_WORDS words for each page on a CPU, ROW_WORDS words for each page
on a GPU, and BLOCK_WORDS words for each strip of cache blocks. The module runtime/plan/layouts/pass_words.py has the
arrays that passes on a CPU use in addition to the frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from itertools import takewhile

from vlang.records import dataclass
from vlang.runtime.plan.contract import Bound, Contract
from vlang.runtime.plan.page_words import (
    BLOCK,
    BLOCK_BATCHES,
    BLOCK_HIGH,
    BLOCK_LONG,
    BLOCK_LONG_END,
    BLOCK_LOW,
    BLOCK_MADE,
    BLOCK_MOST,
    BLOCK_ROWS,
    BLOCK_SENDERS,
    BLOCK_SINGLE,
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
    ROW_RECEIVERS,
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
    pointer_of,
)

__all__ = [
    "BLOCK", "BLOCK_BATCHES", "BLOCK_HIGH", "BLOCK_LONG", "BLOCK_LONG_END", "BLOCK_LOW", "BLOCK_MADE", "BLOCK_MOST",
    "BLOCK_ROWS", "BLOCK_SENDERS", "BLOCK_SINGLE", "BLOCK_WORDS", "FIRST_SLOT", "LANES", "NO_WATCH",
    "PAGE_COLUMNS", "PAGE_FIRST", "PAGE_OFFSETS", "PAGE_TARGETS", "PAGE_WORDS", "ROW_BEGIN", "ROW_BLOCKS",
    "ROW_COLUMNS", "ROW_END", "ROW_OFFSETS", "ROW_PLACES", "ROW_RECEIVERS", "ROW_REPLICAS", "ROW_SHARDS",
    "ROW_TARGETS", "ROW_WORDS", "RUN", "SEGMENT", "SLOT_FUSED", "SLOT_LIST", "SLOT_LISTED", "SLOT_LONGS",
    "SLOT_PAGES", "SLOT_SCRATCH",
    "SLOT_SEGMENTS", "SLOT_STATS", "THREADS", "ArraySpec", "Bound", "Contract", "CopySpec", "Fault", "FieldSpec",
    "Fold", "Fused", "ForRangeSpec", "ForVerticesSpec", "LoopSpec", "Part", "Plan", "PrioritySpec", "PushSpec",
    "ScalarSpec", "StageSpec", "StateSpec", "Step", "SumSpec", "SweepSpec", "Watch", "column_between", "every_step",
    "field_of", "level_slot", "pointer_of",
]


@dataclass(frozen=True)
class FieldSpec:
    """A vertex field.

    Attributes:
        name: the name of the field.
        dtype: the stored type.
        type: the type in the program.
        output: whether the field is a result of the program.
        required: whether the caller must pass the field.
        width: the number of consecutive array entries per vertex: k for a vector T[k], else 1.
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
        slot: the full name of its slot.
        dtype: the stored type.
        length: the elements of the array. "vertices", "segments:KIND" and "blocks": one per vertex, segment or block.
            "segments:pointing:FIELD": the largest number of segments that pointers can need.
            "set:S": one per member of S. "blocked": for each worker, one per row of a strip of cache blocks; allocated
            when a pass first runs by blocks. "pushed": one per vertex; allocated when a pass first pushes sums.
            "edges": one per stored edge, in the order of the in-edges.
            "later": one per vertex; allocated when a pass first sends messages for the pass after it. "one": a single
            element, for the whole graph.
        width: the number of consecutive entries per element.
        type: the type in the program; "" if the array is not part of the program.
        shape: the numbers of rows and columns of a matrix, which is stored column by column; None for others.
    """

    slot: str
    dtype: str
    length: str
    width: int = 1
    type: str = ""
    shape: tuple[int, int] | None = None


@dataclass(frozen=True)
class StateSpec:
    """An edge state. The values from before a pass are in the slot edges:NAME, the new ones in kept:NAME.

    Attributes:
        name: the name.
        dtype: the stored type.
        type: the type in the program.
    """

    name: str
    dtype: str
    type: str


@dataclass(frozen=True)
class Watch:
    """The names of the values that a run checks for infinities and NaN.

    Attributes:
        fields: vertex fields that are outputs.
        hidden: other vertex fields.
        globals: graph-level values that are outputs.
        lets: other graph-level values.
        undefined: outputs that are checked for NaN only.
        note: in trap mode, a vertex field of u32 with the number of the test that failed at a vertex, or 0.
        numbers: in trap mode, pairs of names of graph-level values. The first value is the number of the test that
            failed, or the largest u32. The second value is the vertex at which the test failed; its name is "" if no
            vertex is recorded.
    """

    fields: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    globals: frozenset[str] = frozenset()
    lets: frozenset[str] = frozenset()
    undefined: frozenset[str] = frozenset()
    note: str = ""
    numbers: tuple[tuple[str, str], ...] = ()

    @property
    def infinities(self) -> bool:
        """Whether any value is checked for infinities."""
        return bool(self.fields or self.hidden or self.globals or self.lets)


NO_WATCH = Watch()


def column_between(slot: str) -> tuple[str, str, str] | None:
    """The direction, the stored type and the edge column of a slot `near:WAY:T:C`; None for other slots."""
    kind, *rest = slot.split(":", 3)
    return (rest[0], rest[1], rest[2]) if kind == "near" and len(rest) == 3 else None


def field_of(slot: str) -> str | None:
    """The field whose present or past values are in a slot; None if the slot belongs to no field."""
    kind, _, name = slot.partition(":")
    return name if kind.rstrip("0123456789") in ("field", "next", "start", "sent") else None


@dataclass(frozen=True)
class Fault:
    """The array or scalar in which kernels record that a declared reduction overflowed its type, which ends the run.

    Attributes:
        name: the slot of the array, or the name of the scalar. A value other than 0 records the fault.
        line: the line of the statement in the program.
        vertices: True for an array with an entry per vertex, False for a scalar.
    """

    name: str
    line: int
    vertices: bool


@dataclass(frozen=True)
class Plan:
    """A program ready to run on one target.

    Attributes:
        name: the name of the program.
        text: the source code of its kernels.
        exports: kernel name -> signature.
        slots: slot name -> index in the frame.
        scalars: name -> type name ("f32", "u8", ...).
        fields: the vertex fields.
        arrays: the other arrays.
        steps: the steps in the order of the run. A contract is a step, too, and is checked at its position.
        globals: the graph-level results as (name, type name).
        defaults: the scalars for parameters that are not given, and for edge fields ("edge.NAME") that the graph does
            not have.
        faults: the arrays and scalars that record faults.
        vertices: the names of the scalars whose values are vertices.
        scattered: the slots of arrays over vertices in which kernels of passes and folds access entries of vertices
            other than the vertex being processed. All other arrays are accessed in the order of the vertices.
        far: slot -> line of the first far access, which is an access to a vertex that is neither the processed vertex
            nor one of its neighbours. The slot near:neighbours is included if kernels read whole neighbour lists.
        pointers: the fields along which passes gather -> line of the first such gather.
        states: the edge states.
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
    far: Mapping[str, int] = field(default_factory=dict)
    pointers: Mapping[str, int] = field(default_factory=dict)
    states: tuple[StateSpec, ...] = ()

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
    def layout(self) -> tuple[tuple[str, str, str, int], ...]:
        """The arrays that every run allocates: slot, stored type, length (see `ArraySpec`), entries per element."""
        fields, arrays = {one.name: one for one in self.fields}, {one.slot: one for one in self.arrays}
        found = []
        for slot in self.slots:
            name = field_of(slot)
            if name is not None:
                found.append((slot, fields[name].dtype, "vertices", fields[name].width))
            elif slot in arrays:
                found.append((slot, arrays[slot].dtype, arrays[slot].length, arrays[slot].width))
        return tuple(found)

    @cached_property
    def written_first(self) -> frozenset[str]:
        """The slots of fields that a run writes completely before it reads them, so that they need not be cleared.

        The passes before the first loop initialise some fields. The result has these fields, and the second buffers of
        all fields. A full pass writes the whole second buffer, and a pass over lists first copies the field to the
        second buffer.
        """
        passes = takewhile(lambda step: isinstance(step, StageSpec | ScalarSpec | Contract), self.steps)
        names = {name for step in passes if isinstance(step, StageSpec) for name in step.written}
        second = {slot for slot in self.slots if slot.startswith("next:")}
        return frozenset({*(f"field:{name}" for name in names), *second})

    @cached_property
    def checks(self) -> int:
        """The number of steps up to the last contract that is checked before the run."""
        return max((at + 1 for at, step in enumerate(self.steps)
                    if isinstance(step, Contract) and step.kind != "later"), default=0)

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The number in the history of each block whose rounds are counted, by id() of the block."""
        return {id(spec): number for number, spec in enumerate(self.counted)}

    @cached_property
    def values(self) -> tuple[ScalarSpec, ...]:
        """Every graph-level value that a step or a default computes."""
        found: list[ScalarSpec | None] = list(self.defaults.values())
        for step in every_step(self.steps):
            if isinstance(step, ScalarSpec):
                found.append(step)
            elif isinstance(step, LoopSpec):
                found += [step.limit, step.until]
            elif isinstance(step, ForRangeSpec):
                found += [step.low, step.high, step.until]
        return tuple(spec for spec in found if spec is not None)

"""Slots: the frame of a program, and the environment, whose values generated functions read from the frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field

from vlang.emit.shared.values import edge_states
from vlang.emit.shared.values.dialect import Dialect, Entry, runs_of, scalars_of, stored_as, width_of
from vlang.emit.shared.values.formulas import Unwritable, Writer
from vlang.emit.shared.values.wide import Element
from vlang.ir.forms import forms as f
from vlang.ir.forms.ranges import Ranges
from vlang.records import dataclass
from vlang.runtime.plan.plan import FIRST_SLOT, ArraySpec, Fault, level_slot
from vlang.types import I64, VERTEX, Scalar, Type, Vector

__all__ = ["Environment", "Frame", "Pair", "Scope", "Times", "parts_of_name"]


@dataclass
class Frame:
    """The slots of a program with their types, numbered in the order of their first use.

    Attributes:
        reductions: The reductions that the program declares, by name.
        shapes: The numbers of rows and columns of the parameters that are matrices.
        ranges: The ranges of the program's integers.
        faults: The slots that record where a declared reduction of integers overflowed its type.
        slots: The number of each slot.
        scalars: The stored type of each graph-level value.
        arrays: The arrays that are not fields.
        vertices: The graph-level values of type vertex.
        renumbered: Whether the index of a vertex differs from its number, because the graph stores vertices in another
            order.
        scattered: The arrays over vertices that some function reads or writes at a vertex other than its own vertex.
        far: The arrays that some function reads at a vertex that is neither its own vertex nor a neighbour, and the
            arrays of whole neighbour lists. Each array is stored with the line of the first such access.
        pointers: The pointer fields along which passes gather, with the line of the first such gather.
    """

    reductions: Mapping[str, f.UserReduction] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    ranges: Ranges = field(default_factory=Ranges)
    faults: dict[str, Fault] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)
    scalars: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, ArraySpec] = field(default_factory=dict)
    vertices: set[str] = field(default_factory=set)
    renumbered: bool = False
    scattered: set[str] = field(default_factory=set)
    far: dict[str, int] = field(default_factory=dict)
    pointers: dict[str, int] = field(default_factory=dict)

    def slot(self, name: str) -> int:
        """The number of a slot."""
        return self.slots.setdefault(name, FIRST_SLOT + len(self.slots))

    def scalar(self, name: str, type_: Type) -> int:
        """The slot of a graph-level value; for a vertex set, the slot of its size."""
        self.scalars[name] = stored_as(type_)
        if type_ == VERTEX:
            self.vertices.add(name)
        return self.slot(f"scalar:{name}")

    def given(self, name: str, type_: Vector) -> str:
        """The name of the slot of a parameter that is a vector."""
        slot = f"given:{name}"
        self.arrays[slot] = ArraySpec(slot, stored_as(type_), "one", type_.size, str(type_), self.shapes.get(name))
        self.slot(slot)
        return slot

    def array(self, slot: str, dtype: str, length: str = "vertices", width: int = 1, type_: str = "") -> int:
        """The slot of an array that is not a field.

        Args:
            slot: The name of the slot.
            dtype: The stored type.
            length: The kind of object to which an entry belongs: "vertices", or another length of the plan.
            width: The number of entries for each vertex (or row).
            type_: The type of the value in the program; "" if it has none.
        """
        self.arrays[slot] = ArraySpec(slot, dtype, length, width, type_)
        return self.slot(slot)


def parts_of_name(name: str, type_: Type) -> list[tuple[str, Scalar]]:
    """The scalars of a graph-level value: NAME itself, or NAME.0, NAME.1, ... for components."""
    if isinstance(type_, Scalar):
        return [(name, type_)]
    return [(f"{name}.{number}", part) for number, part in enumerate(scalars_of(type_))]


@dataclass
class Environment:
    """The values that the functions of one pass read from the frame, once per launch.

    Attributes:
        frame: The slots of the program.
        dialect: The dialect of the target.
        entries: The values, in the order of first use.
        near: The arrays over vertices that the functions access at a neighbour.
    """

    frame: Frame
    dialect: Dialect
    entries: list[Entry] = field(default_factory=list)
    near: set[str] = field(default_factory=set)
    _texts: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def pointer(self, slot: str, dtype: str) -> str:
        """Code of a pointer to an array of `dtype`."""
        return self._entry("pointer", dtype, slot)

    def scalar(self, name: str, type_: Scalar) -> str:
        """Code of a graph-level scalar."""
        self.frame.scalar(name, type_)
        return self.dialect.load(type_, self._entry("value", stored_as(type_), f"scalar:{name}"))

    def array(self, slot: str, type_: Type, length: str = "vertices") -> list[str]:
        """Code of the pointers to the arrays SLOT.0, SLOT.1, ..., which hold components of values (see `runs_of`)."""
        pointers = []
        for number, run in enumerate(runs_of(type_)):
            self.frame.array(f"{slot}.{number}", stored_as(run.type), length, run.width, str(run.type))
            pointers.append(self.pointer(f"{slot}.{number}", stored_as(run.type)))
        return pointers

    def places(self, pointers: list[str], type_: Type, index: str) -> list[str]:
        """Code of the array elements that hold the components of one value in the arrays of `array`."""
        return [self.dialect.element(pointer, index, run.width, part)
                for pointer, run in zip(pointers, runs_of(type_)) for part in range(run.width)]

    def visit(self, slot: str, index: str, line: int = 0) -> None:
        """Record that an array over vertices is accessed at an index.

        Args:
            slot: The slot of the array.
            index: "v" for the vertex of the function, "u" for a neighbour, any other text for an arbitrary vertex.
            line: The line of the access in the program, 0 if it is not known.
        """
        if index != "v":
            self.frame.scattered.add(slot)
        if index == "u":
            self.near.add(slot)
        elif index != "v":
            self.frame.far.setdefault(slot, line)

    @property
    def arrays(self) -> tuple[str, ...]:
        """The slots of all arrays that the functions access, in the order of first use."""
        return tuple(dict.fromkeys(slot for kind, _, slot in self._texts if kind == "pointer"))

    def members(self, name: str) -> tuple[str, str, str, str]:
        """Code for a set of vertices.

        Returns: Pointers to the vertices of the set, to the sorted vertices, and to the positions of the sorted
            vertices in the set; and the size of the set.
        """
        self.frame.scalar(name, I64)
        kinds = ("set", "sorted", "places")
        for kind in kinds:
            self.frame.array(f"{kind}:{name}", "u32", f"set:{name}")
        given, ordered, places = (self.pointer(f"{kind}:{name}", "u32") for kind in kinds)
        return given, ordered, places, self.scalar(name, I64)

    def given(self, name: str, type_: Vector) -> tuple[str, ...]:
        """Code of the components of a vector parameter, or of the rows of a matrix parameter."""
        pointer = self.given_pointer(name, type_)
        if name in self.frame.shapes:  # stored column by column
            rows, columns = self.frame.shapes[name]
            return tuple(f"{pointer}[{column * rows + row}]" for row in range(rows) for column in range(columns))
        return tuple(Element(f"{pointer}[{k}]", pointer, "0", k) for k in range(type_.size))

    def given_pointer(self, name: str, type_: Vector) -> str:
        """Code of a pointer to the components of a parameter that is a vector or a matrix."""
        return self.pointer(self.frame.given(name, type_), stored_as(type_))

    def numbers(self) -> tuple[str, str, str]:
        """Code for the vertex ids of the caller: a pointer to the list of ids, whether it exists, and the least id."""
        listed, base = (self._entry("value", "u64", slot) for slot in ("ids:listed", "ids:base"))
        return self.pointer("ids:list", "u64"), listed, base

    def _entry(self, kind: str, dtype: str, slot: str) -> str:
        key = kind, dtype, slot
        if key not in self._texts:
            name, taken = re.sub(r"[^A-Za-z0-9_]", "_", slot), {entry.name for entry in self.entries}
            while name in taken:  # default `edge.w` of an edge field and parameter `edge_w` collide
                name += "_"
            self._texts[key] = self.dialect.entry(len(self.entries), name)
            self.entries.append(Entry(kind, dtype, name, self.frame.slot(slot)))
        return self._texts[key]


@dataclass(frozen=True)
class Times:
    """The arrays that hold the past values of fields.

    Attributes:
        previous: The slot kind of `old(f)`: "field" before a pass, "next" after the pass.
        starts: The fields with a copy from the start of the superstep. The copy is used instead of `previous`.
        sent: The fields with an array of the values last sent (slot kind "sent").
        level: The level of the loop to which these copies belong.
    """

    previous: str = "field"
    starts: frozenset[str] = frozenset()
    sent: frozenset[str] = frozenset()
    level: int = 0

    def own(self, kind: str) -> str:
        """The slot kind of an array of the loop: "start", "sent" or "work", together with the loop's level."""
        return level_slot(kind, "", self.level)[:-1]


@dataclass(frozen=True)
class Pair:
    """The names of variables in a loop over the common neighbours of self and a neighbour.

    Attributes:
        vertex: The index of the common neighbour.
        mine: The position of the common neighbour in the neighbour list of self.
        theirs: The position of the common neighbour in the neighbour list of the neighbour.
    """

    vertex: str
    mine: str
    theirs: str


@dataclass
class Scope:
    """A `Place` that says how the function being written reads the names of an expression.

    Attributes:
        env: The environment of the pass.
        here: The index of self.
        there: The index of the neighbour.
        edge_index: The index of the edge.
        locals: The names of the components of values computed in this function (written fields, accumulators, masks).
        times: Which arrays hold past values.
        columns: The edge columns of the pass; other edge fields are scalars.
        values: The names of the components of expressions that are computed elsewhere (messages, reductions, changes).
        sends: Whether the function writes the messages of the neighbour before the sent values are updated.
        at_edge: Whether the function is called for every edge.
        present: The stored types of the edge columns that the graph has.
        pair: The loop over common neighbours that is being written; None outside of such a loop.
        inner: Writes a reduction over common neighbours; None in a function that may not contain such a reduction.
    """

    env: Environment
    here: str = "v"
    there: str = "u"
    edge_index: str = "k"
    locals: dict[str, tuple[str, ...]] = field(default_factory=dict)
    times: Times = Times()
    columns: tuple[str, ...] = ()
    values: dict[f.Expr, tuple[str, ...]] = field(default_factory=dict)
    sends: bool = False
    at_edge: bool = False
    present: Mapping[str, str] = field(default_factory=dict)
    pair: Pair | None = None
    inner: Callable[[Writer, f.Reduce], tuple[str, ...]] | None = None

    def given(self, expr: f.Expr) -> tuple[str, ...] | None:
        return self.values.get(expr)

    def reduction(self, name: str) -> f.UserReduction:
        return self.env.frame.reductions[name]

    def ranges(self) -> Ranges:
        return self.env.frame.ranges

    def may_leave(self) -> bool:
        return not self.sends and not self.at_edge

    def field(self, expr: f.Field, of: str | None) -> tuple[str, ...]:
        index = of or (self.there if expr.of == "other" else self.here)
        if expr.time == "old":
            return self.read(expr, self._old_slot(expr.name), index)
        if of is None and expr.of == "self" and expr.name in self.locals:
            return self.locals[expr.name]
        return self.read(expr, "field", index)

    def last_sent(self, expr: f.Field) -> tuple[str, ...]:
        if expr.of != "self" and not self.sends:
            raise Unwritable("`change` of a neighbour here")
        kind = self.times.own("sent") if expr.name in self.times.sent else self._old_slot(expr.name)
        return self.read(expr, kind, self.here if expr.of == "self" else self.there)

    def old(self, expr: f.Field) -> tuple[str, ...]:
        """Code of a field's value at the start of the superstep."""
        return self.read(expr, self._old_slot(expr.name), self.here)

    def _old_slot(self, name: str) -> str:
        return self.times.own("start") if name in self.times.starts else self.times.previous

    def read(self, expr: f.Field, kind: str, index: str) -> tuple[str, ...]:
        """Code that reads a field from its array of slot kind `kind`."""
        return tuple(self.env.dialect.load(part, place)
                     for part, place in zip(scalars_of(expr.type), self.places(expr, kind, index)))

    def places(self, expr: f.Field, kind: str, index: str) -> tuple[str, ...]:
        """Code of the array elements that hold a field's components, in the field's array of slot kind `kind`."""
        self.env.visit(f"{kind}:{expr.name}", index, _line(expr))
        pointer, width = self.env.pointer(f"{kind}:{expr.name}", stored_as(expr.type)), width_of(expr.type)
        return tuple(self.env.dialect.element(pointer, index, width, part) for part in range(width))

    def degree(self, expr: f.Degree, of: str | None) -> str:
        index = of or (self.here if expr.of == "self" else self.there)
        self.env.visit(f"degree:{expr.kind}", index, _line(expr))
        return self.env.dialect.convert(expr.type, f"{self.env.pointer(f'degree:{expr.kind}', 'u32')}[{index}]")

    def edge(self, expr: f.EdgeValue) -> str:
        assert isinstance(expr.type, Scalar)
        if expr.name in self.columns:
            column = self.env.dialect.column(self.columns.index(expr.name), expr.name)
            return self.env.dialect.load(expr.type, f"{column}[{self.edge_index}]")
        return self.env.scalar(f"edge.{expr.name}", expr.type)

    def state(self, expr: f.EdgeState) -> str:
        return edge_states.state(self, expr)

    def kept(self, expr: f.Keep) -> str:
        return edge_states.kept(self, expr)

    def vertex(self, expr: f.Vertex) -> str:
        index = self.third() if expr == f.THIRD else self.here if expr.of == "self" else self.there
        return f"{self.env.pointer('ids:dense', 'u32')}[{index}]" if self.env.frame.renumbered else f"u32({index})"

    def index(self, number: str) -> str:
        return f"{self.env.pointer('ids:internal', 'u32')}[{number}]" if self.env.frame.renumbered else number

    def graph(self, expr: f.GraphValue) -> tuple[str, ...]:
        if expr.kind == "parameter" and isinstance(expr.type, Vector):
            places = self.env.given(expr.name, expr.type)
            return tuple(self.env.dialect.load(expr.type.item, place) for place in places)
        return tuple(self.env.scalar(name, part) for name, part in parts_of_name(expr.name, expr.type))

    def matrix(self, expr: f.GraphValue, shape: tuple[int, int]) -> str | None:
        if self.env.frame.shapes.get(expr.name) != shape or not isinstance(expr.type, Vector):
            return None
        return self.env.given_pointer(expr.name, expr.type)

    def members(self, expr: f.GraphValue) -> tuple[str, str, str, str]:
        return self.env.members(expr.name)

    def neighbours(self, expr: f.Expr) -> tuple[str, str]:
        self.env.frame.far.setdefault("near:neighbours", _line(expr))
        return self.env.pointer("near:starts", "u64"), self.env.pointer("near:neighbours", "u32")

    def third(self) -> str:
        assert self.pair is not None
        return self.pair.vertex

    def between(self, writer: Writer, expr: f.Op) -> str | None:
        name, (tail, tip) = str(expr.data), (arg.of for arg in expr.args if isinstance(arg, f.Vertex))
        if self.inner is None:
            raise Unwritable(f"`{name or 'edges'}` between two vertices here", expr.span)
        if name and name not in self.present:
            return None
        starts, targets = self.neighbours(expr)
        if f.THIRD not in expr.args:
            way = "out" if tail == "self" else "in"
            place = writer.name(f"entry_of({starts}, {targets}, {self.here}, {self.there})")
        else:
            assert self.pair is not None
            way, end = ("out", tail) if tip == "third" else ("in", tip)
            place = f"{self.pair.mine if end == 'self' else self.pair.theirs} + 1"
        dtype = self.present[name] if name else "u32"
        return self.env.dialect.load(expr.type, f"{self.env.pointer(f'near:{way}:{dtype}:{name}', dtype)}[{place}]")

    def reduced(self, writer: Writer, expr: f.Reduce) -> tuple[str, ...]:
        if self.inner is None or expr.domain.kind != "common":
            raise Unwritable("a reduction over common neighbours here", expr.span)
        return self.inner(writer, expr)

    def numbers(self) -> tuple[str, str, str]:
        return self.env.numbers()

    def accumulator(self, expr: f.Accumulator) -> tuple[str, ...]:
        known = self.locals.get(expr.name)
        return self.stored(expr.name, expr.type) if known is None else known

    def stored(self, name: str, type_: Type) -> tuple[str, ...]:
        """Code that reads an accumulator or mask that an earlier pass stored."""
        pointers = self.env.array(f"work:{name}", type_)
        for number in range(len(pointers)):
            self.env.visit(f"work:{name}.{number}", self.here)
        places = self.env.places(pointers, type_, self.here)
        return tuple(self.env.dialect.load(part, place) for part, place in zip(scalars_of(type_), places))


def _line(expr: f.Expr) -> int:
    """Return the line of an expression in the program; 0 if the expression has no place in the text."""
    return 0 if expr.span is None else expr.span.line

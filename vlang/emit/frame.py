"""Names to slots: the frame of a program, and the environment that each generated function unpacks from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from vlang.emit.dialect import Dialect, Entry, stored_as
from vlang.emit.expressions import Unwritable
from vlang.ir import forms as f
from vlang.runtime.kernelset import FIRST_SLOT, ArraySpec
from vlang.types import Scalar, Type

__all__ = ["Environment", "Frame", "Scope", "Times"]


@dataclass
class Frame:
    """The slots of a program, numbered as they are first named, and the types behind them."""

    slots: dict[str, int] = field(default_factory=dict)
    scalars: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, ArraySpec] = field(default_factory=dict)

    def slot(self, name: str) -> int:
        """The number of a slot."""
        return self.slots.setdefault(name, FIRST_SLOT + len(self.slots))

    def scalar(self, name: str, type_: Type) -> int:
        """The slot of a graph-level value."""
        self.scalars[name] = stored_as(type_)
        return self.slot(f"scalar:{name}")

    def array(self, slot: str, dtype: str, length: str = "vertices") -> int:
        """The slot of an array that is no field."""
        self.arrays[slot] = ArraySpec(slot, dtype, length)
        return self.slot(slot)


@dataclass
class Environment:
    """What the functions of one pass read from the frame, unpacked once a launch, in the order of first use."""

    frame: Frame
    dialect: Dialect
    entries: dict[Entry, str] = field(default_factory=dict)

    def pointer(self, slot: str, dtype: str) -> str:
        """The text of a pointer to an array of `dtype`."""
        return self._entry(Entry("pointer", dtype, slot, self.frame.slot(slot)))

    def scalar(self, name: str, type_: Type) -> str:
        """The text of a graph-level value."""
        number = self.frame.scalar(name, type_)
        return self.dialect.load(type_, self._entry(Entry("value", stored_as(type_), f"scalar:{name}", number)))

    def _entry(self, entry: Entry) -> str:
        known = self.entries.get(entry)
        if known is None:
            known = self.entries[entry] = self.dialect.entry(len(self.entries), entry.name)
        return known


@dataclass(frozen=True)
class Times:
    """Where past values of fields lie.

    previous: the slot kind of `old(f)` ("field" before a pass, "next" after it); starts: fields with a copy from the
    start of the superstep instead. told: fields with a told array.
    """

    previous: str = "field"
    starts: frozenset[str] = frozenset()
    told: frozenset[str] = frozenset()


@dataclass
class Scope:
    """Where the names of an expression live, for the function being written (a `Place`).

    here, there, edge: the index of self, of the neighbour, of the edge. locals: what is already computed here:
    fields written, accumulators, masks, changes ("change f"). times: where past values lie. columns: the edge columns
    at hand; other edge fields are scalars. values: expressions with a value of their own (messages, reductions).
    """

    env: Environment
    here: str = "v"
    there: str = "u"
    edge_index: str = "k"
    locals: dict[str, tuple[str, ...]] = field(default_factory=dict)
    times: Times = Times()
    columns: tuple[str, ...] = ()
    values: dict[f.Expr, tuple[str, ...]] = field(default_factory=dict)

    def given(self, expr: f.Expr) -> tuple[str, ...] | None:
        return self.values.get(expr)

    def field(self, expr: f.Field) -> str:
        if isinstance(expr.of, f.Expr):
            raise Unwritable("a field of a vertex-valued field")
        if expr.of == "other":
            if expr.time == "change":
                raise Unwritable("`change` of a neighbour")
            return self.read(expr, "field" if expr.time == "now" else self._old_slot(expr.name), self.there)
        if expr.time == "now" and expr.name in self.locals:
            return self.locals[expr.name][0]
        if expr.time == "now":
            return self.read(expr, "field", self.here)
        if expr.time == "change":
            return self._change(expr)
        return self.old(expr)

    def old(self, expr: f.Field) -> str:
        """The text of a field's value at the start of the superstep."""
        return self.read(expr, self._old_slot(expr.name), self.here)

    def _old_slot(self, name: str) -> str:
        return "start" if name in self.times.starts else self.times.previous

    def _change(self, expr: f.Field) -> str:
        known = self.locals.get(f"change {expr.name}")
        if known is not None:
            return known[0]
        now = self.read(expr, "field", self.here)
        kind = "told" if expr.name in self.times.told else self._old_slot(expr.name)
        return self.env.dialect.arithmetic("-", expr.type, now, self.read(expr, kind, self.here))

    def read(self, expr: f.Field, kind: str, index: str) -> str:
        """The text that reads a field from the array of a kind."""
        if not isinstance(expr.type, Scalar):
            raise Unwritable("a vector")
        pointer = self.env.pointer(f"{kind}:{expr.name}", stored_as(expr.type))
        return self.env.dialect.load(expr.type, f"{pointer}[{index}]")

    def degree(self, expr: f.Degree) -> str:
        if isinstance(expr.of, f.Expr):
            raise Unwritable("a field of a vertex-valued field")
        index = self.here if expr.of == "self" else self.there
        return self.env.dialect.convert(expr.type, f"{self.env.pointer(f'degree:{expr.kind}', 'u32')}[{index}]")

    def edge(self, expr: f.EdgeValue) -> str:
        if expr.name in self.columns:
            column = self.env.dialect.column(self.columns.index(expr.name), expr.name)
            return self.env.dialect.load(expr.type, f"{column}[{self.edge_index}]")
        return self.env.scalar(f"edge.{expr.name}", expr.type)

    def vertex(self, expr: f.Vertex) -> str:
        return f"u32({self.here if expr.of == 'self' else self.there})"

    def graph(self, expr: f.GraphValue) -> str:
        return self.env.scalar(expr.name, expr.type)

    def accumulator(self, expr: f.Accumulator) -> tuple[str, ...]:
        known = self.locals.get(expr.name)
        if known is not None:
            return known
        types = (expr.type,) if isinstance(expr.type, Scalar) else getattr(expr.type, "items", None)
        if types is None:
            raise Unwritable("a vector")
        return tuple(self.stored(expr.name, number, type_) for number, type_ in enumerate(types))

    def stored(self, name: str, number: int, type_: Scalar) -> str:
        """The text that reads an accumulator or mask that an earlier pass stored."""
        slot = f"work:{name}.{number}"
        self.env.frame.array(slot, stored_as(type_))
        return self.env.dialect.load(type_, f"{self.env.pointer(slot, stored_as(type_))}[{self.here}]")

"""The functions of one stage: the work of a vertex before, during and after its gathers, for any target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vlang.emit.shared.changes_sent import ACTIVE, changes_sent
from vlang.emit.shared.loop_spec import LoopPlan
from vlang.emit.shared.reductions.accumulate import Accumulation
from vlang.emit.shared.reductions.holistic import accumulated, structures
from vlang.emit.shared.reductions.packed import merged, parts_of, stores
from vlang.emit.shared.reductions.pairs import intersected
from vlang.emit.shared.values.dialect import Dialect, Function, scalars_of, stored_as, width_of
from vlang.emit.shared.values.formulas import Writer, located
from vlang.emit.shared.values.frame import Environment, Frame, Scope, Times
from vlang.ir.forms import forms as f
from vlang.ir.stages import Mask, Stage, Write
from vlang.records import dataclass
from vlang.runtime.plan.derived import OPPOSITE
from vlang.runtime.plan.plan import Fault, pointer_of
from vlang.syntax.tree import Span
from vlang.types import BOOL, Type

__all__ = ["StageWriter"]


@dataclass
class StageWriter:
    """Writes one stage.

    Attributes:
        stage: The stage.
        frame: The slots of the program.
        types: The type of every field.
        present: The stored types of the edge columns that the graph has.
        plan: The loop of the stage, or None.
        messages: Expressions that are sent as messages, each with its number.
        ends: Whether the stage decides activity.
        dialect: The dialect of the target.
        two_buffers: Fields with a second buffer.
        given: Fields that the caller passes.
        without: Optimisations to leave out.
        fuses: Whether other work is fused into the pass, block by block.
    """

    stage: Stage
    frame: Frame
    types: dict[str, Type]
    present: Mapping[str, str]
    plan: LoopPlan | None
    messages: dict[f.Expr, int]
    ends: bool
    dialect: Dialect
    two_buffers: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    fuses: bool = False

    # Further attributes: `columns`, the edge columns that the pass reads; `stores`, the edge states that it writes;
    # `states`, whether it reads or writes any edge state.

    def __post_init__(self) -> None:
        self.env = Environment(self.frame, self.dialect)
        self.accumulations: list[Accumulation] = []
        self.changes_sent = changes_sent(self.stage, self.messages)
        for gather in self.stage.gathers:
            with located(gather.span):
                reduce = self.changes_sent.received(gather.reduce)
                self.accumulations.append(accumulated(reduce, self.frame.reductions, self.frame.ranges))
        for gather in self.stage.gathers:
            pointer = pointer_of(gather.reduce.over)
            if pointer:  # the engine reads this field of all vertices before the pass
                self.frame.scattered.add(f"field:{pointer}")
                self.frame.pointers.setdefault(pointer, gather.span.line)
        edge_names = [e.name for g in self.stage.gathers for e in f.walk(g.reduce) if isinstance(e, f.EdgeValue)]
        reads = [e for g in self.stage.gathers for e in f.walk(g.reduce) if isinstance(e, f.EdgeState)]
        edge_names += [OPPOSITE for e in reads if e.opposite]
        self.stores = tuple(g.keeps for g in self.stage.gathers if g.keeps)
        self.states = bool(reads or self.stores)
        self.columns = tuple(dict.fromkeys(n for n in edge_names if n in self.present))
        self.masks = 0

    @property
    def structures(self) -> tuple[str, ...]:
        """The structures that a worker fills for each vertex; empty if no gather is holistic (rule R)."""
        return structures(self.accumulations)

    def scope(self, there: str = "u", values: dict[f.Expr, tuple[str, ...]] | None = None) -> Scope:
        """A scope for one function.

        Args:
            there: code of the index of the neighbour.
            values: expressions computed elsewhere.
        """
        plan = self.plan
        times = Times(starts=plan.starts, sent=plan.sent, level=plan.loop.level) if plan else Times()
        return Scope(self.env, there=there, times=times, columns=self.columns, values=values or {})

    def writer(self, scope: Scope) -> Writer:
        """A writer for one function."""
        return Writer(scope, self.dialect)

    # ------------------------------------------------------------------ functions
    def ready(self) -> list[Function]:
        """Return the functions `ready`, which computes the masks that gathers need, and `wanted`, which tests whether
        the gathers run.
        """
        scope = self.scope()
        writer = self.writer(scope)
        names = []
        for mask in self.stage.before:
            self.mask(writer, scope, mask)
            names.append(scope.locals[mask.name][0])
        guard = self.stage.guard
        early = [mask.name for mask in self.stage.before]
        if guard is None:
            test = self.dialect.true
        elif guard in early:
            test = self.dialect.part("masks", early.index(guard))
        else:  # an earlier pass stored the mask: `ready` returns it as its last item
            names.append(writer.name(scope.accumulator(f.Accumulator(BOOL, guard))[0]))
            test = self.dialect.part("masks", len(names) - 1)
        self.masks = len(names)
        return [Function("ready", tuple(writer.lines), self.dialect.pack("Masks", names)),
                Function("wanted", (), test)]

    def mask(self, writer: Writer, scope: Scope, mask: Mask) -> None:
        """Write the computation of a mask into the current function."""
        with located(mask.span):
            name = writer.value(mask.cond)
        self._left(writer, mask.span)
        if mask.guard is not None:
            outer = writer.value(f.Accumulator(BOOL, mask.guard))
            name = writer.name(self.dialect.both(outer, name))
        scope.locals[mask.name] = (name,)

    def identity(self) -> Function:
        """Return the function `identity`, which returns the accumulators before any contribution."""
        writer = self.writer(self.scope())
        items = [text for a in self.accumulations for text in a.identity(writer)]
        return Function("identity", tuple(writer.lines), self.dialect.pack("Acc", items))

    def contributing(self) -> Writer:
        """Return a writer for a function at an edge. The function reads messages and does not compute them."""
        values: dict[f.Expr, tuple[str, ...]] = {
            expr: tuple(self.dialect.load(t, place)
                        for t, place in zip(scalars_of(expr.type), self._message(number, expr, "u")))
            for expr, number in self.messages.items()
        }
        if self.changes_sent.flagged:
            self.env.visit(f"work:sent.{self.stage.name}", "u")
            values[ACTIVE] = (f"{self._sent()}[u] != 0",)
        scope = self.scope(values=values)
        scope.at_edge, scope.inner, scope.present = True, intersected, self.present
        return self.writer(scope)

    def _sent(self) -> str:
        """Code of a pointer to flags that say for each vertex whether its changes may be read."""
        slot = f"work:sent.{self.stage.name}"
        self.frame.array(slot, "u8")
        return self.env.pointer(slot, "u8")

    def merge(self) -> Function:
        """Return the function `merge`, which joins two accumulators."""
        return merged(self.writer(self.scope()), self.accumulations)

    def _message(self, number: int, expr: f.Expr, index: str) -> list[str]:
        """Return code of the array elements (one per component) that hold a message of vertex `index`."""
        slot, dtype, width = f"work:{self._named(number)}", stored_as(expr.type), width_of(expr.type)
        self.frame.array(slot, dtype, width=width)
        self.env.visit(slot, index)
        pointer = self.env.pointer(slot, dtype)
        return [self.dialect.element(pointer, index, width, part) for part in range(width)]

    def _named(self, number: int) -> str:
        return f"message.{self.stage.name}.{number}"

    def messages_to_come(self) -> tuple[str, ...]:
        """Return the slots of the arrays that hold the messages of the next pass: "later:NAME" for "work:NAME"."""
        slots = []
        for expr, number in self.messages.items():
            slots.append(f"later:{self._named(number)}")
            self.frame.array(slots[-1], stored_as(expr.type), "later", width_of(expr.type))
        return tuple(slots)

    def send(self) -> Function:
        """Return the function `send`, which computes the messages of a vertex. The expressions refer to this vertex as
        the neighbour.
        """
        d, scope = self.dialect, self.scope(there="v")
        scope.sends = True
        writer = self.writer(scope)
        lines = []
        if self.changes_sent:
            active = writer.name(f"{self._active(scope)}[v] != 0")
        if self.changes_sent.flagged:
            lines.append(d.assign(f"{self._sent()}[v]", d.store(BOOL, active)))
        for expr, number in self.messages.items():
            owner = next(g for g in self.stage.gathers if expr in f.walk(g.reduce))
            with located(owner.span):
                names = writer.items(expr)
            nothing = self.changes_sent.nothing.get(expr)
            if nothing is not None:  # changes of an inactive vertex are not read
                types = scalars_of(expr.type)
                names = writer.chosen(active, types, names, tuple(d.constant(nothing, t) for t in types))
            lines += self._stored(self._message(number, expr, "v"), expr.type, names)
        return Function("send", (*writer.lines, *lines), "")

    def apply(self) -> Function:
        """Return the function `apply`, which writes the fields of a vertex and returns flags: 1 for changed, 2 for
        active.
        """
        scope, d = self.scope(), self.dialect
        writer = self.writer(scope)
        for number, mask in enumerate(self.stage.before):
            scope.locals[mask.name] = (d.part("masks", number),)
        for gather, (accumulation, parts) in zip(self.stage.gathers, parts_of(d, self.accumulations, "acc")):
            with located(gather.span):
                scope.locals[gather.name] = accumulation.finish(writer, tuple(map(writer.name, parts)))
            self._left(writer, gather.span)
        for item in self.stage.after:
            if isinstance(item, Mask):
                self.mask(writer, scope, item)
            else:
                self._write(writer, scope, item)
        flags, sent = self._activity(writer, scope) if self.ends else (d.flags(()), [])
        if self.plan is not None and self.plan.skip:
            self._flag_readers(writer, scope, sent)
        lines = list(writer.lines)
        for name in self.stage.written:
            kind = "next" if name in self.two_buffers else "field"
            places = scope.places(f.Field(self.types[name], name, "self"), kind, "v")
            lines += self._stored(places, self.types[name], scope.locals[name])
        for name in sorted(self.stage.stored):
            type_ = self._type_of(name)
            kept = self.env.places(self.env.array(f"work:{name}", type_), type_, "v")
            lines += self._stored(kept, type_, scope.locals[name])
        return Function("apply", tuple(lines), flags)

    def _left(self, writer: Writer, span: Span, guard: str | None = None) -> None:
        """Write code which records that a declared reduction overflowed its type at a vertex.

        Args:
            guard: the mask of the statement.
        """
        if not writer.left:
            return
        d, slot = self.dialect, f"work:left.{span.line}.{span.column}"
        self.frame.array(slot, "u8")
        self.frame.faults[slot] = Fault(slot, span.line, True)
        bits = [d.either(*(f"({name})" for name in writer.left))]
        writer.left = []
        if guard is not None:
            bits.append(writer.value(f.Accumulator(BOOL, guard)))
        now = writer.name(d.store(BOOL, writer.name(d.both(*(f"({bit})" for bit in bits)))))
        place = f"{self.env.pointer(slot, 'u8')}[v]"
        writer.lines.append(d.assign(place, d.bits(place, now)))

    def _stored(self, places: Sequence[str], type_: Type, names: tuple[str, ...]) -> list[str]:
        """The lines that store the components of a value at `places`."""
        return stores(self.dialect, places, scalars_of(type_), names)

    def _write(self, writer: Writer, scope: Scope, item: Write) -> None:
        with located(item.span):
            names = writer.items(item.value)
        self._left(writer, item.span, item.guard)
        if item.guard is not None:
            test = writer.value(f.Accumulator(BOOL, item.guard))
            olds = [name for n in item.fields for name in writer.items(f.Field(self.types[n], n, "self"))]
            types = [t for n in item.fields for t in scalars_of(self.types[n])]
            names = writer.chosen(test, types, names, tuple(olds))
        writer.forget()
        if len(item.fields) == 1:
            scope.locals[item.fields[0]] = names
        else:
            scope.locals.update((field_name, (name,)) for field_name, name in zip(item.fields, names))

    def _type_of(self, name: str) -> Type:
        """The type of an accumulator or mask."""
        return next((gather.reduce.type for gather in self.stage.gathers if gather.name == name), BOOL)

    # ------------------------------------------------------------------- activity
    def _activity(self, writer: Writer, scope: Scope) -> tuple[str, list[str]]:
        """Write the end of a superstep for one vertex: compute the flags changed and active, and update the values last
        sent.

        Returns: The code of the flags. If neighbours read changes, also the names of two bools: whether the vertex is
            active, and whether it was active in the previous superstep.
        """
        assert self.plan is not None
        sent: list[str] = []
        differing: dict[str, str] = {}
        for name in self.plan.loop.applied:
            new = writer.items(f.Field(self.types[name], name, "self"))
            old = writer.names(scalars_of(self.types[name]), scope.old(f.Field(self.types[name], name, "self", "old")))
            differing[name] = writer.differ(self.types[name], new, old)
            if name in self.plan.sent:
                self._update_sent(writer, scope, name, new, old)
        changed = active = writer.name(self.dialect.either(*differing.values()) or self.dialect.false)
        activate = self.plan.loop.repeat.activate
        if self.plan.explicit:
            if activate is not None:
                with located(activate.span):
                    active = writer.value(activate.cond)
                self._left(writer, activate.span)
            if activate is not None and self.plan.loop.guard is not None:
                active = writer.name(self.dialect.both(writer.value(f.Accumulator(BOOL, self.plan.loop.guard)), active))
            place = f"{self._active(scope)}[v]"
            if any(reader.reads_changes for reader in self.plan.readers.values()):
                sent = [active, writer.name(f"{place} != 0")]
            writer.lines.append(self.dialect.assign(place, self.dialect.store(BOOL, active)))
        return self.dialect.flags((changed, active)), sent

    def _update_sent(self, writer: Writer, scope: Scope, name: str, new: tuple[str, ...], old: tuple[str, ...]) -> None:
        """Update the value last sent, which `change` reads. A vertex that was active has sent its old value."""
        now = f.Field(self.types[name], name, "self")
        kind = scope.times.own("sent")
        places = scope.places(now, kind, "v")
        was = writer.name(f"{self._active(scope)}[v] != 0")
        types = scalars_of(now.type)
        sent = writer.chosen(was, types, old, writer.names(types, scope.read(now, kind, "v")))
        writer.lines += self._stored(places, now.type, sent)
        parts = zip(scalars_of(now.type), new, sent)
        scope.values[replace(now, time="change")] = tuple(writer.difference(t, a, b) for t, a, b in parts)

    def _active(self, scope: Scope) -> str:
        """Code of a pointer to flags that say for each vertex whether it is active."""
        slot = f"{scope.times.own('work')}:active"
        self.frame.array(slot, "u8")
        return self.env.pointer(slot, "u8")

    def _flag_readers(self, writer: Writer, scope: Scope, sent: list[str]) -> None:
        """For each pass that reads values written by this pass, store flags: 1 for "must notify", 2 for "must run
        again".
        """
        assert self.plan is not None
        names = (*self.stage.written, *sorted(self.stage.stored))
        changes = {name: self._changed(writer, scope, name) for name in names}
        for reader, reads in self.plan.readers.items():
            notifying = [change for name, change in changes.items() if name in reads.notifying]
            notifying += sent if reads.reads_changes else []
            own = [change for name, change in changes.items() if name in reads.own]
            if not (notifying or own or reader == self.stage.name):
                continue
            slot = f"work:notify.{reader}"
            self.frame.array(slot, "u8")
            at = f"{self.env.pointer(slot, 'u8')}[v]"
            d = self.dialect
            bits = [f"({d.select(d.either(*names) or d.false, f'u8({bit})', 'u8(0)')})"
                    for bit, names in ((1, notifying), (2, own))]
            flag = writer.name(d.bits(*bits))
            writer.lines.append(d.assign(at, flag if reader == self.stage.name else d.bits(at, flag)))

    def _changed(self, writer: Writer, scope: Scope, name: str) -> str:
        """Return whether this pass changes a field, or changes an accumulator or mask that the pass stores."""
        if name in self.types:
            type_ = self.types[name]
            before = scope.read(f.Field(type_, name, "self"), "field", "v")
        else:
            type_ = self._type_of(name)
            before = scope.stored(name, type_)
        return writer.differ(type_, scope.locals[name], writer.names(scalars_of(type_), before))

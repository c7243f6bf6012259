"""Passes that push on a CPU: contributions are joined into words of the receiver by compare-and-swap.

The skeletons `push` and `few` call these functions. A superstep reads fields, joins contributions into separate words
(`packed_words`), and copies the words to the fields at the end. Therefore the values and active vertices after each
superstep are the same as in a pull, with any number of threads. Expressions that depend only on the sender, including
messages, are computed once per row (`sender_part`) and used for all edges of the row. `reach_text` handles uniform
frontiers.
"""

from __future__ import annotations

from collections.abc import Iterator

from vlang.emit.cpu.ways.packed_words import Words, words_of
from vlang.emit.cpu.ways.way_text import SPARSE, Added
from vlang.emit.shared.reductions.packed import parts_of
from vlang.emit.shared.sending import early_of, joined_writes, silent
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Dialect, Function, scalars_of
from vlang.emit.shared.values.formulas import located
from vlang.ir.forms import forms as f
from vlang.ir.rules.pass_rules import only_neighbour
from vlang.ir.stages import Mask, Write
from vlang.records import dataclass
from vlang.runtime.plan.plan import PushSpec
from vlang.types import BOOL, F16, F32, Scalar, Tuple, Vector

__all__ = ["PushText", "Pushing", "joining", "pushing", "sender_function", "sender_texts"]

Lines = tuple[str, ...]


@dataclass(frozen=True)
class Pushing:
    """How a stage may push, or the reason why it may not push.

    Attributes:
        reason: why the stage may not push; "" if it may.
        writes: the writes that join into fields.
        words: the packed words of several fields; None if the stage may not push.
        spec: data for the engine; None if the stage may not push.
        types: the types of the parts, in the order of the fields.
        uniform: whether the first active neighbour decides the new value (rule X2).
    """

    reason: str = ""
    writes: tuple[Write, ...] = ()
    words: Words | None = None
    spec: PushSpec | None = None
    types: tuple[Scalar, ...] = ()
    uniform: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that are written."""
        return tuple(name for write in self.writes for name in write.fields)


def pushing(writer: StageWriter) -> Pushing:
    """Return whether and how a stage may push."""
    writes, reason = joined_writes(writer)
    reason = reason or _not_words(writer, writes)
    if reason:
        return Pushing(reason)
    fields = tuple(name for write in writes for name in write.fields)
    types = tuple(t for name in fields for t in scalars_of(writer.types[name]))
    found = words_of(writer, fields, types)
    if found is None:
        return Pushing("what changes together takes more than 16 bytes, which no one instruction replaces")
    uniform = early_of(writer).kind == "frontier" and found[0].count == 0 and types[0] != F16
    return Pushing("", writes, *found, types, uniform)


def _not_words(writer: StageWriter, writes: tuple[Write, ...]) -> str:
    """Return the reason why gathered values cannot be stored in fields unchanged; "" if they can."""
    for write, accumulation in zip(writes, writer.accumulations):
        if accumulation.declared is not None:
            return f"`{accumulation.reduce.name}` is declared by the program, and may round"
        if isinstance(accumulation.reduce.body.type, Vector):
            return "the components of a vector change together: no one instruction joins them"
        types = tuple(t for name in write.fields for t in scalars_of(writer.types[name]))
        if not all(a == t or (a, t) == (F32, F16) for a, t in zip(accumulation.types, types, strict=True)):
            return "what is gathered is of another type than the field"
    return "" if len({write.guard for write in writes}) == 1 else "the writes stand under different `where`s"


class PushText:
    """Generates the code of loops that push into packed words."""

    name = "push"

    def write(self, writer: StageWriter) -> Added:
        """Return the functions for senders, receivers and the end of a superstep, and `selected` for a write in a
        `where`.
        """
        how = pushing(writer)
        if how.words is None or how.uniform:
            return Added(reason=how.reason)
        functions = (*sender_texts(writer), *_selected(writer, how), _join(writer, how), _join(writer, how, alone=True),
                     _carry(writer, how), _FRESH, silent(writer))
        paged = ("choose_front", "spread_rows", "spread_segments", "gather_up")
        return Added(how.spec, functions=functions, skeletons=("push", "few", "paged_push"),
                     roles=dict.fromkeys(("push", "begin", "few", *paged), SPARSE),
                     support=("words",) if how.words.count == 2 else ())


# --------------------------------------------------------------------------------------------------------- senders
def sender_texts(writer: StageWriter) -> list[Function]:
    """The functions `sender_part` and `receive`.

    `sender_part` computes the common part of all contributions of a vertex. `receive` adds one contribution of a vertex
    with this common part to the accumulators.
    """
    d = writer.dialect
    sender_part, values = sender_function(writer, "sender_part")
    edge = writer.writer(writer.scope(values=values))
    after: list[str] = []
    for gather, (accumulation, parts) in zip(writer.stage.gathers, parts_of(d, writer.accumulations, "acc")):
        with located(gather.span):
            after += accumulation.take(edge, parts)
    return [sender_part, Function("receive", tuple(edge.lines), d.pack("Acc", after))]


def sender_function(
    writer: StageWriter, name: str, known: dict[f.Expr, tuple[str, ...]] | None = None, before: Lines = (),
) -> tuple[Function, dict[f.Expr, tuple[str, ...]]]:
    """Return the function that computes the common part of all contributions of a vertex.

    Args:
        writer: the writer of the stage.
        name: the name of the function.
        known: the code of expressions that the lines `before` have read.
        before: the first lines of the function.

    Returns:
        The function and, for each expression that the function computes, the code that reads the expression at an edge.
    """
    d = writer.dialect
    sender = writer.writer(writer.scope(values=known))
    names: list[str] = []
    values: dict[f.Expr, tuple[str, ...]] = {}
    for expr, gather in _of_senders(writer).items():
        with located(gather.span):
            items = sender.items(expr)
        values[expr] = tuple(d.part("part", len(names) + i) for i in range(len(items)))
        names += items
    return Function(name, (*before, *sender.lines), d.pack("SenderPart", names)), values


def _of_senders(writer: StageWriter) -> dict[f.Expr, f.Gather]:
    """Return the largest expressions that depend only on the sender, and for each expression a gather that reads the
    expression.
    """
    found: dict[f.Expr, f.Gather] = {}
    for gather in writer.stage.gathers:
        for place in (gather.reduce.body, gather.reduce.cond):
            for expr in () if place is None else _of_sender(place):
                found.setdefault(expr, gather)
    return found


def _of_sender(expr: f.Expr) -> Iterator[f.Expr]:
    if only_neighbour(expr) and not isinstance(expr.type, Tuple):
        if any(isinstance(part, (f.Field, f.Degree)) for part in f.walk(expr)):
            yield expr
        return
    for child in f.children(expr):
        yield from _of_sender(child)


# ------------------------------------------------------------------------------------------------------- receivers
def joining(
    writer: StageWriter, how: Pushing, changed: tuple[str, ...], unchanged: str, alone: bool = False,
    received: str = "receive(env, columns, part, was, v, u, k)",
) -> Lines:
    """The lines that join the contribution of an edge into the words of the receiver.

    In these lines, `was` and `now` are the parts before and after the join. If another worker changed the words in the
    meantime, the lines are repeated.

    Args:
        writer: the writer of the stage.
        how: how the stage pushes.
        changed: the lines to run after a change.
        unchanged: the line to run if nothing changes.
        alone: whether no other worker writes, so that plain stores suffice.
        received: the code of the parts after the join.
    """
    d, words = writer.dialect, how.words
    assert words is not None
    parts = [(d.part("was", i), d.part("now", i), type_) for i, type_ in enumerate(how.types)]
    gathered = [t for accumulation in writer.accumulations for t in accumulation.types]
    operator = writer.accumulations[0].reduce.operator if len(parts) == 1 else None
    same = [_same(d, g != t, t, was, now, operator) for g, (was, now, t) in zip(gathered, parts)]
    rounded = [d.load(t, d.store(t, now)) if g != t else now for g, (_, now, t) in zip(gathered, parts)]
    lines = [
        *words.look("v"),
        d.named("was", d.pack("Acc", words.parts())),
        *_absorbed(writer, how, unchanged),
        d.named("now", received),
        *([d.named("now", d.pack("Acc", rounded))] if gathered != list(how.types) else []),
        f"if {d.conjunction(*same)}{' or not selected(env, v)' if _masks(writer, how) else ''}:",
        f"    {unchanged}",
        *(d.named(name, text) for name, text in zip(("new", "newer"), words.put_together([n for _, n, _ in parts]))),
    ]
    if alone:
        return (*lines, *words.stored("v"), *changed)
    lines += [f"if {words.replaced('v')}:", *(f"    {line}" for line in changed)]
    return ("while True:", *(f"    {line}" for line in lines))


def _same(d: Dialect, rounded: bool, type_: Scalar, was: str, now: str, operator: str | None) -> str:
    """Return code that tests that a part has not changed. For min and max of numbers, the test is a single comparison.

    Args:
        d: the dialect.
        rounded: whether the value is rounded when stored. Rounded values are compared in stored form, because rounding
            may give a zero of the other sign, which a pull would store.
        type_: the type of the part.
        was: the code of the part before the join.
        now: the code of the part after the join.
        operator: the operator of the reduction, if it joins only one part; otherwise None.
    """
    if rounded:
        return f"{d.store(type_, was)} == {d.store(type_, now)}"
    if operator in ("min", "max") and (type_.integral or type_.floating):
        return f"not {now} {'<' if operator == 'min' else '>'} {was}"
    return f"({now} == {was} or {was} != {was})" if type_.floating else f"{now} == {was}"


def _absorbed(writer: StageWriter, how: Pushing, unchanged: str) -> Lines:
    """Return lines that skip a receiver with a final bool before other fields of the receiver are read (rule X1)."""
    operators = [accumulation.reduce.operator for accumulation in writer.accumulations]
    if how.types != (BOOL,) or "early" in writer.without:
        return ()
    was = writer.dialect.part("was", 0)
    return f"if {was if operators == ['or'] else writer.dialect.negation(was)}:", f"    {unchanged}"


def _join(writer: StageWriter, how: Pushing, alone: bool = False) -> Function:
    """Return the function `join` or `join_alone`, which returns whether the contribution of an edge changed the
    receiver.
    """
    lines = joining(writer, how, ("return True",), "return False", alone)
    return Function("join_alone" if alone else "join", lines, "")


def _masks(writer: StageWriter, how: Pushing) -> tuple[str, ...]:
    """Return the masks that must be true at a vertex that receives contributions."""
    masks = (writer.stage.guard, *(write.guard for write in how.writes))
    return tuple(dict.fromkeys(mask for mask in masks if mask is not None))


def _selected(writer: StageWriter, how: Pushing) -> list[Function]:
    """Return the function `selected`, which tests the `where`s around the write at a vertex; empty if there is no
    `where`.
    """
    masks = _masks(writer, how)
    if not masks:
        return []
    scope = writer.scope()
    text = writer.writer(scope)
    for item in (*writer.stage.before, *writer.stage.after):
        if isinstance(item, Mask):
            writer.mask(text, scope, item)
    names = [text.name(scope.accumulator(f.Accumulator(BOOL, mask))[0]) for mask in masks]
    return [Function("selected", tuple(text.lines), writer.dialect.both(*names))]


def _carry(writer: StageWriter, how: Pushing) -> Function:
    """Return the function `carry`, which copies the words of a vertex to its fields and clears its bit at the end of a
    superstep.
    """
    assert how.words is not None
    d, scope = writer.dialect, writer.scope()
    lines = how.words.look("v")
    for name, type_, text in zip(how.fields, how.types, how.words.parts()):
        (place,) = scope.places(f.Field(type_, name, "self"), "field", "v")
        lines.append(d.assign(place, d.store(type_, text)))
    return Function("carry", (*lines, "bits[v >> 6] = u64(0)"), "")


# The function `fresh`: whether a vertex is found for the first time in a superstep.
_FRESH = Function("fresh", (
    "bit = u64(1) << u64(v & 63)",
    "if bits[v >> 6] & bit:",
    "    return False",
), "fetch_or(bits, v >> 6, bit) & bit == u64(0)")

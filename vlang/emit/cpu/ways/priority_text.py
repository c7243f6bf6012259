"""Loops in priority order on a CPU (rule O): the functions for contributions of edges and priorities of vertices.

The skeleton `priority` calls these functions. Values are joined into the field in place by compare-and-swap, after a
read shows that a value changes. Under rule A every order ends in the same state.
"""

from __future__ import annotations

from vlang.emit.cpu.ways.push_text import Pushing, joining, pushing, sender_function
from vlang.emit.cpu.ways.way_text import CREW, Added
from vlang.emit.shared.sending import early_of, joined_writes
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Function
from vlang.ir.forms import forms as f
from vlang.reductions import identity
from vlang.runtime.plan.plan import PrioritySpec
from vlang.types import BOOL, VERTEX, Scalar

__all__ = ["PriorityText"]


class PriorityText:
    """Generates the code of loops in priority order."""

    name = "priority"

    def write(self, writer: StageWriter) -> Added:
        """Return the functions `along`, `accept`, `offer`, `joined_part` and `rank`, and functions that prefetch.

        The function `silent` is shared with passes that push. If contributions are joined into the field itself,
        `joined_part` is another name of `sender_part`.
        """
        how = pushing(writer)
        reason = _refused(writer, how)
        if reason:
            return Added(reason=reason)
        assert how.words is not None
        (gather,), name = writer.stage.gathers, writer.stage.name
        log = any(isinstance(e, f.Op) and e.op == "mul" for e in f.walk(_first(gather.reduce.body)))
        low = gather.reduce.name == "min"
        apart = how.words.count > 0
        functions = (*_received(writer, gather), _offer(writer, how, low, log),
                     *(_joined_part(writer, how) if apart else ()), _rank(writer, how, low, log), *_near(writer, how))
        spec = PrioritySpec(log, writer.columns, low, how.fields[0],
                            bool(_packed(writer, gather)) and "pack" not in writer.without,
                            "refine" not in writer.without)
        return Added(spec, functions=functions, texts=() if apart else (f"joined_part_{name} = sender_part_{name}\n",),
                     skeletons=("priority",), roles={"priority": CREW}, support=("meeting", "buckets"))


def _refused(writer: StageWriter, how: Pushing) -> str:
    """Return the reason why a loop cannot run in priority order; "" if it can."""
    plan = writer.plan
    writes, reason = joined_writes(writer)
    if plan is None or reason:
        return reason
    facts = plan.facts.loop(plan.loop.repeat)
    if not facts.priority.granted or "final" not in facts.priority.marks:
        return facts.priority.reason
    if early_of(writer).kind == "frontier":
        return "every vertex of a frontier has the same value: rounds are in order of priority already"
    if isinstance(_first(writer.stage.gathers[0].reduce.body), f.Field):
        return "values are copied as they are: nothing is added on the way, so all go at once"
    if not (plan.asynchronous or plan.together):
        return plan.asynchronous_reason
    if how.reason:
        return how.reason
    if len(writes) > 1:
        return "the pass writes several fields, of which none decides for the others"
    if how.types[0] in (BOOL, VERTEX):
        return "what comes first in what is gathered is no number"
    return ""


def _first(body: f.Expr) -> f.Expr:
    """The expression that decides the priority: the first part of a tuple, or the whole expression."""
    return body.args[0] if isinstance(body, f.Op) and body.op == "tuple" else body


def _packed(writer: StageWriter, gather: f.Gather) -> str:
    """Return the only column that a gather reads, if a value and a receiver may be packed into one word; otherwise "".
    """
    read = {(e.name, e.type) for e in f.walk(gather.reduce) if isinstance(e, f.EdgeValue) and e.name in writer.columns}
    ((name, type_),) = read if len(read) == 1 else {("", BOOL)}
    return name if isinstance(type_, Scalar) and (type_.integral or type_.floating) and type_.bits >= 32 else ""


def _received(writer: StageWriter, gather: f.Gather) -> tuple[Function, Function]:
    """The functions `along` and `accept`.

    `along` reads the values of an edge from edge columns or, if `shift` is not 0, from the bits above the receiver in
    the word of the edge. `accept` adds the contribution of an edge with these values to the accumulators.
    """
    d, scope, texts = writer.dialect, writer.scope(), list[str]()
    values = sender_function(writer, "sender_part")[1]
    for expr in dict.fromkeys(e for e in f.walk(gather.reduce) if isinstance(e, f.EdgeValue)):
        if expr.name in writer.columns:
            values[expr] = (d.part("edge", len(texts)),)
            text = scope.edge(expr)
            if _packed(writer, gather):
                text = d.select("shift != 0", d.convert(expr.type, "word >> shift"), text)
            texts.append(text)
    edge = writer.writer(writer.scope(values=values))
    (accumulation,) = writer.accumulations
    after = accumulation.take(edge, tuple(d.part("acc", i) for i in range(len(accumulation.types))))
    return (Function("along", (), d.pack("Edge", texts)),
            Function("accept", tuple(edge.lines), d.pack("Acc", after)))


def _offer(writer: StageWriter, how: Pushing, low: bool, log: bool) -> Function:
    """The function `offer`, which joins a contribution into the receiver.

    `offer` returns whether the value that the receiver sends has changed, and the priority of the receiver before and
    after the join. For a tuple, the sent value is the first part, unless neighbours read other parts as well.
    """
    nothing = writer.dialect.constant(identity("min" if low else "max", how.types[0]), how.types[0])
    differs = "now[0] != was[0]" if len(how.types) > 1 and not _together(writer) else "True"
    after = (
        f"before = {_key('was[0]', low, log)}",
        f"after = {_key('now[0]', low, log)}",
        f"return {differs}, f64(np.inf) if was[0] == {nothing} else before, after",
    )
    lines = joining(writer, how, after, "return False, f64(0.0), f64(0.0)",
                    received="accept(env, part, edge, was, v, u)")
    return Function("offer", lines, "")


def _joined_part(writer: StageWriter, how: Pushing) -> tuple[Function, ...]:
    """The function `joined_part`, which computes a sender's common part from packed words, because the sender's fields
    are outdated.
    """
    assert how.words is not None
    words = how.words
    if _together(writer):
        known: dict[f.Expr, tuple[str, ...]] = {
            f.Field(t, name, "other"): (part,) for t, name, part in zip(how.types, how.fields, words.parts())
        }
        return (sender_function(writer, "joined_part", known, tuple(words.look("u")))[0],)
    now = f.Field(how.types[0], how.fields[0], "other")
    old = f"old = {words.pointer}[{words.place('u')}]"
    return (sender_function(writer, "joined_part", {now: (words.first(),)}, (old,))[0],)


def _together(writer: StageWriter) -> bool:
    """Return whether the parts of the tuple of a neighbour are read together."""
    return writer.plan is not None and writer.plan.together


def _rank(writer: StageWriter, how: Pushing, low: bool, log: bool) -> Function:
    """Return the function `rank`, which returns the priority of a vertex."""
    words = how.words
    assert words is not None
    return Function("rank", (f"old = {words.pointer}[{words.place('v')}]", f"value = {words.first()}"),
                    _key("value", low, log))


def _near(writer: StageWriter, how: Pushing) -> tuple[Function, ...]:
    """The functions `near_edge` and `near_vertex`, which prefetch values."""
    assert how.words is not None
    edge = tuple(f"prefetch(columns[{number}], k)" for number in range(len(writer.columns)))
    vertex = f"prefetch({how.words.pointer}, {how.words.place('v')})"
    return Function("near_vertex", (vertex,), ""), Function("near_edge", edge, "")


def _key(value: str, low: bool, log: bool) -> str:
    """Return code that computes the priority of a value. The value with the least priority is processed first.

    If values are multiplied (`log`), the priority is the bit pattern of the value: a piecewise linear approximation of
    the base-2 logarithm.
    """
    if log:
        return f"-f64(bits_of(f64({value}))) * 2.0**-52 if {value} > 0.0 else f64(np.inf)"
    return f"f64({value})" if low else f"-f64({value})"

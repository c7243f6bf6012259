"""Passes that push on a CPU: contributions are joined into the field of the receiver by compare-and-swap.

The functions here are called by the skeletons `push` and `early`. What a superstep pushes is written into the second
buffer of the field, and read from the first, so that a superstep is what it is when everybody pulls: the same values
and the same vertices active after each, whatever the threads. Only a uniform frontier (rule X2) does with one buffer,
as nobody in it receives anything; there a vertex is found by the one compare-and-swap that changes it.
"""

from __future__ import annotations

from vlang.emit.dialect import Function, stored_as
from vlang.emit.reductions import Accumulation
from vlang.emit.sending import early_of, joined_writes, one_write, settled, silent
from vlang.emit.stage import StageWriter
from vlang.types import BOOL, F16, Scalar

__all__ = ["push_functions"]


def push_functions(writer: StageWriter) -> tuple[list[Function], bool]:
    """join, join_alone, carry, fresh and silent, and settled if the frontier is uniform, which is told as well; none if
    the stage may not push, or receives more than one number, truth value or vertex."""
    writes, _ = joined_writes(writer)
    if len(writes) != 1 or one_write(writer, writes) or writer.messages or len(writes[0].fields) != 1:
        return [], False
    (name,), (accumulation,) = writes[0].fields, writer.accumulations
    type_ = writer.types[name]
    if not _fits(accumulation, type_) or name not in writer.two_buffers or writer.stage.written != (name,):
        return [], False
    assert isinstance(type_, Scalar)
    early = early_of(writer)
    uniform = early.kind == "frontier"
    functions = [_join(writer, name, type_), _join(writer, name, type_, alone=True),
                 _carry(writer, name, type_, uniform), _fresh(uniform), silent(writer)]
    return [*functions, *([Function("settled", (), settled(writer, early))] if uniform else [])], uniform


def _fits(accumulation: Accumulation, type_: object) -> bool:
    """Whether what is gathered is one value that lies in the field as it is."""
    return accumulation.types == (type_,) and accumulation.declared is None and type_ != F16


def _join(writer: StageWriter, name: str, type_: Scalar, alone: bool = False) -> Function:
    """Whether the contribution of an edge changed the receiver; another worker may come first, and then again, unless
    this one is alone."""
    d = writer.dialect
    pointer = writer.env.pointer(f"next:{name}", stored_as(type_))
    value = [
        f"old = {pointer}[v]",
        f"was = {d.load(type_, 'old')}",
        f"new = gather(env, columns, {d.pack('Acc', ['was'])}, v, u, k)[0]",
        "if new == was:" if type_ == BOOL or not type_.floating else "if new == was or was != was:",
        "    return False",
    ]
    if alone:
        return Function("join_alone", (*value, f"{pointer}[v] = {d.store(type_, 'new')}"), d.true)
    lines = [*value, f"if replace({pointer}, v, old, {d.store(type_, 'new')}):", "    return True"]
    return Function("join", ("while True:", *(f"    {line}" for line in lines)), "")


def _carry(writer: StageWriter, name: str, type_: Scalar, uniform: bool) -> Function:
    """Bring the second buffer up to date for a vertex; nothing where there is one buffer."""
    if uniform:
        return Function("carry", (), "")
    now, new = (writer.env.pointer(f"{kind}:{name}", stored_as(type_)) for kind in ("field", "next"))
    return Function("carry", (f"{new}[v] = {now}[v]",), "")


def _fresh(uniform: bool) -> Function:
    """Whether a vertex is found for the first time in a superstep."""
    if uniform:
        return Function("fresh", (), "True")
    lines = (
        "bit = u64(1) << u64(v & 63)",
        "if bits[v >> 6] & bit:",
        "    return False",
    )
    return Function("fresh", lines, "fetch_or(bits, v >> 6, bit) & bit == u64(0)")

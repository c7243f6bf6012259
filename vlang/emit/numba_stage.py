"""One stage as numba functions: what the skeletons call, and which kernels come of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from vlang.emit.loops import LoopPlan
from vlang.emit.numba_expressions import Writer, differs, located, stored_as, typename
from vlang.emit.numba_frame import Environment, Frame, Scope, Times, load, store
from vlang.emit.numba_reductions import Accumulation
from vlang.ir import forms as f
from vlang.ir.stages import Mask, Stage, Write
from vlang.runtime.kernelset import StageSpec
from vlang.types import BOOL, Scalar, Type

__all__ = ["StageWriter", "called", "function", "parts_of", "skeleton", "tuple_text"]

_SKELETONS = Path(__file__).resolve().parent / "skeletons"
_CALLED = re.compile(
    r"\b(bind|bind_columns|ready|wanted|identity|gather|merge|put|get|apply|send|"
    r"keep|kept|pull|segments|finish|compute|messages|blocked|fold)\("
)


def skeleton(name: str, suffix: str) -> str:
    """The text of a skeleton, its functions renamed for one pass and its docstring left out."""
    text = (_SKELETONS / f"{name}.py").read_text(encoding="utf-8")
    text = re.sub(r'\A""".*?"""\s*', "", text, flags=re.S)
    return called(text, suffix)


def called(text: str, suffix: str) -> str:
    """The text with the functions of a pass renamed for it."""
    return _CALLED.sub(rf"\1_{suffix}(", text)


def parts_of(accumulations: list[Accumulation], name: str) -> list[tuple[Accumulation, tuple[str, ...]]]:
    """Each accumulation with the texts of its components in the tuple called `name`, side by side."""
    result, at = [], 0
    for accumulation in accumulations:
        width = len(accumulation.types)
        result.append((accumulation, tuple(f"{name}[{i}]" for i in range(at, at + width))))
        at += width
    return result


def function(head: str, lines: list[str], result: str) -> str:
    """A generated function."""
    body = [*lines, *([f"return {result}"] if result else [])] or ["pass"]
    return f"@inner\ndef {head}:\n" + "".join(f"    {line}\n" for line in body)


def tuple_text(items: list[str] | tuple[str, ...]) -> str:
    """A tuple display."""
    return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"


@dataclass
class StageWriter:
    """Writes one stage. types: the type of every field. plan: the loop that the stage belongs to, if any.
    messages: expressions to send as messages, each with its number. ends: the stage decides activity."""

    stage: Stage
    frame: Frame
    types: dict[str, Type]
    present: dict[str, str]
    plan: LoopPlan | None
    messages: dict[f.Expr, int]
    ends: bool
    two_buffers: frozenset[str] = frozenset()
    functions: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.env = Environment(self.frame)
        self.accumulations = []
        for gather in self.stage.gathers:
            with located(gather.span):
                self.accumulations.append(Accumulation.of(gather.reduce))
        edge_names = [e.name for g in self.stage.gathers for e in f.walk(g.reduce) if isinstance(e, f.EdgeValue)]
        self.columns = tuple(dict.fromkeys(n for n in edge_names if n in self.present))

    # ------------------------------------------------------------------ the whole
    def write(self) -> tuple[str, dict[str, str], StageSpec]:
        """The text, the kernels (role -> name) and the description of the stage."""
        name = self.stage.name
        roles = ("pull", "segments", "finish") if self.stage.domain else ("compute",)
        texts = [skeleton("edges" if self.stage.domain else "vertices", name)]
        self._ready()
        if self.stage.domain:
            self._edges()
        self._apply()
        if self.stage.domain and not self.columns:
            roles = (*roles, "blocked")
            texts.append(skeleton("blocks", name))
        if self.messages:
            roles = (*roles, "messages")
            texts.append(skeleton("messages", name))
            self._send()
        self.functions.insert(0, self.env.bind())
        generated = called("\n\n".join(self.functions), name)
        spec = StageSpec(
            name=name, domain=self.stage.domain, kernels={role: f"{role}_{name}" for role in roles},
            columns=tuple((c, self.present[c]) for c in self.columns), written=self.stage.written,
            swaps=tuple(n for n in self.stage.written if n in self.two_buffers), loop_end=self.ends,
            notify=self.plan.readers[name].notify if self.plan and name in self.plan.readers else None,
            sole=self.plan is None or self.plan.sole(self.stage),
        )
        return "\n\n".join([generated, *texts]), dict(spec.kernels), spec

    def scope(self, there: str = "u", values: dict[f.Expr, tuple[str, ...]] | None = None) -> Scope:
        """A scope for one of the functions."""
        times = Times(starts=self.plan.starts, told=self.plan.told) if self.plan else Times()
        return Scope(self.env, there=there, times=times, columns=self.columns, values=values or {})

    # ------------------------------------------------------------------ functions
    def _ready(self) -> None:
        """ready: the masks that are known before the gathers; wanted: whether the gathers run."""
        scope = self.scope()
        writer = Writer(scope)
        names = []
        for mask in self.stage.before:
            self._mask(writer, scope, mask)
            names.append(scope.locals[mask.name][0])
        self.functions.append(function("ready(env, v)", writer.lines, tuple_text(names)))
        guard = self.stage.guard
        early = [mask.name for mask in self.stage.before]
        if guard is None:
            test = "True"
        elif guard in early:
            test = f"masks[{early.index(guard)}]"
        else:  # the mask was stored by an earlier pass: `ready` hands it over as its last item
            text = scope.accumulator(f.Accumulator(BOOL, guard))[0]
            names.append(writer.name(text))
            self.functions[-1] = function("ready(env, v)", writer.lines, tuple_text(names))
            test = f"masks[{len(names) - 1}]"
        self.functions.append(function("wanted(masks)", [], test))

    def _mask(self, writer: Writer, scope: Scope, mask: Mask) -> None:
        with located(mask.span):
            name = writer.value(mask.cond)
        if mask.guard is not None:
            outer = writer.value(f.Accumulator(BOOL, mask.guard))
            name = writer.name(f"{outer} & {name}")
        scope.locals[mask.name] = (name,)

    def _edges(self) -> None:
        """identity, gather, merge, put and get over the components of all accumulators, side by side."""
        identity = [text for a in self.accumulations for text in a.identity]
        self.functions.append(function("identity(env)", [], tuple_text(identity)))
        pointers = [f"pointer_{self.present[c]}(pages, row + PAGE_COLUMNS + {i})" for i, c in enumerate(self.columns)]
        self.functions.append(function("bind_columns(pages, row)", [], tuple_text(pointers)))

        values: dict[f.Expr, tuple[str, ...]] = {
            expr: (load(expr.type, f"{self._message(number, expr)}[u]"),) for expr, number in self.messages.items()
        }
        writer = Writer(self.scope(values=values))
        after: list[str] = []
        for gather, (accumulation, parts) in zip(self.stage.gathers, parts_of(self.accumulations, "acc")):
            with located(gather.span):
                after.extend(accumulation.take(writer, parts))
        self.functions.append(function("gather(env, columns, acc, v, u, k)", writer.lines, tuple_text(after)))

        writer = Writer(self.scope())
        pairs = zip(parts_of(self.accumulations, "a"), parts_of(self.accumulations, "b"))
        merged = [name for (a, left), (_, right) in pairs for name in a.merge(writer, left, right)]
        self.functions.append(function("merge(a, b)", writer.lines, tuple_text(merged)))

        self._stored_accumulators("part", f"segments:{self.stage.domain}", "put", "get")
        if not self.columns:
            self._stored_accumulators("kept", "blocked", "keep", "kept")

    def _stored_accumulators(self, kind: str, length: str, put: str, get: str) -> None:
        """The functions `put` and `get` that keep an accumulator in arrays, one a component."""
        types = [t for a in self.accumulations for t in a.types]
        stored = [name for a in self.accumulations for name in a.stored]
        parts = []
        for number, (type_, dtype) in enumerate(zip(types, stored)):
            slot = f"{kind}:{self.stage.name}.{number}"
            self.frame.array(slot, dtype, length)
            parts.append((self.env.pointer(slot, dtype), type_))
        self.functions.append(function(
            f"{put}(env, s, acc)", [f"{p}[s] = {store(t, f'acc[{i}]')}" for i, (p, t) in enumerate(parts)], ""))
        self.functions.append(function(f"{get}(env, s)", [], tuple_text([load(t, f"{p}[s]") for p, t in parts])))

    def _message(self, number: int, expr: f.Expr) -> str:
        slot = f"work:message.{self.stage.name}.{number}"
        dtype = stored_as(expr.type)
        self.frame.array(slot, dtype)
        return self.env.pointer(slot, dtype)

    def _send(self) -> None:
        """send: every message of one vertex, which here is the neighbour of its receivers."""
        writer = Writer(self.scope(there="v"))
        lines = []
        for expr, number in self.messages.items():
            owner = next(g for g in self.stage.gathers if expr in f.walk(g.reduce))
            with located(owner.span):
                name = writer.value(expr)
            lines.append(f"{self._message(number, expr)}[v] = {store(expr.type, name)}")
        self.functions.append(function("send(env, v)", [*writer.lines, *lines], ""))

    def _apply(self) -> None:
        """apply: what a vertex does with what it gathered; returns the flags changed 1 and active 2."""
        scope = self.scope()
        writer = Writer(scope)
        for number, mask in enumerate(self.stage.before):
            scope.locals[mask.name] = (f"masks[{number}]",)
        for gather, (accumulation, parts) in zip(self.stage.gathers, parts_of(self.accumulations, "acc")):
            with located(gather.span):
                scope.locals[gather.name] = accumulation.finish(writer, tuple(map(writer.name, parts)))
        for item in self.stage.after:
            if isinstance(item, Mask):
                self._mask(writer, scope, item)
            else:
                self._write(writer, scope, item)
        flags = self._activity(writer, scope) if self.ends else "i64(0)"
        if self.plan is not None and self.plan.skip:
            self._hear(writer, scope)
        lines = list(writer.lines)
        for name in self.stage.written:
            kind = "next" if name in self.two_buffers else "field"
            type_ = self.types[name]
            target = self.env.pointer(f"{kind}:{name}", stored_as(type_))
            lines.append(f"{target}[v] = {store(type_, scope.locals[name][0])}")
        for name in sorted(self.stage.stored):
            lines.extend(self._keep(name, scope.locals[name]))
        self.functions.append(function("apply(env, v, masks, acc)", lines, flags))

    def _write(self, writer: Writer, scope: Scope, item: Write) -> None:
        with located(item.span):
            names = writer.items(item.value)
        if item.guard is not None:
            test = writer.value(f.Accumulator(BOOL, item.guard))
            olds = [writer.value(f.Field(self.types[n], n, "self")) for n in item.fields]
            names = tuple(writer.name(f"{new} if {test} else {old}") for new, old in zip(names, olds))
        writer.forget()
        for field_name, name in zip(item.fields, names):
            scope.locals[field_name] = (name,)

    def _keep(self, name: str, values: tuple[str, ...]) -> list[str]:
        types = self._types_of(name)
        lines = []
        for number, (type_, value) in enumerate(zip(types, values)):
            slot = f"work:{name}.{number}"
            self.frame.array(slot, stored_as(type_))
            lines.append(f"{self.env.pointer(slot, stored_as(type_))}[v] = {store(type_, value)}")
        return lines

    def _types_of(self, name: str) -> tuple[Scalar, ...]:
        for gather in self.stage.gathers:
            if gather.name == name:
                type_ = gather.reduce.type
                return (type_,) if isinstance(type_, Scalar) else type_.items  # type: ignore[union-attr]
        return (BOOL,)

    # ------------------------------------------------------------------- activity
    def _activity(self, writer: Writer, scope: Scope) -> str:
        """The end of a superstep for one vertex: what changed, what is told, and whether it is active."""
        assert self.plan is not None
        differing: dict[str, str] = {}
        for name in self.plan.loop.applied:
            new = writer.value(f.Field(self.types[name], name, "self"))
            old = writer.name(scope.old(f.Field(self.types[name], name, "self", "old")))
            differing[name] = writer.name(differs(self.types[name], new, old))
            if name in self.plan.told:
                self._tell(writer, scope, name, new, old)
        changed = writer.name(" | ".join(differing.values()) or "False")
        flags = [f"(i64(1) if {changed} else i64(0))"]
        active = changed
        activate = self.plan.loop.repeat.activate
        if self.plan.explicit and activate is not None:
            with located(activate.span):
                active = writer.value(activate.cond)
            writer.lines.append(f"{self.env.pointer('work:active', 'u8')}[v] = u8(1) if {active} else u8(0)")
            self.frame.array("work:active", "u8")
        flags.append(f"(i64(2) if {active} else i64(0))")
        return " | ".join(flags)

    def _tell(self, writer: Writer, scope: Scope, name: str, new: str, old: str) -> None:
        """A vertex that was active in this superstep has told its old value; `change` is what it has not told."""
        type_ = self.types[name]
        pointer = self.env.pointer(f"told:{name}", stored_as(type_))
        self.frame.array("work:active", "u8")
        was = writer.name(f"{self.env.pointer('work:active', 'u8')}[v] != 0")
        before = writer.name(load(type_, f"{pointer}[v]"))
        told = writer.name(f"{old} if {was} else {before}")
        writer.lines.append(f"{pointer}[v] = {store(type_, told)}")
        scope.locals[f"change {name}"] = (writer.name(f"{typename(type_)}({new} - {told})"),)

    def _hear(self, writer: Writer, scope: Scope) -> None:
        """For each pass that reads what this one wrote: who must notify (1), and who must run again itself (2)."""
        assert self.plan is not None
        names = (*self.stage.written, *sorted(self.stage.stored))
        changes = {name: self._changed(writer, scope, name) for name in names}
        for reader, reads in self.plan.readers.items():
            heard = [change for name, change in changes.items() if name in reads.heard]
            own = [change for name, change in changes.items() if name in reads.own]
            if not (heard or own or reader == self.stage.name):
                continue
            slot = f"work:heard.{reader}"
            self.frame.array(slot, "u8")
            at = f"{self.env.pointer(slot, 'u8')}[v]"
            flag = writer.name(f"(u8(1) if {' | '.join(heard) or 'False'} else u8(0)) | "
                               f"(u8(2) if {' | '.join(own) or 'False'} else u8(0))")
            writer.lines.append(f"{at} = {flag}" if reader == self.stage.name else f"{at} = {at} | {flag}")

    def _changed(self, writer: Writer, scope: Scope, name: str) -> str:
        """Whether this pass changes a field, or an accumulator or mask that it stores."""
        if name in self.types:
            before = writer.name(scope.read(f.Field(self.types[name], name, "self"), "field", "v"))
            return writer.name(f"({differs(self.types[name], scope.locals[name][0], before)})")
        parts = []
        for number, (type_, value) in enumerate(zip(self._types_of(name), scope.locals[name])):
            before = writer.name(scope.stored(name, number, type_))
            parts.append(f"({differs(type_, value, before)})")
        return writer.name(" | ".join(parts))

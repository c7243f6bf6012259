"""A program as one numba module: functions generated from the program, and skeletons that call them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from vlang.emit.cpu.grouped_text import group_tables, hold, opened, segment
from vlang.emit.cpu.numba_dialect import NumbaDialect
from vlang.emit.cpu.skeleton import skeletons
from vlang.emit.cpu.ways.together_text import alone_because
from vlang.emit.cpu.ways.way_text import PASS
from vlang.emit.cpu.ways.way_texts import WAY_TEXTS
from vlang.emit.shared.reductions.grouped import Grouped
from vlang.emit.shared.reductions.holistic import FIRST_PLACE, Holistic, conclude, prepare
from vlang.emit.shared.reductions.packed import parts_of, put_and_get
from vlang.emit.shared.scalars import ScalarText
from vlang.emit.shared.sending import decided, early_of, is_final
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.target import Module, StageText
from vlang.emit.shared.values.dialect import Function
from vlang.emit.shared.values.formulas import located
from vlang.types import BOOL, OPPOSITE, Scalar

__all__ = ["NumbaTarget"]

_CLOSE = re.compile(r"\bclose(\d+)\(")
_CALL = re.compile(r"\b([a-z]\w*)\(")
_WIDE = re.compile(r"\bwide_\w+\(")
_SATURATING = re.compile(r"\b(?:saturated_\w+|add_sizes|sum_of_words)\(")
_MOST_KEPT = 16  # the most components of a vertex's accumulators in a pass over cache blocks
_MOST_LAID = 4  # the most components of a vertex's accumulators in a pass over runs of vertices
_CASES = 24  # scalars computed by one function


def _skeleton(name: str, suffix: str = "", fuses: bool = True) -> str:
    """Code of a skeleton for one pass.

    Args:
        suffix: the name of the pass.
        fuses: whether work is fused into the pass.
    """
    return skeletons().files[name].text(suffix, fuses)


def _called(text: str, suffix: str) -> str:
    """Rename calls in generated code: append the name of the pass to the names of functions of which each pass has a
    copy.
    """
    heads = skeletons().heads
    return _CALL.sub(lambda found: f"{found[1]}_{suffix}(" if found[1] in heads else found[0], text)


def _blocks(writer: StageWriter) -> bool:
    """Return whether a stage has a kernel that processes cache blocks. The stage must be in a loop without inner
    blocks.

    With accumulators of many components, such a kernel would save no time and double the compile time.
    """
    if writer.plan is None or writer.plan.loop.nested or writer.stage.domain not in OPPOSITE or writer.states:
        return False
    return sum(len(a.types) for a in writer.accumulations) <= _MOST_KEPT


def _runs(writer: StageWriter) -> bool:
    """Return whether the kernel processes runs of vertices: all vertices of a run gather, then all apply.

    Runs require that every vertex both gathers and applies. A vertex of a run must not read new values of another
    vertex of the run, so a pass with runs must not update values in place.
    """
    plan, stage = writer.plan, writer.stage
    if plan is None or plan.asynchronous or stage.before or stage.guard is not None or _leaves(writer):
        return False
    return sum(len(a.types) for a in writer.accumulations) <= _MOST_LAID


def _rows(writer: StageWriter) -> tuple[str, ...]:
    """The skeletons of the kernels that gather, for short and long vertices."""
    if _leaves(writer):
        return ("leaving",)
    return "runs" if _runs(writer) else "rows", "segments"


def _leaves(writer: StageWriter) -> bool:
    """Return whether a vertex may stop reading its edges early (rule X1)."""
    return early_of(writer).kind == "absorbing"


def _scalar_functions(scalars: Sequence[str]) -> list[str]:
    """Return the functions of all scalars, followed by `scalars(frame, which, blocks)`, which computes scalar number
    `which`.

    The cases of `which` are split into functions with at most _CASES cases each, because numba's compile time grows
    with the square of the number of cases in a function.
    """
    functions, parts = [], []
    for first in range(0, len(scalars), _CASES):
        cases = []
        for number, text in enumerate(scalars[first : first + _CASES], first):
            call = f"scalar_v{number}(frame, blocks)"
            if f"def {call}:" in text:
                functions.append(text)
                text = call
            cases += [f"if which == {number}:", *(f"    {line}" for line in text.splitlines())]
        parts.append(cases)
    if len(parts) > 1:
        functions += [_function(f"scalars_{i}", cases) for i, cases in enumerate(parts)]
        parts = [[line for i in range(len(parts))
                  for line in (f"if which // {_CASES} == {i}:", f"    scalars_{i}(frame, which, blocks)")]]
    return [*functions, _function("scalars", parts[0] if parts else ["pass"]).removeprefix("@inner\n")]


def _function(name: str, lines: Sequence[str]) -> str:
    return f"@inner\ndef {name}(frame, which, blocks):\n" + "".join(f"    {line}\n" for line in lines)


def _inlined(scalar: ScalarText) -> str:
    """The lines that compute and store a scalar without a fold, with names that are unique among all scalars."""
    loads = [f"{entry.kind}_{entry.dtype}(frame, {entry.number})" for entry in scalar.env.entries]
    text = re.sub(r"\benv\[(\d+)\]", lambda found: loads[int(found[1])], "\n".join(scalar.lines))
    return re.sub(r"\bt(\d+)\b", rf"t{scalar.number}_\1", text)


def _laying(d: NumbaDialect, types: list[Scalar]) -> list[Function]:
    """Return `lay` and `laid`, which store and load the accumulators of vertex or lane s in the memory of a worker."""
    lines, items = [], []
    for i, type_ in enumerate(types):
        place, part = f"room[{i}][s]", d.part("acc", i)
        lines.append(d.assign(place, d.store(BOOL, part) if type_ == BOOL else part))
        items.append(d.load(BOOL, place) if type_ == BOOL else place)
    return [Function("lay", tuple(lines), ""), Function("laid", (), d.pack("Acc", items))]


def _fused(stage: str, kernels: Sequence[str]) -> str:
    """The function `after_block` of a pass, which runs the given kernels of folds and messages on one block."""
    parts = [name.replace("fold_", "fold_block_").replace("messages_", "send_block_") for name in kernels]
    body = "".join(f"    {part}(frame, low, high)\n" for part in parts)
    return f"@inner\ndef after_block_{stage}(frame, low, high):\n{body}\n\n{_skeleton('fused_blocks', stage)}"


class NumbaTarget:
    """The CPU target: one module of functions, and kernels whose workers take tasks from a shared counter."""

    lists_levels = True
    fuses = True

    def __init__(self) -> None:
        self.dialect = NumbaDialect()

    def stage(self, writer: StageWriter) -> StageText:
        """The functions and kernels of a stage."""
        stage, name = writer.stage, writer.stage.name
        if writer.structures:
            return self._whole(writer)
        roles = ["pull", "segments", "finish"] if stage.domain else ["compute"]
        texts = [_skeleton("edges" if stage.domain else "vertices", name, writer.fuses)]
        functions = [self.dialect.define(one) for one in writer.ready()]
        if stage.domain:
            texts += [_skeleton(one, name, writer.fuses) for one in _rows(writer)]
            if _runs(writer):
                roles.append("listed")
                texts.append(_skeleton("rows", name, False).replace(f"def pull_{name}(", f"def listed_{name}("))
            functions += self._edges(writer)
        functions.append(self.dialect.define(writer.apply()))
        ways = {way.name: way.write(writer) for way in WAY_TEXTS}
        for one in ways.values():
            functions += [*map(self.dialect.define, one.functions), *one.texts]
            roles += one.roles
            texts += [_skeleton(skeleton, name) for skeleton in one.skeletons]
        if stage.domain and _blocks(writer):
            roles.append("blocked")
            texts.append(_skeleton("blocks", name, writer.fuses))
        # This order keeps the texts of modules unchanged, so that compiled kernels in the cache stay valid.
        support = tuple(skeleton for one in reversed(ways.values()) for skeleton in one.support)
        joined = self._joined(writer, functions, texts, roles, support)
        return replace(
            joined, signatures={f"{role}_{name}": signature for one in ways.values()
                                for role, signature in one.roles.items()},
            ways={way: one.spec for way, one in ways.items() if one.spec is not None},
            refused={way: one.reason for way, one in ways.items() if one.reason})

    def _joined(
        self, writer: StageWriter, functions: list[str], texts: list[str], roles: list[str],
        support: tuple[str, ...] = (),
    ) -> StageText:
        """Join the functions and skeletons of a stage, and add the functions that every stage has."""
        name = writer.stage.name
        if writer.messages:
            roles.append("messages")
            texts.append(_skeleton("messages", name))
            functions.append(self.dialect.define(writer.send()))
        if writer.fuses:
            roles.append("fused")
        functions.insert(0, self.dialect.bind(tuple(writer.env.entries)))
        generated = _called("\n\n".join(functions), name)
        text = "\n\n".join([generated, *texts])
        return StageText(text, {role: f"{role}_{name}" for role in roles}, None, support)

    def _whole(self, writer: StageWriter) -> StageText:
        """Return the code of a stage with holistic reductions, in which one worker processes all contributions of a
        vertex.
        """
        d = self.dialect
        edge = writer.contributing()
        after: list[str] = []
        place = FIRST_PLACE
        tables = iter(group_tables(writer.accumulations))
        held: list[str] = []
        for gather, (accumulation, parts) in zip(writer.stage.gathers, parts_of(d, writer.accumulations, "acc")):
            with located(gather.span):
                if isinstance(accumulation, Grouped):
                    held += next(tables).take(edge, d)
                    after.extend(parts)
                    place += 1
                elif isinstance(accumulation, Holistic):
                    after.extend(accumulation.take_into(edge, f"room[{place}]", parts))
                    place += 1
                else:
                    after.extend(accumulation.take(edge, parts))
        functions = [*writer.ready(), writer.identity(), self._columns(writer), prepare(writer.accumulations, opened),
                     *self._closed(writer), conclude(d, writer.accumulations), hold(writer, d), segment(writer, d)]
        texts = [_CLOSE.sub(rf"close\1_{writer.stage.name}(", self._defined(one)) for one in functions]
        result = f"{d.pack('Acc', after)}, {d.pack('', held)}"
        texts.append(d.define(Function("gather_whole", tuple(edge.lines), result), "gather"))
        texts.append(d.define(writer.apply()))
        return self._joined(writer, texts, [_skeleton("holistic", writer.stage.name)], ["pull"], ("counting", "groups"))

    def _closed(self, writer: StageWriter) -> list[Function]:
        """The functions that reduce over groups."""
        found, tables = [], iter(group_tables(writer.accumulations))
        for gather, accumulation in zip(writer.stage.gathers, writer.accumulations):
            if isinstance(accumulation, Grouped):
                with located(gather.span):
                    found.append(next(tables).closed(writer, self.dialect))
        return found

    def _defined(self, function: Function) -> str:
        """The code of a function. All functions that reduce over groups have the parameters of the hole `close`."""
        if not function.name.startswith("close"):
            return self.dialect.define(function)
        return self.dialect.define(replace(function, name="close"), function.name)

    def _columns(self, writer: StageWriter) -> Function:
        pointers = [f"pointer_{writer.present[c]}(pages, row + PAGE_COLUMNS + {i})"
                    for i, c in enumerate(writer.columns)]
        if writer.states:  # the neighbours of all pages are one array
            pointers.append("(value_i64(pages, row + PAGE_TARGETS) - value_i64(pages, PAGE_TARGETS)) // 4")
        return Function("bind_columns", (), self.dialect.pack("", pointers))

    def _edges(self, writer: StageWriter) -> list[str]:
        """Return the functions that gather. Each of these functions processes the components of all accumulators
        together.
        """
        d, stage = self.dialect, writer.stage
        edge = writer.contributing()
        after: list[str] = []
        for gather, (accumulation, parts) in zip(stage.gathers, parts_of(d, writer.accumulations, "acc")):
            with located(gather.span):
                after.extend(accumulation.take(edge, parts))
        functions = [
            writer.identity(),
            self._columns(writer),
            Function("gather", tuple(edge.lines), d.pack("Acc", after)),
            writer.merge(),
            *put_and_get(writer.env, writer.accumulations, f"part:{stage.name}", f"segments:{stage.domain}",
                         "put", "get"),
        ]
        early = early_of(writer)
        if early.kind == "absorbing":
            functions += [Function("decided", (), decided(writer, early)),
                          Function("is_final", (), is_final(writer, early))]
        if _runs(writer) or _blocks(writer) or not alone_because(writer):
            functions += _laying(d, [type_ for a in writer.accumulations for type_ in a.types])
        if _blocks(writer):
            functions += put_and_get(writer.env, writer.accumulations, f"kept:{stage.name}", "blocked", "keep", "kept")
        return [d.define(one) for one in functions]

    def scalar(self, scalar: ScalarText) -> str:
        """Return the functions of a fold and `scalar_vN(frame, blocks)`. For a value without a fold, return only its
        lines.

        The lines of such a value become part of `scalars`, because numba takes about 15 ms for every function, and
        programs may have a thousand `let`s.
        """
        name = f"v{scalar.number}"
        if not scalar.folds:
            return _inlined(scalar)
        laying = _laying(self.dialect, [t for a in scalar.accumulations for t in a.types])
        functions = [_called(self.dialect.define(one, "gather" if one.name == "take" else ""), name)
                     for one in (*scalar.functions, *laying)]
        functions.insert(0, _called(self.dialect.bind(tuple(scalar.env.entries)), name))
        lines = [f"env = bind_{name}(frame)", f"acc = identity_{name}(env)", "for s in range(blocks):",
                 f"    acc = merge_{name}(env, acc, get_{name}(env, s))"]
        body = "".join(f"    {line}\n" for line in (*lines, *scalar.lines))
        functions.append(f"@inner\ndef scalar_{name}(frame, blocks):\n{body}")
        return "\n\n".join([*functions, _skeleton("fold", name)])

    def module(
        self, stages: Sequence[StageText], scalars: Sequence[str], folds: Sequence[str],
        fuses: Mapping[str, Sequence[str]],
    ) -> Module:
        """The whole module, and the signatures of its kernels."""
        functions = _scalar_functions(scalars)
        support = dict.fromkeys(name for one in stages for name in one.support)
        bodies = [*(one.text for one in stages), "\n\n".join(functions)]
        bodies += [_fused(name, kernels) for name, kernels in fuses.items()]
        if any(name in body for body in bodies for name in ("common_count(", "next_common(", "entry_of(")):
            support["common"] = None
        head = skeletons().head
        if any(_SATURATING.search(body) for body in bodies):
            head += "from vlang.runtime.compile.saturating import *\n"
        if any(_WIDE.search(body) for body in bodies):
            head += "from vlang.runtime.compile.wide import *\n"
        parts = [head, _skeleton("prelude"), _skeleton("operators"), *map(_skeleton, support), *bodies]
        exports = {kernel: one.signatures.get(kernel, PASS) for one in stages for kernel in one.kernels.values()}
        exports["scalars"] = "void(u64*, i64, i64)"
        exports.update(dict.fromkeys(folds, PASS))
        return Module("\n\n\n".join(part.strip("\n") for part in parts) + "\n", exports)

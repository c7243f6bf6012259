"""Proposals for a `gather` that computes with its reductions: the reductions are gathered alone, and the statements
that read the name compute with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vlang.check.advice.defaults import with_own_default
from vlang.check.tables.checking import Run
from vlang.syntax import rewrite
from vlang.syntax import tree as t

__all__ = ["Proposal", "computed_gather", "declared_above", "owner_of", "with_default"]

Proposal = tuple[tuple[str, ...], t.Span]
"""The lines to write, and the part of the program that they replace."""


def computed_gather(run: Run, item: t.Gather, reduces: Sequence[t.Reduce], names: Sequence[str]) -> Proposal | None:
    """The lines that gather each of some reductions alone, with what was computed in the statements that read the
    name.

    Returns None if the result might be another: a statement between writes a field that the computation reads, or a
    line that did not parse may read the name.

    Args:
        run: the running check.
        item: the gather.
        reduces: the reductions over edges in its value, none inside another.
        names: a new name for each of them.
    """
    text = run.file.text
    meant = {new[0]: (node.span, new[1]) for node in rewrite.inside(item.value)
             if (new := with_own_default(run, node)) is not None}
    parts = [meant.get(one, (one.span, rewrite.one_line(run.text(one)))) for one in reduces]
    value = rewrite.edited(text, item.value.span, [(span, name) for (span, _), name in zip(parts, names, strict=True)])
    inner = {part for one in reduces for part in rewrite.inside(one)}
    outer = [part for part in rewrite.inside(item.value) if part not in inner]
    read = {part.name for part in outer if isinstance(part, (t.Name, t.Member))}
    plain = isinstance(item.value, (t.Name, t.Call))
    gathers = tuple(f"gather {name} = {alone}" for (_, alone), name in zip(parts, names, strict=True))
    return _moved(run, item, gathers, value if plain else f"({value})", value, read)


def with_default(run: Run, item: t.Gather, reduction: str, test: str, default: t.Expr) -> Proposal | None:
    """The lines that gather a reduction without a `default`, which stands in the statements that read the name.

    Args:
        run: the running check.
        item: the gather.
        reduction: the text of the reduction.
        test: the text of the condition under which there is a value.
        default: the value otherwise.
    """
    value = f"({item.name} if {test} else {rewrite.one_line(run.text(default))})"
    read = {part.name for part in rewrite.inside(default) if isinstance(part, (t.Name, t.Member))}
    return _moved(run, item, (f"gather {item.name} = {reduction}",), value, value, read)


def _moved(run: Run, item: t.Gather, gathers: tuple[str, ...], value: str, alone: str,
           read: set[str]) -> Proposal | None:
    """The lines of a gather and of the statements below it that read its name.

    Args:
        run: the running check.
        item: the gather.
        gathers: the lines that replace it.
        value: the text that replaces its name.
        alone: the text that replaces its name where it is the whole value of an `apply`.
        read: the names that this text reads.
    """
    below = _below(run, item)
    uses = {part: next(node for node in below if part in set(rewrite.inside(node)))
            for node in below for part in rewrite.inside(node) if isinstance(part, t.Name) and part.name == item.name}
    if item.name in run.broken:
        return None
    if not uses:
        return gathers, item.span
    last = max(uses.values(), key=lambda node: node.span.end)
    between = [node for node in below if node.span.start < last.span.start or isinstance(getattr(last, "block", None),
                                                                                         t.Block)]
    written = {name for node in between if node.span.start <= last.span.start for part in rewrite.inside(node)
               if isinstance(part, t.Target) for name in part.names}
    if written & read:
        return None
    edits = [(part.span, alone if isinstance(node, t.Apply) and node.value is part else value)
             for part, node in uses.items()]
    return (*gathers, *_lines(run.file.text, item, last, edits)), \
        t.Span(item.span.start, last.span.end, item.span.line, item.span.column)


def _lines(text: str, item: t.Gather, last: t.Node, edits: Iterable[tuple[t.Span, str]]) -> list[str]:
    """The lines from the one below a gather to the end of a statement, after edits, indented as from the gather."""
    out, place = [], item.span.end
    for part, new in sorted(edits, key=lambda edit: edit[0].start):
        out += [text[place : part.start], new]
        place = part.end
    lines = "".join([*out, text[place : last.span.end]]).split("\n")[1:]
    margin = item.span.column - 1
    return [line[margin:].rstrip() if not line[:margin].strip() else line.strip() for line in lines if line.strip()]


def _below(run: Run, item: t.Statement) -> tuple[t.Statement, ...]:
    """The statements below one in its block."""
    blocks = [run.file.items, *(node.items for node in rewrite.inside(run.file) if isinstance(node, t.Block))]
    for items in blocks:
        if item in items:
            return tuple(items[items.index(item) + 1 :])
    return ()


def owner_of(run: Run, item: t.Statement) -> t.Node | None:
    """The statement in whose block another one stands; None at the top level."""
    for node in rewrite.inside(run.file):
        block = getattr(node, "block", None)
        if isinstance(block, t.Block) and item in block.items:
            return node
    return None


def declared_above(run: Run, block: t.Where | t.Sweep, item: t.VertexField | t.Gather,
                   type_: str) -> tuple[tuple[str, ...], t.Span | None]:
    """The lines that declare a field above the block in which it is declared or gathered, and apply its value there.

    Args:
        run: the running check.
        block: the `where` or `sweep`, whose block runs for some vertices only.
        item: the declaration or the gather in this block.
        type_: the type of the field, as written.
    """
    name = item.names[0] if isinstance(item, t.VertexField) else item.name
    value = item.init if isinstance(item, t.VertexField) else item.value
    if value is None or (isinstance(item, t.VertexField) and len(item.names) != 1) or item not in block.block.items:
        return (), None
    text, margin, deep = run.file.text, block.span.column - 1, " " * (item.span.column - block.span.column)
    first = {"vertex": "none", "bool": "false", "category": '"other"', "date": "inf", "time": "inf"}.get(type_, "0")
    lines = [line.rstrip() for line in text[block.span.start : item.span.start].split("\n")]
    kept = [lines[0], *(line[margin:] for line in lines[1:] if line.strip())]
    given, written = rewrite.one_line(run.text(value)), []
    if isinstance(item, t.Gather):
        word = run.fresh(f"{name}_now")
        given, written = word, [f"{deep}gather {word} = {given}"]
    return (f"vertex {name}: {type_} = {first}", *kept, *written, f"{deep}apply {name} = {given}"), \
        t.Span(block.span.start, item.span.end, block.span.line, block.span.column)

"""Warns about reductions over edges that read a field of this vertex, and nothing of the neighbours (V209)."""

from __future__ import annotations

from vlang.check.tables.checking import Run
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code

__all__ = ["judge_neighbours"]


def judge_neighbours(run: Run) -> None:
    """Report V209 for `min(dist + weight for u -> self)`, in which `u.dist` is probably meant."""
    for node in rewrite.inside(run.file):
        if not isinstance(node, t.Reduce) or node.domain.kind not in ("in", "out", "both") or node.group is not None:
            continue
        u = node.domain.name
        parts = [part for one in (node.body, node.cond, *node.keys) if one is not None for part in rewrite.inside(one)]
        own = [part for part in rewrite.inside(node.body) if isinstance(part, t.Name) and _is_field(run, part)]
        if own and not any(isinstance(part, t.Name) and part.name == u for part in parts):
            edits = [(part.span, f"{u}.{part.name}") for part in own]
            name = own[0].name
            run.report(Code.NO_NEIGHBOUR, f"`{name}` is the value of this vertex, and nothing of `{u}` is read",
                       own[0].span, f"the same for every `{u}`", help=f"`{u}.{name}` is that of the neighbour:",
                       write=rewrite.edited(run.file.text, node.span, edits), replaces=node.span)


def _is_field(run: Run, node: t.Name) -> bool:
    symbol = run.symbols.get(node)
    return symbol is not None and symbol.kind == "field"

"""Reports fields and lists of vertices that are not declared (V101)."""

from __future__ import annotations

from vlang.check.advice.proposals import before_name
from vlang.check.advice.vertex_numbers import below_header
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import Sight
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.syntax.problems import nearest
from vlang.types import VERTICES

__all__ = ["unknown_field", "unknown_list"]


def unknown_field(run: Run, node: t.Member, at: Sight) -> None:
    """Report an unknown field in `v.name`, such as the `rank_old` of programs that keep the values of a superstep."""
    name, owner = node.name, rewrite.short(run.text(node.value))
    fields = {s.name for s in at.scope.visible() if s.kind == "field"}
    close = nearest(name, fields | {"degree", "indegree", "outdegree"})
    before = next((field for field in sorted(fields) if before_name(name, field)), None)
    help_: str | tuple[str, ...] = ()
    write: str | tuple[str, ...] = f"{owner}.{close}" if close else ()
    if before is not None:
        write = f"old({owner}.{before})" if at.place == "until" and at.loop is not None else ()
        help_ = f"`old(v.{before})` is the value before the superstep{':' if write else ''}"
    run.report(Code.UNKNOWN_NAME, f"no vertex has a field `{name}`", node.name_span,
               f"did you mean `{close}`?" if close else "", help=help_, write=write, replaces=node.span)


def unknown_list(run: Run, name: str, span: t.Span, at: Sight) -> None:
    """Report an unknown list of vertices, as in `for s in seeds:` (V101). It is meant to be a parameter.

    Args:
        run: the running check.
        name: the name of the list.
        span: its place.
        at: its context.
    """
    close = nearest(name, {s.name for s in at.scope.visible() if s.type == VERTICES} | {"vertices"})
    if close is not None:
        run.report(Code.UNKNOWN_NAME, f"unknown name `{name}`", span, f"did you mean `{close}`?", write=close)
        return
    file, text = run.file, run.file.text
    if "program" not in text[: file.name_span.start]:  # the header did not parse
        run.report(Code.UNKNOWN_NAME, f"unknown name `{name}`", span, help="a list of vertices is a parameter")
        return
    start, end = text.rindex("program", 0, file.name_span.start), below_header(run).end
    head = rewrite.one_line(text[start:end])
    new = f"{head.removesuffix(')').rstrip()}, {name}: vertices)" if file.params else f"{head}({name}: vertices)"
    run.report(Code.UNKNOWN_NAME, f"unknown name `{name}`", span, help="a list of vertices is a parameter:", write=new,
               replaces=t.Span(start, end, file.name_span.line, 1))

"""A program as HTML, for notebooks: its text in colours, parameters, inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vlang.api.program import Program

__all__ = ["program_html"]


def program_html(program: Program) -> str:
    """The name and comment of a program, a table of its parameters, inputs and results, and its text."""
    first = program.doc.partition("\n")[0]
    parts = [f"<div><b>{escape(program.name)}</b>{': ' + escape(first) if first else ''}</div>"]
    rows = [("parameter", p.name, p.type, "required" if p.required else f"default {p.default}") for p in program.params]
    rows += [("vertex field to pass", f.name, f.type, "required") for f in program.fields if f.required]
    rows += [("edge column", e.name, e.type, "required" if e.required else "optional") for e in program.edges]
    rows += [("result", f.name, f.type, "per vertex") for f in program.fields]
    rows += [("result", name, "", "for the graph") for name in program.globals]
    parts.append(_table(rows))
    parts.append(f"<details><summary>program</summary>{_coloured(program.source)}</details>")
    return "\n".join(parts)


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = ["<tr>" + "".join(f'<td style="text-align:left">{escape(text)}</td>' for text in row) + "</tr>"
             for row in rows]
    return f"<table>{''.join(lines)}</table>"


def _coloured(source: str) -> str:
    """The text coloured by Pygments; plain text if Pygments or its lexer for vlang is not installed."""
    try:
        from pygments import highlight  # optional
        from pygments.formatters import HtmlFormatter  # optional
        from pygments.lexers import get_lexer_by_name  # optional
        from pygments.util import ClassNotFound  # optional
    except ImportError:
        return f"<pre>{escape(source)}</pre>"
    try:
        lexer: Any = get_lexer_by_name("vp")
    except ClassNotFound:  # vlang runs from a source tree that is not installed
        return f"<pre>{escape(source)}</pre>"
    text: str = highlight(source, lexer, HtmlFormatter(noclasses=True))
    return text

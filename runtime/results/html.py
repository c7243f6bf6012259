"""Formats a result as HTML, for notebooks and pages: the end of the run, the first rows, and a curve of active
vertices.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from vlang.errors import plural

if TYPE_CHECKING:
    from vlang.runtime.engine.trace import Round
    from vlang.runtime.results.result import Result

__all__ = ["result_html", "sparkline", "table_html"]

_ROWS = 10
_WIDE, _HIGH = 160, 24  # pixels of a sparkline
_POINTS = 160
_LONGEST = 80  # characters of a cell


def result_html(result: Result) -> str:
    """Return HTML with the end of the run, a curve of active vertices, warnings, globals, and rows of `result.top()`.
    """
    head = f"<b>{escape(result.program)}</b>: {plural(len(result), 'vertex', 'vertices')}, " \
           f"{plural(result.rounds, 'round')}, " \
           f"{'converged' if result.converged else '<b>not converged</b>'}: {escape(result.reason)}"
    parts = [f"<div>{head}</div>", _run(result)]
    parts += [f"<div>warning: {escape(text)}</div>" for text in result.warnings]
    parts += [f"<div>{escape(name)} = {escape(text)}</div>" for name, text in result.global_texts().items()]
    if result.fields and len(result):
        rows = result.top(_ROWS)
        parts.append(table_html(list(rows[0]) if rows else [], [list(row.values()) for row in rows]))
        if len(result) > len(rows):
            parts.append(f"<div>the first {len(rows)} of {len(result):,} vertices</div>")
    return "\n".join(parts)


def _run(result: Result) -> str:
    """The curve of active vertices, and a line with time, edges and device of the run."""
    said = f"{result.seconds:.3g} s, {result.edges:,} edges traversed, {result.device}"
    return f"<div>{sparkline(result.history)} {said}</div>" if len(result.history) > 1 else f"<div>{said}</div>"


def sparkline(history: Sequence[Round]) -> str:
    """The number of active vertices after each round as an SVG curve. If there are many rounds, the curve shows the
    maximum of each group of rounds.
    """
    every = -(-len(history) // _POINTS)
    values = [max(one.active for one in history[first : first + every]) for first in range(0, len(history), every)]
    most = max(values, default=0) or 1
    step = _WIDE / max(1, len(values) - 1)
    points = " ".join(f"{i * step:.1f},{_HIGH - 1 - (_HIGH - 3) * value / most:.1f}" for i, value in enumerate(values))
    title = f"active vertices: at most {max((one.active for one in history), default=0):,}"
    return f'<svg width="{_WIDE}" height="{_HIGH}" role="img" aria-label="{title}" style="vertical-align:middle">' \
           f'<title>{title}</title><polyline points="{points}" fill="none" stroke="#2f6fb0" stroke-width="1.5"/></svg>'


def table_html(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """An HTML table. All texts are escaped, so that browsers do not read ids and names as markup."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = ["<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return "none"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")

"""The tables of the ablations: cells, findings compared with the figures of a paper, and their text in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.cpu.report import table

__all__ = ["Finding", "Table", "compared", "markdown"]


@dataclass(frozen=True)
class Finding:
    """A figure of a paper, and the figure that was measured on this machine.

    Attributes:
        what: the quantity.
        paper: the figure of the paper, with its place.
        here: the figure of this machine.
        differs: a sentence with the reason why the two figures differ; "" if they agree.
    """

    what: str
    paper: str
    here: str
    differs: str = ""


@dataclass(frozen=True)
class Table:
    """The measurements of one ablation.

    Attributes:
        title: what is varied, and the unit of the cells.
        columns: the choices.
        rows: for each row its name and its cells; None for a cell that could not be measured.
        findings: comparisons with the paper.
        problems: the errors of cells, each with the row and the column.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float | None]]]
    findings: Sequence[Finding] = ()
    problems: Sequence[str] = field(default=())


def compared(what: str, paper: str, reported: tuple[float, float], here: float, why: str) -> Finding:
    """Return a finding about a ratio. The ratio agrees with the paper if it is within the reported range, widened by a
    quarter.

    Args:
        what: the quantity.
        paper: the figure of the paper as text.
        reported: the least and the largest ratio that the paper reports.
        here: the ratio on this machine.
        why: a sentence with the reason why the ratios differ; ignored if they agree.
    """
    agree = reported[0] / 1.25 <= here <= reported[1] * 1.25
    return Finding(what, paper, f"{here:.3g} x", "" if agree else why)


def markdown(one: Table) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield f"**{one.title}**"
    yield ""
    shown = [(name, *("-" if cell is None else f"{cell:.3g}" for cell in cells)) for name, cells in one.rows]
    yield table(("", *one.columns), shown, (0,)).rstrip("\n")
    yield ""
    if one.findings:
        rows = [(f.what, f.paper, f.here, f.differs) for f in one.findings]
        yield table(("", "paper", "here", "why they differ"), rows, (0, 1, 2, 3)).rstrip("\n")
        yield ""
    for problem in one.problems:
        yield f"- not measured: {problem}"
    if one.problems:
        yield ""

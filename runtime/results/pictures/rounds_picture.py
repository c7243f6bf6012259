"""The picture of a run: active vertices, edges and seconds of every round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.engine.trace import Round
from vlang.runtime.results.pictures.picture import Picture, drawing, logarithmic, new_figure

__all__ = ["plot_rounds"]

_MOST = 1200  # rounds that are drawn one by one
_COLOURS = ("#2f6fb0", "#d9822b", "#3f9b57", "#8b5fbf", "#b54848", "#777777")


def plot_rounds(rounds: Sequence[Round]) -> Picture:
    """See `Rounds.plot`."""
    every = -(-len(rounds) // _MOST) or 1
    shown = rounds[::every]
    at = np.arange(len(rounds))[::every] + 1
    modes = list(dict.fromkeys(one.mode for one in rounds))
    colours = {mode: _COLOURS[min(number, len(_COLOURS) - 1)] for number, mode in enumerate(modes)}
    title = f"{len(rounds):,} round{'s' * (len(rounds) != 1)}"
    with drawing():
        figure = new_figure(7.0, 5.4)
        panels = figure.subplots(3, sharex=True)
        columns = (("active vertices", [one.active for one in shown]), ("edges", [one.edges for one in shown]),
                   ("seconds", [one.seconds for one in shown]))
        for axes, (label, column) in zip(panels, columns):
            _panel(axes, at, np.asarray(column, np.float64), label, [colours[one.mode] for one in shown], every)
            for first in _starts(rounds):
                axes.axvline(first + 0.5, color="#999999", linewidth=0.8, linestyle=":")
        panels[-1].set_xlabel("round" if every == 1 else f"round (every {every}th is drawn)")
        panels[-1].xaxis.get_major_locator().set_params(integer=True)
        from matplotlib.lines import Line2D  # optional

        marks = [Line2D([], [], marker="s", linestyle="", color=colours[mode], label=mode) for mode in modes]
        panels[0].legend(handles=marks, ncols=len(modes), loc="lower right", bbox_to_anchor=(1, 1), borderpad=0,
                         handletextpad=0.2)
        panels[0].set_title(title)
    return Picture(figure, title)


def _panel(axes: Any, at: NDArray[np.int64], values: NDArray[np.float64], label: str, colours: Sequence[str],
           every: int) -> None:
    """Draw one bar per round. The scale is logarithmic if values differ by more than a factor of 100."""
    axes.bar(at, values, width=0.85 * every if len(at) < 300 else float(every), color=colours, linewidth=0)
    axes.set_ylabel(label)
    axes.grid(axis="x", visible=False)
    positive = values[values > 0]
    if len(positive) and positive.max() > 100 * positive.min():
        axes.set_yscale("log")
        logarithmic(axes.yaxis)


def _starts(rounds: Sequence[Round]) -> list[int]:
    """The indices of the rounds that begin another loop than the previous round; [] if there are many such rounds."""
    found = [i for i in range(1, len(rounds)) if rounds[i].loop != rounds[i - 1].loop]
    return found if len(found) <= 20 else []

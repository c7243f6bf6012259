"""The picture of a field: a histogram, a rank plot, bars, a map on coordinates, or a drawing of a small graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import BindError
from vlang.records import dataclass
from vlang.runtime.results.pictures.layout import force_layout
from vlang.runtime.results.pictures.picture import Picture, drawing, logarithmic, new_figure

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.results.result import Result

__all__ = ["KINDS", "plot_result"]

KINDS = ("auto", "bars", "graph", "histogram", "map", "rank")
"""The kinds of pictures."""

BLUE, GREY = "#2f6fb0", "#c9c9c9"
_MOST_DRAWN = 400  # maximum number of vertices of a drawing
_AUTO_DRAWN = 60  # up to this number of vertices, a drawing is the default picture
_LABELLED = 60
_MOST_BARS = 40
_MOST_EDGES = 20_000  # maximum number of edges on a map
_SKEWED = 20  # a rank plot is drawn if the largest value divided by the median is at least this ratio
_POINTS = 2000
_COLOURS = 10  # maximum number of groups with a colour of their own
_XY = (("x", "y"), ("lon", "lat"), ("longitude", "latitude"))


@dataclass(frozen=True)
class _Values:
    """The values of a field.

    Attributes:
        label: the name of the field, with the component of a vector.
        raw: shape [rows], as stored; numbers of vertices for the type `vertex`.
        proper: bool[rows], whether a value is final and none of `inf`, `-inf`, `none` and NaN.
        type: the type in the program.
    """

    label: str
    raw: NDArray[Any]
    proper: NDArray[np.bool_]
    type: str

    @property
    def groups(self) -> bool:
        """Return whether equal values mean membership in the same group, so that the order of values has no meaning."""
        return self.type in ("vertex", "bool")

    @property
    def numbers(self) -> NDArray[Any]:
        """The values of the rows that are proper."""
        return self.raw[self.proper]


def plot_result(result: Result, by: str | None, kind: str) -> Picture:
    """See `Result.plot`."""
    if kind not in KINDS:
        raise BindError(f"kind={kind!r}: write one of {', '.join(map(repr, KINDS))}")
    values = _values(result, by)
    place = _coordinates(result) if kind in ("auto", "map") else None
    chosen = _chosen(values, place is not None, result) if kind == "auto" else kind
    graph = result.graph
    title = f"{result.program}: {values.label} of {len(result):,} vertices"
    names = partial(_name, values, result)
    with drawing():
        figure = new_figure(7.0, 5.6 if chosen in ("graph", "map") else 4.0)
        axes = figure.subplots()
        if chosen == "map":
            if place is None:
                raise BindError("a map needs coordinates: fields or columns of the vertex table with the names x and y")
            _draw(figure, axes, values, place, _edges(graph, _MOST_EDGES), (), names)
        elif chosen == "graph":
            _graph(figure, axes, values, graph, result)
        else:
            {"bars": _bars, "histogram": _histogram, "rank": _rank}[chosen](axes, values, result)
        left_out = len(values.raw) - int(values.proper.sum())
        axes.set_title(title + (f"; {left_out:,} without a value" if left_out else ""))
    return Picture(figure, title)


def _values(result: Result, by: str | None) -> _Values:
    """The values of the field `by`, or by default of the first field whose type is not `vertex`.

    `x.1` is the second component of a vector x.
    """
    if not result.fields:
        raise BindError(f"{result.program} gives no values per vertex; result.history.plot() shows the run")
    types = result.types
    name = str(by) if by is not None else next((f for f in result.fields if types[f] != "vertex"), result.fields[0])
    base, _, component = name.partition(".")
    if base not in result.fields or (component and not component.isdigit()):
        raise BindError(f"{result.program} has no field `{name}`; it has {', '.join(result.fields)}")
    scalar, _, size = types[base].partition("[")  # of a vector; a time has its unit there
    parts = int(size[:-1]) if size[:-1].isdigit() else 0
    raw = result.stored(base)
    raw = raw.view({"bool": np.bool_, "f16": np.float16}.get(scalar, raw.dtype))
    raw = raw.reshape(len(result), max(1, parts))
    if int(component or 0) >= max(1, raw.shape[1]):
        raise BindError(f"`{base}` has {raw.shape[1]} components, from {base}.0 to {base}.{raw.shape[1] - 1}")
    label = f"{base}.{int(component or 0)}" if parts else base
    column = raw[:, int(component or 0)]
    proper = result.reached(base).copy()
    if column.dtype.kind == "f":
        proper &= ~np.isnan(column)
    return _Values(label, column, proper if result.final is None else proper & result.final, scalar)


def _chosen(values: _Values, placed: bool, result: Result) -> str:
    """The kind of picture that suits the values."""
    if placed:
        return "map"
    if result.graph is not None and 0 < len(result) <= _AUTO_DRAWN:
        return "graph"
    found = values.numbers
    if values.type == "bool":
        return "bars"
    if values.type == "vertex":
        return "rank"
    if found.dtype.kind in "iu" and len(found) > 0 and int(found.max()) - int(found.min()) < _MOST_BARS:
        return "bars"
    middle = float(np.median(found)) if len(found) else 0.0
    skewed = middle > 0 and float(found.min()) >= 0 and float(found.max()) >= _SKEWED * middle
    return "rank" if skewed else "histogram"


# ------------------------------------------------------------------------------------------------ distributions


def _histogram(axes: Any, values: _Values, result: Result) -> None:
    _refuse_groups(values, "histogram")
    numbers = values.numbers.astype(np.float64)
    bins = min(60, max(8, round(len(numbers) ** 0.5)))
    if values.raw.dtype.kind in "iu" and len(numbers) and np.ptp(numbers) < bins:
        bins = np.arange(numbers.min() - 0.5, numbers.max() + 1)
    axes.hist(numbers, bins=bins, color=BLUE, edgecolor="white", linewidth=0.4)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel(values.label)
    axes.set_ylabel("vertices")


def _rank(axes: Any, values: _Values, result: Result) -> None:
    """Plot the values in decreasing order, or the sizes of groups.

    Both axes of the plot are logarithmic if the values are positive.
    """
    numbers = values.numbers
    if values.groups:
        numbers = np.unique(numbers, return_counts=True)[1]
    ordered = np.sort(numbers.astype(np.float64))[::-1]
    ranks = np.arange(1, len(ordered) + 1)
    if len(ordered) > _POINTS:
        at = np.unique(np.geomspace(1, len(ordered), _POINTS).astype(np.int64)) - 1
        ordered, ranks = ordered[at], ranks[at]
    axes.plot(ranks, ordered, color=BLUE, marker="o" if len(ranks) <= _LABELLED else ".", markersize=3.5, linewidth=1)
    if len(ordered) and ordered[-1] >= 0 and ordered[0] > 0:
        axes.set_xscale("log")
        axes.set_yscale("symlog" if ordered[-1] == 0 else "log", **(
            {"linthresh": float(ordered[ordered > 0].min())} if ordered[-1] == 0 else {}))
        logarithmic(axes.xaxis)
        logarithmic(axes.yaxis)
    axes.set_xlabel("vertices by value" if not values.groups else "groups by size")
    axes.set_ylabel(f"vertices with the same {values.label}" if values.groups else values.label)


def _bars(axes: Any, values: _Values, result: Result) -> None:
    """The number of vertices with each value, or with the most frequent values."""
    found, counts = np.unique(values.numbers, return_counts=True)
    first = np.sort(np.argsort(-counts, kind="stable")[:_MOST_BARS])
    names = [_name(values, result, value) for value in found[first]]
    axes.bar(range(len(first)), counts[first], color=BLUE, width=0.8)
    if len(counts) and counts.max() > 100 * counts.min():
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.5)
        logarithmic(axes.yaxis)
    axes.set_xticks(range(len(first)), names, rotation=90 if max(map(len, names), default=0) > 4 else 0)
    axes.grid(axis="x", visible=False)
    more = f" (the {_MOST_BARS} most frequent of {len(found):,})" if len(found) > _MOST_BARS else ""
    axes.set_xlabel(values.label + more)
    axes.set_ylabel("vertices")


def _name(values: _Values, result: Result, value: Any) -> str:
    if values.type == "vertex":
        return str(result.ids[int(value)])
    return ("false", "true")[int(value)] if values.type == "bool" else str(value)


def _refuse_groups(values: _Values, kind: str) -> None:
    if values.groups:
        raise BindError(f"a {kind} orders values, and those of `{values.label}` ({values.type}) have no order; write "
                        "kind='bars' or 'rank'")


# ------------------------------------------------------------------------------------------------ vertices in a plane


def _coordinates(result: Result) -> NDArray[np.float64] | None:
    """The coordinates of the vertices, float64[n, 2], from fields or columns of the vertex table; else None."""
    table = None if result.graph is None else result.graph.vertex_columns
    for names in _XY:
        if all(name in result.fields and "[" not in result.types[name] and result.types[name][0] in "iuf"
               for name in names):
            columns = [result.stored(name) for name in names]
        elif table is not None and result.graph is not None and set(names) <= set(table.names):
            columns = [table.joined(name, result.graph.ids)[0] for name in names]
        else:
            continue
        if all(column.dtype.kind in "iuf" for column in columns):
            return np.stack([column.astype(np.float64) for column in columns], axis=1)
    return None


def _edges(graph: Graph | None, most: int) -> NDArray[np.int64]:
    """The ends of all edges, int64[m, 2]; an empty array if there are more than `most` edges, or if the edges are not
    in memory.
    """
    if graph is None or graph.m > 2 * most or graph.in_memory.stored is not None:
        return np.zeros((0, 2), np.int64)
    edges = graph.in_memory.plain().edges()
    ends = np.stack([np.asarray(edges.src, np.int64), np.asarray(edges.dst, np.int64)], axis=1)
    return ends if len(ends) <= most else ends[:0]


def _graph(figure: Any, axes: Any, values: _Values, graph: Graph | None, result: Result) -> None:
    if graph is None or len(result) > _MOST_DRAWN:
        why = "the result does not know its graph" if graph is None else f"{len(result):,} are too many"
        raise BindError(f"a drawing needs a graph of at most {_MOST_DRAWN} vertices, and {why}; write kind='rank'")
    ends = _edges(graph, _MOST_EDGES)
    place = force_layout(len(result), ends[:, 0], ends[:, 1])
    labels = [str(one) for one in result.ids] if len(result) <= _LABELLED else ()
    _draw(figure, axes, values, place, ends, labels, partial(_name, values, result))
    axes.set_axis_off()
    axes.margins(0.08)


def _draw(figure: Any, axes: Any, values: _Values, place: NDArray[np.float64], ends: NDArray[np.int64],
          labels: Sequence[str], names: Callable[[Any], str]) -> None:
    """Draw edges as lines, and vertices as points: coloured by value, or grey if they have no value.

    Args:
        figure, axes: where to draw.
        values: the values.
        place: float64[n, 2].
        ends: int64[m, 2].
        labels: the text of each vertex; () for none.
        names: the text of a value, for the legend of groups.
    """
    from matplotlib.collections import LineCollection  # optional

    axes.add_collection(LineCollection(list(place[ends]), colors="#bbbbbb", linewidths=0.7, zorder=1,
                                       rasterized=len(ends) > 2000))
    n = len(place)
    size = 230.0 if labels else float(np.clip(2e4 / max(n, 1), 1.5, 60))
    edge = {"edgecolors": "white", "linewidths": 0.8 if labels else 0.0, "zorder": 2, "rasterized": n > 5000}
    axes.scatter(*place[~values.proper].T, s=size, color=GREY, **edge)
    shown = place[values.proper]
    if values.groups and len(values.numbers):
        _coloured_groups(axes, values, shown, size, edge, names)
    elif len(values.numbers):
        points = axes.scatter(*shown.T, s=size, c=values.numbers.astype(np.float64), cmap="viridis_r", **edge)
        figure.colorbar(points, ax=axes, label=values.label, shrink=0.8, pad=0.02)
    middle = float(np.mean([values.numbers.min(), values.numbers.max()])) if len(values.numbers) else 0.0
    for text, at, value, proper in zip(labels, place, values.raw, values.proper):
        dark = proper and (values.groups or value > middle)
        axes.annotate(text, at, ha="center", va="center", fontsize=7 if len(text) <= 3 else 5.5, zorder=3,
                      color="white" if dark else "#222222")
    axes.set_aspect("equal", adjustable="datalim")
    axes.grid(visible=False)


def _coloured_groups(axes: Any, values: _Values, shown: NDArray[np.float64], size: float, edge: dict[str, Any],
                     names: Callable[[Any], str]) -> None:
    """One colour for each of the largest groups, which the legend lists; the other groups are dark grey."""
    from matplotlib.lines import Line2D  # optional

    found, inverse, counts = np.unique(values.numbers, return_inverse=True, return_counts=True)
    largest = np.argsort(-counts, kind="stable")[:_COLOURS]
    colours = np.full(len(found), "#777777", dtype=object)
    colours[largest] = [f"C{number}" for number in range(len(largest))]
    axes.scatter(*shown.T, s=size, c=list(colours[inverse]), **edge)
    labels = {at: f"{names(found[at])}: {counts[at]:,} vertices" for at in largest}
    marks = [Line2D([], [], marker="o", linestyle="", color=colours[at], label=label) for at, label in labels.items()]
    axes.legend(handles=marks, title=values.label, loc="center left", bbox_to_anchor=(1, 0.5))

"""Values with labels (a pandas Series or DataFrame, a dict) in the order of a graph's vertices.

pandas is never imported: a value with `to_numpy` and an `index` that is not a method counts as a Series or DataFrame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import BindError, GraphError
from vlang.runtime.graph.edges.given import refuse_masked, refuse_unordered
from vlang.runtime.graph.edges.naming import located

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["aligned", "in_vertex_order"]

_SHOWN = 5

Array = NDArray[Any]


def in_vertex_order(name: str, graph: Graph, value: Any, vector: bool) -> Array:
    """Convert an argument to an array with one row per vertex. A value without labels keeps its order.

    Labels are vertex ids. Raises BindError unless the labels are exactly the graph's ids, each once. A default index
    (0, 1, 2, ...) on a graph with other ids is an error too, since the values may be in the order of vertices.

    Args:
        name: The field, for messages.
        graph: The graph of the run.
        value: An array-like value, or a dict, pandas Series or pandas DataFrame with vertex ids as labels.
        vector: Whether the field holds vectors. For a scalar field, a DataFrame with one column gives an array of shape
            [n].
    """
    if isinstance(value, Mapping):
        return _ordered(name, graph, _labels(list(value)), _array(name, list(value.values())))
    if getattr(value, "indexes", None):  # xarray
        raise BindError(f"`{name}` is a {type(value).__name__} with named coordinates: pass its to_series() where they "
                        "are vertex ids, or its values if they are in the order of graph.ids")
    index = getattr(value, "index", None)
    if index is None or callable(index) or not hasattr(value, "to_numpy"):
        return _array(name, value)
    if _default(index) and not (graph.ids.consecutive and graph.ids.base == 0):
        raise BindError(f"`{name}` is a {type(value).__name__} with the default index 0, 1, 2, ..., and the graph has "
                        f"other ids. Pass {name}.to_numpy() if the values are in the order of graph.ids, or set "
                        "the index to the vertex ids")
    rows = _array(name, value.to_numpy())
    if rows.ndim == 2 and rows.shape[1] == 1 and not vector:
        rows = rows[:, 0]
    return _ordered(name, graph, _labels(index), rows)


def aligned(name: str, graph: Graph, value: Any) -> Array:
    """`in_vertex_order` for a method of a graph, which raises GraphError."""
    try:
        return in_vertex_order(name, graph, value, False)
    except BindError as error:
        raise GraphError(str(error)) from None


def _default(index: Any) -> bool:
    """Return whether an index is the default index of pandas, 0, 1, 2, ...."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _array(name: str, values: Any) -> Array:
    """Values as an array. A list of rows of different lengths becomes an array of objects.

    Raises GraphError for masked values, for a set and for an iterator.
    """
    refuse_masked(f"`{name}`", values)
    refuse_unordered(f"`{name}`", values)
    try:
        return np.asarray(values)
    except ValueError:
        return _objects(list(values))


def _objects(values: Sequence[Any]) -> Array:
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def _labels(labels: Any) -> Array:
    """Return the labels as integers if all labels are integers, else as objects."""
    if isinstance(labels, list):
        integral = all(isinstance(label, (int, np.integer)) and not isinstance(label, bool) for label in labels)
        found = np.asarray(labels) if integral and labels else _objects(labels)
    else:
        found = np.asarray(labels)
    return found if found.dtype.kind in "iu" else _objects(list(labels))


def _ordered(name: str, graph: Graph, labels: Array, rows: Array) -> Array:
    """The rows in the order of vertices.

    Raises BindError unless each vertex has exactly one row.

    Args:
        labels: the vertex id of each row.
    """
    ranks, known = located(graph.ids, labels)
    counts = np.bincount(ranks[known], minlength=graph.n)
    unknown = labels[~known].tolist()
    missing, repeated = (np.flatnonzero(found) for found in (counts == 0, counts > 1))
    wrong = []
    if unknown:
        what = "value for an id that is" if len(unknown) == 1 else "values for ids that are"
        wrong.append(f"has {len(unknown):,} {what} not in the graph: {_listed(unknown)}")
    if len(repeated):
        wrong.append(f"has more than one value for {_vertices(graph, repeated)}")
    if len(missing):
        wrong.append(f"has no value for {_vertices(graph, missing)}")
    if wrong:
        raise BindError(f"`{name}` {', and '.join(wrong)}")
    order = np.empty(graph.n, dtype=np.int64)
    order[ranks] = np.arange(graph.n)
    return rows[order]


def _vertices(graph: Graph, found: NDArray[np.intp]) -> str:
    """Return a text with the count of the given vertices (dense numbers) and the ids of the first vertices."""
    count = f"{len(found):,} {'vertex' if len(found) == 1 else 'vertices'}"
    return f"{count} of the graph: {_listed([graph.label(i) for i in found[: _SHOWN + 1].tolist()])}"


def _listed(ids: Sequence[Any]) -> str:
    return ", ".join(map(repr, ids[:_SHOWN])) + (", ..." if len(ids) > _SHOWN else "")

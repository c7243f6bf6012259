"""Tests of the kind of an argument. The message for a wrong argument says what to write instead."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vlang.errors import BindError

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["check_precision", "checked_graph", "shown"]


def checked_graph(graph: object, name: str) -> Graph:
    """Return the argument if it is a Graph. Raises BindError for any other argument."""
    from vlang.runtime.graph.graph import Graph  # start-up

    if not isinstance(graph, Graph):
        file = str(graph) if isinstance(graph, (str, Path)) else "FILE"
        raise BindError(f"{name} runs on a vlang.Graph, not on {shown(graph)}; write "
                        f"{name}(vlang.Graph.read({file!r}), ...)")
    return graph


def shown(value: object) -> str:
    """Return a value as text for a message; if the text is long, return only the name of the type."""
    text = repr(value)
    return text if len(text) <= 40 else f"a {type(value).__name__}"


def check_precision(precision: object) -> None:
    """Raise BindError unless the precision is 32 or 64."""
    if isinstance(precision, bool) or precision not in (32, 64):
        raise BindError(f"precision is 32 or 64 bits, not {precision!r}")

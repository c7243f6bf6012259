"""The object behind the entry point `networkx.backends`.

The object has the functions of the table, and decides which calls to run.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from inspect import Signature, signature
from typing import Any

import networkx

from vlang.interop.networkx.table import CALL, FUNCTIONS, LINEAR, SEARCH

__all__ = ["Backend", "backend"]

_KINDS = (networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph)
_MEANING = ("__getitem__", "__iter__", "__len__", "__contains__", "adjacency", "neighbors", "is_directed",
            "is_multigraph")
"""Methods that say what a graph is; a subclass that has its own is not what its arrays say."""

_LEAST = {LINEAR: None, SEARCH: 100_000, CALL: 10_000}
"""The edges from which a call pays with its conversion, an undirected one in both directions; None: it never does.

Rounded up from `benchmarks/cpu/networkx_backend.py`.
"""
_LEAST_CACHED = {LINEAR: 50_000, SEARCH: 10_000, CALL: 2_000}
"""The same with a graph that is converted already."""


class Backend:
    """The backend object that NetworkX calls. Each function is an attribute of this object, and is loaded when it is
    first used.
    """

    def __getattr__(self, name: str) -> Any:
        row = FUNCTIONS.get(name)
        if row is None:
            raise AttributeError(name)
        found = getattr(import_module(f"vlang.interop.networkx.{row.home}"), name)
        self.__dict__[name] = found
        return found

    def convert_from_nx(self, graph: Any, **asked: Any) -> Any:
        """See `vlang.interop.networkx.converted.convert_from_nx`."""
        from vlang.interop.networkx.converted import convert_from_nx  # start-up: it loads NumPy

        return convert_from_nx(graph, **asked)

    def convert_to_nx(self, found: Any, **asked: Any) -> Any:
        """See `vlang.interop.networkx.converted.convert_to_nx`."""
        from vlang.interop.networkx.converted import convert_to_nx  # start-up: it loads NumPy

        return convert_to_nx(found, **asked)

    def can_run(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
        """Return True if this backend gives the result of NetworkX for a call, otherwise the reason why it does not."""
        try:
            bound = _signature(name).bind(*args, **kwargs)
        except TypeError:
            return "the arguments do not fit the function"
        bound.apply_defaults()
        graph = bound.arguments["G"]
        if not _plain(graph):
            return f"a {type(graph).__name__} may have neighbours of its own"
        for condition in FUNCTIONS[name].unless:
            if condition.holds(bound.arguments):
                return condition.reason
        return True

    def should_run(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
        """Return True if a call is probably faster with this backend than with NetworkX, otherwise the reason why it is
        not.
        """
        graph = _signature(name).bind(*args, **kwargs).arguments["G"]
        work = FUNCTIONS[name].work
        converted = bool((getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}).get("vlang"))
        least = (_LEAST_CACHED if converted else _LEAST)[work]
        if least is None:
            return "converting the graph takes longer than the call; it is done for a graph that is converted already"
        edges = sum(map(len, graph._adj.values()))
        return True if edges >= least else f"NetworkX is faster on fewer than {least} edges"


@cache
def _signature(name: str) -> Signature:
    return signature(networkx.utils.backends._registered_algorithms[name].orig_func)


def _plain(graph: Any) -> bool:
    """Return whether a graph behaves as one of the four graph classes of NetworkX. The result is true for every
    converted graph.
    """
    kind = type(graph)
    if getattr(kind, "__networkx_backend__", "") == "vlang" or kind in _KINDS:
        return True
    base = next((base for base in reversed(_KINDS) if issubclass(kind, base)), None)
    return base is not None and all(getattr(kind, name) is getattr(base, name) for name in _MEANING)


backend = Backend()

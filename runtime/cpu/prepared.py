"""Remembers which runs have been checked and have loaded their kernels, so that repeated calls skip both steps.

A run is known by its plan, graph and options. On a graph of some thousand edges, the checks and the look-ups of kernels
take as long as the supersteps.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from vlang.options import Options
from vlang.runtime.plan.plan import Plan

if TYPE_CHECKING:
    from vlang.runtime.compile.objects import Kernels
    from vlang.runtime.graph.graph import Graph

__all__ = ["is_prepared", "remember"]

_MOST = 64
_known: dict[tuple[int, int, type], tuple[weakref.ref[Graph], Plan, Options, Kernels]] = {}  # by ids; values hold plans


def is_prepared(plan: Plan, graph: Graph, options: Options, kernels: Kernels, machine: type) -> bool:
    """Return whether the last run of a plan on a graph by a kind of machine had these options and these kernels.

    Args:
        plan: the plan of the run.
        graph: its graph.
        options: its options.
        kernels: the loaded kernels of the plan.
        machine: the class of the machine.
    """
    known = _known.get((id(plan), id(graph), machine))
    return known is not None and known[0]() is graph and known[1] is plan and known[3] is kernels and \
        known[2] == options


def remember(plan: Plan, graph: Graph, options: Options, kernels: Kernels, machine: type) -> None:
    """Record that a run has been checked and has loaded its kernels; arguments as for `is_prepared`."""
    if len(_known) >= _MOST:
        _known.clear()
    _known[id(plan), id(graph), machine] = weakref.ref(graph), plan, options, kernels

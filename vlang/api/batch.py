"""`Program.map`: runs of one program with many values of its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vlang.errors import BindError, VlangError

if TYPE_CHECKING:
    from vlang.api.calls import Call
    from vlang.api.program import Program
    from vlang.options import Options
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.results.result import Result

__all__ = ["mapped"]


def mapped(
    program: Program, graph: Graph | None, options: Options | Mapping[str, Any] | None, arguments: dict[str, Any]
) -> Iterator[Result]:
    """See `Program.map`. The arguments are checked immediately; each run starts when its result is requested.

    Args:
        program: the program.
        graph: the graph of all runs.
        options: the options of all runs.
        arguments: the keywords of the call.

    Raises:
        BindError: no parameter has a list of values, or the lists have different lengths.
    """
    arguments = {name: list(value) if isinstance(value, Iterator) else value for name, value in arguments.items()}
    levels = {p.name: 1 if p.type == "vertices" else p.type.count(",") + 1 if "[" in p.type else 0
              for p in program.params}
    series = {name: list(value) for name, value in arguments.items()
              if name in levels and _depth(value) > levels[name]}
    if not series:
        program.bound(graph, options, arguments)  # another mistake, such as an unknown name, has a message of its own
        lists = [name for name in levels if levels[name] and name in arguments and _depth(arguments[name])]
        known = ", ".join(f"`{name}`" for name in levels) or "none"
        why = f"the parameters are: {known}" if not lists else \
            f"`{lists[0]}` takes a list itself: {lists[0]}=[[...], [...]]"
        raise BindError(f"{program.name}.map runs once for each value of a list, and no parameter is given as a list "
                        f"of values; {why}")
    lengths = {name: len(values) for name, values in series.items()}
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"`{name}` has {length:,}" for name, length in lengths.items())
        raise BindError(f"{program.name}.map takes the values of several lists together, so these need the same "
                        f"length: {sizes}")
    shared = {name: value for name, value in arguments.items() if name not in series}
    rows = zip(*series.values())
    return _runs(program, graph, options, ({**shared, **dict(zip(series, row))} for row in rows))


def _runs(
    program: Program, graph: Graph | None, options: Options | Mapping[str, Any] | None, rows: Iterable[dict[str, Any]]
) -> Iterator[Result]:
    """Yield the results of the calls with these arguments, in order. If possible, runs share their reads of the edges.
    """
    from vlang.api.running.together import most_together  # start-up

    group: list[tuple[Program, Call]] = []
    most = 0
    for row in rows:
        try:
            bound = program.bound(graph, options, row)
        except VlangError:
            yield from _together(group)  # the results before the call that is wrong
            raise
        if group and (bound[0] is not group[0][0] or len(group) == most):
            yield from _together(group)
            group = []
        most = most if group else most_together(*bound)
        group.append(bound)
    yield from _together(group)


def _together(group: Sequence[tuple[Program, Call]]) -> Iterator[Result]:
    """Run bound calls of one program."""
    if not group:
        return
    from vlang.api.running.together import alone, alone_because, on_one_gpu, run_together  # start-up

    program, calls = group[0][0], [call for _, call in group]
    if on_one_gpu(calls[0].options):
        from vlang.api.running.together_on_gpu import alone_on_gpu_because, run_together_on_gpu  # start-up

        reason, run = alone_on_gpu_because(program, calls), run_together_on_gpu
    else:
        reason, run = alone_because(program, calls), run_together
    yield from alone(program, calls, reason) if reason else run(program, calls)


def _depth(value: Any) -> int:
    """Return the nesting depth of lists: 0 for a single value, 1 for a list of values, 2 for a list of lists."""
    if isinstance(value, np.ndarray):
        return value.ndim
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        return 0
    return 1 + max((_depth(part) for part in value), default=0)

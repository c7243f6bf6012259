"""The memory budget of a command: what a run will need, said before anything large is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from vlang.cli.graphs import AS_IT_IS
from vlang.cli.show import note
from vlang.errors import BindError

if TYPE_CHECKING:
    from vlang.api.program import Program

__all__ = ["memory_budget"]


@contextmanager
def memory_budget(
    program: Program, spec: str, reading: Mapping[str, Any], options: Mapping[str, Any], quiet: bool
) -> Iterator[None]:
    """A context for reading a graph and running a program on it, under the budget of the options or the environment.

    Args:
        program: the program.
        spec: the graph, a file or a generator.
        reading: the options for reading it.
        options: the options of the run, by name.
        quiet: whether only warnings are printed.

    Raises:
        OutOfMemory: the need is known before the graph is read, and does not fit; or something did not fit later.
    """
    from vlang.api.bind_options import check_options  # start-up
    from vlang.api.running.memory import check_need, chosen_budget, need_on  # start-up
    from vlang.runtime.graph.edges.ends import Ends  # start-up
    from vlang.runtime.graph.estimate import estimate  # start-up
    from vlang.runtime.storage.ledger import budget  # start-up
    from vlang.runtime.storage.magic import is_page_file  # start-up

    chosen = check_options(options)
    try:
        limit = chosen_budget(chosen)
    except BindError as error:
        raise click.UsageError(str(error)) from None
    with budget(limit):
        if dict(reading) == dict(AS_IT_IS) and is_page_file(spec):  # the run says it, and may stream the edges
            yield
            return
        shape = estimate(spec, reading["directed"], reading["symmetrize"], reading["weights"], chosen.threads,
                         Ends(reading["source_column"], reading["target_column"]), [e.name for e in program.edges])
        if shape is not None and (limit is not None or shape.n + shape.m >= _LARGE):
            columns = frozenset(shape.columns) & {edge.name for edge in program.edges}
            plan = program.plan(columns, precision=chosen.precision, without=chosen.without)
            text = check_need(need_on(plan, shape, chosen), limit, program.name, spec, shape.exact)
            if text and (not quiet or text.startswith("warning")):
                note(text)
        yield


_LARGE = 1 << 24  # vertices and edges from which the need is compared with the free memory before the graph is read

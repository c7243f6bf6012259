"""The options that say how a graph is read; the same for every command that reads one."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vlang.cli.show import note

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["graph_options", "read_graph"]

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--directed/--undirected", "directed", default=None,
                 help="What an edge of the file means; default: as the format says, else directed."),
    click.option("--symmetrize", is_flag=True, help="Add the opposite of every edge."),
    click.option("--weights", metavar="WHAT",
                 help="Where edge weights come from: a column of the file, or LO..HI to make them by a rule."),
    click.option("--self-loops", type=click.Choice(["keep", "drop"]), default="keep", show_default=True,
                 help="Edges from a vertex to itself."),
    click.option("--parallel", type=click.Choice(["keep", "drop"]), default="keep", show_default=True,
                 help="Repeated edges; of them the one with the least first column stays."),
)  # fmt: skip


def graph_options(command: F) -> F:
    """Add the reading options to a command; they arrive as the keyword arguments of `read_graph`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_graph(spec: str, quiet: bool = False, threads: int | None = None, **options: Any) -> Graph:
    """Read a file or generator, and tell on stderr what the reader did."""
    from vlang.runtime.graph.graph import Graph  # start-up

    graph = Graph.read(spec, threads=threads, **options)
    if not quiet:
        said = ". ".join(line.rstrip(".") for line in graph.notes)
        note(textwrap.fill(f"{graph.name}: {said}.", 100, subsequent_indent="  ", break_on_hyphens=False))
    return graph

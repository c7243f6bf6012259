"""`vlang explain PROGRAM [GRAPH]`."""

from __future__ import annotations

from typing import Any

import click

from vlang.cli.graphs import check_reading, graph_options, read_graph
from vlang.cli.values import run_option

__all__ = ["command"]

_STAGES = ("tree", "ir", "facts", "numba", "cuda", "plan")


@click.command()
@click.argument("program")
@click.argument("graph", required=False)
@click.option("--stage", type=click.Choice(_STAGES), default="facts", show_default=True,
              help="The form to show: syntax tree, intermediate representation, what may be done and why, the "
              "generated kernels for CPU (numba) or GPU (cuda), or the plan of a run.")
@click.option("--precision", type=click.Choice(["32", "64"]), default="32", show_default=True,
              help="Bits of `int` and `float`.")
@click.option("--derive", type=click.Choice(["delta"]),
              help="Let loops over linear sums send changes instead of values, where that is allowed (rule D).")
@click.option("--without", callback=run_option, metavar="NAME,...",
              help="Leave optimisations out of the code and the plan; a wrong name lists them.")
@graph_options
def command(
    program: str, graph: str | None, stage: str, precision: str, derive: str | None, without: frozenset[str] | None,
    **reading: Any,
) -> None:
    """Show what the compiler makes of PROGRAM, and why; with a GRAPH, for that graph."""
    from vlang.api.program import load  # start-up

    loaded = load(program, precision=int(precision)).derived(derive)
    check_reading(loaded, reading)
    read = None if graph is None else read_graph(graph, loaded, **reading)
    click.echo(loaded.explain(stage, graph=read, without=without or frozenset()).rstrip("\n"))

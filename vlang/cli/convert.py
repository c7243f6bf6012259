"""`vlang convert GRAPH OUT.npz`."""

from __future__ import annotations

from typing import Any

import click

from vlang.cli.graphs import graph_options, read_graph
from vlang.cli.show import note
from vlang.runtime.storage.output import check_writable

__all__ = ["command"]


@click.command()
@click.argument("graph")
@click.argument("output", metavar="OUT.npz")
@click.option("--threads", type=click.IntRange(1), help="Threads; default: VLANG_THREADS, or all processors.")
@graph_options
def command(graph: str, output: str, threads: int | None, **reading: Any) -> None:
    """Read GRAPH and save it as OUT.npz, with its ids and edge columns. That file loads fast."""
    if not output.endswith(".npz"):
        raise click.UsageError(f"graphs are saved as .npz; write {output.rsplit('.', 1)[0]}.npz")
    check_writable(output)
    read_graph(graph, threads=threads, **reading).save(output)
    note(f"wrote {output}")

"""`vlang explain PROGRAM [GRAPH]`."""

from __future__ import annotations

from typing import Any

import click

from vlang.cli.graphs import check_reading, check_stdin, graph_options, read_graph
from vlang.cli.run_options import RunCommand, run_options
from vlang.cli.show import say

__all__ = ["command"]

_STAGES = ("tree", "ir", "facts", "numba", "cuda", "plan")


@click.command(cls=RunCommand)
@click.argument("program")
@click.argument("graph", required=False)
@click.option("--stage", type=click.Choice(_STAGES), default="facts", show_default=True,
              help="The form to show: syntax tree, intermediate representation, what may be done and why, the "
              "generated kernels for CPU (numba) or GPU (cuda), or the plan of a run.")
@run_options("precision", "derive", "device", "policy", "cluster")
@graph_options
def command(
    program: str, graph: str | None, stage: str, precision: int | None, derive: str | None, device: str | None,
    policy: str | None, cluster: int | str | None, research: dict[str, Any], **reading: Any,
) -> None:
    """Show what the compiler makes of PROGRAM, and why; with a GRAPH, for that graph."""
    if cluster is not None and (graph is None or stage != "plan"):
        raise click.UsageError("--cluster shows the memory of a rank and the bytes of a superstep on a graph: write "
                               f"vlang explain {program} {graph or 'GRAPH'} --stage plan --cluster {cluster}")
    check_stdin(program, graph, reading["vertices"])
    from vlang.api.program import load  # start-up

    loaded = load(program, precision=precision or 32).derived(derive)
    check_reading(loaded, reading)
    read = None if graph is None else read_graph(graph, loaded, **reading)
    from vlang.runtime.policies.policies import device_of  # start-up

    options = {"device": device or device_of(policy or "auto"), "policy": policy, "cluster": cluster,
               "research": research}
    say(loaded.explain(stage, graph=read, **options).rstrip("\n"))

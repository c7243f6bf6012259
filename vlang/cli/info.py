"""`vlang info GRAPH`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from vlang.cli.graphs import graph_options, read_graph
from vlang.cli.show import say

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["command"]


@click.command()
@click.argument("graph")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--threads", type=click.IntRange(1), help="Threads; default: VLANG_THREADS, or all processors.")
@graph_options
def command(graph: str, as_json: bool, threads: int | None, **reading: Any) -> None:
    """Read GRAPH and describe it: vertices, edges, ids, degrees and edge columns."""
    facts = describe(read_graph(graph, threads=threads, **reading))
    if as_json:
        click.echo(json.dumps(facts))
        return
    width = max(map(len, facts)) + 2
    for name, value in facts.items():
        say(f"{name.replace('_', ' ').ljust(width)}{_text(value)}")


def describe(graph: Graph) -> dict[str, Any]:
    """The properties of a graph, in types that JSON has."""
    facts: dict[str, Any] = {
        "vertices": graph.n,
        "edges": graph.m,
        "directed": graph.directed,
        "first_id": None, "last_id": None,
        "largest_out_degree": 0, "largest_in_degree": 0, "isolated_vertices": graph.n,
        "columns": {},
    }  # fmt: skip
    if graph.n:
        values = graph.ids.values
        outward, inward = graph.out_degree, graph.in_degree
        facts["first_id"], facts["last_id"] = values[:1].tolist()[0], values[-1:].tolist()[0]
        facts["largest_out_degree"] = int(outward.max())
        facts["largest_in_degree"] = int(inward.max())
        facts["isolated_vertices"] = int(((outward == 0) & (inward == 0)).sum())
    for name, dtype in graph.columns.items():
        least, largest = graph.column_range(name)
        facts["columns"][name] = {"type": str(dtype), "least": least, "largest": largest}
    return facts


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "; ".join(f"{n}: {c['type']}, {c['least']} to {c['largest']}" for n, c in value.items()) or "none"
    return "none" if value is None else str(value)

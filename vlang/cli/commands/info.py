"""`vlang info GRAPH`. The command does not read the pages of a page file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from vlang.cli.graphs import AS_IT_IS, graph_options, read_graph
from vlang.cli.show import say

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.kinds import Kind
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.storage.page_file.page_file import PageFile

__all__ = ["command"]


@click.command()
@click.argument("graph")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--sums", is_flag=True, help="Read the whole page file GRAPH and check all its sums.")
@click.option("--threads", type=click.IntRange(1), help="Threads; default: VLANG_THREADS, or all processors.")
@graph_options
def command(graph: str, as_json: bool, sums: bool, threads: int | None, **reading: Any) -> None:
    """Describe GRAPH: vertices, edges, ids, degrees and edge columns.

    The command reads the whole graph, but only the header of a page file (.vg).
    """
    unchanged = reading == AS_IT_IS
    if not unchanged and sums:
        raise click.UsageError("--sums checks a page file as it is; leave out the options that change the graph")
    from vlang.runtime.storage.magic import is_page_file  # start-up
    from vlang.runtime.storage.page_file.page_file import PageFile  # start-up

    paged = is_page_file(graph)
    if sums and not paged:
        raise click.UsageError(f"--sums checks page files, and {graph} is none; `vlang convert` writes them")
    if paged and unchanged:
        facts = describe_file(PageFile.open(graph), sums)
    else:
        facts = describe(read_graph(graph, threads=threads, **reading))
    if as_json:
        click.echo(json.dumps(facts))
        return
    width = max(map(len, facts)) + 2
    for name, value in facts.items():
        say(f"{name.replace('_', ' ').ljust(width)}{_text(value)}")


def describe_file(file: PageFile, sums: bool) -> dict[str, Any]:
    """The properties of a page file, as JSON values by name.

    Args:
        sums: whether to read all pages and verify their checksums.
    """
    said = file.description.facts
    names = ("first_id", "last_id", "largest_out_degree", "largest_in_degree", "isolated_vertices")
    facts: dict[str, Any] = {
        "vertices": file.n, "edges": file.m, "directed": file.directed, **{name: said.get(name) for name in names},
        "columns": {name: _column(c.dtype.name, c.least, c.greatest, file.named.get(name))
                    for name, c in file.columns.items()},
        "layout": file.layout, "pages": sum(file.directory(kind).count for kind in file.kinds),
        "page_bytes": file.page_bytes, "file_bytes": file.nbytes, "fingerprint": file.fingerprint.hex(),
        "stripes": [str(path) for path in file.stripes if path != file.path],
    }  # fmt: skip
    if sums:
        facts["right_sums"] = file.check()
    return facts


def describe(graph: Graph) -> dict[str, Any]:
    """The properties of a graph, as JSON values by name."""
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
        facts["columns"][name] = _column(str(dtype), least, largest, graph.kinds.get(name))
    return facts


def _column(dtype: str, least: float, largest: float, kind: Kind | None) -> dict[str, Any]:
    """The properties of an edge column; names and times are texts."""
    if kind is None:
        return {"type": dtype, "least": least, "largest": largest}
    import numpy as np  # start-up

    from vlang.runtime.graph.edges.kinds import Names, named_values  # start-up

    ends = [None if one is None else str(one) for one in named_values(np.array([least, largest], np.int64), kind)]
    count = {"names": len(kind.names)} if isinstance(kind, Names) else {}
    return {"type": str(kind), **count, "least": ends[0], "largest": ends[1]}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, dict):
        return "; ".join(f"{name}: {column['type']}{_names(column)}, {column['least']} to {column['largest']}"
                         for name, column in value.items()) or "none"
    return "none" if value is None else str(value)


def _names(column: dict[str, Any]) -> str:
    return f" of {column['names']:,} names" if "names" in column else ""

"""`vlang convert GRAPH OUT.vg` and `vlang convert GRAPH OUT.npz`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vlang.cli.graphs import graph_options, read_graph
from vlang.cli.show import note
from vlang.runtime.storage.output import check_writable

__all__ = ["command"]


@click.command()
@click.argument("graph")
@click.argument("output", metavar="OUT")
@click.option("--layout", type=click.Choice(["ids", "degree"]), default="ids", show_default=True,
              help="Order of the vertices inside a .vg: by their ids, or by decreasing degree. Ids stay the same.")
@click.option("--disks", metavar="DIR,DIR", help="Spread the pages of a .vg over files in these folders.")
@click.option("--threads", type=click.IntRange(1), help="Threads; default: all processors.")
@graph_options
def command(
    graph: str, output: str, layout: str, disks: str | None, threads: int | None, **reading: Any
) -> None:
    """Read GRAPH and save it as OUT, with its ids and edge columns.

    OUT.vg is a page file: graphs larger than memory are read from it page by page. OUT.npz is a NumPy archive.
    """
    folders = [] if disks is None else [folder.strip() for folder in disks.split(",")]
    if output.endswith(".npz"):
        if folders or layout != "ids":
            raise click.UsageError(f"--disks and --layout are for page files; write {Path(output).stem}.vg")
    elif not output.endswith(".vg"):
        raise click.UsageError(f"graphs are saved as .vg or .npz; write {output.rsplit('.', 1)[0]}.vg")
    if len(set(folders)) != len(folders) or not all(folders):
        raise click.UsageError(f"--disks {disks}: name each folder once, with commas between them")
    check_writable(output)
    for folder in folders:
        check_writable(Path(folder) / Path(output).name)
    read_graph(graph, threads=threads, **reading).save(output, layout=layout, disks=folders)
    note(f"wrote {output}")

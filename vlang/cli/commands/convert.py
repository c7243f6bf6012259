"""`vlang convert GRAPH OUT`: converts a graph to the format that the suffix of OUT names."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click

from vlang.cli.graphs import check_stdin, graph_options, read_graph, report_reading
from vlang.cli.show import note
from vlang.options import parse_size
from vlang.runtime.storage.output import check_writable

__all__ = ["command"]

_TERMINATED = 143  # the exit status that a shell reports after SIGTERM


def _size(_ctx: click.Context, _param: click.Parameter, text: str | None) -> int | None:
    try:
        return None if text is None else parse_size(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.argument("graph")
@click.argument("output", metavar="OUT")
@click.option("--memory", callback=_size, metavar="SIZE",
              help="Memory for writing a .vg: 512M, 8G; default: 80 % of what is free. Edges are kept in temporary "
              "files beside OUT.")
@click.option("--layout", type=click.Choice(["degree", "ids", "hubs"]),
              help="Order of the vertices inside a .vg: by decreasing degree (default), with which traversals from a "
              "disk read less, by their ids, or with hubs first and the others by their ids. Ids stay the same.")
@click.option("--disks", metavar="DIR,DIR", help="Spread the pages of a .vg over files in these folders.")
@click.option("--threads", type=click.IntRange(1), help="Threads; default: VLANG_THREADS, or all processors.")
@graph_options
def command(
    graph: str, output: str, memory: int | None, layout: str | None, disks: str | None, threads: int | None,
    **reading: Any,
) -> None:
    """Read GRAPH and save it as OUT, with its ids and edge columns.

    OUT.vg is a page file; GRAPH may be larger than memory. OUT.npz is a NumPy archive. Other formats are .txt, .csv,
    .tsv, .mtx, .gr (DIMACS), .graph (METIS), .e with a .v (LDBC), .sg and .wsg (GAP), .jsonl, .graphml, .gexf,
    .gml, .net (Pajek), .parquet and .arrow. Texts may end in .gz, .bz2, .xz or .zst. A line says what the format does
    not keep.
    """
    from vlang.runtime.graph.formats.saving import SUFFIXES, writer_of  # start-up

    folders = [] if disks is None else [folder.strip() for folder in disks.split(",")]
    paged = output.endswith(".vg")
    if not paged and not output.endswith(".npz") and writer_of(output) is None:
        raise click.UsageError(f"graphs are saved as .vg, .npz, {', '.join(SUFFIXES)}; write "
                               f"{output.rsplit('.', 1)[0]}.vg")
    if not paged and (folders or layout is not None or memory is not None):
        raise click.UsageError(f"--disks, --layout and --memory are for page files; write {Path(output).stem}.vg")
    if len(set(folders)) != len(folders) or not all(folders):
        raise click.UsageError(f"--disks {disks}: name each folder once, with commas between them")
    check_stdin(graph, reading["vertices"])
    check_writable(output)
    for folder in folders:
        check_writable(Path(folder) / Path(output).name)
    lost: tuple[str, ...] = ()
    if not paged:
        lost = read_graph(graph, threads=threads, **reading).save(output)
    else:
        from vlang.api.running.progress import Progress  # start-up
        from vlang.runtime.convert.convert import convert  # start-up
        from vlang.runtime.convert.need import announced  # start-up
        from vlang.runtime.convert.source import Reading  # start-up

        missing = "error" if reading["missing"] is None else reading["missing"]
        how = Reading(**{**reading, "missing": missing})
        if need := announced(graph, how, memory, layout or "degree", threads):
            note(need)
        with _cleaning_up(), Progress():
            done = convert(graph, Path(output), how, memory=memory, layout=layout or "degree", disks=folders,
                           threads=threads)  # fmt: skip
        report_reading(done.name, done.notes, done.warnings)
    note(f"wrote {output}")
    for sentence in lost:
        note(f"{output}: {sentence}")
    _say_columns(reading["vertices"])


def _say_columns(vertices: str | None) -> None:
    """Print the columns of a table of vertices, which a graph file does not store."""
    from vlang.runtime.graph.vertex_columns import columns_of_vertices  # start-up

    found = columns_of_vertices(vertices)
    if found is not None and found.names:
        first = found.names[0]
        note(f"{found.source}: its ids are stored, and not its columns {', '.join(found.names)}; a run on the file "
             f"takes them by --field {first}={found.source}:{first}")


@contextmanager
def _cleaning_up() -> Iterator[None]:
    """A context manager that makes SIGTERM raise SystemExit, so that unfinished files are removed."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        sys.exit(_TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

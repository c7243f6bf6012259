"""The options for reading a graph, shared by all commands that read a graph."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vlang.cli.show import note
from vlang.errors import ClusterError, GraphError

if TYPE_CHECKING:
    from vlang.api.program import Program
    from vlang.runtime.cluster.transports.transport import Transport
    from vlang.runtime.graph.graph import Graph

__all__ = ["AS_IT_IS", "check_reading", "check_stdin", "graph_options", "read_graph", "report_reading"]

F = TypeVar("F", bound=Callable[..., Any])


def _missing(_ctx: click.Context, _param: click.Parameter, text: str | None) -> Any:
    if text is None:
        return None
    from vlang.runtime.graph.read.asked import parse_missing  # start-up

    try:
        return parse_missing(text)
    except GraphError:
        raise click.BadParameter(f"write error, drop or a number, not {text!r}") from None


def _columns(_ctx: click.Context, _param: click.Parameter, text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    from vlang.runtime.graph.edges.given import named_types  # start-up

    pairs = [part.rpartition(":") for part in text.split(",")]
    if not all(name and colon for name, colon, _ in pairs):
        raise click.BadParameter(f"write NAME:TYPE,... such as kind:category,at:time, not {text!r}")
    columns = {name: type_ for name, _, type_ in pairs}
    try:
        named_types(columns)
    except GraphError as error:
        raise click.BadParameter(str(error)) from None
    return columns


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
    click.option("--source-column", metavar="COLUMN",
                 help="The column of a text with the first end of an edge, by its name or its number from 1."),
    click.option("--target-column", metavar="COLUMN", help="The column with the other end."),
    click.option("--vertices", metavar="FILE|N|LO..HI",
                 help="All vertices, also those without edges: a file with a column of ids, whose other columns are "
                 "vertex fields of the same names, N for 0..N-1, or a range."),
    click.option("--columns", metavar="NAME:TYPE,...", callback=_columns,
                 help="Columns of a text or table that hold names (category), dates and times (date, time, time[ms], "
                 "time[us], time[ns]), bools or numbers; a run reads those of its program."),
    click.option("--missing", callback=_missing, metavar="error|drop|NUMBER",
                 help="What cells without a value mean (empty, NA, NaN, null, None, -), in columns that are read: an "
                 "error, which is the default, a row to drop, or this number."),
)  # fmt: skip


AS_IT_IS: Mapping[str, Any] = MappingProxyType({
    "directed": None, "symmetrize": False, "weights": None, "self_loops": "keep", "parallel": "keep",
    "source_column": None, "target_column": None, "vertices": None, "missing": None, "columns": None,
})  # fmt: skip
"""The values of the reading options with which a graph is read unchanged."""


def graph_options(command: F) -> F:
    """A decorator that adds the reading options to a command.

    The options have the names of `read_graph`'s arguments.
    """
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def check_reading(program: Program, reading: dict[str, Any]) -> None:
    """Raise click.UsageError for an option for reading a graph that has no effect on the program."""
    edges = [edge.name for edge in program.edges]
    if reading["columns"] is not None:
        raise click.UsageError(f"--columns is for info and convert: a run of {program.name} reads the columns of its "
                               "edge fields in the types that it declares; leave it out")
    if reading["weights"] is not None and "weight" not in edges:
        if not edges:
            raise click.UsageError(f"--weights gives the edge field `weight`, and {program.name} has no edge fields; "
                                   "leave it out")
        raise click.UsageError(f"--weights gives the edge field `weight`, and {program.name} reads "
                               f"{', '.join(f'`{name}`' for name in edges)}; name the column so in the file")
    if reading["missing"] is not None and not edges:
        raise click.UsageError(f"--missing is about cells of edge columns, and {program.name} has no edge fields; "
                               "leave it out")


def check_stdin(*sources: str | None) -> None:
    """Raise click.UsageError if standard input (`-`) is named more than once, since it can only be read once."""
    if sources.count("-") > 1:
        raise click.UsageError("standard input (-) can be read once; write one of its uses to a file")


def read_graph(
    spec: str, program: Program | None = None, quiet: bool = False, threads: int | None = None, *,
    missing: Any = None, on_disk: bool = False, paged: bool = False, shared: bool = False,
    memory: int | None = None, columns: Mapping[str, str] | None = None, **options: Any,
) -> Graph:  # fmt: skip
    """Read a file or generator, and report on stderr what the reader did.

    Args:
        spec: the file or generator of the graph.
        program: the program that will run on the graph, if there is one.
        quiet: whether to leave out the report; warnings are always printed.
        threads: the number of CPU threads; None for all processors.
        missing: the meaning of cells without a value, as in `Graph.read`.
        columns: the types of columns, for a graph without a program.
        paged: whether several ranks read the graph. The ranks read shares of its file, or a page file that is written
            first.
        shared: whether each rank reads only a share of the graph, if the source of the graph permits this.
        memory: the memory budget in bytes for writing a page file; None for the default of `convert`.
        on_disk: whether the edges of a page file stay on disk, unless the options change the graph.
        options: the options of `graph_options`, by name.
    """
    from vlang.api.running.progress import Progress  # start-up
    from vlang.runtime.cluster.transports.transport import Solo, here  # start-up
    from vlang.runtime.graph.graph import Graph  # start-up
    from vlang.runtime.storage.magic import is_page_file  # start-up

    if (transport := here()) is not None:
        _same_source(transport, spec)
    columns = columns if program is None else {edge.name: edge.type for edge in program.edges}
    missing = "error" if missing is None else missing
    if on_disk and {"missing": missing, "columns": None, **options} == {**AS_IT_IS, "missing": "error"} and \
            is_page_file(spec):
        graph = Graph.open(spec, threads)
    elif paged:
        reading = {**options, "columns": columns, "missing": missing}
        if shared and (found := _by_shares(spec, quiet, threads, reading)) is not None:
            return found
        return _converted(spec, here() or Solo(), quiet, threads, memory, reading)
    else:
        with nullcontext() if quiet else Progress():
            graph = Graph.read(spec, threads=threads, columns=columns, missing=missing, **options)
    report_reading(graph.name, () if quiet else graph.notes, graph.warnings)
    return graph


def _same_source(transport: Transport, spec: str) -> None:
    """Raise ClusterError on all ranks if `spec` names something else on another rank, whose machine may lack the file.
    Otherwise all ranks read `spec` in the same way.
    """
    from vlang.runtime.cluster.transports.transport import texts  # start-up
    from vlang.runtime.storage.magic import is_page_file  # start-up

    path = Path(spec)
    mine = "a page file" if is_page_file(spec) else "a file" if path.is_file() else "a folder" if path.is_dir() else \
        "something else" if path.exists() else "nothing"
    found = texts(transport, mine, "what the graph is read from")
    for rank, kind in enumerate(found):
        if kind != found[0]:
            raise ClusterError(f"rank {rank} finds {kind} at {spec}, and rank 0 {found[0]}: the graph must have the "
                               "same path on the machines of all ranks")


def _by_shares(spec: str, quiet: bool, threads: int | None, reading: dict[str, Any]) -> Graph | None:
    """Return the graph, of which each rank has read a share. If one rank must read the whole graph, print a note and
    return None.

    Args:
        spec: the file or generator.
        quiet: whether to leave out the report.
        threads: the number of CPU threads.
        reading: the options of `vlang.runtime.convert.source.Reading`.
    """
    from vlang.runtime.cluster.shares.shared_graph import shared_graph  # start-up
    from vlang.runtime.cluster.transports.transport import here  # start-up
    from vlang.runtime.convert.source import Reading  # start-up

    transport = here()
    found = "" if transport is None else shared_graph(transport, spec, Reading(**reading), threads)
    if isinstance(found, str):
        if not quiet:
            note(f"{spec}: {found}, so one rank of each machine writes it to a page file first")
        return None
    report_reading(found.name, () if quiet else found.notes, found.warnings)
    return found


def _converted(
    spec: str, transport: Transport, quiet: bool, threads: int | None, memory: int | None, reading: dict[str, Any]
) -> Graph:
    """Open the page file of a graph for this rank. One rank of each machine has converted `spec` to the page file
    before.

    Args:
        spec: the file or generator.
        transport: the transport of the rank.
        quiet: whether to leave out the report.
        threads: the number of CPU threads.
        memory: the budget of the conversion in bytes; None for the default of `convert`.
        reading: the options of `vlang.runtime.convert.source.Reading`.
    """
    from vlang.api.running.progress import Progress  # start-up
    from vlang.runtime.cluster.job.shared_file import shared_file  # start-up
    from vlang.runtime.convert.convert import convert  # start-up
    from vlang.runtime.convert.source import Reading  # start-up
    from vlang.runtime.graph.graph import Graph  # start-up
    from vlang.runtime.graph.vertex_columns import columns_of_vertices  # start-up

    def write(path: Path) -> None:
        with nullcontext() if quiet else Progress():
            done = convert(spec, path, Reading(**reading), layout="ids", threads=threads, memory=memory)
        report_reading(done.name, () if quiet else done.notes, done.warnings)

    graph = Graph.open(shared_file(transport, spec, write), threads)
    graph.name, graph.vertex_columns = Path(spec).name, columns_of_vertices(reading["vertices"])
    return graph


def report_reading(name: str, notes: Sequence[str], warnings: Sequence[str]) -> None:
    """Print on stderr what the reader of a graph did, and its warnings."""
    if notes:
        said = ". ".join(line.rstrip(".") for line in notes)
        note(textwrap.fill(f"{name}: {said}.", 100, subsequent_indent="  ", break_on_hyphens=False))
    for text in warnings:
        note(f"warning: {text}")

"""`vlang run PROGRAM GRAPH [name=value ...]`."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from vlang.cli.budget import memory_budget
from vlang.cli.describe import describe
from vlang.cli.graphs import check_reading, check_stdin, graph_options, read_graph
from vlang.cli.ranks import as_rank, budget_of_ranks, needed_of_rank, ranks_note, reads_shares, start_asked
from vlang.cli.run_options import RunCommand, run_options, taken_options
from vlang.cli.show import note, say, table
from vlang.cli.values import bindings, field_values, parameter_values, unused_columns, vertex_of, with_constants
from vlang.errors import BindError, GraphError
from vlang.options import ALL_GPUS, EVERYDAY, device_names
from vlang.runtime.cluster.job.ray_address import is_ray

if TYPE_CHECKING:
    from vlang.api.program import Program
    from vlang.runtime.cluster.transports.transport import Transport
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.plan.plan import Plan
    from vlang.runtime.results.result import Result

__all__ = ["command", "warn"]


class _Run(RunCommand):
    """The command `run`. The help also describes the program, if the command line names a program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            _open_gpus(args)  # first, because reading the other options loads the compiler
        return super().parse_args(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        name = ctx.params.get("program")
        if name:
            from vlang.api.program import load  # start-up

            formatter.write(describe(load(name)) + "\n\n")
        super().format_help(ctx, formatter)


@click.command(cls=_Run, add_help_option=False)
@click.argument("program", required=False)
@click.argument("graph", required=False)
@click.argument("parameters", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("-o", "--output", metavar="FILE",
              help="Write every row to a .parquet, .arrow, .csv, .tsv, .json or .npz file; also .csv.gz and "
              ".csv.zst; - is csv on stdout. DIR/ takes a Parquet file of each rank.")
@click.option("--edge-output", "edges", metavar="FILE",
              help="Write the edge states, a row for each edge with its source and target, to a file as -o does.")
@click.option("--plot", "picture", metavar="FILE",
              help="Draw the first field to a .png or .svg file, or write a page about the run to a .html file; needs "
              "the extra plot.")
@click.option("--top", type=click.IntRange(0), default=10, show_default=True, help="Rows of the table without -o.")
@click.option("--field", "fields", multiple=True, metavar="NAME=SOURCE",
              help="Values of a vertex field: FILE:COLUMN of a table of vertices, a .npy or .npz file, or one "
              "value for all.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: the run, and without -o all values.")
@click.option("--verify", is_flag=True, help="Run again with another cut and compare every bit; check the result.")
@click.option("--quiet", "-q", is_flag=True, help="Say nothing on stderr but errors and warnings of the run.")
@run_options(*(name for name, option in EVERYDAY.items() if option.command))
@graph_options
@click.option("-h", "--help", "wants_help", is_flag=True, help="Show this, and what PROGRAM computes and takes.")
@click.pass_context
def command(
    ctx: click.Context, /, program: str | None, graph: str | None, parameters: tuple[str, ...], output: str | None,
    edges: str | None, picture: str | None, top: int, fields: tuple[str, ...], as_json: bool, verify: bool,
    quiet: bool, wants_help: bool, **given: Any,
) -> None:
    """Run PROGRAM (a .vp file, or a name from `vlang list`) on GRAPH (a file, or a generator such as kron:16).

    Without -o the first rows are shown as a table. Vertices are written with the ids of the graph's file.
    """
    if wants_help:
        say(ctx.get_help())
        return
    cluster, restarts = given.pop("cluster"), given.pop("restarts")
    if cluster is not None or restarts is not None:
        piped = "-" in (program, graph, given["vertices"]) or any(word.endswith("=@-") for word in parameters)
        start_asked(cluster, restarts, given["checkpoint"], piped)
    given |= {"cluster": cluster, "restarts": restarts} if is_ray(cluster) else {}
    with nullcontext() if is_ray(cluster) else as_rank(cluster) as rank:
        if rank is not None and rank.rank:  # only rank 0 writes files, but every rank a part
            output = output if output is not None and output.endswith("/") else None
            picture = given["trace"] = None
        _run(program, graph, parameters, output, edges, picture, top, fields, as_json, verify, quiet, rank, given)


def _run(
    program: str | None, graph: str | None, parameters: tuple[str, ...], output: str | None, edges: str | None,
    picture: str | None, top: int, fields: tuple[str, ...], as_json: bool, verify: bool, quiet: bool,
    rank: Transport | None, given: dict[str, Any],
) -> None:
    """Run the command, with its options, in this process.

    `rank` is None if this process is not one of several ranks.
    """
    if program is None or graph is None:
        missing = "a program and a graph" if program is None else "a graph"
        raise click.UsageError(f"{missing} must be given; write for example\n\n    vlang run "
                               f"{program or 'pagerank'} karate")  # fmt: skip
    check_stdin(program, graph, given["vertices"], *("-" for word in parameters if word.endswith("=@-")))
    if output == "-" and as_json:
        raise click.UsageError("`-o -` and --json both write to stdout; choose one")
    from vlang.api.program import load  # start-up
    from vlang.runtime.gpu.device.choose import check_device  # start-up

    if output is not None and output != "-":
        _check_output(output, rank)
    if edges is not None:
        from vlang.runtime.results.files import check_output  # start-up

        _check_file(edges, check_output)
    if picture is not None:
        from vlang.runtime.results.pictures.picture import check_picture  # start-up

        _check_file(picture, check_picture)
    options = taken_options(given)
    reading = {name: value for name, value in given.items() if name not in EVERYDAY and name != "research"}
    apart = is_ray(options.get("cluster"))  # the ranks are other processes
    if verify and (rank is not None or apart):
        raise click.UsageError("--verify compares runs on one machine; leave out --verify, or the ranks")
    if verify and "target" in options:
        raise click.UsageError("--verify compares whole results, and one that stops at a target is none; leave one of "
                               "them out")
    _check_options(options)
    loaded = load(program, precision=options.pop("precision", 32)).derived(options.pop("derive", None))
    check_device(options.get("device", "cpu"))
    check_reading(loaded, reading)
    if options.get("checkpoint") is not None and rank is None and not apart:  # each rank checks the folder itself
        from vlang.runtime.storage.state.state_folder import check_folder  # start-up

        check_folder(options["checkpoint"])
    if not quiet:
        warn(loaded)
    _refuse_states(loaded, options, edges)
    size = 0 if rank is None else rank.size
    if rank is not None or apart:
        from vlang.api.arguments.bind_options import check_options  # start-up
        from vlang.api.running.on_ranks import refuse_early  # start-up

        refuse_early(loaded, check_options(options))
        if apart:
            from vlang.runtime.cluster.by_ray.connect import rank_count  # start-up

            size = rank_count(options["cluster"])
        if not quiet:
            note(ranks_note(size, graph, apart))
    _refuse_gpus(loaded, options)
    words = bindings(loaded, parameters, f"vlang run {program} {graph}")
    loaded, words = with_constants(loaded, words)
    with nullcontext() if size else memory_budget(loaded, graph, reading, options, quiet), \
            _traced(options.pop("trace", None), f"{loaded.name} on {graph}"):
        limit = budget_of_ranks(options) if size else None
        shared = size > 1 and not apart and limit is None and reads_shares(loaded, options)
        reading |= {"paged": size > 1 or apart or limit is not None, "shared": shared, "memory": limit}
        read = read_graph(graph, loaded, quiet, options.get("threads"), on_disk=True, **reading)
        keywords = parameter_values(loaded, words, read) | field_values(loaded, fields, read, quiet)
        if not quiet and (said := unused_columns(loaded, read, keywords)):
            note(said)
        if "target" in options:
            options["target"] = vertex_of("--target", options["target"], read)
        if size and (rank is None or rank.rank == 0) and not quiet:
            note(needed_of_rank(loaded, read, options, keywords, size))
        notes: list[str] = []
        if read.stored is not None and not size:
            _place(loaded, read, options, keywords, quiet)
        shown: dict[str, Any] = {} if quiet else {"progress": True, "notices": partial(_say, notes)}
        result = loaded(read, {**options, **shown}, **keywords)
        if "target" in options and not as_json:
            for name, value in list(result.row(options["target"]).items())[1:]:
                say(f"{name} of {options['target']} = {value}", err=output == "-")
        if edges is not None:
            result.edge_states.save(edges)
            if not quiet:
                note(f"wrote {edges}: {result.graph_edges:,} rows")
        _write(result, output, top, as_json, quiet, [rank.rank] if rank else range(size or 1), size or 1)
        if quiet and not result.converged and not {"max_rounds", "target"} & options.keys():  # a run ends where asked
            note(f"warning: not converged: {result.reason}")
        if picture is not None:
            _draw(result, picture, quiet)
        for text in result.warnings[len(read.warnings) :]:  # warnings of the graph were printed when it was read
            if text not in notes:
                note(f"warning: {_as_options(text)}")
        for text in () if quiet else result.notes:
            note(f"note: {text}")
        if result.interrupted:
            raise KeyboardInterrupt
        if "device" in options and not quiet:
            note(f"ran on {'the CPU' if result.device == 'cpu' else result.device}: {result.device_reason}")
        for line in () if result.chaos is None else result.chaos.lines():
            note(line)
        if verify:
            from vlang.cli.verify import verify_run  # start-up

            for line in verify_run(loaded, read, keywords, options, result):
                note(line)


def _traced(path: str | None, name: str) -> AbstractContextManager[None]:
    """A context manager that writes the trace of reading and running, if `path` names a file."""
    if path is None:
        return nullcontext()
    from vlang.runtime.engine.recorder import recorded  # start-up

    return recorded(path, name)


def _check_output(path: str, rank: Transport | None) -> None:
    """Raise an error before the run if a file, or a folder of part files, cannot be written."""
    from vlang.runtime.results.files import check_output  # start-up
    from vlang.runtime.results.parts import is_folder, prepare_folder  # start-up
    from vlang.runtime.storage.output import check_writable  # start-up

    try:
        if not is_folder(path):
            check_output(path)
        elif rank is None or rank.rank == 0:
            prepare_folder(path)
    except GraphError as error:
        other = "; or write -o -" if "unknown format" in str(error) else ""
        raise click.UsageError(f"{error}{other}") from None
    if not is_folder(path):
        check_writable(path)


def _check_file(path: str, check: Callable[[str], object]) -> None:
    """Raise an error before the run if a file cannot be written, or if `check` refuses the end of its name."""
    from vlang.runtime.storage.output import check_writable  # start-up

    try:
        check(path)
    except (BindError, GraphError) as error:
        raise click.UsageError(str(error)) from None
    check_writable(path)


def _draw(result: Result, path: str, quiet: bool) -> None:
    """Write the picture of a result."""
    from vlang.runtime.results.report import save_report  # start-up

    save_report(result, path)
    if not quiet:
        note(f"wrote {path}")


def _say(notes: list[str], text: str) -> None:
    """Print a message of the run, and add it to `notes`."""
    notes.append(text)
    note(text)


def _place(program: Program, graph: Graph, options: dict[str, Any], keywords: dict[str, Any], quiet: bool) -> None:
    """Print whether the edges of a graph on disk are read or streamed. For streamed edges, store the budget in
    `options`.
    """
    from vlang.api.arguments.bind_options import check_options  # start-up
    from vlang.api.running.columns import columns_of  # start-up
    from vlang.api.running.on_disk import placed  # start-up

    chosen = check_options(options)
    given = frozenset(field.name for field in program.fields if field.name in keywords)

    def plan_for(target: str) -> Plan:
        return program.plan(columns_of(program.stages().program, graph), given, target=target, without=chosen.without)

    found = placed(program, plan_for, graph, chosen)
    if found is not None and found.streams:
        options["memory"] = found.limit
    if found is not None and not quiet:
        note(found.text)


def _open_gpus(args: list[str]) -> None:
    """Begin to open the GPUs that `--device` names, while this thread loads the compiler and reads the graph."""
    after = args.index("--device") + 1 if "--device" in args else len(args)
    device = next((word.partition("=")[2] for word in args if word.startswith("--device=")), "".join(args[after:][:1]))
    numbers = [name.partition(":")[2] or "0" for name in device_names(device) if name.partition(":")[0] == "gpu"]
    if numbers and all(number.isdecimal() for number in numbers):
        from vlang.runtime.gpu.device.gpus import open_early  # start-up

        open_early(map(int, numbers))


def _check_options(options: dict[str, Any]) -> None:
    """Check options before a graph is read. Raises click.UsageError for wrong options."""
    from vlang.api.arguments.bind_options import check_options  # start-up

    try:
        check_options(options)
    except BindError as error:
        text = str(error).replace('device="gpu"', "--device gpu").replace("checkpoint=FOLDER", "--checkpoint FOLDER")
        raise click.UsageError(text.replace("on_interrupt is", "--on-interrupt is")) from None


def _refuse_states(loaded: Program, options: dict[str, Any], edges: str | None) -> None:
    """Refuse edge states before a graph is read, if the machine does not support edge states. Raises BindError, and
    click.UsageError if a file of edge states was asked for and the program has none.
    """
    if edges is not None and not loaded.stages().program.states:
        raise click.UsageError(f"{loaded.name} has no edge states: leave out --edge-output; -o writes the values of "
                               "vertices")
    from vlang.api.arguments.bind_options import check_options  # start-up
    from vlang.api.running.edge_states import refuse  # start-up

    refuse(loaded, check_options(options))


def _refuse_gpus(loaded: Program, options: dict[str, Any]) -> None:
    """Refuse programs and options that several GPUs do not support, before a graph is read. Raises BindError."""
    if options.get("device") == ALL_GPUS or len(device_names(options.get("device", "cpu"))) > 1:
        from vlang.api.arguments.bind_options import check_options  # start-up
        from vlang.api.running.on_gpus import refuse_early  # start-up

        refuse_early(loaded, check_options(options))


def _as_options(text: str) -> str:
    """Return a warning in which command-line options replace the names of Python options."""
    return re.sub(r'weights="(.*)"', lambda found: f"--weights {shlex.quote(found[1])}", text)


def _write(
    result: Result, output: str | None, top: int, as_json: bool, quiet: bool, mine: Iterable[int], parts: int
) -> None:
    """Write the values of a result to a file. If the output is a folder of `parts` part files, write only the part
    files `mine`. Print all other values.
    """
    count = len(result) if result.final is None else int(result.final.sum())
    if output == "-":
        result.to_csv(sys.stdout)
        sys.stdout.flush()  # printed before the summary
    elif output is not None and output.endswith("/"):
        from vlang.runtime.results.parts import save_part  # start-up

        for part in mine:
            save_part(result, output, part, parts)
        if not quiet:
            note(f"wrote {output}: {count:,} rows, in a file of each rank")
    elif output is not None:
        result.save(output)
        if not quiet:
            note(f"wrote {output}: {count:,} rows")
    if as_json and output is None:
        result.to_json(sys.stdout)
    elif as_json:
        click.echo(json.dumps(result.summary_dict()))
    elif output is None and top and result.fields:
        rows = result.top(top)
        say(table(["vertex", *result.fields], [list(row.values()) for row in rows]))
        if count > len(rows) and not quiet:
            final = "" if result.final is None else "final "
            note(f"the first {len(rows)} of {count:,} {final}vertices; -o FILE.csv writes all")
    if not as_json:
        for name, text in result.global_texts().items():
            say(f"{name} = {text}", err=output == "-")
    if not quiet:
        note(result.summary())


def warn(program: Program) -> None:
    """Show the warnings of a program, as `check` does."""
    from vlang.syntax.problems import report  # start-up

    if program.warnings:
        note(report(program.warnings, program.source, program.filename))

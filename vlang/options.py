"""The options of a run: one table for keywords, the command line, completion and the tables in docs.

`Options` is that table: the metadata of each field holds the description of an option (`Option`). An instance of
`Options` holds option values in the form that the engine takes. The module vlang.api.arguments.bind_options converts
the values that users write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vlang.runtime.engine.trace import Round

__all__ = [
    "ALL_GPUS", "EVERYDAY", "MOST_BYTES", "OPTIONS", "RENAMED", "RESEARCH", "Option", "Options", "device_names",
    "parse_seconds", "parse_size",
]

ALL_GPUS = "gpus"
"""The name of all GPUs of this machine together."""

RENAMED: Mapping[str, str] = {"order": "schedule", "check": "trap"}
"""Renamed options: the old name -> the new name."""


@dataclass(frozen=True)
class Option:
    """One option of a run.

    Args:
        kind: the rule by which a value is read: "whole" (a whole number of at least `least`), "flag", "choice" (one of
            `choices`), "size" (a number of bytes, or a text such as "8G"), "room" (a size, or 0), "names" (several
            names), "vertex", or another key of `READERS` in vlang.api.arguments.option_values.
        values: the form of a value, as usage and docs show it.
        help: what the option does, for usage and docs.
        devices: "cpu" or "gpu" if only this kind of device supports the option; else "both".
        research: whether the option is passed through `research={...}` and `--research NAME=VALUE`.
        command: whether the command line has the option.
        decides: whether the option can change results. A run continues from a checkpoint only if all options that can
            change results have the same values as in the checkpoint.
    """

    name: str
    kind: str
    default: Any
    values: str
    help: str
    devices: str = "both"
    choices: tuple[str, ...] = ()
    least: int = 0
    research: bool = False
    command: bool = True
    decides: bool = False

    @property
    def flag(self) -> str:
        """The name of the option on the command line, such as --max-rounds."""
        return "--" + self.name.replace("_", "-")


def _about(kind: str, values: str, help: str, **more: Any) -> Mapping[str, Any]:
    """Metadata for a field of `Options`: the description of an option. `OPTIONS` adds the name and the default of the
    option.
    """
    choices = tuple(values.split("|")) if kind in ("choice", "mode", "precision", "derive") else ()
    return {"option": Option("", kind, None, values, help, choices=choices, **more)}


def device_names(text: str) -> tuple[str, ...]:
    """Return the devices that the option `device` names: one device, or several devices as in "gpu:0,1"."""
    kind, _, numbers = text.partition(":")
    return tuple(f"{kind}:{number}" for number in numbers.split(",")) if "," in numbers else (text,)


@dataclass(frozen=True)
class Options:
    """The options of a run.

    Each field is one option. The default of a field is the value of the option in a call without options.
    """

    # Everyday options: keywords of a call, and options of the command line.
    threads: int | None = field(default=None, metadata=_about(
        "whole", "N",
        "Threads; default: VLANG_THREADS, or all processors. Never changes a result.", least=1))
    device: str = field(default="cpu", metadata=_about(
        "device", "cpu|gpu|gpu:K|gpu:0,1|gpus|auto",
        "Where to run. gpu:0,1 are several GPUs together, and gpus are all GPUs. auto chooses a GPU if there is one, "
        "the run fits into its memory, and the graph is large enough; it reports its choice."))
    gpu_memory: int | None = field(default=None, metadata=_about(
        "size", "BYTES",
        "Limit on GPU memory: 512M, 8G; default: the free memory less 300 MiB. Graphs that do not fit are "
        "streamed.", devices="gpu"))
    policy: str = field(default="auto", metadata=_about(
        "choice", "auto|garaph|gts|wolfgraph|ws-vr|hytgraph",
        "Run as this published system does (docs/policies.md): the policy sets the research options that the call "
        "leaves out. auto chooses the fastest way."))
    device_cache: int | None = field(default=None, metadata=_about(
        "room", "BYTES",
        "Limit on the GPU memory that stays in use after the run, for later runs: 0, 512M, 8G; default: half of the "
        "free memory.", devices="gpu"))
    memory: int | None = field(default=None, metadata=_about(
        "size", "BYTES",
        "Limit on host memory for graph and run: 512M, 8G; default: the value of `VLANG_MEMORY`, else no limit, but "
        "a warning if a run needs more than 80 % of the free memory. A run that does not fit is refused. Edges in a "
        "page file need not fit, because they are streamed."))
    max_rounds: int | None = field(default=None, metadata=_about(
        "whole", "N",
        "Stop every loop after N rounds; the result then says that the loop stopped.", decides=True))
    precision: int | None = field(default=None, metadata=_about(
        "precision", "32|64",
        "Bits of `int` and `float`; default: the precision with which the program was loaded, or 32.", decides=True))
    progress: Callable[[Round], None] | bool | None = field(default=None, metadata=_about(
        "progress", "True|FUNCTION",
        "True shows the progress, in one line of a terminal or notebook, else in lines on stderr; a function is "
        "called with the `Round` of every superstep.", command=False))
    trace: str | None = field(default=None, metadata=_about(
        "trace", "FILE",
        "Write every step, superstep, pass, kernel and page transfer with its time to this file, which ends in .json "
        "or .json.gz, for ui.perfetto.dev or chrome://tracing."))
    target: Any = field(default=None, metadata=_about(
        "vertex", "VERTEX",
        "Stop when the value of this vertex is final, if the program allows it (rule O).", devices="cpu",
        decides=True))
    derive: str | None = field(default=None, metadata=_about(
        "derive", "delta",
        "Let loops over linear sums send changes instead of values, if rule D allows it.", decides=True))
    deterministic: bool = field(default=False, metadata=_about(
        "flag", "",
        "On a GPU: every run gives the same bits, with any limit on GPU memory. Runs on the CPU always do."))
    device_arrays: bool = field(default=False, metadata=_about(
        "flag", "",
        "Leave the fields of the result on the GPU, as CuPy arrays, until they are needed.", devices="gpu"))
    chaos: int | None = field(default=None, metadata=_about(
        "whole", "SEED",
        "Run again with random use of every freedom that the program grants, and compare the results.", devices="cpu"))

    trap: bool = field(default=False, metadata=_about(
        "flag", "",
        "Run twice, the first time in trap mode. This run ends at the first operation that overflows, produces or "
        "compares a NaN, computes with an infinite integer, divides by zero or is out of range, and names vertex and "
        "line. Never changes a result."))
    checkpoint: str | None = field(default=None, metadata=_about(
        "path", "DIR",
        "Save the state of the run in this folder, and continue from there if an earlier run did not complete."))
    every: float | None = field(default=None, metadata=_about(
        "seconds", "TIME",
        "Time between two checkpoints: 30s, 5m, 500ms; default: 30s, or 20 times the duration of a checkpoint if "
        "this is longer."))
    on_interrupt: str = field(default="stop", metadata=_about(
        "choice", "stop|write",
        "At an interrupt or SIGTERM: stop without output (in Python: raise), or write the values so far, marked as not "
        "converged (in Python: return them)."))
    cluster: int | str | None = field(default=None, metadata=_about(
        "cluster", "N|ray:N|ray://HOST:PORT",
        "Run on N ranks, which are processes that MPI starts on this machine, with the same results. Under mpiexec or "
        "srun the option is not needed; in Python, cluster=\"mpi\" then makes this process a rank of its MPI job. "
        "ray:N runs N ranks on Ray, and ray://HOST:PORT runs one rank on each machine of a Ray cluster."))
    restarts: int | None = field(default=None, metadata=_about(
        "whole", "N",
        "Start the ranks again, at most N times, if one is killed; they continue from the last checkpoint of all "
        "ranks. Needs `cluster` with a number of ranks, and `checkpoint`."))
    notices: Callable[[str], None] | None = field(default=None, metadata=_about(
        "notices", "FUNCTION",
        "A function that is called with a sentence for each event of checkpoints, or True to print these sentences.",
        command=False))

    # Research options, to measure and compare: passed through `research` only.
    mode: str = field(default="auto", metadata=_about(
        "mode", "auto|pull|notify-pull|dual|push",
        "How supersteps find their work; auto changes from one to another as a loop runs, and dual between pull and "
        "notify-pull. Never changes a result on the CPU.", research=True))
    switching: str = field(default="measured", metadata=_about(
        "choice", "measured|published",
        "How mode=auto chooses on the CPU, and transfer=auto on a GPU: by costs measured on this machine, or by the "
        "rules that papers give. Never changes a result.", research=True))
    schedule: str = field(default="auto", metadata=_about(
        "choice", "auto|rounds|priority",
        "Rounds over all active vertices, or the best values first (rule O); auto uses priorities if the rule allows "
        "priorities and weights differ. Never changes a result.", research=True))
    asynchronous: bool = field(default=False, metadata=_about(
        "flag", "true|false",
        "Update in place in loops whose result is proved not to depend on the order, which takes fewer supersteps. An "
        "error if there is no such loop.", research=True))
    blocking: str = field(default="auto", metadata=_about(
        "choice", "auto|always|never",
        "Full sweeps by cache blocks; auto builds the blocks for large graphs if enough sweeps have run or are "
        "expected. Never changes a result.", devices="cpu", research=True))
    page_size: int | None = field(default=None, metadata=_about(
        "size", "BYTES",
        "Bytes of the neighbours in a page: 64K, 32M; default: a size that suits the device. Never changes a result "
        "on the CPU.", research=True))
    without: frozenset[str] = field(default=frozenset(), metadata=_about(
        "names", "NAME,...",
        "Optimisations to leave out, to measure what each is worth. `factor` may change the last bits of sums "
        "of floats, the others change no result.", research=True, decides=True))
    kernel: str = field(default="auto", metadata=_about(
        "kernel", "NAME",
        "How a GPU pulls: auto, thread, virtual-warp-2 to virtual-warp-32, warp-segmentation, stream or edge; "
        "density, for each page thread or virtual-warp-32; or edge-list, for all passes over the edges in the order of "
        "their file, which are then not sorted.",
        devices="gpu", research=True))
    replication: str | int = field(default="auto", metadata=_about(
        "replication", "auto|none|garaph|R",
        "Copies of the accumulators in shared memory under the kernel `edge`; R is a power of two up to 32.",
        devices="gpu", research=True))
    streams: int = field(default=0, metadata=_about(
        "streams", "auto|1..32",
        "Streams that bring pages to the GPU; auto takes as many as pay.", devices="gpu", research=True))
    layout: str = field(default="csr", metadata=_about(
        "layout", "csr|slotted|slotted-P-Q",
        "The pages that are copied from host memory to a GPU: csr, parts of the adjacency lists; slotted, records and "
        "slots, whose neighbours are record ids of P + Q bytes (a page and a slot; default: the fewest), decoded when "
        "a page arrives. Never changes a result.", devices="gpu", research=True))
    transfer: str = field(default="auto", metadata=_about(
        "choice", "auto|pages|direct|compact",
        "How supersteps over few vertices reach edges in host memory. pages: whole pages are copied. direct: the GPU "
        "reads the edges in host memory. compact (pushes only): the CPU gathers rows. auto: the cheapest.",
        devices="gpu", research=True))
    chooser: str = field(default="cpu", metadata=_about(
        "choice", "cpu|gpu",
        "Where transfer=auto compares the costs of the pages that a frontier needs: on the CPU, or by a kernel on the "
        "GPU, of which the CPU reads the choices only. Never changes a result.", devices="gpu", research=True))
    combine: str = field(default="1", metadata=_about(
        "choice", "1|2|4|8|16",
        "The most adjacent pages that a push copies and processes as one task, with one launch. Never changes a "
        "result.", devices="gpu", research=True))
    page_order: str = field(default="auto", metadata=_about(
        "choice", "auto|hubs|values",
        "The order of pages in supersteps that push in place: auto, pages on the GPU first; hubs, pages with the "
        "largest degrees first; values, pages with the best active values first (rule O). An error if no loop allows "
        "this. Never changes a result.", devices="gpu", research=True))
    loaded: str = field(default="once", metadata=_about(
        "choice", "once|twice",
        "How often a superstep that pushes in place processes a page that it has copied; twice: vertices that the "
        "first time has activated push at once. An error if no loop allows this. Never changes a result.",
        devices="gpu", research=True))
    dispatch: str = field(default="gpu", metadata=_about(
        "dispatch", "gpu|alpha|K/P",
        "The devices that process the streamed pages of a full pass. gpu: the GPU alone. alpha: GPU and CPU "
        "together, by measured times. K/P: the CPU processes the last K of P pages. If a pass adds floats, alpha "
        "chooses one split for the run, and the notes of the result report the split as K/P.",
        devices="gpu", research=True, decides=True))
    strategy: str = field(default="auto", metadata=_about(
        "choice", "auto|s|p",
        "The state that each of several GPUs holds: s, the state of its own vertices and their neighbours; p, the "
        "state of all vertices; auto is s. Never changes a result.", devices="gpu", research=True))
    exchange: str = field(default="auto", metadata=_about(
        "choice", "auto|ms|vr|all",
        "The values that several GPUs send to each other: ms, the values that the other GPU reads; vr, the changed "
        "ones of these values; all, the values of all vertices. Never changes a result.", devices="gpu", research=True))


OPTIONS: Mapping[str, Option] = {
    spec.name: replace(spec.metadata["option"], name=spec.name, default=spec.default) for spec in fields(Options)
}
"""Every option by name, in the order in which usage and docs list them."""

EVERYDAY: Mapping[str, Option] = {name: option for name, option in OPTIONS.items() if not option.research}
RESEARCH: Mapping[str, Option] = {name: option for name, option in OPTIONS.items() if option.research}

_SECONDS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
MOST_BYTES = 1 << 62
"""A size is smaller than this number of bytes, so that sums of two sizes fit into a signed integer of 64 bits."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """The bytes of a size such as 65536, 64K, 32M or 8G (powers of 1024). Raises ValueError with the allowed forms."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise ValueError(f"`{text}` is not a size; write for example 65536, 64K, 32M or 8G")
    value = float(match[1]) * _UNITS[match[2].upper()]
    if value < 1:
        raise ValueError("a size is at least one byte")
    if value >= MOST_BYTES:
        raise ValueError("a size is less than 4 EiB; write for example 65536, 64K, 32M or 8G")
    return int(value)


def parse_seconds(text: str) -> float:
    """The seconds of a time such as 30, 30s, 500ms, 5m or 2h. Raises ValueError with the allowed forms."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|)", text.strip().lower(), re.ASCII)
    if not match:
        raise ValueError(f"`{text}` is not a time; write for example 30s, 500ms, 5m or 2h")
    return float(match[1]) * _SECONDS[match[2]]

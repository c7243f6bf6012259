"""Run the standard programs under compute-sanitizer: python tests/gpu/sanitize.py [--tools memcheck,...]

Each tool must first find its bug in planted.cu. Then the tool watches every program with every kind of kernel, in every
mode, with resident and streamed edges. The graphs have a few hundred vertices, and one graph has long adjacency lists.
Runs have a few supersteps. Programs of KINDS launch the kernels that no other program launches. The tools run
concurrently and take about five minutes. The exit code is 1 if a tool reported an error or missed a planted bug.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # test the checkout of this script

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
KERNELS = ("thread", "virtual-warp-8", "warp-segmentation", "stream", "edge")
FOUND = 86  # exit code of the sanitizer after a report
MOST_SECONDS = 540.0


@dataclass(frozen=True)
class Report:
    """The report of a tool about a process.

    Attributes:
        tool: the tool.
        code: the exit code of the process.
        seconds: the run time of the process.
        text: the output of the process.
    """

    tool: str
    code: int
    seconds: float
    text: str


def watched(tool: str, *arguments: str) -> Report:
    """Run this script in a process under a tool of compute-sanitizer, and return the report of the tool."""
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", str(FOUND), "--print-limit", "20",
               "--report-api-errors", "no",  # errors that the runtime expects and handles
               sys.executable, str(Path(__file__).resolve()), *arguments]  # fmt: skip
    begin = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              timeout=MOST_SECONDS)  # fmt: skip
    except subprocess.TimeoutExpired as error:
        text = error.stdout.decode(errors="replace") if isinstance(error.stdout, bytes) else error.stdout or ""
        return Report(tool, -1, time.monotonic() - begin, f"{text}\ntook longer than {MOST_SECONDS:.0f} s")
    return Report(tool, done.returncode, time.monotonic() - begin, done.stdout)


# ------------------------------------------------------------------ programs under test


def run_planted(tool: str) -> None:
    """Launch the planted bug that the tool must find."""
    import cupy

    module = cupy.RawModule(code=Path(__file__).with_name("planted.cu").read_text(encoding="utf-8"))
    count = 256
    memory = cupy.cuda.runtime.malloc(4 * count)  # not CuPy's pool, which rounds up
    module.get_function(tool)((1,), (256,), (cupy.uint64(memory), cupy.int32(count)))
    cupy.cuda.runtime.deviceSynchronize()
    cupy.cuda.runtime.free(memory)


def run_programs(names: list[str]) -> None:
    """Run every program with every kernel and in every mode."""
    from tests.gpu.sanitized import small_runs

    count = 0
    for name in names:
        for run, options in small_runs(name, _ways()):
            print(f"{name} {options}", flush=True)
            run(**{"device": "gpu", "max_rounds": 6, **options})
            count += 1
    print(f"{count} runs")


def _ways() -> Iterator[dict[str, Any]]:
    for kernel in KERNELS:
        yield {"kernel": kernel}
    yield {"kernel": "edge", "replication": 8}
    yield {"kernel": "stream", "page_size": 2048, "streams": 2}
    for mode in ("notify-pull", "push", "pull"):
        yield {"mode": mode}
    for mode in ("notify-pull", "push"):
        yield {"mode": mode, "page_size": 1024, "transfer": "pages", "gpu_memory": "tight"}


# ------------------------------------------------------------------ reports


def summary(report: Report) -> str:
    """Return the tool's summary line, or else the last line of output."""
    lines = [line.strip("= ") for line in report.text.splitlines() if line.strip("= ")]
    summary = [line for line in lines if "SUMMARY" in line]
    return (summary or lines or ["nothing was said"])[-1][:100]


def details(report: Report, most: int = 40) -> str:
    """Return the output of the tool, without host stack traces."""
    lines = [line for line in report.text.splitlines() if "Host Frame" not in line and "Saved host" not in line]
    first = next((i for i, line in enumerate(lines) if line.startswith("=========") and "COMPUTE" not in line), 0)
    return "\n".join(lines[max(0, first - 1):][:most])


def main() -> int:
    """Run the requested tools; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", default=",".join(TOOLS), help="by comma")
    parser.add_argument("--programs", default="", help="by comma; default: all of the standard library")
    parser.add_argument("--planted", choices=TOOLS, help=argparse.SUPPRESS)
    parser.add_argument("--watched", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.planted:
        run_planted(asked.planted)
        return 0
    if asked.watched:
        run_programs(asked.programs.split(","))
        return 0
    if shutil.which("compute-sanitizer") is None:
        print("compute-sanitizer is not on the PATH: it comes with the CUDA toolkit")
        return 2
    from tests.reference.cases import KINDS, ON_GPU

    tools, programs = asked.tools.split(","), asked.programs or ",".join((*ON_GPU, *KINDS))
    with ThreadPoolExecutor(2 * len(tools)) as pool:
        planted = [pool.submit(watched, tool, "--planted", tool) for tool in tools]
        clean = [pool.submit(watched, tool, "--watched", "--programs", programs) for tool in tools]
    good = True
    for bug, run in zip([job.result() for job in planted], [job.result() for job in clean]):
        found, passed = bug.code == FOUND, run.code == 0
        good &= found and passed
        print(f"{run.tool:10}  planted bug {'found' if found else 'MISSED'}: {summary(bug)}")
        print(f"{'':10}  programs {'clean' if passed else 'NOT CLEAN'} in {run.seconds:.0f} s: {summary(run)}")
        for report in [bug] * (not found) + [run] * (not passed):
            print(details(report))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

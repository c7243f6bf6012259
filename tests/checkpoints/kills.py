"""Kill runs at random moments, and resume them: `python -m tests.checkpoints.kills [KILLS] [SEED]`.

A program is compiled before the first fork of its runs. A child process runs a program with random threads, pages and
execution ways, and writes checkpoints as often as possible, until it is killed or done. Each child resumes the run of
the previous child. Half of the runs are on a page file, which each child streams through a ring of another size or
holds in memory. Half of the child processes that stream pages also keep vertex arrays in files. The result of the last
child is compared with the result of a run without checkpoints.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.checkpoints.cases import CASES, assert_same, file_of, graph_of, program_of, streamed_options
from tests.paged.stores import streaming
from vlang import Graph, Result
from vlang.runtime.engine.trace import Round
from vlang.runtime.storage.state import windows

_PAUSE = 0.004  # seconds of sleep after a round, so that kills are spread over all rounds
_START = 0.01  # approximate seconds until a child begins its run
_MOST = 4  # largest number of children of one run that are killed


def slow(_row: Round) -> None:
    """Sleep after every round; used as a progress function."""
    time.sleep(_PAUSE)


Part = Callable[..., Result]


def in_memory(case: str, draw: random.Random, _folder: Path) -> Part:
    """Run one part of a run on a graph in memory, with random options that must not change the result."""
    research = {**draw.choice(CASES[case].others), "page_size": draw.choice((4096, 65536))}
    given = {**CASES[case].given, "research": research, "threads": draw.choice((1, 2, 3))}
    return lambda **more: program_of(case)(graph_of(case), **given, **more)


def on_page_file(case: str, draw: random.Random, folder: Path) -> Part:
    """Run one part of a run on a page file, with a random ring of buffers or with all edges in memory.

    Args:
        folder: a folder for files with vertex arrays.
    """
    research = draw.choice(streamed_options(case))
    given = {**CASES[case].given, "research": research, "threads": draw.choice((1, 2, 3))}
    streams, buffers, kept = draw.random() < 0.75, draw.choice((2, 3)), draw.choice((0.0, 0.5, 2.0))
    moved = draw.choice((None, folder))

    def run(**more: Any) -> Result:
        if not streams:
            return program_of(case)(Graph.read(file_of(case)), **given, **more)
        with streaming(buffers, kept, moved):
            return program_of(case)(Graph.open(file_of(case)), **given, **more)

    return run


def child(run: Part, folder: Path) -> int:
    """Start a part of a run in a child process; return the process id."""
    number = os.fork()
    if number == 0:
        status = 3
        try:
            result = run(checkpoint=folder / "state", every=0, progress=slow)
            (folder / "result").write_bytes(pickle.dumps(result))
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    return number


def killed(case: str, want: Result, span: float, draw: random.Random) -> tuple[int, int, bool]:
    """Run a case in several parts. Return the number of kills, the number of resumed parts, and whether the last part
    resumed.

    Args:
        span: seconds that a run takes.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, kills, newest = Path(name), 0, 0
        going, part = 0, draw.choice((in_memory, on_page_file))
        while True:
            number = child(part(case, draw, folder), folder)
            if kills < _MOST:
                time.sleep(draw.uniform(0.0, 0.9 * span) + _START)
                os.kill(number, signal.SIGKILL)
            status = os.waitpid(number, 0)[1]
            if not os.WIFSIGNALED(status):
                assert status == 0, (case, status)
                break
            kills += 1
            written = max((path.stat().st_mtime_ns for path in (folder / "state").glob("state.[01]")), default=0)
            going += written > newest > 0
            newest = written
        result = pickle.loads((folder / "result").read_bytes())
        assert_same(case, result, want)
        return kills, going, bool(result.resumed)


@cache
def undisturbed(case: str) -> tuple[Result, float]:
    """Return the result of a run that is not killed, and the seconds that it takes. The undisturbed run also compiles
    all kernels of the case.
    """
    program_of(case)(graph_of(case), **CASES[case].given)
    begin = time.monotonic()
    want = program_of(case)(graph_of(case), progress=slow, **CASES[case].given)
    span = max(0.01, time.monotonic() - begin)
    for research in CASES[case].others:
        program_of(case)(graph_of(case), **{**CASES[case].given, "research": research})
    with streaming(2):
        for research in streamed_options(case):
            program_of(case)(Graph.open(file_of(case)), **{**CASES[case].given, "research": research})
    return want, span


def main(kills: int, seed: int) -> None:
    """Kill runs of all cases, one case after the other, `kills` times in total. Print what happened."""
    draw, done, runs, going, resumed = random.Random(seed), 0, 0, 0, 0
    windows.WINDOW = 64  # so small that vertex arrays of small graphs have several windows
    print(f"seed {seed}", flush=True)
    begin = time.monotonic()
    while done < kills:
        for case in draw.sample(sorted(CASES), len(CASES)):
            if done < kills:
                more, parts, last = killed(case, *undisturbed(case), draw)
                done, runs, going, resumed = done + more, runs + 1, going + parts, resumed + last
    print(f"{done} kills, {runs} runs, {resumed} of which went on to their end from a checkpoint, 0 differ; "
          f"{time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(given[0] if given else 200, given[1] if len(given) > 1 else random.randrange(1 << 30))

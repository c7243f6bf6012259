"""Runs that are killed at random moments and go on: `python -m tests.checkpoints.kills [KILLS] [SEED]`.

Programs are compiled before the first fork. A child runs one with checkpoints as often as they can be written, under
threads, pages and ways drawn at random, until it is killed or done. The result of the child that gets done is compared
with that of a run without checkpoints.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.checkpoints.cases import CASES, assert_same, graph_of, program_of
from vlang import Result
from vlang.runtime.engine.trace import Round

_PAUSE = 0.004  # seconds a round, in which nothing is computed, so that kills come at any round
_START = 0.01  # seconds that a child takes to begin, about
_MOST = 4  # children that are killed in one run, after which it may complete


def slow(_row: Round) -> None:
    """Wait a moment after every round."""
    time.sleep(_PAUSE)


def merged(case: str, draw: random.Random) -> dict[str, Any]:
    """The options of one part of a run: those that decide, and others that must not."""
    given = dict(CASES[case].given)
    research = {**draw.choice(CASES[case].others), "page_size": draw.choice((4096, 65536))}
    return {**given, "research": research, "threads": draw.choice((1, 2, 3))}


def child(case: str, folder: Path, given: dict[str, Any]) -> int:
    """Start a part of a run in a process of its own."""
    number = os.fork()
    if number == 0:
        status = 3
        try:
            result = program_of(case)(graph_of(case), checkpoint=folder / "state", every=0, progress=slow, **given)
            (folder / "result").write_bytes(pickle.dumps(result))
            status = 0
        finally:
            os._exit(status)
    return number


def killed(case: str, want: Result, span: float, draw: random.Random) -> tuple[int, int, bool]:
    """One run that is killed until it is done; returns kills, parts of it that went on, and whether the last one did.

    span: seconds that a run takes.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, kills, newest = Path(name), 0, 0
        going = 0
        while True:
            number = child(case, folder, merged(case, draw))
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


def main(kills: int, seed: int) -> None:
    """Kill runs of all cases in turn, so many times in all, and print what happened."""
    draw, done, runs, going, resumed = random.Random(seed), 0, 0, 0, 0
    print(f"seed {seed}", flush=True)
    wanted, spans = {}, {}
    for case in CASES:
        program_of(case)(graph_of(case), **CASES[case].given)
        begin = time.monotonic()
        wanted[case] = program_of(case)(graph_of(case), progress=slow, **CASES[case].given)
        spans[case] = max(0.01, time.monotonic() - begin)
        for research in CASES[case].others:  # compiled before the first fork
            program_of(case)(graph_of(case), **{**CASES[case].given, "research": research})
    begin = time.monotonic()
    while done < kills:
        for case in draw.sample(sorted(CASES), len(CASES)):
            if done < kills:
                more, parts, last = killed(case, wanted[case], spans[case], draw)
                done, runs, going, resumed = done + more, runs + 1, going + parts, resumed + last
    print(f"{done} kills, {runs} runs, {resumed} of which went on to their end from a checkpoint, 0 differ; "
          f"{time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(given[0] if given else 200, given[1] if len(given) > 1 else random.randrange(1 << 30))

"""After an interrupt or SIGTERM, the run completes its superstep. The run then saves a checkpoint and ends, or returns
the values that it has computed.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from tests.checkpoints.cases import CASES, assert_same, graph_of, program_of
from tests.checkpoints.test_points import written_at_once
from tests.faults.test_process import ROOT, command
from vlang import Result
from vlang.runtime.engine.trace import Round
from vlang.runtime.storage.state.state_folder import StateFolder
from vlang.runtime.threads.interrupts import Interrupts


def after(rounds: int, number: int, pause: float = 0.0) -> Any:
    """Return a progress function that sends signal `number` to this process in round `rounds`, and then sleeps."""
    left = [rounds]

    def progress(_row: Round) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), number)
            time.sleep(pause)

    return progress


@pytest.fixture(autouse=True)
def _handlers() -> Any:
    """Let signals raise KeyboardInterrupt, and check that every run restores the signal handlers."""
    before = signal.getsignal(signal.SIGINT), signal.signal(signal.SIGTERM, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is before[0] is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    signal.signal(signal.SIGTERM, before[1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("case", ["pull", "reach", "priority", "nested, masks", "for-range"])
def test_a_run_is_saved_at_an_interrupt(case: str, number: int, tmp_path: Path) -> None:
    program, graph, given = program_of(case), graph_of(case), CASES[case].given
    said: list[str] = []
    want = program(graph, **given)
    at = max(1, len(want.history) // 2)
    with pytest.raises(KeyboardInterrupt):
        program(graph, checkpoint=tmp_path, every=0, progress=after(at, number), notices=said.append, **given)
    assert said[0].startswith("saved before ")
    assert said[0].endswith("; the same command goes on from there")
    result = program(graph, checkpoint=tmp_path, notices=said.append, **given)
    assert said[1].startswith("goes on before " + said[0][len("saved before ") : said[0].index(";")])
    assert_same(case, result, want)
    assert program(graph, **given).resumed == ""


@pytest.mark.parametrize(("full_from", "after_that"), [
    (1, "nothing is saved"), (2, "the same command goes on from the checkpoint before"), (99, "")])
def test_an_interrupt_on_a_full_disk(
    full_from: int, after_that: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message says whether the state before an interrupt is saved, also after a checkpoint that failed."""
    said, calls, real = list[str](), [0], StateFolder.write

    def write(self: StateFolder, image: Any, stop: Any = lambda: False) -> bool:
        calls[0] += 1
        if calls[0] >= full_from or (full_from == 99 and calls[0] == 1):
            raise OSError(errno.ENOSPC, "")
        return real(self, image, stop)

    written_at_once(monkeypatch)
    monkeypatch.setattr(StateFolder, "write", write)
    monkeypatch.setattr("vlang.runtime.engine.keeper.INTERVAL", 0.0)
    with pytest.raises(KeyboardInterrupt):
        program_of("pull")(graph_of("pull"), checkpoint=tmp_path, every=0, notices=said.append,
                           progress=after(9, signal.SIGINT), **CASES["pull"].given)
    if after_that:
        assert said[-1] == f"no checkpoint could be written to {tmp_path}: the disk is full; {after_that}"
    else:
        assert said[0].endswith("the disk is full; the run goes on")
        assert said[-1].startswith("saved before ")


def test_the_values_so_far() -> None:
    """The returned values equal the result of a run with the same number of rounds."""
    program, graph = program_of("pull"), graph_of("pull")
    result = program(graph, on_interrupt="write", progress=after(3, signal.SIGINT))
    want = program(graph, max_rounds=3)
    assert (result.interrupted, result.converged, result.reason) == (True, False, "interrupted after 3 rounds")
    assert result.rounds == len(result.history) == 3
    assert np.array_equal(result["rank"], want["rank"])
    assert not want.interrupted


def test_calls_of_many_supersteps_are_short() -> None:
    """A call that runs many supersteps takes a limited time. Without a limit, a search with a narrow frontier would run
    all its supersteps in one call.
    """
    program, graph = program_of("reach"), graph_of("reach")
    whole = program(graph, source=3).rounds
    rounds = program(graph, source=3, on_interrupt="write", progress=after(1, signal.SIGINT)).rounds
    assert 1 <= rounds < whole


def test_values_so_far_of_words_beside_the_fields() -> None:
    """A loop in priority order stores its current values in the fields on request."""
    program, graph = program_of("priority, words apart"), graph_of("priority, words apart")
    want = program(graph, source=3)
    result = program(graph, source=3, on_interrupt="write", progress=after(1, signal.SIGINT), research={
        "schedule": "priority"})
    assert result.interrupted
    assert 1 < np.isfinite(result["dist"]).sum() <= graph.n
    assert (result["dist"] >= want["dist"]).all()


def test_saved_and_returned(tmp_path: Path) -> None:
    program, graph = program_of("pull"), graph_of("pull")
    part = program(graph, on_interrupt="write", checkpoint=tmp_path, progress=after(4, signal.SIGINT))
    assert part.interrupted
    whole = program(graph, checkpoint=tmp_path)
    assert "goes on before superstep 5 of the loop" in whole.resumed
    assert np.array_equal(whole["rank"], program(graph)["rank"])
    assert [row.round for row in whole.history] == list(range(1, whole.rounds + 1))


def test_an_interrupt_in_the_last_round(tmp_path: Path) -> None:
    """After an interrupt in the last round the result is complete. Without `on_interrupt`, the checkpoint is not marked
    as finished.
    """
    program, graph = program_of("pull"), graph_of("pull")
    rounds = program(graph).rounds
    result = program(graph, on_interrupt="write", progress=after(rounds, signal.SIGINT))
    assert (result.rounds, result.converged) == (rounds, True)
    with pytest.raises(KeyboardInterrupt):
        program(graph, checkpoint=tmp_path, every=0, progress=after(rounds, signal.SIGINT))
    assert program(graph, checkpoint=tmp_path).rounds == rounds


def test_a_second_interrupt_is_raised_at_once(tmp_path: Path) -> None:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        program_of("pull")(graph_of("pull"), checkpoint=tmp_path, progress=after(2, signal.SIGINT, 20.0))
    assert time.monotonic() - begin < 10


def test_a_run_that_does_not_end_in_time() -> None:
    begin = time.monotonic()
    with Interrupts(grace=0.2) as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.asked == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            time.sleep(20)
    assert 0.15 < time.monotonic() - begin < 10


def test_signals_that_are_noted_in_time_are_not_sent_again() -> None:
    with Interrupts(grace=0.2) as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        assert 0 < interrupts.left <= 0.2
    time.sleep(0.4)
    with pytest.raises(KeyboardInterrupt):
        interrupts.raise_noted()
    interrupts.raise_noted()  # a second call raises nothing


def test_handlers_of_the_caller_stay() -> None:
    """A run restores the signal handlers of the process. A run outside of the main thread installs no handlers."""
    got = []

    def own(number: int, frame: FrameType | None) -> None:
        got.append(number)

    before = signal.signal(signal.SIGINT, own)
    try:
        with Interrupts() as interrupts:
            os.kill(os.getpid(), signal.SIGINT)
            assert (got, interrupts.asked) == ([signal.SIGINT], 0)
            assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
    found: list[Result] = []
    thread = threading.Thread(target=lambda: found.append(program_of("pull")(graph_of("pull"), on_interrupt="write")))
    thread.start()
    thread.join()
    assert not found[0].interrupted


LONG = "program long\nvertex x: int = 0\nrepeat 100000000 times:\n    gather s = sum(u.x + 1 for u -> self)\n" \
       "    apply x = (s + iteration) % 1000\n"


def test_sigterm_in_the_library(tmp_path: Path) -> None:
    """In a process without signal handlers, SIGTERM lets the run save a checkpoint, and then ends the process as usual.
    """
    code = f"""
import os, signal
from vlang import Graph, compile
rounds = [0]
def progress(_row):
    rounds[0] += 1
    if rounds[0] == 40:
        os.kill(os.getpid(), signal.SIGTERM)
compile({LONG!r})(Graph.read("uniform:12"), checkpoint={str(tmp_path)!r}, progress=progress, notices=True)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.returncode == -signal.SIGTERM
    assert done.stderr == "saved before superstep 41 of the loop in line 3; the same command goes on from there\n"


def asked_to_end(process: subprocess.Popen[str], number: int) -> tuple[str, str]:
    """Run a command that receives a signal after some rounds, and return its output."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith("round 50"):
            break
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return out, "".join(lines) + err


def test_the_command(tmp_path: Path) -> None:
    """SIGTERM ends the command with status 130, like an interrupt. The checkpoint is saved. The requested output is
    written, and marked as not converged.
    """
    program, out = tmp_path / "long.vp", tmp_path / "r.json"
    program.write_text(LONG)
    args = ("run", str(program), "uniform:12", "--checkpoint", str(tmp_path / "state"), "-o", str(out), "--json")
    process = command(*args, "--on-interrupt", "write")
    text, err = asked_to_end(process, signal.SIGTERM)
    assert process.returncode == 130
    summary, written = json.loads(text), json.loads(out.read_text())
    assert summary["converged"] is written["converged"] is False
    assert summary["reason"] == f"interrupted after {summary['rounds']:,} rounds"
    assert len(written["vertex"]) == 4096
    assert err.splitlines()[-1] == "interrupted"
    assert "saved before superstep " in err
    out.unlink()
    process = command(*args)
    text, err = asked_to_end(process, signal.SIGTERM)
    assert (process.returncode, text, out.exists()) == (130, "", False)
    assert f"goes on before superstep {summary['rounds'] + 1:,} of the loop in line 3, as of 20" in err
    done = command("run", str(program), "uniform:11", "--checkpoint", str(tmp_path / "state"), "-q")
    assert done.wait(60) == 1
    assert done.stderr is not None
    assert done.stderr.read() == (f"error: cannot go on from the checkpoint in {tmp_path}/state: its graph has 4096 "
                                  "vertices, and this one 2048. Run it as before, or give another folder\n")

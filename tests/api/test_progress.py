"""`progress=True` shows reading, compiling and rounds, on plain lines or on one line of a terminal."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.listener import Keeping
from vlang import Graph, compile, load
from vlang.api.running.progress import Progress
from vlang.runtime.engine.trace import Done, Series
from vlang.runtime.threads.activity import Supersteps, listened_by, listeners, reach, step, timed


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that advances the clock by a number of seconds."""
    now = [100.0]
    monkeypatch.setattr("vlang.api.running.progress.time.perf_counter", lambda: now[0])

    def wait(seconds: float) -> None:
        now[0] += seconds

    return wait


def ran(number: int, active: int = 5, bound: int | None = None, gap: tuple[float, ...] = ()) -> Supersteps:
    return Supersteps(0, 3, number, time.perf_counter(), 0.1, (Done(active, "pull", 10),), bound, gap)


def test_a_call_prints_rounds_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    result = load("bfs")(Graph.read("karate"), source=1, progress=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    rows = {row.round: row for row in result.history}
    assert [line for line in printed.err.splitlines() if line.startswith("round ")] == [
        f"round {at}: {rows[at].active:,} active, {rows[at].mode}, {rows[at].edges:,} edges" for at in (1, 2)
    ]
    assert result.rounds >= 2
    load("bfs")(Graph.read("karate"), source=1)
    assert capsys.readouterr() == ("", "")
    assert listeners() == ()


def test_plain_lines_are_few(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress, step("running", "p"):
        for number in range(1, 2501):
            progress.rounds(ran(number))
    one_by_one = capsys.readouterr().err.splitlines()
    assert one_by_one[0] == "round 1: 5 active, pull, 10 edges"
    assert len(one_by_one) == 11
    with Progress() as progress, step("running", "p"):
        counts = [[5, 10]] * 2500
        import numpy as np

        progress.rounds(Supersteps(0, 3, 1, time.perf_counter(), 0.1, Series("pull", np.array(counts, np.int64))))
    assert capsys.readouterr().err.splitlines() == one_by_one


def test_a_line_every_five_seconds_says_how_far_it_is(
    clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress(), step("converting", "a.el"):
        for seconds, fraction in ((1, 0.01), (4, 0.1), (1, 0.1), (1, 0.2), (13, 0.4), (10_000, 0.41)):
            clock(seconds)
            reach(fraction, "sorting")
    with Progress(), step("reading", "b.el", 2_000_000_000):
        clock(6)
        reach(0.5)
    assert capsys.readouterr().err.splitlines() == [
        "converting a.el, sorting, 10%, 5.0 s so far, about 45 s left",
        "converting a.el, sorting, 40%, 20.0 s so far, about 30 s left",
        "converting a.el, sorting, 41%, 10020.0 s so far, about 4.0 h left",
        "reading b.el, 50% of 2.0 GB, 6.0 s so far, about 6 s left",
    ]


def test_rounds_to_come_are_estimated_by_bound_and_by_convergence(
    clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress() as progress, step("running", "p"):
        for number in range(11, 15):
            clock(1 if number > 11 else 0)
            progress.rounds(ran(number, bound=40))
        clock(4)
        progress.rounds(ran(15, bound=40))
    with Progress() as progress, step("running", "p"):
        for number in range(11, 17):  # the change halves in every round: 2^-10 is ten halvings from 1
            clock(2 if number > 11 else 0)
            progress.rounds(ran(number, gap=(2.0 ** (11 - number), 2.0**-10)))
    first, *_, last = [line for line in capsys.readouterr().err.splitlines() if "left" in line]
    assert first == "round 15: 5 active, pull, 10 edges, 7.14e-06 M edges/s, 7.0 s so far, about 35 s left"
    assert "0.125 of tolerance 0.000977" in last or "0.0312 of tolerance 0.000977" in last
    assert last.endswith(" left")


def test_a_terminal_shows_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("vlang.api.running.progress._AFTER", 0.0)
    monkeypatch.setenv("TERM", "xterm")

    def drawn(text: str) -> None:
        end = time.monotonic() + 60
        while text not in screen.getvalue() and time.monotonic() < end:
            time.sleep(0.01)

    with Progress() as progress, step("running", "[b]\x1b]0;evil\x07"):
        drawn("evil")
        progress.rounds(ran(1))
        drawn("round 1")
    shown = screen.getvalue()
    assert "round 1: 5 active, pull" in shown
    assert "running [b]\\x1b]0;evil\\x07" in shown, "a name can neither be markup nor control the terminal"
    assert shown.endswith("\x1b[2K"), "the line is removed"


def test_steps_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "g.el"
    path.write_text("1 2\n2 3\n")
    found = Keeping()
    number = time.time_ns()  # a constant that no cache has: the program must be compiled
    program = compile(f"program fresh\nvertex x: i64 = {number}\nrepeat 3 times:\n    apply x = x + 1\n")
    with listened_by(found):
        graph = Graph.read(path)
        program(graph)
        load("pagerank")(graph, max_rounds=2)
    assert [step for step in found.begun if step[0] == "reading"] == [("reading", str(path), 8)]
    assert {name for name, _, _ in found.begun} >= {"reading", "compiling", "building", "running"}
    assert found.ended == len(found.begun)
    assert found.reached[0] == ("", 1.0)
    assert [(one.first, one.bound) for one in found.ran if one.bound == 2] == [(1, 2), (2, 2)]
    assert len(found.ran[-1].gap) == 2, "pagerank compares a sum with a tolerance"


def test_a_report_without_listeners_is_cheap() -> None:
    """Without listeners, a report costs less than the launch of a kernel. Each launch makes one report and takes
    microseconds.
    """
    assert listeners() == ()
    begin = time.process_time()
    for _ in range(100_000):
        with timed("kernel", "k", tasks=1):
            pass
    assert (time.process_time() - begin) / 100_000 < 5e-6

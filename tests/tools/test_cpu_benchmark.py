"""The CPU benchmarks run, compare results, and write a table."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cpu import agreement, report
from benchmarks.cpu.inputs import INPUTS
from benchmarks.cpu.measure import Figure, alternate, limited
from benchmarks.cpu.own.programs import PROGRAMS
from benchmarks.cpu.peers import PeerFigure
from benchmarks.cpu.works import WORKS, chosen
from tests.sample import EXHAUSTIVE

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++: it builds the C++ loops to compare with")
def test_the_script_runs() -> None:
    command = [sys.executable, "benchmarks/cpu/run.py", "--quick", "--only", "bfs,components", "--graphs", "kron:20",
               "--rounds", "1", "--no-peaks"]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(("bfs ", "components "))]
    assert [line[1] for line in lines] == ["kron:20", "kron:20"], done.stdout
    assert all("C++" in line for line in lines), done.stdout
    assert "GB/s" in done.stdout, done.stdout


def test_choices_are_compared_with_forced_ways() -> None:
    command = [sys.executable, "benchmarks/cpu/choices.py", "--quick", "--only", "bfs,kcore_peel"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith(("bfs ", "kcore_peel "))]
    assert len(lines) == 2, done.stdout
    assert all("auto " in line and "pull " in line for line in lines), done.stdout
    assert " of 2 cells within 1.1 " in done.stdout


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++: it builds the C++ loops to compare with")
def test_own_programs_agree_with_their_loops() -> None:
    assert len(PROGRAMS) == 7
    names = list(PROGRAMS) if EXHAUSTIVE else ["spread", *random.sample(list(PROGRAMS)[1:], 1)]
    print(names)
    command = [sys.executable, "benchmarks/cpu/own/run.py", "--quick", "--graphs", "uniform:20",
               "--only", ",".join(names)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("C++ loop") == len(names), done.stdout


def test_an_unknown_work_is_reported() -> None:
    done = subprocess.run([sys.executable, "benchmarks/cpu/run.py", "--only", "bsf"], cwd=ROOT, capture_output=True,
                          text=True, check=False, timeout=60)  # fmt: skip
    assert done.returncode == 2
    assert "bsf: known are pagerank, bfs" in done.stderr


def test_works_name_graphs() -> None:
    assert {work.graph for work in WORKS} == set(INPUTS)
    assert [work.sources for work in chosen(["betweenness"], ["kron:18"])] == [4]
    assert all(work.sweeps is None or work.ratio is None for work in WORKS)


def test_all_take_turns_and_the_quiet_rounds_count() -> None:
    called: list[int] = []

    def contestant(number: int) -> float:
        called.append(number)
        return float(number)

    rounds = alternate([lambda: contestant(1), lambda: contestant(2), lambda: contestant(4)], 2)
    assert called[:6] == [1, 2, 4, 4, 2, 1]
    assert set(rounds.samples) == {(1.0, 2.0, 4.0)}
    assert len(rounds.samples) == 2
    assert rounds.ratio(2, 0) == 4


def test_agreement_finds_a_difference() -> None:
    hops, far = np.array([0, 1, 2, 2**31 - 1], np.int32), np.array([0.0, 1.0, 2.0, np.inf])
    agreement.same_distances(hops, far)
    agreement.same_distances(far, np.array([0, 1, 2, -1]))
    agreement.same_reach(far, np.array([2, 0, 1]))
    agreement.same_parts(np.array([0, 0, 2, 3]), np.array([7, 7, 1, 0]))
    agreement.same_ranks(np.array([0.25, 0.75]), np.array([1, 3]))
    differing: tuple[Callable[[], None], ...] = (
        lambda: agreement.same_distances(hops, np.array([0, 1, 3, np.inf])),
        lambda: agreement.same_distances(hops, np.array([0, 1, 2, 3])),
        lambda: agreement.same_reach(far, np.array([0, 1])),
        lambda: agreement.same_parts(np.array([0, 0, 2]), np.array([1, 1, 1])),
        lambda: agreement.same_parts(np.array([1, 1, 1]), np.array([0, 0, 2])),
        lambda: agreement.same_scores(np.array([1.0, 2.0]), np.array([1.0, 2.1])))
    for wrong in differing:
        with pytest.raises(AssertionError):
            wrong()


def test_a_record_becomes_a_table(tmp_path: Path) -> None:
    figures = [
        Figure("bfs", "ms", 6.0, 8.0, "C++ both ways", 0.75, graph="kron:20", sweeps=0.5, sweep_target=0.4, gain=1.9,
               peak=200.4, arrays=150.0, samples=[(6.0, 8.0, 12.0, 11.4)], others=0.02),
        limited("import vlang", "s CPU", "limit", 0.1, 1.0, [0.02, 0.03, 0.04]),
    ]  # fmt: skip
    peer = PeerFigure("igraph 1.0.0", "bfs", "kron:20", 6.0, 60.0, 0.1, "distances(source)", 1.5, True)
    record = {"date": "2026-11-21T01:02:03+00:00", "processor": "A processor", "threads": 2, "memory": "1.0 GiB",
              "system": "Linux 6", "python": "3.12.1", "versions": {"vlang": "0.1.0", "numpy": "2.0", "scipy": "none"},
              "g++": "12.2 -O3", "commit": "abc", "limits": "reading 30.0 GB/s"}  # fmt: skip
    path = report.save(tmp_path, record, figures, [peer])
    assert path.name == "cpu-2026-11-21T010203.json"
    text = report.markdown(json.loads(path.read_text()), path.name)
    assert "| bfs | kron:20 | 6 ms | 8 | C++ both ways | 0.75 | 0.50 | <= 0.4 sw | NO | 1.90 | 200/150 | 0.0 |" in text
    assert "| import vlang |  | 0.03 s CPU | 0.1 | limit | 0.30 |  | <= 1 | yes |  |  |  |" in text
    assert "| igraph 1.0.0 | bfs | kron:20 | 6 ms | 60 ms | 0.10 | distances(source) | 1.50 s | yes |" in text
    assert "numpy 2.0, g++ 12.2" in text

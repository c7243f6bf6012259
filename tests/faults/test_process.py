"""Whole processes: interrupts, forks, too little memory, full disks, and global state that must stay unchanged."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONG = '''
import _thread, os, signal, sys, threading, time
import numpy as np
from vlang import Graph, compile
long = compile("""program long
vertex x: int = 0
repeat 100000000 times:
    gather s = sum(u.x + 1 for u -> self)
    apply x = (s + iteration) % 1000
""")
graph = Graph.read("uniform:15")
alone = long(graph, max_rounds=3, threads=1).x
'''


def python(code: str, **more: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120,
                          env=environment, **more)  # fmt: skip


def said(code: str, **more: Any) -> str:
    done = python(code, **more)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.strip()


def test_interrupts_in_the_middle_of_runs() -> None:
    """After an interrupt, KeyboardInterrupt is raised, the threads end or sleep, and the next run gives the right
    result.
    """
    code = LONG + """
for delay in (0.05, 0.1, 0.13, 0.2):
    threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try:
        long(graph, threads=3)
    except KeyboardInterrupt:
        assert time.monotonic() - begin < 5
    assert _thread._count() <= 3
    assert np.array_equal(long(graph, max_rounds=3, threads=2).x, alone)
print("done")
"""
    assert said(code) == "done"


@pytest.mark.parametrize("gap", [0.0, 0.0005, 0.002])
def test_interrupts_in_quick_succession(gap: float) -> None:
    """If more interrupts arrive while the threads of the run finish, no memory that a thread uses is freed."""
    code = LONG + """
try:
    try:
        print("ready", flush=True)
        long(graph, threads=3)
    finally:
        time.sleep(0.3)
except KeyboardInterrupt:
    pass
signal.signal(signal.SIGINT, signal.SIG_IGN)
print(np.array_equal(long(graph, max_rounds=3, threads=2).x, alone))
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(gap)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out.strip(), err) == (0, "True", "")


def test_a_system_that_grants_no_threads() -> None:
    """If the system refuses threads, the run uses fewer threads."""
    code = LONG + """
from vlang.runtime.threads import tasks
start, allowed = tasks.start_new_thread, [2]
def refuse(*args):
    if allowed[0] == 0:
        raise RuntimeError("can't start new thread")
    allowed[0] -= 1
    return start(*args)
tasks.start_new_thread = refuse
print(np.array_equal(long(graph, max_rounds=3, threads=8).x, alone))
allowed[0] = 0
print(np.array_equal(long(graph, max_rounds=3, threads=8).x, alone))
again = Graph.read("uniform:15", threads=8)
print(np.array_equal(long(again, max_rounds=3, threads=8).x, alone))
"""
    assert said(code).split() == ["True"] * 3


def test_forks() -> None:
    """A forked child can run programs, even if another thread was running a program at the fork."""
    code = LONG + """
def child():
    number = os.fork()
    if number == 0:
        os._exit(0 if np.array_equal(long(graph, max_rounds=3, threads=2).x, alone) else 3)
    return os.waitpid(number, 0)[1]

long(graph, max_rounds=3, threads=2)
print(child())
other = threading.Thread(target=long, args=(graph,), kwargs={"max_rounds": 300, "threads": 2})
other.start()
time.sleep(0.05)
print(child())
other.join()
"""
    assert said(code).split() == ["0", "0"]


def test_the_library_is_quiet_and_changes_nothing() -> None:
    """A run prints nothing, shows no warnings of numba or NumPy, and changes no signal handlers or NumPy settings."""
    code = """
import signal, warnings
import numpy as np
before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)], np.geterr(), list(warnings.filters)
from vlang import Graph, compile
program = compile('''program quiet(k = 1e300)
vertex x: float = log(-1.0 * outdegree) / (indegree - indegree)
vertex h: f16 = 1e9 * k
vertex i: i8 = 127
vertex j: int = 1 // (outdegree - outdegree)
repeat 3 times:
    gather s = sum(u.x * 1e38 + u.i for u -> self)
    gather t = prod(u.i for u -> self)
    gather m = mean(u.h for self -> u, default = -inf)
    apply x = sqrt(s) + m
    apply i += t
''')
for mode in ("pull", "notify-pull"):
    program(Graph.read("star:50"), research={"mode": mode})
program(Graph.read("karate"), k=float("nan"))
after = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)], np.geterr(), list(warnings.filters)
assert before == after
"""
    assert said(code) == ""


def command(*args: str, **more: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-m", "vlang", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=environment, **more)  # fmt: skip


def test_an_interrupted_command(tmp_path: Path) -> None:
    """An interrupted command ends with status 130 and one more line on stderr, and leaves no partial file."""
    program = tmp_path / "long.vp"
    program.write_text("program long\nvertex x: int = 0\nrepeat 100000000 times:\n"
                       "    gather s = sum(u.x + 1 for u -> self)\n    apply x = (s + iteration) % 1000\n")  # fmt: skip
    process = command("run", str(program), "uniform:14", "-o", str(tmp_path / "r.csv"))
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("round"):
            break
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err
    assert not (tmp_path / "r.csv").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
def test_too_little_memory() -> None:
    """If memory does not suffice, the command prints one line and ends with status 1, wherever the allocation fails."""
    warm = command("run", "pagerank", "uniform:19", "--max-rounds", "1", "-q")
    assert warm.wait(timeout=120) == 0
    for megabytes in (520, 580):
        def limit(bytes_: int = megabytes << 20) -> None:
            resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))

        process = command("run", "pagerank", "uniform:20", "--threads", "2", "--max-rounds", "2", "-q",
                          preexec_fn=limit)  # fmt: skip
        _, err = process.communicate(timeout=120)
        assert process.returncode == 1, err
        assert "memory" in err
        assert len(err.splitlines()) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
@pytest.mark.parametrize("megabytes", [60, 200])
def test_too_little_address_space_to_begin(megabytes: int) -> None:
    """If libraries cannot be loaded for lack of address space, the message names the limit to raise."""
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    process = command("run", "bfs", "karate", "source=1", "-q", preexec_fn=limit)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert "out of memory" in err
    assert "ulimit -v" in err
    assert len(err.splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk() -> None:
    with open("/dev/full", "w") as full:
        process = subprocess.run([sys.executable, "-m", "vlang", "run", "bfs", "karate", "source=1", "-q", "-o", "-"],
                                 stdout=full, stderr=subprocess.PIPE, text=True,
                                 env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert process.returncode == 1
    assert process.stderr == "error: standard output: no space left on device\n"

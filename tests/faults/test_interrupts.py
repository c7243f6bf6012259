"""After a KeyboardInterrupt at a random moment of a compile, a run or a read, the next call gives the right result.

Each case is a process that runs for a few seconds and draws its delays from a printed seed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from vlang.runtime.threads.tasks import Task, completed
from vlang.runtime.threads.workers import on_threads

ROOT = Path(__file__).resolve().parents[2]
START = '''
import _thread, gc, os, random, signal, sys, time
import numpy as np
from vlang import Graph, compile, load

seed, seconds, folder = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
draw = random.Random(seed)
signal.signal(signal.SIGALRM, signal.default_int_handler)
hits = 0


def interrupted(work, most):
    """Call a function and interrupt it after up to so many seconds."""
    global hits
    try:
        signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, most))
        try:
            work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        hits += 1


def text(k):
    return (f"program p{k}\\nvertex x: int = {k}\\nrepeat 3 times:\\n"
            f"    gather s = sum(u.x + {k} for u -> self)\\n    apply x = (s + iteration) % 1000\\n")


settings = gc.isenabled(), sys.getrecursionlimit(), sys.getswitchinterval(), np.geterr(), os.umask(18)
os.umask(settings[-1])
karate = Graph.read("karate")
begin = time.monotonic()
'''
END = '''
now = gc.isenabled(), sys.getrecursionlimit(), sys.getswitchinterval(), np.geterr(), os.umask(18)
assert settings == now, (settings, now)
end = time.monotonic() + 10
while _thread._count() > 2 and time.monotonic() < end:
    time.sleep(0.01)  # threads of an interrupted call come to their end
assert _thread._count() <= 2, _thread._count()
print("right", hits > 0)
'''

COMPILE = '''
compile(text(99999))(karate)
k = 0
while time.monotonic() < begin + seconds or not hits:  # a busy machine may take long for a compile
    k += 1
    program = compile(text(k))
    for _ in range(2):
        interrupted(lambda: program(karate), 0.15)
    x, n = np.full(34, k), karate.adjacency("in")
    for i in range(3):
        x = (np.add.reduceat(x[n.targets] + k, n.offsets[:-1].astype(int)) + i + 1) % 1000
    assert program(karate)["x"].tolist() == x.tolist(), (k, program(karate)["x"], x)
'''

RUN = '''
graph = Graph.read("uniform:14,directed=false", weights="1..9", self_loops="drop", parallel="drop")
runs = [(load("bfs"), {"source": 3}), (load("sssp"), {"source": 3}), (load("components"), {}),
        (load("pagerank"), {"max_rounds": 12}), (load("kcore_members"), {"k": 5}),
        (load("pagerank"), {"max_rounds": 12, "research": {"blocking": "always"}})]
runs = [(program, {**given, "threads": threads}) for program, given in runs for threads in (1, 3)]


def values(program, given):
    result = program(graph, **given)
    return {name: result[name].tobytes() for name in result.fields}


want = [values(*run) for run in runs]
spans = []
for run in runs:
    start = time.monotonic()
    values(*run)
    spans.append(time.monotonic() - start)
begin = time.monotonic()
while time.monotonic() < begin + seconds:
    at = draw.randrange(len(runs))
    for _ in range(6):
        interrupted(lambda: values(*runs[at]), 1.1 * spans[at])
    assert values(*runs[at]) == want[at], runs[at]
'''

READ = '''
from pathlib import Path
path = Path(folder, "edges.txt")
rng = np.random.default_rng(seed)
pairs = rng.integers(0, 5000, (60_000, 2))
np.savetxt(path, np.column_stack([pairs, rng.integers(1, 9, len(pairs))]), fmt="%d")
names = np.array([f"v{i}" for i in range(5000)], object)
archive = Path(folder, "graph.npz")
Graph.read("uniform:13").save(archive)
ways = [lambda: Graph.read(path, weights="3", threads=3), lambda: Graph.read("kron:13", threads=3),
        lambda: Graph.read("uniform:13", parallel="drop"), lambda: Graph.read(archive),
        lambda: Graph.from_edges(names[pairs[:, 0]], names[pairs[:, 1]]),
        lambda: Graph.from_edges(*pairs.T, directed=False, threads=3)]


def lists(graph):
    both = graph.adjacency("both", list(graph.columns))
    return [graph.ids.values.tolist(), graph.out_degree.tobytes(), both.offsets.tobytes(), both.targets.tobytes(),
            *(both.column(name).tobytes() for name in graph.columns)]


want = [lists(way()) for way in ways]
spans = []
for way in ways:
    start = time.monotonic()
    lists(way())
    spans.append(time.monotonic() - start)
begin = time.monotonic()
while time.monotonic() < begin + seconds:
    at = draw.randrange(len(ways))
    for _ in range(4):
        interrupted(lambda: lists(ways[at]()), 1.1 * spans[at])
    graph = ways[at]()
    for _ in range(4):
        interrupted(lambda: lists(graph), 0.7 * spans[at])
    assert lists(graph) == want[at], at
    copy = Path(folder, "copy.npz")
    copy.unlink(missing_ok=True)
    interrupted(lambda: graph.save(copy), 0.05)
    if copy.exists():
        assert lists(Graph.read(copy)) == want[at], at
assert {name.name for name in Path(folder).iterdir()} <= {"edges.txt", "graph.npz", "copy.npz", "cache"}
'''

FIRST = '''
import os, signal, sys
import numpy
import vlang

def work():
    program = vlang.compile("program p\\nvertex x: int = 0\\nrepeat 3 times:\\n"
                            "    gather s = sum(u.x + 1 for u -> self)\\n    apply x = (s + iteration) % 1000\\n")
    return program(vlang.Graph.read("karate")).rounds

signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
try:
    work()
except KeyboardInterrupt:
    pass
signal.setitimer(signal.ITIMER_REAL, 0)
print("right", work() == 3)
'''


def python(code: str, cache: Path | None, *args: object) -> str:
    """Run a Python text in a new process, and return its output.

    Args:
        cache: the cache directory of the process.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **({"VLANG_CACHE": str(cache)} if cache else {})}
    done = subprocess.run([sys.executable, "-W", "error", "-c", code, *map(str, args)], capture_output=True, text=True,
                          timeout=120, env=environment)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("what", ["compile", "run", "read"])
def test_the_next_call_is_right(what: str, tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    body = {"compile": COMPILE, "run": RUN, "read": READ}[what]
    cache = tmp_path / "cache" if what == "compile" else None
    assert python(START + body + END, cache, seed, 4, tmp_path) == "right True"
    assert cache is None or not list(cache.glob(".*"))  # no entry is half written


def test_the_first_call_of_a_process(tmp_path: Path) -> None:
    """The first call of a process can also be interrupted while the call imports modules and loads numba."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    draw = random.Random(seed)
    for turn in range(4):
        assert python(FIRST, tmp_path / str(turn), draw.uniform(0.05, 1.5)) == "right True"


def interrupt_when(event: threading.Event) -> threading.Thread:
    """Start a thread that interrupts the current thread when an event is set."""
    def send() -> None:
        event.wait()
        time.sleep(0.02)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    return sender


@pytest.mark.parametrize("restarts", [False, True])
def test_what_must_complete_does(restarts: bool) -> None:
    """A section that must complete is not interrupted.

    Args:
        restarts: whether the system restarts waits after SIGINT, as polars requests.
    """
    begun, free, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        free.wait(60)
        ended.set()

    signal.siginterrupt(signal.SIGINT, not restarts)
    sender = interrupt_when(begun)
    try:
        with pytest.raises(KeyboardInterrupt):
            completed(work)
    finally:
        signal.siginterrupt(signal.SIGINT, True)
    assert not ended.is_set()
    free.set()
    assert ended.wait(5)
    sender.join()
    assert completed(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        completed(lambda: 1 // 0)


def test_threads_end_before_an_interrupt_is_raised() -> None:
    begun, ended, started = threading.Event(), list[int](), list[int]()

    def work(number: int) -> None:
        started.append(number)
        if len(started) == 3:
            begun.set()
        if threading.current_thread() is threading.main_thread():
            time.sleep(60)  # until the interrupt
        sender.join()
        time.sleep(0.05)
        ended.append(number)

    sender = interrupt_when(begun)
    with pytest.raises(KeyboardInterrupt):
        on_threads(3, work, range(100))
    assert len(started) == 3
    assert len(ended) == 2
    sender.join()


def test_no_thread_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("vlang.runtime.threads.tasks.start_new_thread", refuse)
    assert on_threads(5, lambda i: 2 * i, range(4)) == [0, 2, 4, 6]
    assert completed(lambda: 3) == 3
    task = Task(lambda: 4)
    assert not task.begin()
    task.wait()
    assert task.result() == 4

"""Threads that persist between launches: joining, sleeping and ending."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from _thread import _count as running
from functools import cache

import numpy as np
import pytest

from vlang.runtime.compile.objects import Kernel, load_kernels
from vlang.runtime.cpu.crew import crew as crews
from vlang.runtime.cpu.crew.crew import Crew, give_back, take_crew
from vlang.runtime.cpu.crew.launch import Cpu

_TEXT = """
import numpy as np

from vlang.runtime.compile.intrinsics import fetch_add, give_way, peek


def count(hits, tasks, count, counter):
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        hits[task] += 1


def meet(state, wanted):
    fetch_add(state, 0, 1)
    while peek(state, 0) < wanted:
        give_way()


def wait(state):
    fetch_add(state, 0, 1)
    while peek(state, 8) == 0:
        give_way()
"""


@cache
def kernel(name: str) -> Kernel:
    """Return one of the kernels of `_TEXT`."""
    return load_kernels(_TEXT, {"count": "void(i64*, i64*, i64, i64*)", "meet": "void(i64*, i64)",
                                "wait": "void(i64*)"})[name]  # fmt: skip


def runs(count: int) -> bool:
    """Return whether `count` threads run besides the main thread. Wait up to 10 s for these threads."""
    end = time.monotonic() + 10
    while running() != count and time.monotonic() < end:
        time.sleep(0.001)
    return running() == count


def settled() -> int:
    """Return the number of threads besides the main thread, once those of earlier tests have ended: when it has not
    changed for 0.1 s.
    """
    gc.collect()
    count, since = running(), time.monotonic()
    while time.monotonic() - since < 0.1:
        if running() != count:
            count, since = running(), time.monotonic()
        time.sleep(0.001)
    return count


def meet(crew: Crew, helpers: int) -> None:
    """Launch a kernel with a barrier for all threads of a crew, and check that each thread takes part exactly once."""
    state = np.zeros(16, np.int64)
    crew.launch(kernel("meet"), kernel("meet").words((state, helpers + 1)), helpers)
    assert state[0] == helpers + 1


@pytest.mark.parametrize("pause", [0.0, 2e-5, 1e-4, 1e-3])
def test_every_helper_joins_asleep_or_awake(pause: float) -> None:
    crew = Crew(3)
    rng = np.random.default_rng(round(1e6 * pause))
    for turn in range(60):
        helpers = crew.helpers(1 + turn % 3)
        meet(crew, helpers)
        if pause:
            time.sleep(float(rng.random()) * pause)
    crew.end()


def test_every_task_runs_once() -> None:
    workers, tasks = Cpu(3), np.zeros(0, np.int64)
    for count in (1, 2, 7, 1000) * 50:
        hits = np.zeros(count, np.int64)
        workers.launch(kernel("count"), (hits,), tasks, count, 1 << 20)
        assert (hits == 1).all()
    workers.close()


def test_a_launch_runs_while_its_caller_does_something_else() -> None:
    """The helpers begin, the caller joins, and every task runs once."""
    workers, none = Cpu(3), np.zeros(0, np.int64)
    for turn, count in enumerate((2, 7, 1000) * 50):
        hits = np.zeros(count, np.int64)
        workers.begin(kernel("count"), (hits,), none, count, 1 << 20)
        if turn % 3 == 0:
            time.sleep(1e-4)
        workers.complete()
        assert (hits == 1).all()
        workers.complete()  # nothing is open
    alone = np.zeros(9, np.int64)
    workers.begin(kernel("count"), (alone,), none, 9, 1)
    assert (alone == 1).all(), "a small launch runs at once"
    workers.close()


def test_callers_of_their_own() -> None:
    """Each calling thread has its own crew, and the number of threads does not grow from call to call."""
    def work() -> None:
        for _ in range(30):
            workers = Cpu(2)
            hits = np.zeros(50, np.int64)
            workers.launch(kernel("count"), (hits,), np.zeros(0, np.int64), 50, 1 << 20)
            assert (hits == 1).all()
            workers.close()

    before = settled()
    callers = [threading.Thread(target=work) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    work()
    end = time.monotonic() + 10
    while running() > before + 2 and time.monotonic() < end:
        time.sleep(0.001)
    assert running() <= before + 2  # the helpers of the two crews that are kept


def test_kept_for_the_next_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "available_threads", lambda: 2)
    monkeypatch.setattr(crews, "_idle", [])
    crew = take_crew(1)
    meet(crew, crew.helpers(1))
    give_back(crew)
    assert take_crew(1) is crew
    meet(crew, 1)
    crew.end()


def test_more_threads_than_processors_end_with_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "available_threads", lambda: 2)
    monkeypatch.setattr(crews, "_idle", [])
    before = settled()
    workers = Cpu(5)
    workers.launch(kernel("count"), (np.zeros(50, np.int64),), np.zeros(0, np.int64), 50, 1 << 20)
    assert runs(before + 4)
    workers.close()
    assert runs(before)


def test_as_many_as_the_system_grants(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*args: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("vlang.runtime.threads.tasks.start_new_thread", start)
    monkeypatch.setattr(crews, "_idle", [])
    workers, hits = Cpu(3), np.zeros(50, np.int64)
    workers.launch(kernel("count"), (hits,), np.zeros(0, np.int64), 50, 1 << 20)
    assert (hits == 1).all()
    assert workers.threads == 1
    workers.close()


def test_an_interrupt_waits_until_all_are_done() -> None:
    """An interrupt is raised only after all workers are done, since no array may be freed while a worker uses it."""
    crew, state = Crew(2), np.zeros(16, np.int64)
    helpers = crew.helpers(2)

    def interrupt() -> None:
        while state[0] < 3:
            time.sleep(0.001)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        time.sleep(0.05)
        state[8] = 1

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        crew.launch(kernel("wait"), kernel("wait").words((state,)), helpers)
    assert state[8] == 1
    other.join()
    meet(crew, helpers)
    crew.end()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_has_threads_of_its_own() -> None:
    workers = Cpu(2)

    def once() -> bool:
        hits = np.zeros(50, np.int64)
        workers.launch(kernel("count"), (hits,), np.zeros(0, np.int64), 50, 1 << 20)
        return bool((hits == 1).all())

    assert once()
    child = os.fork()
    if child == 0:
        os._exit(0 if once() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert once()
    workers.close()

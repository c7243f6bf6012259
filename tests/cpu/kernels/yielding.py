"""Run kernels that yield to another thread between any two accesses to memory.

Usage: `python -m tests.cpu.kernels.yielding PROGRAM... [--plant BUG]`.

An update is lost only if threads switch between a read and the dependent write. A switch between these two operations
is rare on few processors. In this module, a call that sleeps at random precedes every load, store and atomic operation
of a kernel, so that workers interleave inside every update of a shared word. Each program runs on a graph with hubs,
with several workers. Each program must give the same bits as a pull by one worker. With --plant, an atomic operation of
the kernels is first replaced by plain accesses; then the result of some run must differ.

The module runs in its own process with its own cache, because its machine code differs from the machine code of
ordinary runs.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import vlang
from tests.cpu.compare import same_bits
from tests.cpu.rules.copying import copying
from tests.cpu.ways.test_push import PROGRAMS
from vlang.runtime.compile import compile_numba, front_end
from vlang.runtime.compile.objects import load_kernels
from vlang.runtime.cpu.crew import launch
from vlang.runtime.cpu.ways import components, push, reach
from vlang.runtime.graph.topology import pages
from vlang.runtime.plan.layouts.meet_words import MEET_WORDS

__all__ = ["PLANTED", "WAYS", "yielding_text"]

WORKERS = 4
ROUNDS, MANY_ROUNDS = 4, 30  # runs of each program and of short ones, because switches are random
MEETINGS = 2000  # barriers that the workers of one kernel pass
MOST_PLANTED = 60  # largest number of runs with a bug until a result differs

WAYS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "components": ("components", {}),
    "priority": ("sssp", {"schedule": "priority"}),
    "offered": ("sssp", {"schedule": "priority"}),
    "reach": ("bfs", {}),
    "meeting": ("", {}),
    **{f"copied_{reduction}": ("", {}) for reduction in ("min", "max", "last", "bitor", "bitand")},
    **{name: (name, {"mode": "push", "schedule": "rounds"}) for name in (
        "sssp", "sswp", "sssp_tree", "small", "long", "bits", "heavy", "highest", "halves")},
}
"""What runs, by name: a program of test_push and research options. The reductions update words of every width.

The names copied_* are loops that copy values, where every vertex updates the root of its component. `offered` runs in
priority order on a random graph, where workers often wait for work that others offer. If an update of the count of
waiting workers were lost, they would wait for ever. `meeting` is a kernel that only passes barriers.
"""

_ACCESS = re.compile(r"^\s+(%\S+ = )?(load|store|cmpxchg|atomicrmw)\b")
_YIELD = """
@vlang_turn = internal global i64 88172645463325252
declare i32 @usleep(i32)

define internal void @vlang_yield() noinline {
  %seen = load i64, ptr @vlang_turn
  %left = shl i64 %seen, 13
  %one = xor i64 %seen, %left
  %right = lshr i64 %one, 7
  %two = xor i64 %one, %right
  %again = shl i64 %two, 17
  %next = xor i64 %two, %again
  store i64 %next, ptr @vlang_turn
  %part = lshr i64 %next, 59
  %now = icmp eq i64 %part, 0
  br i1 %now, label %give, label %done
give:
  %ignored = call i32 @usleep(i32 1)
  br label %done
done:
  ret void
}
"""


def yielding_text(text: str) -> str:
    """Return the text of an LLVM module with a call before each access to memory."""
    lines = []
    for line in text.splitlines():
        if _ACCESS.match(line):
            lines.append("  call void @vlang_yield()")
        lines.append(line)
    return "\n".join(lines) + _YIELD


PLANTED: Mapping[str, tuple[str, str]] = {
    "join": (r"if replace\((.*?), v, old, new\):\n", r"\1[v] = new\n        if True:\n"),
    "both": (r"if replace_both\((.*?), v, old, more, new, newer\):\n",
             r"\1[2 * v], \1[2 * v + 1] = new, newer\n        if True:\n"),
}
"""Atomic operations to replace in the text of kernels, and plain accesses in their place."""


HUBS, SPOKES = 24, 100


def _graph(directed: bool) -> vlang.Graph:
    """Return a graph with edges from the last vertex to the spokes of all hubs, and from each spoke to its hub.

    The weights of the spokes of a hub decrease or increase. Under min or max each contribution then replaces all
    earlier contributions, so that a lost contribution changes the result.
    """
    spokes = np.arange(HUBS, HUBS + HUBS * SPOKES)
    source, hubs, steps = np.full(len(spokes), spokes[-1] + 1), np.repeat(np.arange(HUBS), SPOKES), np.arange(SPOKES)
    weights = np.where(hubs.reshape(HUBS, SPOKES) % 2 == 0, 1 + 8 * steps, 900 - 8 * steps).reshape(-1)
    src, dst = np.concatenate([source, spokes]), np.concatenate([spokes, hubs])
    return vlang.Graph.from_edges(src, dst, n=len(spokes) + HUBS + 1, directed=directed,
                                  weight=np.concatenate([np.full(len(spokes), 2000), weights]))


def _random() -> vlang.Graph:
    """Return a graph with weights of many magnitudes, so that a run has many rounds with little work each."""
    rng = np.random.default_rng(1)
    src, dst, weight = rng.integers(0, 2000, 12_000), rng.integers(0, 2000, 12_000), rng.integers(1, 1000, 12_000)
    return vlang.Graph.from_edges(src, dst, n=2000, weight=weight)


def _copied(reduction: str) -> tuple[vlang.Program, vlang.Graph, dict[str, Any]]:
    """Return a program that copies values over stars, the graph of the stars, and the arguments of the program.

    The spokes of a star are far apart, so that several workers update each root. The values increase or decrease along
    the spokes, or have one bit each, so that any lost value changes the result.
    """
    spokes = np.arange(HUBS * SPOKES)
    graph = vlang.Graph.from_edges(HUBS + spokes, spokes % HUBS, n=HUBS + len(spokes), directed=False)
    place = np.concatenate([np.zeros(HUBS, np.int64), spokes // HUBS])
    hub = np.concatenate([np.arange(HUBS), spokes % HUBS])
    bits = np.where(np.arange(graph.n) < HUBS, 0, 1 << (place % 63)).astype(np.uint64)
    values = {"min": 1000 * hub - place, "max": 1000 * hub + place, "last": np.arange(graph.n), "bitor": bits,
              "bitand": ~bits}[reduction]
    kind = {"last": "vertex", "bitor": "u64", "bitand": "u64"}.get(reduction, "i64")
    return copying({"last": "max"}.get(reduction, reduction), kind), graph, {"x": values}


def _compiled_so(planted: str) -> None:
    """Let kernels yield from now on, with the planted bug in the kernels of plans. Launches use all workers."""
    whole = front_end.link

    def link(library: Any, entry: str, symbol: str, quick: bool) -> Any:
        made = llvm.parse_assembly(yielding_text(str(whole(library, entry, symbol, quick))))
        made.verify()
        return made

    class Compiler(compile_numba.Compiler):
        def __init__(self, text: str) -> None:
            super().__init__(re.sub(*PLANTED[planted], text) if planted else text)

    vars(compile_numba).update(link=link, Compiler=Compiler)
    launch._SMALL = push._SMALL = reach._NARROW = 0
    components._LEAST_COST = pages._LEAST_COST = 64  # so that each star is cut into many tasks


_MEETINGS = """
def many(control, crew, rounds, counter, wrong):
    for k in range(rounds):
        fetch_add(counter, 0, 1)
        meet(control, crew)
        if peek(counter, 0) != crew * (k + 1):
            fetch_add(wrong, 0, 1)
        meet(control, crew)
"""


def _meetings_are_barriers() -> bool:
    """Return whether no worker leaves the barrier of a launch before all workers have arrived. If an arrival is lost,
    this function does not end.
    """
    text = str(vlang.load("sssp").plan(frozenset({"weight"})).text)
    many = load_kernels(text + _MEETINGS, {"many": "void(i64*, i64, i64, i64*, i64*)"})["many"]
    control, counter, wrong = (np.zeros(words, np.int64) for words in (MEET_WORDS, 1, 1))
    with ThreadPoolExecutor(WORKERS) as workers:
        list(workers.map(lambda _: many(control, WORKERS, MEETINGS, counter, wrong), range(WORKERS)))
    return not wrong[0]


def main(names: Sequence[str], planted: str = "") -> int:
    """Run programs, print a line for each, and return 1 if a result differs."""
    _compiled_so(planted)
    status = 0
    for name in names:
        if name == "meeting":
            met = _meetings_are_barriers()
            print(name, "same" if met else "differs", flush=True)
            status |= not met
            continue
        stated, research = WAYS[name]
        if name.startswith("copied_"):
            program, graph, given = _copied(name.removeprefix("copied_"))
        else:
            text = PROGRAMS.get(stated)
            program = vlang.load(stated) if text is None else vlang.compile(text)
            graph = _random() if name == "offered" else _graph(name != "components")
            given = {"source": graph.n - 1} if any(p.name == "source" for p in program.params) else {}
        want = program(graph, threads=1, research={"mode": "pull"}, **given)
        same = True
        few = not name.startswith(("copied_", "offered"))
        for _ in range(MOST_PLANTED if planted else ROUNDS if few else MANY_ROUNDS):
            got = program(graph, threads=WORKERS, research=research, **given)
            same &= all(same_bits(np.asarray(want[field]), np.asarray(got[field])) for field in want.fields)
            if "mode" in research:
                same &= [row.active for row in got.history] == [row.active for row in want.history]
            if not same:
                break
        print(name, "same" if same else "differs", flush=True)
        status |= not same
    return status


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    plan = sys.argv.index("--plant") if "--plant" in sys.argv else len(sys.argv)
    sys.exit(main(sys.argv[1:plan], *sys.argv[plan + 1 :]))

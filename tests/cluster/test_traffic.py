"""The exchanges and bytes of each superstep on several ranks, and the errors if ranks make different decisions."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import same_bits
from vlang import ClusterError, Graph, Program, compile, load
from vlang.runtime.cluster.local_graph import local_graph
from vlang.runtime.cluster.messages import bytes_of
from vlang.runtime.cluster.rank_traffic import rank_traffic
from vlang.runtime.cluster.transports.thread_ranks import run_ranks
from vlang.runtime.cluster.transports.transport import Transport

ALTERED = """program altered(rounds: int)
vertex x: int = self.degree % 5
repeat rounds times:
    gather s = max(u.x for u -- self)
    apply x = max(x, s)
"""


@cache
def graph() -> Graph:
    return Graph.read("kron:12", weights="1..9")


def counted(program: Program, ranks: int, **given: Any) -> list[list[tuple[int, int]]]:
    """Return for each rank the number of exchanges and of bytes sent in each superstep after the first superstep."""
    def work(transport: Transport) -> list[tuple[int, int]]:
        found = list[tuple[int, int]]()
        program(graph(), threads=1, progress=lambda _: found.append((transport.calls, transport.sent)), **given)
        return [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(found)]

    return run_ranks(ranks, work)


@pytest.mark.parametrize(("name", "given"), [
    ("pagerank", {}), ("bfs", {"source": 0}), ("sssp", {"source": 0, "research": {"mode": "pull"}}),
    ("sssp", {"source": 0, "research": {"mode": "notify-pull"}}), ("sssp", {"source": 0}),
    ("components", {"research": {"mode": "notify-pull"}}), ("cdlp", {}),
])  # fmt: skip
def test_exchanges_of_a_superstep(name: str, given: dict[str, Any]) -> None:
    """A superstep has at most two exchanges. The second superstep is not checked, since it may also exchange measured
    costs.
    """
    program, ranks = load(name), counted(load(name), 3, **given)
    for steps in ranks:
        assert all(calls <= 2 for calls, _ in steps[1:])
        assert any(calls for calls, _ in steps[1:])
    if name in ("pagerank", "cdlp"):
        (said,) = rank_traffic(program.plan(frozenset(graph().columns), renumbered=True), graph(), 3)
        sent = [sum(step[1] for step in steps) for steps in zip(*ranks)]
        assert max(sent) <= said.values + said.rest
        assert name == "cdlp" or sent[0] == said.values + said.rest  # the first rank of every vertex changes
        assert f"{said.values + said.rest:,} bytes in all" in program.explain("plan", graph=graph(), cluster=3)


@pytest.mark.parametrize("mode", ["pull", "notify-pull"])
def test_bytes_of_a_superstep(mode: str) -> None:
    """A rank sends to each other rank four counts, and the values as a list, with a bitmap, or complete, whichever is
    smallest.
    """
    program, ranks = compile(ALTERED), 3
    steps = 4
    values = [np.asarray(program(graph(), rounds=rounds)["x"]) for rounds in range(steps + 1)]
    plan = program.plan(frozenset(), renumbered=True)
    found = counted(program, ranks, rounds=steps, research={"mode": mode})
    wanted = run_ranks(ranks, lambda transport: [
        part.astype(np.int64) - numbers.low + numbers.ranges.of(transport.rank)[0]
        for numbers in [local_graph(plan, graph(), transport).numbers] for part in numbers.wanted])
    for rank, places in enumerate(wanted):
        for step in range(1, steps):
            sent = 32 * (ranks - 1)  # the counts of changed and active vertices, and of edges traversed and ahead
            for peer, vertices in enumerate(places):
                changes = int((values[step][vertices] != values[step - 1][vertices]).sum())
                if peer != rank and mode == "pull":
                    sent += 8 + (min(bytes_of(len(vertices), changes, 4)) if changes else 0)
            if mode == "pull":
                assert found[rank][step - 1][1] == sent
            else:  # an exchange of flags beside that of values
                assert found[rank][step - 1][1] >= sent


def test_decisions_of_each_rank() -> None:
    """If ranks decide at random how to run a loop, either the bits are right or all ranks get an error. The ranks never
    hang.
    """
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    draw, program = random.Random(seed), load("components")
    want, errors = program(graph())["label"], 0
    for _ in range(8):
        modes = [draw.choice(["auto", "pull", "notify-pull"]) for _ in range(3)]

        def work(transport: Transport, modes: list[str] = modes) -> bool:
            found = program(graph(), threads=1, research={"mode": modes[transport.rank]})["label"]
            return same_bits(np.asarray(want), np.asarray(found))

        if modes.count("pull") % 3 == 0 and modes.count("auto") % 3 == 0:
            assert all(run_ranks(3, work))
            continue
        errors += 1
        with pytest.raises(ClusterError, match="the ranks do not agree where the run is"):
            run_ranks(3, work)
    assert errors

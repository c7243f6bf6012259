"""The choice between full passes and notify-pull over pages on disk: by bytes, or by the published rule."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cpu.compare import same_bits
from tests.paged.stores import streaming
from vlang import Graph, load
from vlang.runtime.cpu.passes.mode import reads_less, should_notify
from vlang.runtime.graph.paged.in_memory import save


@pytest.mark.parametrize(("reached", "random", "notifies"), [(10, 5.0, True), (11, 5.0, False), (50, 1.0, True)])
def test_the_published_rule(reached: int, random: float, notifies: bool) -> None:
    """Notify-pull runs if f <= 1 / (2 k), which is the rule of the paper."""
    assert should_notify(None, reached, 100, random) == notifies


@pytest.mark.parametrize(
    ("notified", "receivers", "pages", "full", "less"),
    [(0, 0, 10, 1000, True), (1000, 0, 10, 1000, False), (100, 1, 10, 1000, True), (100, 1000, 10, 1000, False),
     (0, 5, 1, 1000, False), (0, 0, 1, 1000, True), (0, 3, 10, 0, False)],
)
def test_bytes_decide(notified: int, receivers: int, pages: int, full: int, less: bool) -> None:
    assert reads_less(notified, receivers, pages, full) == less


def test_both_rules_give_the_same_bits(tmp_path: Path) -> None:
    """Both rules give the same bits. A wave through a grid changes few vertices per superstep, so that notify-pull
    reads fewer pages than full passes.
    """
    grid, program = Graph.read("grid:60x60"), load("kcore_members")
    save(grid, tmp_path / "g.vg", page_bytes=4096)
    want, disk = program(grid, k=3), Graph.open(tmp_path / "g.vg")
    assert disk.stored is not None
    assert disk.stored.random_cost() >= 1
    read = {}
    for how in ({"switching": "measured"}, {"switching": "published"}, {"mode": "pull"}, {"mode": "notify-pull"}):
        with streaming(3):
            found = program(disk, k=3, research=how)
        assert same_bits(np.asarray(want["alive"]), np.asarray(found["alive"]))
        assert found.rounds == want.rounds
        read[next(iter(how.values()))] = found.read_bytes
        if "switching" in how:
            assert {row.mode for row in found.history} == {"pull", "notify-pull"}
    assert read["measured"] < min(read["pull"], read["notify-pull"]), read

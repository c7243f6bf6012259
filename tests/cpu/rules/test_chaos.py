"""Compiled runs with random choices that the rules permit give the same results as ordinary runs.

tests/reference/freedoms shows the same for the interpreter, for every rule, and also forces freedoms that are not
granted.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.cpu.both import long_graph
from tests.reference.cases import MORE, STDLIB, Case, case
from tests.reference.graphs import random_graph, to_graph
from tests.sample import sampled
from tests.spelled import spelled
from vlang import BindError, Error, Graph, Program, compile, load
from vlang.errors import ChaosError
from vlang.runtime.engine.trace import ChaosReport
from vlang.runtime.plan.plan import CopySpec, LoopSpec, Plan

USUAL = ("lcc", "longest_path", "louvain", "scc", "smooth", "walks")  # `test_freedoms_are_taken` has ten others
GRAPHS = [random_graph(seed, directed=seed % 2 == 0) for seed in range(4)]


@functools.cache
def program(name: str) -> Program:
    """Return a program of the library, compiled once."""
    return load(name)


def chaos(program: Program, given: Case, graph: Graph | None = None, **options: Any) -> ChaosReport:
    """Compare a run with a run in chaos mode; return how often each rule was used."""
    report = program(graph or to_graph(given.graph), **given.params, **given.fields, **spelled(**options)).chaos
    assert isinstance(report, ChaosReport)
    return report


def taken(report: ChaosReport) -> Counter[str]:
    """Return how often each rule was used. Raises AssertionError if a refused rule was used."""
    assert not [one for one in report.freedoms if one.times and not one.granted]
    return Counter({one.rule: one.times for one in report.freedoms})


@pytest.mark.parametrize("name", sampled([*STDLIB, *MORE], USUAL))
def test_every_program_is_free_to_take_what_its_facts_grant(name: str) -> None:
    for graph in GRAPHS:
        given = case(name, graph)
        if given is None:
            continue
        on = to_graph(given.graph)
        for seed in range(2):
            chaos(program(name), given, on, chaos=seed)


@pytest.mark.parametrize(("name", "rules"), [
    ("bfs", "A P N X2 Z"), ("sssp", "A P N Z O"), ("components", "A P N Z K"), ("coloring", "S N"), ("kcore", "A N"),
    ("pagerank_delta", "A' N P"), ("mis", "A N"), ("cdlp", "N"), ("pagerank", ""), ("betweenness", "A P N X2 Z"),
])
def test_freedoms_are_taken(name: str, rules: str) -> None:
    total: Counter[str] = Counter()
    for seed in range(20):
        given = case(name, GRAPHS[seed % 4])
        assert given is not None
        total += taken(chaos(program(name), given, chaos=seed))
    assert set(total) == set(rules.split())


def test_derived_changes_are_told_in_any_order() -> None:
    """If requested, rule D derives a delta loop, for which rule A' holds."""
    total: Counter[str] = Counter()
    for seed in range(6):
        given = case("katz", GRAPHS[seed % 4])
        assert given is not None
        total += taken(chaos(program("katz"), given, chaos=seed, derive="delta"))
    assert total["A'"] > 0


@pytest.mark.parametrize("name", ["sssp", "components", "cdlp", "bfs", "coloring"])
def test_vertices_of_many_segments(name: str) -> None:
    given = case(name, long_graph())
    assert given is not None
    graph = to_graph(given.graph)
    for seed in range(4):
        chaos(program(name), given, graph, chaos=seed)


def test_supersteps_that_somebody_counts_are_not_reordered() -> None:
    given = case("sssp", GRAPHS[0])
    assert given is not None
    for seed in range(8):
        assert taken(chaos(program("sssp"), given, chaos=seed, max_rounds=2))["A"] == 0


def test_the_same_seed_takes_the_same_freedoms() -> None:
    given = case("mis", GRAPHS[1])
    assert given is not None
    first, again, other = (chaos(program("mis"), given, chaos=seed, threads=1) for seed in (5, 5, 6))
    assert first == again
    assert first.freedoms != other.freedoms


def test_ids_stay_the_callers() -> None:
    graph = Graph.from_edges(["d", "a", "c"], ["a", "c", "b"], weight=[1.0, 2.0, 3.0])
    result = program("sssp_tree")(graph, source="d", chaos=3)
    assert result.top(4) == [{"vertex": "d", "dist": 0.0, "parent": "d"}, {"vertex": "a", "dist": 1.0, "parent": "d"},
                             {"vertex": "c", "dist": 3.0, "parent": "a"}, {"vertex": "b", "dist": 6.0, "parent": "c"}]


def test_plain_runs_have_no_report() -> None:
    assert program("degree")(to_graph(GRAPHS[0])).chaos is None


@pytest.mark.parametrize(("options", "said"), [
    ({"chaos": -1}, "chaos is a whole number from 0 on, not -1"),
    ({"chaos": 1, "device": "gpu"}, "chaos is for runs on the CPU; leave out the device, or chaos"),
])
def test_what_is_asked_wrongly(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BindError) as caught:
        program("degree")(to_graph(GRAPHS[0]), **spelled(**options))
    assert str(caught.value) == said


# --------------------------------------------------------------------------- what is not granted makes a difference

ORDERED = """
program ordered

reduction first(a, b): int = a if tanh(min(a, b) * 1e-6) > 0.75 else max(a, b), identity -inf

vertex x: int
vertex y: int = 0

gather found = first(u.x for u -> self)
apply  y    = found
"""


def test_a_reduction_that_is_not_what_it_claims_to_be() -> None:
    """Chaos mode detects a reduction that breaks its laws only on numbers outside of the samples on which the checker
    tests laws.
    """
    wrong = compile(ORDERED)
    graph = Graph.from_edges([1, 2, 3, 4], [0, 0, 0, 0])
    values = np.array([0, 1000007, 1000001, 1000005, 1000003], np.int32)
    with pytest.raises(ChaosError) as caught:
        wrong(graph, x=values, chaos=1)
    said = str(caught.value)
    assert "`y` of vertex 0 is 1000007, and 100000" in said
    assert "the declared reduction `first` may not be commutative and associative" in said
    assert isinstance(caught.value, (Error, AssertionError))


def forced(monkeypatch: pytest.MonkeyPatch, change: Callable[[LoopSpec], LoopSpec]) -> None:
    """Apply `change` to the facts of the loops of every plan."""
    plain = Program.plan

    def plan(self: Program, *args: Any, **options: Any) -> Plan:
        made = plain(self, *args, **options)
        steps = tuple(change(step) if isinstance(step, LoopSpec) else step for step in made.steps)
        return replace(made, steps=steps)

    monkeypatch.setattr(Program, "plan", plan)


def differing(program: Program, cases: list[Case]) -> int:
    """Return the number of cases in which a chaos run differs from an ordinary run."""
    found = 0
    for seed, given in enumerate(cases):
        try:
            chaos(program, given, chaos=seed)
        except ChaosError:
            found += 1
    return found


def all_cases(name: str, count: int = 20) -> list[Case]:
    """Return cases of a program on random graphs."""
    made = [case(name, random_graph(seed)) for seed in range(count)]
    return [given for given in made if given is not None]


@pytest.mark.parametrize("name", ["radius", "hyperanf"])
def test_any_order_where_it_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program(name).stages().facts.loops
    forced(monkeypatch, lambda loop: replace(loop, order="A"))
    assert differing(program(name), all_cases(name)) > 0


def test_components_where_values_travel_one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "program p\nvertex x: vertex = self\nrepeat:\n    gather a = min(u.x for u -> self)\n" \
           "    apply x = min(x, a)\n"
    graphs = [Case(random_graph(seed, directed=True)) for seed in range(20)]
    assert differing(compile(text), graphs) == 0
    forced(monkeypatch, lambda loop: replace(loop, copied=CopySpec("x", "both", "min")))
    assert differing(compile(text), graphs) > 0


def test_changes_sent_in_any_order_that_nobody_comes_back_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule A' requires that a vertex with an unsent change stays active. An unrelated `activate when` does not keep
    these vertices active, so that A' is refused.
    """
    text = ("program p\nvertex x: int = 1\nvertex seen: int = 0\nrepeat:\n"
            "    gather a = sum(change(u.x) for u -> self if u.outdegree > self.outdegree)\n    apply x += a\n")
    made = compile(text)
    cases = [Case(random_graph(seed, directed=True)) for seed in range(20)]
    assert differing(made, cases) == 0
    forced(monkeypatch, lambda loop: replace(loop, order="A'"))
    assert differing(made, cases) > 0

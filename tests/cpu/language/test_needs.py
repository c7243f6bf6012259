"""`require undirected`, `simple` and `loopless` refuse other graphs, and the message names the reading options that
help.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.reference.graph import ref_graph
from tests.reference.interpreter import run
from vlang import Graph, GraphError, ProgramError, compile, load, stdlib
from vlang.check import parse
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.plan.plan import Contract

LINES = [[1, 2], [2, 3]]
WRONG: dict[str, tuple[list[tuple[int, int]], bool]] = {
    "simple": ([(0, 1), (1, 2)], False), "directed": ([(0, 1), (1, 2)], True),
    "a loop": ([(0, 1), (1, 1)], False), "parallel": ([(0, 1), (0, 1), (1, 2)], False),
    "directed, both": ([(0, 1), (1, 0)], True), "directed, a loop": ([(0, 0), (0, 1)], True),
    "directed, parallel": ([(0, 1), (0, 1)], True), "no edges": ([], False), "two loops": ([(0, 0), (0, 0)], False),
    "both directions, listed": ([(0, 1), (1, 0)], False),
}  # fmt: skip
TAKES = {
    "undirected": {"simple", "a loop", "parallel", "no edges", "two loops", "both directions, listed"},
    "simple": {"simple", "directed", "directed, both", "no edges"},
    "loopless": {"simple", "directed", "parallel", "directed, both", "directed, parallel", "no edges",
                 "both directions, listed"},
}


def text(*words: str) -> str:
    return "program p\n" + "".join(f"require {word}\n" for word in words) + "vertex d: int = degree\n"


def graph(name: str) -> Graph:
    pairs, directed = WRONG[name]
    return Graph.from_edges([u for u, _ in pairs], [v for _, v in pairs], n=3, directed=directed, name="roads")


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("word", TAKES)
def test_which_graphs_are_taken(word: str, name: str) -> None:
    """The CPU accepts the same graphs as the interpreter. The plan for a GPU also has the step that checks the
    requirement.
    """
    program = compile(text(word))
    reference = ref_graph(3, *WRONG[name])
    if name in TAKES[word]:
        assert program(graph(name))["d"].tolist() == run(parse(text(word), "p"), reference, {}).fields["d"].tolist()
        return
    with pytest.raises(GraphError, match=f"^line 2: `require {word}` does not hold: roads "):
        program(graph(name))
    with pytest.raises(Exception, match=f"the graph is not {word}"):
        run(parse(text(word), "p"), reference, {})


def test_the_step_is_in_the_plan_of_both_devices() -> None:
    for target in ("numba", "cuda"):
        (step, *_) = compile(text("simple", "undirected")).plan(frozenset(), target=target).steps
        assert isinstance(step, Contract)
        assert (step.kind, step.text) == ("needs", "undirected simple")


MESSAGES = [
    (("undirected",), "directed", "`require undirected` does not hold: roads is directed. Read it with --undirected "
     "(directed=False)"),
    (("simple",), "a loop", "`require simple` does not hold: roads has 1 self-loop. Read it with --self-loops drop "
     '(self_loops="drop")'),
    (("simple",), "parallel", "`require simple` does not hold: roads has 1 parallel edge. Read it with --parallel drop "
     '(parallel="drop")'),
    (("undirected", "simple"), "directed", "`require undirected` does not hold: roads is directed. Read it with "
     '--undirected --parallel drop (directed=False, parallel="drop")'),
    (("simple", "undirected"), "directed, a loop", "`require undirected` and `require simple` do not hold: roads is "
     'directed and has 1 self-loop. Read it with --undirected --self-loops drop --parallel drop (directed=False, '
     'self_loops="drop", parallel="drop")'),
    (("loopless", "undirected"), "two loops", "`require loopless` does not hold: roads has 2 self-loops. Read it with "
     '--self-loops drop (self_loops="drop")'),
    (("simple",), "two loops", "`require simple` does not hold: roads has 2 self-loops and 1 parallel edge. Read it "
     'with --self-loops drop --parallel drop (self_loops="drop", parallel="drop")'),
]


@pytest.mark.parametrize(("words", "name", "message"), MESSAGES)
def test_messages(words: tuple[str, ...], name: str, message: str) -> None:
    with pytest.raises(GraphError) as error:
        compile(text(*words))(graph(name))
    assert str(error.value) == f"line 2: {message}"


def test_the_library_says_what_it_needs() -> None:
    needs = {name: [need.word for need in load(name).stages().program.needs] for name in stdlib.names()}
    both = ["undirected", "simple"]
    assert {name: words for name, words in needs.items() if words} == {
        "triangles": both, "kcore": both, "kcore_members": both, "kcore_peel": both, "lcc": both,
        "adamic_adar": both, "jaccard": both, "lcc_weighted": both, "lcc_directed": ["simple"],
        "eccentricity": ["undirected"], "louvain": ["undirected"], "boruvka": ["undirected"],
    }  # fmt: skip


def test_counts_are_kept_with_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    program, karate = compile(text("simple")), Graph.read("karate")
    program(karate)
    monkeypatch.setattr("vlang.runtime.graph.topology.adjacencies.excess", None)
    program(karate)
    assert karate.excess() == (0, 0)


def test_counts() -> None:
    pairs = [(1, 1), (1, 1), (1, 2), (1, 2), (1, 2), (2, 1), (3, 2)]
    for directed, expected in ((True, (2, 3)), (False, (2, 4))):
        assert Graph.from_edges([u for u, _ in pairs], [v for _, v in pairs], directed=directed).excess() == expected
    large = Graph.read("kron:12")
    thin, once = large.thinned("drop", "drop"), large.thinned(parallel="drop")
    loops, parallel = large.excess()
    between = (large.m - loops - thin.m) // 2
    assert between + loops - once.excess()[0] == parallel > between > 0
    assert thin.excess() == (0, 0)


def test_a_name_that_the_program_declares_wins() -> None:
    program = compile("program p\nvertex simple: bool\nrequire simple\nvertex d: int = degree\n")
    two = graph("two loops")
    assert program(two, simple=[True] * 3)["d"].tolist() == [2, 0, 0]
    with pytest.raises(GraphError, match="`require simple` does not hold for vertex 1"):
        program(two, simple=[True, False, True])
    given = "program p(loopless: bool)\nrequire loopless\nvertex d: int = degree\n"
    assert compile(given)(two, loopless=True)["d"].tolist() == [2, 0, 0]
    assert compile("program p\nvertex simple: int = 1\nglobal loopless: int = 2\n")(two)["simple"].tolist() == [1] * 3


def test_words_inside_of_conditions() -> None:
    with pytest.raises(ProgramError, match="`simple` stands alone after `require`"):
        compile("program p\nrequire simple and N > 1\nvertex d: int = 1\n")
    with pytest.raises(ProgramError, match="did you mean `undirected`"):
        compile("program p\nrequire undirectd\nvertex d: int = 1\n")


def test_resume_checks_the_new_graph() -> None:
    program = load("kcore")
    result = program(Graph.from_edges([1, 2, 3], [2, 3, 1], directed=False))
    assert program.resume(result, removed=[(1, 2)])["core"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("directed", [True, False])
def test_counts_of_pages_on_disk(directed: bool, tmp_path: Path) -> None:
    """Counts are right if a row, or a run of parallel edges, continues in the next page."""
    rng = np.random.default_rng(7)
    src = np.append(rng.integers(0, 40, 4000), np.zeros(50_000, int))
    dst = np.append(rng.integers(0, 40, 4000), rng.integers(0, 3, 50_000))
    graph = Graph.from_edges(src, dst, directed=directed)
    save(graph, tmp_path / "g.vg", page_bytes=1 << 14)
    stored = Graph.open(tmp_path / "g.vg")
    assert stored.stored is not None
    assert stored.stored.cuts("in").count >= 7
    assert stored.excess() == graph.excess()

"""Edges inserted into and deleted from graphs: the adjacency lists equal the lists of a graph built from scratch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest

from vlang import Graph
from vlang.errors import GraphError


def _made(rng: np.random.Generator, directed: bool, names: str, weighted: bool) -> tuple[Graph, dict[str, Any]]:
    n, m = int(rng.integers(1, 30)), int(rng.integers(0, 80))
    known = np.sort(rng.choice(200, n, replace=False))
    text = np.array([f"v{i:03}" for i in known], object)
    ids: Any = {"consecutive": np.arange(n), "sparse": known, "text": text}[names]
    src, dst = ids[rng.integers(0, n, m)], ids[rng.integers(0, n, m)]
    columns: dict[str, Any] = {"weight": rng.integers(0, 300, m).astype(np.int64)} if weighted else {}
    at = {name: i for i, name in enumerate(ids.tolist())}
    ends = [np.array([at[v] for v in end.tolist()], np.int64) for end in (src, dst)]
    graph = Graph.from_edges(*ends, directed=directed, ids=ids, **columns)
    return graph, {"ids": ids, "src": src, "dst": dst, **columns}


def _lists(graph: Graph, kind: str) -> list[Any]:
    found = graph.adjacency(kind, tuple(graph.columns))
    values = [found.column(name, np.int64) for name in graph.columns]
    return [graph.ids.values, found.offsets, graph.ids.values[found.targets], *values]


@pytest.mark.parametrize("seed", range(60))
def test_as_made_anew(seed: int) -> None:
    rng = np.random.default_rng(seed)
    directed, weighted = bool(seed & 1), bool(seed & 2)
    names = ("consecutive", "sparse", "text")[seed % 3]
    print(f"seed {seed}")
    graph, made = _made(rng, directed, names, weighted)
    if seed % 5 == 0:
        graph.adjacency("out")
    k, count = int(rng.integers(0, 12)), int(rng.integers(0, 6))
    pool = [*made["ids"].tolist(), *([] if seed % 4 else [500, 501, 3] if names != "text" else ["v", "zz"])]
    more = [[pool[i] for i in rng.integers(0, len(pool), k)] for _ in range(2)]
    added: dict[str, Any] = {"src": more[0], "dst": more[1]}
    if weighted:
        added["weight"] = rng.integers(0, 70_000, k)
    m = len(made["src"])
    picked = rng.integers(0, m, count if m else 0)
    removed = [[made["src"][i], made["dst"][i]] for i in picked]
    changed = graph.changed(added, removed)
    gone = {tuple(pair) for pair in removed} | (set() if directed else {(b, a) for a, b in removed})
    kept = [i for i in range(m) if (made["src"][i], made["dst"][i]) not in gone]
    src, dst = ([made[end][i] for i in kept] + added[end] for end in ("src", "dst"))
    columns: dict[str, Any] = {}
    if weighted:
        columns["weight"] = np.concatenate([made["weight"][kept], added["weight"]])
    ids = sorted({*made["ids"].tolist(), *added["src"], *added["dst"]})
    at = {name: i for i, name in enumerate(ids)}
    anew = Graph.from_edges(np.array([at[v] for v in src], np.int64), np.array([at[v] for v in dst], np.int64),
                            directed=directed, ids=np.array(ids, made["ids"].dtype), **columns)
    assert (changed.n, changed.m, changed.directed) == (anew.n, anew.m, anew.directed)
    for kind in ("in", "out", "both"):
        for mine, theirs in zip(_lists(changed, kind), _lists(anew, kind)):
            assert np.array_equal(mine, theirs), kind
        assert np.array_equal(changed.degree, anew.degree)
    assert graph.m == Graph.from_edges(made["src"], made["dst"], directed=directed).m or m == 0


@pytest.mark.parametrize(("added", "removed", "message"), [
    (None, [(1, 7)], "vertex 7 is not in the graph"),
    (None, [(1, 2), (2, 1)], "removed has the edge from 2 to 1, which is not in the graph"),
    ([(1, 2, 3)], None, "added is a list of pairs of vertices"),
    ([(1, 2)], None, "added has no \"weight\""),
    (None, pandas.DataFrame({"target": [2], "source": [1]}), "columns may be in any order: write {'src': "),
    ({"src": [1], "dst": [2], "weight": [1], "other": [2]}, None, "added has values of 'other'"),
    ({"src": [1], "dst": [2, 3], "weight": [1]}, None, "1 entries of \"src\" and 2 of \"dst\""),
    ({"src": ["a"], "dst": ["b"], "weight": [1]}, None, "added holds strings, and the graph's ids are integers"),
    (None, [(1.5, 2.5)], "vertex ids are integers or strings"),
])  # fmt: skip
def test_mistakes(added: Any, removed: Any, message: str) -> None:
    graph = Graph.from_edges([1, 2, 3], [2, 3, 4], weight=[1, 2, 3])
    with pytest.raises(GraphError) as error:
        graph.changed(added, removed)
    assert message in str(error.value)


def test_weights_by_rule() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3]).with_rule_weights(1, 100)
    changed = graph.changed(added=[(3, 0)], removed=[(0, 1)])
    anew = Graph.from_edges([1, 2, 3], [2, 3, 0], n=4).with_rule_weights(1, 100)
    assert changed.adjacency("in", ("weight",)).column("weight").tolist() == \
        anew.adjacency("in", ("weight",)).column("weight").tolist()
    with pytest.raises(GraphError, match="computed from the numbers of its vertices"):
        graph.changed(added=[(9, 0)])


def test_notes_and_column_ranges() -> None:
    graph = Graph.from_edges([1, 2], [2, 3], weight=[1, 2])
    changed = graph.changed({"src": [1], "dst": [3], "weight": [-1.5]})
    assert changed.column_range("weight") == (-1.5, 2)
    assert "Changed by edges: 1 added, 0 removed." in changed.notes

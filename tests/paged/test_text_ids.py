"""Page files whose ids are texts that take more memory than the budget of a run."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from vlang.api.program import load
from vlang.errors import GraphError
from vlang.runtime.graph.edges.texts import Texts, TextVertexIds
from vlang.runtime.graph.graph import Graph
from vlang.runtime.storage.ledger import budget

N = 40_000


def names() -> list[str]:
    """Return text ids whose order differs from the order of their numbers. Some characters take more than one byte."""
    return [f"{'ü' if k % 7 == 0 else 'v'}{k * 7919 % N:06}-{'x' * (k % 50)}" for k in range(N)]


def test_ids_in_a_file(tmp_path: Path) -> None:
    """With a budget of 4 MB, 40,000 texts stay in a file: results, written files and look-ups are the same as for a run
    in memory.
    """
    rng, ids = np.random.default_rng(8), names()
    ends = rng.integers(0, N, (2, 2 * N))
    Graph.from_edges([ids[k] for k in ends[0]], [ids[k] for k in ends[1]], vertices=ids).save(tmp_path / "g.vg")
    whole = Graph.read(tmp_path / "g.vg")
    program = load("pagerank")
    want = program(whole, max_rounds=3)
    with budget(4 << 20):
        graph = Graph.open(tmp_path / "g.vg")
        assert isinstance(graph.ids, TextVertexIds), "not in memory"
        got = program(graph, memory=4 << 20, max_rounds=3)
        assert got.rank.tobytes() == want.rank.tobytes()
        assert got.top(3) == want.top(3)
    got.save(tmp_path / "got.csv")
    want.save(tmp_path / "want.csv")
    assert (tmp_path / "got.csv").read_bytes() == (tmp_path / "want.csv").read_bytes()
    chosen = np.array([5, N - 1, 0])
    assert graph.ids[chosen].tolist() == whole.ids[chosen].tolist()
    assert graph.ids[-3:].tolist() == whole.ids.values[-3:].tolist()
    assert list(graph.ids) == whole.ids.tolist()
    assert [graph.find(ids[k]) for k in (0, 7, 11)] == [whole.find(ids[k]) for k in (0, 7, 11)]
    assert pickle.loads(pickle.dumps(graph.ids)).tolist() == whole.ids.tolist()
    with pytest.raises(GraphError, match="its ids are strings such as"):
        graph.find("nothing")


@pytest.mark.parametrize(("texts", "fine"), [([b"a", b"b"], True), ([], True), ([b"b", b"a"], False),
                                             ([b"a", b"a"], False), ([b"a", b"\xff\xfe"], False)])  # fmt: skip
def test_damaged_texts(texts: list[bytes], fine: bool) -> None:
    """Texts that are not UTF-8 or not in increasing order are found before a run uses them."""
    data = np.frombuffer(b"".join(texts), np.uint8)
    assert TextVertexIds(Texts(data, np.cumsum([len(text) for text in texts], dtype=np.uint64))).check() == fine

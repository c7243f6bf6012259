"""Results: the user's ids, infinities, `none`, the order of rows, and files."""

from __future__ import annotations

import io
import json
import math
import os
import pickle
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlang
from vlang.runtime.engine.trace import Round
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.naming import NONE, dense_vertices, none_of, user_ids
from vlang.runtime.results.result import Result
from vlang.runtime.storage.output import write_text
from vlang.runtime.threads.moved import NOTHING

IMAX = np.iinfo(np.int32).max


def result(ids: VertexIds, fields: dict[str, np.ndarray], types: dict[str, str], **globals_: object) -> Result:
    types = types | {name: "i64" for name in globals_ if name not in types}
    history = (Round(0, 1, 3, "pull", 0.5, 10), Round(0, 2, 0, "pull", 0.5, 10))
    return Result("demo", ids, fields, types, globals_, 2, True, "no vertex is active", history, 1.0, 20, 10, {"depth"})


@pytest.fixture
def tree() -> Result:
    depth = np.array([0, 1, IMAX, 2], np.int32)
    parent = np.array([0, 0, NONE, 1], np.uint32)
    dist = np.array([0.0, 0.1, np.inf, 0.3], np.float32)
    alive = np.array([1, 0, 1, 1], np.uint8)
    fields: dict[str, np.ndarray] = {"depth": depth, "parent": parent, "dist": dist, "alive": alive}
    types = {"depth": "int", "parent": "vertex", "dist": "float", "alive": "bool"}
    return result(VertexIds(base=5, count=4), fields, types, reached_count=3)


def test_fields_speak_the_users_ids(tree: Result) -> None:
    assert tree.ids.tolist() == [5, 6, 7, 8]
    assert tree["parent"].tolist() == [5, 5, -1, 6]
    assert tree.parent.dtype == np.int64
    assert tree.none == -1
    assert tree["alive"].dtype == np.bool_
    assert tree.reached_count == tree["reached_count"] == 3
    assert tree.fields == ("depth", "parent", "dist", "alive")
    assert "depth" in dir(tree)
    assert repr(tree) == (
        "<Result of demo: 4 vertices, 2 rounds, converged; depth, parent, dist, alive, reached_count>"
    )


def test_reached(tree: Result) -> None:
    for name in ("depth", "parent", "dist"):
        assert tree.reached(name).tolist() == [True, True, False, True]
    assert tree.reached("alive").all()


def test_none_for_negative_and_string_ids() -> None:
    fields = {"label": np.array([1, NONE], np.uint32)}
    negative = result(VertexIds(np.array([-7, 4])), fields, {"label": "vertex"})
    assert negative.none == -(2**63)
    assert negative["label"].tolist() == [4, -(2**63)]
    strings = result(VertexIds(np.array(["a", 'b "x", y'], dtype=object)), fields, {"label": "vertex"})
    assert strings.none is None
    assert strings["label"].tolist() == ['b "x", y', None]
    out = io.StringIO()
    strings.to_csv(out)
    assert out.getvalue() == 'vertex,label\na,"b ""x"", y"\n"b ""x"", y",\n'
    wide = result(VertexIds(np.array([3, 2**64 - 1], dtype=np.uint64)), fields, {"label": "vertex"})
    assert wide["label"].tolist() == [2**64 - 1, None]
    dense = result(VertexIds(base=2**64 - 2, count=2), fields, {"label": "vertex"})
    assert dense["label"].tolist() == [2**64 - 1, None]
    out = io.StringIO()
    dense.to_csv(out)
    assert out.getvalue() == f"vertex,label\n{2**64 - 2},{2**64 - 1}\n{2**64 - 1},\n"


def test_a_field_named_like_an_attribute_is_reached_by_its_name() -> None:
    r = result(VertexIds(count=2), {"rounds": np.array([4, 5], np.int32)}, {"rounds": "int"})
    assert r.rounds == 2
    assert r["rounds"].tolist() == [4, 5]


def test_unknown_names_are_reported(tree: Result) -> None:
    with pytest.raises(KeyError, match="no output `rank`; it has depth, parent"):
        tree["rank"]
    with pytest.raises(AttributeError, match="no output `rank`"):
        tree.rank  # noqa: B018  (the test is this access)
    with pytest.raises(KeyError, match="no output"):
        tree.top(3, by="rank")


def test_global_of_type_vertex_and_infinite_global() -> None:
    for ids, root, none in ((VertexIds(base=10, count=3), 12, -1),
                            (VertexIds(np.array(["a", "b", "c"], dtype=object)), "c", None)):
        r = Result("demo", ids, {}, {"root": "vertex", "far": "i64", "lost": "vertex", "low": "int", "never": "date",
                                     "ever": "time[ns]", "yes": "bool", "at": "date"},
                   {"root": 2, "far": np.int64(2**63 - 1), "lost": NONE, "low": IMAX, "never": np.int64(2**63 - 1),
                    "ever": np.int64(-(2**63)), "yes": True, "at": np.int64(1)}, 1, True, "x")  # fmt: skip
        assert (r.root, r.lost) == (root, none)
        assert r.summary_dict()["globals"] == {"root": root, "far": None, "lost": None, "low": None, "never": None,
                                               "ever": None, "yes": True, "at": "1970-01-02"}
        assert list(pickle.loads(pickle.dumps(r)).global_texts().values()) == [
            str(root), "inf", "none", "inf", "inf", "-inf", "true", "1970-01-02"]


def test_counts_that_the_graph_kept_are_said(tmp_path: Path) -> None:
    graph, triangles = vlang.Graph.read("karate"), vlang.load("triangles")
    first, second = triangles(graph), triangles(graph)
    assert first.remembered == ""
    assert "remembered" not in first.summary_dict()
    assert "did not count them again" in second.remembered
    assert second.remembered in second.summary()
    assert second.summary_dict()["remembered"] == second.remembered
    assert (first.mine == second.mine).all()
    assert vlang.load("bfs")(graph, source=1).remembered == ""


def test_csv(tree: Result, tmp_path: Path) -> None:
    tree.to_csv(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == (
        "vertex,depth,parent,dist,alive\n5,0,5,0.0,true\n6,1,5,0.1,false\n7,,,,true\n8,2,6,0.3,true\n"
    )
    raw = io.BytesIO()
    tree.to_csv(raw)
    assert raw.getvalue() == (tmp_path / "r.csv").read_bytes()


def test_json(tree: Result, tmp_path: Path) -> None:
    tree.to_json(tmp_path / "r.json")
    got = json.loads((tmp_path / "r.json").read_text())
    assert got["vertex"] == [5, 6, 7, 8]
    assert got["fields"]["depth"] == [0, 1, None, 2]
    assert got["fields"]["parent"] == [5, 5, None, 6]
    assert got["fields"]["dist"] == [0.0, 0.1, None, 0.3]
    assert got["fields"]["alive"] == [True, False, True, True]
    assert got["rounds"] == 2
    assert got["globals"] == {"reached_count": 3}
    assert got["history"][0] == {
        "loop": 0, "round": 1, "active": 3, "mode": "pull", "seconds": 0.5, "edges": 10, **NOTHING._asdict(),
        "expected": None,
    }  # fmt: skip


def test_json_of_nan_is_null() -> None:
    r = result(VertexIds(count=2), {"x": np.array([np.nan, -np.inf])}, {"x": "f64"})
    out = io.StringIO()
    r.to_json(out)
    assert json.loads(out.getvalue())["fields"]["x"] == [None, None]


def test_npz(tree: Result, tmp_path: Path) -> None:
    tree.to_npz(tmp_path / "r.npz")
    with np.load(tmp_path / "r.npz") as got:
        assert got["vertex"].tolist() == [5, 6, 7, 8]
        assert got["depth"].tolist() == [0, 1, IMAX, 2]
        assert got["parent"].tolist() == [5, 5, -1, 6]
        assert got["alive"].dtype == np.bool_
        assert got["reached_count"] == 3
    strings = result(VertexIds(np.array(["a", "bc"], dtype=object)), {"l": np.array([1, NONE], np.uint32)},
                     {"l": "vertex"})  # fmt: skip
    strings.to_npz(tmp_path / "s.npz")
    with np.load(tmp_path / "s.npz") as got:
        assert got["l"].tolist() == ["bc", ""]


def test_no_vertices(tmp_path: Path) -> None:
    r = result(VertexIds(count=0), {"depth": np.empty(0, np.int32)}, {"depth": "int"})
    assert r.top(5) == []
    out = io.StringIO()
    r.to_csv(out)
    assert out.getvalue() == "vertex,depth\n"
    out = io.StringIO()
    r.to_json(out)
    assert json.loads(out.getvalue())["vertex"] == []
    assert "no value" in r.summary()


def test_top_order(tree: Result) -> None:
    assert [row["vertex"] for row in tree.top(3)] == [5, 6, 8]
    assert tree.top(4)[3] == {"vertex": 7, "depth": math.inf, "parent": None, "dist": math.inf, "alive": True}
    assert [row["vertex"] for row in tree.top(2, by="dist", largest=True)] == [7, 8]
    assert [row["vertex"] for row in tree.top(9, by="alive")] == [5, 7, 8, 6]
    assert [row["vertex"] for row in tree.top(2, by="parent")] == [5, 6]


def test_top_agrees_with_a_full_sort() -> None:
    seed = 20
    rng = np.random.default_rng(seed)
    for dtype in (np.float32, np.int32, np.uint8, np.int64):
        values = rng.integers(0, 40, 500).astype(dtype)
        if dtype is np.float32:
            values[rng.integers(0, 500, 30)] = np.nan
        r = result(VertexIds(count=500), {"x": values}, {"x": np.dtype(dtype).name})
        for largest in (False, True):
            bad = np.isnan(values.astype(float))
            key = np.where(bad, np.inf, -values.astype(float) if largest else values.astype(float))
            order = np.argsort(key, kind="stable")
            for k in (1, 7, 499, 500, 600):
                got = [row["vertex"] for row in r.top(k, largest=largest)]
                assert got == order[:k].tolist(), f"seed {seed}, {dtype}, largest={largest}, k={k}"


def test_fields_that_fall_come_smallest_first() -> None:
    r = Result("bfs", VertexIds(count=3), {"depth": np.array([2, 0, 1], np.int32)}, {"depth": "int"}, {}, 1, True, "",
               smallest_first={"depth"})  # fmt: skip
    assert [row["vertex"] for row in r.top(3)] == [1, 2, 0]


def test_floats_read_back_as_the_same_bits() -> None:
    seed = 11
    bits = np.random.default_rng(seed).integers(0, 2**32, 20000, dtype=np.uint64).astype(np.uint32)
    values = bits.view(np.float32)
    values = values[np.isfinite(values)]
    out = io.StringIO()
    result(VertexIds(count=len(values)), {"x": values}, {"x": "f32"}).to_csv(out)
    back = np.array([line.split(",")[1] for line in out.getvalue().split()[1:]], dtype=np.float64).astype(np.float32)
    assert (back.view(np.uint32) == values.view(np.uint32)).all(), f"seed {seed}"


def test_a_million_rows_are_written_in_blocks() -> None:
    n = 1 << 20
    r = result(VertexIds(count=n), {"x": np.linspace(0, 1, n, dtype=np.float32), "d": np.arange(n, dtype=np.int32)},
               {"x": "float", "d": "int"})  # fmt: skip
    out = io.StringIO()
    start = time.process_time()
    r.to_csv(out)
    used = time.process_time() - start
    assert out.getvalue().count("\n") == n + 1
    assert used < 20, "a row must not cost a Python call per value"


# ------------------------------------------------------------------ files


def test_a_file_is_replaced_whole_or_not_at_all(tree: Result, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("old")
    path.chmod(0o640)

    def blocks() -> Iterator[str]:
        yield "new"
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_text(path, blocks())
    assert path.read_text() == "old"
    tree.to_csv(path)
    assert path.read_text().startswith("vertex,")
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["r.csv"]


def test_a_full_disk_is_one_disk_error(tree: Result, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    import signal

    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, limit[1]))
        with pytest.raises(vlang.DiskError, match=r"cannot write .*r\.csv: "):
            tree.to_csv(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["r.csv"]
    if os.path.exists("/dev/full"):
        with pytest.raises(vlang.DiskError, match="the disk is full"):
            tree.to_csv("/dev/full")


def test_missing_folder_and_folder_as_file(tree: Result, tmp_path: Path) -> None:
    with pytest.raises(vlang.DiskError, match="there is no folder"):
        tree.to_csv(tmp_path / "nowhere" / "r.csv")
    with pytest.raises(OSError, match="it is a folder"):
        tree.to_npz(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(vlang.DiskError, match="is not a folder"):
        tree.to_json(tmp_path / "file" / "r.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(tree: Result, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(vlang.DiskError, match="permission denied"):
        tree.to_csv(tmp_path / "r.csv")
    tmp_path.chmod(0o700)


def test_a_link_keeps_pointing_at_the_file(tree: Result, tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    tree.to_csv(tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("vertex,")


@pytest.mark.parametrize(
    "ids",
    [
        VertexIds(base=5, count=4), VertexIds(base=-2, count=4), VertexIds(base=2**64 - 4, count=4),
        VertexIds(np.array([-9, 0, 7, 2**62])), VertexIds(np.array([3, 4, 9, 2**64 - 1], np.uint64)),
        VertexIds(np.array(["a", "b", "y", "z"], dtype=object)),
    ],
)  # fmt: skip
def test_ids_there_and_back(ids: VertexIds) -> None:
    dense = np.array([3, NONE, 0, 1, 1, NONE, 2], np.uint32)
    shown = user_ids(ids, dense)
    assert shown.tolist()[:2] == [ids.label(3), none_of(ids)]
    assert dense_vertices(ids, shown).tolist() == dense.tolist()
    some: list[Any] = [ids.label(2), None]
    assert dense_vertices(ids, some).tolist() == [2, NONE]
    assert dense_vertices(ids, []).tolist() == []
    with pytest.raises(vlang.GraphError, match=r"1000'? is not in the graph"):
        dense_vertices(ids, [ids.label(0), "1000" if ids.text else 1000])


def test_integers_of_any_type_name_vertices() -> None:
    sparse = VertexIds(np.array([-1 - 2**62, 3, 2**63 - 1]))
    assert dense_vertices(sparse, np.array([3], np.uint8)).tolist() == [1]
    assert dense_vertices(sparse, np.array([2**63 - 1], np.uint64)).tolist() == [2]
    for wrong in (np.array([2**64 - 1 - 2**62], np.uint64), np.array([2], np.int16), np.array([1.5])):
        with pytest.raises(vlang.GraphError, match="is not in the graph"):
            dense_vertices(sparse, wrong)
    assert dense_vertices(VertexIds(base=300, count=9), np.array([301], np.uint16)).tolist() == [1]
    with pytest.raises(vlang.GraphError, match="vertex 7 is not in the graph"):
        dense_vertices(VertexIds(base=-300, count=9), np.array([7], np.uint8))


def test_ids_of_a_graph_without_vertices() -> None:
    assert dense_vertices(VertexIds(count=0), np.empty(0, np.int64)).tolist() == []
    assert dense_vertices(VertexIds(count=0), [-1]).tolist() == [NONE]
    with pytest.raises(vlang.GraphError, match="has no vertices"):
        dense_vertices(VertexIds(count=0), [4])

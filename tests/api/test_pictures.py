"""Pictures of results: the kind of picture for each kind of values, picture files, and ids that look like markup."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.cli.conftest import Call, vlang
from vlang import BindError, DiskError, Graph, Result, compile, load
from vlang.runtime.results.html import result_html, sparkline
from vlang.runtime.results.pictures.layout import force_layout

__all__ = ["vlang"]

pytest.importorskip("matplotlib", reason="the extra plot is not installed")
EVIL = ["<script>alert(1)</script>", "a&b", "$x^2$", "d"]


@pytest.fixture(scope="module")
def large() -> Graph:
    return Graph.read("kron:10")


def axes(result: Result, **options: Any) -> Any:
    """Return the axes of the picture of a result."""
    return result.plot(**options).figure.axes[0]


def test_the_kind_suits_the_values(large: Graph) -> None:
    ranks = load("pagerank")(large)
    drawn = axes(ranks)
    assert (drawn.get_xscale(), drawn.get_yscale()) == ("log", "log")
    (line,) = drawn.lines
    assert np.array_equal(line.get_ydata(), np.sort(ranks["rank"].astype(float))[::-1])
    depth = load("bfs")(large, source=1)
    bars = axes(depth)
    found, counts = np.unique(depth["depth"][depth.reached("depth")], return_counts=True)
    assert [label.get_text() for label in bars.get_xticklabels()] == [str(one) for one in found]
    assert [patch.get_height() for patch in bars.patches] == counts.tolist()
    assert bars.get_title(loc="left").endswith(f"{(~depth.reached('depth')).sum():,} without a value")
    sizes = axes(load("components")(large))
    (line,) = sizes.lines
    assert sum(line.get_ydata()) == large.n
    at = np.arange(200.0)
    flags = compile("program flags\nvertex x: float\nvertex far: bool = x > 3\n")(Graph.read("path:200"), x=at)
    assert [patch.get_height() for patch in axes(flags, by="far").patches] == [4, 196]
    even = compile("program even\nvertex x: float\n")(Graph.read("path:200"), x=at)
    assert sum(patch.get_height() for patch in axes(even).patches) == 200


def test_small_graphs_are_drawn() -> None:
    karate = Graph.read("karate")
    drawn = axes(load("pagerank")(karate))
    assert sorted(text.get_text() for text in drawn.texts) == sorted(str(one) for one in karate.ids)
    assert len(drawn.collections[0].get_segments()) == 78, "each undirected edge once"
    (legend,) = [axes(load("components")(karate)).get_legend()]
    assert [text.get_text() for text in legend.get_texts()] == ["1: 34 vertices"]
    place = force_layout(5, np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4]))
    assert np.array_equal(place, force_layout(5, np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4])))
    ends = np.linalg.norm(place[0] - place[4])
    assert all(np.linalg.norm(place[i] - place[i + 1]) < ends for i in range(4)), "a path is unfolded"
    assert force_layout(0, np.zeros(0, int), np.zeros(0, int)).shape == (0, 2)
    assert np.isfinite(force_layout(1, np.zeros(0, int), np.zeros(0, int))).all()


def test_results_without_vertices_and_labels() -> None:
    program = compile("program p\nvertex v: float[2] = 1\nvertex t: time[ns] = inf\nvertex w: vertex = self\n")
    empty, one = program(Graph.from_edges([], [], vertices=0)), program(Graph.from_edges([], [], vertices=1))
    for kind, by in (("auto", "v.1"), ("rank", "w"), ("bars", "t"), ("histogram", "v"), ("graph", "w")):
        assert "of 0 vertices" in axes(empty, kind=kind, by=by).get_title(loc="left")
    assert axes(one, kind="rank", by="t").get_ylabel() == "t", "a unit is no component"


def test_coordinates_make_a_map() -> None:
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"id": [1, 2, 3], "x": [0.0, 5.0, 9.0], "y": [1.0, 2.0, 0.0]})
    graph = Graph.from_edges([1, 2], [2, 3], vertices=table, id="id")
    own = compile("program own\nvertex y: float\nvertex x: float = 2 * y\n")
    for result in (load("bfs")(graph, source=1), own(Graph.read("path:9"), y=np.arange(9.0))):
        drawn = axes(result)
        points = np.concatenate([group.get_offsets() for group in drawn.collections[1:]])
        assert len(points) == len(result)
        assert drawn.axison
    assert sorted(axes(load("bfs")(graph, source=1)).collections[2].get_offsets()[:, 0]) == [0.0, 5.0, 9.0]


def test_a_component_of_a_vector_and_final_values() -> None:
    vectors = compile("program v\nvertex x: float[2]\n")(Graph.read("path:100"), x=np.arange(200.0).reshape(100, 2))
    assert axes(vectors, by="x.1", kind="rank").lines[0].get_ydata()[0] == 199
    near = load("sssp")(Graph.read("grid:30x30,weights=1..9"), source=0, target=62)
    assert near.final is not None
    assert len(axes(near, kind="rank").lines[0].get_ydata()) == near.final.sum()


@pytest.mark.parametrize(("options", "text"), [
    ({"kind": "pie"}, "kind='pie': write one of 'auto', 'bars'"), ({"by": "rnk"}, "has no field `rnk`; it has rank"),
    ({"kind": "map"}, "a map needs coordinates"), ({"kind": "graph"}, "1,024 are too many; write kind='rank'"),
    ({"by": "rank.1"}, "`rank` has 1 components"),
])
def test_what_cannot_be_drawn(large: Graph, options: dict[str, Any], text: str) -> None:
    with pytest.raises(BindError, match=re.escape(text)):
        load("pagerank")(large).plot(**options)
    with pytest.raises(BindError, match="have no order"):
        load("components")(large).plot(kind="histogram")


def test_ids_are_neither_markup_nor_formulas(tmp_path: Path) -> None:
    graph = Graph.from_edges(EVIL[:3], EVIL[1:])
    result = load("bfs_tree")(graph, source="d")
    result.plot("parent").save(tmp_path / "p.svg")
    texts = "".join(ElementTree.parse(tmp_path / "p.svg").getroot().itertext())
    assert all(one in texts for one in EVIL), "matplotlib draws the ids as they are"
    result.plot().save(tmp_path / "p.html")
    for text in (result_html(result), (tmp_path / "p.html").read_text()):
        assert "<script" not in text
        assert "&lt;script&gt;" in text
    assert result._repr_html_() == result_html(result)


def test_files(vlang: Call, tmp_path: Path, large: Graph) -> None:
    for suffix, begin in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("html", b"<!DOCTYPE html>")):
        path = tmp_path / f"p.{suffix}"
        done = vlang("run", "pagerank", "karate", "--plot", path, "--top", 0)
        assert (done.status, f"wrote {path}" in done.err) == (0, True), done.err
        assert path.read_bytes().startswith(begin)
        before = path.read_bytes()
        assert vlang("run", "pagerank", "karate", "--plot", path, "-q").err == ""
        assert suffix == "html" or suffix == "png" or path.read_bytes() == before, "the same bits"
    assert (tmp_path / "p.html").read_text().count("<svg") == 3, "a sparkline, the values, the rounds"
    for name, status, text in (("p.jpg", 2, "unknown format of `p.jpg`"), ("no/p.png", 1, "there is no folder")):
        done = vlang("run", "pagerank", "karate", "--plot", name)
        assert (done.status, text in done.err, "round" in done.err) == (status, True, False)
    with pytest.raises(DiskError):
        load("pagerank")(large).plot().save(tmp_path / "no" / "p.png")
    assert load("pagerank")(large).plot()._repr_png_().startswith(b"\x89PNG")


def test_the_rounds_of_a_run(large: Graph) -> None:
    result = load("bfs")(large, source=1)
    figure = result.history.plot().figure
    heights = [[patch.get_height() for patch in one.patches] for one in figure.axes]
    assert heights[0] == [row.active for row in result.history]
    assert heights[1] == [row.edges for row in result.history]
    modes = list(dict.fromkeys(row.mode for row in result.history))
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == modes
    assert result.history == tuple(result.history)
    long = load("pagerank")(Graph.read("path:5"), tol=0.0, max_rounds=3000)
    assert len(long.history.plot().figure.axes[0].patches) <= 1200
    assert sparkline(long.history).count(",") <= 162
    empty = compile("program none\nglobal n: i64 = sum(1 for v in vertices)\n")(large)
    assert empty.history.plot().title == "0 rounds"
    with pytest.raises(BindError, match="gives no values per vertex"):
        empty.plot()


def test_settings_of_the_caller_stay() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    load("pagerank")(Graph.read("karate")).plot()._repr_png_()
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_error_names_the_extra() -> None:
    code = "import sys; sys.modules['matplotlib'] = None\nfrom vlang import Graph, load, Error\n" \
           "try:\n    load('bfs')(Graph.read('karate'), source=1).plot()\nexcept Error as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "pictures need matplotlib: pip install 'vlang[plot]'\n"

"""The options for reading a graph, and the messages of the command about reading."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Call

SALES = "date,buyer,seller,amount\n2001,1,2,5\n2002,2,3,6\n"


def test_ends_and_vertices(vlang: Call, tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text(SALES)
    done = vlang("info", path, "--json")
    assert done.err.count("warning: ") == 1
    assert json.loads(done.out)["vertices"] == 4
    done = vlang("info", path, "--json", "--source-column", "buyer", "--target-column", "3", "--vertices", "1..9")
    assert "warning" not in done.err
    facts = json.loads(done.out)
    assert (facts["vertices"], facts["edges"], facts["isolated_vertices"]) == (9, 2, 6)
    done = vlang("run", "bfs", path, "source=1", "-q")
    assert done.err.count("warning: ") == 1


def test_the_options_named_would_do(vlang: Call, tmp_path: Path) -> None:
    (tmp_path / "g").write_text("1 2\n2 1\n2 3\n3 1\n3 3\n1 2\n")
    for name in ("triangles", "kcore", "kcore_peel", "lcc"):
        done = vlang("run", name, tmp_path / "g", "-q")
        assert done.status == 1
        options = done.err.partition("Read it with ")[2].partition(" (")[0]
        assert options == "--undirected --self-loops drop --parallel drop"
        assert vlang("run", name, tmp_path / "g", "-q", *options.split()).status == 0
    done = vlang("run", "lcc_directed", tmp_path / "g", "-q")
    assert (done.status, "--self-loops drop --parallel drop (" in done.err) == (1, True)


def test_a_wrong_sample_is_no_vertex(vlang: Call) -> None:
    """If ids are integers, a wrong `random:` gives an error. If ids are texts, the same word may be an id."""
    for wrong in ("random:0", "random:", "random:8,seed=x"):
        done = vlang("run", "closeness", "karate", f"sources={wrong}", "-q")
        assert (done.status, done.err) == (1, f"error: `sources` is a list of vertices, not '{wrong}'; \"all\" and "
                                              "\"random:64\" are lists, too\n")

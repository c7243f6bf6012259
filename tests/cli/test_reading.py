"""The options that say how a graph is read, and what the command says about it."""

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

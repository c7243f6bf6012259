"""Published graphs, if available, have the numbers of vertices and edges that were published with them."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import numpy as np
import pytest

import vlang
from tests.graph.reading import read_edges
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.read.chunk import Status
from vlang.runtime.graph.read.layout import Role

ROOT = Path(vlang.__file__).resolve().parents[1]
DATA = Path(os.environ.get("VLANG_DATA") or ROOT.parent / "shared" / "data")

# name: (file, vertices, edges listed, directed, smallest weight or None)
REAL = {
    "wiki-Vote": ("wiki-Vote.txt.gz", 7115, 103689, True, None),
    "ca-GrQc": ("ca-GrQc.txt.gz", 5242, 28980, True, None),
    "email-Enron": ("email-Enron.txt.gz", 36692, 183831, False, None),
    "soc-Slashdot0902": ("soc-Slashdot0902.txt.gz", 82168, 948464, True, None),
    "rome99": ("rome99.gr.gz", 3353, 8870, True, 1),
    "USA-road-d.NY": ("USA-road-d.NY.gr.gz", 264346, 733846, True, 1),
}


def real(name: str) -> Path:
    path = DATA / name / REAL[name][0]
    if not path.exists():
        pytest.skip(f"{path.name} is not in {DATA} (VLANG_DATA names another folder)")
    return path


@pytest.mark.parametrize("name", REAL)
def test_counts_ids_and_degrees(name: str) -> None:
    _, vertices, edges, directed, lightest = REAL[name]
    read = read_edges(real(name), threads=2)
    assert (len(read.ids), len(read.src), read.directed) == (vertices, edges, directed)
    assert list(read.columns) == ([] if lightest is None else ["weight"])
    if lightest is not None:
        assert read.columns["weight"].dtype == np.int32
        assert read.columns["weight"].min() >= lightest
    reference = np.load(DATA / name / "reference.npz")
    np.testing.assert_array_equal(read.ids.values, reference["vertex_ids"])
    arcs = np.stack([read.src, read.dst]).astype(np.int64)
    if not directed:
        arcs = np.concatenate([arcs, arcs[::-1]], axis=1)
    arcs = np.unique(arcs[:, arcs[0] != arcs[1]], axis=1)
    np.testing.assert_array_equal(np.bincount(arcs[0], minlength=vertices), reference["out_degree"])


def test_a_symmetric_list_read_as_undirected_is_not_doubled() -> None:
    read = read_edges(real("ca-GrQc"), directed=False)
    assert (len(read.src), read.directed) == (14496, False)
    assert int((read.src == read.dst).sum()) == 12


def test_the_numbers_of_roles_and_states_are_those_of_the_kernel() -> None:
    assert "scan" in kernels("tokenize")
    folder = ROOT / "runtime" / "graph" / "kernels" / "texts"
    texts = [(folder / name).read_text(encoding="utf-8") for name in ("digits.py", "tokenize.py")]
    names: dict[str, int] = {}
    for node in (node for text in texts for node in ast.parse(text).body):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            for number, name in enumerate(node.targets[0].elts):
                assert isinstance(name, ast.Name)
                names.setdefault(name.id, number)
    names["MIXED_SIGNS"] = len([s for s in Status if s < Status.MIXED_SIGNS])
    for member in [*Role, *(s for s in Status if s <= Status.MIXED_SIGNS)]:
        assert names[member.name] == member

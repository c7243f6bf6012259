"""Programs beyond the first fifteen give the same results as NetworkX."""

from __future__ import annotations

import numpy as np
import pytest

import vlang

nx = pytest.importorskip("networkx")


@pytest.mark.parametrize("seed", range(6))
def test_hits(seed: int) -> None:
    drawn = nx.gnp_random_graph(40, 0.15, seed=seed, directed=True)
    result = vlang.load("hits")(vlang.Graph.from_networkx(drawn))
    matrix = nx.to_numpy_array(drawn, nodelist=result.ids.tolist())
    authorities = np.linalg.svd(matrix)[2][0]
    assert result.converged
    assert np.abs(np.abs(authorities) - result["auth"]).max() < 1e-3, f"seed {seed}"
    assert np.linalg.norm(result["hub"]) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_bipartite(seed: int) -> None:
    sides = nx.bipartite.random_graph(12, 15, 0.2, seed=seed)
    mixed = nx.gnp_random_graph(25, 0.12, seed=seed)
    for drawn in (sides, mixed):
        result = vlang.load("bipartite")(vlang.Graph.from_networkx(nx.Graph(drawn.edges)))
        side = dict(zip(result.ids.tolist(), result["side"].tolist(), strict=True))
        conflicts = sum(side[u] == side[v] for u, v in drawn.edges)
        assert result.conflicts == conflicts, f"seed {seed}"
        assert (result.conflicts == 0) == nx.is_bipartite(drawn), f"seed {seed}"


@pytest.mark.parametrize("name", ["hits", "bipartite"])
@pytest.mark.parametrize("spec", ["path:1", "path:0", "star:4"])
def test_small_graphs(name: str, spec: str) -> None:
    result = vlang.load(name)(vlang.Graph.read(spec))
    assert result.converged
    assert not any(np.isnan(result[field]).any() for field in result.fields)

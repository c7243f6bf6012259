"""One way in for every graph that has a name: a file in any known format, or a generator."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from vlang.runtime.errors import DiskError, GraphError
from vlang.runtime.graph.generators import generate, is_spec, unknown_name, weight_range
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.workers import available_threads

__all__ = ["read"]


def read(
    path: str | Path,
    directed: bool | None,
    symmetrize: bool,
    weights: str | None,
    self_loops: str,
    parallel: str,
    threads: int | None,
) -> Graph:
    """See `Graph.read`."""
    rule = None if weights is None or ".." not in weights else weight_range(weights)
    if weights is not None and ".." in weights and rule is None:
        raise GraphError(f"weights={weights!r}: write LO..HI with two integers")
    options: dict[str, Any] = {"symmetrize": symmetrize, "self_loops": self_loops, "parallel": parallel}
    text = str(path)
    if is_spec(text) and not Path(text).exists():
        _only_rule(text, weights, rule)
        graph = generate(text, directed=directed, threads=threads, **options)
    elif _is_archive(Path(text)):
        _only_rule(text, weights, rule)
        graph = _archive(Path(text), directed, options, threads)
    elif re.fullmatch(r"\w+", text) and not Path(text).exists():
        raise DiskError(f"{text}: there is no such file{unknown_name(text)}")
    else:
        graph = _file(Path(text), directed, None if rule else weights, options, threads)
    return graph.with_rule_weights(*rule) if rule else graph


def _only_rule(text: str, weights: str | None, rule: tuple[int, int] | None) -> None:
    if weights is not None and rule is None:
        raise GraphError(f"weights={weights!r}: for {text} write LO..HI, which makes integer weights by a rule")


def _is_archive(path: Path) -> bool:
    """Whether the file is a zip archive, as .npz files are."""
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError:
        return False


def _archive(path: Path, directed: bool | None, options: dict[str, Any], threads: int | None) -> Graph:
    from vlang.runtime.graph.npz import load

    graph = load(path, threads=threads)
    turned = directed is not None and directed != graph.directed
    if not turned and options == {"symmetrize": False, "self_loops": "keep", "parallel": "keep"}:
        return graph
    edges = graph.edges(both=turned and directed is True)
    if directed is not None:
        edges = replace(edges, directed=directed)
    return Graph(edges, name=graph.name, threads=threads, **options)


def _file(
    path: Path, directed: bool | None, weights: str | None, options: dict[str, Any], threads: int | None
) -> Graph:
    from vlang.runtime.graph.read import read_edges

    threads = threads or available_threads()
    edges = read_edges(path, directed=directed, weights=weights, threads=threads)
    return Graph(edges, name=path.name, threads=threads, **options)

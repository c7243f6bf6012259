"""Fingerprints of a graph, to check that two runs use the same vertices, edges and values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from numpy.typing import NDArray

from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.storage.state.state_file import digest
from vlang.runtime.threads.workers import on_threads

__all__ = ["SEAL", "fingerprint"]

SEAL = "page file"
_CHUNK = 1 << 24  # entries of an array in a piece; one thread hashes a piece


def fingerprint(graph: Graph, sides: Mapping[str, Iterable[str]], degrees: Iterable[str], near: bool) -> dict[str, str]:
    """Checksums (BLAKE2b) of all parts of a graph that a run reads, by name of the part.

    The checksum of an adjacency is computed once and cached. A graph of a page file, on disk or in memory, has a single
    checksum: the seal of the file, which is read without reading a page.

    Args:
        graph: the graph.
        sides: maps each adjacency direction that the run reads to the edge columns that the run reads in this
            direction.
        degrees: directions ("in", "out", "all") whose degrees the run reads.
        near: whether the run reads the undirected neighbour lists (`Neighbours`).
    """
    found = {"vertices": f"{graph.n}", "edges": f"{graph.m}", "directed": str(graph.directed)}
    if graph.seal:
        return found | {SEAL: graph.seal}
    found["ids"] = _ids(graph)
    found |= {f"kind of {name}": str(kind) for name, kind in sorted(graph.kinds.items())}
    for kind, columns in sorted(sides.items()):
        rows = graph.adjacency(kind)
        lists = [rows.offsets, rows.targets]
        found[f"{kind}-edges"] = rows.derived("fingerprint", partial(_whole, lists, graph.threads))
        for name in sorted(set(columns)):
            found[f"column {name}"] = rows.derived(
                ("fingerprint", name), partial(_column, graph.adjacency(kind, [name]), name, graph.threads))
    for kind in sorted(set(degrees)):
        found[f"{kind} degrees"] = _whole([graph.row_lengths("both" if kind == "all" else kind)], graph.threads)
    if graph.order is not None:
        found["order"] = _whole([graph.order.dense], graph.threads)
    if near:
        around = graph.neighbours()
        found["neighbours"] = _whole([around.offsets, around.targets], graph.threads)
    return found


def _ids(graph: Graph) -> str:
    ids = graph.ids
    if ids.consecutive:
        return f"{ids.base} to {ids.base + graph.n - 1}"
    if ids.values.dtype != object:
        return f"{ids.values.dtype} {digest(ids.values)}"
    whole = hashlib.blake2b(digest_size=16)
    for text in ids.values.tolist():
        bytes_ = str(text).encode("utf-8", "surrogatepass")
        whole.update(len(bytes_).to_bytes(8, "little") + bytes_)
    return f"texts {whole.hexdigest()}"


def _column(rows: Adjacency, name: str, threads: int) -> str:
    return _whole([rows.column(name)], threads)


def _whole(arrays: Iterable[NDArray[Any]], threads: int) -> str:
    """One checksum of several arrays.

    The checksum is computed from the checksums of pieces, whose size does not depend on `threads`.
    """
    pieces = [array[low : low + _CHUNK] for array in arrays for low in range(0, max(1, len(array)), _CHUNK)]
    types = "".join(f"{piece.dtype.str}{len(piece)}" for piece in pieces)
    return hashlib.blake2b((types + "".join(on_threads(threads, digest, pieces))).encode("ascii"),
                           digest_size=16).hexdigest()

"""Graphs as .npz files: vlang's own, and those of scipy.sparse.save_npz (read without scipy).

The layout of vlang, format 1: `vlang_graph` (the number of the format), `kind` ("in" or "out"), `directed`, `offsets`
uint64[n + 1], `targets` uint32[m], `column.NAME` for each edge column in this order, `rule` int64[2] for weights by
rule, and `notes`. `left_out` str[k, 3], if present, lists the columns that could not be read: name, reason, and "1" for
numbers. The ids are `ids` (integers), or `id_base` and n, or `id_bytes` (UTF-8, concatenated) with `id_ends` uint64[n].
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import DiskError, GraphError
from vlang.runtime.graph.edges.chosen_weight import as_weight, check_weights, without_weight
from vlang.runtime.graph.edges.columns import narrowed
from vlang.runtime.graph.edges.edge_list import LeftOut, VertexIds
from vlang.runtime.graph.edges.from_arrays import edges_of_entries
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.transform import WeightRule
from vlang.runtime.storage.output import write_arrays

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["load", "save"]

FORMAT = 1
COLUMN = "column."

Array = NDArray[Any]


def save(graph: Graph, path: Path) -> None:
    """Write the graph to a file, atomically. Raises DiskError."""
    base = graph.built()
    arrays: dict[str, Array] = {
        "vlang_graph": np.array(FORMAT), "kind": np.array(base.kind), "directed": np.array(graph.directed),
        "notes": np.array(graph.notes[:-1], dtype=np.str_),
        "offsets": base.offsets, "targets": base.targets, **_ids_to_arrays(graph.ids),
    }  # fmt: skip
    for name in graph.columns:
        if graph.rule is None or name != "weight":
            arrays[COLUMN + name] = base.stored(name)
    if graph.left_out:
        rows = [(name, why.reason, "1" if why.numbers else "") for name, why in graph.left_out.items()]
        arrays["left_out"] = np.array(rows, dtype=np.str_)
    if graph.rule is not None:
        arrays["rule"] = np.array([graph.rule.low, graph.rule.high], dtype=np.int64)
    write_arrays(path, arrays)


def load(
    graph_type: type[Graph], path: Path, weights: str | None = None, *, threads: int | None = None
) -> Graph:
    """The graph of an .npz file, as an object of `graph_type`.

    Args:
        graph_type: the class to build.
        path: the file.
        weights: the edge column that becomes `weight`; None for none.
        threads: how many threads build adjacency lists; None for one per processor.

    Raises:
        GraphError: the file holds no graph, or no such column.
        DiskError: the file cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            if "vlang_graph" in archive.files:
                return _own(graph_type, archive, path, weights, threads)
            if "format" in archive.files and "shape" in archive.files:
                check_weights(path, weights, ["weight"], {})
                return _matrix(graph_type, archive, path, threads)
            held = ", ".join(archive.files[:8]) or "nothing"
    except OSError as error:
        raise DiskError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        raise GraphError(f"{path}: damaged or cut off: {error}") from error
    except GraphError:
        raise
    except ValueError as error:
        raise GraphError(f"{path}: not an archive of plain arrays: {error}") from error
    raise GraphError(
        f"{path}: neither a graph that vlang saved nor a sparse matrix of scipy.sparse.save_npz; it holds {held}"
    )


# ------------------------------------------------------------------ vlang's format


def _own(
    graph_type: type[Graph], archive: Any, path: Path, weights: str | None, threads: int | None
) -> Graph:
    version = int(archive["vlang_graph"])
    if version != FORMAT:
        raise GraphError(f"{path}: graph format {version}; this version of vlang reads format {FORMAT}")
    columns = {
        name[len(COLUMN) :]: narrowed(name[len(COLUMN) :], archive[name])
        for name in archive.files
        if name.startswith(COLUMN)
    }
    rule = WeightRule(*(int(end) for end in archive["rule"])) if "rule" in archive.files else None
    listed = archive["left_out"].tolist() if "left_out" in archive.files else []
    left_out = {name: LeftOut(reason, bool(numbers)) for name, reason, numbers in listed}
    check_weights(path, weights, [*columns, *(["weight"] if rule else [])], left_out)
    if weights not in (None, "weight"):
        columns, rule, left_out = as_weight(columns, str(weights)), None, without_weight(left_out)
    rows = Rows(archive["offsets"], archive["targets"], columns)
    ids = _ids_from_arrays(archive, rows.offsets.size - 1)
    kind = str(archive["kind"])
    if not _sound(kind, rows, ids):
        raise GraphError(f"{path}: the arrays of this graph do not fit together; write it again")
    return graph_type.from_rows(
        kind, rows, ids, directed=bool(archive["directed"]), rule=rule, name=path.name,
        notes=[str(note) for note in archive["notes"]], left_out=left_out, threads=threads,
    )  # fmt: skip


def _sound(kind: str, rows: Rows, ids: VertexIds) -> bool:
    """Whether the arrays are valid, so that kernels cannot index outside of them."""
    offsets, targets = rows.offsets, rows.targets
    n = offsets.size - 1
    return (
        kind in ("in", "out") and n >= 0 and len(ids) == n and offsets.ndim == targets.ndim == 1
        and offsets.dtype == np.uint64 and targets.dtype == np.uint32
        and int(offsets[0]) == 0 and int(offsets[-1]) == len(targets) and bool((offsets[1:] >= offsets[:-1]).all())
        and (len(targets) == 0 or int(targets.max()) < n)
        and all(values.shape == targets.shape for values in rows.columns.values())
        and (ids.consecutive or bool((ids.values[1:] > ids.values[:-1]).all()))
    )  # fmt: skip


def _ids_to_arrays(ids: VertexIds) -> dict[str, Array]:
    if ids.consecutive:
        return {"id_base": np.array(ids.base)}
    if not ids.text:
        return {"ids": ids.values}
    encoded = [text.encode("utf-8", "surrogatepass") for text in ids.values.tolist()]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.uint64)
    return {"id_bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8), "id_ends": ends}


def _ids_from_arrays(archive: Any, n: int) -> VertexIds:
    if "id_base" in archive.files:
        return VertexIds(base=int(archive["id_base"]), count=n)
    if "ids" in archive.files:
        ids = archive["ids"]
        return VertexIds(ids.astype(np.uint64 if ids.dtype == np.uint64 else np.int64, copy=False))
    data, ends = archive["id_bytes"].tobytes(), archive["id_ends"].tolist()
    texts = np.empty(len(ends), dtype=object)
    texts[:] = [data[a:b].decode("utf-8", "surrogatepass") for a, b in zip([0, *ends], ends)]
    return VertexIds(texts)


# ------------------------------------------------------------------ scipy's format


def _matrix(graph_type: type[Graph], archive: Any, path: Path, threads: int | None) -> Graph:
    kind = archive["format"].item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    shape = tuple(int(size) for size in archive["shape"])
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(f"{path}: the matrix must be square; its shape is {' x '.join(map(str, shape))}")
    if kind == "coo":
        row, col = (archive["row"], archive["col"]) if "row" in archive.files else archive["coords"]
    elif kind in ("csr", "csc"):
        indptr, minor = archive["indptr"], archive["indices"]
        major = np.repeat(np.arange(shape[0], dtype=minor.dtype), np.diff(indptr))
        row, col = (major, minor) if kind == "csr" else (minor, major)
    else:
        raise GraphError(f"{path}: a matrix of format {kind!r}; save it as csr, csc or coo")
    if not len(row) == len(col) == len(archive["data"]):
        raise GraphError(f"{path}: the arrays of this matrix do not fit together")
    edges = edges_of_entries(row, col, archive["data"], shape[0], "weight", True)
    edges.notes.append(f"Sparse matrix ({kind}): A[i, j] is the edge i -> j.")
    return graph_type(edges, name=path.name, threads=threads)

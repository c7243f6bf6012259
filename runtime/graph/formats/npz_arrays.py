"""Graphs as .npz files, in vlang's own format or in the format of scipy.sparse.save_npz, which is read without SciPy.

The arrays of vlang's format 1 are: `vlang_graph` (the number of the format), `kind` ("in" or "out"), `directed`,
`offsets` uint64[n + 1], `targets` uint32[m], `column.NAME` for each edge column in the order of `targets`, `rule`
int64[2] for weights by rule, and `notes`. `left_out` str[k, 3], if present, has a row for each column that could not be
read: its name, the reason, and "1" if it holds numbers. For a column of categories, `names.NAME` has the sorted names
of the categories (str). For a column of times, `unit.NAME` has the unit ("D", "s", "ms", "us" or "ns"). Vertex ids are
stored as `ids` (integers); as `id_base`, if they are the n consecutive integers from `id_base` on; or as `id_bytes`
(UTF-8, concatenated) with `id_ends` uint64[n].
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.building.from_arrays import MOST, edges_of_entries
from vlang.runtime.graph.edges.chosen_weight import as_weight, check_weights, without_weight
from vlang.runtime.graph.edges.columns import narrowed
from vlang.runtime.graph.edges.edge_list import LeftOut, VertexIds
from vlang.runtime.graph.edges.kinds import Kind, Names, Times
from vlang.runtime.graph.formats.archive import Archive
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.pages import distinct
from vlang.runtime.graph.topology.transform import WeightRule
from vlang.runtime.storage.output import write_arrays
from vlang.runtime.threads.processors import available_threads
from vlang.runtime.threads.workers import on_threads
from vlang.times import UNITS

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["COLUMN", "NAMES", "SEAL", "UNIT", "is_own", "load", "matrix_entries", "matrix_note", "own_graph",
           "own_head", "own_ids", "save", "unfit"]

FORMAT = 1
COLUMN, NAMES, UNIT, SEAL = "column.", "names.", "unit.", "seal"

_BLOCK = 1 << 17  # entries that a thread checks at a time

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
    for name, one in graph.kinds.items():
        if isinstance(one, Names):
            arrays[NAMES + name] = np.array(one.names, dtype=np.str_)
        else:
            arrays[UNIT + name] = np.array(one.unit)
    if graph.left_out:
        rows = [(name, why.reason, "1" if why.numbers else "") for name, why in graph.left_out.items()]
        arrays["left_out"] = np.array(rows, dtype=np.str_)
    if graph.rule is not None:
        arrays["rule"] = np.array([graph.rule.low, graph.rule.high], dtype=np.int64)
    write_arrays(path, arrays, sealed=SEAL)


def load(
    graph_type: type[Graph], path: Path, weights: str | None = None, *, threads: int | None = None
) -> Graph:
    """Read the graph of an .npz file.

    Args:
        graph_type: the class to build.
        path: the file.
        weights: the edge column that becomes `weight`; None if no column was chosen.
        threads: how many threads build adjacency lists; None for one per processor.

    Raises:
        GraphError: the file holds no graph, does not have the column `weights`, or is damaged.
        DiskError: the file cannot be read.
        OutOfMemory: an array does not fit into memory, which is checked before the array is allocated.
    """
    with Archive(path) as archive:
        if is_own(archive):
            return own_graph(graph_type, archive, path, weights, threads)
        check_weights(path, weights, ["weight"], {})
        return _matrix(graph_type, archive, path, threads)


def is_own(archive: Archive) -> bool:
    """Whether an archive has vlang's format; False for a scipy matrix. Raises GraphError for any other archive."""
    if "vlang_graph" not in archive and not ("format" in archive and "shape" in archive):
        held = ", ".join(archive.names[:8]) or "nothing"
        raise GraphError(f"{archive.path}: neither a graph that vlang saved nor a sparse matrix of "
                         f"scipy.sparse.save_npz; it holds {held}")
    return "vlang_graph" in archive


# ------------------------------------------------------------------ vlang's format


class Head(NamedTuple):
    """What an archive in vlang's format says about its graph; see the beginning of this file.

    `names` has the names of the stored columns.
    """

    kind: str
    directed: bool
    notes: list[str]
    left_out: dict[str, LeftOut]
    rule: WeightRule | None
    names: list[str]


def own_head(archive: Archive, path: Path, weights: str | None) -> Head:
    """Read all of an archive in vlang's format except for vertices and edges. Raises the errors of `load`."""
    version = archive.number("vlang_graph")
    if version != FORMAT:
        raise GraphError(f"{path}: graph format {version}; this version of vlang reads format {FORMAT}")
    kind, directed = archive.text("kind"), archive.flag("directed")
    notes = archive.array("notes", "U", (None,), words=True).tolist()
    listed = archive.array("left_out", "U", (None, 3), words=True).tolist() if "left_out" in archive else []
    left_out = {name: LeftOut(reason, bool(numbers)) for name, reason, numbers in listed}
    ends = archive.array("rule", "iu", (2,), words=True).tolist() if "rule" in archive else []
    rule = WeightRule(*ends) if ends else None
    names = [name[len(COLUMN) :] for name in archive.names if name.startswith(COLUMN)]
    check_weights(path, weights, [*names, *(["weight"] if rule else [])], left_out)
    return Head(kind, directed, notes, left_out, rule, names)


def own_graph(
    graph_type: type[Graph], archive: Archive, path: Path, weights: str | None, threads: int | None
) -> Graph:
    """Read the graph of an open archive in vlang's format. Raises the errors of `load`.

    Args:
        graph_type: the class to build.
        archive: the open file.
        path: path of the file, for messages.
        weights: the edge column that becomes `weight`; None if no column was chosen.
        threads: how many threads build adjacency lists; None for one per processor.
    """
    kind, directed, notes, left_out, rule, names = own_head(archive, path, weights)
    offsets, targets = archive.array("offsets", "u", (None,)), archive.array("targets", "u", (None,))
    columns = {name: narrowed(name, archive.array(COLUMN + name, "biuf", (len(targets),))) for name in names}
    kinds = _kinds(archive, columns)
    if weights not in (None, "weight"):
        columns, rule, left_out = as_weight(columns, str(weights)), None, without_weight(left_out)
        kinds = as_weight(kinds, str(weights))
    rows = Rows(offsets, targets, columns)
    wrong = unfit(kind, offsets, len(targets), targets)
    if not wrong and not archive.sealed(SEAL):
        wrong = _unsound(rows, directed, threads or available_threads())
    if not wrong:
        ids = own_ids(archive, len(offsets) - 1)
        wrong = "" if ids.consecutive or bool((ids.values[1:] > ids.values[:-1]).all()) else "its ids do not increase"
    if wrong:
        raise GraphError(f"{path}: the arrays of this graph do not fit together: {wrong}; write it again")
    return graph_type.from_rows(
        kind, rows, ids, directed=directed, rule=rule, name=path.name, notes=notes, left_out=left_out, threads=threads,
        kinds=kinds,
    )  # fmt: skip


def _kinds(archive: Archive, columns: Mapping[str, Array]) -> dict[str, Kind]:
    """The kinds of the columns of categories and times.

    Raises GraphError if the codes of a column do not fit its names.
    """
    kinds: dict[str, Kind] = {}
    for name, values in columns.items():
        if NAMES + name in archive:
            texts = tuple(archive.array(NAMES + name, "U", (None,), words=True).tolist())
            coded = values.dtype.kind in "iu" and (not len(values) or (values.min() >= 0 and values.max() < len(texts)))
            if not coded or list(texts) != sorted(set(texts)):
                raise GraphError(f"{archive.path}: the codes of column `{name}` and its names do not fit together; "
                                 "write it again")
            kinds[name] = Names(texts)
        elif UNIT + name in archive:
            unit = archive.text(UNIT + name)
            if unit not in UNITS.values() or values.dtype.kind not in "iu":
                raise GraphError(f"{archive.path}: column `{name}` has the unit {unit!r}; there are "
                                 f"{', '.join(UNITS.values())}")
            kinds[name] = Times(unit)
    return kinds


def unfit(kind: str, offsets: Array, edges: int, targets: Array) -> str:
    """The reason why kernels could index outside of the arrays; "" if they cannot.

    Args:
        kind: the kind of the rows.
        offsets: uint64[n + 1].
        edges: the number of targets of the graph.
        targets: some or all targets, uint32.
    """
    if kind not in ("in", "out"):
        return f"its kind is {kind!r}, not 'in' or 'out'"
    if offsets.dtype != np.uint64 or targets.dtype != np.uint32:
        return f"offsets are {offsets.dtype}, not uint64, or targets {targets.dtype}, not uint32"
    if not 1 <= len(offsets) <= MOST + 1:
        return f"there are {len(offsets):,} offsets, for 0 to {MOST:,} vertices"
    if int(offsets[0]) != 0 or int(offsets[-1]) != edges:
        return f"offsets go from {offsets[0]:,} to {offsets[-1]:,}, not from 0 to the {edges:,} targets"
    if not bool((offsets[1:] >= offsets[:-1]).all()):
        return "its offsets decrease"
    if len(targets) and int(targets.max()) >= len(offsets) - 1:
        return f"a target is vertex number {targets.max():,} of {len(offsets) - 1:,}"
    return ""


def _unsound(rows: Rows, directed: bool, threads: int) -> str:
    """The fault that would make results wrong (unsorted rows, or unequal directions of an undirected edge), or "".

    The two directions of all edges are compared by sums of 64-bit hashes, which agree by chance with probability 2^-64.
    """
    check = kernels("sound")["check_rows"]
    offsets, n = rows.offsets, len(rows.offsets) - 1
    cuts = distinct(np.searchsorted(offsets, np.arange(0, len(rows.targets), _BLOCK).astype(np.uint64), "right") - 1)
    blocks = list(zip(cuts.tolist(), [*cuts[1:].tolist(), n]))
    columns: list[Array | None] = [None] if directed or not rows.columns else [*rows.columns.values()]

    def look(block: tuple[int, int]) -> tuple[int, list[int]]:
        first, last = block
        part, out, sums = slice(int(offsets[first]), int(offsets[last])), np.zeros(1, np.uint64), []
        for values in columns:
            hashed = 0 if directed else 1 if values is None else 2
            bits = np.zeros(1, np.uint64) if values is None else _bits(values[part])
            wrong = check(offsets, rows.targets, bits, first, last, hashed, out)
            sums.append(int(out[0]))
        return wrong, sums

    found = on_threads(threads, look, blocks)
    if wrong := sum(count for count, _ in found):
        return f"targets do not increase in their lists, in {wrong:,} of {len(rows.targets):,} places"
    if any(sum(part) % 2**64 for part in zip(*(sums for _, sums in found))):
        return "it is undirected, and some edges are not there in both directions, with the same values"
    return ""


def _bits(values: Array) -> NDArray[np.uint64]:
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").astype(np.uint64)


def _ids_to_arrays(ids: VertexIds) -> dict[str, Array]:
    if ids.consecutive:
        return {"id_base": np.array(ids.base)}
    if not ids.text:
        return {"ids": ids.values}
    encoded = [text.encode("utf-8", "surrogatepass") for text in ids.values.tolist()]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.uint64)
    return {"id_bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8), "id_ends": ends}


def own_ids(archive: Archive, n: int) -> VertexIds:
    """Read the ids of n vertices from an archive in vlang's format. Raises GraphError."""
    if "id_base" in archive:
        base = archive.number("id_base")
        if base + n > (2**63 if base < 0 else 2**64):
            raise GraphError(f"{archive.path}: ids from {base} on for {n:,} vertices need more than 64 bits")
        return VertexIds(base=base, count=n)
    if "ids" in archive:
        ids = archive.array("ids", "iu", (n,))
        return VertexIds(ids.astype(np.uint64 if ids.dtype == np.uint64 else np.int64, copy=False))
    data, ends = archive.array("id_bytes", "u", (None,)), archive.array("id_ends", "u", (n,))
    if data.dtype != np.uint8 or (n and int(ends[-1]) != len(data)) or not bool((ends[1:] >= ends[:-1]).all()):
        raise GraphError(f"{archive.path}: the ids and their ends do not fit together; write it again")
    texts, raw = np.empty(n, dtype=object), data.tobytes()
    try:
        texts[:] = [raw[a:b].decode("utf-8", "surrogatepass") for a, b in zip([0, *ends.tolist()], ends.tolist())]
    except UnicodeDecodeError as error:
        raise GraphError(f"{archive.path}: an id is not UTF-8 ({error.reason}); write it again") from None
    return VertexIds(texts)


# ------------------------------------------------------------------ scipy's format


class Entries(NamedTuple):
    """The entries of a sparse matrix.

    `kind` is "coo", "csr" or "csc", and `n` is the number of rows. `row`, `col` and `data` have one element per entry.
    """

    kind: str
    n: int
    row: Array
    col: Array
    data: Array


def matrix_entries(archive: Archive, path: Path) -> Entries:
    """The entries of a square sparse matrix. Raises GraphError."""
    kind = archive.text("format")
    shape = archive.array("shape", "iu", (None,), words=True).tolist()
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(f"{path}: the matrix must be square; its shape is {' x '.join(map(str, shape))}")
    n = shape[0]
    if not 0 <= n <= MOST:
        raise GraphError(f"{path}: the matrix has {n:,} rows; a graph has 0 to {MOST:,} vertices")
    if kind == "coo":
        row, col = _coordinates(archive)
    elif kind in ("csr", "csc"):
        indptr = archive.array("indptr", "iu", (n + 1,))
        _check_pointers(archive, indptr, archive.length("indices"))
        minor = archive.array("indices", "iu", (None,))
        major = _major(archive, indptr, len(minor))
        row, col = (major, minor) if kind == "csr" else (minor, major)
    else:
        raise GraphError(f"{path}: a matrix of format {kind!r}; save it as csr, csc or coo")
    data = archive.array("data", "biufc", (len(row),))
    if len(col) != len(row):
        raise GraphError(f"{path}: the arrays of this matrix do not fit together: {len(row):,} rows and {len(col):,} "
                         "columns of entries")
    return Entries(kind, n, row, col, data)


def _matrix(graph_type: type[Graph], archive: Archive, path: Path, threads: int | None) -> Graph:
    kind, n, row, col, data = matrix_entries(archive, path)
    try:
        edges = edges_of_entries(row, col, data, n, "weight", True)
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from None
    edges.notes.append(matrix_note(kind))
    return graph_type(edges, name=path.name, threads=threads)


def matrix_note(kind: str) -> str:
    """The note that says how a matrix of this format was read as edges."""
    return f"Sparse matrix ({kind}): A[i, j] is the edge i -> j."


def _coordinates(archive: Archive) -> tuple[Array, Array]:
    """The row and the column of every entry of a "coo" matrix, each of shape [entries]."""
    if "row" in archive:
        return archive.array("row", "iu", (None,)), archive.array("col", "iu", (None,))
    row, col = archive.array("coords", "iu", (2, None))
    return row, col


def _check_pointers(archive: Archive, indptr: Array, entries: int) -> None:
    """Raise GraphError for invalid row or column pointers."""
    path, first, last = archive.path, int(indptr[0]), int(indptr[-1])
    if first != 0 or last != entries:
        hint = "; pointers that count from 1 are those of another system" if first == 1 else ""
        raise GraphError(f"{path}: indptr goes from {first:,} to {last:,}, not from 0 to {entries:,}, the number of "
                         f"entries{hint}")
    if bool((indptr[1:] < indptr[:-1]).any()):
        raise GraphError(f"{path}: indptr decreases")


def _major(archive: Archive, indptr: Array, entries: int) -> Array:
    """The row of each entry (csr), or its column (csc)."""
    rows: NDArray[np.uint32] = archive.empty(entries, np.uint32)
    kernels("rows")["expand"](indptr.astype(np.uint64), 0, len(indptr) - 1, rows)
    return rows

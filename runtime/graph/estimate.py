"""Estimate the shape of a graph before reading it: exact for generators and stored graphs, from a sample for text."""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from vlang.errors import GraphError
from vlang.runtime.graph.arrow.files import FileTable, table_files
from vlang.runtime.graph.edges.ends import OF_FILE, Ends
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.generators import BLOCK_BYTES, FACTOR, is_spec, weight_range
from vlang.runtime.storage.magic import is_page_file
from vlang.runtime.threads.processors import available_threads

__all__ = ["estimate"]


def estimate(
    spec: str, directed: bool | None = None, symmetrize: bool = False, weights: str | None = None,
    threads: int | None = None, ends: Ends = OF_FILE, columns: Collection[str] | None = None,
) -> Shape | None:
    """The shape of the graph of a file or generator; None if it cannot be determined without reading the whole file.

    Args:
        spec, directed, symmetrize, weights, columns: as in `Graph.read`.
        threads: how many threads will read the file; None for one per processor.
        ends: the columns that hold the ids at the two ends of an edge.
    """
    rule = weights is not None and ".." in weights
    path = Path(spec)
    try:
        if is_spec(spec) and not path.exists():
            found = _generated(spec, directed)
        elif files := table_files(spec):
            from vlang.runtime.graph.table_shape import estimate_table  # start-up

            found = estimate_table(FileTable.open(spec, files), directed, None if rule else weights, ends, columns)
        elif not path.is_file():  # a pipe can be read once, by the reader
            return None
        elif is_page_file(path):
            found = _paged(path, directed)
        elif zipfile.is_zipfile(path):
            found = _archive(path, directed)
        else:
            from vlang.runtime.graph.read.estimate_text import estimate_text  # start-up

            found = estimate_text(path, directed, threads or available_threads())
    except (GraphError, OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None  # the reader raises the error when it reads the same file
    if found is None:
        return None
    if symmetrize and found.directed and found.listed:
        found = _with(found, m=2 * found.m, directed=False)
    if rule:
        found = _with(found, columns={**found.columns, "weight": np.dtype(np.int32)}, ruled=frozenset({"weight"}))
    return found


def _with(shape: Shape, **changes: Any) -> Shape:
    return Shape(**{**shape.__dict__, **changes})


def _generated(spec: str, directed: bool | None) -> Shape | None:
    """The counts of a generated graph.

    Self-loops are counted twice although undirected graphs store them once, because there are few of them.
    """
    name, _, rest = spec.partition(":")
    words = rest.split(",")
    given = dict(word.split("=", 1) for word in words if "=" in word)
    args = [word for word in words if word and "=" not in word]
    aimed = directed if directed is not None else \
        given["directed"] == "true" if "directed" in given else name in ("rmat", "path")
    if name in ("kron", "rmat", "uniform"):
        n = 1 << int(args[0])
        drawn = n * (int(args[1]) if len(args) > 1 else FACTOR)
    elif name == "grid":
        rows, columns = map(int, args[0].split("x"))
        n, drawn = rows * columns, rows * (columns - 1) + columns * (rows - 1)
    elif name in ("path", "star"):
        n = int(args[0])
        drawn = max(0, n - 1)
    else:
        return None
    limits = weight_range(given["weights"]) if "weights" in given else None
    reading = 0 if name in ("kron", "rmat", "uniform") else BLOCK_BYTES
    shape = Shape(n, drawn if aimed else 2 * drawn, aimed, listed=drawn, reading=reading)
    return shape if limits is None else \
        _with(shape, columns={"weight": np.dtype(np.int32)}, ruled=frozenset({"weight"}))


def _paged(path: Path, directed: bool | None) -> Shape | None:
    """The counts of a page file from its header, for a run that reads all its edges into memory."""
    from vlang.runtime.storage.page_file import PageFile  # start-up

    file = PageFile.open(path)
    if directed is not None and directed != file.directed:
        return None
    columns = {name: info.dtype for name, info in file.columns.items()}
    ids = 0 if file.consecutive else (72 if file.has_texts else 8) * file.n
    shape = Shape(file.n, file.m, file.directed, columns, built=frozenset({"in"}), ids=ids)
    reading = file.largest_page
    if file.layout == "degree":  # later the permutation of the rows, its inverse, and a check
        reading = max(reading, 9 * file.n)
    return _with(shape, reading=reading)


def _archive(path: Path, directed: bool | None) -> Shape | None:
    """The counts of an .npz file that vlang saved, from the headers of its arrays."""
    heads = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                version = np.lib.format.read_magic(member)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else \
                    np.lib.format.read_array_header_2_0
                heads[name.removesuffix(".npy")] = read(member)
        if "vlang_graph" not in heads:
            return None
        with archive.open("kind.npy") as member:
            kind = str(np.lib.format.read_array(member))
        with archive.open("directed.npy") as member:
            stored = bool(np.lib.format.read_array(member))
    if directed is not None and directed != stored:
        return None
    n, m = heads["offsets"][0][0] - 1, heads["targets"][0][0]
    columns = {name.removeprefix("column."): dtype for name, (_, _, dtype) in heads.items()
               if name.startswith("column.")}
    ruled = frozenset({"weight"}) if "rule" in heads else frozenset()
    ids = 8 * n if "ids" in heads else 72 * n if "id_ends" in heads else 0
    return Shape(n, m, stored, {**columns, **{name: np.dtype(np.int32) for name in ruled}}, ruled,
                 built=frozenset({kind}), ids=ids, reading=n + 1)

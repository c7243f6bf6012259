"""A small file of each format and style is read; all data are compared with the expected data."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.graph.reading import read_edges
from vlang import Graph
from vlang.runtime.graph.edges.building.space import IN_MEMORY
from vlang.runtime.graph.formats.texts.estimate_text import estimate_text
from vlang.runtime.graph.read.scan import reading_bytes

MATRIX = b"%%MatrixMarket matrix coordinate "


@dataclass(frozen=True)
class Case:
    """A file, the options for reading it, and the expected data."""

    content: bytes
    edges: list[tuple[Any, Any]]
    ids: list[Any]
    columns: dict[str, list[Any]] = field(default_factory=dict)
    directed: bool = True
    options: dict[str, Any] = field(default_factory=dict)


PAIR = [(1, 2), (2, 3)]

CASES = {
    "spaces": Case(b"1 2\n2 3\n", PAIR, [1, 2, 3]),
    "tabs": Case(b"1\t2\n2\t3\n", PAIR, [1, 2, 3]),
    "commas": Case(b"1,2\n2, 3\n", PAIR, [1, 2, 3]),
    "semicolons": Case(b"1;2;5\n2 ; 3 ; 6\n", PAIR, [1, 2, 3], {"weight": [5, 6]}),
    "comments of all kinds": Case(b"# a\n% b\n// c\n1 2\n# d\n  % e\n2 3\n", PAIR, [1, 2, 3]),
    "crlf": Case(b"# x\r\n1 2\r\n2 3\r\n", PAIR, [1, 2, 3]),
    "byte order mark": Case(b"\xef\xbb\xbf1 2\n2 3\n", PAIR, [1, 2, 3]),
    "no last line end": Case(b"1 2\n2 3", PAIR, [1, 2, 3]),
    "blank lines and blanks": Case(b"\n  1   2  \n\n\t2 \t 3\t\n \n", PAIR, [1, 2, 3]),
    "sparse ids": Case(b"1000000 5\n5 70\n", [(1000000, 5), (5, 70)], [5, 70, 1000000]),
    "negative ids": Case(b"-5 3\n3 -7\n", [(-5, 3), (3, -7)], [-7, -5, 3]),
    "the ends of int64": Case(
        b"-9223372036854775808 9223372036854775807\n", [(-(2**63), 2**63 - 1)], [-(2**63), 2**63 - 1]
    ),
    "uint64": Case(b"18446744073709551615 0\n", [(2**64 - 1, 0)], [0, 2**64 - 1]),
    "leading zeros and signs": Case(b"007 +8\n-0 7\n", [("007", "+8"), ("-0", "7")], ["+8", "-0", "007", "7"]),
    "texts": Case(b"b a\na \xc3\xa4\n", [("b", "a"), ("a", "ä")], ["a", "b", "ä"]),
    "one text among integers": Case(b"1 2\n10 x\n", [("1", "2"), ("10", "x")], ["1", "10", "2", "x"]),
    "fractions are texts": Case(b"1.0 2.0\n", [("1.0", "2.0")], ["1.0", "2.0"]),
    "quoted csv": Case(
        b'"x, y","a ""q"""\n"a ""q""", b\n', [("x, y", 'a "q"'), ('a "q"', "b")], ['a "q"', "b", "x, y"]
    ),
    "quoted integers": Case(b'"1","2"\n"2","3"\n', PAIR, [1, 2, 3]),
    "quoted texts between spaces": Case(b'"a b" c\nc "a b"\n', [("a b", "c"), ("c", "a b")], ["a b", "c"]),
    "texts with spaces between tabs": Case(
        b"Ann Lee\tBob\t1\nBob\tAnn Lee\t2\n", [("Ann Lee", "Bob"), ("Bob", "Ann Lee")], ["Ann Lee", "Bob"],
        {"weight": [1, 2]},
    ),
    "csv header": Case(b"source,target,cost\n1,2,1.5\n2,3,2\n", PAIR, [1, 2, 3], {"cost": [1.5, 2.0]}),
    "header in another order": Case(
        b"id,kind,To,From_Id,w\n9,x,2,1,5\n8,y,3,2,6\n", PAIR, [1, 2, 3], {"id": [9, 8], "w": [5, 6]}
    ),
    "header of unknown names": Case(b"left right\n1 2\n2 3\n", PAIR, [1, 2, 3]),
    "header over texts": Case(b"u v w\na b 1\nb c 2\n", [("a", "b"), ("b", "c")], ["a", "b", "c"], {"w": [1, 2]}),
    "header, same name twice": Case(
        b"source,target,w,w,\n1,2,3,4,5\n2,3,4,5,6\n", PAIR, [1, 2, 3],
        {"w": [3, 4], "column4": [4, 5], "column5": [5, 6]},
    ),
    "texts are no header": Case(b"x y\ny z\n", [("x", "y"), ("y", "z")], ["x", "y", "z"]),
    "more columns": Case(
        b"1 2 3 4.5 a 6\n2 3 4 5 b 7\n", PAIR, [1, 2, 3], {"weight": [3, 4], "column4": [4.5, 5], "column6": [6, 7]}
    ),
    "another column as weight": Case(
        b"1 2 3 4.5\n2 3 4 5\n", PAIR, [1, 2, 3], {"column3": [3, 4], "weight": [4.5, 5]}, options={"weights": "4"}
    ),
    "a named column as weight": Case(
        b"from,to,w\n1,2,3\n2,3,4\n", PAIR, [1, 2, 3], {"weight": [3, 4]}, options={"weights": "w"}
    ),
    "empty texts are left out": Case(b"1,2,\n2,3,\n", PAIR, [1, 2, 3]),
    "integers, then fractions": Case(b"1 2 3\n2 3 4.25\n", PAIR, [1, 2, 3], {"weight": [3.0, 4.25]}),
    "integers beyond 32 bits": Case(b"1 2 3\n2 3 -9223372036854775808\n", PAIR, [1, 2, 3], {"weight": [3, -(2**63)]}),
    "integers beyond 64 bits": Case(b"1 2 3\n2 3 9223372036854775808\n", PAIR, [1, 2, 3], {"weight": [3.0, 2.0**63]}),
    "infinity": Case(b"1 2 3\n2 3 -inf\n", PAIR, [1, 2, 3], {"weight": [3.0, -np.inf]}),
    "snap undirected": Case(b"# Undirected graph: x\n1 2\n2 3\n", PAIR, [1, 2, 3], directed=False),
    "snap directed": Case(b"# Directed graph (each pair once)\n1 2\n2 3\n", PAIR, [1, 2, 3]),
    "konect symmetric": Case(b"% sym unweighted\n1 2\n2 3\n", PAIR, [1, 2, 3], directed=False),
    "asked to be directed": Case(
        b"# Undirected graph\n1 2\n2 3\n", PAIR, [1, 2, 3], options={"directed": True}
    ),
    "asked to be undirected": Case(b"1 2\n2 3\n", PAIR, [1, 2, 3], directed=False, options={"directed": False}),
    "undirected, both ways": Case(
        b"# Undirected graph\n2 1 5\n1 2 5\n2 3 6\n3 2 6\n3 3 7\n", [(1, 2), (2, 3), (3, 3)], [1, 2, 3],
        {"weight": [5, 6, 7]}, directed=False,
    ),
    "undirected, both ways, other values": Case(
        b"# Undirected graph\n1 2 5\n2 1 6\n", [(1, 2), (2, 1)], [1, 2], {"weight": [5, 6]}
    ),
    "undirected, as many up as down": Case(
        b"# Undirected graph\n1 2\n3 2\n", [(1, 2), (3, 2)], [1, 2, 3], directed=False
    ),
    "matrix general": Case(
        MATRIX + b"real general\n% c\n4 4 2\n1 2 1.5\n\n3 1 2\n", [(1, 2), (3, 1)], [1, 2, 3, 4], {"weight": [1.5, 2.0]}
    ),
    "matrix pattern symmetric": Case(
        MATRIX + b"pattern symmetric\n4 4 2\n2 1\n3 3\n", [(2, 1), (3, 3)], [1, 2, 3, 4], directed=False
    ),
    "matrix symmetric as arcs": Case(
        MATRIX + b"integer symmetric\n3 3 2\n2 1 5\n3 3 6\n", [(2, 1), (3, 3), (1, 2)], [1, 2, 3],
        {"weight": [5, 6, 5]}, options={"directed": True},
    ),
    "matrix skew-symmetric": Case(
        MATRIX + b"integer skew-symmetric\n3 3 1\n2 1 7\n", [(2, 1), (1, 2)], [1, 2, 3], {"weight": [7, -7]}
    ),
    "matrix in capitals": Case(b"%%matrixmarket MATRIX Coordinate Pattern General\n2 2 1\n1 2\n", [(1, 2)], [1, 2]),
    "matrix without entries": Case(MATRIX + b"pattern general\n2 2 0\n", [], [1, 2]),
    "matrix without rows": Case(MATRIX + b"pattern general\n0 0 0\n", [], []),
    "dimacs arcs": Case(
        b"c hi\nc\np sp 4 2\nc more\na 1 2 5\na 2 3 7\n", PAIR, [1, 2, 3, 4], {"weight": [5, 7]}
    ),
    "dimacs without arcs": Case(b"p sp 2 0\n", [], [1, 2], {"weight": []}),
    "dimacs edges": Case(b"c\np edge 4 2\ne 1 2\ne 2 3\n", PAIR, [1, 2, 3, 4], directed=False),
    "dimacs colouring, both ways": Case(b"p col 2 2\ne 1 2\ne 2 1\n", [(1, 2)], [1, 2], directed=False),
}  # fmt: skip


def listed(path: Path, **options: Any) -> tuple[list[tuple[Any, Any]], list[Any], dict[str, list[Any]], bool]:
    """Return the edges in the user's ids, the ids, the columns, and whether the graph is directed."""
    read = read_edges(path, threads=2, **options)
    assert read.src.dtype == read.dst.dtype == np.uint32
    ids = read.ids.values.tolist()
    edges = [(ids[u], ids[v]) for u, v in zip(read.src.tolist(), read.dst.tolist())]
    return edges, ids, {name: values.tolist() for name, values in read.columns.items()}, read.directed


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", CASES)
def test_is_read(name: str, packed: bool, tmp_path: Path) -> None:
    case = CASES[name]
    path = tmp_path / "graph.any"
    path.write_bytes(gzip.compress(case.content) if packed else case.content)
    assert listed(path, **case.options) == (case.edges, case.ids, case.columns, case.directed)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [("1 -2147483648", np.int32), ("1 2147483648", np.int64), ("1 2.5", np.float64), ("1e2 1", np.float64)],
)
def test_columns_take_the_narrowest_type(values: str, dtype: type, tmp_path: Path) -> None:
    path = tmp_path / "g"
    path.write_text("".join(f"1 2 {value}\n" for value in values.split()))
    assert read_edges(path).columns["weight"].dtype == dtype


@pytest.mark.parametrize(
    ("ids", "dtype"), [("1 2", np.int64), ("-1 7", np.int64), ("1 9223372036854775808", np.uint64), ("a b", np.object_)]
)
def test_ids_keep_their_kind(ids: str, dtype: type, tmp_path: Path) -> None:
    path = tmp_path / "g"
    path.write_text(ids)
    assert read_edges(path).ids.values.dtype == dtype


def test_consecutive_ids_are_not_stored(tmp_path: Path) -> None:
    path = tmp_path / "g"
    path.write_text("5 7\n6 5\n")
    ids = read_edges(path).ids
    assert (ids.consecutive, ids.base, ids.count) == (True, 5, 3)


def _zstd(text: bytes) -> bytes:
    return bytes(pytest.importorskip("pyarrow").compress(text, "zstd", asbytes=True))


@pytest.mark.parametrize(("name", "pack"), [("bzip2", bz2.compress), ("xz", lzma.compress), ("zstd", _zstd)])
def test_texts_packed_in_several_streams(name: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """Packed texts are read correctly if streams end within lines or are longer than a window, and if zeros follow
    bzip2 and xz data.
    """
    ends = np.random.default_rng(5).integers(0, 10**9, (60_000, 2))
    text = "".join(f"{u} {v}\n" for u, v in ends.tolist()).encode()
    cut = len(text) // 2 + 3
    (tmp_path / "g").write_bytes(pack(text[:cut]) + pack(text[cut:]) + (b"" if name == "zstd" else b"\0" * 300_000))
    graph = Graph.read(tmp_path / "g")
    assert any(f", {name}" in note for note in graph.notes)
    edges = graph.edges()
    got = np.stack([graph.ids.values[edges.src], graph.ids.values[edges.dst]], axis=1)
    assert sorted(map(tuple, got.tolist())) == sorted(map(tuple, ends.tolist()))


def test_gzip_in_several_members_with_padding(tmp_path: Path) -> None:
    path = tmp_path / "g"
    path.write_bytes(gzip.compress(b"1 2\n2") + gzip.compress(b" 3\n") + b"\0" * 300_000)
    assert listed(path)[0] == PAIR


NOTES = {
    b"# Undirected graph\n# Nodes: 3 Edges: 9\n1 2\n2 1\n": [
        "Text edge list, white space between columns.",
        "Undirected, as line 1 says; both directions of every edge are listed, and one of each is kept.",
        "2 vertices, 1 edge of 2 listed.",
        "No weights: edge fields take their defaults.",
        "Line 2 declares 3 nodes and 9 edges; the file lists 2 vertices and 2 edges.",
    ],
    gzip.compress(b"source,target,w,name\na,b,1,x\n"): [
        "Text edge list with a header, commas between columns, gzip.",
        "Directed, as text edge lists are unless a comment says otherwise.",
        "2 vertices, 1 edge.",
        "Edge column: w (int32).",
        "Not numbers, so left out: column 4 (name).",
        "The ids are texts, because 'a' (line 2) is not an integer.",
    ],
    b"1 2\n" * 200 + b"2 x 3\n".replace(b" 3", b""): [
        "Text edge list, white space between columns.",
        "Directed, as text edge lists are unless a comment says otherwise.",
        "3 vertices, 201 edges.",
        "No weights: edge fields take their defaults.",
        "The ids are texts, because 'x' (line 201) is not an integer.",
    ],
    MATRIX + b"integer skew-symmetric\n2 2 1\n2 1 7\n": [
        "MatrixMarket, integer, skew-symmetric.",
        "Directed, as the matrix is skew-symmetric.",
        "2 vertices, 2 edges.",
        "Edge column: weight (int32).",
        "Each entry of a skew-symmetric matrix gives both directions, the second with the value negated.",
    ],
    b"p sp 1000 1\na 1 2 5\n": [
        "DIMACS, p sp.",
        "Directed, as p sp says.",
        "1,000 vertices, 1 edge.",
        "Edge column: weight (int32).",
    ],
}


@pytest.mark.parametrize("content", NOTES, ids=range(len(NOTES)))
def test_notes_say_what_was_read(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "g"
    path.write_bytes(content)
    assert read_edges(path).notes == NOTES[content]


@pytest.mark.parametrize("members", [1, 3])
def test_repetitions_far_apart_in_gzip(members: int, tmp_path: Path) -> None:
    """Deflate data that refer back up to 32 KiB are read correctly in each member of a gzip file."""
    rng = np.random.default_rng(members)
    ends = np.tile(rng.integers(10_000, 99_999, (2200, 2)), (3, 1))  # the same 26 kB three times
    text = "".join(f"{u} {v}\n" for u, v in ends.tolist()).encode()
    (tmp_path / "g").write_bytes(gzip.compress(text) * members)
    found = read_edges(tmp_path / "g")
    assert len(found.src) == members * len(ends)
    assert np.array_equal(np.asarray(found.ids[found.src[-len(ends) :]]), ends[:, 0])


def test_the_memory_of_reading_ends_with_the_windows() -> None:
    """To read a small text, memory in proportion to the text is needed. For a large text the amount is constant: two
    windows, and the rows of one window.
    """
    sizes = [1 << k for k in range(10, 45)]
    needs = [reading_bytes(2, 3, size) for size in sizes]
    window = IN_MEMORY.window_for(2)
    assert needs == sorted(needs)
    assert len({need for need, size in zip(needs, sizes) if size >= window}) == 1
    assert len({need for need, size in zip(needs, sizes) if size < window}) > 3


@pytest.mark.parametrize("count", [1, 7, 900, 30_000])
def test_the_edges_of_a_text_are_estimated_by_the_length_of_its_lines(count: int, tmp_path: Path) -> None:
    (tmp_path / "g").write_text("".join(f"{1000 + i} {2000 + i}\n" for i in range(count)))
    shape = estimate_text(tmp_path / "g", None, 1)
    assert 0.8 * count <= shape.m <= 1.2 * count
    assert shape.listed == shape.m


def test_what_a_header_declares_is_estimated(tmp_path: Path) -> None:
    for text in ("c x\np sp 70 900\na 1 2 5\n", "%%MatrixMarket matrix coordinate pattern general\n70 70 900\n1 2\n"):
        (tmp_path / "g").write_text(text)
        shape = estimate_text(tmp_path / "g", None, 1)
        assert (shape.n, shape.m, shape.listed) == (70, 900, 900)

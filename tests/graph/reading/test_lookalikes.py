"""Texts that resemble edge lists but are not, and ids and numbers that look the same but differ."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.graph.reading.test_ends import edges, written
from vlang.errors import GraphError
from vlang.runtime.graph.edges.building.space import IN_MEMORY
from vlang.runtime.graph.formats.saving import SUFFIXES
from vlang.runtime.graph.graph import Graph


def read(folder: Path, text: str | bytes, **options: Any) -> Graph:
    return Graph.read(written(folder, "g", text), **options)


METIS = {
    "a ring": "4 4\n2 4\n1 3\n2 4\n1 3\n",
    "lists of different lengths": "4 5\n2 3 4\n1 3\n1 2 4\n1 3\n",
    "one neighbour each": "4 2\n2\n1\n4\n3\n",
    "comments, and a vertex without edges": "% a comment\n4 2\n2 3\n1\n1\n\n",
    "as many fields as the first line": "4 6 0\n2 3 4\n1 3 4\n1 2 4\n1 2 3\n",
    "weights of edges": "3 3 001\n2 1 3 4\n1 1 3 2\n1 4 2 2\n",
    "weights of vertices": "4 4 010\n9 2 4\n9 1 3\n8 2 4\n7 1 3\n",
    "a long ring": "500 500\n2 500\n" + "".join(f"{v - 1} {v % 500 + 1}\n" for v in range(2, 501)),
    "a long ladder": "400 797\n" + "".join(
        " ".join(str(v + d) for d in (-2, -1, 1, 2) if 1 <= v + d <= 400) + "\n" for v in range(1, 401)),
}


@pytest.mark.parametrize("text", METIS.values(), ids=METIS)
def test_metis_is_recognised_or_refused(text: str, tmp_path: Path) -> None:
    """A METIS file that could also be an edge list is read as METIS only if its name ends in .graph."""
    named = Graph.read(written(tmp_path, "x.graph", text))
    counts = next(line for line in text.splitlines() if line[0] != "%").split()
    assert (named.n, named.m, named.directed) == (int(counts[0]), 2 * int(counts[1]), False)
    widths = {len(line.split()) for line in text.splitlines() if line[:1] != "%"}
    if widths == {len(counts)}:
        with pytest.raises(GraphError, match=r"this looks like METIS \(\d+ vertices, \d+ edges, .*which the name"):
            read(tmp_path, text)
    else:
        assert read(tmp_path, text).m == named.m


MATRICES = {
    "values": "4 4 3\n1 2 5\n2 3 6\n3 4 7\n",
    "a comment": "% by hand\n4 4 3\n1 2 0.5\n2 3 6\n3 4 7\n",
    "no values": "4 4 3\n1 2\n2 3\n3 4\n",
    "no values, not square": "4 5 3\n1 2\n2 5\n3 4\n",
    "all corners": "3 4 4\n1 1\n3 4\n1 4\n3 1\n",
    "long": "200 200 300\n" + "".join(f"{i % 200 + 1} {i * 7 % 200 + 1} 1\n" for i in range(300)),
}


@pytest.mark.parametrize("text", MATRICES.values(), ids=MATRICES)
def test_matrix_market_without_its_first_line_is_refused(text: str, tmp_path: Path) -> None:
    kind = "real" if text.splitlines()[-1].count(" ") == 2 else "pattern"
    with pytest.raises(GraphError, match=f"this looks like MatrixMarket without [^$]*coordinate {kind} general"):
        read(tmp_path, text)


def test_a_header_says_that_the_lines_are_edges(tmp_path: Path) -> None:
    graph = read(tmp_path, f"source target\n{METIS['a ring']}")
    assert edges(graph) == [(1, 3), (1, 3), (2, 4), (2, 4), (4, 4)]
    assert graph.warnings == ()
    assert read(tmp_path, f"source target w\n{MATRICES['values']}").m == 4


@pytest.mark.parametrize("text", [
    "4 3\n1 2\n2 3\n3 4\n", "4 3\n0 1\n1 2\n2 3\n", "3 4 2\n1 2 9\n3 4 9\n",
    *(f"4 5 3\n{place} 7\n2 4 7\n3 4 7\n" for place in ("0 1", "1 0", "5 1")),  # indices outside of the matrix
])
def test_counts_are_a_warning(text: str, tmp_path: Path) -> None:
    graph = read(tmp_path, text)
    assert "may be counts" in graph.warnings[0]
    assert graph.m == text.count("\n")


@pytest.mark.parametrize(
    "text",
    ["2 1\n1 2\n2 3\n", "1 2\n2 3\n3 1\n", "4 4\n2 4\n1 3\n2 4\n", "3 3\n1 2\n2 3\n3 1\n", "3 3 2\n1 2 5\n2 4 6\n",
     "1 2\n", "1 2 3\n1 2 3\n", "-4 3\n1 2\n2 3\n3 4\n", "4,4\n2,4\n1,3\n2,4\n1,3\n"],
)  # fmt: skip
def test_lists_of_edges_are_not_suspected(text: str, tmp_path: Path) -> None:
    graph = read(tmp_path, text)
    assert graph.m == text.count("\n")


# ------------------------------------------------------------------ line ends


@pytest.mark.parametrize("packed", [False, True])
def test_lines_that_end_in_cr(packed: bool, tmp_path: Path) -> None:
    for text in (b"# c\r1 2 5\r2 3 6\r3 4 7\r", b"source,target,weight\r1,2,5\r2,3,6\r3,4,7"):
        graph = read(tmp_path, gzip.compress(text) if packed else text)
        assert edges(graph) == [(1, 2), (2, 3), (3, 4)]
        assert graph.adjacency("out").column("weight").tolist() == [5, 6, 7]
    long = b"".join(b"%d %d\r" % (i, i + 1) for i in range(100_000))
    assert (read(tmp_path, long).m, read(tmp_path, long).n) == (100_000, 100_001)
    with pytest.raises(GraphError, match=r"g, line 3: there is more on this line"):
        read(tmp_path, b"1 2\r2 3\r3 4 5\r")


@pytest.mark.parametrize("text", [b"1,2\r2,3\n3,4\n", b"1 2\r2 3\n", b"1 2\n2 3\n3 \r4\n", b'"a\rb" c\n'])
def test_cr_inside_of_a_line_is_refused(text: bytes, tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"line \d: a carriage return inside of a line"):
        read(tmp_path, text)


@pytest.mark.parametrize("packed", [False, True])
def test_cr_inside_of_a_line_is_refused_wherever_it_is(packed: bool, tmp_path: Path) -> None:
    """A CR within a line is refused, even after the first window of text and at the boundaries of the searched pieces.
    """
    for end in (b"\n", b"\r\n"):
        lines = [b"%07d %07d" % (i, i + 1) + end for i in range(700_000)]
        lines[650_000] = b"7 \r8" + end
        text = b"".join(lines)
        assert len(text) > IN_MEMORY.window_for(1)
        with pytest.raises(GraphError, match=r"line 650001: a carriage return inside of a line"):
            read(tmp_path, gzip.compress(text, 1) if packed else text)


def test_lines_that_end_in_two_cr(tmp_path: Path) -> None:
    assert edges(read(tmp_path, b"1 2\r\r\n2 3\r\r\n")) == [(1, 2), (2, 3)]


# ------------------------------------------------------------------ ids and numbers


@pytest.mark.parametrize(("text", "ids"), [
    ("007 7\n7 8\n", ["007", "7", "8"]), ("7 8\n" * 200 + "7 007\n", ["007", "7", "8"]),
    ("0 1\n1 00\n", ["0", "00", "1"]),
    ("+7 7\n", ["+7", "7"]), ("-0 0\n", ["-0", "0"]), ("-07,-7\n", ["-07", "-7"]), ('"007",7\n', ["007", "7"]),
    ("7 000000000000000000000007\n", ["000000000000000000000007", "7"]),
])  # fmt: skip
def test_ids_with_zeros_or_signs_stay_apart(text: str, ids: list[str], tmp_path: Path) -> None:
    graph = read(tmp_path, text)
    assert graph.ids.values.tolist() == ids
    assert any("has a sign or leading zeros" in line for line in graph.notes)
    assert [graph.find(one) for one in ids] == list(range(len(ids)))


def test_zeros_in_front_of_numbers_and_declared_ids(tmp_path: Path) -> None:
    graph = read(tmp_path, "0 1 007\n-1 0 +8\n")
    assert graph.ids.values.tolist() == [-1, 0, 1]
    assert sorted(graph.adjacency("out").column("weight").tolist()) == [7, 8]
    graph = read(tmp_path, "%%MatrixMarket matrix coordinate pattern general\n9 9 1\n01 007\n")
    assert edges(graph) == [(1, 7)]


@pytest.mark.parametrize("text", ["007", "+1", "-0", " 1", "1_0", "\u0661", "1.0", ""])
def test_a_vertex_is_asked_for_as_it_is_printed(text: str) -> None:
    graph = Graph.read("path:12")
    assert graph.find("10") == 10
    with pytest.raises(GraphError, match="is not in the graph"):
        graph.find(text)


@pytest.mark.parametrize("number", ["18446744073709551615", "9223372036854775808", "-9223372036854775809", "1" * 30])
def test_integers_beyond_64_bits_make_a_warning(number: str, tmp_path: Path) -> None:
    graph = read(tmp_path, f"1 2 3\n2 3 {number}\n3 4 {number}\n")
    assert graph.warnings == (f"{tmp_path}/g, line 2: {number} in column 3 is beyond the integers of 64 bits (-2^63 to "
                              "2^63 - 1), so the column is read as floats, which round it",)
    assert read(tmp_path, "1 2 3\n2 3 0.5\n").warnings == ()


# ------------------------------------------------------------------ other texts, and lists that were joined


OTHERS = {
    "DOT": ["digraph g {\n a -> b;\n}\n", "strict graph {\na -- b\nb -- c\n}\n"],
    "Pajek": ["*arcs 7\n1 2\n"],
    "graph6": [">>graph6<<DQc\n", ">>sparse6<<:An 5\n"],
    "a pointer of Git LFS": ["version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"],
    "tuples": ["(1, 2)\n(2, 3)\n", "(1,2),\n(2,3),\n", "('a', 'b', 3)\n", "(1; 2)\n"],
    "edges with arrows": ["1 -> 2\n2 -> 3\n", "a -- b\n", "1 --> 2 5\n", "1 => 2\n", "1 \u2192 2\n", "1 <-> 2\n"],
    "lists of neighbours": ["0: 1 2\n1: 2 0\n", "7: -8\n"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in OTHERS.items() for text in texts])
def test_other_texts_are_refused(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=f"g, line 1: this looks like {name}, not like a list of edges"):
        read(tmp_path, text)


@pytest.mark.parametrize("text", [
    "a:1 b:2\n", "http://a.org http://b.org\n", "(a b)\n", "a - 3\n", "10:00 11:00\n", "source target\n0: 1\n",
    "source target\n-> 2\n", "graph edge\n", "a-->b c\n", "a: b\n", "ns:a, ns:b\n", '"a: b" c\n',
])  # fmt: skip
def test_odd_ids_are_no_other_texts(text: str, tmp_path: Path) -> None:
    assert read(tmp_path, text).m == 1


def test_utf32(tmp_path: Path) -> None:
    for text in ("\ufeff1 2\n".encode("utf-32-le"), "\ufeff1 2\n".encode("utf-32-be")):
        with pytest.raises(GraphError, match=r"g: this is text in UTF-32\n.*iconv -f UTF-32 -t UTF-8"):
            read(tmp_path, text)


@pytest.mark.parametrize("packed", [False, True])
def test_byte_order_marks(packed: bool, tmp_path: Path) -> None:
    """A byte order mark at the start of a file is skipped.

    A mark at the start of another line is refused, since it would become an invisible part of an id.
    """
    mark = b"\xef\xbb\xbf"
    def kept(text: bytes) -> bytes:
        return gzip.compress(text, 1) if packed else text

    assert edges(read(tmp_path, kept(mark + b"1 2\n2 3\n"))) == [(1, 2), (2, 3)]
    assert read(tmp_path, kept(mark + "source,target\n\u5317\uff11,\uff12\ufeff\n".encode())).m == 1
    far = b"1234567 7654321\n" * 600_000
    assert len(far) > IN_MEMORY.window_for(1)
    for text, line in ((mark + b"s,target\na,b\n" + mark + b"a,c\n", 3), (mark + mark + b"1 2\n", 1),
                       (far + mark + b"1 2\n", 600_001)):
        with pytest.raises(GraphError, match=rf"g, line {line}: a byte order mark at the beginning of this line"):
            read(tmp_path, kept(text))


def test_a_second_header_is_refused(tmp_path: Path) -> None:
    far = "".join(f"v{i},w{i}\n" for i in range(9000))
    for text, line in (("source,target\n1,2\nsource,target\n3,4\n", 3), (f"source,target\n{far}source,target\n", 9002),
                       ("# c\nsource,target,name\na,b,c\n\nsource,target,name\na,b,c\n", 5)):
        with pytest.raises(GraphError, match=f"g, line {line}: this is the header once more\n  found:    source,"):
            read(tmp_path, text)
    assert read(tmp_path, "source,target\nsource,a\na,target\ntarget,source\n").m == 3


@pytest.mark.parametrize(("text", "why"), [
    ("source,target,weight,weight\n1,2,5,6\n", "line 1: columns 3 and 4 are all called weight; the first has the"),
    ("Source,Target,Type\n1,2,Undirected\n2,3,Undirected\n", "line 1: the column Type says that edges are undirected"),
    ("0 1 0 1\n1 0 1 0\n0 1 0 1\n1 0 1 0\n", "4 rows of 4 numbers may be a matrix, and each row is read as one edge"),
    ("source,target\nlove,peace\n#sun,#sea\n", "line 3: `#sun,#sea` is a comment, as it begins with #; write such"),
])
def test_what_a_text_may_mean_otherwise(text: str, why: str, tmp_path: Path) -> None:
    (warning,) = read(tmp_path, text).warnings
    assert why in warning


@pytest.mark.parametrize("text", [
    "source,target,Type\n1,2,Undirected\n2,3,Directed\n", "1 2 3 4\n2 3 4 5\n",
    "a,b\n# a remark, with a comma, and one\n", "1,2,3\n2,3,4\n3,4,5\n", "source,target,,\n1,2,,\n",
])
def test_what_is_clear_makes_no_warning(text: str, tmp_path: Path) -> None:
    assert read(tmp_path, text).warnings == ()


@pytest.mark.parametrize("suffix", sorted({*SUFFIXES, ".vg", ".npz"} - {".txt", ".csv", ".tsv", ".e"}))
def test_a_text_under_the_name_of_another_format(suffix: str, tmp_path: Path) -> None:
    """A text whose name ends like another format gives a warning.

    An earlier version read these texts as edges and only printed a note, so that the words of a broken page file became
    vertices.
    """
    clause = f"the name ends in {suffix}, as if the file were "
    (warning,) = Graph.read(written(tmp_path, f"x{suffix}", "not a graph\n")).warnings
    assert warning.startswith(f"{tmp_path}/x{suffix}: {clause}")
    with pytest.raises(GraphError, match=f"only one column; {clause}"):
        Graph.read(written(tmp_path, f"x{suffix}", "garbage\n"))


def test_ids_that_are_all_comments(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="g: the file has no edges: all lines after its header are comments"):
        read(tmp_path, "source,target\n#1,#2\n#3,#4\n")

"""Every kind of fault in a file has an error message, which is compared completely."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from tests.graph.reading import read_edges
from vlang.errors import DiskError, GraphError
from vlang.runtime.graph.edges.building.space import Space
from vlang.runtime.graph.read import source
from vlang.runtime.storage.inputs import spool

MATRIX = b"%%MatrixMarket matrix coordinate "
BANNER = "%%MatrixMarket matrix coordinate pattern|integer|real general|symmetric|skew-symmetric"
PROBLEM = "p sp VERTICES ARCS, or p edge VERTICES EDGES"
MISSING = (
    'a number; or --missing drop (missing="drop") to leave such rows out, --missing 1 (missing=1) to put a number there'
)
PACKED = gzip.compress(b"1 2\n" * 10)
ZSTD = bytes(pyarrow.compress(b"1 2\n" * 10, "zstd", asbytes=True))

MESSAGES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "g: the file is empty\n  expected: a list of edges"),
    "empty gzip": (gzip.compress(b""), "g: the file is empty\n  expected: a list of edges"),
    "comments only": (b"# x\n\n", "g: the file has no edges: all its lines are comments or empty"),
    "header only": (b"source,target\n", "g: the file has no edges: nothing follows its header"),
    "one column": (
        b"1\n2\n",
        "g, line 1: there is only one column\n  found:    1\n"
        "  expected: two vertices on a line, between them white space, a comma or a semicolon",
    ),
    "missing column": (
        b"# c\n1 2 3\n4 5\n",
        "g, line 3: a column is missing\n  found:    4 5\n  expected: 3 columns, as on line 2",
    ),
    "missing column under a header": (
        b"source,target,w\n1,2,3\n4,5\n",
        "g, line 3: a column is missing\n  found:    4,5\n  expected: 3 columns (source, target, w), as on line 1",
    ),
    "extra text": (
        b"1 2\n4 5 # why\n",
        "g, line 2: there is more on this line than there should be\n  found:    4 5 # why\n"
        "  expected: 2 columns, as on line 1",
    ),
    "long line": (
        b"1 2\n4 5 " + b"x" * 100 + b"\n",
        f"g, line 2: there is more on this line than there should be\n  found:    4 5 {'x' * 68}...\n"
        "  expected: 2 columns, as on line 1",
    ),
    "empty weight": (
        b"1,2,3\n4,5,\n",
        f"g, line 2: column 3 is empty\n  found:    4,5,\n  expected: {MISSING}",
    ),
    "empty id": (
        b"1,2\n,5\n",
        "g, line 2: column 1 is empty\n  found:    ,5\n  expected: a value in each of 2 columns, as on line 1",
    ),
    "no number": (
        b"1 2 3\n4 5 x\n",
        "g, line 2: 'x' in column 3 is not a number\n  found:    4 5 x\n  expected: a number, such as 5 or 1.5",
    ),
    "no number in Python's style": (
        b"1 2 3\n4 5 1_0\n",
        "g, line 2: '1_0' in column 3 is not a number\n  found:    4 5 1_0\n"
        "  expected: a number, such as 5 or 1.5",
    ),
    "the first of two": (
        b"1 2 3\n4 5 x\n6\n",
        "g, line 2: 'x' in column 3 is not a number\n  found:    4 5 x\n  expected: a number, such as 5 or 1.5",
    ),
    "nan": (
        b"1 2 3\n4 5 NaN\n",
        f"g, line 2: column 3 has no number, only 'NaN'\n  found:    4 5 NaN\n  expected: {MISSING}",
    ),
    "too large": (
        b"1 2 3\n4 5 1e999\n",
        "g, line 2: 1e999 in column 3 is too large\n  found:    4 5 1e999\n"
        "  expected: a number that fits a 64-bit float",
    ),
    "id beyond 64 bits": (
        b"1 2\n3 18446744073709551616\n",
        "g, line 2: the id 18446744073709551616 does not fit 64 bits\n  found:    3 18446744073709551616\n"
        "  expected: integers from -2^63 to 2^64 - 1",
    ),
    "negative id beyond 64 bits": (
        b"1 2\n3 -9223372036854775809\n",
        "g, line 2: the id -9223372036854775809 does not fit 64 bits\n  found:    3 -9223372036854775809\n"
        "  expected: integers from -2^63 to 2^64 - 1",
    ),
    "negative and large ids": (
        b"1 2\n-1 4\n3 9223372036854775808\n",
        "g, line 3: the id 9223372036854775808: the file has negative ids and ids above 2^63 - 1\n"
        "  found:    3 9223372036854775808\n"
        "  expected: ids that fit one integer type: -2^63 to 2^63 - 1, or 0 to 2^64 - 1",
    ),
    "nul byte at the beginning": (
        b"1 2\n3 \x004\n",
        "g, line 2: a NUL byte; this is a binary file, not text\n  expected: a text of edges",
    ),
    "nul byte later": (
        b"1 2\n" * 2000 + b"3 \x004\n",
        "g, line 2001: a NUL byte; this is not a file of text\n  found:    3 \\x004\n"
        "  expected: 2 columns, as on line 1",
    ),
    "nul byte in a comment": (
        b"1 2\n" * 2000 + b"# \x00\n",
        "g, line 2001: a NUL byte; this is not a file of text\n  found:    # \\x00\n"
        "  expected: 2 columns, as on line 1",
    ),
    "binary": (
        b"\x01\x02\x03\n",
        "g, line 1: a byte 0x01; this is a binary file, not text\n  expected: a text of edges",
    ),
    "zip": (b"PK\x03\x04...", "g: this is a zip archive\n  expected: text; unpack it first (unzip)"),
    "bz2": (b"BZh91AY", "g: the bzip2 data end too early: the file is truncated"),
    "truncated bz2": (
        bz2.compress(b"1 2\n" * 10)[:-4],
        "g, line 11: the bzip2 data end too early: the file is truncated",
    ),
    "damaged bz2": (b"BZh9" + b"hello" * 9, "g: the bzip2 data are damaged (invalid data stream)"),
    "xz": (b"\xfd7zXZ\x00", "g: the xz data end too early: the file is truncated"),
    "damaged xz": (lzma.compress(b"1 2\n")[:-9] + b"hello" * 9, "g: the xz data are damaged (corrupt input data)"),
    "zstd": (ZSTD[:-3], "g: the zstd data end too early: the file is truncated"),
    "damaged zstd": (ZSTD[:5] + b"hello" * 9, "g: the zstd data are damaged"),
    "bz2 in xz": (
        lzma.compress(bz2.compress(b"1 2\n")),
        "g: this is compressed with bzip2 inside xz\n"
        "  expected: text; unpack it first (bunzip2)",
    ),
    "zip in gzip": (
        gzip.compress(b"PK\x03\x04..."),
        "g: this is a zip archive inside gzip\n  expected: text; unpack it first (unzip)",
    ),
    "parquet": (b"PAR1....", "g: this is a Parquet file\n  expected: a text of edges"),
    "utf-16": (
        "1 2\n3 4\n".encode("utf-16"),
        "g: this is text in UTF-16\n  expected: UTF-8; convert it: iconv -f UTF-16 -t UTF-8",
    ),
    "utf-16 without a mark": (
        "1 2\n3 4\n".encode("utf-16-be"),
        "g: this is text in UTF-16\n  expected: UTF-8; convert it: iconv -f UTF-16 -t UTF-8",
    ),
    "not utf-8": (
        b"ok b\n\xff c\n",
        "g, line 2: the id \\xff is not UTF-8\n  expected: text in UTF-8; convert the file, say with iconv",
    ),
    "open quote": (
        b'a,b\n"c,d\n',
        'g, line 2: a quoted field does not end as it should\n  found:    "c,d\n'
        "  expected: a closing quote, then the next column, on the same line",
    ),
    "text after a quote": (
        b'a,b\n"c"d,e\n',
        'g, line 2: a quoted field does not end as it should\n  found:    "c"d,e\n'
        "  expected: a closing quote, then the next column, on the same line",
    ),
    "truncated gzip": (PACKED[:-4], "g, line 11: the gzip data end too early: the file is truncated"),
    "truncated gzip header": (PACKED[:5], "g: the gzip data end too early: the file is truncated"),
    "gzip with a wrong checksum": (
        PACKED[:-8] + b"\1\2\3\4" + PACKED[-4:],
        "g: the gzip data are damaged (incorrect data check)",
    ),
    "gzip and more": (PACKED + b"hello", "g, line 11: other bytes follow the gzip data"),
    "xml": (
        b'<?xml version="1.0"?>\n<graphml/>\n',
        'g, line 1: this looks like XML, not like a list of edges\n  found:    <?xml version="1.0"?>\n'
        "  expected: lines of two vertices each, MatrixMarket, or DIMACS (.gr)",
    ),
    "json": (
        b'{"nodes": []}\n',
        'g, line 1: this looks like JSON, not like a list of edges\n  found:    {"nodes": []}\n'
        '  expected: one object on each line (JSON lines), such as {"source": 1, "target": 2}',
    ),
    "matrix: short banner": (
        MATRIX + b"real\n1 1 0\n",
        f"g, line 1: a wrong header\n  found:    %%MatrixMarket matrix coordinate real\n  expected: {BANNER}",
    ),
    "matrix: array": (
        b"%%MatrixMarket matrix array real general\n1 1\n1\n",
        "g, line 1: a matrix in 'array' format lists all its values and has no edges\n"
        f"  found:    %%MatrixMarket matrix array real general\n  expected: {BANNER}",
    ),
    "matrix: hermitian": (
        MATRIX + b"complex hermitian\n1 1 0\n",
        "g, line 1: complex values cannot be weights\n"
        f"  found:    %%MatrixMarket matrix coordinate complex hermitian\n  expected: {BANNER}",
    ),
    "matrix: unknown symmetry": (
        MATRIX + b"real upper\n1 1 0\n",
        "g, line 1: the symmetry 'upper' is unknown\n"
        f"  found:    %%MatrixMarket matrix coordinate real upper\n  expected: {BANNER}",
    ),
    "matrix: no size": (
        MATRIX + b"real general\n%\n",
        "g: the size line is missing\n  expected: a line: rows columns entries",
    ),
    "matrix: wrong size": (
        MATRIX + b"real general\n%\n3 3\n",
        "g, line 3: a wrong size line\n  found:    3 3\n  expected: three integers: rows columns entries",
    ),
    "matrix: not square": (
        MATRIX + b"real general\n3 4 1\n1 1 1\n",
        "g, line 2: the matrix is not square\n  found:    3 4 1\n"
        "  expected: as many rows as columns: row i and column i are the same vertex",
    ),
    "matrix: too large": (
        MATRIX + b"real general\n9999999999 9999999999 0\n",
        "g, line 2: too many vertices\n  found:    9999999999 9999999999 0\n  expected: at most 4,294,967,294 rows",
    ),
    "matrix: too few": (
        MATRIX + b"real general\n3 3 2\n1 1 1\n",
        "g, line 2: 1 entry in the file\n  found:    3 3 2\n  expected: 2 entries, as this line declares",
    ),
    "matrix: too many": (
        MATRIX + b"pattern general\n3 3 1\n1 1\n1 2\n",
        "g, line 2: 2 entries in the file\n  found:    3 3 1\n  expected: 1 entry, as this line declares",
    ),
    "matrix: out of range": (
        MATRIX + b"pattern general\n3 3 1\n1 4\n",
        "g, line 3: vertex 4 is out of range\n  found:    1 4\n  expected: an integer from 1 to 3",
    ),
    "matrix: counted from 0": (
        MATRIX + b"pattern general\n3 3 1\n0 1\n",
        "g, line 3: vertex 0 is out of range\n  found:    0 1\n  expected: an integer from 1 to 3",
    ),
    "matrix: no vertex": (
        MATRIX + b"pattern general\n3 3 1\na 1\n",
        "g, line 3: 'a' is not a vertex number\n  found:    a 1\n  expected: an integer from 1 to 3",
    ),
    "matrix: no value": (
        MATRIX + b"real general\n3 3 1\n1 2\n",
        "g, line 3: a column is missing\n  found:    1 2\n  expected: row column value (real, as line 1 says)",
    ),
    "dimacs: wrong problem": (
        b"c\np sp 3\n",
        f"g, line 2: a wrong problem line\n  found:    p sp 3\n  expected: {PROBLEM}",
    ),
    "dimacs: another problem": (
        b"p max 3 1\nn 1 s\n",
        "g, line 1: the DIMACS problem 'max' is not a graph of weighted or plain edges\n"
        f"  found:    p max 3 1\n  expected: {PROBLEM}",
    ),
    "dimacs: too few": (
        b"p sp 3 2\na 1 2 5\n",
        "g, line 1: 1 edge in the file\n  found:    p sp 3 2\n  expected: 2 edges, as this line declares",
    ),
    "dimacs: another line": (
        b"p sp 3 1\nb 1 2 5\n",
        "g, line 2: the line does not begin with 'a'\n  found:    b 1 2 5\n"
        "  expected: a source target weight, or a comment: c ...",
    ),
    "dimacs: no weight": (
        b"p sp 3 1\na 1 2\n",
        "g, line 2: a column is missing\n  found:    a 1 2\n  expected: a source target weight",
    ),
    "dimacs: out of range": (
        b"p sp 3 1\na 1 4 5\n",
        "g, line 2: vertex 4 is out of range\n  found:    a 1 4 5\n  expected: an integer from 1 to 3",
    ),
    "dimacs: no problem line": (
        b"c x\na 1 2 3\na 2 3 4\n",
        "g, line 2: this looks like DIMACS without its problem line\n  found:    a 1 2 3\n"
        "  expected: p sp VERTICES EDGES before the first edge",
    ),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def message(error: type[Exception], path: str, **options: Any) -> str:
    with pytest.raises(error) as caught:
        read_edges(path, threads=2, **options)
    return str(caught.value)


@pytest.mark.parametrize("name", MESSAGES)
def test_wrong_content(name: str, here: Path) -> None:
    content, expected = MESSAGES[name]
    (here / "g").write_bytes(content)
    assert message(GraphError, "g") == expected


def test_messages_do_not_depend_on_windows(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With windows and chunks of a few lines, the messages and line numbers are the same, even after many good lines.
    """
    many = b"1 2\n" * 400
    late = {
        "return": (many + b"3 4\r5 6\n7 8\n", "g, line 401: "),
        "mark": (many + b"\xef\xbb\xbf3 4\n7 8\n", "g, line 401: "),
        "column": (many + b"3\n7 8\n", "g, line 401: a column is missing"),
        "nul": (many + b"3 \x00\n7 8\n", "g, line 401: "),
    }
    monkeypatch.setattr(source, "_PIECE", 100)
    for window in (1 << 23, 256):
        monkeypatch.setattr(Space, "window", window)
        monkeypatch.setattr(Space, "chunk", min(64, window))
        monkeypatch.setattr(Space, "window_for", lambda self, threads: self.window)
        for name, (content, expected) in {**MESSAGES, **late}.items():
            (here / "g").write_bytes(content)
            found = message(GraphError, "g")
            assert found.startswith(expected) if name in late else found == expected, (name, window)


def test_the_first_wrong_line_is_named_whatever_the_thread(here: Path) -> None:
    lines = [b"%d %d" % (i % 977, i % 313) for i in range(300_000)]
    for wrong in (299_999, 200_000, 123_456):
        lines[wrong] = b"5"
        (here / "g").write_bytes(b"\n".join(lines))
        assert message(GraphError, "g").startswith(f"g, line {wrong + 1}: a column is missing")


def test_signs_are_compared_across_chunks(here: Path) -> None:
    content = b"-1 2\n" + b"3 4\n" * 300_000 + b"18446744073709551615 1\n"
    (here / "g").write_bytes(content)
    assert message(GraphError, "g").startswith("g, line 300002: the id 18446744073709551615")


def test_columns_that_cannot_be_weights(here: Path) -> None:
    (here / "g").write_text("source,target,w,name\n1,2,3,x\n")
    assert message(GraphError, "g", weights="cost") == (
        "g: the column 'cost' to take as weight is not there\n  expected: one of: 3 (w)"
    )
    assert message(GraphError, "g", weights="4") == (
        "g, line 2: 'x' in column 4 (name) is not a number\n  found:    1,2,3,x\n  expected: a number, such as 5 or 1.5"
    )
    assert message(GraphError, "g", weights="source") == (
        "g: the column 'source' to take as weight holds vertices\n  expected: one of: 3 (w)"
    )
    (here / "g").write_text("1 2\n")
    assert message(GraphError, "g", weights="3") == (
        "g: the column '3' to take as weight is not there\n"
        "  expected: no weights: no column but the vertices holds numbers"
    )


def test_files_that_cannot_be_opened(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "wiki-Vote.txt").write_text("1 2\n")
    (here / "folder").mkdir()
    assert message(DiskError, "wiki-vote.txt") == (
        "wiki-vote.txt: there is no such file; did you mean wiki-Vote.txt?"
    )
    assert message(DiskError, "zzz") == "zzz: there is no such file"
    os.mkfifo(here / "pipe")
    assert message(DiskError, "pipe") == "pipe: this is a pipe; a file of edges is needed"
    assert message(DiskError, "no/where") == "no/where: there is no such file; nor is there a directory no"
    assert message(DiskError, "folder") == "folder: this is a directory; a file of edges is needed"
    monkeypatch.setattr(spool, "MOST_ENTRIES", 2)
    for name in "ab":
        (here / "folder" / name).write_text("1 2\n")
    assert read_edges("folder").src.size == 2
    (here / "folder" / "c").mkdir()
    assert message(DiskError, "folder") == (
        "folder: this folder has more than 2 files and folders; name the folder or a glob of the files of one graph"
    )
    assert message(DiskError, "/dev/null") == (
        "/dev/null: this is a device; a file of edges is needed"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(here: Path) -> None:
    (here / "g").write_text("1 2\n")
    (here / "g").chmod(0)
    assert message(DiskError, "g") == "g: no permission to read this file"

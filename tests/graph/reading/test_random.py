"""Random edge lists are written in random styles, cut into tiny chunks, and compared with a parser in plain Python."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.reading import read_edges
from vlang.runtime.graph.edges.building.space import Space
from vlang.runtime.graph.read import chunk
from vlang.runtime.graph.read.layout import Field, Layout, Role
from vlang.runtime.graph.read.source import READ_AHEAD

SMALL = st.integers(0, 30)
IDS = {
    "small": SMALL,
    "sparse": st.integers(0, 2**32 - 1),
    "negative": st.integers(-50, 50),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "mostly small": st.one_of(SMALL, SMALL, SMALL, st.integers(2**32, 2**40)),
}
WORD = st.text(st.sampled_from('abcXYZ019_.-:@é漢😀'), min_size=1, max_size=6).map("x".__add__)
PHRASE = st.text(st.sampled_from('ab ,;"é#%'), min_size=1, max_size=8).map(lambda s: f"x{s}x")
WEIGHT = st.one_of(
    st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False), st.floats(0, 1), st.decimals(allow_nan=False, allow_infinity=False, places=3),
)  # fmt: skip


@dataclass(frozen=True)
class Style:
    """The style in which an edge list is written.

    Attributes:
        separator: the text between columns.
        line_end: the characters after each line.
        last_end: whether the last line ends with `line_end`.
        mark: whether the file begins with a byte order mark.
        packed: whether the file is compressed by gzip.
        header: whether the first line names the columns.
        noise: comments and blank lines between the lines.
        threads: the number of threads that read.
    """

    separator: str
    line_end: str
    last_end: bool
    mark: bool
    packed: bool
    header: bool
    noise: list[str]
    threads: int


STYLE = st.builds(
    Style,
    separator=st.sampled_from([" ", "\t", "  \t ", ",", ", ", ";", " ; "]),
    line_end=st.sampled_from(["\n", "\r\n", " \n", "\n\n"]),
    last_end=st.booleans(),
    mark=st.booleans(),
    packed=st.booleans(),
    header=st.booleans(),
    noise=st.lists(st.sampled_from(["", "# comment, 1 2", "% 3 4", "//", "   "]), min_size=3, max_size=3),
    threads=st.integers(1, 3),
)


@pytest.fixture(autouse=True)
def tiny_chunks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set windows of a few lines, so that every kind of boundary occurs."""
    with monkeypatch.context() as patch:
        patch.setattr(Space, "chunk", 48)
        patch.setattr(Space, "window", 640)
        yield


def write(rows: list[list[str]], style: Style, path: Path) -> None:
    lines = [style.separator.join(row) for row in rows]
    if style.header:
        lines.insert(0, style.separator.join(["source", "target", "w"][: len(rows[0])]))
    for place, line in enumerate(style.noise):
        lines.insert(place * len(lines) // 2, line)
    text = style.line_end.join(lines) + (style.line_end if style.last_end else "")
    content = text.encode("utf-8-sig" if style.mark else "utf-8")
    path.write_bytes(gzip.compress(content) if style.packed else content)


def check(edges: list[tuple[Any, Any]], columns: list[list[float]], names: list[str], style: Style,
          path: Path) -> None:  # fmt: skip
    """Check that a graph read from the file has these edges in order, sorted ids, and numbers with the same bits.

    Args:
        edges: both ends of each edge.
        columns: the values of each edge.
        names: the names of the columns.
        style: the style of the file.
        path: the path to which the file is written.
    """
    read = read_edges(path, threads=style.threads)
    ids = read.ids.values.tolist()
    assert ids == sorted({end for edge in edges for end in edge})  # all are int, or all are str
    assert [(ids[u], ids[v]) for u, v in zip(read.src.tolist(), read.dst.tolist())] == edges
    assert list(read.columns) == names
    for column, expected in zip(read.columns.values(), columns):
        whole = all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in expected)
        assert column.dtype.kind == ("i" if whole else "f")
        if not whole:
            rounded = np.array([float(value) for value in expected])
            np.testing.assert_array_equal(column.view(np.uint64), rounded.view(np.uint64))
        else:
            assert column.tolist() == expected


@pytest.mark.parametrize("kind", IDS)
@given(data=st.data(), style=STYLE)
def test_integer_ids(kind: str, data: st.DataObject, style: Style) -> None:
    edges = data.draw(st.lists(st.tuples(IDS[kind], IDS[kind]), min_size=1, max_size=60))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "g"
        write([[str(u), str(v)] for u, v in edges], style, path)
        check(list(edges), [], [], style, path)


@given(edges=st.lists(st.tuples(WORD, WORD, WEIGHT), min_size=1, max_size=40), style=STYLE)
def test_words_and_numbers(edges: list[tuple[str, str, object]], style: Style) -> None:
    rows = [[u, v, str(w)] for u, v, w in edges]
    numbers = [int(w) if w.lstrip("-").isdigit() else float(w) for _, _, w in rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "g"
        write(rows, style, path)
        check([(u, v) for u, v, _ in edges], [numbers], ["w" if style.header else "weight"], style, path)


@given(edges=st.lists(st.tuples(PHRASE, PHRASE), min_size=1, max_size=30), style=STYLE)
def test_quoted_texts(edges: list[tuple[str, str]], style: Style) -> None:
    rows = [['"' + end.replace('"', '""') + '"' for end in edge] for edge in edges]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "g"
        write(rows, style, path)
        check(list(edges), [], [], style, path)


def numbers_of(tokens: list[str]) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], int]:
    """Return the numbers parsed from tokens, and the number of tokens that the kernel left to Python."""
    lines = "".join(f"1 2 {token}\n" for token in tokens).encode()
    text = np.frombuffer(lines + bytes(READ_AHEAD), dtype=np.uint8)
    fields = (Field("", Role.SOURCE), Field("", Role.TARGET), Field("w", Role.FLOAT))
    scratch = chunk.Scratch()
    read = chunk.read_chunk(text, 0, len(lines), Layout(fields, start=0, line=1, shape=""), scratch)
    assert read.fault is None
    return read.columns[0].astype(np.float64), int(scratch.result[4])


def test_floats_are_rounded_correctly() -> None:
    """Floats with random digits and exponents, halfway cases and the ends of the range have the same bits as in
    Python's float().
    """
    seed = 20261120
    print("seed", seed)
    rng = np.random.default_rng(seed)
    doubles = rng.integers(0, 2**63, 20_000).view(np.float64)
    doubles = doubles[np.isfinite(doubles)]
    tokens = [repr(d) for d in doubles.tolist()]
    tokens += [f"{d:.17e}" for d in doubles.tolist()]
    tokens += [repr(d) for d in rng.random(20_000).tolist()]
    for digits in range(1, 24):
        for _ in range(200):
            whole = "".join(map(str, rng.integers(0, 10, digits)))
            point = int(rng.integers(0, digits + 1))
            tokens.append(f"{whole[:point]}.{whole[point:]}e{rng.integers(-345 - digits, 309 - digits)}")
            tokens.append(f"-{whole}")
    # Halfway between two doubles: 2^53 + an odd number, scaled by powers of two and of ten.
    for k in range(1, 200, 2):
        tokens += [str((2**53 + k) << shift) for shift in range(8)] + [f"{2**53 + k}e{e}" for e in (-3, -1, 1, 22, 23)]
    tokens += ["0", "-0", "0.0", "-0e5", "5e-324", "2.4e-324", "1.7976931348623157e308", "2.2250738585072011e-308",
               "0" * 40 + "1", "0." + "0" * 40 + "1", "1" + "0" * 30, ".5", "5.", "+5", "1E+5", "1e-400"]  # fmt: skip
    found, _ = numbers_of(tokens)
    expected = np.array([float(token) for token in tokens])
    wrong = np.flatnonzero(found.view(np.uint64) != expected.view(np.uint64))
    assert [(tokens[i], found[i]) for i in wrong[:5]] == []


def test_few_floats_are_left_to_python() -> None:
    rng = np.random.default_rng(7)
    tokens = [repr(x) for x in (rng.standard_normal(20_000) * 10.0 ** rng.integers(-30, 30, 20_000)).tolist()]
    # Numbers of 17 digits that are doubles without rounding, such as 1395194260238731.5.
    assert numbers_of(tokens)[1] < len(tokens) // 100


def test_integers_of_every_length() -> None:
    """Integers of up to 18 digits, which the small kernel reads, and longer integers are right, with any separator and
    with leading zeros.
    """
    rng = np.random.default_rng(20261121)
    tokens = [f"{rng.integers(10 ** (digits - 1), 10**digits)}" for digits in range(1, 19) for _ in range(20)]
    tokens += ["0", "00000000", "000000001", "0" * 10 + "12345678", "9" * 8, "9" * 16, "9" * 18, str(2**63 - 1)]
    fields = (Field("", Role.SOURCE), Field("", Role.TARGET), Field("w", Role.INTEGER))
    styles = [(" ", "\n", b"5" * READ_AHEAD), (",", "\r\n", b"\xff" * READ_AHEAD)]
    for (separator, line_end, after), written in product(styles, (tokens[:-1], tokens)):
        ids = [str(int(token)) for token in written]  # with leading zeros they would be texts
        rows = zip(ids, ids[::-1], written)
        lines = "".join(f"{a}{separator}{b}{separator}{c}{line_end}" for a, b, c in rows).encode()
        layout = Layout(fields, start=0, line=1, shape="", delimiter=ord(separator) if separator == "," else 0)
        read = chunk.read_chunk(np.frombuffer(lines + after, dtype=np.uint8), 0, len(lines), layout, chunk.Scratch())
        values = [int(token) for token in written]
        assert (read.fault, read.rows, read.lines) == (None, len(values), len(values))
        assert read.ends.source.tolist() == read.columns[0].tolist() == values
        assert read.ends.target.tolist() == values[::-1]
        assert (read.ends.smallest, read.ends.largest) == (0, max(values))

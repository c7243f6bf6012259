"""Reads the beginning of a file and detects its encoding and its format."""

from __future__ import annotations

import itertools
import re
from enum import Enum

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.text_errors import problem

__all__ = ["SAMPLE", "Format", "Head", "Line", "read_head"]

SAMPLE = 100
"""The maximum number of lines of data in a `Head`."""

_BOM = b"\xef\xbb\xbf"
_FIRST = 1 << 18
_MOST = 1 << 23

_PACKED = (
    (b"PK\x03\x04", "a zip archive", "unzip"),
    (b"BZh", "compressed with bzip2", "bunzip2"),
    (b"\xfd7zXZ\x00", "compressed with xz", "unxz"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "unzstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x"),
)
_BINARY = ((b"PAR1", "a Parquet file"), (b"\x89HDF", "an HDF5 file"), (b"\x93NUMPY", "a NumPy array (.npy)"),
           (b"%PDF", "a PDF"), (b"\x7fELF", "a program"))  # fmt: skip
_UTF32 = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_PROBLEM = re.compile(r"p\s+(sp|edges?|col|max|min|asn|aux|cnf)\b")
_ANY_PROBLEM = re.compile(r"p\s+\S+\s+\d+\s+\d+\s*")
_FORMATS = "lines of two vertices each, MatrixMarket, or DIMACS (.gr)"
_EDGES = "two vertices on each line, between them white space, a comma or a semicolon"
_OTHER_TEXT = (
    ("XML", re.compile(r"<(\?xml|!doctype|html|graphml|gexf)\b", re.IGNORECASE), _FORMATS),
    ("JSON", re.compile(r"[{\[]"), 'one object on each line (JSON lines), such as {"source": 1, "target": 2}'),
    ("DOT", re.compile(r"(strict\s+)?(di)?graph\b[^{]*\{", re.IGNORECASE), _FORMATS),
    ("Pajek", re.compile(r"\*(arcs|edges)\b", re.IGNORECASE), "*Vertices COUNT first"),
    ("graph6", re.compile(r">>(graph|sparse|digraph)6<<"), _FORMATS),
    ("a pointer of Git LFS", re.compile(r"version https://git-lfs\.github\.com/spec/"),
     "the file itself: git lfs pull"),
    ("tuples", re.compile(r"\(\s*[^\s,;()]+\s*[,;]\s*[^,;()]+([,;][^()]*)?\)\s*[,;]?$"),
     f"{_EDGES}, without brackets"),
    ("edges with arrows", re.compile(r"\S+\s+(-+>|=+>|--+|<-+>?|\u2192)\s+\S"), _EDGES),
    ("lists of neighbours", re.compile(r"-?\d+:\s+-?\d+(\s|$)"), _EDGES),
)
_BARE_ARC = re.compile(r"\s*[ae]\s+\d+\s+\d+(\s+\S+)?\s*")


class Format(Enum):
    """The text formats, which are distinguished by content."""

    EDGE_TEXT = "text edge list"
    MATRIX_MARKET = "MatrixMarket"
    DIMACS = "DIMACS"


@dataclass(frozen=True)
class Line:
    """A line of a text file.

    Attributes:
        number: the line number, from 1.
        start: the offset of its first byte.
        end: the offset of the byte after the line end.
        text: the line without spaces at its ends.
    """

    number: int
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Head:
    """The first lines of a file: comments and lines of data. `data` is empty if the file has no lines of data."""

    format: Format
    comments: tuple[Line, ...]
    data: tuple[Line, ...]


def read_head(file: TextFile) -> Head:
    """Read the beginning of a file. Raises GraphError unless the file is text in a known format."""
    text, whole = file.head(_FIRST)
    _refuse_binary(file, text)
    head = _split(text, whole)
    if not head.data and not whole:
        text, whole = file.head(_MOST)
        head = _split(text, whole)
        if not head.data and not whole:
            raise problem(file.path, f"the first {_MOST:,} bytes hold no edge")
    _refuse_other_text(file, head)
    return head


def _refuse_binary(file: TextFile, text: bytes) -> None:
    if not text:
        raise problem(file.path, "the file is empty", expected="a list of edges")
    inside = f" inside {file.packing.name}" if file.packing else ""
    for magic, name, tool in _PACKED:
        if text.startswith(magic):
            raise problem(file.path, f"this is {name}{inside}", expected=f"text; unpack it first ({tool})")
    if text.startswith(_UTF32):
        raise problem(file.path, "this is text in UTF-32", expected="UTF-8; convert it: iconv -f UTF-32 -t UTF-8")
    if text.startswith(_UTF16) or _every_other_zero(text):
        raise problem(file.path, "this is text in UTF-16", expected="UTF-8; convert it: iconv -f UTF-16 -t UTF-8")
    for magic, name in _BINARY:
        if text.startswith(magic):
            raise problem(file.path, f"this is {name}{inside}", expected="a text of edges")
    for at, byte in enumerate(text[:4096]):
        if byte == 127 or (byte < 32 and byte not in b"\t\n\v\f\r\x1b"):
            if file.path.suffix.lower() == ".vg":
                raise GraphError(f"{file.path}: no page file: its first bytes are damaged, or it is a file of another "
                                 "kind; convert the graph again")
            line = 1 + text.count(b"\n", 0, at)
            what = f"a {'NUL byte' if byte == 0 else f'byte 0x{byte:02x}'}; this is a binary file, not text"
            raise problem(file.path, what, line=line, expected="a text of edges")


def _every_other_zero(text: bytes) -> bool:
    """Whether a text looks like UTF-16 without a byte order mark: ASCII with a zero byte before or after each byte."""
    head = text[:64]
    return len(head) >= 4 and any(not any(head[i::2]) and all(head[1 - i :: 2]) for i in (0, 1))


def _format(lines: list[str]) -> Format:
    if lines and lines[0].lower().startswith("%%matrixmarket"):
        return Format.MATRIX_MARKET
    commented = False
    for line in lines:
        if line.startswith("c"):
            commented = True
        elif line and not line.startswith(("#", "%")):
            found = _PROBLEM.match(line) or (commented and _ANY_PROBLEM.fullmatch(line))
            return Format.DIMACS if found else Format.EDGE_TEXT
    return Format.EDGE_TEXT


def _split(text: bytes, whole: bool) -> Head:
    """Split the beginning of a file into comments and the first lines of data."""
    start = len(_BOM) if text.startswith(_BOM) else 0
    raw = text[start:].split(b"\n")
    if not whole:
        raw.pop()
    # Tabs at the ends are kept: if tabs separate columns, the first or the last column may be empty.
    lines = [line.decode("utf-8", errors="replace").strip(" \r\v\f") for line in raw]
    kind = _format([line.strip() for line in lines])
    marks = ("#", "%", "//", "c") if kind == Format.DIMACS else ("#", "%", "//")
    comments: list[Line] = []
    data: list[Line] = []
    for number, (line, text_of) in enumerate(zip(raw, lines), 1):
        end = start + len(line) + 1
        if text_of.strip() and len(data) < SAMPLE:
            kept = comments if text_of.lstrip().startswith(marks) else data
            kept.append(Line(number, start, end, text_of))
        start = end
    return Head(kind, tuple(comments), tuple(data))


def _refuse_other_text(file: TextFile, head: Head) -> None:
    if not head.data or head.format != Format.EDGE_TEXT:
        return
    first = head.data[0]
    for name, pattern, expected in _OTHER_TEXT:
        if pattern.match(first.text.lstrip()):
            raise problem(
                file.path, f"this looks like {name}, not like a list of edges", line=first.number, found=first.text,
                expected=expected,
            )  # fmt: skip
    arcs = [*itertools.dropwhile(lambda line: line.text.startswith("c"), head.data)]
    if arcs and all(_BARE_ARC.fullmatch(line.text) for line in arcs):
        kind = "sp" if arcs[0].text.lstrip()[0] == "a" else "edge"
        raise problem(
            file.path, "this looks like DIMACS without its problem line", line=arcs[0].number, found=arcs[0].text,
            expected=f"p {kind} VERTICES EDGES before the first edge",
        )  # fmt: skip

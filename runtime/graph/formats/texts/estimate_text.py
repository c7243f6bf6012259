"""Estimates the shape of a graph in a text file from the size of the file and a sample of its lines."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.formats.texts.text_table import TEXTS
from vlang.runtime.graph.packed_text import Packing
from vlang.runtime.graph.read.head import Format, read_head
from vlang.runtime.graph.read.layout import cut_line
from vlang.runtime.graph.read.scan import reading_bytes
from vlang.runtime.graph.read.source import TextFile

__all__ = ["estimate_text"]

_SAMPLE = 1 << 16  # bytes read at each sampled position
_PLACES = 4  # sampled positions in addition to the beginning of the file
_LIST = re.compile(r"[\s,;]+")


def estimate_text(path: Path, directed: bool | None, threads: int) -> Shape:
    """Estimate the edges of a text from the mean length of sampled lines, and the vertices from the ids in these lines.

    Args:
        path: the file.
        directed: see `Graph.read`.
        threads: how many threads will read the file.

    Raises:
        GraphError, DiskError: for the same files as the reader.
    """
    file = TextFile(path)
    head = read_head(file)
    begin = head.data[0].start if head.data else 0
    size = _unpacked(path, file.size, file.packing) if file.packing else file.size
    lines = [line.text for line in head.data]
    mean = (head.data[-1].end - begin) / max(1, len(lines)) if lines else 1.0
    if not file.packing and size > 2 * _SAMPLE:
        lines, mean = _sampled(path, begin, size, lines)
    edges = max(1, int((size - begin) / mean))
    reader = TEXTS[head.format]
    arcs, declared = reader.counts([line.text for line in head.data])
    edges = arcs or edges
    cells = [[cell for cell in _LIST.split(line) if cell] if head.format is not Format.EDGE_TEXT or "\t" not in line
             else list(cut_line(line, "\t")) for line in lines]
    at = reader.first
    ends = [cell for row in cells for cell in row[at : at + 2]]
    whole = [int(cell) for cell in ends if cell.isascii() and cell.isdigit()]
    text_ids = len(whole) < len(ends) // 2
    n = declared or (edges // 4 if text_ids else min(2 * edges, max(edges // 16, max(whole, default=1) + 1)))
    width = max(0, max(map(len, cells), default=2) - 2 - at)
    columns = {f"column{k}": np.dtype(np.int32) for k in range(width)}
    one_way = directed if directed is not None else True
    return Shape(n, edges if one_way else 2 * edges, one_way, columns, listed=edges, ids=72 * n if text_ids else 0,
                 reading=reading_bytes(threads, 2 + width, size), exact=False)


def _unpacked(path: Path, size: int, packing: Packing) -> int:
    """The bytes of text in a compressed file of `size` bytes, approximately.

    The last four bytes of gzip are the length of the last member modulo 2^32.
    """
    if packing.name != "gzip":
        return size * packing.ratio
    with path.open("rb") as file:
        file.seek(-4, 2)
        said = int.from_bytes(file.read(4), "little")
    return said if size < said < 1 << 30 else size * packing.ratio


def _sampled(path: Path, begin: int, size: int, lines: list[str]) -> tuple[list[str], float]:
    """Lines from several positions of the file, and the mean length of a line in bytes."""
    total = count = 0
    found = list(lines)
    with path.open("rb") as file:
        for place in range(_PLACES):
            file.seek(begin + (size - begin - _SAMPLE) * place // (_PLACES - 1))
            pieces = file.read(_SAMPLE).split(b"\n")[1:-1]
            total += sum(len(piece) + 1 for piece in pieces)
            count += len(pieces)
            found += [piece.decode("utf-8", "replace") for piece in pieces[::64]]
    return found, total / max(1, count)

"""The format of METIS (.graph): a line of counts, then one line of neighbours for each vertex.

The format is described in section 4.1.1 of the METIS manual (http://glaros.dtc.umn.edu/gkhome/metis/metis/overview).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError, plural
from vlang.records import dataclass
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.formats.format import Beginning, ListFormat

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.building.space import Space
    from vlang.runtime.graph.edges.building.store import Store
    from vlang.runtime.graph.edges.edge_list import EdgeList
    from vlang.runtime.graph.edges.pool import Workers
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.graph.read.asked import Asked
    from vlang.runtime.graph.read.source import TextFile

__all__ = ["METIS"]

_NAMES = (".graph", ".metis")
_EXPECTED = "VERTICES EDGES [FORMAT [WEIGHTS]], with a FORMAT of three digits 0 or 1"
_MOST = (1 << 32) - 2
_PIECE = 1 << 22
_MANY = 10  # lines with more or fewer numbers than the first line that are sufficient evidence of METIS
_DIGITS = 18
_ROWS = 1 << 14  # vertices whose lines are formatted at a time
_ALLOWED = np.zeros(256, np.bool_)
_ALLOWED[[*b"0123456789 \t\r\n\v\f"]] = True

Array = NDArray[Any]


class _Metis(ListFormat):
    name = "METIS"
    suffixes = (".graph",)

    def recognises(self, beginning: Beginning) -> bool:
        """Return whether the first lines have the form of METIS, or the name ends in .graph and the first line has
        counts.

        A list of neighbours can look like a list of edges, in which case only the name decides.
        """
        lines = [line for line in beginning.text.split(b"\n") if not line.startswith(b"%")]
        words = lines[0].split() if lines else []
        if not 2 <= len(words) <= 4 or not all(word.isdigit() for word in words):
            return False
        packed = beginning.path.suffix in (".gz", ".bz2", ".xz", ".zst")
        name = beginning.path.with_suffix("") if packed else beginning.path
        counts = _counts(lines[0])
        return name.suffix in _NAMES or (
            counts is not None and _looks(counts, len(words), lines[1:], len(beginning.text) < 1 << 12))

    def edges(self, path: Path, asked: Asked, workers: Workers, space: Space) -> EdgeList:
        from vlang.runtime.graph.edges.edge_list import VertexIds  # start-up
        from vlang.runtime.graph.edges.ends import OF_FILE  # start-up
        from vlang.runtime.graph.read.direction import imbalance  # start-up
        from vlang.runtime.graph.read.finish import Facts, finish  # start-up
        from vlang.runtime.graph.read.layout import Field, Role  # start-up
        from vlang.runtime.graph.read.scan import Scanned  # start-up
        from vlang.runtime.graph.read.source import TextFile  # start-up
        from vlang.runtime.graph.read.text_columns import choose_weight  # start-up
        from vlang.runtime.graph.read.text_errors import problem  # start-up

        file = TextFile(path)
        head = _head(file)
        if asked.ends != OF_FILE:
            raise problem(path, "this is METIS, which declares its vertices and columns",
                          expected="no options for vertices or columns of ends")
        fields = [Field("source", Role.SOURCE), Field("target", Role.TARGET)]
        fields += [Field("weight", Role.INTEGER)] if head.counts.weighted else []
        names = [field.name for field in choose_weight(path, fields, asked)[2:]]
        store = space.store(len(names))
        rows = _Rows(file, head, store)
        for piece, fraction in _pieces(file, space):
            rows.take(piece)
            space.progress(fraction)
        rows.end()
        n, entries = head.counts.n, store.count
        if entries != 2 * head.counts.m:
            raise problem(path, f"{plural(entries, 'neighbour')} in all lines", line=head.line, found=head.text,
                          expected=f"{2 * head.counts.m:,}, two for each of the {plural(head.counts.m, 'edge')} that "
                                   "this line declares")
        read = Scanned(store.source.finish(entries), store.target.finish(entries), VertexIds(base=1, count=n),
                       {name: column.finish(entries) for name, column in zip(names, store.columns)})
        if imbalance(read)[0]:
            raise problem(path, "an edge is in the line of one of its ends only",
                          expected="each edge in the lines of both ends")
        notes = [f"Not read: the {what} of vertices." for what, there in
                 (("sizes", head.counts.sizes), ("weights", head.counts.weights)) if there]
        return finish(read, Facts(f"METIS{file.packed}", directed=False, why="as METIS files are", notes=notes), asked,
                      space)

    def estimate(self, path: Path, asked: Asked, threads: int) -> Shape | None:
        from vlang.runtime.graph.read.source import TextFile  # start-up

        counts = _head(TextFile(path)).counts
        columns = {"weight": np.dtype(np.int32)} if counts.weighted else {}
        return Shape(counts.n, 2 * counts.m, bool(asked.directed), columns, listed=2 * counts.m, reading=12 * _PIECE)

    def write(self, graph: Graph, file: IO[bytes], path: str, suffix: str) -> list[str]:
        """See `GraphFormat.write`. Raises GraphError for directed graphs, and for edges that METIS cannot store."""
        from vlang.runtime.graph.edges.edge_rows import listed_edges, lost, only_column  # start-up

        if graph.directed:
            raise GraphError(f"{path}: METIS has undirected edges only; --symmetrize (symmetrize=True) adds the "
                             "opposite of every edge")
        loops, parallel = graph.plain().excess()
        if loops or parallel:
            raise GraphError(f"{path}: METIS has no self-loops and no parallel edges, and the graph has {loops:,} and "
                             f"{parallel:,}; --self-loops drop and --parallel drop leave them out")
        name, notes = only_column(graph, path)
        edges = listed_edges(graph, both=True)
        values = None if name is None else edges.columns[name]
        if values is not None and (values.dtype.kind == "f" or (len(values) and int(values.min()) < 0)):
            raise GraphError(f"{path}: METIS has weights that are integers from 0 on, and column {name!r} has others")
        file.write(f"{graph.n} {len(edges.src) // 2}{'' if values is None else ' 001'}\n".encode())
        ends = np.searchsorted(edges.src, np.arange(graph.n + 1))
        for first in range(0, graph.n, _ROWS):
            last = min(first + _ROWS, graph.n)
            part = slice(int(ends[first]), int(ends[last]))
            texts = list(map(str, (edges.dst[part].astype(np.int64) + 1).tolist()))
            if values is not None:
                texts = [f"{v} {w}" for v, w in zip(texts, values[part].tolist())]
            cuts = (ends[first : last + 1] - part.start).tolist()
            file.write("".join(" ".join(texts[a:b]) + "\n" for a, b in itertools.pairwise(cuts)).encode())
        return [*notes, *lost(graph, ids=1)]


class _Counts(NamedTuple):
    """The counts in the first line.

    Attributes:
        n, m: the numbers of vertices and of edges.
        sizes: 1 if each line begins with the size of its vertex, else 0.
        weights: the number of vertex weights in each line, after the size.
        weighted: whether a weight follows each neighbour.
    """

    n: int
    m: int
    sizes: int
    weights: int
    weighted: bool


@dataclass(frozen=True)
class _Head:
    """The counts, and the line that holds them: its `text`, its number `line` (from 1), and the byte `end` after it."""

    counts: _Counts
    text: str
    line: int
    end: int


def _counts(line: bytes) -> _Counts | None:
    """Parse the first line; None if it is not a line of counts."""
    words = line.split()
    if not 2 <= len(words) <= 4 or not all(word.isdigit() and len(word) <= _DIGITS for word in words):
        return None
    form = words[2].decode().rjust(3, "0") if len(words) > 2 else "000"
    if len(form) > 3 or set(form) - set("01"):
        return None
    sizes, weights, weighted = (digit == "1" for digit in form)
    count = int(words[3]) if len(words) > 3 else 1
    return _Counts(int(words[0]), int(words[1]), int(sizes), count if weights else 0, weighted)


def _looks(counts: _Counts, width: int, lines: Sequence[bytes], whole: bool) -> bool:
    """Return whether `lines` must be lists of neighbours: many lines have a length other than `width`, and all lines
    fit `counts`.

    Args:
        counts: the counts of the first line.
        width: how many numbers the first line has.
        lines: the lines after the first line.
        whole: whether these are all lines of the file.
    """
    rows = [line.split() for line in lines[:-1]]  # the last line is incomplete, or empty
    if whole and lines and lines[-1]:
        rows.append(lines[-1].split())
    if not all(word.isdigit() for row in rows for word in row):
        return False
    lead, each = counts.sizes + counts.weights, 1 + counts.weighted
    sizes = [len(row) for row in rows]
    while len(sizes) > counts.n and sizes[-1] == 0:
        sizes.pop()
    others = sum(size != width for size in sizes)
    if len(sizes) > counts.n or not counts.m or others < min(_MANY, -(-len(sizes) // 2)) \
            or any(size < lead or (size - lead) % each for size in sizes):
        return False
    neighbours = [int(word) for row in rows for word in row[lead::each]]
    fits = (len(neighbours), len(sizes)) == (2 * counts.m, counts.n) if whole else len(set(sizes) - {0}) > 1
    return fits and all(1 <= vertex <= counts.n for vertex in neighbours)


def _head(file: TextFile) -> _Head:
    """Read the line of counts. Raises GraphError if the line of counts is wrong, or if the file is too small for the
    counts.
    """
    from vlang.runtime.graph.read.text_errors import problem  # start-up

    text, _ = file.head(1 << 18)
    end = 0
    for number, line in enumerate(text.split(b"\n"), 1):
        end += len(line) + 1
        if line.startswith(b"%"):
            continue
        counts, shown = _counts(line), line.decode("utf-8", "replace")
        if counts is None:
            raise problem(file.path, "a wrong line of counts", line=number, found=shown, expected=_EXPECTED)
        if counts.n > _MOST:
            raise problem(file.path, "too many vertices", line=number, found=shown,
                          expected=f"at most {_MOST:,} vertices")
        least = 2 * counts.m * 2 * (1 + counts.weighted) - 1  # a digit and a separator for each number
        if file.packing is None and max(least, counts.n - 1) > file.size - end + 1:
            raise problem(file.path, f"the file of {file.size:,} bytes is too short for these counts", line=number,
                          found=shown, expected="a line for each vertex, with its neighbours")
        return _Head(counts, shown, number, end)
    raise problem(file.path, "there is no line of counts", expected=_EXPECTED)


def _pieces(file: TextFile, space: Space) -> Iterator[tuple[Array, float]]:
    """The text of the file in pieces, and the fraction that has been read. Raises GraphError for damaged compression.
    """
    for piece in file.pieces(min(_PIECE, space.window_for(1))):
        if piece.damage is not None:
            raise GraphError(f"{file.path}: {piece.damage}")
        yield piece.text[: piece.size], piece.fraction


class _Rows:
    """Appends the lines of neighbours to a store of edges. A line may be longer than a piece of text."""

    def __init__(self, file: TextFile, head: _Head, store: Store) -> None:
        self._file, self._counts, self._store = file, head.counts, store
        self._skip, self._line = head.end, head.line + 1
        self._rest = np.empty(0, np.uint8)
        self._row = 0
        self._numbers = np.zeros(1, np.int64)  # for each line of the text, its index before comments were cut

    def take(self, piece: Array) -> None:
        """Append the neighbours in all complete lines of the text so far."""
        from vlang.runtime.graph.read.source import last_line_end  # start-up

        skipped = min(self._skip, len(piece))
        self._skip -= skipped
        text = np.concatenate([self._rest, piece[skipped:]])
        end = last_line_end(text, len(text))
        self._lines(text[:end])
        self._rest = text[end:].copy()

    def end(self) -> None:
        """Append the last line, if the file does not end with a line end. Raises GraphError if lines are missing."""
        from vlang.runtime.graph.read.text_errors import problem  # start-up

        if len(self._rest):
            self._lines(np.append(self._rest, np.uint8(10)))
        if self._row < self._counts.n:
            raise problem(self._file.path, f"the file ends after {plural(self._row, 'line')} of neighbours",
                          line=self._line, expected=f"a line for each of {self._counts.n:,} vertices")

    def _lines(self, text: Array) -> None:
        """Append the neighbours in complete lines."""
        if not len(text):
            return
        count = int(np.count_nonzero(text == 10))
        self._numbers = np.arange(count + 1)
        if (text == ord("%")).any():
            text = self._without_comments(text)
        if not _ALLOWED[text].all():
            self._fail(text, int(np.flatnonzero(~_ALLOWED[text])[0]), "this is not a number",
                       "positive integers with blanks between them")
        digit = text >= ord("0")
        begins = np.flatnonzero(digit & ~np.concatenate([[False], digit[:-1]]))
        ends = np.flatnonzero(digit & ~np.concatenate([digit[1:], [False]]))
        if len(begins) and int((ends - begins).max()) >= _DIGITS:
            self._fail(text, int(begins[np.argmax(ends - begins)]), f"a number of more than {_DIGITS} digits",
                       "vertex numbers and weights")
        lines = np.flatnonzero(text == 10)
        values = np.fromstring(text.tobytes().decode("ascii"), np.int64, sep=" ") if len(begins) else \
            np.empty(0, np.int64)
        self._append(text, values, begins, np.searchsorted(begins, lines))
        self._line += count

    def _without_comments(self, text: Array) -> Array:
        """The text without the lines that begin with %. Stores the indices of the other lines in `_numbers`."""
        lines = text.tobytes().split(b"\n")
        kept = [i for i, line in enumerate(lines) if not line.startswith(b"%")]
        self._numbers = np.array(kept)
        return np.frombuffer(b"\n".join(lines[i] for i in kept), np.uint8)

    def _append(self, text: Array, values: Array, begins: Array, after: Array) -> None:
        """Append the numbers in complete lines.

        Args:
            text: the lines.
            values: int64, the numbers.
            begins: the first byte of each number.
            after: for each line, how many numbers precede its end.
        """
        n, m, sizes, weights, weighted = self._counts
        lead, each, store = sizes + weights, 1 + weighted, self._store
        if self._row + len(after) > n:
            surplus = int(after[n - self._row - 1]) if n > self._row else 0
            if len(values) > surplus:
                self._fail(text, int(begins[surplus]), f"a line of neighbours after that of vertex {n:,}, the last",
                           "no more lines")
            after = after[: n - self._row]
        lengths = np.diff(after, prepend=0)
        wrong = np.flatnonzero((lengths < lead) | ((lengths - lead) % each != 0))
        if len(wrong):
            line = int(wrong[0])
            at = int(np.flatnonzero(text == 10)[line])
            self._fail(text, at, f"{int(lengths[line])} numbers", self._shape())
        place = np.arange(len(values)) - np.repeat(after - lengths, lengths) - lead
        chosen = np.flatnonzero((place >= 0) & (place % each == 0))
        targets = values[chosen]
        if len(targets) and (int(targets.min()) < 1 or int(targets.max()) > n):
            bad = int(np.flatnonzero((targets < 1) | (targets > n))[0])
            self._fail(text, int(begins[chosen[bad]]), f"vertex {int(targets[bad])} is out of range",
                       f"an integer from 1 to {n:,}")
        end = store.count + len(targets)
        if end > 2 * m:
            self._fail(text, int(begins[chosen[2 * m - store.count]]), f"more than {2 * m:,} neighbours",
                       f"two for each of {m:,} edges, as the line of counts declares")
        store.reserve(end)
        here = slice(store.count, end)
        counts = (lengths - lead) // each
        store.source.array[here] = np.repeat(np.arange(self._row, self._row + len(after)), counts)
        store.target.array[here] = targets - 1
        if weighted and len(targets):
            found, (column,) = values[chosen + 1], store.columns
            if column.array.dtype == np.int32 and int(found.max()) >= 1 << 31:
                column.become(np.int64, store.count)
            column.array[here] = found
        store.count = end
        self._row += len(after)

    def _shape(self) -> str:
        lead = ["the size of the vertex"] * self._counts.sizes + ["a weight of the vertex"] * self._counts.weights
        return ", ".join([*lead, f"then {'pairs of neighbour and weight' if self._counts.weighted else 'neighbours'}"])

    def _fail(self, text: Array, at: int, what: str, expected: str) -> None:
        """Raise GraphError for byte `at` of a text of complete lines."""
        from vlang.runtime.graph.read.text_errors import problem  # start-up

        before = text[:at].tobytes()
        begin = before.rfind(b"\n") + 1
        found = text[begin : begin + 200].tobytes().partition(b"\n")[0].decode("utf-8", "replace")
        line = self._line + int(self._numbers[before.count(b"\n")])
        raise problem(self._file.path, what, line=line, found=found, expected=expected)


METIS = _Metis()

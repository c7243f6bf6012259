"""The formats that NetworkX parses: GraphML, GEXF, GML and Pajek. The whole graph is built as Python objects first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from vlang.errors import GraphError
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.formats.format import Beginning, ListFormat
from vlang.runtime.storage.room import hold

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.building.space import Space
    from vlang.runtime.graph.edges.edge_list import EdgeList
    from vlang.runtime.graph.edges.pool import Workers
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.graph.read.asked import Asked

__all__ = ["GEXF", "GML", "GRAPHML", "PAJEK"]

_PIECE = 1 << 20
_FACTOR = 40
"""Bytes of memory for each byte of text: the parsers took up to 22, and the graph is converted after that."""

_ID = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
_WHERE = re.compile(r"\((\d+), \d+\)")


class _Foreign(ListFormat):
    """A format that NetworkX reads.

    Attributes:
        name: its name.
        begins: matches the beginning of a file.
        check: raises GraphError for a text that NetworkX would misread; the arguments are the path and the text.
        parse: makes a NetworkX graph; the arguments are the module and the text.
    """

    cells = False

    def __init__(
        self, name: str, begins: str, check: Callable[[Path, bytes], None], parse: Callable[[Any, bytes], Any],
        suffixes: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.name, self._check, self._parse, self.suffixes = name, check, parse, suffixes
        self._begins = re.compile(begins.encode(), re.IGNORECASE | re.DOTALL)

    def recognises(self, beginning: Beginning) -> bool:
        return self._begins.match(beginning.text.removeprefix(b"\xef\xbb\xbf").lstrip()) is not None

    def edges(self, path: Path, asked: Asked, workers: Workers, space: Space) -> EdgeList:
        from vlang.runtime.graph.edges.building.from_arrays import edges_of_networkx  # start-up
        from vlang.runtime.graph.edges.chosen_weight import as_weight, check_weights, without_weight  # start-up
        from vlang.runtime.graph.read.direction import both_directions  # start-up
        from vlang.runtime.graph.read.finish import Facts, finish  # start-up
        from vlang.runtime.graph.read.scan import Scanned  # start-up

        library = _networkx(path, self.name)
        text = _whole_text(path)
        self._check(path, text)
        held = hold(_FACTOR * len(text), f"{path}: a graph that NetworkX reads")
        graph = self._graph(library, path, text)
        for *_, data in graph.edges(data=True):
            data.pop("id", None)  # XML parsers add the name of an edge to its attributes
        attributes = sorted({str(name) for _, data in graph.nodes(data=True) for name in data} - {"id", "label"})
        listed = edges_of_networkx(_with_numbers(library, graph))
        del graph, held, text
        columns, left_out, kinds = listed.columns, listed.left_out, listed.kinds
        check_weights(path, asked.weights, list(columns), left_out)
        if asked.weights not in (None, "weight"):
            columns, left_out = as_weight(columns, str(asked.weights)), without_weight(left_out)
            kinds = as_weight(kinds, str(asked.weights))
        read = Scanned(listed.src, listed.dst, listed.ids, columns, kinds=kinds)
        notes = list(listed.notes)
        if attributes:
            notes.append(f"Not read: attributes of vertices: {', '.join(attributes)}.")
        if asked.directed and not listed.directed:
            read = both_directions(read, 1, space)
        facts = Facts(f"{self.name}, read by NetworkX", directed=listed.directed, why="as the file says", notes=notes,
                      left_out=left_out)
        return finish(read, facts, asked, space)

    def _graph(self, library: Any, path: Path, text: bytes) -> Any:
        """The NetworkX graph of a text. Raises GraphError for every error of the parser."""
        try:
            return self._parse(library, text)
        except MemoryError:
            raise
        except Exception as error:  # the parsers of NetworkX raise errors of all kinds for wrong files
            said = " ".join(str(error).split()) or type(error).__name__
            place = _WHERE.search(said)
            line = f", line {place[1]}" if place else ""
            raise GraphError(f"{path}{line}: this is no {self.name} that NetworkX reads: {said}") from None

    def estimate(self, path: Path, asked: Asked, threads: int) -> Shape | None:
        """None, because the counts are unknown. The reader checks the memory for the parsed graph before it parses."""
        return None

    def write(self, graph: Graph, file: IO[bytes], path: str, suffix: str) -> list[str]:
        from vlang.runtime.graph.formats.foreign_texts import write_gexf, write_gml, write_pajek  # start-up
        from vlang.runtime.graph.formats.graphml_text import write_graphml  # start-up

        writers = {".graphml": write_graphml, ".gexf": write_gexf, ".gml": write_gml, ".net": write_pajek}
        return writers[suffix](graph, file, path, suffix)


def _networkx(path: Path, name: str) -> Any:
    """The module `networkx`. Raises GraphError if NetworkX is not installed."""
    try:
        return import_module("networkx")
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "networkx":
            raise
        raise GraphError(f"{path}: {name} is read through NetworkX: pip install 'vlang[nx]'") from None


def _whole_text(path: Path) -> bytes:
    """The decompressed text of a file. Raises OutOfMemory if the graph that is parsed from the text would exceed the
    memory.
    """
    from vlang.runtime.graph.read.source import TextFile  # start-up

    file, parts, size = TextFile(path), [], 0
    for piece in file.pieces(_PIECE):
        if piece.damage is not None:
            raise GraphError(f"{path}: {piece.damage}")
        size += piece.size
        hold(_FACTOR * size, f"{path}: a graph that NetworkX reads")
        parts.append(piece.text[: piece.size].tobytes())
    return b"".join(parts).removeprefix(b"\xef\xbb\xbf")


def _with_numbers(library: Any, graph: Any) -> Any:
    """The graph with integers as ids, if all ids are texts of integers."""
    if len(graph) and all(isinstance(node, str) and _ID.fullmatch(node) for node in graph):
        return library.relabel_nodes(graph, {node: int(node) for node in graph}, copy=True)
    return graph


# ------------------------------------------------------------------ checks before NetworkX parses


def _check_xml(path: Path, text: bytes) -> None:
    """Raise GraphError, with a line number, for wrong XML and for declarations of types and entities.

    An entity can refer to other entities, so a short file could expand to any size, or include another file of the
    machine.
    """
    from xml.parsers import expat  # start-up

    parser = expat.ParserCreate()

    def refuse(*_: Any) -> None:
        raise GraphError(f"{path}, line {parser.CurrentLineNumber}: a document type or an entity is declared, which "
                         "may expand to any size or read other files; remove the declaration")

    nodes: set[str] = set()
    ends: dict[str, int] = {}

    def element(name: str, attributes: dict[str, str]) -> None:
        kind = name.rpartition(":")[2]
        if kind == "node":
            nodes.add(attributes.get("id", ""))
        elif kind == "edge":
            for end in ("source", "target"):
                if end not in attributes:
                    raise GraphError(f"{path}, line {parser.CurrentLineNumber}: this edge has no {end}")
                ends.setdefault(attributes[end], parser.CurrentLineNumber)

    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.StartElementHandler = element
    try:
        parser.Parse(text, True)
        for end in ends.keys() - nodes:
            raise GraphError(f"{path}, line {ends[end]}: an edge ends at the vertex {end!r}, which is not in the file")
    except expat.ExpatError as error:
        raise GraphError(f"{path}, line {error.lineno}: this is no XML: {expat.ErrorString(error.code)}") from None
    except GraphError:  # a ValueError, too
        raise
    except (ValueError, LookupError) as error:  # an unknown encoding
        raise GraphError(f"{path}, line {parser.CurrentLineNumber}: this is no XML: {error}") from None


def _check_gml(path: Path, text: bytes) -> None:
    """Check nothing, because NetworkX itself reports the line of an error."""


def _check_pajek(path: Path, text: bytes) -> None:
    """Raise GraphError for a text that NetworkX would misread without an error, and for wrong lines."""
    from vlang.runtime.graph.read.text_errors import problem  # start-up

    lines = text.decode("utf-8", "replace").splitlines()
    left, count, sections, matrix, number = 0, -1, 0, False, 1

    def wrong(what: str, expected: str) -> GraphError:
        return problem(path, what, line=number, found=lines[number - 1], expected=expected)

    for line in lines:
        words = line.split()
        if line.startswith("%"):
            raise wrong("a comment, which NetworkX does not skip", "no comments")
        head = words[0].lower() if words else ""
        if left and not (head.isdigit() and int(words[0]) == count - left + 1 and len(words) > 1):
            raise wrong("this is no vertex", f'{count - left + 1} "LABEL"')
        if left:
            left -= 1
        elif head == "*vertices":
            if count >= 0 or len(words) != 2 or not words[1].isdigit():
                raise wrong("a wrong line *Vertices", "*Vertices COUNT, once")
            left = count = int(words[1])
        elif head in ("*edges", "*arcs", "*matrix"):
            sections += 1
            if count < 0 or sections > 1 or len(words) > 1:
                raise wrong(f"the section {words[0]}", "one section *Edges, *Arcs or *Matrix, after *Vertices")
            matrix = head == "*matrix"
        elif head not in ("", "*network"):
            if head.startswith("*") or not sections:
                raise wrong("this is not read", "*Network, *Vertices, and *Edges, *Arcs or *Matrix")
            _check_pajek_row(words, matrix, count, wrong)
        number += 1
    number = min(number, len(lines))
    if left or count < 0:
        raise wrong(f"{left:,} vertices are missing" if left else "there is no section *Vertices", "*Vertices COUNT")


def _check_pajek_row(words: Sequence[str], matrix: bool, count: int, wrong: Callable[[str, str], GraphError]) -> None:
    """Check a line of a section of edges, or a row of a matrix."""
    if matrix:
        if len(words) != count or not all(re.fullmatch(r"-?\d+", word, re.ASCII) for word in words):
            raise wrong("a wrong row of the matrix", f"{count:,} integers")
        return
    if len(words) < 2 or not all(word.isdigit() and 1 <= int(word) <= count for word in words[:2]):
        raise wrong("this is no edge", f"two vertices from 1 to {count:,}")
    if len(words) > 2:
        try:
            float(words[2])
        except ValueError:
            raise wrong(f"the weight {words[2]!r} is not a number", "a number") from None


# ------------------------------------------------------------------ parsing


def _pajek(library: Any, text: bytes) -> Any:
    graph = library.parse_pajek(text.decode("utf-8"))
    declared = re.search(r"^\*vertices\s+(\d+)", text.decode("utf-8"), re.IGNORECASE | re.MULTILINE)
    if declared and len(graph) != int(declared[1]):
        raise ValueError("two vertices have the same label")
    return graph


def _gml(library: Any, text: bytes) -> Any:
    """The ids of the graph are the labels of the vertices or, if the file has no labels, their GML ids."""
    labels = re.search(rb"\blabel\s", text) is not None
    return library.parse_gml(text.decode("utf-8"), label="label" if labels else "id")


GRAPHML = _Foreign("GraphML", r"(<\?xml[^>]*>\s*)?(<!.*?>\s*)*<graphml\b", _check_xml,
                   lambda library, text: library.read_graphml(BytesIO(text)), (".graphml",))  # fmt: skip
GEXF = _Foreign("GEXF", r"(<\?xml[^>]*>\s*)?(<!.*?>\s*)*<gexf\b", _check_xml,
                lambda library, text: library.read_gexf(BytesIO(text)), (".gexf",))  # fmt: skip
GML = _Foreign("GML", r"(#[^\n]*\n\s*|(creator|version|comment)\b[^\n]*\n\s*)*graph\s*\[", _check_gml, _gml,
              (".gml",))  # fmt: skip
PAJEK = _Foreign("Pajek", r"\*(vertices|network)\b", _check_pajek, _pajek, (".net",))

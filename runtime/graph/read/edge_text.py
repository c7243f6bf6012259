"""Text edge lists: as SNAP publishes them, csv and tsv, with or without a header."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.read.finish import Facts, finish
from vlang.runtime.graph.read.head import Head, Line
from vlang.runtime.graph.read.layout import Field, Layout, Role
from vlang.runtime.graph.read.scan import Scanned, TextIdFound, scan_edges
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.text_columns import choose_weight, default_name
from vlang.runtime.graph.read.text_errors import plural, problem, shortened

__all__ = ["read_edge_text"]

# What columns of ids are called, in lower case and without underscores.
_SOURCES = frozenset(["source", "src", "from", "fromnode", "fromnodeid", "fromid", "sourceid", "tail", "start",
                      "node1"])  # fmt: skip
_TARGETS = frozenset(["target", "dst", "dest", "destination", "to", "tonode", "tonodeid", "toid", "targetid", "head",
                      "end", "node2"])  # fmt: skip
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_FIELD = re.compile(r'"(?:[^"]|"")*"|\S+')
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE)
_SAID = re.compile(r"^[#%/]+\s*(un)?directed\b", re.IGNORECASE)
_KONECT = re.compile(r"^%\s*(sym|asym)\b", re.IGNORECASE)
_COUNTS = re.compile(r"\bnodes\s*:\s*(\d+)\s+edges\s*:\s*(\d+)", re.IGNORECASE)
_BETWEEN = {"": "white space", ",": "commas", ";": "semicolons", "\t": "tabs"}


@dataclass(frozen=True)
class _Table:
    """The first lines of data, cut into fields; `header` are its names, or nothing."""

    delimiter: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    first: Line

    @property
    def width(self) -> int:
        return len(self.header or self.rows[0])


def read_edge_text(
    file: TextFile, head: Head, directed: bool | None, weights: str | None, workers: Workers
) -> EdgeList:
    """Read a text edge list. Raises GraphError for a file without edges and for the first line that does not fit."""
    if not head.data:
        raise problem(file.path, "the file has no edges: all its lines are comments or empty")
    table = _table(file, head)
    fields = choose_weight(file.path, _fields(table), weights)
    skipped = 1 if table.header else 0
    text = _text_id(head, table, fields)
    layout = Layout(
        fields, start=table.first.end if skipped else table.first.start, line=table.first.number + skipped,
        delimiter=ord(table.delimiter) if table.delimiter else 0, shape=_shape(table),
        text_ids=text is not None,
    )  # fmt: skip
    try:
        read = scan_edges(file, layout, workers)
    except TextIdFound as found:
        text = found.args
        read = scan_edges(file, replace(layout, text_ids=True), workers)
    if not len(read.source):
        raise problem(file.path, "the file has no edges: nothing follows its header")
    said, why = _said_direction(head)
    facts = Facts(
        f"Text edge list{' with a header' if table.header else ''}, {_BETWEEN[table.delimiter]} between columns",
        directed=said is not False, why=why,
        notes=[*_column_notes(table, fields), *_id_notes(text), *_count_notes(head, read)],
    )  # fmt: skip
    return finish(file, read, facts, directed)


def _cut(text: str, delimiter: str) -> tuple[str, ...]:
    """The fields of a line, without quotes and the blanks around them."""
    if delimiter:
        try:
            parts = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])
        except csv.Error:  # a field beyond csv's limit, which is no id
            parts = text.split(delimiter)
        return tuple(part.strip() for part in parts)
    return tuple(p[1:-1].replace('""', '"') if p[0] == '"' and len(p) > 1 else p for p in _FIELD.findall(text))


def _delimiter(lines: Sequence[Line]) -> str:
    """What stands between columns, from the first lines; "" for white space.

    Tabs only where white space would cut differently: a tab is white space, and lists mix both.
    """
    bare = [_QUOTED.sub("q", line.text) for line in lines]
    tabs = {line.count("\t") + 1 for line in bare}
    if len(tabs) == 1 and tabs != {1} and any(len(line.split()) not in tabs for line in bare):
        return "\t"
    return next((mark for mark in ",;" if mark in bare[0]), "")


def _table(file: TextFile, head: Head) -> _Table:
    delimiter = _delimiter(head.data)
    rows = tuple(_cut(line.text, delimiter) for line in head.data)
    if len(rows[0]) < 2:
        raise problem(
            file.path, "there is only one column", line=head.data[0].number, found=head.data[0].text,
            expected="two vertices on a line, between them white space, a comma or a semicolon",
        )  # fmt: skip
    header = rows[0] if _is_header(rows) else ()
    return _Table(delimiter, header, rows[1:] if header else rows, head.data[0])


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace(" ", "")


def _is_header(rows: Sequence[tuple[str, ...]]) -> bool:
    """Whether the first line names columns: no number in it, and well-known names, or numbers in the next line."""
    first, second = rows[0], rows[1] if len(rows) > 1 else ()
    if any(_NUMBER.fullmatch(field) for field in first):
        return False
    names = {_plain(name) for name in first}
    if names & _SOURCES and names & _TARGETS:
        return True
    ids = len(second) >= 2 and all(_INTEGER.fullmatch(field) for field in second[:2])
    return ids or any(_NUMBER.fullmatch(field) for field in second[2 : len(first)])


def _fields(table: _Table) -> list[Field]:
    """What each column is: by name in a header, else the first two are ids and numbers are numbers."""
    names = [_plain(name) for name in table.header]
    source = next((i for i, name in enumerate(names) if name in _SOURCES), None)
    target = next((i for i, name in enumerate(names) if name in _TARGETS), None)
    if source is None or target is None:
        source, target = 0, 1
    fields = []
    for i in range(table.width):
        shown = next((row[i] for row in table.rows if i < len(row) and row[i]), "")
        role = Role.SOURCE if i == source else Role.TARGET if i == target else Role.SKIP
        if role == Role.SKIP and _NUMBER.fullmatch(shown):
            role = Role.INTEGER if _INTEGER.fullmatch(shown) else Role.FLOAT
        fields.append(Field(table.header[i] if table.header else default_name(i), role))
    return fields


def _text_id(head: Head, table: _Table, fields: Sequence[Field]) -> tuple[int, str] | None:
    """(line, id) of the first id among the first lines that is not an integer."""
    ids = [i for i, field in enumerate(fields) if field.role in (Role.SOURCE, Role.TARGET)]
    for line, row in zip(head.data[len(head.data) - len(table.rows) :], table.rows):
        for i in ids:
            if i < len(row) and row[i] and not _INTEGER.fullmatch(row[i]):
                return line.number, row[i]
    return None


def _id_notes(text: tuple[int, str] | None) -> list[str]:
    if text is None:
        return []
    return [f"The ids are texts, because {shortened(text[1])!r} (line {text[0]}) is not an integer."]


def _shape(table: _Table) -> str:
    names = f" ({', '.join(table.header)})" if table.header else ""
    return f"{table.width} columns{names}, as on line {table.first.number}"


def _column_notes(table: _Table, fields: Sequence[Field]) -> list[str]:
    skipped = [i for i, field in enumerate(fields) if field.role == Role.SKIP]
    shown = [f"{i + 1} ({table.header[i]})" if table.header else str(i + 1) for i in skipped]
    return [f"Not numbers, so left out: column{'' if len(shown) == 1 else 's'} {', '.join(shown)}."] if shown else []


def _said_direction(head: Head) -> tuple[bool | None, str]:
    """What a comment says of the direction, and where."""
    for line in head.comments:
        if said := _SAID.match(line.text):
            return said[1] is None, f"as line {line.number} says"
        if said := _KONECT.match(line.text):
            return said[1].lower() == "asym", f"as line {line.number} says"
    return None, "as text edge lists are unless a comment says otherwise"


def _count_notes(head: Head, read: Scanned) -> list[str]:
    """Where the counts that SNAP writes in a comment differ from what is in the file; published files do differ."""
    for line in head.comments:
        if counts := _COUNTS.search(line.text):
            nodes, edges = int(counts[1]), int(counts[2])
            if (nodes, edges) != (len(read.ids), len(read.source)):
                there = f"{plural(len(read.ids), 'vertex', 'vertices')} and {plural(len(read.source), 'edge')}"
                return [f"Line {line.number} speaks of {nodes:,} nodes and {edges:,} edges; the file lists {there}."]
    return []

"""Text edge lists: SNAP's format, csv and tsv, with or without a header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vlang.runtime.graph.edges.edge_list import EdgeList, LeftOut
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.read.asked import Asked, is_missing
from vlang.runtime.graph.read.finish import Facts, finish
from vlang.runtime.graph.read.head import Head, Line
from vlang.runtime.graph.read.layout import Field, Layout, Role, cut_line
from vlang.runtime.graph.read.scan import Scanned, TextIdFound, scan_edges
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.space import IN_MEMORY, Space
from vlang.runtime.graph.read.text_columns import choose_weight, default_name
from vlang.runtime.graph.read.text_errors import COMMA, explain_cell, plural, problem, shortened

__all__ = ["read_edge_text"]

# Names of id columns, in lower case and without underscores.
_SOURCES = frozenset(["source", "src", "from", "fromnode", "fromnodeid", "fromid", "sourceid", "tail", "start",
                      "node1"])  # fmt: skip
_TARGETS = frozenset(["target", "dst", "dest", "destination", "to", "tonode", "tonodeid", "toid", "targetid", "head",
                      "end", "node2"])  # fmt: skip
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE)
_DIRECTION = re.compile(r"^[#%/]+\s*(un)?directed\b", re.IGNORECASE)
_KONECT = re.compile(r"^%\s*(sym|asym)\b", re.IGNORECASE)
_COUNTS = re.compile(r"\bnodes\s*:\s*(\d+)\s+edges\s*:\s*(\d+)", re.IGNORECASE)
_BETWEEN = {"": "white space", ",": "commas", ";": "semicolons", "\t": "tabs"}


@dataclass(frozen=True)
class _Table:
    """The first lines of data, cut into fields. header: the names of the fields, or empty. lines: those of `rows`."""

    delimiter: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[Line, ...]
    first: Line

    @property
    def width(self) -> int:
        return len(self.header or self.rows[0])

    def cells(self, field: int) -> list[str]:
        """The cells of a column in the first lines."""
        return [row[field] for row in self.rows if field < len(row)]


def read_edge_text(
    file: TextFile, head: Head, asked: Asked, workers: Workers, space: Space = IN_MEMORY
) -> EdgeList:
    """Read a text edge list. Raises GraphError if it has no edges, and for the first wrong line.

    Args:
        file: the file.
        head: its first lines.
        asked: the options.
        workers: the threads to use.
        space: where edges and ids are kept.
    """
    if not head.data:
        raise problem(file.path, "the file has no edges: all its lines are comments or empty")
    table = _table(file, head)
    fields = choose_weight(file.path, _fields(table), asked, any(map(_NUMBER.fullmatch, table.cells(2))))
    skipped = 1 if table.header else 0
    text = _text_id(table, fields)
    layout = Layout(
        fields, start=table.first.end if skipped else table.first.start, line=table.first.number + skipped,
        delimiter=ord(table.delimiter) if table.delimiter else 0, shape=_shape(table),
        text_ids=text is not None, missing=asked.missing,
    )  # fmt: skip
    left_out = _texts(file, table, layout)
    try:
        read = scan_edges(file, layout, workers, space)
    except TextIdFound as found:
        text = found.args
        read = scan_edges(file, replace(layout, text_ids=True), workers, space)
    if not len(read.source):
        why = "every row has a missing cell" if read.dropped else "nothing follows its header"
        raise problem(file.path, f"the file has no edges: {why}")
    left_out |= {fields[i].name: LeftOut(why, numbers=True) for i, why in read.left_out.items()}
    declared, why = _declared_direction(head)
    facts = Facts(
        f"Text edge list{' with a header' if table.header else ''}, {_BETWEEN[table.delimiter]} between columns",
        directed=declared is not False, why=why,
        notes=[*_column_notes(file, table, fields, left_out), *_id_notes(text), *_count_notes(head, read)],
        left_out=left_out,
    )  # fmt: skip
    return finish(file, read, facts, asked, space)


def _delimiter(lines: Sequence[Line]) -> str:
    """The delimiter between columns, judged by the first lines; "" for white space.

    Tabs are chosen only where splitting at white space would give other fields, since lists mix both.
    """
    bare = [_QUOTED.sub("q", line.text) for line in lines]
    tabs = {line.count("\t") + 1 for line in bare}
    if len(tabs) == 1 and tabs != {1} and any(len(line.split()) not in tabs for line in bare):
        return "\t"
    mark = next((mark for mark in ",;" if mark in bare[0]), "")
    return next((other for other in (";", "") if _decimal_commas(lines, other)), mark) if mark == "," else mark


def _decimal_commas(lines: Sequence[Line], delimiter: str) -> bool:
    """Whether, with this delimiter, commas occur only inside numbers after the first two columns: 1;2;0,5."""
    rows = [cut_line(line.text, delimiter) for line in lines]
    ends, others = [c for row in rows for c in row[:2]], [c for row in rows for c in row[2:]]
    return (
        len({len(row) for row in rows}) == 1 and not any("," in c for c in ends)
        and any("," in c for c in others) and all(COMMA.fullmatch(c) for c in others if "," in c)
    )  # fmt: skip


def _table(file: TextFile, head: Head) -> _Table:
    delimiter = _delimiter(head.data)
    rows = tuple(cut_line(line.text, delimiter) for line in head.data)
    if len(rows[0]) < 2:
        raise problem(
            file.path, "there is only one column", line=head.data[0].number, found=head.data[0].text,
            expected="two vertices on a line, between them white space, a comma or a semicolon",
        )  # fmt: skip
    header = rows[0] if _is_header(rows) else ()
    skipped = 1 if header else 0
    return _Table(delimiter, header, rows[skipped:], head.data[skipped:], head.data[0])


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace(" ", "")


def _is_header(rows: Sequence[tuple[str, ...]]) -> bool:
    """Whether the first line is a header: it has no numbers, and well-known names or numbers in the next line."""
    first, second = rows[0], rows[1] if len(rows) > 1 else ()
    if any(_NUMBER.fullmatch(field) for field in first):
        return False
    names = {_plain(name) for name in first}
    if names & _SOURCES and names & _TARGETS:
        return True
    if any((cell and is_missing(cell)) or COMMA.fullmatch(cell) for cell in first[2:]):
        return False
    ids = len(second) >= 2 and all(_INTEGER.fullmatch(field) for field in second[:2])
    return ids or any(_NUMBER.fullmatch(field) for field in second[2 : len(first)])


def _fields(table: _Table) -> list[Field]:
    """The role of each column: by its name in a header, else the first two are ids.

    Other columns may hold numbers unless a cell of the first rows is none; the scan of all rows decides.
    """
    names = [_plain(name) for name in table.header]
    source = next((i for i, name in enumerate(names) if name in _SOURCES), None)
    target = next((i for i, name in enumerate(names) if name in _TARGETS), None)
    if source is None or target is None:
        source, target = 0, 1
    fields = []
    for i in range(table.width):
        role = Role.SOURCE if i == source else Role.TARGET if i == target else Role.SKIP
        if role == Role.SKIP and _first_text(table, i) is None:
            shown = next((cell for cell in table.cells(i) if not is_missing(cell)), "0")
            role = Role.INTEGER if _INTEGER.fullmatch(shown) else Role.FLOAT
        title = table.header[i] if table.header else ""
        fields.append(Field(title if table.header else default_name(i), role, title))
    return fields


def _first_text(table: _Table, field: int) -> tuple[Line, str] | None:
    """The first cell of a column that is not a number, and its line."""
    for line, row in zip(table.lines, table.rows):
        if field < len(row) and not _NUMBER.fullmatch(row[field]) and not is_missing(row[field]):
            return line, row[field]
    return None


def _texts(file: TextFile, table: _Table, layout: Layout) -> dict[str, LeftOut]:
    """The columns that are not numbers, by name. Raises GraphError for a needed one."""
    left_out: dict[str, LeftOut] = {}
    for i, field in enumerate(layout.fields):
        found = _first_text(table, i) if field.role == Role.SKIP else None
        if found is None:
            continue
        line, cell = found
        what, expected = explain_cell(cell, layout.label(i), layout.missing)
        error = problem(file.path, what, line=line.number, found=line.text, expected=expected)
        if field.needed:
            raise error
        numbers = any(_NUMBER.fullmatch(c) or COMMA.fullmatch(c) for c in table.cells(i))
        left_out[field.name] = LeftOut(str(error), numbers)
    return left_out


def _text_id(table: _Table, fields: Sequence[Field]) -> tuple[int, str] | None:
    """(line, id) of the first id among the first lines that is not an integer."""
    ids = [i for i, field in enumerate(fields) if field.role in (Role.SOURCE, Role.TARGET)]
    for line, row in zip(table.lines, table.rows):
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


def _column_notes(
    file: TextFile, table: _Table, fields: Sequence[Field], left_out: dict[str, LeftOut]
) -> list[str]:
    """Notes on columns left out: one sentence for all that hold other data, one for each with wrong cells."""
    texts = [i for i, field in enumerate(fields) if field.name in left_out and not left_out[field.name].numbers]
    shown = [f"{i + 1} ({table.header[i]})" if table.header else str(i + 1) for i in texts]
    notes = [f"Not numbers, so left out: column{'' if len(shown) == 1 else 's'} {', '.join(shown)}."] if shown else []
    for why in (left.reason for left in left_out.values() if left.numbers):
        notes.append(f"Left out for {why.splitlines()[0].removeprefix(f'{file.path}, ')}.")
    return notes


def _declared_direction(head: Head) -> tuple[bool | None, str]:
    """The direction that a comment declares, and the reason to give in the note."""
    for line in head.comments:
        if declared := _DIRECTION.match(line.text):
            return declared[1] is None, f"as line {line.number} says"
        if declared := _KONECT.match(line.text):
            return declared[1].lower() == "asym", f"as line {line.number} says"
    return None, "as text edge lists are unless a comment says otherwise"


def _count_notes(head: Head, read: Scanned) -> list[str]:
    """Notes where the counts in a SNAP comment differ from those of the file; in published files they do differ."""
    for line in head.comments:
        if counts := _COUNTS.search(line.text):
            nodes, edges = int(counts[1]), int(counts[2])
            if (nodes, edges) != (len(read.ids), len(read.source)):
                there = f"{plural(len(read.ids), 'vertex', 'vertices')} and {plural(len(read.source), 'edge')}"
                return [f"Line {line.number} declares {nodes:,} nodes and {edges:,} edges; the file lists {there}."]
    return []

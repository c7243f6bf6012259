"""Reads text edge lists: SNAP's format, csv and tsv, with or without a header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vlang.errors import plural
from vlang.runtime.graph.edges.building.space import IN_MEMORY, Space
from vlang.runtime.graph.edges.edge_list import EdgeList, LeftOut
from vlang.runtime.graph.edges.ends import Ends
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.read.asked import Asked, is_missing
from vlang.runtime.graph.read.end_columns import EndColumns, choose_ends, names_ends
from vlang.runtime.graph.read.finish import Facts, finish
from vlang.runtime.graph.read.head import Head, Line
from vlang.runtime.graph.read.layout import Field, Layout, Role, cut_line
from vlang.runtime.graph.read.lookalikes import doubts, name_says, refuse_by_head, refuse_by_rows, refuse_second_header
from vlang.runtime.graph.read.named_cells import typed
from vlang.runtime.graph.read.scan import Scanned, TextIdFound, scan_edges
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.table import INTEGER, NUMBER, Table, delimiter_of, first_text_id
from vlang.runtime.graph.read.text_columns import choose_weight, default_name
from vlang.runtime.graph.read.text_errors import COMMA, explain_cell, problem, shortened
from vlang.runtime.graph.read.vertices import Vertices, parse_vertices, within

__all__ = ["declared_counts", "declared_direction", "doubtful_rows", "read_edge_text"]

_DIRECTION = re.compile(r"^[#%/]+\s*(un)?directed\b", re.IGNORECASE)
_KONECT = re.compile(r"^%\s*(sym|asym)\b", re.IGNORECASE)
_COUNTS = re.compile(r"\bnodes\s*:\s*(\d+)\s+edges\s*:\s*(\d+)", re.IGNORECASE)
_BETWEEN = {"": "white space", ",": "commas", ";": "semicolons", "\t": "tabs"}


def read_edge_text(
    file: TextFile, head: Head, asked: Asked, workers: Workers, space: Space = IN_MEMORY
) -> EdgeList:
    """Read a text edge list. Raises GraphError if the text has no edges, or for its first wrong line.

    Args:
        file: the file.
        head: the first lines of the file.
        asked: the options.
        workers: the threads to use.
        space: allocates the arrays of edges and ids.
    """
    if not head.data:
        raise problem(file.path, "the file has no edges: all its lines are comments or empty")
    table = _table(file, head, asked.ends)
    file.header = table.first.text if table.header else ""
    ends = choose_ends(file.path, table.header, table.first.number, table.width, asked.ends)
    fields = choose_weight(file.path, _fields(table, ends), asked, any(map(NUMBER.fullmatch, table.cells(2))))
    fields = tuple(typed(field, asked.types.get(field.name, ""), table.cells(i)) for i, field in enumerate(fields))
    vertices = None if asked.ends.vertices is None else parse_vertices(asked.ends.vertices, workers, space)
    text = first_text_id(table, [ends.source, ends.target])
    start, line = table.start
    layout = Layout(
        fields, start=start, line=line,
        delimiter=ord(table.delimiter) if table.delimiter else 0, shape=_shape(table),
        text_ids=text is not None or (vertices is not None and vertices.ids.text), missing=asked.missing,
    )  # fmt: skip
    left_out = _texts(file, table, layout)
    refuse_by_head(file, table)
    try:
        read = scan_edges(file, layout, workers, space)
    except TextIdFound as found:
        text = found.args
        read = scan_edges(file, replace(layout, text_ids=True), workers, space)
    if not len(read.source) and vertices is None:
        comments = any(line.number > table.first.number for line in head.comments)
        why = "every row has a missing cell" if read.dropped else \
            "all lines after its header are comments" if comments else "nothing follows its header"
        raise problem(file.path, f"the file has no edges: {why}")
    refuse_second_header(file, table, ends, read)
    left_out |= {fields[i].name: LeftOut(why, numbers=True) for i, why in read.left_out.items()}
    notes = [*file.notes, *_column_notes(file, table, fields, left_out), *_id_notes(text), *_count_notes(head, read)]
    warnings = [*ends.warnings, *refuse_by_rows(file, table, read), *read.rounded.values(),
                *doubts(file, head, table, read, asked)]
    warnings += _beside(file.path, asked.ends)
    if vertices is not None:
        kept, read = read, _placed(file, read, vertices, space)
        notes.append(f"Vertices: those of {vertices.source}, "
                     f"{len(vertices.ids) - len(kept.ids):,} of them without edges.")
        warnings += vertices.warnings
    declared, why = declared_direction(head)
    facts = Facts(
        f"Text edge list{' with a header' if table.header else ''}, {_BETWEEN[table.delimiter]} between columns"
        f"{file.packed}",
        directed=declared is not False, why=why,
        notes=notes, left_out=left_out, warnings=warnings,
    )  # fmt: skip
    return finish(read, facts, asked, space)


def doubtful_rows(file: TextFile, head: Head, ends: Ends) -> frozenset[int]:
    """The numbers of rows for which a text may not be a list of edges (see `refuse_by_rows` and `doubts`)."""
    table = _table(file, head, ends)
    numbers = [int(cell) for cell in table.rows[0] if cell.isascii() and cell.isdigit()] if table.rows else []
    return frozenset({table.width, *(number + 1 for number in numbers)})


def _placed(file: TextFile, read: Scanned, vertices: Vertices, space: Space) -> Scanned:
    """Number the edges by the given vertices. Raises GraphError if an end of an edge is not one of these vertices."""
    source, target = within(vertices, read.source, read.target, read.ids, str(file.path), space)
    return replace(read, source=source, target=target, ids=vertices.ids)


def _beside(path: Path, ends: Ends) -> list[str]:
    """A warning if the folder has a file of vertices beside the file of edges, as in LDBC's graphs, but `vertices` does
    not name this file.
    """
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    if plain.suffix != ".e" or ends.vertices is not None:
        return []
    found = next((p for p in (plain.with_suffix(".v"), plain.with_suffix(".v.gz")) if p.exists()), None)
    advice = f"--vertices {found} (vertices=\"{found}\")"
    return [] if found is None else [f"{path}: vertices without edges are not read; {found.name} lists all: {advice}"]


def _table(file: TextFile, head: Head, ends: Ends) -> Table:
    delimiter = delimiter_of(head.data)
    rows = tuple(cut_line(line.text, delimiter) for line in head.data)
    if len(rows[0]) < 2:
        raise problem(
            file.path, "; ".join(filter(None, ("there is only one column", name_says(file.path)))),
            line=head.data[0].number, found=head.data[0].text,
            expected="two vertices on a line, between them white space, a comma or a semicolon",
        )  # fmt: skip
    header = rows[0] if _is_header(rows, ends) else ()
    skipped = 1 if header else 0
    return Table(delimiter, header, rows[skipped:], head.data[skipped:], head.data[0])


def _is_header(rows: Sequence[tuple[str, ...]], ends: Ends) -> bool:
    """Return whether the first line is a header: it has no numbers, and has well-known names or is above numbers."""
    first, second = rows[0], rows[1] if len(rows) > 1 else ()
    if any(NUMBER.fullmatch(field) for field in first):
        return False
    if names_ends(first, ends):
        return True
    if any((cell and is_missing(cell)) or COMMA.fullmatch(cell) for cell in first[2:]):
        return False
    ids = len(second) >= 2 and all(INTEGER.fullmatch(field) for field in second[:2])
    return ids or any(NUMBER.fullmatch(field) for field in second[2 : len(first)])


def _fields(table: Table, ends: EndColumns) -> list[Field]:
    """The role of each column of a text.

    A column other than the two columns of ids is skipped if a cell in the first rows is not a number. Otherwise the
    column is read as numbers, and the scan of all rows may still leave the column out.
    """
    fields = []
    for i in range(table.width):
        role = Role.SOURCE if i == ends.source else Role.TARGET if i == ends.target else Role.SKIP
        if role == Role.SKIP and _first_text(table, i) is None:
            shown = next((cell for cell in table.cells(i) if not is_missing(cell)), "0")
            role = Role.INTEGER if INTEGER.fullmatch(shown) else Role.FLOAT
        title = table.header[i] if table.header else ""
        fields.append(Field(title if table.header else default_name(i), role, title))
    return fields


def _first_text(table: Table, field: int) -> tuple[Line, str] | None:
    """The first cell in a column that does not hold a number, and the line of this cell."""
    for line, row in zip(table.lines, table.rows):
        if field < len(row) and not NUMBER.fullmatch(row[field]) and not is_missing(row[field]):
            return line, row[field]
    return None


def _texts(file: TextFile, table: Table, layout: Layout) -> dict[str, LeftOut]:
    """The columns that do not hold numbers, by name. Raises GraphError for a needed column."""
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
        numbers = any(NUMBER.fullmatch(c) or COMMA.fullmatch(c) for c in table.cells(i))
        left_out[field.name] = LeftOut(str(error), numbers)
    return left_out


def _id_notes(text: tuple[int, str] | None) -> list[str]:
    if text is None:
        return []
    why = "has a sign or leading zeros" if INTEGER.fullmatch(text[1]) else "is not an integer"
    return [f"The ids are texts, because {shortened(text[1])!r} (line {text[0]}) {why}."]


def _shape(table: Table) -> str:
    names = f" ({', '.join(table.header)})" if table.header else ""
    return f"{table.width} columns{names}, as on line {table.first.number}"


def _column_notes(
    file: TextFile, table: Table, fields: Sequence[Field], left_out: dict[str, LeftOut]
) -> list[str]:
    """Notes on columns that were left out: one for all columns of other data, and one per column with wrong cells."""
    texts = [i for i, field in enumerate(fields) if field.name in left_out and not left_out[field.name].numbers]
    shown = [f"{i + 1} ({table.header[i]})" if table.header else str(i + 1) for i in texts]
    notes = [f"Not numbers, so left out: column{'' if len(shown) == 1 else 's'} {', '.join(shown)}."] if shown else []
    for why in (left.reason for left in left_out.values() if left.numbers):
        notes.append(f"Left out for {why.splitlines()[0].removeprefix(f'{file.path}, ')}.")
    return notes


def declared_direction(head: Head) -> tuple[bool | None, str]:
    """The direction that a comment declares, and the reason to give in the note."""
    for line in head.comments:
        if declared := _DIRECTION.match(line.text):
            return declared[1] is None, f"as line {line.number} says"
        if declared := _KONECT.match(line.text):
            return declared[1].lower() == "asym", f"as line {line.number} says"
    return None, "as text edge lists are unless a comment says otherwise"


def declared_counts(head: Head) -> tuple[int, int, int] | None:
    """The counts of vertices and edges in a SNAP comment, and the number of its line; None if there is no such comment.
    """
    found = ((line.number, _COUNTS.search(line.text)) for line in head.comments)
    return next(((int(counts[1]), int(counts[2]), number) for number, counts in found if counts), None)


def _count_notes(head: Head, read: Scanned) -> list[str]:
    """A note if the counts in a SNAP comment differ from the counts of the file, which happens in published files."""
    declared = declared_counts(head)
    if declared is None or declared[:2] == (len(read.ids), len(read.source)):
        return []
    there = f"{plural(len(read.ids), 'vertex', 'vertices')} and {plural(len(read.source), 'edge')}"
    nodes, edges, line = declared
    return [f"Line {line} declares {nodes:,} nodes and {edges:,} edges; the file lists {there}."]

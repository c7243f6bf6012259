"""The canonical layout of a program text (`vlang fmt`).

Blocks are indented by four spaces. In consecutive declarations, the names, types and `=` are aligned. In consecutive
gathers, applies and lets, the names and `=` are aligned. Comments at the ends of consecutive lines are aligned as well.
Two lines have at most one blank line between them. The author's line breaks are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import groupby

from vlang.errors import InternalError
from vlang.records import dataclass
from vlang.syntax.layout.spacing import Above, Piece, Row, Rows, read_rows
from vlang.syntax.problems import failure

__all__ = ["format_text"]

_INDENT = 4
_DECLARATIONS = frozenset({"VERTEX", "EDGE", "GLOBAL"})
_ASSIGNMENTS = frozenset({"GATHER", "APPLY", "LET"})
_FARTHEST_IF = 8  # spaces that may be inserted to align the `if` of initial values


def format_text(text: str, filename: str = "<text>") -> str:
    """The text in canonical layout, with the same tokens and comments.

    A text that has the canonical layout is not changed. A text that parses is formatted even if the checker refuses the
    program. If Lark refuses a text although recovery finds no problem (an indented line has only a `\\`), the text is
    returned unchanged.

    Raises ProgramError with the syntax errors of a text that does not parse.
    """
    from lark.exceptions import LarkError  # start-up

    from vlang.syntax.mistakes.recovery import read  # start-up

    text = text.removeprefix("\ufeff")
    reading = read(text, filename)
    if reading.problems or reading.file is None:
        raise failure(reading.problems, text, filename)
    try:
        before = read_rows(_ended(text))
    except LarkError:
        return text
    result = _write(before)
    after = read_rows(result)
    if before.tokens() != after.tokens() or before.comments() != after.comments():
        raise InternalError(f"formatting {filename} would have changed more than its layout")
    return result


def _ended(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def _write(rows: Rows) -> str:
    """The formatted text of the rows."""
    written = [_Written(row) for row in rows.rows]
    for _, run in groupby(_numbered(written), key=lambda pair: pair[0]):
        _align([line for _, line in run])
    for line in written:
        line.lines = line.rendered()
    _align_remarks(written)
    parts = [part for line in written for part in (*map(_above, line.row.above), *line.lines)]
    return "\n".join([*parts, *map(_above, rows.below), ""])


def _above(line: Above) -> str:
    return (" " * (_INDENT * line.depth) + line.text).rstrip()


@dataclass(eq=False)
class _Written:
    """A row with its padding.

    Attributes:
        row: the row.
        pads: the number of spaces that are inserted before a piece to align it, by the index of the piece.
        lines: the text lines of the row.
    """

    row: Row
    pads: dict[int, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @property
    def indent(self) -> int:
        return _INDENT * self.row.depth

    def head(self, index: int) -> str:
        """Return the text of the first line up to the piece `index`, without this piece."""
        return " " * self.indent + "".join(self.shown(i) for i in range(index))

    def shown(self, index: int) -> str:
        """The text of a piece, with the spaces before it."""
        piece = self.row.pieces[index]
        return " " * (piece.spaced + self.pads.get(index, 0)) + piece.text

    def rendered(self) -> list[str]:
        """The text lines of the row, without the comment at its end."""
        lines: list[str] = []
        line = " " * self.indent
        brackets: list[int | None] = []  # the column of the piece after the bracket; None if the bracket ends its line
        bases: list[int] = []  # the indentation of the line with the bracket
        base = self.indent
        for index, piece in enumerate(self.row.pieces):
            if piece.broken:
                base = self._continued(piece, brackets, bases)
                lines += [_remarked(_joined(line, brackets), piece.remark), *(" " * base + n for n in piece.notes)]
                line = " " * base + piece.text
            else:
                line += self.shown(index)
            if piece.opens:
                following = self.row.pieces[index + 1]
                brackets.append(None if following.broken else len(line))
                bases.append(base)
            elif piece.closes:
                brackets.pop()
                bases.pop()
        return [*lines, line]

    def _continued(self, piece: Piece, brackets: Sequence[int | None], bases: Sequence[int]) -> int:
        """The indentation of a continuation line of a statement."""
        if not brackets:
            return self.indent + 2 * _INDENT
        column = brackets[-1]
        if column is not None:
            return column
        return bases[-1] + (0 if piece.closes else _INDENT)


def _joined(line: str, brackets: Sequence[int | None]) -> str:
    """Return a line that continues on the next line. The line ends with a backslash unless a bracket is open."""
    return line if brackets else line + " \\"


def _remarked(line: str, remark: str) -> str:
    return f"{line}  {remark}" if remark else line


# ---------------------------------------------------------------------- columns


def _numbered(lines: Sequence[_Written]) -> Iterator[tuple[int, _Written]]:
    """Yield each line with the number of the run to which it belongs. A run consists of consecutive lines of one kind
    in one block.
    """
    number = 0
    last: tuple[int, int] | None = None
    for line in lines:
        first = line.row.pieces[0].kind
        kind = 1 if first in _DECLARATIONS else 2 if first in _ASSIGNMENTS else 0
        here = (line.row.depth, kind)
        number += here != last or kind == 0 or bool(line.row.above)
        last = here
        yield number, line


def _align(run: Sequence[_Written]) -> None:
    """Align the columns of a run, from left to right."""
    kind = run[0].row.pieces[0].kind
    if kind in _DECLARATIONS:
        _column(run, _name)
        _column(run, _type)
        _column(run, _typed_equals)
        _column(run, _if, most=_FARTHEST_IF)
        _column(run, _untyped_equals)
    elif kind in _ASSIGNMENTS:
        _column(run, _name)
        _column(run, _operator, right=True)


def _column(run: Sequence[_Written], find: Callable[[Row], int | None], *, right: bool = False,
            most: int | None = None) -> None:
    """Align one piece of each line in groups of consecutive lines that have this piece.

    Args:
        run: the lines.
        find: returns the index of the piece in a row; None if the row has no such piece.
        right: whether to align right edges instead of left edges.
        most: the largest number of spaces to insert, or None for no limit. A group that needs more spaces stays
            unaligned.
    """
    found = [(line, _in_first_line(line.row, find(line.row))) for line in run]
    for has, group in groupby(found, key=lambda pair: pair[1] is not None):
        if not has:
            continue
        cells = [(line, index, len(line.head(index + 1 if right else index))) for line, index in group
                 if index is not None]
        widest = max(width for _, _, width in cells)
        if most is None or widest - min(width for _, _, width in cells) <= most:
            for line, index, width in cells:
                line.pads[index] = widest - width


def _in_first_line(row: Row, index: int | None) -> int | None:
    return None if index is None or any(piece.broken for piece in row.pieces[: index + 1]) else index


def _find(row: Row, kinds: frozenset[str], start: int = 0) -> int | None:
    """Return the index of the first piece outside of brackets with a kind in `kinds`; None if there is no such piece.
    """
    return next((i for i, p in enumerate(row.pieces) if i >= start and p.kind in kinds and p.depth == 0), None)


def _name(row: Row) -> int | None:
    return 1


def _type(row: Row) -> int | None:
    colon = _find(row, frozenset({"COLON"}))
    return None if colon is None else colon + 1


def _typed_equals(row: Row) -> int | None:
    return None if _type(row) is None else _find(row, frozenset({"EQUAL"}))


def _untyped_equals(row: Row) -> int | None:
    return _find(row, frozenset({"EQUAL"})) if _type(row) is None else None


def _if(row: Row) -> int | None:
    equals = _typed_equals(row)
    return None if equals is None else _find(row, frozenset({"IF"}), equals)


def _operator(row: Row) -> int | None:
    """Return the index of the `=` or `+=` after a single name; None for a tuple of targets, because tuples are not
    aligned.
    """
    return 2 if row.pieces[2].kind in ("EQUAL", "UPDATE") else None


def _align_remarks(lines: Sequence[_Written]) -> None:
    """Align the comments at the ends of consecutive lines."""
    number = 0
    groups: list[tuple[int, _Written]] = []
    for line in lines:
        number += bool(line.row.above) or not (line.row.single and line.row.remark)
        groups.append((number, line))
        number += not (line.row.single and line.row.remark)
    for _, group in groupby(groups, key=lambda pair: pair[0]):
        run = [line for _, line in group]
        widest = max(len(line.lines[-1]) for line in run)
        for line in run:
            if line.row.remark:
                line.lines[-1] = _remarked(line.lines[-1].ljust(widest), line.row.remark)

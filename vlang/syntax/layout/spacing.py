"""A program text as rows of pieces, from which the formatter writes the canonical layout.

A row is a logical line: its tokens, the line breaks and comments between the tokens, and the comments and blank lines
above the line. Only spaces, repeated blank lines and the widths of indentations are lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from lark import Token

from vlang.records import dataclass
from vlang.syntax.lark_tree import grammar

__all__ = ["Above", "Piece", "Row", "Rows", "read_rows"]

_LAYOUT = frozenset({"_NL", "_INDENT", "_DEDENT"})
_OPENING = frozenset({"LPAR", "LSQB"})
_CLOSING = frozenset({"RPAR", "RSQB"})
_OPERANDS = frozenset({
    "NAME", "NUMBER", "TEXT", "TYPE", "TIME", "SELF", "RPAR", "RSQB", "TRUE", "FALSE", "INF", "NONE",
})
_SIGNS = frozenset({"MINUS", "PLUS", "ADDOP"})
_NEVER_BEFORE = frozenset({"COMMA", "COLON", "DOT", "RPAR", "RSQB"})


@dataclass(frozen=True)
class Piece:
    """A token of a row.

    Attributes:
        kind: the terminal of the grammar.
        text: its characters.
        depth: the number of brackets around it.
        spaced: whether a space is written before it.
        broken: whether it is the first token of a continuation line.
        remark: for a broken piece, the comment at the end of the line before it.
        notes: for a broken piece, the comment lines above it.
    """

    kind: str
    text: str
    depth: int
    spaced: bool
    broken: bool = False
    remark: str = ""
    notes: tuple[str, ...] = ()

    @property
    def opens(self) -> bool:
        """Whether the piece is an opening bracket."""
        return self.kind in _OPENING

    @property
    def closes(self) -> bool:
        """Whether the piece is a closing bracket."""
        return self.kind in _CLOSING


@dataclass(frozen=True)
class Above:
    """A line without tokens: a comment with the depth of its block, or a blank line with an empty text."""

    depth: int = 0
    text: str = ""


@dataclass
class Row:
    """A logical line.

    Attributes:
        depth: the number of blocks around it.
        above: the comment lines and blank lines above it.
        column: the column of its first token, from 0.
        pieces: its tokens.
        remark: the comment at its end.
    """

    depth: int
    above: list[Above]
    column: int
    pieces: list[Piece] = field(default_factory=list)
    remark: str = ""

    @property
    def single(self) -> bool:
        """Whether the row has no continuation lines."""
        return not any(piece.broken for piece in self.pieces)


@dataclass(frozen=True)
class Rows:
    """The rows of a text, and the comments below the last row."""

    rows: tuple[Row, ...]
    below: tuple[Above, ...]

    def tokens(self) -> list[tuple[int, str, str]]:
        """The tokens of the text as (depth, terminal, text), with an empty token between rows."""
        return [token for row in self.rows
                for token in (*((row.depth, p.kind, p.text) for p in row.pieces), (row.depth, "", ""))]

    def comments(self) -> list[str]:
        """Every comment, in the order of the text."""
        return [comment for comment in self._comments() if comment]

    def _comments(self) -> Iterator[str]:
        for row in self.rows:
            yield from (line.text for line in row.above)
            for piece in row.pieces:
                yield from (piece.remark, *piece.notes)
            yield row.remark
        yield from (line.text for line in self.below)


def read_rows(text: str) -> Rows:
    """The rows of a text. Raises Lark's errors if the text does not parse."""
    rows: list[Row] = []
    depth = brackets = end = 0
    fresh = True  # whether the next token begins a row
    for token in grammar().parse_interactive(text).iter_parse():
        if token.type in _LAYOUT:
            fresh = True
            depth += (token.type == "_INDENT") - (token.type == "_DEDENT")
            continue
        start = token.start_pos or 0
        gap = text[end:start]
        end = token.end_pos or start
        if fresh:
            row = Row(depth, _between(rows, gap, depth), start - text.rfind("\n", 0, start) - 1)
            rows.append(row)
            row.pieces.append(Piece(token.type, str(token), 0, False))
            fresh, brackets = False, 0
            continue
        brackets -= token.type in _CLOSING
        row.pieces.append(_piece(token, gap, row.pieces, brackets))
        brackets += token.type in _OPENING
    below = _between(rows, text[end:] + "\n", 0)
    while below and not below[-1].text:
        below.pop()
    return Rows(tuple(rows), tuple(below))


def _piece(token: Token, gap: str, before: list[Piece], brackets: int) -> Piece:
    first, *rest = map(_comment, gap.split("\n"))
    notes = tuple(line for line in rest if line)
    return Piece(token.type, str(token), brackets, _spaced(before, token.type), bool(rest), first, notes)


def _comment(line: str) -> str:
    """Return the comment in a text between two tokens, without spaces at the end of the comment; "" if there is no
    comment.
    """
    return line[line.index("#") :].rstrip(" \t\r") if "#" in line else ""


def _spaced(before: list[Piece], kind: str) -> bool:
    """Return whether a space is written between the pieces of a row and the token that follows them."""
    last = before[-1]
    if kind in _NEVER_BEFORE:
        return kind == "DOT" and last.kind == "NUMBER"  # `1 .x` is a member of 1; `1.x` does not parse
    if last.opens or last.kind == "DOT":
        return False
    if _sign(before):
        return kind in _SIGNS
    if kind == "LPAR":
        return last.kind != "NAME"
    return kind != "LSQB" or last.kind not in _OPERANDS


def _sign(pieces: list[Piece]) -> bool:
    """Return whether the last piece is the sign of an operand, not an operator between two operands."""
    return pieces[-1].kind in _SIGNS and (len(pieces) < 2 or pieces[-2].kind not in _OPERANDS)


def _between(rows: list[Row], gap: str, depth: int) -> list[Above]:
    """Return the comments and blank lines between the last row and the next row.

    The function also sets the remark of the last row.

    Args:
        gap: the text between the rows.
        depth: the depth of the next row. A comment between a block and a row outside of the block belongs to the
            innermost block that is not indented more than the comment.
    """
    lines = gap.split("\n")[:-1] if "\n" in gap else []
    if rows and lines:
        rows[-1].remark = _comment(lines.pop(0))
    levels = _levels(rows) if rows and rows[-1].depth > depth and any("#" in line for line in lines) else []
    found: list[Above] = []
    for line in lines:
        text = _comment(line)
        if not text:
            opened = bool(rows) and rows[-1].depth < depth
            if found or (rows and not opened):
                found.extend([Above()] if not found or found[-1].text else [])
            continue
        column = len(line.expandtabs(8)) - len(line.expandtabs(8).lstrip(" "))
        inside = [level for level in range(depth, len(levels)) if levels[level] <= column]
        found.append(Above(inside[-1] if inside else depth, text))
    return found


def _levels(rows: list[Row]) -> list[int]:
    """The columns at which the blocks around the last row begin, outermost first."""
    levels: dict[int, int] = {}
    for row in reversed(rows):
        if row.depth not in levels and row.depth <= min(levels, default=row.depth):
            levels[row.depth] = row.column
        if row.depth == 0:
            break
    return [levels[depth] for depth in sorted(levels)]

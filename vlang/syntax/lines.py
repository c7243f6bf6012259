"""Splits a program text into logical lines, and finds the problems that can be found without parsing.

This module is only used for texts with errors. A line is the unit of recovery: a line that does not parse is left out,
and all other lines are parsed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cached_property

from vlang.records import dataclass
from vlang.syntax.codes import Code
from vlang.syntax.problems import Problem
from vlang.syntax.rewrite import one_line
from vlang.syntax.tree import Span

__all__ = ["BLOCK_WORDS", "STATEMENT_WORDS", "Line", "Scan", "Source", "Word", "scan"]

BLOCK_WORDS = frozenset({"repeat", "where", "sweep", "for"})
STATEMENT_WORDS = BLOCK_WORDS | {
    "gather", "apply", "let", "activate", "vertex", "edge", "global", "fn", "reduction", "require", "program",
}
_TOKEN = re.compile(
    r"(?P<space>[ \t]+)|(?P<comment>\#[^\n]*)|(?P<joined>\\[ \t]*\r?\n)|(?P<newline>\r?\n)"
    r"|(?P<number>0[xX][0-9a-fA-F]+|(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r'|(?P<text>"[^"\n]*")'
    r"|(?P<op>\*\*|//|->|--|==|!=|<=|>=|<<|>>|[-+*|&^]=|[-+*/%<>=&|^()\[\],.:]|(?<=[\w)\]] )@(?= ))|(?P<bad>.)",
    re.DOTALL)
# Matches a line that must begin a new statement. A bracket that is still open above it was never closed.
_NEW_STATEMENT = re.compile(
    r"[ \t]*(?:(?:gather|apply|let|where|repeat|sweep|activate|require|global|fn|reduction|program"
    r"|while|def|elif|return)\b"
    r"|(?:vertex|edge)[ \t]+[A-Za-z_]\w*[ \t]*[:,])")
_WORDS = frozenset({"name", "number", "text", "op", "bad"})
_CLOSES = {")": "(", "]": "["}
_LONGEST = 1000  # characters of a line that is compared with other languages, as the patterns take quadratic time
_CHOICE = re.compile(r"(.*? = )?(.+?) \? (.+?) : (.+)")


@dataclass(frozen=True)
class Word:
    """A token of a line.

    Attributes:
        kind: "name", "number", "text", "op" or "bad".
    """

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass
class Line:
    """A logical line: the tokens of one statement or header, which may span several lines of the text.

    Attributes:
        words: its tokens.
        indent: the width of its indentation in columns.
        depth: the number of enclosing blocks.
        bad: whether the line has a reported problem and is therefore left out of the parsed text.
    """

    words: list[Word]
    indent: int
    depth: int = 0
    bad: bool = False

    @property
    def start(self) -> int:
        return self.words[0].start

    @property
    def end(self) -> int:
        return self.words[-1].end

    @property
    def first(self) -> str:
        return self.words[0].text

    @property
    def opens(self) -> bool:
        """Whether the line ends with the colon that begins a block."""
        return self.words[-1].text == ":"


@dataclass(frozen=True)
class Source:
    """A text, with the offsets of its lines to compute spans."""

    text: str

    @cached_property
    def starts(self) -> list[int]:
        """The offsets at which the lines begin."""
        return [0, *(m.end() for m in re.finditer("\n", self.text))]

    def span(self, start: int, end: int) -> Span:
        """The span from one offset to another."""
        row = bisect_right(self.starts, start) - 1
        return Span(start, max(end, start), row + 1, start - self.starts[row] + 1)


@dataclass
class Scan:
    """The logical lines of a text, and the problems found so far.

    Attributes:
        source: the text.
        known: reports a line of another language that contains a character which vlang does not have.
        lines: the logical lines.
        problems: the problems.
    """

    source: Source
    known: Known
    lines: list[Line] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def problem(self, title: str, start: int, end: int, label: str = "", *, help: tuple[str, ...] = (),
                line: Line | None = None, write: tuple[str, ...] = ()) -> None:
        """Record a syntax error at the characters [start, end).

        Args:
            title: a sentence that says what is wrong.
            start: the offset of the first wrong character.
            end: the offset after the last wrong character.
            label: the text shown beside these characters.
            help: lines of advice.
            line: the logical line that `write` replaces.
            write: correct program lines.
        """
        span = self.source.span(start, end)
        whole = self.source.span(line.start, line.end) if line is not None else None
        self.problems.append(Problem(Code.SYNTAX, title, span, label, help=help, write=write, replaces=whole))

    def text(self, line: Line) -> str:
        """The text of a logical line, on one line and without comments."""
        return one_line(self.source.text[line.start : line.end])


Known = Callable[[Scan, Line], bool]
"""Reports a line with a character that the language does not have, and returns whether it knows the line."""

Blocks = Callable[[Scan], None]
"""Reports lines of another language that are translated together, and marks them as bad."""


def scan(text: str, known: Known = lambda scan, line: False, blocks: Blocks = lambda scan: None) -> Scan:
    """Split a text into logical lines with their depths, and collect problems of characters, brackets and layout."""
    result = Scan(Source(text), known)
    for line in _logical_lines(text, result):
        result.lines.append(line)
    blocks(result)
    _layout(result)
    return result


def _logical_lines(text: str, result: Scan) -> Iterator[Line]:
    words: list[Word] = []
    brackets: list[Word] = []
    bad = False
    for match in _TOKEN.finditer(text):
        kind, value, start = match.lastgroup or "", match.group(), match.start()
        if kind == "newline" or match.end() == len(text):
            if kind in _WORDS:
                words.append(Word(kind, value, start))
                bad = _character(text, words, brackets, result) or bad
            more = kind == "newline" and match.end() < len(text)
            if brackets and more and not _NEW_STATEMENT.match(text, match.end()):
                continue
            bad = _unclosed(brackets, result) or bad
            if words:
                yield Line(words, _indent(text, words[0].start), bad=bad)
            words, brackets, bad = [], [], False
        elif kind in _WORDS:
            words.append(Word(kind, value, start))
            bad = _character(text, words, brackets, result) or bad


def _indent(text: str, start: int) -> int:
    """The width of the indentation; a tab extends to the next multiple of eight."""
    begin = text.rfind("\n", 0, start) + 1
    return len(text[begin:start].expandtabs(8))


def _unclosed(brackets: list[Word], result: Scan) -> bool:
    for bracket in brackets:
        result.problem(f"`{bracket.text}` is never closed", bracket.start, bracket.end)
    return bool(brackets)


def _character(text: str, words: list[Word], brackets: list[Word], result: Scan) -> bool:
    """Check the last word of a line, and return whether this word makes the line unparsable.

    Args:
        brackets: the stack of open brackets, which this function updates.
    """
    word = words[-1]
    if word.text in ("(", "["):
        brackets.append(word)
    elif word.text in _CLOSES:
        if brackets and brackets[-1].text == _CLOSES[word.text]:
            brackets.pop()
        elif brackets:
            opened = brackets.pop()
            result.problem(f"`{word.text}` does not close `{opened.text}`", word.start, word.end)
            return True
        else:
            result.problem(f"`{word.text}` closes nothing", word.start, word.end,
                           f"no `{_CLOSES[word.text]}` is open here")
            return True
    elif word.kind == "bad":
        if not any(w.kind == "bad" for w in words[:-1]):  # one message per line
            _unknown(word, result)
        return True
    return False


def _around(word: Word, result: Scan) -> Line:
    """Return the line of the text that contains a word as a logical line of one word, without leading spaces."""
    text = result.source.text
    begin, end = text.rfind("\n", 0, word.start) + 1, text.find("\n", word.start)
    line = text[begin : len(text) if end < 0 else end]
    begin += len(line) - len(line.lstrip())
    return Line([Word("bad", line.strip(), begin)], 0)


def _unknown(word: Word, result: Scan) -> None:
    line = _around(word, result)
    if len(line.first) < _LONGEST and result.known(result, line):
        return
    if word.text == "!":
        result.problem("`!` is written `not`", word.start, word.end, "not an operator of the language")
    elif word.text == "'":
        said = line.first
        result.problem("a text is written in double quotes", word.start, word.end, line=line,
                       write=(said.replace("'", '"'),) if said.count("'") % 2 == 0 and '"' not in said else ())
    elif word.text == '"':
        result.problem("this text does not end on its line", word.start, word.end,
                       help=("a text is written in double quotes, and has none inside",))
    elif word.text == ";":
        result.problem("`;` ends no statement", word.start, word.end, help=("a statement ends with its line:",),
                       line=line, write=(line.first.rstrip("; "),))
    elif word.text in "{}" and re.match(r"(?:vertex|apply|let)\b.*[=|] ?\{", line.first):
        result.problem("there are no sets as values", word.start, word.end,
                       help=("a set of at most 64 numbers is a `u64`: `bit(i)` has one of them, `|` and the reduction "
                             "`bitor` join sets, and `x & bit(i) != 0` asks for one",))
    elif word.text in "{}":
        result.problem(f"`{word.text}` marks no block and no set", word.start, word.end,
                       help=("a block begins with `:` and is indented",))
    elif word.text == "?":
        choice = _CHOICE.fullmatch(line.first)
        write = (choice.expand(r"\1\3 if \2 else \4"),) if choice is not None else ()
        result.problem("`?` chooses no value", word.start, word.end, help=("`c ? a : b` is written `a if c else b`",),
                       line=line, write=write)
    elif word.text == "\\":
        result.problem("`\\` continues a line only at its end", word.start, word.end)
    elif word.text.isprintable():
        result.problem(f"`{word.text}` means nothing here", word.start, word.end,
                       "not a character of the language" if word.text.isascii() else "names and operators are ASCII")
    else:
        result.problem(f"the character U+{ord(word.text):04X} means nothing here", word.start, word.end)


# ---------------------------------------------------------------------- layout


def _layout(result: Scan) -> None:
    """Compute the depths of lines from their indentations, and report tabs, wrong indentations and missing blocks."""
    _tabs(result)
    levels = [0]
    previous: Line | None = None
    astray = False  # whether the lines here are indented wrongly; only the first of them is reported
    for line in result.lines:
        if previous is None:
            levels = [line.indent]
        elif line.indent > levels[-1]:
            if previous.opens or not astray:
                astray = not _may_open(previous, result, line)
            if not astray:
                levels.append(line.indent)
        else:
            astray = False
            if previous.opens and not previous.bad:
                _blockless(previous, result)
            while len(levels) > 1 and line.indent < levels[-1]:
                levels.pop()
            if line.indent != levels[-1]:
                result.problem("this line is at the level of no line above", line.start, line.end,
                               help=("indent the lines of a block equally",))
        line.depth = len(levels) - 1
        previous = line
    if previous is not None and previous.opens and not previous.bad:
        _blockless(previous, result)


def _tabs(result: Scan) -> None:
    text = result.source.text
    for line in result.lines:
        begin = text.rfind("\n", 0, line.start) + 1
        tab = text.find("\t", begin, line.start)
        if tab >= 0:
            result.problem("a tab in the indentation", tab, tab + 1, help=("indent with spaces",))
            return  # only the first is reported: a text with one tab usually has many


def _may_open(header: Line, result: Scan, line: Line) -> bool:
    """Return whether an indented line may begin a block below `header`. Reports a missing colon, or a wrong
    indentation.
    """
    if header.opens or header.bad:
        return True
    if header.first in BLOCK_WORDS:
        result.problem("`:` is missing", header.end, header.end, "a block follows", line=header,
                       write=(result.text(header) + ":",))
        header.bad = True
        return True
    result.problem("this line is indented deeper, but no block begins here", line.start, line.end,
                   help=("only a line that ends with `:` opens a block",))
    return False


def _blockless(header: Line, result: Scan) -> None:
    if header.first in STATEMENT_WORDS:
        result.problem("a block must follow", header.end - 1, header.end, "nothing is indented below this line")
        header.bad = True

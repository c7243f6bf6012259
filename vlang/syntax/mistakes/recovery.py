"""Recovery from syntax errors: lines that do not parse are left out, so that one run reports several errors.

A line that does not parse is replaced by `let _=0`, or by the header of a block if deeper lines follow (language.md,
Appendix B). Then the text is parsed again. Positions in the new text are translated back to the user's text.
"""

from __future__ import annotations

from bisect import bisect_right

from lark import Tree
from lark.exceptions import LarkError, UnexpectedEOF, UnexpectedInput

from vlang.records import dataclass
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.syntax.keywords import RESERVED
from vlang.syntax.lark_tree import raw_tree
from vlang.syntax.lines import Line, Scan, Source, scan
from vlang.syntax.mistakes.hints import explain, in_words
from vlang.syntax.parser import build
from vlang.syntax.problems import Problem, in_order
from vlang.syntax.program_file import MOST_CHARACTERS, MOST_GATHERS, MOST_LEVELS, MOST_LOOPS, MOST_STATEMENTS

__all__ = ["Reading", "read"]

_MOST_ERRORS = 20


@dataclass(frozen=True)
class Reading:
    """The result of parsing a text.

    Attributes:
        file: the tree of all lines that could be parsed; None if no line could be parsed.
        problems: the syntax errors.
        broken: the names on lines that were left out.
    """

    file: t.File | None
    problems: tuple[Problem, ...] = ()
    broken: frozenset[str] = frozenset()


def read(text: str, filename: str) -> Reading:
    """Parse a text. Lines with syntax errors are left out."""
    whole = _whole(text)
    if whole is not None:
        return Reading(None, (whole,))
    if not any("\t" in line[: len(line) - len(line.lstrip())] for line in text.splitlines()):
        try:
            raw = raw_tree(text)
        except (LarkError, AssertionError):  # Lark's indenter asserts that brackets match
            pass
        else:
            deep = _too_deep(raw, Source(text))
            if deep is not None:
                return Reading(None, (deep,))
            file = build(raw, text, filename)
            many = _too_many(file)
            return Reading(None, (many,)) if many else Reading(file)
    return _recovered(text, filename)


def _whole(text: str) -> Problem | None:
    """Return the problem of a text that is too long or has forbidden characters; None if the text can be parsed."""
    start = t.Span(0, 0, 1, 1)
    if len(text) > MOST_CHARACTERS:
        return Problem(Code.TOO_LARGE, f"the text is longer than {MOST_CHARACTERS:,} characters", start)
    nul = text.find("\0")
    if nul >= 0:
        return Problem(Code.SYNTAX, "a NUL byte: this is no program text", Source(text).span(nul, nul + 1))
    wrong = next((i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff"), None) if not text.isascii() else None
    if wrong is not None:
        return Problem(Code.SYNTAX, "this is not UTF-8 text", Source(text).span(wrong, wrong + 1))
    return None


def _recovered(text: str, filename: str) -> Reading:
    from vlang.syntax.mistakes.block_rules import report_blocks  # start-up: compiles many patterns

    found = scan(text, _of_other_language, report_blocks)
    if not found.lines:
        empty = Problem(Code.SYNTAX, "the file is empty", t.Span(0, 0, 1, 1),
                        help=("a program begins with its header:",), write=("program name",),
                        replaces=t.Span(0, 0, 1, 1))
        return Reading(None, (empty,))
    _in_words(found)
    headed = _header(found)
    file = None
    while len(found.problems) <= _MOST_ERRORS:
        layout = _Layout(found, headed)
        try:
            raw = raw_tree(layout.text)
        except UnexpectedInput as error:
            if not _put_aside(error, layout, found):
                break
            continue
        deep = _too_deep(raw, Source(text), layout)
        if deep is not None:
            found.problems.append(deep)
        else:
            file = build(raw, text, filename, layout.span)
            many = _too_many(file)
            if many is not None:
                found.problems.append(many)
                file = None
        break
    names = {w.text for line in found.lines if line.bad for w in line.words if w.kind == "name"} - RESERVED
    return Reading(file, in_order(found.problems), frozenset(names | {"_"}))


def _in_words(found: Scan) -> None:
    """Give the first problem of a character of each line a proposal for the whole line, if that parses."""
    lines = {line.start: line for line in found.lines if line.bad}
    for place, problem in enumerate(found.problems):
        span = problem.span
        start = next((one.start for one in lines.values() if one.start <= span.start and span.end <= one.end), None)
        if start is not None:
            found.problems[place] = in_words(found, lines.pop(start), problem)


def _of_other_language(found: Scan, line: Line) -> bool:
    """Report a line with a character of another language, if the translation of this line is known."""
    from vlang.syntax.mistakes.habits import habit_with_marks  # start-up: compiles many patterns

    habit = habit_with_marks(line.first)
    if habit is not None:
        begin, end = habit.mark
        found.problem(habit.title, line.start + begin, line.start + end, help=habit.help,
                      line=line if habit.write else None, write=habit.write)
    return habit is not None


def _header(found: Scan) -> bool:
    """Return whether the first line is the header. Reports a missing or misplaced header."""
    first = found.lines[0]
    if first.first == "program":
        return True
    later = [line for line in found.lines if line.first == "program"]
    start, end = first.start, first.words[0].end
    if later:
        found.problem("the header must come first", start, end,
                      help=(f"move line {found.source.span(later[0].start, later[0].end).line} to the top",))
    else:
        found.problem("the header is missing", start, end, help=("a program begins with its header:",),
                      line=first, write=("program name", found.text(first)))
    for line in later:
        line.bad = True
    return False


def _put_aside(error: UnexpectedInput, layout: _Layout, found: Scan) -> bool:
    """Report a parse error and mark its line as bad.

    Returns False if the line was marked before, since another attempt to parse would fail in the same way.
    """
    at_end = isinstance(error, UnexpectedEOF) or getattr(getattr(error, "token", None), "type", "") == "$END"
    place = len(layout.text) if at_end else error.pos_in_stream or 0
    index, offset = layout.line_at(place)
    line = found.lines[index]
    if line.bad:
        return False
    expected = set(getattr(error, "expected", None) or getattr(error, "allowed", None) or ())
    found.problems.append(explain(found, line, offset, expected))
    line.bad = True
    return True


class _Layout:
    """A text with placeholders in place of the bad lines, and a map from positions in this text to positions in the
    user's text.
    """

    def __init__(self, found: Scan, headed: bool) -> None:
        self._source = found.source
        pieces: list[str] = [] if headed else ["program _\n"]
        size = sum(map(len, pieces))
        self._new: list[int] = []
        self._old: list[tuple[int, int]] = []
        for index, line in enumerate(found.lines):
            deeper = index + 1 < len(found.lines) and found.lines[index + 1].depth > line.depth
            indent = "    " * line.depth
            body = _placeholder(line, deeper, index == 0 and headed) if line.bad else \
                found.source.text[line.start : line.end]
            self._new.append(size + len(indent))
            self._old.append((line.start, line.end))
            pieces.append(f"{indent}{body}\n")
            size += len(pieces[-1])
        self.text = "".join(pieces)

    def line_at(self, place: int) -> tuple[int, int]:
        """The index of the line at a position in this text, and the corresponding position in the user's text."""
        index = max(bisect_right(self._new, place) - 1, 0)
        start, end = self._old[index]
        return index, min(max(start + place - self._new[index], start), end)

    def span(self, start: int, end: int) -> t.Span:
        """The span in the user's text that corresponds to a range in this text."""
        return self._source.span(self.line_at(start)[1], self.line_at(end)[1])


def _placeholder(line: Line, deeper: bool, header: bool) -> str:
    if header:
        return "program _"
    if not deeper:
        return "let _=0"
    return "where true:" if line.first in ("where", "sweep") else "repeat:"


def _too_deep(raw: object, source: Source, layout: _Layout | None = None) -> Problem | None:
    """A problem if the tree is nested deeper than recursive functions can handle; else None."""
    todo: list[tuple[object, int]] = [(raw, 0)]
    while todo:
        node, depth = todo.pop()
        if not isinstance(node, Tree):
            continue
        kids = node.children
        if depth > MOST_LEVELS:
            meta = getattr(node, "meta", None)
            start, end = getattr(meta, "start_pos", 0), getattr(meta, "end_pos", 0)
            span = layout.span(start, end) if layout is not None else source.span(start, end)
            return Problem(Code.TOO_LARGE, f"this is nested more than {MOST_LEVELS} levels deep", span,
                           help=("name parts of it with `let`, `gather` or fields",))
        inside = depth + (len(kids) // 2 if node.data == "compare" else 1)  # a chain of comparisons nests to the left
        todo.extend((kid, inside) for kid in kids)
    return None


def _too_many(file: t.File) -> Problem | None:
    """A problem if the program has too many statements, loops or gathers; else None."""
    todo: list[t.Node] = [*reversed(file.items)]
    count = loops = gathers = 0
    while todo:
        node = todo.pop()
        count += 1
        if count > MOST_STATEMENTS:
            return Problem(Code.TOO_LARGE, f"a program has at most {MOST_STATEMENTS:,} statements", node.span,
                           "one more than that")
        loops += isinstance(node, (t.Repeat, t.Sweep, t.ForVertices, t.ForRange))
        if loops > MOST_LOOPS:
            return Problem(Code.TOO_LARGE, f"a program has at most {MOST_LOOPS:,} loops", node.span,
                           "one more than that", help=("a loop around those that are alike, or several programs",))
        gathers += isinstance(node, t.Gather)
        if gathers > MOST_GATHERS:
            return Problem(Code.TOO_LARGE, f"a program has at most {MOST_GATHERS:,} gathers", node.span,
                           "one more than that", help=("a field of vectors for those that are alike, or several "
                                                       "programs",))
        block = getattr(node, "block", None)
        if isinstance(block, t.Block):
            todo += reversed(block.items)
    return None

"""Explains why a line does not parse. Rules explain frequent mistakes; other mistakes give a list of the expected
words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from lark.exceptions import LarkError

from vlang.records import dataclass
from vlang.syntax.codes import Code
from vlang.syntax.keywords import TYPE_NAMES
from vlang.syntax.lark_tree import raw_tree
from vlang.syntax.lines import BLOCK_WORDS, STATEMENT_WORDS, Line, Scan, Word
from vlang.syntax.mistakes.expected import expected_words
from vlang.syntax.mistakes.spelling.words import as_repeat, respelled
from vlang.syntax.problems import Problem, nearest
from vlang.syntax.rewrite import one_line

__all__ = ["explain", "in_words", "parses"]

_UPDATES = frozenset({"+=", "-=", "*=", "|=", "&=", "^="})
_JOINING = frozenset({"min", "max", "and", "or"})
_LONGEST = 1000  # characters of a line that is compared with other languages, as the patterns take quadratic time
_CONDITION_WORDS = frozenset({"where", "until", "if", "when", "require"})


@dataclass(frozen=True)
class _Case:
    """A line that does not parse.

    Attributes:
        found: the logical lines of the text.
        line: the line.
        at: the index of the first wrong word; the number of words if the line ends too early.
        expected: the terminals that the parser accepts at the wrong word.
    """

    found: Scan
    line: Line
    at: int
    expected: set[str]

    @property
    def words(self) -> list[Word]:
        return self.line.words

    @property
    def here(self) -> Word | None:
        return self.words[self.at] if self.at < len(self.words) else None

    @property
    def before(self) -> Word | None:
        return self.words[self.at - 1] if self.at else None

    def text(self, start: int, end: int) -> str:
        return one_line(self.found.source.text[start:end])

    def edited(self, start: int, end: int, new: str) -> tuple[str, ...]:
        """Return the line after the characters [start, end) of the text are replaced by `new`."""
        text = self.found.source.text
        return (one_line(text[self.line.start : start] + new + text[end : self.line.end]),)

    def problem(self, title: str, start: int, end: int, label: str = "", *, help: tuple[str, ...] = (),
                write: tuple[str, ...] = ()) -> Problem:
        span = self.found.source.span(start, end)
        whole = self.found.source.span(self.line.start, self.line.end)
        return Problem(Code.SYNTAX, title, span, label, help=help, write=write, replaces=whole if write else None)

    def word(self, title: str, word: Word, label: str = "", *, help: tuple[str, ...] = (),
             write: tuple[str, ...] = ()) -> Problem:
        return self.problem(title, word.start, word.end, label, help=help, write=write)


def explain(found: Scan, line: Line, offset: int, expected: set[str]) -> Problem:
    """The problem of a line that the parser refuses.

    Args:
        found: the logical lines of the text.
        line: the line.
        offset: the offset of the first character that the parser refuses.
        expected: the terminals that the parser accepts at this place.
    """
    at = next((i for i, w in enumerate(line.words) if w.end > offset), len(line.words))
    case = _Case(found, line, at, expected)
    for rule in _RULES:
        problem = rule(case)
        if problem is not None:
            return in_words(found, line, problem)
    problem = _general(case)
    other = in_words(found, line, problem)
    if not other.write:
        return problem
    _, said, written = respelled(case.text(line.start, line.end))
    return replace(other, title=f"`{said}` is written `{written}`", help=())


def in_words(found: Scan, line: Line, problem: Problem) -> Problem:
    """A problem with a proposal that parses: its own, with words of other languages spelled as here, or else its line
    with such words; without a proposal if none parses.
    """
    if problem.write and parses(problem.write):
        return problem
    text = one_line(found.source.text[line.start : line.end])
    new = [tuple(respelled(one)[0] for one in problem.write), (respelled(text)[0],)] if len(text) <= _LONGEST else []
    if new and not parses(new[1]) and new[1][0] != text:
        from vlang.syntax.mistakes.habits import habit_of  # start-up: compiles many patterns

        habits = [habit_of(new[1][0])] + [habit_of(one) for one in problem.write if len(problem.write) == 1]
        new += [tuple(respelled(one)[0] for one in habit.write) for habit in habits if habit is not None]
    write = next((one for one in new if one and one[0] != text and parses(one)), ())
    if any(one.startswith("leave") for one in problem.help):
        write = ()
    help_ = problem.help if write or not problem.write else tuple(one.removesuffix(":") for one in problem.help)
    return replace(problem, help=help_, write=write,
                   replaces=found.source.span(line.start, line.end) if write else None)


def parses(lines: tuple[str, ...]) -> bool:
    """Whether proposed lines parse. Proposed lines do not parse if the corrected line has another syntax error."""
    if not lines or lines[0].startswith("program"):
        return True
    block = "\n    let _ = 0" if lines[-1].endswith(":") else ""
    try:
        raw_tree("program _\n" + "\n".join(lines) + block + "\n")
    except (LarkError, AssertionError):  # Lark's indenter asserts that brackets match
        return False
    return True


# --------------------------------------------------------- habits of other languages


def _habit(case: _Case) -> Problem | None:
    first, line = case.words[0], case.line
    rest = case.text(first.end, line.end - 1 if line.opens else line.end).strip()
    if first.text == "def":
        return case.word("functions are declared with `fn`", first, help=("`fn f(x: float) = x * x`",))
    if first.text in ("elif", "else"):
        return case.word(f"there is no `{first.text}` statement", first,
                         help=("`a if c else b` chooses a value; `where c:` and `where not c:` choose vertices",))
    if first.text == "if":
        write = (f"where {rest}:",) if line.opens and rest else ()
        return case.word("there is no `if` statement", first, help=("`where` runs a block where a condition holds:",),
                         write=write)
    if first.text in ("param", "parameter", "input", "const"):
        return case.word(f"no statement begins with `{first.text}`", first,
                         help=("parameters are declared in the header: `program p(W: float)`",))
    if first.text == "while":
        write = (as_repeat(rest),) if line.opens and rest else ()
        return case.word("there is no `while`", first,
                         help=("`repeat` runs one superstep, and then until a condition holds:",), write=write)
    if first.text in ("return", "import", "class", "print", "global" if rest == "" else "return"):
        return case.word(f"there is no `{first.text}` in the language", first)
    return None


def _of_other_language(case: _Case) -> Problem | None:
    """The problem of a line that is a construct of another language."""
    from vlang.syntax.mistakes.foreign_lines import foreign_line  # start-up: compiles many patterns
    from vlang.syntax.mistakes.habits import habit_of  # start-up: also compiles many patterns
    from vlang.syntax.mistakes.surroundings import surroundings  # start-up: only for a line of another language

    line, start = case.text(case.line.start, case.line.end), case.line.start
    if len(line) > _LONGEST:
        return None
    found = habit_of(line)
    if found is None:
        place = next(i for i, one in enumerate(case.found.lines) if one is case.line)
        found = foreign_line(line, surroundings(case.found, place))
    if found is None:
        return None
    joined = line != case.found.source.text[start : case.line.end]  # if so, the mark's offsets fit another text
    begin, end = (0, case.line.end - start) if joined else found.mark
    return case.problem(found.title, start + begin, start + end, help=found.help, write=found.write)


def _doubled(case: _Case) -> Problem | None:
    here, before = case.here, case.before
    if here is None or before is None or here.text != before.text or here.text not in "&|":
        return None
    word = "and" if here.text == "&" else "or"
    left = "" if case.found.source.text[before.start - 1].isspace() else " "
    right = "" if case.found.source.text[here.end : here.end + 1].isspace() else " "
    write = case.edited(before.start, here.end, left + word + right)
    return case.problem(f"`{here.text * 2}` is written `{word}`", before.start, here.end, write=write)


# ------------------------------------------------------------------- statements


def _activate(case: _Case) -> Problem | None:
    if case.words[0].text != "activate" or (len(case.words) > 1 and case.words[1].text == "when"):
        return None
    first = case.words[0]
    write = case.edited(first.end, first.end, " when") if len(case.words) > 1 and case.words[1].text != "if" else ()
    if len(case.words) > 2 and case.words[1].text == "if":
        write = case.edited(case.words[1].start, case.words[1].end, "when")
    return case.word("`activate` needs `when`", first, "which vertices count as changed?", write=write)


def _gather_update(case: _Case) -> Problem | None:
    words = case.words
    if len(words) < 3 or words[0].text != "gather" or words[2].text not in _UPDATES:
        return None
    write = case.edited(words[2].start, words[2].end, "=")
    return case.word(f"`gather` names a new value: `{words[2].text}` has nothing to update", words[2],
                     help=(f"gather first, then `apply x {words[2].text} {words[1].text}`:",), write=write)


def _apply_function(case: _Case) -> Problem | None:
    words = case.words
    if len(words) < 5 or words[0].text != "apply" or words[2].text not in _JOINING or words[3].text != "=":
        return None
    name, function = words[1].text, words[2].text
    value = case.text(words[3].end, case.line.end).strip()
    write = (f"apply {name} = {name} {function} {value}" if function in ("and", "or")
             else f"apply {name} = {function}({name}, {value})",)
    return case.problem(f"`{function} =` is not an assignment", words[2].start, words[3].end,
                        "expected one of `= += -= *= |= &= ^=`", help=("write it out:",), write=write)


def _equals(case: _Case) -> Problem | None:
    here = case.here
    if here is None or here.text != "=":
        return None
    if not any(w.text in _CONDITION_WORDS for w in case.words[: case.at]):
        return None
    return case.word("`=` does not compare", here, "expected a condition",
                     write=case.edited(here.start, here.end, "=="))


def _arrow(case: _Case) -> Problem | None:
    words, at = case.words, case.at
    arrows = [i for i, w in enumerate(words) if w.text in ("->", "--")]
    if words[0].text == "for" and arrows:
        return case.word("a loop over neighbours is written inside a reduction", words[0],
                         help=("`gather near = min(u.dist for u -> self)`",))
    for i, text in _crossed(words):
        new = {"<->": "--", "<--": "--", "-->": "->"}.get(text)
        if new is None:  # `u <- self` is an edge from `self` to u
            left, right = words[i - 1], words[i + 2] if i + 2 < len(words) else words[i - 1]
            return case.problem("an arrow is drawn as the edge points", words[i].start, words[i + 1].end,
                                help=("in-edges: `for u -> self`; out-edges: `for self -> u`; both: `for u -- self`",),
                                write=case.edited(left.start, right.end, f"{right.text} -> {left.text}"))
        return case.problem(f"`{text}` is written `{new}`", words[i].start, words[i + 1].end,
                            help=("in-edges: `for u -> self`; out-edges: `for self -> u`; both: `for u -- self`",),
                            write=case.edited(words[i].start, words[i + 1].end, new))
    for i in arrows:
        if i + 1 < len(words) and at in (i, i + 1) and "self" not in (words[i - 1].text, words[i + 1].text):
            ends = case.text(words[i - 1].start, words[i + 1].end)
            return case.word(f"one end of `{ends}` must be `self`", words[i + 1],
                             f"`{words[i + 1].text}` is a second vertex",
                             help=("in-edges: `for u -> self`; out-edges: `for self -> u`; both: `for u -- self`",),
                             write=_as_self(case, words[i - 1].text, words[i + 1].text))
    return None


def _crossed(words: list[Word]) -> Iterator[tuple[int, str]]:
    """Yield the index and the text of each arrow of another language after a `for`. An arrow of another language
    consists of two words.
    """
    begin = next((i for i, w in enumerate(words) if w.text == "for" and i), len(words))
    for i in range(begin, len(words) - 1):
        pair = words[i].text + words[i + 1].text
        if pair in ("<->", "<--", "-->", "<-") and words[i].end == words[i + 1].start:
            yield i, pair


def _as_self(case: _Case, source: str, target: str) -> tuple[str, ...]:
    """Return the line with `self` in place of one end of an arrow between two names.

    If only fields of the target are read, `self` replaces the source; otherwise, `self` replaces the target.
    """
    if not (source.isidentifier() and target.isidentifier()):
        return ()
    line = case.text(case.line.start, case.line.end)
    read = [re.search(rf"(?<![\w.]){name}\.", line) is not None for name in (source, target)]
    name = source if read == [False, True] else target
    if name in ("vertices", "edges"):
        return ()
    return (re.sub(rf"(?<![\w.]){name}(?!\w)", "self", re.sub(rf"(?<![\w.]){name}\.(?=\w)", "", line)),)


def _colon(case: _Case) -> Problem | None:
    first, here, before = case.words[0].text, case.here, case.before
    if before is None:
        return None
    if first in BLOCK_WORDS and (here is None or here.text in STATEMENT_WORDS - BLOCK_WORDS) and before.text != ":":
        write = case.edited(before.end, before.end, ":")
        return case.problem("`:` is missing", before.end, before.end, "a block follows", write=write)
    declares = first in ("vertex", "edge", "program", "fn") and before.kind == "name" and here is not None
    if declares and here is not None and here.text in TYPE_NAMES | {"vertex", "vertices"}:
        return case.problem("`:` is missing", before.end, before.end, "a type follows",
                            write=case.edited(before.end, before.end, ":"))
    if first in ("vertex", "edge") and (here is None or here.text == "=") and before.kind == "name":
        type_ = _guess(case.words[case.at + 1 :])
        return case.problem("the type is missing", before.end, before.end, "which values?",
                            write=case.edited(before.end, before.end, f": {type_}"))
    return None


def _guess(words: list[Word]) -> str:
    texts = {w.text for w in words}
    if texts & {"true", "false"}:
        return "bool"
    if texts and texts <= {"self", "none"}:
        return "vertex"
    return "int" if len(words) == 1 and words[0].text.isdigit() else "float"


def _word_as_name(case: _Case) -> Problem | None:
    before = case.before
    if before is not None and case.at > 1 and before.text in STATEMENT_WORDS - {"for", "repeat", "vertex"}:
        return case.word(f"`{before.text}` is a word of the language", before, "it cannot be a name")
    return None


def _header_twice(case: _Case) -> Problem | None:
    if case.words[0].text == "program" and case.line is not case.found.lines[0]:
        return case.word("a file is one program", case.words[0], "a second header")
    return None


def _statement(case: _Case) -> Problem | None:
    """The problem of a line that does not begin with the keyword of a statement; None for other lines."""
    first = case.words[0]
    if case.at > 2 or first.text in STATEMENT_WORDS or first.text == "(":
        return None
    if first.kind == "name" and case.at <= 1 and len(case.words) > 1 and case.words[1].kind == "name":
        header = case.found.lines[0].words[0].text == "program" and case.line is not case.found.lines[0]
        close = nearest(first.text, STATEMENT_WORDS - ({"program"} if header else set()))
        if close:
            return case.word(f"no statement begins with `{first.text}`", first, f"did you mean `{close}`?",
                             write=case.edited(first.start, first.end, close))
    return case.word(f"no statement begins with `{first.text}`", first,
                     help=("a line begins with `gather`, `apply`, `let`, `activate when`, `where`, `repeat`, `sweep`",
                           "or `for`, or declares something"))


def _parameter(case: _Case) -> Problem | None:
    """The problem of a parameter whose type comes first, as in `vertex source`."""
    here, before = case.here, case.before
    types = TYPE_NAMES | {"vertex", "vertices"}
    if case.words[0].text != "program" or here is None or before is None or before.text not in types:
        return None
    if here.kind != "name":
        return None
    return case.problem(f"the type comes after the name of `{here.text}`", before.start, here.end,
                        write=case.edited(before.start, here.end, f"{here.text}: {before.text}"))


def _keyword_of_reduction(case: _Case) -> Problem | None:
    """Return the problem of `where` in a reduction, or of `default` or `weight` without `=`."""
    here, before = case.here, case.before
    if here is None or before is None:
        return None
    inside = any(w.text == "for" for w in case.words[1 : case.at]) and case.words[0].text not in BLOCK_WORDS
    if here.text in ("where", "when") and inside:
        return case.word(f"a reduction chooses by `if`, not by `{here.text}`", here,
                         write=case.edited(here.start, here.end, "if"))
    if before.text in ("default", "weight") and inside:
        colon = here.text == ":"
        return case.word(f"`{before.text}` needs `=`", before,
                         write=case.edited(before.end, here.end if colon else here.start, " = " if not colon else " ="))
    if here.text == "default" and inside:
        return case.word("a comma comes before `default`", here, write=case.edited(before.end, here.start, ", "))
    return None


# ---------------------------------------------------------------------- general

def _general(case: _Case) -> Problem:
    wanted = expected_words(case.expected)
    help_ = (f"expected: {wanted}",) if wanted else ()
    here, before = case.here, case.before
    if here is None:
        end = case.line.end
        after = f" after `{before.text}`" if before is not None else ""
        return case.problem(f"the line ends too early{after}", end, end, f"{wanted} is missing" if wanted else "")
    return case.word(f"`{here.text}` is not expected here", here, help=help_)


_RULES: tuple[Callable[[_Case], Problem | None], ...] = (
    _header_twice, _of_other_language, _habit, _doubled, _activate, _gather_update, _apply_function, _arrow, _equals,
    _parameter, _keyword_of_reduction, _colon, _word_as_name, _statement,
)

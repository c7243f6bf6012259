"""Services for editors: pure functions of a program text and a character offset in the text.

The services also work for programs with errors: `vlang.syntax.mistakes.recovery` leaves out lines that do not parse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from vlang.check import Problem, Run, Symbol, examine, problems_of
from vlang.check.calls import FUNCTIONS, SPECIAL
from vlang.check.names import SPOKEN
from vlang.check.tables.checking import first_line
from vlang.check.tables.scope import Level
from vlang.editor.helps import FUNCTION_HELP, REDUCTION_HELP, WORD_HELP
from vlang.records import dataclass
from vlang.reductions import REDUCTIONS
from vlang.syntax import tree as t
from vlang.syntax.keywords import PREDEFINED, TYPE_NAMES, VALUES
from vlang.syntax.lines import STATEMENT_WORDS
from vlang.syntax.mistakes.recovery import read
from vlang.syntax.needs import NEEDS, need_of
from vlang.syntax.problems import in_order
from vlang.syntax.rewrite import inside
from vlang.types import VERTEX, Type

__all__ = ["Completion", "Edit", "Hover", "Use", "completions", "examined", "fix", "hover", "problems_in", "uses"]

_LEVELS = {Level.GRAPH: "one value for the whole graph", Level.VERTEX: "one value per vertex",
           Level.EDGE: "one value per edge"}
_WITHIN = frozenset({"for", "if", "else", "and", "or", "not", "in", "vertices", "default"})
_MEMBER = re.compile(r"(?<!\w)[A-Za-z_]\w*[ \t]*\.[ \t]*\w*$")
_TYPE_PLACE = re.compile(r"[ \t]*(?:vertex|edge)[ \t]+[\w, \t]+:[ \t]*\w*$")
_APPLY_PLACE = re.compile(r"[ \t]*apply[ \t]+(?:\([\w, \t]*)?\w*$")
_HEADER = re.compile(r"^[ \t]*program\b", re.MULTILINE)
_NEED = re.compile(r"\s*require\s+\w*$")
_FIRST_WORD = re.compile(r"[ \t]*\w*$")


@dataclass(frozen=True)
class Hover:
    """The description of a piece of the text, as Markdown."""

    span: t.Span
    text: str


@dataclass(frozen=True)
class Completion:
    """A proposed word.

    Attributes:
        label: the word.
        kind: the kind of its Symbol, or "word", "type", "built-in reduction" or "built-in function".
        detail: its kind and type, as text.
        help: its meaning, as Markdown.
    """

    label: str
    kind: str
    detail: str = ""
    help: str = ""


@dataclass(frozen=True)
class Edit:
    """The text that replaces the characters [start, end)."""

    start: int
    end: int
    text: str


def problems_in(text: str, filename: str = "<text>") -> tuple[Problem, ...]:
    """All errors and warnings of a text, in order."""
    run, problems = examined(text, filename)
    if run is None or not run.constants or run.problems or problems:
        return in_order((*problems, *(run.problems if run is not None else ())))
    return problems_of(run.file)[1]  # loops are judged with the values of the constants


def examined(text: str, filename: str = "<text>") -> tuple[Run | None, tuple[Problem, ...]]:
    """The checker's tables (None if no line could be parsed), and the syntax errors."""
    reading = read(text, filename)
    if reading.file is None:
        return None, reading.problems
    return examine(reading.file, broken=reading.broken)[0], reading.problems


# ---------------------------------------------------------------------- hover


@dataclass(frozen=True)
class Use:
    """A place where the text names a symbol.

    Attributes:
        span: the place of the name.
        symbol: the symbol.
        type: the type of the expression that uses the symbol; None if the symbol has the same type.
        level: the level of the expression; None if the symbol has the same level.
    """

    span: t.Span
    symbol: Symbol
    type: Type | None = None
    level: Level | None = None


def hover(text: str, offset: int) -> Hover | None:
    """Return the type, level and declaration of the name at an offset, or the meaning of the keyword there; None for
    any other text.
    """
    run, _ = examined(text)
    if run is not None:
        for use in uses(run):
            if use.span.start <= offset < use.span.end:
                return Hover(use.span, _said(run, use))
        for node in inside(run.file):
            if isinstance(node, t.Contract) and node.cond.span.start <= offset < node.cond.span.end \
                    and (word := need_of(run.file, node)):
                return Hover(node.cond.span, f"`require {word}`: {NEEDS[word]}")
            if isinstance(node, (t.Call, t.Reduce)) and node.name_span.start <= offset < node.name_span.end:
                return Hover(node.name_span, _called(run, node))
    return _word(text, offset)


def uses(run: Run) -> Iterator[Use]:
    """Every place where the text names a symbol, including the symbol's declaration."""
    for symbol, span in run.places.items():
        yield Use(span, symbol)
    for target, symbols in run.targets.items():
        for symbol, span in zip(symbols, target.name_spans, strict=False):
            yield Use(span, symbol)
    for node, symbol in run.symbols.items():
        type_ = run.types.get(node) if isinstance(node, t.Expr) else None
        level = run.levels.get(node) if isinstance(node, t.Expr) else None
        yield Use(_name_span(node), symbol, type_, level)


def _name_span(node: t.Node) -> t.Span:
    """Return the span of the name with which a node refers to a symbol."""
    if isinstance(node, (t.Member, t.Call, t.Reduce)):
        return node.name_span
    if isinstance(node, (t.Domain, t.ForVertices)) and node.set_span is not None:
        return node.set_span
    return node.field_span if isinstance(node, t.Sweep) else node.span


def _said(run: Run, use: Use) -> str:
    symbol, decl = use.symbol, use.symbol.decl
    type_ = use.type or symbol.type or (VERTEX if symbol.kind in ("neighbour", "member") else None)
    level = _LEVELS[_level(symbol) if use.level is None else use.level]
    if symbol.kind in ("function", "reduction"):
        level = "gives " + level if use.level is not None else ""
    head = f"`{symbol.name}{'' if type_ is None else f': {type_}'}`: " + ", ".join(
        part for part in (SPOKEN[symbol.kind], level) if part)
    if decl is None:
        return f"{head}\n\n{WORD_HELP[symbol.name]}"
    span = first_line(run.file.text, decl.span)
    return f"{head}\n\n```vp\n{run.file.text[span.start : span.end].strip()}\n```"


def _level(symbol: Symbol) -> Level:
    """The level of a declared symbol."""
    if symbol.kind in ("field", "accumulator", "member") or symbol.name.endswith("degree"):
        return Level.VERTEX
    return Level.EDGE if symbol.kind in ("edge", "neighbour") else Level.GRAPH


def _called(run: Run, node: t.Call | t.Reduce) -> str:
    """The hover text of a built-in reduction or function."""
    table = REDUCTION_HELP if isinstance(node, t.Reduce) else FUNCTION_HELP
    kind = "reduction" if isinstance(node, t.Reduce) else "function"
    type_, level = run.types.get(node), run.levels.get(node)
    for gather in inside(run.file):  # the type of a reduction over edges is that of its accumulator
        if isinstance(gather, t.Gather) and gather.value is node and gather in run.declared:
            type_, level = run.declared[gather][0].type, Level.VERTEX
    given = f", gives `{type_}`, {_LEVELS[level]}" if type_ is not None and level is not None else ""
    return f"`{node.name}`: a {kind}{given}" + (f"\n\n{table[node.name]}" if node.name in table else "")


def _word(text: str, offset: int) -> Hover | None:
    for match in re.finditer(r"[A-Za-z_]\w*|#[^\n]*", text):
        if match.start() <= offset < match.end():
            help_ = WORD_HELP.get(match.group())
            if help_ is None:
                return None
            line = text.count("\n", 0, match.start()) + 1
            column = match.start() - text.rfind("\n", 0, match.start())
            return Hover(t.Span(match.start(), match.end(), line, column), help_)
    return None


# ---------------------------------------------------------------------- completion


def completions(text: str, offset: int) -> tuple[Completion, ...]:
    """The words that may be written at an offset; names of the program come first."""
    prefix = text[text.rfind("\n", 0, offset) + 1 : offset]
    if "#" in prefix:
        return ()
    run, _ = examined(text)
    declared = () if run is None else tuple(dict.fromkeys(s for group in run.declared.values() for s in group))
    fields = tuple(_declared(s for s in declared if s.kind == "field"))
    if _MEMBER.search(prefix):
        return (*fields, *_words(name for name in PREDEFINED if name.endswith("degree")))
    if _APPLY_PLACE.match(prefix):
        return fields
    if _TYPE_PLACE.match(prefix):
        return (*(Completion(name, "type") for name in sorted(TYPE_NAMES)), Completion("vertex", "type"))
    if _FIRST_WORD.match(prefix):
        return tuple(_words(STATEMENT_WORDS - ({"program"} if _HEADER.search(text) else set())))
    needs = [Completion(word, "word", help=text_) for word, text_ in NEEDS.items()] if _NEED.match(prefix) else []
    return (*needs, *_declared(s for s in declared if s.kind not in ("neighbour", "member", "argument")),
            *_bound(text, offset),
            *(Completion(name, "built-in reduction", help=REDUCTION_HELP.get(name, "")) for name in sorted(REDUCTIONS)),
            *(Completion(name, "built-in function", help=FUNCTION_HELP.get(name, ""))
              for name in sorted({*FUNCTIONS, *SPECIAL} - set(REDUCTIONS))),
            *_words(PREDEFINED | VALUES | _WITHIN))


def _declared(symbols: Iterable[Symbol]) -> Iterator[Completion]:
    seen: set[str] = set()
    for symbol in symbols:
        if symbol.name not in seen and symbol.name != "_":
            seen.add(symbol.name)
            yield Completion(symbol.name, symbol.kind, f"{SPOKEN[symbol.kind]}: {symbol.type or 'not known'}")


def _bound(text: str, offset: int) -> Iterator[Completion]:
    """The vertex names that the line at an offset introduces, such as the `u` of `for u -> self`."""
    end = text.find("\n", offset)
    line = text[text.rfind("\n", 0, offset) + 1 : len(text) if end < 0 else end]
    found = re.findall(r"\bfor[ \t]+(?:self[ \t]*(?:->|--)[ \t]*)?([A-Za-z_]\w*)", line)
    yield from (Completion(name, "neighbour", "a vertex") for name in dict.fromkeys(found) if name != "self")


def _words(names: Iterable[str]) -> Iterator[Completion]:
    yield from (Completion(name, "word", help=WORD_HELP.get(name, "")) for name in sorted(names))


# ---------------------------------------------------------------------- fixes


def fix(text: str, problem: Problem) -> Edit | None:
    """Return the edit that applies the `write:` lines of a diagnostic; None if the diagnostic has no such lines."""
    if not problem.write:
        return None
    span = problem.replaces or problem.span
    begin = text.rfind("\n", 0, span.start) + 1
    indent = text[begin : len(text) - len(text[begin:].lstrip(" \t"))]
    lines = ("\n" + indent).join(problem.write)
    stop = text.find("\n", span.start)
    stop = len(text) if stop < 0 else stop
    if problem.replaces is not None and span.start == span.end:  # an empty span: insert below its line
        return Edit(stop, stop, f"\n{indent}{lines}")
    return Edit(span.start, span.end, lines)

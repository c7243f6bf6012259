"""What rules for several lines of another language share: the lines, their translation, and parts of expressions."""

from __future__ import annotations

import re
from functools import cached_property

from vlang.records import dataclass
from vlang.syntax.lines import Scan
from vlang.syntax.mistakes.surroundings import Surroundings, split, surroundings
from vlang.syntax.rewrite import one_line

__all__ = ["LEAVE", "LEAVE_ALL", "Block", "Found", "gathered", "named", "plain"]

LEAVE, LEAVE_ALL = "leave this line out", "leave these lines out"
_DEGREE = re.compile(r"\b(?:get_?)?(in|out)?_?degree\(\)", re.IGNORECASE)
_UPDATE = re.compile(r"(?:apply )?(?P<target>[\w.]+(?:\[[^\]]+\])*) ?(?P<op>\+|-|\*|\||&|min|max)?= ?"
                     r"(?P<value>[^=].*?);?")
_FOLDS = {"+": "sum", "-": "sum", "*": "prod", "|": "any", "&": "all", "min": "min", "max": "max"}


@dataclass(frozen=True)
class Block:
    """A line of the text, and the lines below it.

    Attributes:
        found: the logical lines of the text.
        place: the index of the line.
    """

    found: Scan
    place: int

    @cached_property
    def around(self) -> Surroundings:
        return surroundings(self.found, self.place)

    def text(self, offset: int) -> str:
        """The line that is `offset` lines below, in one line; "" below the last line."""
        at = self.place + offset
        if at >= len(self.found.lines):
            return ""
        line = self.found.lines[at]
        return one_line(self.found.source.text[line.start : line.end])

    @cached_property
    def inside(self) -> int:
        """The number of lines below that are indented deeper than this line."""
        lines, count = self.found.lines, 0
        while self.place + count + 1 < len(lines) and lines[self.place + count + 1].indent > lines[self.place].indent:
            count += 1
        return count

    def body(self) -> list[str]:
        """The lines below that are indented deeper."""
        return [self.text(1 + k) for k in range(self.inside)]


@dataclass(frozen=True)
class Found:
    """The translation of some lines.

    Attributes:
        title: the mistake, by the name of the construct.
        help: advice in words.
        write: the lines to write instead; empty without a proposal.
        at: the text to mark, in the first of the lines that has it.
        lines: the number of lines that `write` replaces.
    """

    title: str
    help: str
    write: tuple[str, ...]
    at: str
    lines: int = 1


def plain(text: str, own: str = "self", neighbour: str = "", edge: str = "") -> str:
    """An expression with `x[u]`, `u["x"]`, `G.nodes[u]["x"]` and `u.OutDegree()` written as fields.

    Args:
        text: the expression.
        own: the name by which it calls the vertex that receives; its fields are read by their names.
        neighbour: the name of the neighbour.
        edge: the name of the edge, or of its columns.
    """
    text = re.sub(r"\b\w+\.(?:nodes|vertices|ndata)\[(\w+)\]\[[\"'](\w+)[\"']\]", r"\1.\2", text)
    text = re.sub(r"\b\w+\.(?:ndata|edata|vs|es)\[[\"'](\w+)[\"']\]", r"\1", text)
    text = re.sub(r"\b\w+\[\w+\]\[\w+\]\[[\"'](\w+)[\"']\]", r"\1", text)
    for name in filter(None, (own, neighbour)):
        text = re.sub(rf"\b{name}\[[\"'](\w+)[\"']\]", rf"{name}.\1", text)
        text = re.sub(rf"\b(\w+)\[{name}\]", rf"{name}.\1", text)
    if edge:
        text = re.sub(rf"\b{edge}\[[\"'](\w+)[\"']\]", r"\1", text)
        text = re.sub(rf"\b{edge}\.(?=\w)", "", text)
    text = re.sub(r"(?<=[\w.])@(?=\w)", "", text)
    text = _DEGREE.sub(lambda m: f"{(m[1] or '').lower()}degree", text)
    return re.sub(rf"\b{own}\.(?=\w)", "", text)


def named(text: str, vertex: str, block: Block) -> str:
    """An expression about the vertex itself, written about another vertex."""
    own = sorted({*block.around.fields, "degree", "indegree", "outdegree"})
    return re.sub(rf"(?<![\w.])(?:{'|'.join(own)})\b", rf"{vertex}.\g<0>", text)


def gathered(line: str, domain: str, around: Surroundings, *, own: str = "self", neighbour: str = "", edge: str = "",
             cond: str = "") -> tuple[str, ...]:
    """The lines of a gather and an apply that do what an assignment in a loop over neighbours does; () if unknown.

    Args:
        line: the assignment.
        domain: the edges of the loop.
        around: the program around it.
        own: the name of the vertex that receives.
        neighbour: the name of the neighbour.
        edge: the name of the edge.
        cond: the condition of the assignment.
    """
    match = _UPDATE.fullmatch(line)
    if match is None:
        return ()
    target, value = plain(match["target"], own, neighbour, edge), plain(match["value"], own, neighbour, edge)
    if target not in around.fields:
        return ()
    op = match["op"] or ""
    call = re.fullmatch(r"(min|max)\((.+)\)", value)
    if not op and call is not None:
        rest = [part for part in split(call[2]) if part != target]
        op, value = (call[1], rest[0]) if len(rest) == 1 else ("", value)
    elif not op and value.startswith(f"{target} + ") and " if " not in value:
        op, value = "+", value[len(target) + 3 :]
    if op not in _FOLDS:
        return ()
    word = around.fresh(f"{target}_{_FOLDS[op]}")
    test = f" if {plain(cond, own, neighbour, edge)}" if cond else ""
    new = f"{op}({target}, {word})" if op in ("min", "max") else word
    return (f"gather {word} = {_FOLDS[op]}({value} for {domain}{test})",
            f"apply {target} {'' if op in ('min', 'max') else op}= {new}")

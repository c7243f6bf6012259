"""Reports lines of other languages that are translated together, or by what the lines around them say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from vlang.syntax.codes import Code
from vlang.syntax.lines import Scan
from vlang.syntax.mistakes.block import LEAVE_ALL, Block, Found
from vlang.syntax.mistakes.comprehensions import (
    component_sum,
    distinct,
    distinct_of_all,
    listed,
    two_fors,
    unpacked,
)
from vlang.syntax.mistakes.dialects import LINES
from vlang.syntax.mistakes.hints import parses
from vlang.syntax.mistakes.loops import (
    breadth_first,
    constants,
    counted,
    do_while,
    edge_function,
    edge_function_applied,
    either,
    function,
    halted_vertices,
    local_total,
    loop,
    named_rounds,
    of_constants,
    written_edges,
)
from vlang.syntax.mistakes.patterns import accumulated, directed_triangles, match_query, path_pattern, several_steps
from vlang.syntax.mistakes.spelling.words import respelled
from vlang.syntax.mistakes.traversals import messages_of_edges, received, sent_value, traversal
from vlang.syntax.problems import Problem

__all__ = ["report_blocks"]

_Rule = Callable[[Block], Found | None]
_LONGEST = 400  # characters of a line that is compared with other languages
_MOST_LINES = 300  # lines of a text that is compared: each rule may look at all lines
_RULES: tuple[_Rule, ...] = (match_query, path_pattern, several_steps, directed_triangles, accumulated, local_total,
                             loop, counted, do_while, either, breadth_first,
                             halted_vertices,
                             edge_function, function, edge_function_applied, traversal, messages_of_edges, received,
                             sent_value,
                             two_fors, listed, distinct, distinct_of_all, component_sum, unpacked, named_rounds,
                             constants, of_constants, written_edges, *LINES)


def report_blocks(found: Scan) -> None:
    """Report lines of other languages, and mark them as bad; their problems found before are dropped."""
    place = 0
    while place < len(found.lines) <= _MOST_LINES:
        block = Block(found, place)
        longest = max(line.end - line.start for line in found.lines[place : place + 1 + block.inside])
        habit = next((one for rule in _RULES if (one := rule(block)) is not None),
                     None) if longest <= _LONGEST else None
        if habit is not None and not parses(habit.write):
            habit = replace(habit, write=tuple(respelled(line)[0] for line in habit.write))
        if habit is None or not parses(habit.write):
            place += 1
            continue
        _report(found, place, habit)
        place += habit.lines


def _report(found: Scan, place: int, habit: Found) -> None:
    lines, text = found.lines[place : place + habit.lines], found.source.text
    start, end = lines[0].start, lines[-1].end
    begin = next((text.index(habit.at, line.start) for line in lines if habit.at in text[line.start : line.end]), -1)
    mark = found.source.span(begin, begin + len(habit.at)) if begin >= 0 else found.source.span(start, lines[0].end)
    if habit.help.startswith(LEAVE_ALL):
        mark = found.source.span(start, end)
    found.problems[:] = [one for one in found.problems if not start <= one.span.start < end]
    found.problems.append(Problem(Code.SYNTAX, habit.title, mark, help=(habit.help,), write=habit.write,
                                  replaces=found.source.span(start, end) if habit.write else None))
    for line in lines:
        line.bad = True

"""Comprehensions of Python: sets, reductions with two `for`s, and a `gather` whose value is unpacked."""

from __future__ import annotations

import re

from vlang.syntax.mistakes.block import Block, Found
from vlang.syntax.mistakes.foreign_groups import foreign_group
from vlang.syntax.mistakes.surroundings import split

__all__ = ["component_sum", "distinct", "distinct_of_all", "listed", "two_fors", "unpacked"]

_DOMAIN = r"\w+ ?(?:->|--) ?\w+"
_HEAD = r"(?P<head>(?P<word>vertex|gather) (?P<name>\w+)(?:: (?P<type>\w+))? = )"
_OUTER = {"sum": "sum", "count": "sum", "any": "any", "all": "all", "min": "min", "max": "max"}
_TWO = re.compile(rf"{_HEAD}(?P<fold>{'|'.join(_OUTER)})\((?P<body>[^()]*(?:\([^()]*\)[^()]*)*?) "
                  rf"for (?P<first>{_DOMAIN}) (?P<at>for) (?P<second>{_DOMAIN})\)(?P<rest>.*)")
_COMMON = re.compile(rf"{_HEAD}(?P<fold>sum|count|any|all)\((?P<body>.+?) (?:for (?P<first>{_DOMAIN}) (?P<at>for) "
                     r"(?P<second>\w+ in common\([^()]*\))|"
                     rf"for (?P<second_>\w+ in common\([^()]*\)) (?P<at_>for) (?P<first_>{_DOMAIN}))\)(?P<rest>.*)")
_SET = re.compile(rf"{_HEAD}(?:len|count)\((?P<at>{{|set\()(?P<body>[\w.]+) for (?P<first>{_DOMAIN})"
                  rf"(?: for (?P<second>{_DOMAIN})| if (?P<cond>[^()]+(?:\([^()]*\)[^()]*)*))?(?:}}|\))\)")
_LISTED = re.compile(r"(?P<before>.*?)\b(?P<fold>min|max|sum|any|all)\((?P<x>\w+) for (?P=x) in "
                     r"(?P<at>[(\[](?P<items>[^()\[\]]+)[)\]])(?: if (?P<cond>[^()]+))?\)(?P<after>.*)")
_NOTHING = {"min": "inf", "max": "-inf", "sum": "0", "any": "false", "all": "true"}
_DISTINCT = re.compile(r"(?P<head>(?:global|let) (?P<name>\w+)(?:: \w+)? = )count\((?P<at>distinct) (?P<v>\w+)\."
                       r"(?P<field>\w+) for (?P=v) in vertices\)")
_BEST_GROUP = re.compile(r"(?P<head>gather \w+ = (?:max|min)\()(?P<body>(?!\().+)"
                         r"(?P<rest> for (?:\w+ (?:->|--) self|self -> \w+) by (?P<key>\w+) = .+)")
_UNPACKED = re.compile(r"gather (?P<at>\((?P<parts>\w+(?:, ?\w+)+)\)) = (?P<value>.+)")
_COMPONENTS = re.compile(r"(?P<before>.*?)\b(?P<x>\w+)\.(?P<at>(?P<fold>sum|mean|min|max|argmin|argmax)\(\))"
                         r"(?P<after>.*)")


def _from(domain: str, vertex: str) -> tuple[str, str] | None:
    """The other end of a domain at `vertex`, and the same domain at `self`; None if `vertex` is at neither end."""
    left, arrow, right = re.split(r" ?(->|--) ?", domain)
    if right == vertex and left != vertex:
        return left, f"{left} {arrow} self"
    return (right, f"self -> {right}" if arrow == "->" else f"{right} -- self") if left == vertex else None


def two_fors(block: Block) -> Found | None:
    """Recognise `sum(1 for u -- self for w in common(self, u))` and `sum(w.x for u -> self for w -> u)`."""
    text = block.text(0)
    common = _COMMON.fullmatch(text)
    if common is not None:
        first, second = common["first"] or common["first_"], common["second"] or common["second_"]
        inner = f"{common['fold']}({common['body']} for {second})"
        return Found("a reduction has one `for`", "the inner domain gets a reduction of its own:",
                     (f"{common['head']}{_OUTER[common['fold']]}({inner} for {first}){common['rest']}",),
                     f"for {first if common['first_'] else second}")
    match = _TWO.fullmatch(text)
    if match is None or not block.around.top or match["word"] != "vertex":
        return None
    first_, fold = _from(match["first"], "self"), match["fold"]
    second_ = _from(match["second"], first_[0]) if first_ is not None else None
    if first_ is None or second_ is None or re.search(rf"\b(?:self|{first_[0]})\b", match["body"]):
        return None
    near, u = block.around.fresh(f"{match['name']}_near"), first_[0]
    return Found("a reduction has one `for`: two steps are two fields",
                 "each vertex reduces over its own edges, and then over the values of its neighbours:",
                 (f"vertex {near}: {match['type']} = {fold}({match['body']} for {second_[1]})",
                  f"{match['head']}{_OUTER[fold]}({u}.{near} for {first_[1]}){match['rest']}"),
                 f"for {match['second']}")


def listed(block: Block) -> Found | None:
    """Recognise `min(x for x in (a, b) if x > c)`, a reduction over values that are written out."""
    match = _LISTED.fullmatch(block.text(0))
    if match is None:
        return None
    fold, items = match["fold"], split(match["items"])
    if match["cond"]:
        tests = [re.sub(rf"(?<![\w.]){match['x']}\b", f"({item})" if " " in item else item, match["cond"])
                 for item in items]
        items = [f"({item} if {test} else {_NOTHING[fold]})" for item, test in zip(items, tests, strict=True)]
    joined = {"sum": " + ", "any": " or ", "all": " and "}.get(fold, ", ").join(items)
    function = fold if fold in ("min", "max") else ""
    return Found("a reduction ranges over edges or vertices, not over a list of values", "the values are written out:",
                 (f"{match['before']}{function}({joined}){match['after']}",), match["at"])


def distinct(block: Block) -> Found | None:
    """Recognise `len({u.label for u -- self})` and `len({w for u -- self for w -- u})`."""
    match = _SET.fullmatch(block.text(0))
    if match is None:
        return None
    around, first = block.around, _from(match["first"], "self")
    if match["second"] is None:
        key, test = around.fresh("each"), f" if {match['cond']}" if match["cond"] else ""
        return Found("there are no sets: `by` groups neighbours by a value", "one contribution for each group:",
                     (f"{match['head']}count(true for {match['first']}{test} by {key} = {match['body']})",),
                     match["at"])
    second = _from(match["second"], first[0]) if first is not None else None
    if first is None or second is None or match["body"] != second[0] or match["word"] != "vertex" or not around.top:
        return None
    s, near, two, u = around.fresh("s"), around.fresh("near"), around.fresh("two"), first[0]
    return Found("there are no sets: a loop over `vertices` counts each vertex once",
                 "one pass over the edges for each vertex (N passes):",
                 (f"{match['head']}0", f"for {s} in vertices:",
                  f"    vertex {near}: bool = any({second[0]} == {s} for {second[1]})",
                  f"    gather {two} = any({u}.{near} for {first[1]})",
                  f"    where {two}: apply {match['name']} += 1"), match["at"])


def distinct_of_all(block: Block) -> Found | None:
    """Recognise `count(distinct v.label for v in vertices)` of labels that are vertices."""
    match = _DISTINCT.fullmatch(block.text(0))
    if match is None or block.around.fields.get(match["field"]) != "vertex" or not block.around.top:
        return None
    v, named = match["v"], block.around.fresh(f"{match['field']}_used")
    return Found("there is no `distinct`: a vertex knows whether it is the value of some vertex",
                 "these vertices are counted:",
                 (f"vertex {named}: bool = any(true for {v} in vertices if {v}.{match['field']} == self)",
                  f"{match['head']}count({v}.{named} for {v} in vertices)"), match["at"])


def component_sum(block: Block) -> Found | None:
    """Recognise `y.sum()` of a vector, whose components are added up at each vertex."""
    match = _COMPONENTS.fullmatch(block.text(0))
    if match is None or not any(re.match(rf"vertex {match['x']}: \w+\[", line) for line in block.around.before):
        return None
    return Found(f"a value has no method `{match['at']}`", "over the components of a vector:",
                 (f"{match['before']}{match['fold']}({match['x']}){match['after']}",), match["at"])


def _of_groups(line: str, block: Block, parts: int) -> str:
    """A gather of the best group, in which the key of the group is the second of two parts."""
    habit = foreign_group(line, block.around)
    line = habit.write[0] if habit is not None and len(habit.write) == 1 else line
    match = _BEST_GROUP.fullmatch(line)
    if match is None or parts != 2:
        return line
    return f"{match['head']}({match['body']}, {match['key']}){match['rest']}"


def unpacked(block: Block) -> Found | None:
    """Recognise `gather (r, s) = min((u.a, u.b) for u -- self)`, whose parts are read in the lines below."""
    match = _UNPACKED.fullmatch(block.text(0))
    if match is None:
        return None
    parts, lines = re.split(", ?", match["parts"]), block.found.lines
    best, indent, last = block.around.fresh("_".join(parts)), lines[block.place].indent, 0
    reads = re.compile(rf"(?<![.\w])(?:{'|'.join(parts)})(?!\w)")
    below = [_of_groups(block.text(0).replace(match["at"], best, 1), block, len(parts))]
    while block.place + len(below) < len(lines) and lines[block.place + len(below)].indent >= indent:
        offset = len(below)
        new = reads.sub(lambda read: f"{best}[{parts.index(read[0])}]", block.text(offset))
        last = offset if new != block.text(offset) else last
        below.append(" " * (lines[block.place + offset].indent - indent) + new)
    return Found("a `gather` names one value", "the parts of a tuple are read by their places:",
                 tuple(below[: last + 1]), match["at"], last + 1)

"""Recognises the notation of other languages for groups of edges and random choices, such as `group by u.label having
...`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlang.syntax.mistakes.habits import Habit
from vlang.syntax.mistakes.vertex_groups import Grouped, for_groups, where_named

if TYPE_CHECKING:
    from vlang.syntax.mistakes.surroundings import Surroundings

__all__ = ["foreign_group", "foreign_random"]

_BY = re.compile(r"(?P<at>\b(?:group[ _]?by|grouped by|by)\b) (?!\w+ ?=[^=])(?P<key>[^,()]+?)"
                 r"(?: (?P<having>having|where|if) (?P<test>.+))?\)$", re.IGNORECASE)
_FIELD = re.compile(r"vertex (?P<name>\w+): ?(?P<type>\w+) ?= ?(?P<fold>\w+)\((?P<body>.+?) for (?P<v>\w+) in vertices"
                    r"(?: if (?P<cond>.+))?")
_DRAW = re.compile(r"(?P<at>\brandom\.(?:random|uniform|rand)|\brand|\brandom)\((?:0(?:\.0)?, ?1(?:\.0)?)?\)")
_CHOICE = re.compile(r"(?P<at>\b(?:random|np\.random)\.choice)\(\[?(?P<body>(?P<value>[\w.]+) for [^,()\[\]]+)\]?\)")
_OVER = re.compile(r" for (?:(?P<v>\w+) in vertices|\w+ (?:->|--) \w+)")
_DRAWN = re.compile(r"\b(?:random|rand|random\.(?:random|uniform|rand))\(")
_LOOP = re.compile(r"(?:for (?P<i>\w+) |foreach ?\((?P<j>\w+)|(?P<repeat>repeat|while|do)\b)")


def foreign_group(line: str, around: Surroundings) -> Habit | None:
    """Recognise `group by u.label`, `by u.label` without a name, and `having`."""
    match = _BY.search(line)
    if match is None or " for " not in line[: match.start()]:
        return None
    if re.search(r" for \w+ in vertices\b", line[: match.start()]) is not None:
        return _of_vertices(line, match, around)
    key, name = match["key"].strip(), around.fresh("key")
    neighbour = re.search(r"for (?:self -> )?(\w+)", line[: match.start()][line[: match.start()].rindex(" for "):])
    u = neighbour[1] if neighbour is not None else "u"
    start = line.rindex(" for ", 0, match.start())
    opening = line.find("(") + 1
    body = line[opening:start]
    if f" for {u}" not in body:  # `sum(weight)` of a group
        body = re.sub(r"\b(sum|min|max|mean|any|all)\(([^()]+)\)", rf"\1(\2 for {u})", body)
    last = re.search(r", (\w+)\)$", body)  # a name that the text uses already
    if last is not None and last[1] not in (u, *around.fields, *around.edges):
        name = last[1]
    test = ""
    if match["test"]:
        said = re.sub(r"\bcount\((?:\*|\w+)\)", f"count(true for {u})", match["test"])
        test = f" if {said.replace(key, name)}"
    new = f"{line[:opening]}{body.replace(key, name)}{line[start : match.start()]}by {name} = {key}{test})"
    said = f"in place of `{match['having']}`" if (match["having"] or "if") != "if" else "after it"
    return Habit("the key of a group has a name" if match["at"].lower() == "by" else
                 f"`{match['at']}` is written `by NAME = KEY`",
                 (f"the name is read in the body, and `if` {said} chooses groups:",), (new,), match.span("at"))


def _of_vertices(line: str, match: re.Match[str], around: Surroundings) -> Habit:
    """The habit of a reduction over vertices with groups."""
    field, key = _FIELD.fullmatch(line[: match.start()].rstrip()), match["key"].strip()
    help_: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    if field is not None and match["having"] is None and around.top:
        owner, _, name = key.partition(".")
        type_ = around.fields.get(name, "") if owner == field["v"] else ""
        body = "true" if field["body"] == "*" else field["body"]
        asked = Grouped(field["name"], field["type"], field["fold"], body, field["v"], key, type_, field["cond"] or "")
        help_, write = for_groups(asked, around.fresh)
    return Habit("a reduction over vertices has no groups", help_ if write else (where_named(),), write,
                 match.span("at"))


def foreign_random(line: str, around: Surroundings) -> Habit | None:
    """Recognise `random.choice(u for self -> u)` and `random.uniform(0, 1)`."""
    choice = _CHOICE.search(line)
    keys = _keys(around)
    if choice is not None:
        _, _, name = choice["value"].partition(".")
        default = name if name in around.fields else "self" if not name else "0"
        new = f"{line[: choice.start()]}pick({choice['body']}, {keys}, default = {default}){line[choice.end() :]}"
        return Habit(f"`{choice['at']}` is written `pick`",
                     ("its seed and keys decide the choice, so that every run gives the same:",), (new,),
                     choice.span("at"))
    draw = _DRAW.search(line)
    if draw is None:
        return None
    over = _OVER.search(line, draw.end())
    key = "self" if over is None else over["v"] or "edge"
    earlier = sum(len(_DRAWN.findall(text)) for text in (*around.before, line[: draw.start()]))
    other = f", {earlier + 1}" if earlier else ""  # otherwise both calls would give the same numbers
    new = f"{line[: draw.start()]}random({keys}, {key}{other}){line[draw.end() :]}"
    return Habit(f"`{draw['at']}` is written `random(seed, key, ...)`",
                 ("its seed and keys decide the number, so that every run gives the same:",), (new,), draw.span("at"))


def _keys(around: Surroundings) -> str:
    """A seed, and the number of the round in a loop."""
    seed = "seed" if re.search(r"\bseed\b", " ".join(around.before[:1])) else "1"
    loop = next((found for line in reversed(around.before) if (found := _LOOP.match(line)) is not None), None)
    if around.top or loop is None:
        return seed
    return f"{seed}, {loop['i'] or loop['j'] or 'iteration'}"

"""Chains of calls that walk over a graph, in Gremlin and GraphFrames: `self.out().values("x").sum()`; and messages that
one line sends and another receives.
"""

from __future__ import annotations

import re

from vlang.records import dataclass
from vlang.syntax.mistakes.block import LEAVE, LEAVE_ALL, Block, Found, named
from vlang.syntax.mistakes.surroundings import Surroundings, closing, split

__all__ = ["messages_of_edges", "received", "sent_value", "traversal"]

_MESSAGES = re.compile(r"(?P<head>gather \w+ = )(?P<fold>min|max|sum|any)\((?:(?P<m>\w+) for (?P=m) in "
                       r"(?P<at>(?:\w+\.)?(?:get_?)?(?:[mM]essages|msgs|inbox)(?:\(\))?)|(?P<one>message|msg) for "
                       r"(?P<arrow>u (?:->|--) self|self -> u))\)")
_WHERE = re.compile(r"(?:where|if) \(?(.+?)\)?(?: ?\{)?:?")
_WRITTEN = re.compile(r"(?:apply )?(\w+) [-+*/]?= ")
_SENDS = re.compile(r"send(?:_?[mM]essage)?(?:_?[tT]o_?\w+)?[ (](?P<body>.+?)\)?(?: to .+)?")
_LINE = re.compile(r"(?P<head>(?:vertex|global|let|gather) (?P<name>\w+)(?:: (?P<type>\w+))? = )"
                   r"(?P<root>self|[gG]|graph)"
                   r"(?=\.)(?P<chain>.+)")
_CALL = re.compile(r"\.(?P<name>\w+)(?P<open>\()?")
_EDGES = {"out": "self -> {}", "in": "{} -> self", "both": "{} -- self", "in_": "{} -> self"}
_COUNTS = {"out": "outdegree", "in": "indegree", "both": "degree", "in_": "indegree"}
_SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "eq": "==", "neq": "!="}
_DEGREES = {"degrees": "degree", "inDegrees": "indegree", "outDegrees": "outdegree"}
_FOLDS = ("count", "sum", "min", "max", "mean")
_MUTUAL = re.compile(r"\(\"\((\w+)\)-\[\w*\]->\((\w+)\); ?\(\2\)-\[\w*\]->\(\1\)\"\)")
_SENT = re.compile(r"(?P<head>.* = )(?:\w+\.)?(?P<at>aggregateMessages)\((?:F\.)?(?P<fold>sum|min|max|avg|count)"
                   r"\(AM\.msg\), ?sendTo(?P<to>Dst|Src) ?= ?(?P<body>.+)\)")


@dataclass(frozen=True)
class _Step:
    name: str
    args: tuple[str, ...] | None

    @property
    def text(self) -> str:
        """The first argument, without quotes; "" without arguments."""
        return self.args[0].strip("\"'") if self.args else ""


def _steps(chain: str) -> list[_Step]:
    """The calls of a chain; an empty list for another text."""
    found, place = [], 0
    while place < len(chain):
        match = _CALL.match(chain, place)
        if match is None:
            return []
        place, args = match.end(), None
        if match["open"]:
            end = closing(chain, place - 1)
            if end < 0:
                return []
            args, place = tuple(split(chain[place:end])), end + 1
        found.append(_Step(match["name"], args))
    return found


def traversal(block: Block) -> Found | None:
    """Recognise a value that is a chain of calls on `self` or on the graph."""
    match = _LINE.fullmatch(block.text(0))
    steps = _steps(match["chain"]) if match is not None else []
    if match is None or not steps:
        return None
    around, help_ = block.around, "a reduction has the value:"
    mutual = _MUTUAL.fullmatch(match["chain"].removeprefix(".find").removesuffix(".count()"))
    write: tuple[str, ...] = ()
    if mutual is not None and around.top and steps[0].name == "find":
        part = around.fresh(f"{match['name']}_here")
        help_ = "edges of both directions are groups of two, in a directed graph without parallel edges:"
        write = (f"vertex {part}: int = count(count(true for u) > 1 for u -- self by each = u)",
                 f"{match['head']}sum(v.{part} for v in vertices)")
    elif match["root"] == "self" and steps[0].name == "repeat":
        write = _walks(match["name"], match["type"] or "int", steps, around)
        help_ = "the vertices at the ends of such walks, by one search for every vertex (N searches):"
    else:
        value = _of_vertex(steps, around) if match["root"] == "self" else _of_graph(steps)
        write = (match["head"] + value,) if value else ()
    first = steps[0]
    said = first.name + ("" if first.args is None else f"({', '.join(first.args)})")
    if not write:
        return None
    called = ", ".join(f"`{step.name}({', '.join(step.args or ())})`" for step in steps[1:-1])
    return Found(f"there is no `{said}`: nothing walks over the graph", (f"nor {called}; " if called else "") + help_,
                 write, said)


def _condition(step: _Step, owner: str) -> str:
    """The condition of `has("x", gt(3))`; "" for others."""
    if step.name != "has" or step.args is None or len(step.args) != 2:
        return ""
    test = re.fullmatch(r"(?:P\.)?(\w+)\((.+)\)", step.args[1])
    if test is not None:
        return f"{owner}{step.text} {_SIGNS[test[1]]} {test[2]}" if test[1] in _SIGNS else ""
    return f"{owner}{step.text} == {step.args[1]}"


def _folded(steps: list[_Step], owner: str, edges: bool) -> tuple[str, str, list[str], bool] | None:
    """The reduction, its body, its conditions, and whether values are distinct; None for unknown steps.

    Args:
        steps: the calls, of which the last one is the reduction.
        owner: the name with the dot before a field.
        edges: whether the calls are about edges.
    """
    if not steps or steps[-1].name not in _FOLDS:
        return None
    body, conds, distinct = "", [], False
    for step in steps[:-1]:
        cond = _condition(step, "" if edges else owner)
        said = re.fullmatch(r"(\w+) ?(<=|>=|==|!=|<|>|=) ?(\S+)", step.text) if step.name in ("filter",
                                                                                              "where") else None
        if cond:
            conds.append(cond)
        elif said is not None:
            name = {"inDegree": "indegree", "outDegree": "outdegree"}.get(said[1], said[1])
            conds.append(f"{owner}{name} {'==' if said[2] == '=' else said[2]} {said[3]}")
        elif step.name == "values" and step.text and not body:
            body = ("" if edges else owner) + step.text
        elif step.name == "dedup":
            distinct = True
        else:
            return None
    return steps[-1].name, body, conds, distinct


def _of_vertex(steps: list[_Step], around: Surroundings) -> str:
    """A reduction over the edges of a vertex; "" for other chains."""
    name = steps[0].name
    edges = name.endswith("E")
    kind, u = name.removesuffix("E"), around.fresh("u")
    if kind not in _EDGES or steps[0].args:
        return ""
    folded = _folded(steps[1:], f"{u}.", edges)
    if folded is None or (folded[0] == "count") == bool(folded[1]):
        return ""
    fold, body, conds, distinct = folded
    if fold == "count" and not conds and not distinct:
        return _COUNTS[kind]
    test = f" if {' and '.join(conds)}" if conds else ""
    rest = f" by each = {u}" if distinct else ", default = 0" if fold == "mean" else ""
    return f"{fold}({body or 'true'} for {_EDGES[kind].format(u)}{test}{rest})"


def _of_graph(steps: list[_Step]) -> str:
    """A reduction over all vertices; "" for other chains."""
    if steps[0].name == "E":
        return "M" if [step.name for step in steps[1:]] == ["count"] else ""
    if steps[0].name not in ("V", "vertices", "nodes", *_DEGREES):
        return ""
    folded = _folded(steps[1:], "v.", False)
    if folded is None or folded[3] or (folded[0] == "count") == bool(folded[1]):
        return ""
    fold, body, conds, _ = folded
    if fold == "count":
        return f"count({' and '.join(conds) or 'true'} for v in vertices)"
    test, rest = f" if {' and '.join(conds)}" if conds else "", ", default = 0" if fold == "mean" else ""
    return f"{fold}({body} for v in vertices{test}{rest})"


def _walks(name: str, type_: str, steps: list[_Step], around: Surroundings) -> tuple[str, ...]:
    """The program of `repeat(out()).times(k).dedup().count()`."""
    step = re.fullmatch(r"(?:__\.)?(out|in|both|in_)\(\)", steps[0].text)
    if step is None or [one.name for one in steps[1:]] != ["times", "dedup", "count"] or not around.top:
        return ()
    s, there, found = around.fresh("s"), around.fresh("there"), around.fresh("found")
    return (f"vertex {name}: {type_} = 0", f"for {s} in vertices:", f"    vertex {there}: bool = self == {s}",
            f"    repeat {steps[1].text} times:",
            f"        gather {found} = any(u.{there} for {_EDGES[step[1]].format('u')})",
            f"        apply {there} = {found}", f"    where {there}: apply {name} += 1")


def messages_of_edges(block: Block) -> Found | None:
    """Recognise `aggregateMessages(sum(AM.msg), sendToDst = AM.src["x"])` of GraphFrames."""
    match = _SENT.fullmatch(block.text(0))
    if match is None:
        return None
    u = block.around.fresh("u")
    far, own = ("src", "dst") if match["to"] == "Dst" else ("dst", "src")
    body = re.sub(rf"\bAM\.{far}\[[\"'](\w+)[\"']\]", rf"{u}.\1", match["body"])
    body = re.sub(rf"\bAM\.(?:{own}|edge)\[[\"'](\w+)[\"']\]", r"\1", body)
    fold = {"avg": "mean"}.get(match["fold"], match["fold"])
    domain = f"{u} -> self" if match["to"] == "Dst" else f"self -> {u}"
    value = "true" if fold == "count" else body
    return Found("there is no `aggregateMessages`: a vertex combines its edges",
                 "the message and the reduction are one:",
                 (f"{match['head']}{fold}({value} for {domain}{', default = 0' if fold == 'mean' else ''})",),
                 match["at"])


def _conditions(block: Block, place: int) -> tuple[int, tuple[str, ...]]:
    """The place of the outermost `where` or `if` around a line, and the conditions of all of them."""
    lines, found, begin = block.found.lines, [], place
    indent = lines[place].indent
    for above in range(place - 1, -1, -1):
        if lines[above].indent < indent:
            indent = lines[above].indent
            match = _WHERE.fullmatch(block.text(above - block.place))
            if match is not None:
                found.append(match[1])
                begin = above
    return begin, tuple(found)


def _written(block: Block, first: int) -> set[str]:
    """The names that lines above a line assign, from the line that is `first` lines below it."""
    return {one[1] for k in range(first, 0) if (one := _WRITTEN.match(block.text(k))) is not None}


def sent_value(block: Block) -> Found | None:
    """A line that sends a value, which a line below receives, or which only some vertices send."""
    alone = _WHERE.fullmatch(block.text(0)) is not None and block.inside == 1
    text = block.text(1) if alone else block.text(0)
    if _SENDS.fullmatch(text) is None:
        return None
    title, at = f"nothing is sent by `{text.split('(')[0].split()[0]}`", re.split(r"[ (]", text)[0]
    if any(_MESSAGES.fullmatch(line) for line in (*block.around.before, *block.around.after)):
        return Found(f"{title}: a vertex gathers from its neighbours",
                     f"{LEAVE_ALL if alone else LEAVE}: what is sent stands in the `gather` of the receiver", (), at,
                     2 if alone else 1)
    if alone or not _conditions(block, block.place)[1]:
        return None
    return Found(f"{title}: a vertex gathers from its neighbours",
                 "what is sent stands in the `gather` of the receiver, with the condition of the sender: "
                 "`sum(u.x for u -> self if u.x > 1)`", (), at)


def received(block: Block) -> Found | None:
    """A reduction over messages; what is sent stands in a line above or below."""
    match = _MESSAGES.fullmatch(block.text(0))
    if match is None:
        return None
    said, none = (match["at"], "are no") if match["at"] else (match["one"], "is no")
    title = f"there {none} `{said}`: a vertex gathers from its neighbours"
    lines = range(-block.place, len(block.found.lines) - block.place)
    place = next((k for k in lines if _SENDS.fullmatch(block.text(k)) is not None), None)
    sent = _SENDS.fullmatch(block.text(place)) if place is not None else None
    if sent is None or place is None:
        return None
    body = named(sent["body"], "u", block)
    begin, found = _conditions(block, block.place + place)
    conditions = [named(one, "u", block) for one in found]
    cond = " if " + " and ".join(f"({one})" if " or " in one and len(conditions) > 1 else one
                                 for one in conditions) if conditions else ""
    changed = any(_written(block, first - block.place) & set(re.findall(r"(?<=u\.)\w+", text))
                  for first, text in ((block.place + place, body), (begin, cond)))
    if "u." not in body or changed:
        return Found(title, "what is sent stands in the `gather` of the receiver, before the `apply` that changes it: "
                     f"`{match['fold']}({body} for u -> self{cond})`", (), said)
    return Found(title, "what is sent stands in the `gather` of the receiver:",
                 (f"{match['head']}{match['fold']}({body} for {match['arrow'] or 'u -> self'}{cond})",), said)

"""Patterns of paths in Cypher, and queries of GSQL: reductions over edges, searches and fields."""

from __future__ import annotations

import re

from vlang.syntax.mistakes.block import Block, Found, gathered, plain
from vlang.syntax.mistakes.surroundings import Surroundings, split

__all__ = ["accumulated", "directed_triangles", "match_query", "path_pattern", "several_steps"]

_STEP = r"\((?P<a>\w*)(?::\w+)?\) ?(?P<back><?)-(?:\[(?P<r>\w*)(?::\w+)?\])?-(?P<to>>?) ?\((?P<b>\w*)(?::\w+)?\)"
_MATCH = re.compile(rf"(?P<at>MATCH|Match|match) {_STEP}(?: WHERE (?P<cond>.+?))?(?: RETURN (?P<back_>.+))?")
_WHERE, _RETURN = re.compile(r"WHERE (.+)", re.IGNORECASE), re.compile(r"RETURN (.+)", re.IGNORECASE)
_ITEM = re.compile(r"(?P<fold>count|sum|avg|min|max)\((?P<body>[^()]*)\)(?: AS (?P<name>\w+))?", re.IGNORECASE)
_EXISTS = re.compile(rf"(?P<head>.*[ (])(?P<at>(?:exists|EXISTS)\(?) ?[({{]? ?{_STEP} ?[)}}]+(?P<rest>.*)")
_SHORTEST = re.compile(r"vertex (?P<name>\w+): (?P<type>\w+) = (?:length|size)\((?P<at>(?:all)?[sS]hortestPaths?)\("
                       r"\((?P<source>\w+)\)(?P<back><?)-\[[^\]]*\*[^\]]*\]-(?P<to>>?)\((?P<end>\w+)\)\)\)")
_MANY = re.compile(r"vertex (?P<name>\w+): (?P<type>\w+) = count\((?:\w+|\*) for \(?(?P<a>\w+)\)? ?"
                   r"(?P<at>(?P<back><?)-\[\w*(?::\w+)?\*(?P<low>\d*)(?P<dots>\.\.)?(?P<high>\d*)\]-(?P<to>>?)) ?"
                   r"\(?(?P<b>\w+)\)?\)")
_CYCLES = re.compile(r"(?P<head>(?:vertex \w+: \w+|gather \w+) = )(?:count|sum)\((?:true|1) for "
                     r"(?P<at>self -> (?P<a>\w+), ?(?P=a) -> (?P<b>\w+), ?(?P=b) -> self)\)")
_ACCUM = re.compile(r"(?:\w+ = )?SELECT (?P<out>\w+) FROM (?P<start>\w+):(?P<s>\w+) ?-\(\w*>?:?(?P<e>\w*)>?\)->? ?"
                    r"\w*:(?P<t>\w+)(?: WHERE (?P<cond>.+?))? (?P<at>ACCUM) (?P<body>.+?);?")


def _arrow(match: re.Match[str], name: str, own_first: bool) -> str:
    """The domain of a step of a pattern, from the vertex that receives.

    Args:
        match: the step.
        name: the name of the neighbour.
        own_first: whether the left end of the step is the vertex that receives.
    """
    if not match["back"] and not match["to"]:
        return f"{name} -- self"
    return f"self -> {name}" if own_first == bool(match["to"]) else f"{name} -> self"


def match_query(block: Block) -> Found | None:
    """Recognise `MATCH (u)-[r]->(self) WHERE r.weight > 3 RETURN count(u) AS n`, in one line or in three."""
    match = _MATCH.fullmatch(block.text(0))
    if match is None:
        return None
    cond, asked, lines = match["cond"] or "", match["back_"] or "", 1
    if not asked:
        where = _WHERE.fullmatch(block.text(lines)) if not cond else None
        cond, lines = (where[1], lines + 1) if where is not None else (cond, lines)
        result = _RETURN.fullmatch(block.text(lines))
        asked, lines = (result[1], lines + 1) if result is not None else ("", lines)
    item = next((one for part in split(asked) if (one := _ITEM.fullmatch(part)) is not None), None)
    if item is None:
        return None
    around = block.around
    others = [part.partition(".")[0].split()[0] for part in split(asked) if part and _ITEM.fullmatch(part) is None]
    own_first = match["a"] == "self" or (match["b"] != "self" and match["a"] in others)
    own, far = (match["a"], match["b"]) if own_first else (match["b"], match["a"])
    u, edge = far if far and far != "self" else around.fresh("u"), match["r"] or ""
    fold = {"avg": "mean"}.get(item["fold"].lower(), item["fold"].lower())
    read = re.findall(rf"\b{edge}\.(\w+)", f"{cond} {item['body']}") if edge else []
    columns = tuple(f"edge {name}: float = 1" for name in dict.fromkeys(read) if name not in around.edges)
    cond = plain(re.sub(r"(?<![<>!=])=(?!=)", "==", cond).replace("<>", "!="), own or "self", u, edge)
    value = "true" if fold == "count" else plain(item["body"], own or "self", u, edge)
    test, rest = f" if {cond}" if cond else "", ", default = 0" if fold == "mean" else ""
    name = around.fresh(item["name"] or f"{fold}_of")
    reduction = f"{fold}({value} for {_arrow(match, u, own_first)}{test}{rest})"
    write = (*columns, f"vertex {name}: {'int' if fold == 'count' else 'float'} = {reduction}") if around.top else \
        (f"gather {name} = {reduction}",)
    return Found(f"there is no `{match['at']}`: a pattern of one edge is a reduction",
                 "every vertex combines its edges:",
                 write if around.top or not columns else (), match["at"], lines)


def path_pattern(block: Block) -> Found | None:
    """Recognise `exists((self)-->(q))` and `length(shortestPath((source)-[*]->(self)))`."""
    text = block.text(0)
    match = _SHORTEST.fullmatch(text)
    if match is not None and "self" in (match["source"], match["end"]) and block.around.top:
        name, start = match["name"], match["end"] if match["source"] == "self" else match["source"]
        arrow = "u -- self" if not match["to"] and not match["back"] else \
            "u -> self" if (match["source"] == "self") == bool(match["back"]) else "self -> u"
        near = block.around.fresh("near")
        return Found(f"there is no `{match['at']}`: a search is a loop",
                     "every vertex takes the least of its neighbours:",
                     (f"vertex {name}: {match['type']} = 0 if self == {start} else inf", "repeat:",
                      f"    gather {near} = min(u.{name} + 1 for {arrow})", f"    apply {name} = min({name}, {near})"),
                     match["at"])
    match = _EXISTS.fullmatch(text)
    if match is None or "self" not in (match["a"], match["b"]):
        return None
    own_first, u = match["a"] == "self", block.around.fresh("u")
    far = match["b"] if own_first else match["a"]
    arrow = _arrow(match, u, own_first)
    return Found("there is no `exists`: `any` is true if some edge satisfies its condition",
                 "of the edges of the pattern:",
                 (f"{match['head']}any({f'{u} == {far}' if far else 'true'} for {arrow}){match['rest']}",),
                 match["at"].rstrip("("))


def several_steps(block: Block) -> Found | None:
    """Recognise `count(true for u -[*1..3]-> self)`."""
    match = _MANY.fullmatch(block.text(0))
    if match is None or "self" not in (match["a"], match["b"]) or not block.around.top:
        return None
    around = block.around
    backwards = (match["a"] == "self") == bool(match["to"]) and bool(match["to"] or match["back"])
    arrow = "self -> u" if backwards else "u -> self" if match["to"] or match["back"] else "u -- self"
    low = int(match["low"] or 1)
    high = match["high"] or ("" if match["dots"] or not match["low"] else match["low"])
    s, hops, near, name = around.fresh("s"), around.fresh("hops"), around.fresh("near"), match["name"]
    upper = f"<= {high}" if high else "< inf"
    return Found(f"`{match['at']}` is several steps, and an arrow is one",
                 "the vertices within these steps, each once, by one search for every vertex (N searches):",
                 (f"vertex {name}: {match['type']} = 0", f"for {s} in vertices:",
                  f"    vertex {hops}: int = 0 if self == {s} else inf",
                  f"    repeat {high} times:" if high else "    repeat:",
                  f"        gather {near} = min(u.{hops} + 1 for {arrow})",
                  f"        apply {hops} = min({hops}, {near})",
                  f"    where {low} <= {hops} and {hops} {upper}: apply {name} += 1"), match["at"])


def directed_triangles(block: Block) -> Found | None:
    """Recognise `count(true for self -> a, a -> b, b -> self)`, cycles of three edges."""
    match = _CYCLES.fullmatch(block.text(0))
    if match is None:
        return None
    a, b = match["a"], match["b"]
    inner = f"sum(edges({a}, {b}) * edges({b}, self) for {b} in common(self, {a}))"
    return Found("a reduction ranges over single edges, not over paths of several edges",
                 "the third vertex is a common neighbour of the ends of an edge:",
                 (f"{match['head']}sum({inner} for self -> {a})",), match["at"])


def accumulated(block: Block) -> Found | None:
    """Recognise a query of GSQL with ACCUM: the target of each edge adds up what its source contributes."""
    match = _ACCUM.fullmatch(block.text(0))
    if match is None:
        return None
    around: Surroundings = block.around
    body = re.sub(r"(?<=\.)@(?=\w)", "", match["body"])
    cond = re.sub(r"(?<=\.)@(?=\w)", "", match["cond"] or "")
    ends = ((match["t"], match["s"], "{} -> self"), (match["s"], match["t"], "self -> {}"))
    own, far, domain = ends[body.startswith(f"{match['s']}.")]
    write = gathered(body, domain.format(far), around, own=own, neighbour=far, edge=match["e"], cond=cond)
    return Found("`ACCUM` is written `gather` and `apply`",
                 "every vertex combines its edges, then writes its own field:",
                 write, match["at"]) if write else None

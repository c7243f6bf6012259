"""Recognises lines of other languages whose translation depends on the declarations of the program.

`habits.py` has the lines that a pattern can translate without these declarations. Each rule in this module takes a line
that does not parse, and the surroundings of the line. The rule returns the recognised habit, or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from vlang.syntax.keywords import TYPE_NAMES
from vlang.syntax.mistakes.foreign_columns import (
    method_of_other_language,
    total_of_column,
    transformed_groups,
    zipped_columns,
)
from vlang.syntax.mistakes.foreign_groups import foreign_group, foreign_random
from vlang.syntax.mistakes.habits import Habit
from vlang.syntax.mistakes.surroundings import Surroundings, found, replaced, split

__all__ = ["foreign_line"]


_Rule = Callable[[str, Surroundings], Habit | None]
_DEGREES = frozenset({"degree", "indegree", "outdegree"})


def foreign_line(line: str, around: Surroundings) -> Habit | None:
    """The habit that the first matching rule finds in a line that does not parse; None if no rule matches."""
    return next((habit for rule in _RULES if (habit := rule(line, around)) is not None), None)


# ------------------------------------------------------------- neighbours and edges

_SETS = re.compile(r"for (\w+) in (?:\w+\.)?(?P<at>(?:in_|out_|all_)?neighbou?rs|successors|predecessors|adj|nbrs)"
                   r"(?:\(self\)|\[self\])")
_OF_GRAPH = re.compile(r"for (\w+) in (?P<at>[A-Z]\w*)\[self\]")
_TYPED = re.compile(r"\(?(\w+)\)? ?(<?)(?P<at>-\[(?P<edge>\w*)(?P<kind>:?\w*)(?P<many>[^\]]*)\]-(?P<to>>?)) ?"
                    r"(?:\((?P<far>\w+)\)|(?P<end>\w+))")
_GET_EDGES = re.compile(r"for (\w+) in (?:\w+\.)?(?P<at>get_?(in|out|all|)_?edges)\(\)", re.IGNORECASE)
_TWO = re.compile(r"vertex (\w+): (\w+) = (count|sum|min|max|any|all)\((.+) for (?P<at>(\w+) -> (\w+) -> self)\)")
_ENTRY = re.compile(r"(?P<at>(?:\w+\.)?(\w+)\[(\w+), ?(\w+)\])(?:\[\"(\w+)\"\])?")
_EDGES = re.compile(r"(global|let) (\w+)(?:: \w+)? = (sum|min|max|any|all|count)\((.+) for \(?(\w+), ?(\w+)\)? in "
                    r"(?:\w+\.)?(?P<at>edges)(?:\(\))?\)")


def _neighbours(line: str, around: Surroundings) -> Habit | None:
    match = _SETS.search(line) or _OF_GRAPH.search(line)
    if match is None or "(" not in line[: match.start()]:
        return None
    name, said = match[1], match["at"]
    arrow = f"{name} -> self" if said.startswith(("in_", "pred")) else \
        f"self -> {name}" if said.startswith(("out_", "succ")) else f"{name} -- self"
    return found(match, f"neighbours are written with an arrow, not as `{said}`",
                  "in-edges: `u -> self`; out-edges: `self -> u`; both: `u -- self`",
                  replaced(line, match, f"for {arrow}"), group="at")


def _typed_arrow(line: str, around: Surroundings) -> Habit | None:
    match = _TYPED.search(line)
    far = (match["far"] or match["end"]) if match is not None else ""
    if match is None or "self" not in (match[1], far):
        return None
    if _TYPED.search(line, match.start("far" if match["far"] else "end")) is not None:
        return found(match, "a reduction ranges over single edges, not over paths of several edges",
                     "triangles are the common neighbours w of both ends of an edge: "
                     "`sum(count(true for w in common(self, u)) for u -- self)`", group="at")
    left, right = (far, match[1]) if match[2] else (match[1], far)
    arrow = "->" if match[2] or match["to"] else "--"
    domain = f"{left} {arrow} {right}"
    bare = re.sub(rf"(?<![\w.]){match['edge']}\.(?=\w)", "", line[: match.start()]) if match["edge"] else ""
    start = bare or line[: match.start()]
    kind = next((name for name, type_ in around.edges.items() if type_ == "category"), "")
    said = match["kind"][1:] if match["kind"] else match["edge"] if not bare or bare == line[: match.start()] else ""
    help_ = "an edge field is read by its name, without the arrow"
    write: tuple[str, ...] = (start + domain + line[match.end() :],)
    if match["many"]:
        help_, write = "one arrow is one edge; longer paths need a field and a second `gather`, or a `repeat`", ()
    elif said and said not in around.edges:
        help_ = f"a kind of edges is an edge field, `edge kind: category`, and `if kind == \"{said}\"` chooses it"
        rest = line[match.end() :]
        write = (f'{start}{domain} if {kind} == "{said}"{rest}',) if kind and rest[:1] == ")" else ()
    return found(match, f"an arrow has no brackets, as in `{match['at']}`", help_, *write, group="at")


def _get_edges(line: str, around: Surroundings) -> Habit | None:
    """Recognise `for e in getInEdges()`, with `e.value` and `e.source.x`."""
    match = _GET_EDGES.search(line)
    if match is None:
        return None
    edge, u = match[1], around.fresh("u")
    domain = {"in": f"{u} -> self", "out": f"self -> {u}"}.get(match[3].lower(), f"{u} -- self")
    new = re.sub(rf"\b{edge}\.(?:source|target|get_?(?:Source|Target)\(\))\.", f"{u}.",
                 replaced(line, match, f"for {domain}"))
    if len(around.edges) == 1:
        (name,) = around.edges
        new = re.sub(rf"\b{edge}\.(?:value|weight|get_?[vV]alue\(\))", name, new)
    write = () if re.search(rf"\b{edge}\.", new) else (new,)
    return found(match, f"edges are written with an arrow, not as `{match['at']}`",
                 "in-edges: `u -> self`; out-edges: `self -> u`; an edge field is read by its name:", *write,
                 group="at")


def _two_steps(line: str, around: Surroundings) -> Habit | None:
    match = _TWO.fullmatch(line)
    if match is None or re.search(rf"\b{match[7]}\b", match[4]):
        return None
    name, type_, fold, body, _, far, _ = match.groups()
    step, outer = around.fresh(f"{name}_step"), "sum" if fold == "count" else fold
    return found(match, f"`{match['at']}` is two steps, and a reduction takes one",
                  "a field holds the value after the first step:",
                  f"vertex {step}: {type_} = {fold}({body} for {far} -> self)",
                  f"vertex {name}: {type_} = {outer}({far}.{step} for {far} -> self)", group="at")


def _entry(line: str, around: Surroundings) -> Habit | None:
    match = _ENTRY.search(line)
    if match is None or "self" not in (match[3], match[4]):
        return None
    named = next((name for name in (match[5], match[2]) if name in around.edges), None)
    if named is None and len(around.edges) == 1:
        (named,) = around.edges
    write: tuple[str, ...] = ()
    if named is not None:
        write = (replaced(line, match, named),)
    elif not around.edges and around.top:
        name = around.fresh("weight")
        write = (f"edge {name}: float = 1", replaced(line, match, name))
    return found(match, f"`{match['at']}`: a graph is no matrix with indices",
                  "inside a reduction over edges, an edge field is read by its name:", *write, group="at")


def _all_edges(line: str, around: Surroundings) -> Habit | None:
    match = _EDGES.fullmatch(line)
    if match is None:
        return None
    word, name, fold, body, source, target, _ = match.groups()
    body = re.sub(rf"\b{source}\.(?=\w)", "", body)
    outer = "sum" if fold == "count" else fold
    type_ = {"any": "bool", "all": "bool", "count": "int"}.get(fold, "float")
    part = around.fresh(f"{name}_here")
    write = (f"vertex {part}: {type_} = {fold}({body} for self -> {target})",
             f"{word} {name} = {outer}(v.{part} for v in vertices)")
    whole = around.top and not re.search(rf"\b{source}\b", body)
    return found(match, "a reduction over all `edges` has two steps: out-edges of each vertex, then the vertices",
                  "an undirected edge is in it twice, once at each end", *(write if whole else ()), group="at")


# ------------------------------------------------------------- statements

_ATOMIC = re.compile(r"(?:\w+ = )?(?P<at>atomic_?(?:min|max|add)|write(?:min|max|add))\(&?(\w+)(?:\[\w+\])?, ?(.+)\)",
                     re.IGNORECASE)
_SEND = re.compile(r"(?:\w+\.)?(?P<at>send\w*)\((.*)\)")
_SET = re.compile(r"(?:\w+\.)?(?P<at>set_?value)\((.*)\)", re.IGNORECASE)
_ALL = re.compile(r"(?P<at>vertices\.(?:apply|map|foreach|for_each))\((\w+)\)", re.IGNORECASE)
_LIST = re.compile(r"(vertex|edge|global) (\w+): (?P<at>list|array|ndarray|vector)\b(?:\[(\w+)[^\]]*\])?(?: = (.+))?",
                   re.IGNORECASE)
_AT_ONE = re.compile(r"(?:apply )?(?P<at>(\w+)\[(\w+)\]) = (.+)")
_TARGETS = re.compile(r"(?P<at>apply) (\w+(?:, ?\w+)+) = (.+)")
_TRY = re.compile(r"(?P<at>try|except|finally|catch)\b[^:]*:")
_OTHERWISE = re.compile(r"(?P<at>elif|else if|else)\b ?(.*?):?")
_WHERE = re.compile(r"(?:where|if|elif) (.+):")
_DIVISOR = re.compile(r"/ ?([A-Za-z_]\w*)(?![\w.(\[])")


def _sent(text: str, around: Surroundings) -> str:
    """Rewrite an expression that reads the fields of a vertex itself as an expression that reads the fields of its
    neighbour `u`.
    """
    own = set(around.fields) | _DEGREES
    return re.sub(r"(?<![\w.])[A-Za-z_]\w*(?![\w(])", lambda m: f"u.{m[0]}" if m[0] in own else m[0], text)


def _atomic(line: str, around: Surroundings) -> Habit | None:
    match = _ATOMIC.fullmatch(line)
    if match is None:
        return None
    said, name, body = match.groups()
    body = re.sub(r"\b(\w+)\[(?:src|u|s|source)\]", r"u.\1", body)
    body = re.sub(r"\b(\w+)\[\w+\]", r"\1", body)
    fold = said[-3:].lower().replace("add", "sum")
    neighbour = re.search(r"\b(\w+)\.\w+", body)
    word = around.fresh({"sum": "more", "min": "near"}.get(fold, "top"))
    write = (f"gather {word} = {fold}({body} for {neighbour[1]} -> self)",
             f"apply {name} += {word}" if fold == "sum" else f"apply {name} = {fold}({name}, {word})",
             ) if neighbour is not None and name in around.fields else ()
    return found(match, f"`{said}` is not needed: a vertex writes only its own fields",
                  "gather what the neighbours contribute, then apply it:", *write, group="at")


def _send(line: str, around: Surroundings) -> Habit | None:
    match = _SEND.fullmatch(line)
    if match is None:
        return None
    sent = _sent((split(match[2]) or [""])[-1], around)
    fold = "sum" if re.search(r"[/*]", sent) else "min"
    word = around.fresh("total" if fold == "sum" else "near")
    return found(match, f"nothing is sent by `{match['at']}`: a vertex gathers from its neighbours",
                  "one reduction combines what arrives (`min`, `sum`, ...), for example",
                  *([f"gather {word} = {fold}({sent} for u -> self)"] if "u." in sent else []), group="at")


def _set_value(line: str, around: Surroundings) -> Habit | None:
    match = _SET.fullmatch(line)
    if match is None:
        return None
    write: tuple[str, ...] = ()
    if len(around.fields) == 1:
        (name,) = around.fields
        write = (f"apply {name} = " + re.sub(r"(?:\w+\.)?get_?[vV]alue\(\)", name, match[2]),)
    return found(match, f"`{match['at']}` is written `apply`", "a vertex writes a field by its name:", *write,
                  group="at")


def _to_all(line: str, around: Surroundings) -> Habit | None:
    match = _ALL.fullmatch(line)
    if match is None:
        return None
    write = [f"apply {name} = {match[2]}({name})" for name in around.fields] if len(around.fields) == 1 else []
    return found(match, f"`{match['at']}` is not needed: every statement runs for all vertices",
                  "a function is declared with `fn`, and its value is applied:", *write, group="at")


def _list(line: str, around: Surroundings) -> Habit | None:
    match = _LIST.fullmatch(line)
    if match is None:
        return None
    word, name, said, item, start = match.groups()
    start = start if start and re.fullmatch(r"[\d.]+|true|false", start) else "0"
    item = item if item in TYPE_NAMES else "float"
    return found(match, f"there is no type `{said}`: a vector has a fixed length",
                  "for example, with 8 components:",
                  *([f"vertex {name}: {item}[8] = {start}"] if word == "vertex" else []), group="at")


def _one_entry(line: str, around: Surroundings) -> Habit | None:
    """Recognise `cost[source] = 0`, a write at the vertex that a parameter names."""
    match = _AT_ONE.fullmatch(line)
    if match is None or match[2] not in around.fields or \
            re.search(rf"\b{match[3]} ?: ?vertex\b", " ".join(around.before[:1])) is None:
        return None
    return found(match, f"`{match['at']}`: a field is not written by an index", "`where` chooses the vertex:",
                 f"where self == {match[3]}: apply {match[2]} = {match[4]}", group="at")


def _targets(line: str, around: Surroundings) -> Habit | None:
    match = _TARGETS.fullmatch(line)
    if match is None:
        return None
    value = f"({match[3]})" if len(split(match[3])) > 1 else match[3]
    return found(match, "`apply` writes several fields as a tuple", "a tuple has brackets:",
                  f"apply ({match[2]}) = {value}")


def _try(line: str, around: Surroundings) -> Habit | None:
    match = _TRY.fullmatch(line)
    if match is None:
        return None
    said = match["at"]
    inside = around.after if said == "try" else around.before[::-1]
    divisor = next((divided[1] for text in inside[:3] if (divided := _DIVISOR.search(text))), "")
    test = f"where {divisor} != 0:" if said == "try" else f"where {divisor} == 0:"
    return found(match, f"there is no `{said}`: no operation fails, and `1 / 0` is `inf`",
                  "a condition chooses the vertices before:", *([test] if divisor and said != "finally" else []),
                  group="at")


def _otherwise(line: str, around: Surroundings) -> Habit | None:
    """Recognise `elif` and `else` after a `where`, if no block in between writes a field that the conditions read."""
    match = _OTHERWISE.fullmatch(line)
    if match is None:
        return None
    said, tests = match["at"], _tests(around.before)
    whole = [*(f"not ({test})" for test in tests), *([match[2]] if match[2] else [])]
    return found(match, f"there is no `{said}` statement",
                 "`a if c else b` chooses a value; `where c:` and `where not c:` choose vertices",
                 *([f"where {' and '.join(whole)}:"] if tests else []), group="at")


def _tests(before: tuple[str, ...]) -> list[str]:
    """Return the conditions of the `where`, `elif`, ... above a line. If a block between the conditions writes a field
    that the conditions read, return no conditions.
    """
    tests: list[str] = []
    written: set[str] = set()
    for text in reversed(before):
        header = _WHERE.fullmatch(text)
        if header is None:
            change = re.match(r"apply (\w+)", text)
            if change is None:
                return []
            written.add(change[1])
            continue
        test = header[1]
        inside = re.match(r"(?:not \((?:[^()]|\([^()]*\))*\) and )+", test) if text.startswith("where") else None
        tests.insert(0, test[inside.end() :] if inside is not None else test)
        if inside is None and not text.startswith("elif"):
            break
    else:
        return []
    return [] if any(re.search(rf"\b{name}\b", test) for name in written for test in tests) else tests


_RULES: tuple[_Rule, ...] = (
    foreign_random, foreign_group, zipped_columns, _get_edges, transformed_groups, total_of_column, _otherwise,
    _neighbours, _typed_arrow, _two_steps, _all_edges, _atomic, _send, _set_value, _to_all, _list, _one_entry, _targets,
    _try,
    method_of_other_language, _entry,
)

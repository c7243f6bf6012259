"""Recognises lines of other languages whose translation depends on the declarations of the program.

`habits.py` has the lines that a pattern alone translates. Each rule here takes a line that does not parse and its
surroundings, and returns the habit that it recognises, or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field
from itertools import chain, count

from vlang.records import dataclass
from vlang.syntax.keywords import TYPE_NAMES
from vlang.syntax.mistakes.foreign_groups import foreign_group, foreign_random
from vlang.syntax.mistakes.habits import Habit

__all__ = ["Surroundings", "foreign_line"]


@dataclass(frozen=True)
class Surroundings:
    """The program around a line.

    Attributes:
        fields: the type of each declared vertex field, as written.
        edges: the type of each declared edge field, as written.
        before: the lines above, without indentation.
        after: the lines below, without indentation.
        names: all names of the program.
        top: whether the line is at top level.
    """

    fields: dict[str, str] = field(default_factory=dict)
    edges: dict[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    top: bool = True

    def fresh(self, wish: str) -> str:
        """The name `wish`, followed by a number if the program already uses this name."""
        return next(n for n in chain([wish], (f"{wish}{k}" for k in count(2))) if n not in self.names)


_Rule = Callable[[str, Surroundings], Habit | None]
_DEGREES = frozenset({"degree", "indegree", "outdegree"})


def foreign_line(line: str, around: Surroundings) -> Habit | None:
    """The habit that the first matching rule finds in a line that does not parse; None if no rule matches."""
    return next((found for rule in _RULES if (found := rule(line, around)) is not None), None)


def _found(match: re.Match[str], title: str, help: str, *write: str, group: int | str = 0) -> Habit:
    return Habit(title, (help,), write, match.span(group))


def _replaced(line: str, match: re.Match[str], new: str) -> str:
    return line[: match.start()] + new + line[match.end() :]


def _split(text: str) -> list[str]:
    """The parts of a text between its commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(text[begin:place].strip())
            begin = place + 1
    return [*parts, text[begin:].strip()] if text.strip() else []


def _closing(line: str, opening: int) -> int:
    """The position of the bracket that closes the one at `opening`; -1 without one."""
    depth = 0
    for place in range(opening, len(line)):
        depth += (line[place] in "([") - (line[place] in ")]")
        if depth == 0:
            return place
    return -1


# ------------------------------------------------------------- neighbours and edges

_SETS = re.compile(r"for (\w+) in (?:\w+\.)?(?P<at>(?:in_|out_|all_)?neighbou?rs|successors|predecessors|adj|nbrs)"
                   r"(?:\(self\)|\[self\])")
_OF_GRAPH = re.compile(r"for (\w+) in (?P<at>[A-Z]\w*)\[self\]")
_TYPED = re.compile(r"(\w+) ?(<?)(?P<at>-\[(:?)(\w*)([^\]]*)\]-)(>?) ?(\w+)")
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
    return _found(match, f"neighbours are written with an arrow, not as `{said}`",
                  "in-edges: `u -> self`; out-edges: `self -> u`; both: `u -- self`",
                  _replaced(line, match, f"for {arrow}"), group="at")


def _typed_arrow(line: str, around: Surroundings) -> Habit | None:
    match = _TYPED.search(line)
    if match is None or "self" not in (match[1], match[8]):
        return None
    left, right = (match[8], match[1]) if match[2] else (match[1], match[8])
    domain = f"{left} {'->' if match[2] or match[7] else '--'} {right}"
    kind = next((name for name, type_ in around.edges.items() if type_ == "category"), "")
    help_ = "an edge field is read by its name, without the arrow"
    write: tuple[str, ...] = (_replaced(line, match, domain),)
    if match[6]:
        help_, write = "one arrow is one edge; longer paths need a field and a second `gather`, or a `repeat`", ()
    elif match[5] and match[5] not in around.edges:
        help_ = f"a kind of edges is an edge field, `edge kind: category`, and `if kind == \"{match[5]}\"` chooses it"
        rest = line[match.end() :]
        write = (_replaced(line, match, f'{domain} if {kind} == "{match[5]}"'),) if kind and rest[:1] == ")" else ()
    return _found(match, f"an arrow has no brackets, as in `{match['at']}`", help_, *write, group="at")


def _two_steps(line: str, around: Surroundings) -> Habit | None:
    match = _TWO.fullmatch(line)
    if match is None or re.search(rf"\b{match[7]}\b", match[4]):
        return None
    name, type_, fold, body, _, far, _ = match.groups()
    step, outer = around.fresh(f"{name}_step"), "sum" if fold == "count" else fold
    return _found(match, f"`{match['at']}` is two steps, and a reduction takes one",
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
        write = (_replaced(line, match, named),)
    elif not around.edges and around.top:
        name = around.fresh("weight")
        write = (f"edge {name}: float = 1", _replaced(line, match, name))
    return _found(match, f"`{match['at']}`: a graph is no matrix with indices",
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
    return _found(match, "a reduction over all `edges` has two steps: out-edges of each vertex, then the vertices",
                  "an undirected edge is in it twice, once at each end", *(write if whole else ()), group="at")


# ------------------------------------------------------------- methods

_METHOD = re.compile(r"(?P<owner>[A-Za-z_][\w.]*)\.(?P<at>[A-Za-z_]\w*)\(")
_MODULES = frozenset({"np", "numpy", "math", "torch", "pd", "pandas"})
_LAMBDA = re.compile(r"lambda (\w+): ?(.+)")
_SAME = frozenset({"abs", "sqrt", "exp", "log", "floor", "round", "ceil", "sign", "tanh", "sin", "cos"})
_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "add": "+", "sub": "-", "mul": "*",
          "div": "/", "pow": "**"}
_COUNTS = {**dict.fromkeys(("number_of_nodes", "order", "num_nodes", "num_vertices", "vcount", "nrows"), "N"),
           **dict.fromkeys(("number_of_edges", "num_edges", "ecount", "size"), "M")}
_OF_VERTEX = {"in_degree": "indegree", "out_degree": "outdegree", "degree": "degree", "indegree": "indegree",
              "outdegree": "outdegree"}


def _calls(line: str) -> Iterator[tuple[re.Match[str], int, list[str]]]:
    """The method calls of a line: each match, the position after its closing bracket, and the arguments."""
    for match in _METHOD.finditer(line):
        end = _closing(line, match.end() - 1)
        if end >= 0:
            yield match, end + 1, _split(line[match.end() : end])


def _method(line: str, around: Surroundings) -> Habit | None:
    for match, end, arguments in _calls(line):
        owner, name = match["owner"], match["at"]
        if owner in _MODULES or owner in ("vertices", "edges", "edgeset", "ctx", "context", "this"):
            continue
        if owner not in around.fields and owner.isidentifier():
            new = _of_graph(name, arguments)
            if new:
                return _found(match, f"a graph has no method `{name}`", "its numbers have names of their own:",
                              line[: match.start()] + new + line[end:], group="at")
        if name in ("value_counts", "nunique", "unique"):
            return _values(line, match, around)
        new = _of_value(owner, name, arguments)
        changed = line[: match.start()] + new + line[end:]
        more = _method(changed, around) if new else None
        if more is not None and more.write:
            (changed,) = more.write
        return _found(match, f"a value has no method `{name}`" if not arguments or not _LAMBDA.match(arguments[0]) else
                      f"a value has no method `{name}`, and needs no `lambda`",
                      "an expression is computed for every vertex:" if new else
                      "functions stand alone, as `log(x)`; all vertices are in `max(v.x for v in vertices)`",
                      *([changed] if new else []), group="at")
    return None


def _of_graph(name: str, arguments: list[str]) -> str:
    """Return the text to write instead of a call of a graph's method; "" for other methods."""
    if name in _COUNTS and not arguments:
        return _COUNTS[name]
    if name in _OF_VERTEX and len(arguments) == 1 and arguments[0].isidentifier():
        return _OF_VERTEX[name] if arguments[0] == "self" else f"{arguments[0]}.{_OF_VERTEX[name]}"
    return ""


def _of_value(x: str, name: str, arguments: list[str]) -> str:
    """Return the text to write instead of a call of a column's method; "" for methods without counterpart."""
    if name == "clip" and len(arguments) == 2:
        return f"clamp({x}, {arguments[0]}, {arguments[1]})"
    if name == "astype" and len(arguments) == 1 and arguments[0] in TYPE_NAMES:
        return f"{arguments[0]}({x})"
    if name in ("isna", "isnull", "notna", "notnull") and not arguments:
        return f"isnan({x})" if name.startswith("is") else f"(not isnan({x}))"
    if name == "between" and len(arguments) == 2:
        return f"({arguments[0]} <= {x} and {x} <= {arguments[1]})"
    if name == "isin" and len(arguments) == 1 and arguments[0].isidentifier():
        return f"{x} in {arguments[0]}"
    if name in ("copy", "dup", "to_numpy", "tolist") and not arguments:
        return x
    if name in _SAME and not arguments:
        return f"{name}({x})"
    if name in _SIGNS and len(arguments) == 1:
        return f"({x} {_SIGNS[name]} {arguments[0]})"
    body = _LAMBDA.fullmatch(arguments[0]) if len(arguments) == 1 else None
    if name in ("apply", "map", "transform") and body is not None:
        return "(" + re.sub(rf"\b{body[1]}\b", x, body[2]) + ")"
    return ""


def _values(line: str, match: re.Match[str], around: Surroundings) -> Habit:
    """The habit of a method that counts the different values of a column."""
    owner, name = match["owner"], match["at"]
    target = re.match(r"(?:global|let|vertex) (\w+)", line)
    title = f"a value has no method `{name}`"
    if target is not None and name == "value_counts" and around.fields.get(owner) == "vertex" and around.top:
        return _found(match, title, "every vertex counts the vertices that name it:",
                      f"vertex {target[1]}: int = count(true for v in vertices if v.{owner} == self)", group="at")
    return _found(match, title, f"leave this line out, and count in Python: `numpy.unique(result[\"{owner}\"])`",
                  group="at")


# ------------------------------------------------------------- statements

_ATOMIC = re.compile(r"(?:\w+ = )?(?P<at>atomic_?(?:min|max|add)|write(?:min|max|add))\(&?(\w+)(?:\[\w+\])?, ?(.+)\)",
                     re.IGNORECASE)
_SEND = re.compile(r"(?:\w+\.)?(?P<at>send\w*)\((.*)\)")
_SET = re.compile(r"(?:\w+\.)?(?P<at>set_?value)\((.*)\)", re.IGNORECASE)
_ALL = re.compile(r"(?P<at>vertices\.(?:apply|map|foreach|for_each))\((\w+)\)", re.IGNORECASE)
_LIST = re.compile(r"(vertex|edge|global) (\w+): (?P<at>list|array|ndarray|vector)\b(?:\[(\w+)[^\]]*\])?(?: = (.+))?",
                   re.IGNORECASE)
_TARGETS = re.compile(r"(?P<at>apply) (\w+(?:, ?\w+)+) = (.+)")
_TRY = re.compile(r"(?P<at>try|except|finally|catch)\b[^:]*:")
_DIVISOR = re.compile(r"/ ?([A-Za-z_]\w*)(?![\w.(\[])")


def _sent(text: str, around: Surroundings) -> str:
    """Rewrite an expression of a vertex about itself as an expression about its neighbour `u`."""
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
    return _found(match, f"`{said}` is not needed: a vertex writes only its own fields",
                  "gather what the neighbours contribute, then apply it:", *write, group="at")


def _send(line: str, around: Surroundings) -> Habit | None:
    match = _SEND.fullmatch(line)
    if match is None:
        return None
    sent = _sent((_split(match[2]) or [""])[-1], around)
    fold = "sum" if re.search(r"[/*]", sent) else "min"
    word = around.fresh("total" if fold == "sum" else "near")
    return _found(match, f"nothing is sent by `{match['at']}`: a vertex gathers from its neighbours",
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
    return _found(match, f"`{match['at']}` is written `apply`", "a vertex writes a field by its name:", *write,
                  group="at")


def _to_all(line: str, around: Surroundings) -> Habit | None:
    match = _ALL.fullmatch(line)
    if match is None:
        return None
    write = [f"apply {name} = {match[2]}({name})" for name in around.fields] if len(around.fields) == 1 else []
    return _found(match, f"`{match['at']}` is not needed: every statement runs for all vertices",
                  "a function is declared with `fn`, and its value is applied:", *write, group="at")


def _list(line: str, around: Surroundings) -> Habit | None:
    match = _LIST.fullmatch(line)
    if match is None:
        return None
    word, name, said, item, start = match.groups()
    start = start if start and re.fullmatch(r"[\d.]+|true|false", start) else "0"
    item = item if item in TYPE_NAMES else "float"
    return _found(match, f"there is no type `{said}`: a vector has a fixed length",
                  "for example, with 8 components:",
                  *([f"vertex {name}: {item}[8] = {start}"] if word == "vertex" else []), group="at")


def _targets(line: str, around: Surroundings) -> Habit | None:
    match = _TARGETS.fullmatch(line)
    if match is None:
        return None
    value = f"({match[3]})" if len(_split(match[3])) > 1 else match[3]
    return _found(match, "`apply` writes several fields as a tuple", "a tuple has brackets:",
                  f"apply ({match[2]}) = {value}")


def _try(line: str, around: Surroundings) -> Habit | None:
    match = _TRY.fullmatch(line)
    if match is None:
        return None
    said = match["at"]
    inside = around.after if said == "try" else around.before[::-1]
    divisor = next((found[1] for text in inside[:3] if (found := _DIVISOR.search(text))), "")
    test = f"where {divisor} != 0:" if said == "try" else f"where {divisor} == 0:"
    return _found(match, f"there is no `{said}`: no operation fails, and `1 / 0` is `inf`",
                  "a condition chooses the vertices before:", *([test] if divisor and said != "finally" else []),
                  group="at")


_RULES: tuple[_Rule, ...] = (
    foreign_random, foreign_group,
    _neighbours, _typed_arrow, _two_steps, _all_edges, _atomic, _send, _set_value, _to_all, _list, _targets, _try,
    _method, _entry,
)

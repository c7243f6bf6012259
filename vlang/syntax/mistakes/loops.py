"""Loops over neighbours, edges, messages, numbers or supersteps, and functions on edges: a gather and an apply do the
same.
"""

from __future__ import annotations

import re
from dataclasses import replace

from vlang.syntax.lines import scan
from vlang.syntax.mistakes.block import LEAVE_ALL, Block, Found, gathered, plain
from vlang.syntax.mistakes.surroundings import split

__all__ = ["breadth_first", "constants", "counted", "do_while", "edge_function", "edge_function_applied", "either",
           "function", "halted_vertices", "local_total", "loop", "named_rounds", "of_constants", "written_edges"]

_IN = frozenset({"predecessors", "in_neighbors", "in_neighbours", "in_edges", "innbrs", "messages", "getmessages",
                 "msgs", "inbox", "incoming"})
_OUT = frozenset({"successors", "out_neighbors", "out_neighbours", "out_edges", "outnbrs", "nbrs", "getedges"})
_BOTH = frozenset({"neighbors", "neighbours", "neighbor", "neighbour", "adj", "adjacent", "edges", "get_neighbors"})
_LIST = r"(?:(?P<owner>\w+)\.)?(?P<list>\w+)(?:\((?P<arg>\w*)\)|\[(?P<index>\w+)\])?"
_HEADS = tuple(map(re.compile, (
    rf"for (?P<u>\w+) in {_LIST}:?", rf"for \((?:const )?\w+&? (?P<u>\w+) ?: ?{_LIST}\)(?: ?\{{)?:?",
    rf"(?:[Ff]or[Ee]ach|[Ff]or) ?\((?P<u>\w+) ?: ?{_LIST}\)(?: ?\{{)?:?")))
_ALL = re.compile(r"(?:for (?P<v>\w+) in (?:\w+\.(?:nodes|vertices|vs)(?:\(\))?|vertices):?"
                  r"|[Ff]or[Ee]ach ?\((?P<w>\w+) ?: ?\w+\.Nodes\)(?: ?\{)?:?)")
_EDGES = re.compile(r"for \(?(?P<s>\w+), ?(?P<t>\w+)(?:, ?(?P<d>\w+))?\)? in "
                    r"(?P<at>\w+\.(?:edges|es|out_edges|in_edges)(?:\([^)]*\))?):?")
_START = re.compile(r"(?:let |var |float |double |int |long |bool )?(?P<name>\w+)(?:: ?\w+)? = (?P<value>.+?);?")
_IDENTITIES = {"sum": ("0", "0.0"), "min": ("inf", 'float("inf")', "float('inf')", "math.inf"), "prod": ("1", "1.0"),
               "max": ("-inf", '-float("inf")', "-float('inf')", "-math.inf"), "any": ("false", "False"),
               "all": ("true", "True")}
_IF = re.compile(r"if \(?(.+?)\)?(?: ?\{)?:?")
_FUNCTION = re.compile(r"(?P<word>func|function|def|proc|void) (?P<name>\w+)\((?P<names>[^()]*)\)"
                       r"(?: ?->.*)?(?: ?[:{])?")
_RETURN = re.compile(r"return (.+?);?")
_APPLIED = re.compile(r"edge(?:s|set)\w*\.(?:\w+\(.*\)\.)?(?P<at>apply\w*)\((?P<name>\w+)(?:, ?\w+)?\);?")
_HALT = re.compile(r"(?:\w+\.)?vote_?to_?halt\(\);?", re.IGNORECASE)
_COUNTED = (re.compile(r"for (?P<i>\w+) in (?P<at>range)\((?P<args>.+)\):"),
            re.compile(r"for (?P<i>\w+) in (?P<at>(?P<a>\w+) ?(?P<op>\.\.[.=]?|:) ?(?P<b>.+?)):"),
            re.compile(r"for (?P<i>\w+) ?(?P<at>(?P<all>=) ?(?P<a>\w+)(?P<op> to | ?: ?|, ?)(?P<b>[^:,]+?)) ?[:{]?"),
            re.compile(r"for(?:each)? ?\((?:int |auto )?(?P<i>\w+) ?(?::|in) ?"
                       r"(?P<at>(?P<a>\w+) ?(?P<op>\.\.[.=]?|:) ?(?P<b>[^{}]+?))\) ?[{:]"))
_ASSIGNED = re.compile(r"(?:apply )?(?P<name>\w+) = (?P<value>.+?);?")
_DO, _ENDS_DO = re.compile(r"(?P<at>do) ?[{:]"), re.compile(r"(?:\} ?)?(?P<at>while|until) ?\(?(?P<test>.+?)\)?;?")
_ENDLESS = re.compile(r"changed|not converged|!converged|not done|!done|true|True|1")
_BFS = re.compile(r"(?P<at>InBFS) ?\((?P<v>\w+) ?: ?\w+\.Nodes [Ff]rom (?P<root>\w+)\)(?: ?\{)?:?")
_ROUNDS = re.compile(r"repeat(?: (?P<many>.+?)(?: times)?)? (?P<at>(?:as|with|counting) (?P<name>\w+)):")
_CONSTANTS = re.compile(r"(?P<at>enum)(?: class)? (?P<name>\w+) ?(?:\{|:|=)? ?(?P<items>\w+(?:, ?\w+)*) ?\}?;?")
_OF_TYPE = re.compile(r"(?P<head>(?:vertex|edge) \w+): (?P<type>\w+)(?P<rest>.*)")
_OVER_EDGES = re.compile(r"(?P<at>for (?:each )?(?:edge )?(?P<u>\w+) -> (?P<v>\w+))(?: (?:if|where) (?P<cond>.+))?:")
_EDGE_WRITE = re.compile(r"(?:apply )?(?P<name>\w+) (?P<op>[-+*]?=) (?P<value>[^=].*)")
_TITLE = "a loop over neighbours is written as a `gather`, not as `{}`"
_HELP = "one reduction combines them, then the vertex applies what was gathered:"


def _domain(kind: str, u: str) -> str:
    """The edges of a list of other languages; "" if it is none of neighbours."""
    kind = kind.lower()
    arrows = ((_IN, f"{u} -> self"), (_OUT, f"self -> {u}"), (_BOTH, f"{u} -- self"))
    return next((arrow for names, arrow in arrows if kind in names), "")


def _assignment(lines: list[str]) -> tuple[str, str]:
    """The only assignment of a body and the condition before it; two empty texts for another body."""
    left = [line for line in lines if line not in ("}", "end", "pass")]
    test = _IF.fullmatch(left[0]) if len(left) == 2 else None
    if test is not None:
        return left[1], test[1]
    return (left[0], "") if len(left) == 1 else ("", "")


def loop(block: Block) -> Found | None:
    """Recognise a loop over neighbours, or over all edges, with one assignment."""
    text, body = block.text(0), block.body()
    edges = _EDGES.fullmatch(text)
    if edges is not None:
        line, cond = _assignment(body)
        u, v, data = edges["s"], edges["t"], edges["d"] or ""
        write = gathered(line, f"{u} -> self", block.around, own=v, neighbour=u, edge=data, cond=cond)
        if not write:
            write = gathered(line, f"self -> {v}", block.around, own=u, neighbour=v, edge=data, cond=cond)
        return Found(_TITLE.format(edges["at"]), _HELP, write, edges["at"], 1 + block.inside) if write else None
    every = _ALL.fullmatch(text)
    if every is not None and body:
        name = every["v"] or every["w"]
        return _inner(block, body[0], body[1:], name, 1) or _every_vertex(block, name)
    return _inner(block, text, body, "self", 0)


def _every_vertex(block: Block, v: str) -> Found | None:
    """The lines of a loop over all vertices that reads the edges of its vertex, without the loop."""
    body, lines = block.body(), block.found.lines
    near = rf"\b{v}\.(?:\w*neighbou?rs|\w*edges|adj)\b|\b\w*neighbou?rs\({v}\)|(?:->|--) {v}\b|(?<![\w.]){v} (?:->|--)"
    if not re.search(near, " ".join(body)) or any(line.startswith(("repeat", "while", "for k")) for line in body):
        return None
    first = lines[block.place + 1].indent
    field = rf"(?<![\w.]){v}\.(?!\w*(?:neighbou?rs|edges|adj)\b)"
    write = [" " * (lines[block.place + 1 + k].indent - first) +
             re.sub(rf"(?<![\w.]){v}\b(?!\()", "self", re.sub(field, "", line)) for k, line in enumerate(body)]
    return Found("a statement runs for all vertices: there is no loop over them",
                 f"without the loop, `{v}` is `self`:", _with_gathers(block, write), block.text(0).rstrip(":{ "),
                 1 + block.inside)


def _with_gathers(block: Block, lines: list[str]) -> tuple[str, ...]:
    """Lines in place of a block, in which loops over neighbours are gathers."""
    above = [line for line in block.around.before if line]
    found = scan("\n".join([*above, *lines]), lambda *_: False, lambda *_: None)
    place, write = len(above), []
    while place < len(found.lines):
        inner = Block(found, place)
        one = local_total(inner) or loop(inner)
        margin = " " * found.lines[place].indent
        write += [margin + line for line in (one.write if one is not None else (inner.text(0),))]
        place += one.lines if one is not None else 1
    return tuple(write)


def local_total(block: Block) -> Found | None:
    """Recognise `total = 0` and a loop over neighbours that adds to it, or takes a minimum."""
    start, loop_ = _START.fullmatch(block.text(0)), Block(block.found, block.place + 1)
    head = next((found for one in _HEADS if (found := one.fullmatch(block.text(1))) is not None), None)
    if start is None or head is None or start["name"] in block.around.fields or not loop_.inside or \
            block.found.lines[block.place].indent != block.found.lines[block.place + 1].indent:
        return None
    name, u = start["name"], head["u"]
    own = head["arg"] or head["index"] or (head["owner"] if head["owner"] not in ("G", "g", "graph") else "") or "self"
    (line, cond), domain = _assignment(loop_.body()), _domain(head["list"], u)
    around = replace(block.around, fields={**block.around.fields, name: "float"})
    write = gathered(line, domain, around, own=own, neighbour=u, cond=cond) if line and domain else ()
    fold = re.match(r"gather \w+ = (\w+)\(", write[0]) if write else None
    if fold is None or start["value"].replace(" ", "") not in _IDENTITIES.get(fold[1], ()) or \
            _all_of(block, own) or re.search(rf"(?<![\w.]){name}\b", write[0].partition(" = ")[2]):
        return None
    return Found(_TITLE.format(block.text(1).rstrip(":{ ")), "one reduction over the edges has the value:",
                 (re.sub(r"gather \w+", f"gather {name}", write[0], count=1),), block.text(1).rstrip(":{ "),
                 2 + loop_.inside)


def _all_of(block: Block, own: str) -> bool:
    """Whether a name is that of a loop over all vertices around a line."""
    return any((every := _ALL.fullmatch(line)) is not None and own in (every["v"], every["w"])
               for line in block.around.before)


def _inner(block: Block, head: str, body: list[str], own: str, above: int) -> Found | None:
    """The translation of a loop over the neighbours of a vertex.

    Args:
        block: the outermost loop.
        head: the head of the loop over neighbours.
        body: its lines.
        own: the name of the vertex whose neighbours these are.
        above: the number of lines above the head.
    """
    match = next((found for one in _HEADS if (found := one.fullmatch(head)) is not None), None)
    if match is None:
        return None
    u = match["u"]
    given = match["arg"] or match["index"] or (match["owner"] if match["owner"] not in ("G", "g", "graph") else "")
    messages = match["list"].lower() in ("messages", "getmessages", "msgs", "inbox")
    own = own if messages or not given or above else given
    line, cond = _assignment(body)
    around = block.around
    declared = re.search(rf"\b{match['list']} ?: ?vertices\b", " ".join(around.before[:1])) is not None
    domain = "" if declared else _domain(match["list"], u)
    if not line or not domain or (above and given != own) or (not above and _all_of(block, own)):
        return None
    if messages:
        line = re.sub(rf"\b{u}\.(?:value|get\(\)|getValue\(\))", f"{u}.{next(iter(around.fields), '')}", line)
    write = gathered(line, domain, around, own=own, neighbour=u, cond=cond)
    at = head[head.index(" in ") + 4 :].rstrip(":") if head.startswith("for ") and " in " in head else \
        head.rstrip(":{ ")
    return Found(_TITLE.format(at), _HELP, write, at, above + 1 + len(body)) if write else None


def _before(text: str) -> str:
    """The number before one, as text."""
    if text.isdigit():
        return str(int(text) - 1)
    return text.removesuffix(" + 1") if text.endswith(" + 1") else f"{text} - 1"


def counted(block: Block) -> Found | None:
    """Recognise a loop over numbers: `for i in range(n):`, `for i in 0..n:`, `for i = 1:n`, `foreach (i : 1..n) {`.

    `range(a, b)` and what begins at 0 exclude the last number: `0..n` are n rounds. A loop from 0 whose number is not
    read counts from 1.
    """
    text = block.text(0)
    match = next((found for one in _COUNTED if (found := one.fullmatch(text)) is not None), None)
    if match is None:
        return None
    low, high, ranged = "0", "", match["at"] == "range"
    if ranged:
        args = split(match["args"])
        low, high = (["0", *args] if len(args) == 1 else args)[:2] if len(args) in (1, 2) else ("", "")
    else:
        low, high = match["a"], match["b"].strip()
    excluded = ranged or (low == "0" and match["op"] in ("..", ":") and "all" not in match.re.groupindex)
    read = any(re.search(rf"(?<![\w.]){match['i']}\b", line) for line in block.body())
    if excluded and low == "0" and not read:
        low = "1"
    elif excluded and high:
        high = _before(high)
    write = (f"for {match['i']} from {low} to {high}:",) if high else ()
    if ranged:
        return Found("`range` is written `from ... to`", "the last number is included", write, text)
    return Found(f"`{match['at']}` is written `from {low} to {high}`",
                 "both numbers are included, so that n rounds are `from 1 to n`:" if excluded else
                 "both numbers are included:", write, match["at"])


def do_while(block: Block) -> Found | None:
    """Recognise `do {` with `} while (c)` below its block, and that line."""
    text, lines = block.text(0), block.found.lines
    match, end = _DO.fullmatch(text), _ENDS_DO.fullmatch(text)
    if match is not None:
        close = _ENDS_DO.fullmatch(block.text(1 + block.inside))
        if close is None:
            return None
        test = close["test"] if close["at"] == "until" else f"not ({close['test']})"
        write = "repeat:" if _ENDLESS.fullmatch(close["test"]) else f"repeat until {test}:"
        return Found("a loop begins with `repeat`", "its condition is tested after every superstep:", (write,),
                     match["at"])
    above = [place for place in range(block.place) if lines[place].indent == lines[block.place].indent]
    if end is None or not above or _DO.fullmatch(block.text(above[-1] - block.place)) is None:
        return None
    return Found(f"`{end['at']}` stands beside `repeat`", "leave this line out", (), end["at"])


def either(block: Block) -> Found | None:
    """Recognise `if c: x = a` with `else: x = b`, where c reads x: the second block would see another x."""
    test = _IF.fullmatch(block.text(0))
    if test is None or block.inside != 1 or block.text(2) not in ("else:", "} else {", "else {"):
        return None
    below = Block(block.found, block.place + 2)
    one, other = _ASSIGNED.fullmatch(block.text(1)), _ASSIGNED.fullmatch(block.text(3))
    if one is None or other is None or below.inside != 1 or one["name"] != other["name"] or \
            not re.search(rf"(?<![\w.]){one['name']}\b", test[1]):
        return None
    return Found("there is no `if` statement", "one value of two:",
                 (f"apply {one['name']} = {one['value']} if {test[1]} else {other['value']}",), "if", 4)


def breadth_first(block: Block) -> Found | None:
    """Recognise `InBFS (v: G.Nodes From source):` of Green-Marl, whose lines read the parents of v."""
    match = _BFS.fullmatch(block.text(0))
    if match is None:
        return None
    around, v, u = block.around, match["v"], "u"
    depth, near = around.fresh("depth"), around.fresh("near")
    write = [f"vertex {depth}: int = 0 if self == {match['root']} else inf", "repeat:",
             f"    gather {near} = min({u}.{depth} + 1 for {u} -> self)", f"    apply {depth} = min({depth}, {near})",
             f"sweep {depth} up:"]
    for line in block.body():
        one = re.fullmatch(rf"{v}\.(\w+) = (.*\b{v}\.(?:parent|UpNbrs)\b.*?);?", line)
        if one is None or one[1] not in around.fields:
            write = []
            break
        value = plain(re.sub(rf"\b{v}\.(?:parent|UpNbrs)\.", f"{u}.", one[2]), v)
        found = around.fresh(f"{one[1]}_above")
        write += [f"    gather {found} = min({value} for {u} -> self if {u}.{depth} == {depth} - 1)",
                  f"    where 0 < {depth} and {depth} < inf: apply {one[1]} = {found}"]
    return Found("there is no `InBFS`: the depths of a search are a field",
                 "a `sweep` takes the vertices by their depth:",
                 tuple(write), match["at"], 1 + block.inside if write else 1)


def halted_vertices(block: Block) -> Found | None:
    """Recognise a condition under which a vertex votes to halt."""
    body = block.body()
    if _IF.fullmatch(block.text(0)) is None or len(body) != 1 or _HALT.fullmatch(body[0]) is None:
        return None
    return Found(f"there is no `{body[0]}`: a vertex that does not change is inactive by itself",
                 f"{LEAVE_ALL}: `activate when c` is a narrower condition", (), body[0], 2)


def named_rounds(block: Block) -> Found | None:
    """Recognise `repeat n times as t:` and `repeat as t:`."""
    match = _ROUNDS.fullmatch(block.text(0))
    if match is None:
        return None
    name, title = match["name"], f"`{match['at']}` names no number of the superstep"
    if match["many"]:
        return Found(title, "a loop over numbers has a name:", (f"for {name} from 1 to {match['many']}:",), match["at"])
    lines = [block.found.lines[block.place + k].indent - block.found.lines[block.place].indent
             for k in range(1 + block.inside)]
    below = [" " * lines[1 + k] + re.sub(rf"(?<![\w.]){name}\b", "iteration", text)
             for k, text in enumerate(block.body())]
    return Found(title, "`iteration` counts supersteps from 1:", ("repeat:", *below), match["at"], 1 + block.inside)


def constants(block: Block) -> Found | None:
    """Recognise `enum State { S, I, R }`."""
    match = _CONSTANTS.fullmatch(block.text(0))
    if match is None or not block.around.top:
        return None
    items = re.split(", ?", match["items"])
    return Found(f"there is no `{match['at']}`", "each name is a number of the whole graph:",
                 tuple(f"let {item} = {place}" for place, item in enumerate(items)), match["at"])


def of_constants(block: Block) -> Found | None:
    """Recognise `vertex state: State` and `State.S`, where `State` is an `enum`."""
    text = block.text(0)
    declared = {one["name"] for line in block.around.before if (one := _CONSTANTS.fullmatch(line)) is not None}
    for name in sorted(declared):
        new = re.sub(rf"\b{name}\.(?=\w)", "", text)
        match = _OF_TYPE.fullmatch(new)
        if match is not None and match["type"] == name:
            new = f"{match['head']}: int{match['rest']}"
        if new != text:
            return Found(f"`{name}` is no type and no value: its names are numbers", "without it:", (new,), name)
    return None


def written_edges(block: Block) -> Found | None:
    """Recognise `for u -> v if c:` with one assignment to a value of these edges."""
    match, body = _OVER_EDGES.fullmatch(block.text(0)), block.body()
    line = _EDGE_WRITE.fullmatch(body[0]) if len(body) == 1 else None
    if match is None or line is None or line["name"] not in block.around.edges or \
            "self" in (match["u"], match["v"]):
        return None
    u, v = match["u"], match["v"]
    if re.search(rf"(?<![\w.])(?:{'|'.join(('self', *block.around.fields))})\b", f"{line['value']} {match['cond']}"):
        return None  # of which vertex?
    value, cond = (re.sub(rf"(?<![\w.]){v}\b", "self", plain(text or "", v, u))
                   for text in (line["value"], match["cond"]))
    return Found(f"`{match['at']}` heads no block: an edge state is written for its edges",
                 "the target of the edges is this vertex:",
                 (f"apply {line['name']} {line['op']} {value} for {u} -> self{f' if {cond}' if cond else ''}",),
                 match["at"], 2)


# ----------------------------------------------------------------------- functions


def _names(text: str) -> list[str]:
    """The names of parameters, without their types."""
    given = (part.split(":")[0].split() for part in text.split(","))
    return [words[-1].strip("*&") for words in given if words]


def _ends(block: Block) -> int:
    """The number of lines of a function, with the line that ends it."""
    return 1 + block.inside + (block.text(1 + block.inside) in ("end", "END", "}"))


def function(block: Block) -> Found | None:
    """Recognise a function that returns an expression."""
    match = _FUNCTION.fullmatch(block.text(0))
    body = [line for line in block.body() if not line.startswith('"')]
    value = _RETURN.fullmatch(body[0]) if len(body) == 1 else None
    if match is None or value is None or not block.around.top:
        return None
    names = ", ".join(f"{name}: float" for name in _names(match["names"]))
    return Found(f"`{match['word']}` is written `fn`: a function is one expression", "its parameters have types:",
                 (f"fn {match['name']}({names}) = {value[1]}",), match["word"], _ends(block))


def edge_function(block: Block) -> Found | None:
    """Recognise a function on edges that `edges.apply(...)` calls."""
    match = _FUNCTION.fullmatch(block.text(0))
    if match is None or len(_names(match["names"])) not in (2, 3) or len(block.body()) != 1:
        return None
    calls = [text for text in block.around.after if (one := _APPLIED.fullmatch(text)) and one["name"] == match["name"]]
    if not calls:
        return None
    return Found(f"`{match['word']}`: no function writes fields", f"{LEAVE_ALL}: `{calls[0]}` becomes a `gather`", (),
                 match["word"], _ends(block))


def edge_function_applied(block: Block) -> Found | None:
    """Recognise the call of such a function."""
    match = _APPLIED.fullmatch(block.text(0))
    if match is None:
        return None
    for offset in range(-block.place, 0):
        head = _FUNCTION.fullmatch(block.text(offset))
        if head is None or head["name"] != match["name"]:
            continue
        names = _names(head["names"])
        if len(names) not in (2, 3):
            return None
        source, target = names[:2]
        write = gathered(block.text(offset + 1), f"{source} -> self", block.around, own=target, neighbour=source)
        return Found(f"edges have no method `{match['at']}`", "what every edge contributes is the expression of a "
                     "`gather`:", write, match["at"]) if write else None
    return None

"""Single lines of GSQL, Green-Marl, DGL, GraphIt, Ligra, Java, pandas and Python, translated by the lines around."""

from __future__ import annotations

import re

from vlang.syntax.mistakes.block import LEAVE, Block, Found, gathered, named, plain
from vlang.syntax.mistakes.spelling.words import respelled

__all__ = ["LINES"]

_LOCAL = re.compile(r"(?P<at>(?:final )?(?:double|float|int|long|auto|var|bool|boolean) (?P<name>\w+))"
                    r" = (?P<value>.+?);?")
_TYPES = {"double": "float", "float": "float", "int": "int", "long": "i64", "bool": "bool", "boolean": "bool"}
_OVER = re.compile(r"\w+\(.+ for (?:\w+ (?:->|--) self|self (?:->|--) \w+)\b.*\)")
_PROPERTY = re.compile(r"(?P<at>(?:vector\{Vertex\}|N_P|Node_Prop|Node_Property)[(<](?P<type>\w+)[)>]) (?P<name>\w+)"
                       r"(?: = (?P<start>.+?))?;?")
_ITEMS = {"float": "float", "double": "float", "int": "int", "long": "i64", "bool": "bool", "uint": "u32"}
_LIST = re.compile(r"(?P<head>.*?)(?P<at>(?P<fold>Sum|Product|Max|Min|Count|Avg|Any|All|Exist)) ?\((?P<w>\w+) ?: ?"
                   r"(?P<own>\w+)\.(?P<list>InNbrs|OutNbrs|Nbrs)\) ?(?:[(\[](?P<cond>[^)\]]+)[)\]] ?)?"
                   r"\{(?P<body>[^{}]+)\}"
                   r"(?P<rest>.*?);?")
_LISTS = {"InNbrs": "{} -> self", "OutNbrs": "self -> {}", "Nbrs": "self -> {}"}
_GREEN = {"Sum": "sum", "Product": "prod", "Max": "max", "Min": "min", "Count": "count", "Avg": "mean", "Any": "any",
          "Exist": "any", "All": "all"}
_FRONTIER = re.compile(r"(?:var |let |auto )?(?:(?P<at>vertexSubset|vertexset\{Vertex\}) )?"
                       r"(?P<name>frontier\w*|active\w*|"
                       r"worklist|queue|todo)(?:: ?[\w{}()]+)? = (?:\[|\{|\w+;?$).*")
_EMPTY = re.compile(r"(?:repeat until|repeat while|while) \(?!?\w*(?P<at>frontier|active|worklist|queue|todo)\w*"
                    r"\.\w+\(\)(?: ?(?:==|!=|>) ?0)?\)?:?")
_NEXT = re.compile(r"(?:var |let )?\w+ = edge(?:s|set)?\w*\.(?P<at>from\(\w+\))\.to\((?P<cond>.+?)\)\.apply\w*\("
                   r"(?P<field>\w+)(?:, ?\w+)?\);?")
_SWAP = re.compile(r"(?:if ?\(?)?(?P<at>CAS|compare_and_swap|compareAndSwap)\(&?(?P<field>\w+)(?:\[\w+\])?, ?"
                   r"(?P<old>[^,]+), ?"
                   r"(?P<new>[^,()]+)\)\)?;?:?")
_COUNTER = re.compile(r"(?P<head>.* = )Counter\((?P<body>[^()]+?) for "
                      r"(?P<domain>\w+ (?:->|--) self|self (?:->|--) \w+)\)"
                      r"\.(?P<at>most_common)\(1?\)\[0\](?P<last>\[[01]\])?")
_SET = re.compile(r"(?P<head>gather (?P<name>\w+) = )(?P<at>(?:\{|(?:frozen)?set\(\[?)(?P<body>[^{}]+?) for "
                  r"(?P<domain>[^{}]+?)(?:\}|\]?\)))")
_FREE = re.compile(r"(?P<head>apply \w+ = )(?P<at>min|next)\((?P<c>\w+) for (?P=c) in range\(.*\) "
                   r"if (?P=c) not in (?P<set>\w+)\)")
_DATA = re.compile(r"(?P<at>(?:\w+\.)?ndata\[[\"'](?P<name>\w+)[\"']\]) = (?P<value>.+)")
_NODES = re.compile(r"(?P<head>.*?)(?:\bdgl\.)?(?P<at>\b(?P<fold>sum|mean|max)_nodes)"
                    r"\(\w+, ?[\"'](?P<name>\w+)[\"']\)(?P<rest>.*)")
_POST = re.compile(r"(?P<at>POST[-_]ACCUM) (?:\w+\.)?@?(?P<name>\w+) ?(?P<op>[-+*]?=) ?(?P<value>.+?);?")
_WHILE = re.compile(r"(?P<at>WHILE|while) \(?(?P<cond>.+?)\)? (?:LIMIT|limit) (?P<most>\w+)(?: (?:DO|do))?:?")
_ORDERED = re.compile(r"(?P<head>(?:let|global) \w+(?:: \w+)? = )(?P<body>[^()]+) for (?P<v>\w+) in vertices"
                      r"(?: where (?P<cond>.+?))? (?P<at>order by) (?P<key>.+?)(?: (?P<how>asc|desc))?(?: limit 1)?",
                      re.IGNORECASE)
_ENTRY = re.compile(r"(?P<at>(?P<name>\w+)\[(?P<v>\w+)\] (?P<fold>min|max)=) (?P<value>[^;]+);?")
_FROM = re.compile(r"(?P<head>(?:global|let) \w+(?:: \w+)? = )(?P<fold>count|sum|min|max|avg)\((?P<body>[^()]*)\) "
                   r"(?P<at>from) (?:vertices|nodes|V)(?: where (?P<cond>.+))?", re.IGNORECASE)
_BREAK = re.compile(r"if \(?(?:no changes?|not changed|!changed|unchanged|converged|done)\)?:? ?(?P<at>break);?")
_END = re.compile(r"(?P<at>END|end|End|endwhile|endif|done|fi|\})(?: [A-Z]+)?;?")
_RESULT = re.compile(r"(?P<head>vertex \w+: \w+) = (?:nx|ig|nk|networkx|gt)\.(?:\w+\.)*(?P<at>(?P<name>\w+))\([^()]*\)"
                     r"(?:\[self\]|\.\w+\(\))?")
_COLUMN = re.compile(r"(?<![\w.])(?P<name>\w+)\.(?P<fold>mean|sum|std|var|min|max)\(\)")


def _local(block: Block) -> Found | None:
    """A local variable of C or Java."""
    match = _LOCAL.fullmatch(block.text(0))
    if match is None:
        return None
    name, value = match["name"], match["value"]
    type_ = _TYPES.get(match["at"].removeprefix("final ").split()[0], "float")
    fields = set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", value)) & (set(block.around.fields) | {"self", "degree"})
    if _OVER.fullmatch(value):
        write, word = f"gather {name} = {value}", "gather"
    elif fields:
        write, word = f"vertex {name}: {type_} = {value}", "vertex"
    elif any(re.match(rf"(?:apply )?{name} ?(?:[-+*/]?=[^=]|\+\+|--)", line) for line in block.around.after):
        write, word = f"vertex {name}: {type_} = {value}", "vertex"  # a counter, with the same value at every vertex
    else:
        write, word = f"let {name} = {value}", "let"
    return Found(f"`{match['at']}` is written with `{word}`",
                 "`let` names a value of the whole graph, `gather` a reduction "
                 "over edges, and `vertex` a field:", (write,), match["at"])


def _property(block: Block) -> Found | None:
    """A field of GraphIt or Green-Marl."""
    match = _PROPERTY.fullmatch(block.text(0))
    if match is None:
        return None
    return Found(f"`{match['at']}` is written `vertex`", "one value per vertex, and its type after a colon:",
                 (f"vertex {match['name']}: {_ITEMS.get(match['type'].lower(), 'float')} = {match['start'] or 0}",),
                 match["at"])


def _green(block: Block) -> Found | None:
    """`Sum(w: t.InNbrs) {w.rank}` of Green-Marl."""
    match = _LIST.fullmatch(block.text(0))
    if match is None:
        return None
    around, w, fold = block.around, match["w"], _GREEN[match["fold"]]
    body, cond = (plain(text or "", match["own"], w) for text in (match["body"], match["cond"]))
    rest = ", default = 0" if fold == "mean" else ""
    reduction = f"{fold}({body} for {_LISTS[match['list']].format(w)}{f' if {cond}' if cond else ''}{rest})"
    head = re.sub(rf"^{match['own']}\.(\w+) = ", r"apply \1 = ", match["head"])
    tail = match["rest"]
    name = around.fresh({"sum": "total", "min": "least", "max": "largest"}.get(fold, "found"))
    if head.startswith("vertex"):
        write: tuple[str, ...] = (head + reduction + tail,)
    else:
        write = (f"gather {name} = {reduction}", head + name + tail)
    return Found(f"`{match['at']}(...)` is written `{fold}(...)`",
                 "a reduction over edges has a name, and its arrow inside:",
                 write, match["at"] + "(")


def _frontier(block: Block) -> Found | None:
    """Sets of active vertices of Ligra and GraphIt."""
    text = block.text(0)
    match = _FRONTIER.fullmatch(text)
    if match is not None and match["name"] not in block.around.fields:
        at = match["at"] or match["name"]
        return Found(f"there is no `{at}`: the vertices that changed are active by themselves",
                     f"{LEAVE}: `repeat` goes on "
                     "until nothing changes", (), at)
    match = _EMPTY.fullmatch(text)
    if match is not None:
        return Found(f"there is no `{match['at']}`: a loop ends when nothing changes", "without a condition:",
                     ("repeat:",), match["at"])
    match = _NEXT.fullmatch(text)
    if match is None or block.around.fields.get(match["field"]) != "vertex":
        return None
    name, cond = match["field"], match["cond"]
    found = block.around.fresh("found")
    far = re.sub(rf"\b{name} == none\b", f"u.{name} != none", cond)
    return Found(f"there is no `{match['at']}`: a vertex gathers from its neighbours",
                 "of the neighbours that have a value:",
                 (f"gather {found} = min(u for u -> self if {far})", f"where {cond}: apply {name} = {found}"),
                 match["at"])


def _swap(block: Block) -> Found | None:
    match = _SWAP.fullmatch(block.text(0))
    if match is None or match["field"] not in block.around.fields:
        return None
    name = match["field"]
    return Found(f"`{match['at']}` is not needed: a vertex writes only its own fields", "a choice of two values:",
                 (f"apply {name} = {match['new']} if {name} == {match['old']} else {name}",), match["at"])


def _counter(block: Block) -> Found | None:
    match = _COUNTER.fullmatch(block.text(0))
    if match is None:
        return None
    own = re.fullmatch(r"\w+\.(\w+)", match["body"])
    default = own[1] if own is not None and own[1] in block.around.fields else "0"
    return Found(f"there is no `{match['at']}`: `mode` is the most frequent value",
                 "of the smallest ones, if several are:",
                 (f"{match['head']}mode({match['body']} for {match['domain']}, default = {default})",), match["at"])


def _sets(block: Block) -> Found | None:
    """A set of the neighbours' values, from which the least free number is chosen."""
    match = _SET.fullmatch(block.text(0))
    if match is not None:
        uses = [one for text in block.around.after if (one := _FREE.fullmatch(text)) and one["set"] == match["name"]]
        title = f"`{match['at']}` is no value: a reduction combines what the edges contribute"
        if uses:
            return Found(title, "the least number that no neighbour has:",
                         (f"{match['head']}mex({match['body']} for {match['domain']})",), match["at"])
        return Found(title, "the number of different values, for example:",
                     (f"{match['head']}count(true for {match['domain']} by each = {match['body']})",), match["at"])
    match = _FREE.fullmatch(block.text(0))
    if match is None or not any((one := _SET.fullmatch(text)) and one["name"] == match["set"]
                                for text in block.around.before):
        return None
    return Found("a reduction ranges over edges or vertices, not over numbers",
                 "`mex` is the least number that does not "
                 "occur:", (match["head"] + match["set"],), match["at"])


def _data(block: Block) -> Found | None:
    """`g.ndata["h"] = ...` and `dgl.mean_nodes(g, "x")` of DGL."""
    match = _DATA.fullmatch(block.text(0))
    if match is not None:
        value = plain(match["value"])
        write = f"apply {match['name']} = {value}" if match["name"] in block.around.fields else \
            f"vertex {match['name']}: float = {value}"
        return Found(f"there is no `{match['at']}`: a vertex writes a field by its name", "with `apply`:", (write,),
                     match["at"])
    match = _NODES.fullmatch(block.text(0))
    if match is None:
        return None
    rest = ", default = 0" if match["fold"] == "mean" else ""
    return Found(f"there is no `{match['at']}`: a reduction over the vertices has the value", "over all of them:",
                 (f"{match['head']}{match['fold']}(v.{match['name']} for v in vertices{rest}){match['rest']}",),
                 match["at"])


def _gsql(block: Block) -> Found | None:
    """Lines of GSQL."""
    text = block.text(0)
    match = _POST.fullmatch(text)
    if match is not None:
        value = re.sub(r"\b\w+\.@|@", "", match["value"])
        return Found(f"`{match['at']}` is written `apply`", "a vertex writes its own field:",
                     (f"apply {match['name']} {match['op']} {value}",), match["at"])
    match = _WHILE.fullmatch(text)
    if match is not None:
        endless = match["cond"].lower() == "true"
        head = f"repeat {match['most']} times:" if endless else \
            f"repeat at most {match['most']} times until not ({match['cond']}):"
        return Found(f"there is no `{match['at']}`: a loop begins with `repeat`",
                     "with the largest number of supersteps:",
                     (head,), match["at"])
    return _total(block)


def _total(block: Block) -> Found | None:
    """`where x > 2: @@total += x`, and the declaration of `total` above it."""
    body = block.body()
    where = re.fullmatch(r"(?:where|if) (.+):", block.text(0))
    match = re.fullmatch(r"(@@(\w+)) \+= (.+)", body[0] if where is not None and len(body) == 1 else block.text(0))
    if match is not None and block.around.top:
        test = f" if {named(where[1], 'v', block)}" if where is not None else ""
        return Found(f"`{match[1]}` marks no value of the graph: `global` does", "a sum over the vertices:",
                     (f"global {match[2]}: float = sum({named(match[3], 'v', block)} for v in vertices{test})",),
                     match[1],
                     2 if where is not None else 1)
    start = re.fullmatch(r"(global (\w+))(?:: \w+)? = \S+", block.text(0))
    if start is None or not any(text.startswith(f"@@{start[2]} += ") for text in block.around.after):
        return None
    return Found(f"`{start[1]}` has one value, which nothing adds to",
                 f"{LEAVE}: `@@{start[2]}` below becomes the `global`",
                 (), start[1])


def _ordered(block: Block) -> Found | None:
    """`let best = v for v in vertices where c order by v.x desc limit 1`."""
    match = _ORDERED.fullmatch(block.text(0))
    if match is None:
        return None
    v, fold = match["v"], "max" if (match["how"] or "").lower() == "desc" else "min"
    cond = named(respelled(f"where {match['cond']}:")[0][6:-1], v, block) if match["cond"] else ""
    return Found("there is no `order by`: tuples compare by their first part, and rows are sorted after the run "
                 "(`--top 10`)",
                 "the value of the best tuple:",
                 (f"{match['head']}{fold}(({named(match['key'], v, block)}, {match['body']}) for {v} in vertices"
                  f"{f' if {cond}' if cond else ''})[1]",), match["at"])


def _least_entry(block: Block) -> Found | None:
    """`dist[v] min= dist[u] + weight` of GraphIt."""
    match = _ENTRY.fullmatch(block.text(0))
    if match is None:
        return None
    value, title = match["value"], "a vertex writes only its own fields, and receives from its neighbours"
    ends = [one for one in dict.fromkeys(re.findall(r"\[(\w+)\]", match["value"])) if one != match["v"]]
    if len(ends) == 1 and re.search(rf"\b{ends[0]} ?: ?vertex\b", " ".join(block.around.before[:1])) is not None:
        name = match["name"]
        return Found(title, "the value of one vertex is read with a dot:",
                     (f"apply {name} = {match['fold']}({name}, {plain(value, match['v'], ends[0])})",), match["at"])
    write = gathered(f"{match['name']} {match['fold']}= {value}", f"{ends[0]} -> self", block.around,
                     own=match["v"], neighbour=ends[0]) if len(ends) == 1 else ()
    return Found(title, "gather the neighbours' values, then apply:" if write else
                 "gather the neighbours' values, as `min(u.x for u -> self)`, then apply", write, match["at"])


def _from_vertices(block: Block) -> Found | None:
    """`COUNT(*) FROM vertices WHERE c` and `SUM(x) FROM vertices` of SQL."""
    match = _FROM.fullmatch(block.text(0))
    if match is None:
        return None
    fold, cond = {"avg": "mean"}.get(match["fold"].lower(), match["fold"].lower()), match["cond"] or ""
    test = named(respelled(f"where {cond}:")[0][6:-1], "v", block) if cond else ""
    body = test or "true" if fold == "count" else named(match["body"], "v", block)
    chosen = f" if {test}" if test and fold != "count" else ""
    rest = ", default = 0" if fold == "mean" else ""
    return Found(f"there is no `{match['at']}`: a reduction ranges over the vertices", "by `for v in vertices`:",
                 (f"{match['head']}{fold}({body} for v in vertices{chosen}{rest})",), match["at"])


def _break(block: Block) -> Found | None:
    match = _BREAK.fullmatch(block.text(0))
    if match is None:
        return None
    return Found(f"there is no `{match['at']}`: a `repeat` without a condition ends when nothing changes", LEAVE, (),
                 match["at"])


def _end(block: Block) -> Found | None:
    match = _END.fullmatch(block.text(0))
    if match is None:
        return None
    return Found(f"there is no `{match['at']}`: a block ends with its indentation", LEAVE, (), match["at"])


def _result(block: Block) -> Found | None:
    """A function of NetworkX, igraph or NetworKit that computes a value of every vertex."""
    match = _RESULT.fullmatch(block.text(0))
    if match is None:
        return None
    if match["name"] in ("degree_centrality", "in_degree_centrality", "out_degree_centrality"):
        name = {"in": "indegree", "out": "outdegree"}.get(match["name"].partition("_")[0], "degree")
        return Found(f"there is no `{match['at']}`", "the degree, divided by the number of other vertices:",
                     (f"{match['head']} = {name} / (N - 1)",), match["at"])
    return Found(f"there is no `{match['at']}`: a program calls no other program",
                 "a field without a value is an array of the caller, for example the result of another program:",
                 (match["head"],), match["at"])


def _columns(block: Block) -> Found | None:
    """`(x - x.mean()) / x.std()` of pandas."""
    text = block.text(0)
    found = list(_COLUMN.finditer(text)) if text.startswith(("vertex ", "apply ")) else []
    if not any(one["fold"] in ("std", "var") for one in found):
        return None
    around = block.around
    found = [one for one in found if one["name"] in around.fields]
    if not any(one["fold"] in ("std", "var") for one in found):
        return None
    lets: dict[str, str] = {}
    names: dict[tuple[str, str], str] = {}
    for one in found:
        x, fold = one["name"], one["fold"]
        name = names[x, fold] = around.fresh(f"{x}_{fold}")
        if fold in ("std", "var"):
            mean = names[x, "mean"] = around.fresh(f"{x}_mean")
            lets.setdefault(mean, f"let {mean} = mean(v.{x} for v in vertices, default = 0)")
            value = f"sum((v.{x} - {mean}) ** 2 for v in vertices) / (N - 1)"
            lets[name] = f"let {name} = sqrt({value})" if fold == "std" else f"let {name} = {value}"
        else:
            rest = ", default = 0" if fold == "mean" else ""
            lets.setdefault(name, f"let {name} = {fold}(v.{x} for v in vertices{rest})")
    new = _COLUMN.sub(lambda one: names.get((one["name"], one["fold"]), one[0]), text)
    last = next(one[0] for one in found if one["fold"] in ("std", "var"))
    return Found(f"a value has no method `{last[last.index('.') + 1 :]}`",
                 "a `let` holds one value for the whole graph:",
                 (*lets.values(), new), last[last.index(".") + 1 :])


LINES = (_local, _property, _green, _frontier, _swap, _counter, _sets, _data, _gsql, _result, _columns,
         _ordered, _least_entry, _from_vertices, _break, _end)

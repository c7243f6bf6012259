"""Reports calls, indices and products in the notation of other languages, with what to write in vlang instead.

Each function examines an expression before the parts of the expression are checked. The function reports a foreign
notation and returns True. The function returns False for all other expressions.
"""

from __future__ import annotations

from collections.abc import Callable

from vlang.check.advice.vertex_numbers import numbered
from vlang.check.foreign.mathematics import foreign_draw, foreign_number, foreign_sketch, foreign_time
from vlang.check.foreign.more_calls import MORE_RULES, Advice
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import Sight
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL, CONVERSIONS, VERTEX, Matrix, Scalar

__all__ = ["foreign_call", "foreign_column", "foreign_index", "foreign_messages", "foreign_vertices", "only_edge"]

_COUNTS = {**dict.fromkeys(("numvertices", "numnodes", "numberofnodes", "numberofvertices", "order", "vcount"), "N"),
           **dict.fromkeys(("numedges", "numberofedges", "ecount"), "M"),
           "superstep": "(iteration - 1)", "iteration": "iteration", "round": "iteration"}
_DEGREES = {"degree": "degree", "deg": "degree", "indegree": "indegree", "outdegree": "outdegree"}
_MONOIDS = {"plus": "sum", "add": "sum", "times": "prod", "mul": "prod", "lor": "any", "land": "all", "or": "any",
            "and": "all", **{name: name for name in ("min", "max", "sum", "any", "all")}}
_ADJACENT = frozenset({"has_edge", "hasedge", "is_edge", "isedge", "edge_exists", "are_adjacent", "is_adjacent",
                       "adjacent", "is_neighbor", "is_neighbour"})
_EDGE_NAMES = frozenset({"edge", "edges", "e", "link", "rel", "data", "attr"})


def _plain(name: str) -> str:
    return name.lower().replace("_", "").removeprefix("get").removeprefix("total")


def _is_vertex(node: t.Expr, at: Sight) -> bool:
    """Return whether an expression is `self` or a name of a vertex."""
    if isinstance(node, t.Self):
        return True
    symbol = at.scope.find(node.name) if isinstance(node, t.Name) else None
    return symbol is not None and (symbol.kind in ("neighbour", "member") or symbol.type == VERTEX)


def _of_vertex(run: Run, vertex: t.Expr, name: str) -> str:
    return name if isinstance(vertex, t.Self) else f"{run.text(vertex)}.{name}"


def only_edge(at: Sight) -> str:
    """The name of the only edge field; "" if there is none, or several."""
    names = [s.name for s in at.scope.visible() if s.kind == "edge"]
    return names[0] if len(names) == 1 else ""


# ---------------------------------------------------------------------- calls


def foreign_call(run: Run, node: t.Call, at: Sight) -> bool:
    """Return whether a call is of another language. A call in the notation of another language is reported (V101)."""
    for rule in (_choice, _literal, _number, _column_of, _identity, _fold, _adjacent, _layer, _best, _sets,
                 *MORE_RULES, foreign_number, foreign_draw, foreign_time, foreign_sketch):
        advice = rule(run, node, at)
        if advice is not None:
            title, help_, write, replaces = advice
            run.report(Code.UNKNOWN_NAME, title, node.name_span, help=help_ or (), write=write or (),
                       replaces=replaces.span if write else None)
            return True
    return False


def _choice(run: Run, node: t.Call, at: Sight) -> Advice | None:
    if node.name not in ("where", "ifelse", "iif", "select") or len(node.args) != 3:
        return None
    test, yes, no = (rewrite.one_line(run.text(arg)) for arg in node.args)
    return (f"there is no function `{node.name}`", "a choice is written with `if` and `else`:",
            f"({yes} if {test} else {no})", node)


def _literal(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `float("inf")` and other conversions of texts."""
    if node.name not in CONVERSIONS or len(node.args) != 1 or not isinstance(node.args[0], t.Literal):
        return None
    given = node.args[0].value
    if not isinstance(given, str):
        return None
    text = given.lower().replace("infinity", "inf").lstrip("+")
    number = text if text in ("inf", "-inf") else "(0.0 / 0.0)" if text == "nan" else ""
    if not number:
        try:
            float(text)
        except ValueError:
            return None
        number = text
    said = rewrite.one_line(run.text(node))
    return f"`{said}` is written `{number}`", "a text converts to no number:", number, node


def _number(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on functions of other systems that read the size of the graph or the number of the superstep.
    """
    new = _COUNTS.get(_plain(node.name))
    if new is None or (node.args and not (len(node.args) == 1 and isinstance(node.args[0], t.Name)
                                          and node.args[0].name in ("G", "g", "graph"))):
        return None
    inside = at.loop is not None or new in ("N", "M")
    help_ = {"N": "the number of vertices is `N`:", "M": "the number of edges is `M`, an undirected one twice:"}
    return (f"there is no function `{node.name}`", help_.get(new, "`iteration` counts supersteps from 1"),
            new if inside else "", node)


def _column_of(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `degree(u)`, `x(u)` and `weight(u, v)`, which write a field as if it were a function."""
    if not node.args or not all(_is_vertex(arg, at) for arg in node.args):
        return None
    symbol = at.scope.find(node.name)
    name = _DEGREES.get(_plain(node.name), node.name)
    if symbol is not None and symbol.kind == "edge":
        return f"`{node.name}` is an edge field, not a function", "of the edge in sight:", node.name, node
    of_vertex = name in _DEGREES.values() if symbol is None else symbol.kind == "field"
    if len(node.args) != 1 or not of_vertex:
        return None
    return (f"`{node.name}` is a value of a vertex, not a function",
            "the value of `u` is read with a dot, and that of `self` by its name alone:",
            _of_vertex(run, node.args[0], name), node)


def _identity(run: Run, node: t.Call, at: Sight) -> Advice | None:
    if _plain(node.name) not in ("id", "vid", "vertexid", "nodeid", "index") or len(node.args) != 1:
        return None
    if not _is_vertex(node.args[0], at):
        return None
    title = f"there is no function `{node.name}`"
    if any(isinstance(one, t.Binary) and node in (one.left, one.right) for one in rewrite.inside(at.item)):
        help_, write, head = numbered(run, node.name)
        return title, help_, write, t.Name(head, node.name)
    return title, "a vertex is its own value, of the type `vertex`:", run.text(node.args[0]), node


def _fold(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `reduce(plus, x)`."""
    if node.name not in ("reduce", "fold", "aggregate") or len(node.args) not in (2, 3):
        return None
    names = [arg.name for arg in node.args if isinstance(arg, t.Name)]
    fold = next((_MONOIDS[name] for name in names if name in _MONOIDS), "")
    field = next((name for name in names if (s := at.scope.find(name)) is not None and s.kind == "field"), "")
    write = f"{fold}(v.{field} for v in vertices)" if fold and field and at.inside is None else ""
    return (f"there is no function `{node.name}`", "a reduction has a name of its own, and a domain:", write, node)


def _adjacent(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `has_edge(self, u)`."""
    if node.name not in _ADJACENT:
        return None
    title = f"there is no function `{node.name}`: a reduction ranges over the edges that exist"
    kinds = [type(arg) for arg in node.args]
    reduce = next((one for one in rewrite.inside(at.item) if isinstance(one, t.Reduce)
                   and any(part is node for part in rewrite.inside(one))), None)
    if reduce is None:
        if kinds != [t.Self, t.Name] or not _is_vertex(node.args[1], at) or at.place != "init":
            return title, "whether an out-edge leads to s: `any(u == s for self -> u)`", "", node
        u = run.variable(at.scope, "u")
        return (title, "whether one of the out-edges leads there:",
                f"any({u} == {run.text(node.args[1])} for self -> {u})", node)
    ends = [rewrite.one_line(run.text(arg)) for arg in node.args]
    near = {one.name for one in at.scope.visible() if one.kind == "neighbour"}
    if at.inside != "edges" or len(ends) != 2 or not set(ends) <= {"self", *near}:
        return title, "the number of edges from one end to the other: `edges(self, u)`", "", node
    found = f"edges({ends[0]}, {ends[1]}) > 0"
    return (title, "the number of edges from one end to the other:",
            found if node in (reduce.body, reduce.cond) else f"({found})", node)


def _layer(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `relu(x)`, and on `dot(W, x)` or `matmul(W, x)` with a matrix."""
    texts = [rewrite.one_line(run.text(arg)) for arg in node.args]
    if node.name in ("relu", "ReLU") and len(texts) == 1:
        return f"there is no function `{node.name}`", "it is a maximum with 0:", f"max({texts[0]}, 0)", node
    if node.name not in ("dot", "matmul", "mm", "mv") or len(texts) != 2 or not isinstance(node.args[0], t.Name):
        return None
    symbol = at.scope.find(node.args[0].name)
    if symbol is None or not isinstance(symbol.type, Matrix):
        return None
    return f"`{node.name}` is no product with a matrix", "a matrix times a vector is written with `@`:", \
        f"({texts[0]} @ {texts[1]})", node


def _best(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `argmax(x)` of a field, which other systems use to find the vertex with the largest value.
    """
    if node.name not in ("argmax", "argmin", "idxmax", "idxmin") or len(node.args) != 1 or at.inside is not None:
        return None
    name = node.args[0].name if isinstance(node.args[0], t.Name) else ""
    symbol = at.scope.find(name)
    if symbol is None or symbol.kind != "field" or not isinstance(symbol.type, Scalar) or \
            at.place not in ("global", "let", "until", "limit"):
        return None
    fold, v = node.name[-3:], run.variable(at.scope, "v")
    return (f"a field is no vector: `{node.name}` takes the components of one value",
            "the vertex of the best value is the second item of a tuple:",
            f"{fold}(({v}.{name}, {v}) for {v} in vertices)[1]", node)


def _sets(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `set(self.neighbors)`, and on `len(set(neighbors(u)) & set(neighbors(self)))`."""
    if node.name not in ("set", "frozenset") or len(node.args) != 1:
        return None
    title = f"there is no function `{node.name}`: neighbours are no sets"
    for outer in rewrite.inside(at.item):
        if isinstance(outer, t.Call) and outer.name == "len" and len(outer.args) == 1:
            both = outer.args[0]
            sides = (both.left, both.right) if isinstance(both, t.Binary) and both.op == "&" else ()
            owners = sorted(_owner_of_set(run, side) for side in sides)
            if node in sides and all(owners):
                return title, "the number of common neighbours:", f"common({', '.join(owners)})", outer
    return (title, "`common(self, u)` is the number of common neighbours, and "
            "`sum(e for w in common(self, u))` reduces over them", "", node)


def _owner_of_set(run: Run, side: t.Expr) -> str:
    """The name `u` in `set(neighbors(u))` or `set(u.neighbors)`; "" for other expressions."""
    inner = side.args[0] if isinstance(side, t.Call) and side.name in ("set", "frozenset") and side.args else None
    owner = inner.args[0] if isinstance(inner, t.Call) and len(inner.args) == 1 else \
        inner.value if isinstance(inner, t.Member) else None
    return run.text(owner) if isinstance(owner, (t.Name, t.Self)) else ""


# ------------------------------------------------------------ indices, columns, products


def foreign_index(run: Run, node: t.Index, at: Sight) -> bool:
    """Return whether an index is the notation of another language for a field. An index in the notation of another
    language is reported (V106).
    """
    base: t.Expr = node
    indices: list[t.Expr] = []
    while isinstance(base, t.Index):
        indices.insert(0, base.index)
        base = base.value
    last = indices[-1]
    named = last.value if isinstance(last, t.Literal) and isinstance(last.value, str) else ""
    new = _named(run, base, named, at) if named else _at_vertex(run, base, indices, at)
    if new is None:
        return False
    text = rewrite.short(run.text(node))
    run.report(Code.WRONG_TYPE, f"`{text}`: a field is not read by an index", node.span,
               help="`u.x` is the field of the vertex u; own fields and edge fields are read by their names" +
               (":" if new else ""), write=new or ())
    return True


def _named(run: Run, base: t.Expr, name: str, at: Sight) -> str | None:
    """Return the text to write for `u["x"]`, `G[u][v]["w"]` or `vertices["x"]`. The result is "" if vlang has no
    counterpart, and None for other expressions.
    """
    symbol = at.scope.find(name)
    known = name in _DEGREES.values() if symbol is None else symbol.kind in ("field", "edge")
    if symbol is not None and symbol.kind == "edge":
        return name
    if _is_vertex(base, at):
        return _of_vertex(run, base, name) if known else ""
    if isinstance(base, t.Name) and at.scope.find(base.name) is None:
        return name if known else ""
    return None


def _at_vertex(run: Run, base: t.Expr, indices: list[t.Expr], at: Sight) -> str | None:
    """Return the text to write for `x[u]`, `outdegree[u]`, `weight[u][v]` or `G[u][v]`; None for other expressions."""
    if not isinstance(base, t.Name) or not all(_is_vertex(index, at) for index in indices):
        return None
    symbol = at.scope.find(base.name)
    if symbol is not None and symbol.kind == "edge":
        return base.name
    if len(indices) == 2:
        return only_edge(at) if symbol is None else None
    if base.name in _DEGREES.values() if symbol is None else symbol.kind == "field":
        return _of_vertex(run, indices[0], base.name)
    return None


def foreign_column(run: Run, node: t.Member, at: Sight) -> bool:
    """Return whether a member is the notation of another language: `edge.weight`, or `x.nvals` of a field."""
    if not isinstance(node.value, t.Name):
        return False
    owner, symbol = at.scope.find(node.value.name), at.scope.find(node.name)
    if owner is None and node.value.name in ("triplet", "ctx", "edgeContext", "edge") and \
            node.name in ("srcAttr", "dstAttr"):
        return _end_of_triplet(run, node, at)
    if owner is None and node.value.name in _EDGE_NAMES and symbol is not None and symbol.kind == "edge":
        run.report(Code.UNKNOWN_NAME, f"the edge in sight has no name, such as `{node.value.name}`", node.span,
                   help="an edge field is read by its own name:", write=node.name)
        return True
    if owner is None or owner.kind != "field" or owner.type == VERTEX or not isinstance(owner.type, Scalar):
        return False
    name = node.value.name
    new: dict[str, Callable[[], str]] = {
        "size": lambda: "N", "nrows": lambda: "N", "values": lambda: name,
        **dict.fromkeys(("nvals", "nnz"), lambda: "count(" + (f"v.{name}" if owner.type == BOOL else f"v.{name} != 0") +
                        " for v in vertices)" if at.place in ("global", "let", "until", "limit") else ""),
    }
    if node.name not in new or at.inside is not None:
        return False
    write = new[node.name]()
    run.report(Code.NOT_A_VERTEX, f"a field has no `{node.name}`", node.span, "a field has one value at every vertex",
               help=("those that are not 0 are counted:" if node.name in ("nvals", "nnz") else "write instead:")
               if write else (), write=write or ())
    return True


def _end_of_triplet(run: Run, node: t.Member, at: Sight) -> bool:
    """Report `triplet.srcAttr`, the attribute of one end of an edge."""
    fields = [s.name for s in at.scope.visible() if s.kind == "field"]
    near = [s.name for s in at.scope.visible() if s.kind == "neighbour"]
    owner = f"{near[0]}." if near else "u."
    text = run.text(node)
    run.report(Code.UNKNOWN_NAME, f"an edge has no `{text}`: the ends are `self` and the neighbour", node.span,
               help="the field of the neighbour:" if len(fields) == 1 and near else "`u.x` is a neighbour's field",
               write=owner + fields[0] if len(fields) == 1 and near else ())
    return True


def foreign_vertices(run: Run, item: t.ForVertices) -> bool:
    """Return whether a loop ranges over all vertices by a name that other languages use for them. A loop in the
    notation of another language is reported (V101).
    """
    if item.set_name not in ("V", "nodes", "verts", "all_vertices", "G", "graph"):
        return False
    head = t.Span(item.span.start, item.set_span.end + 1, item.span.line, item.span.column)
    said = f"for {item.name} in {item.set_name}"
    run.report(Code.UNKNOWN_NAME, f"`{said}` is not needed: statements run for all vertices", item.set_span,
               help="a block without a loop, and `for v in vertices` takes one vertex after another:",
               write="where true:", replaces=head)
    return True


def foreign_messages(run: Run, item: t.ForVertices) -> bool:
    """Return whether a loop is over received messages. A loop over messages is reported (V101)."""
    if item.set_name not in ("messages", "msgs", "inbox", "mailbox", "received"):
        return False
    write: tuple[str, ...] = ()
    only = item.block.items[0] if len(item.block.items) == 1 else None
    value = only.value if isinstance(only, t.Apply) else None
    folds = isinstance(value, t.Call) and value.name in ("min", "max")
    if isinstance(only, t.Apply) and isinstance(value, t.Call) and folds:
        name, names = only.target.names[0], {arg.name for arg in value.args if isinstance(arg, t.Name)}
        if only.op == "=" and names == {name, item.name}:
            word, u = run.fresh("near" if value.name == "min" else "top"), run.fresh("u")
            write = (f"gather {word} = {value.name}({u}.{name} for {u} -> self)",
                     f"apply {name} = {value.name}({name}, {word})")
    example = ", for example" if write else ": `min(u.x for u -> self)`"
    run.report(Code.UNKNOWN_NAME, f"there are no `{item.set_name}`: a vertex gathers from its neighbours",
               item.set_span, help=f"the expression in a `gather` is what every neighbour would send{example}",
               write=write, replaces=item.span if write else None)
    return True

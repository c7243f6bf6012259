"""Advice on functions of SQL, GraphX, igraph and PyTorch for which the language has no function."""

from __future__ import annotations

from collections.abc import Callable

from vlang.check.advice.defaults import COALESCE, with_own_default
from vlang.check.advice.proposals import before_name, operand
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import Sight
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.types import Vector

__all__ = ["MORE_RULES", "Advice", "message_of_other_language"]

Advice = tuple[str, str, str | tuple[str, ...], t.Node]
"""The title of a message, its help, the text to write instead, and the node that this text replaces."""

_SENDS = frozenset({"aggregateMessages", "aggregate_messages", "propagate", "mapReduceTriplets", "pull",
                    "send_and_recv"})


def _texts(run: Run, node: t.Call) -> list[str]:
    return [rewrite.one_line(run.text(arg)) for arg in node.args]


def _filled(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `coalesce(x, 0)`."""
    if node.name.lower() not in COALESCE or len(node.args) != 2:
        return None
    x, other = _texts(run, node)
    new = with_own_default(run, node)
    if new is not None:
        return f"there is no function `{node.name}`", "a reduction has its own value for no edges:", new[1], node
    return (f"there is no function `{node.name}`", "a missing float is NaN, and a reduction of no edges has its "
            "`default`:", f"({other} if isnan({x}) else {x})", node)


def _joined(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `joinVertices(x, y)`."""
    if node.name not in ("joinVertices", "outerJoinVertices", "join_vertices", "join", "leftJoin") or not node.args:
        return None
    return (f"there is no function `{node.name}`: the fields of a vertex are read together",
            f"an expression may read several fields, as in `{' + '.join(_texts(run, node))}`", "", node)


def _strength(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `strength(self)`, the sum of the weights at a vertex."""
    if node.name not in ("strength", "weighted_degree", "weightedDegree"):
        return None
    names = [symbol.name for symbol in at.scope.visible() if symbol.kind == "edge"]
    u = run.variable(at.scope, "u")
    write = f"sum({names[0]} for {u} -- self)" if len(names) == 1 and at.place in ("init", "gather") and \
        at.inside is None else ""
    return f"there is no function `{node.name}`", "the sum of the weights of a vertex's edges:", write, node


def _softmax(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `softmax(e)` inside a gather: an earlier gather computes the sum that is the divisor."""
    if node.name not in ("softmax", "edge_softmax", "log_softmax") or len(node.args) != 1:
        return None
    help_, item = "each part is divided by the sum over the edges:", at.item
    title = f"there is no function `{node.name}`: it is two gathers"
    if node.name == "log_softmax" or not isinstance(item, t.Gather) or not isinstance(item.value, t.Reduce):
        return title, help_ + " `total = sum(exp(x) for u -> self)`, then `exp(x) / total`", "", node
    (body,), name, text = _texts(run, node), run.fresh("total"), run.file.text
    domain = rewrite.one_line(text[item.value.body.span.end : item.value.span.end])
    domain = domain if domain[:1] == " " else f" {domain}"
    return (title, help_, (f"gather {name} = sum(exp({body}){domain}",
                           rewrite.edited(text, item.span, [(node.span, f"exp({body}) / {name}")])), item)


def _digits(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `round(x, 2)`."""
    digits = node.args[1].value if len(node.args) == 2 and isinstance(node.args[1], t.Literal) else None
    if node.name not in ("round", "floor", "ceil", "trunc") or not isinstance(digits, int) or not 0 <= digits <= 9:
        return None
    return (f"`{node.name}` takes no number of digits", "scale the value before and after:",
            f"({node.name}({operand(run, node.args[0])} * {10 ** digits}) / {10 ** digits})", node)


def _value_of_edge(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `getEdgeValue(u)`."""
    if node.name.lower().replace("_", "").removeprefix("get") not in ("edgevalue", "edgeweight", "edgedata",
                                                                      "edgeattr"):
        return None
    names = [symbol.name for symbol in at.scope.visible() if symbol.kind == "edge"]
    return (f"there is no function `{node.name}`", "inside a reduction over edges, an edge field is read by its name" +
            (":" if len(names) == 1 else ""), names[0] if len(names) == 1 and at.inside == "edges" else "", node)


def _converged(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `repeat until converged(rank, 1e-9)`."""
    if node.name.lower() not in ("converged", "has_converged", "hasconverged", "is_converged") or len(node.args) != 2 \
            or not isinstance(node.args[0], t.Name):
        return None
    x, limit = _texts(run, node)
    v = run.variable(at.scope, "v")
    return (f"there is no function `{node.name}`", "`change` is the change of a field in a superstep:",
            f"max(abs(change({v}.{x})) for {v} in vertices) < {limit}", node)


def _least(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `least(a, b)` and `greatest(a, b)` of SQL, and on `fmin(a, b)`."""
    fold = {"least": "min", "greatest": "max", "fmin": "min", "fmax": "max"}.get(node.name.lower())
    if fold is None or len(node.args) < 2 or at.scope.find(node.name) is not None:
        return None
    return f"there is no function `{node.name}`", f"it is `{fold}`:", f"{fold}({', '.join(_texts(run, node))})", node


def _norm(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `norm(x)` of a field, and on `norm(x - x_old)`."""
    kinds = {"norm": "sqrt(sum({0} ** 2 for {1} in vertices))", "norm2": "sqrt(sum({0} ** 2 for {1} in vertices))",
             "norm1": "sum(abs({0}) for {1} in vertices)", "norm_inf": "max(abs({0}) for {1} in vertices)"}
    form = kinds.get(node.name)
    if form is None or len(node.args) != 1 or at.scope.find(node.name) is not None:
        return None
    title, v, arg = f"there is no function `{node.name}`", run.variable(at.scope, "v"), node.args[0]
    parts = (arg.left, arg.right) if isinstance(arg, t.Binary) and arg.op == "-" else (arg,)
    names = [part.name for part in parts if isinstance(part, t.Name)]
    symbols = [symbol for symbol in map(at.scope.find, names) if symbol is not None and symbol.kind == "field"]
    if len(names) != len(parts) or len(symbols) != 1:
        return title, "a sum over the vertices: `sqrt(sum(v.x ** 2 for v in vertices))`", "", node
    field = symbols[0].name
    if len(parts) == 2:
        before = next((name for name in names if name != field), "")
        known = at.scope.find(before) is None and before_name(before, field) and at.place in ("until", "let")
        return title, "`change` is the change of a field in a superstep:", \
            form.format(f"change({v}.{field})", v) if known else "", node
    if isinstance(symbols[0].type, Vector):
        return title, "of the components of a vector:", f"sqrt(dot({field}, {field}))" if "2" in form else "", node
    value = form.format(f"{v}.{field}", v)
    if at.place in ("global", "let", "until"):
        return title, "over the vertices:", value, node
    size = run.fresh(f"{field}_norm")
    edited = rewrite.edited(run.file.text, at.item.span, [(node.span, size)])
    edited = edited if edited.startswith("apply") else f"apply {edited}"
    write = (f"let {size} = {value}", edited) if at.place == "apply" and _own_line(run, at.item) else ()
    return title, "one value for the whole graph needs a name:", write, at.item if write else node


def _normalized(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `normalize(x)`: a field adds up to 1, and the vector of a vertex has length 1."""
    if node.name not in ("normalize", "normalise", "normalized", "normalised") or len(node.args) != 1:
        return None
    title, v, arg = f"there is no function `{node.name}`", run.variable(at.scope, "v"), node.args[0]
    symbol = at.scope.find(arg.name) if isinstance(arg, t.Name) else None
    if symbol is None or at.place != "apply" or not isinstance(at.item, t.Apply):
        return title, "an own vector is `x / sqrt(dot(x, x))`; a field is divided by a `let` over vertices", "", node
    name = symbol.name
    if isinstance(symbol.type, Vector):
        return title, "a vector is divided by its length:", f"({name} / sqrt(max(dot({name}, {name}), 1e-30)))", node
    field = name if symbol.kind == "field" else rewrite.one_line(run.text(at.item.target))
    alone = at.item.value is node and at.item.op == "=" and len(at.item.target.names) == 1
    if not _own_line(run, at.item) or (symbol.kind != "field" and not alone):
        return title, "a field is divided by a `let` over all vertices", "", node
    size = run.fresh(f"{field}_sum")
    first = () if symbol.kind == "field" else (f"apply {field} = {name}",)
    last = rewrite.edited(run.file.text, at.item.span, [(node.span, f"({field} / {size} if {size} != 0 else 0)")])
    return (title, f"they then add up to 1 (`sqrt(sum(v.{field} ** 2 for v in vertices))` is the length of all):",
            (*first, f"let {size} = sum({v}.{field} for {v} in vertices)",
             last if last.startswith("apply") else f"apply {last}"), at.item)


def _own_line(run: Run, item: t.Node) -> bool:
    """Whether a statement begins its line, so that a line may be written above it."""
    return not run.file.text[: item.span.start].rpartition("\n")[2].strip()


MORE_RULES: tuple[Callable[[Run, t.Call, Sight], Advice | None], ...] = (
    _filled, _joined, _strength, _softmax, _digits, _value_of_edge,
    _converged, _least, _norm, _normalized)


def message_of_other_language(run: Run, value: t.Expr) -> str:
    """The reduction to write for `aggregateMessages(u.x + 1, min)` as the value of a `gather`; "" for other values."""
    if not isinstance(value, t.Call) or value.name not in _SENDS or len(value.args) != 2:
        return ""
    sent, fold = _texts(run, value)
    fold = {"_+_": "sum", "add": "sum", "plus": "sum", "mean": "mean"}.get(fold, fold)
    return f"{fold}({sent} for u -> self)" if fold in ("min", "max", "sum", "any", "all") and "u." in sent else ""

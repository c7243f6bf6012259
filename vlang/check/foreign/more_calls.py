"""Advice on functions of SQL, GraphX, igraph and PyTorch for which the language has no function."""

from __future__ import annotations

from collections.abc import Callable

from vlang.check.tables.checking import Run
from vlang.check.tables.scope import Sight
from vlang.syntax import rewrite
from vlang.syntax import tree as t

__all__ = ["MORE_RULES", "Advice", "message_of_other_language"]

Advice = tuple[str, str, str | tuple[str, ...], t.Node]
"""The title of a message, its help, the text to write instead, and the node that this text replaces."""

_SENDS = frozenset({"aggregateMessages", "aggregate_messages", "propagate", "mapReduceTriplets", "pull",
                    "send_and_recv"})


def _texts(run: Run, node: t.Call) -> list[str]:
    return [rewrite.one_line(run.text(arg)) for arg in node.args]


def _filled(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `coalesce(x, 0)`."""
    if node.name.lower() not in ("coalesce", "ifnull", "nvl", "fillna", "isnull") or len(node.args) != 2:
        return None
    x, other = _texts(run, node)
    return (f"there is no function `{node.name}`", "a missing float is NaN, and a reduction of no edges has its "
            "`default`:", f"({other} if isnan({x}) else {x})", node)


def _joined(run: Run, node: t.Call, at: Sight) -> Advice | None:
    """Return the advice on `joinVertices(x, y)`."""
    if node.name not in ("joinVertices", "outerJoinVertices", "join_vertices", "join", "leftJoin") or not node.args:
        return None
    return (f"there is no function `{node.name}`: the fields of a vertex are read together",
            "an expression may read several fields, for example", " + ".join(_texts(run, node)), node)


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
            f"({node.name}({_texts(run, node)[0]} * {10 ** digits}) / {10 ** digits})", node)


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


MORE_RULES: tuple[Callable[[Run, t.Call, Sight], Advice | None], ...] = (
    _filled, _joined, _strength, _softmax, _digits, _value_of_edge,
    _converged)


def message_of_other_language(run: Run, value: t.Expr) -> str:
    """The reduction to write for `aggregateMessages(u.x + 1, min)` as the value of a `gather`; "" for other values."""
    if not isinstance(value, t.Call) or value.name not in _SENDS or len(value.args) != 2:
        return ""
    sent, fold = _texts(run, value)
    fold = {"_+_": "sum", "add": "sum", "plus": "sum", "mean": "mean"}.get(fold, fold)
    return f"{fold}({sent} for u -> self)" if fold in ("min", "max", "sum", "any", "all") and "u." in sent else ""

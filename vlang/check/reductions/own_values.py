"""Reports values of "this vertex" in a reduction over the vertices, where only the vertex at hand is named (V104).

In `sum(x for v in vertices)`, and where one value of the whole graph is needed, `x` is meant to be `v.x`. In `vertex d:
float = max(abs(v.x - x) for v in vertices)`, it is the value of the vertex that owns the field: `v.x - v.x` would
compile, and mean something else.
"""

from __future__ import annotations

from vlang.check.tables.checking import Run
from vlang.check.tables.scope import Sight
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.mistakes.vertex_groups import WIDE
from vlang.syntax.pointing import conjuncts
from vlang.types import VERTEX

__all__ = ["ONE_VALUE", "Advice", "beside_member", "own_names", "own_value"]

Advice = tuple[tuple[str, ...], tuple[str, ...], t.Span]
"""The help of a message, the lines to write, and the part of the program that they replace."""

_PER_VERTEX = frozenset({"init", "gather", "apply", "where", "activate"})
ONE_VALUE = "a reduction over vertices has one value for the whole graph"


def own_value(run: Run, node: t.Name | t.Self, member: str, at: Sight) -> Advice:
    """What to write in place of `self`, or of the name of an own value, in a reduction over the vertices.

    Args:
        run: the running check.
        node: `self` or the name.
        member: the text that the name has as a value of the vertex at hand, such as `v` or `v.x`.
        at: its context.
    """
    whole = next((one for one in rewrite.inside(at.item) if isinstance(one, t.Reduce)
                  and one.domain.kind in ("vertices", "set") and node in rewrite.inside(one)), None)
    if whole is None or not beside_member(node, at):
        return (), (member,), node.span
    if at.place not in _PER_VERTEX:
        twice = isinstance(node, t.Self) or any(isinstance(one, t.Member) and run.text(one) == member
                                                for one in rewrite.inside(whole))
        return (ONE_VALUE,) if twice else (), () if twice else (member,), node.span
    pointing = _counted(run, whole, at)
    if pointing:
        return ("the vertices that point here are chosen by a condition `v.f == self`:",), (pointing,), whole.span
    lines = _for_each(run, whole, at)
    if lines:
        return (f"{ONE_VALUE}; a loop over the vertices (N passes over N vertices):",), lines, at.item.span
    return (f"{ONE_VALUE}, and here it would need all pairs of vertices",), (), node.span


def own_names(run: Run, node: t.Node) -> list[t.Name | t.Self]:
    """The places of an expression that read `self`, a field or a degree of "this vertex"."""
    fields = {symbol.name for symbol in run.root.names.values() if symbol.kind == "field"}
    names = fields | {"degree", "indegree", "outdegree"}
    return [one for one in rewrite.inside(node)
            if isinstance(one, t.Self) or (isinstance(one, t.Name) and one.name in names)]


def beside_member(node: t.Name | t.Self, at: Sight) -> bool:
    """Whether the body or the condition in which an own value stands also names the vertex at hand of its reduction."""
    for whole in rewrite.inside(at.item):
        if isinstance(whole, t.Reduce):
            for part in (whole.body, *conjuncts(whole.cond)):
                inner = list(rewrite.inside(part))
                if node in inner:
                    return any(isinstance(one, t.Name) and one.name == whole.domain.name for one in inner)
    return False


def _counted(run: Run, whole: t.Reduce, at: Sight) -> str:
    """The text of `count(v.f == self and e for v in vertices)` with its comparison as the condition; "" for others."""
    if whole.name != "count" or whole.domain.kind != "vertices" or whole.cond is not None:
        return ""
    parts = tuple(conjuncts(whole.body))
    pointers = [part for part in parts if isinstance(part, t.Compare) and part.op == "==" and
                {type(part.left), type(part.right)} == {t.Member, t.Self}]
    others = [part for part in parts if part not in pointers]
    if len(pointers) != 1 or any(own_names(run, part) for part in others):
        return ""
    (pointer,) = pointers
    key = pointer.left if isinstance(pointer.left, t.Member) else pointer.right
    symbol = at.scope.find(key.name) if isinstance(key, t.Member) else None
    if symbol is None or symbol.kind != "field" or symbol.type != VERTEX:
        return ""
    cond = " and ".join(rewrite.one_line(run.text(part)) for part in (pointer, *others))
    return f"count(true for {run.text(whole.domain)} if {cond})"


def _for_each(run: Run, whole: t.Reduce, at: Sight) -> tuple[str, ...]:
    """The lines of a loop that computes the initializer of a field for one vertex after the other; () if the statement
    is no field at the top level.
    """
    item = at.item
    if not isinstance(item, t.VertexField) or item.init is None or item not in run.file.items or len(item.names) != 1:
        return ()
    s, word = run.fresh("s"), run.fresh("found")
    edits = [(node.span, s if isinstance(node, t.Self) else f"{s}.{node.name}") for node in own_names(run, whole)]
    text = run.file.text
    type_ = rewrite.one_line(run.text(item.type))
    if item.init is whole and whole.name in ("count", "sum", "prod") and type_ in WIDE:
        type_ = WIDE[type_]
    first = {"bool": "false", "vertex": "none"}.get(type_, "0")
    name, value = item.names[0], rewrite.edited(text, item.init.span, [(whole.span, word)])
    return (f"vertex {name}: {type_} = {first}", f"for {s} in vertices:",
            f"    let {word} = {rewrite.edited(text, whole.span, edits)}",
            f"    where self == {s}: apply {name} = {value}")

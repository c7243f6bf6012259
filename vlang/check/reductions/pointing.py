"""Checks conditions of reductions over the vertices v whose pointer `v.f` is this vertex (language.md, section 5)."""

from __future__ import annotations

from vlang.check.tables.checking import Run
from vlang.check.tables.scope import Sight
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.syntax.pointing import conjuncts, equalities
from vlang.types import VERTEX

__all__ = ["refused"]

_HERE = "the vertices that point here are chosen by one condition `v.f == self`"


def refused(run: Run, node: t.Reduce, at: Sight) -> bool:
    """Report a reduction over vertices with a comparison of `self`, except for a single `v.f == self`.

    Returns whether the function has reported a reduction.
    """
    if node.domain.kind not in ("vertices", "set") or node.cond is None:
        return False
    found, v = equalities(node), node.domain.name
    if node.domain.kind == "set" and found:
        cond = f"{v} in {node.domain.set_name} and {rewrite.one_line(run.text(node.cond))}"
        write = rewrite.edited(run.file.text, node.span, [(node.domain.span, f"{v} in vertices"),
                                                          (node.cond.span, cond)])
        run.report(Code.NO_VERTEX, "the vertices that point here are sought among all vertices", node.domain.span,
                   "a list of vertices", write=write, replaces=node.span)
        return True
    if len(found) > 1:
        (_, first), (second, side) = found[:2]
        text = f"{rewrite.one_line(run.text(side))} == {rewrite.one_line(run.text(first))}"
        write = rewrite.edited(run.file.text, node.span, [(second.span, text)])
        run.report(Code.NO_VERTEX, _HERE, second.span, "a second one", help="compare the other field with the first:",
                   write=write, replaces=node.span)
        return True
    return not found and _otherwise(run, node, node.cond, at)


def _otherwise(run: Run, node: t.Reduce, cond: t.Expr, at: Sight) -> bool:
    """Report a comparison of a pointer `v.f` with `self` or `self.g`, except a conjunct `v.f == self`."""
    own = {s.name for s in at.scope.visible() if s.kind == "field" and s.type == VERTEX}
    v = node.domain.name
    for part in conjuncts(cond):
        for inner in rewrite.inside(part):
            if not isinstance(inner, t.Compare):
                continue
            for side, other in ((inner.left, inner.right), (inner.right, inner.left)):
                if not _pointer(side, v, own) or not _of_here(other, own):
                    continue
                text = f"{rewrite.one_line(run.text(side))} == self"
                write = rewrite.edited(run.file.text, node.span, [(part.span, text)])
                if isinstance(other, t.Name) and isinstance(side, t.Member) and side.name == other.name and \
                        _of_my_group(run, node, part, text, at):
                    return True
                help_ = f"the values of each group are then found at the vertex that names it, as `{other.name}.x`" \
                    if isinstance(other, t.Name) else "an `or` or `not` around it would need all pairs of vertices"
                run.report(Code.NO_VERTEX, _HERE, part.span, "another condition on this vertex", help=help_,
                           write=write, replaces=node.span)
                return True
    return False


def _of_my_group(run: Run, node: t.Reduce, part: t.Compare | t.Expr, text: str, at: Sight) -> bool:
    """Report `count(true for v in vertices if v.f == f)` as the start value of a field. Return whether it is one.

    The proposal reduces over each group at the vertex that names the group, and reads the value there.
    """
    field = at.item
    if not isinstance(field, t.VertexField) or len(field.names) != 1 or field.init is None or at.scope is not run.root:
        return False
    pointer = text.removesuffix(" == self").partition(".")[2]
    here = run.fresh(f"{field.names[0]}_here")
    reduction = rewrite.edited(run.file.text, node.span, [(part.span, text)])
    declared = rewrite.one_line(run.file.text[field.span.start : field.init.span.start])
    run.report(Code.NO_VERTEX, _HERE, part.span, "another condition on this vertex",
               help="the values of a group meet at the vertex that names the group, and are read there:",
               write=(f"{declared.replace(field.names[0], here, 1)} {reduction}",
                      rewrite.edited(run.file.text, field.span, [(node.span, f"{pointer}.{here}")])),
               replaces=field.span)
    return True


def _pointer(expr: t.Expr, v: str, fields: set[str]) -> bool:
    """Return whether an expression is `v.f` with a field f of type vertex."""
    mine = isinstance(expr, t.Member) and isinstance(expr.value, t.Name) and expr.value.name == v
    return mine and isinstance(expr, t.Member) and expr.name in fields


def _of_here(expr: t.Expr, fields: set[str]) -> bool:
    """Return whether an expression is `self`, or a pointer field of `self`."""
    return isinstance(expr, t.Self) or (isinstance(expr, t.Name) and expr.name in fields)

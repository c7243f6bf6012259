"""Reports the graph as a matrix in a product, and lists of the values of all vertices."""

from __future__ import annotations

from vlang.check.foreign.foreign_calls import only_edge
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import Sight
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code

__all__ = ["foreign_product"]


def foreign_product(run: Run, node: t.Binary, at: Sight) -> bool:
    """Whether `A @ x` or `A.T @ x` uses the graph as a matrix, or `[0] * N` is a list of all vertices' values. Both are
    reported, as V101 and V106.
    """
    left, right = node.left, node.right
    if node.op == "*" and isinstance(left, t.VectorExpr) and len(left.items) == 1 and \
            isinstance(right, t.Name) and right.name in ("N", "M"):
        run.report(Code.WRONG_TYPE, f"`{rewrite.short(run.text(node))}`: a field is no list", node.span,
                   help="one value is the start of every vertex:", write=run.text(left.items[0]))
        return True
    factor, left = (left.left, left.right) if isinstance(left, t.Binary) and left.op == "*" else (None, left)
    turned = isinstance(left, t.Member) and left.name == "T"
    matrix = left.value if isinstance(left, t.Member) and turned else left
    if node.op != "@" or not isinstance(matrix, t.Name) or not isinstance(right, t.Name) or at.inside is not None:
        return False
    symbol = at.scope.find(right.name)
    if at.scope.find(matrix.name) is not None or matrix.name in run.broken or symbol is None or symbol.kind != "field":
        return False
    edge, u = only_edge(at), run.variable(at.scope, "u")
    domain = f"{u} -> self" if turned else f"self -> {u}"
    total = f"sum({edge + ' * ' if edge else ''}{u}.{right.name} for {domain})"
    name, first = run.fresh(f"{right.name}_sum"), ""
    if factor is not None:
        first = rewrite.one_line(run.file.text[node.span.start : matrix.span.start]).rstrip() + " "
    write: tuple[str, ...] = (f"{first}{total}",) if at.place in ("init", "gather") else ()
    if at.place == "apply":
        edited = rewrite.edited(run.file.text, at.item.span, [(node.span, first + name)])
        write = (f"gather {name} = {total}", edited if edited.startswith("apply") else f"apply {edited}")
    run.report(Code.UNKNOWN_NAME, f"there is no matrix `{matrix.name}` of the graph", matrix.span,
               help="its product with a field is a sum over the edges of each vertex:", write=write,
               replaces=at.item.span if at.place == "apply" else node.span)
    return True

"""The message for values that cannot be compared."""

from __future__ import annotations

from vlang.check.advice.proposals import no_vertex
from vlang.check.tables.checking import Run
from vlang.check.tables.typing import a, spoken
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.times import WRITTEN
from vlang.types import BOOL, CATEGORY, TEXT, TIMES, VERTEX, Type, Vector

__all__ = ["report_incomparable"]

_TIMES = frozenset(TIMES.values())


def report_incomparable(run: Run, node: t.Compare, left: Type, right: Type) -> None:
    """Report that two values cannot be compared, and propose what to write instead.

    Args:
        run: receives the problem.
        node: the comparison.
        left, right: the types of the two values.
    """
    help_: str = ""
    bound = _of_nothing(run, node)
    if bound:
        value = run.text(node.left if run.text(node.right) == "none" else node.right)
        other = {"==": "==", "!=": "<" if bound == "inf" else ">"}[node.op]
        run.report(Code.WRONG_TYPE, f"`{node.op}` cannot compare {a(left)} with {a(right)}", node.span,
                   f"{spoken(left)} {node.op} {spoken(right)}", help=f"the {'least' if bound == 'inf' else 'greatest'} "
                   f"value of nothing is `{bound}`:", write=f"{value} {other} {bound}")
        return
    if BOOL in (left, right):
        help_ = "a bool is not a number"
    elif VERTEX in (left, right):
        help_ = "a vertex is a name, not a quantity"
        wrong = node.right if left == VERTEX else node.left
        if no_vertex(wrong, VERTEX) and node.op in ("==", "!="):
            run.report(Code.WRONG_TYPE, f"`{node.op}` cannot compare {a(left)} with {a(right)}", wrong.span,
                       f"{spoken(left)} {node.op} {spoken(right)}", help="no vertex is `none`:", write="none")
            return
    elif CATEGORY in (left, right):
        help_ = "a category is compared with a name in double quotes, or with another category"
    elif left in _TIMES and right in _TIMES:
        help_ = "declare both with the same type: then they count the same unit"
    elif left in _TIMES or right in _TIMES:
        help_ = f"a time is compared with a text, such as \"{WRITTEN.partition(' ')[0]}\", or with another time"
    elif TEXT in (left, right):
        help_ = "a text stands for the name of a category, or for a time"
    elif isinstance(left, Vector) or isinstance(right, Vector):
        help_ = "fold a vector first: `sum(x)`, `min(x)`, `max(x)` or one component `x[0]`"
    run.report(Code.WRONG_TYPE, f"`{node.op}` cannot compare {a(left)} with {a(right)}", node.span,
                    f"{spoken(left)} {node.op} {spoken(right)}", help=help_ or ())


def _of_nothing(run: Run, node: t.Compare) -> str:
    """What a `min` or `max` is of nothing, if a comparison asks whether one is `none`; "" for other comparisons."""
    value = node.left if run.text(node.right) == "none" else node.right if run.text(node.left) == "none" else None
    symbol = run.symbols.get(value) if isinstance(value, (t.Name, t.Member)) else None
    decl = symbol.decl if symbol is not None else None
    given = decl.value if isinstance(decl, (t.Gather, t.Let)) else None
    reduced = decl.init if isinstance(decl, t.VertexField) else given
    if node.op not in ("==", "!=") or not isinstance(reduced, t.Reduce) or reduced.default is not None:
        return ""
    return {"min": "inf", "max": "-inf"}.get(reduced.name, "")

"""Advice on names of other languages that users may write by habit: what to write in vlang instead."""

from __future__ import annotations

import re

from vlang.check.advice.vertex_numbers import below_header
from vlang.check.tables.checking import Run
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL, Scalar

__all__ = ["COLUMNS", "NEIGHBOURS", "foreign_name", "foreign_reduction", "undeclared_column"]

Advice = tuple[str, str]
"""Help in words, and the text to write instead of the expression; either may be empty."""

NEIGHBOURS = frozenset({"neighbors", "neighbours", "nbrs", "neighbor", "neighbour", "edges", "adj", "adjacent"})
"""What other languages call the neighbours of a vertex, or its edges."""

COLUMNS = frozenset({"weight", "weights", "w", "cost", "length", "distance", "capacity", "amount", "probability",
                     "prob"})
"""Usual names of columns of edges."""

_ARROWS = "neighbours are written with an arrow: `u -> self` (in-edges), `self -> u` (out-edges), `u -- self` (both)"
_NAMES: dict[str, Advice] = {
    **dict.fromkeys(sorted(NEIGHBOURS), (_ARROWS, "")),
    "messages": ("there are no messages: `gather near = min(u.x for u -> self)` combines values of the neighbours", ""),
    "converged": ("`repeat:` without `until` ends when nothing changes; `until` needs a condition for the graph", ""),
    "superstep": ("`iteration` counts supersteps from 1", "(iteration - 1)"),
    **dict.fromkeys(("round", "step", "epoch", "iter", "rnd"), ("`iteration` counts supersteps from 1", "iteration")),
    **dict.fromkeys(("null", "NULL", "nil"), ("no vertex is `none`", "none")),
    "pi": ("", "3.141592653589793"), "nan": ("", "(0.0 / 0.0)"), "NaN": ("", "(0.0 / 0.0)"),
    **dict.fromkeys(("num_vertices", "num_nodes", "n_vertices", "n_nodes", "V"),
                    ("the number of vertices is `N`", "N")),
    **dict.fromkeys(("num_edges", "n_edges", "num_arcs", "E"),
                    ("the number of edges is `M`, an undirected one twice:", "M")),
}
_GATHERED = re.compile(r"\bgather +(\w+) *= *$")
_MANY = "a reduction gives one value; `vlang run ... --top 10` sorts rows after the run"


def foreign_name(name: str) -> Advice | None:
    """Advice about a name of other languages."""
    return _NAMES.get(name)


def undeclared_column(run: Run, name: str, span: t.Span) -> None:
    """Report a name that is probably a column of the edges without a declaration (V101)."""
    title = f"unknown name `{name}`"
    once = all(problem.title != title for problem in run.problems)
    run.report(Code.UNKNOWN_NAME, title, span,
               help="a column of the edges is declared below the header, with a value for "
               "graphs without it:", write=f"edge {name}: float = 1" if once else (),
               replaces=below_header(run) if once else None)


_FOLDS = {**dict.fromkeys(("scatter_add", "scatter_sum", "segment_sum", "index_add", "total", "add"), "sum"),
          "scatter_max": "max", "scatter_min": "min", "scatter_mean": "mean", "segment_max": "max",
          "segment_min": "min", "maximum": "max", "minimum": "min"}
_REDUCTIONS = {"avg": "mean", "average": "mean", "product": "prod", "plus": "sum", "xor": "bitxor",
               **dict.fromkeys(("some", "exists", "or", "lor"), "any"),
               **dict.fromkeys(("every", "and", "land", "forall", "for_all"), "all"),
               **dict.fromkeys(("cnt", "countif", "count_if"), "count")}
_LISTS = ("collect", "collect_list", "toList", "COLLECT", "array_agg")


def foreign_reduction(run: Run, node: t.Reduce) -> Advice | None:
    """Advice about a reduction of other languages."""
    name, body = node.name, rewrite.one_line(run.text(node.body))
    rest = run.file.text[node.body.span.end : node.span.end - 1]
    rest, over = rewrite.one_line(rest), node.domain.kind in ("vertices", "set")
    if name in ("argmax", "argmin"):
        if node.default is not None:  # of the vertex, in the text after the body
            default = rewrite.one_line(run.text(node.default))
            rest = rest[: rest.rindex(default)] + f"(0, {default})"
        pairs = f"{name[3:]}(({body}, {node.domain.name}){' ' if rest[:1] != ' ' else ''}{rest})"
        gathered = _GATHERED.search(run.file.text[: node.span.start].rpartition("\n")[2])
        tie = ", of equal ones the last" if name == "argmax" else ""
        if gathered is not None and not over:  # a `gather` is one reduction and nothing else
            return f"the vertex is the second part of the best tuple, `{gathered[1]}[1]`{tie}:", pairs
        return f"the vertex is the second part of the best tuple{tie}:", f"{pairs}[1]"
    if name in ("std", "stdev", "std_dev") and over:
        default = "" if node.default is not None else ", default = 0"
        mean = f"mean({{}}{' ' if rest[:1] != ' ' else ''}{rest}{default})"
        squares = mean.format(f"({body}) ** 2")
        return "by the mean of the squares:", f"sqrt(max({squares} - {mean.format(body)} ** 2, 0.0))"
    other = _REDUCTIONS.get(name.lower())
    if _of_bits(run, node):
        other = {"or": "bitor", "union": "bitor", "and": "bitand", "intersection": "bitand"}.get(name.lower(), other)
    if other is not None:
        number = [(node.body.span, f"float({body})")] if other == "mean" and run.types.get(node.body) == BOOL else []
        edits = [(node.name_span, other), *number]
        return f"`{name}` is `{other}` here:", rewrite.edited(run.file.text, node.span, edits)
    inner = {"sumsq": ("sum", f"({body}) ** 2"), "sumofsquares": ("sum", f"({body}) ** 2"),
             "maxabs": ("max", f"abs({body})"), "minabs": ("min", f"abs({body})")}.get(name.lower().replace("_", ""))
    if inner is not None:
        edits = [(node.name_span, inner[0]), (node.body.span, inner[1])]
        return f"it is a `{inner[0]}`:", rewrite.edited(run.file.text, node.span, edits)
    if name in ("nunique", "n_unique", "distinct", "count_distinct", "unique_count", "countDistinct"):
        if over or node.domain.kind == "group" or node.group is not None:
            return f"leave this line out, and count the values of `{body}` in Python: `numpy.unique(values).size`", ""
        domain = rest if rest[:1] == " " else f" {rest}"
        return ("`by` makes a group of every value, and the groups are counted:",
                f"count(true{domain} by {run.fresh('each')} = {body})")
    if name in ("quantile", "percentile", "nlargest", "nsmallest") and node.keys:
        if name in ("quantile", "percentile") and not over and run.text(node.keys[0]) in ("0.5", ".5"):
            edits = [(node.name_span, "median"), (node.keys[0].span, "default = 0")]
            return "the middle value of the neighbours:", rewrite.edited(run.file.text, node.span, edits)
        return 'leave this line out, and compute it in Python of the result: `numpy.quantile(result["x"], 0.5)`', ""
    if name in _FOLDS:
        return f"`{name}` is `{_FOLDS[name]}` here:", _FOLDS[name] + rewrite.one_line(run.text(node))[len(name):]
    if name in ("len", "size", "length", "counting") and not node.keys:
        return "the number of edges that the domain has:", \
            rewrite.edited(run.file.text, node.span, [(node.name_span, "count"), (node.body.span, "true")])
    if name in ("reduceByKey", "countByKey", "groupByKey", "countByValue", "Counter") and not over:
        domain = rest if rest[:1] == " " else f" {rest}"
        groups = f"count(true{domain} by {run.fresh('each')} = {body})"
        return f"`by` makes a group of every key, as in `{groups}`, which is the number of groups", ""
    if name in _LISTS and not over:
        return f"{_MANY.partition(';')[0]}, as in `sum{rewrite.one_line(run.text(node))[len(name):]}`", ""
    ordered = next((fold for mark, fold in (("[0]", "min"), ("[-1]", "max"))
                    if run.file.text[node.span.end :].startswith(mark)), "")
    if name in ("sorted", "sort") and ordered and not over:
        said = {"min": "least", "max": "largest"}[ordered]
        return f"the {said} value:", ordered + rewrite.one_line(run.text(node))[len(name):]
    if name in ("sorted", "sort", "list", "set", "unique", *_LISTS):
        return _MANY, ""
    return None


def _of_bits(run: Run, node: t.Reduce) -> bool:
    """Whether the contributions to a reduction are integers, which other languages combine bit by bit."""
    type_ = run.types.get(node.body)
    return isinstance(type_, Scalar) and type_.integral

"""Methods of columns, values and graphs, as in pandas, NumPy and NetworkX."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vlang.syntax.keywords import TYPE_NAMES
from vlang.syntax.mistakes.habits import Habit
from vlang.syntax.mistakes.surroundings import Surroundings, closing, found, split

__all__ = ["method_of_other_language", "total_of_column", "transformed_groups", "zipped_columns"]

_TOTAL = re.compile(r"(?:apply|vertex|gather)\b.*?(?<![\w.])(?P<column>[A-Za-z_]\w*)"
                    r"(?P<at>\.(?P<fold>sum|max|min|mean)\(\))")
_TRANSFORM = re.compile(r"vertex (\w+): (\w+) = (\w+)(?P<at>\.groupby\()\"?(\w+)\"?\)\."
                        r"(?:transform\(\"(sum|min|max)\"\)|(sum|min|max)\(\))")
_ZIP = re.compile(r"\((?P<body>[^()]+) for \(?(?P<x>\w+), ?(?P<y>\w+)\)? in "
                  r"(?P<at>zip)\((?P<a>[\w.]+), ?(?P<b>[\w.]+)\)\)")
_IN_ORDER = frozenset({"rank", "cumsum", "cumprod", "cummax", "sort_values", "argsort", "shift", "diff", "rolling",
                       "corr", "describe", "nlargest", "nsmallest", "quantile"})
_METHOD = re.compile(r"(?P<owner>[A-Za-z_][\w.]*)\.(?P<at>[A-Za-z_]\w*)\(")
_MODULES = frozenset({"np", "numpy", "math", "torch", "pd", "pandas"})
_LAMBDA = re.compile(r"lambda (\w+): ?(.+)")
_SAME = frozenset({"abs", "sqrt", "exp", "log", "floor", "round", "ceil", "sign", "tanh", "sin", "cos"})
_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "add": "+", "sub": "-", "mul": "*",
          "div": "/", "pow": "**"}
_COUNTS = {**dict.fromkeys(("number_of_nodes", "order", "num_nodes", "num_vertices", "vcount", "nrows"), "N"),
           **dict.fromkeys(("number_of_edges", "num_edges", "ecount", "size"), "M")}
_OF_VERTEX = {"in_degree": "indegree", "out_degree": "outdegree", "degree": "degree", "indegree": "indegree",
              "outdegree": "outdegree"}


def _calls(line: str) -> Iterator[tuple[re.Match[str], int, list[str]]]:
    """Yield the method calls of a line: the match, the position after the closing bracket, and the arguments."""
    for match in _METHOD.finditer(line):
        end = closing(line, match.end() - 1)
        if end >= 0:
            yield match, end + 1, split(line[match.end() : end])


def method_of_other_language(line: str, around: Surroundings) -> Habit | None:
    for match, end, arguments in _calls(line):
        owner, name = match["owner"], match["at"]
        if owner in _MODULES or owner in ("vertices", "edges", "edgeset", "ctx", "context", "this"):
            continue
        if owner not in around.fields and owner.isidentifier():
            new = _of_graph(name, arguments)
            if new:
                return found(match, f"a graph has no method `{name}`", "its numbers have names of their own:",
                              line[: match.start()] + new + line[end:], group="at")
        if name in ("value_counts", "nunique", "unique"):
            return _values(line, match, around)
        if name in _IN_ORDER and owner in around.fields:
            return found(match, f"a value has no method `.{name}(`: vertices have no order",
                         f"leave this line out, and order in Python: `result.to_pandas()[\"{owner}\"].{name}()`",
                         group="at")
        new = _of_value(owner, name, arguments)
        changed = line[: match.start()] + new + line[end:]
        more = method_of_other_language(changed, around) if new else None
        if more is not None and more.write:
            (changed,) = more.write
        return found(match, f"a value has no method `{name}`" if not arguments or not _LAMBDA.match(arguments[0]) else
                      f"a value has no method `{name}`, and needs no `lambda`",
                      "an expression is computed for every vertex:" if new else
                      "functions stand alone, as `log(x)`; all vertices are in `max(v.x for v in vertices)`",
                      *([changed] if new else []), group="at")
    return None


def zipped_columns(line: str, around: Surroundings) -> Habit | None:
    """Recognise `sum(w * y for (w, y) in zip(weight, u.x))`, which combines two columns of the same edges."""
    match = _ZIP.search(line)
    if match is None:
        return None
    neighbour = next((one[1] for one in map(re.compile(r"(\w+)\.\w+").fullmatch, match.group("a", "b"))
                      if one is not None), "u")
    body = match["body"]
    for name, column in ((match["x"], match["a"]), (match["y"], match["b"])):
        body = re.sub(rf"(?<![\w.]){name}\b", column, body)
    return found(match, "there is no `zip`: an edge has all its columns at once",
                 "an edge field by its name, and a field of the neighbour with a dot:",
                 f"{line[: match.start()]}({body} for {neighbour} -> self){line[match.end() :]}", group="at")


def total_of_column(line: str, around: Surroundings) -> Habit | None:
    """Recognise `x / x.sum()`, in which every vertex uses a value of the whole graph."""
    match = _TOTAL.match(line)
    if match is None or match["column"] not in around.fields:
        return None
    column, fold = match["column"], match["fold"]
    name, rest = around.fresh(f"{column}_{fold}"), ", default = 0" if fold == "mean" else ""
    begin = match.start("column")
    return found(match, f"a value has no method `{match['at'][1:]}`", "a `let` holds one value for the whole graph:",
                  f"let {name} = {fold}(v.{column} for v in vertices{rest})",
                  line[:begin] + name + line[match.end() :], group="at")


def transformed_groups(line: str, around: Surroundings) -> Habit | None:
    """Recognise `x.groupby(label).transform("sum")`, in which every vertex reads the value of its group."""
    match = _TRANSFORM.fullmatch(line)
    if match is None:
        return None
    name, type_, column, _, key, first, second = match.groups()
    part = around.fresh(f"{name}_of")
    write = (f"vertex {part}: {type_} = {first or second}(v.{column} for v in vertices if v.{key} == self)",
             f"vertex {name}: {type_} = {key}.{part}",
             ) if around.fields.get(key) == "vertex" and around.top else ()
    return found(match, "a value has no method `.groupby(`", "a group is named by a vertex, which sums up its members:",
                  *write, group="at")


def _of_graph(name: str, arguments: list[str]) -> str:
    """Return the text to write in place of a call of a method of a graph; "" for other methods."""
    if name in _COUNTS and not arguments:
        return _COUNTS[name]
    if name in _OF_VERTEX and len(arguments) == 1 and arguments[0].isidentifier():
        return _OF_VERTEX[name] if arguments[0] == "self" else f"{arguments[0]}.{_OF_VERTEX[name]}"
    return ""


def _of_value(x: str, name: str, arguments: list[str]) -> str:
    """Return the text to write in place of a call of a method of a column; "" for methods without a counterpart."""
    if name == "clip" and len(arguments) == 2:
        return f"clamp({x}, {arguments[0]}, {arguments[1]})"
    if name == "astype" and len(arguments) == 1 and arguments[0] in TYPE_NAMES:
        return f"{arguments[0]}({x})"
    if name in ("isna", "isnull", "notna", "notnull") and not arguments:
        return f"isnan({x})" if name.startswith("is") else f"(not isnan({x}))"
    if name == "between" and len(arguments) == 2:
        return f"({arguments[0]} <= {x} and {x} <= {arguments[1]})"
    if name == "isin" and len(arguments) == 1 and arguments[0].isidentifier():
        return f"{x} in {arguments[0]}"
    if name in ("copy", "dup", "to_numpy", "tolist") and not arguments:
        return x
    if name in _SAME and not arguments:
        return f"{name}({x})"
    if name in _SIGNS and len(arguments) == 1:
        other = arguments[0] if re.fullmatch(r"[\w.]+", arguments[0]) else f"({arguments[0]})"
        return f"({x} {_SIGNS[name]} {other})"
    body = _LAMBDA.fullmatch(arguments[0]) if len(arguments) == 1 else None
    if name in ("apply", "map", "transform") and body is not None:
        return "(" + re.sub(rf"\b{body[1]}\b", x, body[2]) + ")"
    return ""


def _values(line: str, match: re.Match[str], around: Surroundings) -> Habit:
    """The habit of a method that counts the different values of a column."""
    owner, name = match["owner"], match["at"]
    target = re.match(r"(?:global|let|vertex) (\w+)", line)
    title = f"a value has no method `{name}`"
    if target is not None and name == "value_counts" and around.fields.get(owner) == "vertex" and around.top:
        return found(match, title, "every vertex counts the vertices that name it:",
                      f"vertex {target[1]}: int = count(true for v in vertices if v.{owner} == self)", group="at")
    return found(match, title, f"leave this line out, and count in Python: `numpy.unique(result[\"{owner}\"])`",
                  group="at")

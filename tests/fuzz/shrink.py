"""Search for smaller cases that still fail: graphs with fewer vertices and edges, programs with fewer statements and
parts.

Every step proposes a smaller case, and continues with this case if it still fails (Zeller and Hildebrandt, Simplifying
and isolating failure-inducing input, IEEE TSE 2002). The search ends when no smaller case fails or no tries are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tests.fuzz.cases import Fuzzed
from tests.reference.graph import ref_graph
from tests.reference.graphs import listed_once
from vlang.check import check, parse
from vlang.errors import ProgramError
from vlang.syntax import tree as t

__all__ = ["shrunk"]

Fails = Callable[[Fuzzed], bool]

_NUMBERS = "biuf"  # the kinds of dtypes of numbers and bools


def shrunk(case: Fuzzed, fails: Fails, tries: int = 400) -> Fuzzed:
    """Return the smallest failing case found within a number of tries."""
    left = [tries]

    def bad(other: Fuzzed) -> bool:
        left[0] -= 1
        return left[0] >= 0 and fails(other)

    while left[0] > 0:
        before = case
        for step in (_smaller_graphs, _fewer_statements, _simpler_expressions, _smaller_values):
            case = _fixpoint(case, step, bad)
        if case is before:
            break
    return case


def _fixpoint(case: Fuzzed, step: Callable[[Fuzzed], Iterator[Fuzzed]], bad: Fails) -> Fuzzed:
    """Continue with the first proposal that still fails, until no proposal fails."""
    while True:
        smaller = next((other for other in step(case) if bad(other)), None)
        if smaller is None:
            return case
        case = smaller


# ------------------------------------------------------------------ graphs


def _smaller_graphs(case: Fuzzed) -> Iterator[Fuzzed]:
    """Yield cases without some vertices and their edges, then cases without a half, a quarter, ... of the edges."""
    n = case.graph.n
    for first, last in [(1, n), (n // 2, n), *((v, v + 1) for v in range(n - 1, -1, -1))]:
        if first < last and last - first < n:
            yield from _without(case, first, last)
    src, _, columns = listed_once(case.graph)
    size = len(src)
    while size > 0:
        for first in range(0, len(src), size):
            kept = np.array([k for k in range(len(src)) if not first <= k < first + size], np.int64)
            yield _with_edges(case, kept, {name: column[kept] for name, column in columns.items()})
        size //= 2


def _without(case: Fuzzed, first: int, last: int) -> Iterator[Fuzzed]:
    """Yield the case without the vertices first..last - 1, unless a parameter names one of these vertices. Later
    vertices are renumbered.
    """
    fewer = last - first
    named = _vertices(case)
    if any(first <= v < last for values in named.values() for v in values):
        return
    moved = {name: [v - fewer * (v >= last) for v in values] for name, values in named.items()}
    params = {name: (moved[name] if isinstance(value, list) else moved[name][0]) if name in moved else value
              for name, value in case.params.items()}
    src, dst, columns = listed_once(case.graph)
    kept = np.flatnonzero(((src < first) | (src >= last)) & ((dst < first) | (dst >= last)))
    ends = np.stack([src[kept], dst[kept]], axis=1)
    edges = [(int(u), int(v)) for u, v in ends - fewer * (ends >= last)]
    some = {name: column[kept] for name, column in columns.items()}
    fields = {name: np.delete(values, np.s_[first:last], axis=0) for name, values in case.fields.items()}
    graph = ref_graph(case.graph.n - fewer, edges, case.graph.directed, **some)
    yield replace(case, graph=graph, params=params, fields=fields)


def _vertices(case: Fuzzed) -> dict[str, list[int]]:
    """Return the vertices that parameters name."""
    found: dict[str, list[int]] = {}
    for param in parse(case.text, "found.vp").params:
        if param.name in case.params and param.type is not None and param.type.kind in ("vertex", "vertices"):
            value = case.params[param.name]
            found[param.name] = value if isinstance(value, list) else [value]
    return found


def _with_edges(case: Fuzzed, kept: Any, columns: dict[str, Any]) -> Fuzzed:
    """Return the case with some of its edges and their column values."""
    src, dst, _ = listed_once(case.graph)
    edges = list(zip(src[kept].tolist(), dst[kept].tolist(), strict=True))
    return replace(case, graph=ref_graph(case.graph.n, edges, case.graph.directed, **columns))


def _smaller_values(case: Fuzzed) -> Iterator[Fuzzed]:
    """Yield cases with 0 or 1 in parameters, columns and fields of numbers."""
    for name, value in case.params.items():
        simpler: tuple[Any, ...] = ([], value[1:]) if isinstance(value, list) else (0, 1)
        if isinstance(value, str):  # a name or a time
            continue
        for simple in simpler:
            if value != simple and (not isinstance(value, list) or len(simple) < len(value)) and value not in (0,):
                yield replace(case, params={**case.params, name: simple})
    for name, values in case.fields.items():
        if values.dtype.kind in _NUMBERS and np.any(values):
            yield replace(case, fields={**case.fields, name: np.zeros_like(values)})
    src, _, columns = listed_once(case.graph)
    for name, values in columns.items():
        if values.dtype.kind in _NUMBERS and np.any(values != 1):
            yield _with_edges(case, np.arange(len(src)), {**columns, name: np.ones_like(values)})


# ---------------------------------------------------------------- programs


def _correct(case: Fuzzed, text: str) -> Iterator[Fuzzed]:
    """Yield the case with another text, without inputs that the text does not declare. Yield nothing if the text is not
    a correct program.
    """
    try:
        checked = check(parse(text, "found.vp"))
    except ProgramError:
        return
    file = checked.file
    params = {p.name for p in file.params}
    names = {name for item in file.items if isinstance(item, t.VertexField) for name in item.names}
    yield replace(case, text=text, params={k: v for k, v in case.params.items() if k in params},
                  fields={k: v for k, v in case.fields.items() if k in names}, inexact=case.inexact & names)


def _fewer_statements(case: Fuzzed) -> Iterator[Fuzzed]:
    """Yield cases without a line and its block, cases in which the block replaces the line, and cases without a
    parameter.
    """
    lines = case.text.splitlines()
    for first in range(len(lines) - 1, 0, -1):
        depth, last = _depth(lines[first]), first + 1
        while last < len(lines) and _depth(lines[last]) > depth:
            last += 1
        yield from _correct(case, _joined([*lines[:first], *lines[last:]]))
        if last > first + 1:
            inner = [" " * depth + line[_depth(lines[first + 1]):] for line in lines[first + 1 : last]]
            yield from _correct(case, _joined([*lines[:first], *inner, *lines[last:]]))
    file = parse(case.text, "found.vp")
    for param in file.params:
        others = ", ".join(case.text[p.span.start : p.span.end] for p in file.params if p is not param)
        head = f"program {file.name}({others})" if others else f"program {file.name}"
        yield from _correct(case, _joined([head, *lines[1:]]))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _simpler_expressions(case: Fuzzed) -> Iterator[Fuzzed]:
    """Yield cases in which a part of an expression, or a constant, replaces the expression. Yield cases without a
    condition.
    """
    text = case.text
    seen: set[tuple[int, int]] = set()
    for node in _expressions(parse(text, "found.vp")):
        place = (node.span.start, node.span.end)
        if place in seen or isinstance(node, (t.Literal, t.Name)):
            continue
        seen.add(place)
        old = text[place[0] : place[1]]
        parts = [text[part.span.start : part.span.end] for part in _children(node)]
        for new in dict.fromkeys([*([] if isinstance(node, t.Reduce) else ["0", "1", "true", "false"]), *parts]):
            if len(new) < len(old):
                yield from _correct(case, text[: place[0]] + new + text[place[1] :])
        if isinstance(node, t.Reduce) and node.cond is not None:
            cut = text.rindex(" if ", place[0], node.cond.span.start)
            yield from _correct(case, text[:cut] + text[node.cond.span.end :])


def _expressions(node: Any) -> Iterator[Any]:
    """Yield every expression in a tree, outer expressions first."""
    for child in _children(node, every=True):
        if isinstance(child, t.Expr):
            yield child
        yield from _expressions(child)


def _children(node: Any, every: bool = False) -> Iterator[Any]:
    """Yield the nodes inside of a node: only expressions, unless `every` is true."""
    for name in node.__dataclass_fields__:
        value = getattr(node, name)
        for child in value if isinstance(value, tuple) else (value,):
            if isinstance(child, t.Node) and (every or isinstance(child, t.Expr)):
                yield child

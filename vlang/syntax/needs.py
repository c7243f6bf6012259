"""Properties that a program requires of its graph: `require undirected`, `require simple`, `require loopless`.

The word `undirected`, `simple` or `loopless` names a property only if the word is alone after `require`, and if the
program does not declare this name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vlang.syntax import tree as t

__all__ = ["NEEDS", "need_of"]

NEEDS: Mapping[str, str] = {
    "undirected": "every edge is there in both directions",
    "simple": "no edge joins a vertex with itself, and no two edges join the same vertices",
    "loopless": "no edge joins a vertex with itself",
}
"""The meaning of each word, as text."""


def need_of(file: t.File, item: t.Contract) -> str | None:
    """Return the word of a contract, if the contract requires a property of the graph; None for a contract about
    values.
    """
    cond = item.cond
    if not isinstance(cond, t.Name) or cond.name not in NEEDS or cond.name in set(_declared(file)):
        return None
    return cond.name


def _declared(file: t.File) -> Iterator[str]:
    """The names of the parameters, and the names declared at the top level of the program."""
    yield from (param.name for param in file.params)
    for item in file.items:
        if isinstance(item, (t.VertexField, t.EdgeField, t.EdgeState)):
            yield from item.names
        elif isinstance(item, (t.GlobalValue, t.Function, t.Reduction, t.Gather, t.Let)):
            yield item.name

"""Groups names that are computed from each other: the strongly connected components of a graph of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

__all__ = ["cycles"]


def cycles(reads: Mapping[str, Iterable[str]]) -> Iterator[frozenset[str]]:
    """Yield groups of names that read each other. A group comes after all other names that its members read (Kosaraju's
    algorithm).

    Args:
        reads: for each name, the names from which it is computed.
    """
    readers: dict[str, list[str]] = {name: [] for name in reads}
    for name, sources in reads.items():
        for source in sources:
            readers[source].append(name)
    seen: set[str] = set()
    for name in reversed(_finished(readers)):  # the names that all others are written from come first
        if name not in seen:
            yield frozenset(_reached(name, reads, seen))


def _finished(edges: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names in the order in which a depth-first search finishes them."""
    seen: set[str] = set()
    left: list[str] = []
    for root in edges:
        stack = [(root, iter(edges[root]))] if root not in seen else []
        seen.add(root)
        while stack:
            name, rest = stack[-1]
            following = next((other for other in rest if other not in seen), None)
            if following is None:
                left.append(name)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(edges[following])))
    return left


def _reached(start: str, edges: Mapping[str, Iterable[str]], seen: set[str]) -> list[str]:
    """Return the names that can be reached from `start` and are not in `seen`, and add these names to `seen`."""
    found, todo = [], [start]
    seen.add(start)
    while todo:
        name = todo.pop()
        found.append(name)
        new = [other for other in edges[name] if other not in seen]
        seen.update(new)
        todo += new
    return found

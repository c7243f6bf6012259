"""Grouped gathers of the reference interpreter: the edges of each vertex, split by the values of a key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.reference import operators as ops
from tests.reference.reductions import reduce_groups
from tests.reference.state import Rows
from tests.reference.values import Array, Value, convert, definite, dtype, item, spread, take
from vlang.types import F64, I64, VERTEX, Scalar

__all__ = ["Groups", "groups_of", "of_groups", "weighted_mode"]


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of all rows, by row and then by increasing key.

    Attributes:
        row: The row of each group.
        keys: The key of each group.
        edges: The rows of the edges that are in any group.
        group: The number of the group of each of these edges.
    """

    row: Array
    keys: Value
    edges: Rows
    group: Array


def groups_of(keys: Value, edges: Rows, row: Array, precision: int) -> Groups:
    """Group edges by their keys.

    Args:
        row: the row of each edge. An edge whose key is `none` is in no group.
    """
    keys = spread(definite(keys, precision), len(row))
    kept = np.flatnonzero(keys.raw >= 0) if keys.type == VERTEX else np.arange(len(row))
    pairs = sorted({(int(r), k) for r, k in zip(row[kept].tolist(), keys.raw[kept].tolist(), strict=True)})
    number = {pair: at for at, pair in enumerate(pairs)}
    group = [number[int(row[e]), keys.raw[e].item()] for e in kept.tolist()]
    found = np.array([k for _, k in pairs], keys.raw.dtype)
    members = {name: index[kept] for name, index in edges.members.items()}
    chosen = Rows(len(kept), None if edges.own is None else edges.own[kept], members,
                  None if edges.edge is None else edges.edge[kept], edges.undirected)
    return Groups(np.array([r for r, _ in pairs], np.int64), Value(keys.type, found), chosen,
                  np.array(group, np.int64))


def weighted_mode(groups: Groups, weights: Value, rows: int, precision: int) -> tuple[Value, Array]:
    """Return, for each row, the key with the largest sum of weights, and the number of candidates. In a tie, the
    smallest key is returned.

    Args:
        weights: the weights of the edges of `groups`. A group whose weights add up to -inf is not a candidate.
    """
    weights = spread(definite(weights, precision), len(groups.group))
    weights = convert(weights, F64 if item(weights.type).floating else I64)
    total, _ = reduce_groups("sum", weights, groups.group, len(groups.row), False, precision)
    negative = definite(ops.negate(total, False), precision)
    scalar = item(negative.type)
    nothing = np.inf if scalar.floating else scalar.highest
    best: dict[int, tuple[float, int]] = {}
    counts = np.zeros(rows, np.int64)
    for at, row in enumerate(groups.row.tolist()):
        pair = negative.raw[at].item(), groups.keys.raw[at].item()
        if pair[0] != nothing:
            counts[row] += 1
            best[row] = min(best.get(row, pair), pair)
    assert isinstance(groups.keys.type, Scalar)
    empty = -1 if groups.keys.type == VERTEX else 0
    found = [best[row][1] if row in best else empty for row in range(rows)]
    return Value(groups.keys.type, np.array(found, dtype(groups.keys.type))), counts


def of_groups(groups: Groups, value: Value, holds: Array) -> tuple[Value, Array]:
    """Return the values of the groups where `holds` is true, and the row of each of these groups."""
    kept = np.flatnonzero(np.broadcast_to(holds, len(groups.row)))
    return take(spread(value, len(groups.row)), kept), groups.row[kept]

"""Reductions of the reference interpreter. Each contribution belongs to a group, and each group is folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from tests.reference.integers import clamped
from tests.reference.operators import choose, extreme, identity, truth, without_value
from tests.reference.values import Array, Value, cast_array, convert, definite, dtype, exactly, item, spread, take
from vlang.types import BOOL, F64, I64, INTEGER, NUMBER, U64, VERTEX, Scalar, Tuple, Type, Vector, defaulted

Combine = Callable[[Value, Value], Value]

BUILT_IN = ("sum", "prod", "min", "max", "any", "all", "count", "bitor", "bitand", "bitxor", "mean", "mode", "mex",
            "hindex", "median")

_NONE = 1 << 32  # greater than every vertex

_UFUNC = {
    "sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum, "any": np.logical_or,
    "all": np.logical_and, "bitor": np.bitwise_or, "bitand": np.bitwise_and, "bitxor": np.bitwise_xor,
}


def reduce_groups(
    name: str, body: Value, group: Array, groups: int, over_vertices: bool, precision: int
) -> tuple[Value, Array]:
    """Fold the rows of `body` in each group by a built-in reduction, in the order of the rows.

    Args:
        name: The name of the reduction.
        body: The contributions.
        group: The number of the group of each row.
        groups: The number of groups.
        over_vertices: Whether integer sums are accumulated in 64 bits.
        precision: Bits of `int` and `float`.

    Returns: The value of each group, shape [groups], and its number of contributions.
    """
    body = spread(definite(body, precision), len(group))
    if isinstance(body.type, Tuple):
        return _tuples(name, body, group, groups, precision)
    counts = np.bincount(group, minlength=groups)
    scalar = item(body.type)
    if name == "count":
        result = I64 if over_vertices else cast(Scalar, defaulted(INTEGER, precision))
        return Value(result, np.bincount(group[truth(body)], minlength=groups).astype(dtype(result))), counts
    if name == "mean":
        return _mean(body, group, groups, counts, precision), counts
    if name in ("mode", "mex", "hindex", "median"):
        return _holistic(name, body, group, groups, precision), counts
    if name in ("any", "all") and scalar != BOOL:
        raise TypeError(f"{name} of {body.type}")
    if name in ("min", "max") and scalar == VERTEX:
        return _vertices(name, body, group, groups), counts
    return _monoid(name, body, group, groups, over_vertices), counts


def _monoid(name: str, body: Value, group: Array, groups: int, over_vertices: bool) -> Value:
    """Return sums, products and other monoids. Floats are accumulated in 64 bits and rounded once; integers are exact.

    Over vertices, integer results have the type i64 or u64.
    """
    scalar = item(body.type)
    work = result = scalar
    tail = (body.type.size,) if isinstance(body.type, Vector) else ()
    if name in ("sum", "prod") and scalar.integral:
        result = scalar if not over_vertices else U64 if scalar.kind == "uint" else I64
        data = (_exact_sum if name == "sum" else _exact_product)(body.raw, scalar, group, (groups, *tail), result)
    else:
        work = F64 if name in ("sum", "prod") else scalar
        accumulated = np.full((groups, *tail), identity(name, work), dtype(work))
        _UFUNC[name].at(accumulated, group, body.raw.astype(dtype(work)))
        data = accumulated.astype(dtype(result))
    type_: Type = Vector(result, body.type.size) if isinstance(body.type, Vector) else result
    return Value(type_, data)


def _exact_sum(terms: Array, scalar: Scalar, group: Array, shape: tuple[int, ...], result: Scalar) -> Array:
    """Return exact sums of integers, converted once. A sum is `inf` if a term is `inf`, else `-inf` if a term is
    `-inf`.
    """
    total = np.zeros(shape, object)
    np.add.at(total, group, exactly(terms))
    data = clamped(total, result)
    if scalar.kind == "int":
        for end, infinite in ((scalar.lowest, result.lowest), (scalar.highest, result.highest)):
            some = np.zeros(shape, np.bool_)
            np.logical_or.at(some, group, terms == end)
            data = np.where(some, np.array(infinite, data.dtype), data)
    return data


_FAR = 1 << 200  # stands for an infinite factor; larger than every product with a finite result


def _exact_product(factors: Array, scalar: Scalar, group: Array, shape: tuple[int, ...], result: Scalar) -> Array:
    """Return exact products of integers, converted once.

    An infinite factor makes a product infinite, unless a factor is 0. In 64 bits, a product of magnitude 2^63 - 1 or
    more is infinite.
    """
    total = np.full(shape, 1, object)
    for place in np.ndindex(factors.shape):
        to, factor = (int(group[place[0]]), *place[1:]), int(factors[place])
        if scalar.kind == "int" and factor in (scalar.lowest, scalar.highest):
            factor = -_FAR if factor < 0 else _FAR
        total[to] = min(max(total[to] * factor, -_FAR), _FAR)
    if result.bits == 64 and result.kind == "int":
        total = np.where(total <= -result.highest, -_FAR, total)
    return clamped(total, result)


def _vertices(name: str, body: Value, group: Array, groups: int) -> Value:
    """Return the smallest or largest vertex of each group; `none` is ignored."""
    some = body.raw >= 0
    if name == "max":
        greatest = np.full(groups, -1, np.int64)
        np.maximum.at(greatest, group[some], body.raw[some])
        return Value(VERTEX, greatest)
    top = np.iinfo(np.int64).max
    least = np.full(groups, top, np.int64)
    np.minimum.at(least, group[some], body.raw[some])
    return Value(VERTEX, np.where(least == top, -1, least))


def _mean(body: Value, group: Array, groups: int, counts: Array, precision: int) -> Value:
    total = np.zeros(groups)
    scalar = item(body.type)
    np.add.at(total, group, cast_array(body.raw, scalar, F64))
    result = F64 if scalar == F64 else cast(Scalar, defaulted(NUMBER, precision))
    return Value(result, (total / np.maximum(counts, 1)).astype(dtype(result)))


def _holistic(name: str, body: Value, group: Array, groups: int, precision: int) -> Value:
    """Return `mode`, `mex`, `hindex` or `median`, as section 8 of language.md defines them."""
    members: list[list[Any]] = [[] for _ in range(groups)]
    for number, value in zip(group.tolist(), body.raw.tolist(), strict=True):
        members[number].append(value)
    work = {"mode": _mode, "mex": _mex, "hindex": _hindex, "median": _median}[name]
    if name == "mode" and item(body.type) == VERTEX:
        work = _mode_of_vertices
    scalar = item(body.type) if name in ("mode", "median") else cast(Scalar, defaulted(INTEGER, precision))
    return Value(scalar, np.array([work(values) for values in members], dtype(scalar)).reshape(groups))


def _mode(values: list[int]) -> int:
    tally = Counter(values)
    return min(tally, key=lambda value: (-tally[value], value)) if tally else 0


def _mode_of_vertices(values: list[int]) -> int:
    """Return the mode of vertices. The value `none` wins only if there is no vertex, as for `min`."""
    found = _mode([v if v >= 0 else _NONE for v in values])
    return -1 if found == _NONE else found


def _median(values: list[Any]) -> Any:
    """Return the value at index floor((k - 1) / 2) of the k sorted values; -0.0 becomes 0.0."""
    return sorted(values)[(len(values) - 1) // 2] + 0 if values else 0


def _mex(values: list[int]) -> int:
    present = set(values)
    return next(k for k in range(len(present) + 1) if k not in present)


def _hindex(values: list[int]) -> int:
    ordered = sorted(values, reverse=True)
    return max((h for h in range(1, len(ordered) + 1) if ordered[h - 1] >= h), default=0)


def _tuples(name: str, body: Value, group: Array, groups: int, precision: int) -> tuple[Value, Array]:
    """Return the lexicographic `min` or `max` of tuples. Tuples without a value do not count as contributions."""
    if name not in ("min", "max"):
        raise TypeError(f"{name} of tuples")
    kept = np.flatnonzero(~without_value(name, body))
    start = tuple_identity(name, body.type, groups)
    body, group = take(body, kept), group[kept]
    counts = np.bincount(group, minlength=groups)

    def better(a: Value, b: Value) -> Value:
        return extreme(name, a, b, precision)

    if not any(np.isnan(part.raw).any() for part in body.parts if part.raw.dtype.kind == "f"):
        body, group = halved(better, body, group)
    return fold(better, start, body, group), counts


def tuple_identity(name: str, type_: Type, rows: int) -> Value:
    """Return `rows` rows of the identity of a tuple."""
    assert isinstance(type_, Tuple)
    return Value(type_, tuple(spread(Value(i, identity(name, i)), rows) for i in type_.items))


def halved(combine: Combine, body: Value, group: Array) -> tuple[Value, Array]:
    """Combine adjacent rows of each group pairwise until one row is left.

    For an associative operation the result equals the result of `fold`, in far fewer rounds.
    """
    order = np.argsort(group, kind="stable")
    body, group = take(body, order), group[order]
    while (group[1:] == group[:-1]).any():
        first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
        rank = np.arange(len(group)) - np.repeat(first, np.diff(np.append(first, len(group))))
        second = np.flatnonzero(rank % 2)
        body = put(body, second - 1, combine(take(body, second - 1), take(body, second)))
        kept = np.flatnonzero(rank % 2 == 0)
        body, group = take(body, kept), group[kept]
    return body, group


def fold(combine: Combine, start: Value, body: Value, group: Array) -> Value:
    """Fold the rows of each group in order, all groups at once: round k combines row k of every group.

    Args:
        combine: The operation.
        start: The initial values, one row for each group.
        body: The contributions.
        group: The number of the group of each row.
    """
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group) if len(group) else np.zeros(0, np.int64)
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)
    by_rank = np.argsort(rank, kind="stable")
    result = start
    for rows in np.split(by_rank, np.cumsum(np.bincount(rank))[:-1]) if len(rank) else ():
        result = put(result, group[rows], combine(take(result, group[rows]), take(body, rows)))
    return result


def put(value: Value, rows: Array, new: Value) -> Value:
    """Return a copy of a value in which some rows are replaced. The given value and the replacing rows have the same
    final type.
    """
    if isinstance(value.data, tuple):
        return Value(value.type, tuple(put(p, rows, n) for p, n in zip(value.parts, new.parts, strict=True)))
    data = value.raw.copy()
    data[rows] = new.raw
    return Value(value.type, data)


def with_default(value: Value, counts: Array, default: Value) -> Value:
    """Return the value of each group, or `default` for groups without contributions."""
    return choose(counts > 0, value, convert(default, value.type))

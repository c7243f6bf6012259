"""The edges of random graph models: Erdos-Renyi, Barabasi-Albert, Watts-Strogatz, stochastic blocks, geometric.

Every random number is `mix(seed, counter)` (section 8 of the language); many are drawn at once, as an array. The
graphs have neither self-loops nor parallel edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["attached", "blocks", "count_within", "geometric", "pairs_of", "rewired", "sampled"]

_BLOCK = 1 << 20
_ROUNDS = 256
"""The maximum number of rounds in which repeated values are drawn again; each round leaves few of them."""

Array = NDArray[Any]
Ends = tuple[Array, Array]


def mixed(seed: int, stream: int, counters: Array) -> NDArray[np.uint64]:
    """64 random bits for each counter; counters are below 2^58. Draws of different streams, 0..63, are independent."""
    with np.errstate(over="ignore"):
        z = counters.astype(np.uint64) + np.uint64(stream << 58) + _wrapped(seed * 0x632BE59BD9B4E019)
        z *= np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return z ^ z >> np.uint64(31)


def _wrapped(value: int) -> np.uint64:
    return np.uint64(value % 2**64)


def uniform(seed: int, stream: int, counters: Array) -> NDArray[np.float64]:
    """A number in [0, 1) for each counter, a multiple of 2^-53."""
    return np.ldexp((mixed(seed, stream, counters) >> np.uint64(11)).astype(np.float64), -53)


def below(seed: int, stream: int, counters: Array, bounds: Any) -> NDArray[np.int64]:
    """An integer from 0 to bounds - 1 for each counter.

    Args:
        seed, stream, counters: arguments as for `mixed`.
        bounds: the bound for all counters, or an array with a bound for each counter; at most 2^53.
    """
    drawn = (uniform(seed, stream, counters) * bounds).astype(np.int64)
    found: NDArray[np.int64] = np.minimum(drawn, np.asarray(bounds, dtype=np.int64) - 1)  # a product may be rounded up
    return found


def count_within(seed: int, stream: int, pairs: int, probability: float) -> int:
    """The number of pairs that are edges, if each pair is an edge with the same probability: a binomial random number.

    Args:
        seed: the seed of the graph.
        stream: the number of the random stream; counts of different streams are independent.
        pairs: the number of pairs.
        probability: the probability that a pair is an edge.
    """
    return int(np.random.Generator(np.random.PCG64([seed, stream])).binomial(pairs, probability))


def sampled(seed: int, stream: int, total: int, count: int) -> NDArray[np.int64]:
    """Draw different integers, in increasing order; all sets of `count` integers have the same probability.

    Args:
        seed, stream: arguments as for `mixed`.
        total: the integers are from 0 to total - 1.
        count: the number of integers.
    """
    if count > total // 2:
        rest = sampled(seed, stream, total, total - count)
        kept = np.ones(total, dtype=np.bool_)
        kept[rest] = False
        return np.flatnonzero(kept)
    drawn, found = 0, np.empty(0, dtype=np.int64)
    while len(found) < count:
        more = (count - len(found)) + (count - len(found)) // 8 + 16
        values = np.concatenate([found, below(seed, stream, np.arange(drawn, drawn + more), total)])
        drawn += more
        first = np.unique(values, return_index=True)[1]
        found = values[np.sort(first)[:count]]
    return np.sort(found)


def pairs_of(numbers: Array, n: int, directed: bool) -> Ends:
    """The ends of the pairs with these numbers. There are n (n - 1) ordered pairs, or n (n - 1) / 2 unordered pairs.

    Unordered pairs are numbered by the distance of their ends on a ring of n vertices.
    """
    if directed:
        src, rest = np.divmod(numbers, max(n - 1, 1))
        return src, rest + (rest >= src)
    distance, src = np.divmod(numbers, max(n, 1))
    dst = (src + distance + 1) % max(n, 1)
    return np.minimum(src, dst), np.maximum(src, dst)


def attached(seed: int, n: int, k: int) -> Ends:
    """A Barabasi-Albert graph, which has k (n - k) edges.

    Vertex 0 is joined to the vertices 1..k, and each later vertex to k earlier vertices.

    Each earlier vertex is chosen by drawing an end of an earlier edge, that is, in proportion to its degree. If the
    drawn end is itself the result of a draw, the chain of draws is followed step by step. Source: Sanders and Schulz,
    Scalable generation of scale-free graphs (Information Processing Letters 116, 2016). If a vertex chooses the same
    vertex twice, the repeated choice is drawn again from the same ends. After many rounds, the remaining repeated
    choices are replaced by the vertices with the smallest numbers that are not chosen yet.
    """
    e = np.arange(k * (n - k))
    src = np.where(e < k, 0, e // k + k)
    draw = below(seed, 0, e, np.maximum(2 * k * (src - k), 1))
    dst = np.where(e < k, e + 1, -1)
    waiting, at = e[k:], draw[k:]
    while len(waiting):
        edge, second = at // 2, at % 2
        ready = (second == 0) | (edge < k)
        dst[waiting[ready]] = np.where(second[ready] == 0, src[edge[ready]], edge[ready] + 1)
        waiting, at = waiting[~ready], draw[edge[~ready]]
    chosen = dst[k:].reshape(-1, k).copy()
    rows = np.arange(len(chosen))
    for attempt in range(_ROUNDS):
        repeated = _repeated_in_rows(chosen[rows])
        again = repeated.any(axis=1)
        if not again.any():
            break
        rows, repeated = rows[again], repeated[again]
        row, place = np.nonzero(repeated)
        row = rows[row]
        position = below(seed, 1, ((row + 1) * k + place) * _ROUNDS + attempt, 2 * k * (row + 1))
        chosen[row, place] = np.where(position % 2 == 0, src[position // 2], dst[position // 2])
    else:  # a vertex that is joined to nearly all earlier ones
        for r in rows.tolist():
            repeated = _repeated_in_rows(chosen[r : r + 1])[0]
            chosen[r, repeated] = np.setdiff1d(np.arange(r + k + 1), chosen[r])[: repeated.sum()]
    return np.concatenate([dst[:k], chosen.ravel()]), src


def _repeated_in_rows(values: Array) -> NDArray[np.bool_]:
    """A mask of the values that occur earlier in their row; the mask and `values` have shape [rows, k]."""
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    found = np.zeros(values.shape, dtype=np.bool_)
    np.put_along_axis(found, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return found


def rewired(seed: int, n: int, k: int, probability: float) -> Ends:
    """Watts-Strogatz: a ring in which each vertex is joined to the k nearest vertices, and edges are rewired at random.

    The new end of an edge is any vertex that is not yet joined to the other end, neither on the ring nor by a rewired
    edge. If many draws find no such vertex, the edge is not rewired.

    Args:
        seed: the seed of the graph.
        n: the number of vertices.
        k: the number of neighbours of a vertex on the ring, an even number.
        probability: the probability that an edge is rewired.
    """
    e = np.arange(n * (k // 2))
    src, ring = e % n, (e % n + e // n + 1) % n
    moved = np.flatnonzero(uniform(seed, 0, e) < probability)
    keys = np.concatenate([_pair(src, ring, n), np.full(len(moved), -1)])  # the ring, then the rewired edges
    ends, waiting = ring[moved], np.arange(len(moved))
    for attempt in range(_ROUNDS):
        if not len(waiting):
            break
        ends[waiting] = below(seed, 1, moved[waiting] * _ROUNDS + attempt, n)
        keys[len(e) :] = _pair(src[moved], ends, n)
        waiting = np.union1d(_repeated(keys) - len(e), np.flatnonzero(src[moved] == ends))
    ends[waiting] = ring[moved[waiting]]
    dst = ring.copy()
    dst[moved] = ends
    return src, dst


def _pair(src: Array, dst: Array, n: int) -> Array:
    """A distinct number for each unordered pair."""
    return np.minimum(src, dst) * n + np.maximum(src, dst)


def blocks(seed: int, size: int, count: int, inside: float, between: float) -> Ends:
    """Stochastic block model: the probability that a pair of vertices is an edge depends on their blocks.

    Args:
        seed: the seed of the graph.
        size: the number of vertices of a block.
        count: the number of blocks.
        inside, between: the probabilities for two vertices of the same block, and of different blocks.
    """
    pairs = size * (size - 1) // 2
    chosen = sampled(seed, 0, count * pairs, count_within(seed, 2, count * pairs, inside))
    block, number = np.divmod(chosen, max(pairs, 1))
    src, dst = (block * size + end for end in pairs_of(number, size, False))
    across = count * (count - 1) // 2
    chosen = sampled(seed, 1, across * size**2, count_within(seed, 3, across * size**2, between))
    both, cell = np.divmod(chosen, max(size**2, 1))
    one, other = pairs_of(both, count, False)
    return np.concatenate([src, one * size + cell // max(size, 1)]), \
        np.concatenate([dst, other * size + cell % max(size, 1)])


def geometric(seed: int, n: int, radius: float) -> Ends:
    """Random geometric graph: n random points of the unit square are joined if they are at most `radius` apart.

    The points are sorted into square cells, which are at least `radius` wide. Each point is compared with the points of
    its own cell and of four neighbouring cells.
    """
    x, y = (uniform(seed, axis, np.arange(n)) for axis in (0, 1))
    side = max(1, min(int(1 / radius), int(n**0.5) + 1)) if radius > 0 else int(n**0.5) + 1
    cell = np.minimum((x * side).astype(np.int64), side - 1) * side + np.minimum((y * side).astype(np.int64), side - 1)
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(side * side + 1))
    row, column = np.divmod(cell, side)
    found: list[Ends] = []
    for down, right in ((0, 0), (0, 1), (1, -1), (1, 0), (1, 1)):
        near = np.flatnonzero((row + down < side) & (column + right >= 0) & (column + right < side))
        other = cell[near] + down * side + right
        for i, j in _candidates(near, starts[other], starts[other + 1]):
            v = order[j]
            close = (x[i] - x[v]) ** 2 + (y[i] - y[v]) ** 2 <= radius * radius
            if (down, right) == (0, 0):
                close &= i < v
            found.append((i[close], v[close]))
    none = np.empty(0, dtype=np.int64)
    return np.concatenate([none, *(i for i, _ in found)]), np.concatenate([none, *(j for _, j in found)])


def _candidates(points: Array, first: Array, last: Array) -> Iterator[Ends]:
    """Yield the pairs of every point with each number of its range first..last-1, about a million pairs at a time."""
    lengths = last - first
    ends = np.cumsum(lengths)
    begin = 0
    while begin < len(points):
        done = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + _BLOCK, side="right")))
        part = lengths[begin:end]
        within = np.arange(int(part.sum())) - np.repeat(np.cumsum(part) - part, part)
        yield np.repeat(points[begin:end], part), np.repeat(first[begin:end], part) + within
        begin = end


def _repeated(keys: Array) -> Array:
    """The indices of the keys that also occur at an earlier index."""
    later = np.ones(len(keys), dtype=np.bool_)
    later[np.unique(keys, return_index=True)[1]] = False
    return np.flatnonzero(later)

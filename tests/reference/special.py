"""Functions that have their own sections in language.md: random numbers, HyperLogLog, common neighbours, positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.reference.graph import RefGraph
from tests.reference.values import Array, Value, definite
from vlang.types import F32, F64, I32, I64, U8, U64, VERTEX, Vector

_MASK = (1 << 64) - 1


def mix(seed: int, x: int) -> int:
    """Return the 64-bit mixing function of section 8 of language.md."""
    z = ((x + seed * 0x632BE59BD9B4E019) * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & _MASK
    return z ^ z >> 31


def _mixed(graph: RefGraph, seed: Array, key: Value) -> Array:
    """Return the hash of each seed and key. A key is an integer or the number of a vertex."""
    seeds, keys = np.broadcast_arrays(seed, definite(key, 64).raw)
    number = graph.number if key.type == VERTEX else int
    flat = [mix(int(s), number(int(k))) for s, k in zip(seeds.ravel(), keys.ravel(), strict=True)]
    return np.array(flat, object).reshape(seeds.shape)


def hashed(graph: RefGraph, args: Sequence[Value]) -> Value:
    """Return the hash of a seed and keys, which are mixed in one after another."""
    bits: Array = definite(args[0], 64).raw
    for key in args[1:]:
        bits = _mixed(graph, bits, key)
    return Value(U64, bits)


def random(graph: RefGraph, args: Sequence[Value], precision: int) -> Value:
    """Return `random(seed, key, ...)`: the top 24 bits of the hash of the keys, divided by 2^24, exact in f32."""
    bits = hashed(graph, args).raw
    data = np.asarray(bits >> 40).astype(np.float64) / 2.0**24
    return Value(F64, data) if precision == 64 else Value(F32, data.astype(np.float32))


def hll_unit(graph: RefGraph, seed: Value, vertex: Value) -> Value:
    """Return `hll_unit(seed, v)`: u8[64] with one register set."""
    hashes = _mixed(graph, definite(seed, 64).raw, vertex)
    counter = np.zeros((*hashes.shape, 64), np.uint8)
    for place in np.ndindex(hashes.shape):
        h = int(hashes[place])
        rest = h >> 6
        counter[(*place, h % 64)] = 59 if rest == 0 else 1 + ((rest & -rest).bit_length() - 1)
    return Value(Vector(U8, 64), counter)


def hll_size(counter: Value, precision: int) -> Value:
    """Return `hll_size(c)`: the estimated number of elements."""
    registers = counter.raw.astype(np.float64)
    estimate = 0.709 * 64**2 / np.exp2(-registers).sum(axis=-1)
    zeros = (registers == 0).sum(axis=-1)
    small = 64 * np.log(64 / np.maximum(zeros, 1))
    data = np.asarray(np.where((estimate <= 160) & (zeros > 0), small, estimate))
    return Value(F64, data) if precision == 64 else Value(F32, data.astype(np.float32))


def position(vertex: Value, group: Value, precision: int) -> Value:
    """Return `position(v, S)`: the index of v in S; -1 if v is not in S."""
    assert vertex.type == VERTEX
    index = {int(v): k for k, v in reversed(list(enumerate(group.raw.tolist())))}
    data = np.array([index.get(int(v), -1) for v in vertex.raw.ravel()], np.int64).reshape(vertex.raw.shape)
    return Value(I64, data) if precision == 64 else Value(I32, data.astype(np.int32))


def common_neighbours(graph: RefGraph, a: Value, b: Value, precision: int) -> Value:
    """Return `common(u, v)`: the number of common neighbours. Directions, loops and parallel edges are ignored."""
    near: list[set[int]] = [set() for _ in range(graph.n)]
    for u, v in zip(graph.src.tolist(), graph.dst.tolist(), strict=True):
        if u != v:
            near[u].add(v)
            near[v].add(u)
    left, right = np.broadcast_arrays(a.raw, b.raw)
    pairs = zip(left.ravel().tolist(), right.ravel().tolist(), strict=True)
    data = np.array([len(near[u] & near[v]) for u, v in pairs], np.int64).reshape(left.shape)
    return Value(I64, data) if precision == 64 else Value(I32, data.astype(np.int32))

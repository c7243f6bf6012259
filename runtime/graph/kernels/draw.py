"""Draws random edges by a counter-based generator: edge e depends only on the seed and e, so any thread may draw it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {
    "kronecker": "void(i64, i64, u64, i64, i64, i64, i64, i64, i64, i64, i64, i64, u32*, u32*)",
    "uniform": "void(i64, i64, u64, i64, i64, u32*, u32*)",
}


@njit
def _mix(seed: Any, x: Any) -> Any:
    z = (x + seed * np.uint64(0x632BE59BD9B4E019)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit
def _scrambled(x: Any, mask: Any, half: Any, add: Any, odd: Any, odd_too: Any) -> Any:
    """A bijection of 0..mask, where mask = 2^k - 1: each step is invertible."""
    x = ((x + add) * odd) & mask
    x ^= x >> half
    x = (x * odd_too) & mask
    return x ^ (x >> half)


def kronecker(first: Any, last: Any, seed: Any, scale: Any, a: Any, ab: Any, abc: Any, half: Any, add: Any, odd: Any,
              odd_too: Any, base: Any, src: Any, dst: Any) -> None:  # fmt: skip
    """Draw the edges first..last-1 of a Kronecker graph of 2^scale vertices, with scrambled labels.

    Each of the `scale` levels picks a quadrant by 21 random bits; a 64-bit word serves three levels. The quadrant is
    upper left if these bits are below `a`, else upper right below `ab`, else lower left below `abc`, else lower right.

    Args:
        first, last: the range of edges.
        seed, scale: seed of the graph, and log2 of its number of vertices.
        a, ab, abc: cumulative probabilities of the quadrants, in units of 2^-21.
        half, add, odd, odd_too: constants of the bijection of labels.
        base: the edge of the first entry of the outputs.
        src, dst: output, u32; edge e is entry e - base.
    """
    mask = (np.int64(1) << scale) - 1
    for e in range(first, last):
        u = np.int64(0)
        v = np.int64(0)
        word = np.int64(0)
        for level in range(scale):
            if level % 3 == 0:
                word = np.int64(_mix(seed, np.uint64(e * 16 + level // 3)) >> np.uint64(1))
            draw = word & 0x1FFFFF
            word >>= 21
            lower = np.int64(draw >= ab)
            u = (u << 1) | lower
            v = (v << 1) | (np.int64(draw >= a) - lower + np.int64(draw >= abc))
        src[e - base] = np.uint32(_scrambled(u, mask, half, add, odd, odd_too))
        dst[e - base] = np.uint32(_scrambled(v, mask, half, add, odd, odd_too))


def uniform(first: Any, last: Any, seed: Any, scale: Any, base: Any, src: Any, dst: Any) -> None:
    """Draw the edges first..last-1 with both ends uniform in 0..2^scale - 1.

    Args:
        first, last: the range of edges.
        seed, scale: seed of the graph, and log2 of its number of vertices.
        base: the edge of the first entry of the outputs.
        src, dst: output, u32; edge e is entry e - base.
    """
    mask = (np.int64(1) << scale) - 1
    for e in range(first, last):
        word = _mix(seed, np.uint64(e))
        src[e - base] = np.uint32(np.int64(word >> np.uint64(32)) & mask)
        dst[e - base] = np.uint32(np.int64(word & np.uint64(0xFFFFFFFF)) & mask)

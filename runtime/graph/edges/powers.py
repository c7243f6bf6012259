"""Tables of powers of ten for the float parser (kernels/texts/decimals.py)."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["exact_tens", "leading_bits"]

LOWEST, HIGHEST = -342, 308


@cache
def leading_bits() -> NDArray[np.uint64]:
    """The 128 leading bits of 10^e for e = -342 .. 308, rounded down; uint64[2 * 651], low half first."""
    halves: list[int] = []
    for exponent in range(LOWEST, HIGHEST + 1):
        power = 10 ** abs(exponent)
        if exponent >= 0:
            bits = (power << 128) >> power.bit_length()
        else:
            bits = (1 << (power.bit_length() + 127)) // power
            bits >>= bits.bit_length() - 128
        halves += [bits & (2**64 - 1), bits >> 64]
    return np.array(halves, dtype=np.uint64)


@cache
def exact_tens() -> NDArray[np.float64]:
    """The powers 10^0 .. 10^22, which doubles represent exactly; float64[23]."""
    return np.array([float(10**e) for e in range(23)])

"""The values of operands on which the laws of a reduction are tried."""

from __future__ import annotations

from typing import Any

import numpy as np

from vlang.check.laws.domain import Interval
from vlang.check.laws.evaluate import Array, dtype_of
from vlang.types import BOOL, Scalar

__all__ = ["all_values", "random_integers", "random_values", "special_values"]

_RANDOM_TRIPLES = 20_000


def all_values(scalar: Scalar, domain: Interval) -> list[Any]:
    """Return all values of a small type that lie in a domain."""
    if scalar == BOOL:
        return [False, True]
    dtype_of(scalar)
    return [v for v in range(scalar.lowest, scalar.highest + 1) if domain.holds(v)]


def special_values(scalar: Scalar, domain: Interval, identity: Any) -> list[Any]:
    """The special values of a domain: the identity, extreme values, infinities, and small numbers of both signs."""
    values: list[Any]
    if scalar == BOOL:
        return [False, True]
    if scalar.floating:
        values = [0.0, -0.0, 1.0, -1.0, 2.0, float("inf"), float("-inf"), identity, domain.low, domain.high]
    else:
        dtype_of(scalar)
        edges = [2**31 - 1, -(2**31)] if scalar.bits == 64 else []
        values = [0, 1, -1, 2, identity, scalar.highest, *edges, *([scalar.lowest] if scalar.kind == "int" else [])]
        values += [int(v) for v in (domain.low, domain.high) if np.isfinite(v)]
        values = [v for v in values if scalar.lowest <= v <= scalar.highest]
    inside = [v for v in values if domain.holds(v)]
    unique = {(v, str(v)): v for v in inside}
    return list(unique.values()) or [identity]


def random_integers(scalar: Scalar, domain: Interval, rng: np.random.Generator) -> Array:
    """Return small random integers of a domain; for bools, random bools."""
    if scalar == BOOL:
        return rng.integers(0, 2, _RANDOM_TRIPLES).astype(bool)
    low = max(domain.low, -9 if scalar.kind != "uint" else 0)
    high = min(domain.high, low + 18)
    return np.clip(np.floor(rng.uniform(low, high + 1, _RANDOM_TRIPLES)), low, high)


def random_values(scalar: Scalar, domain: Interval, rng: np.random.Generator) -> Array:
    """Return random values of a domain: fractions for floats, integers otherwise."""
    if scalar == BOOL:
        return rng.integers(0, 2, _RANDOM_TRIPLES).astype(bool)
    if scalar.floating:
        low, high = max(domain.low, -20.0), min(domain.high, max(domain.low, -20.0) + 40.0)
        return rng.uniform(low, high, _RANDOM_TRIPLES)
    low_int = int(max(domain.low, -1000 if scalar.kind != "uint" else 0))
    high_int = int(min(domain.high, low_int + 100_000, scalar.highest - 1))
    return rng.integers(low_int, high_int + 1, _RANDOM_TRIPLES)

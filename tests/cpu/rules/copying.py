"""Programs that copy values over a relation, to which rule K applies, and initial values for these programs."""

from __future__ import annotations

import numpy as np

from tests.cpu.compare import same_bits
from tests.reference.graph import Array
from vlang import Program, Result, compile

__all__ = ["CASES", "DOMAINS", "assert_same", "connected", "copying", "values"]

TEXT = """program p
vertex x: {type}
repeat:
    gather a = {reduction}(u.x for {domain})
    apply  x = {apply}
"""

JOINS = {"min": "min(x, a)", "max": "max(x, a)", "any": "x or a", "all": "a and x", "bitor": "x | a", "bitand": "x & a"}

CASES = [
    ("min", "vertex"), ("min", "i8"), ("min", "f32"), ("max", "vertex"), ("max", "i32"), ("max", "u64"), ("max", "f64"),
    ("any", "bool"), ("all", "bool"), ("bitor", "u16"), ("bitand", "i32"),
]  # every reduction, every width, and every kind of type

DOMAINS = ("u -- self", "u -> self", "self -> u")


def copying(reduction: str, type_: str, domain: str = "u -- self") -> Program:
    return compile(TEXT.format(type=type_, reduction=reduction, domain=domain, apply=JOINS[reduction]))


def values(type_: str, n: int, rng: np.random.Generator) -> Array:
    """Return initial values over the whole range of a type."""
    if type_ == "bool":
        return rng.random(n) < 0.2
    if type_ == "vertex":
        return rng.integers(-1, n, n) if n else np.zeros(0, np.int64)
    if type_[0] == "f":
        drawn = np.round(rng.normal(size=n) * 1e3) + 0.5
        drawn[rng.random(n) < 0.1] = rng.choice([np.inf, -np.inf])
        return np.asarray(drawn, f"f{int(type_[1:]) // 8}")
    dtype = np.dtype(f"{type_[0]}{int(type_[1:]) // 8}")
    limits = np.iinfo(dtype)
    drawn = rng.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)
    drawn[rng.random(n) < 0.1] = rng.choice(np.array([limits.min, limits.max], dtype))
    return drawn


def connected(result: Result) -> bool:
    return [row.mode for row in result.history] == ["connect"]


def assert_same(a: Result, b: Result) -> None:
    assert same_bits(np.asarray(a["x"]), np.asarray(b["x"]))
    assert (a.converged, a.reason) == (b.converged, b.reason) == (True, "no vertex is active")

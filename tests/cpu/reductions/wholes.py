"""Programs with reductions that need all contributions of a vertex at once, and graphs for these programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.reference.graph import Array, RefGraph
from vlang.runtime.plan.plan import SEGMENT

KINDS = (("i8", "i32", "vertex"), ("u8", "i64", "u16"), ("i16", "u32", "u64"), ("bool",))
"""All types of contributions, a tuple for each program."""
USUAL_KINDS = KINDS[1::2]

DOMAINS = ("u -> self", "self -> u", "u -- self")

CDLP = """program cdlp(iterations = 10)
vertex label: vertex = self
repeat iterations times:
    gather popular = mode(u.label for u -- self, default = label)
    apply  label   = popular
"""

KCORE = """program kcore
vertex core: int = degree
repeat:
    gather h    = hindex(u.core for u -- self)
    apply  core = min(core, h)
"""

COLORING = """program coloring
vertex priority: float
vertex color:    int = -1
repeat:
    gather ready = all(u.color >= 0 for u -- self if (u.priority, u) < (priority, self))
    where color < 0 and ready:
        gather free  = mex(u.color for u -- self)
        apply  color = free
"""

BESIDE = """program beside
edge weight: float = 1
vertex x: int
vertex y: float
vertex out: int = 0
vertex total: float = 0
vertex least: int = 0
vertex flag: bool = false
repeat 3 times:
    where x % 3 != 0:
        gather often = mode((u.x + out) % 5 for u -> self if weight > 1, default = 9)
        gather mass  = sum(u.y * 0.5 + weight for u -> self)
        gather gap   = mex((u.x + iteration) % 7 for u -> self)
        gather near  = min(u.x for u -> self, default = 4)
        gather big   = hindex(u.x % 9 for u -> self if u.x > x, default = 77)
        gather some  = any(u.x > 5 for u -> self)
        apply out    = often + 10 * gap + 100 * big
        apply total += mass
        apply least  = near
        apply flag   = flag or some
    where flag:
        gather often2 = mode(u.flag for self -> u, default = true)
        apply flag = often2
"""


MEDIANS = """program medians
vertex a: i8
vertex b: u16
vertex c: i64
vertex d: u64
vertex e: float
vertex f: f64
vertex h: f16
vertex oa: i8 = median(u.a for u -> self, default = 3)
vertex ob: u16 = median(u.b for self -> u if u != self, default = b)
vertex oc: i64 = median(u.c for u -- self, default = -inf)
vertex od: u64 = median(u.d for u -> self if u.b != b, default = d)
vertex oe: float = median(u.e for u -- self, default = -1)
vertex of: f64 = 0
vertex oh: f16 = 0
repeat 2 times:
    gather mf = median(u.f * iteration for u -> self, default = f)
    gather mh = median(u.h for u -- self if u.e < 3, default = inf)
    gather mi = mode(u.a for u -> self, default = 0)
    gather total = sum(u.e for u -> self)
    apply  of = mf + mi + total
    apply  oh = mh
"""


def medians_of(graph: RefGraph, seed: int) -> dict[str, Array]:
    """Return random fields for `MEDIANS`, including infinities and negative zeros."""
    rng = np.random.default_rng(seed)
    drawn = {letter: values(kind, graph.n, seed + k)
             for k, (letter, kind) in enumerate(zip("abcd", ("i8", "u16", "i64", "u64"), strict=True))}
    for letter, dtype in (("e", np.float32), ("f", np.float64), ("h", np.float16)):
        found = (rng.integers(-40, 40, graph.n) / 8).astype(dtype)
        found[rng.random(graph.n) < 0.2] = rng.choice(np.array([np.inf, -np.inf, -0.0, 0.0], dtype))
        drawn[letter] = found
    return drawn


def all_types(kinds: tuple[str, ...]) -> str:
    """Return a program with every holistic reduction that fields x0, x1, ... of these types may have.

    Directions alternate, so that three integer types cover every reduction in every direction.
    """
    head, body = ["program all_types"], []
    number = 0
    for k, kind in enumerate(kinds):
        head.append(f"vertex x{k}: {kind}")
        reductions = ("mode",) if kind in ("bool", "vertex") else ("mode", "mex", "hindex")
        for r, reduction in enumerate(reductions):
            default = number % 2 or reduction == "mode"
            own = {"bool": "false", "vertex": "self"}.get(kind, "7") if reduction == "mode" else "7"
            own = f"x{k}" if reduction == "mode" and number % 4 == 0 else own
            cond = ("", " if u != self", f" if u.x{k} != x{k}")[(k + number) % 3]
            result = kind if reduction == "mode" else "int"
            zero = {"bool": "false", "vertex": "none"}.get(result, "0")
            head.append(f"vertex out{number}: {result} = {zero}")
            body.append(f"gather g{number} = {reduction}(u.x{k} for {DOMAINS[(k + r) % 3]}{cond}"
                        + (f", default = {own})" if default else ")"))  # fmt: skip
            body.append(f"apply out{number} = g{number}")
            number += 1
    return "\n".join([*head, *body]) + "\n"


def values(kind: str, n: int, seed: int) -> Array:
    """Return random values with repetitions, including the limits of their type."""
    rng = np.random.default_rng(seed)
    if kind == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if kind == "vertex":
        return rng.integers(-1, min(n, 5), n) if n else np.zeros(0, np.int64)
    dtype = np.dtype({"i": "int", "u": "uint"}[kind[0]] + kind[1:])
    limits = np.iinfo(dtype)
    drawn = rng.integers(0, 6, n).astype(dtype)
    some = rng.random(n) < 0.3
    drawn[some] = rng.choice(np.array([limits.min, limits.max, limits.max - 1, 1], dtype), int(some.sum()))
    return drawn


def hubs(n: int, degrees: dict[int, int], seed: int, rest: int = 3000) -> RefGraph:
    """Return a graph that has vertices with the given in-degrees, with parallel edges and loops, and `rest` further
    random edges.
    """
    rng = np.random.default_rng(seed)
    src = [rng.integers(0, n, rest), *(rng.integers(0, n, d) for d in degrees.values())]
    dst = [rng.integers(0, n, rest), *(np.full(d, v) for v, d in degrees.items())]
    weight = rng.integers(1, 4, rest + sum(degrees.values())).astype(np.float32)
    return RefGraph(n, np.concatenate(src), np.concatenate(dst), {"weight": weight}, True)


LONG: dict[str, dict[int, int]] = {
    "one hub": {5: 40_000},
    "around a segment": {3: SEGMENT - 1, 7: SEGMENT, 11: SEGMENT + 1, 12: 2 * SEGMENT + 1, 199: SEGMENT + 2},
}


def params(name: str) -> dict[str, Any]:
    """Return the parameters for a run of one of the programs of this file."""
    return {"iterations": 6} if name == "cdlp" else {}

"""Generated graphs such as `kron:20` or `grid:1000x1000,weights=1..63`.

The same specification gives the same graph on every machine and with any number of threads.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.edges.building.karate import karate
from vlang.runtime.graph.edges.edge_list import EdgeList, VertexIds
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.random_graphs import attached, blocks, count_within, geometric, pairs_of, rewired, sampled
from vlang.runtime.threads.processors import available_threads
from vlang.runtime.threads.workers import over

__all__ = ["BLOCK_BYTES", "GENERATORS", "generate", "is_spec", "unknown_name", "weight_range"]

MOST_VERTICES = 2**32 - 2
MOST_SCALE = 31
_MOST_MODEL = 10**8  # vertices of a model: pairs of vertices are numbered in 53 bits
FACTOR = 16

_BLOCK = 1 << 13
BLOCK_BYTES = 4 * 8 * _BLOCK
"""Bytes of memory that the generators of regular graphs use in addition to the edges."""

# Probabilities of the quadrants of a Kronecker graph (Graph500 benchmark specification), in units of 2^-21:
# upper left .57, upper right .19, lower left .19, lower right .05. The constants are cumulative sums in this order.
A, AB, ABC = (round(p * 2**21) for p in (0.57, 0.76, 0.95))


Array = NDArray[np.int64]
Empty = Callable[[int, DTypeLike], NDArray[Any]]


@dataclass(frozen=True)
class Spec:
    """The parsed text of a generator.

    Attributes:
        text: the whole text of the generator, for messages.
        args: the positional arguments.
        seed: seed of a random graph.
        directed: whether the graph is directed.
        threads: how many threads generate the edges.
        empty: allocates an array for the edges, given the count and the dtype.
        part: (i, k): only the i-th of k equal parts of the edges is generated, if the generator has parts.
    """

    text: str
    args: tuple[str, ...]
    seed: int
    directed: bool
    threads: int
    empty: Empty = np.empty
    part: tuple[int, int] = (0, 1)

    def edges_of(self, count: int) -> tuple[int, int]:
        """The range of the edges of the part, if the graph has `count` edges in all: the first edge, and the last edge
        plus 1.
        """
        place, parts = self.part
        return count * place // parts, count * (place + 1) // parts


@dataclass(frozen=True)
class _Options:
    seed: int = 1
    directed: bool | None = None
    weights: tuple[int, int] | None = None


@dataclass(frozen=True)
class Generator:
    """A kind of generated graph.

    Attributes:
        usage: the syntax, for messages.
        directed: whether the graph is directed by default; None if it is always undirected.
        random: whether the generator takes a seed.
        most: the maximum number of positional arguments.
        edges: the function that generates the edges.
        parts: whether the generator can generate a part of the edges.
    """

    usage: str
    directed: bool | None
    random: bool
    most: int
    edges: Callable[[Spec], EdgeList]
    parts: bool = False


def is_spec(text: str) -> bool:
    """Return whether the text means a generator and not a path."""
    return bool(re.fullmatch(r"[A-Za-z_]\w*:[^/\\]*", text)) or text in GENERATORS


def generate(
    spec: str, *, directed: bool | None = None, threads: int | None = None, empty: Empty = np.empty,
    part: tuple[int, int] = (0, 1),
) -> tuple[EdgeList, tuple[int, int] | None]:
    """Generate the edges of a graph; returns the edges, and the bounds of the weights by rule or None.

    Args:
        spec: name, arguments and options. Options: `seed=` (random generators; default 1), `directed=true|false`,
            `weights=LO..HI` or `weights=W` (see `Graph.with_rule_weights`).
        directed: overrides the option in `spec`; None keeps that option.
        threads: how many threads generate the edges; None for one per processor.
        empty: allocates an array for the edges, given the count and the dtype.
        part: (i, k): generate the i-th of k equal parts of the edges.

    Edges of kron, rmat and uniform can be self-loops or parallel edges, which are kept (see `Graph.thinned`). Raises
    GraphError for an unknown name or argument.
    """
    name, _, rest = spec.partition(":")
    generator = GENERATORS.get(name)
    if generator is None:
        raise GraphError(f"{spec}: there is no file of that name{unknown_name(name)}")
    words = [word.strip() for word in rest.split(",")] if rest else []
    args = tuple(word for word in words if "=" not in word)
    options = _options(spec, generator, [word for word in words if "=" in word])
    if not 1 <= len(args) <= generator.most and (args or generator.most):
        raise GraphError(f"{spec}: write {generator.usage}")
    asked = directed if directed is not None else options.directed
    chosen = generator.directed if asked is None else asked
    if part[1] > 1 and not generator.parts:
        raise GraphError(f"{spec}: {name} is not generated in parts")
    if generator.directed is None and chosen:
        raise GraphError(f"{spec}: {name} is undirected")
    threads = threads or available_threads()
    return generator.edges(Spec(spec, args, options.seed, bool(chosen), threads, empty, part)), options.weights


def weight_range(text: str) -> tuple[int, int] | None:
    """Parse `LO..HI` or `W` as (LO, HI) or (W, W), integers; None for any other text."""
    match = re.fullmatch(r"([+-]?\d+)(?:\.\.([+-]?\d+))?", text)
    return (int(match[1]), int(match[2] or match[1])) if match else None


def unknown_name(name: str) -> str:
    """The end of an error message: it says that no generator has this name, and gives the nearest and all known names.
    """
    close = difflib.get_close_matches(name.lower(), GENERATORS, n=1)
    hint = f"; did you mean {GENERATORS[close[0]].usage}?" if close else ""
    known = ", ".join(generator.usage for generator in GENERATORS.values())
    return f", and no generator {name!r}{hint}; known are {known}"


def _options(spec: str, generator: Generator, words: list[str]) -> _Options:
    known = ["directed", "weights", *(["seed"] if generator.random else [])]
    options = _Options()
    for word in words:
        key, _, value = (part.strip() for part in word.partition("="))
        if key == "directed" and value in ("true", "false"):
            options = replace(options, directed=value == "true")
        elif key == "directed":
            raise GraphError(f"{spec}: directed={value}: write true or false")
        elif key == "weights":
            weights = weight_range(value)
            if weights is None:
                raise GraphError(f"{spec}: weights={value}: write LO..HI or one integer")
            options = replace(options, weights=weights)
        elif key == "seed" and generator.random:
            options = replace(options, seed=_integer(spec, value, "seed", 0, 2**64 - 1))
        else:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise GraphError(f"{spec}: no option {key!r}{hint}; known are {', '.join(known)}")
    return options


def _integer(spec: str, text: str, what: str, least: int, most: int) -> int:
    if not re.fullmatch(r"\d+", text) or not least <= int(text) <= most:
        raise GraphError(f"{spec}: {what} must be an integer from {least} to {most}, not {text!r}")
    return int(text)


# ------------------------------------------------------------------ random graphs


def _drawn(spec: Spec) -> tuple[int, int, int, NDArray[np.uint32], NDArray[np.uint32]]:
    """Scale, edge factor, the first edge of the part, and uninitialised arrays for its edges."""
    scale = _integer(spec.text, spec.args[0], "the scale", 0, MOST_SCALE)
    factor = _integer(spec.text, spec.args[1], "the edges a vertex", 0, 2**20) if len(spec.args) > 1 else FACTOR
    first, last = spec.edges_of(factor << scale)
    src, dst = (spec.empty(last - first, np.uint32) for _ in range(2))
    return scale, factor, first, src, dst


def _kronecker(spec: Spec) -> EdgeList:
    """Graph500's Kronecker generator, also known as R-MAT (Chakrabarti, Zhan, Faloutsos, SDM 2004)."""
    scale, factor, base, src, dst = _drawn(spec)
    half = max(1, scale // 2)
    add, odd, odd_too = (_mix(spec.seed, 2**63 + i) >> 33 | 1 for i in range(3))

    def draw(first: int, last: int) -> None:
        kernels("draw")["kronecker"](base + first, base + last, spec.seed, scale, A, AB, ABC, half, add, odd, odd_too,
                                     base, src, dst)

    over(len(src), spec.threads, draw)
    return _random(spec, scale, factor, src, dst, "Kronecker graph (a .57 b .19 c .19 d .05, labels scrambled)")


def _uniform(spec: Spec) -> EdgeList:
    scale, factor, base, src, dst = _drawn(spec)
    over(len(src), spec.threads, lambda a, b: kernels("draw")["uniform"](base + a, base + b, spec.seed, scale, base,
                                                                         src, dst))
    return _random(spec, scale, factor, src, dst, "Uniformly random graph")


def _random(
    spec: Spec, scale: int, factor: int, src: NDArray[np.uint32], dst: NDArray[np.uint32], what: str
) -> EdgeList:
    note = f"{what}: {factor} edges drawn for each of {1 << scale:,} vertices, seed {spec.seed}."
    return EdgeList(src, dst, VertexIds(base=0, count=1 << scale), directed=spec.directed, notes=[note])


def _mix(seed: int, x: int) -> int:
    """The function `mix` of the language (section 8), the same as `_mix` in kernels/draw.py."""
    mask = 2**64 - 1
    z = (x + seed * 0x632BE59BD9B4E019) * 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return z ^ z >> 31


# ------------------------------------------------------------------ regular graphs


def _vertices(spec: Spec) -> int:
    return _integer(spec.text, spec.args[0], "the number of vertices", 0, MOST_VERTICES)


def _regular(spec: Spec, n: int, count: int, ends: Callable[[Array], tuple[Array, Array]], note: str) -> EdgeList:
    """Build `count` edges on n vertices. `ends` maps edge numbers, int64[k], to the tails and heads of the edges."""
    begin, end = spec.edges_of(count)
    src, dst = (spec.empty(end - begin, np.uint32) for _ in range(2))
    for first in range(begin, end, _BLOCK):
        last = min(first + _BLOCK, end)
        part = slice(first - begin, last - begin)
        src[part], dst[part] = ends(np.arange(first, last))
    return EdgeList(src, dst, VertexIds(base=0, count=n), directed=spec.directed, notes=[note])


def _grid(spec: Spec) -> EdgeList:
    """A grid: vertex r * columns + c is at row r and column c, with edges to the right and down."""
    match = re.fullmatch(r"(\d+)x(\d+)", spec.args[0])
    if not match or int(match[1]) * int(match[2]) > MOST_VERTICES:
        raise GraphError(f"{spec.text}: write grid:ROWSxCOLUMNS, at most {MOST_VERTICES} vertices")
    rows, columns = int(match[1]), int(match[2])
    right, down = rows * max(columns - 1, 0), max(rows - 1, 0) * columns

    def ends(e: Array) -> tuple[Array, Array]:
        across = e < right
        at = np.where(across, e + e // max(columns - 1, 1), e - right)
        return at, at + np.where(across, 1, columns)

    note = f"Grid of {rows:,} rows and {columns:,} columns, 4 neighbours."
    return _regular(spec, rows * columns, right + down, ends, note)


def _path(spec: Spec) -> EdgeList:
    n = _vertices(spec)
    note = "Path 0 -> 1 -> 2 ..." if spec.directed else "Path 0 - 1 - 2 ..."
    return _regular(spec, n, max(n - 1, 0), lambda e: (e, e + 1), note)


def _star(spec: Spec) -> EdgeList:
    n = _vertices(spec)
    return _regular(spec, n, max(n - 1, 0), lambda e: (np.zeros_like(e), e + 1), "Star with centre 0.")


def _complete(spec: Spec) -> EdgeList:
    """A complete graph: each pair of vertices once, smaller number first; if directed, in both directions."""
    n = _vertices(spec)
    pairs = n * max(n - 1, 0) // 2
    if pairs > MOST_VERTICES:
        raise GraphError(f"{spec.text}: {pairs} edges are too many; at most {MOST_VERTICES}")
    firsts = np.append(0, np.cumsum(np.arange(n)[:0:-1]))  # the first pair with each smaller number

    def ends(e: Array) -> tuple[Array, Array]:
        pair = e % max(pairs, 1)
        small = np.searchsorted(firsts, pair, side="right") - 1
        large = pair - firsts[small] + small + 1
        turned = e >= pairs
        return np.where(turned, large, small), np.where(turned, small, large)

    return _regular(spec, n, pairs * (1 + spec.directed), ends, "Complete graph.")


# ------------------------------------------------------------------ random models without loops and parallel edges


def _erdos_renyi(spec: Spec) -> EdgeList:
    """G(n, M) if the second argument is an integer, G(n, p) if it is a fraction (Erdos, Renyi 1959; Gilbert 1959)."""
    n = _size(spec)
    pairs = n * max(n - 1, 0) // (1 if spec.directed else 2)
    exact = re.fullmatch(r"\d+", spec.args[1])
    count = _integer(spec.text, spec.args[1], "the number of edges", 0, pairs) if exact else \
        count_within(spec.seed, 1, pairs, _chance(spec, 1))
    ends = pairs_of(sampled(spec.seed, 0, pairs, count), n, spec.directed)
    return _model(spec, n, ends, f"Erdos-Renyi graph: {count:,} of {pairs:,} pairs of vertices")


def _barabasi_albert(spec: Spec) -> EdgeList:
    n = _size(spec)
    k = _integer(spec.text, spec.args[1], "the edges of a new vertex", 1, max(n - 1, 1))
    ends = attached(spec.seed, n, k) if n else ((), ())
    return _model(spec, n, ends, f"Barabasi-Albert graph: each new vertex is joined to {k} earlier ones")


def _watts_strogatz(spec: Spec) -> EdgeList:
    n = _size(spec)
    k = _integer(spec.text, spec.args[1], "the number of neighbours on the ring", 0, max(n - 1, 0))
    if k % 2:
        raise GraphError(f"{spec.text}: a vertex has as many neighbours on both sides of the ring, so not {k} in all")
    chance = _chance(spec, 2)
    return _model(spec, n, rewired(spec.seed, n, k, chance),
                  f"Watts-Strogatz graph: a ring with {k} neighbours, edges rewired with probability {chance:g}")


def _stochastic_blocks(spec: Spec) -> EdgeList:
    match = re.fullmatch(r"(\d+)x(\d+)", spec.args[0])
    if not match or int(match[1]) * int(match[2]) > _MOST_MODEL:
        raise GraphError(f"{spec.text}: write {_usage(spec)}, at most {_MOST_MODEL} vertices")
    count, size = int(match[1]), int(match[2])
    inside, between = _chance(spec, 1), _chance(spec, 2)
    return _model(spec, count * size, blocks(spec.seed, size, count, inside, between),
                  f"Stochastic block model: {count:,} blocks of {size:,} vertices, probabilities {inside:g} inside of "
                  f"a block and {between:g} between two")


def _geometric(spec: Spec) -> EdgeList:
    n, distance = _size(spec), _number(spec, 1, "the distance", 2)
    return _model(spec, n, geometric(spec.seed, n, distance),
                  f"Random geometric graph: points of the unit square at most {distance:g} apart")


def _usage(spec: Spec) -> str:
    return GENERATORS[spec.text.partition(":")[0]].usage


def _size(spec: Spec) -> int:
    """The number of vertices. Raises GraphError if the number is invalid or an argument is missing."""
    if len(spec.args) < GENERATORS[spec.text.partition(":")[0]].most:
        raise GraphError(f"{spec.text}: write {_usage(spec)}")
    return _integer(spec.text, spec.args[0], "the number of vertices", 0, _MOST_MODEL)


def _chance(spec: Spec, place: int) -> float:
    return _number(spec, place, "a probability", 1)


def _number(spec: Spec, place: int, what: str, most: float) -> float:
    """The argument at index `place`, a number from 0 to `most`. Raises GraphError."""
    if place >= len(spec.args):
        raise GraphError(f"{spec.text}: write {_usage(spec)}")
    text = spec.args[place]
    if not re.fullmatch(r"\d*\.?\d+(e-?\d+)?", text) or float(text) > most:
        raise GraphError(f"{spec.text}: {what} must be a number from 0 to {most:g}, not {text!r}")
    return float(text)


def _model(spec: Spec, n: int, ends: tuple[Any, Any], what: str) -> EdgeList:
    src, dst = (np.asarray(end, dtype=np.uint32) for end in ends)
    return EdgeList(src, dst, VertexIds(base=0, count=n), directed=spec.directed, notes=[f"{what}, seed {spec.seed}."])


GENERATORS: dict[str, Generator] = {
    "kron": Generator("kron:SCALE[,EDGES]", False, True, 2, _kronecker, parts=True),
    "rmat": Generator("rmat:SCALE[,EDGES]", True, True, 2, _kronecker, parts=True),
    "uniform": Generator("uniform:SCALE[,EDGES]", False, True, 2, _uniform, parts=True),
    "grid": Generator("grid:ROWSxCOLUMNS", False, False, 1, _grid, parts=True),
    "path": Generator("path:N", True, False, 1, _path, parts=True),
    "star": Generator("star:N", False, False, 1, _star, parts=True),
    "complete": Generator("complete:N", False, False, 1, _complete, parts=True),
    "er": Generator("er:N,EDGES_OR_PROBABILITY", False, True, 2, _erdos_renyi),
    "ba": Generator("ba:N,EDGES", None, True, 2, _barabasi_albert),
    "ws": Generator("ws:N,NEIGHBOURS,PROBABILITY", None, True, 3, _watts_strogatz),
    "sbm": Generator("sbm:BLOCKSxSIZE,INSIDE,BETWEEN", None, True, 3, _stochastic_blocks),
    "rgg": Generator("rgg:N,DISTANCE", None, True, 2, _geometric),
    "karate": Generator("karate", None, False, 0, lambda spec: karate()),
}

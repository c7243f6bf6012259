"""The replication factor R: the number of copies of each accumulator of a shard in shared memory.

Contributions to one vertex collide in shared memory. With R copies, lane i of a warp updates copy i mod R, and the
copies are merged pairwise at the end (Garaph, USENIX ATC'17, section 3.2). More copies mean fewer collisions, but also
smaller shards and more work to clear and merge the copies.

In Garaph R depends only on the density of a shard with E edges and V vertices: R = 2^min(round(log2(E / V)), 5). But
the cost of a collision also depends on the operation and its type: an integer addition is one instruction at any degree
of conflict, while a float sum needs a compare-and-swap loop. Therefore the rule "auto" shifts and limits the exponent
by constants for the class of the operation. The constants are measured on the device (see
vlang.runtime.gpu.kernels.calibrate), or taken from language.md, section 13.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from vlang.errors import BindError
from vlang.records import dataclass
from vlang.runtime.plan.gpu_stage import GpuStage

__all__ = [
    "DEFAULTS", "MOST", "Constants", "check_replication", "class_of", "replicas_of", "room_of", "shard_vertices",
]

MOST = 32  # copies: the number of lanes in a warp
_ROOM = 32 << 10  # bytes of shared memory of a shard with "auto": the size with which the constants were measured
_BESIDE = 128  # bytes that the kernel needs in addition to its cells, whose number is rounded up to a multiple of 16
_PLACES = 1 << 16  # maximum number of vertices in a shard, as their index has 16 bits


@dataclass(frozen=True)
class Constants:
    """R = 2^clamp(round(log2 D) + shift, 0, cap) for a shard with D edges per vertex."""

    shift: int
    cap: int


_GARAPH = Constants(0, 5)
# Measured on one H200 (language.md, section 13). The keys are the results of `class_of`.
DEFAULTS: Mapping[str, Constants] = {
    "native": Constants(-3, 3), "loop32": Constants(-1, 4), "loop64": Constants(-1, 4),
}


def class_of(stage: GpuStage) -> str:
    """Return the class of a stage's operations on shared memory: "native", "loop32" or "loop64" (compare-and-swap)."""
    if stage.native:
        return "native"
    return "loop32" if stage.cell <= 4 else "loop64"


def check_replication(asked: str | int) -> str | int:
    """Parse the option `replication`: "auto", "none", "garaph" or a power of two. Raises BindError for other values."""
    text = str(asked)
    if isinstance(asked, bool) or not (text in ("auto", "none", "garaph") or text in _POWERS):
        raise BindError(f"replication is 'auto', 'none', 'garaph' or a power of two up to {MOST}, not {asked!r}")
    return _POWERS.get(text, text)


_POWERS = {str(1 << i): 1 << i for i in range(MOST.bit_length())}


def room_of(asked: str | int, shared: int, cell: int) -> int:
    """Return how many bytes of shared memory the cells of a shard may use.

    Args:
        asked: a result of `check_replication`.
        shared: bytes of shared memory that a block may use.
        cell: bytes of the cells of one vertex.
    """
    most = shared - _BESIDE - 16 * cell
    return min(most, _ROOM) if asked == "auto" else most


def shard_vertices(
    asked: str | int, density: float, cell: int, shared: int, constants: Constants = DEFAULTS["native"]
) -> int:
    """Return the number of vertices of a shard: at least 1, and a multiple of 32 if more than 32 fit.

    Args:
        asked: a result of `check_replication`.
        density: edges per vertex of the graph.
        cell: bytes of the cells of one vertex.
        shared: bytes of shared memory that a block may use.
        constants: the constants for the class of the operation, which "auto" uses.
    """
    vertices = np.full(1, 1 << 20, dtype=np.int64)
    edges = np.full(1, int(density * (1 << 20)), dtype=np.int64)
    copies = 1 << int(_exponents(vertices, edges, check_replication(asked), constants)[0])
    fit = min(_PLACES, room_of(asked, shared, cell) // max(1, cell * copies))
    return max(1, fit - fit % 32 if fit > 32 else fit)


def replicas_of(
    vertices: NDArray[np.int64], edges: NDArray[np.int64], asked: str | int, cell: int, shared: int,
    constants: Constants = DEFAULTS["native"],
) -> NDArray[np.uint8]:
    """Return the replication factor R of every shard, uint8. A shard without edges or vertices has R = 1.

    R is halved until the copies of a shard fit into the shared memory of a block.

    Args:
        vertices: int64, the number of vertices of each shard.
        edges: int64, the number of edges of each shard.
        asked: a result of `check_replication`.
        cell: bytes of the cells of one vertex.
        shared: bytes of shared memory that a block may use.
        constants: the constants for the class of the operation, which "auto" uses.
    """
    exponents = _exponents(vertices, edges, check_replication(asked), constants)
    fit = np.maximum(room_of(asked, shared, cell) // np.maximum(1, vertices * max(1, cell)), 1)
    exponents = np.minimum(exponents, np.frexp(fit.astype(np.float64))[1] - 1)
    copies: NDArray[np.uint8] = np.where(edges > 0, 1 << np.maximum(exponents, 0), 1).astype(np.uint8)
    return copies


def _exponents(
    vertices: NDArray[np.int64], edges: NDArray[np.int64], asked: str | int, constants: Constants
) -> NDArray[np.int64]:
    """Return log2 R of each shard by the rule `asked`, before R is reduced to fit into shared memory."""
    if isinstance(asked, int) or asked == "none":
        fixed = asked.bit_length() - 1 if isinstance(asked, int) else 0
        return np.full(len(vertices), fixed, dtype=np.int64)
    rule = _GARAPH if asked == "garaph" else constants
    density = np.maximum(edges, 1) / np.maximum(vertices, 1)
    found: NDArray[np.int64] = np.clip(np.rint(np.log2(density)).astype(np.int64) + rule.shift, 0, rule.cap)
    return found

"""Kernel parameters and struct members of sparse supersteps, for the host; the kernels define the same layouts.

The structs are defined in vlang/emit/cuda/skeletons/frontier.cuh, notify.cuh and relay.cuh. All members have 64 bits,
and are in the same order in these files and in this module. The test tests/emit/test_layouts.py compares the members
and the constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from vlang.runtime.plan.plan import ROW_WORDS

__all__ = [
    "CHUNK", "CLUSTER", "CLUSTERED", "CLUSTER_THREADS", "CONTROL", "COUNTS", "ENDED_EMPTY", "ENDED_FEW", "ENDED_LARGE",
    "ENDED_LIMIT", "FROM_NOTIFY", "FROM_START", "INSIDE", "LISTS", "MAIL", "MARK_WORDS", "MODES", "NEVER", "PEER",
    "PEERS", "RULES", "SPARSE_BOUNDS", "SPARSE_PREPARATIONS", "SPARSE_SIGNATURES", "STATION", "TABLE", "TOUR",
    "WALKING", "WITHOUT_EDGES", "desk_bytes", "traverse_bytes",
]

MARK_WORDS = 5  # for each page: ranges of edges, edges, heavy ranges, lines of memory, the transfer chosen
CHUNK = 512  # maximum number of edges that one entry of a queue covers
FROM_START, FROM_NOTIFY = 0, 1
ENDED_EMPTY, ENDED_LIMIT, ENDED_LARGE, ENDED_FEW = 1, 2, 3, 4
CLUSTER = 8  # blocks of a cluster
CLUSTER_THREADS = 512  # threads of such a block, which are enough for the entries that it has
RULES = {"cost": 0, "beamer": 1, "push": 2, "pull": 3}
MODES = ("push", "early-exit pull")
WALKING = 1024  # threads per block in a launch of many supersteps
NEVER = (1 << 64) - 1  # a threshold that is larger than the number of edges of any frontier
INSIDE, WITHOUT_EDGES = 0, NEVER  # passed instead of a number of pages: for a single page, or vertices without edges

_FRAME, _TABLE = "u64* frame", "const Table* where"

SPARSE_SIGNATURES: Mapping[str, tuple[str, ...]] = {
    "traverse": (_FRAME, _TABLE, "u64 most"),  # constants: whether by priority
    "traverse_peers": (_FRAME, _TABLE, "Peers* all", "u64 most", "u64 begins"),  # whether by priority, bits of a word
    "traverse_few": (_FRAME, _TABLE, "u64 most"),  # for one cluster
    "begin_frontier": (_FRAME, _TABLE),  # constants: FROM_..., whether by priority
    "begin_bits": (_FRAME, _TABLE),  # constant: FROM_...
    "open_cells": (_FRAME, "u64 vertices"),
    "send_frontier": (_FRAME, _TABLE),
    "push_slice": (_FRAME, _TABLE, "const u64* rows", "u64 pages", "const u64* entries", "u64 heavy", "u64 light",
                   "const u32* packed"),  # constants: whether by priority
    "push_marked": (_FRAME, _TABLE, "const u64* rows", "u64 pages", "const u64* entries", "u64 heavy", "u64 light",
                    "const u32* packed"),  # constants: whether by priority
    "push_found": (_FRAME, _TABLE, "const u64* rows", "u64 pages", "const u64* queue", "const u64* count"),
    "mark_values": (_FRAME, "const u64* offsets", "const u64* starts", "u64 pages", "const u64* queue",
                    "const u64* count", "u64* best"),
    "sift_far": (_FRAME, _TABLE),
    "apply_pushed": (_FRAME, _TABLE),
    "send_part": (_FRAME, "const u64* queue", "const u64* entries"),
    "push_part": (_FRAME, _TABLE, "const u64* rows", "u64 pages", "const u64* entries", "u64 heavy", "u64 light",
                  "const u32* packed"),
    "send_queue": (_FRAME, _TABLE),
    "relay": (_FRAME, "const Station* stations", "const Tour* where", "u64 most"),
    "pull_list": (_FRAME, "const u64* rows", "u64 pages", "const u32* list", "const u64* count", "u64* edges"),  # lanes
    "segments_list": (
        _FRAME, "const u64* rows", "u64 pages", "const i64* table", "const u32* list", "const u64* count",
    ),
}
"""The parameters of each kernel template over a struct. All parameters have 64 bits."""

SPARSE_PREPARATIONS: Mapping[str, tuple[str, ...]] = {
    "count_flagged": ("const u64* flags", "u64 words", "const u64* offsets", "u64* counts"),
    "queue_flagged": (_TABLE, "u64* flags", "u64 words", "u8* marks"),
    "notify": (_TABLE, "u8* marks"),
    "notify_page": (_TABLE, "u8* marks", "const u64* row"),
    "mark_queue": ("const u64* offsets", "const u64* starts", "u64 pages", "const u64* queue", "const u64* count",
                   "u64* marks"),
    "sort_queue": ("const u64* offsets", "const u64* starts", "u64 pages", "const u64* queue", "const u64* count",
                   "u64* places", "u64* sorted"),
    "choose_published": ("u64* marks", "const u64* starts", "u64 pages", "u64 edge_bytes"),
    "choose_measured": ("u64* marks", "const u64* starts", "u64 pages", "u64 edge_bytes", "u64 start",
                        "u64 copied", "u64 direct", "u64 touched", "u64 row", "u64 byte", "u64 queued"),
    "claim_found": (_TABLE, "u64 low", "u64 high", "u64 begin", "u64 end", "u64* queue", "u64* count"),
    "queue_found": (_TABLE,),
    "end_superstep": (_TABLE,),
    "end_sift": (_TABLE,),
    "queue_bits": (_TABLE, "u64 low", "u64 high", "u64* queue", "u64* entries"),
    "list_marked": ("const Lists* where", "u64* marks", "const u64* also", "u64 words", "const u64* offsets"),
    "move_values": ("u64 to", "u64 from", "u64 size", "const u32* list", "const u64* count", "u64 exchange"),
}
"""The parameters of each kernel that is not a template."""

SPARSE_BOUNDS: Mapping[str, int] = {"traverse": WALKING, "traverse_peers": WALKING, "traverse_few": CLUSTER_THREADS}
"""The maximum number of threads per block of the kernels for which it is not THREADS."""

CLUSTERED = ("traverse_few",)
"""The kernels that are launched with one cluster of blocks."""

COUNTS = ("entries", "active", "edges", "changed", "looked", "taken", "touched")

CONTROL = (
    "arrived", "step", "done", "reason", "unreached", "unreached_edges", "pile", "piled[0]", "piled[1]", "least[0]",
    "least[1]", "start", "total", "totalled", "bound", "delta", "raises", "worked", "worked_steps",
    "worked_raises", "worked_from", "cost", "narrowing", "sent", "sent_bytes",
    *(f"counts[{k}].{name}" for k in range(3) for name in COUNTS),
)

TABLE = (
    "vertices", "low", "high", "rows", "pages", "offsets", "edges", "pull_rows", "pull_pages", "pull_offsets",
    "segments", "segment_count", "queues[0]", "queues[1]", "bits[0]", "bits[1]", "touched", "touched_bits", "far[0]",
    "far[1]", "far_bits", "control", "records", "solo", "solo_edges", "held", "few", "few_edges", "leave", "rule",
    "push_cost", "pull_cost", "scan_cost", "starts", "marks",
)

STATION = (
    "table", "lists", "flags", "marks", "also", "words", "vertices", "rows", "pages", "offsets", "segments",
    "long_count", "pulled", "block_scratch", "long_scratch", "moves", "moved", "most",
)

MAIL = ("values", "flagged", "entries", "piled", "least", "start", "totalled", "total", "walked", "exchange")

PEERS = ("devices", "width", "values", "step_cost", "exchanges", "arrived", "sent", "sent_bytes")

PEER = (
    "places", "marks", "marked", "outbox", "room", "mirrors", "inbox", "space", "first", "mirrored", "theirs", "mine",
    "found[0]", "found[1]",
)

TOUR = ("control", "records", "copies", "copied")

LISTS = ("all", "longs", "segments", "counts", "long_rows", "long_count")

_DESK = 32 * 16 + 4 * 224  # DESK_BYTES
_COURSE = 8 * 16  # COURSE_BYTES
_BOARD = 8 * (3 * len(COUNTS) + len(TABLE) + ROW_WORDS) + _COURSE
_TALLIES = 8 * 4  # for each warp
_HELD_COUNTS = 4 * 8
_HELD = 2 * (8 + 4)  # ALONE_BYTES: for each entry


def desk_bytes(threads: int) -> int:
    """Return the bytes of shared memory that a block needs to process queues."""
    return threads // 32 * (_DESK + _TALLIES) + _BOARD


@cache
def traverse_bytes(threads: int, held: int) -> int:
    """Return the bytes of shared memory of a block of `traverse`; `held` is the word `held` of the table."""
    return desk_bytes(threads) + _HELD_COUNTS + held * _HELD

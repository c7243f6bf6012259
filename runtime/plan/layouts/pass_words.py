"""What passes of a CPU work on beside the frame: scratch memory, what follows them, and frontiers.

Passes that see all contributions of a vertex at once have scratch memory on a CPU (vlang.runtime.cpu.passes.scratch).
SLOT_SCRATCH points to: words of each worker, the address of the page of each segment, the address of the memory.
Workers take their numbers from stats[STATS_WORKERS].

What follows a pass block by block on a CPU (vlang.runtime.cpu.passes.follow). SLOT_FOLLOW, if it is not 0, points to:
the address of the frame as it will be after the pass, that of i64 counters of the vertices of each block that have not
been applied, and the number of vertices.

What passes that push work on (vlang.runtime.cpu.ways.push; with a uniform frontier:
vlang.runtime.plan.layouts.reach_words): a table of WALK_WORDS words. It begins with a page row that stands for the
whole adjacency of the edges along which vertices push; offsets are u64 there. A frontier is a queue of entries, u64: a
vertex in the low half, and in the high half which WALK_EDGES of its edges, so that a hub is many entries. A worker
reserves WALK_RESERVED entries of the queue that it fills, and puts WALK_NOBODY into those left over. WALK_COUNTS points
to: entries reserved, vertices found, edges along which they push. WALK_RECORDS points to i64 pairs, for each superstep
of a call that runs many: vertices active after it and edges along which was pushed.
"""

from __future__ import annotations

from vlang.runtime.plan.plan import PAGE_WORDS

__all__ = [
    "FOLLOW_FRAME", "FOLLOW_LEFT", "FOLLOW_VERTICES", "SCRATCH_MEMORY", "SCRATCH_OWNERS", "SCRATCH_WORDS",
    "STATS_WORKERS", "WALK_BITS", "WALK_COUNTS", "WALK_EDGES", "WALK_FOUND", "WALK_NOBODY", "WALK_ORIGIN", "WALK_QUEUE",
    "WALK_RECORDS", "WALK_RESERVED", "WALK_WORDS",
]  # fmt: skip

SCRATCH_WORDS, SCRATCH_OWNERS, SCRATCH_MEMORY = range(3)
STATS_WORKERS = 2

FOLLOW_FRAME, FOLLOW_LEFT, FOLLOW_VERTICES = range(3)

(WALK_QUEUE, WALK_FOUND, WALK_COUNTS, WALK_BITS, WALK_ORIGIN, WALK_RECORDS) = range(PAGE_WORDS, PAGE_WORDS + 6)
WALK_WORDS = PAGE_WORDS + 8
WALK_EDGES = 2048
WALK_RESERVED = 256
WALK_NOBODY = (1 << 64) - 1

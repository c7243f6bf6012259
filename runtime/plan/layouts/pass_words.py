"""What passes of a CPU work on beside the frame: scratch memory, what follows them, and frontiers."""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout
from vlang.runtime.plan.plan import PAGE_WORDS

# Passes that see all contributions of a vertex at once have scratch memory on a CPU (vlang.runtime.cpu.passes.scratch),
# to whose description SLOT_SCRATCH points. Workers take their numbers from stats[STATS_WORKERS].
_SCRATCH = Layout()
SCRATCH_WORDS = _SCRATCH.word("words of each worker")
SCRATCH_OWNERS = _SCRATCH.word("i64: the page of each segment")
SCRATCH_MEMORY = _SCRATCH.word("u64: the memory")
STATS_WORKERS = 2

# What follows a pass block by block on a CPU (vlang.runtime.cpu.passes.follow). SLOT_FOLLOW, if it is not 0, points to:
_FOLLOW = Layout()
FOLLOW_FRAME = _FOLLOW.word("the frame as it will be after the pass")
FOLLOW_LEFT = _FOLLOW.word("i64: the vertices of each block that have not been applied")
FOLLOW_VERTICES = _FOLLOW.word("the number of vertices")

# What passes that push work on (vlang.runtime.cpu.ways.push; with a uniform frontier: reach_words). A table that begins
# with a page row that stands for the whole adjacency of the edges along which vertices push; offsets are u64 there. A
# frontier is a queue of entries, u64: a vertex in the low half, and in the high half which WALK_EDGES of its edges, so
# that a hub is many entries. A worker reserves WALK_RESERVED entries of the queue that it fills, and puts WALK_NOBODY
# into those left over.
_WALK = Layout(PAGE_WORDS)
WALK_QUEUE = _WALK.word("u64: the frontier")
WALK_FOUND = _WALK.word("u64: the queue that is filled")
WALK_COUNTS = _WALK.word("i64: entries reserved, vertices found, edges along which they push")
WALK_BITS = _WALK.word("u64: a bit a vertex that was found in this superstep")
WALK_ORIGIN = _WALK.word("u8: flags of the vertices to begin with, or 0: those that are not silent")
WALK_RECORDS = _WALK.word("i64 pairs, for each superstep of a call that runs many: vertices active after it and edges "
                          "along which was pushed")
WALK_WORDS = _WALK.size(PAGE_WORDS + 8)
WALK_EDGES = 2048
WALK_RESERVED = 256
WALK_NOBODY = (1 << 64) - 1

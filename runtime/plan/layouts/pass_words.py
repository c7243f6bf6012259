"""Layouts of passes on a CPU, besides the frame: scratch memory, fused kernels, and frontiers."""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout
from vlang.runtime.plan.plan import PAGE_WORDS

# Scratch memory of passes that process all contributions of a vertex at once (vlang.runtime.cpu.passes.scratch);
# SLOT_SCRATCH points to this description. Workers take their numbers from stats[STATS_WORKERS].
_SCRATCH = Layout()
SCRATCH_WORDS = _SCRATCH.word("words of each worker")
SCRATCH_OWNERS = _SCRATCH.word("i64: the page of each segment")
SCRATCH_MEMORY = _SCRATCH.word("u64: the memory")
STATS_WORKERS = 2

# Work fused into a pass block by block on a CPU (vlang.runtime.cpu.passes.fused_work). SLOT_FUSED, if not 0, points to:
_FOLLOW = Layout()
FOLLOW_FRAME = _FOLLOW.word("the frame as it will be after the pass")
FOLLOW_LEFT = _FOLLOW.word("i64: the vertices of each block that have not been applied")
FOLLOW_VERTICES = _FOLLOW.word("the number of vertices")

# The table of passes that push (vlang.runtime.cpu.ways.push; with a uniform frontier: reach_words). It begins with the
# page row of a whole adjacency (offsets u64): the edges along which vertices push. A frontier is a queue of entries,
# u64. The low half of an entry is a vertex; the high half is the number of a piece of WALK_EDGES of its edges, so that
# a hub has many entries. A worker reserves WALK_RESERVED entries of the queue that it fills, and writes WALK_NOBODY
# into the unused ones.
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

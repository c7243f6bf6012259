"""Layouts for passes on a CPU, in addition to the frame: scratch memory, fused kernels, and frontiers."""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout
from vlang.runtime.plan.plan import PAGE_WORDS

# Scratch memory for passes that process all contributions of a vertex together (runtime/cpu/passes/scratch.py).
# SLOT_SCRATCH points to these words. A worker gets its number from the counter stats[STATS_WORKERS].
_SCRATCH = Layout()
SCRATCH_WORDS = _SCRATCH.word("the number of words of scratch memory per worker")
SCRATCH_OWNERS = _SCRATCH.word("i64: the page of each segment")
SCRATCH_MEMORY = _SCRATCH.word("u64: the scratch memory of all workers")
STATS_WORKERS = 2

# The first words of a table of groups, in scratch memory (vlang/emit/cpu/skeletons/groups.py). Offsets are from the
# start of the scratch memory of all workers. The memory of a worker begins with the offset of the direct table of
# each structure, which has a u32 for each vertex, or 0; the offset of a table of spread_rows.py comes next.
_GROUPS = Layout()
GROUPS_COUNT = _GROUPS.word("i64: the number of groups, once all edges have been read")
GROUPS_BITS = _GROUPS.word("i64: the number of index bits of the hash table")
GROUPS_MOST_BITS = _GROUPS.word("i64: the number of index bits to which the hash table may grow")
GROUPS_SEEN = _GROUPS.word("i64: the number of groups when the current segment of a long row began")
GROUPS_EARLIER = _GROUPS.word("i64: the offset of the accumulators of earlier segments")
GROUPS_SLOTS = _GROUPS.word("i64: the offset of the slots")
GROUPS_WORDS = _GROUPS.size()

# Work that is fused into a pass, block by block, on a CPU (runtime/cpu/passes/fused_work.py). If there is such work,
# SLOT_FUSED points to these words; else it is 0.
_FOLLOW = Layout()
FOLLOW_FRAME = _FOLLOW.word("the frame with the values that it has after the pass")
FOLLOW_LEFT = _FOLLOW.word("i64: the number of vertices of each block that have not been applied yet")
FOLLOW_VERTICES = _FOLLOW.word("the number of vertices")

# The table for passes that push (runtime/cpu/ways/push.py; reach_words.py has the table for a uniform frontier). It
# begins with a page row for the whole adjacency along which vertices push, with u64 offsets. A frontier is a queue of
# u64 entries. The low half of an entry is a vertex. The high half is the number of a piece of WALK_EDGES edges of this
# vertex, so a hub has many entries. A worker reserves WALK_RESERVED entries at a time in the queue that is being
# filled, and writes WALK_NOBODY into entries that it does not use.
_WALK = Layout(PAGE_WORDS)
WALK_QUEUE = _WALK.word("u64: the frontier")
WALK_FOUND = _WALK.word("u64: the queue that is being filled")
WALK_COUNTS = _WALK.word("i64: the numbers of entries reserved, of vertices found, and of edges of the vertices found")
WALK_BITS = _WALK.word("u64: a bitmap of the vertices that were found in this superstep")
WALK_ORIGIN = _WALK.word("u8: flags of the vertices of the first frontier; 0 for all vertices that are not silent")
WALK_RECORDS = _WALK.word("i64 pairs: for each superstep of a call, the active vertices after it, and the edges "
                          "pushed along")
WALK_WORDS = _WALK.size(PAGE_WORDS + 8)
WALK_EDGES = 2048
WALK_RESERVED = 256
WALK_NOBODY = (1 << 64) - 1

"""What loops with a uniform frontier work on (vlang.runtime.cpu_reach, the skeleton `reach`).

A table of REACH_WORDS words. It begins with two page rows that stand for whole adjacencies (offsets u64), the first of
the edges along which vertices push and, from REACH_PULL on, that of the edges along which they gather. Behind them lie
addresses and numbers:

FRONT, COMING and LEFT: a bit a vertex, u64 words. FRONT is the frontier, COMING the next one as it is found; LEFT has
the bits of all vertices that a look may still find, and of some that have been reached since. MARKS: such a bitmap for
each worker, all zero between two supersteps. LONGS: the vertices of the frontier with more than REACH_LONG edges, cut:
an entry is a vertex in the low half and which REACH_LONG of its edges in the high half of a u64. QUEUES: two queues of
ROOM entries, u32; ROWS: where the row of each entry of one begins and ends, u64. COUNTS: i64 words, see below. RECORDS:
i64 pairs, for each superstep of a `follow` vertices active after it and edges along which was pushed. VERTICES: how
many there are. SENDER: a vertex of the frontier, as all of them send the same.

Counts: ACTIVE, vertices found; EDGES, along which they push; LOOKED, edges looked at; LEFT_OVER and LEFT_EDGES,
vertices that a look left in LEFT and their edges; CUT, entries of LONGS; MARKING, workers that mark; RAN, supersteps
of a `follow`; ONE, a vertex found.
"""

from __future__ import annotations

from vlang.runtime.kernelset import PAGE_WORDS

__all__ = [
    "REACH_ACTIVE", "REACH_AHEAD", "REACH_COMING", "REACH_COUNTED", "REACH_COUNTS", "REACH_CUT", "REACH_EDGES",
    "REACH_FRONT", "REACH_LEFT", "REACH_LEFT_EDGES", "REACH_LEFT_OVER", "REACH_LONG", "REACH_LONGS", "REACH_LOOKED",
    "REACH_MARKING", "REACH_MARKS", "REACH_ONE", "REACH_PULL", "REACH_QUEUES", "REACH_RAN", "REACH_RECORDS",
    "REACH_ROOM", "REACH_ROWS", "REACH_SENDER", "REACH_VERTICES", "REACH_WORDS",
]

REACH_PULL = PAGE_WORDS
(REACH_FRONT, REACH_COMING, REACH_LEFT, REACH_MARKS, REACH_LONGS, REACH_QUEUES, REACH_COUNTS, REACH_RECORDS,
 REACH_VERTICES, REACH_ROOM, REACH_SENDER, REACH_ROWS) = range(2 * PAGE_WORDS, 2 * PAGE_WORDS + 12)
REACH_WORDS = 2 * PAGE_WORDS + 16
(REACH_ACTIVE, REACH_EDGES, REACH_LOOKED, REACH_LEFT_OVER, REACH_LEFT_EDGES, REACH_CUT, REACH_MARKING,
 REACH_RAN, REACH_ONE) = range(9)
REACH_COUNTED = 16
REACH_LONG = 4096  # edges of a vertex that one worker pushes along
REACH_AHEAD = 8  # entries of a queue between a vertex that pushes and the one whose row is brought near

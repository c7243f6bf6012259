"""What loops with a uniform frontier work on (vlang.runtime.cpu.ways.reach, the skeleton `reach`).

A table of REACH_WORDS words. It begins with two page rows that stand for whole adjacencies (offsets u64), the first of
the edges along which vertices push and, from REACH_PULL on, that of the edges along which they gather. Behind them lie
addresses and numbers:

FRONT, COMING and LEFT: a bit a vertex, u64 words. FRONT is the frontier, COMING the next one as it is found; LEFT has
the bits of all vertices that a look may still find, and of some that have been reached since. MARKS: such a bitmap for
each worker, all zero between two supersteps. LONGS: the vertices of the frontier with more than REACH_LONG edges, cut:
an entry is a vertex in the low half and which REACH_LONG of its edges in the high half of a u64. COUNTS: i64 words, see
below. VERTICES: how many there are. SENDER: a vertex of the frontier, as all of them send the same.

For `narrow`: QUEUES, for each worker two queues of ROOM entries, u32; ROWS, for each queue where the rows of its
entries begin and end, u64[ROOM + REACH_AHEAD, 2]; FINDERS, u8, for each vertex the number of the worker that found it
last, and 64 bytes more for each worker and one, which mean nothing; RECORDS, i64 pairs, for each superstep vertices
active after it and edges along which was pushed. Its control block, of REACH_CONTROL words, begins with those of
meetings (vlang.runtime.plan.layouts.meet_words). ROUNDS: supersteps at most. MOST: vertices and edges of a frontier
that ends the call. From DESKS on REACH_DESK words for each worker. Twice REACH_TURNS of them, in turn: HERE, vertices
that it found; THEIRS, their edges; SIDE, in which of its queues they are; RAN, supersteps so far, of worker 0; TURN,
the number of the meeting that these words are for, written last. And from PUSHED on the number of the last meeting
behind which it has pushed. So to meet, a worker writes one line of a cache, and reads one of each other worker.

Counts: ACTIVE, vertices found; EDGES, along which they push; LOOKED, edges looked at; LEFT_OVER and LEFT_EDGES,
vertices that a look left in LEFT and their edges; CUT, entries of LONGS; MARKING, workers that mark; TOLD, supersteps
of a `narrow`; ONE, a vertex found.
"""

from __future__ import annotations

from vlang.runtime.plan.layouts.meet_words import MEET_WORDS
from vlang.runtime.plan.plan import PAGE_WORDS

__all__ = [
    "REACH_ACTIVE", "REACH_AHEAD", "REACH_COMING", "REACH_CONTROL", "REACH_COUNTED", "REACH_COUNTS", "REACH_CREW",
    "REACH_CUT", "REACH_DESK", "REACH_DESKS", "REACH_EDGES", "REACH_FEW", "REACH_FINDERS", "REACH_FRONT", "REACH_HERE",
    "REACH_LEFT", "REACH_LEFT_EDGES", "REACH_LEFT_OVER", "REACH_LONG", "REACH_LONGS", "REACH_LOOKED", "REACH_MARKING",
    "REACH_MARKS", "REACH_MOST", "REACH_ONE", "REACH_PULL", "REACH_PUSHED", "REACH_QUEUES", "REACH_RAN",
    "REACH_RECORDS", "REACH_ROOM", "REACH_ROUNDS", "REACH_ROWS", "REACH_SENDER", "REACH_SIDE", "REACH_THEIRS",
    "REACH_TOLD", "REACH_TURN", "REACH_TURNS", "REACH_VERTICES", "REACH_WORDS",
]  # fmt: skip

REACH_PULL = PAGE_WORDS
(REACH_FRONT, REACH_COMING, REACH_LEFT, REACH_MARKS, REACH_LONGS, REACH_QUEUES, REACH_COUNTS, REACH_RECORDS,
 REACH_VERTICES, REACH_ROOM, REACH_SENDER, REACH_ROWS, REACH_FINDERS) = range(2 * PAGE_WORDS, 2 * PAGE_WORDS + 13)
REACH_WORDS = 2 * PAGE_WORDS + 16
(REACH_ACTIVE, REACH_EDGES, REACH_LOOKED, REACH_LEFT_OVER, REACH_LEFT_EDGES, REACH_CUT, REACH_MARKING,
 REACH_TOLD, REACH_ONE) = range(9)
REACH_COUNTED = 16
REACH_CREW = 8  # workers of a `narrow`, at most
REACH_ROUNDS, REACH_MOST = MEET_WORDS, MEET_WORDS + 1
REACH_DESKS, REACH_DESK = MEET_WORDS + 8, 24
REACH_HERE, REACH_THEIRS, REACH_SIDE, REACH_RAN, REACH_TURN = range(5)
REACH_TURNS = 8  # words from those of one superstep to those of the next
REACH_PUSHED = 2 * REACH_TURNS
REACH_CONTROL = REACH_DESKS + REACH_DESK * REACH_CREW
REACH_LONG = 4096  # edges of a vertex that one worker pushes along
REACH_AHEAD = 8  # entries of a queue between a vertex that pushes and the one whose row is brought near
REACH_FEW = 2048  # vertices and edges of a frontier below which one worker is faster than several who meet

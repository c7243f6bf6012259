"""Layouts for loops with a uniform frontier (runtime/cpu/ways/reach.py, the skeletons `reach` and `narrow`)."""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout
from vlang.runtime.plan.layouts.meet_words import MEET_WORDS
from vlang.runtime.plan.plan import PAGE_WORDS

REACH_LONG = 4096  # maximum edges of a vertex that one worker pushes along; longer rows are divided among workers
REACH_AHEAD = 8  # prefetch distance in queue entries, for the row of a vertex
REACH_FEW = 2048  # with fewer vertices and edges in a frontier, one worker is faster than several with barriers
REACH_CREW = 8  # maximum workers of a call of `narrow`

# The table begins with two page rows, each for a whole adjacency with u64 offsets; vertices push along the first.
# Addresses and numbers follow.
_REACH = Layout(PAGE_WORDS)
REACH_PULL = _REACH.part(PAGE_WORDS, "the page row of the edges along which vertices gather")
REACH_FRONT = _REACH.word("u64, a bit a vertex: the frontier")
REACH_COMING = _REACH.word("u64, a bit a vertex: the next one as it is found")
REACH_LEFT = _REACH.word("u64: the bits of all vertices that a look may still find, and of some that have been reached "
                         "since")
REACH_MARKS = _REACH.word("u64: a bitmap for each worker, all zero between two supersteps")
REACH_LONGS = _REACH.word("u64: the vertices of the frontier with more than REACH_LONG edges, cut: a vertex in the low "
                          "half, and in the high half which REACH_LONG of its edges")
REACH_QUEUES = _REACH.word("u32: for each worker of a `narrow` two queues of REACH_ROOM entries")
REACH_COUNTS = _REACH.word("i64: the counts below")
REACH_RECORDS = _REACH.word("i64 pairs: for each superstep vertices active after it, and edges along which was pushed")
REACH_VERTICES = _REACH.word("how many vertices there are")
REACH_ROOM = _REACH.word("entries of a queue")
REACH_SENDER = _REACH.word("a vertex of the frontier, as all of them send the same")
REACH_ROWS = _REACH.word("u64[REACH_ROOM + REACH_AHEAD, 2]: for each queue where the rows of its entries begin and end")
REACH_FINDERS = _REACH.word("u8: for each vertex the number of the worker that found it last, and 64 bytes more for "
                            "each worker and one, which mean nothing")
REACH_WORDS = _REACH.size(3 * PAGE_WORDS)

_COUNTS = Layout()
REACH_ACTIVE = _COUNTS.word("vertices found")
REACH_EDGES = _COUNTS.word("edges along which they push")
REACH_LOOKED = _COUNTS.word("edges looked at")
REACH_LEFT_OVER = _COUNTS.word("vertices that a look left in REACH_LEFT")
REACH_LEFT_EDGES = _COUNTS.word("their edges")
REACH_CUT = _COUNTS.word("entries of REACH_LONGS")
REACH_MARKING = _COUNTS.word("workers that mark")
REACH_SUPERSTEPS = _COUNTS.word("supersteps of a `narrow`")
REACH_ONE = _COUNTS.word("a vertex found")
REACH_COUNTED = _COUNTS.size(16)

# The desk of a worker publishes its results, in REACH_TURNS words for each of two alternating supersteps. At a barrier,
# a worker writes one cache line, and reads one cache line of each other worker.
REACH_TURNS = 8
_TURN = Layout()
REACH_HERE = _TURN.word("vertices that the worker found")
REACH_THEIRS = _TURN.word("their edges")
REACH_SIDE = _TURN.word("in which of its queues they are")
REACH_RAN = _TURN.word("supersteps so far, of worker 0")
REACH_TURN = _TURN.word("the number of the meeting that these words are for, written last")

_DESK = Layout(2 * REACH_TURNS)
REACH_PUSHED = _DESK.line("the number of the last meeting behind which the worker has pushed")
REACH_DESK = _DESK.size()

# The control block of a call of `narrow` begins with the layout of a barrier.
_CONTROL = Layout(MEET_WORDS)
REACH_ROUNDS = _CONTROL.word("supersteps at most")
REACH_MOST = _CONTROL.word("vertices and edges of a frontier that ends the call")
REACH_DESKS = _CONTROL.size(MEET_WORDS + 8)
_CONTROL.skip(REACH_DESKS)
_CONTROL.part(REACH_DESK * REACH_CREW, "a desk for each worker")
REACH_CONTROL = _CONTROL.size()

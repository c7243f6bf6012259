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
REACH_FRONT = _REACH.word("u64: a bitmap of the frontier")
REACH_COMING = _REACH.word("u64: a bitmap of the next frontier while it is found")
REACH_LEFT = _REACH.word("u64: a bitmap of all vertices that a pull may still find; some of them may have been "
                         "reached since")
REACH_MARKS = _REACH.word("u64: a bitmap for each worker, all zero between two supersteps")
REACH_LONGS = _REACH.word("u64: pieces of the rows of frontier vertices with more than REACH_LONG edges: the vertex "
                          "in the low half, the number of the piece of REACH_LONG edges in the high half")
REACH_QUEUES = _REACH.word("u32: two queues of REACH_ROOM entries for each worker of `narrow`")
REACH_COUNTS = _REACH.word("i64: the counts REACH_ACTIVE to REACH_ONE")
REACH_RECORDS = _REACH.word("i64 pairs: for each superstep, the active vertices after it, and the edges pushed along")
REACH_VERTICES = _REACH.word("the number of vertices")
REACH_ROOM = _REACH.word("the number of entries of a queue")
REACH_SENDER = _REACH.word("any vertex of the frontier, because all of them send the same value")
REACH_ROWS = _REACH.word("u64[REACH_ROOM + REACH_AHEAD, 2]: for each queue, the bounds of the row of each entry")
REACH_FINDERS = _REACH.word("u8: for each vertex, the number of the worker that found it last; then 64 bytes for each "
                            "worker, and 64 more, whose values are never used")
REACH_WORDS = _REACH.size(3 * PAGE_WORDS)

_COUNTS = Layout()
REACH_ACTIVE = _COUNTS.word("the number of vertices found")
REACH_EDGES = _COUNTS.word("the number of edges of the vertices found")
REACH_LOOKED = _COUNTS.word("the number of edges that a pull read")
REACH_LEFT_OVER = _COUNTS.word("the number of vertices that a pull left in REACH_LEFT")
REACH_LEFT_EDGES = _COUNTS.word("the number of edges of these vertices")
REACH_CUT = _COUNTS.word("the number of entries of REACH_LONGS")
REACH_MARKING = _COUNTS.word("the number of workers that have a bitmap in REACH_MARKS")
REACH_SUPERSTEPS = _COUNTS.word("the number of supersteps that `narrow` ran")
REACH_ONE = _COUNTS.word("one of the vertices found")
REACH_COUNTED = _COUNTS.size(16)

# The desk of a worker publishes its results, in REACH_TURNS words for each of two alternating supersteps. At a barrier,
# a worker writes one cache line, and reads one cache line of each other worker.
REACH_TURNS = 8
_TURN = Layout()
REACH_HERE = _TURN.word("the number of vertices in the worker's queue")
REACH_THEIRS = _TURN.word("the number of edges of these vertices")
REACH_SIDE = _TURN.word("which of its two queues the worker uses, 0 or 1")
REACH_RAN = _TURN.word("the number of supersteps so far; only worker 0 counts all of them")
REACH_TURN = _TURN.word("the number of the barrier at which these words are valid; this word is written last")

_DESK = Layout(2 * REACH_TURNS)
REACH_PUSHED = _DESK.line("the number of the last barrier after which the worker has pushed")
REACH_DESK = _DESK.size()

# The control block of a call of `narrow` begins with the layout of a barrier.
_CONTROL = Layout(MEET_WORDS)
REACH_ROUNDS = _CONTROL.word("the maximum number of supersteps")
REACH_MOST = _CONTROL.word("the number of vertices and edges of a frontier at which the call ends")
REACH_DESKS = _CONTROL.size(MEET_WORDS + 8)
_CONTROL.skip(REACH_DESKS)
_CONTROL.part(REACH_DESK * REACH_CREW, "a desk for each worker")
REACH_CONTROL = _CONTROL.size()

"""Layouts for loops in priority order (runtime/cpu/ways/priority.py, the skeletons `priority` and `buckets`).

All workers share a control block and a table of addresses. A window is a range of priorities that begins at its origin
and is divided into ORDER_BUCKETS numbered buckets of width 1 / scale. Bucket ORDER_BUCKETS holds all vertices beyond
the window. Bucket ORDER_MOVED holds the vertices that are being moved to the next window.
"""

from __future__ import annotations

from vlang.runtime.plan.layout import LINE, Layout
from vlang.runtime.plan.layouts.meet_words import MEET_WORDS
from vlang.runtime.plan.plan import PAGE_WORDS

ORDER_BUCKETS = 2048
ORDER_MOVED = ORDER_BUCKETS + 1
ORDER_RUN = 32  # entries in a run of the pool, a power of two
ORDER_GRANT = 16  # runs that a worker takes from the pool at a time
ORDER_PLACE = 36  # bits of an index into the pool, for 16 entries for each of 2^32 vertices
ORDER_AHEAD = 8  # prefetch distance in entries, for the edges of a vertex
ORDER_NEAR = 64  # maximum edges of a vertex that are prefetched
ORDER_LINE = 16  # edges per prefetch: the number of neighbours in a cache line
ORDER_MOST = 1e300  # larger priorities count as this one
ORDER_WATCHED = 32  # rounds after which the width is reconsidered
ORDER_FEW = 64  # with fewer pushing vertices per worker and round, the barrier dominates the time
ORDER_LEVELS = 4  # maximum number of times that the bucket width is doubled or halved

# The control block, i64, begins with the layout of a barrier (meet_words.py). Each word that several workers write has
# its own cache line.
_CONTROL = Layout(MEET_WORDS)
ORDER_VERTICES = _CONTROL.word("how many vertices there are")
ORDER_RUNS = _CONTROL.word("runs of entries of the pool")
ORDER_ROUNDS = _CONTROL.word("rounds of this call at most")
ORDER_FILLING = _CONTROL.word("what is entered when the call begins: nothing (0), vertices that are not silent (1), or "
                              "those that wait for a run, into empty buckets (2) or beside the entries of buckets (3)")
ORDER_TARGET = _CONTROL.word("the vertex at which the loop stops, -1 for none")
ORDER_FIXED = _CONTROL.word("whether the width stays as it is")
ORDER_NOW = _CONTROL.word("the current bucket")
ORDER_RECORDED = _CONTROL.word("rounds run")
ORDER_SPILLED = _CONTROL.word("whether some vertex waits for a run")
ORDER_UNSURE = _CONTROL.word("whether a vertex may be in no bucket although its value lies in one still to come")
ORDER_REACHED = _CONTROL.word("whether the value of the target is final")
ORDER_LEVEL = _CONTROL.word("how often the width has been doubled, less how often halved")
ORDER_CURSOR = _CONTROL.line("vertices looked at to be entered")
ORDER_TAKEN = _CONTROL.line("runs taken of the pool")
ORDER_IDLE = _CONTROL.line("three words, of rounds in turn: workers that find nothing to do")
ORDER_CONTROL = _CONTROL.size()

# The table begins with a page row for the whole adjacency along which vertices push, with u64 offsets. Addresses and
# numbers follow.
_TABLE = Layout(PAGE_WORDS)
ORDER_LINKS = _TABLE.word("i64: for each run where the run before it ends")
ORDER_POOL = _TABLE.word("u32: the entries of all runs")
ORDER_WAITERS = _TABLE.word("u64, a bit a vertex: those that wait for a run")
ORDER_RECORDS = _TABLE.word("i64 pairs: for each round entries of the bucket after it, and edges pushed along")
ORDER_ORIGIN = _TABLE.word("f64: the priority at which the window begins")
ORDER_SCALE = _TABLE.word("f64: one through the width of a bucket")
ORDER_SHIFT = _TABLE.word("0, or where in the words of its targets the value of an edge begins "
                          "(vlang.runtime.graph.topology.packed)")
ORDER_BOUND = _TABLE.word("f64: a call ends before a bucket that begins at this priority or later")
ORDER_WORKERS = _TABLE.word("two for each worker: its desk, and i64[ORDER_BUCKETS + 2], the places of its buckets")

# The desk of a worker, i64, has the words in which the worker publishes its state.
_DESK = Layout()
ORDER_FREE = _DESK.word("the first run given back, 0 for none")
ORDER_FRESH = _DESK.word("the first run not used yet")
ORDER_FRESH_END = _DESK.word("where those end")
ORDER_OFFERS = _DESK.word("lists offered so far")
ORDER_LEAST = _DESK.word("f64: the least priority to enter a new window")
ORDER_FIRST = _DESK.word("the first bucket of that")
ORDER_LEFT = _DESK.word("entries of the next bucket when a call ends")
_DESK.skip(2 * LINE)  # starts a new cache line, as only the owner uses the words before
ORDER_HEAD = _DESK.line("what is on offer: the end of a list, and above it the number of the offer")
ORDER_REPORT = 8
ORDER_REPORTS = _DESK.part(4 * ORDER_REPORT, "how a round went, ORDER_REPORT words for each of three in turn")
ORDER_DESK = _DESK.size()

_ROUND = Layout()
ORDER_NEXT = _ROUND.word("the first bucket that is not empty")
ORDER_ENTRIES = _ROUND.word("entries of the bucket when the round began")
ORDER_EDGES = _ROUND.word("edges pushed along")
ORDER_PUSHED = _ROUND.word("vertices that pushed")
ORDER_AGAIN = _ROUND.word("vertices of the bucket that were bettered within it")

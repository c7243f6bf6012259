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
ORDER_MOST = 1e300  # larger priorities count as this value
ORDER_WATCHED = 32  # rounds after which the width is reconsidered
ORDER_FEW = 64  # with fewer pushing vertices per worker and round, the barrier dominates the time
ORDER_LEVELS = 4  # maximum number of times that the bucket width is doubled or halved

# The control block, i64, begins with the layout of a barrier (meet_words.py). Each word that several workers write has
# its own cache line.
_CONTROL = Layout(MEET_WORDS)
ORDER_VERTICES = _CONTROL.word("the number of vertices")
ORDER_RUNS = _CONTROL.word("the number of runs of entries in the pool")
ORDER_ROUNDS = _CONTROL.word("the maximum number of rounds of this call")
ORDER_FILLING = _CONTROL.word("the vertices that are added when the call begins: none (0), all that are not silent "
                              "(1), or all that wait for a run; these are added to empty buckets (2), or to buckets "
                              "that keep their entries (3)")
ORDER_TARGET = _CONTROL.word("the vertex at which the loop stops; -1 for none")
ORDER_FIXED = _CONTROL.word("whether the width of buckets is fixed")
ORDER_NOW = _CONTROL.word("the current bucket")
ORDER_RECORDED = _CONTROL.word("output: the number of rounds that ran")
ORDER_SPILLED = _CONTROL.word("whether a vertex waits for a run")
ORDER_UNSURE = _CONTROL.word("whether a vertex may be missing from the later bucket in whose range its value lies")
ORDER_REACHED = _CONTROL.word("output: whether the value of the target is final")
ORDER_LEVEL = _CONTROL.word("how many more times the width of buckets was doubled than halved")
ORDER_CURSOR = _CONTROL.line("the number of groups of 64 vertices that workers have taken to be added")
ORDER_TAKEN = _CONTROL.line("the number of runs taken from the pool")
ORDER_IDLE = _CONTROL.line("for each of three rounds in turn, one word: the number of workers that find no work")
ORDER_CONTROL = _CONTROL.size()

# The table begins with a page row for the whole adjacency along which vertices push, with u64 offsets. Addresses and
# numbers follow.
_TABLE = Layout(PAGE_WORDS)
ORDER_LINKS = _TABLE.word("i64: for each run, the end of the previous run of its list; 0 for none")
ORDER_POOL = _TABLE.word("u32: the entries of all runs")
ORDER_WAITERS = _TABLE.word("u64: a bitmap of the vertices that wait for a run")
ORDER_RECORDS = _TABLE.word("i64 pairs: for each round, the entries of the next bucket after it, and the edges pushed "
                            "along")
ORDER_ORIGIN = _TABLE.word("f64: the priority at which the window begins")
ORDER_SCALE = _TABLE.word("f64: 1 divided by the width of a bucket")
ORDER_SHIFT = _TABLE.word("the lowest bit of the value of an edge in its word of targets; 0 if words are receivers "
                          "only (vlang.runtime.graph.topology.packed)")
ORDER_BOUND = _TABLE.word("f64: a call ends before a bucket that begins at this priority or later")
ORDER_WORKERS = _TABLE.word("two addresses for each worker: its desk, and i64[ORDER_BUCKETS + 2], the ends of its "
                            "buckets")

# The desk of a worker, i64, has the words in which the worker publishes its state.
_DESK = Layout()
ORDER_FREE = _DESK.word("the first run in the list of free runs; 0 for none")
ORDER_FRESH = _DESK.word("the first unused run of those taken from the pool")
ORDER_FRESH_END = _DESK.word("the end of the unused runs")
ORDER_OFFERS = _DESK.word("4 times the number of lists that the worker has offered so far")
ORDER_LEAST = _DESK.word("f64: the least priority in the worker's list for the next window")
ORDER_FIRST = _DESK.word("the worker's first bucket that is not empty")
ORDER_LEFT = _DESK.word("the number of the worker's entries in the next bucket when a call ends")
_DESK.skip(2 * LINE)  # starts a new cache line, because only the owner uses the words before
ORDER_HEAD = _DESK.line("the runs that the worker offers: the end of the list, and from bit ORDER_PLACE on the number "
                        "of the offer")
ORDER_REPORT = 8
ORDER_REPORTS = _DESK.part(4 * ORDER_REPORT, "the reports on rounds, ORDER_REPORT words for each of three rounds in "
                           "turn")
ORDER_DESK = _DESK.size()

_ROUND = Layout()
ORDER_NEXT = _ROUND.word("the worker's first bucket that is not empty after the round")
ORDER_ENTRIES = _ROUND.word("the number of the worker's entries in the bucket when the round began")
ORDER_EDGES = _ROUND.word("the number of edges pushed along")
ORDER_PUSHED = _ROUND.word("the number of vertices that pushed")
ORDER_AGAIN = _ROUND.word("the number of vertices that improved without leaving the bucket")

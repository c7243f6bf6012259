"""What loops in order of priority work on (vlang.runtime.cpu.ways.priority, the skeletons `priority` and `buckets`).

A control block of ORDER_CONTROL words of i64, which all workers share and which begins with those of their meetings
(vlang.runtime.plan.layouts.meet_words), and a table of addresses that begins with the
page row of the whole adjacency along which vertices push (offsets u64) and ends with two for each worker: of its desk
(ORDER_DESK words of i64) and of the places of its buckets (i64[ORDER_BUCKETS + 2]). Buckets are numbered from the
origin of a window, a priority, in widths of 1 / scale, both f64 of the table; bucket ORDER_BUCKETS holds whatever is
beyond the window, and one more what is on its way from one window to the next. SHIFT: 0, or where in the words of its
targets the value of an edge begins (vlang.runtime.graph.topology.packed).

Control: VERTICES; RUNS, runs of entries of the pool; ROUNDS, of this call at most; FILLING, who is entered when it
begins: nobody (0), vertices that are not silent (1), those that wait for room (2); TARGET, the vertex at which the loop
stops, -1 for none; NOW, the current bucket; RECORDED, rounds run; SPILLED, whether some vertex waits for room; UNSURE,
whether a vertex may be in no bucket although its value lies in one still to come; REACHED, whether the value of the
target is final; LEVEL, how often the width has been doubled, less how often halved; FIXED, whether it stays as it is;
CURSOR, vertices looked at to be entered; TAKEN, of the pool; IDLE (three words, of rounds in turn), workers that find
nothing to do. Words that several workers change lie 64 bytes apart.

Desk: FREE, the first run given back, 0 for none; FRESH to FRESH_END, runs not used yet; OFFERS, lists offered so far;
LEAST, an f64, the least priority to enter a new window; FIRST, the first bucket of that; LEFT, entries
of the next bucket when a call ends; HEAD, what is on offer: the end of a list, and above it the number of the offer.
From TELLS on three times ORDER_TOLD words, of rounds in turn, that say how a round went: NEXT, the first bucket that is
not empty; ENTRIES, of the bucket when it began; EDGES; PUSHED, vertices that pushed; AGAIN, vertices of the bucket that
were bettered within it.
"""

from __future__ import annotations

from vlang.runtime.plan.layouts.meet_words import MEET_WORDS
from vlang.runtime.plan.plan import PAGE_WORDS

__all__ = [
    "ORDER_AGAIN", "ORDER_AHEAD", "ORDER_BUCKETS", "ORDER_CONTROL", "ORDER_CURSOR", "ORDER_DESK", "ORDER_EDGES",
    "ORDER_ENTRIES", "ORDER_FEW", "ORDER_FILLING", "ORDER_FIRST", "ORDER_FIXED", "ORDER_FREE", "ORDER_FRESH",
    "ORDER_FRESH_END", "ORDER_GRANT", "ORDER_HEAD", "ORDER_IDLE", "ORDER_LEAST", "ORDER_LEFT", "ORDER_LEVEL",
    "ORDER_LEVELS", "ORDER_LINE", "ORDER_LINKS", "ORDER_MOST", "ORDER_MOVED", "ORDER_NEAR", "ORDER_NEXT", "ORDER_NOW",
    "ORDER_OFFERS", "ORDER_ORIGIN", "ORDER_PLACE", "ORDER_POOL", "ORDER_PUSHED", "ORDER_REACHED", "ORDER_RECORDED",
    "ORDER_RECORDS", "ORDER_ROUNDS", "ORDER_RUN", "ORDER_RUNS", "ORDER_SCALE", "ORDER_SHIFT", "ORDER_SPILLED",
    "ORDER_TAKEN", "ORDER_TARGET", "ORDER_TELLS", "ORDER_TOLD", "ORDER_UNSURE", "ORDER_VERTICES", "ORDER_WAITERS",
    "ORDER_WATCHED", "ORDER_WORKERS",
]  # fmt: skip

(ORDER_VERTICES, ORDER_RUNS, ORDER_ROUNDS, ORDER_FILLING, ORDER_TARGET, ORDER_FIXED, ORDER_NOW, ORDER_RECORDED,
 ORDER_SPILLED, ORDER_UNSURE, ORDER_REACHED, ORDER_LEVEL) = range(MEET_WORDS, MEET_WORDS + 12)
ORDER_CURSOR, ORDER_TAKEN, ORDER_IDLE = range(MEET_WORDS + 16, MEET_WORDS + 40, 8)
ORDER_CONTROL = ORDER_IDLE + 8
(ORDER_LINKS, ORDER_POOL, ORDER_WAITERS, ORDER_RECORDS, ORDER_ORIGIN, ORDER_SCALE, ORDER_SHIFT,
 ORDER_WORKERS) = range(PAGE_WORDS, PAGE_WORDS + 8)
ORDER_FREE, ORDER_FRESH, ORDER_FRESH_END, ORDER_OFFERS, ORDER_LEAST, ORDER_FIRST, ORDER_LEFT = range(7)
ORDER_HEAD = 16  # apart from what only its worker changes
ORDER_TELLS = 24
ORDER_NEXT, ORDER_ENTRIES, ORDER_EDGES, ORDER_PUSHED, ORDER_AGAIN = range(5)
ORDER_TOLD = 8
ORDER_DESK = ORDER_TELLS + 4 * ORDER_TOLD
ORDER_BUCKETS = 2048
ORDER_MOVED = ORDER_BUCKETS + 1
ORDER_RUN = 32  # entries, a power of two
ORDER_GRANT = 16  # runs that a worker takes from the pool at once
ORDER_PLACE = 36  # bits of a place among the entries: 16 for each of 2^32 vertices
ORDER_AHEAD = 8  # entries between a vertex that pushes and the one whose edges are brought near
ORDER_NEAR = 64  # edges of a vertex that are brought near, at most
ORDER_LINE = 16  # edges of which one is asked for: numbers of neighbours in a line of a cache
ORDER_MOST = 1e300  # priorities beyond are as good as this
ORDER_WATCHED = 32  # rounds after which the width is looked at
ORDER_FEW = 64  # vertices that push, of a worker in a round, below which a meeting is dear
ORDER_LEVELS = 4  # doublings or halvings of the width, at most

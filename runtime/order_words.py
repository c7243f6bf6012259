"""What loops in order of priority work on (vlang.runtime.cpu_priority, the skeletons `priority` and `buckets`).

A control block of ORDER_CONTROL words of i64, which all workers share, and a table of addresses that begins with the
page row of the whole adjacency along which vertices push (offsets u64) and ends with two for each worker: of its desk
(ORDER_DESK words of i64) and of the places of its buckets (i64[ORDER_BUCKETS + 1]). Buckets are numbered by priority;
those of a window of ORDER_BUCKETS lie in slots from 0 on, and slot ORDER_BUCKETS holds whatever is beyond.

Control: ABORT, workers must leave; CREW, how many there are, 0 as long as that is not known; VERTICES; ROOM, entries of
the frontier; RUNS, runs of entries of the pool; ROUNDS, of this call at most; FILLING, who is entered when it begins:
nobody (0), vertices that are not silent (1), those that wait for room (2); TARGET, the vertex at which the loop stops,
-1 for none; BASE, the number of the first bucket of the window; DONE, the number up to which buckets have been emptied;
NOW, the slot of the current bucket; PARITY, which of two words of TAILS (entries of the frontier) and EDGES are those
of the current bucket; RECORDED, rounds run; SPILLED, whether some vertex waits for room; UNSURE, whether a vertex may
be in no bucket although its value lies in one still to come; REACHED, whether the value of the target is final; JOINED,
workers that have come; WAITING and TURN, where they wait for each other; CURSOR, what they have taken of the frontier;
TAKEN, of the pool. Words that several workers change lie 64 bytes apart.

Desk: FREE, the first run given back, 0 for none; FRESH to FRESH_END, runs not used yet; NEXT, the first bucket that
is not empty; BEYOND, whether nothing lies beyond the window; LEAST, the number of the first bucket there.
"""

from __future__ import annotations

from vlang.runtime.kernelset import PAGE_WORDS

__all__ = [
    "ORDER_ABORT", "ORDER_AHEAD", "ORDER_BASE", "ORDER_BEYOND", "ORDER_BUCKETS", "ORDER_CONTROL", "ORDER_CREW",
    "ORDER_CURSOR", "ORDER_DESK", "ORDER_DONE", "ORDER_EDGES", "ORDER_ENTRIES", "ORDER_FAR", "ORDER_FILLING",
    "ORDER_FREE", "ORDER_FRESH", "ORDER_FRESH_END", "ORDER_FRONTIER", "ORDER_FUSED", "ORDER_GRANT", "ORDER_JOINED",
    "ORDER_LEAST", "ORDER_LINE", "ORDER_LINKS", "ORDER_NEAR", "ORDER_NEXT", "ORDER_NONE", "ORDER_NOW",
    "ORDER_PARITY", "ORDER_REACHED", "ORDER_RECORDED", "ORDER_RECORDS", "ORDER_ROOM", "ORDER_ROUNDS", "ORDER_RUN",
    "ORDER_RUNS", "ORDER_SCALE", "ORDER_SPILLED", "ORDER_TAILS", "ORDER_TAKEN", "ORDER_TARGET", "ORDER_TURN",
    "ORDER_UNSURE", "ORDER_VERTICES", "ORDER_WAITERS", "ORDER_WAITING", "ORDER_WORKERS",
]

(ORDER_ABORT, ORDER_CREW, ORDER_VERTICES, ORDER_ROOM, ORDER_RUNS, ORDER_ROUNDS, ORDER_FILLING,
 ORDER_TARGET) = range(8)
(ORDER_BASE, ORDER_DONE, ORDER_NOW, ORDER_PARITY, ORDER_RECORDED, ORDER_SPILLED, ORDER_UNSURE,
 ORDER_REACHED) = range(8, 16)
ORDER_JOINED, ORDER_WAITING, ORDER_TURN, ORDER_CURSOR, ORDER_TAKEN, ORDER_TAILS, ORDER_EDGES = range(16, 72, 8)
ORDER_CONTROL = 80
(ORDER_FRONTIER, ORDER_LINKS, ORDER_ENTRIES, ORDER_WAITERS, ORDER_RECORDS, ORDER_SCALE,
 ORDER_WORKERS) = range(PAGE_WORDS, PAGE_WORDS + 7)
ORDER_FREE, ORDER_FRESH, ORDER_FRESH_END, ORDER_NEXT, ORDER_BEYOND, ORDER_LEAST = range(6)
ORDER_DESK = 16
ORDER_BUCKETS = 2048
ORDER_RUN = 32  # entries, a power of two
ORDER_GRANT = 16  # runs that a worker takes from the pool at once
ORDER_AHEAD = 8  # entries of a list between a vertex that pushes and the one whose edges are brought near
ORDER_NEAR = 64  # edges of a vertex that are brought near, at most
ORDER_LINE = 16  # edges of which one is asked for: numbers of neighbours in a line of a cache
ORDER_FUSED = 1000  # entries of a bucket that a worker empties without the others
ORDER_FAR = 1 << 61  # buckets beyond are one
ORDER_NONE = (1 << 62) - 1

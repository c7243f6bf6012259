"""What supersteps that push sums work on (vlang.runtime.cpu.ways.sums, the skeleton `sums`): a table of SUM_WORDS
words.

It begins with two page rows that stand for whole adjacencies (offsets u64), the first of the edges along which vertices
push and, from SUM_PULL on, that of the edges along which they gather. Behind them lie addresses and numbers:

QUEUE: the vertices that have something to tell, or to take back, u32, in increasing order; room for all. HEARD: their
flags, u8, which a call takes away from those of the queue that it is given, and gives to those of the queue that it
leaves. ACTIVE: flags of active vertices, u8. MARKS: a byte a vertex that applies, whole groups of 64, and TOPS: a byte
for each group with such a one; all zero between two calls. RECORDS: i64 pairs, for each superstep vertices active after
it and edges along which was pushed. TOP_COUNT: words of 64 bits in TOPS. QUIET: 1 if receivers of a vertex that has
only something to take back need not run. LONG: 1 if vertices of more than SEGMENT edges gather, as in a pull, instead
of taking what was pushed to them.
"""

from __future__ import annotations

from vlang.runtime.plan.plan import PAGE_WORDS

__all__ = [
    "SUM_ACTIVE", "SUM_MARKS", "SUM_HEARD", "SUM_LONG", "SUM_PULL", "SUM_QUEUE", "SUM_QUIET", "SUM_RECORDS", "SUM_TOPS",
    "SUM_TOP_COUNT", "SUM_WORDS",
]

SUM_PULL = PAGE_WORDS
(SUM_QUEUE, SUM_HEARD, SUM_ACTIVE, SUM_MARKS, SUM_TOPS, SUM_RECORDS, SUM_TOP_COUNT, SUM_QUIET,
 SUM_LONG) = range(2 * PAGE_WORDS, 2 * PAGE_WORDS + 9)
SUM_WORDS = 2 * PAGE_WORDS + 16

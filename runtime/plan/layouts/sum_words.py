"""The layout of the table, SUM_WORDS words, for supersteps that push sums (runtime/cpu/ways/sums.py, skeleton `sums`).

The table begins with two page rows, each for a whole adjacency with u64 offsets; vertices push along the first
adjacency. After the page rows, the table contains addresses and numbers.
"""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout
from vlang.runtime.plan.plan import PAGE_WORDS

_SUMS = Layout(PAGE_WORDS)
SUM_PULL = _SUMS.part(PAGE_WORDS, "the page row of the edges along which vertices gather")
SUM_QUEUE = _SUMS.word("u32: the vertices that have changes to send, or to take back, in increasing order; n entries")
SUM_NOTIFY = _SUMS.word("u8: the flags of those, which a call clears for the queue that it is given, and sets for the "
                       "one that it leaves")
SUM_ACTIVE = _SUMS.word("u8: flags of active vertices")
SUM_MARKS = _SUMS.word("u8: a byte a vertex that applies, whole groups of 64; all zero between two calls")
SUM_TOPS = _SUMS.word("u8: a byte for each group of 64 with such a one; all zero between two calls")
SUM_RECORDS = _SUMS.word("i64 pairs: for each superstep vertices active after it, and edges along which was pushed")
SUM_TOP_COUNT = _SUMS.word("words of 64 bits in SUM_TOPS")
SUM_QUIET = _SUMS.word("1 if receivers of a vertex that has only something to take back need not run")
SUM_LONG = _SUMS.word("1 if vertices of more than SEGMENT edges gather, as in a pull, and do not take what was pushed")
SUM_WORDS = _SUMS.size(3 * PAGE_WORDS)

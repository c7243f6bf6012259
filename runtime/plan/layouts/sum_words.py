"""The layout of the table, SUM_WORDS words, for supersteps that push sums (runtime/cpu/ways/sums.py, skeleton `sums`).

The table begins with two page rows. A page row covers a whole adjacency with u64 offsets. Vertices push along the first
adjacency. After the page rows, the table contains addresses and numbers.
"""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout
from vlang.runtime.plan.plan import PAGE_WORDS

_SUMS = Layout(PAGE_WORDS)
SUM_PULL = _SUMS.part(PAGE_WORDS, "the page row of the edges along which vertices gather")
SUM_QUEUE = _SUMS.word("u32: the vertices that notify their receivers, in increasing order; n entries. The active "
                       "ones send changes")
SUM_NOTIFY = _SUMS.word("u8: the notify flags; a call clears the flags of the queue that it is given, and sets the "
                        "flags of the queue that it leaves")
SUM_ACTIVE = _SUMS.word("u8: flags of active vertices")
SUM_MARKS = _SUMS.word("u8: 1 for each vertex that runs `apply`; whole groups of 64 vertices; all zero between two "
                       "calls")
SUM_TOPS = _SUMS.word("u8: 1 for each group of 64 vertices with a mark; all zero between two calls")
SUM_RECORDS = _SUMS.word("i64 pairs: for each superstep, the active vertices after it, and the edges pushed along")
SUM_TOP_COUNT = _SUMS.word("the number of 64-bit words in SUM_TOPS")
SUM_QUIET = _SUMS.word("1 if the receivers of an inactive vertex in the queue need not run")
SUM_LONG = _SUMS.word("1 if vertices of more than SEGMENT edges gather as in a pull, and ignore the sums that were "
                      "pushed")
SUM_WORDS = _SUMS.size(3 * PAGE_WORDS)

"""The table and the control block of thin supersteps (runtime/cpu/ways/thin.py, runtime/kernels/thin.py)."""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout

_TABLE = Layout()
THIN_OFFSETS = _TABLE.word("u64: row offsets of the adjacency along which changed vertices notify")
THIN_TARGETS = _TABLE.word("u32: the neighbours in that adjacency")
THIN_ROWS = _TABLE.word("u64: row offsets of the adjacency along which vertices gather")
THIN_FIRSTS = _TABLE.word("i64: the first vertex of each page of that adjacency")
THIN_PAGES = _TABLE.word("the number of these pages")
THIN_FRAME = _TABLE.word("the frame of all launches, in which the kernel sets SLOT_LIST")
THIN_SEND = _TABLE.word("the address of the kernel that computes messages; 0 without messages")
THIN_PULL = _TABLE.word("the address of the kernel that runs the pass over listed vertices")
THIN_QUEUE = _TABLE.word("u32: the vertices whose flags are not 0; n entries")
THIN_TODO = _TABLE.word("u32: the vertices that run in a superstep; n entries")
THIN_FLAGS = _TABLE.word("u8: the flags of changed vertices (StageSpec.notify)")
THIN_MARKS = _TABLE.word("u8: a mark per vertex; all zero between two supersteps")
THIN_TASKS = _TABLE.word("i64 triples: the tasks of a launch")
THIN_CREW = _TABLE.word("i64: the words by which a kernel is called (crew_words.py)")
THIN_SWAPS = _TABLE.word("u64 triples: for each field with two buffers, their addresses, and the bytes of a vertex")
THIN_SWAPPED = _TABLE.word("the number of these fields")
THIN_RECORDS = _TABLE.word("i64 pairs: for each superstep, the active vertices after it, and the edges traversed")
THIN_WORDS = _TABLE.size()

_CONTROL = Layout()
THIN_ENTRIES = _CONTROL.word("the entries of the queue, before and after the call")
THIN_ROUNDS = _CONTROL.word("the maximum number of supersteps")
THIN_MOST = _CONTROL.word("the maximum number of edges and vertices that a superstep notifies, and the maximum that "
                          "it runs")
THIN_TOTAL = _CONTROL.word("the number of edges and vertices after which the call ends")
THIN_NOTIFIED = _CONTROL.word("the cost of an edge that notifies; all costs are in picoseconds")
THIN_ROW = _CONTROL.word("the cost of a vertex that runs")
THIN_PULLED = _CONTROL.word("the cost of an edge that such a vertex gathers")
THIN_FULL = _CONTROL.word("the cost of a full pass; a superstep that costs more is not run")
THIN_RAN = _CONTROL.word("output: the number of supersteps that ran")
THIN_CHANGED = _CONTROL.word("output: the vertices that the last superstep changed")
THIN_ACTIVE = _CONTROL.word("output: the vertices that are active after the last superstep")
THIN_STATUS = _CONTROL.word("output: the status of a kernel that failed; otherwise 0")
THIN_CONTROL = _CONTROL.size()

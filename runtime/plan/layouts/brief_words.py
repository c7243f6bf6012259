"""The table and the script of brief supersteps (runtime/cpu/ways/brief.py, runtime/kernels/brief.py)."""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout

_TABLE = Layout()
BRIEF_FRAME = _TABLE.word("the frame of the run")
BRIEF_SCRIPT = _TABLE.word("i64: the script, BRIEF_ROW words for each operation")
BRIEF_OPERATIONS = _TABLE.word("the number of operations of a superstep")
BRIEF_CREW = _TABLE.word("i64: the words by which a kernel is called (crew_words.py)")
BRIEF_STATS = _TABLE.word("i64: the counts of the last pass")
BRIEF_RECORDS = _TABLE.word("i64 pairs: for each superstep, the active vertices after it, and the edges traversed")
BRIEF_EDGES = _TABLE.word("the number of edges that a superstep traverses")
BRIEF_ROUNDS = _TABLE.word("the maximum number of supersteps")
BRIEF_BEFORE = _TABLE.word("the number of supersteps before the call")
BRIEF_ITERATION = _TABLE.word("the slot of the scalar `iteration`; 0 if the loop does not read it")
BRIEF_UNTIL = _TABLE.word("the slot of the u8 that ends the loop if it is not 0; 0 if there is none")
BRIEF_UNCHANGED = _TABLE.word("1 if the loop may end after a superstep that changes nothing, else 0")
BRIEF_INACTIVE = _TABLE.word("1 if the loop ends when no vertex is active, else 0")
BRIEF_RAN = _TABLE.word("output: the number of supersteps that ran")
BRIEF_CHANGED = _TABLE.word("output: the vertices that the last superstep changed")
BRIEF_ACTIVE = _TABLE.word("output: the vertices that are active after the last superstep")
BRIEF_STATUS = _TABLE.word("output: the status of a kernel that failed; otherwise 0")
BRIEF_WORDS = _TABLE.size()

_OPERATION = Layout()
BRIEF_KIND = _OPERATION.word("what the operation does: one of the kinds below")
BRIEF_GIVEN = _OPERATION.part(6, "its operands, in the order in which the kinds list them")
BRIEF_ROW = _OPERATION.size()

_KINDS = Layout()
BRIEF_LAUNCH = _KINDS.word("call a kernel: its address, the number of its arguments, and up to four arguments. A "
                           "kernel with tasks gets the counter as its fourth argument")
BRIEF_PUT = _KINDS.word("store a word in the frame: the slot, and the word")
BRIEF_EXCHANGE = _KINDS.word("exchange two words of the frame: their slots")
BRIEF_COPY = _KINDS.word("copy an array of the frame over another: the slots of the target and of the source, and the "
                         "number of bytes")
BRIEF_AHEAD = _KINDS.word("write the frame as it is after a pass: that frame, i64: the slot from which each of its "
                          "words is taken, and the number of words")
BRIEF_REFILL = _KINDS.word("copy words: the target, the source, and the number of words")
BRIEF_CLEAR = _KINDS.word("clear the counts, before a pass")
BRIEF_COUNT = _KINDS.word("take the counts of a pass as the counts of the superstep")

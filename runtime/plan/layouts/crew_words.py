"""The layout of the memory that the threads of a crew share (runtime/cpu/crew/crew.py), i64."""

from __future__ import annotations

from vlang.runtime.plan.layout import LINE, Layout

CREW_MOST_ARGS = 16

_CREW = Layout()
CREW_TURN = _CREW.line("the number of the open launch; 0 between two launches")
CREW_INSIDE = _CREW.line("the number of helpers that may be inside a launch")
CREW_COUNTER = _CREW.line("the counter from which workers take the tasks of a launch")
CREW_LAST = _CREW.word("the number of the last launch")
CREW_WANTED = _CREW.word("the maximum number of helpers of the launch")
CREW_STATUS = _CREW.word("the status of a kernel that failed; otherwise 0")
CREW_END = _CREW.word("1 if the helpers must end")
CREW_FUNCTION = _CREW.word("the address of the kernel")
CREW_COUNT = _CREW.word("the number of arguments of the kernel")
_CREW.skip(4 * LINE)
CREW_ARGS = _CREW.part(CREW_MOST_ARGS, "the arguments of the kernel")
CREW_DESKS = _CREW.size()

# From index CREW_DESKS on, each helper thread has CREW_DESK words.
_DESK = Layout()
CREW_AWAKE = _DESK.word("0 while the helper sleeps")
CREW_SEEN = _DESK.word("the number of the last launch that the helper joined")
CREW_LOCK = _DESK.line("a lock of the C library, up to 64 bytes, that the helper holds while it goes to sleep")
CREW_SIGNAL = _DESK.line("the condition variable of the C library that wakes the helper, up to 64 bytes")
CREW_DESK = _DESK.size()

CREW_LOOKS = 4000  # polls, about 100 us, before a helper sleeps or a caller yields its processor

"""The layout of the memory that the threads of a crew share (runtime/cpu/crew/crew.py), i64."""

from __future__ import annotations

from vlang.runtime.plan.layout import LINE, Layout

CREW_MOST_ARGS = 16

_CREW = Layout()
CREW_TURN = _CREW.line("the number of the launch that is open, 0 between two")
CREW_INSIDE = _CREW.line("helpers that may be at work")
CREW_COUNTER = _CREW.line("for the tasks of a launch")
CREW_LAST = _CREW.word("the number of the last launch")
CREW_WANTED = _CREW.word("how many helpers may take part")
CREW_STATUS = _CREW.word("of a kernel that stopped")
CREW_END = _CREW.word("1 if helpers must leave")
CREW_FUNCTION = _CREW.word("the address of the kernel")
CREW_COUNT = _CREW.word("how many arguments it takes")
_CREW.skip(4 * LINE)
CREW_ARGS = _CREW.part(CREW_MOST_ARGS, "its arguments")
CREW_DESKS = _CREW.size()

# From index CREW_DESKS on, each helper thread has CREW_DESK words.
_DESK = Layout()
CREW_AWAKE = _DESK.word("0 while it sleeps")
CREW_SEEN = _DESK.word("the last launch that it took part in")
CREW_LOCK = _DESK.line("a lock of the C library, of up to 64 bytes, for its sleep")
CREW_SIGNAL = _DESK.line("the signal that wakes it, likewise")
CREW_DESK = _DESK.size()

CREW_LOOKS = 4000  # polls, about 100 us, before a helper sleeps or a caller yields its processor

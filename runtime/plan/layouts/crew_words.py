"""The words that a crew of threads shares (vlang.runtime.cpu.crew.crew), i64 each.

TURN: the number of the launch that is open, 0 between two. INSIDE: helpers that may be at work. WANTED: how many may
take part. STATUS: of a kernel that stopped. END: helpers must leave. FUNCTION, COUNT, ARGS: the kernel, and its
arguments. COUNTER: for the tasks of a launch. LAST: the number of the last launch. From DESKS on, for each helper:
AWAKE, 0 while it sleeps; SEEN, the last launch that it took part in; LOCK and SIGNAL, of the C library, for its sleep.
"""

from __future__ import annotations

__all__ = [
    "CREW_ARGS", "CREW_AWAKE", "CREW_COUNT", "CREW_COUNTER", "CREW_DESK", "CREW_DESKS", "CREW_END", "CREW_FUNCTION",
    "CREW_INSIDE", "CREW_LAST", "CREW_LOCK", "CREW_LOOKS", "CREW_MOST_ARGS", "CREW_SEEN", "CREW_SIGNAL", "CREW_STATUS",
    "CREW_TURN", "CREW_WANTED",
]  # fmt: skip

CREW_TURN, CREW_INSIDE, CREW_COUNTER, CREW_LAST = 0, 8, 16, 24
CREW_WANTED, CREW_STATUS, CREW_END, CREW_FUNCTION, CREW_COUNT, CREW_ARGS = 25, 26, 27, 28, 29, 32
CREW_MOST_ARGS = 16
CREW_DESKS = CREW_ARGS + CREW_MOST_ARGS
CREW_AWAKE, CREW_SEEN, CREW_LOCK, CREW_SIGNAL = 0, 1, 8, 16  # a lock takes up to 64 bytes
CREW_DESK = 24
CREW_LOOKS = 4000  # that a helper takes before it sleeps, and a caller before it offers its processor: some 100 us

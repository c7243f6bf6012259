"""The layout of the barrier of one launch (`Cpu.crew`, the skeleton `meeting`).

The barrier takes the first MEET_WORDS words, i64, of a control block. Each word that several workers write has its own
cache line.
"""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout

_MEETING = Layout()
MEET_CREW = _MEETING.line("how many workers there are")
MEET_JOINED = _MEETING.line("workers that have come")
MEET_WAITING = _MEETING.line("workers that wait at a meeting")
MEET_TURN = _MEETING.line("meetings so far")
MEET_WORDS = _MEETING.size()

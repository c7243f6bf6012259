"""The layout of the barrier of one launch (`Cpu.crew`, the skeleton `meeting`).

The barrier takes the first MEET_WORDS words, i64, of a control block. Each word that several workers write has its own
cache line.
"""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout

_MEETING = Layout()
MEET_CREW = _MEETING.line("the number of workers")
MEET_JOINED = _MEETING.line("the number of workers that have joined the launch")
MEET_WAITING = _MEETING.line("the number of workers that wait at the barrier")
MEET_TURN = _MEETING.line("how many times the barrier has opened so far")
MEET_WORDS = _MEETING.size()

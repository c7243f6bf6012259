"""Where the workers of one launch wait for each other inside a kernel (`Cpu.crew`, the skeleton `meeting`): the first
MEET_WORDS words, i64, of a control block.

CREW: how many workers there are. JOINED: those that have come. WAITING: those that wait at a meeting. TURN: meetings
so far. Words that several workers change lie 64 bytes apart.
"""

from __future__ import annotations

__all__ = ["MEET_CREW", "MEET_JOINED", "MEET_TURN", "MEET_WAITING", "MEET_WORDS"]

MEET_CREW, MEET_JOINED, MEET_WAITING, MEET_TURN, MEET_WORDS = range(0, 40, 8)

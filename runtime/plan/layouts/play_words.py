"""The layout of a script, i64: a sequence of launches that runs without Python (`play` in kernels/crew.py)."""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout

PLAY_MOST_ARGS = 5

_PLAY = Layout()
PLAY_HELPERS = _PLAY.word("the maximum number of helpers")
PLAY_FRAME = _PLAY.word("the address of the frame in which PLAY_LIST and PLAY_LEVEL are stored before the launch")
PLAY_LIST = _PLAY.word("the address of the vertices that the kernel runs over")
PLAY_LEVEL = _PLAY.word("the level, as the bits of its slot in the frame")
PLAY_FUNCTION = _PLAY.word("the address of the kernel")
PLAY_COUNT = _PLAY.word("the number of arguments of the kernel")
PLAY_ARGS = _PLAY.part(PLAY_MOST_ARGS, "the arguments of the kernel")
PLAY_WORDS = _PLAY.size()

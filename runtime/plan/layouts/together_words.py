"""The tables of runs that share their reads of the edges (vlang.runtime.cpu.together, the skeleton `woven`)."""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout

WIDTH = 16
"""Runs in a row: entry WIDTH * v + i of a woven array is the value of run i at vertex v."""

TOGETHER_AHEAD = 16
"""How many edges ahead rows of a woven array are prefetched."""

_TOGETHER = Layout()
TOGETHER_WIDTH = _TOGETHER.word("i64: WIDTH")
TOGETHER_RUNS = _TOGETHER.word("i64: the number of runs, at most WIDTH")
TOGETHER_VERTICES = _TOGETHER.word("i64: the number of vertices")
TOGETHER_NEAR = _TOGETHER.word("u8: a woven array, whose rows are prefetched")
TOGETHER_SIZE = _TOGETHER.word("i64: the bytes of a row of this array")
TOGETHER_FRAMES = _TOGETHER.part(WIDTH, "the address of the frame of each run")
TOGETHER_WORDS = _TOGETHER.size()

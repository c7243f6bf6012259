"""The layout of the table for passes that push along pages (runtime/cpu/ways/paged_push.py, skeleton `paged_push`)."""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout

_PAGED = Layout()
PAGED_PAGES = _PAGED.word("the table of pages")
PAGED_SEGMENTS = _PAGED.word("i64[., 3]: the segments of long vertices")
PAGED_FRONT = _PAGED.word("u64, a bit a vertex: the frontier")
PAGED_FOUND = _PAGED.word("u64, a bit a vertex: those that changed in this superstep")
PAGED_ORIGIN = _PAGED.word("u8: flags of the vertices to begin with, or 0: those that are not silent")
PAGED_COUNTS = _PAGED.word("i64: vertices of the frontier that was found")
PAGED_VERTICES = _PAGED.word("how many vertices there are")
PAGED_WORDS = _PAGED.size(8)

"""The layout of the table for passes that push along pages (runtime/cpu/ways/paged_push.py, skeleton `paged_push`)."""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout

_PAGED = Layout()
PAGED_PAGES = _PAGED.word("the table of pages")
PAGED_SEGMENTS = _PAGED.word("i64[., 3]: the segments of long vertices")
PAGED_FRONT = _PAGED.word("u64: a bitmap of the frontier")
PAGED_FOUND = _PAGED.word("u64: a bitmap of the vertices that changed in this superstep")
PAGED_ORIGIN = _PAGED.word("u8: flags of the vertices of the first frontier; 0 for all vertices that are not silent")
PAGED_COUNTS = _PAGED.word("i64: the number of vertices in the frontier that was found")
PAGED_VERTICES = _PAGED.word("the number of vertices")
PAGED_WORDS = _PAGED.size(8)

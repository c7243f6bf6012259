"""Sizes of the pieces of work, the rows that describe pages and cache blocks, and the frame slots of the engine."""

from __future__ import annotations

from vlang.runtime.plan.layout import Layout

__all__ = [
    "BLOCK", "BLOCK_BATCHES", "BLOCK_HIGH", "BLOCK_LONG", "BLOCK_LONG_END", "BLOCK_LOW", "BLOCK_MADE", "BLOCK_MOST",
    "BLOCK_ROWS", "BLOCK_SENDERS", "BLOCK_SINGLE", "BLOCK_WORDS", "FIRST_SLOT", "LANES", "PAGE_COLUMNS", "PAGE_FIRST",
    "PAGE_OFFSETS", "PAGE_TARGETS", "PAGE_WORDS", "ROW_BEGIN", "ROW_BLOCKS", "ROW_COLUMNS", "ROW_END",
    "ROW_OFFSETS", "ROW_PLACES", "ROW_RECEIVERS", "ROW_REPLICAS", "ROW_SHARDS", "ROW_TARGETS", "ROW_WORDS", "RUN",
    "SEGMENT", "SLOT_FUSED", "SLOT_LIST", "SLOT_LISTED", "SLOT_LONGS", "SLOT_PAGES", "SLOT_SCRATCH", "SLOT_SEGMENTS",
    "SLOT_STATS", "THREADS",
]

SEGMENT = 16384  # edges of a segment, a piece of a long row
BLOCK = 4096  # vertices of a block of reductions over vertices
LANES = 64  # vertices of such a block that are reduced in parallel lanes
RUN = 256  # vertices whose accumulators a CPU worker keeps in L1 cache at the same time

BLOCK_MOST = 1 << 16  # maximum number of rows, and of senders, of a cache block, whose relative numbers have 16 bits
BLOCK_SINGLE = 64  # a row with more edges in a cache block has a batch of its own
THREADS = 256  # threads of a thread block on a GPU

# The row of a page. If the row describes a whole adjacency instead of a page, offsets are u64.
_PAGE = Layout()
PAGE_OFFSETS = _PAGE.word("u32: offsets of the edges of each vertex, relative to the page, from its first vertex on")
PAGE_TARGETS = _PAGE.word("u32: the neighbours")
PAGE_FIRST = _PAGE.word("the first vertex")
PAGE_WORDS = 16
PAGE_COLUMNS = _PAGE.part(PAGE_WORDS - 3, "the columns of the stage, in order")

# The row of a strip of cache blocks (runtime/graph/topology/blocks.py). Its columns are at the same indices as in the
# row of a page.
_BLOCK = Layout(PAGE_WORDS)
BLOCK_SENDERS = _BLOCK.word("u16: the neighbours, batch by batch, relative to the first sender of the block")
BLOCK_ROWS = _BLOCK.word("u16: the rows of all batches, relative to BLOCK_LOW")
BLOCK_BATCHES = _BLOCK.word("u32[., 3]: for each batch the first sender of its block, the number of rows, and the "
                            "edges per row")
BLOCK_MADE = _BLOCK.word("the number of batches")
BLOCK_LOW = _BLOCK.word("the first vertex")
BLOCK_HIGH = _BLOCK.word("the last vertex plus 1")
BLOCK_LONG = _BLOCK.word("the index in SLOT_LONGS of the first long vertex of the strip; long vertices are not in the "
                         "blocks")
BLOCK_LONG_END = _BLOCK.word("the index in SLOT_LONGS of the last long vertex of the strip, plus 1")
BLOCK_WORDS = _BLOCK.size(2 * PAGE_WORDS)

# The row of a page on a GPU. Offsets are the offsets of the whole adjacency, u64[n + 1]. Targets, places and columns
# are indexed by the edge number in the whole adjacency, so their base addresses lie before the memory of the page.
_ROW = Layout()
ROW_OFFSETS = _ROW.word("u64: the offsets")
ROW_TARGETS = _ROW.word("u32: the neighbours")
ROW_BEGIN = _ROW.word("the first edge of the page")
ROW_END = _ROW.word("the last edge of the page, plus 1")
ROW_BLOCKS = _ROW.word("u32: the first vertex of each row block")
ROW_PLACES = _ROW.word("u16: the index of each edge's receiver in its shard")
ROW_SHARDS = _ROW.word("u32: the bounds of the shards")
ROW_REPLICAS = _ROW.word("u8: copies of the accumulators of each shard in shared memory")
ROW_RECEIVERS = _ROW.word("u32: the receivers of a part of an edge list, whose senders are at ROW_TARGETS")
_ROW.skip(11)
ROW_COLUMNS = _ROW.part(20, "the columns of the stage, in order")
ROW_WORDS = _ROW.size()

# The slots of a frame that the engine reserves.
_SLOTS = Layout()
SLOT_PAGES = _SLOTS.word("the table of pages, or of cache blocks")
SLOT_LIST = _SLOTS.word("u32: the vertices that a launch processes, if SLOT_LISTED is not 0")
SLOT_LISTED = _SLOTS.word("whether tasks are runs of the list SLOT_LIST")
SLOT_SEGMENTS = _SLOTS.word("i64[., 3]: for each segment the vertex, and the first edge and the end of the edges in "
                            "its page")
SLOT_LONGS = _SLOTS.word("i64[., 3]: for each long vertex the vertex, the first segment, and the end of its segments")
SLOT_STATS = _SLOTS.word("i64: the number of vertices changed, the number of vertices active, and a counter that "
                         "numbers workers")
SLOT_SCRATCH = _SLOTS.word("scratch memory")
SLOT_FUSED = _SLOTS.word("the work fused into the pass (FOLLOW_...); 0 if there is none")
FIRST_SLOT = _SLOTS.size()

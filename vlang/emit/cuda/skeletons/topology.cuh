// Kernels for the topology of a run: they update the rows of the page table when pages move, and mark pages in use.

// Makes the row of a page in the page table point to the edges of the page. If slot is not 0, they are in a slot of
// device memory, which begins with the first edge of the page; otherwise in the arrays of all edges in host memory.
// layout is u64[3][ROW_WORDS]: for each word of the row, the bytes per edge (0: the word does not change), the offset
// in the slot, and the address in host memory. Runs as one block.
__device__ __forceinline__ void aim_row(u64* row, u64 slot, const u64* layout) {
  for (u64 word = threadIdx.x; word < u64(ROW_WORDS); word += blockDim.x) {
    const u64 size = layout[word];
    if (blockIdx.x == 0 && size != 0) {
      row[word] = slot != 0 ? slot + layout[ROW_WORDS + word] - row[ROW_BEGIN] * size : layout[2 * ROW_WORDS + word];
    }
  }
}

// -- slotted pages (GTS, Kim et al., SIGMOD'16, 2 and appendix A; runtime/graph/topology/slotted.py) ------------------

constexpr u64 SLOT_BYTES = 10;   // VID (6 bytes) and OFF (4 bytes)
constexpr u64 SIZE_BYTES = 4;    // ADJLIST_SZ
constexpr u64 SLOTTED_RUN = 1024;  // edges that a warp decodes after one search
constexpr u32 SMALL_PAGE = ~0u;  // LP_RANGE of a small page

// A little-endian number of 1 to 8 bytes at any address, read by whole words.
__device__ __forceinline__ u64 bytes_at(u64 address, u64 count) {
  const u32* words = (const u32*)(address & ~u64(3));
  const u64 skew = address & 3;
  u64 value = words[0];
  if (skew + count > 4) {
    value |= u64(words[1]) << 32;
  }
  value >>= 8 * skew;
  if (skew + count > 8) {
    value |= u64(words[2]) << (64 - 8 * skew);
  }
  return count == 8 ? value : value & ((u64(1) << 8 * count) - 1);
}

// A slotted page: records from its start on, slots from its end backwards. A record id is a page number of p bytes and a
// slot number of q bytes. rvt: u32[pages][2], START_VID and LP_RANGE of each page.
struct SlottedPage {
  u64 at, bytes, slots, edges;
  u64 p, q;
  const u32* rvt;

  // The number of the edges in the page before the record of a slot.
  __device__ __forceinline__ u32 before(u64 slot) const {
    if (slot >= slots) {
      return u32(edges);
    }
    const u32 off = u32(bytes_at(at + bytes - SLOT_BYTES * (slot + 1) + 6, 4));
    return (off - u32(SIZE_BYTES * slot)) / u32(p + q);
  }
  // The neighbour of an edge, whose number in the page and slot are given.
  __device__ __forceinline__ u32 neighbour(u64 edge, u64 slot) const {
    const u64 record = bytes_at(at + SIZE_BYTES * (slot + 1) + (p + q) * edge, p + q);
    return rvt[2 * (record & ((u64(1) << 8 * p) - 1))] + u32(record >> 8 * p);
  }
};

// Writes the neighbours of a slotted page as numbers of vertices, in the order of its edges. A warp takes a run of edges,
// and finds the slot of its first edge by a binary search. Then its lanes hold where the next 32 records begin.
__device__ __forceinline__ void decode_slotted(u64 at, u64 bytes, u64 slots, u64 edges, u64 number, u64 ids,
                                               const u32* rvt, u32* targets) {
  const SlottedPage page{at, bytes, slots, edges, ids >> 8, ids & 255, rvt};
  const u32 lane = lane_number();
  const u64 warps = thread_count() / 32;
  const bool large = rvt[2 * number + 1] != SMALL_PAGE;
  for (u64 begin = thread_number() / 32 * SLOTTED_RUN; begin < edges; begin += warps * SLOTTED_RUN) {
    const u64 end = begin + SLOTTED_RUN < edges ? begin + SLOTTED_RUN : edges;
    if (large) {  // its first record has all edges
      for (u64 k = begin + lane; k < end; k += 32) {
        targets[k] = page.neighbour(k, 0);
      }
      continue;
    }
    u64 slot = 0, high = slots;
    while (high - slot > 1) {
      const u64 middle = (slot + high) / 2;
      if (page.before(middle) <= begin) {
        slot = middle;
      } else {
        high = middle;
      }
    }
    for (u64 from = begin; from < end; slot += 32) {
      const u32 mine = page.before(slot + lane);
      const u64 next = page.before(slot + 32);
      const u64 stop = next < end ? next : end;
      for (u64 base = from; base < stop; base += 32) {
        const u64 k = base + lane;
        u32 which = 0;
        UNROLL
        for (u32 step = 16; step; step >>= 1) {
          which += lane_value(WARP, mine, int(which + step)) <= k ? step : 0;
        }
        if (k < stop) {
          targets[k] = page.neighbour(k, slot + which);
        }
      }
      from = stop;
    }
  }
}

// -- marks ------------------------------------------------------------------------------------------------------------

// A page starts at the first of its edges: the last page with starts[page] <= edge.
__device__ __forceinline__ u64 page_with(const u64* starts, u64 pages, u64 edge) {
  u64 low = 0, high = pages;
  while (high - low > 1) {
    const u64 middle = (low + high) / 2;
    if (starts[middle] <= edge) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

constexpr u64 HEAVY = 128;      // edges: a range with at least so many is processed by a warp of its own
constexpr u64 LINE_EDGES = 32;  // neighbours in a line of 128 bytes
constexpr u32 MARK_WORDS = 5;   // for each page: ranges, edges, ranges that are heavy, lines, the transfer chosen

// Counts, for each page, the ranges of edges that overlap the page, how many of their edges are in it, how many of the
// ranges are heavy, and the lines of memory that hold them. Consecutive ranges are usually in the same page. marks:
// u64[pages + 1][MARK_WORDS], zero before the first call; the last row counts ranges without edges. starts: the first
// edge of each page, then the end of the last page.
struct PageMarks {
  const u64* starts;
  u64 pages;
  u64* marks;
  u64 page, ranges, edges, heavy, lines, none;

  __device__ __forceinline__ void add(u64 begin, u64 stop) {
    none += begin >= stop ? 1 : 0;
    while (begin < stop) {
      if (begin < starts[page] || begin >= starts[page + 1]) {
        flush();
        page = page_with(starts, pages, begin);
      }
      const u64 inside = stop < starts[page + 1] ? stop : starts[page + 1];
      ranges += 1;
      edges += inside - begin;
      heavy += inside - begin >= HEAVY ? 1 : 0;
      lines += (inside - 1) / LINE_EDGES - begin / LINE_EDGES + 1;
      begin = inside;
    }
  }
  __device__ __forceinline__ void flush() {
    if (ranges != 0) {
      u64* mine = marks + MARK_WORDS * page;
      atomicAdd(mine, ranges);
      atomicAdd(mine + 1, edges);
      atomicAdd(mine + 2, heavy);
      atomicAdd(mine + 3, lines);
    }
    if (none != 0) {
      atomicAdd(&marks[MARK_WORDS * pages], none);
    }
    ranges = edges = heavy = lines = none = 0;
  }
};

// The items of a list that this thread processes. They are consecutive, so that most are in one page.
struct Stretch {
  u64 first, end;
};

__device__ __forceinline__ Stretch own_stretch(u64 count) {
  const u64 lanes = u64(gridDim.x) * blockDim.x;
  const u64 each = (count + lanes - 1) / lanes;
  const u64 first = (u64(blockIdx.x) * blockDim.x + threadIdx.x) * each;
  return {first, first + each < count ? first + each : count};
}

// Counts, for each page, the listed vertices that have edges in the page, and how many of their edges are in it.
__device__ __forceinline__ void mark_pages(const u64* offsets, const u64* starts, u64 pages, const u32* list,
                                           const u64* count, u64* marks) {
  const Stretch mine = own_stretch(*count);
  PageMarks found{starts, pages, marks, 0, 0, 0, 0, 0, 0};
  for (u64 i = mine.first; i < mine.end; i++) {
    found.add(offsets[list[i]], offsets[u64(list[i]) + 1]);
  }
  found.flush();
}

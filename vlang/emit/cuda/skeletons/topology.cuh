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

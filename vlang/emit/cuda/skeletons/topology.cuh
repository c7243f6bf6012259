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

// Counts, for each page, the ranges of edges that overlap the page, and how many of their edges are in it. Consecutive
// ranges are usually in the same page. marks: u64[pages][2], zero before the first call. starts: the first edge of each
// page, then the end of the last page.
struct PageMarks {
  const u64* starts;
  u64 pages;
  u64* marks;
  u64 page, ranges, edges;

  __device__ __forceinline__ void add(u64 begin, u64 stop) {
    while (begin < stop) {
      if (begin < starts[page] || begin >= starts[page + 1]) {
        flush();
        u64 low = 0, high = pages;  // starts[low] <= begin < starts[high]
        while (high - low > 1) {
          const u64 middle = (low + high) / 2;
          if (starts[middle] <= begin) {
            low = middle;
          } else {
            high = middle;
          }
        }
        page = low;
      }
      const u64 inside = stop < starts[page + 1] ? stop : starts[page + 1];
      ranges += 1;
      edges += inside - begin;
      begin = inside;
    }
  }
  __device__ __forceinline__ void flush() {
    if (ranges != 0) {
      atomicAdd(&marks[2 * page], ranges);
      atomicAdd(&marks[2 * page + 1], edges);
    }
    ranges = edges = 0;
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
  PageMarks found{starts, pages, marks, 0, 0, 0};
  for (u64 i = mine.first; i < mine.end; i++) {
    found.add(offsets[list[i]], offsets[u64(list[i]) + 1]);
  }
  found.flush();
}

// What the topology of a run needs on the device: rows that follow pages, and pages that are at work. No templates.

// Lets the row of a page point to where its edges lie: to a slot of device memory that begins with the first edge of
// the page, or to host memory, whose arrays hold all edges (slot 0). layout: u64[3][ROW_WORDS]: bytes an edge (0: the
// word stays as it is), place in the slot, address in host memory. One block.
__device__ __forceinline__ void aim_row(u64* row, u64 slot, const u64* layout) {
  for (u64 word = threadIdx.x; word < u64(ROW_WORDS); word += blockDim.x) {
    const u64 size = layout[word];
    if (blockIdx.x == 0 && size != 0) {
      row[word] = slot != 0 ? slot + layout[ROW_WORDS + word] - row[ROW_BEGIN] * size : layout[2 * ROW_WORDS + word];
    }
  }
}

// For each page, the listed vertices that have edges in it, and those edges: marks u64[pages][2], zeroed before.
// starts: the first edges of the pages and the end.
__device__ __forceinline__ void mark_pages(const u64* offsets, const u64* starts, u64 pages, const u32* list,
                                           const u64* count, u64* marks) {
  const u64 lanes = u64(gridDim.x) * blockDim.x;
  const u64 each = (*count + lanes - 1) / lanes;  // neighbours in the list, so mostly of one page
  const u64 first = (u64(blockIdx.x) * blockDim.x + threadIdx.x) * each;
  const u64 end = first + each < *count ? first + each : *count;
  u64 page = 0, vertices = 0, edges = 0;
  for (u64 i = first; i < end; i++) {
    u64 begin = offsets[list[i]];
    const u64 stop = offsets[list[i] + 1];
    while (begin < stop) {
      if (begin < starts[page] || begin >= starts[page + 1]) {
        if (vertices != 0) {
          atomicAdd(&marks[2 * page], vertices);
          atomicAdd(&marks[2 * page + 1], edges);
        }
        vertices = edges = 0;
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
      vertices += 1;
      edges += inside - begin;
      begin = inside;
    }
  }
  if (vertices != 0) {
    atomicAdd(&marks[2 * page], vertices);
    atomicAdd(&marks[2 * page + 1], edges);
  }
}

// A second round over a page that is on the device (HyTGraph, Wang et al., ICDE 2023, VI-A), and the order of pages.
//
// In such a superstep, vertices that are found are only marked in the bitmap of the next superstep. After a page was
// processed, the marks of vertices whose rows are in this page are taken back, and these vertices push at once. At the end
// the vertices that are still marked are queued. Kernels of other pages may mark vertices meanwhile. A kernel changes the
// value of a vertex before it marks the vertex, and the values are read by a later kernel than the one that takes marks
// back. So every value is pushed, at once or in the next superstep.

// Pushes from a slice of a queue, as `push_slice` does, and only marks the vertices that are found.
template <class S, int PRIORITY>
__device__ __forceinline__ void push_marked(u64* frame, const Table* where, const u64* rows, u64 pages,
                                            const u64* entries, u64 heavy, u64 light, const u32* packed) {
  push_direct<S, PRIORITY, MARKED>(frame, *where, Slice{entries, heavy, light}, rows, pages, packed);
}

// Takes back the marks of vertices low to high - 1 whose rows are between the edges begin and end, and queues these
// vertices. count: the number of entries, 0 before.
__device__ __forceinline__ void claim_found(const Table* where, u64 low, u64 high, u64 begin, u64 end, u64* queue,
                                            u64* count) {
  const Table& table = *where;
  const Turn turn = turn_of(table.control);
  u32* bits = table.bits[1 - turn.parity];
  const Desk desk = own_desk();
  u64 edges = 0;
  u32 filled = 0, taken = 0;
  for (u64 base = (low & ~u64(31)) + (thread_number() & ~u64(31)); base < high; base += thread_count()) {
    const u64 v = base + lane_number();
    const bool inside = v >= low && v < high && table.offsets[v] >= begin && table.offsets[v + 1] <= end &&
                        table.offsets[v] != table.offsets[v + 1];
    const u32 mine = __ballot_sync(WARP, inside);
    u32 word = 0;
    if (lane_number() == 0 && glance(bits + (base >> 5)) & mine) {
      word = atomicAnd(bits + (base >> 5), ~mine) & mine;
    }
    word = lane_value(WARP, word, 0);
    taken += __popc(word);
    filled = stage(desk, filled, word >> lane_number() & 1, u32(v));
    if (filled > ROOM) {
      __syncwarp();
      append_entries(desk, filled, table.offsets, queue, count, &edges);
      __syncwarp();
      filled = 0;
    }
  }
  __syncwarp();
  if (filled) {
    append_entries(desk, filled, table.offsets, queue, count, &edges);
  }
  edges = warp_sum_wide(edges);
  if (lane_number() == 0 && taken) {
    atomicAdd(&turn.next->active, ~u64(taken) + 1);
    atomicAdd(&turn.now->edges, edges);
  }
}

// Pushes from the vertices that `claim_found` has queued.
template <class S, int PRIORITY>
__device__ __forceinline__ void push_found(u64* frame, const Table* where, const u64* rows, u64 pages, const u64* queue,
                                           const u64* count) {
  push_direct<S, PRIORITY, MARKED>(frame, *where, Slice{queue, 0, *count}, rows, pages, nullptr);
}

// Queues the marked vertices for the next superstep.
__device__ __forceinline__ void queue_found(const Table* where) {
  const Table& table = *where;
  const Turn turn = turn_of(table.control);
  const u32* bits = table.bits[1 - turn.parity];
  u64* queue = table.queues[1 - turn.parity];
  const Desk desk = own_desk();
  u64 edges = 0;
  u32 filled = 0;
  for (u64 base = thread_number() & ~u64(31); base < table.vertices; base += thread_count()) {
    filled = stage(desk, filled, bits[base >> 5] >> lane_number() & 1, u32(base) + lane_number());
    if (filled > ROOM) {
      __syncwarp();
      append_entries(desk, filled, table.offsets, queue, &turn.next->entries, &edges);
      count_entries(table, desk, filled);
      __syncwarp();
      filled = 0;
    }
  }
  __syncwarp();
  if (filled) {
    append_entries(desk, filled, table.offsets, queue, &turn.next->entries, &edges);
    count_entries(table, desk, filled);
  }
  edges = warp_sum_wide(edges);
  if (lane_number() == 0 && edges) {
    atomicAdd(&turn.next->edges, edges);
  }
}

// Finds the best value (rule O) of the vertices of a queue in each page, as an order key. best: u64[pages], all ones
// before.
template <class S>
__device__ __forceinline__ void mark_values(u64* frame, const u64* offsets, const u64* starts, u64 pages,
                                            const u64* queue, const u64* count, u64* best) {
  const typename S::Env env = S::bind(frame);
  const Stretch mine = own_stretch(*count);
  u64 page = 0, least = ~u64(0);
  for (u64 i = mine.first; i < mine.end; i++) {
    const u32 v = u32(queue[i]);
    const u64 begin = offsets[v] + (queue[i] >> 32) * CHUNK;
    if (begin >= offsets[u64(v) + 1]) {
      continue;
    }
    if (begin < starts[page] || begin >= starts[page + 1]) {
      if (least != ~u64(0)) {
        atomicMin(best + page, least);
      }
      page = page_with(starts, pages, begin);
      least = ~u64(0);
    }
    const u64 key = priority_key(S::priority(env, v));
    least = key < least ? key : least;
  }
  if (least != ~u64(0)) {
    atomicMin(best + page, least);
  }
}

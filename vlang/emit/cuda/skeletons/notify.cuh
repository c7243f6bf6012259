// First frontiers, and notify-pull: kernels that build queues and lists from the flags of vertices (rule N).
//
// Flags and marks are arrays with one byte per vertex, padded to 16 bytes with zeros.

// -- first frontiers --------------------------------------------------------------------------------------------------

// Whether a vertex may have a contribution. For the first superstep, these are all vertices that are not silent (with
// early exit, vertices with a value). Later, they are the vertices that the last pass changed.
template <class S, int FROM> __device__ __forceinline__ bool begins(const typename S::Env& env, u32 v) {
  if constexpr (FROM == FROM_NOTIFY) {
    return (S::notifies(env, v) & 1) != 0;
  } else {
    return S::FRONTIER ? S::is_final(env, v) : !silent<S>(env, v, 0);
  }
}

// Fills the queue of the superstep with the vertices that `begins` chooses.
template <class S, int FROM, int PRIORITY>
__device__ __forceinline__ void begin_frontier(u64* frame, const Table* where) {
  const Table& table = *where;
  const typename S::Env env = S::bind(frame);
  Control* control = table.control;
  const u32 parity = u32(control->step & 1);
  NextFrontier<S, 0, COUNTED> frontier{table, env, table.queues[parity], control->counts + control->step % 3,
                                       table.bits[parity], 0, 0, false, {}};
  const Desk desk = own_desk();
  u64 least = ~u64(0);
  u32 filled = 0;
  for (u64 base = table.low + (thread_number() & ~u64(31)); base < table.high; base += thread_count()) {
    const u64 at = base + lane_number();
    const u32 v = u32(at);
    bool chosen = false;
    if (at < table.high) {
      chosen = begins<S, FROM>(env, v);
    }
    const u32 word = __ballot_sync(WARP, chosen);
    if (lane_number() == 0) {
      table.bits[parity][base >> 5] = word;
    }
    if (PRIORITY && chosen) {
      const u64 key = priority_key(S::priority(env, v));
      least = key < least ? key : least;
    }
    filled = stage(desk, filled, chosen, v);
    if (filled > ROOM) {
      __syncwarp();
      frontier.flush(desk, filled);
      __syncwarp();
      filled = 0;
    }
  }
  __syncwarp();
  if (filled) {
    frontier.flush(desk, filled);
  }
  if constexpr (PRIORITY) {
    NextFrontier<S, PRIORITY>::note_least(&control->start, least);
  }
  add_tally(frontier.tally, own_board().sums, frontier.counts);
}

// Initialises the cells of all vertices with the values of their fields.
template <class S> __device__ __forceinline__ void open_cells(u64* frame, u64 vertices) {
  const typename S::Env env = S::bind(frame);
  for (u64 v = thread_number(); v < vertices; v += thread_count()) {
    S::open(env, u32(v));
  }
}

// -- notify -----------------------------------------------------------------------------------------------------------

// Counts the vertices with flag 1 in counts[0], and the edges along which they notify in counts[1].
__device__ __forceinline__ void count_flagged(const u64* flags, u64 words, const u64* offsets, u64* counts) {
  u64 vertices = 0, edges = 0;
  for (u64 word = thread_number(); word < words; word += thread_count()) {
    for (u64 ones = flags[word] & 0x0101010101010101ull; ones; ones &= ones - 1) {
      const u64 v = 8 * word + u64(__ffsll(i64(ones)) - 1) / 8;
      vertices++;
      edges += offsets[v + 1] - offsets[v];
    }
  }
  vertices = warp_sum_wide(vertices);
  edges = warp_sum_wide(edges);
  if (lane_number() == 0 && vertices) {
    atomicAdd(counts, vertices);
    atomicAdd(counts + 1, edges);
  }
}

// Appends vertices with flag 1 to the first queue, marks vertices with flag 2, and clears the flags.
__device__ __forceinline__ void queue_flagged(const Table* where, u64* flags, u64 words, u8* marks) {
  const Table& table = *where;
  const Desk desk = own_desk();
  Counts* counts = table.control->counts;
  u64 edges = 0;
  u32 filled = 0;
  for (u64 base = thread_number() & ~u64(31); base < words; base += thread_count()) {
    const u64 at = base + lane_number();
    const u64 word = at < words ? flags[at] : 0;
    if (word) {
      flags[at] = 0;
    }
    if (!__any_sync(WARP, word != 0)) {
      continue;
    }
    for (u32 j = 0; j < 8; j++) {
      const u32 flag = u32(word >> 8 * j) & 255;
      const u32 v = u32(8 * at + j);
      if (flag & 2) {
        marks[v] = 1;
      }
      filled = stage(desk, filled, flag & 1, v);
      if (filled > ROOM) {
        __syncwarp();
        append_entries(desk, filled, table.offsets, table.queues[0], &counts->entries, &edges);
        __syncwarp();
        filled = 0;
      }
    }
  }
  __syncwarp();
  if (filled) {
    append_entries(desk, filled, table.offsets, table.queues[0], &counts->entries, &edges);
  }
  edges = warp_sum_wide(edges);
  if (lane_number() == 0 && edges) {
    atomicAdd(&counts->edges, edges);
  }
}

// Updates the messages of the vertices in the first queue.
template <class S> __device__ __forceinline__ void send_queue(u64* frame, const Table* where) {
  const Table& table = *where;
  send_queued<S>(S::bind(frame), table.queues[0], table.control->counts[0].entries, crew_of(false));
}

struct Notifying {
  struct Columns {};
  struct Item {};
  static constexpr bool FINDS = false;
  u8* marks;

  __device__ __forceinline__ Columns bind(const u64*) const { return Columns{}; }
  __device__ __forceinline__ Item look(const Columns&, u32, u32, i64) const { return Item{}; }
  __device__ __forceinline__ bool wants(u32, const Item&) const { return true; }
  __device__ __forceinline__ bool join(u32 v, const Item&) {
    *(volatile u8*)(marks + v) = 1;  // all threads that mark v store the same value
    return false;
  }
  __device__ __forceinline__ void leave(u32) {}
};

// Marks the neighbours of the vertices of the first queue.
__device__ __forceinline__ void notify(const Table* where, u8* marks) {
  const Table& table = *where;
  Counts* counts = table.control->counts;
  Notifying work{marks};
  walk(table, table.queues[0], counts->entries, &counts->taken, work, crew_of(false));
}

// -- lists ------------------------------------------------------------------------------------------------------------

// The vertices to run again. counts: the lengths of `all`, `longs` (numbers in the table of long vertices) and
// `segments` (numbers in the table of segments).
struct Lists {
  u32* all;
  u32* longs;
  u32* segments;
  u64* counts;
  const i64* long_rows;
  u64 long_count;
};

// Finds the index of a long vertex in the table of long vertices, by binary search.
__device__ __forceinline__ u64 long_number(const i64* longs, u64 count, u32 v) {
  u64 low = 0, high = count;
  while (low + 1 < high) {
    const u64 middle = (low + high) / 2;
    if (longs[3 * middle] <= i64(v)) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Appends marked vertices, and vertices flagged in `also` (0: no such array), to the lists, and clears the marks.
__device__ __forceinline__ void list_marked(
    const Lists* where, u64* marks, const u64* also, u64 words, const u64* offsets) {
  const Lists lists = *where;
  for (u64 base = thread_number() & ~u64(31); base < words; base += thread_count()) {
    const u64 at = base + lane_number();
    u64 word = at < words ? marks[at] : 0;
    if (word) {
      marks[at] = 0;
    }
    word |= also && at < words ? also[at] : 0;
    if (!__any_sync(WARP, word != 0)) {
      continue;
    }
    for (u32 j = 0; j < 8; j++) {
      const bool marked = (word >> 8 * j & 255) != 0;
      const u64 v = 8 * at + j;
      append_listed(lists.all, lists.counts, marked, u32(v));
      const bool is_long = marked && offsets[v + 1] - offsets[v] > SEGMENT;
      if (!__any_sync(WARP, is_long)) {
        continue;
      }
      const u64 number = is_long ? long_number(lists.long_rows, lists.long_count, u32(v)) : 0;
      append_listed(lists.longs, lists.counts + 1, is_long, u32(number));
      if (is_long) {
        const i64 first = lists.long_rows[3 * number + 1], end = lists.long_rows[3 * number + 2];
        const u64 to = atomicAdd(lists.counts + 2, u64(end - first));
        for (i64 s = first; s < end; s++) {
          lists.segments[to + u64(s - first)] = u32(s);
        }
      }
    }
  }
}

// Copies the values of listed vertices, `size` bytes each, from one array to the other, or exchanges them.
template <class T> __device__ __forceinline__ void move_listed(
    u64 to_at, u64 from_at, u64 size, const u32* list, u64 listed, bool exchange) {
  T* to = reinterpret_cast<T*>(to_at);
  T* from = reinterpret_cast<T*>(from_at);
  const u64 width = size / sizeof(T);
  for (u64 i = thread_number(); i < listed; i += thread_count()) {
    const u64 first = width * list[i];
    for (u64 k = first; k < first + width; k++) {
      const T old = to[k];
      to[k] = from[k];
      if (exchange) {
        from[k] = old;
      }
    }
  }
}

__device__ __forceinline__ void move_values(u64 to, u64 from, u64 size, const u32* list, const u64* count, u64 exchange) {
  const u64 listed = *count;
  if (size % 8 == 0) {
    move_listed<u64>(to, from, size, list, listed, exchange != 0);
  } else if (size % 4 == 0) {
    move_listed<u32>(to, from, size, list, listed, exchange != 0);
  } else if (size % 2 == 0) {
    move_listed<u16>(to, from, size, list, listed, exchange != 0);
  } else {
    move_listed<u8>(to, from, size, list, listed, exchange != 0);
  }
}

// -- pull over lists --------------------------------------------------------------------------------------------------

__device__ __forceinline__ const u64* row_with(const u64* rows, u64 pages, u64 edge) {
  return pages <= 1 ? rows : rows + page_of(rows, pages, edge) * ROW_WORDS;
}

// Values used in place of the number of pages: INSIDE restricts a kernel to rows that begin in the only page that
// `rows` points to, WITHOUT_EDGES to vertices without edges, which are in no page.
enum : u64 { INSIDE = 0, WITHOUT_EDGES = ~u64(0) };

__device__ __forceinline__ bool belongs(const u64* rows, u64 pages, u64 begin, u64 degree) {
  if (pages == INSIDE) {
    return degree != 0 && rows[ROW_BEGIN] <= begin && begin < rows[ROW_END];
  }
  return pages != WITHOUT_EDGES || degree == 0;
}

// Pulls listed vertices that are not long, with L lanes each, as pull_lanes does. Increases edges[0] by the number of
// edges of all listed vertices.
template <class S, int L>
__device__ __forceinline__ void pull_list(
    u64* frame, const u64* rows, u64 pages, const u32* list, const u64* count, u64* edges) {
  const typename S::Env env = S::bind(frame);
  const u64* offsets = pointer<const u64>(rows, ROW_OFFSETS);
  const u64 listed = *count;
  u64 traversed = 0;
  u32 changed = 0, active = 0;
  for (u64 base = thread_number() / 32 * (32 / L); base < listed; base += thread_count() / L) {
    const u64 i = base + lane_number() / L;
    const u32 v = i < listed ? list[i] : 0;
    const u64 begin = i < listed ? offsets[v] : 0, edges_of = i < listed ? offsets[u64(v) + 1] - begin : 0;
    const bool there = i < listed && belongs(rows, pages, begin, edges_of);
    const u64 degree = there ? edges_of : 0;
    const bool mine = there && degree <= SEGMENT;
    typename S::Acc acc = S::identity(env);
    if (mine && degree && gathers<S>(env, v, S::ready(env, v))) {
      const u64* row = row_with(rows, pages, begin);
      const typename S::Columns columns = S::bind_columns(row);
      const u32* targets = pointer<const u32>(row, ROW_TARGETS);
      acc = strided<S, AT_ONCE>(env, Edges<S>(env, columns, targets, begin, v), u32(degree), lane_number() % L, L);
    }
    acc = lanes_merge<S>(env, acc, L);
    if (lane_number() % L == 0) {
      traversed += degree;
      const u32 flags = mine ? S::apply(env, v, S::ready(env, v), acc) : 0;
      changed += flags & 1;
      active += flags >> 1;
    }
  }
  traversed = warp_sum_wide(traversed);
  if (lane_number() == 0 && traversed) {
    atomicAdd(edges, traversed);
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

// Reduces listed segments of long vertices, one per block, as `segments` does.
template <class S>
__device__ __forceinline__ void segments_list(
    u64* frame, const u64* rows, u64 pages, const i64* table, const u32* list, const u64* count) {
  const typename S::Env env = S::bind(frame);
  const u64 listed = *count;
  for (u64 i = blockIdx.x; i < listed; i += gridDim.x) {
    const u32 s = list[i];
    const u32 v = u32(table[3 * s]);
    const u64 begin = u64(table[3 * s + 1]);
    const u32 degree = u32(u64(table[3 * s + 2]) - begin);
    if (!belongs(rows, pages, begin, degree)) {
      continue;
    }
    const u64* row = row_with(rows, pages, begin);
    const typename S::Columns columns = S::bind_columns(row);
    const u32* targets = pointer<const u32>(row, ROW_TARGETS);
    typename S::Acc acc = S::identity(env);
    if (gathers<S>(env, v, S::ready(env, v))) {
      acc = strided<S, STAGED_AT_ONCE>(env, Edges<S>(env, columns, targets, begin, v), degree, threadIdx.x, blockDim.x);
    }
    acc = block_merge<S>(env, acc, shared_memory<typename S::Acc>(0));
    if (threadIdx.x == 0) {
      S::put(env, i64(s), acc);
    }
  }
}

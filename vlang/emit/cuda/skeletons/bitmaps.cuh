// Frontiers as bitmaps without queues of all their vertices, for loops that push if memory is short.
//
// A frontier has one bit per vertex. A superstep queues its frontier part by part, and pushes each part before it queues
// the next one. The vertices found are only marked in the bitmap of the next superstep.

// Counts the vertices that must push in the next superstep; `bits` is the bitmap of these vertices. Their edges are
// counted if the offsets of all vertices are on the device.
template <class S> struct NextBits {
  const Table& table;
  const typename S::Env& env;
  u32* bits;
  Tally tally;

  __device__ __forceinline__ void flush(const Desk& desk, u32 filled) {
    tally.active += filled;
    for (u32 i = lane_number(); i < filled && table.edges; i += 32) {
      const u32 v = desk.staged[i];
      tally.edges += table.offsets[u64(v) + 1] - table.offsets[v];
    }
  }
};

// Writes the bitmap of the superstep, and counts its vertices. `begins` chooses the vertices.
template <class S, int FROM> __device__ __forceinline__ void begin_bits(u64* frame, const Table* where) {
  const Table& table = *where;
  const typename S::Env env = S::bind(frame);
  const Control* control = table.control;
  u32* bits = table.bits[control->step & 1];
  Tally tally;
  for (u64 base = thread_number() & ~u64(31); base < table.vertices; base += thread_count()) {
    const u64 v = base + lane_number();
    const bool chosen = v < table.vertices && begins<S, FROM>(env, u32(v));
    const u32 word = __ballot_sync(WARP, chosen);
    if (lane_number() == 0) {
      bits[base >> 5] = word;
    }
    tally.active += __popc(word);
    tally.edges += chosen && table.edges ? table.offsets[v + 1] - table.offsets[v] : 0;
  }
  add_tally(tally, own_board().sums, const_cast<Counts*>(control->counts) + control->step % 3);
}

// Appends the vertices low to high - 1 that are in the bitmap of the superstep to a queue as entries, and clears their
// bits. low: a multiple of 32. entries: the number of entries in the queue.
__device__ __forceinline__ void queue_bits(const Table* where, u64 low, u64 high, u64* queue, u64* entries) {
  const Table& table = *where;
  u32* bits = table.bits[table.control->step & 1];
  const Desk desk = own_desk();
  u64 edges = 0;
  u32 filled = 0;
  for (u64 base = low + (thread_number() & ~u64(31)); base < high; base += thread_count()) {
    const u32 word = bits[base >> 5];
    if (word == 0) {
      continue;
    }
    __syncwarp();  // all lanes have read the word
    if (lane_number() == 0) {
      bits[base >> 5] = 0;
    }
    filled = stage(desk, filled, word >> lane_number() & 1, u32(base) + lane_number());
    if (filled > ROOM) {
      __syncwarp();
      append_entries(desk, filled, table.offsets, queue, entries, &edges);
      __syncwarp();
      filled = 0;
    }
  }
  __syncwarp();
  if (filled) {
    append_entries(desk, filled, table.offsets, queue, entries, &edges);
  }
}

// Updates the messages of the vertices in a queue.
template <class S> __device__ __forceinline__ void send_part(u64* frame, const u64* queue, const u64* entries) {
  send_queued<S>(S::bind(frame), queue, *entries, crew_of(false));
}

// Pushes from a slice of a queue, as `push_slice` does, and marks the vertices found in the bitmap of the next superstep.
template <class S>
__device__ __forceinline__ void push_part(u64* frame, const Table* where, const u64* rows, u64 pages,
                                          const u64* entries, u64 heavy, u64 light, const u32* packed) {
  const Table& table = *where;
  const typename S::Env env = S::bind(frame);
  const Turn turn = turn_of(table.control);
  NextBits<S> frontier{table, env, table.bits[1 - turn.parity], {}};
  PushDirect<S, NextBits<S>> work{frontier, table.bits[turn.parity]};
  walk_slice(table, Slice{entries, heavy, light}, work, crew_of(false), rows, pages, packed);
  frontier.tally.changed = frontier.tally.active;
  add_tally(frontier.tally, own_board().sums, turn.next);
}

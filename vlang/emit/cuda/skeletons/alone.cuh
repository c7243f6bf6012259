// Supersteps of one block that keeps its frontier in shared memory, with the place of the edges of each vertex. The
// chain of a superstep is: neighbours, values and offsets of the neighbours (loaded together), atomic operations, one
// barrier of the block. The generic superstep (persistent.cuh) also waits for the queue and for offsets.

[[maybe_unused]] constexpr u32 PLACE_BITS = 10;  // bits for the number of edges of an entry: 0 to CHUNK
static_assert(CHUNK < 1u << PLACE_BITS, "an entry needs more bits for its edges");
[[maybe_unused]] constexpr u32 ALONE_BYTES = 2 * (8 + 4);  // shared memory for each entry of table.held
[[maybe_unused]] constexpr u32 MOST_ADDED = 1u << 26;  // a warp adds at most so many edges to `HeldCounts::edges`
[[maybe_unused]] constexpr u32 ABREAST = 4;            // lanes that take the edges of a short entry
[[maybe_unused]] constexpr u32 SHORT = 2 * ABREAST;    // the most edges of a short entry
[[maybe_unused]] constexpr u32 PAIR = 2;               // edges that a lane has in flight
[[maybe_unused]] constexpr u32 TILE = PAIR * 32 / ABREAST;  // entries that a warp takes at a time

// The counts of the supersteps of one block, by number modulo 3.
struct HeldCounts {
  u32 entries[3];  // entries of the queue
  u32 edges[3];    // edges of the queue; a large number may be too small, but is then at least MOST_ADDED
  u32 rest[2];
};

// The two queues of a block. Entries beyond `held` are in global memory.
struct HeldQueues {
  u64* places;    // 2 * held words: the first edge of each entry << PLACE_BITS | the number of its edges
  u32* vertices;  // 2 * held words
  u64 held;
  HeldCounts* counts;

  __device__ __forceinline__ void put(u64* queue, u32 which, u64 at, u32 v, u64 first, u64 degree, u32 chunk) const {
    if (at >= held) {
      queue[at] = entry_of(v, chunk);
      return;
    }
    const u64 left = degree - u64(chunk) * CHUNK;
    places[which * held + at] = (first + u64(chunk) * CHUNK) << PLACE_BITS | (left < CHUNK ? left : CHUNK);
    vertices[which * held + at] = v;
  }

  // Appends the vertices of those lanes that found one. Each lane has up to PAIR vertices.
  __device__ __forceinline__ void append(
      u64* queue, u32 which, u32* count, const bool* found, const u32* v, const u64* first, const u64* end) const {
    u32 single[PAIR], total = 0;
    UNROLL
    for (u32 j = 0; j < PAIR; j++) {
      single[j] = __ballot_sync(WARP, found[j] && end[j] - first[j] <= CHUNK);
      total += __popc(single[j]);
    }
    if (total) {
      u32 at = 0;
      if (lane_number() == 0) {
        at = atomicAdd(count, total);
      }
      at = lane_value(WARP, at, 0);
      UNROLL
      for (u32 j = 0; j < PAIR; j++) {
        if (single[j] >> lane_number() & 1) {
          const u32 before = __popc(single[j] & ((1u << lane_number()) - 1));
          put(queue, which, at + before, v[j], first[j], end[j] - first[j], 0);
        }
        at += __popc(single[j]);
      }
    }
    UNROLL
    for (u32 j = 0; j < PAIR; j++) {
      for (u32 hubs = __ballot_sync(WARP, found[j] && end[j] - first[j] > CHUNK); hubs; hubs &= hubs - 1) {
        const int hub = __ffs(int(hubs)) - 1;
        const u64 from = lane_value(WARP, first[j], hub), degree = lane_value(WARP, end[j], hub) - from;
        const u32 which_vertex = lane_value(WARP, v[j], hub), chunks = chunks_of(degree);
        u32 at = 0;
        if (lane_number() == 0) {
          at = atomicAdd(count, chunks);
        }
        at = lane_value(WARP, at, 0);
        for (u32 chunk = lane_number(); chunk < chunks; chunk += 32) {
          put(queue, which, at + chunk, which_vertex, from, degree, chunk);
        }
      }
    }
  }
};

// The part of a superstep that one warp does.
template <class S> struct AloneWarp {
  using Work = PushDirect<S, NextFrontier<S, 0>>;
  const Table& table;
  const HeldQueues& queues;
  Work& work;
  Place<Work> place;

  // Processes the entries of the warp in the queue with number `which`; vertices found are appended to the other queue.
  __device__ __forceinline__ void step(u32 which, u32 entries, u32* count) {
    for (u32 begin = (threadIdx.x >> 5) * TILE; begin < entries; begin += (blockDim.x >> 5) * TILE) {
      u32 edges[PAIR], senders[PAIR];
      u64 firsts[PAIR];
      u32 most = 0;
      UNROLL
      for (u32 j = 0; j < PAIR; j++) {
        const u32 i = begin + (32 * j + lane_number()) / ABREAST;
        const u32 at = u32(which * queues.held) + (i < entries ? i : begin);
        const u64 entry = queues.places[at];
        senders[j] = queues.vertices[at];
        edges[j] = i < entries ? u32(entry) & ((1u << PLACE_BITS) - 1) : 0;
        firsts[j] = entry >> PLACE_BITS;
        most = edges[j] > most ? edges[j] : most;
      }
      if (__any_sync(WARP, most > SHORT)) {
        long_tile(which, begin, begin + TILE < entries ? begin + TILE : entries, count);
        continue;
      }
      if constexpr (!S::FRONTIER) {
        UNROLL
        for (u32 j = 0; j < PAIR; j++) {
          if (begin + (32 * j + lane_number()) / ABREAST < entries) {
            work.leave(senders[j]);
          }
        }
      }
      for (u32 edge = lane_number() % ABREAST; __any_sync(WARP, edge < most); edge += ABREAST) {
        bool there[PAIR];
        u64 k[PAIR];
        UNROLL
        for (u32 j = 0; j < PAIR; j++) {
          there[j] = edge < edges[j];
          k[j] = firsts[j] + edge;
        }
        push(which, there, senders, k, count);
      }
    }
  }

  // Processes entries [begin, end), at most TILE. The lanes stride over all of their edges.
  __device__ __forceinline__ void long_tile(u32 which, u32 begin, u32 end, u32* count) {
    const Desk desk = own_desk();
    const u32 lane = lane_number();
    u32 edges = 0;
    u64 first = 0;
    if (begin + lane < end) {
      const u64 entry = queues.places[which * queues.held + begin + lane];
      const u32 u = queues.vertices[which * queues.held + begin + lane];
      edges = u32(entry) & ((1u << PLACE_BITS) - 1);
      first = entry >> PLACE_BITS;
      desk.vertex[lane] = u;
      if constexpr (!S::FRONTIER) {
        work.leave(u);
      }
    }
    const u32 through = warp_inclusive(edges);
    const u32 total = lane_value(WARP, through, 31);
    desk.before[lane] = through - edges;
    desk.first[lane] = i64(first) - i64(through - edges);
    __syncwarp();
    for (u32 base = 0; base < total; base += 32 * PAIR) {
      bool there[PAIR];
      u32 senders[PAIR];
      u64 k[PAIR];
      UNROLL
      for (u32 j = 0; j < PAIR; j++) {
        const u32 i = base + 32 * j + lane;
        u32 slot = 0;
        UNROLL
        for (u32 step = 16; step; step >>= 1) {
          slot += desk.before[slot + step] <= i ? step : 0;
        }
        there[j] = i < total;
        senders[j] = desk.vertex[slot];
        k[j] = u64(desk.first[slot] + i64(i));
      }
      push(which, there, senders, k, count);
    }
    __syncwarp();
  }

  // Pushes along up to PAIR edges per lane.
  __device__ __forceinline__ void push(
      u32 which, const bool* there, const u32* senders, const u64* k, u32* count) {
    u32 receivers[PAIR] = {};
    typename S::Item items[PAIR] = {};
    u64 firsts[PAIR], ends[PAIR];
    bool found[PAIR];
    UNROLL
    for (u32 j = 0; j < PAIR; j++) {
      if (there[j]) {
        place.seek(work, table.rows, table.pages, k[j]);
        receivers[j] = place.targets[k[j]];
        items[j] = work.look(place.columns, receivers[j], senders[j], i64(k[j]));
      }
    }
    UNROLL
    for (u32 j = 0; j < PAIR; j++) {
      found[j] = there[j] && work.wants(receivers[j], items[j]);
    }
    UNROLL
    for (u32 j = 0; j < PAIR; j++) {  // the offsets are loaded before the atomic operations
      firsts[j] = found[j] ? table.offsets[receivers[j]] : 0;
      ends[j] = found[j] ? table.offsets[u64(receivers[j]) + 1] : 0;
    }
    UNROLL
    for (u32 j = 0; j < PAIR; j++) {
      found[j] = found[j] && joined(receivers[j], items[j]);
      work.frontier.tally.edges += found[j] ? ends[j] - firsts[j] : 0;
      work.frontier.tally.active += __popc(__ballot_sync(WARP, found[j]));
    }
    queues.append(table.queues[1 - which], 1 - which, count, found, receivers, firsts, ends);
  }

  // Joins a contribution; returns whether the vertex was found. With a uniform frontier no bits are set on the way.
  __device__ __forceinline__ bool joined(u32 v, const typename S::Item& item) {
    if constexpr (S::FRONTIER) {
      return S::push(work.frontier.env, v, item);
    } else {
      return work.join(v, item);
    }
  }
};

// What a run of supersteps did, for the thread that records them.
struct AloneRun {
  u64 steps, walked, worked;      // supersteps; edges of the last one; edges of all of them
  u64 entries, active, edges;     // the counts of the next frontier
  u64 reached, reached_edges;     // vertices that were found in all supersteps, and the edges that leave them
};

// Takes the queue with number `which` from global memory. All threads take part, and must synchronise afterwards.
template <class S>
__device__ __forceinline__ void hold_queue(const Table& table, const HeldQueues& queues, u32 which, u64 entries) {
  for (u64 i = threadIdx.x; i < entries; i += blockDim.x) {
    const u64 entry = table.queues[which][i];
    const u32 u = u32(entry);
    const u64 first = table.offsets[u];
    queues.put(nullptr, which, i, u, first, table.offsets[u64(u) + 1] - first, u32(entry >> 32));
    if constexpr (S::FRONTIER) {
      clear_word(table.bits[which], u);
    }
  }
}

// Returns the queue with number `which` to global memory. All threads take part.
template <class S>
__device__ __forceinline__ void return_queue(const Table& table, const HeldQueues& queues, u32 which, u64 entries) {
  for (u64 i = threadIdx.x; i < entries; i += blockDim.x) {
    u32 v = 0;
    if (i < queues.held) {
      v = queues.vertices[which * queues.held + i];
      const u64 first = queues.places[which * queues.held + i] >> PLACE_BITS;
      table.queues[which][i] = entry_of(v, u32((first - table.offsets[v]) / CHUNK));
    } else {
      v = u32(table.queues[which][i]);
    }
    if constexpr (S::FRONTIER) {
      set_bit(table.bits[which], v);
    }
  }
}

// Runs supersteps until the frontier is empty, has more than `held` entries or `most_edges` edges, or `most` supersteps
// have been run. step, edges, entries: the number of the first superstep and the counts of its frontier, which is not
// empty and has at most `held` entries. records: where the first superstep is recorded. sums: TALLIES words of shared
// memory per warp. All threads of one block take part; the result is complete in the last warp only.
template <class S>
__device__ __forceinline__ AloneRun run_alone(
    const Table& table, const typename S::Env& env, const HeldQueues& queues, u64* sums, u64* records, u64 step,
    u64 entries, u64 edges, u64 most, u64 most_edges) {
  using Next = NextFrontier<S, 0>;
  const bool recording = threadIdx.x >> 5 == (blockDim.x >> 5) - 1;
  HeldCounts& counts = *queues.counts;
  u32 which = u32(step) & 1, third = 0, held = u32(entries);
  hold_queue<S>(table, queues, which, entries);
  if (threadIdx.x < 3) {
    counts.entries[threadIdx.x] = counts.edges[threadIdx.x] = 0;
  }
  AloneRun run{0, edges, 0, 0, 0, edges, 0, 0};
  Next frontier{table, env, nullptr, nullptr, nullptr, 0, 0, false, {}};
  PushDirect<S, Next> work{frontier, nullptr};
  AloneWarp<S> warp{table, queues, work, {}};
  warp.place.open(work, table.rows, table.pages == 1);
  __syncthreads();
  for (bool more = true; more;) {
    const u32 next = third == 2 ? 0 : third + 1;
    frontier.bits = table.bits[1 - which];
    work.present = table.bits[which];
    frontier.tally = Tally{};
    if (threadIdx.x == blockDim.x - 1) {
      counts.entries[next == 2 ? 0 : next + 1] = counts.edges[next == 2 ? 0 : next + 1] = 0;
    }
    warp.step(which, held, &counts.entries[next]);
    const u64 found = __any_sync(WARP, frontier.tally.edges >= MOST_ADDED) ? warp_sum_wide(frontier.tally.edges)
                                                                           : warp_sum(u32(frontier.tally.edges));
    u64* mine = sums + TALLIES * (threadIdx.x >> 5) + 2 * which;
    if (lane_number() == 0) {
      mine[0] = frontier.tally.active;
      mine[1] = found;
      if (found) {
        atomicAdd(&counts.edges[next], u32(found < MOST_ADDED ? found : MOST_ADDED));
      }
    }
    __syncthreads();
    held = counts.entries[next];
    more = held && held <= queues.held && counts.edges[next] <= most_edges && run.steps + 1 < most;
    run.steps++;
    if (recording) {  // a whole warp, so that it adds up the counts in a few steps
      const u64* all = sums + 2 * which + TALLIES * lane_number();
      const bool counted = lane_number() < blockDim.x >> 5;
      run.walked = run.edges;
      run.worked += run.walked;
      run.entries = held;
      run.active = warp_sum_wide(counted ? all[0] : 0);
      run.edges = warp_sum_wide(counted ? all[1] : 0);
      run.reached += run.active;
      run.reached_edges += run.edges;
      u64* row = records + 4 * (run.steps - 1);
      if (lane_number() < 4) {
        row[lane_number()] = lane_number() < 2 ? run.active : lane_number() == 2 ? run.walked : u64(MODE_PUSH);
      }
    }
    which = 1 - which;
    third = next;
  }
  return_queue<S>(table, queues, which, held);
  return run;
}

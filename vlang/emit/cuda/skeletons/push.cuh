// Pushing along the edges of a frontier, and the work that follows it in the same superstep.

// The counts of a warp in a superstep. edges: one count per lane. The other members are equal in all lanes.
struct Tally {
  u64 edges = 0, looked = 0;
  u32 active = 0, changed = 0;
};

constexpr u32 TALLIES = 4;  // words of shared memory per warp
constexpr u32 SHARERS = 32 / TALLIES;  // lanes that add up one of the tallies of all warps

// Adds the tallies of a block to the counts of the next superstep. sums: TALLIES words of shared memory per warp. All
// threads take part. The caller must synchronise before the counts are read, and before the next call. Warps do not
// add to shared counters: 64-bit atomic operations on one word of shared memory run one after the other.
__device__ __forceinline__ void add_tally(const Tally& tally, u64* sums, Counts* next) {
  const u64 edges = __any_sync(WARP, tally.edges != 0) ? warp_sum_wide(tally.edges) : 0;
  const u64 looked = __any_sync(WARP, tally.looked != 0) ? warp_sum_wide(tally.looked) : 0;
  if (lane_number() == 0) {
    u64* mine = sums + TALLIES * (threadIdx.x >> 5);
    mine[0] = tally.active;
    mine[1] = edges;
    mine[2] = tally.changed;
    mine[3] = looked;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    const u32 which = threadIdx.x / SHARERS;
    u64 sum = 0;
    for (u32 warp = threadIdx.x % SHARERS; warp < blockDim.x >> 5; warp += SHARERS) {
      sum += sums[TALLIES * warp + which];
    }
    for (int offset = SHARERS / 2; offset; offset >>= 1) {
      sum += __shfl_xor_sync(WARP, sum, offset);
    }
    if (threadIdx.x % SHARERS == 0 && sum) {
      atomicAdd(&next->active + which, sum);  // active, edges, changed, looked
    }
  }
}

// -- optional members of a stage --------------------------------------------------------------------------------------

// Computes the messages of a vertex before it pushes.
template <class S>
__device__ __forceinline__ auto send_from(const typename S::Env& env, u32 v, int) -> decltype(S::send(env, v)) {
  S::send(env, v);
}
template <class S> __device__ __forceinline__ void send_from(const typename S::Env&, u32, long) {}

template <class S> __device__ constexpr auto sends(int) -> decltype(S::send(typename S::Env{}, 0u), true) {
  return true;
}
template <class S> __device__ constexpr bool sends(long) { return false; }

// Whether all contributions of a vertex are known to be the identity (rule Z).
template <class S>
__device__ __forceinline__ auto silent(const typename S::Env& env, u32 v, int) -> decltype(S::silent(env, v)) {
  return S::silent(env, v);
}
template <class S> __device__ __forceinline__ bool silent(const typename S::Env&, u32, long) { return false; }

// Tests by plain loads whether a contribution might change the field or the cells of a vertex.
template <class S>
__device__ __forceinline__ auto improves(const typename S::Env& env, u32 v, const typename S::Item& item, int)
    -> decltype(S::improves(env, v, item)) {
  return S::improves(env, v, item);
}
template <class S>
__device__ __forceinline__ bool improves(const typename S::Env&, u32, const typename S::Item&, long) {
  return true;
}

// -- order of priorities ----------------------------------------------------------------------------------------------

__device__ __forceinline__ u64 priority_key(f64 x) {
  const u64 bits = u64(__double_as_longlong(x));
  return bits >> 63 ? ~bits : bits | u64(1) << 63;
}
__device__ __forceinline__ f64 key_priority(u64 key) {
  return __longlong_as_double(i64(key >> 63 ? key & ~(u64(1) << 63) : ~key));
}

// -- next frontiers ---------------------------------------------------------------------------------------------------

// Appends the vertices that must push in the next superstep to its queue. Under PRIORITY, vertices whose priority is
// not below the bound go to the far pile instead. The other vertices are only marked in `bits` (FOUND is MARKED), or
// also queued (QUEUED), or also counted by page (COUNTED).
//
// A vertex is found once per superstep: its bit in `bits` is set while it is staged or queued. A vertex in a far pile
// has its bit in far_bits set. If it is queued before the pile is divided, this bit is cleared, and its entry in the
// pile becomes void. A stale priority is never too small, so a vertex may be processed late but is never lost.
template <class S, int PRIORITY, int FOUND = QUEUED> struct NextFrontier {
  const Table& table;
  const typename S::Env& env;
  u64* queue;
  Counts* counts;
  u32* bits;
  u64 pile;
  f64 bound;
  bool first;  // no bound is known yet, so the priorities are added up
  Tally tally;

  __device__ __forceinline__ void flush(const Desk& desk, u32 filled) {
    tally.active += filled;
    if constexpr (PRIORITY) {
      filled = divide(desk, filled);
    }
    if (FOUND != MARKED && filled) {
      append_entries(desk, filled, table.offsets, queue, &counts->entries, &tally.edges);
    }
    if constexpr (FOUND == COUNTED) {
      count_entries(table, desk, filled);
    }
  }

  // Moves staged vertices beyond the bound to the pile, and closes the gaps among the others.
  __device__ __forceinline__ u32 divide(const Desk& desk, u32 filled) {
    u32 kept = 0;
    u64 least = ~u64(0);
    for (u32 base = 0; base < filled; base += 32) {
      const bool there = base + lane_number() < filled;
      const u32 v = there ? desk.staged[base + lane_number()] : 0;
      const f64 priority = there ? S::priority(env, v) : 0;
      const bool near = there && priority < bound;
      __syncwarp();
      kept = stage(desk, kept, near, v);
      bool fresh = false;
      if (near && bit_of(table.far_bits, v)) {
        clear_bit(table.far_bits, v);
      }
      if (there && !near) {
        clear_bit(bits, v);
        fresh = set_bit(table.far_bits, v);
        least = priority_key(priority) < least ? priority_key(priority) : least;
      }
      append_listed(table.far[pile], &table.control->piled[pile], fresh, v);
      if (first) {
        add_up(table.control, fresh, priority);
      }
    }
    note_least(table.control->least + pile, least);
    __syncwarp();
    return kept;
  }

  static __device__ __forceinline__ void add_up(Control* control, bool there, f64 priority) {
    f64 sum = there ? priority : 0;
    for (int offset = 16; offset; offset >>= 1) {
      sum += __shfl_xor_sync(WARP, sum, offset);
    }
    const u32 count = __popc(__ballot_sync(WARP, there));
    if (lane_number() == 0 && count) {
      atomicAdd(&control->total, sum);
      atomicAdd(&control->totalled, u64(count));
    }
  }

  static __device__ __forceinline__ void note_least(u64* place, u64 least) {
    for (int offset = 16; offset; offset >>= 1) {
      const u64 other = __shfl_xor_sync(WARP, least, offset);
      least = other < least ? other : least;
    }
    if (lane_number() == 0 && least < glance(place)) {
      atomicMin(place, least);
    }
  }
};

// -- pushing ----------------------------------------------------------------------------------------------------------

// Joins contributions into the field itself; vertices whose field changes are found. Next: NextFrontier or NextBits.
template <class S, class Next> struct PushDirect {
  using Columns = typename S::Columns;
  using Item = typename S::Item;
  static constexpr bool FINDS = true;
  Next& frontier;
  u32* present;  // the bits of the queue that is being processed

  __device__ __forceinline__ Columns bind(const u64* row) const { return S::bind_columns(row); }
  __device__ __forceinline__ Item look(const Columns& columns, u32 v, u32 u, i64 k) const {
    return S::contribute(frontier.env, columns, v, u, k);
  }
  __device__ __forceinline__ bool wants(u32 v, const Item& item) const {
    return improves<S>(frontier.env, v, item, 0);
  }
  __device__ __forceinline__ bool join(u32 v, const Item& item) {
    if (!S::push(frontier.env, v, item)) {
      return false;
    }
    const bool fresh = set_bit(frontier.bits, v);
    return fresh || S::FRONTIER;  // with a uniform frontier, a vertex changes only once
  }
  __device__ __forceinline__ void leave(u32 u) { clear_word(present, u); }
  __device__ __forceinline__ void flush(const Desk& desk, u32 filled) { frontier.flush(desk, filled); }
};

// Joins contributions into cells. Vertices whose cells change are added to the list of touched vertices.
template <class S> struct PushCells {
  using Columns = typename S::Columns;
  using Item = typename S::Item;
  static constexpr bool FINDS = true;
  const Table& table;
  const typename S::Env& env;
  u64* touched;

  __device__ __forceinline__ Columns bind(const u64* row) const { return S::bind_columns(row); }
  __device__ __forceinline__ Item look(const Columns& columns, u32 v, u32 u, i64 k) const {
    return S::contribute(env, columns, v, u, k);
  }
  __device__ __forceinline__ bool wants(u32 v, const Item& item) const { return improves<S>(env, v, item, 0); }
  __device__ __forceinline__ bool join(u32 v, const Item& item) {
    return S::push(env, v, item) && set_bit(table.touched_bits, v);
  }
  __device__ __forceinline__ void leave(u32) {}
  __device__ __forceinline__ void flush(const Desk& desk, u32 filled) {
    for (u32 base = 0; base < filled; base += 32) {
      const bool there = base + lane_number() < filled;
      const u32 v = there ? desk.staged[base + lane_number()] : 0;
      append_listed(table.touched, touched, there, v);
    }
  }
};

// Applies the contributions pushed to touched vertices. Vertices that become active push in the next superstep.
template <class S, int FOUND>
__device__ __forceinline__ void apply_touched(const Table& table, NextFrontier<S, 0, FOUND>& frontier,
                                              const Crew& crew) {
  const Desk desk = own_desk();
  const u64 touched = frontier.counts->touched;
  u32 filled = 0;
  for (u64 base = 32 * crew.warp; base < touched; base += 32 * crew.warps) {
    u32 v = 0, flags = 0;
    if (base + lane_number() < touched) {
      v = table.touched[base + lane_number()];
      clear_word(table.touched_bits, v);
      flags = S::apply(frontier.env, v, S::ready(frontier.env, v), S::pushed(frontier.env, v));
    }
    frontier.tally.changed += __popc(__ballot_sync(WARP, flags & 1));
    filled = stage(desk, filled, flags & 2, v);
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
    __syncwarp();
  }
}

// Updates the messages of the vertices in a queue.
template <class S>
__device__ __forceinline__ void send_queued(
    const typename S::Env& env, const u64* queue, u64 entries, const Crew& crew) {
  for (u64 i = 32 * crew.warp + lane_number(); i < entries; i += 32 * crew.warps) {
    if (queue[i] >> 32 == 0) {
      send_from<S>(env, u32(queue[i]), 0);
    }
  }
}

// Frontiers that several devices share. Each device pushes along the edges that lead to its own vertices, so its queue
// has active vertices of its own and mirrors of active vertices. After a superstep the queue of the next one has only
// own vertices; their values are sent to the devices that mirror them, and enter the queues there.

[[maybe_unused]] constexpr u32 NOT_MIRRORED = ~u32(0);

// A box has a record for each value: the place of the vertex among the mirrors of the other device, in as many words T
// as it takes, and `width` words of the value.
template <class T> constexpr u32 PLACE_WORDS = sizeof(T) < 4 ? 4 / sizeof(T) : 1;

// Collects the values of the vertices in the present queue that another device mirrors. places: u32[high - low], for
// each own vertex its place there, or NOT_MIRRORED. count: increased by the number of records; `before` is its value
// before. Also clears the counter of the grid barrier, for the next launch of `traverse`.
template <class T>
__device__ __forceinline__ void collect_queue(
    const Table* where, const u32* places, u64 low, u64 high, u64 values, u64 width, u64 box, u64* count, u64 before) {
  Control* control = where->control;
  if (thread_number() == 0) {
    control->arrived = 0;
  }
  const u64* queue = where->queues[control->step & 1];
  const u64 entries = control->counts[control->step % 3].entries;
  const T* from = reinterpret_cast<const T*>(values);
  T* to = reinterpret_cast<T*>(box);
  for (u64 base = thread_number() & ~u64(31); base < entries; base += thread_count()) {
    const u64 entry = base + lane_number() < entries ? queue[base + lane_number()] : ~u64(0);
    const u64 v = u32(entry);
    const u32 place = entry >> 32 == 0 && v >= low && v < high ? places[v - low] : NOT_MIRRORED;
    const u32 some = __ballot_sync(WARP, place != NOT_MIRRORED);
    if (some == 0) {
      continue;
    }
    u64 at = 0;
    if (lane_number() == 0) {
      at = atomicAdd(count, u64(__popc(some)));
    }
    at = lane_value(WARP, at, 0) - before + __popc(some & ((1u << lane_number()) - 1));
    if (place != NOT_MIRRORED) {
      T* record = to + at * (PLACE_WORDS<T> + width);
      for (u32 w = 0; w < PLACE_WORDS<T>; w++) {
        record[w] = T(place >> 8 * sizeof(T) % 32 * w);
      }
      for (u64 w = 0; w < width; w++) {
        record[PLACE_WORDS<T> + w] = from[v * width + w];
      }
    }
  }
}

// Stores received values in mirrors, and appends these mirrors to the present queue. first: the local number of the
// mirror in place 0.
template <class T>
__device__ __forceinline__ void adopt_values(
    const Table* where, u64 box, u64 count, u64 width, u64 values, u64 first) {
  const Table& table = *where;
  const u64 parity = table.control->step & 1;
  Counts* counts = table.control->counts + table.control->step % 3;
  const T* from = reinterpret_cast<const T*>(box);
  T* to = reinterpret_cast<T*>(values);
  const Desk desk = own_desk();
  u64 edges = 0;
  for (u64 base = thread_number() & ~u64(31); base < count; base += thread_count()) {
    const bool there = base + lane_number() < count;
    u32 v = 0;
    if (there) {
      const T* record = from + (base + lane_number()) * (PLACE_WORDS<T> + width);
      v = u32(first);
      for (u32 w = 0; w < PLACE_WORDS<T>; w++) {
        v += u32(record[w]) << 8 * sizeof(T) % 32 * w;
      }
      for (u64 w = 0; w < width; w++) {
        to[v * width + w] = record[PLACE_WORDS<T> + w];
      }
      set_bit(table.bits[parity], v);
    }
    const u32 filled = stage(desk, 0, there, v);
    __syncwarp();
    append_entries(desk, filled, table.offsets, table.queues[parity], &counts->entries, &edges);
    __syncwarp();
  }
  edges = warp_sum_wide(edges);
  if (lane_number() == 0 && edges) {
    atomicAdd(&counts->edges, edges);
  }
}

// Moves the vertices of the far pile that are below the bound to the present queue, and the others to the second pile.
// `end_sift` must follow.
template <class S> __device__ __forceinline__ void sift_far(u64* frame, const Table* where) {
  const typename S::Env env = S::bind(frame);
  Control* control = where->control;
  sift<S>(*where, env, where->queues[control->step & 1], control->counts + control->step % 3, crew_of(false));
}

// Makes the second pile the far pile.
__device__ __forceinline__ void end_sift(const Table* where) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    Control* control = where->control;
    control->piled[control->pile] = 0;
    control->least[control->pile] = ~u64(0);
    control->pile = 1 - control->pile;
  }
}

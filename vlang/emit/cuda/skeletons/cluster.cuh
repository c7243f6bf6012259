// Supersteps over few vertices by one cluster of blocks. Each block keeps a part of the frontier in its shared memory, and
// a warp appends the vertices that it finds to the queue of some block of the cluster, so that all blocks have about the
// same number of entries. The barrier of a cluster takes a fifth of the time of the barrier of the grid.
//
// The code of a superstep is short on purpose: each warp runs it once or twice in a superstep, so that the time to load
// instructions counts. A vertex with more than NARROW edges ends the series.

[[maybe_unused]] constexpr u32 NARROW = 32;    // the most edges of a vertex that is kept in shared memory
[[maybe_unused]] constexpr u32 ROW_LANES = 4;  // lanes that take the edges of an entry
[[maybe_unused]] constexpr u32 NONE = ~0u;     // in place of a vertex that is queued in global memory

// The counts of the frontiers of one block, by number of the superstep modulo 3.
struct FewCounts {
  u32 entries[3];  // vertices appended to the queue of this block, also those that have no place there
  u32 edges[3];    // edges that this block has processed in the superstep before
  u32 spills[3];   // whether this block has queued a vertex in global memory
  u32 spilled;     // of block 0: the number of entries of that queue
  u32 total[2];    // entries and edges of the whole cluster
  u32 over;        // whether any block has queued a vertex in global memory
  u64 rest;        // of block 0: the number of edges of the last frontier
};
static_assert(sizeof(FewCounts) <= 3 * sizeof(Counts), "the counts of a cluster lie in the place of other counts");

// The two queues of a block: the first edge of each vertex << PLACE_BITS | the number of its edges, and the vertex.
struct FewQueues {
  u64* places;    // 2 * held words
  u32* vertices;  // 2 * held words
  u32 held;
  FewCounts* counts;
};

// Queues a vertex in global memory. This is rare, so the function is not inlined.
__device__ __noinline__ void spill(u64* queue, FewCounts* first, u32 v, u64 degree) {
  const u32 chunks = chunks_of(degree), at = atomicAdd(&first->spilled, chunks);
  for (u32 chunk = 0; chunk < chunks; chunk++) {
    queue[at + chunk] = entry_of(v, chunk);
  }
  atomicAdd(&first->rest, degree);
}

// Takes this block's part of the queue with number `which`. All threads take part, and must synchronise afterwards.
template <class S>
__device__ __forceinline__ void hold_few(const Table& table, const FewQueues& queues, u32 which, u32 entries) {
  FewCounts& counts = *queues.counts;
  for (u32 i = threadIdx.x; i * CLUSTER + blockIdx.x < entries; i += blockDim.x) {
    const u64 entry = table.queues[which][i * CLUSTER + blockIdx.x];
    const u32 u = u32(entry);
    const u64 first = table.offsets[u] + (entry >> 32) * CHUNK, left = table.offsets[u64(u) + 1] - first;
    queues.places[which * queues.held + i] = first << PLACE_BITS | (left < CHUNK ? left : CHUNK);
    queues.vertices[which * queues.held + i] = u;
    if constexpr (S::FRONTIER) {
      clear_word(table.bits[which], u);
    }
  }
  if (threadIdx.x < 3) {
    const bool first = threadIdx.x == 0 && entries > blockIdx.x;
    counts.entries[threadIdx.x] = first ? (entries - blockIdx.x - 1) / CLUSTER + 1 : 0;
    counts.edges[threadIdx.x] = counts.spills[threadIdx.x] = 0;
  }
  if (threadIdx.x == 0) {
    counts.spilled = 0;
    counts.rest = 0;
  }
}

// Returns the frontier to the queue with number `which` in global memory. All threads of the cluster take part.
template <class S>
__device__ __forceinline__ void return_few(const Table& table, const FewQueues& queues, u32 which, u32 third) {
  FewCounts* first = peer(queues.counts, 0);
  const u32 spilled = first->spilled, appended = queues.counts->entries[third];
  const u32 here = appended < queues.held ? appended : queues.held;
  meet_cluster();  // all blocks have read `spilled`
  if constexpr (S::FRONTIER) {
    for (u64 i = thread_number(); i < spilled; i += thread_count()) {
      set_bit(table.bits[which], u32(table.queues[which][i]));
    }
  }
  for (u32 begin = threadIdx.x & ~31u; begin < here; begin += blockDim.x) {
    const u32 i = which * queues.held + begin + lane_number();
    const u32 v = begin + lane_number() < here ? queues.vertices[i] : NONE;
    const u64 place = v == NONE ? 0 : queues.places[i];
    const u32 mine = __ballot_sync(WARP, v != NONE), edges = warp_sum(u32(place) & ((1u << PLACE_BITS) - 1));
    u32 at = 0;
    if (lane_number() == 0) {
      at = atomicAdd(&first->spilled, __popc(mine));
      atomicAdd(&first->rest, u64(edges));
    }
    at = lane_value(WARP, at, 0) + __popc(mine & ((1u << lane_number()) - 1));
    if (v != NONE) {
      table.queues[which][at] = entry_of(v, 0);
      if constexpr (S::FRONTIER) {
        set_bit(table.bits[which], v);
      }
    }
  }
  meet_cluster();  // no block ends while others access its shared memory
}

// Processes the entries of this block in the queue with number `which`; vertices found are appended to the other queues.
// third, next: the places of the counts of the two queues.
template <class S>
__device__ __forceinline__ void step_few(
    const Table& table, const typename S::Env& env, const typename S::Columns& columns, const u32* targets,
    const FewQueues& queues, u32 which, u32 third, u32 next) {
  const u32 lane = lane_number(), warp = threadIdx.x >> 5, each = 32 / ROW_LANES, held = queues.held;
  const u32 entries = queues.counts->entries[third];
  u32 walked = 0;
  for (u32 begin = warp * each; begin < entries; begin += (blockDim.x >> 5) * each) {
    const u32 i = begin + lane / ROW_LANES;
    const u64 place = i < entries ? queues.places[which * held + i] : 0;
    const u32 u = i < entries ? queues.vertices[which * held + i] : 0;
    const u32 edges = u32(place) & ((1u << PLACE_BITS) - 1);
    walked += lane % ROW_LANES == 0 ? edges : 0;
    if constexpr (!S::FRONTIER) {
      if (i < entries) {
        clear_word(table.bits[which], u);
      }
    }
    for (u32 edge = lane % ROW_LANES; __any_sync(WARP, edge < edges); edge += ROW_LANES) {
      u32 v = 0;
      u64 first = 0, end = 0;
      bool found = false;
      if (edge < edges) {
        const u64 k = (place >> PLACE_BITS) + edge;
        v = targets[k];
        const typename S::Item item = S::contribute(env, columns, v, u, i64(k));
        first = table.offsets[v];  // loaded together with the value of v
        end = table.offsets[u64(v) + 1];
        found = improves<S>(env, v, item, 0) && S::push(env, v, item);
        if constexpr (!S::FRONTIER) {
          found = found && set_bit(table.bits[1 - which], v);
        }
      }
      const u32 mine = __ballot_sync(WARP, found);
      if (mine) {
        const u32 block = (blockIdx.x + warp) % CLUSTER;
        u32 at = 0;
        if (lane == 0) {
          at = atomicAdd(peer(&queues.counts->entries[next], block), __popc(mine));
        }
        at = lane_value(WARP, at, 0) + __popc(mine & ((1u << lane) - 1));
        const bool kept = end - first <= NARROW;
        if (found && at < held) {
          *peer(queues.places + (1 - which) * held + at, block) = first << PLACE_BITS | (end - first);
          *peer(queues.vertices + (1 - which) * held + at, block) = kept ? v : NONE;
        }
        if (found && !(kept && at < held)) {
          atomicOr(&queues.counts->spills[next], 1u);
          spill(table.queues[1 - which], peer(queues.counts, 0), v, end - first);
        }
      }
    }
  }
  walked = warp_sum(walked);
  if (lane == 0 && walked) {
    atomicAdd(&queues.counts->edges[next], walked);
  }
}

// Adds up the counts of all blocks. One warp of each block takes part, after a barrier of the cluster. Lanes 0 to 3
// write the words of `record`, if there is one.
__device__ __forceinline__ void total_few(FewCounts* counts, u32 next, u64* record) {
  u32 entries = 0, edges = 0, spills = 0;
  if (lane_number() < CLUSTER) {
    const FewCounts* there = peer(counts, lane_number());
    entries = there->entries[next];
    edges = there->edges[next];
    spills = there->spills[next];
  }
  const u32 over = __any_sync(WARP, spills != 0);
  for (u32 offset = CLUSTER / 2; offset; offset >>= 1) {
    entries += __shfl_xor_sync(WARP, entries, int(offset));
    edges += __shfl_xor_sync(WARP, edges, int(offset));
  }
  if (lane_number() == 0) {
    counts->total[0] = entries;
    counts->total[1] = edges;
    counts->over = over;
  }
  if (record != nullptr && lane_number() < 4) {
    record[lane_number()] = lane_number() < 2 ? entries : lane_number() == 2 ? edges : u64(MODE_PUSH);
  }
}

// Runs supersteps until the frontier is empty or too large for the cluster, or `most` supersteps have been run. The
// first frontier is not empty, and has at most table.few / 2 entries. One cluster of blocks is launched; all edges are
// in one page.
template <class S> __device__ __forceinline__ void traverse_few(u64* frame, const Table* where, u64 most) {
  const Board board = own_board();
  const Table& table = own_table(*where, board);
  const typename S::Env env = S::bind(frame);
  __syncthreads();
  Control* control = table.control;
  FewCounts* counts = reinterpret_cast<FewCounts*>(board.counts);
  const u32 held = u32(2 * table.few / CLUSTER);
  const FewQueues queues{board.held, reinterpret_cast<u32*>(board.held + 2 * held), held, counts};
  const typename S::Columns columns = S::bind_columns(table.rows);
  const u32* targets = pointer<const u32>(table.rows, ROW_TARGETS);
  const u64 limit = undecided_edges<S>(table, table.few_edges), begin = control->step;
  const bool recording = threadIdx.x >> 5 == (blockDim.x >> 5) - 1;
  u32 which = u32(begin) & 1, third = 0;
  u64 done = 0, worked = 0, reached = 0;
  const u64 edges = control->counts[begin % 3].edges;
  hold_few<S>(table, queues, which, u32(control->counts[begin % 3].entries));
  meet_cluster();
  for (bool more = true; more;) {
    const u32 next = third == 2 ? 0 : third + 1, last = next == 2 ? 0 : next + 1;
    if (threadIdx.x == blockDim.x - 1) {  // no block reads these counts in this superstep, or adds to them
      counts->entries[last] = counts->edges[last] = counts->spills[last] = 0;
    }
    step_few<S>(table, env, columns, targets, queues, which, third, next);
    meet_cluster();
    if (recording) {
      total_few(counts, next, blockIdx.x == 0 ? table.records + 4 * done : nullptr);
    }
    __syncthreads();
    done++;
    reached += counts->total[0];
    worked += counts->total[1];
    more = counts->total[0] && !counts->over && counts->total[0] <= table.few && counts->total[1] <= limit &&
           done < most;
    which = 1 - which;
    third = next;
  }
  return_few<S>(table, queues, which, third);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const u64 entries = counts->spilled, active = counts->total[0], step = begin + done, rest = counts->rest;
    const u64 reached_edges = worked - edges + rest, unreached = control->unreached, theirs = control->unreached_edges;
    control->step = step;
    control->done = done;
    control->reason = entries == 0 ? ENDED_EMPTY : done == most ? ENDED_LIMIT : rest >= table.leave ? ENDED_LARGE : 0;
    control->unreached = unreached - (reached < unreached ? reached : unreached);
    control->unreached_edges = theirs - (reached_edges < theirs ? reached_edges : theirs);
    control->counts[0] = control->counts[1] = control->counts[2] = Counts{};
    control->counts[step % 3] = Counts{entries, active, rest, active, 0, 0, 0};
    control->worked += worked;
    control->worked_steps += done;
  }
}

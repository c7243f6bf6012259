// Frontiers: the data of kernels that process only active vertices, and how these kernels process a frontier.
//
// A frontier is a queue of entries and a bitmap of the same vertices. An entry is a vertex (low 32 bits) and a chunk
// (high 32 bits), which stands for the edges [offset + chunk * CHUNK, + CHUNK) of the vertex. So the edges of a hub are
// spread over many warps. A warp takes a tile of up to 32 entries, adds up their edges, and its lanes stride over all
// of these edges. The load balance does not depend on degrees, and no block barrier is needed. Each warp stages the
// vertices that it finds in shared memory, and appends them to the next queue with one atomic operation per flush.

constexpr u32 CHUNK = 512;                // the most edges that one entry covers
constexpr u32 FLIGHT = 4;                 // edges that a lane has in flight
constexpr u32 ROOM = 3 * 32;              // vertices that a warp stages before it flushes
constexpr u32 STAGED = ROOM + 32 * FLIGHT;

struct Counts {
  u64 entries;  // the number of entries in the queue
  u64 active;   // vertices in the queue
  u64 edges;    // the number of edges along which they push
  u64 changed;  // vertices that the previous superstep changed
  u64 looked;   // edges read by the previous superstep while it pulled
  u64 taken;    // tiles of the queue taken so far, except the first tile of each warp
  u64 touched;  // vertices that received contributions before they were added to this queue
};

// The state of a loop over frontiers, which is kept between launches. All members are 64 bits wide
// (runtime/gpu/kernels/sparse_layout.py).
struct Control {
  u64 arrived;          // blocks that have arrived at the grid barrier
  u64 step;             // supersteps so far
  u64 done;             // supersteps of this launch
  u64 reason;           // why the launch ended: ENDED_...
  u64 unreached;        // vertices that are not reached yet, for early exit
  u64 unreached_edges;  // the number of edges that leave them
  u64 pile;             // which of the two far piles is in use
  u64 piled[2];         // the number of entries in each pile
  u64 least[2];         // for each pile, a lower bound on its priorities, as an order key
  u64 start;            // order key of the smallest priority in the first frontier
  f64 total;            // the sum of the first priorities sent to a pile; then the number of these
  u64 totalled;
  f64 bound;            // vertices with a priority below it go first
  f64 delta;            // the step by which the bound is raised; 0 if not known yet
  u64 raises;           // number of raises
  u64 worked;           // edges since the bound was `worked_from`; then supersteps and raises since then
  u64 worked_steps;
  u64 worked_raises;
  f64 worked_from;
  f64 cost;             // the cost per unit of priority, as last measured; 0 if not measured yet
  u64 narrowing;        // whether delta was then halved rather than doubled
  u64 sent;             // values sent to other devices so far
  u64 sent_bytes;
  Counts counts[3];     // the counts of supersteps step, step + 1 and step + 2, by number modulo 3
};

// The arrays and parameters of a loop over frontiers. All members are 64 bits wide
// (runtime/gpu/kernels/sparse_layout.py).
struct Table {
  u64 vertices;
  u64 low, high;    // the vertices that may become active: all, or those that one of several devices owns
  const u64* rows;  // pages of the edges along which active vertices push
  u64 pages;
  const u64* offsets;
  u64 edges;        // 0 if only the offsets of queued vertices are on the device
  const u64* pull_rows;  // pages of the edges along which vertices gather
  u64 pull_pages;
  const u64* pull_offsets;
  const i64* segments;  // the segments of these edges
  u64 segment_count;
  u64* queues[2];
  u32* bits[2];       // for each queue, a bitmap of its vertices, if needed
  u32* touched;       // vertices that received contributions: a list, then a bitmap
  u32* touched_bits;
  u32* far[2];        // vertices beyond the bound: the lists of the two piles, then a bitmap
  u32* far_bits;
  Control* control;
  u64* records;       // 4 words per superstep of a launch: active, changed, edges, mode
  u64 solo;           // the number of entries that one block processes alone
  u64 solo_edges;     // the number of edges of such entries
  u64 held;           // the number of entries of a queue in shared memory, or 0
  u64 few;            // the number of entries that a cluster processes, or 0; then the number of edges of such entries
  u64 few_edges;
  u64 leave;          // the number of edges at which a frontier is returned to the host
  u64 rule;           // the rule for early exit: RULE_...
  u64 push_cost;      // the cost per edge pushed; then per edge read and per vertex tested, in the same unit
  u64 pull_cost;
  u64 scan_cost;
  const u64* starts;  // the first edge of each page of `rows`; then, for each page, the counts of `PageMarks`
  u64* marks;         // for the next superstep, or null if no kernel may count
};

enum : u64 { RULE_COST, RULE_BEAMER, RULE_PUSH, RULE_PULL };
enum : u64 { MODE_PUSH, MODE_EARLY };
enum : u64 { ENDED_EMPTY = 1, ENDED_LIMIT, ENDED_LARGE, ENDED_FEW };
enum : int { FROM_START, FROM_NOTIFY };
enum : int { MARKED, QUEUED, COUNTED };

__device__ __forceinline__ u64 entry_of(u32 v, u32 chunk) { return u64(chunk) << 32 | v; }

__device__ __forceinline__ u32 chunks_of(u64 degree) {
  return degree <= CHUNK ? 1 : u32((degree + CHUNK - 1) / CHUNK);  // a vertex without edges also has an entry
}

// The sum over the lanes of a warp, in every lane.
__device__ __forceinline__ u64 warp_sum_wide(u64 value) {
  for (int offset = 16; offset; offset >>= 1) {
    value += __shfl_xor_sync(WARP, value, offset);
  }
  return value;
}

// The page of an edge: the last page whose first edge is at or before it.
__device__ __forceinline__ u64 page_of(const u64* rows, u64 pages, u64 edge) {
  u64 low = 0, high = pages;
  while (low + 1 < high) {
    const u64 middle = (low + high) / 2;
    if (rows[middle * ROW_WORDS + ROW_BEGIN] <= edge) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// The number of warps that share work, and the number of this warp.
struct Crew {
  u64 warp, warps;
};

__device__ __forceinline__ Crew crew_of(bool alone) {
  const u64 warp = threadIdx.x >> 5, each = blockDim.x >> 5;
  return alone ? Crew{warp, each} : Crew{blockIdx.x * each + warp, gridDim.x * each};
}

// -- the staging area of a warp ---------------------------------------------------------------------------------------

// The shared memory of a warp, in which the warp stages vertices.
struct Desk {
  i64* first;   // 32 values: for each entry of a tile, the number of its first edge, minus `before`
  u32* before;  // 32 values: for each entry, the number of the tile's edges before it
  u32* vertex;  // 32 values: the vertex of each entry
  u32* staged;  // STAGED values: the vertices found
};

constexpr u32 DESK_BYTES = 32 * (8 + 4 + 4) + 4 * STAGED;

__device__ __forceinline__ Desk own_desk() {
  const u32 at = (threadIdx.x >> 5) * DESK_BYTES;
  return {shared_memory<i64>(at), shared_memory<u32>(at + 256), shared_memory<u32>(at + 384),
          shared_memory<u32>(at + 512)};
}

// Stages the vertices of those lanes that found one; returns the number of staged vertices.
__device__ __forceinline__ u32 stage(const Desk& desk, u32 filled, bool found, u32 v) {
  const u32 finders = __ballot_sync(WARP, found);
  if (found) {
    desk.staged[filled + __popc(finders & ((1u << lane_number()) - 1))] = v;
  }
  return filled + __popc(finders);
}

// Appends the staged vertices to a queue as entries, by one atomic operation. Each lane adds to its `edges` the degrees
// of the vertices that it handles.
__device__ __forceinline__ void append_entries(
    const Desk& desk, u32 filled, const u64* offsets, u64* queue, u64* entries, u64* edges) {
  u32 chunks[STAGED / 32];
  u32 mine = 0;
  UNROLL
  for (u32 j = 0; j < STAGED / 32; j++) {
    const u32 i = 32 * j + lane_number();
    chunks[j] = 0;
    if (i < filled) {
      const u32 v = desk.staged[i];
      const u64 degree = offsets[u64(v) + 1] - offsets[v];
      *edges += degree;
      chunks[j] = chunks_of(degree);
      mine += chunks[j];
    }
  }
  const u32 through = warp_inclusive(mine);
  u64 at = 0;
  if (lane_number() == 31) {
    at = atomicAdd(entries, u64(through));
  }
  at = lane_value(WARP, at, 31) + through - mine;
  UNROLL
  for (u32 j = 0; j < STAGED / 32; j++) {
    if (32 * j < filled) {
      const u32 v = chunks[j] ? desk.staged[32 * j + lane_number()] : 0;
      if (chunks[j] == 1) {
        queue[at] = entry_of(v, 0);
      }
      for (u32 hubs = __ballot_sync(WARP, chunks[j] > 1); hubs; hubs &= hubs - 1) {
        const int hub = __ffs(int(hubs)) - 1;
        const u64 from = lane_value(WARP, at, hub);
        const u32 which = lane_value(WARP, v, hub), count = lane_value(WARP, chunks[j], hub);
        for (u32 chunk = lane_number(); chunk < count; chunk += 32) {
          queue[from + chunk] = entry_of(which, chunk);
        }
      }
      at += chunks[j];
    }
  }
}

// Counts, for each page, the entries that `append_entries` makes of the staged vertices. The page of every vertex found
// is then known when the superstep ends (GTS, Kim et al., SIGMOD'16, 3.3: nextPIDSet).
__device__ __forceinline__ void count_entries(const Table& table, const Desk& desk, u32 filled) {
  if (table.marks == nullptr) {
    return;
  }
  PageMarks found{table.starts, table.pages, table.marks, 0, 0, 0, 0, 0, 0};
  for (u32 base = 0; base < filled; base += 32) {
    const bool there = base + lane_number() < filled;
    const u32 v = there ? desk.staged[base + lane_number()] : 0;
    const u64 begin = there ? table.offsets[v] : 0, end = there ? table.offsets[u64(v) + 1] : 0;
    if (there && end - begin <= CHUNK) {
      found.add(begin, end);
    }
    for (u32 hubs = __ballot_sync(WARP, end - begin > CHUNK); hubs; hubs &= hubs - 1) {
      const int hub = __ffs(int(hubs)) - 1;
      const u64 stop = lane_value(WARP, end, hub);
      for (u64 at = lane_value(WARP, begin, hub) + lane_number() * CHUNK; at < stop; at += 32 * CHUNK) {
        found.add(at, at + CHUNK < stop ? at + CHUNK : stop);
      }
    }
  }
  found.flush();
}

// Appends the vertices of those lanes that have one to a list.
__device__ __forceinline__ void append_listed(u32* list, u64* count, bool there, u32 v) {
  const u32 lanes = __ballot_sync(WARP, there);
  if (lanes) {
    u64 at = 0;
    if (lane_number() == 0) {
      at = atomicAdd(count, u64(__popc(lanes)));
    }
    at = lane_value(WARP, at, 0) + __popc(lanes & ((1u << lane_number()) - 1));
    if (there) {
      list[at] = v;
    }
  }
}

// -- bits -------------------------------------------------------------------------------------------------------------

// Reads a bit. Other threads may be changing bits of the same word.
__device__ __forceinline__ bool bit_of(const u32* bits, u32 v) { return glance(bits + (v >> 5)) >> (v & 31) & 1; }

// Sets a bit; returns whether it was 0 before.
__device__ __forceinline__ bool set_bit(u32* bits, u32 v) {
  const u32 bit = 1u << (v & 31);
  return !(atomicOr(bits + (v >> 5), bit) & bit);
}

// Clears a word of bits. Other threads may clear the same word.
__device__ __forceinline__ void clear_word(u32* bits, u32 v) { *(volatile u32*)(bits + (v >> 5)) = 0; }

__device__ __forceinline__ void clear_bit(u32* bits, u32 v) { atomicAnd(bits + (v >> 5), ~(1u << (v & 31))); }

// -- processing a queue -----------------------------------------------------------------------------------------------

// The type W of `work` has these members:
//   Columns bind(row)
//   Item look(columns, v, u, k): loads the data of an edge from u to v; many such loads are in flight
//   bool wants(v, item): tests by plain loads whether the contribution might change anything; many are in flight
//   bool join(v, item): joins the contribution, and returns whether v is found
//   FINDS: whether `join` can ever return true
//   void leave(u): is called for every vertex of the queue, at least once
//   void flush(desk, filled): takes the staged vertices

// Finds the page of edge k, for a lane that asks for increasing values of k.
template <class W> struct Place {
  typename W::Columns columns;
  const u32* targets;
  u64 begin, end;  // the edges of the page

  __device__ __forceinline__ void open(const W& work, const u64* row, bool only) {
    columns = work.bind(row);
    targets = pointer<const u32>(row, ROW_TARGETS);
    begin = only ? 0 : row[ROW_BEGIN];
    end = only ? ~u64(0) : row[ROW_END];
  }
  __device__ __forceinline__ void seek(const W& work, const u64* rows, u64 pages, u64 k) {
    if (k >= end || k < begin) {
      open(work, rows + page_of(rows, pages, k) * ROW_WORDS, false);
    }
  }
};

// Processes one tile of a queue: the lanes stride over the edges of up to 32 entries. With INSIDE, they process only
// edges in the page of `place`. If `packed` is given, the edges of entry i begin at packed[i] in the page of `place`.
// Returns the number of staged vertices.
template <class W, bool INSIDE>
__device__ __forceinline__ u32 walk_tile(
    const Table& table, const u64* queue, u64 begin, u64 end, W& work, Place<W>& place, const Desk& desk, u32 filled,
    const u32* packed = nullptr) {
  const u32 lane = lane_number();
  u32 edges = 0;
  u64 first = 0;
  if (begin + lane < end) {
    const u64 entry = queue[begin + lane];
    const u32 u = u32(entry);
    first = table.offsets[u] + (entry >> 32) * CHUNK;
    const u64 left = table.offsets[u64(u) + 1] - first;
    edges = u32(left < CHUNK ? left : CHUNK);
    if constexpr (INSIDE) {
      const u64 end = first + edges < place.end ? first + edges : place.end;
      first = first < place.begin ? place.begin : first;
      edges = first < end ? u32(end - first) : 0;
    }
    if (packed != nullptr) {
      first = packed[begin + lane];
    }
    desk.vertex[lane] = u;
    work.leave(u);
  }
  const u32 through = warp_inclusive(edges);
  const u32 total = lane_value(WARP, through, 31);
  desk.before[lane] = through - edges;
  desk.first[lane] = i64(first) - i64(through - edges);
  __syncwarp();
  for (u32 base = 0; base < total; base += 32 * FLIGHT) {
    u32 receivers[FLIGHT] = {};
    typename W::Item items[FLIGHT] = {};
    UNROLL
    for (u32 j = 0; j < FLIGHT; j++) {
      const u32 i = base + 32 * j + lane;
      if (i < total) {
        u32 slot = 0;
        UNROLL
        for (u32 step = 16; step; step >>= 1) {
          slot += desk.before[slot + step] <= i ? step : 0;
        }
        const i64 k = desk.first[slot] + i64(i);
        place.seek(work, table.rows, table.pages, u64(k));
        receivers[j] = place.targets[k];
        items[j] = work.look(place.columns, receivers[j], desk.vertex[slot], k);
      }
    }
    bool wanted[FLIGHT];
    UNROLL
    for (u32 j = 0; j < FLIGHT; j++) {
      wanted[j] = base + 32 * j + lane < total && work.wants(receivers[j], items[j]);
    }
    UNROLL
    for (u32 j = 0; j < FLIGHT; j++) {
      const bool found = wanted[j] && work.join(receivers[j], items[j]);
      if constexpr (W::FINDS) {
        filled = stage(desk, filled, found, receivers[j]);
      }
    }
    if constexpr (W::FINDS) {
      if (filled > ROOM) {
        __syncwarp();
        work.flush(desk, filled);
        __syncwarp();
        filled = 0;
      }
    }
  }
  __syncwarp();
  return filled;
}

// Processes a queue with a crew of warps. Every warp has a first tile; a warp takes further tiles when it is free. The
// staging area is empty before and after. With INSIDE, only edges in the page of `row` are processed. Tiles are then
// assigned statically, because the kernels of other pages may process the same queue at the same time.
template <class W, bool INSIDE = false>
__device__ __forceinline__ void walk(
    const Table& table, const u64* queue, u64 entries, u64* taken, W& work, const Crew& crew,
    const u64* row = nullptr) {
  u32 shift = 0;  // a tile has 1 to 32 entries, so that every warp gets one
  while (shift < 5 && crew.warps << shift < entries) {
    shift++;
  }
  const u64 tiles = (entries + (u64(1) << shift) - 1) >> shift;
  const Desk desk = own_desk();
  Place<W> place;
  if constexpr (INSIDE) {
    place.open(work, row, false);
  } else {
    place.open(work, table.rows, table.pages == 1);
  }
  u32 filled = 0;
  for (u64 tile = crew.warp; tile < tiles;) {
    u64 next = INSIDE ? tile + crew.warps : tiles;
    if (!INSIDE && tiles > crew.warps && lane_number() == 0) {
      next = crew.warps + atomicAdd(taken, u64(1));  // the result arrives while the tile is processed
    }
    const u64 begin = tile << shift, end = (tile + 1) << shift;
    filled = walk_tile<W, INSIDE>(table, queue, begin, end < entries ? end : entries, work, place, desk, filled);
    tile = lane_value(WARP, next, 0);
  }
  if constexpr (W::FINDS) {
    if (filled) {
      work.flush(desk, filled);
      __syncwarp();
    }
  }
}

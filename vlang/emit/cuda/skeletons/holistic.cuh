// Passes that need all contributions of a vertex at once (rule R): whose rooms lie where, and who fills them (the
// structures in a room are those of rooms.cuh).

// -- one vertex -------------------------------------------------------------------------------------------------------

template <class Group> __device__ __forceinline__ void clear_room(const Group& group, const Room& room, u64 words) {
  for (u64 i = group.rank(); room.live && i < words; i += group.size()) {
    room.at[i] = 0;
  }
}

// `count` contributions from edge `begin` on, filed; what the other gathers of the pass take is returned.
template <class S, class Group>
__device__ __forceinline__ typename S::Acc file_edges(
    const Group& group, const Edges<S>& edges, u32 count, const Room& room) {
  const typename S::Env& env = edges.env;
  typename S::Acc acc = S::identity(env);
  for (u32 i = group.rank(); room.live && i < count; i += group.size()) {
    const typename S::Item item = edges.item(i, edges.target(i));
    S::file(room, item);
    acc = S::merge(env, acc, S::lift(item));
  }
  return acc;
}

// All of a vertex that is not long; the result is in the first thread of the group. The room may be used again at once.
template <class S, class Group>
__device__ __forceinline__ typename S::Acc whole_vertex(
    const Group& group, const typename S::Env& env, const u64* row, u32 v, u64 begin, const Room& room) {
  clear_room(group, room, S::room(room.degree));
  group.sync();
  typename S::Acc acc = S::identity(env);
  if (room.live) {
    const typename S::Columns columns = S::bind_columns(row);
    acc = file_edges<S>(group, Edges<S>(env, columns, pointer<const u32>(row, ROW_TARGETS), begin, v),
                        u32(room.degree), room);
  }
  group.sync();
  acc = group.template merge<S>(env, S::merge(env, acc, S::conclude(env, group, room)));
  group.sync();
  return acc;
}

// -- shelves: rooms of vertices that are not long, but too much for shared memory -------------------------------------

struct Shelves {
  u32* flags;  // one a shelf: whether it is taken
  u64 count, words;
  u32* memory;
};

__device__ __forceinline__ u32* take_shelf(const Shelves& shelves, u32* shared) {
  if (threadIdx.x == 0) {
    u64 shelf = blockIdx.x % shelves.count;
    while (atomicCAS(shelves.flags + shelf, u32(SHELF_FREE), u32(SHELF_TAKEN)) != SHELF_FREE) {
      shelf = shelf + 1 == shelves.count ? 0 : shelf + 1;
    }
    __threadfence();
    *shared = u32(shelf);
  }
  __syncthreads();
  return shelves.memory + shelves.words * *shared;
}

__device__ __forceinline__ void return_shelf(const Shelves& shelves, const u32* shared) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicExch(shelves.flags + *shared, u32(SHELF_FREE));
  }
}

// -- passes -----------------------------------------------------------------------------------------------------------

// Vertices [low, high) of a page.
struct PageRows {
  const u64* row;
  u64 high;

  __device__ __forceinline__ bool has(u64 i) const { return i < high; }
  __device__ __forceinline__ u32 vertex(u64 i) const { return u32(i); }
  __device__ __forceinline__ const u64* row_of(u64) const { return row; }
  __device__ __forceinline__ bool takes(u64, u64) const { return true; }
};

// Listed vertices.
struct ListRows {
  const u64* rows;
  u64 pages;
  const u32* list;
  u64 count;

  __device__ __forceinline__ bool has(u64 i) const { return i < count; }
  __device__ __forceinline__ u32 vertex(u64 i) const { return list[i]; }
  __device__ __forceinline__ const u64* row_of(u64 edge) const { return row_with(rows, pages, edge); }
  __device__ __forceinline__ bool takes(u64 begin, u64 degree) const { return belongs(rows, pages, begin, degree); }
};

// As many vertices as a block has threads, from `base` on: those with small rooms by groups of L lanes, then those with
// larger ones by the block, one after the other. Long ones are left out. Returns the edges of this thread's vertex.
template <class S, int L, class Rows>
__device__ __forceinline__ u64 whole_chunk(
    const typename S::Env& env, const Rows& rows, const u64* offsets, u64 base, const Shelves& shelves, u32& changed,
    u32& active) {
  const u32 warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const u32 room_words = warps * ROOM_WORDS;
  u32* rooms = shared_memory<u32>(0);
  u32* found = rooms + room_words;  // the large vertices of each warp; behind them the number of a shelf
  const BlockGroup block{reinterpret_cast<unsigned char*>(found + 36)};
  const LaneGroup<L> lanes;
  const u64 at = base + threadIdx.x;
  const u32 mine = rows.has(at) ? rows.vertex(at) : 0;
  const u64 my_begin = rows.has(at) ? offsets[mine] : 0;
  const u64 all_edges = rows.has(at) ? offsets[u64(mine) + 1] - my_begin : 0;
  const bool taken = rows.has(at) && rows.takes(my_begin, all_edges);
  const u64 my_degree = taken ? all_edges : 0;
  const bool short_one = taken && my_degree <= SEGMENT;
  const bool gathering = short_one && my_degree != 0 && gathers<S>(env, mine, S::ready(env, mine));
  const bool large = gathering && S::room(my_degree) > ROOM_WORDS / 32 * L;
  const u32 large_ones = __ballot_sync(WARP, large);
  if (lane_number() == 0) {
    found[warp] = large_ones;
  }
  u32* slice = rooms + warp * ROOM_WORDS + lane_number() / L * (ROOM_WORDS / 32 * L);
  for (u32 step = 0; step < L; step++) {
    const u32 owner = step * (32 / L) + lane_number() / L;
    const u32 v = lane_value(WARP, mine, owner);
    const u64 begin = lane_value(WARP, my_begin, owner), degree = lane_value(WARP, my_degree, owner);
    const bool there = lane_value(WARP, short_one && !large, owner);
    const bool live = lane_value(WARP, gathering && !large, owner);
    const Room room{slice, degree, live};
    const typename S::Acc acc = whole_vertex<S>(lanes, env, live ? rows.row_of(begin) : nullptr, v, begin, room);
    if (there && lanes.rank() == 0) {
      const u32 flags = S::apply(env, v, S::ready(env, v), acc);
      changed += flags & 1;
      active += flags >> 1;
    }
  }
  __syncthreads();
  for (u32 w = 0; w < warps; w++) {
    for (u32 bits = found[w]; bits; bits &= bits - 1) {
      const u32 v = rows.vertex(base + 32 * w + u32(__ffs(i32(bits)) - 1));
      const u64 begin = offsets[v], degree = offsets[u64(v) + 1] - begin;
      const bool shelved = S::room(degree) > room_words;
      u32* place = shelved ? take_shelf(shelves, found + 32) : rooms;
      const typename S::Acc acc = whole_vertex<S>(block, env, rows.row_of(begin), v, begin, Room{place, degree, true});
      if (shelved) {
        return_shelf(shelves, found + 32);
      }
      if (threadIdx.x == 0) {
        const u32 flags = S::apply(env, v, S::ready(env, v), acc);
        changed += flags & 1;
        active += flags >> 1;
      }
    }
  }
  __syncthreads();
  return my_degree;
}

template <class S, int L>
__device__ __forceinline__ void pull_whole(u64* frame, const u64* row, u64 low, u64 high, const Shelves* shelves) {
  const typename S::Env env = S::bind(frame);
  const u64* offsets = pointer<const u64>(row, ROW_OFFSETS);
  u32 changed = 0, active = 0;
  for (u64 base = low + u64(blockIdx.x) * blockDim.x; base < high; base += thread_count()) {
    whole_chunk<S, L>(env, PageRows{row, high}, offsets, base, *shelves, changed, active);
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

// Listed vertices that are not long; edges[0] grows by the edges of all that are listed.
template <class S, int L>
__device__ __forceinline__ void pull_whole_list(
    u64* frame, const u64* rows, u64 pages, const u32* list, const u64* count, u64* edges, const Shelves* shelves) {
  const typename S::Env env = S::bind(frame);
  const u64* offsets = pointer<const u64>(rows, ROW_OFFSETS);
  const ListRows listed{rows, pages, list, *count};
  u64 traversed = 0;
  u32 changed = 0, active = 0;
  for (u64 base = u64(blockIdx.x) * blockDim.x; base < listed.count; base += thread_count()) {
    traversed += whole_chunk<S, L>(env, listed, offsets, base, *shelves, changed, active);
  }
  traversed = warp_sum_wide(traversed);
  if (lane_number() == 0 && traversed) {
    atomicAdd(edges, traversed);
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

// -- long vertices ----------------------------------------------------------------------------------------------------

// The rooms of long vertices: where each begins in `memory`, in the order of the table of long vertices.
struct Halls {
  const u64* starts;
  u64 count;
  const u64* offsets;
  u32* memory;
};

__device__ __forceinline__ Room hall_of(const Halls& halls, u64 number, u32 v) {
  return Room{halls.memory + halls.starts[number], halls.offsets[u64(v) + 1] - halls.offsets[v], true};
}

// One segment of a long vertex, by a block.
template <class S>
__device__ __forceinline__ void whole_segment(u64* frame, const typename S::Env& env, const u64* row, u64 s,
                                              const Halls& halls) {
  const i64* table = pointer<const i64>(frame, SLOT_SEGMENTS);
  const i64* longs = pointer<const i64>(frame, SLOT_LONGS);
  const u32 v = u32(table[3 * s]);
  const u64 begin = u64(table[3 * s + 1]);
  const BlockGroup block{shared_memory<unsigned char>(0)};
  typename S::Acc acc = S::identity(env);
  if (gathers<S>(env, v, S::ready(env, v))) {
    u64 low = 0, high = halls.count;  // longs[low] <= v < longs[high]
    while (high - low > 1) {
      const u64 middle = (low + high) / 2;
      if (u32(longs[3 * middle]) <= v) {
        low = middle;
      } else {
        high = middle;
      }
    }
    const typename S::Columns columns = S::bind_columns(row);
    acc = file_edges<S>(block, Edges<S>(env, columns, pointer<const u32>(row, ROW_TARGETS), begin, v),
                        u32(u64(table[3 * s + 2]) - begin), hall_of(halls, low, v));
  }
  acc = block.template merge<S>(env, acc);
  if (threadIdx.x == 0) {
    S::put(env, i64(s), acc);
  }
  __syncthreads();
}

template <class S>
__device__ __forceinline__ void segments_whole(u64* frame, const u64* row, u64 low, u64 high, const Halls* halls) {
  const typename S::Env env = S::bind(frame);
  for (u64 s = low + blockIdx.x; s < high; s += gridDim.x) {
    whole_segment<S>(frame, env, row, s, *halls);
  }
}

template <class S>
__device__ __forceinline__ void segments_whole_list(
    u64* frame, const u64* rows, u64 pages, const i64* table, const u32* list, const u64* count, const Halls* halls) {
  const typename S::Env env = S::bind(frame);
  for (u64 i = blockIdx.x; i < *count; i += gridDim.x) {
    const u64 begin = u64(table[3 * u64(list[i]) + 1]);
    if (belongs(rows, pages, begin, 1)) {
      whole_segment<S>(frame, env, row_with(rows, pages, begin), list[i], *halls);
    }
  }
}

// One long vertex, by a block: its segments merged, thread t taking those with numbers t, t + threads, ..., and its room
// read off and left zero.
template <class S>
__device__ __forceinline__ u32 finish_whole_one(u64* frame, const typename S::Env& env, u64 number, const Halls& halls) {
  const i64* longs = pointer<const i64>(frame, SLOT_LONGS);
  const BlockGroup block{shared_memory<unsigned char>(0)};
  const u32 v = u32(longs[3 * number]);
  Room room = hall_of(halls, number, v);
  room.live = gathers<S>(env, v, S::ready(env, v));
  typename S::Acc acc = S::identity(env);
  for (i64 s = longs[3 * number + 1] + threadIdx.x; s < longs[3 * number + 2]; s += blockDim.x) {
    acc = S::merge(env, acc, S::get(env, s));
  }
  acc = block.template merge<S>(env, S::merge(env, acc, S::conclude(env, block, room)));
  __syncthreads();
  clear_room(block, room, S::room(room.degree));
  u32 flags = 0;
  if (threadIdx.x == 0) {
    flags = S::apply(env, v, S::ready(env, v), acc);
  }
  __syncthreads();
  return flags;
}

template <class S>
__device__ __forceinline__ void finish_whole(u64* frame, u64 low, u64 high, const Halls* halls) {
  const typename S::Env env = S::bind(frame);
  u32 changed = 0, active = 0;
  for (u64 number = low + blockIdx.x; number < high; number += gridDim.x) {
    const u32 flags = finish_whole_one<S>(frame, env, number, *halls);
    changed += flags & 1;
    active += flags >> 1;
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

template <class S>
__device__ __forceinline__ void finish_whole_list(u64* frame, const u32* list, const u64* count, const Halls* halls) {
  const typename S::Env env = S::bind(frame);
  u32 changed = 0, active = 0;
  for (u64 i = blockIdx.x; i < *count; i += gridDim.x) {
    const u32 flags = finish_whole_one<S>(frame, env, list[i], *halls);
    changed += flags & 1;
    active += flags >> 1;
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

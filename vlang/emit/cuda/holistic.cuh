// Passes that need all contributions of a vertex at once (rule R): mode, mex and hindex.
//
// A group of lanes, or a block, files the contributions of a vertex in its *room*, zeroed memory in which they are
// counted by integer atomics, and reads the results off: the order in which they came does not matter. A room lies in
// shared memory if it fits there, else in one of a few shelves of global memory. Long vertices have rooms of their own
// in global memory, as their edges come by segments: these are zero between passes.
//
// Structures in a room, in words of 32 bits, an even number of them for a vertex of `degree` edges:
//   table   a hash table with linear probing, at least a third of it empty: keys, then counts. A key is stored as its
//           complement, so that 0 is an empty slot; the key whose complement is 0 has the last slot to itself
//   bitmap  a bit for each of 0 ... degree
//   sizes   how many values there are of each size 0 ... degree, larger ones among the last

enum : u32 {
  ROOM_WORDS = 1024,               // of shared memory for a warp (entries.py)
  SHELF_FREE = 0, SHELF_TAKEN = 1,
};

struct Room {
  u32* at;  // aligned to 8 bytes
  u64 degree;
  bool live;  // whether there is a vertex
};

// -- groups -----------------------------------------------------------------------------------------------------------

// L lanes of a warp; all lanes of the warp take part in what its groups do together.
template <int L> struct LaneGroup {
  __device__ __forceinline__ u32 rank() const { return lane_number() % L; }
  __device__ __forceinline__ u32 size() const { return L; }
  __device__ __forceinline__ void sync() const { __syncwarp(); }
  // The sum over the lanes behind this one.
  __device__ __forceinline__ u32 behind(u32 value) const {
    u32 sum = value;
    UNROLL
    for (u32 offset = 1; offset < L; offset <<= 1) {
      const u32 other = lane_value(WARP, sum, (lane_number() + offset) & 31);
      sum += rank() + offset < L ? other : 0;
    }
    return sum - value;
  }
  template <class S>
  __device__ __forceinline__ typename S::Acc merge(const typename S::Env& env, typename S::Acc acc) const {
    return lanes_merge<S>(env, acc, L);
  }
};

// A block; `spare` is shared memory beside the rooms, for an accumulator a warp.
struct BlockGroup {
  unsigned char* spare;

  __device__ __forceinline__ u32 rank() const { return threadIdx.x; }
  __device__ __forceinline__ u32 size() const { return blockDim.x; }
  __device__ __forceinline__ void sync() const { __syncthreads(); }
  __device__ __forceinline__ u32 behind(u32 value) const {
    u32 total;
    const u32 before = block_exclusive(value, reinterpret_cast<u32*>(spare), total);
    return total - before - value;
  }
  template <class S>
  __device__ __forceinline__ typename S::Acc merge(const typename S::Env& env, typename S::Acc acc) const {
    return block_merge<S>(env, acc, reinterpret_cast<typename S::Acc*>(spare));
  }
};

// -- structures -------------------------------------------------------------------------------------------------------

__device__ __forceinline__ u64 table_slots(u64 degree) { return degree + degree / 2 + 1; }
__device__ __forceinline__ u64 even_words(u64 words) { return words + (words & 1); }
template <class K> __device__ __forceinline__ u64 table_words(u64 degree) {
  return even_words((table_slots(degree) + 1) * (sizeof(K) / 4 + 1));
}
__device__ __forceinline__ u64 bitmap_words(u64 degree) { return even_words(degree / 32 + 1); }
__device__ __forceinline__ u64 sizes_words(u64 degree) { return even_words(degree + 1); }

__device__ __forceinline__ u32 scattered(u32 key) { return key * 0x9E3779B1u; }
__device__ __forceinline__ u32 scattered(u64 key) { return u32(((key ^ (key >> 32)) * 0x9E3779B97F4A7C15ull) >> 32); }

template <class K> __device__ __forceinline__ void table_put(u32* at, u64 degree, K key) {
  const u64 slots = table_slots(degree);
  K* keys = reinterpret_cast<K*>(at);
  u32* counts = reinterpret_cast<u32*>(keys + slots + 1);
  const K stored = K(~key);
  u64 slot = slots;
  if (stored != 0) {
    slot = (u64(scattered(key) >> 1) * slots) >> 31;
    while (true) {
      const K there = glance(keys + slot);
      const K before = there == 0 ? atomicCAS(keys + slot, K(0), stored) : there;
      if (before == 0 || before == stored) {
        break;
      }
      slot = slot + 1 == slots ? 0 : slot + 1;
    }
  }
  atomicAdd(counts + slot, 1u);
}

template <class W> struct Ahead {
  W value;
  u32 count;
};

// The most frequent of the values in this thread's share of the table, the smallest on ties; K is W without sign.
template <class K, class W, class Group>
__device__ __forceinline__ Ahead<W> table_read(const Group& group, const u32* at, const Room& room) {
  const u64 slots = table_slots(room.degree);
  const K* keys = reinterpret_cast<const K*>(at);
  const u32* counts = reinterpret_cast<const u32*>(keys + slots + 1);
  Ahead<W> best{W(0), 0};
  for (u64 i = group.rank(); room.live && i <= slots; i += group.size()) {
    const u32 count = counts[i];
    if (count != 0 && count >= best.count) {
      const W value = W(i == slots ? K(~K(0)) : K(~keys[i]));
      if (count > best.count || value < best.value) {
        best = Ahead<W>{value, count};
      }
    }
  }
  return best;
}

__device__ __forceinline__ void bitmap_put(u32* at, u64 degree, u32 value) {
  if (value <= degree && !(glance(at + value / 32) >> (value & 31) & 1)) {
    atomicOr(at + value / 32, 1u << (value & 31));
  }
}

// The smallest value that is not in this thread's share of the bitmap; `none` if all are.
template <class T, class Group>
__device__ __forceinline__ T bitmap_read(const Group& group, const u32* at, const Room& room, T none) {
  const u64 words = room.degree / 32 + 1;
  for (u64 i = group.rank(); room.live && i < words; i += group.size()) {
    if (at[i] != ~0u) {
      return T(32 * i + u32(__ffs(i32(~at[i])) - 1));
    }
  }
  return none;
}

__device__ __forceinline__ void sizes_put(u32* at, u64 degree, u32 value) {
  atomicAdd(at + (value < degree ? value : degree), 1u);
}

// The largest h in this thread's share of the sizes for which h values are at least h.
template <class Group> __device__ __forceinline__ u32 sizes_read(const Group& group, const u32* at, const Room& room) {
  const u64 sizes = room.live ? room.degree + 1 : 0;
  const u64 each = (sizes + group.size() - 1) / group.size();
  const u64 low = each * group.rank() < sizes ? each * group.rank() : sizes;
  const u64 high = low + each < sizes ? low + each : sizes;
  u32 sum = 0;
  for (u64 i = low; i < high; i++) {
    sum += at[i];
  }
  u64 reached = group.behind(sum);
  for (u64 h = high; h-- > low;) {
    reached += at[h];
    if (reached >= h) {
      return u32(h);
    }
  }
  return 0;
}

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

// -- shelves: rooms of vertices that are not long, but too much for shared memory -----------------------------------------

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
  const u64 my_degree = rows.has(at) ? offsets[u64(mine) + 1] - my_begin : 0;
  const bool short_one = rows.has(at) && my_degree <= SEGMENT;
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
    whole_segment<S>(frame, env, row_with(rows, pages, u64(table[3 * u64(list[i]) + 1])), list[i], *halls);
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

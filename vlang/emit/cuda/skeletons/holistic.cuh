// Passes that need all contributions of a vertex at the same time (rule R): which scratch memory each vertex uses, and
// which threads fill it. scratch.cuh defines the structures in it.

// -- one vertex -------------------------------------------------------------------------------------------------------

template <class Group>
__device__ __forceinline__ void clear_scratch(const Group& group, const Scratch& scratch, u64 words) {
  for (u64 i = group.rank(); scratch.live && i < words; i += group.size()) {
    scratch.at[i] = 0;
  }
}

// Files the contributions of `count` edges, starting with edge `begin`; returns the accumulators of the other gathers.
// first: the place of the first of these edges in the row.
template <class S, class Group>
__device__ __forceinline__ typename S::Acc file_edges(
    const Group& group, const Edges<S>& edges, u32 first, u32 count, const Scratch& scratch) {
  const typename S::Env& env = edges.env;
  typename S::Acc acc = S::identity(env);
  for (u32 i = group.rank(); scratch.live && i < count; i += group.size()) {
    const typename S::Item item = edges.item(i, edges.target(i));
    S::file(scratch, item, first + i);
    acc = S::merge(env, acc, S::lift(env, item));
  }
  return acc;
}

// Processes all edges of a vertex that is not long. The first thread of the group has the result. The scratch can be
// reused right after the call.
template <class S, class Group>
__device__ __forceinline__ typename S::Acc whole_vertex(
    const Group& group, const typename S::Env& env, const u64* row, u32 v, u64 begin, const Scratch& scratch) {
  if (S::COUNTS) {
    clear_scratch(group, scratch, S::scratch_words(scratch.degree));
    group.sync();
  }
  typename S::Acc acc = S::identity(env);
  if (scratch.live) {
    const typename S::Columns columns = S::bind_columns(row);
    acc = file_edges<S>(group, Edges<S>(env, columns, pointer<const u32>(row, ROW_TARGETS), begin, v), 0,
                        u32(scratch.degree), scratch);
  }
  group.sync();
  S::combine(env, group, scratch, 0, scratch.live ? u32(scratch.degree) : 0);
  acc = group.template merge<S>(env, S::merge(env, acc, S::conclude(env, group, scratch, v)));
  group.sync();
  return acc;
}

// -- block scratch, for vertices that are not long but need more than shared memory ----------------------------------

struct BlockScratch {
  u32* flags;  // for each piece, whether a block has claimed it
  u64 count, words;
  u32* memory;
};

__device__ __forceinline__ u32* claim_block_scratch(const BlockScratch& pool, u32* shared) {
  if (threadIdx.x == 0) {
    u64 piece = blockIdx.x % pool.count;
    while (atomicCAS(pool.flags + piece, u32(SCRATCH_FREE), u32(SCRATCH_CLAIMED)) != SCRATCH_FREE) {
      piece = piece + 1 == pool.count ? 0 : piece + 1;
    }
    __threadfence();
    *shared = u32(piece);
  }
  __syncthreads();
  return pool.memory + pool.words * *shared;
}

__device__ __forceinline__ void release_block_scratch(const BlockScratch& pool, const u32* shared) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicExch(pool.flags + *shared, u32(SCRATCH_FREE));
  }
}

// -- passes -----------------------------------------------------------------------------------------------------------

// Processes vertices [low, high) of a page.
struct PageRows {
  const u64* row;
  u64 high;

  __device__ __forceinline__ bool has(u64 i) const { return i < high; }
  __device__ __forceinline__ u32 vertex(u64 i) const { return u32(i); }
  __device__ __forceinline__ const u64* row_of(u64) const { return row; }
  __device__ __forceinline__ bool takes(u64, u64) const { return true; }
};

// Processes listed vertices.
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

// Processes one vertex per thread of the block, starting with `base`. Groups of L lanes process vertices that need
// little scratch. Then the whole block processes each larger vertex. Long vertices are skipped. Returns the number of
// edges of this thread's vertex.
template <class S, int L, class Rows>
__device__ __forceinline__ u64 whole_chunk(
    const typename S::Env& env, const Rows& rows, const u64* offsets, u64 base, const BlockScratch& pool,
    u32& changed, u32& active) {
  const u32 warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const u32 block_words = warps * SCRATCH_WORDS;
  u32* memory = shared_memory<u32>(0);
  u32* found = memory + block_words;  // the large vertices of each warp, then the number of the claimed piece
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
  const bool large = gathering && S::scratch_words(my_degree) > SCRATCH_WORDS / 32 * L;
  const u32 large_ones = __ballot_sync(WARP, large);
  if (lane_number() == 0) {
    found[warp] = large_ones;
  }
  u32* slice = memory + warp * SCRATCH_WORDS + lane_number() / L * (SCRATCH_WORDS / 32 * L);
  for (u32 step = 0; step < L; step++) {
    const u32 owner = step * (32 / L) + lane_number() / L;
    const u32 v = lane_value(WARP, mine, owner);
    const u64 begin = lane_value(WARP, my_begin, owner), degree = lane_value(WARP, my_degree, owner);
    const bool there = lane_value(WARP, short_one && !large, owner);
    const bool live = lane_value(WARP, gathering && !large, owner);
    const Scratch scratch{slice, degree, live};
    const typename S::Acc acc = whole_vertex<S>(lanes, env, live ? rows.row_of(begin) : nullptr, v, begin, scratch);
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
      const bool pooled = S::scratch_words(degree) > block_words;
      u32* place = pooled ? claim_block_scratch(pool, found + 32) : memory;
      const Scratch scratch{place, degree, true};
      const typename S::Acc acc = whole_vertex<S>(block, env, rows.row_of(begin), v, begin, scratch);
      if (pooled) {
        release_block_scratch(pool, found + 32);
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
__device__ __forceinline__ void pull_whole(u64* frame, const u64* row, u64 low, u64 high, const BlockScratch* pool) {
  const typename S::Env env = S::bind(frame);
  const u64* offsets = pointer<const u64>(row, ROW_OFFSETS);
  u32 changed = 0, active = 0;
  for (u64 base = low + u64(blockIdx.x) * blockDim.x; base < high; base += thread_count()) {
    whole_chunk<S, L>(env, PageRows{row, high}, offsets, base, *pool, changed, active);
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

// Processes listed vertices that are not long. Increases edges[0] by the number of edges of all listed vertices.
template <class S, int L>
__device__ __forceinline__ void pull_whole_list(
    u64* frame, const u64* rows, u64 pages, const u32* list, const u64* count, u64* edges, const BlockScratch* pool) {
  const typename S::Env env = S::bind(frame);
  const u64* offsets = pointer<const u64>(rows, ROW_OFFSETS);
  const ListRows listed{rows, pages, list, *count};
  u64 traversed = 0;
  u32 changed = 0, active = 0;
  for (u64 base = u64(blockIdx.x) * blockDim.x; base < listed.count; base += thread_count()) {
    traversed += whole_chunk<S, L>(env, listed, offsets, base, *pool, changed, active);
  }
  traversed = warp_sum_wide(traversed);
  if (lane_number() == 0 && traversed) {
    atomicAdd(edges, traversed);
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

// -- long vertices ----------------------------------------------------------------------------------------------------

// The scratch of long vertices: the offsets in `memory` at which it begins, in the order of the table of long vertices.
struct LongScratch {
  const u64* starts;
  u64 count;
  const u64* offsets;
  u32* memory;
};

__device__ __forceinline__ Scratch scratch_of(const LongScratch& scratches, u64 number, u32 v) {
  const u64 degree = scratches.offsets[u64(v) + 1] - scratches.offsets[v];
  return Scratch{scratches.memory + scratches.starts[number], degree, true};
}

// Processes one segment of a long vertex with a block.
template <class S>
__device__ __forceinline__ void whole_segment(u64* frame, const typename S::Env& env, const u64* row, u64 s,
                                              const LongScratch& scratches) {
  const i64* table = pointer<const i64>(frame, SLOT_SEGMENTS);
  const i64* longs = pointer<const i64>(frame, SLOT_LONGS);
  const u32 v = u32(table[3 * s]);
  const u64 begin = u64(table[3 * s + 1]);
  const BlockGroup block{shared_memory<unsigned char>(0)};
  typename S::Acc acc = S::identity(env);
  if (gathers<S>(env, v, S::ready(env, v))) {
    u64 low = 0, high = scratches.count;  // longs[low] <= v < longs[high]
    while (high - low > 1) {
      const u64 middle = (low + high) / 2;
      if (u32(longs[3 * middle]) <= v) {
        low = middle;
      } else {
        high = middle;
      }
    }
    const typename S::Columns columns = S::bind_columns(row);
    const Scratch scratch = scratch_of(scratches, low, v);
    const u32 first = u32(begin - scratches.offsets[v]), count = u32(u64(table[3 * s + 2]) - begin);
    acc = file_edges<S>(block, Edges<S>(env, columns, pointer<const u32>(row, ROW_TARGETS), begin, v), first, count,
                        scratch);
    __syncthreads();
    S::combine(env, block, scratch, first, count);
  }
  acc = block.template merge<S>(env, acc);
  if (threadIdx.x == 0) {
    S::put(env, i64(s), acc);
  }
  __syncthreads();
}

template <class S>
__device__ __forceinline__ void segments_whole(u64* frame, const u64* row, u64 low, u64 high,
                                               const LongScratch* scratches) {
  const typename S::Env env = S::bind(frame);
  for (u64 s = low + blockIdx.x; s < high; s += gridDim.x) {
    whole_segment<S>(frame, env, row, s, *scratches);
  }
}

template <class S>
__device__ __forceinline__ void segments_whole_list(
    u64* frame, const u64* rows, u64 pages, const i64* table, const u32* list, const u64* count,
    const LongScratch* scratches) {
  const typename S::Env env = S::bind(frame);
  for (u64 i = blockIdx.x; i < *count; i += gridDim.x) {
    const u64 begin = u64(table[3 * u64(list[i]) + 1]);
    if (belongs(rows, pages, begin, 1)) {
      whole_segment<S>(frame, env, row_with(rows, pages, begin), list[i], *scratches);
    }
  }
}

// Finishes one long vertex with a block: thread t merges segments t, t + threads, ... Then the scratch is read and
// cleared.
template <class S>
__device__ __forceinline__ u32 finish_whole_one(u64* frame, const typename S::Env& env, u64 number,
                                                const LongScratch& scratches) {
  const i64* longs = pointer<const i64>(frame, SLOT_LONGS);
  const BlockGroup block{shared_memory<unsigned char>(0)};
  const u32 v = u32(longs[3 * number]);
  Scratch scratch = scratch_of(scratches, number, v);
  scratch.live = gathers<S>(env, v, S::ready(env, v));
  typename S::Acc acc = S::identity(env);
  for (i64 s = longs[3 * number + 1] + threadIdx.x; s < longs[3 * number + 2]; s += blockDim.x) {
    acc = S::merge(env, acc, S::get(env, s));
  }
  S::combine(env, block, scratch, 0, scratch.live ? u32(scratch.degree) : 0);
  acc = block.template merge<S>(env, S::merge(env, acc, S::conclude(env, block, scratch, v)));
  __syncthreads();
  clear_scratch(block, scratch, S::scratch_words(scratch.degree));
  u32 flags = 0;
  if (threadIdx.x == 0) {
    flags = S::apply(env, v, S::ready(env, v), acc);
  }
  __syncthreads();
  return flags;
}

template <class S>
__device__ __forceinline__ void finish_whole(u64* frame, u64 low, u64 high, const LongScratch* scratches) {
  const typename S::Env env = S::bind(frame);
  u32 changed = 0, active = 0;
  for (u64 number = low + blockIdx.x; number < high; number += gridDim.x) {
    const u32 flags = finish_whole_one<S>(frame, env, number, *scratches);
    changed += flags & 1;
    active += flags >> 1;
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

template <class S>
__device__ __forceinline__ void finish_whole_list(u64* frame, const u32* list, const u64* count,
                                                  const LongScratch* scratches) {
  const typename S::Env env = S::bind(frame);
  u32 changed = 0, active = 0;
  for (u64 i = blockIdx.x; i < *count; i += gridDim.x) {
    const u32 flags = finish_whole_one<S>(frame, env, list[i], *scratches);
    changed += flags & 1;
    active += flags >> 1;
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

// Pull kernels that distribute edges over the threads of a block regardless of rows, and use shared memory. pull_stream
// stages contributions in shared memory and reduces them row by row; pull_shards joins them there by atomic operations.

// -- pull_stream ------------------------------------------------------------------------------------------------------
// Rows are divided into *row blocks*. In a page that begins at vertex low, row v belongs to row block (offsets[v] -
// offsets[low] + v - low) / WINDOW. So a row block has fewer than WINDOW edges and rows, apart from the edges of its
// last row. One thread reduces a row shorter than SHORTEST_SHARED, in edge order. A warp reduces a row of up to
// LONGEST_STAGED edges, and the whole block a longer one. This choice, and the order of joins, depend only on the
// degree of the row. (Greathouse, Daga: Efficient sparse matrix-vector multiplication on GPUs using the CSR storage
// format, SC'14.)

constexpr u32 WINDOW = 2048;          // the size of a row block, edges plus rows (entries.py has these three constants)
constexpr u32 LONGEST_STAGED = 1024;  // a last row with more edges is read directly from global memory
constexpr u32 SHORTEST_SHARED = 33;   // a row with at least this many edges is reduced by a warp

// The number of blocks of 256 threads that a multiprocessor must be able to run; 0 for no bound. Without a bound, the
// compiler orders the loads of contributions that read edge columns for fewer registers, so that fewer loads are in
// flight. Contributions without columns are faster without a bound (docs/internals/gpu-performance.md).
template <class S>
constexpr u32 STREAM_BLOCKS =
    __is_empty(typename S::Columns) || sizeof(typename S::Item) > 4 ? 0 : MOST_THREADS < 5 * 256 ? 4 : 5;

// blocks[b] = the first row of row block b, for vertices [low, high): count + 1 boundaries.
__device__ __forceinline__ void row_blocks(const u64* offsets, u32* blocks, u64 low, u64 high, u64 count) {
  for (u64 b = thread_number(); b <= count; b += thread_count()) {
    u64 first = low, last = high;  // [first, last] contains the first row that begins at b * WINDOW or later
    while (first < last) {
      const u64 middle = (first + last) / 2;
      const bool later = offsets[middle] - offsets[low] + (middle - low) >= b * WINDOW;
      last = later ? middle : last;
      first = later ? first : middle + 1;
    }
    blocks[b] = u32(b == count ? high : first);
  }
}

constexpr __device__ __forceinline__ u32 rounded_16(u32 bytes) { return (bytes + 15) / 16 * 16; }

// Shared memory of a block of pull_stream. found: the number of rows for warps, the number of rows for the whole block,
// then the rows for the whole block (two at most). listed, results: the rows for warps, and their results. starts: for
// each row, the index in items at which it begins.
template <class S> struct Stage {
  typedef typename S::Acc Acc;
  typedef typename S::Item Item;
  static constexpr u32 ITEMS = WINDOW + LONGEST_STAGED, LISTED = ITEMS / SHORTEST_SHARED;

  static __device__ __forceinline__ u32* found() { return shared_memory<u32>(0); }
  static __device__ __forceinline__ u32* listed() { return shared_memory<u32>(16); }
  static constexpr u32 RESULTS_AT = 16 + rounded_16(4 * LISTED);
  static __device__ __forceinline__ Acc* results() { return shared_memory<Acc>(RESULTS_AT); }
  static constexpr u32 ITEMS_AT = RESULTS_AT + rounded_16(u32(sizeof(Acc)) * LISTED);
  static __device__ __forceinline__ Item* items() { return shared_memory<Item>(ITEMS_AT); }
  static constexpr u32 STARTS_AT = ITEMS_AT + rounded_16(u32(sizeof(Item)) * ITEMS);
  static __device__ __forceinline__ u16* starts() { return shared_memory<u16>(STARTS_AT); }
};

// The row block that a thread block processes. begin: the number of the first edge. edges: the number of staged edges.
struct RowBlock {
  const u64* offsets;
  const u32* targets;
  u64 begin;
  u32 low, rows, edges;
};

// The row of a staged edge: the last row that begins at or before it.
__device__ __forceinline__ u32 row_of(const u16* starts, u32 rows, u32 edge) {
  u32 first = 0;
  for (u32 count = rows; count > 1;) {
    const u32 half = count / 2;
    first += starts[first + half] <= edge ? half : 0;
    count -= half;
  }
  return first;
}

// Stages contributions in `items` in edge order. Each thread has several loads in flight.
template <class S>
__device__ __forceinline__ void stage(const typename S::Env& env, const typename S::Columns& columns,
                                      const RowBlock& block) {
  typename S::Item* items = Stage<S>::items();
  if constexpr (S::READS_SELF) {
    for (u32 r = threadIdx.x; r < block.rows; r += blockDim.x) {
      Stage<S>::starts()[r] = u16(block.offsets[block.low + r] - block.begin);
    }
    __syncthreads();
  }
  const u32* targets = block.targets + block.begin;
  for (u32 i = threadIdx.x; i < block.edges; i += STAGED_AT_ONCE * blockDim.x) {
    u32 senders[STAGED_AT_ONCE];
    typename S::Item found[STAGED_AT_ONCE];
    UNROLL
    for (u32 j = 0; j < STAGED_AT_ONCE; j++) {
      const u32 at = i + j * blockDim.x;
      senders[j] = stream_load(targets + (at < block.edges ? at : block.edges - 1));
    }
    UNROLL
    for (u32 j = 0; j < STAGED_AT_ONCE; j++) {
      const u32 at = i + j * blockDim.x < block.edges ? i + j * blockDim.x : block.edges - 1;
      u32 v = block.low;
      if constexpr (S::READS_SELF) {
        v += row_of(Stage<S>::starts(), block.rows, at);
      }
      if (!S::STORES || i + j * blockDim.x < block.edges) {
        found[j] = S::contribute(env, columns, v, senders[j], i64(block.begin + at));
      }
    }
    UNROLL
    for (u32 j = 0; j < STAGED_AT_ONCE; j++) {
      if (i + j * blockDim.x < block.edges) {
        items[i + j * blockDim.x] = found[j];
      }
    }
  }
}

// Reduces a row, staged or not, with the whole block. Thread 0 applies and returns the flags.
template <class S>
__device__ __forceinline__ u32 reduce_by_block(const typename S::Env& env, const typename S::Columns& columns,
                                               const RowBlock& block, u32 r) {
  const u32 v = block.low + r;
  const u64 begin = block.offsets[v];
  const u32 degree = u32(block.offsets[v + 1] - begin), start = u32(begin - block.begin);
  typename S::Acc acc;
  if (start + degree <= block.edges) {
    acc = strided<S, AT_ONCE>(env, Staged<S>{Stage<S>::items() + start}, degree, threadIdx.x, blockDim.x);
  } else {
    const Edges<S> edges(env, columns, block.targets, begin, v);
    acc = strided<S, STAGED_AT_ONCE>(env, edges, degree, threadIdx.x, blockDim.x);
  }
  acc = block_merge<S>(env, acc, Stage<S>::results());
  return threadIdx.x == 0 ? S::apply(env, v, S::ready(env, v), acc) : 0;
}

// Reduces the listed rows; each warp processes one row at a time.
template <class S> __device__ __forceinline__ void reduce_by_warps(const typename S::Env& env) {
  for (u32 k = threadIdx.x >> 5; k < Stage<S>::found()[0]; k += blockDim.x >> 5) {
    const u32 entry = Stage<S>::listed()[k];
    const Staged<S> source{Stage<S>::items() + (entry >> 16)};
    const typename S::Acc acc =
        lanes_merge<S>(env, strided<S, AT_ONCE>(env, source, entry & 0xFFFF, lane_number(), 32), 32);
    if (lane_number() == 0) {
      Stage<S>::results()[k] = acc;
    }
  }
}

// Reduces and applies at most one row per thread, starting with row r of the block. A barrier here precedes all reads
// of items. Shared memory that is read after the last barrier here is not written before the next barrier.
template <class S>
__device__ __forceinline__ void reduce_rows(const typename S::Env& env, const typename S::Columns& columns,
                                            const RowBlock& block, u32 r, u32& changed, u32& active) {
  const bool present = r + threadIdx.x < block.rows;
  const u32 v = block.low + r + threadIdx.x;
  const u64 begin = present ? block.offsets[v] : 0, edges = present ? block.offsets[v + 1] - begin : 0;
  const bool mine = present && edges <= SEGMENT;
  const u32 start = u32(begin - block.begin);
  const u32 degree = mine && edges && gathers<S>(env, v, S::ready(env, v)) ? u32(edges) : 0;
  u32* found = Stage<S>::found();
  if (threadIdx.x < 2) {
    found[threadIdx.x] = 0;
  }
  __syncthreads();
  u32 slot = 0;
  if (degree > LONGEST_STAGED) {
    found[2 + atomicAdd(found + 1, 1u)] = r + threadIdx.x;
  } else if (degree >= SHORTEST_SHARED) {
    slot = atomicAdd(found, 1u);
    Stage<S>::listed()[slot] = start << 16 | degree;
  }
  __syncthreads();
  const u32 larger = found[1];
  reduce_by_warps<S>(env);
  typename S::Acc acc = S::identity(env);
  if (degree < SHORTEST_SHARED) {
    acc = strided<S, AT_ONCE>(env, Staged<S>{Stage<S>::items() + start}, degree, 0, 1);
  }
  __syncthreads();
  u32 flags = 0;
  if (mine && degree <= LONGEST_STAGED) {
    if (degree >= SHORTEST_SHARED) {
      acc = Stage<S>::results()[slot];
    }
    flags = S::apply(env, v, S::ready(env, v), acc);
  }
  changed += flags & 1;
  active += flags >> 1;
  for (u32 k = 0; k < larger; k++) {
    flags = reduce_by_block<S>(env, columns, block, found[2 + k]);
    changed += flags & 1;
    active += flags >> 1;
  }
}

// Processes row blocks [low, high) of a page, one per block.
template <class S> __device__ __forceinline__ void pull_stream(u64* frame, const u64* row, u64 low, u64 high) {
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = S::bind_columns(row, true);
  const u32* boundaries = pointer<const u32>(row, ROW_BLOCKS);
  RowBlock block;
  block.offsets = pointer<const u64>(row, ROW_OFFSETS);
  block.targets = pointer<const u32>(row, ROW_TARGETS);
  u32 changed = 0, active = 0;
  for (u64 number = low + blockIdx.x; number < high; number += gridDim.x) {
    block.low = boundaries[number];
    block.rows = boundaries[number + 1] - block.low;
    if (block.rows) {
      const u64* last = block.offsets + block.low + (block.rows - 1);
      block.begin = block.offsets[block.low];
      block.edges = u32((last[1] - last[0] > LONGEST_STAGED ? last[0] : last[1]) - block.begin);
      stage<S>(env, columns, block);
      for (u32 r = 0; r < block.rows; r += blockDim.x) {
        reduce_rows<S>(env, columns, block, r, changed, active);
      }
    }
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

// -- pull_shards ------------------------------------------------------------------------------------------------------
// A shard is a range of vertices with so few cells that R copies of each fit in shared memory (Ma et al.: Garaph,
// USENIX ATC'17). Lane i updates copy i mod R. The copies of a vertex are adjacent, so they are in different banks.
// They are merged pairwise at the end.

// Sets receivers[k] to the receiver of edge k minus the first vertex of its shard, for shards [low, high). Edges of
// long vertices are left out.
__device__ __forceinline__ void places(const u64* offsets, const u32* shards, u16* receivers, u64 low, u64 high) {
  for (u64 shard = low + blockIdx.x; shard < high; shard += gridDim.x) {
    const u32 first = shards[shard];
    for (u32 v = first + (threadIdx.x >> 5); v < shards[shard + 1]; v += blockDim.x >> 5) {
      const u64 begin = offsets[v], end = offsets[v + 1];
      if (end - begin <= SEGMENT) {
        for (u64 k = begin + lane_number(); k < end; k += 32) {
          receivers[k] = u16(v - first);
        }
      }
    }
  }
}

// The shard that a block processes.
template <class S> struct Shard {
  const u64* offsets;
  const u32* targets;
  const u16* places;
  typename S::Cells cells;
  u32 first, last, replicas;
};

// The first long vertex in [v, last), or `last` if there is none. next: a word of shared memory.
__device__ __forceinline__ u32 next_long(const u64* offsets, u32 v, u32 last, u32* next) {
  __syncthreads();
  if (threadIdx.x == 0) {
    *next = last;
  }
  __syncthreads();
  for (v += threadIdx.x; v < last; v += blockDim.x) {
    if (offsets[v + 1] - offsets[v] > SEGMENT) {
      atomicMin(next, v);
      break;
    }
  }
  __syncthreads();
  return *next;
}

// Joins the contributions of edges [begin, end), which belong to vertices of the shard that are not long.
template <class S>
__device__ __forceinline__ void join_edges(const typename S::Env& env, const typename S::Columns& columns,
                                           const Shard<S>& shard, u64 begin, u64 end) {
  const u32 copy = threadIdx.x & (shard.replicas - 1), count = u32(end - begin);
  for (u32 i = threadIdx.x; i < count; i += AT_ONCE * blockDim.x) {
    u32 senders[AT_ONCE], receivers[AT_ONCE];
    typename S::Item items[AT_ONCE];
    UNROLL
    for (u32 j = 0; j < AT_ONCE; j++) {
      const u64 at = begin + (i + j * blockDim.x < count ? i + j * blockDim.x : count - 1);
      senders[j] = stream_load(shard.targets + at);
      receivers[j] = stream_load(shard.places + at);
    }
    UNROLL
    for (u32 j = 0; j < AT_ONCE; j++) {
      const u64 at = begin + (i + j * blockDim.x < count ? i + j * blockDim.x : count - 1);
      if (!S::STORES || i + j * blockDim.x < count) {
        items[j] = S::contribute(env, columns, shard.first + receivers[j], senders[j], i64(at));
      }
    }
    UNROLL
    for (u32 j = 0; j < AT_ONCE; j++) {
      if (i + j * blockDim.x < count) {
        S::join(env, shard.cells, receivers[j] * shard.replicas + copy, items[j]);
      }
    }
  }
}

// Merges the copies of every vertex into the first one.
template <class S>
__device__ __forceinline__ void merge_copies(const typename S::Env& env, const Shard<S>& shard) {
  for (u32 half = shard.replicas / 2, bits = __ffs(i32(shard.replicas)) - 2; half; half /= 2, bits--) {
    __syncthreads();
    for (u32 i = threadIdx.x; i < (shard.last - shard.first) * half; i += blockDim.x) {
      const u32 cell = (i >> bits) * shard.replicas + (i & (half - 1));
      S::fold(env, shard.cells, cell, cell + half);
    }
  }
  __syncthreads();
}

// Applies every vertex of the shard that is not long.
template <class S>
__device__ __forceinline__ void apply_shard(const typename S::Env& env, const Shard<S>& shard, u32& changed,
                                            u32& active) {
  for (u32 v = shard.first + threadIdx.x; v < shard.last; v += blockDim.x) {
    if (shard.offsets[v + 1] - shard.offsets[v] <= SEGMENT) {
      const typename S::Masks masks = S::ready(env, v);
      typename S::Acc acc = S::identity(env);
      if (gathers<S>(env, v, masks)) {
        acc = S::take(shard.cells, (v - shard.first) * shard.replicas);
      }
      const u32 flags = S::apply(env, v, masks, acc);
      changed += flags & 1;
      active += flags >> 1;
    }
  }
}

// Processes shards [low, high) of a page, one per block.
template <class S> __device__ __forceinline__ void pull_shards(u64* frame, const u64* row, u64 low, u64 high) {
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = S::bind_columns(row);
  const u32* boundaries = pointer<const u32>(row, ROW_SHARDS);
  const u8* replicas = pointer<const u8>(row, ROW_REPLICAS);
  Shard<S> shard;
  shard.offsets = pointer<const u64>(row, ROW_OFFSETS);
  shard.targets = pointer<const u32>(row, ROW_TARGETS);
  shard.places = pointer<const u16>(row, ROW_PLACES);
  u32 changed = 0, active = 0;
  for (u64 number = low + blockIdx.x; number < high; number += gridDim.x) {
    shard.first = boundaries[number];
    shard.last = boundaries[number + 1];
    shard.replicas = replicas[number];
    const u32 cells = (shard.last - shard.first) * shard.replicas;
    shard.cells = S::cells(shared_memory<unsigned char>(16), rounded_16(cells));
    for (u32 i = threadIdx.x; i < cells; i += blockDim.x) {
      S::clear(env, shard.cells, i);
    }
    for (u32 v = shard.first; v < shard.last;) {
      const u32 stop = next_long(shard.offsets, v, shard.last, shared_memory<u32>(0));
      join_edges<S>(env, columns, shard, shard.offsets[v], shard.offsets[stop]);
      v = stop + 1;
    }
    merge_copies<S>(env, shard);
    apply_shard<S>(env, shard, changed, active);
    __syncthreads();
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

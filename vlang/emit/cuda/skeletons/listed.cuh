// Passes over a list of edges in the order of its file, without adjacency lists. The list is cut into edge blocks, each of
// which a thread block processes. Threads join the contributions of an edge block in a local vertex table in shared
// memory, and then add the table to the cells of all vertices in global memory. A second kernel applies the writes of
// all vertices. (Zhu et al.: WolfGraph: the edge-centric graph processing on GPU, FGCS 2019.)

[[maybe_unused]] constexpr u32 EDGE_BLOCK = 2048;  // edges (listed_edges.py has the same constant)
constexpr u32 TRIED = 4;                 // places that a thread tries for a vertex in the local table
constexpr u32 NO_VERTEX = 0xFFFFFFFFu;

// The cells of all n vertices in global memory.
template <class S> __device__ __forceinline__ typename S::Cells listed_cells(u64 cells, u64 n) {
  unsigned char* memory = reinterpret_cast<unsigned char*>(cells);
  ASSUME_GLOBAL(memory);
  return S::cells(memory, rounded_16(u32(n)));
}

template <class S> __device__ __forceinline__ void clear_listed(u64* frame, u64 cells, u64 n) {
  const typename S::Env env = S::bind(frame);
  const typename S::Cells all = listed_cells<S>(cells, n);
  for (u64 v = thread_number(); v < n; v += thread_count()) {
    S::clear(env, all, u32(v));
  }
}

// The place of vertex v in a table of vertices, which is claimed for v if it is empty. NO_VERTEX if the places that were
// tried have other vertices. places: a power of two.
__device__ __forceinline__ u32 claim_place(u32* vertices, u32 places, u32 v) {
  u32 at = u32(u64(v * 0x9E3779B1u) * places >> 32);
  for (u32 k = 0; k < TRIED; k++) {
    u32 seen = glance(vertices + at);
    if (seen == NO_VERTEX) {
      seen = atomicCAS(vertices + at, NO_VERTEX, v);
      seen = seen == NO_VERTEX ? v : seen;
    }
    if (seen == v) {
      return at;
    }
    at = (at + 1) & (places - 1);
  }
  return NO_VERTEX;
}

// The local vertex table of a thread block, and the cells of all vertices.
template <class S> struct TwoLevels {
  u32* vertices;
  typename S::Cells local, all;
  u32 places;
};

// Joins a contribution to v in the local table or, if the table has no place for v, in global memory.
template <class S>
__device__ __forceinline__ void join_in_table(const typename S::Env& env, const TwoLevels<S>& table, u32 v,
                                              const typename S::Item& item) {
  const u32 at = table.places ? claim_place(table.vertices, table.places, v) : NO_VERTEX;
  if (at == NO_VERTEX) {
    S::join(env, table.all, v, item);
  } else {
    S::join(env, table.local, at, item);
  }
}

// Joins the contributions of edges [begin, begin + count), which a thread block processes.
template <class S, int ENDS>
__device__ __forceinline__ void join_edge_block(const typename S::Env& env, const typename S::Columns& columns,
                                                const TwoLevels<S>& table, const u64* row, u64 begin, u32 count) {
  const u32* sent_by = pointer<const u32>(row, ROW_TARGETS) + begin;
  const u32* sent_to = pointer<const u32>(row, ROW_RECEIVERS) + begin;
  for (u32 i = threadIdx.x; i < count; i += AT_ONCE * blockDim.x) {
    u32 senders[AT_ONCE], receivers[AT_ONCE];
    typename S::Item items[AT_ONCE];
    UNROLL
    for (u32 j = 0; j < AT_ONCE; j++) {
      const u32 at = i + j * blockDim.x < count ? i + j * blockDim.x : count - 1;
      senders[j] = stream_load(sent_by + at);
      receivers[j] = stream_load(sent_to + at);
    }
    UNROLL
    for (u32 j = 0; j < AT_ONCE; j++) {
      const u32 at = i + j * blockDim.x < count ? i + j * blockDim.x : count - 1;
      items[j] = S::contribute(env, columns, receivers[j], senders[j], i64(begin + at));
    }
    UNROLL
    for (u32 j = 0; j < AT_ONCE; j++) {
      if (i + j * blockDim.x < count) {
        join_in_table<S>(env, table, receivers[j], items[j]);
        if (ENDS == 2 || (ENDS == 1 && senders[j] != receivers[j])) {
          const i64 k = i64(begin + i + j * blockDim.x);
          join_in_table<S>(env, table, senders[j], S::contribute(env, columns, senders[j], receivers[j], k));
        }
      }
    }
  }
}

// Joins the contributions of `count` edges in the cells of all n vertices. ENDS is 0 if only the listed receiver of an
// edge receives, 1 if both ends receive, but a self-loop only once, and 2 if both ends receive, and a self-loop twice.
// places: the size of the local table, a multiple of 16, or 0 for no table.
template <class S, int ENDS>
__device__ __forceinline__ void join_listed(u64* frame, const u64* row, u64 count, u64 cells, u64 n, u64 places) {
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = S::bind_columns(row);
  TwoLevels<S> table;
  table.places = u32(places);
  table.vertices = shared_memory<u32>(0);
  table.local = S::cells(shared_memory<unsigned char>(4 * table.places), table.places);
  table.all = listed_cells<S>(cells, n);
  for (u64 begin = u64(blockIdx.x) * EDGE_BLOCK; begin < count; begin += u64(gridDim.x) * EDGE_BLOCK) {
    for (u32 i = threadIdx.x; i < table.places; i += blockDim.x) {
      table.vertices[i] = NO_VERTEX;
      S::clear(env, table.local, i);
    }
    __syncthreads();
    const u32 edges = u32(count - begin < EDGE_BLOCK ? count - begin : EDGE_BLOCK);
    join_edge_block<S, ENDS>(env, columns, table, row, begin, edges);
    __syncthreads();
    for (u32 i = threadIdx.x; i < table.places; i += blockDim.x) {
      if (table.vertices[i] != NO_VERTEX) {
        S::pour(env, table.local, i, table.all, table.vertices[i]);
      }
    }
    __syncthreads();
  }
}

// Applies vertices [low, high), with the contributions in their cells.
template <class S> __device__ __forceinline__ void apply_listed(u64* frame, u64 low, u64 high, u64 cells, u64 n) {
  const typename S::Env env = S::bind(frame);
  const typename S::Cells all = listed_cells<S>(cells, n);
  u32 changed = 0, active = 0;
  for (u64 at = low + thread_number(); at < high; at += thread_count()) {
    const u32 v = u32(at);
    const typename S::Masks masks = S::ready(env, v);
    typename S::Acc acc = S::identity(env);
    if (gathers<S>(env, v, masks)) {
      acc = S::take(all, v);
    }
    const u32 flags = S::apply(env, v, masks, acc);
    changed += flags & 1;
    active += flags >> 1;
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

// Adds the number of edges of each vertex to `degrees`: its occurrences in `rows` and, if `ends` is not 0, in `others`.
// `ends` has the values of ENDS in `join_listed`.
__device__ __forceinline__ void count_listed(const u32* rows, const u32* others, u64 count, u64 ends, u32* degrees) {
  for (u64 i = thread_number(); i < count; i += thread_count()) {
    const u32 one = stream_load(rows + i);
    atomicAdd(degrees + one, 1u);
    if (ends) {
      const u32 other = stream_load(others + i);
      if (ends == 2 || one != other) {
        atomicAdd(degrees + other, 1u);
      }
    }
  }
}

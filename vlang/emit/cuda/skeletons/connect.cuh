// Connected components by hooking and compression (Afforest), and the join of values over each component (rule K).
//
// parents: u32[n], for every vertex a parent whose number is not larger. A vertex that is its own parent is the root of
// a tree. To join two trees, the larger of their roots is hooked to the smaller one. In the end, the root of a vertex
// is the smallest vertex of its component, whatever the timing. Data that other threads change is read past the nearest
// cache, which may be stale.

constexpr u32 NO_TREE = 0xFFFFFFFFu;
constexpr u32 PROBES = 1024;  // vertices that are sampled to find the largest tree

template <class T> __device__ __forceinline__ T peek(const T* place) { return *const_cast<const volatile T*>(place); }

// Finds the root of the tree of a vertex, and makes the root its parent. The path to the root may be long, and other
// threads follow it at the same time. Every step stores its progress (pointer jumping). So each step halves the
// distance that remains, and a parent never gets larger.
__device__ __forceinline__ u32 root(u32 v, u32* parents) {
  u32 at = peek(parents + v);
  for (u32 above = peek(parents + at); above != at; above = peek(parents + at)) {
    atomicMin(parents + v, above);
    at = above;
  }
  return at;
}

// Joins the trees of two neighbours.
__device__ __forceinline__ void hook(u32 u, u32 v, u32* parents) {
  u32 a = peek(parents + u), b = peek(parents + v);
  while (a != b) {
    const u32 high = a > b ? a : b, low = a > b ? b : a;
    const u32 above = peek(parents + high);
    if (above == low || (above == high && atomicCAS(parents + high, high, low) == high)) {
      return;
    }
    a = root(high, parents);
    b = peek(parents + low);
  }
}

// -- trees from a few edges of each vertex ----------------------------------------------------------------------------

// Makes every vertex a tree of its own.
__device__ __forceinline__ void plant_single(u32* parents, u64 n) {
  for (u64 v = thread_number(); v < n; v += thread_count()) {
    parents[v] = u32(v);
  }
}

// Makes the smallest neighbour of each vertex its parent, unless it is larger. row: the row of a page with all edges.
__device__ __forceinline__ void plant(const u64* row, u64 n, u32* parents) {
  const u64* offsets = pointer<const u64>(row, ROW_OFFSETS);
  const u32* targets = pointer<const u32>(row, ROW_TARGETS);
  for (u64 v = thread_number(); v < n; v += thread_count()) {
    const u64 begin = offsets[v];
    const u32 least = begin < offsets[v + 1] ? targets[begin] : u32(v);
    parents[v] = least < u32(v) ? least : u32(v);
  }
}

// Joins the tree of each vertex with the tree of its neighbour number `rank`.
__device__ __forceinline__ void graft(const u64* row, u64 n, u64 rank, u32* parents) {
  const u64* offsets = pointer<const u64>(row, ROW_OFFSETS);
  const u32* targets = pointer<const u32>(row, ROW_TARGETS);
  for (u64 v = thread_number(); v < n; v += thread_count()) {
    const u64 at = offsets[v] + rank;
    if (at < offsets[v + 1]) {
      hook(u32(v), targets[at], parents);
    }
  }
}

// Makes every vertex point to the root of its tree.
__device__ __forceinline__ void compress(u32* parents, u64 n) {
  for (u64 v = thread_number(); v < n; v += thread_count()) {
    root(u32(v), parents);
  }
}

// Finds the most frequent root among sampled vertices; in a tie, the smallest. The sample is fixed, so that every run
// does the same. Runs as one block. All vertices must point to roots.
__device__ __forceinline__ void elect(const u32* parents, u64 n, u32* chosen) {
  u32* probes = shared_memory<u32>(0);
  u64* best = shared_memory<u64>(4 * PROBES);
  for (u32 i = threadIdx.x; i < PROBES; i += blockDim.x) {
    probes[i] = parents[i * 0x9E3779B97F4A7C15ull % n];
  }
  if (threadIdx.x == 0) {
    *best = 0;
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < PROBES; i += blockDim.x) {
    const u32 mine = probes[i];
    u64 count = 0;
    for (u32 k = 0; k < PROBES; k++) {
      count += probes[k] == mine;
    }
    atomicMax(best, count << 32 | u32(~mine));
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    *chosen = ~u32(*best);
  }
}

// Counts the edges of the vertices outside the tree of *chosen.
__device__ __forceinline__ void count_outside(const u64* row, u64 n, const u32* parents, const u32* chosen,
                                              u64* edges) {
  const u64* offsets = pointer<const u64>(row, ROW_OFFSETS);
  u64 outside = 0;
  for (u64 v = thread_number(); v < n; v += thread_count()) {
    outside += parents[v] != *chosen ? offsets[v + 1] - offsets[v] : 0;
  }
  outside = warp_sum_wide(outside);
  if (lane_number() == 0 && outside) {
    atomicAdd(edges, outside);
  }
}

// -- all edges --------------------------------------------------------------------------------------------------------

// Joins the vertices [low, high) of a page with their neighbours. Skips long vertices. If a tree is chosen, its
// vertices are skipped, too. This loses nothing, because an edge that is skipped from both ends is inside the tree.
// Without a chosen tree, each edge is followed only from its larger end, because the other end also holds it. The
// edges of 32 vertices are spread over the lanes of a warp.
__device__ __forceinline__ void hook_rows(const u64* row, u64 low, u64 high, u32* parents, const u32* chosen) {
  const u64* offsets = pointer<const u64>(row, ROW_OFFSETS);
  const u32* targets = pointer<const u32>(row, ROW_TARGETS);
  const u32 large = *chosen;
  for (u64 base = low + (thread_number() & ~u64(31)); base < high; base += thread_count()) {
    const u64 at = base + lane_number();
    u64 begin = 0;
    u32 degree = 0;
    if (at < high && (large == NO_TREE || peek(parents + at) != large)) {
      begin = offsets[at];
      const u64 all = offsets[at + 1] - begin;
      degree = all <= SEGMENT ? u32(all) : 0;
    }
    const u32 through = warp_inclusive(degree);
    const u32 before = through - degree, total = lane_value(WARP, through, 31);
    for (u32 first = 0; first < total; first += 32) {
      const u32 k = first + lane_number();
      u32 owner = 0;  // the last lane whose edges begin at k or before
      for (u32 step = 16; step; step >>= 1) {
        owner += lane_value(WARP, before, int(owner + step)) <= k ? step : 0;
      }
      const u64 edge = lane_value(WARP, begin, int(owner)) + (k - lane_value(WARP, before, int(owner)));
      const u32 v = u32(base) + owner;
      if (k < total) {
        const u32 u = targets[edge];
        if (large != NO_TREE || u < v) {
          hook(v, u, parents);
        }
      }
    }
  }
}

// Does the same for segments [low, high) of long vertices.
__device__ __forceinline__ void hook_segments(const u64* row, const i64* segments, u64 low, u64 high, u32* parents,
                                              const u32* chosen) {
  const u32* targets = pointer<const u32>(row, ROW_TARGETS);
  const u32 large = *chosen;
  for (u64 s = low + blockIdx.x; s < high; s += gridDim.x) {
    const u32 v = u32(segments[3 * s]);
    const u64 begin = u64(segments[3 * s + 1]), end = u64(segments[3 * s + 2]);
    if (large != NO_TREE && peek(parents + v) == large) {
      continue;
    }
    for (u64 k = begin + threadIdx.x; k < end; k += blockDim.x) {
      const u32 u = targets[k];
      if (large != NO_TREE || u < v) {
        hook(v, u, parents);
      }
    }
  }
}

// -- trees of several devices -----------------------------------------------------------------------------------------

// Replaces the local numbers of parents by those of the whole graph. globals: u32[n], these numbers.
__device__ __forceinline__ void rename_parents(const u32* globals, u64 n, u32* parents) {
  for (u64 v = thread_number(); v < n; v += thread_count()) {
    parents[v] = globals[parents[v]];
  }
}

// Joins the trees of the vertices of each pair.
__device__ __forceinline__ void hook_pairs(const u32* vertices, const u32* above, u64 count, u32* parents) {
  for (u64 i = thread_number(); i < count; i += thread_count()) {
    if (vertices[i] != above[i]) {
      hook(vertices[i], above[i], parents);
    }
  }
}

// -- joins ------------------------------------------------------------------------------------------------------------

enum : int { JOIN_MIN, JOIN_MAX, JOIN_LAST, JOIN_BITOR, JOIN_BITAND };

// The type of values, and how two values are joined. JOIN_LAST: the largest vertex, where `none` is below all.
template <int HOW, class T> struct Joining {
  typedef T Value;
  static __device__ __forceinline__ T join(T a, T b) {
    if constexpr (HOW == JOIN_MIN) {
      return b < a ? b : a;
    } else if constexpr (HOW == JOIN_MAX) {
      return b > a ? b : a;
    } else if constexpr (HOW == JOIN_LAST) {
      return T(b + 1) > T(a + 1) ? b : a;
    } else if constexpr (HOW == JOIN_BITOR) {
      return T(a | b);
    } else {
      return T(a & b);
    }
  }
};

// Joins a value into a cell, concurrently with other threads. Values narrower than 32 bits share words.
template <class J> __device__ __forceinline__ void join_into(typename J::Value* place, typename J::Value value) {
  typedef typename J::Value T;
  if constexpr (sizeof(T) >= 4) {
    auto* words = reinterpret_cast<decltype(word_of(value))*>(place);
    for (auto seen = peek(words);;) {
      T old;
      from_word(seen, old);
      const T joined = J::join(old, value);
      if (joined == old) {
        return;
      }
      const auto now = atomicCAS(words, seen, word_of(joined));
      if (now == seen) {
        return;
      }
      seen = now;
    }
  } else {
    const u64 address = reinterpret_cast<u64>(place);
    u32* word = reinterpret_cast<u32*>(address & ~u64(3));
    const u32 shift = 8 * u32(address & 3), mask = (1u << 8 * sizeof(T)) - 1;
    for (u32 seen = peek(word);;) {
      const T old = T(seen >> shift & mask);
      const T joined = J::join(old, value);
      if (joined == old) {
        return;
      }
      const u32 now = atomicCAS(word, seen, (seen & ~(mask << shift)) | (u32(joined) & mask) << shift);
      if (now == seen) {
        return;
      }
      seen = now;
    }
  }
}

// Makes every vertex point to the root of its tree, and joins its value into the value of the root. If all vertices of
// a warp are in one tree, the warp joins their values first.
template <class J> __device__ __forceinline__ void join_trees(u32* parents, u64 address, u64 n) {
  typedef typename J::Value T;
  T* values = reinterpret_cast<T*>(address);
  for (u64 base = thread_number() & ~u64(31); base < n; base += thread_count()) {
    const u64 v = base + lane_number();
    const u32 parent = v < n ? root(u32(v), parents) : NO_TREE;
    const u32 common = lane_value(WARP, parent, 0);
    T value = v < n ? peek(values + v) : T();
    if (__ballot_sync(WARP, parent == common) == WARP) {
      for (int offset = 16; offset; offset >>= 1) {
        value = J::join(value, lane_value(WARP, value, int(lane_number() ^ offset)));
      }
      if (lane_number() == 0) {
        join_into<J>(values + parent, value);
      }
    } else if (v < n && parent != v) {
      join_into<J>(values + parent, value);
    }
  }
}

// Copies the value of the root to every vertex of its tree.
template <class J> __device__ __forceinline__ void spread_values(const u32* parents, u64 address, u64 n) {
  auto* values = reinterpret_cast<typename J::Value*>(address);
  for (u64 v = thread_number(); v < n; v += thread_count()) {
    if (parents[v] != v) {
      values[v] = values[parents[v]];
    }
  }
}

// Counts floats for which min and max depend on the order of arguments: NaN and -0.0.
template <class T> __device__ __forceinline__ void count_unordered(const T* values, u64 n, u64* unordered) {
  constexpr u32 SIGN = 8 * sizeof(T) - 1;
  u32 found = 0;
  for (u64 v = thread_number(); v < n; v += thread_count()) {
    const T value = values[v];
    found += value != value || word_of(value) == decltype(word_of(value))(1) << SIGN;
  }
  found = warp_sum(found);
  if (lane_number() == 0 && found) {
    atomicAdd(unordered, u64(found));
  }
}
__device__ __forceinline__ void count_unordered_32(const f32* values, u64 n, u64* unordered) {
  count_unordered(values, n, unordered);
}
__device__ __forceinline__ void count_unordered_64(const f64* values, u64 n, u64* unordered) {
  count_unordered(values, n, unordered);
}

// Full passes of up to WOVEN runs in one traversal of the edges (vlang/runtime/gpu/together).
//
// The arrays that a gather reads at neighbours are *woven*: entry WOVEN * u + r belongs to run r. `frame` is a copy of
// the frame of a run with the addresses of the woven arrays, and frames[r] is the frame of run r. A warp reads a row
// once, and lane r reduces the contributions of the row for run r, so that the values of a neighbour are one access to
// neighbouring words.
//
// Each lane joins contributions in the order in which the kernel that pulls the row in a single run joins them. It
// keeps the accumulators of all lanes of that kernel in registers. So every run has the bits of a single run.

constexpr u32 WOVEN = 32;         // entries.py has the same constant
[[maybe_unused]] constexpr u32 WOVEN_AT_ONCE = 8;  // contributions that a lane has in flight

// The kernels whose order the lanes keep: pull_thread and pull_lanes, pull_segmented, and pull_stream.
enum : int { WOVEN_LANES, WOVEN_STRIP, WOVEN_WINDOW };

// Sets rows[WOVEN * u + r] = arrays[r][u]. A block transposes tiles of 32 vertices and WOVEN runs in shared memory.
template <class T> __device__ __forceinline__ void weave(const u64* arrays, T* rows, u64 runs, u64 n) {
  T* tile = shared_memory<T>(0);
  const u32 warp = threadIdx.x >> 5, warps = blockDim.x >> 5, lane = lane_number();
  for (u64 first = 32 * u64(blockIdx.x); first < n; first += 32 * u64(gridDim.x)) {
    for (u32 r = warp; r < runs; r += warps) {
      if (first + lane < n) {
        tile[33 * r + lane] = reinterpret_cast<const T*>(arrays[r])[first + lane];
      }
    }
    __syncthreads();
    for (u32 k = warp; k < 32; k += warps) {
      if (first + k < n && lane < runs) {
        rows[WOVEN * (first + k) + lane] = tile[33 * lane + k];
      }
    }
    __syncthreads();
  }
}
__device__ __forceinline__ void weave_8(const u64* arrays, u8* rows, u64 runs, u64 n) { weave(arrays, rows, runs, n); }
__device__ __forceinline__ void weave_16(const u64* arrays, u16* rows, u64 runs, u64 n) {
  weave(arrays, rows, runs, n);
}
__device__ __forceinline__ void weave_32(const u64* arrays, u32* rows, u64 runs, u64 n) {
  weave(arrays, rows, runs, n);
}
__device__ __forceinline__ void weave_64(const u64* arrays, u64* rows, u64 runs, u64 n) {
  weave(arrays, rows, runs, n);
}

// The edges of a row, for the run of this lane.
template <class S> struct WovenEdges {
  const typename S::Env& env;
  const typename S::Columns& columns;
  const u32* targets;  // begins with the target of edge `begin`
  u64 begin;
  u32 v, run;

  __device__ __forceinline__ typename S::Item item(u32 i) const {
    return S::contribute(env, columns, v, WOVEN * __ldg(targets + i) + run, i64(begin + i));
  }
};

// Merges L accumulators by the tree of lanes_merge.
template <class S, int L>
__device__ __forceinline__ typename S::Acc woven_tree(const typename S::Env& env, typename S::Acc (&parts)[L]) {
  UNROLL
  for (int step = 2; step <= L; step *= 2) {  // NVRTC unrolls this form, so that all accumulators are in registers
    UNROLL
    for (int l = 0; l < L / step; l++) {
      parts[l] = S::merge(env, parts[l], parts[l + L / step]);
    }
  }
  return parts[0];
}

// The result of L lanes of which lane l joins edges first + l, first + l + stride, ... of a row, if the other lanes of
// the kernel, those of other values of `first`, are merged elsewhere. With fewer than WOVEN_AT_ONCE lanes, `first` is 0
// and `stride` is L.
template <class S, int L>
__device__ __forceinline__ typename S::Acc woven_row(
    const typename S::Env& env, const WovenEdges<S>& source, u32 degree, u32 first, u32 stride) {
  constexpr u32 WIDTH = u32(L) < WOVEN_AT_ONCE ? WOVEN_AT_ONCE : u32(L);
  typename S::Acc parts[L];
  UNROLL
  for (int l = 0; l < L; l++) {
    parts[l] = S::identity(env);
  }
  for (u32 base = first; base < degree; base += stride < WIDTH ? WIDTH : stride) {
    UNROLL
    for (u32 at = 0; at < WIDTH; at += WOVEN_AT_ONCE) {
      if (base + at < degree) {
        typename S::Item items[WOVEN_AT_ONCE];
        UNROLL
        for (u32 j = 0; j < WOVEN_AT_ONCE; j++) {
          items[j] = source.item(base + at + j < degree ? base + at + j : degree - 1);
        }
        UNROLL
        for (u32 j = 0; j < WOVEN_AT_ONCE; j++) {
          if (base + at + j < degree) {
            parts[(at + j) % L] = S::merge(env, parts[(at + j) % L], S::lift(env, items[j]));
          }
        }
      }
    }
  }
  return woven_tree<S, L>(env, parts);
}

// The result of pull_segmented for a row that begins at position `place` of its strip: the edges of each chunk of 32
// positions are merged by a tree, and the chunks in order.
template <class S>
__device__ __forceinline__ typename S::Acc woven_strip(
    const typename S::Env& env, const WovenEdges<S>& source, u32 degree, u32 place) {
  typename S::Acc total = S::identity(env);
  for (u32 done = 0; done < degree;) {
    const u32 room = 32 - (place + done) % 32, count = room < degree - done ? room : degree - done;
    typename S::Acc parts[32];
    UNROLL
    for (u32 at = 0; at < 32; at += WOVEN_AT_ONCE) {
      if (at < count) {
        UNROLL
        for (u32 j = 0; j < WOVEN_AT_ONCE; j++) {
          parts[at + j] = S::lift(env, source.item(done + (at + j < count ? at + j : count - 1)));
        }
      }
    }
    UNROLL
    for (u32 offset = 1; offset < 32; offset *= 2) {
      UNROLL
      for (u32 i = 0; i < 32; i += 2 * offset) {
        if (i + offset < count) {
          parts[i] = S::merge(env, parts[i], parts[i + offset]);
        }
      }
    }
    total = S::merge(env, total, parts[0]);
    done += count;
  }
  return total;
}

// The result of pull_stream for a row: by a thread, a warp or a block.
template <class S>
__device__ __forceinline__ typename S::Acc woven_window(
    const typename S::Env& env, const WovenEdges<S>& source, u32 degree) {
  if (degree < SHORTEST_SHARED) {
    return woven_row<S, 1>(env, source, degree, 0, 1);
  }
  if (degree <= LONGEST_STAGED) {
    return woven_row<S, 32>(env, source, degree, 0, 32);
  }
  // The tree of block_merge over the results of 8 warps and 24 identities, depth first: no array in local memory.
  static_assert(THREADS == 256, "the number of warps is fixed here");
  typename S::Acc one = S::identity(env), two = one, four = one, acc = one;
  for (u32 k = 0; k < 8; k++) {
    const u32 w = (k & 1) << 2 | (k & 2) | k >> 2;
    acc = S::merge(env, woven_row<S, 32>(env, source, degree, 32 * w, THREADS), S::identity(env));
    acc = S::merge(env, acc, S::merge(env, S::identity(env), S::identity(env)));
    if (!(k & 1)) {
      one = acc;
      continue;
    }
    acc = S::merge(env, one, acc);
    if (!(k & 2)) {
      two = acc;
      continue;
    }
    acc = S::merge(env, two, acc);
    if (!(k & 4)) {
      four = acc;
    }
  }
  return S::merge(env, four, acc);
}

// Reduces and applies the short rows among the vertices [low, high). A block takes a row for each of its warps; then
// thread t applies the accumulators of one of these rows for run t / warps.
template <class S, int KIND, int L>
__device__ __forceinline__ void pull_woven(
    u64* frame, const u64* row, u64 low, u64 high, const u64* frames, u64 runs) {
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = S::bind_columns(row);
  const u64* offsets = pointer<const u64>(row, ROW_OFFSETS);
  const u32* targets = pointer<const u32>(row, ROW_TARGETS);
  constexpr u32 WARPS = THREADS / 32;
  typename S::Acc* found = shared_memory<typename S::Acc>(0);
  const u32 warp = threadIdx.x >> 5, lane = lane_number(), run = threadIdx.x / WARPS;
  u64* mine = reinterpret_cast<u64*>(frames[run < runs ? run : 0]);
  const typename S::Env own = S::bind(mine);
  u32 changed = 0, active = 0;
  for (u64 first = low / WARPS * WARPS + WARPS * u64(blockIdx.x); first < high; first += WARPS * u64(gridDim.x)) {
    const u64 at = first + warp;
    const bool present = low <= at && at < high;
    const u64 begin = present ? offsets[at] : 0, degree = present ? offsets[at + 1] - begin : 0;
    if (present && degree <= SEGMENT) {
      const WovenEdges<S> source{env, columns, targets + begin, begin, u32(at), lane < runs ? lane : 0};
      typename S::Acc acc;
      if constexpr (KIND == WOVEN_STRIP) {
        const u64 other = at / 32 * 32 + lane;
        const u64 before = other < at ? offsets[other + 1] - offsets[other] : 0;
        acc = woven_strip<S>(env, source, u32(degree), warp_sum(before <= SEGMENT ? u32(before) : 0));
      } else if constexpr (KIND == WOVEN_WINDOW) {
        acc = woven_window<S>(env, source, u32(degree));
      } else {
        acc = woven_row<S, L>(env, source, u32(degree), 0, u32(L));
      }
      found[33 * warp + lane] = acc;
    }
    __syncthreads();
    const u64 v = first + threadIdx.x % WARPS;
    if (run < runs && low <= v && v < high && offsets[v + 1] - offsets[v] <= SEGMENT) {
      const u32 flags = S::apply(own, u32(v), S::ready(own, u32(v)), found[33 * (threadIdx.x % WARPS) + run]);
      changed += flags & 1;
      active += flags >> 1;
    }
    __syncthreads();
  }
  UNROLL
  for (u32 offset = WARPS / 2; offset; offset /= 2) {
    changed += lane_value(WARP, changed, lane ^ offset);
    active += lane_value(WARP, active, lane ^ offset);
  }
  u64* stats = pointer<u64>(mine, SLOT_STATS);
  if (run < runs && threadIdx.x % WARPS == 0 && (changed | active)) {
    atomicAdd(stats, u64(changed));
    atomicAdd(stats + 1, u64(active));
  }
}

// The result of block_merge: warp w of `warps` warps has results[w * stride].
template <class S>
__device__ __forceinline__ typename S::Acc woven_block(
    const typename S::Env& env, const typename S::Acc* results, u32 stride, u32 warps) {
  typename S::Acc parts[32];
  UNROLL
  for (u32 w = 0; w < 32; w++) {
    parts[w] = S::identity(env);
    if (w < warps) {
      parts[w] = results[w * stride];
    }
  }
  return woven_tree<S, 32>(env, parts);
}

// Reduces segments [low, high) of the table of segments, one per block; warp w has the edges of warp w of `segments`.
template <class S>
__device__ __forceinline__ void segments_woven(
    u64* frame, const u64* row, u64 low, u64 high, const u64* frames, u64 runs) {
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = S::bind_columns(row);
  const u32* targets = pointer<const u32>(row, ROW_TARGETS);
  const i64* table = pointer<const i64>(frame, SLOT_SEGMENTS);
  typename S::Acc* found = shared_memory<typename S::Acc>(0);
  const u32 warp = threadIdx.x >> 5, lane = lane_number();
  for (u64 s = low + blockIdx.x; s < high; s += gridDim.x) {
    const u64 begin = u64(table[3 * s + 1]);
    const u32 count = u32(u64(table[3 * s + 2]) - begin);
    const WovenEdges<S> source{env, columns, targets + begin, begin, u32(table[3 * s]), lane < runs ? lane : 0};
    found[33 * warp + lane] = woven_row<S, 32>(env, source, count, 32 * warp, blockDim.x);
    __syncthreads();
    if (warp == 0 && lane < runs) {
      S::put(S::bind(reinterpret_cast<u64*>(frames[lane])), i64(s),
             woven_block<S>(env, found + lane, 33, blockDim.x >> 5));
    }
    __syncthreads();
  }
}

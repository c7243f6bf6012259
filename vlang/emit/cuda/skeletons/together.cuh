// Full passes of up to WOVEN runs in one traversal of the edges (vlang/runtime/gpu/together).
//
// The arrays that a gather reads at neighbours are *woven*: entry WOVEN * u + r belongs to run r. `frame` is a copy of
// the frame of a run with the addresses of the woven arrays, and frames[r] is the frame of run r. A warp reads a row
// once, and lane r reduces the contributions of the row for run r, so that the values of a neighbour are one access to
// neighbouring words.
//
// Each lane joins contributions in the order in which the kernel that pulls the row in a single run joins them. It
// keeps the accumulators of lanes of that kernel in registers. So every run has the bits of a single run.

constexpr u32 WOVEN = 32;         // entries.py has the same constant
[[maybe_unused]] constexpr u32 WOVEN_AT_ONCE = 8;  // contributions that a lane has in flight

// The rows whose accumulators a warp keeps in shared memory until it applies them; entries.py computes the same.
template <class S>
constexpr u32 WOVEN_ROWS = sizeof(typename S::Acc) <= 8 ? 8 : sizeof(typename S::Acc) <= 16 ? 4 :
                           sizeof(typename S::Acc) <= 32 ? 2 : 1;

// The blocks of pull_woven that a multiprocessor should hold, so that many accesses are under way.
template <class S> constexpr u32 WOVEN_BLOCKS = sizeof(typename S::Acc) <= 8 ? 3 : 1;

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

// The result of L < 32 lanes of which lane l joins edges l, l + L, ... of a row.
template <class S, int L>
__device__ __forceinline__ typename S::Acc woven_row(
    const typename S::Env& env, const WovenEdges<S>& source, u32 degree) {
  constexpr u32 WIDTH = u32(L) < WOVEN_AT_ONCE ? WOVEN_AT_ONCE : u32(L);
  typename S::Acc parts[L];
  UNROLL
  for (int l = 0; l < L; l++) {
    parts[l] = S::identity(env);
  }
  for (u32 base = 0; base < degree; base += WIDTH) {
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

// Merges the first `count` of N neighbours by a tree into the first one.
template <class S, u32 N>
__device__ __forceinline__ void woven_chunk(const typename S::Env& env, typename S::Acc (&parts)[N], u32 count) {
  UNROLL
  for (u32 offset = 1; offset < N; offset *= 2) {
    UNROLL
    for (u32 i = 0; i < N; i += 2 * offset) {
      if (i + offset < count) {
        parts[i] = S::merge(env, parts[i], parts[i + offset]);
      }
    }
  }
}

// The accumulators of N lanes of a single run.
template <class S, u32 N> struct WovenLanes {
  typename S::Acc at[N];
};

// Sets parts.at[j] to what a lane joins that begins with edge first + j and continues with every `stride`-th edge.
template <class S, u32 N>
__device__ __forceinline__ void woven_lanes(
    const typename S::Env& env, const WovenEdges<S>& source, u32 degree, u32 first, u32 stride,
    WovenLanes<S, N>& parts) {
  UNROLL
  for (u32 j = 0; j < N; j++) {
    parts.at[j] = S::identity(env);
  }
  for (u32 base = first; base < degree; base += 2 * stride) {
    const u32 next = base + stride;
    typename S::Item items[N], others[N];
    UNROLL
    for (u32 j = 0; j < N; j++) {
      items[j] = source.item(base + j < degree ? base + j : degree - 1);
    }
    if (next < degree) {
      UNROLL
      for (u32 j = 0; j < N; j++) {
        others[j] = source.item(next + j < degree ? next + j : degree - 1);
      }
    }
    UNROLL
    for (u32 j = 0; j < N; j++) {
      if (base + j < degree) {
        parts.at[j] = S::merge(env, parts.at[j], S::lift(env, items[j]));
      }
      if (next + j < degree) {
        parts.at[j] = S::merge(env, parts.at[j], S::lift(env, others[j]));
      }
    }
  }
}

// Merges `before` and `parts` into `parts`, element by element.
template <class S, u32 N>
__device__ __forceinline__ void woven_merge(
    const typename S::Env& env, const WovenLanes<S, N>& before, WovenLanes<S, N>& parts) {
  UNROLL
  for (u32 j = 0; j < N; j++) {
    parts.at[j] = S::merge(env, before.at[j], parts.at[j]);
  }
}

// The result of 32 lanes of which lane l joins edges first + l, first + l + stride, ... of a row. The tree of
// lanes_merge is walked depth first, 4 lanes side by side, because 32 accumulators take too many registers.
template <class S>
__device__ __forceinline__ typename S::Acc woven_warp(
    const typename S::Env& env, const WovenEdges<S>& source, u32 degree, u32 first, u32 stride) {
  constexpr u32 N = 4;
  WovenLanes<S, N> one, two, four, parts;
  for (u32 k = 0; k < 32 / N; k++) {
    woven_lanes<S, N>(env, source, degree, first + N * ((k & 1) << 2 | (k & 2) | k >> 2), stride, parts);
    if (!(k & 1)) {
      one = parts;
      continue;
    }
    woven_merge<S, N>(env, one, parts);
    if (!(k & 2)) {
      two = parts;
      continue;
    }
    woven_merge<S, N>(env, two, parts);
    if (!(k & 4)) {
      four = parts;
    }
  }
  woven_merge<S, N>(env, four, parts);
  return woven_tree<S, N>(env, parts.at);
}

// The result of pull_segmented for a row that begins at position `place` of its strip: the edges of each chunk of 32
// positions are merged by a tree, and the chunks in order.
template <class S>
__device__ __forceinline__ typename S::Acc woven_strip(
    const typename S::Env& env, const WovenEdges<S>& source, u32 degree, u32 place) {
  typename S::Acc total = S::identity(env);
  for (u32 done = 0; done < degree;) {
    const u32 room = 32 - (place + done) % 32, count = room < degree - done ? room : degree - done;
    typename S::Acc parts[32 / WOVEN_AT_ONCE];
    UNROLL
    for (u32 at = 0; at < 32; at += WOVEN_AT_ONCE) {
      if (at < count) {
        typename S::Acc some[WOVEN_AT_ONCE];
        UNROLL
        for (u32 j = 0; j < WOVEN_AT_ONCE; j++) {
          some[j] = S::lift(env, source.item(done + (at + j < count ? at + j : count - 1)));
        }
        woven_chunk<S, WOVEN_AT_ONCE>(env, some, count - at);
        parts[at / WOVEN_AT_ONCE] = some[0];
      }
    }
    woven_chunk<S, 32 / WOVEN_AT_ONCE>(env, parts, (count + WOVEN_AT_ONCE - 1) / WOVEN_AT_ONCE);
    total = S::merge(env, total, parts[0]);
    done += count;
  }
  return total;
}

// The result of pull_stream for a row that a thread or a warp reduces.
template <class S>
__device__ __forceinline__ typename S::Acc woven_window(
    const typename S::Env& env, const WovenEdges<S>& source, u32 degree) {
  return degree < SHORTEST_SHARED ? woven_row<S, 1>(env, source, degree) : woven_warp<S>(env, source, degree, 0, 32);
}

// The result of the kernel KIND for row `at`, whose edges are those of `source`.
template <class S, int KIND, int L>
__device__ __forceinline__ typename S::Acc woven_result(
    const typename S::Env& env, const WovenEdges<S>& source, const u64* offsets, u64 at, u32 degree) {
  if constexpr (KIND == WOVEN_STRIP) {
    const u64 other = at / 32 * 32 + lane_number();
    const u64 before = other < at ? offsets[other + 1] - offsets[other] : 0;
    return woven_strip<S>(env, source, degree, warp_sum(before <= SEGMENT ? u32(before) : 0));
  } else if constexpr (KIND == WOVEN_WINDOW) {
    return woven_window<S>(env, source, degree);
  } else if constexpr (L == 32) {
    return woven_warp<S>(env, source, degree, 0, 32);
  } else {
    return woven_row<S, L>(env, source, degree);
  }
}

// Applies the accumulators that a warp found for rows first to first + ROWS - 1, for all runs. Neighbouring lanes take
// neighbouring rows, whose values are one access. `counts` has the changed and the active vertices of each run.
template <class S, u32 ROWS>
__device__ __forceinline__ void apply_woven(
    const typename S::Acc* found, u64 first, bool mine, const u64* frames, u64 runs, u32* counts) {
  const u32 lane = lane_number(), row = lane % ROWS;
  for (u32 low = 0; low < WOVEN; low += WOVEN / ROWS) {
    const u32 run = low + lane / ROWS;
    u32 flags = 0;
    if (mine && run < runs) {
      const typename S::Env own = S::bind(reinterpret_cast<u64*>(frames[run]));
      flags = S::apply(own, u32(first + row), S::ready(own, u32(first + row)), found[33 * row + run]);
    }
    const u32 changed = __ballot_sync(WARP, flags & 1), active = __ballot_sync(WARP, flags >> 1);
    if (row == 0 && run < runs) {
      constexpr u32 MASK = (1u << ROWS) - 1;
      atomicAdd(counts + 2 * run, u32(__popc(changed >> lane & MASK)));
      atomicAdd(counts + 2 * run + 1, u32(__popc(active >> lane & MASK)));
    }
  }
}

// Reduces and applies the short rows among the vertices [low, high), except those of `rows_woven`. A warp takes ROWS
// rows in turn, and waits for no other warp, because rows have very different lengths.
template <class S, int KIND, int L>
__device__ __forceinline__ void pull_woven(
    u64* frame, const u64* row, u64 low, u64 high, const u64* frames, u64 runs) {
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = S::bind_columns(row);
  const u64* offsets = pointer<const u64>(row, ROW_OFFSETS);
  const u32* targets = pointer<const u32>(row, ROW_TARGETS);
  constexpr u32 ROWS = WOVEN_ROWS<S>, STEP = ROWS * (THREADS / 32);
  constexpr u64 LONGEST = KIND == WOVEN_WINDOW ? LONGEST_STAGED : SEGMENT;
  const u32 warp = threadIdx.x >> 5, lane = lane_number();
  u32* counts = shared_memory<u32>(0);
  typename S::Acc* found = shared_memory<typename S::Acc>(8 * WOVEN) + 33 * ROWS * warp;
  for (u32 k = threadIdx.x; k < 2 * WOVEN; k += blockDim.x) {
    counts[k] = 0;
  }
  __syncthreads();
  for (u64 first = low / STEP * STEP + STEP * u64(blockIdx.x) + ROWS * warp; first < high;
       first += STEP * u64(gridDim.x)) {
    const u64 at = first + lane < low ? low : first + lane < high ? first + lane : high, bound = offsets[at];
    for (u32 k = 0; k < ROWS; k++) {
      const u64 begin = lane_value(WARP, bound, int(k)), degree = lane_value(WARP, bound, int(k + 1)) - begin;
      if (low <= first + k && first + k < high && degree <= LONGEST) {
        const WovenEdges<S> source{env, columns, targets + begin, begin, u32(first + k), lane < runs ? lane : 0};
        found[33 * k + lane] = woven_result<S, KIND, L>(env, source, offsets, first + k, u32(degree));
      }
    }
    __syncwarp();
    const u32 mine = lane % ROWS;
    const u64 length = lane_value(WARP, bound, int(mine + 1)) - lane_value(WARP, bound, int(mine));
    const bool present = low <= first + mine && first + mine < high && length <= LONGEST;
    apply_woven<S, ROWS>(found, first, present, frames, runs, counts);
    __syncwarp();
  }
  __syncthreads();
  for (u32 k = threadIdx.x; k < 2 * runs; k += blockDim.x) {
    if (counts[k]) {
      atomicAdd(pointer<u64>(reinterpret_cast<u64*>(frames[k / 2]), SLOT_STATS) + k % 2, u64(counts[k]));
    }
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

// Reduces and applies the rows among the vertices [low, high) that a block of pull_stream reduces. Neighbouring rows go
// to different blocks, because in many graphs the longest rows are neighbours.
template <class S>
__device__ __forceinline__ void rows_woven(
    u64* frame, const u64* row, u64 low, u64 high, const u64* frames, u64 runs) {
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = S::bind_columns(row);
  const u64* offsets = pointer<const u64>(row, ROW_OFFSETS);
  const u32* targets = pointer<const u32>(row, ROW_TARGETS);
  u32* listed = shared_memory<u32>(0);  // the rows of the block, after their number
  typename S::Acc* found = shared_memory<typename S::Acc>(4 * (THREADS + 4));
  const u32 warp = threadIdx.x >> 5, lane = lane_number();
  u32 changed = 0, active = 0;
  for (u64 first = low + blockIdx.x; first < high; first += THREADS * u64(gridDim.x)) {
    listed[0] = 0;  // by every thread
    __syncthreads();
    const u64 mine = first + gridDim.x * u64(threadIdx.x);
    const u64 length = mine < high ? offsets[mine + 1] - offsets[mine] : 0;
    if (length > LONGEST_STAGED && length <= SEGMENT) {
      listed[1 + atomicAdd(listed, 1u)] = u32(mine);
    }
    __syncthreads();
    for (u32 k = 1; k <= listed[0]; k++) {
      const u32 v = listed[k];
      const u64 begin = offsets[v];
      const WovenEdges<S> source{env, columns, targets + begin, begin, v, lane < runs ? lane : 0};
      found[33 * warp + lane] = woven_warp<S>(env, source, u32(offsets[v + 1] - begin), 32 * warp, THREADS);
      __syncthreads();
      if (warp == 0 && lane < runs) {
        const typename S::Env own = S::bind(reinterpret_cast<u64*>(frames[lane]));
        const u32 flags = S::apply(own, v, S::ready(own, v), woven_block<S>(env, found + lane, 33, THREADS / 32));
        changed += flags & 1;
        active += flags >> 1;
      }
      __syncthreads();
    }
    __syncthreads();
  }
  if (changed | active) {
    u64* stats = pointer<u64>(reinterpret_cast<u64*>(frames[lane]), SLOT_STATS);
    atomicAdd(stats, u64(changed)), atomicAdd(stats + 1, u64(active));
  }
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
    found[33 * warp + lane] = woven_warp<S>(env, source, count, 32 * warp, blockDim.x);
    __syncthreads();
    if (warp == 0 && lane < runs) {
      S::put(S::bind(reinterpret_cast<u64*>(frames[lane])), i64(s),
             woven_block<S>(env, found + lane, 33, blockDim.x >> 5));
    }
    __syncthreads();
  }
}

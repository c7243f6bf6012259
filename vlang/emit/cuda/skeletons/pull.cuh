// Passes over edges by pull. A vertex of at most SEGMENT edges is reduced and applied by one kernel. The kernels here
// skip larger vertices, the *long* ones: `segments` reduces their edges in pieces of SEGMENT edges, and `finish` merges
// the pieces and applies.
//
// Every kernel joins the contributions of a vertex in an order that depends only on the vertex's own edges
// (pull_segmented: on the numbering of the vertices). So results do not depend on pages, row blocks or launches.

[[maybe_unused]] constexpr u32 AT_ONCE = 4;         // contributions that a thread has in flight
[[maybe_unused]] constexpr u32 STAGED_AT_ONCE = 8;  // the same for kernels where a block stages its rows

template <class S> __device__ __forceinline__ bool gathers(const typename S::Env& env, u32 v,
                                                           const typename S::Masks& masks) {
  return S::wanted(masks) && !S::is_final(env, v);
}

// -- where contributions come from ------------------------------------------------------------------------------------

// The edges of vertex v from edge number `begin` on, read from global memory.
template <class S> struct Edges {
  const typename S::Env& env;
  const typename S::Columns& columns;
  const u32* targets;  // begins with the target of edge `begin`
  u64 begin;
  u32 v;

  __device__ __forceinline__ Edges(const typename S::Env& env_, const typename S::Columns& columns_,
                                   const u32* all_targets, u64 begin_, u32 v_)
      : env(env_), columns(columns_), targets(all_targets + begin_), begin(begin_), v(v_) {}
  __device__ __forceinline__ u32 target(u32 i) const { return __ldg(targets + i); }
  __device__ __forceinline__ typename S::Item item(u32 i, u32 u) const {
    return S::contribute(env, columns, v, u, i64(begin + i));
  }
};

// Contributions staged in shared memory.
template <class S> struct Staged {
  const typename S::Item* items;

  __device__ __forceinline__ u32 target(u32) const { return 0; }
  __device__ __forceinline__ typename S::Item item(u32 i, u32) const { return items[i]; }
};

// Joins contributions first, first + stride, ... of a row, in this order. Loads past the end repeat the last edge and
// are discarded, so that N loads are in flight even in short rows. A pass that stores values at edges omits them, because
// two lanes must not store the value of an edge. Stops when nothing can change the result (rule X1).
template <class S, u32 N, class Source>
__device__ __forceinline__ typename S::Acc strided(
    const typename S::Env& env, const Source& source, u32 degree, u32 first, u32 stride) {
  typename S::Acc acc = S::identity(env);
  for (u32 i = first; i < degree; i += N * stride) {
    u32 targets[N];
    typename S::Item items[N];
    UNROLL
    for (u32 j = 0; j < N; j++) {
      targets[j] = source.target(i + j * stride < degree ? i + j * stride : degree - 1);
    }
    UNROLL
    for (u32 j = 0; j < N; j++) {
      if (!S::STORES || i + j * stride < degree) {
        items[j] = source.item(i + j * stride < degree ? i + j * stride : degree - 1, targets[j]);
      }
    }
    UNROLL
    for (u32 j = 0; j < N; j++) {
      if (i + j * stride < degree) {
        acc = S::merge(env, acc, S::lift(env, items[j]));
      }
    }
    if constexpr (S::EARLY) {
      if (S::decided(acc)) {
        break;
      }
    }
  }
  return acc;
}

// -- rows processed by one thread or by several lanes -----------------------------------------------------------------

template <class S> __device__ __forceinline__ void pull_thread(u64* frame, const u64* row, u64 low, u64 high) {
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = S::bind_columns(row);
  const u64* offsets = pointer<const u64>(row, ROW_OFFSETS);
  const u32* targets = pointer<const u32>(row, ROW_TARGETS);
  u32 changed = 0, active = 0;
  for (u64 at = low + thread_number(); at < high; at += thread_count()) {
    const u32 v = u32(at);
    const u64 begin = offsets[at], degree = offsets[at + 1] - begin;
    if (degree <= SEGMENT) {
      const typename S::Masks masks = S::ready(env, v);
      typename S::Acc acc = S::identity(env);
      if (gathers<S>(env, v, masks)) {
        acc = strided<S, AT_ONCE>(env, Edges<S>(env, columns, targets, begin, v), u32(degree), 0, 1);
      }
      const u32 flags = S::apply(env, v, masks, acc);
      changed += flags & 1;
      active += flags >> 1;
    }
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

// Uses L lanes per row, 2 to 32: lane l processes edges l, l + L, ..., then a tree merges the lanes' accumulators.
template <class S, int L> __device__ __forceinline__ void pull_lanes(u64* frame, const u64* row, u64 low, u64 high) {
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = S::bind_columns(row);
  const u64* offsets = pointer<const u64>(row, ROW_OFFSETS);
  const u32* targets = pointer<const u32>(row, ROW_TARGETS);
  u32 changed = 0, active = 0;
  for (u64 base = low + thread_number() / 32 * (32 / L); base < high; base += thread_count() / L) {
    const u64 at = base + lane_number() / L;
    const u32 v = u32(at);
    const u64 begin = at < high ? offsets[at] : 0, degree = at < high ? offsets[at + 1] - begin : 0;
    const bool mine = at < high && degree <= SEGMENT;
    typename S::Acc acc = S::identity(env);
    if (mine && gathers<S>(env, v, S::ready(env, v))) {
      acc = strided<S, AT_ONCE>(env, Edges<S>(env, columns, targets, begin, v), u32(degree), lane_number() % L, L);
    }
    acc = lanes_merge<S>(env, acc, L);
    if (mine && lane_number() % L == 0) {
      const u32 flags = S::apply(env, v, S::ready(env, v), acc);
      changed += flags & 1;
      active += flags >> 1;
    }
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

// -- long vertices ----------------------------------------------------------------------------------------------------

// Reduces segments [low, high) of the table of segments, one per block.
template <class S> __device__ __forceinline__ void segments(u64* frame, const u64* row, u64 low, u64 high) {
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = S::bind_columns(row);
  const u32* targets = pointer<const u32>(row, ROW_TARGETS);
  const i64* table = pointer<const i64>(frame, SLOT_SEGMENTS);
  for (u64 s = low + blockIdx.x; s < high; s += gridDim.x) {
    const u32 v = u32(table[3 * s]);
    const u64 begin = u64(table[3 * s + 1]);
    const u32 count = u32(u64(table[3 * s + 2]) - begin);
    typename S::Acc acc = S::identity(env);
    if (gathers<S>(env, v, S::ready(env, v))) {
      acc = strided<S, STAGED_AT_ONCE>(env, Edges<S>(env, columns, targets, begin, v), count, threadIdx.x, blockDim.x);
    }
    acc = block_merge<S>(env, acc, shared_memory<typename S::Acc>(0));
    if (threadIdx.x == 0) {
      S::put(env, i64(s), acc);
    }
  }
}

// Finishes a long vertex: lane l of a warp merges segments l, l + 32, ..., then a tree merges the lanes' accumulators.
template <class S>
__device__ __forceinline__ u32 finish_one(const typename S::Env& env, const i64* longs, u64 number) {
  const u32 v = u32(longs[3 * number]);
  typename S::Acc acc = S::identity(env);
  for (i64 s = longs[3 * number + 1] + lane_number(); s < longs[3 * number + 2]; s += 32) {
    acc = S::merge(env, acc, S::get(env, s));
  }
  acc = lanes_merge<S>(env, acc, 32);
  return lane_number() == 0 ? S::apply(env, v, S::ready(env, v), acc) : 0;
}

// Finishes long vertices [low, high), given by numbers in the table of long vertices, one per warp.
template <class S> __device__ __forceinline__ void finish(u64* frame, u64 low, u64 high) {
  const typename S::Env env = S::bind(frame);
  const i64* longs = pointer<const i64>(frame, SLOT_LONGS);
  u32 changed = 0, active = 0;
  for (u64 number = low + thread_number() / 32; number < high; number += thread_count() / 32) {
    const u32 flags = finish_one<S>(env, longs, number);
    changed += flags & 1;
    active += flags >> 1;
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

template <class S> __device__ __forceinline__ void finish_list(u64* frame, const u32* list, const u64* count) {
  const typename S::Env env = S::bind(frame);
  const i64* longs = pointer<const i64>(frame, SLOT_LONGS);
  const u64 listed = *count;
  u32 changed = 0, active = 0;
  for (u64 i = thread_number() / 32; i < listed; i += thread_count() / 32) {
    const u32 flags = finish_one<S>(env, longs, list[i]);
    changed += flags & 1;
    active += flags >> 1;
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

// -- warp segmentation ------------------------------------------------------------------------------------------------

// A strip: the edges of 32 vertices, concatenated, without the edges of long vertices. Lane l holds vertex l.
struct Strip {
  u32 first, end;  // the range of positions of this lane's vertex in the strip
  u64 shift;       // for this lane's vertex, edge number minus position in the strip
};

// The lane whose vertex owns the edge at position i of the strip; 31 for positions after the end.
__device__ __forceinline__ u32 owner_of(u32 i, u32 end) {
  u32 owner = 0;
  UNROLL
  for (u32 step = 16; step; step >>= 1) {
    const u32 before = lane_value(WARP, end, owner + step - 1);
    owner += before <= i ? step : 0;
  }
  return owner;
}

// Merges contributions of neighbouring lanes with the same owner, by a tree, into the first of these lanes.
template <class S>
__device__ __forceinline__ typename S::Acc merge_owned(const typename S::Env& env, typename S::Acc acc, u32 owner) {
  UNROLL
  for (u32 offset = 1; offset < 32; offset <<= 1) {
    const u32 from = (lane_number() + offset) & 31;
    const typename S::Acc other = S::from_lane(WARP, acc, from);
    const u32 its_owner = lane_value(WARP, owner, from);
    if (lane_number() + offset < 32 && its_owner == owner) {
      acc = S::merge(env, acc, other);
    }
  }
  return acc;
}

// Reduces positions [first, end) of the strip for the vertices in `live`; returns the accumulators of the lane's own
// vertex. Chunks start at multiples of 32, so the order of joins for a vertex does not depend on which other vertices
// are live.
template <class S>
__device__ __forceinline__ typename S::Acc reduce_strip(
    const typename S::Env& env, const typename S::Columns& columns, const u32* targets, u32 base, const Strip& strip,
    u32 live, u32 first, u32 end) {
  typename S::Acc total = S::identity(env);
  for (u32 chunk = first & ~31u; chunk < end; chunk += 32 * AT_ONCE) {
    u32 owners[AT_ONCE], senders[AT_ONCE];
    u64 edges[AT_ONCE];
    bool taken[AT_ONCE];
    typename S::Item items[AT_ONCE];
    UNROLL
    for (u32 j = 0; j < AT_ONCE; j++) {
      const u32 place = chunk + 32 * j + lane_number();
      owners[j] = owner_of(place, strip.end);
      edges[j] = lane_value(WARP, strip.shift, owners[j]) + place;
      taken[j] = place < end && (live >> owners[j] & 1);
    }
    UNROLL
    for (u32 j = 0; j < AT_ONCE; j++) {
      senders[j] = taken[j] ? __ldg(targets + edges[j]) : 0;
    }
    UNROLL
    for (u32 j = 0; j < AT_ONCE; j++) {
      items[j] = S::nothing(env);
      if (taken[j]) {
        items[j] = S::contribute(env, columns, base + owners[j], senders[j], i64(edges[j]));
      }
    }
    UNROLL
    for (u32 j = 0; j < AT_ONCE; j++) {
      const u32 here = chunk + 32 * j;
      const typename S::Acc merged = merge_owned<S>(env, S::lift(env, items[j]), owners[j]);
      const bool some = strip.first < here + 32 && strip.end > here && strip.first < strip.end;
      const u32 head = strip.first > here ? strip.first - here : 0;
      const typename S::Acc mine = S::from_lane(WARP, merged, some ? head : lane_number());
      if (some) {
        total = S::merge(env, total, mine);
      }
    }
  }
  return total;
}

// Warp segmentation (Khorasani, Gupta, Bhuyan: Scalable SIMD-efficient graph processing on GPUs, PACT'15). A warp
// processes the edges of vertices 32 w to 32 w + 31, in chunks of 32 edges. A binary search finds the owner of each
// edge, and a segmented reduction by shuffles joins the edges of each owner. The position of a vertex's edges in the
// chunks depends on the degrees of the vertices before it in the warp, even of vertices outside [low, high). So it
// depends only on the numbering.
template <class S> __device__ __forceinline__ void pull_segmented(u64* frame, const u64* row, u64 low, u64 high) {
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = S::bind_columns(row);
  const u64* offsets = pointer<const u64>(row, ROW_OFFSETS);
  const u32* targets = pointer<const u32>(row, ROW_TARGETS);
  u32 changed = 0, active = 0;
  for (u64 warp = low / 32 + thread_number() / 32; 32 * warp < high; warp += thread_count() / 32) {
    const u64 at = 32 * warp + lane_number();
    const u32 v = u32(at);
    const u64 begin = at < high ? offsets[at] : 0, degree = at < high ? offsets[at + 1] - begin : 0;
    const bool mine = low <= at && at < high && degree <= SEGMENT;
    const u32 length = degree <= SEGMENT ? u32(degree) : 0;
    Strip strip;
    strip.end = warp_inclusive(length);
    strip.first = strip.end - length;
    strip.shift = begin - strip.first;
    const u32 live = __ballot_sync(WARP, mine && length && gathers<S>(env, v, S::ready(env, v)));
    typename S::Acc acc = S::identity(env);
    if (live) {
      const u32 first = lane_value(WARP, strip.first, __ffs(i32(live)) - 1);
      const u32 end = lane_value(WARP, strip.end, 31 - __clz(i32(live)));
      acc = reduce_strip<S>(env, columns, targets, u32(32 * warp), strip, live, first, end);
    }
    if (mine) {
      const u32 flags = S::apply(env, v, S::ready(env, v), acc);
      changed += flags & 1;
      active += flags >> 1;
    }
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

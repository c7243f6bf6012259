// Early exit: each vertex that is not reached yet searches for a neighbour in the frontier, and stops at the first one.

[[maybe_unused]] constexpr u32 GLANCES = 2;  // groups of FLIGHT edges that a lane reads alone before its warp helps

// The search of vertices that are not reached yet for a neighbour in the frontier (rule X2; the bottom-up step of
// Beamer, Asanovic, Patterson: Direction-optimizing breadth-first search, SC'12). Each lane reads the first edges of
// its vertex. Then the warp reads the other edges of each of these vertices. Long vertices are searched segment by
// segment.
template <class S> struct Seeker {
  const Table& table;
  NextFrontier<S, 0>& frontier;
  const u32* present;  // bits of the frontier

  __device__ __forceinline__ typename S::Columns bind(const u64* row) const { return S::bind_columns(row); }

  // Joins the contribution of edge k; returns whether v changes.
  __device__ __forceinline__ bool take(const typename S::Columns& columns, const u32* targets, u32 v, u64 k) {
    return S::push(frontier.env, v, S::contribute(frontier.env, columns, v, targets[k], i64(k)));
  }

  // Whether one of the edges from k to k + FLIGHT, before `end`, comes from the frontier and changes v.
  __device__ __forceinline__ bool glance(
      const typename S::Columns& columns, const u32* targets, u32 v, u64 k, u64 end) {
    u32 senders[FLIGHT];
    bool hits[FLIGHT];
    UNROLL
    for (u32 j = 0; j < FLIGHT; j++) {
      senders[j] = targets[k + j < end ? k + j : end - 1];
    }
    UNROLL
    for (u32 j = 0; j < FLIGHT; j++) {
      hits[j] = bit_of(present, senders[j]);
    }
    frontier.tally.looked += end - k < FLIGHT ? end - k : FLIGHT;
    UNROLL
    for (u32 j = 0; j < FLIGHT; j++) {
      if (hits[j]) {  // loads past the end repeat the last edge
        return take(columns, targets, v, k + j < end ? k + j : end - 1);
      }
    }
    return false;
  }

  // All lanes search edges [begin, end) of one vertex. Returns true in the lane that joins a contribution.
  __device__ __forceinline__ bool together(
      const typename S::Columns& columns, const u32* targets, u32 v, u64 begin, u64 end) {
    for (u64 base = begin; base < end; base += 32 * FLIGHT) {
      bool hit = false;
      u64 at = 0;
      UNROLL
      for (u32 j = 0; j < FLIGHT; j++) {
        const u64 k = base + 32 * j + lane_number();
        if (k < end && bit_of(present, targets[k])) {
          hit = true;
          at = k;
        }
      }
      const u32 hits = __ballot_sync(WARP, hit);
      frontier.tally.looked += base + 32 * FLIGHT < end ? FLIGHT : (end - base + 31 - lane_number()) / 32;
      if (hits) {
        return lane_number() + 1 == u32(__ffs(int(hits))) && take(columns, targets, v, at);
      }
    }
    return false;
  }

  __device__ __forceinline__ const u64* row_of(u64 k) const {
    return table.pull_rows + (table.pull_pages == 1 ? 0 : page_of(table.pull_rows, table.pull_pages, k) * ROW_WORDS);
  }

  // Processes 32 vertices, starting with `base`, one per lane. Returns true in lanes whose vertex was reached.
  __device__ __forceinline__ bool vertices(u64 base) {
    const u64 at = base + lane_number();
    const u32 v = u32(at);
    u64 k = 0, end = 0;
    if (at < table.high && !S::is_final(frontier.env, v)) {
      k = table.pull_offsets[at];
      end = table.pull_offsets[at + 1];
    }
    if (end - k > SEGMENT) {
      k = end;
    }
    bool reached = false;
    if (k < end) {
      const u64* row = row_of(k);
      const typename S::Columns columns = bind(row);
      const u32* targets = pointer<const u32>(row, ROW_TARGETS);
      for (u32 round = 0; round < GLANCES && k < end && !reached; round++) {
        reached = glance(columns, targets, v, k, end);
        k += FLIGHT;
      }
    }
    for (u32 rest = __ballot_sync(WARP, k < end && !reached); rest; rest &= rest - 1) {
      const int lane = __ffs(int(rest)) - 1;
      const u64 from = lane_value(WARP, k, lane), to = lane_value(WARP, end, lane);
      const u64* row = row_of(from);
      const bool hit = together(bind(row), pointer<const u32>(row, ROW_TARGETS), u32(base) + lane, from, to);
      const bool any = __ballot_sync(WARP, hit) != 0;
      reached |= any && lane_number() == u32(lane);
    }
    return reached;
  }

  __device__ __forceinline__ void all(const Crew& crew) {
    const Desk desk = own_desk();
    u32 filled = 0;
    for (u64 base = table.low + 32 * crew.warp; base < table.high; base += 32 * crew.warps) {
      const bool reached = vertices(base);
      filled = kept(desk, stage(desk, filled, reached, u32(base) + lane_number()), ROOM);
    }
    for (u64 s = crew.warp; s < table.segment_count; s += crew.warps) {
      const u32 v = u32(table.segments[3 * s]);
      bool hit = false;
      const bool open = lane_value(WARP, !S::is_final(frontier.env, v), 0);  // another warp may have reached it
      if (open) {
        const u64 from = u64(table.segments[3 * s + 1]);
        const u64* row = row_of(from);
        hit = together(bind(row), pointer<const u32>(row, ROW_TARGETS), v, from, u64(table.segments[3 * s + 2]));
      }
      filled = kept(desk, stage(desk, filled, hit, v), ROOM);
    }
    kept(desk, filled, 0);
  }

  // Flushes the staged vertices if there are more than `room`.
  __device__ __forceinline__ u32 kept(const Desk& desk, u32 filled, u32 room) {
    if (filled <= room) {
      return filled;
    }
    __syncwarp();
    for (u32 i = lane_number(); i < filled; i += 32) {
      set_bit(frontier.bits, desk.staged[i]);
    }
    frontier.flush(desk, filled);
    __syncwarp();
    return 0;
  }
};

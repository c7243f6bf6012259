// Supersteps over streamed pages. One kernel processes one page while other pages are being copied. Kernels of several
// pages may run at the same time.

// Counts, for each page, the entries of a queue that have edges in the page, and how many of their edges are in it.
__device__ __forceinline__ void mark_queue(const u64* offsets, const u64* starts, u64 pages, const u64* queue,
                                           const u64* count, u64* marks) {
  const Stretch mine = own_stretch(*count);
  PageMarks found{starts, pages, marks, 0, 0, 0, 0, 0, 0};
  for (u64 i = mine.first; i < mine.end; i++) {
    const u32 v = u32(queue[i]);
    const u64 begin = offsets[v] + (queue[i] >> 32) * CHUNK, stop = offsets[u64(v) + 1];
    found.add(begin, begin + CHUNK < stop ? begin + CHUNK : stop);
  }
  found.flush();
}

// Copies the entries of a queue, sorted by page and by weight, after `mark_queue` has counted them. All edges of an
// entry are in one page. places: u64[pages + 1][2], for each page the place of its next heavy and of its next light
// entry; the last row is for entries without edges.
__device__ __forceinline__ void sort_queue(const u64* offsets, const u64* starts, u64 pages, const u64* queue,
                                           const u64* count, u64* places, u64* sorted) {
  const u64 entries = *count, lane = lane_number();
  for (u64 base = thread_number() - lane; base < entries; base += thread_count()) {
    const bool there = base + lane < entries;
    const u64 entry = there ? queue[base + lane] : 0;
    u64 group = 2 * pages + 1;
    if (there) {
      const u64 begin = offsets[u32(entry)] + (entry >> 32) * CHUNK, left = offsets[u64(u32(entry)) + 1] - begin;
      if (left != 0) {
        group = 2 * page_with(starts, pages, begin) + (left >= HEAVY ? 0 : 1);
      }
    }
    for (u32 waiting = __ballot_sync(WARP, there); waiting;) {  // one atomic operation for the entries of a group
      const int first = __ffs(int(waiting)) - 1;
      const u64 now = lane_value(WARP, group, first);
      const bool same = there && group == now;
      const u32 members = __ballot_sync(WARP, same);
      u64 at = 0;
      if (int(lane) == first) {
        at = atomicAdd(places + group, u64(__popc(members)));
      }
      at = lane_value(WARP, at, first);
      if (same) {
        sorted[at + __popc(members & ((1u << lane) - 1))] = entry;
      }
      waiting &= ~members;
    }
  }
}

// A part of a sorted queue: heavy entries, then light ones.
struct Slice {
  const u64* entries;
  u64 heavy, light;
};

// Processes a slice with a crew of warps. A heavy entry is a tile of its own, so no warp gets the edges of a whole hub.
// rows: the pages that hold the edges of the slice; if there is only one, it holds all of them. packed: see `walk_tile`.
template <class W>
__device__ __forceinline__ void walk_slice(
    const Table& table, const Slice& slice, W& work, const Crew& crew, const u64* rows, u64 pages, const u32* packed) {
  u32 shift = 0;
  while (shift < 5 && crew.warps << shift < slice.light) {
    shift++;
  }
  const u64 end = slice.heavy + slice.light;
  const u64 tiles = slice.heavy + ((slice.light + (u64(1) << shift) - 1) >> shift);
  const Desk desk = own_desk();
  Place<W> place;
  place.open(work, rows, pages == 1);
  u32 filled = 0;
  for (u64 tile = crew.warp; tile < tiles; tile += crew.warps) {
    const bool heavy = tile < slice.heavy;
    const u64 begin = heavy ? tile : slice.heavy + ((tile - slice.heavy) << shift);
    const u64 after = heavy ? begin + 1 : begin + (u64(1) << shift);
    filled = walk_tile<W, false>(table, slice.entries, begin, after < end ? after : end, work, place, desk, filled,
                                 packed);
  }
  if constexpr (W::FINDS) {
    if (filled) {
      work.flush(desk, filled);
      __syncwarp();
    }
  }
}

// Marks the neighbours of the vertices in the first queue, along edges in one page.
__device__ __forceinline__ void notify_page(const Table* where, u8* marks, const u64* row) {
  const Table& table = *where;
  Counts* counts = table.control->counts;
  Notifying work{marks};
  walk<Notifying, true>(table, table.queues[0], counts->entries, &counts->taken, work, crew_of(false), row);
}

// The counts and queues that a superstep of a loop over frontiers reads and writes.
struct Turn {
  u32 parity;
  Counts *now, *next;
};

__device__ __forceinline__ Turn turn_of(const Control* control) {
  const u64 step = control->step;
  Counts* counts = const_cast<Counts*>(control->counts);
  return {u32(step & 1), counts + step % 3, counts + (step + 1) % 3};
}

// Updates the messages of the vertices in the frontier.
template <class S> __device__ __forceinline__ void send_frontier(u64* frame, const Table* where) {
  const Turn turn = turn_of(where->control);
  send_queued<S>(S::bind(frame), where->queues[turn.parity], turn.now->entries, crew_of(false));
}

// Pushes directly from a part of the frontier, along its edges in one page or in several (see `walk_slice`). FOUND: see
// `NextFrontier`.
template <class S, int PRIORITY, int FOUND>
__device__ __forceinline__ void push_direct(u64* frame, const Table& table, const Slice& slice, const u64* rows,
                                              u64 pages, const u32* packed) {
  const typename S::Env env = S::bind(frame);
  const Control* control = table.control;
  const Turn turn = turn_of(control);
  NextFrontier<S, PRIORITY, FOUND> frontier{
      table, env, table.queues[1 - turn.parity], turn.next, table.bits[1 - turn.parity], 0, 0, false, {}};
  if constexpr (PRIORITY) {
    frontier.pile = control->pile;
    frontier.bound = control->bound;
    frontier.first = control->delta == 0;
  }
  PushDirect<S, NextFrontier<S, PRIORITY, FOUND>> work{frontier, table.bits[turn.parity]};
  walk_slice(table, slice, work, crew_of(false), rows, pages, packed);
  frontier.tally.changed = frontier.tally.active;
  add_tally(frontier.tally, own_board().sums, turn.next);
}

// Pushes from a part of the frontier, sorted by page, along its edges in one page or in several (see `walk_slice`).
template <class S, int PRIORITY>
__device__ __forceinline__ void push_slice(u64* frame, const Table* where, const u64* rows, u64 pages,
                                           const u64* entries, u64 heavy, u64 light, const u32* packed) {
  const Table& table = *where;
  const Slice slice{entries, heavy, light};
  if constexpr (S::PUSH == 1) {
    push_direct<S, PRIORITY, COUNTED>(frame, table, slice, rows, pages, packed);
  } else {
    const typename S::Env env = S::bind(frame);
    const Turn turn = turn_of(table.control);
    PushCells<S> work{table, env, &turn.next->touched};
    walk_slice(table, slice, work, crew_of(false), rows, pages, packed);
  }
}

// Applies the contributions pushed to touched vertices, after all pages.
template <class S> __device__ __forceinline__ void apply_pushed(u64* frame, const Table* where) {
  const Table& table = *where;
  const typename S::Env env = S::bind(frame);
  const Turn turn = turn_of(table.control);
  NextFrontier<S, 0, COUNTED> frontier{
      table, env, table.queues[1 - turn.parity], turn.next, table.bits[1 - turn.parity], 0, 0, false, {}};
  apply_touched<S>(table, frontier, crew_of(false));
  add_tally(frontier.tally, own_board().sums, turn.next);
}

// Records a superstep over pages in the same way as `traverse` does, so that either can run the next superstep.
__device__ __forceinline__ void end_superstep(const Table* where) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    Control* control = where->control;
    const Turn turn = turn_of(control);
    u64* row = where->records;
    row[0] = turn.next->active;
    row[1] = turn.next->changed;
    row[2] = turn.now->edges;
    row[3] = MODE_PUSH;
    control->worked += turn.now->edges;
    control->worked_steps++;
    control->counts[(control->step + 2) % 3] = Counts{};
    control->step++;
    control->done = 1;
    control->reason = ENDED_LIMIT;
  }
}

// Supersteps over streamed pages. One kernel processes one page while other pages are being copied. Kernels of several
// pages may run at the same time.

// Counts, for each page, the entries of a queue that have edges in the page, and how many of their edges are in it.
__device__ __forceinline__ void mark_queue(const u64* offsets, const u64* starts, u64 pages, const u64* queue,
                                           const u64* count, u64* marks) {
  const Stretch mine = own_stretch(*count);
  PageMarks found{starts, pages, marks, 0, 0, 0};
  for (u64 i = mine.first; i < mine.end; i++) {
    const u32 v = u32(queue[i]);
    const u64 begin = offsets[v] + (queue[i] >> 32) * CHUNK, stop = offsets[u64(v) + 1];
    found.add(begin, begin + CHUNK < stop ? begin + CHUNK : stop);
  }
  found.flush();
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

// The tallies of a block, set to 0. All threads take part.
__device__ __forceinline__ u64* cleared_sums() {
  u64* sums = own_board().sums;
  if (threadIdx.x < TALLIES) {
    sums[threadIdx.x] = 0;
  }
  __syncthreads();
  return sums;
}

// Updates the messages of the vertices in the frontier.
template <class S> __device__ __forceinline__ void send_frontier(u64* frame, const Table* where) {
  const Turn turn = turn_of(where->control);
  send_queued<S>(S::bind(frame), where->queues[turn.parity], turn.now->entries, crew_of(false));
}

// Pushes from the frontier along its edges in one page.
template <class S, int PRIORITY>
__device__ __forceinline__ void push_page(u64* frame, const Table* where, const u64* row) {
  const Table& table = *where;
  const typename S::Env env = S::bind(frame);
  Control* control = table.control;
  const Turn turn = turn_of(control);
  u64* sums = cleared_sums();
  NextFrontier<S, PRIORITY> frontier{
      table, env, table.queues[1 - turn.parity], turn.next, table.bits[1 - turn.parity], 0, 0, false, {}};
  if constexpr (PRIORITY) {
    frontier.pile = control->pile;
    frontier.bound = control->bound;
    frontier.first = control->delta == 0;
  }
  const u64* queue = table.queues[turn.parity];
  if constexpr (S::PUSH == 1) {
    using Push = PushDirect<S, PRIORITY>;
    Push work{frontier, table.bits[turn.parity]};
    walk<Push, true>(table, queue, turn.now->entries, nullptr, work, crew_of(false), row);
    frontier.tally.changed = frontier.tally.active;
  } else {
    PushCells<S> work{table, env, &turn.next->touched};
    walk<PushCells<S>, true>(table, queue, turn.now->entries, nullptr, work, crew_of(false), row);
  }
  add_tally(frontier.tally, sums, turn.next);
}

// Applies the contributions pushed to touched vertices, after all pages.
template <class S> __device__ __forceinline__ void apply_pushed(u64* frame, const Table* where) {
  const Table& table = *where;
  const typename S::Env env = S::bind(frame);
  const Turn turn = turn_of(table.control);
  u64* sums = cleared_sums();
  NextFrontier<S, 0> frontier{
      table, env, table.queues[1 - turn.parity], turn.next, table.bits[1 - turn.parity], 0, 0, false, {}};
  apply_touched<S>(table, frontier, crew_of(false));
  add_tally(frontier.tally, sums, turn.next);
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

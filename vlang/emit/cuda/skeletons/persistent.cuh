// Many supersteps in one launch. All blocks are resident and synchronise at a barrier in global memory. If a frontier
// is small enough for one block, block 0 processes it alone and needs only block barriers.

// Yields to other threads while this thread polls.
__device__ __forceinline__ void relax() { __nanosleep(32); }

// The barrier of a crew. due: the number of arrivals that completes the next barrier of the whole grid.
struct Meeting {
  u64* arrived;
  u64 due;

  __device__ __forceinline__ void wait(bool alone) {
    __syncthreads();
    if (alone) {
      return;
    }
    if (threadIdx.x == 0) {
      arrive();
    }
    __syncthreads();
  }

  // The barrier for one thread of each block.
  __device__ __forceinline__ void arrive() {
    due += gridDim.x;
    __threadfence();
    atomicAdd(arrived, u64(1));
    while (*(volatile u64*)arrived < due) {
      relax();
    }
    __threadfence();
  }

  // The barrier at the end of a superstep. Thread 0 of each block calls `decide` before the other threads of the block
  // continue, so only one warp of the block executes it. Before the call, a barrier of the block must follow the work
  // of all warps except the first.
  template <class F> __device__ __forceinline__ void step_barrier(bool alone, const F& decide) {
    __syncwarp();
    if (threadIdx.x == 0) {
      if (!alone) {
        arrive();
      }
      decide();
    }
    __syncthreads();
  }
};

// The next step of all blocks.
enum : u32 { DO_PUSH, DO_PULL, DO_REFILL, DO_PART, DO_END };

// The state of a launch in progress. Each block has a copy in its shared memory, which its thread 0 updates; the copies
// are equal. While block 0 works alone, its copy is ahead of the other copies.
struct Course {
  u64 step, done;
  u64 unreached, unreached_edges;
  Counts seen;  // the counts of the frontier
  u64 reason;   // why the launch ends, or 0
  u64 walked;   // edges of the previous frontier
  u64 mode;     // MODE_... of the last superstep
  u32 third;    // step modulo 3
  u32 next;     // DO_...
  u32 alone;    // if block 0 works alone, the number of supersteps since then plus 1; otherwise 0
  u32 pulling;  // whether the last superstep searched from vertices that are not reached
};
[[maybe_unused]] constexpr u32 COURSE_BYTES = 128;
static_assert(sizeof(Course) == COURSE_BYTES, "the host reserves COURSE_BYTES (runtime/gpu/kernels/sparse_layout.py)");

// Whether the next superstep of an early-exit loop should search from vertices that are not reached, rather than push
// from the frontier. RULE_BEAMER is the published rule, with alpha 14 and beta 24. Other rules compare costs: a vertex
// reads about (all edges) / (edges of the frontier) edges until it finds a neighbour, if it has that many.
__device__ __forceinline__ bool should_pull(const Table& table, const Course& course, const Counts& now) {
  const u64 vertices = table.high - table.low;
  if (table.rule == RULE_BEAMER) {
    return course.pulling ? now.active * 24 > vertices : now.edges * 14 > course.unreached_edges;
  }
  if (table.rule != RULE_COST || now.edges == 0) {
    return table.rule == RULE_PULL;
  }
  if (now.edges < vertices && now.edges * table.push_cost <= vertices * table.scan_cost) {
    return false;  // a cheap test that decides for nearly all frontiers of a long search
  }
  const f64 push = f64(now.edges) * f64(table.push_cost);
  const f64 asked = f64(course.unreached) * (f64(table.edges) / f64(now.edges));
  const f64 looks = asked < f64(course.unreached_edges) ? asked : f64(course.unreached_edges);
  return push > f64(vertices) * f64(table.scan_cost) + looks * f64(table.pull_cost);
}

// Raises the bound until the queue has an entry or the pile is empty. This counts as one round. The caller must then
// call `Meeting::step_barrier`.
template <class S>
__device__ __forceinline__ void refill(
    const Table& table, const typename S::Env& env, Meeting& meeting, bool alone, u64* queue, Counts* now) {
  Control* control = table.control;
  const bool first = threadIdx.x == 0 && blockIdx.x == 0;
  meeting.wait(alone);  // after this barrier, all blocks have read that the queue is empty
  if (first) {
    raise_bound(control);
  }
  meeting.wait(alone);
  sift<S>(table, env, queue, now, crew_of(alone));
  meeting.wait(alone);
  if (first) {
    const u64 pile = control->pile;
    control->piled[pile] = 0;
    control->least[pile] = ~u64(0);
    control->pile = 1 - pile;
  }
  __syncthreads();
}

// Runs one superstep: the vertices of the queue push, and the next frontier is built. The caller must then call
// `Meeting::step_barrier`.
template <class S, int PRIORITY>
__device__ __forceinline__ void push_step(
    const Table& table, const typename S::Env& env, Meeting& meeting, const Course& course, Counts* now, Counts* next,
    u64* sums) {
  const u32 parity = u32(course.step) & 1;
  const u64* queue = table.queues[parity];
  const u64 entries = course.seen.entries;
  const bool alone = course.alone;
  const Crew crew = crew_of(alone);
  Control* control = table.control;
  NextFrontier<S, PRIORITY> frontier{table, env, table.queues[1 - parity], next, table.bits[1 - parity], 0, 0, false, {}};
  if constexpr (sends<S>(0)) {
    send_queued<S>(env, queue, entries, crew);
    meeting.wait(alone);
  }
  if (crew.warp < entries) {  // otherwise there is no tile for the warp
    if constexpr (PRIORITY) {
      frontier.pile = control->pile;
      frontier.bound = control->bound;
      frontier.first = control->delta == 0;
    }
    if constexpr (S::PUSH == 1) {
      PushDirect<S, NextFrontier<S, PRIORITY>> work{frontier, table.bits[parity]};
      walk(table, queue, entries, &now->taken, work, crew);
      frontier.tally.changed = frontier.tally.active;
    } else {
      PushCells<S> work{table, env, &next->touched};
      walk(table, queue, entries, &now->taken, work, crew);
    }
  }
  if constexpr (S::PUSH != 1) {
    meeting.wait(alone);
    apply_touched<S>(table, frontier, crew);
  }
  add_tally(frontier.tally, sums, next);
}

template <class S>
__device__ __forceinline__ void early_step(
    const Table& table, const typename S::Env& env, Meeting& meeting, const Course& course, Counts* next, u64* sums) {
  const u32 parity = u32(course.step) & 1;
  NextFrontier<S, 0> frontier{table, env, table.queues[1 - parity], next, table.bits[1 - parity], 0, 0, false, {}};
  Seeker<S> seeker{table, frontier, table.bits[parity]};
  seeker.all(crew_of(false));
  frontier.tally.changed = frontier.tally.active;
  add_tally(frontier.tally, sums, next);
  meeting.wait(false);
  for (u64 word = thread_number(); word < (table.vertices + 31) / 32; word += thread_count()) {
    table.bits[parity][word] = 0;
  }
  __syncthreads();
}

// The shared memory of a block after the staging areas.
struct Board {
  Counts* counts;  // 3 counts, used while block 0 is alone
  Course* course;
  Table* table;
  u64* row;        // ROW_WORDS words
  u64* sums;       // TALLIES words per warp
  HeldCounts* held_counts;
  u64* held;       // the queues of `HeldQueues`
};

__device__ __forceinline__ Board own_board() {
  const u32 counts = (blockDim.x >> 5) * DESK_BYTES, course = counts + 3 * u32(sizeof(Counts));
  const u32 table = course + u32(sizeof(Course)), row = table + u32(sizeof(Table)), sums = row + 8 * u32(ROW_WORDS);
  const u32 held_counts = sums + 8 * TALLIES * (blockDim.x >> 5), held = held_counts + u32(sizeof(HeldCounts));
  return {shared_memory<Counts>(counts), shared_memory<Course>(course), shared_memory<Table>(table),
          shared_memory<u64>(row), shared_memory<u64>(sums), shared_memory<HeldCounts>(held_counts),
          shared_memory<u64>(held)};
}

// Copies a table to shared memory, and also the row of the page if there is only one page. A barrier of the grid
// empties the L1 cache, so each superstep would otherwise begin with a chain of loads from L2 or device memory. All
// threads take part, and must synchronise before they read the copy.
__device__ __forceinline__ const Table& own_table(const Table& given, const Board& board) {
  const bool single = given.pages == 1;
  if (threadIdx.x == 0) {
    *board.table = given;
    board.table->rows = single ? board.row : given.rows;
  }
  for (u32 word = threadIdx.x; single && word < u32(ROW_WORDS); word += blockDim.x) {
    board.row[word] = given.rows[word];
  }
  return *board.table;
}

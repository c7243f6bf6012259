// The loop of a launch that runs many supersteps (persistent.cuh): decisions between supersteps, and the state that block 0
// takes along while it works alone.

// The counts of supersteps by number modulo 3.
__device__ __forceinline__ Counts* counts_of(Control* control, const Board& board) {
  return board.course->alone ? board.counts : control->counts;
}

// After so many supersteps, a launch ends if a cluster can continue. A short search is not worth another launch.
[[maybe_unused]] constexpr u32 FEW_STEPS = 8;

// The counts of a superstep without the number of taken tiles, which other blocks may count up already.
__device__ __forceinline__ Counts seen_of(const Counts& now) {
  Counts seen{};
  seen.entries = now.entries;
  seen.edges = now.edges;
  seen.active = now.active;
  seen.changed = now.changed;
  seen.looked = now.looked;
  return seen;
}

// Decides what the blocks do next. Runs on thread 0 of each block, after the frontier is complete.
template <class S, int PRIORITY>
__device__ __forceinline__ void judge(const Table& table, const Board& board, u64 most) {
  Control* control = table.control;
  Course& course = *board.course;
  const Counts seen = seen_of(counts_of(control, board)[course.third]);
  course.seen = seen;
  const u64 piled = PRIORITY && seen.entries == 0 ? control->piled[control->pile] : 0;
  course.reason = seen.entries == 0 && piled == 0 ? ENDED_EMPTY
                  : course.done == most           ? ENDED_LIMIT
                  : seen.edges >= table.leave     ? ENDED_LARGE
                                                  : 0;
  bool pull = false;
  if constexpr (S::FRONTIER && S::PUSH == 1) {
    pull = !course.reason && should_pull(table, course, seen);
  }
  if (!course.reason && !pull && course.done >= FEW_STEPS && seen.entries && 2 * seen.entries <= table.few &&
      2 * seen.edges <= table.few_edges) {
    course.reason = ENDED_FEW;
  }
  const u32 half = course.alone ? 0 : 1;
  const bool small = !course.reason && !pull && seen.entries <= table.solo >> half &&
                     seen.edges <= table.solo_edges >> half && piled <= table.solo_edges >> half;
  course.next = small != bool(course.alone)       ? DO_PART
                : course.reason                   ? DO_END
                : PRIORITY && seen.entries == 0   ? DO_REFILL
                : pull                            ? DO_PULL
                                                  : DO_PUSH;
  if (course.next == DO_PUSH || course.next == DO_PULL) {
    course.pulling = pull;
  }
}

// Moves the state of the launch to the next superstep.
__device__ __forceinline__ void step_on(Course& course) {
  course.walked = course.seen.edges;
  course.mode = course.pulling ? MODE_EARLY : MODE_PUSH;
  course.third = course.third == 2 ? 0 : course.third + 1;
  course.step++;
  course.done++;
  course.alone += course.alone ? 1 : 0;
}

// Subtracts the next frontier from the vertices that are not reached yet, and from their edges.
__device__ __forceinline__ void count_reached(Course& course, const Counts& next) {
  course.unreached -= next.active < course.unreached ? next.active : course.unreached;
  course.unreached_edges -= next.edges < course.unreached_edges ? next.edges : course.unreached_edges;
}

// Updates the state of the launch after a superstep, and decides what comes next. Runs on thread 0 of each block.
template <class S, int PRIORITY>
__device__ __forceinline__ void advance(const Table& table, const Board& board, u64 most) {
  Course& course = *board.course;
  step_on(course);
  const Counts next = counts_of(table.control, board)[course.third];
  count_reached(course, next);
  judge<S, PRIORITY>(table, board, most);
}

// Whether this is the last thread of block 0, which writes the records. Its warp has the least to do in a superstep
// over few vertices.
__device__ __forceinline__ bool keeps_records() { return blockIdx.x == 0 && threadIdx.x == blockDim.x - 1; }

// Records the last superstep.
__device__ __forceinline__ void record(const Table& table, const Course& course) {
  u64* row = table.records + 4 * (course.done - 1);
  row[0] = course.seen.active;
  row[1] = course.seen.changed;
  row[2] = course.mode == MODE_EARLY ? course.seen.looked : course.walked;
  row[3] = course.mode;
}

// Block 0 continues alone, or rejoins the other blocks. These wait meanwhile, and then read which superstep it reached.
__device__ __forceinline__ void part(Control* control, const Board& board, Meeting& meeting) {
  Course& course = *board.course;
  if (!course.alone) {
    meeting.wait(false);  // all blocks have decided, so block 0 may change the state
    if (blockIdx.x == 0) {
      if (threadIdx.x < 3) {
        board.counts[threadIdx.x] = control->counts[threadIdx.x];
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        course.alone = 1;
      }
      return;
    }
  } else {
    if (threadIdx.x < 3) {
      control->counts[threadIdx.x] = board.counts[threadIdx.x];
    }
    if (threadIdx.x == 0) {
      control->step = course.step;
      control->done = course.done;
      control->unreached = course.unreached;
      control->unreached_edges = course.unreached_edges;
    }
  }
  meeting.wait(false);
  if (threadIdx.x == 0) {
    course.step = control->step;
    course.done = control->done;
    course.unreached = control->unreached;
    course.unreached_edges = control->unreached_edges;
    course.third = u32(course.step % 3);
    course.alone = course.pulling = 0;
  }
}

// The most edges of a frontier, at most `most`, with which block 0 goes on without a decision: it stays alone, pushes,
// and does not return to the host.
template <class S> __device__ __forceinline__ u64 undecided_edges(const Table& table, u64 most) {
  u64 edges = most < table.leave ? most : table.leave - 1;
  if constexpr (S::FRONTIER) {
    const u64 vertices = table.high - table.low;
    const u64 cheap = table.rule == RULE_PUSH   ? edges
                      : table.rule == RULE_COST ? vertices * table.scan_cost / table.push_cost
                                                : 0;
    edges = edges < cheap ? edges : cheap;
    edges = edges < vertices || table.rule == RULE_PUSH ? edges : vertices - 1;
  }
  return edges;
}

// After so many supersteps alone, block 0 keeps the frontier in shared memory. A short series of small frontiers is not
// worth the loading of its kernel text.
[[maybe_unused]] constexpr u32 ALONE_STEPS = 8;

// Runs supersteps of block 0 alone, with the frontier in shared memory. This function is not inlined, so that it takes
// no registers from the supersteps of the grid.
template <class S> __device__ __noinline__ void hold(const u64* frame, u64 most) {
  const Board board = own_board();
  const Table& table = *board.table;
  const typename S::Env env = S::bind(frame);
  Course& course = *board.course;
  const u64 held = table.held, done = course.done;
  const HeldQueues queues{board.held, reinterpret_cast<u32*>(board.held + 2 * held), held, board.held_counts};
  const AloneRun run =
      run_alone<S>(table, env, queues, board.sums, table.records + 4 * done, course.step, course.seen.entries,
                   course.seen.edges, most - done, undecided_edges<S>(table, table.solo_edges));
  if (threadIdx.x == blockDim.x - 1) {
    course.step += run.steps;
    course.done += run.steps;
    course.third = u32(course.step % 3);
    course.walked = run.walked;
    course.mode = MODE_PUSH;
    course.pulling = 0;
    course.unreached -= run.reached < course.unreached ? run.reached : course.unreached;
    course.unreached_edges -= run.reached_edges < course.unreached_edges ? run.reached_edges : course.unreached_edges;
    board.counts[0] = board.counts[1] = board.counts[2] = Counts{};
    board.counts[course.third] = Counts{run.entries, run.active, run.edges, run.active, 0, 0, 0};
    atomicAdd(&table.control->worked, run.worked);
    atomicAdd(&table.control->worked_steps, run.steps);
  }
  __syncthreads();
}

// Runs supersteps until one of these holds: the frontier is empty (under PRIORITY, also the pile); `most` supersteps
// have been run; the frontier has so many edges that it is returned to the host. All blocks must be resident;
// control->arrived must be 0 at the launch.
template <class S, int PRIORITY>
__device__ __forceinline__ void traverse(u64* frame, const Table* where, u64 most) {
  const Board board = own_board();
  const Table& table = own_table(*where, board);
  const typename S::Env env = S::bind(frame);
  __syncthreads();
  Control* control = table.control;
  Course& course = *board.course;
  Meeting meeting{&control->arrived, 0};
  if (threadIdx.x == 0) {
    course.step = control->step;
    course.done = 0;
    course.third = u32(course.step % 3);
    course.alone = course.pulling = 0;
    const Counts& first = control->counts[0];
    course.unreached = course.step == 0 ? table.high - table.low - first.active : control->unreached;
    course.unreached_edges = course.step == 0 ? table.edges - first.edges : control->unreached_edges;
    judge<S, PRIORITY>(table, board, most);
  }
  __syncthreads();
  for (u32 task = course.next; task != DO_END; task = course.next) {
    if (task == DO_PART) {
      part(control, board, meeting);
      if (threadIdx.x == 0) {
        judge<S, PRIORITY>(table, board, most);
      }
      __syncthreads();
      continue;
    }
    const bool alone = course.alone;
    Counts* sets = counts_of(control, board);
    Counts* now = sets + course.third;
    if (PRIORITY && task == DO_REFILL) {
      if constexpr (PRIORITY) {
        refill<S>(table, env, meeting, alone, table.queues[course.step & 1], now);
      }
      meeting.step_barrier(alone, [&] { judge<S, PRIORITY>(table, board, most); });
      continue;
    }
    if constexpr (S::PUSH == 1 && !PRIORITY && !sends<S>(0)) {
      if (task == DO_PUSH && course.alone > ALONE_STEPS && course.seen.entries <= table.held) {
        hold<S>(frame, most);
        if (threadIdx.x == 0) {
          judge<S, PRIORITY>(table, board, most);
        }
        __syncthreads();
        continue;
      }
    }
    Counts* next = sets + (course.third == 2 ? 0 : course.third + 1);
    if (keeps_records()) {
      sets[course.third == 0 ? 2 : course.third - 1] = Counts{};
      atomicAdd(&control->worked, course.seen.edges);  // unlike `+=`, this does not wait for a load
      atomicAdd(&control->worked_steps, u64(1));
    }
    if constexpr (S::FRONTIER && S::PUSH == 1) {
      if (task == DO_PULL) {
        early_step<S>(table, env, meeting, course, next, board.sums);
      }
    }
    if (task == DO_PUSH) {
      push_step<S, PRIORITY>(table, env, meeting, course, now, next, board.sums);
    }
    meeting.step_barrier(alone, [&] { advance<S, PRIORITY>(table, board, most); });
    if (keeps_records()) {
      record(table, course);
    }
  }
  meeting.wait(false);  // after this barrier, all blocks have read where block 0 rejoined
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    control->step = course.step;
    control->done = course.done;
    control->reason = course.reason;
    control->unreached = course.unreached;
    control->unreached_edges = course.unreached_edges;
  }
}

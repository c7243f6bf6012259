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
    due += gridDim.x;
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(arrived, u64(1));
      while (*(volatile u64*)arrived < due) {
        relax();
      }
      __threadfence();
    }
    __syncthreads();
  }
};

// The state of a launch in progress, which is equal in all blocks.
struct Course {
  u64 step, done;
  u64 unreached, unreached_edges;
  bool alone, pulling;
};

// Whether the next superstep of an early-exit loop should search from vertices that are not reached, rather than push
// from the frontier. RULE_BEAMER is the published rule, with alpha 14 and beta 24. Other rules compare costs: a vertex
// reads about (all edges) / (edges of the frontier) edges until it finds a neighbour, if it has that many.
__device__ __forceinline__ bool should_pull(const Table& table, const Course& course, const Counts& now) {
  if (table.rule == RULE_BEAMER) {
    return course.pulling ? now.active * 24 > table.vertices : now.edges * 14 > course.unreached_edges;
  }
  if (table.rule != RULE_COST || now.edges == 0) {
    return table.rule == RULE_PULL;
  }
  const f64 push = f64(now.edges) * f64(table.push_cost);
  const f64 asked = f64(course.unreached) * (f64(table.edges) / f64(now.edges));
  const f64 looks = asked < f64(course.unreached_edges) ? asked : f64(course.unreached_edges);
  return push > f64(table.vertices) * f64(table.scan_cost) + looks * f64(table.pull_cost);
}

// Raises the bound until the queue has an entry or the pile is empty. This counts as one round.
template <class S>
__device__ __forceinline__ void refill(
    const Table& table, const typename S::Env& env, Meeting& meeting, const Course& course, u64* queue, Counts* now) {
  Control* control = table.control;
  const bool first = threadIdx.x == 0 && blockIdx.x == 0;
  meeting.wait(course.alone);  // after this barrier, all blocks have read that the queue is empty
  if (first) {
    raise_bound(control);
  }
  meeting.wait(course.alone);
  sift<S>(table, env, queue, now, crew_of(course.alone));
  meeting.wait(course.alone);
  if (first) {
    const u64 pile = control->pile;
    control->piled[pile] = 0;
    control->least[pile] = ~u64(0);
    control->pile = 1 - pile;
  }
  meeting.wait(course.alone);
}

// Runs one superstep: the vertices of the queue push, and the next frontier is built.
template <class S, int PRIORITY>
__device__ __forceinline__ void push_step(
    const Table& table, const typename S::Env& env, Meeting& meeting, const Course& course, Counts* now, Counts* next,
    u64* sums) {
  const u32 parity = u32(course.step & 1);
  const u64* queue = table.queues[parity];
  const Crew crew = crew_of(course.alone);
  Control* control = table.control;
  NextFrontier<S, PRIORITY> frontier{table, env, table.queues[1 - parity], next, table.bits[1 - parity], 0, 0, false, {}};
  if constexpr (PRIORITY) {
    frontier.pile = control->pile;
    frontier.bound = control->bound;
    frontier.first = control->delta == 0;
  }
  if constexpr (sends<S>(0)) {
    send_queued<S>(env, queue, now->entries, crew);
    meeting.wait(course.alone);
  }
  if constexpr (S::PUSH == 1) {
    PushDirect<S, NextFrontier<S, PRIORITY>> work{frontier, table.bits[parity]};
    walk(table, queue, now->entries, &now->taken, work, crew);
    frontier.tally.changed = frontier.tally.active;
  } else {
    PushCells<S> work{table, env, &next->touched};
    walk(table, queue, now->entries, &now->taken, work, crew);
    meeting.wait(course.alone);
    apply_touched<S>(table, frontier, crew);
  }
  add_tally(frontier.tally, sums, next);
}

template <class S>
__device__ __forceinline__ void early_step(
    const Table& table, const typename S::Env& env, Meeting& meeting, const Course& course, Counts* next, u64* sums) {
  const u32 parity = u32(course.step & 1);
  NextFrontier<S, 0> frontier{table, env, table.queues[1 - parity], next, table.bits[1 - parity], 0, 0, false, {}};
  Seeker<S> seeker{table, frontier, table.bits[parity]};
  seeker.all(crew_of(false));
  frontier.tally.changed = frontier.tally.active;
  add_tally(frontier.tally, sums, next);
  meeting.wait(false);
  for (u64 word = thread_number(); word < (table.vertices + 31) / 32; word += thread_count()) {
    table.bits[parity][word] = 0;
  }
}

// The shared memory of a block after the staging areas.
struct Board {
  Counts* counts;  // 3 counts, used while block 0 is alone
  u64* sums;       // TALLIES words
};

__device__ __forceinline__ Board own_board() {
  const u32 at = (blockDim.x >> 5) * DESK_BYTES;
  return {shared_memory<Counts>(at), shared_memory<u64>(at + 3 * u32(sizeof(Counts)))};
}

// Block 0 continues alone, or rejoins the other blocks. These wait meanwhile, and then read which superstep it reached.
__device__ __forceinline__ void part(Control* control, const Board& board, Meeting& meeting, Course& course) {
  if (!course.alone) {
    meeting.wait(false);  // all blocks have decided, so block 0 may change the state
    if (blockIdx.x == 0) {
      if (threadIdx.x < 3) {
        board.counts[threadIdx.x] = control->counts[threadIdx.x];
      }
      __syncthreads();
      course.alone = true;
      return;
    }
  } else {
    __syncthreads();
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
  course = {control->step, control->done, control->unreached, control->unreached_edges, false, false};
}

// The largest mean number of edges per entry in a frontier that one block processes alone.
[[maybe_unused]] constexpr u64 SOLO_EDGES = 8;

// Updates the state of the launch and the records from the counts of the next superstep.
__device__ __forceinline__ void record(
    const Table& table, Course& course, const Counts& next, u64 edges, u64 mode) {
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    u64* row = table.records + 4 * course.done;
    row[0] = next.active;
    row[1] = next.changed;
    row[2] = edges;
    row[3] = mode;
  }
  course.step++;
  course.done++;
  course.unreached -= next.active < course.unreached ? next.active : course.unreached;
  course.unreached_edges -= next.edges < course.unreached_edges ? next.edges : course.unreached_edges;
}

// Runs supersteps until one of these holds: the frontier is empty (under PRIORITY, also the pile); `most` supersteps
// have been run; the frontier has so many edges that it is returned to the host. All blocks must be resident;
// control->arrived must be 0 at the launch.
template <class S, int PRIORITY>
__device__ __forceinline__ void traverse(u64* frame, const Table* where, u64 most) {
  const Table& table = *where;
  const typename S::Env env = S::bind(frame);
  Control* control = table.control;
  const Board board = own_board();
  if (threadIdx.x < TALLIES) {
    board.sums[threadIdx.x] = 0;
  }
  Meeting meeting{&control->arrived, 0};
  Course course{control->step, 0, control->unreached, control->unreached_edges, false, false};
  if (course.step == 0) {
    course.unreached = table.vertices - control->counts[0].active;
    course.unreached_edges = table.edges - control->counts[0].edges;
  }
  __syncthreads();
  u64 reason = 0;
  Counts seen = control->counts[course.step % 3];
  for (;;) {
    Counts* sets = course.alone ? board.counts : control->counts;
    Counts* now = sets + course.step % 3;
    Counts* next = sets + (course.step + 1) % 3;
    Counts* later = sets + (course.step + 2) % 3;
    const u64 piled = PRIORITY && seen.entries == 0 ? control->piled[control->pile] : 0;
    reason = seen.entries == 0 && piled == 0 ? ENDED_EMPTY
             : course.done == most           ? ENDED_LIMIT
             : seen.edges >= table.leave     ? ENDED_LARGE
                                             : 0;
    bool pull = false;
    if constexpr (S::FRONTIER && S::PUSH == 1) {
      pull = !reason && should_pull(table, course, seen);
    }
    const u64 limit = course.alone ? table.solo : table.solo / 2;
    const bool small = !reason && !pull && seen.entries <= limit && seen.edges <= SOLO_EDGES * limit &&
                       piled <= SOLO_EDGES * limit;
    if (small != course.alone) {
      part(control, board, meeting, course);
      const Counts* counts = course.alone ? board.counts : control->counts;
      seen = counts[course.step % 3];
      continue;
    }
    if (reason) {
      break;
    }
    if constexpr (PRIORITY) {
      if (seen.entries == 0) {
        refill<S>(table, env, meeting, course, table.queues[course.step & 1], now);
        seen = *now;
        continue;
      }
    }
    if (threadIdx.x == 0 && blockIdx.x == 0) {
      *later = Counts{};
      atomicAdd(&control->worked, seen.edges);  // the result is unused, so no thread waits for it as it would for `+=`
      atomicAdd(&control->worked_steps, u64(1));
    }
    course.pulling = pull;
    if constexpr (S::FRONTIER && S::PUSH == 1) {
      if (pull) {
        early_step<S>(table, env, meeting, course, next, board.sums);
      }
    }
    if (!pull) {
      push_step<S, PRIORITY>(table, env, meeting, course, now, next, board.sums);
    }
    meeting.wait(course.alone);
    const u64 edges = seen.edges;
    seen = *next;
    record(table, course, seen, pull ? seen.looked : edges, pull ? MODE_EARLY : MODE_PUSH);
  }
  meeting.wait(false);  // after this barrier, all blocks have read where block 0 rejoined
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    control->step = course.step;
    control->done = course.done;
    control->reason = reason;
    control->unreached = course.unreached;
    control->unreached_edges = course.unreached_edges;
  }
}

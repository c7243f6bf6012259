// The loop of launches that run supersteps on several devices (peers.cuh): decisions that all devices take alike.

// The sums over all devices after an exchange.
struct Joint {
  u64 entries = 0, piled = 0, walked = 0;
  u64 least = ~u64(0), start = ~u64(0), totalled = 0;
  f64 total = 0;

  __device__ __forceinline__ Joint(const Peers& peers, u64 exchange) {
    for (u64 rank = 0; rank < peers.devices; rank++) {  // in the same order on all devices
      const Mail* mail = peers.each[rank].mine + (exchange & 1);
      const u64 queued = fresh(&mail->entries), far = fresh(&mail->piled), edges = fresh(&mail->walked);
      const u64 low = fresh(&mail->least), begin = fresh(&mail->start), added = fresh(&mail->totalled);
      const f64 sum = fresh(&mail->total);  // all loads are in flight before the first value is used
      entries += queued;
      piled += far;
      walked += edges;
      totalled += added;
      total += sum;
      least = low < least ? low : least;
      start = begin < start ? begin : start;
    }
  }
};

// Decides what the blocks of all devices do next; only whether a superstep searches from vertices that are not reached
// is a decision of each device. Runs on thread 0 of each block, after the frontier is complete.
template <class S, int PRIORITY>
__device__ __forceinline__ void judge_peers(
    const Table& table, const Peers& peers, const Board& board, u64 exchange, u64 most) {
  Course& course = *board.course;
  const Counts& now = table.control->counts[course.third];
  const Joint joint(peers, exchange);
  const Counts seen = seen_of(now);
  course.seen = seen;
  course.reason = joint.entries == 0 && (!PRIORITY || joint.piled == 0) ? ENDED_EMPTY
                  : course.done == most                                 ? ENDED_LIMIT
                                                                        : 0;
  bool pull = false;
  if constexpr (S::FRONTIER && S::PUSH == 1) {
    pull = !course.reason && should_pull(table, course, seen);
  }
  course.next = course.reason                    ? DO_END
                : PRIORITY && joint.entries == 0 ? DO_REFILL
                : pull                           ? DO_PULL
                                                 : DO_PUSH;
  if (course.next == DO_PUSH || course.next == DO_PULL) {
    course.pulling = pull;
  }
}

// Raises the bound of all devices, and moves the vertices below it from the far pile of this device to its queue. An
// exchange must follow.
template <class S>
__device__ __forceinline__ void refill_peers(
    const Table& table, const Peers& peers, const typename S::Env& env, Meeting& meeting, const Course& course,
    u64 exchange) {
  Control* control = table.control;
  const bool first = threadIdx.x == 0 && blockIdx.x == 0;
  __syncthreads();  // another thread of the block has added to the work since the last bound
  if (first) {
    const Joint joint(peers, exchange);
    control->least[control->pile] = joint.least;
    if (control->delta == 0) {
      control->total = joint.total;
      control->totalled = joint.totalled;
      control->start = joint.start;
    }
    raise_bound(control, f64(peers.step_cost));
  }
  meeting.wait(false);
  sift<S>(table, env, table.queues[course.step & 1], control->counts + course.third, crew_of(false));
  meeting.wait(false);
  if (first) {
    const u64 pile = control->pile;
    control->piled[pile] = 0;
    control->least[pile] = ~u64(0);
    control->pile = 1 - pile;
  }
}

// Runs supersteps on all devices until all frontiers and piles are empty or `most` supersteps have been run. All blocks
// of all devices must be resident at the same time; control->arrived must be 0 at the launch. BITS: the size of a word
// of the values. begins: whether the values of the first frontier have not been sent yet.
template <class S, int PRIORITY, int BITS>
__device__ __forceinline__ void traverse_peers(u64* frame, const Table* where, Peers* all, u64 most, u64 begins) {
  using T = typename WordOf<BITS>::Type;
  const Board board = own_board();
  const Table& table = own_table(*where, board);
  const typename S::Env env = S::bind(frame);
  __syncthreads();
  Control* control = table.control;
  Course& course = *board.course;
  Peers& peers = *all;
  Meeting meeting{&control->arrived, 0};
  u64 exchange = peers.exchanges;
  if (threadIdx.x == 0) {
    course.step = control->step;
    course.done = 0;
    course.third = u32(course.step % 3);
    course.alone = course.pulling = 0;
    course.mode = MODE_PUSH;
    const Counts& first = control->counts[0];
    course.unreached = course.step == 0 ? table.high - table.low - first.active : control->unreached;
    course.unreached_edges = course.step == 0 ? table.edges - first.edges : control->unreached_edges;
  }
  __syncthreads();
  for (u32 task = begins ? DO_PART : DO_END;;) {  // DO_PART: send the first frontier; DO_END: go on after a launch
    const bool steps = task == DO_PUSH || task == DO_PULL;
    Counts* now = control->counts + course.third;
    Counts* next = control->counts + (course.third == 2 ? 0 : course.third + 1);
    if (PRIORITY && task == DO_REFILL) {
      if constexpr (PRIORITY) {
        refill_peers<S>(table, peers, env, meeting, course, exchange);
      }
    }
    if (steps && keeps_records()) {
      control->counts[course.third == 0 ? 2 : course.third - 1] = Counts{};
    }
    if constexpr (S::FRONTIER && S::PUSH == 1) {
      if (task == DO_PULL) {
        early_step<S>(table, env, meeting, course, next, board.sums);
      }
    }
    if (task == DO_PUSH) {
      push_step<S, PRIORITY>(table, env, meeting, course, now, next, board.sums);
    }
    if (steps) {
      meeting.step_barrier(false, [&] { step_on(course); });
    }
    if (task != DO_END) {
      exchange_values<T, S::FRONTIER && S::PUSH == 1>(table, peers, course, ++exchange, steps ? course.walked : 0);
    }
    meeting.step_barrier(false, [&] {
      if (steps) {
        count_reached(course, control->counts[course.third]);
      }
      judge_peers<S, PRIORITY>(table, peers, board, exchange, most);
    });
    if (steps && keeps_records()) {
      record(table, course);
      if constexpr (PRIORITY) {
        control->worked += Joint(peers, exchange).walked;
        control->worked_steps += 1;
      }
    }
    task = course.next;
    if (task == DO_END) {
      break;
    }
  }
  if (threadIdx.x == 0 && blockIdx.x == 0) {  // all blocks have passed the barrier after they read these words
    control->step = course.step;
    control->done = course.done;
    control->reason = course.reason;
    control->unreached = course.unreached;
    control->unreached_edges = course.unreached_edges;
    control->sent = peers.sent;
    control->sent_bytes = peers.sent_bytes;
    peers.exchanges = exchange;
  }
}

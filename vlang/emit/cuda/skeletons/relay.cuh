// Notify-pull with many supersteps per launch: it runs the kernels of notify.cuh one after the other, with a barrier of
// the whole grid where the host would launch the next kernel. Control returns to the host only when no vertex is
// active, when full passes have become cheaper, or when the number of supersteps is reached.

// The data of one pass of the loop. All members are 64 bits wide (runtime/gpu/ways/relay.py).
struct Station {
  const Table* table;  // edges along which vertices notify; its control counts only the queue of this pass
  const Lists* lists;
  u64* flags;        // a byte per vertex: 1 for "must notify", 2 for "must run again"
  u64* marks;        // a byte per vertex, all 0 between supersteps
  const u64* also;   // 0, or a byte per vertex that is not 0 if the vertex runs again
  u64 words;         // the length of each of these arrays, in words
  u64 vertices;
  const u64* rows;   // pages of the edges along which vertices gather
  u64 pages;
  const u64* offsets;
  const i64* segments;
  u64 long_count;
  u64* pulled;       // the number of edges pulled, then the lengths of the three lists
  const BlockScratch* block_scratch;
  const LongScratch* long_scratch;
  const u64* moves;  // fields with two buffers: for each, the array read, the array written, the bytes per vertex
  u64 moved;
  u64 most;          // the number of edges notified at which a full pass is cheaper
};

// The data of the loop that does not belong to one pass.
struct Tour {
  Control* control;    // step, done, reason, arrived
  u64* records;        // 4 words per superstep: active, changed, edges, mode
  const u64* copies;   // arrays copied when a superstep begins: for each, the target, the source, the words of 8 bytes
  u64 copied;
};

// The kernels of a pass over lists. ListedWhole is for passes that need all contributions of a vertex at the same time.
template <class S, int L> struct Listed {
  static __device__ __forceinline__ void pull(u64* frame, const Station& at) {
    pull_list<S, L>(frame, at.rows, at.pages, at.lists->all, at.pulled + 1, at.pulled);
    if (at.long_count) {
      __syncthreads();
      segments_list<S>(frame, at.rows, at.pages, at.segments, at.lists->segments, at.pulled + 3);
    }
  }
  static __device__ __forceinline__ void finish(u64* frame, const Station& at) {
    finish_list<S>(frame, at.lists->longs, at.pulled + 2);
  }
};

template <class S, int L> struct ListedWhole {
  static __device__ __forceinline__ void pull(u64* frame, const Station& at) {
    pull_whole_list<S, L>(frame, at.rows, at.pages, at.lists->all, at.pulled + 1, at.pulled, at.block_scratch);
    if (at.long_count) {
      __syncthreads();
      segments_whole_list<S>(frame, at.rows, at.pages, at.segments, at.lists->segments, at.pulled + 3, at.long_scratch);
    }
  }
  static __device__ __forceinline__ void finish(u64* frame, const Station& at) {
    finish_whole_list<S>(frame, at.lists->longs, at.pulled + 2, at.long_scratch);
  }
};

// A pass over edges: changed vertices notify, then notified vertices gather and apply. All blocks synchronise at the
// end. One thread clears each counter between the barrier after its last use and the barrier before its next use.
template <class S, class How> struct Pass {
  static __device__ __forceinline__ void run(u64* frame, const Station& at, const Tour& tour, Meeting& meeting) {
    const bool first = thread_number() == 0;
    Counts* counts = at.table->control->counts;
    if (first) {
      for (u32 k = 0; k < 4; k++) {
        at.pulled[k] = 0;
      }
    }
    queue_flagged(at.table, at.flags, at.words, reinterpret_cast<u8*>(at.marks));
    meeting.wait(false);
    if constexpr (sends<S>(0)) {
      send_queue<S>(frame, at.table);
    }
    notify(at.table, reinterpret_cast<u8*>(at.marks));
    meeting.wait(false);
    list_marked(at.lists, at.marks, at.also, at.words, at.offsets);
    if (first) {
      pointer<u64>(frame, SLOT_STATS)[0] = pointer<u64>(frame, SLOT_STATS)[1] = 0;  // drop the counts of earlier passes
    }
    meeting.wait(false);
    How::pull(frame, at);
    if (first) {
      tour.control->worked += counts->edges;
      if (counts->edges >= at.most) {
        tour.control->reason = ENDED_LARGE;
      }
      *counts = Counts{};
    }
    meeting.wait(false);
    if (at.long_count) {
      How::finish(frame, at);
      meeting.wait(false);
    }
    if (at.moved) {
      for (u64 k = 0; k < at.moved; k++) {
        move_values(at.moves[3 * k], at.moves[3 * k + 1], at.moves[3 * k + 2], at.lists->all, at.pulled + 1, 0);
      }
      meeting.wait(false);
    }
    if (first) {
      tour.control->worked += at.pulled[0];
    }
  }
};

template <class S, int L> struct Phase : Pass<S, Listed<S, L>> {};
template <class S, int L> struct WholePhase : Pass<S, ListedWhole<S, L>> {};

// A pass over vertices that decides which are active.
template <class S> struct Ending {
  static __device__ __forceinline__ void run(u64* frame, const Station& at, const Tour&, Meeting& meeting) {
    compute<S>(frame, 0, at.vertices);
    meeting.wait(false);
  }
};

// Runs passes in order, each with its station.
template <class... P> struct Passes {
  static __device__ __forceinline__ void run(u64*, const Station*, const Tour&, Meeting&) {}
};
template <class P, class... Rest> struct Passes<P, Rest...> {
  static __device__ __forceinline__ void run(u64* frame, const Station* stations, const Tour& tour, Meeting& meeting) {
    P::run(frame, *stations, tour, meeting);
    Passes<Rest...>::run(frame, stations + 1, tour, meeting);
  }
};

// Runs supersteps until no vertex is active, full passes are cheaper, or `most` supersteps have been run. All blocks
// must be resident; control->arrived, reason and worked must be 0 at the launch.
template <class P>
__device__ __forceinline__ void relay(u64* frame, const Station* stations, const Tour* where, u64 most) {
  const Tour& tour = *where;
  Control* control = tour.control;
  const u64* stats = pointer<const u64>(frame, SLOT_STATS);
  const bool first = thread_number() == 0;
  Meeting meeting{&control->arrived, 0};
  u64 reason = 0, done = 0;
  while (!reason) {
    for (u64 k = 0; k < tour.copied; k++) {
      u64* to = reinterpret_cast<u64*>(tour.copies[3 * k]);
      const u64* from = reinterpret_cast<const u64*>(tour.copies[3 * k + 1]);
      for (u64 i = thread_number(); i < tour.copies[3 * k + 2]; i += thread_count()) {
        to[i] = from[i];
      }
    }
    P::run(frame, stations, tour, meeting);
    const u64 changed = stats[0], active = stats[1];
    if (first) {
      u64* row = tour.records + 4 * done;
      row[0] = active;
      row[1] = changed;
      row[2] = control->worked;
      row[3] = 0;
      control->worked = 0;
    }
    done++;
    reason = active == 0                                              ? ENDED_EMPTY
             : *(volatile const u64*)&control->reason == ENDED_LARGE ? ENDED_LARGE
             : done == most                                           ? ENDED_LIMIT
                                                                      : 0;
  }
  meeting.wait(false);  // after this barrier, all blocks have read the reason
  if (first) {
    control->done = done;
    control->reason = reason;
  }
}

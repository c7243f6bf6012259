// Supersteps of several devices in one launch on each, without the host between them. The launches run at the same time
// and reach each other's memory. After a superstep each device stores the values of active vertices into the inboxes of
// the other devices, and posts counts. All devices then take the same decision from the same counts.

// What a device posts to another one after a superstep. The members have 64 bits, and the last one makes the others
// valid.
struct Mail {
  u64 values;    // values in the inbox
  u64 flagged;   // whether the inbox has a bitmap of the mirrors with new values, which are stored already
  u64 entries;   // of the next queue, without mirrors
  u64 piled;     // entries of the far pile
  u64 least;     // lower bound on their priorities, as an order key
  u64 start;     // these three describe the first frontier and the first pile; see `Control`
  u64 totalled;
  f64 total;
  u64 walked;    // edges of the last superstep
  u64 exchange;  // the number of the exchange, from 1
};

// Another device, as a device sees it. There are two inboxes and two mails for each direction, for even and odd numbers
// of exchanges: a device may fill the next ones while another device still reads the last ones.
struct Peer {
  const u32* places;  // for each own vertex, its place among the mirrors there or NOT_MIRRORED; null if none has one
  const u32* marks;   // the own vertices that have a mirror there, in the order of the places
  u64 marked;         // the number of these
  u64 outbox;         // there: two inboxes, each with `room` places (u32), then `room` values
  u64 room;           // a multiple of 4
  u64 mirrors;        // there: the values of the mirrors
  u64 inbox;          // here, from there
  u64 space;          // the room of that inbox
  u64 first;          // here: the local number of the mirror in place 0
  u64 mirrored;       // the number of mirrors here
  Mail* theirs;       // there: two mails from here
  const Mail* mine;   // here: two mails from there
  u64 found[2];       // the values put into the two inboxes there
};

// The devices of a run, as one of them sees them. All members are 64 bits wide
// (runtime/gpu/kernels/sparse_layout.py).
struct Peers {
  u64 devices;
  u64 width;      // words of a value
  u64 values;     // the address of the values by local numbers
  u64 step_cost;  // the edges that cost as much as a superstep, for the steps of the bound of priorities
  u64 exchanges;  // so far
  u64 arrived;    // blocks that have arrived at a meeting of all devices
  u64 sent;       // values so far
  u64 sent_bytes;
  Peer each[1];   // as many as there are devices; the device itself has mail, but neither places nor inbox
};

// Polls until another device is taken to be lost: about half a minute.
[[maybe_unused]] constexpr u64 PATIENCE = u64(1) << 26;

template <int BITS> struct WordOf;
template <> struct WordOf<8> { using Type = u8; };
template <> struct WordOf<16> { using Type = u16; };
template <> struct WordOf<32> { using Type = u32; };
template <> struct WordOf<64> { using Type = u64; };

// A load that no cache of this multiprocessor answers.
template <class T> __device__ __forceinline__ T fresh(const T* place) {
  return *const_cast<const volatile T*>(place);
}
template <class T> __device__ __forceinline__ void post(T* place, T value) { *const_cast<volatile T*>(place) = value; }

// A vertex with many others in the next frontier is found faster in the bitmap than in the queue. So values are sent
// with a bitmap if there are at least so many entries for DENSE vertices that have a mirror.
[[maybe_unused]] constexpr u64 DENSE = 8;

[[maybe_unused]] constexpr u32 BATCH = 4;  // entries that a lane sends with one atomic operation of its warp

// The inbox on another device.
template <class T> __device__ __forceinline__ u32* outbox_of(const Peers& peers, const Peer& peer, u64 box) {
  return reinterpret_cast<u32*>(peer.outbox + box * peer.room * (4 + peers.width * sizeof(T)));
}

// Stores the values of the vertices in the present queue into the inbox of a device that mirrors some of them.
template <class T>
__device__ __forceinline__ void send_listed(
    const Table& table, const Peers& peers, Peer& peer, const u64* queue, u64 entries, u64 box) {
  const T* from = reinterpret_cast<const T*>(peers.values);
  const u64 width = peers.width;
  u32* places = outbox_of<T>(peers, peer, box);
  T* to = reinterpret_cast<T*>(places + peer.room);
  for (u64 base = BATCH * (thread_number() & ~u64(31)); base < entries; base += BATCH * thread_count()) {
    u32 vertex[BATCH], place[BATCH], some[BATCH], total = 0;
    UNROLL
    for (u32 j = 0; j < BATCH; j++) {
      const u64 i = base + 32 * j + lane_number();
      const u64 entry = i < entries ? queue[i] : ~u64(0);
      vertex[j] = u32(entry);
      const bool own = entry >> 32 == 0 && vertex[j] >= table.low && vertex[j] < table.high;
      place[j] = own ? peer.places[vertex[j] - table.low] : NOT_MIRRORED;
    }
    UNROLL
    for (u32 j = 0; j < BATCH; j++) {
      some[j] = __ballot_sync(WARP, place[j] != NOT_MIRRORED);
      total += __popc(some[j]);
    }
    if (total == 0) {
      continue;
    }
    u64 at = 0;
    if (lane_number() == 0) {
      at = atomicAdd(&peer.found[box], u64(total));
    }
    at = lane_value(WARP, at, 0);
    UNROLL
    for (u32 j = 0; j < BATCH; j++) {
      if (place[j] != NOT_MIRRORED) {
        const u64 mine = at + __popc(some[j] & ((1u << lane_number()) - 1));
        places[mine] = place[j];
        for (u64 w = 0; w < width; w++) {
          to[mine * width + w] = from[vertex[j] * width + w];
        }
      }
      at += __popc(some[j]);
    }
  }
}

// Stores the values of own vertices in the next frontier in the mirrors on another device, and stores a bitmap of these
// mirrors in its inbox. The other device must not read the values of these mirrors in the superstep that it may still
// be running: with a uniform frontier, their vertices have not been reached in it.
template <class T>
__device__ __forceinline__ void send_flagged(
    const Peers& peers, Peer& peer, const u32* bits, u64 box) {
  const T* from = reinterpret_cast<const T*>(peers.values);
  const u64 width = peers.width;
  u32* words = outbox_of<T>(peers, peer, box);
  T* to = reinterpret_cast<T*>(peer.mirrors);
  u32 found = 0;
  for (u64 base = BATCH * (thread_number() & ~u64(31)); base < peer.marked; base += BATCH * thread_count()) {
    u32 vertex[BATCH];
    bool there[BATCH];
    UNROLL
    for (u32 j = 0; j < BATCH; j++) {
      const u64 place = base + 32 * j + lane_number();
      vertex[j] = peer.marks[place < peer.marked ? place : base];
    }
    UNROLL
    for (u32 j = 0; j < BATCH; j++) {
      there[j] = base + 32 * j + lane_number() < peer.marked && bit_of(bits, vertex[j]);
    }
    UNROLL
    for (u32 j = 0; j < BATCH; j++) {
      const u64 place = base + 32 * j + lane_number();
      const u32 word = __ballot_sync(WARP, there[j]);
      if (lane_number() == 0 && place < peer.marked) {
        words[place >> 5] = word;
      }
      found += __popc(word);
      for (u64 w = 0; there[j] && w < width; w++) {
        to[place * width + w] = from[vertex[j] * width + w];
      }
    }
  }
  if (lane_number() == 0 && found) {
    atomicAdd(&peer.found[box], u64(found));
  }
}

// Whether the values for another device are sent with a bitmap. All blocks take the same decision.
__device__ __forceinline__ bool sends_flags(const Peer& peer, u64 entries) { return entries * DENSE >= peer.marked; }

// Sends the values of the next frontier to the devices that mirror some of its vertices.
template <class T, bool UNIFORM>
__device__ __forceinline__ void send_values(const Table& table, Peers& peers, const Course& course, u64 box) {
  const u64 parity = course.step & 1, entries = fresh(&table.control->counts[course.third].entries);
  for (u64 rank = 0; rank < peers.devices; rank++) {
    Peer& peer = peers.each[rank];
    if (entries == 0 || peer.places == nullptr) {
      continue;
    }
    if (UNIFORM && sends_flags(peer, entries)) {
      send_flagged<T>(peers, peer, table.bits[parity], box);
    } else {
      send_listed<T>(table, peers, peer, table.queues[parity], entries, box);
    }
  }
}

// Posts the counts of the next frontier. Runs on one thread of the device, after all values were stored.
template <class T, bool UNIFORM>
__device__ __forceinline__ void post_counts(
    const Table& table, Peers& peers, const Course& course, u64 exchange, u64 walked) {
  const Control* control = table.control;
  const u64 box = exchange & 1, pile = fresh(&control->pile), entries = fresh(&control->counts[course.third].entries);
  const u64 piled = fresh(&control->piled[pile]), least = fresh(&control->least[pile]), start = fresh(&control->start);
  const u64 totalled = fresh(&control->totalled);
  const f64 total = fresh(&control->total);  // all loads are in flight before the first value is used
  for (u64 rank = 0; rank < peers.devices; rank++) {
    Peer& peer = peers.each[rank];
    Mail* mail = peer.theirs + box;
    const u64 found = fresh(&peer.found[box]);
    const bool flagged = UNIFORM && found && sends_flags(peer, entries);
    post(&mail->values, found);
    post(&mail->flagged, u64(flagged));
    post(&mail->entries, entries);
    post(&mail->piled, piled);
    post(&mail->least, least);
    post(&mail->start, start);
    post(&mail->totalled, totalled);
    post(&mail->total, total);
    post(&mail->walked, walked);
    peers.sent += found;
    peers.sent_bytes += found * peers.width * sizeof(T) + (flagged ? (peer.marked + 31) / 32 * 4 : found * 4);
    peer.found[box] = 0;  // used again two exchanges later
  }
  __threadfence_system();
  for (u64 rank = 0; rank < peers.devices; rank++) {
    post(&peers.each[rank].theirs[box].exchange, exchange);
  }
}

// The barrier of all blocks of all devices. The last block of a device to arrive posts its counts.
template <class T, bool UNIFORM>
__device__ __forceinline__ void meet_peers(
    const Table& table, Peers& peers, const Course& course, u64 exchange, u64 walked) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_system();
    if ((atomicAdd(&peers.arrived, u64(1)) + 1) % gridDim.x == 0) {
      __threadfence_system();
      post_counts<T, UNIFORM>(table, peers, course, exchange, walked);
    }
    for (u64 rank = 0; rank < peers.devices; rank++) {
      const u64* posted = &peers.each[rank].mine[exchange & 1].exchange;
      for (u64 polls = 0; fresh(posted) < exchange; polls++) {
        if (polls == PATIENCE) {
          __trap();
        }
        relax();
      }
    }
    __threadfence_system();
  }
  __syncthreads();
}

// Stores the values of the inboxes in mirrors, and appends these mirrors to the present queue.
template <class T, bool UNIFORM>
__device__ __forceinline__ void adopt_mail(const Table& table, const Peers& peers, const Course& course, u64 box) {
  const u64 parity = course.step & 1, width = peers.width;
  Counts* counts = table.control->counts + course.third;
  u32* bits = table.bits[parity];
  T* to = reinterpret_cast<T*>(peers.values);
  const Desk desk = own_desk();
  u64 edges = 0;
  u32 filled = 0;
  for (u64 rank = 0; rank < peers.devices; rank++) {
    const Peer& peer = peers.each[rank];
    const u64 values = peer.space ? fresh(&peer.mine[box].values) : 0;
    const bool flagged = UNIFORM && values && fresh(&peer.mine[box].flagged);
    const u64 count = flagged ? peer.mirrored : values;
    const u32* places = reinterpret_cast<const u32*>(peer.inbox + box * peer.space * (4 + width * sizeof(T)));
    const T* from = reinterpret_cast<const T*>(places + peer.space);
    for (u64 base = thread_number() & ~u64(31); base < count; base += thread_count()) {
      const u64 i = base + lane_number();
      u32 v = u32(peer.first);
      bool there = i < count;
      if (flagged) {
        there = there && places[base >> 5] >> lane_number() & 1;
        v += u32(i);
      } else if (there) {
        v += places[i];
        for (u64 w = 0; w < width; w++) {
          to[v * width + w] = from[i * width + w];
        }
      }
      if (there) {
        set_bit(bits, v);
      }
      filled = stage(desk, filled, there, v);
      if (filled > ROOM) {
        __syncwarp();
        append_entries(desk, filled, table.offsets, table.queues[parity], &counts->entries, &edges);
        __syncwarp();
        filled = 0;
      }
    }
  }
  __syncwarp();
  if (filled) {
    append_entries(desk, filled, table.offsets, table.queues[parity], &counts->entries, &edges);
  }
  edges = warp_sum_wide(edges);
  if (lane_number() == 0 && edges) {
    atomicAdd(&counts->edges, edges);
  }
}

// Sends the values of the next frontier, and receives those of mirrors. The caller must then call
// `Meeting::step_barrier`. This function is not inlined, so that it takes no registers from the supersteps.
template <class T, bool UNIFORM>
__device__ __noinline__ void exchange_values(
    const Table& table, Peers& peers, const Course& course, u64 exchange, u64 walked) {
  send_values<T, UNIFORM>(table, peers, course, exchange & 1);
  meet_peers<T, UNIFORM>(table, peers, course, exchange, walked);
  adopt_mail<T, UNIFORM>(table, peers, course, exchange & 1);
  __syncthreads();
}

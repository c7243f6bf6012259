// Passes that need all contributions of a vertex at the same time (rule R): mode, mex, hindex and median. This file
// defines the scratch memory and the structures in it.
//
// A group of lanes, or a block, files the contributions of a vertex in zeroed scratch memory, where integer atomics
// count them, and then reads the results. The order of contributions does not matter. The scratch is in shared memory
// if it fits there. Otherwise it is a piece of global memory that the block claims from a small pool. Each long vertex
// has its own scratch in global memory, because its segments are processed by several blocks. The scratch of long
// vertices is zero between passes.
//
// The structures for a vertex with `degree` edges; each has an even number of 32-bit words:
//   table   a hash table with linear probing, at least a third of it empty: keys, then counts. A key is stored as its
//           complement, so that 0 marks an empty slot; the last slot is reserved for the key with complement 0
//   bitmap  a bit for each of the numbers 0 ... degree
//   list    the number of contributions, an unused word, and the keys as unsigned integers
//   groups  the entries of the groups of edges, and lists of entries (groups.cuh)
//   sizes   for each size 0 ... degree, the number of values of this size; larger values count as `degree`

enum : u32 {
  SCRATCH_WORDS = 1024,            // words of shared memory per warp (entries.py)
  SCRATCH_FREE = 0, SCRATCH_CLAIMED = 1,
};

struct Scratch {
  u32* at;  // aligned to 8 bytes
  u64 degree;
  bool live;  // whether the group has a vertex
};

// -- groups -----------------------------------------------------------------------------------------------------------

// A group of L lanes of a warp. All lanes of the warp must call each operation of the group.
template <int L> struct LaneGroup {
  __device__ __forceinline__ u32 rank() const { return lane_number() % L; }
  __device__ __forceinline__ u32 size() const { return L; }
  __device__ __forceinline__ void sync() const { __syncwarp(); }
  // The sum over the lanes of the group.
  __device__ __forceinline__ u32 total(u32 value) const {
    UNROLL
    for (u32 offset = 1; offset < L; offset <<= 1) {
      value += lane_value(WARP, value, lane_number() ^ offset);
    }
    return value;
  }
  // The largest value of all groups of the warp.
  __device__ __forceinline__ u32 most(u32 value) const {
    UNROLL
    for (u32 offset = 1; offset < 32; offset <<= 1) {
      const u32 other = lane_value(WARP, value, lane_number() ^ offset);
      value = other > value ? other : value;
    }
    return value;
  }
  // The sum over the lanes of the group after this lane.
  __device__ __forceinline__ u32 behind(u32 value) const {
    u32 sum = value;
    UNROLL
    for (u32 offset = 1; offset < L; offset <<= 1) {
      const u32 other = lane_value(WARP, sum, (lane_number() + offset) & 31);
      sum += rank() + offset < L ? other : 0;
    }
    return sum - value;
  }
  template <class S>
  __device__ __forceinline__ typename S::Acc merge(const typename S::Env& env, typename S::Acc acc) const {
    return lanes_merge<S>(env, acc, L);
  }
};

// A group that is a whole block. `spare` is shared memory outside the scratch, for one accumulator per warp.
struct BlockGroup {
  unsigned char* spare;

  __device__ __forceinline__ u32 rank() const { return threadIdx.x; }
  __device__ __forceinline__ u32 size() const { return blockDim.x; }
  __device__ __forceinline__ void sync() const { __syncthreads(); }
  __device__ __forceinline__ u32 total(u32 value) const {
    u32 sum;
    block_exclusive(value, reinterpret_cast<u32*>(spare), sum);
    return sum;
  }
  __device__ __forceinline__ u32 most(u32 value) const { return value; }
  __device__ __forceinline__ u32 behind(u32 value) const {
    u32 total;
    const u32 before = block_exclusive(value, reinterpret_cast<u32*>(spare), total);
    return total - before - value;
  }
  template <class S>
  __device__ __forceinline__ typename S::Acc merge(const typename S::Env& env, typename S::Acc acc) const {
    return block_merge<S>(env, acc, reinterpret_cast<typename S::Acc*>(spare));
  }
};

// -- structures -------------------------------------------------------------------------------------------------------

__device__ __forceinline__ u64 table_slots(u64 degree) { return degree + degree / 2 + 1; }
__device__ __forceinline__ u64 even_words(u64 words) { return words + (words & 1); }
template <class K> __device__ __forceinline__ u64 table_words(u64 degree) {
  return even_words((table_slots(degree) + 1) * (sizeof(K) / 4 + 1));
}
__device__ __forceinline__ u64 bitmap_words(u64 degree) { return even_words(degree / 32 + 1); }
__device__ __forceinline__ u64 sizes_words(u64 degree) { return even_words(degree + 1); }

__device__ __forceinline__ u32 scattered(u32 key) { return key * 0x9E3779B1u; }
__device__ __forceinline__ u32 scattered(u64 key) { return u32(((key ^ (key >> 32)) * 0x9E3779B97F4A7C15ull) >> 32); }

template <class K> __device__ __forceinline__ void table_put(u32* at, u64 degree, K key) {
  const u64 slots = table_slots(degree);
  K* keys = reinterpret_cast<K*>(at);
  u32* counts = reinterpret_cast<u32*>(keys + slots + 1);
  const K stored = K(~key);
  u64 slot = slots;
  if (stored != 0) {
    slot = (u64(scattered(key) >> 1) * slots) >> 31;
    while (true) {
      const K there = glance(keys + slot);
      const K before = there == 0 ? atomicCAS(keys + slot, K(0), stored) : there;
      if (before == 0 || before == stored) {
        break;
      }
      slot = slot + 1 == slots ? 0 : slot + 1;
    }
  }
  atomicAdd(counts + slot, 1u);
}

template <class W> struct Ahead {
  W value;
  u32 count;
};

// The most frequent value in this thread's share of the table; in a tie, the smallest. K is the unsigned type of W.
template <class K, class W, class Group>
__device__ __forceinline__ Ahead<W> table_read(const Group& group, const u32* at, const Scratch& scratch) {
  const u64 slots = table_slots(scratch.degree);
  const K* keys = reinterpret_cast<const K*>(at);
  const u32* counts = reinterpret_cast<const u32*>(keys + slots + 1);
  Ahead<W> best{W(0), 0};
  for (u64 i = group.rank(); scratch.live && i <= slots; i += group.size()) {
    const u32 count = counts[i];
    if (count != 0 && count >= best.count) {
      const W value = W(i == slots ? K(~K(0)) : K(~keys[i]));
      if (count > best.count || value < best.value) {
        best = Ahead<W>{value, count};
      }
    }
  }
  return best;
}

__device__ __forceinline__ void bitmap_put(u32* at, u64 degree, u32 value) {
  if (value <= degree && !(glance(at + value / 32) >> (value & 31) & 1)) {
    atomicOr(at + value / 32, 1u << (value & 31));
  }
}

// The smallest value that is missing from this thread's share of the bitmap; `none` if no value is missing.
template <class T, class Group>
__device__ __forceinline__ T bitmap_read(const Group& group, const u32* at, const Scratch& scratch, T none) {
  const u64 words = scratch.degree / 32 + 1;
  for (u64 i = group.rank(); scratch.live && i < words; i += group.size()) {
    if (at[i] != ~0u) {
      return T(32 * i + u32(__ffs(i32(~at[i])) - 1));
    }
  }
  return none;
}

__device__ __forceinline__ void sizes_put(u32* at, u64 degree, u32 value) {
  atomicAdd(at + (value < degree ? value : degree), 1u);
}

// The largest h in this thread's share of the sizes such that at least h values are h or larger.
template <class Group>
__device__ __forceinline__ u32 sizes_read(const Group& group, const u32* at, const Scratch& scratch) {
  const u64 sizes = scratch.live ? scratch.degree + 1 : 0;
  const u64 each = (sizes + group.size() - 1) / group.size();
  const u64 low = each * group.rank() < sizes ? each * group.rank() : sizes;
  const u64 high = low + each < sizes ? low + each : sizes;
  u32 sum = 0;
  for (u64 i = low; i < high; i++) {
    sum += at[i];
  }
  u64 reached = group.behind(sum);
  for (u64 h = high; h-- > low;) {
    reached += at[h];
    if (reached >= h) {
      return u32(h);
    }
  }
  return 0;
}

// Unsigned keys with the order of floats; -0.0 has the key of 0.0.
__device__ __forceinline__ u32 float_key_32(f32 x) { return order_key(x); }
__device__ __forceinline__ f32 key_float_32(u32 key) { return key_value<f32>(key); }
__device__ __forceinline__ u64 float_key_64(f64 x) {
  const u64 bits = word_of(x + 0.0);
  return bits >> 63 ? ~bits : bits | 0x8000000000000000ull;
}
__device__ __forceinline__ f64 key_float_64(u64 key) {
  f64 value;
  from_word(key >> 63 ? key & 0x7FFFFFFFFFFFFFFFull : ~key, value);
  return value;
}

template <class K> __device__ __forceinline__ u64 list_words(u64 degree) {
  return even_words(2 + degree * (sizeof(K) / 4));
}

template <class K> __device__ __forceinline__ void list_put(u32* at, u64, K key) {
  reinterpret_cast<K*>(at + 2)[atomicAdd(at, 1u)] = key;
}

// The median of k keys: number (k - 1) / 2, from 0, of the sorted keys; 0 if there are none. The whole group finds it
// bit by bit. All lanes of a warp take the same number of steps, whatever the contributions of their groups are.
template <class K, class Group>
__device__ __forceinline__ K list_read(const Group& group, const u32* at, const Scratch& scratch) {
  const K* keys = reinterpret_cast<const K*>(at + 2);
  const u32 count = scratch.live ? at[0] : 0;
  u32 rank = count ? (count - 1) / 2 : 0;
  K found = 0;  // bits from `bit` on are those of the result, the bits below are 0
  for (u32 bit = 8 * sizeof(K); bit-- > 0;) {
    u32 below = 0;
    for (u32 i = group.rank(); i < count; i += group.size()) {
      below += (keys[i] >> bit) == (found >> bit);
    }
    below = group.total(below);
    if (rank >= below && count) {
      rank -= below;
      found |= K(1) << bit;
    }
  }
  return found;
}

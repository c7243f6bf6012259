// The exchange of vertex values between devices. A value has `width` words of type T. A *box* has the values that one
// device sends to another one, in the order of the mirrors there. Vertex refinement (Khorasani, Gupta, Bhuyan: Scalable
// SIMD-efficient graph processing on GPUs, PACT'15) sends only changed values: ballots find them, and prefix sums give
// their places. Here the prefix sums go on over all warps, so that a bitmap may name the vertices instead of a list.

[[maybe_unused]] constexpr u32 BOX_WORDS = 32;  // words of the bitmap of changed values that a warp processes

// Copies the values of some vertices to consecutive places.
template <class T>
__device__ __forceinline__ void pack_values(u64 values, const u32* places, u64 count, u64 width, u64 packed) {
  const T* from = reinterpret_cast<const T*>(values);
  T* to = reinterpret_cast<T*>(packed);
  for (u64 i = thread_number(); i < count * width; i += thread_count()) {
    to[i] = from[places[i / width] * width + i % width];
  }
}

// Compares the values of some vertices with those that were sent last, and updates these. Sets the bits of changed
// values, or of all values if known == 0, and stores the number of bits of each BOX_WORDS words.
template <class T>
__device__ __forceinline__ void refine_values(
    u64 values, const u32* places, u64 count, u64 width, u64 known, u64 sent, u32* bits, u32* counts) {
  const T* from = reinterpret_cast<const T*>(values);
  T* last = reinterpret_cast<T*>(sent);
  for (u64 warp = thread_number() / 32; warp * BOX_WORDS * 32 < count; warp += thread_count() / 32) {
    u32 found = 0;
    for (u64 word = warp * BOX_WORDS; word < (warp + 1) * BOX_WORDS && word * 32 < count; word++) {
      const u64 at = word * 32 + lane_number();
      bool changed = false;
      for (u64 w = 0; at < count && w < width; w++) {
        const T value = from[places[at] * width + w];
        if (!known || last[at * width + w] != value) {
          last[at * width + w] = value;
          changed = true;
        }
      }
      const u32 some = __ballot_sync(WARP, changed);
      found += __popc(some);
      if (lane_number() == 0) {
        bits[word] = some;
      }
    }
    if (lane_number() == 0) {
      counts[warp] = found;
    }
  }
}

// Stores the number of bits of each BOX_WORDS words of a bitmap.
__device__ __forceinline__ void count_bits(const u32* bits, u64 words, u32* counts) {
  for (u64 warp = thread_number() / 32; warp * BOX_WORDS < words; warp += thread_count() / 32) {
    const u64 word = warp * BOX_WORDS + lane_number();
    const u32 found = warp_sum(word < words ? u32(__popc(bits[word])) : 0);
    if (lane_number() == 0) {
      counts[warp] = found;
    }
  }
}

// Replaces numbers by the sums of the numbers before them, and stores the sum of all. One warp runs it.
__device__ __forceinline__ void sum_counts(u32* counts, u64 length, u64* total) {
  u32 before = 0;
  for (u64 base = 0; base < length; base += 32) {
    const u64 at = base + lane_number();
    const u32 count = at < length ? counts[at] : 0;
    const u32 through = warp_inclusive(count);
    if (at < length) {
      counts[at] = before + through - count;
    }
    before += lane_value(WARP, through, 31);
  }
  if (lane_number() == 0) {
    *total = before;
  }
}

// Copies the values whose bit is set to consecutive places, and the numbers of these values to `listed` if it is not 0.
template <class T>
__device__ __forceinline__ void collect_values(
    const u32* bits, const u32* sums, u64 count, u64 width, u64 sent, u64 packed, u64 listed) {
  const T* from = reinterpret_cast<const T*>(sent);
  T* to = reinterpret_cast<T*>(packed);
  u32* numbers = reinterpret_cast<u32*>(listed);
  for (u64 warp = thread_number() / 32; warp * BOX_WORDS * 32 < count; warp += thread_count() / 32) {
    u64 begin = sums[warp];
    for (u64 word = warp * BOX_WORDS; word < (warp + 1) * BOX_WORDS && word * 32 < count; word++) {
      const u32 some = bits[word];
      const u64 at = word * 32 + lane_number(), place = begin + __popc(some & ((1u << lane_number()) - 1));
      if (some >> lane_number() & 1) {
        for (u64 w = 0; w < width; w++) {
          to[place * width + w] = from[at * width + w];
        }
        if (listed) {
          numbers[place] = u32(at);
        }
      }
      begin += __popc(some);
    }
  }
}

// Stores packed values in the mirrors that a list names.
template <class T>
__device__ __forceinline__ void place_listed(const u32* listed, u64 packed, u64 count, u64 width, u64 mirrors) {
  const T* from = reinterpret_cast<const T*>(packed);
  T* to = reinterpret_cast<T*>(mirrors);
  for (u64 i = thread_number(); i < count * width; i += thread_count()) {
    to[listed[i / width] * width + i % width] = from[i];
  }
}

// Stores packed values in the mirrors whose bit is set.
template <class T>
__device__ __forceinline__ void place_flagged(
    const u32* bits, const u32* sums, u64 count, u64 width, u64 packed, u64 mirrors) {
  const T* from = reinterpret_cast<const T*>(packed);
  T* to = reinterpret_cast<T*>(mirrors);
  for (u64 warp = thread_number() / 32; warp * BOX_WORDS * 32 < count; warp += thread_count() / 32) {
    u64 begin = sums[warp];
    for (u64 word = warp * BOX_WORDS; word < (warp + 1) * BOX_WORDS && word * 32 < count; word++) {
      const u32 some = bits[word];
      const u64 at = word * 32 + lane_number(), place = begin + __popc(some & ((1u << lane_number()) - 1));
      if (some >> lane_number() & 1) {
        for (u64 w = 0; w < width; w++) {
          to[at * width + w] = from[place * width + w];
        }
      }
      begin += __popc(some);
    }
  }
}

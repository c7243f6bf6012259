// Kernels that time the parts of supersteps over few vertices. They follow the text of a plan.

__device__ __forceinline__ u32 any_place(u64 i) {
  u32 h = u32(i) * 2654435761u;
  h ^= h >> 15;
  return h * 2246822519u ^ h >> 13;
}

// Every thread makes `rounds` accesses to 2^n = mask + 1 cells: sequential, random, or random with an atomic
// operation.
template <int KIND> __device__ __forceinline__ void time_access(u64* sink, u32* cells, u64 mask, u64 rounds) {
  const u64 threads = thread_count();
  u32 sum = 0;
  UNROLL_4
  for (u64 k = 0; k < rounds; k++) {
    const u64 i = thread_number() + k * threads;
    if constexpr (KIND == 0) {
      sum += cells[i & mask];
    } else if constexpr (KIND == 1) {
      sum += cells[any_place(i) & mask];
    } else {
      atomicMin(cells + (any_place(i) & mask), u32(k));
    }
  }
  if (sum == 0xFFFFFFFFu) {  // hardly ever true, but the compiler cannot prove it
    sink[0] = sum;
  }
}

// Barriers of the whole grid, with all blocks resident; *arrived is 0.
__device__ __forceinline__ void time_barriers(u64* arrived, u64 rounds) {
  Meeting meeting{arrived, 0};
  for (u64 k = 0; k < rounds; k++) {
    meeting.wait(false);
  }
}

// Every warp reads `rounds` rows of `words` 32-bit words, at random places among mask + 1 words of host memory.
__device__ __forceinline__ void time_rows(u64* sink, const u32* host, u64 mask, u64 words, u64 rounds) {
  const u64 warp = thread_number() / 32, warps = thread_count() / 32;
  u32 sum = 0;
  for (u64 k = 0; k < rounds; k++) {
    const u64 first = any_place(warp + k * warps) & mask;
    for (u64 i = lane_number(); i < words; i += 32) {
      sum += host[(first + i) & mask];
    }
  }
  if (sum == 0xFFFFFFFFu) {
    sink[0] = sum;
  }
}

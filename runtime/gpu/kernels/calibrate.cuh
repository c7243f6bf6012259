// Kernels that time operations on shared memory. They follow the text of a plan and use its unified operations.

struct native_min {
  using Value = f32;
  static __device__ __forceinline__ void join(f32* place, f32 value) { shared_min(place, value); }
};

struct loop32_add {
  using Value = f32;
  static __device__ __forceinline__ void join(f32* place, f32 value) { shared_add(place, value); }
};

struct loop64_add {
  using Value = f64;
  static __device__ __forceinline__ void join(f64* place, f64 value) { shared_add(place, value); }
};

// Runs `rounds` operations per thread. `degree` neighbouring lanes of a warp update the same cell, as the edges of one
// vertex do when they are sorted by destination.
template <class Operation>
__device__ __forceinline__ void time_join(u64* sink, u64 degree, u64 rounds) {
  using Value = typename Operation::Value;
  Value* cells = shared_memory<Value>(0);
  const u32 i = threadIdx.x;
  cells[i] = Value(0);
  __syncthreads();
  Value* place = cells + (i & ~31u) + (i & 31u) / u32(degree);
  for (u64 k = 0; k < rounds; k++) {
    Operation::join(place, Value(-f32(k)));
  }
  __syncthreads();
  if (cells[i] > Value(0)) {  // never true, but the compiler cannot prove it
    sink[i] = 1;
  }
}

// Clears `words` 32-bit cells, with `copies` adjacent cells per vertex, and merges the copies pairwise; `rounds` times.
__device__ __forceinline__ void time_copies(u64* sink, u64 words, u64 copies, u64 rounds) {
  f32* cells = shared_memory<f32>(0);
  const u32 count = u32(words), vertices = u32(words / copies);
  f32 last = 0;
  for (u64 k = 0; k < rounds; k++) {
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
      cells[i] = f32(k);
    }
    __syncthreads();
    for (u32 half = u32(copies) / 2, bits = __ffs(i32(copies)) - 2; half; half /= 2, bits--) {
      for (u32 i = threadIdx.x; i < vertices * half; i += blockDim.x) {
        f32* cell = cells + (i >> bits) * u32(copies) + (i & (half - 1));
        cell[0] += cell[half];
      }
      __syncthreads();
    }
    last = cells[threadIdx.x];
    __syncthreads();
  }
  if (last < 0) {  // never true
    sink[threadIdx.x] = 1;
  }
}

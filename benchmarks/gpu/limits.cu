// The limits of the device, each measured by a kernel that does nothing else.
typedef unsigned long long u64;

// Reads `quads` groups of four targets in order and gathers one float for each target: the memory accesses of a sweep.
extern "C" __global__ void gather(const uint4* __restrict__ targets, const float* __restrict__ values, u64 quads,
                                  float* sink) {
  u64 step = (u64)gridDim.x * blockDim.x;
  u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (; i + step < quads; i += 2 * step) {
    uint4 a = __ldcs(targets + i), b = __ldcs(targets + i + step);
    sum += values[a.x] + values[a.y] + values[a.z] + values[a.w];
    sum += values[b.x] + values[b.y] + values[b.z] + values[b.w];
  }
  if (i < quads) {
    uint4 a = __ldcs(targets + i);
    sum += values[a.x] + values[a.y] + values[a.z] + values[a.w];
  }
  if (sum == -1.0f) *sink = sum;  // never: the values are positive
}

extern "C" __global__ void nothing() {}

// Barriers of the whole grid. All blocks must be resident at the same time.
extern "C" __global__ void barriers(unsigned* arrived, u64 rounds) {
  for (u64 r = 1; r <= rounds; ++r) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(arrived, 1u);
      while (*(volatile unsigned*)arrived < (unsigned)(r * gridDim.x)) {}
      __threadfence();
    }
    __syncthreads();
  }
}

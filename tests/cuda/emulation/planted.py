"""Correct kernels, and kernels with one planted bug each, to test the tools that must find them."""

from __future__ import annotations

__all__ = ["ARGUMENTS", "HEAD", "KERNELS", "TYPES", "entries"]

TYPES = "typedef unsigned u32; typedef unsigned long long u64; typedef long long i64;\n"
HEAD = 'extern "C" __global__ void __launch_bounds__(256) '

KERNELS = {
    "reverse": """reverse(u32* out) {
  u32* s = (u32*)emulated_shared();
  s[threadIdx.x] = 10 * threadIdx.x;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}""",
    "reverse_unsynced": """reverse_unsynced(u32* out) {
  u32* s = (u32*)emulated_shared();
  s[threadIdx.x] = 10 * threadIdx.x;
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}""",
    "turn": """turn(u32* out) {
  u32* s = (u32*)emulated_shared();
  s[threadIdx.x] = 10 * threadIdx.x;
  __syncwarp();
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x ^ 5];
}""",
    "turn_unsynced": """turn_unsynced(u32* out) {
  u32* s = (u32*)emulated_shared();
  s[threadIdx.x] = 10 * threadIdx.x;
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x ^ 5];
}""",
    "turn_voted": """turn_voted(u32* out) {
  u32* s = (u32*)emulated_shared();
  s[threadIdx.x] = 10 * threadIdx.x;
  __any_sync(0xFFFFFFFFu, 1);  // synchronises lanes, but does not order memory
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x ^ 5];
}""",
    "warp_sums": """warp_sums(double* out, const double* in) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  double x = in[i];
  for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xFFFFFFFFu, x, d);
  if ((threadIdx.x & 31) == 0) out[i / 32] = x;
}""",
    "halves": """halves(u32* out) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  u32 mask = threadIdx.x & 16 ? 0xFFFF0000u : 0x0000FFFFu;
  u32 x = threadIdx.x;
  if (threadIdx.x & 16) {
    x = __shfl_xor_sync(mask, x, 1);
  } else {
    x = __shfl_sync(mask, x, 3);
    __syncwarp(mask);
  }
  out[i] = x;
}""",
    "votes": """votes(u32* out) {
  int odd = threadIdx.x & 1, first = threadIdx.x == 0;
  u32* o = out + 8 * threadIdx.x;
  o[0] = __ballot_sync(0xFFFFFFFFu, odd);
  o[1] = __any_sync(0xFFFFFFFFu, first);
  o[2] = __all_sync(0xFFFFFFFFu, first);
  o[3] = __syncthreads_count(odd);
  o[4] = __syncthreads_or(first);
  o[5] = __syncthreads_and(first);
  o[6] = __match_any_sync(0xFFFFFFFFu, threadIdx.x % 3);
  o[7] = __popc(__brev(threadIdx.x)) + __ffs((int)threadIdx.x) + __clz((int)threadIdx.x);
}""",
    "atomics": """atomics(u32* sum, double* real, u64* least, int* most, u32* bits, u32* count) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(sum, i);
  atomicAdd(real, 0.5);
  atomicMin(least, (u64)(1000 - i));
  atomicMax(most, (int)i - 500);
  atomicOr(bits, 1u << (i % 32));
  u32 seen = *count, old;
  do {
    old = seen;
    seen = atomicCAS(count, old, old + 2);
  } while (seen != old);
}""",
    "lane_missing": """lane_missing(u32* out) {
  u32 x = threadIdx.x;
  if (threadIdx.x != 7) x = __shfl_xor_sync(0xFFFFFFFFu, x, 1);
  out[threadIdx.x] = x;
}""",
    "masks_differ": """masks_differ(u32* out) {
  u32 mask = threadIdx.x < 16 ? 0xFFFFFFFFu : 0xFFFF0000u;
  out[threadIdx.x] = __shfl_sync(mask, threadIdx.x, 20);
  out[threadIdx.x] += __shfl_sync(0xFFFF0000u | 1u << (threadIdx.x & 15), threadIdx.x, 20);
}""",
    "kinds_differ": """kinds_differ(u32* out) {
  if (threadIdx.x & 1) __syncwarp();
  else out[threadIdx.x] = __ballot_sync(0xFFFFFFFFu, 1);
}""",
    "not_in_mask": """not_in_mask(u32* out) { out[threadIdx.x] = __ballot_sync(0x0000FFFFu, 1); }""",
    "outside_mask": """outside_mask(double* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0x0000FFFFu, 1.0, (int)threadIdx.x + 8);
}""",
    "barrier_missed": """barrier_missed(u32* out) {
  if (threadIdx.x == 40) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}""",
    "crossed": """crossed(u32* out) {
  if (threadIdx.x < 32) __syncthreads();
  else __shfl_sync(0xFFFFFFFFu, 1, 0);
  if (threadIdx.x == 33) __syncwarp(1u);
  if (threadIdx.x >= 32 && threadIdx.x != 34) __shfl_sync(0xFFFFFFFFu, 1, 0);
  if (threadIdx.x >= 32) __syncthreads();
}""",
    "parted": """parted(u32* out) {
  if (threadIdx.x < 16) __syncthreads();
  else if (threadIdx.x < 32) __syncwarp();
  else __syncthreads();
}""",
    "uninitialised": """uninitialised(u32* out) {
  u32* s = (u32*)emulated_shared();
  if (threadIdx.x > 0) s[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(out, s[threadIdx.x]);
}""",
    "write_at": """write_at(u32* out, i64 at) { if (threadIdx.x == 3) out[at] = 7; }""",
    "shared_at": """shared_at(u32* out, i64 at) { ((volatile unsigned char*)emulated_shared())[at] = 1; }""",
    "divides": """divides(int* out, i64 by) { out[threadIdx.x] = out[threadIdx.x] / (int)by; }""",
    "deep": """deep(u32* out, i64 depth) { volatile char big[200000]; big[depth] = 1; out[0] = big[depth]; }""",
    "grid_barrier": """grid_barrier(u32* count, u32* out, i64 rounds) {
  for (i64 r = 0; r < rounds; r++) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(count, 1u);
      while (*(volatile u32*)count < gridDim.x * (u32)(r + 1)) __nanosleep(20);
      __threadfence();
    }
    __syncthreads();
    u32 other = (blockIdx.x + 1) % gridDim.x;
    u32* next = out + (r & 1) * gridDim.x * blockDim.x, *last = out + (~r & 1) * gridDim.x * blockDim.x;
    next[blockIdx.x * blockDim.x + threadIdx.x] = last[other * blockDim.x + threadIdx.x] + 1;
  }
}""",
    "atomic_poll": """atomic_poll(u32* flag, u32* out) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    while (atomicAdd(flag, 0u) == 0) {}
    out[0] = 5;
  }
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 31) atomicExch(flag, 1u);
}""",
    "trap": """trap(u32* out) { if (threadIdx.x == 9) __trap(); }""",
    "mathematics": """mathematics(double* out, double x) {
  out[0] = sqrt(x) + exp(x) + log1p(x) + tanh(x) + pow(x, 2.5) + fmod(x, 0.7) + floor(-x);
  out[1] = (double)(sqrtf((float)x) + expf((float)x) + powf((float)x, 2.5f));
  out[2] = min(3.0, max(x, 1.0)) + (double)min(3u, 2u) + isnan(x) + isinf(1.0 / (x - x));
  out[3] = (double)__uint_as_float(__float_as_uint(1.5f)) + __longlong_as_double(__double_as_longlong(x));
}""",
    "add_one_racing": """add_one_racing(u32* out) { out[threadIdx.x] += 1; }""",
    "flag_unfenced": """flag_unfenced(u32* flag, u32* out) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    out[1] = 5;
    atomicExch(flag, 1u);
  }
  if (blockIdx.x == 1 && threadIdx.x == 0) {
    while (*(volatile u32*)flag == 0) __nanosleep(20);
    out[2] = out[1];
  }
}""",
    "shifts": """shifts(u32* out, i64 by) { if (threadIdx.x == 0) out[0] = 1u << by; }""",
    "local_at": """local_at(u32* out, i64 at) {
  u32 few[4];
  for (int i = 0; i < 4; i++) few[i] = i + out[i];
  if (threadIdx.x == 0) out[0] = few[at];
}""",
    "add_one": """add_one(u32* values, i64 n) {
  for (i64 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) values[i]++;
}""",
}

ARGUMENTS: dict[str, tuple[int, tuple[int, ...]]] = {
    "grid_barrier": (0, (3,)), "write_at": (0, (600,)), "shared_at": (100, (102,)), "divides": (0, (0,)),
    "shifts": (0, (40,)), "local_at": (0, (6,)),
}
"""Bytes of shared memory, and the integer arguments after the addresses, for kernels that need them."""


def entries() -> dict[str, str]:
    """Return all kernels, in the form that `Device.load` takes."""
    return {name: HEAD + text + "\n" for name, text in KERNELS.items()}

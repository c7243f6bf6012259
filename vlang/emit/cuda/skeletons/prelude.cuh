// The first part of every text: types, and operations on lanes, warps and blocks. The constants of runtime/plan/plan.py
// follow after it.
//
// NVRTC compiles the text without headers; g++ compiles it after tests/cuda/emulation/emulation.h. VLANG_EMULATION is
// the only macro that distinguishes the two. Lanes never rely on lockstep: they synchronise by `*_sync` operations with full
// masks. So a loop around such an operation runs equally often for all lanes of a warp, and a loop around a barrier for
// all threads of a block.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef float f32;
typedef double f64;

#ifdef VLANG_EMULATION
#define UNROLL
#define UNROLL_4
#define ASSUME_GLOBAL(place)
template <class T> __device__ __forceinline__ T* shared_memory(u32 offset) {
  return reinterpret_cast<T*>(emulated_shared() + offset);
}
template <class T> __device__ __forceinline__ T stream_load(const T* place) { return *place; }
template <class T> __device__ __forceinline__ T glance(const T* place) { return *const_cast<const volatile T*>(place); }
[[maybe_unused]] constexpr u32 MOST_THREADS = 1536;
#else
#define UNROLL _Pragma("unroll")
#define UNROLL_4 _Pragma("unroll 4")
#define ASSUME_GLOBAL(place) __builtin_assume(__isGlobal(place))
extern __shared__ __align__(16) unsigned char dynamic_shared[];
// The dynamic shared memory of the block from a byte offset on, a multiple of 16.
template <class T> __device__ __forceinline__ T* shared_memory(u32 offset) {
  return reinterpret_cast<T*>(dynamic_shared + offset);
}
// A load of data that is read once; it leaves the caches to data that is read again.
template <class T> __device__ __forceinline__ T stream_load(const T* place) { return __ldcs(place); }
// A load of data that other threads update. The value may be stale, since it may come from the nearest cache.
template <class T> __device__ __forceinline__ T glance(const T* place) { return *place; }
[[maybe_unused]] constexpr u32 MOST_THREADS = __CUDA_ARCH__ == 750 ? 1024 : 1536;  // of a multiprocessor, at least
#endif

// -- clusters ---------------------------------------------------------------------------------------------------------

// A cluster has so many blocks, which run at the same time, and of which each can access the shared memory of the others.
constexpr u32 CLUSTER = 8;
#if defined(VLANG_EMULATION) || __CUDA_ARCH__ >= 900
#define CLUSTERED __cluster_dims__(CLUSTER, 1, 1)
// The barrier of a cluster. Later accesses of its threads follow earlier ones, to shared and to global memory.
__device__ __forceinline__ void meet_cluster() {
  __syncwarp();
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
}
// The address, in the shared memory of another block, of what is at `place` in the shared memory of this block.
template <class T> __device__ __forceinline__ T* peer(T* place, u32 block) {
  return reinterpret_cast<T*>(__cluster_map_shared_rank(place, block));
}
#else
#define CLUSTERED
__device__ __forceinline__ void meet_cluster() { __trap(); }
template <class T> __device__ __forceinline__ T* peer(T* place, u32) { return place; }
#endif

constexpr unsigned WARP = 0xFFFFFFFFu;  // the mask of all lanes

// The address in a slot. The compiler learns that it is in global memory, which avoids generic loads.
template <class T> __device__ __forceinline__ T* pointer(const u64* words, u32 slot) {
  T* place = reinterpret_cast<T*>(words[slot]);
  ASSUME_GLOBAL(place);
  return place;
}

// A column of edge values. The compiler knows `streams` after inlining: whether each value is loaded as data that is
// read once. Threads that read consecutive edges of one row need the caches, as they share lines with later reads.
template <class T> struct Column {
  const T* values;
  bool streams;

  __device__ __forceinline__ T operator[](u64 k) const { return streams ? stream_load(values + k) : values[k]; }
};

__device__ __forceinline__ u32 lane_number() { return threadIdx.x & 31; }
__device__ __forceinline__ u64 thread_number() { return u64(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 thread_count() { return u64(gridDim.x) * blockDim.x; }

// -- lanes ------------------------------------------------------------------------------------------------------------

// The value of another lane, by type. Values of 8 and 16 bits are sent as 32 bits.
__device__ __forceinline__ i32 lane_value(unsigned mask, i32 value, int lane) { return __shfl_sync(mask, value, lane); }
__device__ __forceinline__ u32 lane_value(unsigned mask, u32 value, int lane) { return __shfl_sync(mask, value, lane); }
__device__ __forceinline__ i64 lane_value(unsigned mask, i64 value, int lane) { return __shfl_sync(mask, value, lane); }
__device__ __forceinline__ u64 lane_value(unsigned mask, u64 value, int lane) { return __shfl_sync(mask, value, lane); }
__device__ __forceinline__ f32 lane_value(unsigned mask, f32 value, int lane) { return __shfl_sync(mask, value, lane); }
__device__ __forceinline__ f64 lane_value(unsigned mask, f64 value, int lane) { return __shfl_sync(mask, value, lane); }
__device__ __forceinline__ i8 lane_value(unsigned mask, i8 value, int lane) {
  return i8(__shfl_sync(mask, i32(value), lane));
}
__device__ __forceinline__ u8 lane_value(unsigned mask, u8 value, int lane) {
  return u8(__shfl_sync(mask, u32(value), lane));
}
__device__ __forceinline__ i16 lane_value(unsigned mask, i16 value, int lane) {
  return i16(__shfl_sync(mask, i32(value), lane));
}
__device__ __forceinline__ u16 lane_value(unsigned mask, u16 value, int lane) {
  return u16(__shfl_sync(mask, u32(value), lane));
}
__device__ __forceinline__ bool lane_value(unsigned mask, bool value, int lane) {
  return __shfl_sync(mask, u32(value), lane) != 0;
}

// The sum over the lanes of a warp, in every lane.
__device__ __forceinline__ u32 warp_sum(u32 value) {
  for (int offset = 16; offset; offset >>= 1) {
    value += __shfl_xor_sync(WARP, value, offset);
  }
  return value;
}

// The sum over this lane and all lower lanes.
__device__ __forceinline__ u32 warp_inclusive(u32 value) {
  const u32 lane = lane_number();
  for (u32 offset = 1; offset < 32; offset <<= 1) {
    const u32 before = __shfl_up_sync(WARP, value, offset);
    value += lane >= offset ? before : 0;
  }
  return value;
}

// The sum over all threads with lower numbers; `total` is the sum over all threads. sums: one word of shared memory per
// warp and one more, which can be reused right after the call. All threads of the block take part.
__device__ __forceinline__ u32 block_exclusive(u32 value, u32* sums, u32& total) {
  const u32 warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  const u32 inclusive = warp_inclusive(value);
  __syncthreads();
  if (lane_number() == 31) {
    sums[warp] = inclusive;
  }
  __syncthreads();
  if (warp == 0) {
    const u32 mine = lane_number() < warps ? sums[lane_number()] : 0;
    const u32 through = warp_inclusive(mine);
    __syncwarp();
    if (lane_number() < warps) {
      sums[lane_number()] = through - mine;
    }
    if (lane_number() == warps - 1) {
      sums[warps] = through;
    }
  }
  __syncthreads();
  total = sums[warps];
  const u32 before = sums[warp];
  __syncthreads();
  return before + inclusive - value;
}

// -- accumulators -----------------------------------------------------------------------------------------------------

// Merges the accumulators of each group of `lanes` lanes (a power of two) by a tree. The first lane of a group has the
// result.
template <class S>
__device__ __forceinline__ typename S::Acc lanes_merge(const typename S::Env& env, typename S::Acc acc, int lanes) {
  for (int offset = lanes >> 1; offset; offset >>= 1) {
    acc = S::merge(env, acc, S::from_lane(WARP, acc, (lane_number() + offset) & 31));
  }
  return acc;
}

// Merges the accumulators of a block by trees, in a fixed order. Thread 0 has the result. slots: shared memory with one
// accumulator per warp, which may have been in use before.
template <class S>
__device__ __forceinline__ typename S::Acc block_merge(
    const typename S::Env& env, typename S::Acc acc, typename S::Acc* slots) {
  acc = lanes_merge<S>(env, acc, 32);
  __syncthreads();
  if (lane_number() == 0) {
    slots[threadIdx.x >> 5] = acc;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    acc = S::identity(env);
    if (threadIdx.x < blockDim.x >> 5) {
      acc = slots[threadIdx.x];
    }
    acc = lanes_merge<S>(env, acc, 32);
  }
  return acc;
}

// Adds the counts of a pass to the statistics, with one atomic operation per block for each count that is not 0. All
// threads of the block take part. Overwrites 8 bytes of shared memory per warp, from byte 0 on.
__device__ __forceinline__ void note(u64* stats, u32 changed, u32 active) {
  if (!__syncthreads_or((changed | active) != 0)) {
    return;
  }
  u32* sums = shared_memory<u32>(0);
  changed = warp_sum(changed);
  active = warp_sum(active);
  if (lane_number() == 0) {
    sums[threadIdx.x >> 4] = changed;
    sums[(threadIdx.x >> 4) + 1] = active;
  }
  __syncthreads();
  if (threadIdx.x < 2) {
    u32 total = 0;
    for (u32 warp = 0; warp < blockDim.x >> 5; warp++) {
      total += sums[2 * warp + threadIdx.x];
    }
    if (total) {
      atomicAdd(stats + threadIdx.x, u64(total));
    }
  }
}

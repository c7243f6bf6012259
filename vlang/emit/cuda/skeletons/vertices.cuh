// Passes over vertices, messages, and reductions over vertices.

template <class S> __device__ __forceinline__ void compute(u64* frame, u64 low, u64 high) {
  const typename S::Env env = S::bind(frame);
  u32 changed = 0, active = 0;
  for (u64 v = low + thread_number(); v < high; v += thread_count()) {
    const u32 flags = S::apply(env, u32(v), S::ready(env, u32(v)), typename S::Acc{});
    changed += flags & 1;
    active += flags >> 1;
  }
  note(pointer<u64>(frame, SLOT_STATS), changed, active);
}

// Computes messages: the part of a contribution that depends only on the sender, once per sender.
template <class S> __device__ __forceinline__ void messages(u64* frame, u64 low, u64 high) {
  const typename S::Env env = S::bind(frame);
  for (u64 v = low + thread_number(); v < high; v += thread_count()) {
    S::send(env, u32(v));
  }
}

template <class S> __device__ __forceinline__ void messages_list(u64* frame, const u32* list, const u64* count) {
  const typename S::Env env = S::bind(frame);
  const u64 listed = *count;
  for (u64 i = thread_number(); i < listed; i += thread_count()) {
    S::send(env, list[i]);
  }
}

enum : u32 { FOLD_BYTES = 1024 };  // space for the accumulators of one reduction over vertices (entries.py)

// The contributions of one block of vertices, in the order of `fold`: thread t takes vertices t, t + threads, ... A whole
// block has a constant number of vertices per thread, so that the loads for all these vertices are in flight at once.
template <class V>
__device__ __forceinline__ typename V::Acc fold_block(const typename V::Env& env, u64 begin, u64 end) {
  typename V::Acc acc = V::identity(env);
  if (end - begin == BLOCK && blockDim.x == THREADS) {
    UNROLL
    for (u32 k = 0; k < u32(BLOCK / THREADS); k++) {
      acc = V::gather(env, acc, u32(begin) + threadIdx.x + k * u32(THREADS));
    }
    return acc;
  }
  for (u64 v = begin + threadIdx.x; v < end; v += blockDim.x) {
    acc = V::gather(env, acc, u32(v));
  }
  return acc;
}

// Reductions over vertices [low, high), with one partial result for each BLOCK vertices. One thread block reduces these vertices
// in a fixed order: thread t processes vertices t, t + threads, ..., then trees merge the accumulators of the threads.
// The first partial result has number `first` among all partial results. `low` is a multiple of BLOCK.
template <class V> __device__ __forceinline__ void fold(u64* frame, u64 low, u64 high, u64 first) {
  static_assert(sizeof(typename V::Acc) <= FOLD_BYTES, "too many reductions in one value");
  const typename V::Env env = V::bind(frame);
  for (u64 block = blockIdx.x; low + block * BLOCK < high; block += gridDim.x) {
    const u64 begin = low + block * BLOCK, end = begin + BLOCK < high ? begin + BLOCK : high;
    const typename V::Acc acc = block_merge<V>(env, fold_block<V>(env, begin, end), shared_memory<typename V::Acc>(0));
    if (threadIdx.x == 0) {
      V::put(env, i64(first + block), acc);
    }
  }
}

// Merges all partial results of a value in a fixed order, and stores the value. One block takes part.
template <class V> __device__ __forceinline__ void merge_folded(u64* frame, const typename V::Env& env, u64 blocks) {
  typename V::Acc acc = V::identity(env);
  for (u64 block = threadIdx.x; block < blocks; block += blockDim.x) {
    acc = V::merge(env, acc, V::get(env, i64(block)));
  }
  acc = block_merge<V>(env, acc, shared_memory<typename V::Acc>(0));
  if (threadIdx.x == 0) {
    V::store(frame, env, acc);
  }
}

// Computes a graph-level value: one block merges the partial results in a fixed order and stores the value.
template <class V> __device__ __forceinline__ void scalar(u64* frame, u64 blocks) {
  const typename V::Env env = V::bind(frame);
  if constexpr (V::FOLDS) {
    static_assert(sizeof(typename V::Acc) <= FOLD_BYTES, "too many reductions in one value");
    if (blockIdx.x == 0) {
      merge_folded<V>(frame, env, blocks);
    }
  } else if (blockIdx.x == 0 && threadIdx.x == 0) {
    V::store(frame, env);
  }
}

// `fold` over all vertices and then `scalar`, in one launch: the last block to end merges the partial results. The count
// of ended blocks follows the counts of the pass, and is 0 before and after.
template <class V> __device__ __forceinline__ void fold_scalar(u64* frame, u64 high, u64 blocks) {
  fold<V>(frame, 0, high, 0);
  u64* ended = pointer<u64>(frame, SLOT_STATS) + 2;
  u32* last = shared_memory<u32>(0);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    *last = atomicAdd(ended, u64(1)) == gridDim.x - 1;
  }
  __syncthreads();
  const bool mine = *last != 0;
  __syncthreads();
  if (mine) {
    __threadfence();
    merge_folded<V>(frame, V::bind(frame), blocks);
    if (threadIdx.x == 0) {
      *ended = 0;
    }
  }
}

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

// Reductions over vertices [low, high), with one partial result for each BLOCK vertices. One thread block reduces these vertices
// in a fixed order: thread t processes vertices t, t + threads, ..., then trees merge the accumulators of the threads.
// The first partial result has number `first` among all partial results. `low` is a multiple of BLOCK.
template <class V> __device__ __forceinline__ void fold(u64* frame, u64 low, u64 high, u64 first) {
  static_assert(sizeof(typename V::Acc) <= FOLD_BYTES, "too many reductions in one value");
  const typename V::Env env = V::bind(frame);
  for (u64 block = blockIdx.x; low + block * BLOCK < high; block += gridDim.x) {
    const u64 begin = low + block * BLOCK, end = begin + BLOCK < high ? begin + BLOCK : high;
    typename V::Acc acc = V::identity(env);
    UNROLL_4
    for (u64 v = begin + threadIdx.x; v < end; v += blockDim.x) {
      acc = V::gather(env, acc, u32(v));
    }
    acc = block_merge<V>(env, acc, shared_memory<typename V::Acc>(0));
    if (threadIdx.x == 0) {
      V::put(env, i64(first + block), acc);
    }
  }
}

// Computes a graph-level value: one block merges the partial results in a fixed order and stores the value.
template <class V> __device__ __forceinline__ void scalar(u64* frame, u64 blocks) {
  const typename V::Env env = V::bind(frame);
  if constexpr (V::FOLDS) {
    static_assert(sizeof(typename V::Acc) <= FOLD_BYTES, "too many reductions in one value");
    typename V::Acc acc = V::identity(env);
    for (u64 block = threadIdx.x; block < blocks; block += blockDim.x) {
      acc = V::merge(env, acc, V::get(env, i64(block)));
    }
    acc = block_merge<V>(env, acc, shared_memory<typename V::Acc>(0));
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      V::store(frame, env, acc);
    }
  } else if (blockIdx.x == 0 && threadIdx.x == 0) {
    V::store(frame, env);
  }
}

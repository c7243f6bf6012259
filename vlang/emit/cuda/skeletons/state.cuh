// Operations on the state of a run that the engine needs besides passes. Each runs as one block or as a plain grid.

// Sets words[index] = value for up to six pairs. The words are slots of the frame that the host changes between passes.
__device__ __forceinline__ void set_words(
    u64* words, u64 count, u64 i0, u64 v0, u64 i1, u64 v1, u64 i2, u64 v2, u64 i3, u64 v3, u64 i4, u64 v4, u64 i5,
    u64 v5) {
  const u64 index[6] = {i0, i1, i2, i3, i4, i5};
  const u64 value[6] = {v0, v1, v2, v3, v4, v5};
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    for (u64 k = 0; k < count; k++) {
      words[index[k]] = value[k];
    }
  }
}

// Adds the number of words that differ between two arrays to *differing.
__device__ __forceinline__ void count_differing(const u64* a, const u64* b, u64 count, u64* differing) {
  u32 found = 0;
  const u64 stride = u64(gridDim.x) * blockDim.x;
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    found += a[i] != b[i];
  }
  if (found) {
    atomicAdd(differing, u64(found));
  }
}

// Adds the number of entries that differ from `value` to *others.
template <class T> __device__ __forceinline__ void count_other(const T* array, u64 count, u64 value, u64* others) {
  u32 found = 0;
  const u64 stride = u64(gridDim.x) * blockDim.x;
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    found += array[i] != T(value);
  }
  if (found) {
    atomicAdd(others, u64(found));
  }
}
__device__ __forceinline__ void count_other_8(const u8* array, u64 count, u64 value, u64* others) {
  count_other(array, count, value, others);
}
__device__ __forceinline__ void count_other_32(const u32* array, u64 count, u64 value, u64* others) {
  count_other(array, count, value, others);
}

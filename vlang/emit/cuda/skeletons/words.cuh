// Graph-level values. Each is stored in the low bytes of a word of the frame.

template <class T> __device__ __forceinline__ T value_at(const u64* words, u32 slot) {
  return *reinterpret_cast<const T*>(words + slot);
}

template <class T> __device__ __forceinline__ void store_at(u64* words, u32 slot, T value) {
  *reinterpret_cast<T*>(words + slot) = value;
}

// The exchange of vertex values between devices. A value has `width` words of the same size.

// Copies the values of some vertices to consecutive places.
template <class T>
__device__ __forceinline__ void pack_words(const T* values, const u32* places, u64 count, u64 width, T* packed) {
  for (u64 i = thread_number(); i < count * width; i += thread_count()) {
    packed[i] = values[places[i / width] * width + i % width];
  }
}
__device__ __forceinline__ void pack_8(const u8* values, const u32* places, u64 count, u64 width, u8* packed) {
  pack_words(values, places, count, width, packed);
}
__device__ __forceinline__ void pack_16(const u16* values, const u32* places, u64 count, u64 width, u16* packed) {
  pack_words(values, places, count, width, packed);
}
__device__ __forceinline__ void pack_32(const u32* values, const u32* places, u64 count, u64 width, u32* packed) {
  pack_words(values, places, count, width, packed);
}
__device__ __forceinline__ void pack_64(const u64* values, const u32* places, u64 count, u64 width, u64* packed) {
  pack_words(values, places, count, width, packed);
}

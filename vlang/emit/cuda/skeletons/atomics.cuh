// The unified operations where several threads update one cell. vlang/emit/cuda/unified.py defines which of them are
// used in which place.
//
// A cell has the type of its values, except that integers narrower than 32 bits use cells of 32 bits, so that one
// instruction joins them. A narrower cell would share its word with other cells. A join would then need a
// compare-and-swap loop, with contention on the whole word. A pair of values of at most 32 bits shares one 64-bit word
// whose order is that of the pairs.
//
// Minima and maxima of f32 and f64 use integer instructions: floats without sign bit are ordered like signed integers,
// floats with sign bit in the reverse order of unsigned integers. The code tests the sign bit itself, because
// -0.0 >= 0 is true. NaN is never joined.

// -- words ------------------------------------------------------------------------------------------------------------

__device__ __forceinline__ u32 word_of(u32 x) { return x; }
__device__ __forceinline__ u32 word_of(i32 x) { return u32(x); }
__device__ __forceinline__ u32 word_of(f32 x) { return __float_as_uint(x); }
__device__ __forceinline__ u64 word_of(u64 x) { return x; }
__device__ __forceinline__ u64 word_of(i64 x) { return u64(x); }
__device__ __forceinline__ u64 word_of(f64 x) { return u64(__double_as_longlong(x)); }
__device__ __forceinline__ void from_word(u32 word, u32& x) { x = word; }
__device__ __forceinline__ void from_word(u32 word, i32& x) { x = i32(word); }
__device__ __forceinline__ void from_word(u32 word, f32& x) { x = __uint_as_float(word); }
__device__ __forceinline__ void from_word(u64 word, u64& x) { x = word; }
__device__ __forceinline__ void from_word(u64 word, i64& x) { x = i64(word); }
__device__ __forceinline__ void from_word(u64 word, f64& x) { x = __longlong_as_double(i64(word)); }

template <class T> __device__ __forceinline__ T word_value(u32 word) {
  T value;
  from_word(word, value);
  return value;
}

// -- pairs ------------------------------------------------------------------------------------------------------------

template <class T> struct KeyOf {
  static __device__ __forceinline__ u32 key(T x) { return T(-1) < T(0) ? u32(i32(x)) ^ 0x80000000u : u32(x); }
  static __device__ __forceinline__ T value(u32 key) {
    return T(-1) < T(0) ? T(i32(key ^ 0x80000000u)) : T(key);
  }
};
template <> struct KeyOf<f32> {
  static __device__ __forceinline__ u32 key(f32 x) {
    const u32 bits = __float_as_uint(x + 0.0f);  // the two zeros are equal
    return bits >> 31 ? ~bits : bits | 0x80000000u;
  }
  static __device__ __forceinline__ f32 value(u32 key) {
    return __uint_as_float(key >> 31 ? key & 0x7FFFFFFFu : ~key);
  }
};

// A 32-bit key with the order of values of T: integers of at most 32 bits, vertices, f32 (-0.0 becomes 0.0). NaN has no
// place in the order, so callers must exclude it.
template <class T> __device__ __forceinline__ u32 order_key(T x) { return KeyOf<T>::key(x); }
template <class T> __device__ __forceinline__ T key_value(u32 key) { return KeyOf<T>::value(key); }

__device__ __forceinline__ u64 pack(u32 first, u32 second) { return u64(first) << 32 | second; }
__device__ __forceinline__ u32 packed_first(u64 word) { return u32(word >> 32); }
__device__ __forceinline__ u32 packed_second(u64 word) { return u32(word); }

// -- instructions -----------------------------------------------------------------------------------------------------

template <class T> __device__ __forceinline__ T atomic_least(T* place, T value) { return atomicMin(place, value); }
template <class T> __device__ __forceinline__ T atomic_most(T* place, T value) { return atomicMax(place, value); }
template <> __device__ __forceinline__ f32 atomic_least(f32* place, f32 value) {
  const u32 bits = __float_as_uint(value);
  return bits >> 31 ? __uint_as_float(atomicMax(reinterpret_cast<u32*>(place), bits))
                    : __int_as_float(atomicMin(reinterpret_cast<i32*>(place), i32(bits)));
}
template <> __device__ __forceinline__ f32 atomic_most(f32* place, f32 value) {
  const u32 bits = __float_as_uint(value);
  return bits >> 31 ? __uint_as_float(atomicMin(reinterpret_cast<u32*>(place), bits))
                    : __int_as_float(atomicMax(reinterpret_cast<i32*>(place), i32(bits)));
}
template <> __device__ __forceinline__ f64 atomic_least(f64* place, f64 value) {
  const i64 bits = __double_as_longlong(value);
  return __longlong_as_double(bits < 0 ? i64(atomicMax(reinterpret_cast<u64*>(place), u64(bits)))
                                       : atomicMin(reinterpret_cast<i64*>(place), bits));
}
template <> __device__ __forceinline__ f64 atomic_most(f64* place, f64 value) {
  const i64 bits = __double_as_longlong(value);
  return __longlong_as_double(bits < 0 ? i64(atomicMin(reinterpret_cast<u64*>(place), u64(bits)))
                                       : atomicMax(reinterpret_cast<i64*>(place), bits));
}

__device__ __forceinline__ u32* bits_at(u32* place) { return place; }
__device__ __forceinline__ u32* bits_at(i32* place) { return reinterpret_cast<u32*>(place); }
__device__ __forceinline__ u64* bits_at(u64* place) { return place; }
__device__ __forceinline__ u64* bits_at(i64* place) { return reinterpret_cast<u64*>(place); }

// -- shared memory: join --------------------------------------------------------------------------------------------

template <class T> __device__ __forceinline__ void shared_add(T* place, T value) { atomicAdd(place, value); }
template <> __device__ __forceinline__ void shared_add(i64* place, i64 value) { atomicAdd(bits_at(place), u64(value)); }

template <class T> __device__ __forceinline__ T product(T a, T b) { return a * b; }
// A product in a `prod`. A magnitude of 2^63 - 1 or more is infinite: so -(2^63 - 1), which is inf * -1, becomes -inf.
template <> __device__ __forceinline__ i64 product(i64 a, i64 b) {
  const i64 value = saturated_mul<i64>(a, b);
  return value == -highest<i64>() ? lowest<i64>() : value;
}
template <> __device__ __forceinline__ u64 product(u64 a, u64 b) { return saturated_mul<u64>(a, b); }

// Replaces the value by `joined(value)` in a compare-and-swap loop. The last call of `joined` is the one that counts.
template <class T, class F> __device__ __forceinline__ void shared_apply(T* place, const F& joined) {
  auto* words = reinterpret_cast<decltype(word_of(T()))*>(place);
  auto seen = glance(words);
  for (;;) {
    T old;
    from_word(seen, old);
    const auto now = atomicCAS(words, seen, word_of(joined(old)));
    if (now == seen) {
      return;
    }
    seen = now;
  }
}
template <class T> __device__ __forceinline__ void shared_mul(T* place, T value) {
  shared_apply(place, [value](T old) { return product(old, value); });
}

template <class T> __device__ __forceinline__ void shared_min(T* place, T value) {
  if (value == value) {
    atomic_least(place, value);
  }
}
template <class T> __device__ __forceinline__ void shared_max(T* place, T value) {
  if (value == value) {
    atomic_most(place, value);
  }
}
template <class T> __device__ __forceinline__ void shared_and(T* place, T value) {
  atomicAnd(bits_at(place), word_of(value));
}
template <class T> __device__ __forceinline__ void shared_or(T* place, T value) {
  atomicOr(bits_at(place), word_of(value));
}
template <class T> __device__ __forceinline__ void shared_xor(T* place, T value) {
  atomicXor(bits_at(place), word_of(value));
}
// All threads store the same value, so plain stores suffice. They are volatile, because they are concurrent.
template <class T> __device__ __forceinline__ void shared_any(T* place, T value) {
  if (value) {
    *const_cast<volatile T*>(place) = T(1);
  }
}
template <class T> __device__ __forceinline__ void shared_all(T* place, T value) {
  if (!value) {
    *const_cast<volatile T*>(place) = T(0);
  }
}

// -- global memory: join, and return whether that changed the cell ----------------------------------------------------
// A plain load comes first, because most pushed values improve nothing. Its result may be stale. But cells only ever
// improve, so a value that does not improve a stale one does not improve the current one.
//
// `would_OP` is this plain test alone, for callers that test several cells before they join.

template <class T> __device__ __forceinline__ bool would_min(const T* place, T value) { return value < glance(place); }
template <class T> __device__ __forceinline__ bool would_max(const T* place, T value) { return value > glance(place); }
template <class T> __device__ __forceinline__ bool would_or(const T* place, T value) {
  return (word_of(value) & ~word_of(glance(place))) != 0;
}
template <class T> __device__ __forceinline__ bool would_and(const T* place, T value) {
  return (~word_of(value) & word_of(glance(place))) != 0;
}
template <class T> __device__ __forceinline__ bool would_any(const T* place, T value) {
  return value && !glance(place);
}
template <class T> __device__ __forceinline__ bool would_all(const T* place, T value) {
  return !value && glance(place);
}

template <class T> __device__ __forceinline__ bool improve_min(T* place, T value) {
  return would_min(place, value) && value < atomic_least(place, value);
}
template <class T> __device__ __forceinline__ bool improve_max(T* place, T value) {
  return would_max(place, value) && value > atomic_most(place, value);
}
template <class T> __device__ __forceinline__ bool improve_or(T* place, T value) {
  const auto bits = word_of(value);
  return would_or(place, value) && (bits & ~atomicOr(bits_at(place), bits));
}
template <class T> __device__ __forceinline__ bool improve_and(T* place, T value) {
  const auto bits = word_of(value);
  return would_and(place, value) && (~bits & atomicAnd(bits_at(place), bits));
}
// If several threads call this at the same time, more than one call may return that it changed the cell.
template <class T> __device__ __forceinline__ bool improve_any(T* place, T value) {
  if (!would_any(place, value)) {
    return false;
  }
  *const_cast<volatile T*>(place) = T(1);
  return true;
}
template <class T> __device__ __forceinline__ bool improve_all(T* place, T value) {
  if (!would_all(place, value)) {
    return false;
  }
  *const_cast<volatile T*>(place) = T(0);
  return true;
}

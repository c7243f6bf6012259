// Integer operations that give infinity instead of wrapping: the exact result is clamped to the type. The functions are
// those of runtime/compile/saturating.py. They treat an infinite operand as the number that represents it. Where such
// an operand must decide the result, the generated code tests it.

template <class T> __device__ __forceinline__ constexpr bool is_signed() { return T(-1) < T(1); }
template <class T> __device__ __forceinline__ constexpr T highest() {
  return is_signed<T>() ? T((u64(1) << (8 * sizeof(T) - 1)) - 1) : T(-1);
}
template <class T> __device__ __forceinline__ constexpr T lowest() {
  return is_signed<T>() ? T(-highest<T>() - 1) : T(0);
}

// A 64-bit integer clamped to a type of at most 32 bits.
template <class T> __device__ __forceinline__ T clamped(i64 x) {
  return x > i64(highest<T>()) ? highest<T>() : x < i64(lowest<T>()) ? lowest<T>() : T(x);
}

template <class T> __device__ __forceinline__ T saturated_add(T a, T b) {
  if (sizeof(T) < 8) {
    return clamped<T>(i64(a) + i64(b));
  }
  const u64 sum = u64(a) + u64(b);
  if (!is_signed<T>()) {
    return sum < u64(a) ? highest<T>() : T(sum);
  }
  return i64((u64(a) ^ sum) & (u64(b) ^ sum)) < 0 ? (a < T(0) ? lowest<T>() : highest<T>()) : T(sum);
}

template <class T> __device__ __forceinline__ T saturated_sub(T a, T b) {
  if (sizeof(T) < 8) {
    return clamped<T>(i64(a) - i64(b));
  }
  const u64 rest = u64(a) - u64(b);
  if (!is_signed<T>()) {
    return a < b ? T(0) : T(rest);
  }
  return i64((u64(a) ^ u64(b)) & (u64(a) ^ rest)) < 0 ? (a < T(0) ? lowest<T>() : highest<T>()) : T(rest);
}

template <class T> __device__ __forceinline__ T saturated_mul(T a, T b) {
  if (sizeof(T) < 8) {
    return is_signed<T>() ? clamped<T>(i64(a) * i64(b))
                          : u64(a) * u64(b) > u64(highest<T>()) ? highest<T>() : T(u64(a) * u64(b));
  }
  const bool negative = is_signed<T>() && (a < T(0)) != (b < T(0));
  const u64 x = is_signed<T>() && a < T(0) ? u64(0) - u64(a) : u64(a);
  const u64 y = is_signed<T>() && b < T(0) ? u64(0) - u64(b) : u64(b);
  const u64 product = x * y, most = u64(highest<T>()) + u64(negative);
  const bool fits = __umul64hi(x, y) == 0 && product <= most;
  return fits ? T(negative ? u64(0) - product : product) : negative ? lowest<T>() : highest<T>();
}

// The sum of two signed integers >= 0. It is computed in an unsigned type, where it does not wrap.
template <class T> __device__ __forceinline__ T add_sizes(T a, T b) {
  if (sizeof(T) == 8) {
    const u64 sum = u64(a) + u64(b);
    return T(sum < u64(highest<T>()) ? sum : u64(highest<T>()));
  }
  const u32 sum = u32(a) + u32(b);
  return T(sum < u32(highest<T>()) ? sum : u32(highest<T>()));
}

// a * 2^32 + b, clamped; b is a sum of lower halves, so it is not negative.
template <class T> __device__ __forceinline__ T sum_of_words(T a, T b) {
  const T upper = T(u64(a) + (u64(b) >> 32));
  const T value = T((u64(upper) << 32) | (u64(b) & 0xFFFFFFFFull));
  if (!is_signed<T>()) {
    return u64(upper) > 0xFFFFFFFFull ? highest<T>() : value;
  }
  return i64(upper) > 2147483647ll ? highest<T>() : i64(upper) < -2147483648ll ? lowest<T>() : value;
}

// a ** b by squaring; 0 for a negative exponent. one: 1 in the type of a.
template <class T, class B> __device__ __forceinline__ T saturated_power(T a, B b, T one) {
  if (b < B(1)) {
    return b == B(0) ? one : T(0);
  }
  T result = one, base = a;
  for (u64 n = u64(b); n; n >>= 1) {
    result = n & 1 ? saturated_mul<T>(result, base) : result;
    base = saturated_mul<T>(base, base);
  }
  return result;
}

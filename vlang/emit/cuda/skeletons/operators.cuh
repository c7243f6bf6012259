// Integer and float operations that C++ leaves undefined. The functions are those of
// vlang/emit/cpu/skeletons/operators.py. Results have the type of the first argument. Signed arithmetic that may wrap
// is computed in unsigned types.

template <class T> __device__ __forceinline__ T wrapped_negative(T a) { return T(u64(0) - u64(a)); }

// a // b, rounded towards minus infinity; 0 for b = 0; the least value // -1 wraps.
template <class T> __device__ __forceinline__ T int_floordiv(T a, T b) {
  if (b == 0) {
    return 0;
  }
  if (b == -1) {
    return wrapped_negative(a);
  }
  const T q = a / b;
  return T(q - (q * b != a && (a < 0) != (b < 0)));
}

// a - b * (a // b); 0 for b = 0.
template <class T> __device__ __forceinline__ T int_mod(T a, T b) {
  if (b == 0 || b == -1) {
    return 0;
  }
  const T r = a % b;
  return T(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}

// a // b; 0 for b = 0.
template <class T> __device__ __forceinline__ T uint_floordiv(T a, T b) { return b == 0 ? T(0) : T(a / b); }

// a % b; 0 for b = 0.
template <class T> __device__ __forceinline__ T uint_mod(T a, T b) { return b == 0 ? T(0) : T(a % b); }

// a - b * floor(a / b), with the sign of b.
template <class T> __device__ __forceinline__ T float_mod(T a, T b) {
  const T r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// a ** b by squaring, where integers wrap; 0 for a negative exponent. one: 1 in the type of a.
template <class T, class B> __device__ __forceinline__ T int_power(T a, B b, T one) {
  if (b < B(1)) {
    return b == B(0) ? one : T(0);
  }
  u64 result = 1, base = u64(a);
  for (u64 n = u64(b); n; n >>= 1) {
    result = n & 1 ? result * base : result;
    base *= base;
  }
  return T(result);
}

// a << b; 0 if b is not in 0..bits-1.
template <class T> __device__ __forceinline__ T shl(T a, i64 b, i64 bits) {
  return 0 <= b && b < bits ? T(u64(a) << b) : T(0);
}

// a >> b. If b is not in 0..bits-1, the result is 0, or -1 for a negative a.
template <class T> __device__ __forceinline__ T shr(T a, i64 b, i64 bits) {
  if (0 <= b && b < bits) {
    return T(a >> b);
  }
  return a < T(1) && a != T(0) ? T(-1) : T(0);
}

// The floor of a float as an integer. Values out of range become `high` or `low`, NaN becomes 0.
__device__ __forceinline__ i64 floor_int(f64 x, i64 high, i64 low) {
  const f64 y = floor(x);
  if (y != y) {
    return 0;
  }
  if (y >= f64(high)) {
    return high;
  }
  return y <= f64(low) ? low : i64(y);
}

// The floor of a float as a u64: the nearest value of the type, and 0 for NaN.
__device__ __forceinline__ u64 floor_u64(f64 x) {
  const f64 y = floor(x);
  if (!(y > 0)) {
    return 0;
  }
  return y < 18446744073709551616.0 ? u64(y) : 0xFFFFFFFFFFFFFFFFull;
}

// The f32 value of the 16 bits of an IEEE half.
__device__ __forceinline__ f32 half_to_float(u16 h) {
  const u32 sign = u32(h & 0x8000) << 16, exponent = (h >> 10) & 31, fraction = h & 1023;
  if (exponent == 31) {
    return __uint_as_float(fraction ? 0x7FC00000u : sign | 0x7F800000u);
  }
  if (exponent == 0) {  // a multiple of 2^-24
    const f32 magnitude = f32(fraction) * 5.9604644775390625e-8f;
    return sign ? -magnitude : magnitude;
  }
  return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
}

// The 16 bits of the IEEE half nearest to an f32; ties go to the even one.
__device__ __forceinline__ u16 float_to_half(f32 x) {
  const u32 bits = __float_as_uint(x), sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) {
    return u16(0x7E00);
  }
  if (magnitude >= 0x477FF000u) {  // 65520
    return u16(sign | 0x7C00);
  }
  if (magnitude < 0x38800000u) {  // 2^-14: a multiple of 2^-24; the product is exact
    return u16(sign | u32(rint(__uint_as_float(magnitude) * 16777216.0f)));
  }
  const u32 kept = (magnitude - 0x38000000u) >> 13, rest = magnitude & 0x1FFF;
  return u16(sign | (kept + (rest > 0x1000 || (rest == 0x1000 && (kept & 1)))));
}

// The caller's id of vertex v, by which functions of vertex numbers identify it: ids[v] if `listed`, otherwise
// base + v; -1 for `none`.
__device__ __forceinline__ u64 known(u32 v, const u64* ids, u64 listed, u64 base) {
  if (v == 0xFFFFFFFFu) {
    return ~u64(0);
  }
  return listed ? ids[v] : base + v;
}

// A pseudo-random number from a 64-bit seed and another number (language.md section 8).
__device__ __forceinline__ u64 mix(u64 seed, u64 x) {
  u64 z = (x + seed * 0x632BE59BD9B4E019ull) * 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

// -log(U) for U = (k + 1) / 2^53, where k is the number in the top 53 bits. See vlang/emit/cpu/skeletons/operators.py.
__device__ __forceinline__ f64 exponential(u64 bits) {
  u64 k = (bits >> 11) + 1;
  i64 low = 1;
  for (u32 step = 32; step > 0; step >>= 1) {
    const bool shorter = k < u64(1) << (53 - step);
    k = shorter ? k << step : k;
    low += shorter ? step : 0;
  }
  f64 m = f64(k) * 2.220446049250313e-16;
  if (m > 1.4142135623730951) {
    m *= 0.5;
    low -= 1;
  }
  const f64 f = m - 1.0;
  const f64 s = f / (2.0 + f), half = 0.5 * f * f, e = f64(-low);
  const f64 z = s * s;
  const f64 w = z * z;
  const f64 even = w * (0.3999999999940942 + w * (0.22222198432149784 + w * 0.15313837699209373));
  const f64 odd =
      z * (0.6666666666666735 + w * (0.2857142874366239 + w * (0.1818357216161805 + w * 0.14798198605116586)));
  return ((half - (s * (half + (even + odd)) + e * 1.9082149292705877e-10)) - f) - e * 0.6931471803691238;
}

// The time of an event at the rate `weight`, drawn from a hash; inf if the weight is not positive.
__device__ __forceinline__ f64 waiting(u64 bits, f64 weight) {
  return weight > 0.0 ? exponential(bits) / weight : __longlong_as_double(0x7FF0000000000000ll);
}

// 1 + the number of trailing zeros in 58 bits; 59 if no bit is set.
__device__ __forceinline__ u8 hll_rank(u64 bits) { return u8(bits ? __ffsll(i64(bits)) : 59); }

// A vector of N components.
template <typename T, int N>
struct Vector {
  T a[N];
};

// A matrix times a vector, each row added up from the left. The matrix has ROWS rows and is stored column by column.
template <int ROWS, typename T, int COLUMNS>
__device__ __forceinline__ Vector<T, ROWS> product(const T* matrix, const Vector<T, COLUMNS>& x) {
  Vector<T, ROWS> total;
#pragma unroll
  for (int row = 0; row < ROWS; row++) total.a[row] = matrix[row] * x.a[0];
#pragma unroll 1
  for (int column = 1; column < COLUMNS; column++) {
#pragma unroll
    for (int row = 0; row < ROWS; row++) total.a[row] += matrix[column * ROWS + row] * x.a[column];
  }
  return total;
}

// A HyperLogLog counter.
struct Registers {
  u8 c[64];
};

// The estimated number of elements in a counter (language.md section 8).
__device__ __forceinline__ f64 hll_size(const Registers& registers) {
  f64 total = 0;
  u32 zeros = 0;
  for (u32 i = 0; i < 64; i++) {
    f64 share = 1;
    u32 left = registers.c[i];
    zeros += left == 0;
    for (; left > 32; left -= 32) {
      share /= 4294967296.0;
    }
    total += share / f64(u64(1) << left);
  }
  const f64 size = 0.709 * 4096 / total;
  return size <= 160 && zeros ? 64 * log(64.0 / zeros) : size;
}

// The first position of a vertex in a set; -1 if the set does not contain it.
__device__ __forceinline__ i64 position(u32 v, const u32* ordered, const u32* places, i64 count) {
  i64 low = 0;
  for (i64 high = count; low < high;) {
    const i64 middle = (low + high) >> 1;
    if (ordered[middle] < v) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count && ordered[low] == v ? i64(places[low]) : -1;
}

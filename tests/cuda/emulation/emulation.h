// CUDA C on the CPU: the built-ins that a kernel text needs when g++ compiles it. Precedes the text.
//
// Only functions of NVRTC are defined here, with the same names and types, so that g++ rejects code that NVRTC would
// reject. Lanes are fibers, scheduled by emulation.cpp. Omitted on purpose: __activemask (lockstep assumptions),
// __shared__ declarations (all shared memory is dynamic), y and z of indices, printf.
#pragma once
#define VLANG_EMULATION 1

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))

// -- indices ----------------------------------------------------------------------------------------------------------

struct emulated_index {
  unsigned x;
};
// Constant for a lane, so the compiler may keep them in registers across a switch of fibers.
extern const emulated_index threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;

extern "C" {
unsigned char* emulated_shared();  // the dynamic shared memory of the running block
unsigned char* emulated_peer(unsigned block);  // the dynamic shared memory of a block of the cluster, which is the grid
unsigned long long* emulated_met();            // the number of blocks that have arrived at barriers of the cluster
void emulated_yield();             // a lane that polls lets the others run
void emulated_atomic();            // before every atomic operation: the scheduler may run others
void emulated_fence();
[[noreturn]] void emulated_trap(int line);
unsigned long long emulated_block(int operation, int predicate, int line);
unsigned long long emulated_warp(int operation, unsigned mask, unsigned long long value, int source, int line);
int emulated_run(const char* name, void (*body)(const unsigned long long*), const unsigned long long* launch,
                 const unsigned long long* arguments, char* message, unsigned long long size);
}

// In the order of the names in emulation.cpp.
enum emulated_operation {
  EMULATED_SYNCTHREADS, EMULATED_OR, EMULATED_AND, EMULATED_COUNT, EMULATED_SYNCWARP, EMULATED_SHFL, EMULATED_SHFL_UP,
  EMULATED_SHFL_DOWN, EMULATED_SHFL_XOR, EMULATED_BALLOT, EMULATED_ANY, EMULATED_ALL, EMULATED_MATCH_ANY,
};

// -- barriers ---------------------------------------------------------------------------------------------------------

inline void __syncthreads(int line = __builtin_LINE()) { emulated_block(EMULATED_SYNCTHREADS, 0, line); }
inline int __syncthreads_or(int predicate, int line = __builtin_LINE()) {
  return (int)emulated_block(EMULATED_OR, predicate != 0, line);
}
inline int __syncthreads_and(int predicate, int line = __builtin_LINE()) {
  return (int)emulated_block(EMULATED_AND, predicate != 0, line);
}
inline int __syncthreads_count(int predicate, int line = __builtin_LINE()) {
  return (int)emulated_block(EMULATED_COUNT, predicate != 0, line);
}
inline void __threadfence() { emulated_fence(); }
inline void __threadfence_block() { emulated_fence(); }
inline void __threadfence_system() { emulated_fence(); }
inline void __nanosleep(unsigned) { emulated_yield(); }
[[noreturn]] inline void __trap(int line = __builtin_LINE()) { emulated_trap(line); }

// -- warps ------------------------------------------------------------------------------------------------------------

inline void __syncwarp(unsigned mask = 0xFFFFFFFFu, int line = __builtin_LINE()) {
  emulated_warp(EMULATED_SYNCWARP, mask, 0, 0, line);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return (unsigned)emulated_warp(EMULATED_BALLOT, mask, predicate != 0, 0, line);
}
inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return (int)emulated_warp(EMULATED_ANY, mask, predicate != 0, 0, line);
}
inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return (int)emulated_warp(EMULATED_ALL, mask, predicate != 0, 0, line);
}

template <class T> inline unsigned long long emulated_pack(T value) {
  unsigned long long word = 0;
  __builtin_memcpy(&word, &value, sizeof(T));
  return word;
}
template <class T> inline T emulated_unpack(unsigned long long word) {
  T value;
  __builtin_memcpy(&value, &word, sizeof(T));
  return value;
}

// The lane that a shuffle reads, as defined in the CUDA programming guide (section "Warp Shuffle Functions").
inline int emulated_source_idx(int lane, int source, int width) { return (lane & -width) + (source & (width - 1)); }
inline int emulated_source_up(int lane, unsigned delta, int width) {
  return (unsigned)(lane & (width - 1)) < delta ? lane : lane - (int)delta;
}
inline int emulated_source_down(int lane, unsigned delta, int width) {
  return (unsigned)(lane & (width - 1)) + delta >= (unsigned)width ? lane : lane + (int)delta;
}
inline int emulated_source_xor(int lane, int bits, int width) {
  int source = lane ^ bits;
  return source >= (lane & -width) + width ? lane : source & 31;
}

#define EMULATED_SHUFFLES(T)                                                                                          \
  inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, int line = __builtin_LINE()) {             \
    int from = emulated_source_idx(threadIdx.x & 31, source, width);                                                  \
    return emulated_unpack<T>(emulated_warp(EMULATED_SHFL, mask, emulated_pack(value), from, line));                  \
  }                                                                                                                   \
  inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, int line = __builtin_LINE()) {      \
    int from = emulated_source_up(threadIdx.x & 31, delta, width);                                                    \
    return emulated_unpack<T>(emulated_warp(EMULATED_SHFL_UP, mask, emulated_pack(value), from, line));               \
  }                                                                                                                   \
  inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, int line = __builtin_LINE()) {    \
    int from = emulated_source_down(threadIdx.x & 31, delta, width);                                                  \
    return emulated_unpack<T>(emulated_warp(EMULATED_SHFL_DOWN, mask, emulated_pack(value), from, line));             \
  }                                                                                                                   \
  inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, int line = __builtin_LINE()) {           \
    int from = emulated_source_xor(threadIdx.x & 31, bits, width);                                                    \
    return emulated_unpack<T>(emulated_warp(EMULATED_SHFL_XOR, mask, emulated_pack(value), from, line));              \
  }                                                                                                                   \
  inline unsigned __match_any_sync(unsigned mask, T value, int line = __builtin_LINE()) {                             \
    return (unsigned)emulated_warp(EMULATED_MATCH_ANY, mask, emulated_pack(value), 0, line);                          \
  }
EMULATED_SHUFFLES(int)
EMULATED_SHUFFLES(unsigned)
EMULATED_SHUFFLES(long)
EMULATED_SHUFFLES(unsigned long)
EMULATED_SHUFFLES(long long)
EMULATED_SHUFFLES(unsigned long long)
EMULATED_SHUFFLES(float)
EMULATED_SHUFFLES(double)
#undef EMULATED_SHUFFLES

// -- atomics ----------------------------------------------------------------------------------------------------------

#define EMULATED_ATOMIC(name, T, builtin)                                                                             \
  inline T name(T* place, T value) {                                                                                  \
    emulated_atomic();                                                                                                \
    return builtin(place, value, __ATOMIC_RELAXED);                                                                   \
  }
// Atomic operations that the hardware (or CUDA) performs as a function of the old value.
#define EMULATED_UPDATE(name, T, W, expression)                                                                       \
  inline T name(T* place, T value) {                                                                                  \
    emulated_atomic();                                                                                                \
    W seen = __atomic_load_n((W*)place, __ATOMIC_RELAXED);                                                            \
    for (;;) {                                                                                                        \
      T old = emulated_unpack<T>(seen);                                                                               \
      T fresh = (expression);                                                                                         \
      if (__atomic_compare_exchange_n((W*)place, &seen, (W)emulated_pack(fresh), false, __ATOMIC_RELAXED,             \
                                      __ATOMIC_RELAXED)) {                                                            \
        return old;                                                                                                   \
      }                                                                                                               \
    }                                                                                                                 \
  }
#define EMULATED_EXCHANGE(T)                                                                                          \
  inline T atomicCAS(T* place, T compare, T value) {                                                                  \
    emulated_atomic();                                                                                                \
    __atomic_compare_exchange_n(place, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                   \
    return compare;                                                                                                   \
  }
EMULATED_ATOMIC(atomicAdd, int, __atomic_fetch_add)
EMULATED_ATOMIC(atomicAdd, unsigned, __atomic_fetch_add)
EMULATED_ATOMIC(atomicAdd, unsigned long long, __atomic_fetch_add)
EMULATED_UPDATE(atomicAdd, float, unsigned, old + value)
EMULATED_UPDATE(atomicAdd, double, unsigned long long, old + value)
EMULATED_ATOMIC(atomicSub, int, __atomic_fetch_sub)
EMULATED_ATOMIC(atomicSub, unsigned, __atomic_fetch_sub)
EMULATED_UPDATE(atomicMin, int, unsigned, value < old ? value : old)
EMULATED_UPDATE(atomicMin, unsigned, unsigned, value < old ? value : old)
EMULATED_UPDATE(atomicMin, long long, unsigned long long, value < old ? value : old)
EMULATED_UPDATE(atomicMin, unsigned long long, unsigned long long, value < old ? value : old)
EMULATED_UPDATE(atomicMax, int, unsigned, value > old ? value : old)
EMULATED_UPDATE(atomicMax, unsigned, unsigned, value > old ? value : old)
EMULATED_UPDATE(atomicMax, long long, unsigned long long, value > old ? value : old)
EMULATED_UPDATE(atomicMax, unsigned long long, unsigned long long, value > old ? value : old)
EMULATED_ATOMIC(atomicAnd, int, __atomic_fetch_and)
EMULATED_ATOMIC(atomicAnd, unsigned, __atomic_fetch_and)
EMULATED_ATOMIC(atomicAnd, unsigned long long, __atomic_fetch_and)
EMULATED_ATOMIC(atomicOr, int, __atomic_fetch_or)
EMULATED_ATOMIC(atomicOr, unsigned, __atomic_fetch_or)
EMULATED_ATOMIC(atomicOr, unsigned long long, __atomic_fetch_or)
EMULATED_ATOMIC(atomicXor, int, __atomic_fetch_xor)
EMULATED_ATOMIC(atomicXor, unsigned, __atomic_fetch_xor)
EMULATED_ATOMIC(atomicXor, unsigned long long, __atomic_fetch_xor)
EMULATED_ATOMIC(atomicExch, int, __atomic_exchange_n)
EMULATED_ATOMIC(atomicExch, unsigned, __atomic_exchange_n)
EMULATED_ATOMIC(atomicExch, unsigned long long, __atomic_exchange_n)
EMULATED_UPDATE(atomicExch, float, unsigned, value)
EMULATED_EXCHANGE(int)
EMULATED_EXCHANGE(unsigned)
EMULATED_EXCHANGE(unsigned long long)
EMULATED_EXCHANGE(unsigned short)
#undef EMULATED_ATOMIC
#undef EMULATED_UPDATE
#undef EMULATED_EXCHANGE

// -- clusters ---------------------------------------------------------------------------------------------------------

inline void* __cluster_map_shared_rank(const void* place, unsigned block) {
  return emulated_peer(block) + ((const unsigned char*)place - emulated_shared());
}
inline void __cluster_barrier_arrive() {}
inline void __cluster_barrier_wait(int line = __builtin_LINE()) {
  __syncthreads(line);
  if (threadIdx.x == 0) {
    emulated_fence();
    const unsigned long long due = (atomicAdd(emulated_met(), 1ull) / gridDim.x + 1) * gridDim.x;
    while (*(volatile unsigned long long*)emulated_met() < due) emulated_yield();
    emulated_fence();
  }
  __syncthreads(line);
}

// -- words ------------------------------------------------------------------------------------------------------------

template <class T> inline T __ldg(const T* place) { return *place; }
inline int __float_as_int(float x) { return emulated_unpack<int>(emulated_pack(x)); }
inline unsigned __float_as_uint(float x) { return emulated_unpack<unsigned>(emulated_pack(x)); }
inline float __int_as_float(int x) { return emulated_unpack<float>(emulated_pack(x)); }
inline float __uint_as_float(unsigned x) { return emulated_unpack<float>(emulated_pack(x)); }
inline long long __double_as_longlong(double x) { return emulated_unpack<long long>(emulated_pack(x)); }
inline double __longlong_as_double(long long x) { return emulated_unpack<double>(emulated_pack(x)); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int i = 0; i < 32; i++) y |= (x >> i & 1u) << (31 - i);
  return y;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }

struct __align__(8) int2 { int x, y; };
struct __align__(8) uint2 { unsigned x, y; };
struct __align__(8) float2 { float x, y; };
struct __align__(16) int4 { int x, y, z, w; };
struct __align__(16) uint4 { unsigned x, y, z, w; };
struct __align__(16) float4 { float x, y, z, w; };
struct __align__(16) longlong2 { long long x, y; };
struct __align__(16) ulonglong2 { unsigned long long x, y; };
struct __align__(16) double2 { double x, y; };

// -- mathematics ------------------------------------------------------------------------------------------------------

#define EMULATED_MATH(name)                                                                                           \
  extern "C" double name(double) noexcept;                                                                            \
  extern "C" float name##f(float) noexcept;                                                                           \
  inline float name(float x) { return name##f(x); }
#define EMULATED_MATH2(name)                                                                                          \
  extern "C" double name(double, double) noexcept;                                                                    \
  extern "C" float name##f(float, float) noexcept;                                                                    \
  inline float name(float x, float y) { return name##f(x, y); }
EMULATED_MATH(sqrt)
EMULATED_MATH(cbrt)
EMULATED_MATH(exp)
EMULATED_MATH(exp2)
EMULATED_MATH(expm1)
EMULATED_MATH(log)
EMULATED_MATH(log2)
EMULATED_MATH(log10)
EMULATED_MATH(log1p)
EMULATED_MATH(sin)
EMULATED_MATH(cos)
EMULATED_MATH(tan)
EMULATED_MATH(asin)
EMULATED_MATH(acos)
EMULATED_MATH(atan)
EMULATED_MATH(sinh)
EMULATED_MATH(cosh)
EMULATED_MATH(tanh)
EMULATED_MATH(floor)
EMULATED_MATH(ceil)
EMULATED_MATH(trunc)
EMULATED_MATH(round)
EMULATED_MATH(rint)
EMULATED_MATH(fabs)
EMULATED_MATH2(fmod)
EMULATED_MATH2(pow)
EMULATED_MATH2(atan2)
EMULATED_MATH2(hypot)
EMULATED_MATH2(copysign)
EMULATED_MATH2(fmin)
EMULATED_MATH2(fmax)
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" int abs(int) noexcept;
extern "C" long long llabs(long long) noexcept;
#undef EMULATED_MATH
#undef EMULATED_MATH2
inline long long abs(long long x) { return llabs(x); }
inline double abs(double x) { return fabs(x); }
inline float abs(float x) { return fabsf(x); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool signbit(double x) { return __builtin_signbit(x); }
inline bool signbit(float x) { return __builtin_signbit(x); }

// min and max for the pairs of types that CUDA has; other pairs are ambiguous in both compilers.
#define EMULATED_MINMAX(T, A, B)                                                                                      \
  inline T min(A a, B b) { return (T)a < (T)b ? (T)a : (T)b; }                                                        \
  inline T max(A a, B b) { return (T)a > (T)b ? (T)a : (T)b; }
EMULATED_MINMAX(int, int, int)
EMULATED_MINMAX(unsigned, unsigned, unsigned)
EMULATED_MINMAX(unsigned, int, unsigned)
EMULATED_MINMAX(unsigned, unsigned, int)
EMULATED_MINMAX(long, long, long)
EMULATED_MINMAX(unsigned long, unsigned long, unsigned long)
EMULATED_MINMAX(long long, long long, long long)
EMULATED_MINMAX(unsigned long long, unsigned long long, unsigned long long)
EMULATED_MINMAX(unsigned long long, long long, unsigned long long)
EMULATED_MINMAX(unsigned long long, unsigned long long, long long)
#undef EMULATED_MINMAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

// -- entry points -----------------------------------------------------------------------------------------------------

template <int... I> struct emulated_numbers {};
template <class... P, int... I>
inline void emulated_call(void (*kernel)(P...), const unsigned long long* a, emulated_numbers<I...>) {
  static_assert(((sizeof(P) == 8) && ...), "all parameters of a kernel are 64-bit");
  (void)a;
  kernel((P)a[I]...);
}
template <class... P> inline void emulated_call(void (*kernel)(P...), const unsigned long long* a) {
  emulated_call(kernel, a, emulated_numbers<__integer_pack(sizeof...(P))...>());
}
template <class... P> constexpr int emulated_words(void (*)(P...)) { return sizeof...(P); }

#define EMULATED_ENTRY(name)                                                                                          \
  extern "C" int words_##name() { return emulated_words(name); }                                                      \
  extern "C" int run_##name(const unsigned long long* launch, const unsigned long long* arguments, char* message,     \
                            unsigned long long size) {                                                                \
    return emulated_run(                                                                                              \
        #name, [](const unsigned long long* a) { emulated_call(name, a); }, launch, arguments, message, size);        \
  }

// pass s0 over vertices: kernel compute
struct s0 {
  struct Masks {};
  struct Acc {};
  struct Env {
    i64 scalar_N;
    f32* field_rank;
  };
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{
        value_at<i64>(frame, 11),
        pointer<f32>(frame, 12),
    };
  }
  static __device__ __forceinline__ Masks ready(const Env& env, u32 v) {
    return Masks{};
  }
  static __device__ __forceinline__ bool wanted(const Masks& masks) {
    return true;
  }
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks& masks, const Acc& acc) {
    const auto t0 = f32(1.0);
    const auto t1 = env.scalar_N;
    const auto t2 = (t1 == i64(9223372036854775807ll) ? __int_as_float(0x7f800000) : (t1 == i64(-9223372036854775807ll - 1) ? -__int_as_float(0x7f800000) : f32(t1)));
    const auto t3 = f32(t0 / t2);
    env.field_rank[v] = t3;
    return 0u;
  }
};

// pass s1 over in-edges
// gather inflow: sum of f64
//   thread: merge, one thread owns the accumulator: a plain update
//   warp: lane_value, shuffles, 2 a step, in the order of the edges
//   shared memory: shared_add, 64 bits: a compare-and-swap loop in shared memory
//   global memory: not used, the pass does not push
// auto may pull with: thread, virtual-warp-2 to virtual-warp-32, warp-segmentation, stream, edge (not if deterministic:
//     the order of float sums depends on timing)
// push: no; `rank` is recomputed from all neighbours: no joined gather
struct s1 {
  static constexpr bool READS_SELF = false;
  static constexpr bool EARLY = false;
  static constexpr bool FRONTIER = false;
  static constexpr bool ATOMIC = true;
  static constexpr bool STORES = false;
  static constexpr u32 CELL_BYTES = 8;
  static constexpr int PUSH = 0;
  struct Masks {};
  struct Acc {
    f64 a0;
  };
  struct Item {
    f32 a0;
  };
  struct Columns {};
  static __device__ __forceinline__ Columns bind_columns(const u64* row, bool streams = false) {
    return Columns{};
  }
  struct Env {
    f32* work_message_s1_0;
    f64* part_s1_0;
    f32 scalar_damping;
    f32 scalar_lost;
    i64 scalar_N;
    f32* field_rank;
    f32* next_rank;
    u32* degree_out;
  };
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{
        pointer<f32>(frame, 16),
        pointer<f64>(frame, 17),
        value_at<f32>(frame, 8),
        value_at<f32>(frame, 15),
        value_at<i64>(frame, 11),
        pointer<f32>(frame, 12),
        pointer<f32>(frame, 18),
        pointer<u32>(frame, 13),
    };
  }
  static __device__ __forceinline__ Masks ready(const Env& env, u32 v) {
    return Masks{};
  }
  static __device__ __forceinline__ bool wanted(const Masks& masks) {
    return true;
  }
  static __device__ __forceinline__ Acc identity(const Env& env) {
    return Acc{f64(0.0)};
  }
  static __device__ __forceinline__ Item nothing(const Env& env) {
    return Item{f32(0.0)};
  }
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns& columns, u32 v, u32 u, i64 k) {
    const auto t0 = env.work_message_s1_0[u];
    const auto t1 = f32(t0);
    return Item{t1};
  }
  static __device__ __forceinline__ Acc lift(const Env& env, const Item& item) {
    return Acc{f64(item.a0)};
  }
  static __device__ __forceinline__ Acc merge(const Env& env, const Acc& a, const Acc& b) {
    const auto t0 = f64(a.a0 + b.a0);
    return Acc{t0};
  }
  static __device__ __forceinline__ Acc from_lane(unsigned mask, const Acc& acc, int lane) {
    return Acc{lane_value(mask, acc.a0, lane)};
  }
  static __device__ __forceinline__ void put(const Env& env, i64 s, const Acc& acc) {
    env.part_s1_0[s] = acc.a0;
  }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) {
    return Acc{env.part_s1_0[s]};
  }
  static __device__ __forceinline__ bool decided(const Acc& acc) {
    return false;
  }
  static __device__ __forceinline__ bool is_final(const Env& env, u32 v) {
    return false;
  }
  static __device__ __forceinline__ u8 notifies(const Env& env, u32 v) {
    return u8(0);
  }
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks& masks, const Acc& acc) {
    const auto t0 = acc.a0;
    const auto t1 = f32(t0);
    const auto t2 = f32(1.0);
    const auto t3 = env.scalar_damping;
    const auto t4 = f32(t2 - t3);
    const auto t5 = env.scalar_lost;
    const auto t6 = f32(t3 * t5);
    const auto t7 = f32(t4 + t6);
    const auto t8 = env.scalar_N;
    const auto t9 = (t8 == i64(9223372036854775807ll) ? __int_as_float(0x7f800000) : (t8 == i64(-9223372036854775807ll - 1) ? -__int_as_float(0x7f800000) : f32(t8)));
    const auto t10 = f32(t7 / t9);
    const auto t11 = f32(t3 * t1);
    const auto t12 = f32(t10 + t11);
    const auto t13 = env.field_rank[v];
    const auto t14 = (t12 != t13) && ((t12 == t12) || (t13 == t13));
    env.next_rank[v] = t12;
    return (t14 ? 1u : 0u) | (t14 ? 2u : 0u);
  }
  static __device__ __forceinline__ void send(const Env& env, u32 v) {
    const auto t0 = env.field_rank[v];
    const auto t1 = i32(env.degree_out[v]);
    const auto t2 = (t1 == i32(2147483647) ? __int_as_float(0x7f800000) : (t1 == i32(-2147483648) ? -__int_as_float(0x7f800000) : f32(t1)));
    const auto t3 = f32(t0 / t2);
    env.work_message_s1_0[v] = t3;
  }
  struct Cells {
    f64* c0;
  };
  static __device__ __forceinline__ Cells cells(unsigned char* memory, u32 count) {
    return Cells{reinterpret_cast<f64*>(memory + 0 * u64(count))};
  }
  static __device__ __forceinline__ void clear(const Env& env, const Cells& cells, u32 i) {
    cells.c0[i] = f64(f64(0.0));
  }
  static __device__ __forceinline__ void join(const Env& env, const Cells& cells, u32 i, const Item& item) {
    shared_add(cells.c0 + i, f64(item.a0));
  }
  static __device__ __forceinline__ Acc take(const Cells& cells, u32 i) {
    return Acc{cells.c0[i]};
  }
  static __device__ __forceinline__ void fold(const Env& env, const Cells& cells, u32 i, u32 j) {
    cells.c0[i] = f64(cells.c0[i] + cells.c0[j]);
  }
  static __device__ __forceinline__ void pour(const Env& env, const Cells& cells, u32 i, const Cells& to, u32 j) {
    shared_add(to.c0 + j, cells.c0[i]);
  }
};

// damping
struct v0 {
  static constexpr bool FOLDS = false;
  struct Env {};
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{};
  }
  struct Acc {};
  static __device__ __forceinline__ void store(u64* frame, const Env& env) {
    const auto t0 = f32(0.85);
    store_at<f32>(frame, 8, t0);
  }
};

// tol
struct v1 {
  static constexpr bool FOLDS = false;
  struct Env {};
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{};
  }
  struct Acc {};
  static __device__ __forceinline__ void store(u64* frame, const Env& env) {
    const auto t0 = f32(1.5e-07);
    store_at<f32>(frame, 9, t0);
  }
};

// require.0
struct v2 {
  static constexpr bool FOLDS = false;
  struct Env {
    f32 scalar_damping;
  };
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{
        value_at<f32>(frame, 8),
    };
  }
  struct Acc {};
  static __device__ __forceinline__ void store(u64* frame, const Env& env) {
    const auto t0 = f32(0.0);
    const auto t1 = env.scalar_damping;
    const auto t2 = t0 <= t1;
    const auto t3 = f32(1.0);
    const auto t4 = t1 < t3;
    const auto t5 = t2 && t4;
    store_at<u8>(frame, 10, (t5 ? u8(1) : u8(0)));
  }
};

// lost
struct v3 {
  static constexpr bool FOLDS = true;
  struct Env {
    f32* field_rank;
    u32* degree_out;
    f64* part_v3_0;
  };
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{
        pointer<f32>(frame, 12),
        pointer<u32>(frame, 13),
        pointer<f64>(frame, 14),
    };
  }
  struct Acc {
    f64 a0;
  };
  static __device__ __forceinline__ Acc identity(const Env& env) {
    return Acc{f64(0.0)};
  }
  static __device__ __forceinline__ Acc gather(const Env& env, const Acc& acc, u32 v) {
    const auto t0 = env.field_rank[v];
    const auto t1 = f64(t0);
    const auto t2 = i32(env.degree_out[v]);
    const auto t3 = i32(0);
    const auto t4 = t2 == t3;
    const auto t5 = (t4 ? t1 : f64(0.0));
    const auto t6 = f64(acc.a0 + t5);
    return Acc{t6};
  }
  static __device__ __forceinline__ Acc merge(const Env& env, const Acc& a, const Acc& b) {
    const auto t0 = f64(a.a0 + b.a0);
    return Acc{t0};
  }
  static __device__ __forceinline__ void put(const Env& env, i64 s, const Acc& acc) {
    env.part_v3_0[s] = acc.a0;
  }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) {
    return Acc{env.part_v3_0[s]};
  }
  static __device__ __forceinline__ Acc from_lane(unsigned mask, const Acc& acc, int lane) {
    return Acc{lane_value(mask, acc.a0, lane)};
  }
  static __device__ __forceinline__ void store(u64* frame, const Env& env, const Acc& acc) {
    const auto t0 = acc.a0;
    const auto t1 = f32(t0);
    store_at<f32>(frame, 15, t1);
  }
};

// loop0.until
struct v4 {
  static constexpr bool FOLDS = true;
  struct Env {
    f32* field_rank;
    f32* next_rank;
    f64* part_v4_0;
    f32 scalar_tol;
  };
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{
        pointer<f32>(frame, 12),
        pointer<f32>(frame, 18),
        pointer<f64>(frame, 19),
        value_at<f32>(frame, 9),
    };
  }
  struct Acc {
    f64 a0;
  };
  static __device__ __forceinline__ Acc identity(const Env& env) {
    return Acc{f64(0.0)};
  }
  static __device__ __forceinline__ Acc gather(const Env& env, const Acc& acc, u32 v) {
    const auto t0 = env.field_rank[v];
    const auto t1 = env.next_rank[v];
    const auto t2 = f32(t0 - t1);
    const auto t3 = fabsf(t2);
    const auto t4 = f64(t3);
    const auto t5 = f64(acc.a0 + t4);
    return Acc{t5};
  }
  static __device__ __forceinline__ Acc merge(const Env& env, const Acc& a, const Acc& b) {
    const auto t0 = f64(a.a0 + b.a0);
    return Acc{t0};
  }
  static __device__ __forceinline__ void put(const Env& env, i64 s, const Acc& acc) {
    env.part_v4_0[s] = acc.a0;
  }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) {
    return Acc{env.part_v4_0[s]};
  }
  static __device__ __forceinline__ Acc from_lane(unsigned mask, const Acc& acc, int lane) {
    return Acc{lane_value(mask, acc.a0, lane)};
  }
  static __device__ __forceinline__ void store(u64* frame, const Env& env, const Acc& acc) {
    const auto t0 = acc.a0;
    const auto t1 = f32(t0);
    const auto t2 = env.scalar_tol;
    const auto t3 = t1 < t2;
    store_at<u8>(frame, 20, (t3 ? u8(1) : u8(0)));
    store_at<f32>(frame, 21, t1);
    store_at<f32>(frame, 22, t2);
  }
};

// pass s0 over vertices: kernel compute
struct s0 {
  struct Masks {};
  struct Acc {};
  struct Env {
    u32 scalar_source;
    i32* field_depth;
  };
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{
        value_at<u32>(frame, 8),
        pointer<i32>(frame, 9),
    };
  }
  static __device__ __forceinline__ Masks ready(const Env& env, u32 v) {
    return Masks{};
  }
  static __device__ __forceinline__ bool wanted(const Masks& masks) {
    return true;
  }
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks& masks, const Acc& acc) {
    const auto t0 = u32(v);
    const auto t1 = env.scalar_source;
    const auto t2 = t0 == t1;
    const auto t3 = i32(0);
    const auto t4 = i32(2147483647);
    const auto t5 = (t2 ? t3 : t4);
    env.field_depth[v] = t5;
    return 0u;
  }
};

// pass s1 over in-edges
// gather near: min of i32
//   thread: merge, one thread owns the accumulator: a plain update
//   warp: lane_value, shuffles, 1 a step, in the order of the edges
//   shared memory: shared_min, an instruction of shared memory
//   global memory: improve_min, an instruction of global memory
// auto may pull with: thread, virtual-warp-2 to virtual-warp-32, warp-segmentation, stream, edge
// push: direct; the contribution of an inactive neighbour has been joined before, and joining it again changes nothing;
//     into the field itself: A: `depth` only moves down, and joined values move the same way or not at all: every order
//     ends in the same least fixpoint, bit for bit
// priority: ascending, values before the current bucket are final (rule O)
// early exit: the first active neighbour decides (rule X2)
struct s1 {
  static constexpr bool READS_SELF = false;
  static constexpr bool EARLY = false;
  static constexpr bool FRONTIER = true;
  static constexpr bool ATOMIC = true;
  static constexpr bool STORES = false;
  static constexpr u32 CELL_BYTES = 4;
  static constexpr int PUSH = 1;
  struct Masks {};
  struct Acc {
    i32 a0;
  };
  struct Item {
    i32 a0;
  };
  struct Columns {};
  static __device__ __forceinline__ Columns bind_columns(const u64* row, bool streams = false) {
    return Columns{};
  }
  struct Env {
    i32* field_depth;
    i32* part_s1_0;
    u8* work_notify_s1;
    i32* next_depth;
  };
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{
        pointer<i32>(frame, 9),
        pointer<i32>(frame, 10),
        pointer<u8>(frame, 11),
        pointer<i32>(frame, 12),
    };
  }
  static __device__ __forceinline__ Masks ready(const Env& env, u32 v) {
    return Masks{};
  }
  static __device__ __forceinline__ bool wanted(const Masks& masks) {
    return true;
  }
  static __device__ __forceinline__ Acc identity(const Env& env) {
    return Acc{i32(2147483647)};
  }
  static __device__ __forceinline__ Item nothing(const Env& env) {
    return Item{i32(2147483647)};
  }
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns& columns, u32 v, u32 u, i64 k) {
    const auto t0 = env.field_depth[u];
    const auto t1 = i32(1);
    const auto t2 = ((t0 == i32(2147483647)) || (t0 == i32(-2147483648)) ? t0 : (i32(u32(t0) + u32(t1))));
    const auto t3 = i32(t2);
    return Item{t3};
  }
  static __device__ __forceinline__ Acc lift(const Env& env, const Item& item) {
    return Acc{item.a0};
  }
  static __device__ __forceinline__ Acc merge(const Env& env, const Acc& a, const Acc& b) {
    const auto t0 = (b.a0 < a.a0 ? b.a0 : a.a0);
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
    return env.field_depth[v] != i32(2147483647);
  }
  static __device__ __forceinline__ u8 notifies(const Env& env, u32 v) {
    return env.work_notify_s1[v];
  }
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks& masks, const Acc& acc) {
    const auto t0 = acc.a0;
    const auto t1 = i32(t0);
    const auto t2 = env.field_depth[v];
    const auto t3 = (t1 < t2 ? t1 : t2);
    const auto t4 = env.field_depth[v];
    const auto t5 = t3 != t4;
    const auto t6 = env.field_depth[v];
    const auto t7 = t3 != t6;
    const auto t8 = u8(((t7 ? u8(1) : u8(0))) | ((false ? u8(2) : u8(0))));
    env.work_notify_s1[v] = t8;
    env.next_depth[v] = t3;
    return (t5 ? 1u : 0u) | (t5 ? 2u : 0u);
  }
  static __device__ __forceinline__ bool push(const Env& env, u32 v, const Item& item) {
    return improve_min(env.field_depth + v, item.a0);
  }
  static __device__ __forceinline__ bool improves(const Env& env, u32 v, const Item& item) {
    return would_min(env.field_depth + v, item.a0);
  }
  static __device__ __forceinline__ f64 priority(const Env& env, u32 v) {
    return f64(env.field_depth[v]);
  }
  static __device__ __forceinline__ bool silent(const Env& env, u32 v) {
    return env.field_depth[v] == i32(2147483647);
  }
  struct Cells {
    i32* c0;
  };
  static __device__ __forceinline__ Cells cells(unsigned char* memory, u32 count) {
    return Cells{reinterpret_cast<i32*>(memory + 0 * u64(count))};
  }
  static __device__ __forceinline__ void clear(const Env& env, const Cells& cells, u32 i) {
    cells.c0[i] = i32(2147483647);
  }
  static __device__ __forceinline__ void join(const Env& env, const Cells& cells, u32 i, const Item& item) {
    shared_min(cells.c0 + i, item.a0);
  }
  static __device__ __forceinline__ Acc take(const Cells& cells, u32 i) {
    return Acc{cells.c0[i]};
  }
  static __device__ __forceinline__ void fold(const Env& env, const Cells& cells, u32 i, u32 j) {
    cells.c0[i] = (cells.c0[j] < cells.c0[i] ? cells.c0[j] : cells.c0[i]);
  }
  static __device__ __forceinline__ void pour(const Env& env, const Cells& cells, u32 i, const Cells& to, u32 j) {
    shared_min(to.c0 + j, cells.c0[i]);
  }
};

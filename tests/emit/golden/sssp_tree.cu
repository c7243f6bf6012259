// pass r0 over in-edges
// gather require.0.at: min of vertex
//   thread: merge, one thread owns the accumulator: a plain update
//   warp: lane_value, shuffles, 1 a step, in the order of the edges
//   shared memory: shared_min, an instruction of shared memory
//   global memory: not used, the pass does not push
// auto may pull with: thread, virtual-warp-2 to virtual-warp-32, warp-segmentation, stream, edge
// push: no; runs once, for every vertex: there is no frontier
struct r0 {
  static constexpr bool READS_SELF = false;
  static constexpr bool EARLY = false;
  static constexpr bool FRONTIER = false;
  static constexpr bool ATOMIC = true;
  static constexpr bool STORES = false;
  static constexpr u32 CELL_BYTES = 4;
  static constexpr int PUSH = 0;
  struct Masks {};
  struct Acc {
    u32 a0;
  };
  struct Item {
    u32 a0;
  };
  struct Columns {
    Column<f32> edge_weight;
  };
  static __device__ __forceinline__ Columns bind_columns(const u64* row, bool streams = false) {
    return Columns{{pointer<const f32>(row, ROW_COLUMNS + 0), streams}};
  }
  struct Env {
    u32* part_r0_0;
    u32* field_require_0;
  };
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{
        pointer<u32>(frame, 8),
        pointer<u32>(frame, 9),
    };
  }
  static __device__ __forceinline__ Masks ready(const Env& env, u32 v) {
    return Masks{};
  }
  static __device__ __forceinline__ bool wanted(const Masks& masks) {
    return true;
  }
  static __device__ __forceinline__ Acc identity(const Env& env) {
    return Acc{u32(4294967295u)};
  }
  static __device__ __forceinline__ Item nothing(const Env& env) {
    return Item{u32(4294967295u)};
  }
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns& columns, u32 v, u32 u, i64 k) {
    const auto t0 = u32(u);
    const auto t1 = u32(t0);
    const auto t2 = columns.edge_weight[k];
    const auto t3 = f32(0.0);
    const auto t4 = t2 > t3;
    const auto t5 = !t4;
    const auto t6 = (t5 ? t1 : u32(4294967295u));
    return Item{t6};
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
    env.part_r0_0[s] = acc.a0;
  }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) {
    return Acc{env.part_r0_0[s]};
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
    const auto t1 = u32(t0);
    env.field_require_0[v] = t1;
    return 0u;
  }
  struct Cells {
    u32* c0;
  };
  static __device__ __forceinline__ Cells cells(unsigned char* memory, u32 count) {
    return Cells{reinterpret_cast<u32*>(memory + 0 * u64(count))};
  }
  static __device__ __forceinline__ void clear(const Env& env, const Cells& cells, u32 i) {
    cells.c0[i] = u32(4294967295u);
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

// pass s0 over vertices: kernel compute
struct s0 {
  struct Masks {};
  struct Acc {};
  struct Env {
    u32 scalar_source;
    f32* field_dist;
    u32* field_parent;
  };
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{
        value_at<u32>(frame, 10),
        pointer<f32>(frame, 11),
        pointer<u32>(frame, 12),
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
    const auto t3 = f32(0.0);
    const auto t4 = __int_as_float(0x7f800000);
    const auto t5 = (t2 ? t3 : t4);
    const auto t6 = u32(v);
    const auto t7 = env.scalar_source;
    const auto t8 = t6 == t7;
    const auto t9 = u32(4294967295u);
    const auto t10 = (t8 ? t6 : t9);
    env.field_dist[v] = t5;
    env.field_parent[v] = t10;
    return 0u;
  }
};

// pass s1 over in-edges
// gather best: min of (f32, vertex)
//   thread: merge, one thread owns the accumulator: a plain update
//   warp: lane_value, shuffles, 2 a step, in the order of the edges
//   shared memory: shared_min, pairs packed into one word of 64 bits: a compare-and-swap loop in shared memory
//   global memory: improve_min, an instruction of global memory, on pairs packed into one word
// auto may pull with: thread, virtual-warp-2 to virtual-warp-32, warp-segmentation, stream, edge
// push: cells; the contribution of an inactive neighbour has been joined before, and joining it again changes nothing;
//     beside the field: a tuple changes together
// priority: ascending, values before the current bucket are final (rule O)
struct s1 {
  static constexpr bool READS_SELF = false;
  static constexpr bool EARLY = false;
  static constexpr bool FRONTIER = false;
  static constexpr bool ATOMIC = true;
  static constexpr bool STORES = false;
  static constexpr u32 CELL_BYTES = 8;
  static constexpr int PUSH = 2;
  struct Masks {};
  struct Acc {
    f32 a0;
    u32 a1;
  };
  struct Item {
    f32 a0;
    u32 a1;
  };
  struct Columns {
    Column<f32> edge_weight;
  };
  static __device__ __forceinline__ Columns bind_columns(const u64* row, bool streams = false) {
    return Columns{{pointer<const f32>(row, ROW_COLUMNS + 0), streams}};
  }
  struct Env {
    f32* field_dist;
    f32* part_s1_0;
    u32* part_s1_1;
    u8* work_notify_s1;
    u32* field_parent;
    f32* next_dist;
    u64* work_push_s1_0;
  };
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{
        pointer<f32>(frame, 11),
        pointer<f32>(frame, 13),
        pointer<u32>(frame, 14),
        pointer<u8>(frame, 15),
        pointer<u32>(frame, 12),
        pointer<f32>(frame, 16),
        pointer<u64>(frame, 17),
    };
  }
  static __device__ __forceinline__ Masks ready(const Env& env, u32 v) {
    return Masks{};
  }
  static __device__ __forceinline__ bool wanted(const Masks& masks) {
    return true;
  }
  static __device__ __forceinline__ Acc identity(const Env& env) {
    return Acc{__int_as_float(0x7f800000), u32(4294967295u)};
  }
  static __device__ __forceinline__ Item nothing(const Env& env) {
    return Item{__int_as_float(0x7f800000), u32(4294967295u)};
  }
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns& columns, u32 v, u32 u, i64 k) {
    const auto t0 = env.field_dist[u];
    const auto t1 = columns.edge_weight[k];
    const auto t2 = f32(t0 + t1);
    const auto t3 = u32(u);
    return Item{t2, t3};
  }
  static __device__ __forceinline__ Acc lift(const Env& env, const Item& item) {
    return Acc{item.a0, item.a1};
  }
  static __device__ __forceinline__ Acc merge(const Env& env, const Acc& a, const Acc& b) {
    const auto t0 = (b.a0 < a.a0 || (b.a0 == a.a0 && b.a1 < a.a1));
    const auto t1 = t0 && b.a0 != __int_as_float(0x7f800000);
    const auto t2 = (t1 ? b.a0 : a.a0);
    const auto t3 = (t1 ? b.a1 : a.a1);
    return Acc{t2, t3};
  }
  static __device__ __forceinline__ Acc from_lane(unsigned mask, const Acc& acc, int lane) {
    return Acc{lane_value(mask, acc.a0, lane), lane_value(mask, acc.a1, lane)};
  }
  static __device__ __forceinline__ void put(const Env& env, i64 s, const Acc& acc) {
    env.part_s1_0[s] = acc.a0;
    env.part_s1_1[s] = acc.a1;
  }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) {
    return Acc{env.part_s1_0[s], env.part_s1_1[s]};
  }
  static __device__ __forceinline__ bool decided(const Acc& acc) {
    return false;
  }
  static __device__ __forceinline__ bool is_final(const Env& env, u32 v) {
    return false;
  }
  static __device__ __forceinline__ u8 notifies(const Env& env, u32 v) {
    return env.work_notify_s1[v];
  }
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks& masks, const Acc& acc) {
    const auto t0 = acc.a0;
    const auto t1 = acc.a1;
    const auto t2 = env.field_dist[v];
    const auto t3 = env.field_parent[v];
    const auto t4 = (t0 < t2 || (t0 == t2 && t1 < t3));
    const auto t5 = t4 && t0 != __int_as_float(0x7f800000);
    const auto t6 = (t5 ? t0 : t2);
    const auto t7 = (t5 ? t1 : t3);
    const auto t8 = env.field_dist[v];
    const auto t9 = (t6 != t8) && ((t6 == t6) || (t8 == t8));
    const auto t10 = env.field_parent[v];
    const auto t11 = t7 != t10;
    const auto t12 = t9 || t11;
    const auto t13 = env.field_dist[v];
    const auto t14 = (t6 != t13) && ((t6 == t6) || (t13 == t13));
    const auto t17 = u8(((t14 ? u8(1) : u8(0))) | ((false ? u8(2) : u8(0))));
    env.work_notify_s1[v] = t17;
    env.next_dist[v] = t6;
    env.field_parent[v] = t7;
    return (t12 ? 1u : 0u) | (t12 ? 2u : 0u);
  }
  static __device__ __forceinline__ bool push(const Env& env, u32 v, const Item& item) {
    const bool c0 = item.a0 < __int_as_float(0x7f800000) && improve_min(env.work_push_s1_0 + v, pack(order_key(item.a0), order_key(item.a1)));
    return c0;
  }
  static __device__ __forceinline__ bool improves(const Env& env, u32 v, const Item& item) {
    return (item.a0 < __int_as_float(0x7f800000) && would_min(env.work_push_s1_0 + v, pack(order_key(item.a0), order_key(item.a1))));
  }
  static __device__ __forceinline__ void open(const Env& env, u32 v) {
    env.work_push_s1_0[v] = pack(order_key(env.field_dist[v]), order_key(env.field_parent[v]));
  }
  static __device__ __forceinline__ Acc pushed(const Env& env, u32 v) {
    return Acc{key_value<f32>(packed_first(env.work_push_s1_0[v])), key_value<u32>(packed_second(env.work_push_s1_0[v]))};
  }
  static __device__ __forceinline__ f64 priority(const Env& env, u32 v) {
    return f64(env.field_dist[v]);
  }
  static __device__ __forceinline__ bool silent(const Env& env, u32 v) {
    return env.field_dist[v] == __int_as_float(0x7f800000);
  }
  struct Cells {
    u64* c0;
  };
  static __device__ __forceinline__ Cells cells(unsigned char* memory, u32 count) {
    return Cells{reinterpret_cast<u64*>(memory + 0 * u64(count))};
  }
  static __device__ __forceinline__ void clear(const Env& env, const Cells& cells, u32 i) {
    cells.c0[i] = pack(order_key(__int_as_float(0x7f800000)), order_key(u32(4294967295u)));
  }
  static __device__ __forceinline__ void join(const Env& env, const Cells& cells, u32 i, const Item& item) {
    if (item.a0 < __int_as_float(0x7f800000)) shared_min(cells.c0 + i, pack(order_key(item.a0), order_key(item.a1)));
  }
  static __device__ __forceinline__ Acc take(const Cells& cells, u32 i) {
    return Acc{key_value<f32>(packed_first(cells.c0[i])), key_value<u32>(packed_second(cells.c0[i]))};
  }
  static __device__ __forceinline__ void fold(const Env& env, const Cells& cells, u32 i, u32 j) {
    cells.c0[i] = (cells.c0[j] < cells.c0[i] ? cells.c0[j] : cells.c0[i]);
  }
  static __device__ __forceinline__ void pour(const Env& env, const Cells& cells, u32 i, const Cells& to, u32 j) {
    shared_min(to.c0 + j, cells.c0[i]);
  }
};

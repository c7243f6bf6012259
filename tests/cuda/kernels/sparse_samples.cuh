// Hand-written passes that push, in the form of generated ones. Slots: 8 the field, 9 its next buffer, 10 flags,
// 11 messages, 12 cells, 13 partial results. Column 0: weights f32.

struct Pushed {  // common members of the samples
  struct Columns {
    Column<f32> weight;
  };
  struct Masks {};
  static constexpr bool READS_SELF = false, EARLY = false, ATOMIC = false, STORES = false;
  static __device__ __forceinline__ Columns bind_columns(const u64* row, bool streams = false) {
    return Columns{{pointer<const f32>(row, ROW_COLUMNS), streams}};
  }
  static __device__ __forceinline__ bool wanted(const Masks&) { return true; }
};

// depth = min(depth, u.depth + 1): breadth-first search.
struct bfs : Pushed {
  struct Env {
    i32* field;
    i32* next;
    u8* flags;
    i32* parts;
  };
  struct Acc { i32 a0; };
  struct Item { i32 a0; };
  static constexpr bool FRONTIER = true;
  static constexpr int PUSH = 1;
  static constexpr i32 FAR = 2147483647;
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{pointer<i32>(frame, 8), pointer<i32>(frame, 9), pointer<u8>(frame, 10), pointer<i32>(frame, 13)};
  }
  static __device__ __forceinline__ Masks ready(const Env&, u32) { return Masks{}; }
  static __device__ __forceinline__ Acc identity(const Env&) { return Acc{FAR}; }
  static __device__ __forceinline__ Item nothing(const Env&) { return Item{FAR}; }
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns&, u32, u32 u, i64) {
    return Item{env.field[u] == FAR ? FAR : env.field[u] + 1};
  }
  static __device__ __forceinline__ Acc lift(const Env&, const Item& item) { return Acc{item.a0}; }
  static __device__ __forceinline__ Acc merge(const Env&, const Acc& a, const Acc& b) { return b.a0 < a.a0 ? b : a; }
  static __device__ __forceinline__ Acc from_lane(unsigned mask, const Acc& acc, int lane) {
    return Acc{lane_value(mask, acc.a0, lane)};
  }
  static __device__ __forceinline__ void put(const Env& env, i64 s, const Acc& acc) { env.parts[s] = acc.a0; }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) { return Acc{env.parts[s]}; }
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks&, const Acc& acc) {
    const i32 before = env.field[v], after = acc.a0 < before ? acc.a0 : before;
    env.flags[v] = after != before;
    env.next[v] = after;
    return after != before ? 3 : 0;
  }
  static __device__ __forceinline__ bool decided(const Acc&) { return false; }
  static __device__ __forceinline__ bool is_final(const Env& env, u32 v) { return env.field[v] != FAR; }
  static __device__ __forceinline__ bool push(const Env& env, u32 v, const Item& item) {
    return improve_min(env.field + v, item.a0);
  }
  static __device__ __forceinline__ f64 priority(const Env& env, u32 v) { return f64(env.field[v]); }
  static __device__ __forceinline__ u8 notifies(const Env& env, u32 v) { return env.flags[v]; }
};

// label = min(label, u.label): the smallest vertex of a component.
struct least : bfs {
  static constexpr bool FRONTIER = false;
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns&, u32, u32 u, i64) {
    return Item{env.field[u]};
  }
  static __device__ __forceinline__ bool is_final(const Env&, u32) { return false; }
};

// distance = min(distance, u.distance + weight): shortest paths.
struct sssp : Pushed {
  struct Env {
    f32* field;
    f32* next;
    u8* flags;
    f32* parts;
  };
  struct Acc { f32 a0; };
  struct Item { f32 a0; };
  static constexpr bool FRONTIER = false;
  static constexpr int PUSH = 1;
  static __device__ __forceinline__ f32 far_away() { return __int_as_float(0x7F800000); }
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{pointer<f32>(frame, 8), pointer<f32>(frame, 9), pointer<u8>(frame, 10), pointer<f32>(frame, 13)};
  }
  static __device__ __forceinline__ Masks ready(const Env&, u32) { return Masks{}; }
  static __device__ __forceinline__ Acc identity(const Env&) { return Acc{far_away()}; }
  static __device__ __forceinline__ Item nothing(const Env&) { return Item{far_away()}; }
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns& columns, u32, u32 u, i64 k) {
    return Item{env.field[u] + columns.weight[k]};
  }
  static __device__ __forceinline__ Acc lift(const Env&, const Item& item) { return Acc{item.a0}; }
  static __device__ __forceinline__ Acc merge(const Env&, const Acc& a, const Acc& b) { return b.a0 < a.a0 ? b : a; }
  static __device__ __forceinline__ Acc from_lane(unsigned mask, const Acc& acc, int lane) {
    return Acc{lane_value(mask, acc.a0, lane)};
  }
  static __device__ __forceinline__ void put(const Env& env, i64 s, const Acc& acc) { env.parts[s] = acc.a0; }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) { return Acc{env.parts[s]}; }
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks&, const Acc& acc) {
    const f32 before = env.field[v], after = acc.a0 < before ? acc.a0 : before;
    env.flags[v] = after != before;
    env.next[v] = after;
    return after != before ? 3 : 0;
  }
  static __device__ __forceinline__ bool decided(const Acc&) { return false; }
  static __device__ __forceinline__ bool is_final(const Env&, u32) { return false; }
  static __device__ __forceinline__ bool improves(const Env& env, u32 v, const Item& item) {
    return would_min(env.field + v, item.a0);
  }
  static __device__ __forceinline__ bool silent(const Env& env, u32 v) { return env.field[v] == far_away(); }
  static __device__ __forceinline__ bool push(const Env& env, u32 v, const Item& item) {
    return improve_min(env.field + v, item.a0);
  }
  static __device__ __forceinline__ f64 priority(const Env& env, u32 v) { return f64(env.field[v]); }
  static __device__ __forceinline__ u8 notifies(const Env& env, u32 v) { return env.flags[v]; }
};

// best = min(best, (u.best's first + 1, u)), as one word; contributions go through messages and cells.
struct tree : Pushed {
  struct Acc { i32 a0; u32 a1; };
  struct Env {
    u64* field;
    u64* next;
    u8* flags;
    u32* sent;
    u64* cells;
    Acc* parts;
  };
  struct Item { i32 a0; u32 a1; };
  static constexpr bool FRONTIER = false;
  static constexpr int PUSH = 2;
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{pointer<u64>(frame, 8), pointer<u64>(frame, 9), pointer<u8>(frame, 10), pointer<u32>(frame, 11),
               pointer<u64>(frame, 12), pointer<Acc>(frame, 13)};
  }
  static __device__ __forceinline__ Masks ready(const Env&, u32) { return Masks{}; }
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns&, u32, u32 u, i64) {
    const i32 depth = i32(env.sent[u]);
    return depth == bfs::FAR ? nothing(env) : Item{depth, u};
  }
  static __device__ __forceinline__ Acc identity(const Env&) { return Acc{bfs::FAR, ~0u}; }
  static __device__ __forceinline__ Item nothing(const Env&) { return Item{bfs::FAR, ~0u}; }
  static __device__ __forceinline__ Acc lift(const Env&, const Item& item) { return Acc{item.a0, item.a1}; }
  static __device__ __forceinline__ Acc merge(const Env&, const Acc& a, const Acc& b) {
    return b.a0 < a.a0 || (b.a0 == a.a0 && b.a1 < a.a1) ? b : a;
  }
  static __device__ __forceinline__ Acc from_lane(unsigned mask, const Acc& acc, int lane) {
    return Acc{lane_value(mask, acc.a0, lane), lane_value(mask, acc.a1, lane)};
  }
  static __device__ __forceinline__ void put(const Env& env, i64 s, const Acc& acc) { env.parts[s] = acc; }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) { return env.parts[s]; }
  static __device__ __forceinline__ bool decided(const Acc&) { return false; }
  static __device__ __forceinline__ void send(const Env& env, u32 v) {
    const i32 depth = key_value<i32>(packed_first(env.field[v]));
    env.sent[v] = u32(depth == bfs::FAR ? depth : depth + 1);
  }
  static __device__ __forceinline__ bool push(const Env& env, u32 v, const Item& item) {
    return improve_min(env.cells + v, pack(order_key(item.a0), item.a1));
  }
  static __device__ __forceinline__ void open(const Env& env, u32 v) { env.cells[v] = env.field[v]; }
  static __device__ __forceinline__ Acc pushed(const Env& env, u32 v) {
    return Acc{key_value<i32>(packed_first(env.cells[v])), packed_second(env.cells[v])};
  }
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks&, const Acc& acc) {
    const u64 before = env.field[v], given = pack(order_key(acc.a0), acc.a1);
    const u64 after = given < before ? given : before;
    env.flags[v] = after != before;
    env.next[v] = after;
    return after != before ? 3 : 0;
  }
  static __device__ __forceinline__ bool is_final(const Env&, u32) { return false; }
  static __device__ __forceinline__ f64 priority(const Env&, u32) { return 0; }
  static __device__ __forceinline__ u8 notifies(const Env& env, u32 v) { return env.flags[v]; }
};

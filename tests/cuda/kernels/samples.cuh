// Hand-written passes in the form of generated ones, one of each kind. Slots: 8 values f32, 9 numbers i32, 10 gathering
// vertices u8, 11 and 12 results, 13 and 14 partial results, 15 and 16 partial results of folds. Column 0: weights f32.

struct Shared {  // common members of most samples
  struct Env {
    const f32* values;
    const i32* numbers;
    const u8* chosen;
    u64 results0, results1, parts0, parts1;
  };
  struct Columns {
    Column<f32> weights;
  };
  struct Masks {
    bool a0;
  };
  static constexpr bool READS_SELF = false, EARLY = false, FRONTIER = false, ATOMIC = true,
                        STORES = false;
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{pointer<const f32>(frame, 8), pointer<const i32>(frame, 9), pointer<const u8>(frame, 10),
               frame[11], frame[12], frame[13], frame[14]};
  }
  static __device__ __forceinline__ Columns bind_columns(const u64* row, bool streams = false) {
    return Columns{{pointer<const f32>(row, ROW_COLUMNS), streams}};
  }
  static __device__ __forceinline__ Masks ready(const Env& env, u32 v) { return Masks{env.chosen[v] != 0}; }
  static __device__ __forceinline__ bool wanted(const Masks& masks) { return masks.a0; }
  static __device__ __forceinline__ bool is_final(const Env&, u32) { return false; }
  template <class T> static __device__ __forceinline__ u32 write(u64 words, u32 v, T value) {
    T* place = reinterpret_cast<T*>(words) + v;
    const bool changed = *place != value;
    *place = value;
    return (changed ? 1u : 0u) | (value > T(0) ? 2u : 0u);
  }
};

// sum(u.value * weight): f32 contributions, f64 accumulators.
struct total : Shared {
  struct Acc { f64 a0; };
  struct Item { f32 a0; };
  static constexpr u32 CELL_BYTES = 8;
  static __device__ __forceinline__ Acc identity(const Env&) { return Acc{0.0}; }
  static __device__ __forceinline__ Item nothing(const Env&) { return Item{0.0f}; }
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns& columns, u32, u32 u, i64 k) {
    return Item{env.values[u] * columns.weights[k]};
  }
  static __device__ __forceinline__ Acc lift(const Env&, const Item& item) { return Acc{f64(item.a0)}; }
  static __device__ __forceinline__ Acc merge(const Env&, const Acc& a, const Acc& b) { return Acc{a.a0 + b.a0}; }
  static __device__ __forceinline__ Acc from_lane(unsigned mask, const Acc& acc, int lane) {
    return Acc{lane_value(mask, acc.a0, lane)};
  }
  static __device__ __forceinline__ void put(const Env& env, i64 s, const Acc& acc) {
    reinterpret_cast<f64*>(env.parts0)[s] = acc.a0;
  }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) {
    return Acc{reinterpret_cast<const f64*>(env.parts0)[s]};
  }
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks&, const Acc& acc) {
    return write(env.results0, v, f32(acc.a0));
  }
  static __device__ __forceinline__ void send(const Env& env, u32 v) {
    reinterpret_cast<f32*>(env.results0)[v] = env.values[v] * 2.0f;
  }
  static __device__ __forceinline__ bool decided(const Acc&) { return false; }
  struct Cells { f64* a0; };
  static __device__ __forceinline__ Cells cells(unsigned char* memory, u32) {
    return Cells{reinterpret_cast<f64*>(memory)};
  }
  static __device__ __forceinline__ void clear(const Env&, const Cells& cells, u32 i) { cells.a0[i] = 0.0; }
  static __device__ __forceinline__ void join(const Env&, const Cells& cells, u32 i, const Item& item) {
    shared_add(cells.a0 + i, f64(item.a0));
  }
  static __device__ __forceinline__ Acc take(const Cells& cells, u32 i) { return Acc{cells.a0[i]}; }
  static __device__ __forceinline__ void fold(const Env&, const Cells& cells, u32 i, u32 j) { cells.a0[i] += cells.a0[j]; }
};

// sum(|u.value - value|): depends on the receiver.
struct apart : total {
  static constexpr bool READS_SELF = true;
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns&, u32 v, u32 u, i64) {
    return Item{fabsf(env.values[u] - env.values[v])};
  }
};

// min(u.number).
struct least : Shared {
  struct Acc { i32 a0; };
  struct Item { i32 a0; };
  static constexpr u32 CELL_BYTES = 4;
  static __device__ __forceinline__ Acc identity(const Env&) { return Acc{2147483647}; }
  static __device__ __forceinline__ Item nothing(const Env&) { return Item{2147483647}; }
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns&, u32, u32 u, i64) {
    return Item{env.numbers[u]};
  }
  static __device__ __forceinline__ Acc lift(const Env&, const Item& item) { return Acc{item.a0}; }
  static __device__ __forceinline__ Acc merge(const Env&, const Acc& a, const Acc& b) { return Acc{b.a0 < a.a0 ? b.a0 : a.a0}; }
  static __device__ __forceinline__ Acc from_lane(unsigned mask, const Acc& acc, int lane) {
    return Acc{lane_value(mask, acc.a0, lane)};
  }
  static __device__ __forceinline__ void put(const Env& env, i64 s, const Acc& acc) {
    reinterpret_cast<i32*>(env.parts0)[s] = acc.a0;
  }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) {
    return Acc{reinterpret_cast<const i32*>(env.parts0)[s]};
  }
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks&, const Acc& acc) {
    return write(env.results0, v, acc.a0);
  }
  static __device__ __forceinline__ bool decided(const Acc&) { return false; }
  struct Cells { i32* a0; };
  static __device__ __forceinline__ Cells cells(unsigned char* memory, u32) {
    return Cells{reinterpret_cast<i32*>(memory)};
  }
  static __device__ __forceinline__ void clear(const Env&, const Cells& cells, u32 i) { cells.a0[i] = 2147483647; }
  static __device__ __forceinline__ void join(const Env&, const Cells& cells, u32 i, const Item& item) {
    shared_min(cells.a0 + i, item.a0);
  }
  static __device__ __forceinline__ Acc take(const Cells& cells, u32 i) { return Acc{cells.a0[i]}; }
  static __device__ __forceinline__ void fold(const Env&, const Cells& cells, u32 i, u32 j) {
    cells.a0[i] = cells.a0[j] < cells.a0[i] ? cells.a0[j] : cells.a0[i];
  }
};

// Minus the number of copies of the accumulator that contributions of a vertex were joined to, in pull_shards.
struct copies : least {
  static __device__ __forceinline__ void clear(const Env&, const Cells& cells, u32 i) { cells.a0[i] = 0; }
  static __device__ __forceinline__ void join(const Env&, const Cells& cells, u32 i, const Item&) { shared_min(cells.a0 + i, -1); }
  static __device__ __forceinline__ void fold(const Env&, const Cells& cells, u32 i, u32 j) { cells.a0[i] += cells.a0[j]; }
};

// min((u.value + weight, u)): pairs, packed in cells.
struct nearest : Shared {
  struct Acc { f32 a0; u32 a1; };
  struct Item { f32 a0; u32 a1; };
  static constexpr u32 CELL_BYTES = 8;
  static __device__ __forceinline__ f32 infinite() { return __int_as_float(0x7F800000); }
  static __device__ __forceinline__ Acc identity(const Env&) { return Acc{infinite(), 0xFFFFFFFFu}; }
  static __device__ __forceinline__ Item nothing(const Env&) { return Item{infinite(), 0xFFFFFFFFu}; }
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns& columns, u32, u32 u, i64 k) {
    return Item{env.values[u] + columns.weights[k], u};
  }
  static __device__ __forceinline__ Acc lift(const Env&, const Item& item) { return Acc{item.a0, item.a1}; }
  static __device__ __forceinline__ Acc merge(const Env&, const Acc& a, const Acc& b) {
    const bool wins = b.a0 < a.a0 || (b.a0 == a.a0 && b.a1 < a.a1);
    return wins ? b : a;
  }
  static __device__ __forceinline__ Acc from_lane(unsigned mask, const Acc& acc, int lane) {
    return Acc{lane_value(mask, acc.a0, lane), lane_value(mask, acc.a1, lane)};
  }
  static __device__ __forceinline__ void put(const Env& env, i64 s, const Acc& acc) {
    reinterpret_cast<f32*>(env.parts0)[s] = acc.a0;
    reinterpret_cast<u32*>(env.parts1)[s] = acc.a1;
  }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) {
    return Acc{reinterpret_cast<const f32*>(env.parts0)[s], reinterpret_cast<const u32*>(env.parts1)[s]};
  }
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks&, const Acc& acc) {
    return write(env.results0, v, acc.a0) | write(env.results1, v, acc.a1);
  }
  static __device__ __forceinline__ bool decided(const Acc&) { return false; }
  struct Cells { u64* a0; };
  static __device__ __forceinline__ Cells cells(unsigned char* memory, u32) {
    return Cells{reinterpret_cast<u64*>(memory)};
  }
  static __device__ __forceinline__ u64 packed(const Item& item) {
    return pack(order_key(item.a0), order_key(item.a1));
  }
  static __device__ __forceinline__ void clear(const Env&, const Cells& cells, u32 i) { cells.a0[i] = packed(Item{infinite(), 0xFFFFFFFFu}); }
  static __device__ __forceinline__ void join(const Env&, const Cells& cells, u32 i, const Item& item) {
    shared_min(cells.a0 + i, packed(item));
  }
  static __device__ __forceinline__ Acc take(const Cells& cells, u32 i) {
    return Acc{key_value<f32>(packed_first(cells.a0[i])), key_value<u32>(packed_second(cells.a0[i]))};
  }
  static __device__ __forceinline__ void fold(const Env&, const Cells& cells, u32 i, u32 j) {
    cells.a0[i] = cells.a0[j] < cells.a0[i] ? cells.a0[j] : cells.a0[i];
  }
};

// any(u.number > 0): one such neighbour decides.
struct some : Shared {
  struct Acc { bool a0; };
  struct Item { bool a0; };
  static constexpr bool EARLY = true;
  static constexpr u32 CELL_BYTES = 1;
  static __device__ __forceinline__ Acc identity(const Env&) { return Acc{false}; }
  static __device__ __forceinline__ Item nothing(const Env&) { return Item{false}; }
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns&, u32, u32 u, i64) {
    return Item{env.numbers[u] > 0};
  }
  static __device__ __forceinline__ Acc lift(const Env&, const Item& item) { return Acc{item.a0}; }
  static __device__ __forceinline__ Acc merge(const Env&, const Acc& a, const Acc& b) { return Acc{a.a0 || b.a0}; }
  static __device__ __forceinline__ Acc from_lane(unsigned mask, const Acc& acc, int lane) {
    return Acc{lane_value(mask, acc.a0, lane)};
  }
  static __device__ __forceinline__ void put(const Env& env, i64 s, const Acc& acc) {
    reinterpret_cast<u8*>(env.parts0)[s] = acc.a0 ? u8(1) : u8(0);
  }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) {
    return Acc{reinterpret_cast<const u8*>(env.parts0)[s] != 0};
  }
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks&, const Acc& acc) {
    const bool before = reinterpret_cast<const u8*>(env.results1)[v] != 0;
    return write(env.results0, v, u8(acc.a0 || before));
  }
  static __device__ __forceinline__ bool decided(const Acc& acc) { return acc.a0; }
  static __device__ __forceinline__ bool is_final(const Env& env, u32 v) {
    return reinterpret_cast<const u8*>(env.results1)[v] != 0;
  }
  struct Cells { u8* a0; };
  static __device__ __forceinline__ Cells cells(unsigned char* memory, u32) { return Cells{memory}; }
  static __device__ __forceinline__ void clear(const Env&, const Cells& cells, u32 i) { cells.a0[i] = 0; }
  static __device__ __forceinline__ void join(const Env&, const Cells& cells, u32 i, const Item& item) {
    shared_any(cells.a0 + i, u8(item.a0));
  }
  static __device__ __forceinline__ Acc take(const Cells& cells, u32 i) { return Acc{cells.a0[i] != 0}; }
  static __device__ __forceinline__ void fold(const Env&, const Cells& cells, u32 i, u32 j) { cells.a0[i] |= cells.a0[j]; }
};

// count(u.number > 0) and mean(u.value, default = -1), side by side.
struct several : Shared {
  struct Acc { u32 a0; f64 a1; i64 a2; bool a3; };
  struct Item { u32 a0; f32 a1; i64 a2; bool a3; };
  static constexpr u32 CELL_BYTES = 21;
  static __device__ __forceinline__ Acc identity(const Env&) { return Acc{0, 0.0, 0, false}; }
  static __device__ __forceinline__ Item nothing(const Env&) { return Item{0, 0.0f, 0, false}; }
  static __device__ __forceinline__ Item contribute(const Env& env, const Columns&, u32, u32 u, i64) {
    return Item{env.numbers[u] > 0 ? 1u : 0u, env.values[u], 1, true};
  }
  static __device__ __forceinline__ Acc lift(const Env&, const Item& item) {
    return Acc{item.a0, f64(item.a1), item.a2, item.a3};
  }
  static __device__ __forceinline__ Acc merge(const Env&, const Acc& a, const Acc& b) {
    return Acc{a.a0 + b.a0, a.a1 + b.a1, a.a2 + b.a2, a.a3 || b.a3};
  }
  static __device__ __forceinline__ Acc from_lane(unsigned mask, const Acc& acc, int lane) {
    return Acc{lane_value(mask, acc.a0, lane), lane_value(mask, acc.a1, lane), lane_value(mask, acc.a2, lane),
               lane_value(mask, acc.a3, lane)};
  }
  static __device__ __forceinline__ void put(const Env& env, i64 s, const Acc& acc) {
    reinterpret_cast<Acc*>(env.parts0)[s] = acc;
  }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) {
    return reinterpret_cast<const Acc*>(env.parts0)[s];
  }
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks&, const Acc& acc) {
    const f32 mean = acc.a3 ? f32(acc.a1 / f64(acc.a2)) : -1.0f;
    return write(env.results0, v, mean) | write(env.results1, v, acc.a0);
  }
  static __device__ __forceinline__ bool decided(const Acc&) { return false; }
  struct Cells { f64* a1; i64* a2; u32* a0; u8* a3; };
  static __device__ __forceinline__ Cells cells(unsigned char* memory, u32 count) {
    return Cells{reinterpret_cast<f64*>(memory), reinterpret_cast<i64*>(memory + 8 * count),
                 reinterpret_cast<u32*>(memory + 16 * count), memory + 20 * count};
  }
  static __device__ __forceinline__ void clear(const Env&, const Cells& cells, u32 i) {
    cells.a0[i] = 0;
    cells.a1[i] = 0.0;
    cells.a2[i] = 0;
    cells.a3[i] = 0;
  }
  static __device__ __forceinline__ void join(const Env&, const Cells& cells, u32 i, const Item& item) {
    shared_add(cells.a0 + i, item.a0);
    shared_add(cells.a1 + i, f64(item.a1));
    shared_add(cells.a2 + i, item.a2);
    shared_any(cells.a3 + i, u8(item.a3));
  }
  static __device__ __forceinline__ Acc take(const Cells& cells, u32 i) {
    return Acc{cells.a0[i], cells.a1[i], cells.a2[i], cells.a3[i] != 0};
  }
  static __device__ __forceinline__ void fold(const Env&, const Cells& cells, u32 i, u32 j) {
    cells.a0[i] += cells.a0[j];
    cells.a1[i] += cells.a1[j];
    cells.a2[i] += cells.a2[j];
    cells.a3[i] |= cells.a3[j];
  }
};

// Over vertices: result[v] = value[v] + number[v].
struct plain : Shared {
  struct Acc {};
  static __device__ __forceinline__ u32 apply(const Env& env, u32 v, const Masks&, const Acc&) {
    return write(env.results0, v, env.values[v] + f32(env.numbers[v]));
  }
};

// Folds: sum(v.value) and max(v.number) in one value; and a value without reductions.
struct folded {
  struct Env {
    const f32* values;
    const i32* numbers;
    f64* sums;
    i32* largest;
  };
  struct Acc { f64 a0; i32 a1; };
  static constexpr bool FOLDS = true;
  static __device__ __forceinline__ Env bind(const u64* frame) {
    return Env{pointer<const f32>(frame, 8), pointer<const i32>(frame, 9), pointer<f64>(frame, 15),
               pointer<i32>(frame, 16)};
  }
  static __device__ __forceinline__ Acc identity(const Env&) { return Acc{0.0, -2147483647 - 1}; }
  static __device__ __forceinline__ Acc gather(const Env& env, const Acc& acc, u32 v) {
    return merge(env, acc, Acc{f64(env.values[v]), env.numbers[v]});
  }
  static __device__ __forceinline__ Acc merge(const Env&, const Acc& a, const Acc& b) {
    return Acc{a.a0 + b.a0, b.a1 > a.a1 ? b.a1 : a.a1};
  }
  static __device__ __forceinline__ Acc from_lane(unsigned mask, const Acc& acc, int lane) {
    return Acc{lane_value(mask, acc.a0, lane), lane_value(mask, acc.a1, lane)};
  }
  static __device__ __forceinline__ void put(const Env& env, i64 s, const Acc& acc) {
    env.sums[s] = acc.a0;
    env.largest[s] = acc.a1;
  }
  static __device__ __forceinline__ Acc get(const Env& env, i64 s) { return Acc{env.sums[s], env.largest[s]}; }
  static __device__ __forceinline__ void store(u64* frame, const Env&, const Acc& acc) {
    frame[17] = u64(__double_as_longlong(acc.a0 + f64(acc.a1)));
  }
};

struct constant {
  struct Env {};
  static constexpr bool FOLDS = false;
  static __device__ __forceinline__ Env bind(const u64*) { return Env{}; }
  static __device__ __forceinline__ void store(u64* frame, const Env&) { frame[17] = 42; }
};

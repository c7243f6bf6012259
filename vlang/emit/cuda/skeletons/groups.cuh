// The groups of the edges of a vertex (vlang/emit/shared/grouped.py), in the scratch memory of the vertex.
//
// Every edge has an entry of W 64-bit words: its key, as a word whose order is that of the keys, and its contributions.
// Behind the entries is a list of entries, and space for a second list. `join_groups` sorts the list by key, joins the
// entries of each key in the order of the row, and keeps the first entry of each key. The order in which entries are
// joined depends on their keys and their places in the row alone, so neither the threads nor a launch change a bit.

enum : u32 {
  NO_ENTRY = 0xFFFFFFFFu,
  GROUP_RUN = 32,  // neighbouring entries of the sorted list that one thread joins
};

template <int W> __device__ __forceinline__ u64 group_words(u64 degree) { return degree * (2 * W + 2); }

template <int W> struct Groups {
  u64* entries;
  u32 *list, *other;

  __device__ __forceinline__ Groups(u32* at, u64 degree)
      : entries(reinterpret_cast<u64*>(at)), list(at + 2 * W * degree), other(list + degree) {}
  __device__ __forceinline__ u64* entry(u32 number) const { return entries + u64(W) * number; }
  __device__ __forceinline__ u64 key(const u32* sorted, u32 place) const { return *entry(sorted[place]); }
};

template <class T> __device__ __forceinline__ void put_word(u64* at, T value) { *at = u64(value); }
__device__ __forceinline__ void put_word(u64* at, f32 value) { *at = word_of(value); }
__device__ __forceinline__ void put_word(u64* at, f64 value) { *at = word_of(value); }
template <class T> struct WordAs {
  static __device__ __forceinline__ T of(u64 word) { return T(word); }
};
template <> struct WordAs<f32> {
  static __device__ __forceinline__ f32 of(u64 word) {
    f32 value;
    from_word(u32(word), value);
    return value;
  }
};
template <> struct WordAs<f64> {
  static __device__ __forceinline__ f64 of(u64 word) {
    f64 value;
    from_word(word, value);
    return value;
  }
};

// Copies the entries of from[0 ... count) for which `keeps` is true to `to`, in the same order; returns their number.
template <class Group, class Keeps>
__device__ __forceinline__ u32 kept_entries(
    const Group& group, const u32* from, u32* to, u32 count, u32 most, const Keeps& keeps) {
  u32 done = 0;
  for (u32 base = 0; base < most; base += group.size()) {
    const u32 i = base + group.rank();
    const u32 keep = i < count && keeps(i) ? 1 : 0;
    const u32 total = group.total(keep), behind = group.behind(keep);
    if (keep) {
      to[done + total - behind - 1] = from[i];
    }
    done += total;
  }
  group.sync();
  return done;
}

// The number of the `count` entries from sorted[first] on whose keys are less than `key`, or equal if `equal`.
template <int W>
__device__ __forceinline__ u32 entries_below(
    const Groups<W>& groups, const u32* sorted, u32 first, u32 count, u64 key, bool equal) {
  u32 low = 0, high = count;
  while (low < high) {
    const u32 middle = (low + high) / 2;
    const u64 there = groups.key(sorted, first + middle);
    if (there < key || (equal && there == key)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Joins the entries with equal keys among those listed in [first, first + count): afterwards the list has the first
// entry of each key, in increasing order of the keys, and then NO_ENTRY. join(a, b) joins entry b into entry a.
template <int W, class Group, class Join>
__device__ __forceinline__ void join_groups(
    const Group& group, u32* at, u64 degree, u32 first, u32 count, const Join& join) {
  const Groups<W> groups(at, degree);
  u32 *list = groups.list + first, *from = groups.other + first, *to = list;
  const u32 all = group.most(count);
  const u32 some = kept_entries(group, list, from, count, all, [&](u32 i) { return list[i] != NO_ENTRY; });
  const u32 most = group.most(some);
  for (u32 width = 1; width < most; width *= 2) {  // merges runs of `width` entries
    for (u32 i = group.rank(); i < some; i += group.size()) {
      const u32 begin = i / (2 * width) * (2 * width), middle = begin + width < some ? begin + width : some;
      const u32 end = middle + width < some ? middle + width : some;
      const u64 key = groups.key(from, i);
      const u32 place = i < middle ? i + entries_below<W>(groups, from, middle, end - middle, key, false)
                                   : i - (middle - begin) + entries_below<W>(groups, from, begin, middle - begin, key, true);
      to[place] = from[i];
    }
    group.sync();
    u32* swapped = from;
    from = to;
    to = swapped;
  }
  const auto opens = [&](u32 i) { return i == 0 || groups.key(from, i) != groups.key(from, i - 1); };
  for (u32 i = group.rank(); i < some; i += group.size()) {
    if (i % GROUP_RUN == 0 || opens(i)) {
      const u64 key = groups.key(from, i);
      const u32 end = (i / GROUP_RUN + 1) * GROUP_RUN < some ? (i / GROUP_RUN + 1) * GROUP_RUN : some;
      for (u32 j = i + 1; j < end && groups.key(from, j) == key; j++) {
        join(groups.entry(from[i]), groups.entry(from[j]));
      }
    }
  }
  group.sync();
  for (u32 i = group.rank(); i < some; i += group.size()) {
    if (opens(i)) {
      const u64 key = groups.key(from, i);
      for (u32 j = (i / GROUP_RUN + 1) * GROUP_RUN; j < some && groups.key(from, j) == key; j += GROUP_RUN) {
        join(groups.entry(from[i]), groups.entry(from[j]));
      }
    }
  }
  group.sync();
  const u32 opened = kept_entries(group, from, to, some, most, opens);
  for (u32 i = group.rank(); i < count; i += group.size()) {
    const u32 entry = i < opened ? to[i] : u32(NO_ENTRY);
    list[i] = entry;
  }
  group.sync();
}

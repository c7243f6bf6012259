// The common neighbours of two vertices. The functions are those of vlang/emit/cpu/skeletons/common.py.

// The first index in targets[low:high] with a value of at least `wanted`.
__device__ __forceinline__ u64 first_not_below(const u32* targets, u64 low, u64 high, u32 wanted) {
  u64 step = 1;
  while (low + step < high && targets[low + step] < wanted) {
    low += step;
    step += step;
  }
  high = low + step < high ? low + step : high;
  while (low < high) {
    const u64 middle = (low + high) / 2;
    if (targets[middle] < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The number of common neighbours of a and b; 0 if one of them is `none`.
__device__ __forceinline__ i64 common_count(const u64* starts, const u32* targets, u32 a, u32 b) {
  if (a == 0xFFFFFFFFu || b == 0xFFFFFFFFu) {
    return 0;
  }
  const bool longer = starts[u64(a) + 1] - starts[a] > starts[u64(b) + 1] - starts[b];
  const u32 few = longer ? b : a, many = longer ? a : b;
  u64 i = starts[few], j = starts[many];
  const u64 end = starts[u64(few) + 1], stop = starts[u64(many) + 1];
  const bool search = stop - j > 16 * (end - i);
  i64 count = 0;
  while (i < end && j < stop) {
    const u32 x = targets[i];
    if (search) {
      j = first_not_below(targets, j, stop, x);
      count += j < stop && targets[j] == x;
      i += 1;
    } else {
      const u32 y = targets[j];
      count += x == y;
      i += x <= y;
      j += y <= x;
    }
  }
  return count;
}

// Which of two neighbour lists is searched instead of merged, because it is much longer: 1, 2, or 0 for neither.
__device__ __forceinline__ int longer_list(u64 first, u64 second) {
  return first > 16 * second ? 1 : second > 16 * first ? 2 : 0;
}

// Moves i and j to the first equal entries of targets[i:end] and targets[j:stop]; to end and stop if there are none.
__device__ __forceinline__ void next_common(const u32* targets, u64& i, u64 end, u64& j, u64 stop, int longer) {
  while (i < end && j < stop) {
    const u32 x = targets[i], y = targets[j];
    if (x == y) {
      return;
    }
    if (x < y) {
      i = longer == 1 ? first_not_below(targets, i, end, y) : i + 1;
    } else {
      j = longer == 2 ? first_not_below(targets, j, stop, x) : j + 1;
    }
  }
  i = end;
  j = stop;
}

// 1 plus the position of b in the neighbour list of a; 0 if b is a itself.
__device__ __forceinline__ u64 entry_of(const u64* starts, const u32* targets, u32 a, u32 b) {
  return a == b ? 0 : first_not_below(targets, starts[a], starts[u64(a) + 1], b) + 1;
}

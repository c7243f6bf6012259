// The number of common neighbours of two vertices. The functions are those of vlang/emit/cpu/skeletons/common.py.

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

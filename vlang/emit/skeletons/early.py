"""A pass in which vertices that nobody has reached look for a neighbour in the frontier, and stop at the first (rule
X2; the bottom-up step of Beamer, Asanovic, Patterson: Direction-optimizing breadth-first search, SC'12). `settled` is
written from the program. The frontier is the bitmap WALK_BITS; that of the vertices reached is WALK_COMING.

Tasks are runs of words of the bitmaps, as in `push`.
"""


def early(frame, tasks, count, counter, table):
    env = bind(frame)
    columns = bind_columns(table, WALK_PULL)
    offsets = pointer_u64(table, WALK_PULL + PAGE_OFFSETS)
    targets = pointer_u32(table, WALK_PULL + PAGE_TARGETS)
    away = pointer_u64(table, PAGE_OFFSETS)
    counts = pointer_i64(table, WALK_COUNTS)
    present = pointer_u64(table, WALK_BITS)
    coming = pointer_u64(table, WALK_COMING)
    n = value_i64(table, WALK_VERTICES)
    looked, active, edges = i64(0), i64(0), i64(0)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for w in range(task * tasks[0], min((task + 1) * tasks[0], tasks[1])):
            word = u64(0)
            for v in range(64 * w, min(64 * w + 64, n)):
                if settled(env, v):
                    continue
                prefetch(targets, i64(offsets[min(v + 16, n)]))  # the rows are in order, but few edges of each are read
                k = offsets[v]
                high = offsets[v + 1]
                while k < high:
                    u = targets[i64(k)]
                    k += u64(1)
                    there = (present[i64(u >> u32(6))] >> u64(u & u32(63))) & u64(1) != 0
                    if there and join(env, columns, v, i64(u), i64(k) - 1):
                        word |= u64(1) << u64(v & 63)
                        active += 1
                        edges += i64(away[v + 1] - away[v])
                        break
                looked += i64(k - offsets[v])
            coming[w] = word
    fetch_add(counts, 0, looked)
    fetch_add(counts, 1, active)
    fetch_add(counts, 2, edges)

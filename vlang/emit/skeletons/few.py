"""Supersteps of few vertices: one worker runs many of them in one call, as `push` would. tasks: entries of the queue;
supersteps at most; edges and vertices of a frontier that ends the call. Behind them it puts: supersteps run; entries,
vertices and edges of the last frontier. Where `carry` does something the two buffers of the field change places.
"""


@inner
def line_up(found, v, degree, at):
    """Put a vertex into the queue."""
    found[at] = u64(v)
    at += 1
    for chunk in range(1, (degree + WALK_EDGES - 1) // WALK_EDGES):
        found[at] = (u64(chunk) << u64(32)) | u64(v)
        at += 1
    return at


def few(frame, tasks, count, counter, table):
    columns = bind_columns(table, 0)
    offsets = pointer_u64(table, PAGE_OFFSETS)
    targets = pointer_u32(table, PAGE_TARGETS)
    bits = pointer_u64(table, WALK_BITS)
    records = pointer_i64(table, WALK_RECORDS)
    now, new = table[WALK_FIELD], table[WALK_NEXT]
    entries, rounds = tasks[0], i64(0)
    while True:
        env = bind(frame)
        odd = rounds & 1
        queue = pointer_u64(table, WALK_QUEUE + odd)
        found = pointer_u64(table, WALK_FOUND - odd)
        if now != new:
            for i in range(entries):
                if queue[i] != u64(WALK_NOBODY):
                    v = i64(queue[i] & u64(0xFFFFFFFF))
                    carry(env, v)
                    bits[v >> 6] = u64(0)
        at, active, edges, pushed = i64(0), i64(0), i64(0), i64(0)
        for i in range(entries):
            entry = queue[i]
            if entry == u64(WALK_NOBODY):
                continue
            u = i64(entry & u64(0xFFFFFFFF))
            low = offsets[u] + (entry >> u64(32)) * u64(WALK_EDGES)
            high = min(offsets[u + 1], low + u64(WALK_EDGES))
            pushed += i64(high - low)
            for k in range(low, high):
                v = i64(targets[i64(k)])
                if join_alone(env, columns, v, u, i64(k)) and fresh(bits, v):
                    degree = i64(offsets[v + 1] - offsets[v])
                    at = line_up(found, v, degree, at)
                    active += 1
                    edges += degree
        if now != new:
            frame[now], frame[new] = frame[new], frame[now]
        records[2 * rounds] = active
        records[2 * rounds + 1] = pushed
        rounds += 1
        entries = at
        if active == 0 or rounds == tasks[1] or edges + active >= tasks[2]:
            break
    tasks[3], tasks[4], tasks[5], tasks[6] = rounds, entries, active, edges

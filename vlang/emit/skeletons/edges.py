"""A pass over edges: long vertices. The functions bind, ready, wanted, identity, gather, merge, put, get and apply are
written from the program and stand above this text; the slots and table layouts are those of runtime/kernelset.py.

Vertices of at most SEGMENT edges are reduced and applied in one go (`pull`, in rows.py or runs.py). The edges of longer
ones are cut into segments of SEGMENT edges from the vertex's first edge on: `segments` reduces each, `finish` merges
them in order and applies. The cut is a property of the graph, so results do not depend on pages, chunks, threads or the
mode.
"""


def segments(frame, tasks, count, counter):
    env = bind(frame)
    pages = pointer_u64(frame, SLOT_PAGES)
    table = pointer_i64(frame, SLOT_SEGMENTS)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        row = i64(tasks[3 * task]) * PAGE_WORDS
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        targets = pointer_u32(pages, row + PAGE_TARGETS)
        columns = bind_columns(pages, row)
        for s in range(low, high):
            v = table[3 * s]
            acc = identity(env)
            if wanted(ready(env, v)):
                for k in range(u64(table[3 * s + 1]), u64(table[3 * s + 2])):
                    acc = gather(env, columns, acc, v, i64(targets[i64(k)]), i64(k))
            put(env, s, acc)


def finish(frame, tasks, count, counter):
    env = bind(frame)
    longs = pointer_i64(frame, SLOT_LONGS)
    chosen = pointer_u32(frame, SLOT_LIST)
    listed = value_i64(frame, SLOT_LISTED) != 0
    stats = pointer_i64(frame, SLOT_STATS)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        changed, active = i64(0), i64(0)
        for i in range(low, high):
            k = i64(chosen[i]) if listed else i
            v = longs[3 * k]
            acc = get(env, longs[3 * k + 1])
            for s in range(longs[3 * k + 1] + 1, longs[3 * k + 2]):
                acc = merge(env, acc, get(env, s))
            flags = apply(env, v, ready(env, v), acc)
            changed += flags & 1
            active += flags >> 1
        note(stats, changed, active)

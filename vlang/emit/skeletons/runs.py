"""Short vertices of a pass over edges, RUN at a time: first all gather, then all apply, in a loop without branches of
its own, which LLVM writes in vector instructions. A row of few edges costs less for it (see edges.py). lay and laid,
which keep an accumulator in between, are written from the program.
"""


def pull(frame, tasks, count, counter):
    env = bind(frame)
    pages = pointer_u64(frame, SLOT_PAGES)
    vertices = pointer_u32(frame, SLOT_LIST)
    listed = value_i64(frame, SLOT_LISTED) != 0
    stats = pointer_i64(frame, SLOT_STATS)
    room = local(identity(env))
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        row = i64(tasks[3 * task]) * PAGE_WORDS
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        offsets = pointer_u32(pages, row + PAGE_OFFSETS)
        targets = pointer_u32(pages, row + PAGE_TARGETS)
        first = value_i64(pages, row + PAGE_FIRST)
        columns = bind_columns(pages, row)
        changed, active = i64(0), i64(0)
        while low < high:
            stop = min(low + RUN, high)
            for i in range(low, stop):
                v = i64(vertices[i]) if listed else i
                acc = identity(env)
                for k in range(u64(offsets[v - first]), u64(offsets[v - first + 1])):
                    acc = gather(env, columns, acc, v, i64(targets[i64(k)]), i64(k))
                lay(room, i - low, acc)
            for i in range(low, stop):
                v = i64(vertices[i]) if listed else i
                flags = apply(env, v, (), laid(room, i - low))
                changed += flags & 1
                active += flags >> 1
            low = stop
        note(stats, changed, active)

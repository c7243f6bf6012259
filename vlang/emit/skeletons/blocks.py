"""A full pass by cache blocks. keep and kept, which hold the accumulators of a block's vertices, are written from the
program; so are the functions that edges.py calls. Each destination takes its contributions in the order of its row, as
in pull, so the results are the same to the bit.
"""


def blocked(frame, tasks, count, counter):
    env = bind(frame)
    table = pointer_u64(frame, SLOT_PAGES)
    longs = pointer_i64(frame, SLOT_LONGS)
    stats = pointer_i64(frame, SLOT_STATS)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        row = i64(tasks[3 * task]) * BLOCK_WORDS
        places = pointer_u16(table, row + BLOCK_PLACES)
        senders = pointer_u32(table, row + BLOCK_SENDERS)
        low, high = value_i64(table, row + BLOCK_LOW), value_i64(table, row + BLOCK_HIGH)
        columns = bind_columns(table, row)
        for v in range(low, high):
            keep(env, v, identity(env))
        sender = i64(-1)
        for k in range(value_i64(table, row + BLOCK_ENTRIES)):
            place = i64(places[k])
            sender += place >> PLACE_BITS
            v = low + (place & ((1 << PLACE_BITS) - 1))
            keep(env, v, gather(env, columns, kept(env, v), v, i64(senders[sender]), k))
        at, last = value_i64(table, row + BLOCK_LONG), value_i64(table, row + BLOCK_LONG_END)
        changed, active = i64(0), i64(0)
        for v in range(low, high):
            if at < last and longs[3 * at] == v:
                at += 1
                continue
            masks = ready(env, v)
            acc = kept(env, v) if wanted(masks) else identity(env)
            flags = apply(env, v, masks, acc)
            changed += flags & 1
            active += flags >> 1
        note(stats, changed, active)

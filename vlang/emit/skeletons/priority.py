"""A loop in order of priority (rule O): vertices push bucket by bucket, in place.

Delta-stepping (Meyer, Sanders: Delta-stepping: a parallelizable shortest path algorithm, J. Algorithms 49, 2003) over
buckets of each worker (Beamer, Asanovic, Patterson: The GAP benchmark suite, 2015), where a worker goes on with its own
bucket while that is small (Zhang et al.: Optimizing ordered graph algorithms with GraphIt, CGO'20, section 4.3).
`offer`, `rank` and `silent` are written from the program: what an edge offers the receiver, and the priority of a
value, the least first; `near_vertex` and `near_edge` ask for what is read of a vertex and of an edge.

A bucket still to come holds every vertex whose value lies in it, unless some had to wait for room (`unsure`), so a
vertex that moves inside one need not be entered again. All workers run `priority` at once; `meet` keeps them together.
"""


@inner
def expand(env, columns, offsets, targets, control, desk, places, links, entries, spilled, u, base, now, scale, unsure):
    """Vertex u pushes; the edges along which it does."""
    low, high = offsets[u], offsets[u + 1]
    for k in range(low, high):
        v = i64(targets[i64(k)])
        better, before, after = offer(env, columns, v, u, i64(k))
        if better:
            bucket = bucket_of(after, scale)
            slot = max(slot_of(bucket, base), now)
            if slot == now or unsure or bucket == i64(ORDER_FAR) or bucket != bucket_of(before, scale):
                deposit(control, desk, places, links, entries, spilled, slot, v)
    return i64(high - low)


@inner
def approach(env, columns, offsets, targets, listed, i, end):
    """Bring near what the next vertices of a list will read: where their edges begin, then those edges."""
    if i + 2 * ORDER_AHEAD < end:
        u = i64(listed[i + 2 * ORDER_AHEAD])
        prefetch(offsets, u)
        near_vertex(env, u)
    if i + ORDER_AHEAD < end:
        u = i64(listed[i + ORDER_AHEAD])
        k = i64(offsets[u])
        high = min(i64(offsets[u + 1]), k + ORDER_NEAR)  # the processor sees by itself how a longer row goes on
        while k < high:
            prefetch(targets, k)
            near_edge(columns, k)
            k += ORDER_LINE


@inner
def due(env, u, base, now, scale):
    """Whether a vertex of the current bucket has not pushed from an earlier one since it was entered."""
    return slot_of(bucket_of(rank(env, u), scale), base) >= now


@inner
def enter_all(env, control, desk, places, links, entries, spilled, n, filling):
    """Vertices that are not silent at the start (filling 1), or that waited for room (2), wait to be spread."""
    while True:
        if filling == 2 and not has_room(control, desk):
            poke(control, ORDER_SPILLED, 1)  # somebody else has room, and empties this worker's share sooner or later
            break
        word = fetch_add(control, ORDER_CURSOR, 64)
        if word * 64 >= n:
            break
        for w in range(word, min(word + 64, (n + 63) >> 6)):
            there = ~u64(0)
            if filling == 2:
                there = spilled[w]
                spilled[w] = u64(0)
            if there == 0:
                continue
            for v in range(64 * w, min(64 * w + 64, n)):
                if (there >> u64(v & 63)) & u64(1) != 0 and not silent(env, v):
                    deposit(control, desk, places, links, entries, spilled, ORDER_BUCKETS, v)


@inner
def first_far(env, places, links, entries, scale, done):
    """The first bucket of what lies beyond the window; ORDER_NONE if all of it has been pushed from."""
    least = i64(ORDER_NONE)
    at = places[ORDER_BUCKETS]
    while at != 0:
        run = (at - 1) // ORDER_RUN
        for i in range(run * ORDER_RUN, at):
            bucket = bucket_of(rank(env, i64(entries[i])), scale)
            if done < bucket < least:
                least = bucket
        at = links[run]
    return least


@inner
def spread(env, control, desk, places, links, entries, spilled, scale, done, base):
    """What lay beyond the window goes into the buckets of a new one."""
    at = places[ORDER_BUCKETS]
    places[ORDER_BUCKETS] = 0
    while at != 0:
        run = (at - 1) // ORDER_RUN
        for i in range(run * ORDER_RUN, at):
            v = i64(entries[i])
            bucket = bucket_of(rank(env, v), scale)
            if bucket > done:
                deposit(control, desk, places, links, entries, spilled, slot_of(bucket, base), v)
        at = links[run]
        give_back(desk, links, run)


@inner
def publish(control, desk, places, links, entries, frontier, slot, tail):
    """The entries of a bucket go to all workers; those for which there is no room stay."""
    while places[slot] != 0:
        at = places[slot]
        run = (at - 1) // ORDER_RUN
        low = run * ORDER_RUN
        to = i64(peek(control, tail))
        while to + at - low <= control[ORDER_ROOM] and not replace(control, tail, to, to + at - low):
            to = i64(peek(control, tail))
        if to + at - low > control[ORDER_ROOM]:
            break
        for i in range(low, at):
            frontier[to + i - low] = entries[i]
        places[slot] = links[run]
        give_back(desk, links, run)


@inner
def least_of(table, crew, word):
    """The least that the workers have in a word of their desks."""
    least = i64(ORDER_NONE)
    for w in range(crew):
        least = min(least, pointer_i64(table, ORDER_WORKERS + 2 * w)[word])
    return least


def priority(frame, control, table):
    me, crew = join_crew(control)
    if me < 0:
        return
    env = bind(frame)
    columns = bind_columns(table, 0)
    offsets = pointer_u64(table, PAGE_OFFSETS)
    targets = pointer_u32(table, PAGE_TARGETS)
    frontier = pointer_u32(table, ORDER_FRONTIER)
    desk = pointer_i64(table, ORDER_WORKERS + 2 * me)
    places = pointer_i64(table, ORDER_WORKERS + 2 * me + 1)
    links = pointer_i64(table, ORDER_LINKS)
    entries = pointer_u32(table, ORDER_ENTRIES)
    spilled = pointer_u64(table, ORDER_WAITERS)
    records = pointer_i64(table, ORDER_RECORDS)
    scale = value_f64(table, ORDER_SCALE)
    n, target = control[ORDER_VERTICES], control[ORDER_TARGET]
    filling, unsure = control[ORDER_FILLING], control[ORDER_UNSURE] != 0
    base, done, now = control[ORDER_BASE], control[ORDER_DONE], control[ORDER_NOW]
    turn, rounds = control[ORDER_PARITY], i64(0)
    if filling != 0:
        enter_all(env, control, desk, places, links, entries, spilled, n, filling)
    while True:
        edges = i64(0)
        if filling == 0:
            tail = control[ORDER_TAILS + turn]
            run = max(i64(1), min(i64(64), tail // (8 * crew)))
            while True:
                at = fetch_add(control, ORDER_CURSOR, run)
                if at >= tail:
                    break
                for i in range(at, min(at + run, tail)):
                    u = i64(frontier[i])
                    approach(env, columns, offsets, targets, frontier, i, tail)
                    if due(env, u, base, now, scale):
                        edges += expand(env, columns, offsets, targets, control, desk, places, links, entries, spilled,
                                        u, base, now, scale, unsure)
            while small_bucket(places, links, now, ORDER_FUSED):
                at = places[now]
                places[now] = 0
                while at != 0:
                    run = (at - 1) // ORDER_RUN
                    for i in range(run * ORDER_RUN, at):
                        u = i64(entries[i])
                        approach(env, columns, offsets, targets, entries, i, at)
                        if due(env, u, base, now, scale):
                            edges += expand(env, columns, offsets, targets, control, desk, places, links, entries,
                                            spilled, u, base, now, scale, unsure)
                    at = links[run]
                    give_back(desk, links, run)
            fetch_add(control, ORDER_EDGES + turn, edges)
        while True:
            while now < ORDER_BUCKETS and places[now] == 0:
                now += 1
            desk[ORDER_NEXT] = now
            desk[ORDER_BEYOND] = i64(places[ORDER_BUCKETS] == 0)
            if not meet(control, crew):
                return
            now = least_of(table, crew, ORDER_NEXT)
            if now < ORDER_BUCKETS or least_of(table, crew, ORDER_BEYOND) == 1:
                break
            done = max(done, base + ORDER_BUCKETS - 1)
            desk[ORDER_LEAST] = first_far(env, places, links, entries, scale, done)
            if not meet(control, crew):
                return
            least = least_of(table, crew, ORDER_LEAST)
            base = least if least != ORDER_NONE else base
            spread(env, control, desk, places, links, entries, spilled, scale, done, base)
            now = i64(0)
        # Nobody pushes between two meetings, so all see the same value. Whoever waits for room may yet better it.
        reached = target >= 0 and peek(control, ORDER_SPILLED) == 0 and \
            slot_of(bucket_of(rank(env, target), scale), base) < now
        following = 1 - turn
        if now < ORDER_BUCKETS:
            publish(control, desk, places, links, entries, frontier, now, ORDER_TAILS + following)
        if me == 0:
            control[ORDER_CURSOR] = 0
            control[ORDER_TAILS + turn] = 0
            control[ORDER_EDGES + following] = 0
        if not meet(control, crew):
            return
        active = control[ORDER_TAILS + following]
        if filling == 0 or active == 0 or reached:  # to enter vertices is no round
            if me == 0:
                records[2 * rounds] = active
                records[2 * rounds + 1] = control[ORDER_EDGES + turn]
            rounds += 1
        filling = i64(0)
        turn = following
        if active == 0 or reached or rounds == control[ORDER_ROUNDS]:
            break
    if me == 0:
        control[ORDER_BASE], control[ORDER_DONE], control[ORDER_NOW] = base, done, now
        control[ORDER_PARITY], control[ORDER_RECORDED], control[ORDER_REACHED] = turn, rounds, i64(reached)

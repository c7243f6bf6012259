"""Buckets of vertices by priority, of each worker its own, and where workers wait for each other. What words mean:
ORDER_... in runtime/order_words.py.

A bucket is a list of runs of ORDER_RUN entries. places[s] is where the next entry of bucket s goes, a multiple of
ORDER_RUN where a new run is needed; links tells for a run where the one before it ends, 0 for none. Run 0 is no run.
"""

from vlang.runtime.order_words import *


@inner
def meet(control, crew):
    """Wait until every worker is here; whether the work goes on."""
    if crew == 1:
        return True
    fence()
    turn = peek(control, ORDER_TURN)
    if fetch_add(control, ORDER_WAITING, 1) == crew - 1:
        poke(control, ORDER_WAITING, 0)
        fence()
        poke(control, ORDER_TURN, turn + 1)
    else:
        tries = i64(0)
        while peek(control, ORDER_TURN) == turn:
            if peek(control, ORDER_ABORT) != 0:
                return False
            tries += 1
            if tries > 512:
                give_way()
    fence()
    return True


@inner
def join_crew(control):
    """The number of a worker, and how many there are; -1 if the work does not begin."""
    me = fetch_add(control, ORDER_JOINED, 1)
    while peek(control, ORDER_CREW) == 0:
        if peek(control, ORDER_ABORT) != 0:
            return i64(-1), i64(0)
        give_way()
    fence()
    return me, i64(peek(control, ORDER_CREW))


@inner
def has_room(control, desk):
    """Whether a worker gets another run."""
    if desk[ORDER_FREE] != 0 or desk[ORDER_FRESH] != desk[ORDER_FRESH_END]:
        return True
    return control[ORDER_TAKEN] + ORDER_GRANT <= control[ORDER_RUNS]


@inner
def new_run(control, desk, links):
    """A run of entries; 0 if there are no more."""
    run = desk[ORDER_FREE]
    if run != 0:
        desk[ORDER_FREE] = links[run]
        return run
    if desk[ORDER_FRESH] == desk[ORDER_FRESH_END]:
        at = fetch_add(control, ORDER_TAKEN, ORDER_GRANT)
        if at + ORDER_GRANT > control[ORDER_RUNS]:
            return i64(0)
        desk[ORDER_FRESH] = at
        desk[ORDER_FRESH_END] = at + ORDER_GRANT
    desk[ORDER_FRESH] += 1
    return desk[ORDER_FRESH] - 1


@inner
def deposit(control, desk, places, links, entries, spilled, slot, v):
    """Put a vertex into a bucket; where there is no room, into the bitmap of those that wait for it."""
    at = places[slot]
    if at & (ORDER_RUN - 1) == 0:
        run = new_run(control, desk, links)
        if run == 0:
            poke(control, ORDER_SPILLED, 1)
            fetch_or(spilled, v >> 6, u64(1) << u64(v & 63))
            return
        links[run] = at
        at = run * ORDER_RUN
    entries[at] = u32(v)
    places[slot] = at + 1


@inner
def give_back(desk, links, run):
    links[run] = desk[ORDER_FREE]
    desk[ORDER_FREE] = run


@inner
def small_bucket(places, links, slot, most):
    """Whether a bucket has entries, but at most about `most`."""
    at = places[slot]
    if at == 0:
        return False
    size = i64(0)
    while at != 0 and size <= most:
        run = (at - 1) // ORDER_RUN
        size += at - run * ORDER_RUN
        at = links[run]
    return size <= most


@inner
def bucket_of(priority, scale):
    """The number of the bucket of a priority; those too large for one share the last."""
    scaled = priority * scale
    if scaled < -ORDER_FAR:
        return i64(-ORDER_FAR)
    if scaled < ORDER_FAR:
        return i64(scaled)
    return i64(ORDER_FAR)


@inner
def slot_of(bucket, base):
    """Where a bucket lies: ORDER_BUCKETS is the place of all that are further."""
    if bucket >= base + ORDER_BUCKETS:
        return i64(ORDER_BUCKETS)
    return max(bucket - base, i64(0))

"""Buckets of vertices by priority; each worker has its own. Layout: ORDER_... in runtime/plan/layouts/order_words.py.

A bucket is a list of runs of ORDER_RUN entries, all full except the newest. A list is represented by its end, the index
behind its last entry; it needs a new run where that is a multiple of ORDER_RUN. links has for each run the end of the
run before it, 0 for none. Run 0 is no run, and its entries are harmless. places[s] is the end of bucket s.
"""

import numpy as np

from vlang.emit.cpu.skeletons.holes import (
    Pointer,
    f64,
    fence,
    fetch_add,
    fetch_or,
    give_way,
    i64,
    inner,
    max,
    min,
    peek,
    pointer_i64,
    pointer_u64,
    poke,
    range,
    replace,
    u32,
    u64,
    value_f64,
)
from vlang.runtime.plan.layouts.order_words import (
    ORDER_BUCKETS,
    ORDER_FEW,
    ORDER_FREE,
    ORDER_FRESH,
    ORDER_FRESH_END,
    ORDER_GRANT,
    ORDER_HEAD,
    ORDER_IDLE,
    ORDER_LEAST,
    ORDER_LEVELS,
    ORDER_MOST,
    ORDER_MOVED,
    ORDER_OFFERS,
    ORDER_PLACE,
    ORDER_RUN,
    ORDER_RUNS,
    ORDER_SPILLED,
    ORDER_TAKEN,
    ORDER_WATCHED,
    ORDER_WORKERS,
)


@inner
def has_room(control: Pointer[i64], desk: Pointer[i64]) -> bool:
    """Whether another run is left for a worker."""
    if desk[ORDER_FREE] != 0 or desk[ORDER_FRESH] != desk[ORDER_FRESH_END]:
        return True
    return control[ORDER_TAKEN] + ORDER_GRANT <= control[ORDER_RUNS]


@inner
def new_run(control: Pointer[i64], desk: Pointer[i64], links: Pointer[i64]) -> i64:
    """A free run; 0 if there are no more."""
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
def deposit(
    control: Pointer[i64], desk: Pointer[i64], places: Pointer[i64], links: Pointer[i64], entries: Pointer[u32],
    spilled: Pointer[u64], slot: i64 | int, v: i64
) -> None:
    """Put a vertex into a bucket; if there is no run left, into the bitmap of vertices that wait for one."""
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
def give_back(desk: Pointer[i64], links: Pointer[i64], run: i64) -> None:
    links[run] = desk[ORDER_FREE]
    desk[ORDER_FREE] = run


@inner
def length_of(links: Pointer[i64], at: i64) -> i64:
    """The number of entries of a list."""
    count = i64(0)
    while at != 0:
        run = (at - 1) // ORDER_RUN
        count += at - run * ORDER_RUN
        at = links[run]
    return count


@inner
def put_on_offer(desk: Pointer[i64], at: i64, turn: i64) -> None:
    """Offer the runs of a list to all workers in a round; this worker must have no other offer.

    The number of the offer protects against reuse: a worker that takes a run compares it, so that a run which was
    freed and used again is not mistaken for the old one.
    """
    desk[ORDER_OFFERS] += 4
    fence()
    poke(desk, ORDER_HEAD, ((desk[ORDER_OFFERS] + turn) << ORDER_PLACE) | at)


@inner
def on_offer(desk: Pointer[i64], turn: i64) -> bool:
    """Whether a worker has runs on offer in a round."""
    head = peek(desk, ORDER_HEAD)
    return (head >> ORDER_PLACE) & 3 == turn and head & ((i64(1) << ORDER_PLACE) - 1) != 0


@inner
def take_run(desk: Pointer[i64], links: Pointer[i64], turn: i64) -> i64:
    """Take a run that a worker has on offer; returns the end of the run, 0 if there is none."""
    while True:
        head = peek(desk, ORDER_HEAD)
        at = head & ((i64(1) << ORDER_PLACE) - 1)
        if at == 0 or (head >> ORDER_PLACE) & 3 != turn:
            return i64(0)
        if replace(desk, ORDER_HEAD, head, head - at + peek(links, (at - 1) // ORDER_RUN)):
            fence()
            return at


@inner
def slot_of(priority: f64, origin: f64, scale: f64, least: f64) -> i64:
    """The bucket of a priority, at least `least`; ORDER_BUCKETS for priorities beyond the window."""
    return i64(min(max((priority - origin) * scale, least), f64(ORDER_BUCKETS)))


@inner
def bounded(priority: f64) -> f64:
    """A priority clamped to a finite number, so that differences are defined."""
    return max(min(priority, f64(ORDER_MOST)), f64(-ORDER_MOST))


@inner
def next_bucket(places: Pointer[i64], now: i64 | int) -> i64 | int:
    """The first bucket from `now` on that has entries; ORDER_MOVED if none has."""
    while now <= ORDER_BUCKETS and places[now] == 0:
        now += 1
    return now


@inner
def reported(table: Pointer[u64], crew: i64, word: i64 | int) -> i64:
    """The sum of a published word over all workers."""
    total = i64(0)
    for w in range(crew):
        total += pointer_i64(table, ORDER_WORKERS + 2 * w)[word]
    return total


@inner
def least_reported(table: Pointer[u64], crew: i64, word: i64 | int) -> i64:
    """The minimum of a published word over all workers."""
    least = i64(ORDER_MOVED)
    for w in range(crew):
        least = min(least, pointer_i64(table, ORDER_WORKERS + 2 * w)[word])
    return least


@inner
def least_origin(table: Pointer[u64], crew: i64) -> f64:
    """The least priority of vertices that wait for a window; infinite if there are none."""
    least = f64(np.inf)
    for w in range(crew):
        least = min(least, value_f64(pointer_u64(table, ORDER_WORKERS + 2 * w), ORDER_LEAST))
    return least


@inner
def find_run(table: Pointer[u64], links: Pointer[i64], me: i64, crew: i64, turn: i64) -> i64:
    """Take a run that another worker has on offer; 0 if there is none."""
    for w in range(1, crew):
        at = take_run(pointer_i64(table, ORDER_WORKERS + 2 * ((me + w) % crew)), links, turn)
        if at != 0:
            return at
    return i64(0)


@inner
def wait_for_runs(control: Pointer[i64], table: Pointer[u64], crew: i64, turn: i64) -> bool:
    """Wait until some worker has a run on offer, or all are waiting; returns whether one has."""
    fence()
    fetch_add(control, ORDER_IDLE + turn, 1)
    tries = i64(0)
    while peek(control, ORDER_IDLE + turn) != crew:
        for w in range(crew):
            if on_offer(pointer_i64(table, ORDER_WORKERS + 2 * w), turn):
                fetch_add(control, ORDER_IDLE + turn, -1)
                return True
        tries += 1
        if tries > 512:
            give_way()
    fence()
    return False


@inner
def change_of(pushed: i64, again: i64, crew: i64, level: i64) -> f64:
    """The factor for the scale after ORDER_WATCHED rounds.

    Buckets become narrower if a quarter of the vertices improve within the bucket from which they push, and wider if
    there is little work between two barriers.
    """
    if 4 * again > pushed and level > -ORDER_LEVELS:
        return 2.0
    if crew > 1 and pushed < ORDER_FEW * crew * ORDER_WATCHED and 16 * again < pushed and level < ORDER_LEVELS:
        return 0.5
    return 1.0

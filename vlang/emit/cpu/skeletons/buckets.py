"""Buckets of vertices by priority. Each worker has buckets of its own.

A bucket is a list of runs, which are arrays of ORDER_RUN entries; all runs are full except the newest. A list is
represented by its end, the index after its last entry. If the end is a multiple of ORDER_RUN, the next entry needs a
new run. For each run, `links` stores the end of the list before this run was added, or 0 for the first run of the list.
Run 0 is not used, so that 0 means "no run"; reads of the entries of run 0 are harmless. `places[s]` is the end of
bucket s.
Layout: ORDER_... in runtime/plan/layouts/order_words.py.
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
    """Return whether a free run is left for this worker."""
    if desk[ORDER_FREE] != 0 or desk[ORDER_FRESH] != desk[ORDER_FRESH_END]:
        return True
    return control[ORDER_TAKEN] + ORDER_GRANT <= control[ORDER_RUNS]


@inner
def new_run(control: Pointer[i64], desk: Pointer[i64], links: Pointer[i64]) -> i64:
    """Take a free run; returns 0 if no run is free."""
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
    """Add a vertex to a bucket.

    If no run is left, set the bit of the vertex in `spilled`, the bitmap of vertices that wait for a run.
    """
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
    """The number of entries in a list."""
    count = i64(0)
    while at != 0:
        run = (at - 1) // ORDER_RUN
        count += at - run * ORDER_RUN
        at = links[run]
    return count


@inner
def put_on_offer(desk: Pointer[i64], at: i64, turn: i64) -> None:
    """Offer the runs of a list to all workers in a round. Other workers must have taken all earlier offers of this
    worker.

    Each offer has a number, which a worker compares when it takes a run. Therefore a worker does not take a run that
    was freed and reused after the offer.
    """
    desk[ORDER_OFFERS] += 4
    fence()
    poke(desk, ORDER_HEAD, ((desk[ORDER_OFFERS] + turn) << ORDER_PLACE) | at)


@inner
def on_offer(desk: Pointer[i64], turn: i64) -> bool:
    """Return whether a worker offers runs in a round."""
    head = peek(desk, ORDER_HEAD)
    return (head >> ORDER_PLACE) & 3 == turn and head & ((i64(1) << ORDER_PLACE) - 1) != 0


@inner
def take_run(desk: Pointer[i64], links: Pointer[i64], turn: i64) -> i64:
    """Take a run that a worker offers.

    Returns the index after the last entry of the run, or 0 if the worker offers no run.
    """
    while True:
        head = peek(desk, ORDER_HEAD)
        at = head & ((i64(1) << ORDER_PLACE) - 1)
        if at == 0 or (head >> ORDER_PLACE) & 3 != turn:
            return i64(0)
        if replace(desk, ORDER_HEAD, head, head - at + peek(links, (at - 1) // ORDER_RUN)):
            fence()
            return at


@inner
def bucket_of(priority: f64, origin: f64, scale: f64, least: f64) -> i64:
    """Return the bucket of a priority, but no bucket before `least`; ORDER_BUCKETS for priorities beyond the window."""
    return i64(min(max((priority - origin) * scale, least), f64(ORDER_BUCKETS)))


@inner
def bounded(priority: f64) -> f64:
    """A priority clamped to a finite number, so that differences of priorities are not NaN."""
    return max(min(priority, f64(ORDER_MOST)), f64(-ORDER_MOST))


@inner
def next_bucket(places: Pointer[i64], now: i64 | int) -> i64 | int:
    """Return the first bucket that has entries and is not before bucket `now`; ORDER_MOVED if there is none."""
    while now <= ORDER_BUCKETS and places[now] == 0:
        now += 1
    return now


@inner
def reported(table: Pointer[u64], crew: i64, word: i64 | int) -> i64:
    """The sum over all workers of a word that each worker publishes."""
    total = i64(0)
    for w in range(crew):
        total += pointer_i64(table, ORDER_WORKERS + 2 * w)[word]
    return total


@inner
def least_reported(table: Pointer[u64], crew: i64, word: i64 | int) -> i64:
    """The minimum over all workers of a word that each worker publishes."""
    least = i64(ORDER_MOVED)
    for w in range(crew):
        least = min(least, pointer_i64(table, ORDER_WORKERS + 2 * w)[word])
    return least


@inner
def least_origin(table: Pointer[u64], crew: i64) -> f64:
    """The least priority of the vertices that wait for a new window; infinite if there are none."""
    least = f64(np.inf)
    for w in range(crew):
        least = min(least, value_f64(pointer_u64(table, ORDER_WORKERS + 2 * w), ORDER_LEAST))
    return least


@inner
def find_run(table: Pointer[u64], links: Pointer[i64], me: i64, crew: i64, turn: i64) -> i64:
    """Take a run that another worker offers. Return the result of `take_run`, or 0 if no worker offers a run."""
    for w in range(1, crew):
        at = take_run(pointer_i64(table, ORDER_WORKERS + 2 * ((me + w) % crew)), links, turn)
        if at != 0:
            return at
    return i64(0)


@inner
def wait_for_runs(control: Pointer[i64], table: Pointer[u64], crew: i64, turn: i64) -> bool:
    """Wait until a worker offers a run, or until all workers are waiting. Return whether a run is offered."""
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
    """Return the factor for the scale after ORDER_WATCHED rounds. The width of a bucket is 1 / scale.

    Buckets become narrower if at least a quarter of the pushes improve vertices of the same bucket. Buckets become
    wider if there is little work between two barriers.
    """
    if 4 * again > pushed and level > -ORDER_LEVELS:
        return 2.0
    if crew > 1 and pushed < ORDER_FEW * crew * ORDER_WATCHED and 16 * again < pushed and level < ORDER_LEVELS:
        return 0.5
    return 1.0

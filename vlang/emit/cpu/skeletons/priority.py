"""A loop in priority order (rule O): vertices push bucket by bucket, and values are updated in place.

The algorithm is delta-stepping (Meyer, Sanders: Delta-stepping: a parallelizable shortest path algorithm, Journal of
Algorithms 49, 2003), with separate buckets for each worker (Beamer, Asanovic, Patterson: The GAP benchmark suite,
2015). A worker first empties its own part of a bucket, including vertices that are added in the meantime. Then the
worker steals runs of entries from other workers. So a worker mostly processes vertices that it has found itself, and
waits only when the bucket is empty (Blumofe, Leiserson: Scheduling multithreaded computations by work stealing, JACM
46, 1999). The width of buckets is adapted during the run (`change_of`).

The following functions are generated from the program. `joined_part` computes the common part of all contributions of a
vertex. `along` reads the values of an edge. `offer` joins a contribution into the receiver. `rank` is the priority of a
vertex; the vertex with the least priority is processed first. `silent` tests whether a vertex contributes nothing.
`near_vertex` and `near_edge` prefetch data of a vertex and of an edge. If `shift` is not 0, an edge is one word of
`targets`: the low `shift` bits are the receiver, and the higher bits are the value of the edge column.

A vertex whose value is in the range of a later bucket is in that bucket, unless some vertex had to wait for a free run
(`unsure`). So a vertex need not be added again if its new value is still in the range of its bucket. All workers run
`priority` at the same time. Each worker publishes some words (its desk). All workers read the same published words, so
they make the same decisions. Published words do not change before all workers have passed the barrier.
"""

import numpy as np

from vlang.emit.cpu.skeletons.buckets import (
    bounded,
    bucket_of,
    change_of,
    deposit,
    find_run,
    give_back,
    has_room,
    least_origin,
    least_reported,
    length_of,
    next_bucket,
    put_on_offer,
    reported,
    take_run,
    wait_for_runs,
)
from vlang.emit.cpu.skeletons.holes import (
    Columns,
    Env,
    Frame,
    Pointer,
    along,
    bind,
    bind_columns,
    f64,
    fetch_add,
    i64,
    inner,
    joined_part,
    min,
    near_edge,
    near_vertex,
    offer,
    peek,
    pointer_i64,
    pointer_u32,
    pointer_u64,
    poke,
    prefetch,
    range,
    rank,
    silent,
    store_f64,
    u32,
    u64,
    value_f64,
    value_i64,
)
from vlang.emit.cpu.skeletons.meeting import meet
from vlang.runtime.plan.layouts.meet_words import MEET_CREW, MEET_JOINED
from vlang.runtime.plan.layouts.order_words import (
    ORDER_AGAIN,
    ORDER_AHEAD,
    ORDER_BOUND,
    ORDER_BUCKETS,
    ORDER_CURSOR,
    ORDER_EDGES,
    ORDER_ENTRIES,
    ORDER_FILLING,
    ORDER_FIRST,
    ORDER_FIXED,
    ORDER_IDLE,
    ORDER_LEAST,
    ORDER_LEFT,
    ORDER_LEVEL,
    ORDER_LINE,
    ORDER_LINKS,
    ORDER_MOVED,
    ORDER_NEAR,
    ORDER_NEXT,
    ORDER_NOW,
    ORDER_ORIGIN,
    ORDER_POOL,
    ORDER_PUSHED,
    ORDER_REACHED,
    ORDER_RECORDED,
    ORDER_RECORDS,
    ORDER_REPORT,
    ORDER_REPORTS,
    ORDER_ROUNDS,
    ORDER_RUN,
    ORDER_SCALE,
    ORDER_SHIFT,
    ORDER_SPILLED,
    ORDER_TARGET,
    ORDER_UNSURE,
    ORDER_VERTICES,
    ORDER_WAITERS,
    ORDER_WATCHED,
    ORDER_WORKERS,
)
from vlang.runtime.plan.plan import PAGE_OFFSETS, PAGE_TARGETS


@inner
def expand(
    env: Env, columns: Columns, offsets: Pointer[u64], targets: Pointer[u32], shift: i64, control: Pointer[i64],
    desk: Pointer[i64], places: Pointer[i64], links: Pointer[i64], entries: Pointer[u32], spilled: Pointer[u64],
    u: i64, origin: f64, scale: f64, now: i64, unsure: bool
) -> tuple[i64, i64]:
    """Push from vertex u. Return the number of its edges, and the number of improved vertices in the current bucket."""
    low, high = i64(offsets[u]), i64(offsets[u + 1])
    again, least, k = i64(0), f64(now), low
    part, receivers = joined_part(env, u), (i64(1) << (shift if shift != 0 else i64(32))) - 1
    while k < high:
        word = i64(targets[k])
        v = word & receivers
        better, before, after = offer(env, part, along(columns, word, shift, k), v, u)
        k += 1
        if better:
            slot, was = bucket_of(after, origin, scale, least), bucket_of(before, origin, scale, least)
            if slot == now:
                again += i64(was == now)
            if slot == now or slot != was or unsure or before == np.inf:
                deposit(control, desk, places, links, entries, spilled, slot, v)
    return high - low, again


@inner
def approach(
    env: Env, columns: Columns, offsets: Pointer[u64], targets: Pointer[u32], shift: i64, entries: Pointer[u32],
    i: i64, end: i64, below: i64
) -> None:
    """Prefetch data of the next vertices of a list: first the bounds of their rows, later their edges.

    i: the index of the current vertex in its run, which ends at `end`. below: the first index of the next run.
    """
    at = i + 2 * ORDER_AHEAD
    u = i64(entries[at if at < end else below + (at - end)])
    prefetch(offsets, u)
    near_vertex(env, u)
    at = i + ORDER_AHEAD
    u = i64(entries[at if at < end else below + (at - end)])
    k = i64(offsets[u])
    high = min(i64(offsets[u + 1]), k + ORDER_NEAR)  # for a longer row, the hardware prefetches the rest
    while k < high:
        prefetch(targets, k)
        if shift == 0:
            near_edge(columns, k)
        k += ORDER_LINE


@inner
def enter_all(
    env: Env, control: Pointer[i64], desk: Pointer[i64], places: Pointer[i64], links: Pointer[i64],
    entries: Pointer[u32], spilled: Pointer[u64], n: i64, filling: i64
) -> None:
    """Add vertices to the list for the next window.

    If `filling` is 1, add all vertices that contribute something (rule Z). If `filling` is 2 or 3, add the vertices
    whose bit in `spilled` is set, and clear the bit.
    """
    while True:
        if filling >= 2 and not has_room(control, desk):
            poke(control, ORDER_SPILLED, 1)  # another worker with free runs, or a later call, adds the rest
            break
        word = fetch_add(control, ORDER_CURSOR, 64)
        if word * 64 >= n:
            break
        for w in range(word, min(word + 64, (n + 63) >> 6)):
            there = ~u64(0)
            if filling >= 2:
                there = spilled[w]
                spilled[w] = u64(0)
            if there == 0:
                continue
            for v in range(64 * w, min(64 * w + 64, n)):
                if (there >> u64(v & 63)) & u64(1) != 0 and (filling >= 2 or not silent(env, v)):
                    deposit(control, desk, places, links, entries, spilled, ORDER_MOVED, v)


@inner
def collect(
    env: Env, control: Pointer[i64], desk: Pointer[i64], places: Pointer[i64], links: Pointer[i64],
    entries: Pointer[u32], spilled: Pointer[u64], first: i64, origin: f64, scale: f64
) -> None:
    """Move the vertices of bucket `first` and of later buckets to the list for the next window, except outdated
    entries.
    """
    for slot in range(first, ORDER_BUCKETS + 1):
        at = places[slot]
        places[slot] = 0
        while at != 0:
            run = (at - 1) // ORDER_RUN
            for i in range(run * ORDER_RUN, at):
                v = i64(entries[i])
                if bucket_of(bounded(rank(env, v)), origin, scale, f64(-1.0)) == slot:
                    deposit(control, desk, places, links, entries, spilled, ORDER_MOVED, v)
            at = links[run]
            give_back(desk, links, run)


@inner
def first_of(env: Env, places: Pointer[i64], links: Pointer[i64], entries: Pointer[u32]) -> f64:
    """The least priority in the list for the next window; infinite if the list is empty."""
    least = f64(np.inf)
    at = places[ORDER_MOVED]
    while at != 0:
        run = (at - 1) // ORDER_RUN
        for i in range(run * ORDER_RUN, at):
            least = min(least, bounded(rank(env, i64(entries[i]))))
        at = links[run]
    return least


@inner
def spread(
    env: Env, control: Pointer[i64], desk: Pointer[i64], places: Pointer[i64], links: Pointer[i64],
    entries: Pointer[u32], spilled: Pointer[u64], origin: f64, scale: f64
) -> None:
    """Move the vertices of the list for the next window to the buckets of this window."""
    at = places[ORDER_MOVED]
    places[ORDER_MOVED] = 0
    while at != 0:
        run = (at - 1) // ORDER_RUN
        for i in range(run * ORDER_RUN, at):
            v = i64(entries[i])
            slot = bucket_of(bounded(rank(env, v)), origin, scale, f64(0.0))
            deposit(control, desk, places, links, entries, spilled, slot, v)
        at = links[run]
        give_back(desk, links, run)


@inner
def empty_bucket(
    env: Env, columns: Columns, offsets: Pointer[u64], targets: Pointer[u32], shift: i64, control: Pointer[i64],
    table: Pointer[u64], desk: Pointer[i64], places: Pointer[i64], links: Pointer[i64], entries: Pointer[u32],
    spilled: Pointer[u64], me: i64, crew: i64, turn: i64, origin: f64, scale: f64, now: i64, unsure: bool
) -> None:
    """Push from the runs of a bucket, then from runs that other workers offer, until no runs are left."""
    reports = ORDER_REPORTS + ORDER_REPORT * turn
    while True:
        at = take_run(desk, links, turn)
        if at == 0 and places[now] != 0:
            put_on_offer(desk, places[now], turn)
            places[now] = 0
            continue
        if at == 0:
            at = find_run(table, links, me, crew, turn)
        if at == 0:
            desk[reports + ORDER_NEXT] = next_bucket(places, now)
            if not wait_for_runs(control, table, crew, turn):
                return
            continue
        run = (at - 1) // ORDER_RUN
        below = (links[run] - 1) // ORDER_RUN * ORDER_RUN if links[run] != 0 else i64(0)
        edges, pushed, again = i64(0), i64(0), i64(0)
        for i in range(run * ORDER_RUN, at):
            u = i64(entries[i])
            approach(env, columns, offsets, targets, shift, entries, i, at, below)
            if (bounded(rank(env, u)) - origin) * scale >= f64(now):  # otherwise it has already pushed
                along, bettered = expand(env, columns, offsets, targets, shift, control, desk, places, links, entries,
                                         spilled, u, origin, scale, now, unsure)
                edges += along
                again += bettered
                pushed += 1
        give_back(desk, links, run)
        desk[reports + ORDER_EDGES] += edges
        desk[reports + ORDER_PUSHED] += pushed
        desk[reports + ORDER_AGAIN] += again


def priority(frame: Frame, control: Pointer[i64], table: Pointer[u64]) -> None:
    me, crew = fetch_add(control, MEET_JOINED, 1), control[MEET_CREW]
    env = bind(frame)
    columns = bind_columns(table, 0)
    offsets = pointer_u64(table, PAGE_OFFSETS)
    targets, shift = pointer_u32(table, PAGE_TARGETS), value_i64(table, ORDER_SHIFT)
    desk = pointer_i64(table, ORDER_WORKERS + 2 * me)
    places = pointer_i64(table, ORDER_WORKERS + 2 * me + 1)
    links = pointer_i64(table, ORDER_LINKS)
    entries = pointer_u32(table, ORDER_POOL)
    spilled = pointer_u64(table, ORDER_WAITERS)
    records = pointer_i64(table, ORDER_RECORDS)
    origin, scale = value_f64(table, ORDER_ORIGIN), value_f64(table, ORDER_SCALE)
    target, level, bound = control[ORDER_TARGET], control[ORDER_LEVEL], value_f64(table, ORDER_BOUND)
    filling, unsure, now = control[ORDER_FILLING], control[ORDER_UNSURE] != 0, control[ORDER_NOW]
    turn, rounds, watched, pushed, again, change = i64(0), i64(0), i64(0), i64(0), i64(0), 1.0
    reached = False
    if filling != 0:
        enter_all(env, control, desk, places, links, entries, spilled, control[ORDER_VERTICES], filling)
    fits = False  # below is one call each of `collect` and `spread`, so that the compiler inlines them only once
    if filling == 3:  # buckets keep their entries, unless a vertex that is entered comes before the window
        store_f64(pointer_u64(table, ORDER_WORKERS + 2 * me), ORDER_LEAST, first_of(env, places, links, entries))
        meet(control, crew)
        fits = now != ORDER_MOVED and least_origin(table, crew) >= origin
    while True:
        while now == ORDER_BUCKETS or change != 1.0 or filling != 0:
            if not fits:
                if filling == 0 or filling == 3:
                    collect(env, control, desk, places, links, entries, spilled, now, origin, scale)
                scale, change = scale * change, 1.0
                least = first_of(env, places, links, entries)
                store_f64(pointer_u64(table, ORDER_WORKERS + 2 * me), ORDER_LEAST, least)
                meet(control, crew)
                origin = least_origin(table, crew)
            filling, fits = i64(0), False
            spread(env, control, desk, places, links, entries, spilled, origin, scale)
            desk[ORDER_FIRST] = next_bucket(places, 0)
            meet(control, crew)
            now = least_reported(table, crew, ORDER_FIRST)
        if target >= 0:  # a vertex that waits for a run may still improve the target
            reached = peek(control, ORDER_SPILLED) == 0 and \
                bucket_of(bounded(rank(env, target)), origin, scale, f64(-1.0)) < now
            meet(control, crew)
        if now == ORDER_MOVED or reached or rounds == control[ORDER_ROUNDS] or origin + f64(now) / scale >= bound:
            break
        reports = ORDER_REPORTS + ORDER_REPORT * turn
        at = places[now]
        places[now] = 0
        desk[reports + ORDER_ENTRIES] = length_of(links, at)
        put_on_offer(desk, at, turn)
        desk[reports + ORDER_EDGES] = desk[reports + ORDER_PUSHED] = desk[reports + ORDER_AGAIN] = 0
        empty_bucket(env, columns, offsets, targets, shift, control, table, desk, places, links, entries, spilled, me,
                     crew, turn, origin, scale, now, unsure)
        if me == 0:
            control[ORDER_IDLE + (turn + 2) % 3] = 0
            records[2 * rounds + 1] = reported(table, crew, reports + ORDER_EDGES)
            if rounds > 0:
                records[2 * rounds - 2] = reported(table, crew, reports + ORDER_ENTRIES)
        pushed += reported(table, crew, reports + ORDER_PUSHED)
        again += reported(table, crew, reports + ORDER_AGAIN)
        now = least_reported(table, crew, reports + ORDER_NEXT)
        rounds, watched, turn = rounds + 1, watched + 1, (turn + 1) % 3
        if watched == ORDER_WATCHED and now < ORDER_BUCKETS:
            if control[ORDER_FIXED] == 0:
                change = change_of(pushed, again, crew, level)
            level += i64(change < 1.0) - i64(change > 1.0)
            watched, pushed, again = i64(0), i64(0), i64(0)
    desk[ORDER_LEFT] = length_of(links, places[now]) if now < ORDER_BUCKETS and not reached else i64(0)
    meet(control, crew)
    if me == 0:
        if rounds == 0:  # no vertex was added
            records[1] = 0
            rounds += 1
        records[2 * rounds - 2] = reported(table, crew, ORDER_LEFT)
        store_f64(table, ORDER_ORIGIN, origin)
        store_f64(table, ORDER_SCALE, scale)
        control[ORDER_NOW], control[ORDER_LEVEL] = now, level
        control[ORDER_RECORDED], control[ORDER_REACHED] = rounds, i64(reached)

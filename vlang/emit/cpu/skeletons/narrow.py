"""Supersteps over a narrow uniform frontier (see reach.py), with queues; one call runs many supersteps.

Each worker pushes from the vertices that it found itself, and appends the vertices that it finds to its own queue. If
one worker found many more vertices than the others, all workers push from equal shares of all queues instead. If
several workers found the same vertex, one worker keeps the vertex. After a barrier, the other workers remove the vertex
from their queues. After a second barrier, all workers know the number of vertices. No vertex or edge needs an atomic
operation. If few vertices are found, worker 0 continues alone, and the others wait for worker 0 at the second barrier.
"""

from typing import Any

from vlang.emit.cpu.skeletons.holes import (
    Env,
    Frame,
    Pointer,
    bind,
    bind_columns,
    fetch_add,
    give_way,
    i64,
    inner,
    level,
    lowest,
    max,
    min,
    peek_first,
    pointer_i64,
    pointer_u8,
    pointer_u32,
    pointer_u64,
    poke_last,
    prefetch,
    range,
    renew,
    u8,
    u32,
    u64,
    value_i64,
)
from vlang.emit.cpu.skeletons.reach import cut
from vlang.runtime.plan.layouts.meet_words import MEET_CREW, MEET_JOINED
from vlang.runtime.plan.layouts.reach_words import (
    REACH_ACTIVE,
    REACH_AHEAD,
    REACH_COUNTS,
    REACH_DESK,
    REACH_DESKS,
    REACH_EDGES,
    REACH_FEW,
    REACH_FINDERS,
    REACH_FRONT,
    REACH_HERE,
    REACH_LONG,
    REACH_LONGS,
    REACH_MOST,
    REACH_ONE,
    REACH_PUSHED,
    REACH_QUEUES,
    REACH_RAN,
    REACH_RECORDS,
    REACH_ROOM,
    REACH_ROUNDS,
    REACH_ROWS,
    REACH_SENDER,
    REACH_SIDE,
    REACH_SUPERSTEPS,
    REACH_THEIRS,
    REACH_TURN,
    REACH_TURNS,
    REACH_VERTICES,
)
from vlang.runtime.plan.plan import PAGE_OFFSETS, PAGE_TARGETS


@inner
def wait_for(control: Pointer[i64], word: i64 | int, crew: i64, turn: i64) -> None:
    """Wait until a word of every worker has reached the value `turn`."""
    for w in range(crew):
        tries = i64(0)
        while peek_first(control, REACH_DESKS + REACH_DESK * w + word) < turn:
            tries += 1
            if tries > 512:
                give_way()


@inner
def send_on(
    env: Env, targets: Pointer[u32], queue: Pointer[u32], rows: Pointer[u64], place: i64, finders: Pointer[u8],
    first: i64, last: i64, at: i64, value: Any, me: i64, spare: i64, several: bool
) -> i64:
    """Push from queue entries. The bounds of their rows begin at index `place`.

    Append the vertices found to the queue, beginning at index `at`. Return the new end of the queue.
    """
    for i in range(first, last):
        prefetch(targets, i64(rows[place + 2 * i + 2 * REACH_AHEAD]))
        for k in range(rows[place + 2 * i], rows[place + 2 * i + 1]):
            v = i64(targets[i64(k)])
            queue[at] = u32(v)
            new = renew(env, v, value)
            if several:
                finders[v if new else spare] = u8(me)
            at += i64(new)  # no branch, because it would often be mispredicted
    return at


@inner
def look_up(
    offsets: Pointer[u64], queue: Pointer[u32], rows: Pointer[u64], place: i64, finders: Pointer[u8], at: i64,
    end: i64, me: i64, several: bool
) -> tuple[i64, i64]:
    """Copy the bounds of the rows of queue[at:end] to `rows`. The reads do not depend on each other, so they overlap.

    If several workers run, the same vertex may be in the queues of two workers. The worker in `finders` keeps the
    entry, and the other worker removes the entry from its queue.

    Returns: The number of remaining entries, and the number of their edges.
    """
    kept, edges = i64(0), i64(0)
    for i in range(at, end):
        v = i64(queue[i])
        rows[place + 2 * kept], rows[place + 2 * kept + 1] = offsets[v], offsets[v + 1]
        mine = i64(1)
        if several:
            queue[at + kept] = u32(v)
            mine = i64(finders[v] == u8(me))
        edges += i64(offsets[v + 1] - offsets[v]) * mine
        kept += mine
    return kept, edges


@inner
def rows_of(table: Pointer[u64], worker: i64, side: i64) -> i64:
    """Return the index in `rows` at which the bounds of the rows of a queue begin."""
    return (2 * worker + side) * 2 * (value_i64(table, REACH_ROOM) + REACH_AHEAD)


@inner
def share(
    env: Env, control: Pointer[i64], table: Pointer[u64], queue: Pointer[u32], rows: Pointer[u64], words: i64,
    me: i64, several: bool, parts: i64, first: i64, last: i64, at: i64, value: Any
) -> i64:
    """Push from a share of the vertices that the first `parts` workers found. The share is [first, last) of all these
    vertices, numbered worker by worker.

    The function appends the vertices that it finds to the queue of this worker, beginning at index `at`. Returns: The
    new end of the queue.
    """
    targets, finders = pointer_u32(table, PAGE_TARGETS), pointer_u8(table, REACH_FINDERS)
    spare = value_i64(table, REACH_VERTICES) + 64 * (me + 1)  # an unused entry in a cache line of its own
    for w in range(parts):
        desk = words + REACH_DESK * w
        count = control[desk + REACH_HERE]
        at = send_on(env, targets, queue, rows, rows_of(table, w, control[desk + REACH_SIDE]), finders, max(first, 0),
                     min(last, count), at, value, me, spare, several)
        first -= count
        last -= count
    return at


@inner
def hand_over(
    control: Pointer[i64], table: Pointer[u64], queue: Pointer[u32], rows: Pointer[u64], front: Pointer[u64],
    longs: Pointer[u64], counts: Pointer[i64], words: i64, crew: i64
) -> None:
    """Set the bits of all vertices that the workers found; the bits are in the bitmap of the frontier."""
    room = value_i64(table, REACH_ROOM)
    for w in range(crew):
        desk = words + REACH_DESK * w
        at = (2 * w + control[desk + REACH_SIDE]) * room
        place = rows_of(table, w, control[desk + REACH_SIDE])
        for i in range(control[desk + REACH_HERE]):
            v = i64(queue[at + i])
            front[v >> 6] |= u64(1) << u64(v & 63)
            counts[REACH_ONE] = v
            degree = i64(rows[place + 2 * i + 1] - rows[place + 2 * i])
            if degree > REACH_LONG:
                cut(longs, counts, v, degree)


@inner
def take_out(front: Pointer[u64], queue: Pointer[u32], n: i64) -> i64:
    """Move the vertices of the frontier from the bitmap to a queue; returns their number."""
    active = i64(0)
    for w in range((n + 63) >> 6):
        there = front[w]
        front[w] = u64(0)
        while there != u64(0):
            queue[active] = u32(64 * w + lowest(there))
            active += 1
            there &= there - u64(1)
    return active


def narrow(frame: Frame, control: Pointer[i64], table: Pointer[u64]) -> None:
    me, crew = fetch_add(control, MEET_JOINED, 1), control[MEET_CREW]
    env = bind(frame)
    columns = bind_columns(table, 0)
    offsets = pointer_u64(table, PAGE_OFFSETS)
    front = pointer_u64(table, REACH_FRONT)
    queue, rows = pointer_u32(table, REACH_QUEUES), pointer_u64(table, REACH_ROWS)
    finders = pointer_u8(table, REACH_FINDERS)
    counts = pointer_i64(table, REACH_COUNTS)
    records = pointer_i64(table, REACH_RECORDS)
    sender = value_i64(table, REACH_SENDER)
    limit, most = control[REACH_ROUNDS], control[REACH_MOST]
    room, few = value_i64(table, REACH_ROOM), min(most, REACH_FEW)
    turn, side, rounds, shared, alone = i64(1), i64(0), i64(0), False, False
    at = 2 * me * room
    end = at + take_out(front, queue, value_i64(table, REACH_VERTICES)) if me == 0 else at
    while True:
        here, edges = look_up(offsets, queue, rows, rows_of(table, me, side), finders, at, end, me, shared)
        words = REACH_DESKS + REACH_TURNS * (turn & 1)
        desk = words + REACH_DESK * me
        control[desk + REACH_HERE], control[desk + REACH_THEIRS] = here, edges
        control[desk + REACH_SIDE], control[desk + REACH_RAN] = side, rounds
        alone = alone and here != 0 and here + edges < few and rounds != limit
        parts = i64(1) if alone else crew
        if not alone:
            poke_last(control, desk + REACH_TURN, turn)
            wait_for(control, words - REACH_DESKS + REACH_TURN, crew, turn)
        rounds, active, edges, before, longest = control[words + REACH_RAN], i64(0), i64(0), i64(0), i64(0)
        for w in range(parts):
            desk = words + REACH_DESK * w
            found = control[desk + REACH_HERE]
            if found != 0 and (w == me or active == 0):  # the worker's own queue is in its cache
                sender = i64(queue[(2 * w + control[desk + REACH_SIDE]) * room])
            before += found if w < me else i64(0)
            active += found
            edges += control[desk + REACH_THEIRS]
            longest = max(longest, found)
        if me == 0 and rounds > 0:
            records[2 * rounds - 2] = active
        if rounds > 0 and (active == 0 or rounds == limit or active + edges >= most):
            break
        if me == 0:
            records[2 * rounds + 1] = edges
        value, news = level(env, columns, sender)
        shared = crew > 1 and active + edges >= few
        at = (2 * me + 1 - side) * room
        first, last = i64(0), active if me == 0 and not shared else i64(0)
        if shared and 4 * crew * longest > 5 * active:
            first, last = active * me // crew, active * (me + 1) // crew
        elif shared:  # the vertices that the worker found itself are in its cache
            first, last = before, before + here
        end = share(env, control, table, queue, rows, words, me, shared, parts, first, last if news else first, at,
                    value)
        if shared:
            poke_last(control, REACH_DESKS + REACH_DESK * me + REACH_PUSHED, turn)
            wait_for(control, REACH_PUSHED, crew, turn)
        turn += i64(not alone)
        rounds, side, alone = rounds + 1, 1 - side, me == 0 and not shared
    if me == 0:
        hand_over(control, table, queue, rows, front, pointer_u64(table, REACH_LONGS), counts, words, crew)
        counts[REACH_ACTIVE], counts[REACH_EDGES], counts[REACH_SUPERSTEPS] = active, edges, rounds

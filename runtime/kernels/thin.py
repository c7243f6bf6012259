"""Thin supersteps: notify-pull over few vertices, many supersteps in one call, by one worker.

The kernel calls the kernels of the program (messages, and the pass over listed vertices) by their addresses. So the
same compiled kernel serves every program. Tables: runtime/plan/layouts/thin_words.py.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import (
    call_words,
    inner,
    lowest,
    pointer_i64,
    pointer_u8,
    pointer_u32,
    pointer_u64,
    value_i64,
)
from vlang.runtime.plan.layouts.crew_words import CREW_ARGS, CREW_COUNT, CREW_COUNTER, CREW_FUNCTION
from vlang.runtime.plan.layouts.thin_words import (
    THIN_ACTIVE,
    THIN_CHANGED,
    THIN_CREW,
    THIN_ENTRIES,
    THIN_FIRSTS,
    THIN_FLAGS,
    THIN_FRAME,
    THIN_FULL,
    THIN_MARKS,
    THIN_MOST,
    THIN_NOTIFIED,
    THIN_OFFSETS,
    THIN_PAGES,
    THIN_PULL,
    THIN_PULLED,
    THIN_QUEUE,
    THIN_RAN,
    THIN_RECORDS,
    THIN_ROUNDS,
    THIN_ROW,
    THIN_ROWS,
    THIN_SEND,
    THIN_STATUS,
    THIN_SWAPPED,
    THIN_SWAPS,
    THIN_TARGETS,
    THIN_TASKS,
    THIN_TODO,
    THIN_TOTAL,
)
from vlang.runtime.plan.plan import SEGMENT, SLOT_LIST, SLOT_STATS


@inner
def reached_by(table, entries):
    """The number of edges along which the vertices of the queue notify."""
    queue, flags = pointer_u32(table, THIN_QUEUE), pointer_u8(table, THIN_FLAGS)
    offsets = pointer_u64(table, THIN_OFFSETS)
    reached = np.int64(0)
    for i in range(entries):
        v = np.int64(queue[i])
        if flags[v] & 1:
            reached += np.int64(offsets[v + 1] - offsets[v])
    return reached


@inner
def receivers_of(table, entries):
    """Store the vertices that must run in the list THIN_TODO; returns their number. Their marks are 1 afterwards."""
    queue, flags = pointer_u32(table, THIN_QUEUE), pointer_u8(table, THIN_FLAGS)
    offsets, targets = pointer_u64(table, THIN_OFFSETS), pointer_u32(table, THIN_TARGETS)
    todo, marks = pointer_u32(table, THIN_TODO), pointer_u8(table, THIN_MARKS)
    count = np.int64(0)
    for i in range(entries):
        v = np.int64(queue[i])
        if flags[v] & 2 and marks[v] == 0:
            marks[v] = 1
            todo[count] = v
            count += 1
        if flags[v] & 1:
            for k in range(offsets[v], offsets[v + 1]):
                u = np.int64(targets[np.int64(k)])
                if marks[u] == 0:
                    marks[u] = 1
                    todo[count] = u
                    count += 1
    return count


@inner
def pulled_by(table, count):
    """Clear the marks of listed vertices; returns the number of edges that they gather, or -1 if a row is too long."""
    todo, marks, rows = pointer_u32(table, THIN_TODO), pointer_u8(table, THIN_MARKS), pointer_u64(table, THIN_ROWS)
    pulled, longest = np.int64(0), np.int64(0)
    for i in range(count):
        v = np.int64(todo[i])
        marks[v] = 0
        degree = np.int64(rows[v + 1] - rows[v])
        pulled += degree
        longest = max(longest, degree)
    return pulled if longest <= SEGMENT else np.int64(-1)


@inner
def cut(table, count):
    """Cut the list of vertices into tasks, each within one page; returns the number of tasks."""
    todo, tasks, firsts = pointer_u32(table, THIN_TODO), pointer_i64(table, THIN_TASKS), pointer_i64(table, THIN_FIRSTS)
    pages = value_i64(table, THIN_PAGES)
    made, page = np.int64(0), np.int64(0)
    for i in range(count):
        v = np.int64(todo[i])
        if i == 0 or v < firsts[page] or (page + 1 < pages and firsts[page + 1] <= v):
            low, high = np.int64(0), pages
            while high - low > 1:
                middle = (low + high) >> 1
                if firsts[middle] <= v:
                    low = middle
                else:
                    high = middle
            page = low
            tasks[3 * made] = page
            tasks[3 * made + 1] = i
            made += 1
        tasks[3 * made - 1] = i + 1
    return made


@inner
def run(table, kernel, listed, count):
    """Call a kernel of the program over the list at the word `listed`, with `count` tasks; returns its status."""
    words, frame = pointer_i64(table, THIN_CREW), pointer_u64(table, THIN_FRAME)
    frame[SLOT_LIST] = table[listed]
    words[CREW_FUNCTION] = value_i64(table, kernel)
    words[CREW_COUNT] = 4
    words[CREW_COUNTER] = 0
    words[CREW_ARGS] = value_i64(table, THIN_FRAME)
    words[CREW_ARGS + 1] = value_i64(table, THIN_TASKS)
    words[CREW_ARGS + 2] = count
    words[CREW_ARGS + 3] = value_i64(table, THIN_CREW) + 8 * CREW_COUNTER
    return call_words(words)


@inner
def send_all(table, entries):
    """Compute the messages of the vertices of the queue; returns the status of the kernel."""
    status = np.int64(0)
    if value_i64(table, THIN_SEND) != 0:
        tasks = pointer_i64(table, THIN_TASKS)
        tasks[0] = 0
        tasks[1] = 0
        tasks[2] = entries
        status = run(table, THIN_SEND, THIN_QUEUE, 1)
    return status


@inner
def store(table, count):
    """Copy the new values of listed vertices, so that both buffers of each field are equal again."""
    todo, swaps = pointer_u32(table, THIN_TODO), pointer_u64(table, THIN_SWAPS)
    for field in range(value_i64(table, THIN_SWAPPED)):
        size = value_i64(swaps, 3 * field + 2)
        if size & 3:
            now, new = pointer_u8(swaps, 3 * field), pointer_u8(swaps, 3 * field + 1)
            for i in range(count):
                first = np.int64(todo[i]) * size
                for k in range(first, first + size):
                    now[k] = new[k]
        else:
            now_words, new_words, width = pointer_u32(swaps, 3 * field), pointer_u32(swaps, 3 * field + 1), size >> 2
            for i in range(count):
                first = np.int64(todo[i]) * width
                for k in range(first, first + width):
                    now_words[k] = new_words[k]


@inner
def queued(table, count):
    """Store the listed vertices that have flags in the queue; returns their number."""
    queue, todo, flags = pointer_u32(table, THIN_QUEUE), pointer_u32(table, THIN_TODO), pointer_u8(table, THIN_FLAGS)
    entries = np.int64(0)
    for i in range(count):
        v = np.int64(todo[i])
        if flags[v] != 0:
            queue[entries] = v
            entries += 1
    return entries


def queued_flags(words, count, queue):
    """Store the vertices whose flags are not 0 in the queue; returns their number.

    A word of `words` has the flags of eight vertices.
    """
    entries = np.int64(0)
    for w in range(count):
        word = words[w]
        while word != 0:
            byte = lowest(word) >> 3
            queue[entries] = 8 * w + byte
            entries += 1
            word &= ~(np.uint64(255) << np.uint64(8 * byte))
    return entries


def thin(table, control):
    """Run supersteps until no vertex is active, or the next superstep has too many vertices or edges, or costs too
    much.

    If a superstep is not run, the flags stay unchanged, so that another way can run the superstep.
    """
    queue, flags = pointer_u32(table, THIN_QUEUE), pointer_u8(table, THIN_FLAGS)
    records = pointer_i64(table, THIN_RECORDS)
    stats = pointer_i64(pointer_u64(table, THIN_FRAME), SLOT_STATS)
    entries, ran, total, status = control[THIN_ENTRIES], np.int64(0), np.int64(0), np.int64(0)
    most, active = control[THIN_MOST], np.int64(1)
    while ran < control[THIN_ROUNDS] and total < control[THIN_TOTAL] and active != 0 and status == 0:
        reached = reached_by(table, entries)
        if reached + entries > most:
            break
        count = receivers_of(table, entries)
        pulled = pulled_by(table, count)
        cost = reached * control[THIN_NOTIFIED] + count * control[THIN_ROW] + pulled * control[THIN_PULLED]
        if pulled < 0 or pulled + count > most or cost > control[THIN_FULL]:
            break
        status = send_all(table, entries)
        for i in range(entries):
            flags[np.int64(queue[i])] = 0
        stats[0] = 0
        stats[1] = 0
        if status == 0:
            status = run(table, THIN_PULL, THIN_TODO, cut(table, count))
        store(table, count)
        entries = queued(table, count)
        active = stats[1]
        records[2 * ran] = active
        records[2 * ran + 1] = reached + pulled
        total += reached + pulled + count
        ran += 1
        control[THIN_CHANGED] = stats[0]
        control[THIN_ACTIVE] = active
    control[THIN_ENTRIES] = entries
    control[THIN_RAN] = ran
    control[THIN_STATUS] = status

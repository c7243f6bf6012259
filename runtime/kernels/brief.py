"""Brief supersteps: full passes over a small graph, many supersteps in one call, by one worker.

The kernel calls the kernels of the program by their addresses, as a script lists them. So the same compiled kernel
serves every program. Tables: runtime/plan/layouts/brief_words.py.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import (
    call_words,
    inner,
    pointer_i64,
    pointer_u8,
    pointer_u64,
    value_i64,
    value_u8,
)
from vlang.runtime.plan.layouts.brief_words import (
    BRIEF_ACTIVE,
    BRIEF_AHEAD,
    BRIEF_BEFORE,
    BRIEF_CHANGED,
    BRIEF_CLEAR,
    BRIEF_COPY,
    BRIEF_COUNT,
    BRIEF_CREW,
    BRIEF_EDGES,
    BRIEF_EXCHANGE,
    BRIEF_FRAME,
    BRIEF_GIVEN,
    BRIEF_INACTIVE,
    BRIEF_ITERATION,
    BRIEF_KIND,
    BRIEF_LAUNCH,
    BRIEF_OPERATIONS,
    BRIEF_PUT,
    BRIEF_RAN,
    BRIEF_RECORDS,
    BRIEF_ROUNDS,
    BRIEF_ROW,
    BRIEF_SCRIPT,
    BRIEF_STATS,
    BRIEF_STATUS,
    BRIEF_UNCHANGED,
    BRIEF_UNTIL,
)
from vlang.runtime.plan.layouts.crew_words import CREW_ARGS, CREW_COUNT, CREW_COUNTER, CREW_FUNCTION


@inner
def launched(table, script, at):
    """Call the kernel of an operation; returns its status."""
    words = pointer_i64(table, BRIEF_CREW)
    words[CREW_FUNCTION] = value_i64(script, at)
    words[CREW_COUNT] = value_i64(script, at + 1)
    words[CREW_COUNTER] = 0
    for k in range(4):
        words[CREW_ARGS + k] = value_i64(script, at + 2 + k)
    return call_words(words)


@inner
def moved(table, script, kind, at):
    """Run an operation on words or arrays."""
    frame = pointer_u64(table, BRIEF_FRAME)
    one, other, count = value_i64(script, at), value_i64(script, at + 1), value_i64(script, at + 2)
    if kind == BRIEF_PUT:
        frame[one] = script[at + 1]
    elif kind == BRIEF_EXCHANGE:
        word = frame[one]
        frame[one] = frame[other]
        frame[other] = word
    elif kind == BRIEF_COPY:
        target, source = pointer_u8(frame, one), pointer_u8(frame, other)
        for k in range(count):
            target[k] = source[k]
    elif kind == BRIEF_AHEAD:
        ahead, moves = pointer_u64(script, at), pointer_i64(script, at + 1)
        for k in range(count):
            ahead[k] = frame[moves[k]]
    else:
        words, kept = pointer_u64(script, at), pointer_u64(script, at + 1)
        for k in range(count):
            words[k] = kept[k]


@inner
def superstep(table):
    """Run the operations of a superstep; returns the status of the first kernel that failed, or 0."""
    script, stats = pointer_u64(table, BRIEF_SCRIPT), pointer_i64(table, BRIEF_STATS)
    status = np.int64(0)
    for operation in range(value_i64(table, BRIEF_OPERATIONS)):
        at = operation * BRIEF_ROW
        kind = value_i64(script, at + BRIEF_KIND)
        if kind == BRIEF_LAUNCH:
            status = launched(table, script, at + BRIEF_GIVEN)
            if status != 0:
                break
        elif kind == BRIEF_CLEAR:
            stats[0] = 0
            stats[1] = 0
        elif kind == BRIEF_COUNT:
            table[BRIEF_CHANGED] = np.uint64(stats[0])
            table[BRIEF_ACTIVE] = np.uint64(stats[1])
        else:
            moved(table, script, kind, at + BRIEF_GIVEN)
    return status


@inner
def ended(table):
    """Whether the loop may end after a superstep."""
    frame, until = pointer_u64(table, BRIEF_FRAME), value_i64(table, BRIEF_UNTIL)
    over = until != 0 and value_u8(frame, until) != 0
    if table[BRIEF_UNCHANGED] != 0 and table[BRIEF_CHANGED] == 0:
        over = True
    if table[BRIEF_INACTIVE] != 0 and table[BRIEF_ACTIVE] == 0:
        over = True
    return over


def brief(table):
    """Run supersteps until the loop may end, or the call has run as many as it may."""
    frame, records = pointer_u64(table, BRIEF_FRAME), pointer_u64(table, BRIEF_RECORDS)
    iteration = value_i64(table, BRIEF_ITERATION)
    ran, status, over = np.int64(0), np.int64(0), False
    while ran < value_i64(table, BRIEF_ROUNDS) and not over:
        if iteration != 0:
            frame[iteration] = np.uint64(value_i64(table, BRIEF_BEFORE) + ran + 1)
        status = superstep(table)
        if status != 0:
            break
        records[2 * ran] = table[BRIEF_ACTIVE]
        records[2 * ran + 1] = table[BRIEF_EDGES]
        ran += 1
        over = ended(table)
    table[BRIEF_RAN] = np.uint64(ran)
    table[BRIEF_STATUS] = np.uint64(status)

"""The kernels by which the worker threads of a crew run a launch together, without Python code.

See vlang.runtime.cpu.crew.crew. The caller of a launch is a worker, and the other workers are called helpers here.

A helper that joins a launch first increments the number of helpers inside the launch, and then tests whether the launch
is still open. The caller first closes the launch, and then waits until this number is 0. So no helper reads the
arguments of a launch after its end. In the same way a helper that goes to sleep first clears its flag CREW_AWAKE, and
then tests for a launch; the caller first opens the launch, and then tests the flags.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import (
    call_words,
    fence,
    fetch_add,
    give_way,
    inner,
    lock_given,
    lock_made,
    lock_taken,
    pause,
    peek,
    pointer_u64,
    poke,
    signal_awaited,
    signal_made,
    signal_sent,
)
from vlang.runtime.plan.layouts.crew_words import (
    CREW_ARGS,
    CREW_AWAKE,
    CREW_COUNT,
    CREW_COUNTER,
    CREW_DESK,
    CREW_DESKS,
    CREW_END,
    CREW_FUNCTION,
    CREW_INSIDE,
    CREW_LAST,
    CREW_LOCK,
    CREW_LOOKS,
    CREW_SEEN,
    CREW_SIGNAL,
    CREW_STATUS,
    CREW_TURN,
    CREW_WANTED,
)
from vlang.runtime.plan.layouts.play_words import (
    PLAY_ARGS,
    PLAY_COUNT,
    PLAY_FRAME,
    PLAY_FUNCTION,
    PLAY_HELPERS,
    PLAY_LEVEL,
    PLAY_LIST,
    PLAY_MOST_ARGS,
    PLAY_WORDS,
)
from vlang.runtime.plan.plan import SLOT_LIST


@inner
def work(words):
    """Run the kernel of the launch, and store its status if it failed."""
    status = call_words(words)
    if status != 0:
        poke(words, CREW_STATUS, status)


@inner
def unseen(words, me):
    """The number of the open launch if helper `me` may still join it; 0 otherwise."""
    turn = peek(words, CREW_TURN)
    if turn == words[CREW_DESKS + CREW_DESK * me + CREW_SEEN] or me >= peek(words, CREW_WANTED):
        turn = np.int64(0)
    return turn


@inner
def sleep(words, me):
    """Sleep until a launch is opened or the crew ends."""
    desk = CREW_DESKS + CREW_DESK * me
    lock_taken(words, desk + CREW_LOCK)
    poke(words, desk + CREW_AWAKE, 0)
    fence()
    while peek(words, desk + CREW_AWAKE) == 0 and peek(words, CREW_END) == 0 and unseen(words, me) == 0:
        signal_awaited(words, desk + CREW_SIGNAL, desk + CREW_LOCK)
    poke(words, desk + CREW_AWAKE, 1)
    lock_given(words, desk + CREW_LOCK)


@inner
def wake(words, helpers):
    """Wake the sleeping helpers among the first `helpers` helpers."""
    for me in range(helpers):
        desk = CREW_DESKS + CREW_DESK * me
        if peek(words, desk + CREW_AWAKE) == 0:
            lock_taken(words, desk + CREW_LOCK)
            poke(words, desk + CREW_AWAKE, 1)
            signal_sent(words, desk + CREW_SIGNAL)
            lock_given(words, desk + CREW_LOCK)


def prepare(words, me):
    """Create the lock and the condition variable of helper `me`, and mark the helper as awake."""
    poke(words, CREW_DESKS + CREW_DESK * me + CREW_AWAKE, 1)
    lock_made(words, CREW_DESKS + CREW_DESK * me + CREW_LOCK)
    signal_made(words, CREW_DESKS + CREW_DESK * me + CREW_SIGNAL)


def serve(words, me):
    """The main loop of helper `me`: join every launch until the crew ends, and sleep after CREW_LOOKS idle tests."""
    desk = CREW_DESKS + CREW_DESK * me
    looks = np.int64(0)
    while peek(words, CREW_END) == 0:
        turn = unseen(words, me)
        if turn != 0:
            fetch_add(words, CREW_INSIDE, 1)
            fence()
            if peek(words, CREW_TURN) == turn:
                work(words)
                words[desk + CREW_SEEN] = turn
            fence()
            fetch_add(words, CREW_INSIDE, -1)
            looks = np.int64(0)
        elif looks < CREW_LOOKS:
            looks += 1
            pause()
        else:
            sleep(words, me)
            looks = np.int64(0)


@inner
def opened(words, wanted):
    """Open a launch for up to `wanted` helpers."""
    words[CREW_COUNTER] = 0
    words[CREW_STATUS] = 0
    words[CREW_WANTED] = wanted
    words[CREW_LAST] += 1
    fence()
    poke(words, CREW_TURN, words[CREW_LAST])
    fence()
    wake(words, wanted)


@inner
def joined(words):
    """Run the kernel of the open launch on this thread, too; returns when all threads have ended."""
    work(words)
    poke(words, CREW_TURN, 0)
    fence()
    looks = np.int64(0)
    while peek(words, CREW_INSIDE) != 0:
        looks += 1
        if looks < CREW_LOOKS:
            pause()
        else:
            give_way()
    fence()


@inner
def together(words, wanted):
    """Run the kernel of a launch on this thread and on up to `wanted` helpers; returns when all of them have ended."""
    opened(words, wanted)
    joined(words)


def launch(words, wanted):
    """Run one launch with up to `wanted` helpers."""
    together(words, wanted)


def begin(words, wanted):
    """Open a launch for up to `wanted` helpers, and return at once. The caller joins it by `join`."""
    opened(words, wanted)


def join(words, _unused):
    """Join the launch that `begin` has opened, if it is still open; returns when all threads have ended."""
    if peek(words, CREW_TURN) != 0:
        joined(words)


def play(words, script, count, level_slot):
    """Run the launches of a script in order; a launch without helpers runs on this thread only.

    Returns the number of launches that succeeded, which is less than `count` if a kernel failed.
    """
    for at in range(count):
        row = at * PLAY_WORDS
        frame = pointer_u64(script, row + PLAY_FRAME)
        frame[SLOT_LIST] = script[row + PLAY_LIST]
        frame[level_slot] = script[row + PLAY_LEVEL]
        words[CREW_FUNCTION] = np.int64(script[row + PLAY_FUNCTION])
        words[CREW_COUNT] = np.int64(script[row + PLAY_COUNT])
        for k in range(PLAY_MOST_ARGS):
            words[CREW_ARGS + k] = np.int64(script[row + PLAY_ARGS + k])
        helpers = np.int64(script[row + PLAY_HELPERS])
        if helpers > 0:
            together(words, helpers)
        else:
            words[CREW_COUNTER] = 0
            words[CREW_STATUS] = 0
            work(words)
        if peek(words, CREW_STATUS) != 0:
            return np.int64(at)
    return count


def end(words, helpers):
    """Stop all helpers."""
    poke(words, CREW_END, 1)
    fence()
    wake(words, helpers)

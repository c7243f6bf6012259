"""How threads work on one launch together, without the interpreter: see vlang.runtime.cpu.crew.crew.

Who enters a launch counts itself inside first and then looks whether the launch is still open; who closes it does both
the other way round. So nobody works on arguments that are no longer good. In the same way who falls asleep says so
first and then looks for a launch, and who opens one looks for sleepers then.
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
    poke,
    signal_awaited,
    signal_made,
    signal_sent,
)
from vlang.runtime.plan.layouts.crew_words import (
    CREW_AWAKE,
    CREW_COUNTER,
    CREW_DESK,
    CREW_DESKS,
    CREW_END,
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


@inner
def work(words):
    """Run the kernel; keep why it stopped."""
    status = call_words(words)
    if status != 0:
        poke(words, CREW_STATUS, status)


@inner
def unseen(words, me):
    """The launch that is open to a helper and in which it has not been; 0 if there is none."""
    turn = peek(words, CREW_TURN)
    if turn == words[CREW_DESKS + CREW_DESK * me + CREW_SEEN] or me >= peek(words, CREW_WANTED):
        turn = np.int64(0)
    return turn


@inner
def sleep(words, me):
    """Sleep until there is something to do."""
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
    """Wake who sleeps."""
    for me in range(helpers):
        desk = CREW_DESKS + CREW_DESK * me
        if peek(words, desk + CREW_AWAKE) == 0:
            lock_taken(words, desk + CREW_LOCK)
            poke(words, desk + CREW_AWAKE, 1)
            signal_sent(words, desk + CREW_SIGNAL)
            lock_given(words, desk + CREW_LOCK)


def prepare(words, me):
    """Make what helper `me`, who begins awake, sleeps on."""
    poke(words, CREW_DESKS + CREW_DESK * me + CREW_AWAKE, 1)
    lock_made(words, CREW_DESKS + CREW_DESK * me + CREW_LOCK)
    signal_made(words, CREW_DESKS + CREW_DESK * me + CREW_SIGNAL)


def serve(words, me):
    """Helper `me` takes part in every launch until the end; it sleeps when none has come for a while."""
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


def launch(words, wanted):
    """Work on a launch together with so many helpers: open it, take part, let nobody in any more, and wait for who is
    inside."""
    words[CREW_COUNTER] = 0
    words[CREW_STATUS] = 0
    words[CREW_WANTED] = wanted
    words[CREW_LAST] += 1
    fence()
    poke(words, CREW_TURN, words[CREW_LAST])
    fence()
    wake(words, wanted)
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


def end(words, helpers):
    """Let all helpers go."""
    poke(words, CREW_END, 1)
    fence()
    wake(words, helpers)

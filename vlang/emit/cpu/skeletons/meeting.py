"""The barrier of the workers of a launch. Layout: MEET_... in runtime/plan/layouts/meet_words.py."""

from vlang.emit.cpu.skeletons.holes import Pointer, fence, fetch_add, give_way, i64, inner, peek, poke
from vlang.runtime.plan.layouts.meet_words import MEET_TURN, MEET_WAITING


@inner
def meet(control: Pointer[i64], crew: i64) -> None:
    """Wait until every worker has called this function.

    A worker that waits long yields its processor to other threads.
    """
    if crew == 1:
        return
    fence()
    turn = peek(control, MEET_TURN)
    if fetch_add(control, MEET_WAITING, 1) == crew - 1:
        poke(control, MEET_WAITING, 0)
        fence()
        poke(control, MEET_TURN, turn + 1)
    else:
        tries = i64(0)
        while peek(control, MEET_TURN) == turn:
            tries += 1
            if tries > 512:
                give_way()
    fence()

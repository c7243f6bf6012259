"""Two words of a vertex that change together. Part of modules in which a pass joins into such."""

from vlang.emit.cpu.skeletons.holes import Pointer, i64, inner, peek, peek_first, u64


@inner
def both_words(words: Pointer[u64], v: i64) -> tuple[u64, u64]:
    """The two words of a vertex as they were at one time, although others write. The first only ever moves one way (the
    parts of a tuple lie in the order in which they are compared), so it has not changed if it is the same again."""
    while True:
        first = peek_first(words, 2 * v)
        second = peek_first(words, 2 * v + 1)
        if peek(words, 2 * v) == first:
            return first, second

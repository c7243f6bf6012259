"""Reads of two words of a vertex that change together.

The code of this file is part of modules with a pass that joins into two words.
"""

from vlang.emit.cpu.skeletons.holes import Pointer, i64, inner, peek, peek_first, u64


@inner
def both_words(words: Pointer[u64], v: i64) -> tuple[u64, u64]:
    """A consistent read of the two words of a vertex while other threads write.

    The first word changes monotonically, since the parts of a tuple are stored in the order of comparison. So if a
    second read of this word gives the same value, the word has not changed in between.
    """
    while True:
        first = peek_first(words, 2 * v)
        second = peek_first(words, 2 * v + 1)
        if peek(words, 2 * v) == first:
            return first, second

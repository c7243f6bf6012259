"""Declares tables of 64-bit words that kernels and Python share: each word once, with its index and its meaning.

    _TABLE = Layout()
    SUM_PULL = _TABLE.part(PAGE_WORDS, "the page row along which vertices gather")
    SUM_QUEUE = _TABLE.word("u32: the vertices that notify their receivers")
    SUM_WORDS = _TABLE.size()

Kernel text and Python use the constants: `table[SUM_QUEUE]`.
"""

from __future__ import annotations

__all__ = ["LINE", "Layout"]

LINE = 8
"""The number of words in a cache line of 64 bytes."""


class Layout:
    """A layout of consecutive words.

    Attributes:
        first: the index of the first word.
        words: index -> description of each declared word.
    """

    def __init__(self, first: int = 0) -> None:
        self._next = first
        self.words: dict[int, str] = {}

    def word(self, what: str) -> int:
        """Declare the next word, and return its index."""
        return self.part(1, what)

    def part(self, size: int, what: str) -> int:
        """Declare the next `size` words as one part, and return the index of the first word."""
        begin = self._next
        self.words[begin] = what
        self._next += size
        return begin

    def line(self, what: str) -> int:
        """Reserve a whole cache line, and return the index of its first word.

        As a result, workers that write other words do not invalidate this cache line (no false sharing).
        """
        self._next = -(-self._next // LINE) * LINE
        return self.part(LINE, what)

    def skip(self, to: int) -> None:
        """Continue at index `to`, and leave the words before it unused.

        Raises ValueError if word `to` is already declared.
        """
        if to < self._next:
            raise ValueError(f"word {to} is taken: the next is {self._next}")
        self._next = to

    def size(self, least: int = 0) -> int:
        """The number of words from index 0 to the end of the layout, but at least `least`."""
        return max(self._next, least)

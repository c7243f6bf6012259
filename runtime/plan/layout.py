"""Tables of 64-bit words that kernels and Python share; each word is declared once, with its place and its meaning.

    _TABLE = Layout()
    SUM_PULL = _TABLE.part(PAGE_WORDS, "the page row along which vertices gather")
    SUM_QUEUE = _TABLE.word("u32: the vertices that have something to send")
    SUM_WORDS = _TABLE.size()

Kernel text and Python use the constants: `table[SUM_QUEUE]`.
"""

from __future__ import annotations

__all__ = ["LINE", "Layout"]

LINE = 8
"""Words of a cache line of 64 bytes."""


class Layout:
    """Consecutive words. first: the number of the first one. words: what each declared one is, by number."""

    def __init__(self, first: int = 0) -> None:
        self._next = first
        self.words: dict[int, str] = {}

    def word(self, what: str) -> int:
        """The number of the next word."""
        return self.part(1, what)

    def part(self, size: int, what: str) -> int:
        """Where the next `size` words begin, which belong together."""
        begin = self._next
        self.words[begin] = what
        self._next += size
        return begin

    def line(self, what: str) -> int:
        """Reserve a whole cache line, and return the number of its first word.

        Workers that write other words then do not evict this line (no false sharing).
        """
        self._next = -(-self._next // LINE) * LINE
        return self.part(LINE, what)

    def skip(self, to: int) -> None:
        """Leave the words before number `to` free. Raises ValueError if some of them, or that one, are taken."""
        if to < self._next:
            raise ValueError(f"word {to} is taken: the next is {self._next}")
        self._next = to

    def size(self, least: int = 0) -> int:
        """How many words there are, counted from 0, and at least `least`."""
        return max(self._next, least)

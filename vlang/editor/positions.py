"""Positions in a text as lines and columns of the language server protocol. Columns count code units of an encoding."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from vlang.records import dataclass

__all__ = ["Places"]

_WIDTHS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}  # bytes of a code unit


@dataclass(frozen=True)
class Places:
    """Converts between character offsets in a text and (line, column), all from 0.

    Attributes:
        encoding: "utf-16" (the protocol's default), "utf-8" or "utf-32"; columns count its code units.
    """

    text: str
    encoding: str = "utf-16"

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer(r"\r\n|\n|\r", self.text))]

    def place(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset."""
        line = bisect_right(self._starts, offset) - 1
        return line, self._units(self.text[self._starts[line] : offset])

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column. A position outside the text gives the nearest offset."""
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        content = self.text[start:end].rstrip("\r\n")
        for index, character in enumerate(content):
            if column <= 0:
                return start + index
            column -= self._units(character)
        return start + len(content)

    def _units(self, piece: str) -> int:
        name = self.encoding if self.encoding == "utf-8" else f"{self.encoding}-le"
        return len(piece.encode(name, "surrogatepass")) // _WIDTHS[self.encoding]

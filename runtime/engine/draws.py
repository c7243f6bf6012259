"""The random choices of a chaos run, and counts of the rules that the run has used."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Draws"]


class Draws:
    """A seeded source of random choices.

    Attributes:
        used: how often each rule was used, by (line of the loop, rule); line 0 stands for the whole run.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.used: Counter[tuple[int, str]] = Counter()

    def coin(self, chance: float = 0.5) -> bool:
        """True with probability `chance`."""
        return bool(self.rng.random() < chance)

    def use(self, line: int, rule: str) -> None:
        """Count one use of a rule by the loop in a line."""
        self.used[line, rule] += 1

    def some(self, n: int) -> NDArray[Any]:
        """A random non-empty subset of 0 .. n - 1 in random order, int64; empty if n is 0."""
        return self.rng.permutation(n)[: max(1, int(self.rng.integers(0, n + 1)))] if n else np.zeros(0, np.int64)

    def order(self, items: NDArray[Any]) -> None:
        """Shuffle the rows of an array, in place."""
        self.rng.shuffle(items)

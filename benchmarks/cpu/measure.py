"""Figures: what was measured, against what, and the target."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

__all__ = ["Figure", "Rounds", "alternate", "figure", "paired"]

QUIET = 0.1  # processors that others may use in a round that counts
TRIES = 3


@dataclass(frozen=True)
class Figure:
    """One row of the table.

    ours, other: medians, in `unit`; other is another program's figure, a limit, or a size, as `against` says. ratio:
    ours / other. target: the largest ratio that is good enough; None for a figure that is only told. samples: every
    measured pair. others: processors that other processes had in the most disturbed of them; None where it makes no
    difference, as for CPU time and memory.
    """

    name: str
    unit: str
    ours: float
    other: float
    against: str
    ratio: float
    target: float | None
    samples: list[tuple[float, float]] = field(default_factory=list)
    others: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the ratio is good enough; None without a target."""
        return None if self.target is None else self.ratio <= self.target


@dataclass(frozen=True)
class Rounds:
    """Pairs (ours, other) of alternating runs. others: processors that others had in the most disturbed round."""

    pairs: list[tuple[float, float]]
    others: float


def alternate(ours: Callable[[], float], other: Callable[[], float], rounds: int) -> Rounds:
    """Both measured in turn, so that what slows the machine down slows both; each round begins with the other one.

    A round that other processes disturbed is repeated, up to TRIES times as many in all; if there are not `rounds`
    quiet ones then, the least disturbed are taken.
    """
    measured: list[tuple[float, tuple[float, float]]] = []
    for number in range(TRIES * rounds):
        before = _ticks()
        if number % 2:
            second, first = other(), ours()
        else:
            first, second = ours(), other()
        measured.append((_disturbed(before, _ticks()), (first, second)))
        if sum(share <= QUIET for share, _ in measured) == rounds:
            break
    measured.sort(key=lambda item: item[0])
    return Rounds([pair for _, pair in measured[:rounds]], measured[rounds - 1][0])


def _ticks() -> tuple[float, float, float]:
    """Seconds so far: by the clock, of all processors at work (and taken by other guests), of this process alone."""
    words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    user, nice, system, _, _, irq, softirq, steal = map(int, words[1:9])
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return time.perf_counter(), busy, time.process_time()


def _disturbed(before: tuple[float, float, float], after: tuple[float, float, float]) -> float:
    """How many processors others had, on average."""
    clock, busy, mine = (b - a for a, b in zip(before, after))
    return max(0.0, busy - mine) / clock


def paired(name: str, unit: str, against: str, target: float | None, rounds: Rounds) -> Figure:
    """The figure of alternating runs; the ratio is the median of the ratios of runs that stood side by side."""
    pairs = rounds.pairs
    return Figure(name, unit, median(a for a, _ in pairs), median(b for _, b in pairs), against,
                  median(a / b for a, b in pairs), target, pairs, rounds.others)  # fmt: skip


def figure(name: str, unit: str, against: str, limit: float, target: float | None, samples: list[float]) -> Figure:
    """The figure of runs against a fixed limit."""
    middle = median(samples)
    return Figure(name, unit, middle, limit, against, middle / limit, target, [(s, limit) for s in samples])

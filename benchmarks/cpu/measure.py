"""Figures: what was measured, against what, and the target; and runs in turn."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

__all__ = ["Figure", "Rounds", "alternate", "limited", "paired"]

QUIET = 0.1  # processors that others may use in a round that counts
REST = 0.03  # seconds before each measurement
TRIES = 3
SECONDS = 120.0  # after which no more than FEW rounds are begun
FEW = 3


@dataclass(frozen=True)
class Figure:
    """One row of the table.

    ours, other: medians, in `unit`; other is another program's figure, a limit, or a size, as `against` says. ratio:
    ours / other. target: the largest ratio that is good enough; None for a figure that is only told. sweeps,
    sweep_target: ours in sweeps of the C++ PageRank on the same graph, and how many are good enough. gain: one thread's
    time by ours. peak: MiB that a process takes beyond itself, graph included; arrays: MiB of the arrays that must be
    there. samples: (ours, other, ...) of every round. others: processors that other processes had in the most disturbed
    of them; None where it makes no difference, as for CPU time and memory.
    """

    name: str
    unit: str
    ours: float
    other: float
    against: str
    ratio: float
    target: float | None = None
    graph: str = ""
    sweeps: float | None = None
    sweep_target: float | None = None
    gain: float | None = None
    peak: float | None = None
    arrays: float | None = None
    samples: list[tuple[float, ...]] = field(default_factory=list)
    others: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether it is good enough; None without a target."""
        if self.sweep_target is not None and self.sweeps is not None:
            return self.sweeps <= self.sweep_target
        return None if self.target is None else self.ratio <= self.target


@dataclass(frozen=True)
class Rounds:
    """Of each round what the contestants took. others: processors that others had in the most disturbed round."""

    samples: list[tuple[float, ...]]
    others: float

    def median(self, number: int) -> float:
        """What contestant `number` took."""
        return median(sample[number] for sample in self.samples)

    def ratio(self, first: int, second: int) -> float:
        """The median of the ratios of runs that stood side by side."""
        return median(sample[first] / sample[second] for sample in self.samples)


def alternate(contestants: Sequence[Callable[[], float]], rounds: int) -> Rounds:
    """All in turn, so that what slows the machine down slows all; every other round goes backwards.

    A round that other processes disturbed is repeated, up to TRIES times as many in all; if there are not `rounds`
    quiet ones then, the least disturbed are taken. Of what takes long there are FEW rounds.
    """
    begin = time.perf_counter()
    measured: list[tuple[float, tuple[float, ...]]] = []
    for number in range(TRIES * rounds):
        before = _ticks()
        step = -1 if number % 2 else 1
        took = tuple(_rested(contestant) for contestant in contestants[::step])
        measured.append((_disturbed(before, _ticks()), took[::step]))
        enough = sum(share <= QUIET for share, _ in measured) == rounds
        if enough or (len(measured) >= min(rounds, FEW) and time.perf_counter() - begin > SECONDS):
            break
    kept = sorted(measured, key=lambda item: item[0])[:rounds]
    return Rounds([sample for _, sample in kept], kept[-1][0])


def _rested(contestant: Callable[[], float]) -> float:
    """The time of one, when the threads of the one before sleep: those of OpenMP look for work for some milliseconds
    after it is done, on the processors that the next one needs."""
    time.sleep(REST)
    return contestant()


def _ticks() -> tuple[float, float, float]:
    """Seconds so far: by the clock, of the processors that this process may use (at work, and taken by other guests),
    of this process alone."""
    mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    busy = 0
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        words = line.split()
        if words[0] in mine:
            user, nice, system, _, _, irq, softirq, steal = map(int, words[1:9])
            busy += user + nice + system + irq + softirq + steal
    return time.perf_counter(), busy / os.sysconf("SC_CLK_TCK"), time.process_time()


def _disturbed(before: tuple[float, float, float], after: tuple[float, float, float]) -> float:
    """How many processors others had, on average."""
    clock, busy, mine = (b - a for a, b in zip(before, after))
    return max(0.0, busy - mine) / clock


def paired(name: str, unit: str, against: str, target: float | None, rounds: Rounds, graph: str = "") -> Figure:
    """The figure of two that alternated: ours, then the other."""
    return Figure(name, unit, rounds.median(0), rounds.median(1), against, rounds.ratio(0, 1), target, graph,
                  samples=rounds.samples, others=rounds.others)  # fmt: skip


def limited(name: str, unit: str, against: str, limit: float, target: float | None, samples: list[float]) -> Figure:
    """The figure of runs against a fixed limit."""
    middle = median(samples)
    return Figure(name, unit, middle, limit, against, middle / limit, target, samples=[(s, limit) for s in samples])

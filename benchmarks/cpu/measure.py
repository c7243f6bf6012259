"""Figures with their references and targets, and timed runs that alternate between contestants."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

__all__ = ["Figure", "Rounds", "alternate", "limited", "paired"]

QUIET = 0.1  # processors that other processes may use in a valid round
REST = 0.03  # seconds before each measurement
TRIES = 3
SECONDS = 120.0  # a measurement that takes longer has at most FEW rounds
FEW = 3


@dataclass(frozen=True)
class Figure:
    """One row of the table.

    Attributes:
        name: the name of the workload.
        unit: the unit of `ours` and `other`.
        ours, other: medians. `other` is the median of another program, or a limit or a size. `against` says which.
        against: the name of `other`.
        ratio: ours / other.
        target: the largest ratio that meets the target; None for a figure without one.
        graph: the name of the graph.
        sweeps: `ours` in sweeps of the C++ PageRank on the same graph.
        sweep_target: the largest number of sweeps that meets the target.
        gain: the time of vlang on one thread divided by `ours`.
        peak: the memory of a process with the graph, without the code of the process, in MiB.
        arrays: MiB of the arrays that are needed.
        samples: (ours, other, ...) of every round.
        others: the number of processors that other processes used in the most disturbed round. `others` is None for
            figures that other processes hardly change, such as CPU time and memory.
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
        """Whether the target is met; None if there is no target."""
        if self.sweep_target is not None and self.sweeps is not None:
            return self.sweeps <= self.sweep_target
        return None if self.target is None else self.ratio <= self.target


@dataclass(frozen=True)
class Rounds:
    """The times of all contestants by round.

    Attributes:
        others: the number of processors that other processes used in the most disturbed round.
    """

    samples: list[tuple[float, ...]]
    others: float

    def median(self, number: int) -> float:
        """Return the median time of contestant `number`."""
        return median(sample[number] for sample in self.samples)

    def ratio(self, first: int, second: int) -> float:
        """Return the median of the ratios of two contestants in the same round."""
        return median(sample[first] / sample[second] for sample in self.samples)


def alternate(contestants: Sequence[Callable[[], float]], rounds: int) -> Rounds:
    """Run all contestants alternately, so that a slow phase of the machine affects every contestant. Every second round
    is in reverse order.

    A round that other processes disturbed is repeated; there are at most TRIES times `rounds` rounds. If fewer than
    `rounds` rounds are quiet, the least disturbed rounds are used. Long runs have FEW rounds.
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
    """Return the time of one contestant, measured after a pause.

    OpenMP threads spin for some milliseconds after their work. In the pause, the threads of the previous contestant go
    to sleep, so that they do not disturb this contestant.
    """
    time.sleep(REST)
    return contestant()


def _ticks() -> tuple[float, float, float]:
    """Return the wall clock, the busy time of the processors that this process may use, and the CPU time of this
    process, in seconds.

    Busy time includes the time of other processes and of other virtual machines.
    """
    mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    busy = 0
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        words = line.split()
        if words[0] in mine:
            user, nice, system, _, _, irq, softirq, steal = map(int, words[1:9])
            busy += user + nice + system + irq + softirq + steal
    return time.perf_counter(), busy / os.sysconf("SC_CLK_TCK"), time.process_time()


def _disturbed(before: tuple[float, float, float], after: tuple[float, float, float]) -> float:
    """Return the average number of processors that other processes used."""
    clock, busy, mine = (b - a for a, b in zip(before, after))
    return max(0.0, busy - mine) / clock


def paired(name: str, unit: str, against: str, target: float | None, rounds: Rounds, graph: str = "") -> Figure:
    """Return the figure of two contestants that ran alternately. The first contestant is vlang.

    Args:
        name, unit, against, target, graph: see `Figure`.
        rounds: the times of both contestants.
    """
    return Figure(name, unit, rounds.median(0), rounds.median(1), against, rounds.ratio(0, 1), target, graph,
                  samples=rounds.samples, others=rounds.others)  # fmt: skip


def limited(name: str, unit: str, against: str, limit: float, target: float | None, samples: list[float]) -> Figure:
    """Return the figure of runs against a fixed limit.

    Args:
        name, unit, against, target, samples: see `Figure`.
        limit: the limit, in `unit`.
    """
    middle = median(samples)
    return Figure(name, unit, middle, limit, against, middle / limit, target, samples=[(s, limit) for s in samples])

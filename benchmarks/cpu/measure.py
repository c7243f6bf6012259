"""Figures: what was measured, against what, and the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median

__all__ = ["Figure", "alternate", "figure", "paired"]


@dataclass(frozen=True)
class Figure:
    """One row of the table.

    ours, other: medians, in `unit`; other is another program's figure, a limit, or a size, as `against` says. ratio:
    ours / other. target: the largest ratio that is good enough; None for a figure that is only told. samples: every
    measured pair.
    """

    name: str
    unit: str
    ours: float
    other: float
    against: str
    ratio: float
    target: float | None
    samples: list[tuple[float, float]] = field(default_factory=list)

    @property
    def met(self) -> bool | None:
        """Whether the ratio is good enough; None without a target."""
        return None if self.target is None else self.ratio <= self.target


def alternate(
    ours: Callable[[], float], other: Callable[[], float], rounds: int
) -> Iterator[tuple[float, float]]:
    """Both measured in turn, so that what slows the machine down slows both; each round begins with the other one."""
    for number in range(rounds):
        if number % 2:
            second, first = other(), ours()
        else:
            first, second = ours(), other()
        yield first, second


def paired(
    name: str, unit: str, against: str, target: float | None, samples: list[tuple[float, float]]
) -> Figure:
    """The figure of alternating runs; the ratio is the median of the ratios of runs that stood side by side."""
    return Figure(name, unit, median(a for a, _ in samples), median(b for _, b in samples), against,
                  median(a / b for a, b in samples), target, samples)  # fmt: skip


def figure(name: str, unit: str, against: str, limit: float, target: float | None, samples: list[float]) -> Figure:
    """The figure of runs against a fixed limit."""
    middle = median(samples)
    return Figure(name, unit, middle, limit, against, middle / limit, target, [(s, limit) for s in samples])

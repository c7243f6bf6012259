"""Shows the progress of reading, converting, compiling, measuring and running on stderr or in a notebook."""

from __future__ import annotations

import sys
import time
from _thread import allocate_lock
from collections import deque
from collections.abc import Iterator
from dataclasses import field
from math import log
from typing import Any, Protocol

from vlang.records import dataclass
from vlang.runtime.threads.activity import Supersteps, listened_by
from vlang.runtime.threads.tasks import Task

__all__ = ["Progress", "span_text"]

_AFTER = 0.5  # seconds until a live line appears, so that short runs do not load the library that draws it
_EVERY = 5.0  # seconds between plain lines
_LIVE = 0.1  # seconds between two states of a live line
_RATES = 8  # rounds over which the rate of convergence is measured


def span_text(seconds: float) -> str:
    """A rounded time as text."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _bytes_text(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"


class _Surface(Protocol):
    """An output that shows progress.

    Attributes:
        live: whether each text replaces the previous one.
    """

    live: bool

    def show(self, text: str, fraction: float | None) -> None:
        """Show a text.

        Args:
            fraction: the part of the work that is done, 0 to 1; None if it is not known.
        """

    def close(self, last: str) -> None:
        """Remove the shown text, or replace it by the text `last`."""


class _Lines:
    """Plain lines on stderr."""

    live = False

    def show(self, text: str, fraction: float | None) -> None:
        """Print a line."""
        print(text, file=sys.stderr, flush=True)

    def close(self, last: str) -> None:
        """Does nothing."""


class _Terminal:
    """A line on a terminal with a spinner, the text, the time since the start and, if the fraction is known, a bar."""

    live = True

    def __init__(self) -> None:
        from rich.console import Console  # start-up
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn  # start-up
        from rich.progress import Progress as Bars  # start-up

        self._bars = Bars(SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(20),
                          TimeElapsedColumn(), console=Console(stderr=True), transient=True)
        self._task = self._bars.add_task("", total=None)
        self._bars.start()

    def show(self, text: str, fraction: float | None) -> None:
        """Replace the line."""
        self._bars.update(self._task, description=_printable(text), total=None if fraction is None else 1.0,
                          completed=fraction or 0.0, visible=True)

    def close(self, last: str) -> None:
        """Remove the line."""
        self._bars.stop()


class _Notebook:
    """A line in the output of a notebook's cell. After the end of the run, the line shows the last round."""

    live = True

    def __init__(self) -> None:
        from IPython import display  # optional

        shown: Any = display.display
        self._handle = shown({"text/plain": ""}, raw=True, display_id=True)

    def show(self, text: str, fraction: float | None) -> None:
        """Replace the line."""
        self._handle.update({"text/plain": _printable(text)}, raw=True)

    def close(self, last: str) -> None:
        """Leave the last text."""
        self.show(last, None)


def _printable(text: str) -> str:
    """The text with control characters escaped, since file names may contain them and would control the terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


@dataclass
class _Step:
    """A step in progress: its title, its size in bytes if known, its start time, and the fraction that is done."""

    title: str
    size: int
    begin: float
    fraction: float | None = None
    count: str = ""


@dataclass
class _Loop:
    """The rounds of a loop in progress.

    Attributes:
        number: the number of the loop.
        begin: when its first round began.
        text: its last round as text.
        round: the number of the last round.
        bound: the maximum number of rounds, or None.
        edges: the edges traversed.
        gaps: the last pairs of a round and the value that `until` compares with a tolerance.
        tolerance: the tolerance.
    """

    number: int
    begin: float
    text: str = ""
    round: int = 0
    first: int = 0
    bound: int | None = None
    edges: int = 0
    gaps: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_RATES))
    tolerance: float = 0.0

    def rounds_left(self) -> float | None:
        """Estimate the number of remaining rounds from the bound and the rate of convergence; None if it is unknown."""
        found = [] if self.bound is None else [float(self.bound - self.round)]
        if len(self.gaps) > 1:
            (begin, before), (end, now) = self.gaps[0], self.gaps[-1]
            if 0 < now < before and self.tolerance > 0:
                found.append(max(0.0, (end - begin) * log(self.tolerance / now) / log(now / before)))
        return min(found, default=None)


class Progress:
    """A `vlang.runtime.threads.activity.Listener` that shows progress; a context manager.

    On a terminal and in a notebook, a line appears after half a second and always shows the present state. Elsewhere,
    plain lines on stderr are printed for rounds 1, 2, 5, 10, 20, 50, 100 and so on, and every five seconds.
    """

    def __init__(self) -> None:
        self._kind = _Notebook if _in_notebook() else _Terminal if sys.stderr.isatty() else _Lines
        self._surface: _Surface | None = None
        self._start = self._shown = time.perf_counter()
        self._steps: list[_Step] = []
        self._loop: _Loop | None = None
        self._moved = {"read": 0, "copy": 0}  # bytes of pages, by kind of span
        self._busy, self._over = allocate_lock(), allocate_lock()
        self._over.acquire()
        self._clock: Task[None] = Task(self._tick)
        self._listeners = listened_by(self)

    def __enter__(self) -> Progress:
        self._listeners.__enter__()
        self._clock.begin()
        return self

    def __exit__(self, *_: Any) -> None:
        self._listeners.__exit__(None, None, None)
        self._over.release()
        self._clock.wait()
        if self._surface is not None:
            text = self._loop.text if self._loop is not None else ""
            self._surface.close(f"{text}, {time.perf_counter() - self._start:.1f} s" if text else "")

    # ------------------------------------------------------------------------------------------------ reports
    def begin(self, name: str, of: str, size: int) -> None:
        """Record that a step begins."""
        self._steps.append(_Step(f"{name} {of}".strip(), size, time.perf_counter()))
        self._loop = None
        self._show()

    def reach(self, fraction: float, count: str) -> None:
        """Record the fraction of the current step's work that is done."""
        if self._steps:
            self._steps[-1].fraction, self._steps[-1].count = fraction, count
            self._show()

    def end(self) -> None:
        """Record that the current step has ended."""
        if self._steps:
            self._steps.pop()

    def span(self, kind: str, name: str, begin: float, seconds: float, details: dict[str, Any]) -> None:
        """Count the bytes of pages that were read or copied."""
        if kind in self._moved:
            self._moved[kind] += int(details.get("bytes", 0))

    def rounds(self, ran: Supersteps) -> None:
        """Record that rounds of a loop have ended."""
        loop, last = self._loop, ran.first + len(ran.done) - 1
        if loop is None or loop.number != ran.loop or ran.first <= loop.round:
            loop = self._loop = _Loop(ran.loop, ran.begin, first=ran.first)
        loop.round, loop.bound = last, ran.bound
        loop.edges += int(getattr(ran.done, "edges", 0)) or sum(done.edges for done in ran.done)
        if len(ran.gap) == 2:
            loop.gaps.append((last, float(ran.gap[0])))
            loop.tolerance = float(ran.gap[1])
        for number in (last,) if self._kind is not _Lines else _due(ran.first, last):
            done = ran.done[number - ran.first]
            loop.text = f"round {number:,}: {done.active:,} active, {done.mode}, {done.edges:,} edges"
            self._show(number == last or self._kind is _Lines)
        done = ran.done[-1]
        loop.text = f"round {last:,}: {done.active:,} active, {done.mode}, {done.edges:,} edges"
        self._show()

    # ------------------------------------------------------------------------------------------------ display
    def _tick(self) -> None:
        """Refresh the display at intervals, in a thread of its own, until progress ends."""
        while not self._over.acquire(timeout=_LIVE if self._kind is not _Lines else 1.0):
            self._show()

    def _show(self, due: bool = False) -> None:
        """Show the present state, unless another thread is showing it.

        Args:
            due: whether a plain line is printed at once.
        """
        if not self._busy.acquire(blocking=False):  # the other thread shows it
            return
        try:
            self._display(due)
        finally:
            self._busy.release()

    def _display(self, due: bool) -> None:
        now = time.perf_counter()
        if self._kind is _Lines:
            if due and self._loop is not None:
                self._put(self._loop.text, None)
            elif now - self._shown >= _EVERY and (text := self._text(now)):
                self._put(text, None)
            return
        if now - self._start < _AFTER or (self._surface is not None and now - self._shown < _LIVE):
            return
        step = self._steps[-1] if self._steps else None
        if text := self._text(now):
            self._put(text, None if step is None else step.fraction)

    def _put(self, text: str, fraction: float | None) -> None:
        self._shown = time.perf_counter()
        if self._surface is None:
            self._surface = self._kind()
        self._surface.show(text, fraction)

    def _text(self, now: float) -> str:
        """The present state as one line of text."""
        if not self._steps:
            return ""
        step, parts = self._steps[-1], list[str]()
        if self._loop is not None:
            parts = [*([step.count] if step.count else []), self._loop.text, *self._of_rounds(now)]
        else:
            parts = [step.title, *_of_step(step)]
        parts += [f"{_bytes_text(count)} {name}" for name, count in
                  (("read", self._moved["read"]), ("copied", self._moved["copy"])) if count]
        if self._kind is _Lines:
            parts.append(f"{now - self._start:.1f} s so far")
        left = self._left(step, now)
        return ", ".join(parts if left is None else [*parts, f"about {span_text(left)} left"])

    def _of_rounds(self, now: float) -> Iterator[str]:
        loop = self._loop
        assert loop is not None
        if loop.edges and now > loop.begin:
            yield f"{loop.edges / (now - loop.begin) / 1e6:.3g} M edges/s"
        if loop.gaps:
            yield f"{loop.gaps[-1][1]:.3g} of tolerance {loop.tolerance:.3g}"

    def _left(self, step: _Step, now: float) -> float | None:
        """Estimate the remaining seconds; None if they are not known."""
        if step.fraction:
            return (now - step.begin) * (1 - step.fraction) / step.fraction
        loop = self._loop
        rounds = None if loop is None or len(self._steps) > 1 else loop.rounds_left()
        if loop is None or rounds is None:
            return None
        return rounds * (now - loop.begin) / (loop.round - loop.first + 1)


def _of_step(step: _Step) -> Iterator[str]:
    if step.count:
        yield step.count
    if step.fraction is not None:
        yield f"{step.fraction:.0%}" + (f" of {_bytes_text(step.size)}" if step.size else "")


def _due(first: int, last: int) -> Iterator[int]:
    """The numbers 1, 2, 5, 10, 20, 50, ... from first to last."""
    unit = 1
    while unit <= last:
        yield from (number for number in (unit, 2 * unit, 5 * unit) if first <= number <= last)
        unit *= 10

"""A listener that keeps all reports of activity."""

from __future__ import annotations

from typing import Any

from vlang.runtime.threads.activity import Supersteps

__all__ = ["Keeping"]


class Keeping:
    """A `vlang.runtime.threads.activity.Listener` that keeps every report.

    Attributes:
        begun: (name, object, bytes) of each step.
        ended: the number of steps that ended.
        reached: (text, fraction) of each report of progress.
        spans: (kind, name, seconds, details) of each span.
        ran: the reports of supersteps.
    """

    def __init__(self) -> None:
        self.begun: list[tuple[str, str, int]] = []
        self.ended = 0
        self.reached: list[tuple[str, float]] = []
        self.spans: list[tuple[str, str, float, dict[str, Any]]] = []
        self.ran: list[Supersteps] = []

    def begin(self, name: str, of: str, size: int) -> None:
        """Keep the start of a step."""
        self.begun.append((name, of, size))

    def reach(self, fraction: float, count: str) -> None:
        """Keep a report of progress."""
        self.reached.append((count, fraction))

    def end(self) -> None:
        """Count the end of a step."""
        self.ended += 1

    def span(self, kind: str, name: str, begin: float, seconds: float, details: dict[str, Any]) -> None:
        """Keep a span."""
        self.spans.append((kind, name, seconds, details))

    def rounds(self, ran: Supersteps) -> None:
        """Keep supersteps."""
        self.ran.append(ran)

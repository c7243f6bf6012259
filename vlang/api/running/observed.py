"""Observes a run according to its options: calls a function with every round, shows progress, and writes a trace file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from vlang.options import Options
from vlang.runtime.engine.trace import Round, rounds_of
from vlang.runtime.threads.activity import Supersteps, listened_by, unreported

__all__ = ["observed"]


class _Called:
    """A `vlang.runtime.threads.activity.Listener` that calls a function with the `Round` of every round."""

    def __init__(self, function: Callable[[Round], Any]) -> None:
        self._function = function

    def begin(self, name: str, of: str, size: int) -> None:
        """Does nothing."""

    def reach(self, fraction: float, count: str) -> None:
        """Does nothing."""

    def end(self) -> None:
        """Does nothing."""

    def span(self, kind: str, name: str, begin: float, seconds: float, details: dict[str, Any]) -> None:
        """Does nothing."""

    def rounds(self, ran: Supersteps) -> None:
        """Call the function with each round.

        If the function itself runs a program, the rounds of this inner run are not reported to the function.
        """
        with unreported():
            for one in rounds_of(ran.loop, ran.first, ran.seconds, ran.done, ran.moved):
                self._function(one)


def observed(options: Options, name: str) -> AbstractContextManager[None]:
    """A context manager for a run with the options `progress` and `trace`.

    Raises BindError and DiskError if the trace cannot be written.

    Args:
        name: the name of the program, for the title of the trace.
    """
    return nullcontext() if options.trace is None and options.progress is None else _observed(options, name)


@contextmanager
def _observed(options: Options, name: str) -> Iterator[None]:
    with ExitStack() as stack:
        if options.trace is not None:
            from vlang.runtime.engine.recorder import recorded  # start-up

            stack.enter_context(recorded(options.trace, name))
        if options.progress is True:
            from vlang.api.running.progress import Progress  # start-up

            stack.enter_context(Progress())
        elif callable(options.progress):
            stack.enter_context(listened_by(_Called(options.progress)))
        yield

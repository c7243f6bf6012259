"""Records the events of a run, and writes them in the Trace Event Format, which Perfetto and chrome://tracing display.

The format is described in "Trace Event Format" (Google, 2016): an object with a list `traceEvents`. Complete events
(`X`) have a begin and a duration in microseconds, counters (`C`) have values, and metadata (`M`) name processes and
threads.
"""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import IO, Any

from vlang.errors import BindError
from vlang.runtime.storage.output import check_writable, whole_file
from vlang.runtime.threads.activity import Supersteps, listened_by

__all__ = ["MOST", "Recorder", "check_trace", "recorded"]

MOST = 1 << 20
"""The maximum number of events of a trace, about 150 MB of text."""

_SUFFIXES = (".json", ".json.gz")
_LINES = 1 << 12  # events that are written at a time
_SUPERSTEPS = 0  # the track of supersteps, which need not nest with the spans of a thread
_PROCESS = 1


class Recorder:
    """A `vlang.runtime.threads.activity.Listener` that records all spans and supersteps.

    The event of a superstep has the arguments loop, line, round, mode, active and edges, and all non-zero counts of
    `Moved`.

    Args:
        most: the maximum number of recorded events. Later events are only counted, and the trace contains their number.

    Attributes:
        left_out: the number of events that were not recorded.
    """

    def __init__(self, most: int = MOST) -> None:
        self.left_out = 0
        self._most = most
        self._start = time.perf_counter()
        self._main = get_ident()
        self._tracks: dict[int, int] = {self._main: 1}
        self._events: list[dict[str, Any]] = []

    def begin(self, name: str, of: str, size: int) -> None:
        """Do nothing, because the span of the step follows."""

    def reach(self, fraction: float, count: str) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""

    def span(self, kind: str, name: str, begin: float, seconds: float, details: dict[str, Any]) -> None:
        """Record a span on the track of its thread."""
        track = self._tracks.setdefault(get_ident(), len(self._tracks) + 1)
        self._add(kind, name, begin, seconds, track, details)

    def rounds(self, ran: Supersteps) -> None:
        """Record supersteps, and the number of active vertices as a counter."""
        moved = ran.moved.over([done.edges for done in ran.done])
        together = {"mean_of": len(ran.done)} if len(ran.done) > 1 else {}
        for at, (done, its) in enumerate(zip(ran.done, moved)):
            begin = ran.begin + at * ran.seconds
            details = {"loop": ran.loop, "line": ran.line, "round": ran.first + at, "mode": done.mode,
                       "active": done.active, "edges": done.edges, **together,
                       **{name: count for name, count in its._asdict().items() if count}}
            self._add("superstep", f"superstep {ran.first + at}: {done.mode}", begin, ran.seconds, _SUPERSTEPS, details)
            self._append({"ph": "C", "name": "active vertices", "pid": _PROCESS, "ts": self._micros(begin),
                          "args": {"active": done.active}})

    def write(self, file: IO[bytes] | gzip.GzipFile, name: str = "vlang") -> None:
        """Write the trace as JSON. `name` is the name of the process in the trace."""
        tracks = {_SUPERSTEPS: "supersteps", **{number: "run" if ident == self._main else f"thread {number}"
                                                for ident, number in self._tracks.items()}}
        heads = [_named("process_name", 0, name), *(_named("thread_name", at, text) for at, text in tracks.items())]
        about = {"left_out": self.left_out} if self.left_out else {}
        file.write(b'{"displayTimeUnit": "ms", "otherData": %s, "traceEvents": [\n' % json.dumps(about).encode())
        events = [*heads, *self._events]
        for first in range(0, len(events), _LINES):
            part = ",\n".join(json.dumps(event, default=str) for event in events[first : first + _LINES])
            file.write(((",\n" if first else "") + part).encode())
        file.write(b"\n]}\n")

    def _add(self, kind: str, name: str, begin: float, seconds: float, track: int, details: dict[str, Any]) -> None:
        self._append({"ph": "X", "cat": kind, "name": name, "pid": _PROCESS, "tid": track, "ts": self._micros(begin),
                      "dur": round(1e6 * seconds, 3), "args": details})

    def _append(self, event: dict[str, Any]) -> None:
        if len(self._events) < self._most:
            self._events.append(event)
        else:
            self.left_out += 1

    def _micros(self, at: float) -> float:
        return max(0.0, round(1e6 * (at - self._start), 3))


def _named(event: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": event, "pid": _PROCESS, "tid": track, "ts": 0, "args": {"name": name}}


def check_trace(path: str) -> None:
    """Check the path of a trace.

    Raises BindError if the suffix is not .json or .json.gz, and DiskError if the file cannot be written.
    """
    if not path.endswith(_SUFFIXES):
        raise BindError(f"trace: `{path}` is no name of a trace; end it in {' or '.join(_SUFFIXES)}")
    check_writable(path)


@contextmanager
def recorded(path: str | os.PathLike[str], name: str = "vlang") -> Iterator[None]:
    """A context manager that records the block inside it, and writes the trace at the end, even after an exception.

    Args:
        path: a file that ends in .json or .json.gz; it is written atomically.
        name: the name of the process in the trace.

    Raises BindError for any other suffix. Raises DiskError.
    """
    text = os.fspath(path)
    check_trace(text)
    recorder = Recorder()
    try:
        with listened_by(recorder):
            yield
    finally:
        with whole_file(text) as file:
            if text.endswith(".gz"):
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    recorder.write(packed, name)
            else:
                recorder.write(file, name)

"""The errors and warnings that a user can get, and the wording of counts in messages. Each class also inherits from the
matching builtin exception.
"""

from __future__ import annotations

__all__ = [
    "BindError", "CacheWarning", "ChaosError", "CheckpointError", "ClusterError", "DeviceError",
    "DiskError", "GraphError", "InternalError", "OutOfMemory", "ProgramError", "ProgramTypeError", "RangeError",
    "ResumeError", "TrapError", "VlangError", "plural",
]


class VlangError(Exception):
    """Base of all errors that vlang raises on purpose (public as `vlang.Error`)."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython and Jupyter show: the lines of user code that led to the error, and the
        message.
        """
        import os.path  # start-up
        import traceback  # start-up

        here = os.path.dirname(os.path.abspath(__file__)) + os.sep
        lines = []
        for frame in traceback.extract_tb(self.__traceback__):
            inside = os.path.abspath(frame.filename).startswith(here) or f"{os.sep}IPython{os.sep}" in frame.filename
            if frame.line and not inside:
                cell = "ipykernel" in frame.filename or frame.filename.startswith("<ipython")
                lines.append(f"{'cell' if cell else frame.filename}, line {frame.lineno}: {frame.line}")
        return [*lines, f"{type(self).__name__}: {self}"]


class ProgramError(VlangError, SyntaxError):
    """The text of a program is wrong. `problems` holds the diagnostics; `str(error)` is the whole report."""

    def __init__(self, report: str, problems: tuple[object, ...] = ()) -> None:
        super().__init__(report)
        self.problems = problems

    def __str__(self) -> str:
        return str(self.args[0])


class ProgramTypeError(ProgramError, TypeError):
    """The text of a program is wrong, and all of its problems are type errors."""


class BindError(VlangError, TypeError):
    """A call of a program has arguments that do not fit the declarations of the program."""


class ResumeError(VlangError, ValueError):
    """A program cannot continue from this result after its graph has changed. Run it anew: `program(graph)`."""


class CheckpointError(VlangError, ValueError):
    """A run cannot continue from a checkpoint: it belongs to another run, is damaged, or is not a checkpoint."""


class GraphError(VlangError, ValueError):
    """A malformed graph or graph file, or a vertex that is not in the graph."""


class RangeError(VlangError, OverflowError):
    """A value inside a run is too large for its type, so the results would be silently wrong."""


class TrapError(VlangError, ArithmeticError):
    """The first failed operation of a run in trap mode (language.md 6.1).

    Attributes:
        kind: how the operation failed: "infinite", "infinite operand", "nan", "nan operand", "division by zero",
            "index", "shift" or "none".
        line: the line of the operation in the program, from 1.
        column: the column of the first character of the operation, from 1.
        vertex: the user's id of the vertex; None for a value of the whole graph.
        superstep: the superstep of the innermost running loop, from 1; 0 outside of loops.
    """

    def __init__(self, message: str, kind: str, line: int, column: int, vertex: object, superstep: int = 0) -> None:
        super().__init__(message, kind, line, column, vertex, superstep)
        self.kind, self.line, self.column, self.vertex, self.superstep = kind, line, column, vertex, superstep

    def __str__(self) -> str:
        return str(self.args[0])


class DiskError(VlangError, OSError):
    """A file that cannot be read or written."""


class OutOfMemory(VlangError, MemoryError):
    """The run does not fit in memory, or in its memory budget.

    Attributes:
        in_memory: for edges on disk, the number of bytes that suffice for a run with all edges in memory; 0 if unknown.
        least: the bytes of GPU memory that suffice, if the message names them; otherwise 0.
    """

    in_memory = least = 0


class DeviceError(VlangError, RuntimeError):
    """The requested device is missing, or failed."""


class ClusterError(VlangError, RuntimeError):
    """A run on several ranks has failed: a rank ended, or the ranks do not agree where the run is."""


class ChaosError(VlangError, AssertionError):
    """A run in chaos mode, which executes the program in a random legal order, gave another result than a plain run."""


class InternalError(VlangError, RuntimeError):
    """A bug in vlang itself. The message asks the user to report the bug."""

    def _render_traceback_(self) -> list[str]:
        """The whole traceback, because a bug report needs it."""
        import traceback  # start-up

        return "".join(traceback.format_exception(self)).splitlines()


class CacheWarning(UserWarning):
    """Compiled programs cannot be stored in the cache, so every process compiles them again.

    The warning is also given if kernels are compiled under a memory budget and no other process can compile them. The
    warning is given once per process.
    """


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun: `1 edge`, `2,000 edges`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"

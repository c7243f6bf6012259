"""The errors and warnings that a user can meet. Each is also the matching builtin one, and has one clear message."""

from __future__ import annotations

__all__ = [
    "BindError", "CacheWarning", "ChaosError", "CheckError", "CheckpointError", "DeviceError", "DiskError",
    "GraphError", "InternalError", "OutOfMemory", "ProgramError", "ProgramTypeError", "RangeError", "ResumeError",
    "VlangError",
]


class VlangError(Exception):
    """Base of all errors that vlang raises on purpose (public as `vlang.Error`)."""


class ProgramError(VlangError, SyntaxError):
    """The text of a program is wrong. `problems` are the diagnostics, `str()` is the whole report."""

    def __init__(self, report: str, problems: tuple[object, ...] = ()) -> None:
        super().__init__(report)
        self.problems = problems

    def __str__(self) -> str:
        return str(self.args[0])


class ProgramTypeError(ProgramError, TypeError):
    """A program with problems of types only."""


class BindError(VlangError, TypeError):
    """A call of a program with arguments that do not fit its declarations."""


class ResumeError(VlangError, ValueError):
    """A result from which a program cannot continue after the graph has changed. Run it anew: `program(graph)`."""


class CheckpointError(VlangError, ValueError):
    """A checkpoint from which a run cannot go on: of another run, damaged, or no checkpoint at all."""


class GraphError(VlangError, ValueError):
    """A malformed graph or graph file, or a vertex that is not in the graph."""


class RangeError(VlangError, OverflowError):
    """A value inside a run is too large for its type, so the results would be wrong without showing it."""


class CheckError(VlangError, ArithmeticError):
    """The first operation of a run in check mode that failed (language.md 6.1).

    Attributes:
        kind: what failed: "infinite", "infinite operand", "nan", "nan operand", "division by zero", "index", "shift" or
            "none".
        line: of the operation in the program, from 1.
        column: of its first character, from 1.
        vertex: the id of the vertex, as in the graph; None for a value of the whole graph.
        superstep: of the innermost loop under way, from 1; 0 outside of loops.
    """

    def __init__(self, message: str, kind: str, line: int, column: int, vertex: object, superstep: int = 0) -> None:
        super().__init__(message, kind, line, column, vertex, superstep)
        self.kind, self.line, self.column, self.vertex, self.superstep = kind, line, column, vertex, superstep

    def __str__(self) -> str:
        return str(self.args[0])


class DiskError(VlangError, OSError):
    """A file that cannot be read or written."""


class OutOfMemory(VlangError, MemoryError):
    """The run does not fit in memory, or in its memory budget."""


class DeviceError(VlangError, RuntimeError):
    """The requested device is missing, or failed."""


class ChaosError(VlangError, AssertionError):
    """A run that took every freedom of a program ended with another result than the plain run."""


class InternalError(VlangError, RuntimeError):
    """A bug in vlang itself: the message asks to report it."""


class CacheWarning(UserWarning):
    """Compiled programs cannot be kept, so that every process compiles them again. Given once a process."""

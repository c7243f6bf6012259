"""Compiles all kernels of a run on the CPU in advance, and stores them in the cache directory."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from vlang.api.program import Program, load
from vlang.errors import DiskError
from vlang.ir.forms.ranges import SIZES
from vlang.records import dataclass
from vlang.runtime.compile.cachedir import find_cache

__all__ = ["Warmed", "folder", "warm_graphs", "warm_program"]


@dataclass(frozen=True)
class Warmed:
    """The result of compiling in advance. All values are 0 if everything was cached.

    Attributes:
        compiled: the number of kernels compiled.
        seconds: the elapsed time.
        size: bytes of their object code.
    """

    compiled: int = 0
    seconds: float = 0.0
    size: int = 0

    def __add__(self, other: Warmed) -> Warmed:
        return Warmed(self.compiled + other.compiled, self.seconds + other.seconds, self.size + other.size)

    def __str__(self) -> str:
        if not self.compiled:
            return "nothing to compile"
        return f"{self.compiled} compiled, {self.seconds:.1f} s, {self.size / 1024:.0f} KiB"


def folder() -> Path:
    """The cache directory. Raises DiskError if no cache directory is writable."""
    place, why_not = find_cache()
    if place is None:
        raise DiskError(f"compiled programs cannot be kept: {why_not}; VLANG_CACHE names another folder")
    return place


def warm_graphs() -> Warmed:
    """Compile the kernels that every program needs: to read text, build adjacency, generate graphs and run threads."""
    from vlang.runtime.graph.kernels import kernel_files, kernels  # start-up
    from vlang.runtime.kernels import crew_kernels  # start-up

    def work() -> None:
        for found in (*map(kernels, kernel_files()), kernels("sort", "u32"), crew_kernels()):
            list(found.values())  # a kernel is compiled when it is looked up

    return _counted(work)


def warm_program(name: str | Path, precision: int) -> tuple[Program, Warmed]:
    """Compile a program (see `load`) for graphs with all of its edge columns, and for graphs with the required columns.

    The kernels fit a call that passes only the required fields. Raises the errors of `load`.
    """
    program = load(name, precision)

    def work() -> None:
        from vlang.runtime.cpu.cpu_machine import prepare_all  # start-up

        given = frozenset(field.name for field in program.fields if field.required)
        for columns, sizes in itertools.product(_columns(program), SIZES[:2]):  # mostly the same kernels
            prepare_all(program.plan(columns, given, sizes=sizes))

    return program, _counted(work)


def _columns(program: Program) -> Iterator[frozenset[str]]:
    """Return the two sets of edge columns for which to compile: all columns that the program reads, and only the
    required columns.
    """
    every = frozenset(edge.name for edge in program.edges)
    least = frozenset(edge.name for edge in program.edges if edge.required)
    yield every
    if least != every:
        yield least


def _counted(work: Callable[[], None]) -> Warmed:
    """Run a function, and count the kernels that it compiles.

    New files in the cache directory are not counted, since other processes may write there at the same time.
    """
    from vlang.runtime.compile.objects import compiled  # start-up

    before, begin = compiled(), time.perf_counter()
    work()
    after = compiled()
    added = len(after) - len(before)
    return Warmed(added, time.perf_counter() - begin if added else 0.0, sum(after) - sum(before))

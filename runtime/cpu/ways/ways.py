"""The execution ways of loops on the CPU, in order of preference. A loop runs in the first way that may run it.

This list is used by the code that prepares and runs loops, by the check of options, by `vlang explain` and by chaos
runs (docs/internals/ways.md).
"""

from __future__ import annotations

from vlang.runtime.cpu.ways.components import Components
from vlang.runtime.cpu.ways.cpu_way import CpuWay
from vlang.runtime.cpu.ways.priority import Priority
from vlang.runtime.cpu.ways.push import Push
from vlang.runtime.cpu.ways.reach import Reach
from vlang.runtime.cpu.ways.sums import Sums
from vlang.runtime.cpu.ways.superstep import Supersteps

__all__ = ["WAYS", "modes"]

WAYS: list[CpuWay] = [Components(), Priority(), Reach(), Push(), Sums(), Supersteps()]


def modes() -> tuple[str, ...]:
    """The values of the option `mode`."""
    return ("auto", *dict.fromkeys(mode for way in reversed(WAYS) for mode in way.modes))

"""What edges cost on this machine, for one thread: measured once, kept in the cache directory.

Which way a superstep goes depends on ratios of these costs only, and they differ three-fold between machines: reading
in order by memory and prefetching, reading anywhere by the caches that a core has for itself. Graphs of few edges take
the reference as it is, since there the choice hardly matters.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np

from vlang.errors import InternalError
from vlang.runtime.compile.cachedir import cache_dir
from vlang.runtime.compile.kept import key_of, read_entry, write_entry
from vlang.runtime.compile.llvm import cpu
from vlang.runtime.kernels import cost_kernels

__all__ = ["MEASURED_FROM", "REFERENCE", "Costs", "costs_of", "kept_costs", "measure_costs", "sound"]

MEASURED_FROM = 1 << 20  # edges of a graph
_MAGIC = b"vlang costs 2\n"
_SUFFIX = "costs"
_CELLS = 1 << 20  # values of 4 bytes, as a graph of a million vertices has
_FAR = 1 << 24  # beyond the caches of most machines
_TRIALS = 5
_ODD = 32.0  # a measured cost further off than this factor is no measurement


@dataclass(frozen=True)
class Costs:
    """Nanoseconds of one thread. pulled: an edge of a full pass, whose sender's value is read; pushed: an edge whose
    receiver's value is joined by a guarded compare-and-swap; notified: an edge whose receiver's byte is set; marked: an
    edge whose receiver's bit is; row: the beginning of a row that lies anywhere; summed: an edge that adds to what its
    receiver is sent, and marks it."""

    pulled: float = 0.9
    pushed: float = 1.2
    notified: float = 0.9
    marked: float = 0.9
    row: float = 3.6
    summed: float = 1.9

    def __str__(self) -> str:
        return (f"an edge pulled {self.pulled:.2f} ns, pushed {self.pushed:.2f}, summed {self.summed:.2f}, notified "
                f"{self.notified:.2f}, marked {self.marked:.2f}, a row {self.row:.2f}")


REFERENCE = Costs()
"""Of a virtual machine on a Xeon of 2023."""


def costs_of(edges: int) -> Costs:
    """The costs of this machine: as kept, else measured now, in 0.2 s; the reference for a graph of few edges."""
    return REFERENCE if edges < MEASURED_FROM else _costs_in(cache_dir())


@cache
def _costs_in(folder: Path | None) -> Costs:
    """The costs that are kept in a cache directory, or measured now; those of a process without one, too."""
    known = kept_costs()
    if known is None:
        known = measure_costs()
        write_entry(_key(), _SUFFIX, _MAGIC, json.dumps(asdict(known)).encode())
    return known


def kept_costs() -> Costs | None:
    """What was measured on this machine before; None for nothing."""
    raw = read_entry(_key(), _SUFFIX, _MAGIC)  # None, too, for an entry that is damaged
    return None if raw is None else Costs(**json.loads(raw))


def _key() -> str:
    return key_of("costs", *cpu())


def measure_costs(cells: int = _CELLS, far: int = _FAR) -> Costs:
    """The costs, measured. cells: values that edges reach; far: words of memory in which rows begin; powers of two."""
    kernels = cost_kernels()
    order = np.random.default_rng(1).permutation(cells).astype(np.uint32)
    values, bits = np.ones(cells, np.float32), np.zeros(max(1, cells // 64), np.uint64)
    memory = np.zeros(far, np.uint32)
    sums, marks, groups = np.zeros(cells, np.float64), np.zeros(cells, np.uint8), np.zeros(cells, np.uint8)
    found = {
        "pulled": _least(lambda: kernels["pull"](order, cells, values)) / cells,
        "pushed": _least(lambda: kernels["push"](order, cells, values.view(np.uint32))) / cells,
        "notified": _least(lambda: kernels["notify"](order, cells, values.view(np.uint8))) / cells,
        "marked": _least(lambda: kernels["mark"](order, cells, bits)) / cells,
        "summed": _least(lambda: kernels["sum"](order, cells, sums, marks, groups)) / cells,
        "row": _least(lambda: kernels["rows"](order, cells, memory, far // cells)) / cells,
    }
    return sound(found)


def _least(act: Callable[[], object]) -> float:
    """Nanoseconds, the least of some trials behind one that warms up."""
    spans = []
    for _ in range(_TRIALS + 1):
        begin = time.perf_counter_ns()
        act()
        spans.append(time.perf_counter_ns() - begin)
    return float(min(spans[1:]))


def sound(found: Mapping[str, float]) -> Costs:
    """Measured costs; that of the reference where a measurement makes no sense."""
    known = asdict(REFERENCE)
    if set(found) != {spec.name for spec in fields(Costs)}:
        raise InternalError("costs were measured that nothing asks for, or not all that are asked for")
    return Costs(**{name: value if known[name] / _ODD < value < known[name] * _ODD else known[name]
                    for name, value in found.items()})

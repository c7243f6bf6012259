"""The costs of processing edges on this machine with one thread. Costs are measured once, and kept in the cache
directory.

The choice between push and pull depends only on ratios of these costs. The ratios differ by a factor of three between
machines: sequential reads depend on memory and prefetching, but random reads depend on the private caches of a core.
Runs on graphs with few edges use reference values, because the choice hardly matters for such graphs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path

import numpy as np

from vlang.errors import InternalError
from vlang.records import dataclass
from vlang.runtime.compile.cachedir import cache_dir
from vlang.runtime.compile.kept import key_of, read_entry, write_entry
from vlang.runtime.compile.llvm import cpu
from vlang.runtime.kernels import cost_kernels
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.threads.activity import step

__all__ = ["MEASURED_FROM", "REFERENCE", "Costs", "costs_of", "kept_costs", "measure_costs", "sound"]

MEASURED_FROM = 1 << 20  # graphs with fewer edges use the reference
_MAGIC = b"vlang costs 2\n"
_SUFFIX = "costs"
_CELLS = 1 << 20  # values of 4 bytes, as many as a graph of a million vertices has
_FAR = 1 << 24  # values of 4 bytes, more than the caches of most machines hold
_TRIALS = 5
_ODD = 32.0  # a cost that differs from the reference by more than this factor is discarded


@dataclass(frozen=True)
class Costs:
    """Costs for one thread, in nanoseconds.

    Attributes:
        pulled: per edge of a full pass, which reads the value of the sender.
        pushed: per edge of a push, which updates the value of the receiver by a guarded compare-and-swap.
        notified: per edge of a notification, which sets a byte of the receiver.
        marked: per edge of a superstep with a uniform frontier, which sets or tests a bit.
        row: per row that is read at a random place.
        summed: per edge of a pushed sum, which adds to the accumulator of the receiver and marks the receiver.
    """

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
"""The costs on a virtual machine on a Xeon of 2023."""


def costs_of(edges: int) -> Costs:
    """Return the costs of this machine, from the cache or from a measurement of 0.2 s.

    The result is the reference costs if the graph has few edges, or if a memory budget leaves no room for a
    measurement.
    """
    short = ledger.left is not None and ledger.left < 2 * _FAR * np.dtype(np.uint32).itemsize
    if edges < MEASURED_FROM or (short and kept_costs() is None):
        return REFERENCE
    return _costs_in(cache_dir())


@cache
def _costs_in(folder: Path | None) -> Costs:
    """Return the costs from a cache directory. Costs that are not in the directory are measured and stored.

    Without a cache directory, the costs are kept in the memory of the process.
    """
    known = kept_costs()
    if known is None:
        with step("measuring", "what edges cost on this machine"):
            known = measure_costs()
        write_entry(_key(), _SUFFIX, _MAGIC, json.dumps(asdict(known)).encode())
    return known


def kept_costs() -> Costs | None:
    """The costs that were measured on this machine earlier; None if there are none."""
    raw = read_entry(_key(), _SUFFIX, _MAGIC)  # also None for a damaged entry
    return None if raw is None else Costs(**json.loads(raw))


def _key() -> str:
    return key_of("costs", *cpu())


def measure_costs(cells: int = _CELLS, far: int = _FAR) -> Costs:
    """Measure the costs.

    Args:
        cells: the number of values that edges access, a power of two.
        far: the number of u32 words over which rows are spread, a power of two.
    """
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
    """The minimum time of _TRIALS trials after a warm-up, in nanoseconds."""
    spans = []
    for _ in range(_TRIALS + 1):
        begin = time.perf_counter_ns()
        act()
        spans.append(time.perf_counter_ns() - begin)
    return float(min(spans[1:]))


def sound(found: Mapping[str, float]) -> Costs:
    """Return measured costs in which reference values replace implausible values."""
    known = asdict(REFERENCE)
    if set(found) != {spec.name for spec in fields(Costs)}:
        raise InternalError("costs were measured that nothing asks for, or not all that are asked for")
    return Costs(**{name: value if known[name] / _ODD < value < known[name] * _ODD else known[name]
                    for name, value in found.items()})

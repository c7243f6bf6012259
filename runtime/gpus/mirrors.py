"""Records which mirrors of a run are up to date, and updates mirrors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from vlang.runtime.gpu.device.device import Device
from vlang.runtime.gpus.exchange import Exchange, Updates
from vlang.runtime.gpus.exchange_all import WholeExchange
from vlang.runtime.gpus.exchange_refined import RefinedExchange
from vlang.runtime.gpus.exchange_subset import SubsetExchange
from vlang.runtime.plan.plan import StageSpec, field_of

__all__ = ["Mirrors", "choose_exchange", "run_at_once"]

_EXCHANGES: Mapping[str, type[Exchange]] = {one.name: one for one in (SubsetExchange, RefinedExchange, WholeExchange)}


def choose_exchange(asked: str, devices: Sequence[Device]) -> tuple[type[Exchange], str]:
    """Choose the exchange of a run; returns the exchange and the reason.

    Between GPUs that reach each other directly (278 GB/s over NVLink), copying all mirrored values takes less time than
    reading the number of changed values on the host. Copies through host memory are about ten times slower than direct
    copies between GPUs.

    Args:
        asked: the option `exchange`.
        devices: the GPUs of the run.
    """
    if asked != "auto":
        return _EXCHANGES[asked], "as asked"
    return (SubsetExchange, "all GPUs reach each other") if _reach(devices) else \
        (RefinedExchange, "copies between some GPUs go through host memory")


def run_at_once(devices: Sequence[Device]) -> bool:
    """Return whether kernels of several GPUs can run at the same time and store to each other's memory."""
    return _reach(devices) and os.environ.get("CUDA_LAUNCH_BLOCKING", "0") in ("", "0")


def _reach(devices: Sequence[Device]) -> bool:
    return all(one.reaches(other) for one in devices for other in devices if one is not other)


class Mirrors:
    """The mirrors of all GPUs of a run.

    Args:
        read: the arrays that passes read at neighbours.
        exchange: updates mirrors.

    Attributes:
        read: the argument `read`.
    """

    def __init__(self, read: frozenset[str], exchange: Updates) -> None:
        self.read, self._exchange = read, exchange
        self._fresh: set[str] = set()  # the arrays whose mirrors have the values of their owners

    def refresh(self, slots: Iterable[str]) -> None:
        """Update the mirrors of some arrays, unless they are up to date."""
        stale = [slot for slot in slots if slot in self.read and slot not in self._fresh]
        if stale:
            self._exchange.update(stale)
            self._fresh.update(stale)

    def changed(self, slot: str) -> None:
        """Note that the values of an array have changed."""
        self._fresh.discard(slot)

    def written(self, slot: str) -> None:
        """Note that the values of an array, including mirrors, have been overwritten on all GPUs."""
        self._fresh.add(slot)
        self._exchange.forget(slot)

    def pushed(self, stage: StageSpec) -> None:
        """Note that a loop has pushed, and has itself sent the changed values to mirrors."""
        self.ran(stage)
        for slot in stage.near:
            if not self._stays(slot, stage):
                self._exchange.forget(slot)

    def ran(self, stage: StageSpec) -> None:
        """Note that a pass has run.

        Fields that the pass does not write keep their values; all other arrays may have changed.
        """
        self._fresh = {slot for slot in self._fresh if self._stays(slot, stage)}

    def _stays(self, slot: str, stage: StageSpec) -> bool:
        return slot.startswith(("field:", "start")) and field_of(slot) not in stage.written

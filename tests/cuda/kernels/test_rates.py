"""The rates of a device are measured when a run needs them. Rates are plausible and cached, and they scale the costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cuda.emulation.emulated import EmulatedDevice, needs_compiler
from vlang.emit.cuda.cuda_target import CudaTarget
from vlang.errors import OutOfMemory
from vlang.runtime.compile import cachedir
from vlang.runtime.gpu.passes import rates
from vlang.runtime.gpu.passes.rates import MEASURED_FROM, REFERENCE, Rates, measure_rates, rates_of, sound
from vlang.runtime.gpu.topology.transfers import Link
from vlang.runtime.gpu.ways.push_costs import Costs
from vlang.runtime.storage.ledger import budget


def test_the_reference_changes_nothing() -> None:
    assert Costs().on(REFERENCE) == Costs()
    link = REFERENCE.link
    assert (link.start, link.copied, link.direct, link.touched) == pytest.approx(
        (Link().start, Link().copied, Link().direct, Link().touched))


def test_costs_follow_the_device() -> None:
    slow = Costs().on(replace(REFERENCE, atomic=3 * REFERENCE.atomic, barrier=2 * REFERENCE.barrier))
    assert slow.push > 2 * Costs().push
    assert (slow.pull, slow.full, slow.scan, slow.solo) == (Costs().pull, Costs().full, Costs().scan, 1024)
    near = Costs().on(replace(REFERENCE, gather=REFERENCE.gather / 2))
    assert near.full == Costs().full // 2
    assert near.push > Costs().push // 2


def test_what_makes_no_sense_is_left_out() -> None:
    found = sound({"gather": 1e-11, "atomic": -1.0, "barrier": float("nan"), "start": 1.0, "stream": 0.0})
    assert found == replace(REFERENCE, gather=1e-11)


def test_measured_once_and_only_where_it_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = replace(REFERENCE, gather=2e-11)
    calls: list[str] = []

    def measure(device: Any, text: str) -> Rates:
        calls.append(text)
        return measured

    monkeypatch.setenv("VLANG_CACHE", str(tmp_path))
    monkeypatch.setattr(rates, "measure_rates", measure)
    cachedir.cache_dir.cache_clear()
    device = EmulatedDevice()
    try:
        assert rates_of(device, "// a plan", MEASURED_FROM - 1) == REFERENCE
        assert [rates_of(device, "// a plan", MEASURED_FROM) for _ in range(2)] == [measured, measured]
        assert calls == ["// a plan"]

        def refuse(device: Any, text: str) -> Rates:
            raise OutOfMemory("none")

        [kept] = tmp_path.iterdir()
        kept.unlink()
        monkeypatch.setattr(rates, "_read", {})  # as in another process
        monkeypatch.setattr(rates, "measure_rates", refuse)
        assert rates_of(device, "// a plan", MEASURED_FROM) == REFERENCE
        assert list(tmp_path.iterdir()) == []
    finally:
        cachedir.cache_dir.cache_clear()


@needs_compiler
def test_a_small_budget_of_the_host_has_no_room_for_measuring(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VLANG_CACHE", str(tmp_path))
    cachedir.cache_dir.cache_clear()
    device = EmulatedDevice(multiprocessors=1, flags=("-O0",))
    try:
        with budget(9 << 20):
            assert rates_of(device, CudaTarget().module((), (), (), {}).text, MEASURED_FROM) == REFERENCE
        assert device.allocated() == 0
    finally:
        cachedir.cache_dir.cache_clear()
        device.close()


@needs_compiler
@pytest.mark.parametrize("unified", [True, False])
def test_measuring_runs(unified: bool) -> None:
    """The kernels that measure rates end and stay inside their memory. The times of these kernels have no meaning on a
    CPU.
    """
    device = EmulatedDevice(multiprocessors=1, flags=("-O0",), unified=unified)
    found = measure_rates(device, CudaTarget().module((), (), (), {}).text, rounds=2, cells=1 << 10, host=1 << 11)
    assert all(value > 0 for value in vars(found).values())
    assert device.allocated() == 0
    assert {name.rpartition("_")[0] for name in device.launches} == \
        {"time_access", "time_barriers", *(["time_rows"] if unified else [])}
    device.close()


def test_an_operation_is_timed_on_a_full_device(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[int] = []

    class Device:
        def resident(self, kernel: object, threads: int) -> int:
            return 7

        def launch(self, kernel: object, blocks: int, *more: object) -> None:
            launched.append(blocks)

    def seconds(device: object, launch: Callable[[], None]) -> float:
        launch()
        return 1.0

    monkeypatch.setattr(rates, "_seconds", seconds)
    device: Any = Device()
    assert rates._each(device, device, (), 10) == pytest.approx(1 / 70)
    assert launched == [7]

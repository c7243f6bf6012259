"""The rates of supersteps, measured on this GPU."""

from __future__ import annotations

import time
from dataclasses import astuple

from tests.gpu.compare import needs_gpu
from vlang.emit.cuda.cuda_target import CudaTarget
from vlang.runtime.gpu.device.cuda import CudaDevice
from vlang.runtime.gpu.passes.rates import REFERENCE, measure_rates
from vlang.runtime.gpu.ways.push_costs import Costs

pytestmark = needs_gpu


def test_rates_are_measured_soon_and_alike(device: CudaDevice) -> None:
    text = CudaTarget().module((), (), (), {}).text
    first = measure_rates(device, text)  # this call also compiles
    begin = time.perf_counter()
    again = measure_rates(device, text)
    print(f"{first}\n{again}\nin {time.perf_counter() - begin:.2f} s; {Costs().on(again)}; reference: {REFERENCE}")
    assert time.perf_counter() - begin < 2
    assert device.allocated() == 0
    assert all(0.5 < a / b < 2 for a, b in zip(astuple(first), astuple(again)))
    assert first.stream < first.gather <= first.atomic * 1.5
    assert first.barrier < first.launch

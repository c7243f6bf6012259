"""Fixtures for tests that need a GPU. Without a GPU these tests are skipped, and the reason is shown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from vlang.errors import DeviceError
from vlang.runtime.gpu.device.cuda import CudaDevice
from vlang.runtime.gpu.device.gpus import Gpu, gpus


@pytest.fixture(scope="session")
def gpu() -> Gpu:
    """The first GPU."""
    try:
        return gpus()[0]
    except DeviceError as error:
        pytest.skip(str(error))


@pytest.fixture
def device(gpu: Gpu) -> Iterator[CudaDevice]:
    """Yield the first GPU as an open device, which is closed after the test."""
    opened = CudaDevice(gpu.index)
    yield opened
    opened.close()

"""Results can stay on the device: CuPy arrays that are not copied and outlive the run."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from tests.gpu.compare import given, needs_gpu, on_cpu
from tests.reference.cases import ON_GPU

pytestmark = needs_gpu


@pytest.mark.parametrize("name", ON_GPU)
def test_arrays_on_the_device(name: str) -> None:
    import cupy

    run = given(name, "hubs")
    here, there = run(device="gpu", deterministic=True), run(device="gpu", deterministic=True, device_arrays=True)
    for field in here.fields:
        array = there[field]
        assert isinstance(array, cupy.ndarray), field
        assert array.shape == (run.graph.n,)
        assert array.__cuda_array_interface__["data"][0] == array.data.ptr
        np.testing.assert_array_equal(cupy.asnumpy(array), here[field], err_msg=field)


def test_arrays_outlive_the_run_and_travel_by_dlpack() -> None:
    import cupy

    depth = given("bfs", "hubs")(device="gpu", device_arrays=True)["depth"]
    gc.collect()
    for _ in range(3):
        given("pagerank", "hubs")(device="gpu")  # this run would reuse the memory if the array did not own it
    np.testing.assert_array_equal(cupy.asnumpy(cupy.from_dlpack(depth)), on_cpu("bfs", "hubs")["depth"])
    torch = pytest.importorskip("torch")
    tensor = torch.from_dlpack(depth)
    assert tensor.data_ptr() == depth.data.ptr

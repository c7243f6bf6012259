"""The choice of a device, the messages if there is no GPU, and the messages for errors of CUDA."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pytest

from vlang.errors import BindError, DeviceError
from vlang.runtime.gpu.device import gpus
from vlang.runtime.gpu.device.choose import AUTO_EDGES, check_device, choose, open_device, parse_device, stand_in
from vlang.runtime.gpu.device.device import DeviceInfo
from vlang.runtime.gpu.device.faults import fault, lost


@dataclass
class Opened:
    """A stand-in for an opened device."""

    index: int
    gpu_memory: int | None
    closed: bool = False
    info: DeviceInfo = field(default=DeviceInfo("Test GPU", "sm_90", 1, 1, 1, True))

    def budget(self) -> int:
        return self.gpu_memory or 1000

    def close(self) -> None:
        self.closed = True


opened: Any = Opened  # has the members that the choice of a device uses


def absent(index: int, gpu_memory: int | None) -> NoReturn:
    raise DeviceError("there is no GPU: the test says so")


def never() -> int:
    raise AssertionError("the state need not be known")


@pytest.mark.parametrize(("text", "parsed"), [("cpu", ("cpu", 0)), ("gpu", ("gpu", 0)), ("gpu:0", ("gpu", 0)),
                                              ("gpu:12", ("gpu", 12)), ("auto", ("auto", 0))])  # fmt: skip
def test_names(text: str, parsed: tuple[str, int]) -> None:
    assert parse_device(text) == parsed


@pytest.mark.parametrize("text", ["", "GPU", "gpu:", "gpu:x", "gpu:-1", "gpu:99999", "gpu:\u0663", "cpu:0", "auto:1",
                                  0, None])  # fmt: skip
def test_names_that_are_none(text: object) -> None:
    with pytest.raises(BindError, match=r"device is 'cpu', 'gpu', 'gpu:K' \(the GPU of number K\), .* or 'auto', not "):
        parse_device(text)


def test_a_name_that_is_nearly_one() -> None:
    with pytest.raises(BindError, match="did you mean 'gpu'"):
        parse_device("gpuu")


def test_as_asked() -> None:
    assert choose("cpu", None, 10**9, never).name == "cpu"
    with stand_in("gpu", opened):
        choice = choose("gpu:3", 77, 5, never)
    assert isinstance(choice.device, Opened)
    assert (choice.device.index, choice.device.gpu_memory) == (3, 77)
    assert (choice.name, choice.reason) == ("gpu:3", "Test GPU, as asked")


def test_auto_says_what_and_why() -> None:
    with stand_in("gpu", opened):
        assert choose("auto", None, AUTO_EDGES - 1, never).reason == "999,999 edges are too few for a GPU to pay off"
        taken = choose("auto", None, AUTO_EDGES, lambda: 1000)
        assert taken.device is not None
        assert (taken.name, taken.reason) == ("gpu:0", "Test GPU, 1,000,000 edges")
        refused = choose("auto", None, AUTO_EDGES, lambda: 1001)
        assert (refused.device, refused.name) == (None, "cpu")
        assert refused.reason == "1001 bytes of vertex state do not fit 1000 bytes of GPU memory"
    with stand_in("gpu", absent):
        choice = choose("auto", None, AUTO_EDGES, never)
        assert (choice.device, choice.name, choice.reason) == (None, "cpu", "there is no GPU: the test says so")
        with pytest.raises(DeviceError):
            choose("gpu", None, 5, never)


def test_a_stand_in_is_gone_afterwards_and_nowhere_else() -> None:
    with stand_in("emulated", opened):
        assert isinstance(open_device("emulated:2"), Opened)
        found: list[str] = []

        def elsewhere() -> None:
            try:
                parse_device("emulated")
            except BindError as error:
                found.append(str(error))

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert len(found) == 1
    with pytest.raises(BindError):
        parse_device("emulated")


def test_a_gpu_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cupy_backends", "cupy_backends.cuda", "cupy_backends.cuda.api"):
        monkeypatch.setitem(sys.modules, name, None)
    for ask in (open_device, check_device):
        with pytest.raises(DeviceError) as caught:
            ask("gpu")
        assert str(caught.value) == "a GPU needs CuPy, which is not installed: pip install 'vlang[gpu]'"
    check_device("auto")
    check_device("cpu")


# ------------------------------------------------------------------------ what CUDA says
class CudaError(RuntimeError):
    """An error with the same attributes as an error of CuPy."""

    def __init__(self, status: int, text: str = "cudaErrorSomething: something happened") -> None:
        super().__init__(text)
        self.status = status


class Runtime:
    """The part of CuPy's runtime that is needed to count GPUs."""

    CUDARuntimeError = CudaError

    def __init__(self, count: int | CudaError, driver: int) -> None:
        self.count, self.driver = count, driver

    def getDeviceCount(self) -> int:
        if isinstance(self.count, CudaError):
            raise self.count
        return self.count

    def driverGetVersion(self) -> int:
        return self.driver

    def runtimeGetVersion(self) -> int:
        return 13020


@pytest.mark.parametrize(
    ("count", "driver", "message"),
    [
        (CudaError(35), 0, "there is no GPU: no NVIDIA driver is loaded"),
        (CudaError(35), 12040, "the NVIDIA driver is too old: it has CUDA 12.4, and CuPy here needs 13.2; update the "
                               "driver, or pip install 'vlang[gpu12]'"),
        (CudaError(35), 11080, "the NVIDIA driver is too old: it has CUDA 11.8, and CuPy here needs 13.2; update the "
                               "driver"),
        (CudaError(100), 13000, "there is no GPU: the NVIDIA driver lists none (CUDA_VISIBLE_DEVICES may hide it)"),
        (0, 13000, "there is no GPU: the NVIDIA driver lists none (CUDA_VISIBLE_DEVICES may hide it)"),
        (CudaError(999, "cudaErrorUnknown: unknown error"), 13000,
         "the NVIDIA driver does not answer: cudaErrorUnknown: unknown error"),
        (CudaError(700, "cudaErrorIllegalAddress: an illegal"), 13000,
         "the GPU failed earlier in this process (cudaErrorIllegalAddress: an illegal); start a new one for GPU "
         "programs, or run them on the CPU"),
    ],
)  # fmt: skip
def test_why_there_is_no_gpu(count: int | CudaError, driver: int, message: str) -> None:
    with pytest.raises(DeviceError) as caught:
        gpus.count_gpus(Runtime(count, driver))
    assert str(caught.value) == message


def test_a_number_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for count, have in ((1, "one GPU, gpu:0"), (4, "4 GPUs, gpu:0 to gpu:3")):
        monkeypatch.setattr(gpus, "cuda", lambda count=count: (Runtime(count, 13000), None))
        with pytest.raises(DeviceError, match=f"^there is no gpu:4: this machine has {have}$"):
            gpus.check_gpu(4)


@pytest.mark.parametrize(
    ("status", "gone", "words"),
    [
        (700, True, "a kernel on gpu:0 accessed invalid memory (cuda"),
        (719, True, "bug in vlang"),
        (214, True, "gpu:0 found an uncorrectable error in its memory (ECC)"),
        (802, False, "gpu:0 is not ready"),
        (209, False, "update the driver, or pip install 'vlang[gpu12]'"),
        (2, False, "gpu:0 has no memory left for the driver's own needs"),
        (1, False, "gpu:0 failed: cudaErrorSomething: something happened"),
    ],
)
def test_failures_are_one_clear_sentence(status: int, gone: bool, words: str) -> None:
    error = CudaError(status, "cudaErrorSomething: something happened\nand a second line")
    said = fault(error, "gpu:0")
    assert isinstance(said, DeviceError)
    assert words in str(said)
    assert "\n" not in str(said)
    assert lost(error) is gone
    assert ("programs on the CPU can" in str(said)) is gone

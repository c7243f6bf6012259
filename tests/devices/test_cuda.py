"""The CUDA device on a stand-in for CuPy with host memory: its calls of CUDA, and the conversion of errors."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import click
import numpy as np
import pytest

from vlang.cli.commands.run import command as run_command
from vlang.errors import DeviceError, OutOfMemory
from vlang.runtime.gpu.device import gpus
from vlang.runtime.gpu.device.at_once import QUEUEING
from vlang.runtime.gpu.device.card import close_cards
from vlang.runtime.gpu.device.cuda import RESERVE, CudaDevice
from vlang.runtime.gpu.device.gpus import open_early
from vlang.runtime.gpu.device.staging import staging_bytes
from vlang.runtime.storage.ledger import budget
from vlang.runtime.storage.pagelock import process_locks

GIB = 1 << 30
WAITING = ("malloc", "free", "hostRegister", "hostUnregister", "make module", "destroy module")
"""Calls that may wait for kernels: no thread makes one while another queues kernels that wait for each other."""


class CudaError(RuntimeError):
    def __init__(self, status: int) -> None:
        super().__init__(f"cudaErrorNumber{status}: it went wrong")
        self.status = status


class Cuda(ModuleType):
    """A stand-in for CuPy's `runtime` and `driver`.

    Attributes:
        fail: the status that every later call returns.
        full: the devices without memory for a context.
        enabled: the status of making the memory of another device accessible.
        unguarded: the calls in WAITING by threads that did not hold the lock.
    """

    CUDARuntimeError = CUDADriverError = CudaError
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
    cudaDevAttrMultiProcessorCount, cudaDevAttrMaxSharedMemoryPerBlockOptin = 16, 97
    cudaDevAttrUnifiedAddressing, cudaDevAttrCanMapHostMemory = 41, 19

    def __init__(self) -> None:
        super().__init__("cupy.cuda.runtime")
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.held: dict[int, Any] = {}
        self.live: set[tuple[str, int]] = set()
        self.device, self.fail, self.free_bytes = 0, 0, 8 * GIB
        self.launched: list[tuple[Any, ...]] = []
        self.peers = True
        self.locked: dict[int, int] = {}
        self.unguarded: list[str] = []
        self.full: set[int] = set()
        self.enabled = 0

    def _called(self, name: str, *args: Any) -> None:
        self.calls.append((name, args))
        lock: Any = QUEUEING
        if name in WAITING and not lock._is_owned():
            self.unguarded.append(name)
        if self.fail:
            raise CudaError(self.fail)

    def _made(self, kind: str) -> int:
        self._called(f"make {kind}")
        number = len(self.calls)
        self.live.add((kind, number))
        return number

    def _gone(self, kind: str, number: int) -> None:
        self._called(f"destroy {kind}", number)
        self.live.remove((kind, number))

    def getDeviceCount(self) -> int:
        return 2

    def getDevice(self) -> int:
        return self.device

    def setDevice(self, device: int) -> None:
        self._called("setDevice", device)
        if device in self.full:
            raise CudaError(2)
        self.device = device

    def memGetInfo(self) -> tuple[int, int]:
        self._called("memGetInfo")
        return self.free_bytes - sum(len(b) for b in self.held.values()), 16 * GIB

    def getDeviceProperties(self, index: int) -> dict[str, Any]:
        return {"name": b"Test GPU\0rest", "major": 9, "minor": 0}

    def deviceGetAttribute(self, attribute: int, index: int) -> int:
        return {16: 132, 97: 227 << 10, 41: 1, 19: 1}[attribute]

    def deviceGetPCIBusId(self, index: int) -> str:
        return f"0000:{index:02x}:00.0"

    def malloc(self, nbytes: int) -> int:
        self._called("malloc", nbytes)
        block = ctypes.create_string_buffer(nbytes)
        self.held[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def free(self, pointer: int) -> None:
        self._called("free", pointer)
        del self.held[pointer]

    def memsetAsync(self, pointer: int, byte: int, nbytes: int, stream: int) -> None:
        self._called("memset", stream)
        ctypes.memset(pointer, byte, nbytes)

    def memcpyAsync(self, target: int, source: int, nbytes: int, kind: int, stream: int) -> None:
        self._called("memcpy", kind, stream)
        ctypes.memmove(target, source, nbytes)

    def streamCreateWithFlags(self, flags: int) -> int:
        assert flags == 1
        return self._made("stream")

    def streamDestroy(self, stream: int) -> None:
        self._gone("stream", stream)

    def streamSynchronize(self, stream: int) -> None:
        assert ("stream", stream) in self.live
        self._called("synchronize", stream)

    def streamWaitEvent(self, stream: int, event: int) -> None:
        self._called("wait", stream, event)

    def deviceSynchronize(self) -> None:
        self._called("deviceSynchronize")

    def eventCreateWithFlags(self, flags: int) -> int:
        return self._made("event")

    def eventDestroy(self, event: int) -> None:
        self._gone("event", event)

    def eventRecord(self, event: int, stream: int) -> None:
        self._called("record", event, stream)

    def eventQuery(self, event: int) -> int:
        return self.fail

    def eventElapsedTime(self, start: int, end: int) -> float:
        return 1500.0

    def eventSynchronize(self, event: int) -> None:
        assert ("event", event) in self.live

    def deviceCanAccessPeer(self, device: int, other: int) -> bool:
        return self.peers

    def deviceEnablePeerAccess(self, other: int) -> None:
        assert self.peers
        self._called("enable", self.device, other)
        if self.enabled:
            raise CudaError(self.enabled)

    def memcpyPeerAsync(self, target: int, to: int, source: int, of: int, nbytes: int, stream: int) -> None:
        self._called("memcpyPeer", to, of, self.device)
        ctypes.memmove(target, source, nbytes)

    def hostRegister(self, address: int, nbytes: int, flags: int) -> None:
        self._called("hostRegister", nbytes)
        self.locked[address] = nbytes

    def hostUnregister(self, address: int) -> None:
        self._called("hostUnregister")
        del self.locked[address]

    def pointerGetAttributes(self, address: int) -> Any:
        return type("Attributes", (), {"devicePointer": address})

    # the driver
    def moduleLoadData(self, image: bytes) -> int:
        assert image == b"machine code"
        return self._made("module")

    def moduleUnload(self, module: int) -> None:
        self._gone("module", module)

    def moduleGetFunction(self, module: int, name: str) -> int:
        return 1000 + len(name)

    def funcSetAttribute(self, function: int, attribute: int, value: int) -> None:
        self._called("attribute", attribute, value)

    def occupancyMaxActiveBlocksPerMultiprocessor(self, function: int, threads: int, shared: int) -> int:
        return 3

    def launchKernel(self, function: int, *rest: int) -> None:
        *grid, shared, stream, words, extra = rest
        assert extra == 0
        self._called("launch")
        self.launched.append((function, grid, shared, stream, self._words(words)))

    def launchCooperativeKernel(self, function: int, *rest: int) -> None:
        *grid, shared, stream, words = rest
        self.launched.append((function, grid, shared, stream, self._words(words), "together"))

    def _words(self, places: int) -> list[int]:
        pointers = (ctypes.c_void_p * 2).from_address(places)
        return [ctypes.c_uint64.from_address(pointer or 0).value for pointer in pointers]


class Compiler:
    version = "13.0"

    def supports(self, architecture: str) -> bool:
        return architecture == "sm_90"

    def compile(self, source: str, options: tuple[str, ...]) -> bytes:
        return b"machine code"


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cuda]:
    made, package = Cuda(), ModuleType("cupy_backends.cuda.api")
    vars(package).update(runtime=made, driver=made)
    for name in ("cupy_backends", "cupy_backends.cuda"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, package.__name__, package)
    process_locks.cache_clear()
    yield made
    made.fail = 0
    close_cards()
    process_locks.cache_clear()
    assert made.unguarded == []


def opened(number: int = 0, gpu_memory: int | None = None) -> CudaDevice:
    return CudaDevice(number, gpu_memory, Compiler())


def test_everything_is_given_back(cuda: Cuda) -> None:
    device = opened(1)
    assert cuda.device == 1
    assert (device.info.name, device.info.architecture, device.info.multiprocessors) == ("Test GPU", "sm_90", 132)
    assert device.budget() == 8 * GIB - RESERVE
    array = np.arange(1000)
    device.allocate(100, "held")
    device.free(device.allocate(200, "freed"))
    device.register(array)
    device.load("text", {"a": "..."})
    device.record(device.stream())
    before = len(cuda.calls)
    device.close()
    ends = [name for name, _ in cuda.calls[before:]]
    assert ends[:2] == ["synchronize"] * 2  # nothing is given back before the work of all streams has ended
    assert "synchronize" not in ends[ends.index("hostUnregister"):]
    assert cuda.device == 0
    assert list(cuda.locked) == []
    close_cards()
    assert (cuda.held, cuda.live) == ({}, set())
    assert [name for name, _ in cuda.calls].count("hostUnregister") == 1


@pytest.mark.parametrize("peers", [True, False])
def test_two_devices_in_one_thread(cuda: Cuda, peers: bool) -> None:
    """Each call selects its device. If the hardware permits it, the memory of a device is made accessible to another
    device, and only once.
    """
    cuda.peers = peers
    first, second = opened(0), opened(1)
    values, found = np.arange(8), np.zeros(8, np.int64)
    source, target = first.allocate(64, "values"), second.allocate(64, "a copy")
    for device, number in ((first, 0), (second, 1), (first, 0)):
        kernel = device.load("text", {"a": "..."})["a"]
        cuda.device = 1 - number
        device.launch(kernel, 1, 32, [1, 2])
        assert cuda.device == number
    first.upload(source.pointer, values)
    assert (second.reaches(first), second.reaches(first), second.reaches(second)) == (peers, peers, True)
    second.copy_from(target.pointer, first, source.pointer, 64)
    second.download(found, target.pointer)
    assert np.array_equal(found, values)
    assert [args for name, args in cuda.calls if name == "memcpyPeer"] == [(1, 0, 1)]
    assert [args for name, args in cuda.calls if name == "enable"] == ([(1, 0)] if peers else [])
    second.close()
    first.close()
    assert cuda.device == 0
    cuda.device = 1  # chosen by the caller, whose device is the current one again after a run
    for numbers in ((0,), (0, 1), (1, 0)):
        for device in reversed([opened(number) for number in numbers]):
            device.close()
        assert cuda.device == 1


@pytest.mark.parametrize(("status", "reached"), [(704, True), (711, False), (217, False)])
def test_devices_that_cannot_be_made_accessible(cuda: Cuda, status: int, reached: bool) -> None:
    """With many GPUs in a machine, each reaches a few only; copies to the others go through host memory."""
    cuda.enabled = status
    first, second = opened(0), opened(1)
    assert [first.reaches(second), first.reaches(second)] == [reached, reached]
    cuda.enabled = 999
    with pytest.raises(DeviceError):
        second.reaches(first)
    second.close()
    first.close()


def test_a_gpu_beside_one_without_memory(cuda: Cuda) -> None:
    """Making GPU 0 current again creates its context, which other programs may have left no memory for."""
    cuda.full = {0}
    for _ in range(2):
        device = opened(1)
        device.allocate(100, "values")
        device.close()
    with pytest.raises(DeviceError, match="GPU 0"):
        opened(0)


def test_memory_of_earlier_runs_stays_as_far_as_the_budget_has_room(cuda: Cuda) -> None:
    first = opened(0, 10_000)
    first.allocate(4096, "of the first run")
    first.close()
    for _ in range(2):
        second = opened(0, 10_000)
        second.allocate(512, "of another size")
        second.close()
    assert [args for name, args in cuda.calls if name == "malloc"].count((4096,)) == 1
    third = opened(0, 10_000)
    third.allocate(4096, "of the size of the first run")
    third.allocate(5000, "more than fits beside what is idle")
    third.close()
    assert [args for name, args in cuda.calls if name == "malloc"].count((4096,)) == 1


@pytest.mark.parametrize(("asked", "free", "budget"), [
    (None, 8 * GIB, 8 * GIB - RESERVE), (GIB, 8 * GIB, GIB), (20 * GIB, 8 * GIB, 8 * GIB - RESERVE), (GIB, 1000, 0),
])  # fmt: skip
def test_the_budget(cuda: Cuda, asked: int | None, free: int, budget: int) -> None:
    cuda.free_bytes = free
    device = opened(0, asked)
    assert device.budget() == budget
    with pytest.raises(OutOfMemory) as caught:
        device.allocate(budget + 1, "`rank`")
    help = "a larger gpu_memory helps" if asked == budget else 'run on the CPU (device="cpu")'
    assert help in str(caught.value)


def test_copies_and_streams(cuda: Cuda) -> None:
    device = opened()
    array, back = np.arange(100), np.zeros(100, np.int64)
    one, two = device.allocate(800, "one"), device.allocate(800, "two")
    device.upload(one.pointer, array)
    device.copy(two.pointer, one.pointer, 800)
    device.fill(one.pointer, 800, 1)
    other = device.stream()
    device.download(back, two.pointer, other)
    assert (back == array).all()
    default, stream = sorted(number for kind, number in cuda.live if kind == "stream")
    assert [args for name, args in cuda.calls if name == "memcpy"] == [(1, default), (3, default), (2, stream)]
    assert ("synchronize", (stream,)) in cuda.calls
    device.wait(device.record(), other)
    assert device.elapsed(device.record(), device.record(other)) == 1.5
    with pytest.raises(TypeError, match="contiguous"):
        device.upload(one.pointer, array[::2])


@pytest.mark.parametrize("nbytes", [1 << 19, 1 << 20, (8 << 20) + 8, 30 << 20])
def test_uploads_of_memory_that_is_not_locked(cuda: Cuda, nbytes: int) -> None:
    device = opened()
    array = np.random.default_rng(nbytes).integers(0, 1 << 60, nbytes // 8)
    array.flags.writeable = False
    target, back = device.allocate(nbytes + 8, "target"), np.zeros(len(array), np.int64)
    for _ in range(2):
        device.upload(target.pointer + 8, array)
    copies = [args for name, args in cuda.calls if name == "memcpy"]
    assert len(copies) == 2 * (-(-nbytes // (8 << 20)))
    assert list(cuda.locked.values()) == [8 << 20] * (3 if nbytes >= 1 << 20 else 0)
    device.download(back, target.pointer + 8)
    assert (back == array).all()
    device.register(array)
    device.upload(target.pointer, array)
    assert len([name for name, _ in cuda.calls if name == "memcpy"]) == len(copies) + 2  # two immediate copies
    device.close()
    close_cards()
    assert (cuda.held, cuda.live, cuda.locked) == ({}, set(), {})


def test_staging_counts_in_a_budget(cuda: Cuda) -> None:
    with budget(16 << 20) as counted:
        before, device, array = counted.used, opened(), np.arange(1 << 18)
        device.upload(device.allocate(array.nbytes, "target").pointer, array)
        assert counted.used - before >= array.nbytes + staging_bytes(16 << 20)
        assert list(cuda.locked.values()) == [(16 << 20) // 64] * 3
        device.close()


def test_arrays_of_which_a_part_is_locked(cuda: Cuda) -> None:
    device = opened()
    array = np.arange(1000)
    device.register(array[:500])
    target, back = device.allocate(8000, "target"), np.zeros(1000, np.int64)
    device.upload(target.pointer, array)
    assert len(cuda.locked) == 4
    device.download(back, target.pointer)
    assert (back == array).all()


def test_launches(cuda: Cuda) -> None:
    device = opened()
    kernel = device.load("text", {"run": "..."})["run"]
    device.launch(kernel, 5, 256, [7, -1])
    device.launch(kernel, 0, 256, [7, -1])
    odd: list[Any] = [np.int64(-2), (1 << 64) - 1]  # integers of NumPy, and a large one
    device.launch(kernel, 6, 64, odd, shared=100, stream=device.stream(), cooperative=True)
    device.launch(kernel, 1, 32, [1, 2], shared=100 << 10)
    device.launch(kernel, 1, 32, [3, 4], shared=90 << 10)
    (first, second, third, fourth) = cuda.launched
    top = (1 << 64) - 1
    assert first == (1003, [5, 1, 1, 256, 1, 1], 0, first[3], [7, top])
    assert second == (1003, [6, 1, 1, 64, 1, 1], 100, second[3], [top - 1, top], "together")
    assert second[3] != first[3]
    assert (third[2], third[4], fourth[4]) == (100 << 10, [1, 2], [3, 4])
    assert [args for name, args in cuda.calls if name == "attribute"] == [(8, 100 << 10)]
    assert device.resident(kernel, 256) == 3 * 132


def test_a_lost_device(cuda: Cuda, capsys: pytest.CaptureFixture[str]) -> None:
    device = opened()
    kernel = device.load("text", {"run": "..."})["run"]
    device.register(np.arange(1000))
    device.free(device.allocate(100, "freed"))
    event = device.record()
    cuda.fail = 700
    asks: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (device.synchronize, ()), (device.record, ()), (device.stream, ()), (device.launch, (kernel, 1, 1, [1, 2])),
        (device.allocate, (5000, "more")), (device.load, ("text", {"a": ""})),
    ]  # fmt: skip
    for ask, args in asks:
        with pytest.raises(DeviceError, match=r"^a kernel on gpu:0 \(Test GPU\) accessed invalid memory \(cu"):
            ask(*args)
    del ask, asks
    device.close()
    with pytest.raises(DeviceError, match="failed earlier in this process"):
        opened()
    del event, device
    assert capsys.readouterr() == ("", "")


def test_later_runs_use_the_same_streams_modules_and_memory(cuda: Cuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vlang.runtime.gpu.device.cuda.CupyCompiler", Compiler)
    for run in range(3):
        device = CudaDevice()
        device.load("text", {"run": "..."})
        device.cache = 1 << 30
        device.allocate(5000, "state")
        device.free(device.allocate(300, "freed"))
        device.upload(device.allocate(2 << 20, "large").pointer, np.zeros(1 << 18))
        device.record(device.stream())
        device.close()
        made = [args for name, args in cuda.calls if name in ("malloc", "make stream", "make module", "hostRegister")]
        if run == 0:
            first = len(made)
    assert len(made) == first
    device = opened()
    free = device.budget()
    device.cache = 0
    device.close()
    assert cuda.held == {}
    assert opened().budget() == free  # idle memory counted as free


def test_nothing_is_marked_or_awaited_twice_without_new_work(cuda: Cuda) -> None:
    device = opened()
    blocks = [device.allocate(512, "state") for _ in range(3)]

    def made(name: str) -> int:
        return sum(call == name for call, _ in cuda.calls)

    device.fill(blocks[0].pointer, 512, 0)
    for block in blocks[:2]:
        device.free(block)
    assert made("make event") == 1
    device.fill(blocks[2].pointer, 512, 0)
    device.free(blocks[2])
    assert made("make event") == 2
    for _ in range(2):
        device.synchronize()
        device.drain()
    assert made("synchronize") == 1
    beside = device.stream()
    device.fill(blocks[2].pointer, 512, 0, beside)
    device.synchronize()  # only the default stream
    device.drain()
    assert made("synchronize") == 4
    device.drain()
    assert made("synchronize") == 4
    device.close()


def test_idle_memory_counts_in_the_budget_of_a_run(cuda: Cuda) -> None:
    device = opened()
    device.allocate(3 << 20, "state")
    device.close()
    assert sum(map(len, cuda.held.values())) == 3 << 20
    device = opened(0, 4 << 20)
    device.allocate(2 << 20, "other")
    assert sum(map(len, cuda.held.values())) <= 4 << 20


def test_results_are_in_memory_that_is_used_again(cuda: Cuda) -> None:
    device = opened()
    arrays = [device.host(1 << 18, np.dtype(np.int32)) for _ in range(2)]
    places = {array.ctypes.data for array in arrays}
    assert set(cuda.locked) == places
    assert process_locks().touches(arrays[0][5:9])
    assert not process_locks().covers(arrays[0])  # an upload reads it before it returns, as its owner may free it
    del arrays
    assert device.host(1 << 18, np.dtype(np.float32)).ctypes.data in places
    assert set(cuda.locked) == places
    with budget(16 << 20):
        assert device.host(1 << 18, np.dtype(np.float32)).ctypes.data not in cuda.locked
    device.close()


def test_memory_for_the_first_two_results_is_locked_before_they_are_there(cuda: Cuda) -> None:
    device, size = opened(1), 4 * 345_678  # no other test has results of this size
    before = len(cuda.calls)
    for _ in range(2):  # the second run finds the memory
        device.expect([size, 400, 0])
        for thread in threading.enumerate():
            if thread.name == "vlang-results":
                thread.join()
        places = set(cuda.locked)
        assert len(places) == 2
        arrays = [device.host(size // 4, np.dtype(np.int32)) for _ in range(2)]
        assert {array.ctypes.data for array in arrays} == set(cuda.locked) == places
        del arrays
    with budget(16 << 20):
        device.expect([size + (1 << 20)])
    assert set(cuda.locked) == places
    assert ("setDevice", (1,)) in cuda.calls[before:]  # a new thread has another device
    device.close()


def test_a_forked_process_cannot_use_the_gpu(cuda: Cuda, monkeypatch: pytest.MonkeyPatch) -> None:
    opened().close()
    calls = len(cuda.calls)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(DeviceError, match=r"^this process was forked from one that had used a GPU") as caught:
        opened()
    assert 'device="cpu"' in str(caught.value)
    assert len(cuda.calls) == calls


def test_a_device_that_cannot_be_opened_leaves_the_thread_as_it_was(cuda: Cuda) -> None:
    with pytest.raises(DeviceError, match="there is no gpu:2: this machine has 2 GPUs, gpu:0 to gpu:1"):
        opened(2)
    assert cuda.device == 0


def test_a_context_is_created_early_in_another_thread(cuda: Cuda) -> None:
    open_early([1]).join()
    assert cuda.calls == [("setDevice", (1,)), ("memGetInfo", ())]


def test_a_context_is_created_without_the_gil(cuda: Cuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy holds the GIL while it creates a context, so the driver is called through ctypes first."""
    calls: list[tuple[str, tuple[Any, ...]]] = []

    class Driver:
        def __getattr__(self, name: str) -> Any:
            def call(*args: Any) -> int:
                calls.append((name, tuple(arg for arg in args if isinstance(arg, int))))
                return 101 if name == "cuDeviceGet" and args[1] == 7 else 0  # there is no such device

            return call

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Driver())
    open_early([1, 7]).join()
    assert calls == [("cuInit", (0,)), ("cuDeviceGet", (1,)), ("cuDevicePrimaryCtxRetain", ()), ("cuDeviceGet", (7,))]
    assert cuda.calls[:2] == [("setDevice", (1,)), ("memGetInfo", ())]


@pytest.mark.parametrize(("words", "opened"), [
    ("--device gpu", [0]), ("--device=gpu:1,3", [1, 3]), ("--device cpu", None), ("-q", None), ("--device", None),
    ("--device gpu:x", None), ("--device auto", None),
])
def test_the_command_opens_gpus_before_it_reads_options(
    words: str, opened: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[int]] = []
    monkeypatch.setattr(gpus, "open_early", lambda numbers: calls.append(list(numbers)))
    with suppress(click.UsageError):
        run_command.make_context("run", ["bfs", "karate", *words.split()])
    assert calls == ([] if opened is None else [opened])


def test_an_early_error_is_left_to_later_calls(cuda: Cuda) -> None:
    cuda.fail = 46
    open_early([0]).join()
    cuda.fail = 0
    opened(0).close()

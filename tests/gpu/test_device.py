"""The device: memory within a budget, order of work, page-locked arrays, kernels, failures."""

from __future__ import annotations

import mmap
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlang.errors import DeviceError, InternalError, OutOfMemory
from vlang.runtime.compile.nvrtc import CupyCompiler
from vlang.runtime.gpu.device.cuda import CudaDevice
from vlang.runtime.gpu.device.cuda_objects import CudaKernel
from vlang.runtime.gpu.device.gpus import Gpu, gpus

ROOT = Path(__file__).resolve().parents[2]
_PATH = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])

TEXT = """
typedef unsigned long long u64; typedef long long i64; typedef unsigned int u32;
template<typename T> __device__ T* shared_memory() {
    extern __shared__ __align__(16) unsigned char bytes[];
    return reinterpret_cast<T*>(bytes);
}
__device__ void spin(i64 cycles) { i64 start = clock64(); while (clock64() - start < cycles) {} }
"""
ENTRIES = {
    "put": 'extern "C" __global__ void put(u64* out, i64 value) {'
           ' out[threadIdx.x + blockIdx.x * blockDim.x] = value; }',
    "none": 'extern "C" __global__ void none() {}',
    "busy": 'extern "C" __global__ void busy(u64* out, i64 cycles, u64 value) { spin(cycles); out[0] = value; }',
    "total": 'extern "C" __global__ void total(u64* out, const u32* in, u64 n) {'
             ' u64 sum = 0; for (u64 k = threadIdx.x; k < n; k += blockDim.x) sum += in[k]; atomicAdd(out, sum); }',
    "staged": 'extern "C" __global__ void staged(u64* out, u64 n) { u64* mine = shared_memory<u64>();'
              ' for (u64 k = threadIdx.x; k < n; k += blockDim.x) mine[k] = k; __syncthreads();'
              ' for (u64 k = threadIdx.x; k < n; k += blockDim.x) out[k] = mine[n - 1 - k]; }',
    "meet": 'extern "C" __global__ void meet(u32* count, u64* out) {'
            ' if (threadIdx.x == 0) { __threadfence(); atomicAdd(count, 1);'
            ' while (atomicAdd(count, 0) < gridDim.x) {} out[blockIdx.x] = atomicAdd(count, 0); } }',
}  # fmt: skip


Kernels = Mapping[str, CudaKernel]


@pytest.fixture
def kernels(device: CudaDevice) -> Kernels:
    return device.load(TEXT, ENTRIES)


def fetched(device: CudaDevice, pointer: int, count: int, dtype: type = np.uint64) -> np.ndarray:
    array: np.ndarray = np.empty(count, dtype)
    device.download(array, pointer)
    return array


def cycles_of(device: CudaDevice, kernels: Kernels, seconds: float) -> int:
    """Return the approximate number of GPU clock cycles in `seconds`."""
    out = device.allocate(8, "out")
    for _ in range(2):  # the first one loads the code
        start = device.record()
        device.launch(kernels["busy"], 1, 1, [out.pointer, 10_000_000, 1])
        end = device.record()
        device.synchronize()
    return int(10_000_000 * seconds / device.elapsed(start, end))


# ------------------------------------------------------------------------ available GPUs
def test_what_it_is(device: CudaDevice, gpu: Gpu) -> None:
    info = device.info
    print(info, gpu)
    assert info.name == gpu.name
    assert re.fullmatch(r"sm_\d+", info.architecture)
    assert info.multiprocessors >= 1
    assert info.shared >= 48 << 10
    assert 0 < device.budget() < info.memory == gpu.total
    assert device.allocated() == 0


def test_a_gpu_that_is_not_there(gpu: Gpu) -> None:
    with pytest.raises(DeviceError, match=r"there is no gpu:99: this machine has"):
        CudaDevice(99)
    done = subprocess.run([sys.executable, "-c", "from vlang.runtime.gpu.device.choose import open_device\n"
                           "from vlang.errors import DeviceError\n"
                           "try: open_device('gpu')\nexcept DeviceError as error: print(error)"],
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": _PATH},
                          capture_output=True, text=True)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("there is no GPU: ")


# ------------------------------------------------------------------------ memory
def test_copies(device: CudaDevice) -> None:
    rng = np.random.default_rng(1)
    array = rng.integers(0, 1 << 60, 1_000_003)
    a, b = device.allocate(array.nbytes, "a"), device.allocate(array.nbytes, "b")
    assert a.pointer % 256 == b.pointer % 256 == 0
    device.upload(a.pointer, array)
    device.copy(b.pointer, a.pointer, array.nbytes)
    device.fill(a.pointer, array.nbytes, 0xAB)
    assert (fetched(device, b.pointer, len(array), np.int64) == array).all()
    assert (fetched(device, a.pointer, array.nbytes, np.uint8) == 0xAB).all()
    device.upload(a.pointer + 8, array[:5])
    assert (fetched(device, a.pointer + 8, 5, np.int64) == array[:5]).all()


def test_the_budget_is_kept(gpu: Gpu) -> None:
    device = CudaDevice(gpu.index, 64 << 20)
    assert device.budget() == 64 << 20
    first = device.allocate(40 << 20, "the first array")
    with pytest.raises(OutOfMemory) as caught:
        device.allocate(30 << 20, "`rank` of 7,864,320 vertices")
    assert str(caught.value).startswith("`rank` of 7,864,320 vertices needs 30.00 MiB of GPU memory, and 24.00 MiB of "
                                        "the 64.00 MiB that may be used are free; a larger gpu_memory helps (up to ")
    before = gpus()[0].free
    device.free(first)
    assert device.allocated() == 0
    for _ in range(50):
        device.free(device.allocate(60 << 20, "again"))
    assert before - gpus()[0].free <= 30 << 20  # freed memory is reused or returned
    device.close()


def test_no_memory_at_all(device: CudaDevice) -> None:
    with pytest.raises(OutOfMemory, match="run on the CPU"):
        device.allocate(device.budget() + 1, "everything and one")
    block = device.allocate(device.budget() // 2, "half")
    device.fill(block.pointer, block.nbytes, 1)
    device.synchronize()
    device.free(block)


def test_memory_is_not_reused_under_a_running_kernel(device: CudaDevice, kernels: Kernels) -> None:
    cycles = cycles_of(device, kernels, 0.2)
    stream = device.stream()
    block = device.allocate(4096, "used by a kernel")
    device.launch(kernels["busy"], 1, 1, [block.pointer, cycles, 77], stream=stream)
    device.free(block)
    other = device.allocate(4096, "new")
    device.fill(other.pointer, 4096, 0)
    device.synchronize()
    device.synchronize(stream)
    assert (fetched(device, other.pointer, 512) == 0).all()
    device.free(other)
    device.synchronize()
    assert device.allocate(4096, "again").pointer in (block.pointer, other.pointer)


# ------------------------------------------------------------------------ order
def test_streams_overlap(device: CudaDevice, kernels: Kernels) -> None:
    cycles = cycles_of(device, kernels, 0.05)
    streams = [device.stream() for _ in range(4)]
    out = device.allocate(64, "out")
    begin = time.perf_counter()
    for k, stream in enumerate(streams):
        device.launch(kernels["busy"], 1, 1, [out.pointer + 8 * k, cycles, k + 1], stream=stream)
    for stream in streams:
        device.synchronize(stream)
    together = time.perf_counter() - begin
    print(f"4 kernels of 50 ms on 4 streams: {1e3 * together:.1f} ms")
    assert together < 0.15
    assert fetched(device, out.pointer, 4).tolist() == [1, 2, 3, 4]


def test_events_order_streams(device: CudaDevice, kernels: Kernels) -> None:
    cycles = cycles_of(device, kernels, 0.05)
    first, second = device.stream(), device.stream()
    out = device.allocate(8, "out")
    start = device.record(first)
    device.launch(kernels["busy"], 1, 1, [out.pointer, cycles, 1], stream=first)
    device.wait(device.record(first), second)
    device.launch(kernels["busy"], 1, 1, [out.pointer, 1, 2], stream=second)
    end = device.record(second)
    device.synchronize(second)
    assert fetched(device, out.pointer, 1)[0] == 2
    assert 0.04 < device.elapsed(start, end) < 0.2


def test_a_copy_from_locked_memory_overlaps(device: CudaDevice, kernels: Kernels) -> None:
    array = np.ones(64 << 20, np.uint8)
    assert device.register(array) != 0
    cycles = cycles_of(device, kernels, 0.2)
    one, two = device.stream(), device.stream()
    out, target = device.allocate(8, "out"), device.allocate(array.nbytes, "target")
    device.upload(target.pointer, array, two)
    device.synchronize(two)
    device.launch(kernels["busy"], 1, 1, [out.pointer, cycles, 1], stream=one)
    begin = time.perf_counter()
    start = device.record(two)
    device.upload(target.pointer, array, two)
    end = device.record(two)
    queued = time.perf_counter() - begin
    device.synchronize(two)
    copied = time.perf_counter() - begin
    rate = array.nbytes / device.elapsed(start, end) / 1e9
    print(f"64 MiB: queued in {1e6 * queued:.0f} us, copied in {1e3 * copied:.2f} ms ({rate:.1f} GB/s)")
    assert copied < 0.1
    device.synchronize(one)


def test_rates_of_the_link(device: CudaDevice) -> None:
    """Uploads from page-locked memory exceed 5 GB/s. The test prints the other rates, but does not check them."""
    array = np.random.default_rng(2).integers(0, 1 << 60, 64 << 20 >> 3)
    target = device.allocate(array.nbytes, "target")
    rates = {}
    for way in ("not locked", "locked"):
        if way == "locked":
            begin = time.perf_counter()
            device.register(array)
            print(f"register: {array.nbytes / (time.perf_counter() - begin) / 1e9:.1f} GB/s")
        for _ in range(3):
            begin = time.perf_counter()
            device.upload(target.pointer, array)
            device.synchronize()
            rates[way] = array.nbytes / (time.perf_counter() - begin) / 1e9
        print(f"upload, {way}: {rates[way]:.1f} GB/s")
        back = np.empty_like(array)
        for _ in range(2):
            begin = time.perf_counter()
            device.download(back, target.pointer)
            print(f"download to memory not locked: {array.nbytes / (time.perf_counter() - begin) / 1e9:.1f} GB/s")
        assert (back == array).all()
    assert rates["locked"] > 5


# ------------------------------------------------------------------------ page-locked arrays
def total(device: CudaDevice, kernels: Kernels, address: int, count: int) -> int:
    out = device.allocate(8, "out")
    device.fill(out.pointer, 8, 0)
    device.launch(kernels["total"], 1, 256, [out.pointer, address, count])
    return int(fetched(device, out.pointer, 1)[0])


def test_kernels_read_registered_arrays(device: CudaDevice, kernels: Kernels) -> None:
    array = np.arange(1_000_000, dtype=np.uint32)
    address = device.register(array)
    assert device.info.unified
    assert address
    assert total(device, kernels, address, len(array)) == int(array.sum(dtype=np.uint64))
    assert device.register(array) == address
    assert device.register(array[1000:2000]) == address + 4000
    device.unregister(array[1000:2000])
    device.unregister(array)
    assert total(device, kernels, address, 10) == 45
    device.unregister(array)
    assert device.register(array) != 0


def test_arrays_that_share_a_page(device: CudaDevice) -> None:
    whole = np.arange(3_000_000, dtype=np.uint32)
    parts = [whole[:1_000_001], whole[1_000_001:2_000_000], whole[2_000_000:]]
    addresses = [device.register(part) for part in parts]
    print("addresses of adjacent parts:", [hex(a) for a in addresses])
    target = device.allocate(whole.nbytes, "target")
    for array in (*parts, whole, whole[999_000:1_001_000]):
        device.fill(target.pointer, whole.nbytes, 0)
        device.upload(target.pointer, array)
        assert (fetched(device, target.pointer, len(array), np.uint32) == array).all()


def test_arrays_that_may_not_be_written(device: CudaDevice, kernels: Kernels, tmp_path: Path) -> None:
    array = np.arange(1_000_000, dtype=np.uint32)
    array.flags.writeable = False
    path = tmp_path / "array.npy"
    np.save(path, array)
    with open(path, "rb") as file:
        bare = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint32, 1_000_000, 128)
    target = device.allocate(array.nbytes, "target")
    for name, each in (("read-only", array), ("memmap r", np.load(path, "r")), ("memmap c", np.load(path, "c")),
                       ("mmap", bare)):  # fmt: skip
        address = device.register(each)
        print(f"{name}: {'registered' if address else 'refused'}")
        device.upload(target.pointer, each)
        assert (fetched(device, target.pointer, len(each), np.uint32) == array).all()
        if address:
            assert total(device, kernels, address, len(each)) == int(array.sum(dtype=np.uint64))


# ------------------------------------------------------------------------ kernels
def test_arguments(device: CudaDevice, kernels: Kernels) -> None:
    out = device.allocate(512 * 8, "out")
    given: tuple[Any, ...] = (0, 1, -1, (1 << 63) - 1, -(1 << 63), np.int64(-7), np.uint32(9), True)
    for value in given:
        device.launch(kernels["put"], 2, 256, [out.pointer, value])
        assert (fetched(device, out.pointer, 512, np.int64) == int(value)).all()
    device.launch(kernels["put"], 0, 256, [out.pointer, 5])
    device.launch(kernels["none"], 1, 32, [])
    assert fetched(device, out.pointer, 1)[0] == 1


def test_launches_are_cheap(device: CudaDevice, kernels: Kernels) -> None:
    out = device.allocate(512 * 8, "out")
    args = [out.pointer, 5]
    for count in (100, 2000):
        begin = time.perf_counter()
        for _ in range(count):
            device.launch(kernels["put"], 1, 32, args)
        queued = time.perf_counter() - begin
        device.synchronize()
    begin = time.perf_counter()
    for _ in range(200):
        device.launch(kernels["put"], 1, 32, args)
        device.synchronize()
    waited = time.perf_counter() - begin
    print(f"launch {1e6 * queued / 2000:.2f} us, launch and synchronise {1e6 * waited / 200:.2f} us")
    assert queued / 2000 < 50e-6


def test_shared_memory(device: CudaDevice, kernels: Kernels) -> None:
    for nbytes in (1024, 48 << 10, (48 << 10) + 8, device.info.shared, 2048):
        n = nbytes // 8
        out = device.allocate(nbytes, "out")
        device.launch(kernels["staged"], 1, 256, [out.pointer, n], shared=nbytes)
        assert (fetched(device, out.pointer, n) == np.arange(n)[::-1]).all()
    few, many = (device.resident(kernels["staged"], 256, size) for size in (device.info.shared, 1024))
    assert few == device.info.multiprocessors < many
    with pytest.raises(DeviceError):
        device.launch(kernels["staged"], 1, 256, [0, 0], shared=device.info.shared + 1024)
    device.launch(kernels["none"], 1, 32, [])  # works after a launch that the driver refused
    device.synchronize()


def test_a_cooperative_launch(device: CudaDevice, kernels: Kernels) -> None:
    blocks = device.resident(kernels["meet"], 256)
    assert blocks >= device.info.multiprocessors
    out = device.allocate(8 * blocks + 8, "out")
    device.fill(out.pointer, out.nbytes, 0)
    device.launch(kernels["meet"], blocks, 256, [out.pointer, out.pointer + 8], cooperative=True)
    assert (fetched(device, out.pointer + 8, blocks) == blocks).all()
    with pytest.raises(DeviceError):
        device.launch(kernels["meet"], blocks + 1, 256, [out.pointer, out.pointer + 8], cooperative=True)


class Counting(CupyCompiler):
    """A compiler that counts its compilations."""

    def __init__(self) -> None:
        super().__init__()
        self.compiled = 0

    def compile(self, source: str, options: tuple[str, ...]) -> bytes:
        self.compiled += 1
        return super().compile(source, options)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    from vlang.runtime.compile.cachedir import cache_dir

    cache_dir.cache_clear()
    monkeypatch.setenv("VLANG_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    monkeypatch.undo()
    cache_dir.cache_clear()


def test_code_is_compiled_once(gpu: Gpu, empty_cache: Path) -> None:
    text = TEXT + f"// {time.time_ns()}\n"
    for expected in (1, 0, 0):
        compiler = Counting()
        device = CudaDevice(gpu.index, compiler=compiler)
        begin = time.perf_counter()
        kernel = device.load(text, ENTRIES)["put"]
        print(f"load: {1e3 * (time.perf_counter() - begin):.1f} ms")
        assert compiler.compiled == expected
        out = device.allocate(256, "out")
        device.launch(kernel, 1, 32, [out.pointer, 3])
        assert (fetched(device, out.pointer, 32) == 3).all()
        device.close()
    (entry,) = empty_cache.glob("*.cubin")
    entry.write_bytes(entry.read_bytes()[:-100])
    device = CudaDevice(gpu.index, compiler=(compiler := Counting()))
    device.load(text, ENTRIES)
    assert compiler.compiled == 1
    device.close()


def test_a_source_that_is_rejected(device: CudaDevice, empty_cache: Path) -> None:
    with pytest.raises(InternalError) as caught:
        device.load(TEXT + "__device__ int broken() { return oops; }\n", ENTRIES)
    message = str(caught.value)
    assert "this is a bug in vlang" in message
    assert '"oops" is undefined' in message
    (kept,) = empty_cache.glob("rejected-*.cu")
    assert str(kept) in message
    assert ENTRIES["put"] in kept.read_text()
    device.load(TEXT, ENTRIES)


# ------------------------------------------------------------------------ results
def test_arrays_that_own_their_memory(gpu: Gpu) -> None:
    import cupy

    device = CudaDevice(gpu.index, 64 << 20)
    array = np.arange(5_000_000, dtype=np.float32)
    block = device.allocate(array.nbytes, "field")
    device.upload(block.pointer, array)
    device.synchronize()
    there = device.hand_over(block, array.dtype, len(array))
    assert device.allocated() == 0
    assert there.data.ptr == block.pointer
    device.close()
    assert isinstance(there, cupy.ndarray)
    assert (cupy.asnumpy(there) == array).all()
    view = there[10:20]
    held = gpus()[0].free
    del there
    assert cupy.asnumpy(cupy.from_dlpack(view)).tolist() == list(range(10, 20))
    del view
    assert gpus()[0].free >= held + array.nbytes - (2 << 20)


# ------------------------------------------------------------------------ failures
LOST = """
import numpy as np, vlang
from vlang.runtime.gpu.device.cuda import CudaDevice
from vlang.runtime.gpu.device.cuda_objects import CudaKernel
from vlang.errors import DeviceError
graph = vlang.Graph.read("karate")
device = CudaDevice(0)
array = np.zeros(1 << 20, np.uint8)
device.register(array)
device.stream()
kernel = device.load('typedef unsigned long long u64;',
                     {"wild": 'extern "C" __global__ void wild(u64* out) { out[0] = 1; }'})["wild"]
device.allocate(1000, "held")
device.free(device.allocate(1000, "freed"))
device.launch(kernel, 1, 1, [16])
for ask in (device.synchronize, device.record, lambda: device.allocate(1 << 20, "more")):
    try:
        ask()
    except DeviceError as error:
        print(error)
device.close()
try:
    CudaDevice(0)
except DeviceError as error:
    print(error)
print(vlang.load("pagerank")(graph).top(1)[0]["vertex"])
"""


@pytest.mark.usefixtures("gpu")
def test_a_wild_kernel_takes_only_the_gpu_with_it() -> None:
    done = subprocess.run([sys.executable, "-c", LOST], env={**os.environ, "PYTHONPATH": _PATH},
                          capture_output=True, text=True)  # fmt: skip
    print(done.stdout, done.stderr)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"a kernel on gpu:0 \(.*\) accessed invalid memory \(cudaErrorIllegalAddress: .*\); "
                        r"GPU programs cannot run in this process any more; programs on the CPU can\. .*", lines[0])
    assert "failed earlier in this process" in lines[-2]
    assert lines[-1] == "34"

"""The emulation detects errors that a GPU may tolerate. Each test plants a bug and expects a report."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cuda.emulation.emulated import ORDERS, EmulatedDevice, EmulatedStream, compile_text, needs_compiler
from tests.cuda.emulation.planted import HEAD, KERNELS, TYPES, entries
from vlang.errors import DeviceError, InternalError, OutOfMemory
from vlang.runtime.gpu.device.device import Buffer, Device

pytestmark = needs_compiler

@pytest.fixture(params=ORDERS)
def device(request: pytest.FixtureRequest) -> Iterator[EmulatedDevice]:
    made = EmulatedDevice(seed=7, order=request.param)
    yield made
    made.close()


def put(device: Device, array: NDArray[np.generic]) -> Buffer:
    buffer = device.allocate(array.nbytes, "test")
    device.upload(buffer.pointer, array)
    return buffer


def run(
    device: Device, name: str, *args: int, blocks: int = 1, threads: int = 64, shared: int = 0,
    cooperative: bool = False,
) -> None:
    kernel = device.load(TYPES, entries())[name]
    device.launch(kernel, blocks, threads, args, shared, None, cooperative)
    device.synchronize()


def get(device: Device, buffer: Buffer, dtype: str) -> NDArray[np.generic]:
    array = np.zeros(buffer.nbytes // np.dtype(dtype).itemsize, dtype)
    device.download(array, buffer.pointer)
    return array


def fails(device: EmulatedDevice, name: str, *args: int, **how: Any) -> str:
    """Return the message of a launch that must fail. After a failed launch, the device stays unusable."""
    with pytest.raises(DeviceError) as caught:
        run(device, name, *args, **how)
    with pytest.raises(DeviceError):
        device.synchronize()
    assert f"kernel {name}" in str(caught.value)
    return str(caught.value)


# ------------------------------------------------------------------------------ correct kernels work in every order
def test_shared_memory_and_barriers(device: EmulatedDevice) -> None:
    out = put(device, np.zeros(256, np.uint32))
    run(device, "reverse", out.pointer, blocks=4, shared=256)
    assert np.array_equal(get(device, out, "u4"), np.tile(10 * np.arange(63, -1, -1), 4))
    run(device, "turn", out.pointer, blocks=4, shared=256)
    assert np.array_equal(get(device, out, "u4"), np.tile(10 * (np.arange(64) ^ 5), 4))


def test_shuffles(device: EmulatedDevice) -> None:
    values = np.random.default_rng(1).integers(0, 100, 256).astype(float)
    out, given = put(device, np.zeros(8)), put(device, values)
    run(device, "warp_sums", out.pointer, given.pointer, blocks=2, threads=128)
    assert np.array_equal(get(device, out, "f8"), values.reshape(8, 32).sum(1))


def test_parts_of_a_warp(device: EmulatedDevice) -> None:
    out = put(device, np.zeros(64, np.uint32))
    run(device, "halves", out.pointer)
    lane = np.arange(64)
    assert np.array_equal(get(device, out, "u4"), np.where(lane & 16, lane ^ 1, lane // 32 * 32 + 3))


def test_votes(device: EmulatedDevice) -> None:
    out = put(device, np.zeros(512, np.uint32))
    run(device, "votes", out.pointer)
    got = get(device, out, "u4").reshape(64, 8)
    for lane in range(64):
        equal = sum(1 << i for i in range(32) if (lane // 32 * 32 + i) % 3 == lane % 3)
        bits = lane.bit_count() + (lane & -lane).bit_length() + 32 - lane.bit_length()
        assert got[lane].tolist() == [0xAAAAAAAA, lane < 32, 0, 32, 1, 0, equal, bits]


def test_atomic_operations(device: EmulatedDevice) -> None:
    place = put(device, np.zeros(16, np.uint64))
    device.fill(place.pointer + 16, 8, 0xFF)
    run(device, "atomics", *(place.pointer + 8 * i for i in range(6)), blocks=5, threads=128)
    got = get(device, place, "u8")
    assert got[0] == 640 * 639 // 2
    assert got[1:2].view("f8")[0] == 320
    assert got[2:].view("i4")[[0, 2, 4, 6]].tolist() == [361, 139, -1, 1280]


def test_grid_barriers(device: EmulatedDevice) -> None:
    count, out = put(device, np.zeros(1, np.uint32)), put(device, np.zeros(2 * 4 * 64, np.uint32))
    run(device, "grid_barrier", count.pointer, out.pointer, 6, blocks=4, cooperative=True)
    assert get(device, out, "u4").reshape(2, 256)[1].tolist() == [6] * 256


def test_polling_by_atomics(device: EmulatedDevice) -> None:
    flag, out = put(device, np.zeros(1, np.uint32)), put(device, np.zeros(1, np.uint32))
    run(device, "atomic_poll", flag.pointer, out.pointer, blocks=4, cooperative=True)
    assert get(device, out, "u4")[0] == 5


def test_mathematics(device: EmulatedDevice) -> None:
    out, x = put(device, np.zeros(4)), 1.7
    text = HEAD + KERNELS["mathematics"].replace("double x)", "i64 bits)").replace(
        "{", "{ double x = __longlong_as_double(bits);", 1)
    kernel = device.load(TYPES, {"mathematics": text})["mathematics"]
    device.launch(kernel, 1, 32, (out.pointer, int(np.float64(x).view(np.int64))))
    want = np.sqrt(x) + np.exp(x) + np.log1p(x) + np.tanh(x) + x**2.5 + np.fmod(x, 0.7) - 2
    narrow = np.sqrt(x) + np.exp(x) + x**2.5
    assert np.allclose(get(device, out, "f8"), [want, narrow, x + 3, x + 1.5], rtol=1e-6)


# ------------------------------------------------------------------------------------- bugs in kernels are detected
@pytest.mark.parametrize("kernel", ["reverse_unsynced", "turn_unsynced"])
def test_missing_barriers_show(kernel: str) -> None:
    wrong = 0
    for order in ORDERS:
        device = EmulatedDevice(order=order)
        out = put(device, np.zeros(256, np.uint32))
        run(device, kernel, out.pointer, blocks=4, shared=256)
        lane = np.arange(64)
        want = 10 * (lane ^ 5 if kernel == "turn_unsynced" else 63 - lane)
        wrong += not np.array_equal(get(device, out, "u4"), np.tile(want, 4))
        device.close()
    assert wrong == len(ORDERS)


@pytest.mark.parametrize(("kernel", "says"), [
    ("lane_missing", ["lane 7", "__shfl_xor_sync", "returned"]),
    ("kinds_differ", ["__syncwarp", "__ballot_sync"]),
    ("not_in_mask", ["is not in the mask", "lane "]),
    ("barrier_missed", ["lane 40 has returned", "__syncthreads"]),
    ("trap", ["lane 9: __trap"]),
])
def test_lanes_that_cannot_meet(device: EmulatedDevice, kernel: str, says: list[str]) -> None:
    message = fails(device, kernel, put(device, np.zeros(64, np.uint32)).pointer)
    assert all(part in message for part in says), message


@pytest.mark.parametrize("kernel", ["masks_differ", "crossed", "parted"])
def test_deadlocks_say_who_waits_where(device: EmulatedDevice, kernel: str) -> None:
    message = fails(device, kernel, put(device, np.zeros(64, np.uint32)).pointer)
    assert " wait at " in message or "not in the mask" in message, message


def test_a_deadlock_names_lanes_and_lines(device: EmulatedDevice) -> None:
    message = fails(device, "parted", put(device, np.zeros(64, np.uint32)).pointer)
    assert "block 0: lanes 0-15 wait at __syncthreads (line" in message
    assert "lanes 16-31 wait at __syncwarp with mask 0xFFFFFFFF (line" in message


def test_blocks_that_wait_for_blocks_that_do_not_run() -> None:
    device = EmulatedDevice(order="ascending")
    count, out = put(device, np.zeros(1, np.uint32)), put(device, np.zeros(2 * 4 * 64, np.uint32))
    message = fails(device, "grid_barrier", count.pointer, out.pointer, 1, blocks=4)
    assert "poll in vain" in message
    device.close()


def test_a_lane_outside_the_mask_gives_nothing(device: EmulatedDevice) -> None:
    out = put(device, np.zeros(16))
    run(device, "outside_mask", out.pointer)
    assert np.array_equal(np.isnan(get(device, out, "f8")), np.arange(16) >= 8)


def test_uninitialised_shared_memory_shows(device: EmulatedDevice) -> None:
    out = put(device, np.zeros(1, np.uint32))
    run(device, "uninitialised", out.pointer, shared=256)
    assert get(device, out, "u4")[0] in (0xABABABAB, 0xFFFFFFFF)


@pytest.mark.parametrize("at", [64, -1])
def test_writes_around_memory_show(at: int) -> None:
    device = EmulatedDevice()
    out = device.allocate(256, "some values")  # the buffer of 256 bytes ends at a fence
    if at == 64:
        assert "illegal address" in fails(device, "write_at", out.pointer, at)
        device.close()
        return
    run(device, "write_at", out.pointer, at)
    with pytest.raises(AssertionError, match="byte -4 of the 256 bytes of some values"):
        device.close()


def test_writes_into_the_rim_show() -> None:
    device = EmulatedDevice()
    out = device.allocate(100, "some values")
    run(device, "write_at", out.pointer, 25)
    with pytest.raises(AssertionError, match="byte 100 of the 100 bytes of some values"):
        device.free(out)
    device.close()


def test_memory_that_was_freed(device: EmulatedDevice) -> None:
    out = put(device, np.zeros(64, np.uint32))
    device.synchronize()
    device.free(out)
    assert "illegal address" in fails(device, "write_at", out.pointer, 0)


def test_addresses_outside_of_shared_memory(device: EmulatedDevice) -> None:
    out = put(device, np.zeros(1, np.uint32))
    assert "byte 256 of 256 of shared memory" in fails(device, "shared_at", out.pointer, 256, shared=256)


def test_division_by_zero_and_deep_stacks() -> None:
    for kernel, argument, says in (("divides", 0, "division"), ("deep", 5, "stack")):
        device = EmulatedDevice()
        out = put(device, np.ones(64, np.int32))
        assert says in fails(device, kernel, out.pointer, argument)
        device.close()


# --------------------------------------------------------------------------------------- code that NVRTC rejects
@pytest.mark.parametrize("body", [
    "out[0] = __activemask();",
    "long long* p = (long long*)out; atomicAdd(p, 1ll);",
    "double* p = (double*)out; atomicMin(p, 1.0);",
    "float* p = (float*)out; atomicMax(p, 1.0f);",
    "__shared__ int x[4]; out[0] = x[0];",
    "out[0] = threadIdx.y;",
    "u32 unused = 3;",
    "bool p[1]; out[0] = __shfl_sync(0xFFFFFFFFu, p, 0);",
])
def test_what_cuda_does_not_have_is_rejected(body: str) -> None:
    with pytest.raises(InternalError, match=r"kernels\.cu:"):
        compile_text(TYPES, {"k": f"{HEAD} k(u32* out) {{ {body} }}\n"})


def test_parameters_are_words() -> None:
    with pytest.raises(InternalError, match="64-bit"):
        compile_text(TYPES, {"k": f"{HEAD} k(u32* out, u32 n) {{ out[0] = n; }}\n"})


# ------------------------------------------------------------------------------------------- memory, streams, launches
def test_budget() -> None:
    device = EmulatedDevice(memory=1000)
    first = device.allocate(600, "the first")
    with pytest.raises(OutOfMemory, match="the second needs 401"):
        device.allocate(401, "the second")
    device.free(first)
    device.free(device.allocate(1000, "the third"))
    assert (device.allocated(), device.budget()) == (0, 1000)
    with pytest.raises(AssertionError, match="freed twice"):
        device.free(first)


def test_launches_that_a_gpu_refuses(device: EmulatedDevice) -> None:
    kernel = device.load(TYPES, entries())["add_one"]
    out = put(device, np.zeros(64, np.uint32))
    for blocks, threads, shared, cooperative in ((1, 512, 0, False), (1, 64, 1 << 20, False), (64, 64, 0, True)):
        with pytest.raises(DeviceError, match="cannot launch"):
            device.launch(kernel, blocks, threads, (out.pointer, 64), shared, None, cooperative)
    with pytest.raises(AssertionError, match="whole number of warps"):
        device.launch(kernel, 1, 33, (out.pointer, 64))
    with pytest.raises(AssertionError, match="2 arguments"):
        device.launch(kernel, 1, 32, (out.pointer,))


def test_copies_outside_of_memory(device: EmulatedDevice) -> None:
    out = put(device, np.zeros(64, np.uint32))
    with pytest.raises(AssertionError, match="byte 4 of 256 of test: not device memory"):
        device.upload(out.pointer + 4, np.zeros(64, np.uint32))


def _two_streams(seed: int, waits: bool) -> bool:
    """Queue a copy in one stream, and queue a kernel in another stream. The kernel reads the copied data. Return
    whether the copy was done first.
    """
    device = EmulatedDevice(seed=seed)
    kernel = device.load(TYPES, entries())["add_one"]
    copying, working = device.stream(), device.stream()
    values = device.allocate(256, "values")
    device.fill(values.pointer, 256, 0)
    device.synchronize()
    device.upload(values.pointer, np.full(64, 5, np.uint32), copying)
    if waits:
        device.wait(device.record(copying), working)
    device.launch(kernel, 1, 64, (values.pointer, 64), 0, working)
    got = np.zeros(64, np.uint32)
    device.download(got, values.pointer, working)
    device.close()
    return bool((got == 6).all())


def test_a_missing_wait_shows() -> None:
    assert all(_two_streams(seed, True) for seed in range(12))
    assert not all(_two_streams(seed, False) for seed in range(12))


def test_registered_memory_is_read_late(device: EmulatedDevice) -> None:
    plain, held = np.ones(8, np.uint32), np.ones(8, np.uint32)
    address = device.register(held)
    assert address == held.ctypes.data
    one, two = device.allocate(32, "one"), device.allocate(32, "two")
    device.upload(one.pointer, plain)
    device.upload(two.pointer, held)
    plain[:] = held[:] = 9
    assert get(device, one, "u4").tolist() == [1] * 8
    assert get(device, two, "u4").tolist() == [9] * 8
    device.unregister(held)
    assert EmulatedDevice(unified=False).register(held) == 0


def test_events(device: EmulatedDevice) -> None:
    stream = device.stream()
    values = device.allocate(256, "values")
    start = device.record(stream)
    device.fill(values.pointer, 256, 1, stream)
    end = device.record(stream)
    with pytest.raises(DeviceError, match="before it has passed"):
        device.elapsed(start, end)
    device.synchronize(stream)
    assert device.elapsed(start, end) >= 0


def test_memory_in_use_lives_until_the_work_is_done(device: EmulatedDevice) -> None:
    kernel = device.load(TYPES, entries())["add_one"]
    values, stream = device.allocate(256, "values"), device.stream()
    device.launch(kernel, 1, 64, (values.pointer, 64), 0, stream)
    device.free(values)
    device.synchronize(stream)
    assert device.allocated() == 0


def test_memory_handed_over(device: EmulatedDevice) -> None:
    buffer = put(device, np.arange(9, dtype=np.uint32))
    with pytest.raises(AssertionError, match="while work is queued"):
        device.hand_over(buffer, np.dtype("u4"), 9)
    device.synchronize()
    assert device.hand_over(buffer, np.dtype("u4"), 9).tolist() == list(range(9))
    assert device.allocated() == 0


# --------------------------------------------------------------------------------------------- launches on two devices
MEETING = f"""{HEAD} meeting(volatile u32* mine, volatile u32* theirs, u32* found) {{
  if (blockIdx.x == 1 && threadIdx.x == 0) {{
    *theirs = *theirs + 1 + *found;
    __threadfence_system();
    while (*mine == 0) __nanosleep(32);
    found[0] = *mine + 10 * gridDim.x;
  }}
}}
"""


@pytest.mark.parametrize("seed", range(4))
def test_kernels_of_two_devices_wait_for_each_other(seed: int) -> None:
    """The kernels begin when both streams have reached them, and each has its own arguments and block numbers. While
    only one of them is queued, nothing may be done that may wait for kernels.
    """
    world: list[EmulatedStream] = []
    devices = [EmulatedDevice(seed + k, world=world) for k in range(2)]
    kernels = [device.load(TYPES, {"meeting": MEETING})["meeting"] for device in devices]
    flags, found = ([put(device, np.zeros(1, np.uint32)) for device in devices] for _ in range(2))
    for k, device in enumerate(devices):
        device.upload(found[k].pointer, np.array([5 + k], np.uint32))  # which the kernel reads
    devices[0].wait(devices[1].record())
    devices[1].wait(devices[0].record())
    for k, device in enumerate(devices):
        args = (flags[k].pointer, flags[1 - k].pointer, found[k].pointer)
        device.launch(kernels[k], 2, 32, args, cooperative=True, devices=2)
    assert [get(device, found[k], "u4").tolist() for k, device in enumerate(devices)] == [[27], [26]]
    devices[0].launch(kernels[0], 2, 32, (flags[0].pointer, flags[1].pointer, found[0].pointer), 0, None, True, 2)
    for act in (devices[0].synchronize, partial(devices[1].allocate, 256, "more"),
                partial(devices[1].register, np.zeros(9)), partial(devices[1].load, TYPES, {})):
        with pytest.raises(AssertionError, match="between launches that wait for each other"):
            act()

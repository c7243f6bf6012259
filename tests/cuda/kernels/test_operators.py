"""The operators and unified operations of CUDA C run on the CPU, and are compared with NumPy and the CPU back end."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from tests.cuda.emulation.gxx import Library, compile_text, needs_compiler
from tests.cuda.kernels.samples import sample_text
from vlang.emit.cpu.skeletons import operators

pytestmark = needs_compiler
SEED = 20261121
Array = NDArray[Any]
TYPES = {"i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8",
         "f32": "f4", "f64": "f8"}
SIGNED, UNSIGNED = ("i8", "i16", "i32", "i64"), ("u8", "u16", "u32", "u64")
CELLS = ("i32", "u32", "i64", "u64")
FLOATS = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 3.0, 1e-40, -1e-40, 1e30, -1e30, np.inf, -np.inf, np.nan, 0.1, -7.3]

# name -> (types, text of the result for operands a, b and x (i64))
BINARY = {
    "int_floordiv": (SIGNED, "int_floordiv(a, b)"), "int_mod": (SIGNED, "int_mod(a, b)"),
    "uint_floordiv": (UNSIGNED, "uint_floordiv(a, b)"), "uint_mod": (UNSIGNED, "uint_mod(a, b)"),
    "float_mod": (("f32", "f64"), "float_mod(a, b)"),
    "int_power": ((*SIGNED, *UNSIGNED), "int_power(a, b, T(1))"),
    "shl": ((*SIGNED, *UNSIGNED), "shl(a, i64(b), i64(8 * sizeof(T)))"),
    "shr": ((*SIGNED, *UNSIGNED), "shr(a, i64(b), i64(8 * sizeof(T)))"),
}
SHARED = {"add": (*CELLS, "f32", "f64"), "min": (*CELLS, "f32", "f64"), "max": (*CELLS, "f32", "f64"),
          "and": CELLS, "or": CELLS, "xor": CELLS, "mul": (*CELLS, "f32", "f64"), "any": ("u8", "u32"),
          "all": ("u8", "u32")}
IMPROVE = {"min": SHARED["min"], "max": SHARED["max"], "and": CELLS, "or": CELLS, "any": ("u8",), "all": ("u8",)}


def _kernel(name: str, parameters: str, body: str) -> tuple[str, str]:
    return name, f'extern "C" __global__ void {name}({parameters}) {{ {body} }}\n'


def _each(name: str, type_: str, body: str) -> tuple[str, str]:
    """Return a kernel with one thread for each of n pairs."""
    return _kernel(name, f"const {type_}* as, const {type_}* bs, {type_}* out, u64 n",
                   f"typedef {type_} T; for (u64 i = thread_number(); i < n; i += thread_count()) "
                   f"{{ const T a = as[i], b = bs[i]; out[i] = T({body}); }}")


@functools.cache
def library() -> Library:
    """Return a kernel for every operation and type."""
    kernels = [_each(f"{name}_{t}", t, text) for name, (types, text) in BINARY.items() for t in types]
    for name, types in SHARED.items():
        for t in types:
            kernels.append(_kernel(
                f"shared_{name}_{t}", f"const {t}* starts, const {t}* values, {t}* out, u64 n",
                f"{t}* cell = shared_memory<{t}>(64); for (u64 i = 0; i < n; i++) {{ __syncthreads(); "
                "if (threadIdx.x == 0) *cell = starts[i]; __syncthreads(); "
                f"shared_{name}(cell, values[i * blockDim.x + threadIdx.x]); __syncthreads(); "
                "if (threadIdx.x == 0) out[i] = *cell; }"))
    for name, types in IMPROVE.items():
        kernels += [_kernel(f"improve_{name}_{t}", f"{t}* cells, const {t}* values, u8* did, u64 n",
                            f"for (u64 i = thread_number(); i < n; i += thread_count()) "
                            f"did[i] = improve_{name}(cells + i, values[i]);") for t in types]
    kernels += [
        _kernel("keys_f32", "const f32* in, u32* keys, f32* back, u64 n",
                "for (u64 i = 0; i < n; i++) { keys[i] = order_key(in[i]); back[i] = key_value<f32>(keys[i]); }"),
        *(_kernel(f"keys_{t}", f"const {t}* in, u32* keys, {t}* back, u64 n",
                  f"for (u64 i = 0; i < n; i++) {{ keys[i] = order_key(in[i]); back[i] = key_value<{t}>(keys[i]); }}")
          for t in ("i8", "i16", "i32", "u8", "u16", "u32")),
        _kernel("halves", "u16* out, const f32* in, f32* back, u64 n",
                "for (u64 i = 0; i < n; i++) { out[i] = float_to_half(in[i]); back[i] = half_to_float(u16(i)); }"),
        _kernel("floors", "const f64* in, i64* out, i64 high, i64 low, u64 n",
                "for (u64 i = 0; i < n; i++) out[i] = floor_int(in[i], high, low);"),
        _kernel("drawn", "const u64* bits, f64* times, u8* ranks, u64 n",
                "for (u64 i = 0; i < n; i++) { times[i] = waiting(bits[i], 2.0); ranks[i] = hll_rank(bits[i] >> 6); }"),
        _kernel("counted", "const u8* in, f64* out, u64 n",
                "for (u64 i = 0; i < n; i++) { Registers one; for (u64 k = 0; k < 64; k++) one.c[k] = in[64 * i + k]; "
                "out[i] = hll_size(one); }"),
        _kernel("scans", "const u32* in, u32* out, u64 rounds",
                "for (u64 r = 0; r < rounds; r++) { u32 total; const u64 i = r * (blockDim.x + 1) + threadIdx.x; "
                "out[i] = block_exclusive(in[i], shared_memory<u32>(0), total); "
                "if (threadIdx.x == 0) out[i + blockDim.x] = total; }"),
    ]
    return compile_text(sample_text(), dict(kernels))


def run(name: str, *arrays: Array | int, threads: int = 32, order: str = "ascending") -> None:
    """Run one block of a kernel."""
    args = [a if isinstance(a, int) else a.ctypes.data for a in arrays]
    library().run(name, 1, threads, args, 256, order=order, seed=SEED)


def special(type_: str) -> Array:
    """Return values at which errors are likely."""
    dtype = np.dtype(TYPES[type_])
    if dtype.kind == "f":
        return np.array(FLOATS, dtype)
    info = np.iinfo(dtype)
    some = {0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 65, -1, -2, -3, -7, -8}
    ends = {info.min, info.min + 1, info.max, info.max - 1}
    return np.array(sorted(x for x in some | ends if info.min <= x <= info.max), dtype)


def pairs(type_: str) -> tuple[Array, Array]:
    """Return all pairs of special values."""
    a, b = zip(*itertools.product(special(type_), repeat=2))
    return np.array(a, TYPES[type_]), np.array(b, TYPES[type_])


def same(a: Array, b: Array) -> Array:
    """Return whether values are equal bit by bit. All NaNs are equal."""
    bits: Array = a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}")
    bits |= (a != a) & (b != b)
    return bits


@functools.cache
def on_the_cpu(name: str) -> Callable[..., None]:
    """Return the result of the CPU's operator on arrays."""
    function, shift, power = getattr(operators, name), name in ("shl", "shr"), name == "int_power"

    def loop(a: Array, b: Array, out: Array, one: Any, bits: int) -> None:
        for i in range(len(a)):
            if shift:
                out[i] = function(a[i], np.int64(b[i]), np.int64(bits))
            elif power:
                out[i] = function(a[i], b[i], one)
            else:
                out[i] = function(a[i], b[i])

    compiled: Callable[..., None] = njit(error_model="numpy")(loop)
    return compiled


@pytest.mark.parametrize(("name", "type_"), [(n, t) for n, (types, _) in BINARY.items() for t in types])
def test_operator_is_that_of_the_cpu(name: str, type_: str) -> None:
    a, b = pairs(type_)
    found, right = np.zeros_like(a), np.zeros_like(a)
    run(f"{name}_{type_}", a, b, found, len(a))
    on_the_cpu(name)(a, b, right, a.dtype.type(1), 8 * a.dtype.itemsize)
    wrong = ~same(found, right)
    assert not wrong.any(), list(zip(a[wrong], b[wrong], found[wrong], right[wrong]))[:5]


def test_halves() -> None:
    with np.errstate(all="ignore"):
        halves = np.arange(1 << 16, dtype=np.uint16)
        exact = halves.view(np.float16).astype(np.float32)
        rng = np.random.default_rng(SEED)
        bits = rng.integers(0, 1 << 32, 1 << 16).astype(np.uint32).view(np.float32)
        near = np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, np.float32(-np.inf))
        between = (exact[:-1].astype(np.float64) + exact[1:]) / 2
        for values in (exact, bits, *near, np.append(between, 65520.0).astype(np.float32)):
            out, back = np.zeros(1 << 16, np.uint16), np.zeros(1 << 16, np.float32)
            run("halves", out, np.ascontiguousarray(values), back, 1 << 16)
            right = values.astype(np.float16)
            assert ((out == right.view(np.uint16)) | (np.isnan(right) & (out == 0x7E00))).all()
            assert same(back, exact).all()


def test_floor_to_integers() -> None:
    values = np.array([*FLOATS, 2.0**31, 2.0**31 - 0.5, -(2.0**31), 2.0**63, -(2.0**63), 1e300, 126.9, 127.0, -128.5])
    for high, low in ((2**63 - 1, -(2**63)), (2**31 - 1, -(2**31)), (127, -128)):
        out = np.zeros(len(values), np.int64)
        run("floors", values, out, high, low, len(values))
        right = [0 if x != x else high if np.floor(x) >= float(high) else low if np.floor(x) <= float(low)
                 else int(np.floor(x)) for x in values]
        assert out.tolist() == right


def test_numbers_from_hashes() -> None:
    """Times of events have the same bits, and ranks of counters are the same."""
    bits = np.random.default_rng(SEED).integers(0, 1 << 64, 200, np.uint64)
    bits >>= np.arange(200, dtype=np.uint64) % np.uint64(64)
    bits[:3] = 0, 1 << 63, (1 << 64) - 1
    times, ranks = np.zeros(len(bits)), np.zeros(len(bits), np.uint8)
    run("drawn", bits, times, ranks, len(bits))
    assert times.tolist() == [operators.exponential.py_func(one) / 2.0 for one in bits]
    assert ranks.tolist() == [operators.hll_rank.py_func(one >> np.uint64(6)) for one in bits]


def test_sizes_of_counters() -> None:
    """Counters without zeros, with a few, and with zeros only, and with ranks above 32."""
    rng = np.random.default_rng(SEED)
    counters = rng.integers(0, np.array([1, 3, 8, 20, 60])[:, None], (5, 64)).astype(np.uint8)
    counters = np.concatenate([counters, counters + np.uint8(1)])
    out = np.zeros(len(counters))
    run("counted", counters, out, len(counters))
    np.testing.assert_allclose(out, [operators.hll_size.py_func(row) for row in counters], rtol=1e-12)
    assert out[0] == 0


def saturated(values: Array) -> int:
    """Return the product of two integers with saturation.

    The product is 0 if a factor is 0. Otherwise the product is infinite if a factor is infinite, or if the magnitude of
    the product is at least 2^63 - 1.
    """
    ends = np.iinfo(values.dtype)
    high, low = int(ends.max), int(ends.min)
    product = math.prod(int(v) for v in values)
    far = values.dtype.kind == "i" and product and (abs(product) >= high or any(int(v) in (high, low) for v in values))
    return (high if product > 0 else low) if far else min(max(product, low), high)


def reduced(name: str, values: Array) -> Any:
    """Return the expected reduction of values. The reductions min and max ignore NaN, and -0.0 is less than 0.0."""
    ufunc = {"add": np.add, "mul": np.multiply, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
             "any": np.maximum, "all": np.minimum}.get(name)
    if name == "mul" and values.dtype.itemsize == 8 and values.dtype.kind in "iu":
        return saturated(values)
    with np.errstate(all="ignore"):
        if ufunc is not None:
            return functools.reduce(ufunc, values)
    numbers = values[values == values]
    best = numbers.min() if name == "min" else numbers.max()
    ties = numbers[numbers == best]
    return ties[np.argmax(np.signbit(ties) == (name == "min"))] if values.dtype.kind == "f" else best


@pytest.mark.parametrize(("name", "type_"), [(n, t) for n, types in SHARED.items() for t in types])
def test_join_in_shared_memory(name: str, type_: str) -> None:
    rng = np.random.default_rng(SEED)
    n, threads = 150, 64
    pool = special(type_)
    if name in ("add", "mul") and pool.dtype.kind == "f":
        pool = np.array([1, 2, -1, -2, 0.5, 0], pool.dtype)  # exact in any order
    if name in ("any", "all"):
        pool = np.array([0, 1], pool.dtype)
    few = 3 if name == "mul" else threads
    starts = rng.choice(pool[pool == pool], n)
    values = rng.choice(pool, (n, threads))
    values[:, few:] = values[:, :1] if name != "mul" else 1
    values[::2, 1:] = starts[::2, None] if name in ("min", "max") else values[::2, 1:]
    for order in ("ascending", "random"):
        out = np.zeros_like(starts)
        run(f"shared_{name}_{type_}", starts, values, out, n, threads=threads, order=order)
        right = np.array([reduced(name, np.append(row, start)) for start, row in zip(starts, values)], starts.dtype)
        wrong = np.flatnonzero(~same(out, right))
        assert not len(wrong), (starts[wrong[0]], values[wrong[0], :few], out[wrong[0]], right[wrong[0]])


@pytest.mark.parametrize(("name", "type_"), [(n, t) for n, types in IMPROVE.items() for t in types])
def test_push_into_global_memory(name: str, type_: str) -> None:
    a, b = pairs(type_)
    if name in ("any", "all"):
        a, b = a & 1, b & 1
    keep = a == a
    cells, values = a[keep].copy(), b[keep]
    before, did = cells.copy(), np.zeros(len(cells), np.uint8)
    run(f"improve_{name}_{type_}", cells, values, did, len(cells))
    with np.errstate(all="ignore"):
        joins: dict[str, Callable[[Array, Array], Array]] = {
            "min": lambda x, y: np.where(y < x, y, x), "max": lambda x, y: np.where(y > x, y, x),
            "and": np.bitwise_and, "or": np.bitwise_or, "any": np.maximum, "all": np.minimum}
        right = joins[name](before, values)
    assert same(cells, right).all()
    assert (did == (before != right)).all()


@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "u8", "u16", "u32", "f32"])
def test_order_keys(type_: str) -> None:
    values = special(type_)
    values = np.sort(values[values == values])
    keys, back = np.zeros(len(values), np.uint32), np.zeros_like(values)
    run(f"keys_{type_}", values, keys, back, len(values))
    np.testing.assert_array_equal(back, values)
    assert (np.diff(keys.astype(np.int64)) >= 0).all()
    assert ((np.diff(keys.astype(np.int64)) == 0) == (values[1:] == values[:-1])).all()


@pytest.mark.parametrize("threads", [32, 96, 256, 1024])
def test_sums_before_a_thread(threads: int) -> None:
    rng = np.random.default_rng(SEED)
    values = rng.integers(0, 1000, (5, threads + 1)).astype(np.uint32)
    out = np.zeros_like(values)
    run("scans", values, out, len(values), threads=threads, order="random")
    np.testing.assert_array_equal(out[:, 1:], np.cumsum(values[:, :threads], axis=1))
    assert (out[:, 0] == 0).all()

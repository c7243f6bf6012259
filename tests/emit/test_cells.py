"""Atomic operations on cells (accumulators as words in memory) give the same result as `merge` on accumulators."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.cuda.emulation.gxx import Library, compile_text, needs_compiler
from tests.emit.structs import Frame
from vlang import compile
from vlang.reductions import REDUCTIONS
from vlang.runtime.plan.plan import Plan

SEED, N = 20261121, 200
TYPES = {"i8": "int", "i16": "int", "i32": "int", "i64": "int", "u8": "uint", "u16": "uint", "u32": "uint",
         "u64": "uint", "f32": "float", "f64": "float", "bool": "bool", "vertex": "vertex"}
DECLARED = {
    "wider": ("f32", "reduction wider(a, b): f32 = max(a, b), identity -inf"),
    "least": ("f64", "reduction least(a, b): f64 = min(a, b), identity inf"),
    "shifted": ("u32", "reduction shifted(a, b): u32 = wrap(a + b - base), identity base"),
    "plus": ("i32", "reduction plus(a, b): int = a + b, identity 0"),
    "far": ("f32, f32", "reduction far(a, b): (f32, f32) = (max(a[0], b[0]), min(a[1], b[1])), identity (-inf, inf)"),
}
"""Declared reductions that a compare-and-swap joins: the types that they join, and their text."""
PAIRS = ("f32, vertex", "i32, vertex", "u8, i16", "vertex, i32", "u32, u32")

# Merges contributions one after the other (result at 0), and by cells in random order (result at 1).
KERNEL = """
template <class S> __device__ void compare(u64* frame, const u32* order, u64 n) {
  if (threadIdx.x) return;
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = typename S::Columns{};
  typename S::Acc acc = S::identity(env);
  const auto cells = S::cells(shared_memory<unsigned char>(0), 2);
  S::clear(env, cells, 0);
  S::clear(env, cells, 1);
  for (u64 i = 0; i < n; i++) {
    acc = S::merge(env, acc, S::lift(env, S::contribute(env, columns, 0, u32(i), i64(i))));
    S::join(env, cells, order[i] & 1, S::contribute(env, columns, 0, order[i], i64(i)));
  }
  S::join(env, cells, 1, S::nothing(env));
  S::fold(env, cells, 0, 1);
  S::put(env, 0, acc);
  S::put(env, 1, S::take(cells, 0));
}
"""
ENTRY = """extern "C" __global__ void compare_all(u64* frame, const u32* order, u64 n) {
  compare<s1>(frame, order, n);
}
"""


def gathers() -> list[str]:
    """Return one gather for each reduction and type that CPUs run."""
    found = []
    for name, rule in REDUCTIONS.items():
        if rule.holistic:
            continue
        default = {"bool": "false", "vertex": "none"}
        for type_, kind in TYPES.items():
            if kind in rule.accepts:
                rest = f", default = {default.get(type_, '1')}" if name in ("mean", "min", "any") else ""
                found.append(f"{name}(u.x_{type_} for u -> self if u.on{rest})")
    for name, (types, _) in DECLARED.items():
        value = ", ".join(f"u.{c}_{t}" for c, t in zip("xy", types.split(", ")))
        ordered = " and ".join(f"u.{c}_{t} == u.{c}_{t}" for c, t in zip("xy", types.split(", ")))  # NaN has no order
        found.append(f"{name}({value if ',' not in types else f'({value})'} for u -> self if u.on and {ordered})")
    return [*found, *(f"{name}(({', '.join(f'u.{c}_{t}' for c, t in zip('xy', pair.split(', ')))}) for u -> self)"
                      for name in ("min", "max") for pair in PAIRS)]


@functools.cache
def plan_of_all() -> Plan:
    """Return a pass with all gathers."""
    lines = ["program p(base: u32 = 5)", *(text for _, text in DECLARED.values()), "vertex on: bool",
             *(f"vertex {c}_{t}: {t}" for t in TYPES for c in "xy")]
    lines += ["vertex seen: int = 0", "repeat 1 times:"]
    lines += [f"    gather a{i} = {text}" for i, text in enumerate(gathers())] + ["    apply seen = 1"]
    return compile("\n".join(lines)).plan(frozenset(), target="cuda")


@functools.cache
def library() -> Library:
    """Return the compiled comparison, which runs in one thread."""
    return compile_text(plan_of_all().text + KERNEL, {"compare_all": ENTRY})


def test_nvrtc_takes_every_reduction_of_every_type() -> None:
    core = pytest.importorskip("cuda.core", reason="cuda-core, which calls NVRTC without a GPU, is not installed")
    options = core.ProgramOptions(arch="sm_75", std="c++17", fma=False)
    assert core.Program(plan_of_all().text + KERNEL + ENTRY, "c++", options).compile("cubin")


@needs_compiler
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore")
def test_cells_are_accumulators(seed: int) -> None:
    print(f"seed {SEED + seed}")
    rng = np.random.default_rng(SEED + seed)
    frame = Frame(plan_of_all(), N, {})
    few = seed % 2 == 0  # few values, so that many are equal, with the extremes among them
    for name, array in frame.arrays.items():
        if not name.startswith("field:"):
            continue
        bits = rng.integers(0, 256, N * array.itemsize, dtype=np.uint8)
        if name.endswith("bool") or name == "field:on":
            array[:] = bits[:N] & 1
        elif array.dtype.kind == "f":
            array[:] = rng.choice([-2.5, 0.0, -0.0, 7, np.inf, -np.inf, np.nan], N) if few else rng.normal(size=N)
        else:
            array[:] = bits.view(array.dtype)
            if few:
                info = np.iinfo(array.dtype)
                array[:] = rng.choice(np.array([info.min, info.max, 3, 4], dtype=array.dtype), N)
    order = rng.permutation(N).astype(np.uint32)
    library().run("compare_all", 1, 32, [frame.address, order.ctypes.data, N], shared=8192)
    parts = [array for slot, array in frame.arrays.items() if slot.startswith("part:s1.")]
    assert len(parts) > 80
    for slot, array in frame.arrays.items():
        if not slot.startswith("part:s1."):
            continue
        if array.dtype.kind == "f":
            np.testing.assert_allclose(array[1], array[0], rtol=1e-9, atol=1e-9, err_msg=slot)
        else:
            assert array[0] == array[1], slot

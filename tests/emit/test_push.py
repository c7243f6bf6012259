"""Generated push functions, run on the CPU: pushes give the value of a gather and report changes."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.cuda.emulation.gxx import Library, compile_text, needs_compiler
from tests.emit.structs import Array, Frame
from vlang import compile
from vlang.runtime.plan.plan import Plan

pytestmark = needs_compiler
SEED, N = 20261121, 64

# Vertex 0 starts from its own value, receives the pushed values and applies. did[i]: whether push i changed a value.
KERNEL = """
template <class S> __device__ void by_push(u64* frame, const u32* order, u64* did, u64 n) {
  if (threadIdx.x) return;
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = typename S::Columns{};
  S::open(env, 0);
  for (u64 i = 0; i < n; i++) {
    did[i] = S::push(env, 0, S::contribute(env, columns, 0, order[i], i64(i)));
  }
  S::apply(env, 0, S::ready(env, 0), S::pushed(env, 0));
}
template <class S> __device__ void by_gather(u64* frame, const u32* order, u64* did, u64 n) {
  if (threadIdx.x) return;
  const typename S::Env env = S::bind(frame);
  const typename S::Columns columns = typename S::Columns{};
  typename S::Acc acc = S::identity(env);
  for (u64 i = 0; i < n; i++) {
    acc = S::merge(env, acc, S::lift(env, S::contribute(env, columns, 0, order[i], i64(i))));
  }
  S::apply(env, 0, S::ready(env, 0), S::wanted(S::ready(env, 0)) ? acc : S::identity(env));
}
"""
ENTRIES = {f"{name}_all": f'extern "C" __global__ void {name}_all(u64* frame, const u32* order, u64* did, u64 n) '
           f"{{ by_{name}<s0>(frame, order, did, n); }}\n"
           for name in ("push", "gather")}
FORMS = {  # the types of the fields, and the statements that combine them
    "pair of float and vertex": (("f32", "vertex"), "min"), "pair of int and vertex": (("i32", "vertex"), "min"),
    "greatest pair": (("f32", "vertex"), "max"), "pair of small integers": (("i8", "u16"), "max"),
    "largest vertex": (("vertex",), "max"), "small integer": (("i8",), "min"), "guarded": (("f32",), "max"),
}


@functools.cache
def program(form: str) -> tuple[Plan, Library]:
    types, name = FORMS[form]
    fields = [f"x{i}" for i in range(len(types))]
    own, other = ", ".join(fields), ", ".join(f"u.{x}" for x in fields)
    if len(types) > 1:
        own, other = f"({own})", f"({other})"
    indent = "    " * (2 if form == "guarded" else 1)
    lines = ["program p", "vertex on: bool", *(f"vertex {x}: {t}" for x, t in zip(fields, types)), "repeat:"]
    lines += ["    where on:"] if form == "guarded" else []
    lines += [f"{indent}gather a = {name}({other} for u -> self)", f"{indent}apply {own} = {name}({own}, a)"]
    plan = compile("\n".join(lines)).plan(frozenset(), frozenset({"on", *fields}), target="cuda")
    return plan, compile_text(plan.text + KERNEL, ENTRIES)


def drawn(rng: np.random.Generator, array: Array) -> None:
    """Fill an array with few different values, so that many elements are equal. The limits of the type are among the
    drawn values.
    """
    if array.dtype.kind == "f":
        array[:] = rng.choice([0.0, -0.0, 1.5, -3, 8, np.inf, -np.inf], len(array))
    else:
        info = np.iinfo(array.dtype.name)
        array[:] = rng.choice(np.array([info.min, info.max, 3, 4, 5], dtype=array.dtype), len(array))


@pytest.mark.parametrize("form", FORMS)
def test_pushing_is_gathering(form: str) -> None:
    plan, library = program(form)
    for seed in range(SEED, SEED + 40):
        print(f"seed {seed}")
        rng = np.random.default_rng(seed)
        one, other = Frame(plan, N, {}), Frame(plan, N, {})
        fields = [slot for slot in one.arrays if slot.startswith("field:")]
        for slot in fields:
            drawn(rng, one.arrays[slot])
            one.arrays["field:on"][:] = seed % 3 > 0
            other.arrays[slot][:] = one.arrays[slot]
        before = {slot: one.arrays[slot][0] for slot in fields}
        order = rng.permutation(N).astype(np.uint32)
        did = np.zeros(N, dtype=np.uint64)
        for frame, name in ((one, "push_all"), (other, "gather_all")):
            library.run(name, 1, 32, [frame.address, order.ctypes.data, did.ctypes.data, N], shared=256)
        changed = False
        for slot in fields:
            written = slot.replace("field", "next") if slot.replace("field", "next") in one.arrays else slot
            assert one.arrays[written][0] == other.arrays[written][0], (slot, before)
            changed |= bool(one.arrays[written][0] != before[slot])
        assert not changed or did.any()

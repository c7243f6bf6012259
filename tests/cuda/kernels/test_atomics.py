"""The instructions of the unified operations: every word that several threads may update is updated by atomic
instructions.

NVRTC translates one small kernel for each operation and type. The emulator cannot detect an update by a plain load and
store, because its lanes switch only at barriers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from vlang import load

nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")

INTEGERS, FLOATS, BITS = ("u32", "i32", "u64", "i64"), ("f32", "f64"), ("u32", "u64")
OPERATIONS = {
    "shared_add": (*INTEGERS, *FLOATS), "shared_mul": (*INTEGERS, *FLOATS), "shared_min": (*INTEGERS, *FLOATS),
    "shared_max": (*INTEGERS, *FLOATS), "shared_and": BITS, "shared_or": BITS, "shared_xor": BITS,
    "improve_min": (*INTEGERS, *FLOATS), "improve_max": (*INTEGERS, *FLOATS), "improve_or": BITS,
    "improve_and": BITS,
}
"""The operations, except those of `any` and `all`, where every write stores the same constant."""

SHARED = {
    "hook": ("u32* parents, u32 u, u32 v", "hook(u, v, parents)"),
    "set_bit": ("u32* bits, u32 v, u32* out", "if (set_bit(bits, v)) atomicAdd(out, 1u)"),
    "clear_bit": ("u32* bits, u32 v", "clear_bit(bits, v)"),
}
"""Other functions that many threads call for one word, each with the text of a call."""

_ATOMIC = re.compile(r"\b(atom|red)\.")
_PLAIN = re.compile(r"\bst\.(?!param|local)|\bst\.volatile")


def _texts(change: tuple[str, str] = ("", "")) -> dict[str, str]:
    """Return the PTX of each kernel.

    Args:
        change: a part of the source text, and the text that replaces the part.
    """
    kernels = "".join(
        f'extern "C" __global__ void {name}_{kind}({kind}* place, {kind} value) {{ {name}(place, value); }}\n'
        for name, kinds in OPERATIONS.items() for kind in kinds)
    kernels += "".join(f'extern "C" __global__ void {name}_of({takes}) {{ {does}; }}\n'
                       for name, (takes, does) in SHARED.items())
    source = load("degree").plan(frozenset(), target="cuda").text
    assert change[0] in source
    return dict(_entries(_ptx((source.replace(*change) if change[0] else source) + kernels)))


def _ptx(source: str) -> str:
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"atomics.cu", 0, [], [])
    options = [b"--gpu-architecture=compute_90", b"--std=c++17", b"--fmad=false"]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * size
    nvrtc.nvrtcGetProgramLog(program, log)
    assert int(status) == 0, log.decode()[:3000]
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = b" " * size
    nvrtc.nvrtcGetPTX(program, text)
    nvrtc.nvrtcDestroyProgram(program)
    return str(text, "ascii")


def _entries(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(".entry ")[1:]:
        yield part.partition("(")[0].strip(), part


def test_joins_are_atomic_instructions() -> None:
    texts = _texts()
    of_types = {f"{name}_{kind}" for name, kinds in OPERATIONS.items() for kind in kinds}
    assert set(texts) == of_types | {f"{name}_of" for name in SHARED}
    for name, text in texts.items():
        assert _ATOMIC.search(text), name
        assert not _PLAIN.search(text), name


@pytest.mark.parametrize(("right", "wrong", "kernel"), [
    ("void shared_add(T* place, T value) { atomicAdd(place, value); }",
     "void shared_add(T* place, T value) { *place += value; }", "shared_add_f32"),
    ("T atomic_least(T* place, T value) { return atomicMin(place, value); }",
     "T atomic_least(T* place, T value) { T old = *place; if (value < old) *place = value; return old; }",
     "improve_min_u32"),
])
def test_a_planted_plain_store_is_seen(right: str, wrong: str, kernel: str) -> None:
    text = _texts((right, wrong))[kernel]
    assert not _ATOMIC.search(text)
    assert _PLAIN.search(text)

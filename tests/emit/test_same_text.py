"""Generated code depends only on the program: text and cache keys are the same for every hash seed of a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WRITES = """
import hashlib
import vlang
from vlang import stdlib
for name in stdlib.names():
    program = vlang.load(name)
    given = frozenset(field.name for field in program.fields if field.required)
    columns = frozenset(edge.name for edge in program.edges)
    for target in ("numba", "cuda"):
        plan = program.plan(columns, given, target=target)
        print(name, target, hashlib.sha256(repr((plan.text, plan.exports, plan.slots)).encode()).hexdigest())
"""


def written(seed: int) -> list[str]:
    """Return a line for each program of the library and each target, from a process with the given hash seed."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(seed)}
    done = subprocess.run([sys.executable, "-c", WRITES], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_process_writes_the_same_code() -> None:
    first = written(1)
    assert len(first) > 60
    for seed in (2, 3):
        assert written(seed) == first, f"PYTHONHASHSEED={seed}"

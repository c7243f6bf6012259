"""No concurrent update of a shared word is lost, and these tests would detect a lost update."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cpu.kernels.yielding import WAYS, yielding_text
from tests.sample import sampled
from vlang import load

ROOT = Path(__file__).parents[3]
USUAL = ("components", "offered", "reach", "meeting", "sssp", "small", "long", "bits", "copied_last", "copied_bitor")
"""One program for each kind of atomic update: words of 32, 64 and 128 bits, single bits, roots, buckets and bitmaps."""


def _yielding(cache: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "VLANG_CACHE": str(cache), "PYTHONPATH": str(ROOT), "VLANG_HASTE": ""}
    return subprocess.run([sys.executable, "-m", "tests.cpu.kernels.yielding", *words], cwd=ROOT, env=environment,
                          text=True, capture_output=True, timeout=300)


def test_no_update_is_lost(tmp_path: Path) -> None:
    names = sampled(WAYS, USUAL)
    done = _yielding(tmp_path, *names)
    assert done.stdout.splitlines() == [f"{name} same" for name in names], done.stdout + done.stderr[-4000:]
    assert done.returncode == 0


@pytest.mark.parametrize(("bug", "name"), sampled([("join", "sssp"), ("both", "long")], [("both", "long")]))
def test_a_planted_bug_is_seen(bug: str, name: str, tmp_path: Path) -> None:
    done = _yielding(tmp_path, name, "--plant", bug)
    assert done.stdout == f"{name} differs\n", done.stdout + done.stderr[-4000:]
    assert done.returncode == 1


def test_joins_are_atomic_in_the_text() -> None:
    """Pushes by several workers use atomic operations. Pushes by a single worker use plain operations."""
    for name in ("sssp", "sswp", "sssp_tree", "bfs_tree", "components", "viterbi"):
        program = load(name)
        plan = program.plan(frozenset(edge.name for edge in program.edges))
        stage = next(stage for stage in plan.stages if "push" in stage.ways)
        text = plan.text.partition(f"def join_{stage.name}(")[2].partition("\n@")[0]
        assert "if replace(" in text or "if replace_both(" in text, name
        push = plan.text.partition(f"def {stage.kernels['push']}(")[2].partition("\ndef ")[0]
        assert f"join_{stage.name}(env" in push


def test_every_access_to_memory_yields() -> None:
    text = yielding_text("define void @f(ptr %p) {\n  %x = load i64, ptr %p\n  store i64 %x, ptr %p\n  ret void\n}")
    body = text.partition("@vlang_turn")[0]
    assert body.count("call void @vlang_yield()") == 2

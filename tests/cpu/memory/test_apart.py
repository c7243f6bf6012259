"""Compilation in another process under a memory budget."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.page_file.test_process import MIB, ROOT, peak
from vlang.errors import CacheWarning, InternalError
from vlang.runtime.compile import apart, objects
from vlang.runtime.graph.graph import Graph
from vlang.runtime.storage.ledger import budget

TEXT = """
from numba import njit

@njit(inline="never")
def double(x):
    return 2 * x

def fill(out, n):
    for i in range(n):
        out[i] = double(i)

def wrong(out, n):
    out[0] = nowhere
"""
SIGNATURE = "void", ("i64*", "i64"), "symbol"


def test_a_run_that_compiles_keeps_its_budget(tmp_path: Path) -> None:
    """The first run of a program, with an empty cache, stays below its budget plus 64 MB, since the compiler runs in
    another process.
    """
    Graph.read("karate").save(tmp_path / "k.vg")
    (tmp_path / "cache").mkdir(mode=0o700)
    (tmp_path / "p.vp").write_text("program p\n\nvertex ends: int = sum(1 for u -> self)\n", encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "vlang", "run", str(tmp_path / "p.vp"), str(tmp_path / "k.vg"), "--memory", "8M",
         "--threads", "1", "--trace", str(tmp_path / "t.json")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "VLANG_CACHE": str(tmp_path / "cache")})  # fmt: skip
    most = peak(process)
    assert process.returncode == 0, process.communicate()[1]
    assert "compiling in another process pull" in (tmp_path / "t.json").read_text(encoding="utf-8")
    assert list((tmp_path / "cache").glob("*.kernels")), "object code is kept"
    assert 20 * MIB < most < (8 + 64) * MIB, f"{most / MIB:.1f} MiB"


def test_a_process_that_has_ended_is_started_again() -> None:
    """A compiler that was killed or is idle is replaced, and reports a text that numba rejects."""
    code = apart.object_code(TEXT, "fill", *SIGNATURE)
    assert code.startswith(b"\x7fELF")
    first = apart._running
    assert first is not None
    first.process.kill()
    with pytest.raises(InternalError, match="nowhere"):
        apart.object_code(TEXT, "wrong", *SIGNATURE)
    assert apart._running is not None
    assert apart._running.process.pid != first.process.pid
    assert first.process.poll() is not None, "no process is left behind"
    assert apart._running.process.wait(timeout=30) == 0, "an idle process ends by itself"


def test_no_other_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If no other process can be started, kernels are compiled in this process, with a warning."""
    monkeypatch.setattr(objects, "write_entry", lambda *_: None)
    monkeypatch.setattr(objects, "read_entry", lambda *_: None)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    apart._end()
    kernels = objects.Kernels(TEXT, {"fill": "void(i64*, i64)"})
    out = np.zeros(5, np.int64)
    with budget(1 << 26), pytest.warns(CacheWarning, match="beside the memory budget"):
        kernels["fill"](out, 5)
    assert out.tolist() == [0, 2, 4, 6, 8]

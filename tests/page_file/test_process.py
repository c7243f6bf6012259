"""Conversions in separate processes: sampled memory, interrupts, and a full disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from vlang.runtime.convert.convert import convert
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.kernels import kernel_files, kernels
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.storage.page_file import PageFile

ROOT = Path(__file__).parents[2]
MIB = 1 << 20


def write_text(path: Path, edges: int, prefix: str = "") -> None:
    """Write a weighted edge list with lines of equal length. A tenth of the edges end in one vertex."""
    rng = np.random.default_rng(6)
    ends = rng.integers(100_000, 400_000, (2, edges))
    ends[1, rng.random(edges) < 0.1] = 123_456
    mark = np.frombuffer(prefix.encode(), np.uint8)
    digits = 10 ** np.arange(5, -1, -1)
    with open(path, "wb") as file:
        for first in range(0, edges, 1 << 18):
            part = ends[:, first : first + (1 << 18), None] // digits % 10 + ord("0")
            lines = np.full((part.shape[1], 2 * len(mark) + 16), ord(" "), dtype=np.uint8)
            lines[:, : len(mark)] = lines[:, len(mark) + 7 : 2 * len(mark) + 7] = mark
            lines[:, len(mark) : len(mark) + 6], lines[:, 2 * len(mark) + 7 : -3] = part[0], part[1]
            lines[:, -2], lines[:, -1] = part[0, :, 5], ord("\n")
            file.write(lines.tobytes())


def start(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "vlang", "convert", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip


def peak(process: subprocess.Popen[str]) -> int:
    """Wait for a process; return its peak of anonymous and shared memory in bytes."""
    most = 0
    while process.poll() is None:
        try:
            lines = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
            sizes = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines if line.startswith("Rss")}
            most = max(most, sizes.get("RssAnon", 0) + sizes.get("RssShmem", 0))
        except (OSError, IndexError):
            pass  # the process has just ended
        time.sleep(0.003)
    return most


@pytest.mark.parametrize(("prefix", "edges"), [("", 3_800_000), ("vertex-", 600_000)])
def test_a_budget_is_kept(prefix: str, edges: int, tmp_path: Path) -> None:
    """A budget of 16 MB holds for 60 MB of integer ids, and for text ids whose dictionary is larger than the budget."""
    source = tmp_path / "x.txt"
    write_text(source, edges, prefix)
    for kernel_file in kernel_files():
        list(kernels(kernel_file).values())  # looking kernels up compiles them, which takes memory once
    process = start(source, tmp_path / "x.vg", "--memory", "16M")
    most = peak(process)
    assert (process.returncode, "wrote" in process.communicate()[1]) == (0, True)
    assert most > 20 * MIB, "it was sampled"
    assert most < (16 + 64) * MIB, f"{most / MIB:.1f} MiB"
    assert PageFile.open(tmp_path / "x.vg").m == edges
    save(Graph.read(source), tmp_path / "y.vg")
    assert (tmp_path / "x.vg").read_bytes() == (tmp_path / "y.vg").read_bytes()


def test_nothing_half_is_left(tmp_path: Path) -> None:
    """After an interrupt or SIGTERM at any moment, either the old file or the complete new file exists."""
    source, folder = tmp_path / "x.txt", tmp_path / "out"
    folder.mkdir()
    write_text(source, 400_000)
    target = folder / "x.vg"
    convert("karate", target)
    before = target.read_bytes()
    convert(str(source), tmp_path / "whole.vg")
    after = (tmp_path / "whole.vg").read_bytes()
    ended = set()
    pause = 0.45  # adapted until the signal arrives during the conversion, on machines of any speed
    for number in range(20):
        process = start(source, target, "--memory", "16M")
        time.sleep(pause)
        process.send_signal(signal.SIGINT if number % 2 else signal.SIGTERM)
        err = process.communicate(timeout=60)[1]
        ended.add(process.returncode)
        assert process.returncode in (0, 130, 143, -signal.SIGTERM, -signal.SIGINT), err
        assert [path.name for path in folder.iterdir()] == ["x.vg"]
        found = target.read_bytes()
        assert found == after or (found == before and process.returncode != 0)
        target.write_bytes(before)
        assert "Traceback" not in err or process.returncode == -signal.SIGINT, "before the command began"
        pause *= 0.85 if process.returncode == 0 else 1.1
        if number >= 4 and ended & {130, 143}:
            break
    assert ended & {130, 143}


@pytest.mark.parametrize("limit", [2 * MIB, 8 * MIB])
def test_a_full_disk(limit: int, tmp_path: Path) -> None:
    """A full disk gives an error, both while temporary files are written and while the page file is written."""
    source, folder = tmp_path / "x.txt", tmp_path / "out"
    folder.mkdir()
    write_text(source, 400_000)
    code = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
from vlang.cli import main
sys.exit(main(["convert", {str(source)!r}, {str(folder / "x.vg")!r}, "--memory", "16M"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.returncode == 1
    need, error = done.stderr.splitlines()
    assert need.startswith("converting ")
    assert error.startswith("error: cannot write ")
    assert not list(folder.iterdir())

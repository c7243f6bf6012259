"""The default number of threads: from an environment variable, the quotas of both cgroup versions, or the processors.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import vlang
from vlang.cli import main
from vlang.runtime.threads import processors
from vlang.runtime.threads.processors import available_threads, cpu_quota

V2 = "31 23 0:28 {base} /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate"
V1 = "32 31 0:29 {base} /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct"
OTHER = "34 31 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"


def system(root: Path, mount: str, group: str, files: dict[str, str]) -> Path:
    """Create a copy of `proc` and `sys`, with these files below /sys/fs/cgroup."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(f"{OTHER}\n{mount}\n")
    (root / "proc/self/cgroup").write_text(f"9:memory:/elsewhere\n{group}\n")
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return root


@pytest.mark.parametrize(("mount", "group", "files", "quota"), [
    (V2.format(base="/"), "0::/a/b", {"a/b/cpu.max": "150000 100000"}, 1.5),
    (V2.format(base="/"), "0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "200000 100000"}, 2),
    (V2.format(base="/"), "0::/a/b", {"a/b/cpu.max": "300000 100000", "a/cpu.max": "200000 100000"}, 2),
    (V2.format(base="/"), "0::/", {"cpu.max": "max 100000"}, math.inf),
    (V2.format(base="/"), "0::/", {}, math.inf),
    (V2.format(base="/docker/1"), "0::/docker/1/x", {"x/cpu.max": "50000 100000"}, 0.5),
    (V2.format(base="/docker/1"), "0::/", {"cpu.max": "50000 100000"}, 0.5),
    (V1.format(base="/"), "4:cpu,cpuacct:/a", {"cpu,cpuacct/a/cpu.cfs_quota_us": "400000",
                                               "cpu,cpuacct/a/cpu.cfs_period_us": "100000"}, 4),
    (V1.format(base="/"), "4:cpu,cpuacct:/a", {"cpu,cpuacct/a/cpu.cfs_quota_us": "-1",
                                               "cpu,cpuacct/a/cpu.cfs_period_us": "100000"}, math.inf),
    (V1.format(base="/docker/1"), "4:cpu,cpuacct:/docker/1", {"cpu,cpuacct/cpu.cfs_quota_us": "100000",
                                                              "cpu,cpuacct/cpu.cfs_period_us": "100000"}, 1),
    (V2.format(base="/"), "nonsense", {"cpu.max": "50000 100000"}, math.inf),
])  # fmt: skip
def test_quotas(tmp_path: Path, mount: str, group: str, files: dict[str, str], quota: float) -> None:
    assert cpu_quota(system(tmp_path, mount, group, files)) == quota


def test_without_cgroups(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) == math.inf


@pytest.mark.parametrize(("quota", "threads"), [(0.2, 1), (1, 1), (1.5, 2), (7.5, 8), (64, 8), (math.inf, 8)])
def test_a_quota_limits_the_processors(monkeypatch: pytest.MonkeyPatch, quota: float, threads: int) -> None:
    monkeypatch.delenv("VLANG_THREADS", raising=False)
    monkeypatch.setattr(processors, "_processors", lambda: 8)
    monkeypatch.setattr(processors, "_quota", lambda: quota)
    assert available_threads() == threads
    assert bool(processors.threads_reason()) == (quota < 8)
    monkeypatch.setenv("VLANG_THREADS", " 11 ")
    assert available_threads() == 11
    assert "VLANG_THREADS" in processors.threads_reason()


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "99999999", "\u0663"])
def test_a_wrong_variable_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.setenv("VLANG_THREADS", text)
    with pytest.raises(vlang.BindError, match="VLANG_THREADS is the number of threads"):
        vlang.Graph.from_edges([0], [1])
    assert main(["info", "karate"]) == 1
    assert capsys.readouterr().err.startswith("error: VLANG_THREADS is the number of threads, 1 to 65535, not ")

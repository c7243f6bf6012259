"""On a machine without a GPU, `vlang run` with options for a GPU gives an error before any file is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Call
from vlang.cli.commands import doctor
from vlang.errors import DeviceError
from vlang.runtime.gpu.device import gpus


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def cuda() -> object:
        raise DeviceError("a GPU needs CuPy, which is not installed: pip install 'vlang[gpu]'")

    for module in (gpus, doctor):
        monkeypatch.setattr(module, "cuda", cuda)


def test_a_gpu_that_is_not_there(vlang: Call, tmp_path: Path) -> None:
    done = vlang("run", "pagerank", tmp_path / "not-even-read.csv", "--device", "gpu")
    assert done == (1, "", "error: a GPU needs CuPy, which is not installed: pip install 'vlang[gpu]'\n")
    assert vlang("run", "pagerank", "karate", "--device", "gpu:3", "--gpu-memory", "1G").status == 1


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--device", "gpuu", "did you mean 'gpu'?"),
        ("--device", "gpu:x", "device is 'cpu', 'gpu', 'gpu:K'"),
        ("--gpu-memory", "lots", "`lots` is not a size; write for example 65536, 64K, 32M or 8G"),
        ("--research", "streams=33", "streams is 'auto' or a number from 1 to 32, not '33'"),
        ("--research", "kernel=warp", "kernel is one of 'auto', 'thread'"),
        ("--research", "replication=3", "not '3'"),
        ("--research", "transfer=pages", "transfer is for runs on a GPU"),
        ("--gpu-memory", "1G", "gpu_memory is for runs on a GPU, and this one is on the CPU; ask for --device gpu"),
        ("--research", "streams=2", "ask for --device gpu as well, or leave it out"),
    ],
)
def test_options_that_cannot_be(vlang: Call, option: str, value: str, message: str) -> None:
    done = vlang("run", "pagerank", "karate", option, value)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_cpu_is_said_only_if_asked(vlang: Call) -> None:
    assert "ran on the CPU: as asked" in vlang("run", "bfs", "karate", "source=1", "--device", "cpu").err
    done = vlang("run", "bfs", "karate", "source=1", "--deterministic")
    assert done.status == 0
    assert "ran on" not in done.err


def test_doctor_says_why_there_is_no_gpu(vlang: Call) -> None:
    done = vlang("doctor")
    assert done.status == 0
    assert "\ngpu        none: a GPU needs CuPy, which is not installed: pip install 'vlang[gpu]'" in done.out

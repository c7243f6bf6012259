"""The options of a run: parsing, conflicts between options or with the device, and messages that propose a name."""

from __future__ import annotations

import io
import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import vlang
from tests.spelled import spelled
from vlang.api.arguments.bind_options import check_options
from vlang.options import Options, parse_size
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.naming import NONE
from vlang.runtime.results.result import Result


@pytest.fixture(scope="module")
def karate() -> vlang.Graph:
    return vlang.Graph.read("karate")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, Options()),
        ({"device": "gpu:2", "gpu_memory": "8G"}, Options(device="gpu:2", gpu_memory=8 << 30)),
        ({"device": "gpu", "gpu_memory": np.int64(5)}, Options(device="gpu", gpu_memory=5)),
        ({"device": "gpu", "gpu_memory": None, "streams": "auto"}, Options(device="gpu")),
        ({"device": "auto", "streams": 32, "kernel": "virtual-warp-8"},
         Options(device="auto", streams=32, kernel="virtual-warp-8")),
        ({"device": "gpu", "streams": "4", "replication": "garaph", "mode": "push"},
         Options(device="gpu", streams=4, replication="garaph", mode="push")),
        ({"device": "gpu", "replication": "16"}, Options(device="gpu", replication=16)),
        ({"device": "gpu", "deterministic": True, "device_arrays": np.True_},
         Options(device="gpu", deterministic=True, device_arrays=True)),
        ({"deterministic": True}, Options(deterministic=True)),
        ({"kernel": "auto", "replication": "auto", "streams": "auto", "gpu_memory": None, "device_arrays": False},
         Options()),
    ],
)  # fmt: skip
def test_what_is_meant(given: dict[str, Any], expected: Options) -> None:
    read = check_options(given)
    assert read == expected
    again = {spec.name: getattr(read, spec.name) for spec in fields(Options)}
    assert check_options(again) == expected  # parsed values are accepted, too


GPU_ONLY = 'is for runs on a GPU, and this one is on the CPU; ask for device="gpu" as well, or leave it out'


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"device": "tpu"}, "'gpu:0,1' (several), 'gpus' (all) or 'auto', not 'tpu'; did you mean 'gpu'?"),
        ({"device": 1}, "not 1"),
        ({"gpu_memory": "8 apples"}, "gpu_memory: `8 apples` is not a size; write for example 65536, 64K, 32M or 8G"),
        ({"gpu_memory": 0}, 'gpu_memory is a number of bytes or a size such as "8G", not 0'),
        ({"gpu_memory": 1.5}, "not 1.5"),
        ({"memory": 1 << 62}, "not 4611686018427387904"),
        ({"memory": "9" * 400}, "memory: a size is less than 4 EiB; write for example 65536, 64K, 32M or 8G"),
        ({"memory": "4194304T"}, "memory: a size is less than 4 EiB"),
        ({"gpu_memory": True}, "not True"),
        ({"streams": 33}, "streams is 'auto' or a number from 1 to 32, not 33"),
        ({"streams": "many"}, "not 'many'"),
        ({"streams": False}, "not False"),
        ({"kernel": "virtual-warp-3"}, "not 'virtual-warp-3'; did you mean 'virtual-warp-32'?"),
        ({"kernel": 5}, "kernel is one of 'auto', 'thread', "),
        ({"replication": 3}, "not 3"),
        ({"replication": 64}, "not 64"),
        ({"replication": True}, "not True"),
        ({"deterministic": 1}, "deterministic is True or False, not 1"),
        ({"device_arrays": "yes"}, "device_arrays is True or False, not 'yes'"),
        ({"mode": "notify"}, "did you mean 'notify-pull'?"),
        ({"gpu_memory": "1G"}, f"gpu_memory {GPU_ONLY}"),
        ({"streams": 2}, f"streams {GPU_ONLY}"),
        ({"kernel": "thread"}, f"kernel {GPU_ONLY}"),
        ({"replication": "none", "device": "cpu"}, f"replication {GPU_ONLY}"),
        ({"device_arrays": True}, f"device_arrays {GPU_ONLY}"), ({"transfer": "pages"}, f"transfer {GPU_ONLY}"),
    ],
    ids=str,
)
def test_what_cannot_be(karate: vlang.Graph, given: dict[str, Any], message: str) -> None:
    with pytest.raises(vlang.BindError) as caught:
        vlang.load("pagerank")(karate, **spelled(**given))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_name_that_is_nearly_an_option(karate: vlang.Graph) -> None:
    with pytest.raises(vlang.BindError, match="did you mean `gpu_memory`"):
        vlang.load("pagerank")(karate, gpu_memry=5)


def test_sizes() -> None:
    assert [parse_size(t) for t in ("1", " 64k ", "1.5M", "8G", "8GB", "8GiB", "2T")] == [
        1, 65536, 3 << 19, 8 << 30, 8 << 30, 8 << 30, 2 << 40]  # fmt: skip
    for text in ("", "G", "-1", "1e9", "8X", "0"):
        with pytest.raises(ValueError, match="size"):
            parse_size(text)


def test_a_run_on_the_cpu_says_so(karate: vlang.Graph) -> None:
    result = vlang.load("bfs")(karate, source=1)
    assert (result.device, result.device_reason) == ("cpu", "as asked")
    assert result.summary_dict()["device"] == "cpu"


# ------------------------------------------------------------------------ results that stay on a device
class There:
    """A stand-in for an array on a device. The stand-in counts the copies to the host."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.fetched = array, 0
        self.dtype, self.itemsize, self.ndim = array.dtype, array.itemsize, array.ndim

    def get(self) -> np.ndarray:
        self.fetched += 1
        return self.array

    def view(self, dtype: Any) -> There:
        return There(self.array.view(dtype))

    def __array__(self, *_: object) -> np.ndarray:
        raise TypeError("implicit conversion of an array of a device")


def test_fields_are_fetched_once_and_only_where_needed() -> None:
    arrays: dict[str, np.ndarray] = {
        "dist": np.array([0.5, np.inf, 2], np.float32),
        "alive": np.array([1, 0, 1], np.uint8), "parent": np.array([0, NONE, 1], np.uint32)}  # fmt: skip
    types = {"dist": "f32", "alive": "bool", "parent": "vertex"}
    there = {name: There(array) for name, array in arrays.items()}

    def result(given: Any) -> Result:
        ids = VertexIds(np.array(["a", "b", "c"], object))
        return Result("demo", ids, given, types, {}, 1, True, "converged", device="gpu:0",
                      device_reason="Test, as asked")

    host, device = result(arrays), result(there)
    assert device["dist"] is there["dist"]
    assert device["alive"].dtype == np.bool_
    assert there["dist"].fetched == 0
    assert device.top(3) == host.top(3)
    assert device.reached("dist").tolist() == [True, False, True]
    texts = [io.StringIO(), io.StringIO()]
    for run, text in zip((host, device), texts):
        run.to_csv(text)
    assert texts[0].getvalue() == texts[1].getvalue()
    for run in (host, device):
        run.to_json(text := io.StringIO())
        assert json.loads(text.getvalue())["fields"]["alive"] == [True, False, True]
        run.to_npz(file := io.BytesIO())
        file.seek(0)
        assert np.load(file)["parent"].tolist() == ["a", "", "b"]
    assert device.summary() == host.summary()
    assert device["parent"].tolist() == ["a", None, "b"]
    assert (there["dist"].fetched, there["parent"].fetched) == (1, 1)

"""The state of a loop over frontiers in device memory, on a stand-in for a device."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from vlang.runtime.gpu.device.device import Device
from vlang.runtime.gpu.kernels.sparse_layout import CONTROL
from vlang.runtime.gpu.passes.gpu_frontier import Control, table_words

BASE, ROWS = 1 << 20, 100


class Memory:
    """Device memory that begins at the address BASE."""

    def __init__(self) -> None:
        self.bytes = np.full(Control.bytes(ROWS), 0xC5, np.uint8)

    def fill(self, pointer: int, nbytes: int, byte: int) -> None:
        self.bytes[pointer - BASE : pointer - BASE + nbytes] = byte

    def upload(self, pointer: int, words: NDArray[Any]) -> None:
        self.bytes[pointer - BASE : pointer - BASE + words.nbytes] = words.view(np.uint8)

    def download(self, words: NDArray[Any], pointer: int) -> None:
        words.view(np.uint8)[:] = self.bytes[pointer - BASE : pointer - BASE + words.nbytes]


def test_words_are_set_read_and_cleared() -> None:
    memory = Memory()
    control = Control(cast(Device, memory), BASE, ROWS)
    values = {"least[0]": (1 << 64) - 1, "start": 7, "bound": float("-inf"), "done": ROWS - 1}
    control.start(values)
    assert len(control.fetch()) == ROWS - 1
    assert not control.fetch().any()
    assert {name: control[name] for name in CONTROL if control[name]} == values
    place = control.at("start") - BASE
    assert memory.bytes[place : place + 8].view(np.uint64).tolist() == [7]
    memory.bytes[:].view(np.uint64)[len(CONTROL) :] = np.arange(4 * ROWS)
    assert control.records == BASE + 8 * len(CONTROL)
    assert control.fetch().tolist() == np.arange(4 * (ROWS - 1)).reshape(-1, 4).tolist()
    control.clear("least[0]", "start")
    control.fetch()
    assert [control[name] for name in ("least[0]", "least[1]", "start", "bound", "done")] == \
        [0, 0, 0, float("-inf"), ROWS - 1]


def test_words_of_a_struct() -> None:
    assert table_words({"b": 3, "a": 5}, ("a", "x", "b")).tolist() == [5, 0, 3]
    with pytest.raises(KeyError, match="y"):
        table_words({"y": 1}, ("a",))

"""The CUDA texts of three programs equal the expected texts. `python -m tests.emit.golden` writes the expected texts.
"""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from tests.emit.golden import NAMES, golden, written
from vlang import load
from vlang.cli.commands.explain import command
from vlang.runtime.gpu.kernels.choose_kernel import NAMES as KERNELS


@pytest.mark.parametrize("name", NAMES)
def test_text_is_the_golden_one(name: str) -> None:
    assert written(name) == golden(name)


def test_notes_name_kernels_that_there_are() -> None:
    notes = next(line for line in written("bfs").splitlines() if "auto may pull with" in line)
    named = notes.partition("with: ")[2].replace(" to ", ", ").split(", ")
    assert set(named) <= set(KERNELS)


def test_explain_names_every_place() -> None:
    text = load("pagerank").explain("cuda")
    for place in ("thread: merge", "warp: lane_value", "shared memory: shared_add", "global memory: not used"):
        assert f"//   {place}" in text
    assert "push: no; `rank` is recomputed from all neighbours" in text


def test_command_line() -> None:
    done = CliRunner().invoke(command, ["bfs", "--stage", "cuda"])
    assert done.exit_code == 0
    assert done.output.endswith(golden("bfs"))

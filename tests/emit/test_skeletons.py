"""Skeletons are parsed once. The names that skeletons define and call determine which functions a pass must provide."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import vlang
from vlang import stdlib
from vlang.emit.cpu import skeleton
from vlang.emit.cpu.numba_dialect import NumbaDialect
from vlang.emit.cpu.skeleton import skeletons, take_apart
from vlang.emit.shared.values.dialect import Function
from vlang.runtime.compile import intrinsics, kept

FOLDER = Path(skeleton.__file__).parent / "skeletons"

HOLES = '''
@hole
def bind(frame: Frame) -> Env: ...
@hole
def take(env: Env, acc: Acc, v: i64 | int = 0) -> Acc: ...
def note(stats: Pointer[i64]) -> None: ...
'''
SHARED = '''"""Shared: it calls no hole."""

from vlang.emit.cpu.skeletons.holes import Pointer, i64, note


def tidy(stats: Pointer[i64]) -> None:
    note(stats)
'''
FUSED = '''"""Fused work."""

from vlang.emit.cpu.skeletons.holes import bind


def arrive(frame):
    bind(frame)
'''
OF_A_PASS = '''"""Of a pass: “quoted”, so that columns and bytes differ."""

from vlang.emit.cpu.skeletons.fused_blocks import arrive
from vlang.emit.cpu.skeletons.holes import bind, inner, note
from vlang.emit.cpu.skeletons.holes import take as gather
from vlang.emit.cpu.skeletons.shared import tidy
from vlang.runtime.plan.layouts.meet_words import MEET_TURN


@inner
def helper(bind_me: Pointer[tuple[i64, "é"]]) -> None:
    tidy(bind_me)  # “ä”
    note("é", gather(bind(bind_me), MEET_TURN))


def kernel(
    frame: Frame, more: i64 = 0
) -> tuple[
    i64
]:
    helper = frame.bind
    if helper:
        arrive(frame)
    note(helper)
'''
WRITTEN = '''@inner
def helper_s1(bind_me):
    tidy(bind_me)  # “ä”
    note("é", gather_s1(bind_s1(bind_me), MEET_TURN))


def kernel_s1(
    frame, more = 0
):
    helper = frame.bind
    if helper:
        arrive_s1(frame)
    note(helper)
'''


def test_functions_of_a_pass_are_renamed_and_nothing_else() -> None:
    found = take_apart({"holes": HOLES, "shared": SHARED, "fused_blocks": FUSED, "own": OF_A_PASS})
    assert found.files["own"].text("s1") == WRITTEN
    assert found.files["own"].text("s1", fuses=False) == WRITTEN.replace("        arrive_s1(frame)\n", "")
    assert found.files["shared"].text("s1") == found.files["shared"].text() == "def tidy(stats):\n    note(stats)\n"
    assert found.heads == {"bind": "frame", "take": "env, acc, v=0"}
    assert "from vlang.runtime.plan.layouts.meet_words import *\n" in found.head


def test_functions_that_passes_share_have_one_definition() -> None:
    """All passes of a program are in one module, where a second definition of a name would replace the first."""
    places: dict[str, list[str]] = {}
    for file, one in skeletons().files.items():
        for name in re.findall(r"^def (\w+)", one.text("s1"), re.MULTILINE):
            if not name.endswith("_s1"):
                places.setdefault(name, []).append(file)
    assert len(places) > 50
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_a_skeleton_without_functions_is_refused() -> None:
    with pytest.raises(ValueError, match="skeleton own: a docstring"):
        take_apart({"holes": HOLES, "own": '"""Nothing."""\n'})


def test_a_function_without_a_hole_is_refused() -> None:
    with pytest.raises(KeyError, match="unheard"):
        NumbaDialect().define(Function("unheard", (), "1"))


@pytest.fixture
def unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Provide an empty cache directory, and the state of a process that has not read the skeletons."""
    monkeypatch.setattr(kept, "cache_dir", lambda: tmp_path)
    skeleton._loaded.cache_clear()
    yield tmp_path
    skeleton._loaded.cache_clear()


def test_a_warm_start_parses_nothing(unread: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = skeletons()
    assert len(list(unread.iterdir())) == 1
    skeleton._loaded.cache_clear()
    monkeypatch.setattr(ast, "parse", None)
    assert skeletons() == first


def test_a_damaged_entry_is_parsed_again(unread: Path) -> None:
    first = skeletons()
    (entry,) = unread.iterdir()
    entry.write_bytes(entry.read_bytes()[:-10])
    skeleton._loaded.cache_clear()
    assert skeletons() == first


def test_stubs_of_intrinsics_are_those_of_the_intrinsics() -> None:
    """Stubs and intrinsics agree in names and numbers of arguments. The type checker mypy checks skeletons against the
    stubs.
    """
    stubs = {node.name: len(node.args.args) for node in ast.parse((FOLDER / "holes.pyi").read_text()).body
             if isinstance(node, ast.FunctionDef) and node.name not in skeletons().heads
             and not hasattr(builtins, node.name) and node.name not in ("hole", "inner")}
    assert len(stubs) > 20
    real = {name: len(inspect.signature(getattr(intrinsics, name)._defn).parameters) - 1 for name in stubs}
    assert stubs == real


@pytest.mark.parametrize("name", stdlib.names())
def test_kernel_text_defines_what_it_calls(name: str) -> None:
    program = vlang.load(name)
    text = program.plan(frozenset(edge.name for edge in program.edges)).text
    tree = ast.parse(text)
    named = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    imported: dict[str, object] = {}
    exec("\n".join(line for line in text.splitlines() if line.startswith(("import ", "from "))), imported)
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    known = {*defined, *imported, *dir(builtins)}
    known |= {target.id for node in tree.body if isinstance(node, ast.Assign) for one in node.targets
              for target in ast.walk(one) if isinstance(target, ast.Name)}
    assert named <= known
    assert len(defined) == len(set(defined)), "a name is defined twice"
    assert imported["np"] is np


PUBLISHED = {FOLDER / "buckets.py": "ORDER_HEAD", FOLDER / "meeting.py": "MEET_TURN",
             Path(inspect.getfile(intrinsics)).parents[1] / "kernels" / "crew.py": "CREW_TURN"}
"""Words for which other workers wait. A fence before their store makes earlier writes visible to these workers."""


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.name)
def test_a_fence_comes_before_a_word_that_is_waited_for(path: Path) -> None:
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    stores = [at for at, line in enumerate(lines) if line.startswith("poke(") and f", {PUBLISHED[path]}, " in line
              and not line.endswith(", 0)")]  # 0 clears a flag
    assert stores
    assert [lines[at - 1] for at in stores] == ["fence()"] * len(stores)

"""The rules of imports: no cycles between files or folders, only imports of lower layers, and a reason for each lazy
import.

Imports under `if TYPE_CHECKING` do not count. `vlang/__init__.py`, which names public objects as strings, and
`vlang/__main__.py` are above all folders. The other modules directly in `vlang/` are the layer below all folders.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.mutation.plan import TESTS

ROOT = Path(__file__).parents[2]
GROUND = {"vlang.errors", "vlang.maths", "vlang.options", "vlang.records", "vlang.reductions", "vlang.times",
          "vlang.types"}
TOP = {"vlang", "vlang.__main__"}
MOST_FILES = 20
SOURCES = {".py", ".h", ".cpp", ".cu", ".cuh"}
"""The endings of the files that count in tests/ and benchmarks/. Programs (.vp) are data, one file a case."""
MOST_LINES = 400
REASONS = ("start-up", "optional")
"""The reasons allowed in the comment of an import inside a function: start-up time, or an optional library."""


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "vlang" else ("vlang", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {_module(path): path for folder in ("vlang", "runtime", "stdlib") for path in (ROOT / folder).rglob("*.py")
         if "runtime" not in path.relative_to(ROOT).parts[1:2] and "stdlib" not in path.relative_to(ROOT).parts[1:2]}


def _imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield every import that is executed."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield from _imports(node)


def _targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the modules of the project that an import loads."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else \
        [f"{node.module}.{alias.name}" for alias in node.names]
    for name in names:
        while name and name not in FILES:
            name = name.rpartition(".")[0]
        if name:
            yield name


@cache
def arrows() -> Mapping[str, frozenset[str]]:
    """Return the modules of the project that each module imports."""
    return {module: frozenset(target for node in _imports(ast.parse(path.read_text(encoding="utf-8")))
                              for target in _targets(node)) - {module, "vlang"}
            for module, path in FILES.items()}  # fmt: skip


def _folder(module: str) -> str:
    return "above all" if module in TOP else FILES[module].parent.relative_to(ROOT).as_posix()


def test_every_module_is_seen() -> None:
    assert set(FILES) >= GROUND | TOP
    assert "vlang.api.running.run_call" in arrows()["vlang.api.program"], "imports inside functions count"


def test_no_circles_between_files() -> None:
    try:
        TopologicalSorter(arrows()).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(reversed(error.args[1]))}")


def test_no_circles_between_folders() -> None:
    folders: dict[str, set[str]] = {}
    for module, targets in arrows().items():
        here = _folder(module)
        folders.setdefault(here, set()).update({_folder(target) for target in targets} - {here})
    try:
        TopologicalSorter(folders).prepare()
    except CycleError as error:
        here, there = error.args[1][1], error.args[1][0]
        why = [f"{a} imports {b}" for a in arrows() for b in arrows()[a] if _folder(a) == here and _folder(b) == there]
        pytest.fail(f"a circle of folders: {' -> '.join(reversed(error.args[1]))}; for example {why[:1]}")


def test_the_engine_knows_only_the_ground_of_the_language() -> None:
    outside = [f"{module} imports {target}" for module in arrows() if module.startswith("vlang.runtime")
               for target in arrows()[module] if not target.startswith("vlang.runtime") and target not in GROUND]
    assert outside == []


def test_programs_that_come_with_vlang_are_known_to_few() -> None:
    known = {module for module in arrows() if any(target.startswith("vlang.stdlib") for target in arrows()[module])}
    assert {m for m in known if not m.startswith(("vlang.api", "vlang.cli", "vlang.interop"))} == set()


def test_lazy_imports_say_why() -> None:
    silent = []
    for path in FILES.values():
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        inside = [node for function in ast.walk(ast.parse(text))
                  if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) for node in _imports(function)]
        silent += [f"{path.relative_to(ROOT)}:{node.lineno}" for node in inside
                   if not any(reason in lines[node.lineno - 1].partition("#")[2] for reason in REASONS)]
    assert silent == []


def test_folders_are_small() -> None:
    scripts = [path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.*")
               if path.suffix in SOURCES and path.name != "__init__.py"]
    assert len(scripts) > 200
    sizes = Counter(path.parent.relative_to(ROOT).as_posix() for path in [*FILES.values(), *scripts])
    skeletons = {name for name in sizes if name.endswith("skeletons")}  # have one file per kernel
    assert {name: count for name, count in sizes.items() if count > MOST_FILES and name not in skeletons} == {}


def test_modules_are_short() -> None:
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
             for path in FILES.values()}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_lists_of_tests_name_files_that_exist() -> None:
    """The files that are listed for `make quick` and `make nightly` exist. The tests that `tests/mutation/plan.py`
    assigns to files exist, too.
    """
    names = [name for _, tests in TESTS for name in tests]
    for listed in ("quick", "nightly"):
        names += (ROOT / "tests" / f"{listed}.txt").read_text(encoding="utf-8").split()
    assert len(names) > 100
    assert [name for name in names if not (ROOT / name).exists()] == []

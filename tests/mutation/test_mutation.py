"""The mutation tool: operators change what they should, the draw is repeatable, and verdicts are right."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from tests.mutation import trial
from tests.mutation.operators import LOGIC, RACES, logic_sites, mutated, race_sites
from tests.mutation.plan import AREAS, TESTS, covering, drawn
from tests.mutation.trial import Trials

ROOT = Path(__file__).parents[2]

PYTHON = '''\
"""Of 3 words."""
def f(a: "0", b):
    if a < b and b + 1 >= a:
        a.x = max(a, 2)
    return a if b else g(a)
'''
CHANGES = {
    "compare": {"(a <= b)", "(b + 1 > a)"}, "add": {"(b - 1)"}, "logic": {"(a < b or b + 1 >= a)"},
    "constant": {"2", "(0)", "3", "(1)"}, "negate": {"not (a < b and b + 1 >= a)", "(not (b))"}, "extreme": {"min"},
    "drop": {"pass"},
}

KERNELS = {
    "plain_cas": ("k.py", "    if replace(p, i, f(a, b), new):\n        x = 1",
                  "    if True:\n        p[i] = new\n        x = 1"),
    "plain_add": ("k.py", "    at = fetch_add(c, f(1), n)", "    at = c[f(1)]; c[f(1)] += n"),
    "last_chunk": ("k.py", "if task >= count:", "if task >= count - 1:"),
    "early_flag": ("k.py", "    rows[at] = 1\n    fence()\n    poke(c, 0, 1)", "    poke(c, 0, 1)\n    rows[at] = 1"),
    "no_fence": ("k.cuh", "  __threadfence();", "  ;"),
    "no_barrier": ("k.cuh", "  meeting.wait(false);", "  ;"),
    "plain_atomic": ("k.cuh", "  atomicOr(bits + f(v), 1u);",
                     "  ([&] { auto* place_ = (bits + f(v)); const auto was_ = *place_; *place_ = was_ | (1u); "
                     "return was_; }());"),
}


def test_python_changes() -> None:
    found: dict[str, set[str]] = {}
    for site in logic_sites("k.py", PYTHON):
        found.setdefault(site.operator, set()).add(site.new)
        assert ast.unparse(ast.parse(mutated(PYTHON, site))) != ast.unparse(ast.parse(PYTHON))
    assert found == CHANGES
    assert set(found) == set(LOGIC)


@pytest.mark.parametrize("operator", RACES)
def test_kernel_changes(operator: str) -> None:
    path, before, after = KERNELS[operator]
    (site,) = [site for site in race_sites(path, before) if site.operator == operator]
    assert mutated(before, site) == after
    assert list(race_sites(path, "// atomicAdd(a, b)")) == []


def test_the_draw_is_fixed_and_fits_the_tree() -> None:
    sites = drawn(ROOT)
    assert sites == drawn(ROOT)
    assert len(set(sites)) == sum(area.count for area in AREAS) >= 30
    assert sum(site.operator in RACES for site in sites) >= 10
    for site in sites:
        text = (ROOT / site.path).read_text(encoding="utf-8")
        assert mutated(text, site) != text
        if site.path.endswith(".py"):
            ast.parse(mutated(text, site))
        assert covering(site.path)


def test_the_covering_every_row_exist() -> None:
    assert [test for _, tests in TESTS for test in tests if not (ROOT / test).exists()] == []
    assert [start for start, _ in TESTS if not any(ROOT.glob(start + "*"))] == []


TINY = {
    "conftest.py": "",
    "tiny.py": "def f(a):\n    return a + 1\n\n\ndef g(a):\n    while a < 3:\n        a += 1\n    return a\n",
    "test_tiny.py": "from tiny import f, g\n\n\ndef test_f():\n    assert f(2) == 3\n\n\n"
                    "def test_g():\n    assert g(1) == 3\n",
}


@pytest.mark.parametrize(("line", "operator", "killed", "by", "note"), [
    (2, "add", True, "test_tiny.py::test_f", ""), (6, "compare", True, "test_tiny.py::test_g", ""),
    (7, "drop", True, "test_tiny.py::test_g", "timeout"), (7, "drop", False, "", ""),
])
def test_verdicts(line: int, operator: str, killed: bool, by: str, note: str, tmp_path: Path,
                  monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name, text in TINY.items():
        (tree / name).write_text(textwrap.dedent(text))
    monkeypatch.setattr(trial, "SILENCE", 12.0 if note else 90.0)
    monkeypatch.setattr(trial, "covering", lambda path: ("test_tiny.py",))
    sites = {(site.line, site.operator): site for site in logic_sites("tiny.py", TINY["tiny.py"])}
    site = sites[line, operator]
    monkeypatch.setattr(trial, "SHARE", 1.0)
    trials = Trials(tree, tmp_path / "trials", 90.0 if note or killed else 4.0)
    (verdict,) = trials.judge([("one", site)])
    assert (verdict.killed, verdict.by, verdict.note) == (killed, by, note)
    assert (tree / "tiny.py").read_text() == TINY["tiny.py"]


def test_several_mutations_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each mutation has its own tree. A test file that fails ends the other test files of its mutation."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name, text in TINY.items():
        (tree / name).write_text(text)
    (tree / "test_slow.py").write_text("import time\nfrom tiny import f\n\n\ndef test_slow():\n"
                                       "    time.sleep(0 if f(2) == 3 else 60)\n")
    monkeypatch.setattr(trial, "covering", lambda path: ("test_slow.py", "test_tiny.py"))
    sites = {(site.line, site.operator): site for site in logic_sites("tiny.py", TINY["tiny.py"])}
    named = [("f", sites[2, "add"]), ("g", sites[6, "compare"])]
    verdicts = {one.site: one for one in Trials(tree, tmp_path / "trials", jobs=4).judge(named)}
    by = {name: one.by for name, one in verdicts.items()}
    assert by == {"f": "test_tiny.py::test_f", "g": "test_tiny.py::test_g"}
    assert verdicts["f"].seconds < 60
    assert (tree / "tiny.py").read_text() == TINY["tiny.py"]

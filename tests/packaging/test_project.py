"""The project files agree with the source."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import vlang

ROOT = Path(__file__).resolve().parents[2]


def test_make_quick_names_tests_that_exist_once() -> None:
    names = (ROOT / "tests" / "quick.txt").read_text(encoding="utf-8").split()
    assert len(names) == len(set(names)) > 10
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_make_targets_are_documented_and_exist() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    described = re.findall(r"^# make (\w+) ", text, re.MULTILINE)
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert set(described) == set(phony.split()) == set(re.findall(r"^(\w+):", text, re.MULTILINE))
    for name in ("CONTRIBUTING.md", "docs/internals/README.md", "README.md"):
        named = set(re.findall(r"`make (\w+)", (ROOT / name).read_text(encoding="utf-8")))
        assert named <= set(described), name
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert {"lint", "quick", "test", "nightly", "coverage"} <= set(re.findall(r"^\| `make (\w+)`", guide, re.MULTILINE))


def test_nightly_runs_what_there_is_and_ci_does_not() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("\nnightly:")[2].partition("\n\n")[0]
    names = (ROOT / "tests" / "nightly.txt").read_text(encoding="utf-8").split()
    assert len(names) == len(set(names)) > 3
    assert [name for name in names if not (ROOT / name).exists()] == []
    for module in re.findall(r"-m (tests[\w.]+)", recipe):
        path = ROOT.joinpath(*module.split("."))
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
    assert "@tests/nightly.txt" in recipe
    assert "nightly" not in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "nightly" not in makefile.partition("\ntest:")[2].partition("\n\n")[0]


def test_the_citation_names_this_version() -> None:
    found = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert found[1] == vlang.__version__


def test_every_python_that_is_allowed_has_its_state_in_the_guide() -> None:
    """A classifier names each tested version of Python. The guide lists any other allowed version as untested."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", project["requires-python"])
    assert found is not None
    allowed = {f"3.{minor}" for minor in range(int(found[1]), int(found[2]))}
    run = {text.rpartition(" ")[2] for text in project["classifiers"] if ":: Python ::" in text}
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (3\.\d[^|]*) \| (.*) \|$", guide, re.MULTILINE)
    states = {name: state for names, state in rows for name in names.split(", ")}
    assert set(states) == allowed
    assert {name for name, state in states.items() if "never run" not in state} == run

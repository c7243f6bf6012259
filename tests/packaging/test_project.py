"""Project files agree with the source."""

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


def test_the_citation_names_this_version() -> None:
    found = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert found[1] == vlang.__version__


def test_every_python_that_is_allowed_has_its_state_in_the_guide() -> None:
    """A classifier names a tested version; the guide lists any other allowed version as untested."""
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

"""Words that docstrings, comments and documents of the project must not use, because the field has better terms.

Text in backticks and code blocks is not prose.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BANNED = {
    r"\b(whoever|nobody|somebody|everybody|anybody)\b": "threads and vertices are no persons",
    r"\b(who|whom)\b": "threads and vertices are no persons: that, which, or the noun",
    r"\bindivisib\w+": "atomic",
    r"\b(brought|bring\w*) near\b": "prefetched",
    r"\b(told|tells?) apart\b": "distinguished",
    r"\bkeeps? silent\b": "sends nothing",
    r"\b(un)?told\b|\btell(s|ing)?\b": "sent, notified, reported, said",
    r"\bhear[ds]?\b": "received, is notified",
    r"\b(un)?settle[sd]?\b|\bsettling\b": "final, converged, concrete",
    r"\borientations?\b": "adjacency direction",
    r"\bof (those|them|these) (that|which|whose|who)\b": "name the thing",
    r"\bto be had\b": "available",
    r"\bbetters\b": "improves",
}

NAMES = re.compile(r"(?<![a-z])(un)?(told|tells?|telling|heard|hears?|settle[ds]?|orientations?)(?![a-z])",
                   re.IGNORECASE)
"""Words that names in the code must not contain, for the same reasons."""

PEOPLE = re.compile(r"\b(users?|people|persons?|developers?|readers?|callers?|authors?|contributors?|researchers?|"
                    r"outsiders?|those|one|you|members?)\b", re.IGNORECASE)
"""In a line with one of these words, `who` may refer to a person."""


def _first_line(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return node.body[0].lineno if node.body else 0


def _prose_of_python(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from enumerate((ast.get_docstring(node, clean=False) or "").splitlines(), _first_line(node))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _prose_of_text(path: Path) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def _prose_of_cuda(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        yield number, line.partition("//")[2]


def _files() -> Iterator[tuple[Path, Iterator[tuple[int, str]]]]:
    for folder in ("vlang", "runtime", "stdlib", "tests", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path != Path(__file__) and not {"runtime", "stdlib"} & set(path.relative_to(ROOT).parts[1:2]):
                yield path, _prose_of_python(path)
    for path in sorted(ROOT.glob("vlang/emit/cuda/skeletons/*.cuh")):
        yield path, _prose_of_cuda(path)
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("stdlib/*.vp")]):
        yield path, _prose_of_text(path)


@cache
def _prose() -> list[tuple[str, str]]:
    """Return every line of prose with its place, without the text in backticks."""
    return [(f"{path.relative_to(ROOT)}:{number}", re.sub(r"`[^`]*`", "", line))
            for path, lines in _files() for number, line in lines if line.strip()]


def found(pattern: str) -> list[str]:
    """Return the lines of prose that match a pattern."""
    hits = [(place, line) for place, line in _prose() if re.search(pattern, line, re.IGNORECASE)]
    return [f"{place}: {line.strip()}" for place, line in hits if "who" not in pattern[:8] or not PEOPLE.search(line)]


@pytest.mark.parametrize("pattern", BANNED)
def test_words(pattern: str) -> None:
    assert found(pattern) == [], BANNED[pattern]


def test_patterns_find_what_they_are_for() -> None:
    sample = "whoever waits; brought near; told apart; of those that hear; indivisible"
    assert sum(bool(re.search(pattern, sample)) for pattern in BANNED) >= 5


def test_no_marks_of_a_merge() -> None:
    """No file has the lines that git leaves after a merge conflict."""
    paths = [path for folder in ("", "docs", "vlang", "runtime", "stdlib", "tests", "examples", "benchmarks", "editors")
             for path in (ROOT / folder).glob("**/*" if folder else "*")
             if path.suffix in {".md", ".py", ".pyi", ".vp", ".cuh", ".lark", ".toml", ".txt", ".json", ".yaml"}]
    marks = re.compile(r"^(<{7}|={7}|>{7})( |$)", re.MULTILINE)
    assert [str(path.relative_to(ROOT)) for path in paths if marks.search(path.read_text(errors="replace"))] == []


def test_names() -> None:
    """Names in Python, skeletons and CUDA C contain none of the words. `file.tell` is allowed, since Python defines it.
    """
    paths = [path for folder in ("vlang", "runtime") for kind in ("*.py", "*.pyi", "*.cuh")
             for path in sorted((ROOT / folder).rglob(kind))]
    lines = [(f"{path.relative_to(ROOT)}:{number}", line.replace("file.tell()", "")) for path in paths
             for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)]
    assert len(lines) > 30_000
    assert [f"{place}: {line.strip()}" for place, line in lines if NAMES.search(line)] == []

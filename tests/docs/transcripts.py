"""Find, run and compare the transcripts in the documentation.

`python -m tests.docs.transcripts FILE...` writes the current output of the commands into the files. Review the
difference before you commit it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_VARYING = (
    (re.compile(r"^.* [\d.]+ s so far.*\n", re.MULTILINE), ""),  # progress of a slow machine, such as one that compiles
    (re.compile(r"[\d.]+(e[-+]?\d+)? s\b"), "TIME s"),
    (re.compile(r"[\d.]+(e[-+]?\d+)? M edges/s"), "RATE M edges/s"),
)


class Block(NamedTuple):
    """A fenced block: its language, its text, and the offsets of the text in the file."""

    language: str
    text: str
    start: int
    end: int
    line: int


def documents() -> list[Path]:
    """Return every document with blocks that are tests."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(path: Path, language: str) -> list[Block]:
    """Return the blocks of one language in a file."""
    text = path.read_text(encoding="utf-8")
    return [
        Block(m[1], m[2], m.start(2), m.end(2), text.count("\n", 0, m.start(2)) + 1)
        for m in _BLOCK.finditer(text)
        if m[1] == language
    ]


def commands(block: Block) -> list[str]:
    """Return the command lines of a console block."""
    return [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]


def normal(text: str) -> str:
    """Return a text without times and rates, which differ from run to run."""
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def replay(block: Block, folder: Path) -> str:
    """Return the text of a block with the current output of each command, run in `folder`."""
    return "".join(f"$ {command}\n{_output(command, folder)}" for command in commands(block))


def workspace(folder: Path) -> Path:
    """Return a folder with the examples and a command `vlang` that runs this tree."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    script = folder / "bin" / "vlang"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}:$PYTHONPATH" exec "{sys.executable}" -m vlang "$@"\n')
    script.chmod(0o755)
    return folder


def _output(command: str, folder: Path) -> str:
    env = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=300)  # fmt: skip
    out = done.stdout
    return out if out.endswith("\n") or not out else out + "\n"


def _rewrite(path: Path, folder: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    at = 0
    for block in blocks(path, "console"):
        yield text[at : block.start] + replay(block, folder)
        at = block.end
    yield text[at:]


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        place = workspace(Path(temporary))
        for name in sys.argv[1:]:
            Path(name).write_text("".join(_rewrite(Path(name), place)), encoding="utf-8")

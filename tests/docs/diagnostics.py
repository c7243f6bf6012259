"""The pages about diagnostics: their examples come from tests/mistakes.

`python -m tests.docs.diagnostics` writes the examples, and the list of pages, anew; the rest of a page is written by
hand.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.transcripts import ROOT

FOLDER = ROOT / "docs" / "diagnostics"
MISTAKES = ROOT / "tests" / "mistakes"
_EXAMPLE = re.compile(r"<!-- from tests/mistakes -->\n.*?<!-- end -->\n", re.DOTALL)
_TITLE = re.compile(r"^(?:error|warning)\[(V\d+)\]: (.*)$", re.MULTILINE)


def codes() -> list[str]:
    """Every code that has a wrong program."""
    return sorted({path.stem.split("_")[0] for path in MISTAKES.glob("*.vp")})


def example(code: str) -> str:
    """The wrong program of a code, the message, and the other messages of the code."""
    program = (MISTAKES / f"{code}.vp").read_text(encoding="utf-8")
    message = (MISTAKES / f"{code}.txt").read_text(encoding="utf-8")
    shown = {title for _, title in _TITLE.findall(message)}
    others = sorted({title for path in MISTAKES.glob(f"{code}*.txt") for found, title in
                     _TITLE.findall(path.read_text(encoding="utf-8")) if found == code} - shown)
    listed = "\nOther messages with this code:\n\n" + "".join(f"- {title}\n" for title in others) if others else ""
    return f"```text\n{program}```\n\n```text\n{message}```\n{listed}"


def page(path: Path) -> str:
    """A page with the examples as they are now."""
    text = path.read_text(encoding="utf-8")
    return _EXAMPLE.sub(lambda _: f"<!-- from tests/mistakes -->\n{example(path.stem)}<!-- end -->\n", text)


def index() -> str:
    """The list of pages."""
    lines = ["# Diagnostics", "", "Every message of the checker has a code, and every code a page.", "",
             "| code | means |", "| --- | --- |"]
    for path in sorted(FOLDER.glob("V*.md")):
        code, _, title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").partition(": ")
        lines.append(f"| [{code}]({path.name}) | {title} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for file in sorted(FOLDER.glob("V*.md")):
        file.write_text(page(file), encoding="utf-8")
    (FOLDER / "README.md").write_text(index(), encoding="utf-8")

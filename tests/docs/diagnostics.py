"""The pages about diagnostics. Titles come from the registry, and examples come from tests/mistakes.

`python -m tests.docs.diagnostics` writes titles, examples, the index and the table of language.md. All other text is
written by hand.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.transcripts import ROOT
from vlang.syntax.codes import Code

FOLDER = ROOT / "docs" / "diagnostics"
LANGUAGE = ROOT / "docs" / "language.md"
MISTAKES = ROOT / "tests" / "mistakes"
_HEAD = re.compile(r"\A# .*\n")
_EXAMPLE = re.compile(r"<!-- from tests/mistakes -->\n.*?<!-- end -->\n", re.DOTALL)
_TABLE = re.compile(r"<!-- from the registry -->\n.*?<!-- end -->\n", re.DOTALL)
_MESSAGES = re.compile(r"<!-- messages: ([V0-9 ]+) -->\n.*?<!-- end -->\n", re.DOTALL)
_TITLE = re.compile(r"^(?:error|warning)\[(V\d+)\]: (.*)$", re.MULTILINE)


def heading(code: Code) -> str:
    """Return the heading of a code. The heading names the kind of mistake, and says if the code is a warning."""
    return code.heading + (" (a warning)" if code.severity == "warning" else "")


def shown(code: Code) -> str:
    """Return the example of a code as text for a table."""
    return f"`{code.example}`" if code.example else ""


def example(code: Code) -> str:
    """Return the wrong program of a code, the message, and the other messages of the code, in Markdown."""
    program = (MISTAKES / code / "page.vp").read_text(encoding="utf-8")
    message = (MISTAKES / code / "page.txt").read_text(encoding="utf-8")
    shown = {title for _, title in _TITLE.findall(message)}
    others = sorted({title for path in (MISTAKES / code).glob("*.txt") for found, title in
                     _TITLE.findall(path.read_text(encoding="utf-8")) if found == code} - shown)
    listed = "\nOther messages with this code:\n\n" + "".join(f"- {title}\n" for title in others) if others else ""
    return f"```text\n{program}```\n\n```text\n{message}```\n{listed}"


def page(code: Code) -> str:
    """Return the page of a code with the current title and examples."""
    text = (FOLDER / f"{code}.md").read_text(encoding="utf-8")
    text = _HEAD.sub(f"# {code}: {heading(code)}\n", text)
    return _EXAMPLE.sub(lambda _: f"<!-- from tests/mistakes -->\n{example(code)}<!-- end -->\n", text)


def index() -> str:
    """Return the list of all pages."""
    lines = ["# Diagnostics", "", "Every message of the checker has a code, and every code a page.",
             "`vlang check --explain V106` prints the page of a code.", "",
             "| code | means | | for example |", "| --- | --- | --- | --- |"]
    lines += [f"| [{code}]({code}.md) | {heading(code)} | {code.description} | {shown(code)} |" for code in Code]
    return "\n".join(lines) + "\n"


def language() -> str:
    """Return the text of language.md with the current table of codes and messages."""
    rows = [f"| [{code}](diagnostics/{code}.md) | {heading(code)} | {code.description} |" for code in Code]
    table = "\n".join(["| code | means | |", "| --- | --- | --- |", *rows])
    text = LANGUAGE.read_text(encoding="utf-8")
    text = _TABLE.sub(lambda _: f"<!-- from the registry -->\n{table}\n<!-- end -->\n", text)
    return _MESSAGES.sub(_messages, text)


def _messages(place: re.Match[str]) -> str:
    """Return the messages of the codes that a marker names."""
    texts = [(MISTAKES / code / "page.txt").read_text(encoding="utf-8") for code in place[1].split()]
    return f"<!-- messages: {place[1]} -->\n```\n" + "\n".join(texts) + "```\n<!-- end -->\n"


def written() -> dict[Path, str]:
    """Return every generated file and its text."""
    return {FOLDER / "README.md": index(), LANGUAGE: language(), **{FOLDER / f"{code}.md": page(code) for code in Code}}


if __name__ == "__main__":
    for file, text in written().items():
        file.write_text(text, encoding="utf-8")

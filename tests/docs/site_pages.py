"""Hooks of MkDocs: they add pages for the documents outside of docs/, and convert Markdown for Python-Markdown.

GitHub shows the same files, so that links lead from file to file in the source tree. A link to a file that is a page of
the site leads to that page; a link to any other file of the tree becomes plain text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmark-programs.md",
}
"""The page of each document outside of docs/."""
_SOURCES = {page: source for source, page in OUTSIDE.items()}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s:]*)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`]*`")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside of docs/."""
    for source, page in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the text of a page for Python-Markdown."""
    uri = page.file.src_uri
    return converted(markdown, uri)


def converted(markdown: str, page: str) -> str:
    """Return the Markdown of `page`, a path in the site, with links to pages. Blocks with Python prompts get a fence
    with a language.
    """
    source = PurePosixPath(_SOURCES.get(page, f"docs/{page}"))
    pieces, at = [], 0
    for fence in _FENCE.finditer(markdown):
        pieces += [_prose(markdown[at : fence.start()], source, page), _session(fence[0])]
        at = fence.end()
    return "".join([*pieces, _prose(markdown[at:], source, page)])


def _session(fence: str) -> str:
    """Mark a block of Python with prompts as a session, which another lexer colours."""
    return fence.replace("```python\n>>>", "```pycon\n>>>", 1)


def _prose(text: str, source: PurePosixPath, page: str) -> str:
    text = _LINK.sub(lambda link: _link(link, source, page), text)
    # GitHub needs a backslash before a bar in the code of a cell; Python-Markdown would show it.
    return "\n".join(
        _CODE.sub(lambda code: code[0].replace("\\|", "|"), line) if line.startswith("|") else line
        for line in text.split("\n")
    )


def _link(link: re.Match[str], source: PurePosixPath, page: str) -> str:
    picture, text, target, anchor = link[1], link[2], link[3], link[4] or ""
    if not target:
        return link[0]
    file = os.path.normpath(source.parent / target)
    if file in OUTSIDE:
        goal = OUTSIDE[file]
    elif file.startswith("docs/") and (ROOT / file).is_file():
        goal = file.removeprefix("docs/")
    else:
        return text
    return f"{picture}[{text}]({os.path.relpath(goal, PurePosixPath(page).parent)}{anchor})"

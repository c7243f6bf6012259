"""Write the pictures of docs/gallery.md: `python -m tests.docs.gallery` runs the blocks of the page."""

from __future__ import annotations

import doctest
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from tests.docs.transcripts import ROOT, blocks

PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "pictures"


def saved() -> list[str]:
    """Return the names of the pictures that the page saves."""
    return re.findall(r'\.save\("([^"]+)"\)', PAGE.read_text(encoding="utf-8"))


def shown() -> list[str]:
    """Return the names of the pictures that the page shows."""
    return re.findall(r"\]\(pictures/([^)]+)\)", PAGE.read_text(encoding="utf-8"))


def _write(folder: Path) -> None:
    from PIL import Image

    os.chdir(folder)
    names: dict[str, Any] = {}
    for block in blocks(PAGE, "python"):
        for example in doctest.DocTestParser().get_examples(block.text):
            exec(example.source, names)
    for name in saved():  # 64 colours: a third of the bytes
        Image.open(name).convert("RGB").quantize(64).save(PICTURES / name, optimize=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        _write(Path(temporary))

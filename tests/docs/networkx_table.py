"""The table of functions in docs/networkx.md, which is generated from the table of the backend.

`python -m tests.docs.networkx_table` writes the table between its markers. The rest of the page is written by hand.
"""

from __future__ import annotations

import re

from tests.docs.transcripts import ROOT
from vlang.interop.networkx.table import FUNCTIONS

__all__ = ["PAGE", "page"]

PAGE = ROOT / "docs" / "networkx.md"
_TABLE = re.compile(r"(<!-- networkx functions -->\n).*?(<!-- end -->\n)", re.DOTALL)


def _rows() -> str:
    lines = [("function", "runs", "left to NetworkX", "semantics", "results"), ("---",) * 5]
    for name, row in sorted(FUNCTIONS.items()):
        lines.append((f"`{name}`", ", ".join(f"`{program}`" for program in row.programs),
                      ", ".join(condition.reason for condition in row.unless), row.semantics, row.tolerance))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def page() -> str:
    """Return the text of the page with the current table."""
    return _TABLE.sub(lambda found: found[1] + _rows() + found[2], PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

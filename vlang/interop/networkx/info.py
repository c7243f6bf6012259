"""The description of this backend (entry point `networkx.backend_info`), which NetworkX reads when it is imported."""

from __future__ import annotations

from typing import Any

from vlang.interop.networkx.table import FUNCTIONS

__all__ = ["backend_info"]


def backend_info() -> dict[str, Any]:
    """Return the name of the backend, and for each function of the backend a text about semantics and tolerance."""
    functions = {name: {"additional_docs": f"{row.semantics} Tolerance: {row.tolerance}."}
                 for name, row in FUNCTIONS.items()}
    return {
        "backend_name": "vlang",
        "project": "vlang",
        "package": "vlang",
        "short_summary": "Compiled vertex programs, in parallel on a CPU.",
        "functions": functions,
    }

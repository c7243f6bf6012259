"""Progress for `progress=True`: a line per round, on stderr."""

from __future__ import annotations

import sys

from vlang.runtime.engine.trace import Round


def print_round(row: Round) -> None:
    """Print one round."""
    print(f"round {row.round}: {row.mode}, {row.active:,} active, {row.edges:,} edges, {row.seconds:.3f} s",
          file=sys.stderr, flush=True)

"""Makes what Hypothesis draws depend on its seed alone.

It also draws constants that it finds in the modules imported so far, so that the programs of a seed would be others in
another process, or after another test.
"""

from __future__ import annotations

from hypothesis.internal.conjecture import providers

__all__ = ["fix_draws"]


def fix_draws() -> None:
    """Let Hypothesis know no constants of ours. Raises KeyError where it no longer looks for them in this way."""
    known = vars(providers)
    assert callable(known["_get_local_constants"])
    known["_get_local_constants"] = known["Constants"]

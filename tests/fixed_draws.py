"""Make the draws of Hypothesis depend on the seed only.

Hypothesis also draws constants that it finds in the imported modules of the project. Because of these constants, the
same seed would give different programs in another process, or after another test.
"""

from __future__ import annotations

from hypothesis.internal.conjecture import providers

__all__ = ["fix_draws"]


def fix_draws() -> None:
    """Hide the constants of the project from Hypothesis.

    Raises KeyError if Hypothesis looks for the constants elsewhere.
    """
    known = vars(providers)
    assert callable(known["_get_local_constants"])
    known["_get_local_constants"] = known["Constants"]

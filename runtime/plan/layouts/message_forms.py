"""The forms of a part of a message between ranks (runtime/cluster/messages.py).

The first word of a part is its number of values times FORMS plus the form.
"""

from __future__ import annotations

__all__ = ["ALL", "BITMAP", "FORMS", "LISTED", "NOTHING"]

NOTHING, LISTED, BITMAP, ALL = range(4)
FORMS = 4

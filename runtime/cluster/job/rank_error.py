"""Converts the error of a rank to text and back, for the process that started the ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vlang import errors
from vlang.errors import ClusterError, VlangError

__all__ = ["error_form", "first_error"]


def error_form(error: BaseException, rank: int) -> dict[str, str]:
    """Return the class name and the text of the error of a rank. For classes outside of vlang, the class name is ""."""
    known = isinstance(error, VlangError)
    return {"class": type(error).__name__ if known else "",
            "text": str(error) if known else f"rank {rank} failed: {type(error).__name__}: {error}"}


def first_error(forms: Iterable[Mapping[str, str]]) -> VlangError | None:
    """Return the error of the rank that failed first, from the forms of all ranks in rank order; None if no rank has an
    error.
    """
    # Ranks that fail only because another one has failed raise ClusterError.
    for one in sorted(forms, key=lambda form: form["class"] == ClusterError.__name__):
        kind = getattr(errors, one["class"], ClusterError)
        if issubclass(kind, VlangError):
            made: VlangError = kind(one["text"])
            return made
    return None

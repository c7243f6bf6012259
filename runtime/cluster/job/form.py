"""Stores values and arrays in files or bytes for the ranks of a job: JSON and NumPy arrays, without pickling."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Form", "packed_form", "read_form", "unpacked_form", "write_form"]

Form = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""Values of types that JSON supports, and arrays by name."""


def write_form(path: Path, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write `about` (types that JSON supports) to PATH.json, and arrays by name to PATH.npz."""
    with open(path.with_suffix(".npz"), "wb") as file:
        named: dict[str, Any] = dict(arrays)
        np.savez(file, **named)
    path.with_suffix(".json").write_text(json.dumps(about))


def read_form(path: Path) -> Form:
    """Return the contents of the files that `write_form` has written."""
    about: dict[str, Any] = json.loads(path.with_suffix(".json").read_text())
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as file:
        return about, {name: file[name] for name in file.files}


def packed_form(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the contents of the two files of `write_form` as bytes, preceded by the length of the first file in 8
    bytes.
    """
    text, file = json.dumps(about).encode(), io.BytesIO()
    named: dict[str, Any] = dict(arrays)
    np.savez(file, **named)
    return b"".join((len(text).to_bytes(8, "little"), text, file.getbuffer()))


def unpacked_form(raw: bytes) -> Form:
    """Return the form that `packed_form` has packed."""
    end = 8 + int.from_bytes(raw[:8], "little")
    about: dict[str, Any] = json.loads(raw[8:end])
    with np.load(io.BytesIO(memoryview(raw)[end:]), allow_pickle=False) as file:
        return about, {name: file[name] for name in file.files}

"""No atomic operation, fence or barrier of a kernel is lost, weakened or moved without notice."""

from __future__ import annotations

import difflib

import pytest

from tests.emit.synchronisation import GOLDEN, ROOT, cuda_operations, kernel_operations, written
from tests.mutation.operators import mutated, race_sites
from tests.mutation.plan import AREAS


def test_operations_are_the_listed_ones() -> None:
    """The operations equal the operations in the list. After an intended change, `python -m tests.emit.synchronisation`
    writes the list, and the commit gives the reason.
    """
    before, now = GOLDEN.read_text(encoding="utf-8").splitlines(), written().splitlines()
    assert before == now, "\n".join(difflib.unified_diff(before, now, "listed", "now", n=0, lineterm=""))


@pytest.mark.parametrize("suffix", [".py", ".cuh"])
def test_every_planted_race_changes_the_list(suffix: str) -> None:
    """Every race that `tests.mutation` can plant in skeletons and in kernels of the runtime changes the list."""
    operations = kernel_operations if suffix == ".py" else cuda_operations
    (area,) = [area for area in AREAS if area.kind == "races"]
    count = 0
    for path in sorted(path for pattern in area.files for path in ROOT.glob(pattern) if path.suffix == suffix):
        text = path.read_text(encoding="utf-8")
        plain = list(operations(path.name, text))
        for site in race_sites(path.name, text):
            if path.name != "push_text.py":  # tests/cpu/kernels/test_contended.py tests the joins of this text
                assert list(operations(path.name, mutated(text, site))) != plain, site
                count += 1
    assert count > 100

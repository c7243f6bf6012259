"""The outputs of the compiler for kept programs are unchanged: messages, IR, facts, ranges, checks and code.

The programs of `programs.txt` were chosen because they reach different statements and branches of the checker, the
analyses and the emitters. `digests.txt` has a digest of every stage. After an intended change of a stage, `python -m
tests.unchanged` writes the digests. `python -m tests.unchanged --texts FOLDER` writes the texts, which can be compared
with the texts of another checkout.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unchanged.stages import digest, stages

FOLDER = Path(__file__).parent
DIGESTS = FOLDER / "digests.txt"
MARK = "=====\n"
SHARES = 12


def programs() -> list[str]:
    """Return all kept programs, whether they are right or wrong."""
    return (FOLDER / "programs.txt").read_bytes().decode("utf-8").removesuffix(MARK).split(MARK)


def derived_digests(number: int, text: str) -> str:
    """Return a line with the number of a program, and with the name and digest of each of its stages."""
    return " ".join([str(number), *(f"{name}:{digest(derived)}" for name, derived in stages(text, number))])


@pytest.mark.parametrize("share", range(SHARES))
def test_derived_texts_are_unchanged(share: int) -> None:
    kept = DIGESTS.read_text(encoding="utf-8").splitlines()
    assert len(kept) == len(programs())
    for number, text in list(enumerate(programs()))[share::SHARES]:
        before, now = kept[number].split(), derived_digests(number, text).split()
        changed = sorted({part.partition(":")[0] for part in {*before} ^ {*now}})
        assert not changed, f"program {number}: {', '.join(changed)}; see the docstring of this file\n{text}"

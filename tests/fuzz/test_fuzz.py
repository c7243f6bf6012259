"""Differential fuzzing: random typed programs, each on five graphs, give the same results in the engine and in the
interpreter.

`python -m tests.fuzz.long` tests thousands of programs. A failing case is made smaller and saved in tests/found, where
it becomes a test.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.cases import GRAPHS, Fuzzed, drawn, judge, load_case, save_case, variants
from tests.fuzz.long import tried
from tests.fuzz.shrink import shrunk
from tests.reference import operators
from tests.reference.cases import Case
from tests.reference.generators.programs import Generated
from tests.reference.interpreter import run as interpret
from tests.reference.values import Value
from tests.sample import sampled
from vlang.check import parse

FOUND = Path(__file__).parents[1] / "found"
SEED = 20261121
USUAL = (1, 4, 6)
"""A program of the costly kinds that `drawn` draws. `tests/cpu/programs/test_random_programs.py` has two others, and
`tests/cpu/language/test_edge_states.py` has what programs with edge states do."""
COUNT = 8


@cache
def _programs(seed: int, count: int) -> list[Generated]:
    return drawn(seed, count)


@pytest.mark.parametrize("number", sampled(range(COUNT), USUAL))
def test_programs(number: int) -> None:
    failed = list(tried(_programs(SEED, COUNT)[number], number, FOUND, f"seed_{SEED}_{number}", gpu=False))
    assert failed == [], f"program {number} of seed {SEED} is made smaller and kept"


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.vp")), ids=lambda p: p.stem)
def test_what_was_found_is_mended(path: Path) -> None:
    case = load_case(path)
    for cut in range(0, GRAPHS, 2):
        judge(case, cut=cut)


# ------------------------------------------------------------------ the shrinker


def _outcome(case: Fuzzed) -> dict[str, bytes]:
    outcome = interpret(parse(case.text, "planted.vp"), case.graph, case.params, case.fields, max_rounds=200)
    return {name: np.asarray(values).tobytes() for name, values in outcome.fields.items()}


def test_a_planted_bug_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A planted bug is found, and the failing case becomes small. The test compares two interpreters; in one of them,
    integer subtraction is wrong if the result is -2.
    """
    right = operators.binary

    def wrong(op: str, a: Value, b: Value, precision: int, wrap: bool = False) -> Value:
        result = right(op, a, b, precision, wrap)
        if op == "-" and isinstance(result.data, np.ndarray) and result.raw.dtype.kind == "i":
            return Value(result.type, np.where(result.raw == -2, result.raw + 1, result.raw))
        return result

    def fails(case: Fuzzed) -> bool:
        good = _outcome(case)
        with monkeypatch.context() as patch:
            patch.setattr(operators, "binary", wrong)
            return _outcome(case) != good

    numeric = [made for made in _programs(14, 60) if "category" not in made.text]  # the positions of names are integers
    failing = next(case for made in numeric for case in variants(made, 2) if fails(case))
    least = shrunk(failing, fails)
    kept = load_case(save_case(least, tmp_path, "planted", "an example"))
    assert fails(kept)
    assert len(least.text.splitlines()) <= 5, least.text
    assert len(least.text) < len(failing.text) / 3
    assert least.graph.n <= 3
    assert any(difference in least.text for difference in (" - ", " -= ", "change(")), least.text


def test_drawing_repeats() -> None:
    first = [made.text for made in drawn(3, 5)]
    assert any([made.text for made in drawn(3, 5)] == first for _ in range(3))  # one of 600 draws differs
    assert len({*first} | {made.text for made in drawn(4, 5)}) > 7


def test_graphs_fit_the_program() -> None:
    for made in drawn(5, 5):
        found = list(variants(made))
        assert len(found) == GRAPHS
        for case in found:
            assert case.graph.columns.keys() == made.graph.columns.keys()
            interpret(parse(case.text, "made.vp"), case.graph, Case(case.graph, case.params).params, case.fields)

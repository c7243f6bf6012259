"""An emulated GPU reports float sums that overflow their type in the same way as a CPU."""

from __future__ import annotations

import pytest

from tests.api.test_overflow import INSIDE, OUTPUT, STAR, infinities_are_said
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import emulated
from vlang import TrapError, compile
from vlang.errors import RangeError

pytestmark = needs_compiler


def test_an_output_that_overflows_is_warned_of() -> None:
    with emulated(seed=1):
        result = compile(OUTPUT, "p.vp")(STAR, device="emulated")
    (warning,) = result.warnings
    assert warning.startswith("line 3: `vertex load: float = sum(w for u -> self)` is infinite for vertex 0,")


def test_an_overflow_that_no_output_shows_is_an_error() -> None:
    with emulated(seed=1), pytest.raises(RangeError, match=r"^line 6: .* for vertex 0, .*would be wrong"):
        compile(INSIDE, "p.vp")(STAR, device="emulated", s=[0, 1])


def test_trap_mode_finds_the_first_failure() -> None:
    text = "program p\nvertex x: int = 3\nrepeat 4 times:\n    gather s = sum(6 // u.x for self -> u)\n" \
           "    apply x = x - 1\n"
    for device in ("cpu", "emulated"):
        with emulated(seed=1), pytest.raises(TrapError) as caught:
            compile(text, "p.vp")(STAR, device=device, trap=True)
        assert str(caught.value) == "p.vp:4:20: `6 // u.x` divides by zero for vertex 1, in superstep 4"


def test_infinite_integers_are_warned_of() -> None:
    with emulated(seed=1):
        infinities_are_said("emulated", slice(0, None, 4))

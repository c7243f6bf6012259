"""Declared reductions: which are accepted, which refuted, and with which witness (language.md section 12)."""

from __future__ import annotations

import pytest

from vlang.check import Laws, check
from vlang.runtime.errors import ProgramError
from vlang.syntax import parse

LOGSUM = "max(a, b) + log1p(exp(-abs(a - b)))"

def laws_of(declaration: str, contract: str = "", body: str = "") -> Laws:
    """What the checker finds out about `reduction f(a, b)` + declaration."""
    use = f"gather g = f({body} for u -> self)\nvertex out: float = 0\napply out = g\n" if body else ""
    text = f"program demo(k = 2)\nedge e: float = 1\n{contract}\nreduction f(a, b){declaration}\n{use}"
    return next(iter(check(parse(text, "demo.vp")).laws.values()))


@pytest.mark.parametrize(
    ("declaration", "method", "idempotent"),
    [
        (" = a + b, identity 0", "structure", False),
        (" = b * a, identity 1", "structure", False),
        (" = min(a, b), identity inf", "structure", True),
        (": bool = a and b, identity true", "structure", True),
        (": int = a ^ b, identity 0", "structure", False),
        (": (float, int) = (a[0] + b[0], a[1] + b[1]), identity (0, 0)", "structure", False),
        (": (float, vertex) = min(a, b), identity (inf, none)", "structure", True),
        (": i8 = max(a, b) if a > 0 else max(b, a), identity -inf", "exhaustion", True),
        (": bool = not (not a and not b), identity false", "exhaustion", True),
        (": u8 = a + b if true else b, identity 0", "exhaustion", False),
        (f" = {LOGSUM} if abs(max(a, b)) < inf else max(a, b), identity -inf", "sampling", False),
        (" = 1 - (1 - a) * (1 - b), identity 0", "sampling", False),
        (": int = a + b if k > 1 else b + a, identity 0", "sampling", False),
    ],
)
def test_accepted(declaration: str, method: str, idempotent: bool) -> None:
    laws = laws_of(declaration)
    assert (laws.method, laws.idempotent) == (method, idempotent)
    assert laws.proved == (method != "sampling")


@pytest.mark.parametrize(
    ("declaration", "contract", "body"),
    [
        (" = 1 / (1 / a + 1 / b), identity inf", "require e > 0", "e"),
        (" = min(a + b, 100), identity 0", "require 0 <= e and e <= 100", "e"),
        (" = sqrt(a * a + b * b), identity 0", "require e >= 0", "e"),
    ],
)
def test_contracts_restrict_the_domain(declaration: str, contract: str, body: str) -> None:
    assert laws_of(declaration, contract, body).method == "sampling"
    with pytest.raises(ProgramError, match="V301"):
        laws_of(declaration, "", body)


@pytest.mark.parametrize(
    ("declaration", "law", "witness"),
    [
        (" = (a + b) / 2, identity 0", "associative", "f(f(0, 0), 1)"),
        (" = a * b + 1, identity 0", "associative", "f(f(0, 0), 1)"),
        (" = a - b, identity 0", "commutative", "f(0, 1)"),
        (" = a + b, identity 1", "identity", "f(1, 0)"),
        (" = abs(a - b), identity 0", "associative", "f(f(0, -1), 1)"),
        (" = sqrt(a * b), identity 1", "associative", "f(f(1, 1), 2)"),
        (" = max(a, b) + 1, identity -inf", "associative", "f(f(0, 0), 1)"),
        (": bool = not a or b, identity true", "commutative", "f(false, true)"),
        (" = a, identity 0", "commutative", "f(0, 1)"),
        (": i64 = min(max(a + b, -2147483648), 2147483647), identity 0", "associative", "f(f(1, 2147483647), -1)"),
        (" = max(a + b, 0), identity 0", "associative", "f(f(0, -1), 1)"),
        (": (float, int) = a if a[0] >= b[0] else b, identity (-inf, 0)", "commutative", "f((0, 0), (0, 1))"),
        (f" = {LOGSUM}, identity -inf", "identity", "f(-inf, -inf) = nan"),
        (": u8 = a + b + 1, identity 0", "identity", "f(0, 0) = 1"),
    ],
)
def test_refuted(declaration: str, law: str, witness: str) -> None:
    with pytest.raises(ProgramError) as caught:
        laws_of(declaration)
    message = str(caught.value)
    assert "V301" in message
    assert law in message.splitlines()[0]
    assert witness in message


def test_what_only_a_run_knows_is_untested() -> None:
    assert laws_of(": vertex = a if a == b else none, identity none").method == "untested"


@pytest.mark.parametrize(
    ("declaration", "contract", "witness"),
    [
        (": int = a + b if k > 1 else a - b, identity 0", "", "counterexample for k = 1:"),
        (": float = a + b + k * a * b, identity k", "require k >= 0", "counterexample for k = 2:"),
        (": int = a + b, identity k", "require k <= 2", "`k` is not the identity of `f`"),
    ],
)
def test_laws_hold_for_every_value_of_a_parameter(declaration: str, contract: str, witness: str) -> None:
    with pytest.raises(ProgramError) as caught:
        laws_of(declaration, contract)
    assert witness in str(caught.value)


@pytest.mark.parametrize(
    ("declaration", "contract"),
    [
        (": int = a + b if k > 1 else a - b, identity 0", "require k >= 2"),
        (": float = max(a, b) if k >= 0 else a, identity -inf", "require k >= 0"),
        (": float = a + b - k, identity k", ""),
    ],
)
def test_contracts_restrict_parameters(declaration: str, contract: str) -> None:
    assert laws_of(declaration, contract).method == "sampling"

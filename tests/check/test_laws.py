"""The declared reductions that the checker accepts or refutes, and its counterexamples (language.md section 12)."""

from __future__ import annotations

import pytest

from vlang import compile
from vlang.check import Laws, check, parse
from vlang.check.laws.symbolic import installed
from vlang.errors import ProgramError

LOGSUM = "max(a, b) + log1p(exp(-abs(a - b)))"

needs_z3 = pytest.mark.skipif(not installed(), reason="z3 is not installed (extra smt)")


@pytest.fixture(params=["z3", "no z3"], autouse=True)
def solver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run every test with z3 and without z3; return whether z3 is used."""
    if request.param == "no z3":
        monkeypatch.setattr("vlang.check.laws.judge.installed", lambda: False)
    elif not installed():
        pytest.skip("z3 is not installed (extra smt)")
    return bool(request.param == "z3")


def laws_of(declaration: str, contract: str = "", body: str = "") -> Laws:
    """Return the laws that the checker finds for `reduction f(a, b)` followed by `declaration`."""
    use = f"gather g = f({body} for u -> self)\nvertex out: float = 0\napply out = g\n" if body else ""
    text = f"program demo(k = 2)\nedge e: float = 1\n{contract}\nreduction f(a, b){declaration}\n{use}"
    return next(iter(check(parse(text, "demo.vp")).laws.values()))


@pytest.mark.parametrize(
    ("declaration", "method", "idempotent", "solved"),
    [
        (" = a + b, identity 0", "structure", False, False),
        (" = b * a, identity 1", "structure", False, False),
        (" = min(a, b), identity inf", "structure", True, False),
        (": bool = a and b, identity true", "structure", True, False),
        (": int = max(a, b), identity -2147483648", "structure", True, False),  # that is -inf
        (": (i8, int) = min(a, b), identity (127, 0x7fffffff)", "structure", True, False),
        (": int = a ^ b, identity 0", "structure", False, False),
        (": (float, int) = (a[0] + b[0], a[1] + b[1]), identity (0, 0)", "structure", False, False),
        (": (float, vertex) = min(a, b), identity (inf, none)", "structure", True, False),
        (": u64 = min(a, b), identity 18446744073709551615", "structure", True, False),
        (": u64 = a & b, identity 0xffffffffffffffff", "structure", True, False),
        (": u64 = b if b < a else a, identity 18446744073709551615", "sampling", True, True),
        (": i8 = max(a, b) if a > 0 else max(b, a), identity -inf", "exhaustion", True, False),
        (": bool = not (not a and not b), identity false", "exhaustion", True, False),
        (": u8 = a + b if true else b, identity 0", "exhaustion", False, False),
        (f" = {LOGSUM} if abs(max(a, b)) < inf else max(a, b), identity -inf", "sampling", False, False),
        (" = 1 - (1 - a) * (1 - b), identity 0", "sampling", False, True),
        (": int = a + b if k > 1 else b + a, identity 0", "sampling", False, None),  # z3 may run out of time
        (": u32 = a + b + 3 * a * b, identity 0", "sampling", False, True),
        (": int = a if a > b else b, identity -inf", "sampling", True, True),
        (": (float, int) = a if a <= b else b, identity (inf, inf)", "sampling", True, None),  # z3 takes half a second
        (": float = a + b - 1 / 7, identity 1 / 7", "sampling", False, True),
    ],
)
def test_accepted(declaration: str, method: str, idempotent: bool, solved: bool | None, solver: bool) -> None:
    found = laws_of(declaration)
    assert found.method in {None: (method, "solver"), True: ("solver",), False: (method,)}[solved and solver]
    assert found.idempotent == idempotent
    assert found.proved == (found.method != "sampling")


@pytest.mark.parametrize(
    ("declaration", "contract", "body"),
    [
        (" = 1 / (1 / a + 1 / b), identity inf", "require e > 0", "e"),
        (" = min(a + b, 100), identity 0", "require 0 <= e and e <= 100", "e"),
        (" = sqrt(a * a + b * b), identity 0", "require e >= 0", "e"),
    ],
)
def test_contracts_restrict_the_domain(declaration: str, contract: str, body: str, solver: bool) -> None:
    assert laws_of(declaration, contract, body).method in ("sampling", *(["solver"] if solver else []))
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
        (": u8 = a + b + 128 * a * 2, identity 0", "commutative", "f(1, 0) = 257"),  # holds if integers wrap around
        (": int = a + b + 1073741824 * a * 4, identity 0", "commutative", "f(1, 0) = 4294967297"),
        (f" = {LOGSUM}, identity -inf", "identity", "f(-inf, -inf) = nan"),
        (": u8 = a + b + 1, identity 0", "identity", "f(0, 0) = 1"),
        (": int = min(a, b), identity -2147483648", "identity", "f(-inf, 0) = -inf"),
        (": int = a + b if a > -inf and b > -inf else 0, identity 0", "associative", "-inf"),
        (": i64 = max(a, b) if a > -inf else -5, identity -inf", "commutative", "-inf"),
        (": int = a + b, identity 2147483647", "identity", "f(inf, 0) = inf"),
        (": u64 = min(a, b), identity 9223372036854775808", "identity", "inf"),
        *((f": int = 3 if {text} and a < inf else max(a, b), identity -inf", "commutative", "inf) = 3")
          for text in ("b == inf", "b == 2147483647", "0 + b == inf", "b + 0 == inf", "0 - b == -inf",
                       "min(b, inf) == inf", "(b if a < 9 else inf) == inf",
                       "b >= inf")),  # laws must also hold for infinite operands
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
def test_contracts_restrict_parameters(declaration: str, contract: str, solver: bool) -> None:
    assert laws_of(declaration, contract).method in ("sampling", *(["solver"] if solver else []))


@needs_z3
@pytest.mark.parametrize(
    ("declaration", "witness"),
    [
        (" = a + b + (0 if abs(a) < 1000000 else 1), identity 0", "f(1000000, 0) = 1000001"),
        (": int = a + b if a < 1234567 else b + a + 1, identity 0", "1234567) = "),
        (": (u32, float) = (a[0] + b[0], max(a[1], b[1]) if a[0] != 77777 else a[1]), identity (0, -inf)", "(77777, "),
    ],
)
def test_what_sampling_does_not_find(
    declaration: str, witness: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vlang.check.laws.judge.installed", lambda: False)
    assert laws_of(declaration).method == "sampling"
    monkeypatch.setattr("vlang.check.laws.judge.installed", lambda: True)
    with pytest.raises(ProgramError) as caught:
        laws_of(declaration)
    assert witness in str(caught.value)


@needs_z3
def test_what_is_known_is_reported(solver: bool) -> None:
    text = "program p\nreduction f(a, b): int = a if a > b else b, identity -inf\nvertex x: int = f(2 for u -> self)\n"
    said = "proved by z3; idempotent" if solver else "no counterexample in "
    assert f"Reduction f: {said}" in compile(text).explain("facts")


@pytest.mark.parametrize("value", ["0", "1", "2"])
def test_a_parameter_value_that_breaks_a_law_is_found(value: str) -> None:
    """A parameter value that breaks a law is found, even if it is the smallest value of its type."""
    text = f"program demo(k: u32 = 5)\nrequire k <= 7\nreduction f(a, b): u32 = a - b if k == {value} else a + b, " \
           "identity 0\nvertex x: u32 = 1\ngather g = f(u.x for u -> self)\napply x = g\n"
    with pytest.raises(ProgramError, match=f"k = {value}"):
        compile(text)


@pytest.mark.parametrize(("type_", "value"), [
    ("u8", "255"), ("i8", "126"), ("u16", "65535"), ("int", "-1"), ("int", "inf"), ("i64", "2147483647"),
    ("i64", "-2147483648"), ("u64", "18446744073709551615"),
])
def test_a_single_value_that_breaks_a_law_is_found(type_: str, value: str, solver: bool) -> None:
    """A single value that breaks a law is found: for small types all values are tried, and for large types all special
    values.
    """
    if solver:
        pytest.skip("z3 tries no values")
    identity = "0" if type_.startswith("u") else "-inf"
    with pytest.raises(ProgramError, match="V301"):
        laws_of(f": {type_} = b if a == {value} else max(a, b), identity {identity}")

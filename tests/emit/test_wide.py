"""Long vectors that are put together from parts of other vectors (vlang/emit/shared/values/wide.py)."""

from __future__ import annotations

import pytest

from vlang.emit.shared.values.wide import parts, whole

X, Y = parts("x", 4), parts("y", 3)


@pytest.mark.parametrize(("texts", "code"), [
    (X, "x"), ((*X, *Y), "wide_join((x, y))"), (("a", *X), "wide_join((a, x))"),
    (("a", *X[1:3]), "wide_join((a, wide_part(x, 1, 2)))"), ((X[0], *Y, X[1]), "wide_join((x[0], y, x[1]))"),
    (X[:3], "wide_part(x, 0, 3)"), ((*X[2:], *X[:2]), "wide_join((wide_part(x, 2, 2), wide_part(x, 0, 2)))"),
])
def test_consecutive_components_are_one_part(texts: tuple[str, ...], code: str) -> None:
    assert whole(texts) == code

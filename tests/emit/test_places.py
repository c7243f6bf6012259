"""The table of unified operations is complete and equals the table in language.md section 13."""

from __future__ import annotations

import pytest

from vlang.emit.cuda.unified import cell_type, places
from vlang.reductions import REDUCTIONS, accumulator
from vlang.types import BOOL, F16, F32, F64, I16, I32, I64, U8, U16, U32, U64, VERTEX, Scalar, Tuple, Type, scalar_named

I8 = scalar_named("i8")
SCALARS = (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, VERTEX)
SIMPLE = [(name, type_) for name, rule in REDUCTIONS.items() if not rule.holistic for type_ in SCALARS
          if type_.kind in rule.accepts]


@pytest.mark.parametrize(("name", "body"), SIMPLE)
def test_every_reduction_of_a_scalar_has_a_cell(name: str, body: Scalar) -> None:
    type_ = I32 if name == "count" else accumulator(name, body, over_vertices=False)
    found = places(name, type_)
    assert found.cell is not None
    assert found.cell.bits in (32, 64) or found.cell == BOOL
    assert found.shared.function.startswith("shared_")
    assert bool(found.pushed.function) == REDUCTIONS[name].idempotent
    assert all(place.reason for place in (found.thread, found.warp, found.shared, found.pushed))


@pytest.mark.parametrize(("name", "type_", "native"), [
    ("sum", I32, True), ("sum", U32, True), ("sum", I64, False), ("sum", F32, False), ("sum", F64, False),
    ("min", I32, True), ("max", I64, False), ("min", F32, True), ("max", F64, False), ("bitor", U32, True),
    ("bitxor", U64, False), ("any", BOOL, True), ("all", BOOL, True), ("count", I32, True), ("prod", F64, False),
    ("prod", I32, False), ("min", U8, True), ("sum", I16, True), ("min", VERTEX, True),
])
def test_shared_memory_is_native_where_the_table_says_so(name: str, type_: Scalar, native: bool) -> None:
    assert places(name, type_).shared.native is native


@pytest.mark.parametrize(("type_", "cell"), [
    (Tuple((F32, VERTEX)), U64), (Tuple((I32, VERTEX)), U64), (Tuple((VERTEX, I32)), U64), (Tuple((U8, I16)), U64),
    (Tuple((F64, VERTEX)), None), (Tuple((I32, F32)), None), (Tuple((I32, I32, I32)), None), (Tuple((BOOL, I32)), None),
    (I8, I32), (U16, U32), (VERTEX, U32), (F16, F32), (BOOL, BOOL), (I64, I64),
])
def test_cells(type_: Type, cell: Scalar | None) -> None:
    assert cell_type(type_) == cell


def test_what_has_no_cell_says_why() -> None:
    found = places("min", Tuple((F64, VERTEX)))
    assert "more than 8 bytes" in found.shared.reason
    assert not found.shared.function
    assert not found.pushed.function

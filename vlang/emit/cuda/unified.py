"""The unified operations on a GPU: how each reduction joins contributions in each kind of memory (language.md, 13).

If one thread owns an accumulator, a join is a plain update. Lanes of a warp use shuffles. In shared memory, the
function `shared_OP(T* place, T value)` of atomics.cuh joins a contribution. Contributions are pushed into global
memory: the function `improve_OP(T* place, T value) -> bool` joins a contribution and returns whether the cell changed.
Both functions are overloaded for T, the type of the *cell*. Integers narrower than 32 bits use cells of 32 bits. A pair
of such values shares one 64-bit word; the order of words is the order of pairs (`order_key`, `pack`).
"""

from __future__ import annotations

from vlang.records import dataclass
from vlang.reductions import REDUCTIONS, Monoid
from vlang.types import BOOL, F32, F64, I32, U32, U64, VERTEX, Scalar, Tuple, Type

__all__ = ["Place", "Places", "cell_type", "packed", "places"]


@dataclass(frozen=True)
class Place:
    """How a reduction joins contributions in one kind of memory.

    Attributes:
        function: the name of the function or operation; "" if the reduction cannot be joined in this place.
        native: whether the join is one instruction rather than a compare-and-swap loop.
        reason: the reason why the reduction is joined in this way, or cannot be joined.
    """

    function: str
    native: bool
    reason: str


@dataclass(frozen=True)
class Places:
    """How one component of an accumulator is joined in each kind of memory.

    Attributes:
        cell: the type of the component's cell in memory that threads share; None if no type fits.
        thread: how the component is joined in the registers of one thread.
        warp: how the component is joined among the threads of a warp.
        shared: how the component is joined in shared memory.
        pushed: how the component is joined in global memory.
    """

    cell: Scalar | None
    thread: Place
    warp: Place
    shared: Place
    pushed: Place


def cell_type(type_: Type) -> Scalar | None:
    """The type of the cell in which values of an accumulator component are joined; None if no type fits."""
    if isinstance(type_, Tuple):
        return U64 if packed(type_) else None
    assert isinstance(type_, Scalar)
    if type_ == VERTEX:
        return U32
    if type_.kind in ("int", "uint") and type_.bits < 32:
        return I32 if type_.kind == "int" else U32
    return F32 if type_.kind == "float" and type_.bits < 32 else type_


def packed(type_: Tuple) -> bool:
    """Return whether tuples fit in a 64-bit word, so that the order of words is the order of tuples.

    A tuple fits if it has two components of at most 32 bits, and the second component is not a float. The bits of
    floats give no total order, because there are two zeros and NaN.
    """
    return len(type_.items) == 2 and all(t.bits <= 32 and t != BOOL for t in type_.items) and \
        not type_.items[1].floating


def places(name: str, type_: Type) -> Places:
    """How a reduction is joined in each kind of memory.

    Args:
        type_: the type of an accumulator component, or of a tuple.
    """
    if name not in REDUCTIONS:
        return _declared(name, type_)
    cell, monoid = cell_type(type_), REDUCTIONS[name].monoid
    thread, warp = _owned(type_)
    if cell is None:
        reason = "more than 8 bytes, or an order that bits do not have: no atomic operation joins it"
        return Places(None, thread, warp, Place("", False, reason), Place("", False, reason))
    assert monoid is not None
    return Places(cell, thread, warp, _shared(monoid, type_, cell), _pushed(monoid, type_, cell))


def _owned(type_: Type) -> tuple[Place, Place]:
    """Return how any reduction is joined in the registers of a thread, and among the threads of a warp."""
    return (Place("merge", True, "one thread owns the accumulator: a plain update"),
            Place("lane_value", True, f"shuffles, {_shuffles(type_)} a step, in the order of the edges"))


def _declared(name: str, type_: Type) -> Places:
    """Return how a declared reduction is joined: by a compare-and-swap loop in a word of 32 or 64 bits."""
    parts = type_.items if isinstance(type_, Tuple) else (type_,)
    sizes = [part.bits for part in parts if isinstance(part, Scalar) and part != BOOL]
    said = f"`{name}` is declared by the program"
    global_ = Place("", False, f"{said}: no atomic operation joins its values in global memory")
    if sizes not in ([32], [64], [32, 32]):
        reason = f"{said}: a compare-and-swap joins one value of 32 or 64 bits, or two of 32, and it has other ones"
        return Places(None, *_owned(type_), Place("", False, reason), global_)
    cell = U64 if len(parts) == 2 else U32 if type_ == VERTEX else type_
    assert isinstance(cell, Scalar)
    how = Place("shared_apply", False, f"{said}: a compare-and-swap loop in shared memory")
    return Places(cell, *_owned(type_), how, global_)


def _shuffles(type_: Type) -> int:
    parts = type_.items if isinstance(type_, Tuple) else (type_,)
    return sum(2 if isinstance(t, Scalar) and t.bits == 64 else 1 for t in parts)


def _shared(monoid: Monoid, type_: Type, cell: Scalar) -> Place:
    function = f"shared_{monoid.atomic}"
    if monoid.atomic in ("any", "all"):
        return Place(function, True, "a plain store of the absorbing value")
    if monoid.atomic == "mul":
        return Place(function, False, "no instruction multiplies in memory: a compare-and-swap loop")
    if cell.bits == 64:
        how = "pairs packed into one word of 64 bits" if isinstance(type_, Tuple) else "64 bits"
        return Place(function, False, f"{how}: a compare-and-swap loop in shared memory")
    if cell.floating and monoid.atomic not in ("min", "max"):
        return Place(function, False, "floats are added by a compare-and-swap loop in shared memory")
    how = ", as integers, selected by the sign bit" if cell.floating else ""
    return Place(function, True, f"an instruction of shared memory{how}")


def _pushed(monoid: Monoid, type_: Type, cell: Scalar) -> Place:
    if not monoid.idempotent:
        return Place("", False, "not idempotent: a value pushed twice would count twice")
    function = f"improve_{monoid.atomic}"
    if monoid.atomic in ("any", "all"):
        return Place(function, True, "a plain store of the absorbing value")
    if cell == F64:
        return Place(function, True, "an instruction of global memory, as integers, selected by the sign bit")
    how = ", on pairs packed into one word" if isinstance(type_, Tuple) else \
        ", as integers, selected by the sign bit" if cell.floating else ""
    return Place(function, True, f"an instruction of global memory{how}")

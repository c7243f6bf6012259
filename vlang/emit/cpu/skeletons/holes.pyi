"""Names that skeletons use but do not define: the types and intrinsics of kernels, and the *holes*.

Only mypy and `vlang.emit.cpu.skeleton` read this file. Skeletons import from it, but the kernel text does not contain
these imports; its head imports the real objects. A function marked `@hole` is generated from the program. The
parameters here become the parameter list of the generated function, which has the same name.

Operations on values of different integer types are type errors here, because numba would compute i64 + u64 in f64.
"""

from collections.abc import Callable, Iterator
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

# -------------------------------------------------------------------------------------------------------------- types
class Integer:
    """An integer of fixed width. A Python integer takes the type of the other operand."""

    def __init__(self, value: Integer | float | bool, /) -> None: ...
    def __index__(self) -> int: ...
    def __float__(self) -> float: ...
    def __add__(self, other: Self | int, /) -> Self: ...
    def __radd__(self, other: int, /) -> Self: ...
    def __sub__(self, other: Self | int, /) -> Self: ...
    def __rsub__(self, other: int, /) -> Self: ...
    def __mul__(self, other: Self | int, /) -> Self: ...
    def __rmul__(self, other: int, /) -> Self: ...
    def __floordiv__(self, other: Self | int, /) -> Self: ...
    def __mod__(self, other: Self | int, /) -> Self: ...
    def __and__(self, other: Self | int, /) -> Self: ...
    def __or__(self, other: Self | int, /) -> Self: ...
    def __xor__(self, other: Self | int, /) -> Self: ...
    def __lshift__(self, other: Self | int, /) -> Self: ...
    def __rshift__(self, other: Self | int, /) -> Self: ...
    def __invert__(self) -> Self: ...
    def __neg__(self) -> Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __lt__(self, other: Self | int, /) -> bool: ...
    def __le__(self, other: Self | int, /) -> bool: ...
    def __gt__(self, other: Self | int, /) -> bool: ...
    def __ge__(self, other: Self | int, /) -> bool: ...

class i64(Integer): ...
class u8(Integer): ...
class u16(Integer): ...
class u32(Integer): ...
class u64(Integer): ...

f64 = float

class Pointer(Generic[T]):
    """Memory that a kernel reads and writes. Indices are signed integers."""

    def __getitem__(self, index: i64 | int, /) -> T: ...
    def __setitem__(self, index: i64 | int, value: T | int, /) -> None: ...

class Env:
    """The values unpacked from the frame: pointers and scalars that generated functions read."""

class Columns:
    """Pointers to the edge columns of a page, and other values of the page that a gather reads."""

class SenderPart:
    """The part that all contributions of a sender have in common."""

class Edge:
    """The values of the edge fields at an edge."""

class Lanes:
    """Memory of one worker for the accumulators of several vertices or lanes, with one array per component."""

Acc = tuple[Any, ...]
"""The accumulators of a vertex, as a tuple of components."""

Masks = tuple[bool, ...]
"""The masks of a vertex that are evaluated before it gathers."""

Structures = tuple[Pointer[u64], i64, i64, *tuple[i64, ...]]
"""Scratch memory of a vertex, its degree, the index bits of its hash tables, and the offsets of its structures."""

Held = tuple[Any, ...]
"""For each grouped gather: the number of groups, and the key, offset and accumulators of the group of the last edge."""

Frame = Pointer[u64]

# -------------------------------------------------------------------------- functions of Python, as numba types them
@overload
def range(begin: i64 | int, end: i64 | int = ..., /) -> Iterator[i64]: ...
@overload
def range(begin: u64, end: u64, /) -> Iterator[u64]: ...
@overload
def min(a: i64 | int, b: i64 | int, /) -> i64: ...
@overload
def min(a: u64, b: u64, /) -> u64: ...
@overload
def min(a: float, b: float, /) -> f64: ...
@overload
def max(a: i64 | int, b: i64 | int, /) -> i64: ...
@overload
def max(a: float, b: float, /) -> f64: ...

# --------------------------------------------------------------------------------- intrinsics (compile/intrinsics.py)
def inner(function: F) -> F: ...
def pointer_i64(frame: Pointer[u64], slot: i64 | int) -> Pointer[i64]: ...
def pointer_u8(frame: Pointer[u64], slot: i64 | int) -> Pointer[u8]: ...
def pointer_u16(frame: Pointer[u64], slot: i64 | int) -> Pointer[u16]: ...
def pointer_u32(frame: Pointer[u64], slot: i64 | int) -> Pointer[u32]: ...
def pointer_u64(frame: Pointer[u64], slot: i64 | int) -> Pointer[u64]: ...
def value_i64(frame: Pointer[u64], slot: i64 | int) -> i64: ...
def value_f64(frame: Pointer[u64], slot: i64 | int) -> f64: ...
def store_f64(frame: Pointer[u64], slot: i64 | int, value: f64) -> None: ...
def local(values: Acc) -> Lanes: ...
def lanes(values: Acc) -> Lanes: ...
def fetch_add(pointer: Pointer[i64], index: i64 | int, value: i64 | int) -> i64: ...
def fetch_add_ordered(pointer: Pointer[i64], index: i64 | int, value: i64 | int) -> i64: ...
def fetch_or(pointer: Pointer[u64], index: i64 | int, value: u64) -> u64: ...
def replace(pointer: Pointer[T], index: i64 | int, old: T, new: T) -> bool: ...
def lowest(word: u64) -> i64: ...
def peek(pointer: Pointer[T], index: i64 | int) -> T: ...
def peek_first(pointer: Pointer[T], index: i64 | int) -> T: ...
def poke(pointer: Pointer[T], index: i64 | int, value: T | int) -> None: ...
def poke_last(pointer: Pointer[T], index: i64 | int, value: T | int) -> None: ...
def prefetch(pointer: Pointer[Any], index: i64 | int) -> None: ...
def halves(pointer: Pointer[u64]) -> Pointer[u32]: ...
def fence() -> None: ...
def give_way() -> None: ...

# -------------------------------------------------------------------------------------------------------------- holes
def hole(function: F) -> F:
    """Mark a function that is generated from the program."""

@hole
def bind(frame: Frame) -> Env:
    """Read the values of the frame that the functions of a pass use."""

@hole
def bind_columns(pages: Pointer[u64], row: i64 | int) -> Columns:
    """The columns of the page whose row in the table of pages begins at word `row`."""

@hole
def ready(env: Env, v: i64 | int) -> Masks:
    """The masks of a vertex that are evaluated before it gathers."""

@hole
def wanted(masks: Masks) -> bool:
    """Whether a vertex with these masks gathers."""

@hole
def identity(env: Env) -> Acc:
    """The accumulators before any contribution."""

@hole
def gather(env: Env, columns: Columns, acc: Acc, v: i64 | int, u: i64 | int, k: i64 | int) -> Acc:
    """The accumulators of v after the contribution of edge k of the page, whose other end is u."""

@hole
def gather_whole(
    env: Env, columns: Columns, room: Structures, acc: Acc, held: Held, v: i64 | int, u: i64 | int, k: i64 | int
) -> tuple[Acc, Held]:
    """`gather`, where some contributions are added to the structures of the vertex. Skeletons call it `gather`."""

@hole
def take(env: Env, acc: Acc, v: i64 | int) -> Acc:
    """The accumulators of a reduction over vertices after the contribution of v. Skeletons call it `gather`."""

@hole
def merge(env: Env, a: Acc, b: Acc) -> Acc:
    """The accumulators of two sequences of contributions, those of `a` first."""

@hole
def put(env: Env, s: i64 | int, acc: Acc) -> None:
    """Store the accumulators of segment or block s."""

@hole
def get(env: Env, s: i64 | int) -> Acc:
    """The accumulators that `put` stored for segment or block s."""

@hole
def keep(env: Env, s: i64 | int, acc: Acc) -> None:
    """Store the accumulators of row s. Each worker has a range of rows for the strip that it processes."""

@hole
def kept(env: Env, s: i64 | int) -> Acc:
    """The accumulators that `keep` stored for row s."""

@hole
def lay(room: Lanes, s: i64 | int, acc: Acc) -> None:
    """Store the accumulators of vertex s of a run of vertices, or of lane s."""

@hole
def laid(room: Lanes, s: i64 | int) -> Acc:
    """The accumulators that `lay` stored for vertex or lane s."""

@hole
def pour(env: Env, s: i64 | int, acc: Acc) -> None:
    """Store the accumulators of the sums that were pushed to vertex s."""

@hole
def poured(env: Env, s: i64 | int) -> Acc:
    """The accumulators that `pour` stored for vertex s."""

@hole
def send(env: Env, v: i64 | int) -> None:
    """Store the messages of a vertex."""

@hole
def apply(env: Env, v: i64 | int, masks: Masks, acc: Acc) -> i64:
    """Write the fields of a vertex; returns bit 0 if a field changed, and bit 1 if the vertex is active."""

@hole
def after_block(frame: Frame, low: i64 | int, high: i64 | int) -> None:
    """The work fused into a pass, for the block of the vertices from `low` to `high`."""

@hole
def sender_part(env: Env, u: i64 | int) -> SenderPart:
    """The part that all contributions of u have in common."""

@hole
def joined_part(env: Env, u: i64 | int) -> SenderPart:
    """`sender_part`, computed from the words into which contributions to u are joined."""

@hole
def receive(env: Env, columns: Columns, part: SenderPart, acc: Acc, v: i64 | int, u: i64 | int, k: i64 | int) -> Acc:
    """`gather`, from a sender with the common part `part`."""

@hole
def selected(env: Env, v: i64 | int) -> bool:
    """Whether the masks around the write are true for v."""

@hole
def join(env: Env, columns: Columns, part: SenderPart, v: i64 | int, u: i64 | int, k: i64 | int) -> bool:
    """Join the contribution of edge k into the words of v, atomically; returns whether the words changed."""

@hole
def join_alone(env: Env, columns: Columns, part: SenderPart, v: i64 | int, u: i64 | int, k: i64 | int) -> bool:
    """`join`, where no other worker writes, so that plain stores suffice."""

@hole
def carry(env: Env, bits: Pointer[u64], v: i64 | int) -> None:
    """Copy the words of v to its fields, and clear its bit."""

@hole
def fresh(bits: Pointer[u64], v: i64 | int) -> bool:
    """Mark v as found; returns whether it had not been found before in this superstep."""

@hole
def silent(env: Env, v: i64 | int) -> bool:
    """Whether v contributes nothing over any edge."""

@hole
def is_final(env: Env, v: i64 | int) -> bool:
    """Whether the value of v is final; with a uniform frontier, whether v has been reached."""

@hole
def decided(acc: Acc) -> bool:
    """Whether no further contribution can change these accumulators."""

@hole
def level(env: Env, columns: Columns, u: i64 | int) -> tuple[Any, bool]:
    """The value that each vertex of a uniform frontier sends, computed for u; whether it changes unreached vertices."""

@hole
def reach(env: Env, v: i64 | int, value: Any) -> None:
    """Store the value that vertex v has when it is reached."""

@hole
def renew(env: Env, v: i64 | int, value: Any) -> bool:
    """Do the same as `reach`, unless v was reached before; returns whether v was newly reached."""

@hole
def along(columns: Columns, word: i64, shift: i64, k: i64 | int) -> Edge:
    """The values of edge k. word: its entry in `targets`. shift: the first bit of the value in `word`, or 0."""

@hole
def accept(env: Env, part: SenderPart, edge: Edge, acc: Acc, v: i64 | int, u: i64 | int) -> Acc:
    """`receive`, for an edge whose values have been read."""

@hole
def offer(env: Env, part: SenderPart, edge: Edge, v: i64 | int, u: i64 | int) -> tuple[bool, f64, f64]:
    """`join`, for an edge whose values have been read; also returns the priorities of v before and after the join."""

@hole
def rank(env: Env, v: i64 | int) -> f64:
    """The priority of a vertex; the least priority goes first."""

@hole
def near_vertex(env: Env, v: i64 | int) -> None:
    """Prefetch the fields that are read when a vertex pushes."""

@hole
def near_edge(columns: Columns, k: i64 | int) -> None:
    """Prefetch the values of an edge."""

@hole
def prepare(space: Pointer[u64], base: i64 | int, degree: i64 | int) -> Structures:
    """Clear the structures of a vertex with `degree` edges."""

@hole
def hold(env: Env, room: Structures) -> Held:
    """The state before the first edge of a vertex."""

@hole
def keyed(env: Env, columns: Columns, v: i64 | int, u: i64 | int, k: i64 | int) -> u32:
    """The entry of the key of edge k in a table over vertices: the vertex plus 1, or 0 for an edge without a group."""

@hole
def placed(room: Structures) -> tuple[i64, i64, i64]:
    """The way to find an entry in groups.py, the offset of its entries, and that of the table over vertices."""

@hole
def width(env: Env) -> i64:
    """The number of words of an entry of that table."""

@hole
def cleared(env: Env, space: Pointer[u64], at: i64) -> None:
    """Clear the accumulators at `at`."""

@hole
def added(
    env: Env, columns: Columns, space: Pointer[u64], at: i64, acc: Acc, v: i64 | int, u: i64 | int, k: i64 | int
) -> Acc:
    """Add the contribution of edge k to the accumulators of its group at `at`; returns those of other gathers."""

@hole
def folded(env: Env, space: Pointer[u64], at: i64, key: u32, acc: Acc, v: i64 | int) -> Acc:
    """Reduce the group of `key`, whose accumulators are at `at`."""

@hole
def conclude(env: Env, room: Structures, acc: Acc, held: Held, v: i64 | int) -> Acc:
    """The accumulators of v, read from its structures."""

@hole
def close(env: Env, room: Structures, place: i64, acc: Acc, held: Held, v: i64 | int) -> Acc:
    """The components of a grouped gather, reduced over the groups in the table at `place`."""

@hole
def segment(env: Env, room: Structures, held: Held, number: i64) -> Held:
    """Begin a segment of a long row, whose contributions to a group are merged after those of the segments before."""

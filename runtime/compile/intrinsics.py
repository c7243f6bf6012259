"""Intrinsics that numba lacks: typed access to slots of a frame, and atomic operations.

Kernel text imports these intrinsics.
"""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core.cgutils import alloca_once, get_or_insert_function
from numba.extending import intrinsic

from vlang.runtime.compile.front_end import OPTIONS
from vlang.runtime.plan.layouts.crew_words import CREW_ARGS, CREW_COUNT, CREW_FUNCTION, CREW_MOST_ARGS
from vlang.runtime.plan.plan import LANES, RUN

inner = njit(**OPTIONS)
"""The decorator of functions that only kernels call."""

_NAMES: dict[str, Any] = {
    "i8": types.int8, "i16": types.int16, "i32": types.int32, "i64": types.int64,
    "u8": types.uint8, "u16": types.uint16, "u32": types.uint32, "u64": types.uint64,
    "f32": types.float32, "f64": types.float64,
}  # fmt: skip


def _slot_pointer(type_: Any) -> Any:
    """`f(frame, k)`: the address in slot k of the frame, as a pointer to `type_`."""

    def typing(context: Any, frame: Any, slot: Any) -> Any:
        result = types.CPointer(type_)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(builder.gep(args[0], [context.cast(builder, args[1], slot, types.intp)]))
            return builder.inttoptr(value, context.get_value_type(result))

        return result(types.CPointer(types.uint64), slot), generate

    return intrinsic(typing)


def _slot_value(type_: Any) -> Any:
    """`f(frame, k)`: the value in slot k of the frame."""

    def typing(context: Any, frame: Any, slot: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = builder.gep(args[0], [context.cast(builder, args[1], slot, types.intp)])
            return builder.load(builder.bitcast(at, context.get_value_type(type_).as_pointer()))

        return type_(types.CPointer(types.uint64), slot), generate

    return intrinsic(typing)


def _slot_store(type_: Any) -> Any:
    """`f(frame, k, value)`: store a value in slot k of the frame."""

    def typing(context: Any, frame: Any, slot: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = builder.gep(args[0], [context.cast(builder, args[1], slot, types.intp)])
            stored = context.cast(builder, args[2], value, type_)
            builder.store(stored, builder.bitcast(at, context.get_value_type(type_).as_pointer()))
            return context.get_dummy_value()

        return types.void(types.CPointer(types.uint64), slot, value), generate

    return intrinsic(typing)


pointer_i8, pointer_i16, pointer_i32, pointer_i64 = (_slot_pointer(_NAMES[n]) for n in ("i8", "i16", "i32", "i64"))
pointer_u8, pointer_u16, pointer_u32, pointer_u64 = (_slot_pointer(_NAMES[n]) for n in ("u8", "u16", "u32", "u64"))
pointer_f32, pointer_f64 = _slot_pointer(types.float32), _slot_pointer(types.float64)
value_i8, value_i16, value_i32, value_i64 = (_slot_value(_NAMES[n]) for n in ("i8", "i16", "i32", "i64"))
value_u8, value_u16, value_u32, value_u64 = (_slot_value(_NAMES[n]) for n in ("u8", "u16", "u32", "u64"))
value_f32, value_f64 = _slot_value(types.float32), _slot_value(types.float64)
store_i8, store_i16, store_i32, store_i64 = (_slot_store(_NAMES[n]) for n in ("i8", "i16", "i32", "i64"))
store_u8, store_u16, store_u32, store_u64 = (_slot_store(_NAMES[n]) for n in ("u8", "u16", "u32", "u64"))
store_f32, store_f64 = _slot_store(types.float32), _slot_store(types.float64)


def _local(size: int) -> Any:
    """`f(values)`: a tuple with one pointer per value, to stack memory for `size` items of the type of the value.

    For a bool, the items have the type u8.
    """

    def typing(context: Any, values: Any) -> Any:
        items = [types.uint8 if item == types.boolean else item for item in values]
        result = types.Tuple([types.CPointer(item) for item in items])

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            memory = [alloca_once(builder, context.get_data_type(item), size=size) for item in items]
            return context.make_tuple(builder, signature.return_type, memory)

        return result(values), generate

    return intrinsic(typing)


local, lanes = _local(RUN), _local(LANES)


@intrinsic
def fetch_add(context: Any, pointer: Any, index: Any, value: Any) -> Any:
    """`fetch_add(p, i, v)`: atomically p[i] += v; returns the previous value. p points to i64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        added = context.cast(builder, args[2], value, types.int64)
        return builder.atomic_rmw("add", at, added, "monotonic")

    return types.int64(types.CPointer(types.int64), index, value), generate


@intrinsic
def lowest(context: Any, word: Any) -> Any:
    """`lowest(w)`: the index, i64, of the lowest bit that is set in w, a u64; 64 if no bit is set."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def fetch_add_ordered(context: Any, pointer: Any, index: Any, value: Any) -> Any:
    """Like `fetch_add`, with acquire and release: a worker that adds later sees all earlier writes of this worker."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        return builder.atomic_rmw("add", at, context.cast(builder, args[2], value, types.int64), "acq_rel")

    return types.int64(types.CPointer(types.int64), index, value), generate


@intrinsic
def fetch_or(context: Any, pointer: Any, index: Any, value: Any) -> Any:
    """`fetch_or(p, i, v)`: atomically p[i] |= v; returns the previous value. p points to u64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        return builder.atomic_rmw("or", at, context.cast(builder, args[2], value, types.uint64), "monotonic")

    return types.uint64(types.CPointer(types.uint64), index, value), generate


@intrinsic
def replace(context: Any, pointer: Any, index: Any, old: Any, new: Any) -> Any:
    """`replace(p, i, old, new)`: compare-and-swap: p[i] = new if p[i] has the bits of `old`; returns success.

    `old` and `new` are converted to the type of p[i], which is an integer or float of 8 to 64 bits.
    """
    type_ = pointer.dtype

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(type_.bitwidth)
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        bits = [builder.bitcast(context.cast(builder, value, given, type_), word)
                for value, given in ((args[2], old), (args[3], new))]
        pair = builder.cmpxchg(builder.bitcast(at, word.as_pointer()), *bits, "monotonic")
        return builder.extract_value(pair, 1)

    return types.boolean(pointer, index, old, new), generate


@intrinsic
def replace_both(
    context: Any, pointer: Any, index: Any, old: Any, old_next: Any, new: Any, new_next: Any
) -> Any:
    """`replace_both(p, i, a, b, c, d)`: compare-and-swap of the pair p[2 * i], p[2 * i + 1] from (a, b) to (c, d).

    Returns whether the pair was (a, b). p points to u64 and is aligned to 16 bytes.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        whole = ir.IntType(128)
        at = builder.gep(args[0], [builder.mul(context.cast(builder, args[1], index, types.intp), ir.IntType(64)(2))])

        def joined(low: Any, high: Any) -> Any:
            return builder.or_(builder.zext(low, whole), builder.shl(builder.zext(high, whole), whole(64)))

        pair = builder.cmpxchg(builder.bitcast(at, whole.as_pointer()), joined(*args[2:4]), joined(*args[4:6]),
                               "acq_rel", "acquire")
        return builder.extract_value(pair, 1)

    word = types.uint64
    return types.boolean(types.CPointer(word), index, word, word, word, word), generate


def _reinterpreted(name: str) -> Any:
    """`f(x)`: the bits of x as an unsigned integer ("uint") or as a float ("float") of the same width."""

    def typing(context: Any, value: Any) -> Any:
        result = _NAMES[f"{name[0]}{value.bitwidth}"]

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], context.get_value_type(result))

        return result(value), generate

    return intrinsic(typing)


bits_of, float_of = _reinterpreted("uint"), _reinterpreted("float")


@intrinsic
def peek(context: Any, pointer: Any, index: Any) -> Any:
    """`peek(p, i)`: an atomic read of p[i]. Other threads may write p[i] at the same time."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        return builder.load_atomic(at, "monotonic", pointer.dtype.bitwidth // 8)

    return pointer.dtype(pointer, index), generate


@intrinsic
def peek_first(context: Any, pointer: Any, index: Any) -> Any:
    """`peek_first(p, i)`: like `peek`, but ordered before all later reads (acquire)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        return builder.load_atomic(at, "acquire", pointer.dtype.bitwidth // 8)

    return pointer.dtype(pointer, index), generate


@intrinsic
def poke(context: Any, pointer: Any, index: Any, value: Any) -> Any:
    """`poke(p, i, v)`: an atomic write p[i] = v, visible to other threads."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        stored = context.cast(builder, args[2], value, pointer.dtype)
        builder.store_atomic(stored, at, "monotonic", pointer.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(pointer, index, value), generate


@intrinsic
def poke_last(context: Any, pointer: Any, index: Any, value: Any) -> Any:
    """`poke_last(p, i, v)`: like `poke`, but ordered after all earlier writes (release)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        stored = context.cast(builder, args[2], value, pointer.dtype)
        builder.store_atomic(stored, at, "release", pointer.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(pointer, index, value), generate


@intrinsic
def prefetch(context: Any, pointer: Any, index: Any) -> Any:
    """`prefetch(p, i)`: prefetch p[i] into all caches. The address of p[i] may be invalid."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [builder.bitcast(at, byte), word(0), word(3), word(1)])  # read, all levels, data
        return context.get_dummy_value()

    return types.void(pointer, index), generate


@intrinsic
def halves(context: Any, pointer: Any) -> Any:
    """`halves(p)`: the memory at a pointer to u64 as u32."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(32).as_pointer())

    return types.CPointer(types.uint32)(pointer), generate


@intrinsic
def fence(context: Any) -> Any:
    """`fence()`: a thread that sees a write made after the fence sees all writes made before the fence."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


def _of_library(name: str, arguments: str) -> Any:
    """`f(words, at)`: call a function of the C library.

    `arguments` has a character for each argument: "p" passes the address of words[at], and "0" passes a null pointer.
    """

    def typing(context: Any, words: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            byte = ir.IntType(8).as_pointer()
            place = builder.bitcast(builder.gep(args[0], [context.cast(builder, args[1], at, types.intp)]), byte)
            function = get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), [byte] * len(arguments)),
                                              name)  # fmt: skip
            builder.call(function, [byte(None) if word == "0" else place for word in arguments])
            return context.get_dummy_value()

        return types.void(types.CPointer(types.int64), at), generate

    return intrinsic(typing)


lock_made, signal_made = _of_library("pthread_mutex_init", "p0"), _of_library("pthread_cond_init", "p0")
lock_taken, lock_given = _of_library("pthread_mutex_lock", "p"), _of_library("pthread_mutex_unlock", "p")
signal_sent = _of_library("pthread_cond_signal", "p")


@intrinsic
def signal_awaited(context: Any, words: Any, signal: Any, lock: Any) -> Any:
    """`signal_awaited(words, s, l)`: wait for the condition variable at words[s:] (pthread_cond_wait).

    The lock at words[l:] is released during the wait, and acquired again afterwards.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        places = [builder.bitcast(builder.gep(args[0], [context.cast(builder, at, kind, types.intp)]), byte)
                  for at, kind in ((args[1], signal), (args[2], lock))]
        function = get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), [byte, byte]),
                                          "pthread_cond_wait")  # fmt: skip
        builder.call(function, places)
        return context.get_dummy_value()

    return types.void(words, signal, lock), generate


@intrinsic
def give_way(context: Any) -> Any:
    """`give_way()`: yield the processor to another thread (sched_yield of the C library)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), "sched_yield")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def pause(context: Any) -> Any:
    """`pause()`: in a spin loop, leave the core to its other hardware thread for a few dozen cycles."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if platform.machine().lower() in ("x86_64", "amd64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def call_words(context: Any, words: Any) -> Any:
    """`call_words(words)`: call the kernel at address words[CREW_FUNCTION]; returns its status as i64.

    `words` points to i64. The kernel gets words[CREW_COUNT] arguments, which begin at words[CREW_ARGS] and are 64-bit
    integers or pointers.
    """
    word, status = ir.IntType(64), ir.IntType(32)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def load(number: int) -> Any:
            return builder.load(builder.gep(args[0], [types_intp(number)]))

        types_intp = context.get_value_type(types.intp)
        result, found = alloca_once(builder, word), alloca_once(builder, status)
        address = load(CREW_FUNCTION)
        done = builder.append_basic_block("done")
        which = builder.switch(load(CREW_COUNT), done)
        for count in range(CREW_MOST_ARGS + 1):
            block = builder.append_basic_block(f"with{count}")
            which.add_case(word(count), block)
            with builder.goto_block(block):
                kind = ir.FunctionType(status, [word.as_pointer(), word, *[word] * count])
                function = builder.inttoptr(address, kind.as_pointer())
                given = [load(CREW_ARGS + number) for number in range(count)]
                builder.store(builder.call(function, [result, word(0), *given]), found)
                builder.branch(done)
        builder.position_at_end(done)
        return builder.sext(builder.load(found), word)

    return types.int64(words), generate

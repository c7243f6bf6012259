"""What kernels need that numba lacks: typed slots of a frame, and indivisible steps. Imported by kernel text only."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core.cgutils import alloca_once, get_or_insert_function
from numba.extending import intrinsic

from vlang.runtime.devices.front_end import OPTIONS
from vlang.runtime.kernelset import RUN

inner = njit(**OPTIONS)
"""For functions that only kernels call."""

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
    """`f(frame, k)`: the value kept in slot k of the frame."""

    def typing(context: Any, frame: Any, slot: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = builder.gep(args[0], [context.cast(builder, args[1], slot, types.intp)])
            return builder.load(builder.bitcast(at, context.get_value_type(type_).as_pointer()))

        return type_(types.CPointer(types.uint64), slot), generate

    return intrinsic(typing)


def _slot_store(type_: Any) -> Any:
    """`f(frame, k, value)`: keep a value in slot k of the frame."""

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


@intrinsic
def local(context: Any, values: Any) -> Any:
    """`local(values)`: for each item of a tuple a pointer to memory of this call for RUN such items, bools as u8."""
    items = [types.uint8 if item == types.boolean else item for item in values]
    result = types.Tuple([types.CPointer(item) for item in items])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        memory = [alloca_once(builder, context.get_data_type(item), size=RUN) for item in items]
        return context.make_tuple(builder, signature.return_type, memory)

    return result(values), generate


@intrinsic
def fetch_add(context: Any, pointer: Any, index: Any, value: Any) -> Any:
    """`fetch_add(p, i, v)`: p[i] += v by one indivisible step; the value before. p points to i64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        added = context.cast(builder, args[2], value, types.int64)
        return builder.atomic_rmw("add", at, added, "monotonic")

    return types.int64(types.CPointer(types.int64), index, value), generate


@intrinsic
def fetch_or(context: Any, pointer: Any, index: Any, value: Any) -> Any:
    """`fetch_or(p, i, v)`: p[i] |= v by one indivisible step; the value before. p points to u64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        return builder.atomic_rmw("or", at, context.cast(builder, args[2], value, types.uint64), "monotonic")

    return types.uint64(types.CPointer(types.uint64), index, value), generate


@intrinsic
def replace(context: Any, pointer: Any, index: Any, old: Any, new: Any) -> Any:
    """`replace(p, i, old, new)`: p[i] = new by one indivisible step if p[i] has the bits of `old`; whether it had.

    Both values are converted to what p points to: an integer or float of 8 to 64 bits.
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


def _reinterpreted(name: str) -> Any:
    """`f(x)`: the bits of x as an unsigned integer of that width ("uint"), or as a float of it ("float")."""

    def typing(context: Any, value: Any) -> Any:
        result = _NAMES[f"{name[0]}{value.bitwidth}"]

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], context.get_value_type(result))

        return result(value), generate

    return intrinsic(typing)


bits_of, float_of = _reinterpreted("uint"), _reinterpreted("float")


@intrinsic
def peek(context: Any, pointer: Any, index: Any) -> Any:
    """`peek(p, i)`: p[i], read as it is now although other threads write it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        return builder.load_atomic(at, "monotonic", pointer.dtype.bitwidth // 8)

    return pointer.dtype(pointer, index), generate


@intrinsic
def poke(context: Any, pointer: Any, index: Any, value: Any) -> Any:
    """`poke(p, i, v)`: p[i] = v, for other threads to see."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        stored = context.cast(builder, args[2], value, pointer.dtype)
        builder.store_atomic(stored, at, "monotonic", pointer.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(pointer, index, value), generate


@intrinsic
def prefetch(context: Any, pointer: Any, index: Any) -> Any:
    """`prefetch(p, i)`: let the processor bring p[i] near, which is read soon; harmless whatever lies there."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.gep(args[0], [context.cast(builder, args[1], index, types.intp)])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [builder.bitcast(at, byte), word(0), word(3), word(1)])  # to read, into all levels, data
        return context.get_dummy_value()

    return types.void(pointer, index), generate


@intrinsic
def fence(context: Any) -> Any:
    """`fence()`: what was written before is seen by whoever sees what is written after it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def give_way(context: Any) -> Any:
    """`give_way()`: let another thread have the processor (sched_yield of the C library)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), "sched_yield")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate

"""Integer and float operations that differ from the operations of Python.

These functions are part of every generated module.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import bits_of, float_of, inner


@inner
def int_floordiv(a, b):
    """a // b, rounded towards minus infinity; 0 for b = 0. The quotient of the least value and -1 wraps."""
    if b == 0:
        return np.int64(0)
    if b == -1:
        return np.int64(0) - np.int64(a)
    q = np.int64(a) // np.int64(b)
    return q


@inner
def int_mod(a, b):
    """a - b * (a // b); 0 for b = 0."""
    if b == 0 or b == -1:
        return np.int64(0)
    return np.int64(a) % np.int64(b)


@inner
def uint_floordiv(a, b):
    """a // b; 0 for b = 0."""
    return np.uint64(0) if b == 0 else np.uint64(a) // np.uint64(b)


@inner
def uint_mod(a, b):
    """a % b; 0 for b = 0."""
    return np.uint64(0) if b == 0 else np.uint64(a) % np.uint64(b)


@inner
def float_mod(a, b):
    """a - b * floor(a / b), with the sign of b."""
    r = np.fmod(a, b)
    if r != 0 and (r < 0) != (b < 0):
        r += b
    return r


@inner
def int_power(a, b, one):
    """Return a ** b, computed by squaring; integers wrap, and a negative exponent gives 0.

    one: 1 in the type of a (a literal would make u64 a float).
    """
    result = one
    if b < 0:
        return one - one
    base = a
    n = np.uint64(b)
    while n != 0:
        if n & np.uint64(1):
            result = result * base
        base = base * base
        n = n >> np.uint64(1)
    return result


@inner
def shl(a, b, bits):
    """a << b; 0 if b is not in 0..bits-1."""
    return a << b if 0 <= b < bits else a - a


@inner
def shr(a, b, bits):
    """a >> b. If b is not in 0..bits-1, the result is 0, or -1 for a negative a."""
    if 0 <= b < bits:
        return a >> b
    zero = a ^ a  # zero in the type of a: numba would compute a u64 and a literal as floats
    return ~zero if a < 0 else zero


@inner
def floor_int(x, high, low):
    """Return the floor of a float as an integer. If the floor is out of range, the result is `high` (inf) or `low`
    (-inf). NaN gives 0.
    """
    y = np.floor(x)
    if y != y:
        return np.int64(0)
    if y >= np.float64(high):
        return np.int64(high)
    if y <= np.float64(low):
        return np.int64(low)
    return np.int64(y)


@inner
def floor_u64(x):
    """Return the floor of a float as a u64, clamped to the values of the type; 0 for NaN."""
    y = np.floor(x)
    if not y > 0.0:
        return np.uint64(0)
    return np.uint64(y) if y < 2.0**64 else np.uint64(0xFFFFFFFFFFFFFFFF)


@inner
def half_to_float(h):
    """Convert an IEEE half, given as its 16 bits, to f32."""
    sign = np.float32(-1.0) if h & 0x8000 else np.float32(1.0)
    exponent = (np.int64(h) >> 10) & 31
    fraction = np.float32(np.int64(h) & 1023)
    if exponent == 31:
        return sign * np.float32(np.inf) if fraction == 0 else np.float32(np.nan)
    if exponent == 0:
        return sign * fraction * np.float32(2.0**-24)
    return sign * (np.float32(1024.0) + fraction) * np.float32(2.0 ** np.float64(exponent - 25))


@inner
def float_to_half(x):
    """The 16 bits of the IEEE half nearest to an f32; ties go to the even half."""
    sign = np.int64(0x8000) if np.copysign(np.float32(1.0), x) < 0 else np.int64(0)
    a = np.float64(abs(x))
    if a != a:
        return np.uint16(0x7E00)
    if a >= 65520.0:
        return np.uint16(sign | 0x7C00)
    if a < 2.0**-14:
        return np.uint16(sign | np.int64(np.rint(a * 2.0**24)))
    exponent = np.int64(np.floor(np.log2(a)))
    if 2.0 ** np.float64(exponent) > a:
        exponent -= 1
    elif 2.0 ** np.float64(exponent + 1) <= a:
        exponent += 1
    steps = np.int64(np.rint(a / 2.0 ** np.float64(exponent - 10)))
    return np.uint16(sign | (((exponent + 15) << 10) + (steps - 1024)))


@inner
def float_key_32(x):
    """A 32-bit key with the order of f32 values; -0.0 has the key of 0.0."""
    bits = bits_of(np.float32(x + np.float32(0.0)))
    return np.uint32(~bits) if bits >> np.uint32(31) else np.uint32(bits | np.uint32(0x80000000))


@inner
def key_float_32(key):
    return float_of(np.uint32(key & np.uint32(0x7FFFFFFF)) if key >> np.uint32(31) else np.uint32(~key))


@inner
def float_key_64(x):
    """A 64-bit key with the order of f64 values; -0.0 has the key of 0.0."""
    bits = bits_of(x + 0.0)
    return ~bits if bits >> np.uint64(63) else bits | np.uint64(0x8000000000000000)


@inner
def key_float_64(key):
    return float_of(key & np.uint64(0x7FFFFFFFFFFFFFFF) if key >> np.uint64(63) else ~key)


@inner
def known(v, ids, listed, base):
    """The caller's id of vertex v: ids[v] if `listed`, otherwise base + v; -1 for `none`."""
    if v == np.uint32(0xFFFFFFFF):
        return np.uint64(0xFFFFFFFFFFFFFFFF)
    return ids[v] if listed != 0 else base + np.uint64(v)


@inner
def mix(seed, x):
    """A pseudo-random number: the hash of a 64-bit seed and another number (docs/language.md, section 8)."""
    z = (x + seed * np.uint64(0x632BE59BD9B4E019)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def exponential(bits):
    """Return an exponentially distributed number: -log(U) for U = (k + 1) / 2^53, where k consists of the top 53 bits.

    The logarithm is computed as in fdlibm (Sun Microsystems, e_log.c), with operations that are the same on every
    target.
    """
    k, low = (bits >> np.uint64(11)) + np.uint64(1), np.int64(1)
    for step in (32, 16, 8, 4, 2, 1):
        short = k < np.uint64(1) << np.uint64(53 - step)
        k = k << np.uint64(step) if short else k
        low += np.int64(step) if short else np.int64(0)
    m = np.float64(k) * 2.0**-52  # U = m / 2^low
    large = m > 1.4142135623730951
    m, low = m * 0.5 if large else m, low - np.int64(large)
    f = m - 1.0
    s, half, e = f / (2.0 + f), 0.5 * f * f, np.float64(-low)
    z = s * s
    w = z * z
    even = w * (0.3999999999940942 + w * (0.22222198432149784 + w * 0.15313837699209373))
    odd = z * (0.6666666666666735 + w * (0.2857142874366239 + w * (0.1818357216161805 + w * 0.14798198605116586)))
    return ((half - (s * (half + (even + odd)) + e * 1.9082149292705877e-10)) - f) - e * 0.6931471803691238


@inner
def waiting(bits, weight):
    """Return the random time of an event at the rate `weight`, computed from a hash; inf if the weight is not positive.
    """
    if weight > 0.0:
        return exponential(bits) / weight
    return np.inf


@inner
def hll_rank(bits):
    """Return 1 plus the number of trailing zeros in 58 bits; 59 if no bit is set."""
    rank = np.uint8(1)
    while rank < 59 and bits & np.uint64(1) == 0:
        bits = bits >> np.uint64(1)
        rank += np.uint8(1)
    return rank


@inner
def hll_size(registers):
    """The estimated number of elements of a HyperLogLog counter with 64 registers (language.md section 8)."""
    total = 0.0
    zeros = 0
    for c in registers:
        share, left = 1.0, np.int64(c)
        while left > 32:
            share *= 2.0**-32
            left -= 32
        total += share / np.float64(np.int64(1) << left)
        zeros += c == 0
    size = 0.709 * 64**2 / total
    return 64 * np.log(64 / zeros) if size <= 160 and zeros > 0 else size


@inner
def position(v, ordered, places, count):
    """The first index of a vertex in a set; -1 if the set does not contain it."""
    low, high = np.int64(0), np.int64(count)
    while low < high:
        middle = (low + high) >> 1
        if ordered[middle] < v:
            low = middle + 1
        else:
            high = middle
    return np.int64(places[low]) if low < count and ordered[low] == v else np.int64(-1)

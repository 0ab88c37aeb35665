"""Elementwise functions of integers: bits and shifts, common divisors and multiples."""

from __future__ import annotations

import torch

from npdec._core.tags import ArrayLike, Opaque, ufunc
from npdec._impl._by_numpy import by_numpy_elementwise
from npdec._impl._storage import signed
from npdec._impl._util import are_numbers, from_int64, to_int64
from npdec._impl.dtypes_impl import WIDE_UNSIGNED
from npdec._impl.elementwise_impl import absolute, floor_divide, multiply, unsigned_divmod, wrapping

_BITS = WIDE_UNSIGNED | {torch.bool}  # beside each other as fast, but not where one is broadcast

# --- bits -------------------------------------------------------------------------------------------------------------


@ufunc(torch.bitwise_and, loops="integer", operator="and", identity=-1, by_numpy=_BITS)
def bitwise_and(x1: ArrayLike, x2: ArrayLike):
    """The bits that both have, with broadcasting. TypeError unless both are integers or booleans.

    >>> np.bitwise_and(np.array([12, 10]), 6)
    array([4, 2])
    """
    return wrapping(torch.bitwise_and, x1, x2)


@ufunc(torch.bitwise_or, loops="integer", operator="or", identity=0, by_numpy=_BITS)
def bitwise_or(x1: ArrayLike, x2: ArrayLike):
    """The bits that one of them has, with broadcasting. TypeError unless both are integers or booleans.

    >>> np.bitwise_or(np.array([12, 10]), 6)
    array([14, 14])
    """
    return wrapping(torch.bitwise_or, x1, x2)


@ufunc(torch.bitwise_xor, loops="integer", operator="xor", identity=0, by_numpy=_BITS)
def bitwise_xor(x1: ArrayLike, x2: ArrayLike):
    """The bits that exactly one of them has, with broadcasting. TypeError unless both are integers or booleans.

    >>> np.bitwise_xor(np.array([12, 10]), 6)
    array([10, 12])
    """
    return wrapping(torch.bitwise_xor, x1, x2)


@ufunc(torch.bitwise_not, loops="integer", operator="invert", aliases=("bitwise_not", "bitwise_invert"))
def invert(x: ArrayLike):
    """Every bit changed; of a boolean the opposite. TypeError unless x holds integers or booleans.

    >>> np.invert(np.array([0, 5])), np.invert(np.array([True, False]))
    (array([-1, -6]), array([False,  True]))
    """
    return wrapping(torch.bitwise_not, x)


@ufunc(torch.bitwise_left_shift, loops="shift", operator="lshift", aliases=("bitwise_left_shift",))
def left_shift(x1: Opaque, x2: Opaque):
    """The bits of x1 moved x2 places up, with broadcasting; 0 if x2 is negative or all bits are moved out.

    >>> np.left_shift(np.array([1, 2, 3]), 4)
    array([16, 32, 48])
    """
    return wrapping(torch.bitwise_left_shift, x1, x2)


@ufunc(torch.bitwise_right_shift, loops="shift", operator="rshift", aliases=("bitwise_right_shift",))
def right_shift(x1: Opaque, x2: Opaque):
    """The bits of x1 moved x2 places down, with broadcasting. The sign stays, so that a shift by too many (or a
    negative) places gives 0 or -1.

    >>> np.right_shift(np.array([16, 33, -5]), 2)
    array([ 4,  8, -2])
    """
    bits, distance = signed(x1), signed(x2)
    if bits is x1:
        return torch.bitwise_right_shift(x1, x2)
    moved = by_numpy_elementwise("right_shift", x1, x2)
    if moved is not None:
        return moved
    if not x2.dim() and are_numbers(x2) and 0 < (places := x2.item()) < 8 * bits.dtype.itemsize:
        return (bits >> places).bitwise_and_((1 << 8 * bits.dtype.itemsize - places) - 1).view(x1.dtype)
    # A signed integer would repeat its sign bit: a first step by hand, then it is clear. By no distance, that gives 0,
    # and the bits themselves are added by a mask, which is faster than a comparison.
    halved = torch.bitwise_right_shift((bits >> 1) & torch.iinfo(bits.dtype).max, distance - 1)
    moves = (distance | -distance) >> (8 * distance.dtype.itemsize - 1)  # all bits set but for the distance 0
    return (halved | (bits & ~moves)).view(x1.dtype)


@ufunc(loops="bit_count")
def bitwise_count(x: Opaque):
    """The number of ones among the bits of |x|, as uint8.

    >>> np.bitwise_count(np.array([0, 7, -8]))
    array([0, 3, 1], dtype=uint8)
    """
    counts = by_numpy_elementwise("bitwise_count", x)
    if counts is not None:
        return counts
    bits = to_int64(x)
    if x.dtype is not torch.uint64:
        bits = bits.abs()
    # Counts of pairs, fours and bytes, each in the place of what it counts; their sum comes to the top byte.
    bits = bits - (bits >> 1).bitwise_and_(0x5555555555555555)
    fours = (bits >> 2).bitwise_and_(0x3333333333333333)
    bits = bits.bitwise_and_(0x3333333333333333).add_(fours)
    bits = bits.add_(bits >> 4).bitwise_and_(0x0F0F0F0F0F0F0F0F)
    return bits.mul_(0x0101010101010101).bitwise_right_shift_(56).to(torch.uint8)


# --- divisors and multiples -------------------------------------------------------------------------------------------


@ufunc(loops="strict_integer", identity=0)
def gcd(x1: Opaque, x2: Opaque):
    """The greatest common divisor of the absolute values; gcd(n, 0) is |n|. TypeError unless both are integers.

    >>> np.gcd(np.array([12, 20, -7]), 8)
    array([4, 4, 1])
    """
    dtype = x1.dtype
    if dtype is torch.int64:
        return torch.gcd(x1, x2).abs_()
    divisor = by_numpy_elementwise("gcd", x1, x2)
    if divisor is not None:
        return divisor
    if dtype is not torch.uint64:
        return torch.gcd(to_int64(x1), to_int64(x2)).abs().to(dtype)
    # Three steps of Euclid's algorithm bring any two below 2**63, where torch goes on.
    a, b = to_int64(x1), to_int64(x2)
    divisor = torch.where(b == 0, a, b)
    for _ in range(3):
        a, b = torch.where(b == 0, a, b), torch.where(b == 0, b, unsigned_divmod(a, b)[1])
        divisor = torch.where(b == 0, a, b)
    return from_int64(torch.where(b == 0, divisor, torch.gcd(a, b)), dtype)


@ufunc(loops="strict_integer")
def lcm(x1: Opaque, x2: Opaque):
    """The least common multiple of the absolute values; 0 where one of them is 0. TypeError unless both are integers.

    >>> np.lcm(np.array([4, 6]), 10)
    array([20, 30])
    """
    multiple = by_numpy_elementwise("lcm", x1, x2)
    if multiple is not None:
        return multiple
    divisor = gcd(x1, x2)
    return multiply(absolute(floor_divide(x1, divisor)), absolute(x2))

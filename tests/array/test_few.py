"""What `npdec._native` computes of small arrays beside sums and products: drawn calls give the same as in Python, to
the bit, in the same layout, with the same errors."""

from __future__ import annotations

import operator
import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import npdec as np
import tiers
from native_cases import native

DTYPES = {
    "?": torch.bool, "i1": torch.int8, "i4": torch.int32, "i8": torch.int64, "u1": torch.uint8, "u8": torch.uint64,
    "f4": torch.float32, "f8": torch.float64, "f2": torch.float16, "c16": torch.complex128,
}  # fmt: skip
NUMBERS = [0, 1, 2, 3, -1, -2, 5, 7, 100, -0.0, 0.5, 1.5, float("inf"), float("nan"), 0.1, -8.75]
TARGETS = [int, float, bool, np.int8, np.float32, np.uint64, np.complex128, "int32", "float64", "uint16", "bool"]


def drawn(draw: random.Random, letter: str, shape: list[int]) -> torch.Tensor:
    count = int(torch.tensor(shape).prod()) if shape else 1
    numbers = [draw.choice(NUMBERS) for _ in range(count)]
    if letter[0] not in "fc":
        numbers = [0 if x != x or x == float("inf") else int(x) for x in numbers]
    if letter[0] == "u":
        numbers = [abs(x) for x in numbers]
    return torch.tensor(numbers, dtype=torch.float64).to(DTYPES[letter]).reshape(shape)


def laid(tensor: torch.Tensor, layout: str) -> Any:
    """An array of the numbers: in rows, in columns, every second one, or of rows that are one in memory."""
    if layout == "columns" and tensor.dim() > 1:
        return np.asarray(tensor.permute(*range(tensor.dim())[::-1]).contiguous()).T
    if layout == "steps" and tensor.dim():
        wide = torch.zeros([2 * n + 1 for n in tensor.shape], dtype=tensor.dtype)
        part = tuple(slice(1, 2 * n + 1, 2) for n in tensor.shape)
        wide[part] = tensor
        return np.asarray(wide)[part]
    if layout == "equal" and tensor.dim() > 1 and tensor.shape[0]:
        return np.asarray(tensor[:1].clone().expand(tensor.shape))
    return np.asarray(tensor.clone())


def indices(draw: random.Random, length: int, shape: tuple[int, ...]) -> Any:
    count = int(torch.tensor(shape).prod())
    numbers = [draw.randrange(-length, length) if length else 0 for _ in range(count)]
    if numbers and draw.random() < 0.05:
        numbers[0] = length
    array = np.asarray(torch.tensor(numbers, dtype=torch.int64).reshape(shape))
    return array.T.copy().T if draw.random() < 0.2 else array


def table_key(draw: random.Random, shape: tuple[int, ...]) -> Any:
    chosen = draw.choice([(3,), (2,), (1,), (2, 2), (2, 1)])
    parts = [slice(None), slice(1, None), slice(None, None, 2), slice(None, None, -1), None, ..., 0, -1, np.int64(0)]
    items = []
    for length in shape[: draw.randint(1, len(shape))] if shape else ():
        array = indices(draw, length, draw.choice([chosen, chosen, chosen[-1:]]))
        items.append(array if draw.random() < 0.5 else draw.choice(parts))
    return tuple(items)


# --- the calls --------------------------------------------------------------------------------------------------------


def copies(x: Any, draw: random.Random) -> Any:
    return draw.choice([x.copy, x.flatten, x.ravel, lambda: x.astype(draw.choice(TARGETS))])()


def shapes(x: Any, draw: random.Random) -> Any:
    n = x.size
    shape = draw.choice([(-1,), (n,), (n, 1), (1, n), (2, -1), (n + 1,), (-1, -1), x.shape[::-1]])
    made = x.reshape(*shape) if draw.random() < 0.5 else np.reshape(x, shape)
    if draw.random() < 0.4:
        made[...] = 1
    return made, x


def axes(x: Any, draw: random.Random) -> Any:
    made = draw.choice(
        [lambda: x[None], lambda: x[:, None], lambda: x[..., None], lambda: x[0, None], lambda: x[None, 1:]]
    )()
    return made, draw.choice([x.ndim, x.size, x.nbytes, x.shape])


def items(x: Any, draw: random.Random) -> Any:
    if draw.random() < 0.5:
        return x.item(*draw.choice([(), (0,), (-1,), (5,), (True,)]))
    part = x[1:] if x.ndim and draw.random() < 0.5 else x
    part.fill(draw.choice([0, 1, 1.5, -1, 300, True, 2**40, float("nan")]))
    return x


def joined(x: Any, draw: random.Random) -> Any:
    other = draw.choice([lambda: x, lambda: x[:1], lambda: x.astype(float), lambda: x[0]])()
    together = draw.choice([[x, other], (x, other, x), [x]])
    join = draw.choice([np.concatenate, np.stack, np.hstack, np.vstack, np.array])
    if join in (np.concatenate, np.stack) and draw.random() < 0.6:
        return join(together, axis=draw.choice([0, 1, -1, 2]))
    return join(together)


def reduced(x: Any, draw: random.Random) -> Any:
    name = draw.choice("any all count_nonzero argmax argmin sum prod cumsum cumprod max min nonzero trace".split())
    call = getattr(np, name)
    return (
        call(x) if draw.random() < 0.5 or name in ("nonzero", "trace") else call(x, axis=draw.choice([0, 1, -1, None]))
    )


def running(x: Any, draw: random.Random) -> Any:
    return draw.choice([np.add, np.multiply, np.maximum, np.minimum]).accumulate(x)


def picked(x: Any, draw: random.Random) -> Any:
    made = x[table_key(draw, x.shape)]
    return (made, made.T) if isinstance(made, np.ndarray) else made


def put(x: Any, draw: random.Random) -> Any:
    key = table_key(draw, x.shape)
    value = draw.choice([lambda: 1, lambda: 1.5, lambda: -1, lambda: x[key], lambda: x[key][:1], lambda: x.T])()
    x[key] = value
    return x


def along(x: Any, draw: random.Random) -> Any:
    axis = draw.randrange(-x.ndim, x.ndim)
    shape = list(x.shape)
    shape[axis] = draw.choice([1, 2, 3])
    index = indices(draw, x.shape[axis], tuple(shape))
    if draw.random() < 0.5:
        return np.take_along_axis(x, index, axis)
    np.put_along_axis(x, index, draw.choice([1, 1.5, True, np.zeros(shape)]), axis)
    return x


def pairs(x: Any, draw: random.Random) -> Any:
    other = draw.choice([lambda: x, lambda: x.astype("float32"), lambda: x.astype("int64")])()
    if draw.random() < 0.5:
        return np.outer(x, other)
    return draw.choice([np.add, np.multiply, np.less, np.maximum]).outer(x.reshape(-1), other.reshape(-1))


def searched(x: Any, draw: random.Random) -> Any:
    among = np.sort(x.reshape(-1))
    for_ = draw.choice([x, 1, 1.5, float("nan"), np.float64(2.0), np.int64(1), True, x[..., ::2] if x.ndim else x])
    return np.searchsorted(among, for_, draw.choice(["left", "right"]))


def gone_through(x: Any, draw: random.Random) -> Any:
    found = []
    for item in x:
        found.append(item)
        if draw.random() < 0.2:
            x[...] = 2
        if draw.random() < 0.1:
            x.tensor
    return found


def with_out(x: Any, draw: random.Random) -> Any:
    out = draw.choice([lambda: x, lambda: np.zeros(x.shape), lambda: np.zeros(x.shape, bool), lambda: x[1:]])()
    first = x if out.shape == x.shape else x[:-1]
    if draw.random() < 0.2:
        return draw.choice([np.negative, np.floor, np.isnan])(x, out=out), x
    call = draw.choice([np.add, np.multiply, np.maximum, np.less, np.divide, np.bitwise_and])
    made = call(first, draw.choice([x, 2, 1.5]), out=out)
    return made is out, made, x


def copied_into(x: Any, draw: random.Random) -> Any:
    np.copyto(x, draw.choice([lambda: x[:1], lambda: x[::-1], lambda: 1, lambda: x.T])())
    mask = x == x
    mask[draw.choice([slice(1, None), ..., 0])] = draw.choice([True, False, np.True_, 1, 1.5])
    return x, mask


def elementwise(x: Any, draw: random.Random) -> Any:
    one = [np.sign, np.signbit, np.rint, np.positive, np.conjugate, np.bitwise_count]
    two = [np.fmod, np.heaviside, np.gcd, np.fmax, np.fmin, np.copysign, np.logical_and, np.logical_xor]
    return draw.choice(one)(x) if draw.random() < 0.5 else draw.choice(two)(x, draw.choice([x, x[..., :1], 2, -1.5]))


def nested(x: Any, draw: random.Random) -> Any:
    pools: list[list[Any]] = [
        [1, 2, 3], [1.5, -0.0], [True, False], [1, 2.5], [1, True], [2**53 + 1, 1.0], [2**63, 1], [2**70, 1.0], [1j, 2],
        [np.float64(1.5), 2.0], [np.int64(3), 1], [np.float32(1.5), 1.0], [300, -1], [float("nan"), 1.0],
    ]  # fmt: skip
    pool, shape = draw.choice(pools), [draw.choice([1, 2, 3]) for _ in range(draw.choice([1, 1, 2, 3]))]

    def made(depth: int) -> Any:
        if depth == len(shape):
            return draw.choice(pool)
        return [made(depth + 1) for _ in range(shape[depth] + (draw.random() < 0.05))]

    dtype = draw.choice([None, None, None, *TARGETS])
    call = draw.choice([np.array, np.asarray])
    return call(made(0)) if dtype is None else call(made(0), dtype)


CALLS: list[Callable[[Any, random.Random], Any]] = [
    copies, shapes, axes, items, joined, reduced, running, picked, put, along, pairs, searched, gone_through, with_out,
    copied_into, elementwise, nested,
]  # fmt: skip


# --- what is seen of them ---------------------------------------------------------------------------------------------


def seen(found: Any) -> Any:
    if isinstance(found, (tuple, list)):
        return type(found), [seen(item) for item in found]
    if not isinstance(found, np.ndarray):
        return type(found), repr(found)
    tensor = found.tensor.resolve_conj()
    parts = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    if parts.is_floating_point():  # of NaN the sign and what else it holds are the processor's
        parts = torch.where(parts.isnan(), torch.full_like(parts, float("nan")), parts)
    strides = tuple(by if n > 1 else None for by, n in zip(tensor.stride(), tensor.shape)) if tensor.numel() else ()
    flat = torch.empty(parts.numel(), dtype=parts.dtype).copy_(parts.reshape(-1))
    return found.dtype, found.shape, strides, flat.view(torch.uint8).tolist()


def outcome(call: Callable[[Any, random.Random], Any], tensor: torch.Tensor, layout: str, seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = laid(tensor, layout)
        try:
            found = seen(call(x, random.Random(seed)))
        except Exception as error:
            found = type(error), str(error)
        return found, seen(x)


def both_ways(call: Callable[[], Any]) -> tuple[Any, Any]:
    """What a call gives, and what it gives with all left to Python."""
    ours = call()
    before = sys.getprofile()
    sys.setprofile(lambda *event: None)
    try:
        return ours, call()
    finally:
        sys.setprofile(before)


@native
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_drawn_calls(call: Callable[[Any, random.Random], Any]) -> None:
    draw = random.Random(call.__name__)
    for _ in range(tiers.fewer(400, 10)):
        shape = [draw.choice([1, 2, 3, 3, 4, 5, 8, 0, 2, 2]) for _ in range(draw.choice([0, 1, 1, 1, 2, 2, 3]))]
        tensor = drawn(draw, draw.choice(list(DTYPES)), shape)
        layout, seed = draw.choice(["rows", "rows", "columns", "steps", "equal"]), draw.randrange(10**9)
        ours, theirs = both_ways(lambda: outcome(call, tensor, layout, seed))  # noqa: B023
        assert ours == theirs, (call.__name__, tensor, layout, seed)


# --- complex numbers --------------------------------------------------------------------------------------------------

HARD = [0.0, -0.0, 1.0, -1.0, 5e-324, 1.7e308, -2e-310, 1e-45, 3e38, float("inf"), -float("inf"), float("nan")]


def part(draw: random.Random) -> float:
    return draw.choice(HARD) if draw.random() < 0.2 else draw.gauss(0, 1) * 10.0 ** draw.randint(-3, 3)


def bits(found: Any) -> Any:
    if not np.iscomplexobj(found):
        return type(found), repr(found)
    numbers = torch.view_as_real(np.asarray(found).tensor.contiguous()).reshape(-1).tolist()
    told = [repr(x) for x in numbers]  # of NaN the sign and what else it holds are the processor's
    return type(found), found.dtype, found.shape, ["nan" if x.endswith("nan") else x for x in told]


@native
def test_complex_scalars() -> None:
    draw = random.Random(1)
    operators = [operator.mul, operator.truediv, operator.lt, operator.le, operator.gt, operator.ge, np.multiply]
    for _ in range(tiers.fewer(20000)):
        kinds = draw.choice([np.complex64, np.complex128]), draw.choice([np.complex64, np.complex128, complex])
        numbers = [kind(complex(part(draw), part(draw))) for kind in kinds]
        call = draw.choice(operators)

        def computed(call: Any = call, numbers: Any = numbers) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    return bits(call(*numbers))
                except Exception as error:
                    return type(error), str(error)

        ours, theirs = both_ways(computed)
        assert ours == theirs, (call, numbers)


@native
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products_of_few_complex_numbers(dtype: str) -> None:
    draw = random.Random(dtype)
    for count in [*range(1, 20), 31, 32, 33, 63, 64, 65] * tiers.fewer(20):
        x, y = ([complex(part(draw), part(draw)) for _ in range(count + 3)] for _ in range(2))
        first = draw.choice([0, 0, 1, 3])  # where in memory numbers begin, too
        a, b = np.array(x, dtype) + 0, np.array(y, dtype) + 0
        a, b = a[first : first + count], b[:count]
        other = draw.choice([b, a, b[::-1], y[0], np.array(y, dtype)[0]])
        for call in (lambda: bits(a * other), lambda: bits(other * a)):  # noqa: B023
            ours, theirs = both_ways(call)
            assert ours == theirs, (count, first, other)

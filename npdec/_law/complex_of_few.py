"""The law of a few complex numbers on the host, in Python's: what contributions are multiplied with.

The multipliers are those that the general way comes to: of a product the middle of the other's path, of a quotient
those of the product with the reciprocal, whose slope is −1 / (x r), of a holomorphic function the secant slope. Each
law answers with None where the general way has to look more closely, or something is to be said: numbers that are not
finite, slopes that are steep, differences that have lost digits.
"""

from __future__ import annotations

import array
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from npdec._decomposed.aliasing import link_results
from npdec._decomposed.registry import Trait
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.size_warnings import STEEP, STEEPEST
from npdec._decomposed.tensor import DecomposedTensor, merged
from npdec._impl._storage import of_its_base
from npdec._law.all_components import current as chunk
from npdec._law.of_few import FEW, ROUNDINGS, listed
from npdec._law.ordinary import built
from npdec._law.ordinary_linear import each as ordinary_each

__all__ = [
    "REAL_OF", "Law", "Numbers", "answer", "are_few", "compared", "each", "each_of_few", "is_given", "law_of_complex",
    "length", "of_few", "product", "quotient",
]  # fmt: skip

REAL_OF = {torch.complex128: torch.float64, torch.complex64: torch.float32}
_CODES = {torch.float64: "d", torch.complex128: "d", torch.float32: "f", torch.complex64: "f"}
_RESULTS = frozenset({torch.bool, *REAL_OF, *REAL_OF.values()})
_NUMBERS = frozenset({bool, int, float, complex})
_Tensor, _CPU = torch.Tensor, torch.device("cpu")


class Numbers(NamedTuple):
    """An operand: its value, its residual, and for each component its elements, one after the other; None of a
    constant."""

    x: Sequence[complex]
    r: Sequence[complex]
    components: Sequence[complex] | None


Multipliers = Sequence[Sequence[complex]]
Ends = tuple[torch.Tensor, torch.Tensor]
# Of the operands, the results at both ends, and the dtype of the operands, for each operand those of its elements. Of
# results that are real or conditions, the real part of the product is what is contributed.
Law = Callable[[Sequence[Numbers], Ends, torch.dtype], Multipliers | None]
_FEWER = 64  # how many times longer one end of a divisor is than the other, where no digit has to be looked at
_APART = 1e-3  # of the length of a path, how much longer the way past the origin is than the path
_KEPT = 16  # how many times larger a value is than a difference that has lost digits
_LARGEST = 2**60  # Python's numbers that are taken
_MORE: Sequence[complex] = (1.0,)  # of a summand, whose contributions are not multiplied: they may be infinite
_LESS: Sequence[complex] = (-1.0,)
_WHOLE = 100  # exponents below which a power is a product


def law_of_complex(tags: Mapping[int | str, str], traits: int) -> Law | None:
    """The law of a function of complex numbers, by the tags of its arguments and its traits; None where it has none."""
    if traits & Trait.ARITHMETIC:
        return _Sum(_LESS if traits & Trait.SUBTRACT_FROM else _MORE, _LESS if traits & Trait.SUBTRACT else _MORE)
    if traits & Trait.MULTIPLY:
        return product
    if traits & Trait.DIVIDE:
        return quotient
    if traits & Trait.POWER:
        return _power
    if set(tags.values()) == {"Linear"} and traits & Trait.EACH and traits & Trait.ELEMENTWISE:
        return each
    alone = sum(isinstance(key, int) for key in tags) == 1
    return _holomorphic if alone and traits & Trait.HOLOMORPHIC else None


class _Sum:
    """The law of a sum or a difference."""

    def __init__(self, first: Sequence[complex], second: Sequence[complex]) -> None:
        self.signs = first, second

    def __call__(self, operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
        return self.signs

    def of(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """The sum of two numbers, part by part: to the last bit that of torch's parts, and of NumPy."""
        x, y = a.item(), b.item()
        made = y - x if self.signs[0] is _LESS else x - y if self.signs[1] is _LESS else x + y
        return torch.scalar_tensor(made, dtype=a.dtype, device=_CPU)


def product(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """Each times the middle of the other's path."""
    a, b = operands
    made = _middles(b), _middles(a)
    for other, middles in zip(operands, made, strict=True):
        if other.components is not None and not all(abs(middle) <= STEEP for middle in middles):
            return None
    return made


def _middles(x: Numbers) -> Sequence[complex]:
    return x.x if x.components is None else [(u + w) / 2 for u, w in zip(x.x, x.r, strict=True)]


def quotient(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """a times the middle of the path of the reciprocal of b, and −1 / (x r) of b times the middle of that of a."""
    a, b = operands
    steepest = STEEPEST.get(dtype, STEEP)
    middles, slopes = [], []
    for u, w, middle in zip(b.x, b.r, _middles(a), strict=True):
        least, most = sorted((abs(u), abs(w)))
        if not (1 / STEEP <= least and most <= min(STEEP, _FEWER * least) and abs(middle) <= STEEP):
            return None
        high, low = 1 / u, 1 / w
        if b.components is not None and least * most * steepest < 1:
            return None
        middles.append((high + low) / 2)
        slopes.append(-high * low * middle)
    return middles, slopes


def _holomorphic(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """The secant slope; nothing of what does not move."""
    slopes, a = [], operands[0]
    steepest, count = STEEPEST.get(dtype, STEEP), len(a.x)
    for i, (x, r, after, before) in enumerate(zip(a.x, a.r, *map(listed, ends), strict=True)):
        step, difference = x - r, after - before
        if not step:
            if difference or a.components is None or any(a.components[i::count]):
                return None
            slopes.append(0j)
            continue
        size = abs(difference)
        if not _KEPT * size > max(abs(after), abs(before)):  # or NaN
            return None
        slope = difference / step
        if not 1 / STEEP**4 <= abs(slope) <= steepest:
            return None
        slopes.append(slope)
    return (slopes, slopes)


def _power(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """To a whole number: the slope of a small one is a polynomial."""
    a, b = operands
    n = b.x[0]
    if b.components is not None or any(other != n for other in b.x) or n.imag or not abs(n.real) < _WHOLE:
        return None
    if not n.real.is_integer():
        return None
    if n not in (2, 3, 4):
        return _holomorphic(operands, ends, dtype)
    slopes = []
    for x, r in zip(a.x, a.r, strict=True):
        slope = x + r if n == 2 else x * (x + r) + r * r if n == 3 else (x + r) * (x * x + r * r)
        if not abs(slope) <= STEEPEST.get(dtype, STEEP):
            return None
        slopes.append(slope)
    return slopes, slopes


def length(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """The magnitude: the mean direction along the path from r to x, in closed form. Along the path it is the change of
    the length, across it the distance of the origin times the mean of 1 / |u|, which is 2 artanh(|x − r| / (|x| + |r|))
    over |x − r|. The conjugates are given: of the product with them the real part is that along the direction."""
    made: list[complex] = []
    (a,) = operands
    for x, r in zip(a.x, a.r, strict=True):
        step, way = x - r, abs(x) + abs(r)
        path = abs(step)
        if not way < math.inf:
            return None
        if not path:
            made.append(x.conjugate() / abs(x) if x else 0j)
            continue
        if not way - path > _APART * path:
            if x and r and not _is_straight(x, r):
                return None
            made.append((abs(x) - abs(r)) / path * (step.conjugate() / path))
            continue
        unit = step / path
        along = (x * unit.conjugate()).real + (r * unit.conjugate()).real
        across = (r.conjugate() * x).imag / path  # the signed distance of the origin from the line, to the left
        mean = 2 * math.atanh(path / way) / path
        made.append((along / way * unit - across * mean * 1j * unit).conjugate())
    return (made,)


def _is_straight(x: complex, r: complex) -> bool:
    """Whether both ends lie on one line through the origin, to the last digit."""
    return (r.conjugate() * x).imag == 0


def compared(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """A step of the difference, shared as `npdec._law.jumps` shares it."""
    jumps = [float(after) - float(before) for after, before in zip(*map(listed, ends), strict=True)]
    count = len(jumps)
    if chunk.get() is not None:
        return None
    shares: list[complex] = []
    eps, tiny = torch.finfo(dtype).eps, torch.finfo(dtype).tiny
    a, b = operands
    for i, jump in enumerate(jumps):
        of_a = [] if a.components is None else a.components[i::count]
        of_b = [] if b.components is None else b.components[i::count]
        if of_a and of_b:
            of_a, of_b = [u - w for u, w in zip(of_a, of_b, strict=True)], []
        column = of_a or [-c for c in of_b]
        gross = sum(map(abs, column))
        if not gross < math.inf:
            return None
        if not jump:
            shares.append(0j)
            continue
        total, step = sum(column), (a.x[i] - b.x[i]) - (a.r[i] - b.r[i])
        known = abs(step - total) <= ROUNDINGS * eps * gross and abs(total) > max(1 / STEEP, eps**0.5) * gross
        if not known or not tiny / eps <= 1 / abs(total) <= STEEP**2:
            return None
        shares.append(jump / total)
    return shares, [-share for share in shares]


# -- calls -------------------------------------------------------------------------------------------------------------


def each(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """Stands for the law of linear functions of each element, which are called of the components."""
    return None


def each_of_few(func: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The form of a linear function of each element, of real numbers or of a few complex ones."""
    made = ordinary_each(func, args)
    return answer(each, func, args) if made is NotImplemented and is_given(args) else made


def is_given(args: Sequence[Any]) -> bool:
    """Whether an argument is decomposed complex numbers."""
    return any(type(x) is DecomposedTensor and x.value.dtype in REAL_OF for x in args)


def answer(law: Law | None, func: Callable[..., Any], args: Sequence[Any]) -> Any:
    """What a function of torch gives of a few complex numbers that carry something; NotImplemented of other calls."""
    dtype, values, residuals = None, [], []
    if law is None or len(args) > 2:
        return NotImplemented
    for x in args:
        kind = type(x)
        if kind is DecomposedTensor or kind is _Tensor:
            own = x.value.dtype if kind is DecomposedTensor else x.dtype
            if own not in REAL_OF or (dtype is not None and own is not dtype):
                return NotImplemented
            dtype = own
        elif kind not in _NUMBERS:
            return NotImplemented
        values.append(x.value if kind is DecomposedTensor else x)
        residuals.append(x.residual if kind is DecomposedTensor else x)
    here = settings.get()
    if dtype is None or here.rule != "affine" or here.frozen_conditions or not all(map(are_few, args)):
        return NotImplemented
    made = of_few(law, func, args, values, residuals, dtype)
    return NotImplemented if made is None else made


def of_few(
    law: Law,
    func: Callable[..., Any],
    operands: Sequence[Any],
    values: Sequence[Any],
    residuals: Sequence[Any],
    dtype: torch.dtype,
) -> Any:
    """What a function gives of operands that are few (`are_few`), at their values and their residuals, which are in a
    complex dtype or Python's numbers; None where the law does not say it."""
    if type(law) is _Sum and all(type(x) is _Tensor and not x.ndim for x in values):
        func = law.of
    value = func(*values)
    if type(value) is not _Tensor or value.dtype not in _RESULTS or value.requires_grad:
        return None
    if law is each:
        (x,) = operands
        if value is values[0]:
            return None
        if value.dtype is not dtype:
            value = of_its_base(value)
        made: Any = built(value, func(*residuals), func(x.components), x.labels)
        if value._is_view():
            link_results(made, operands, {})
        return made
    shape, count = value.shape, value.numel()
    if not 0 < count <= HANDFUL:
        return None
    residual, numbers = func(*residuals), []
    for x, end, base in zip(operands, values, residuals, strict=True):
        plain = type(x) is not DecomposedTensor
        if type(end) is not _Tensor:
            if not -_LARGEST <= end.real <= _LARGEST:
                return None
            u: list[complex] = [complex(end)] * count
            numbers.append(Numbers(u, u, None))
            continue
        times = 1
        if end.shape != shape:
            if end.ndim:
                return None
            times = count
        u = [*listed(end)] * times
        if plain:
            numbers.append(Numbers(u, u, None))
            continue
        components = listed(x.components)
        if times > 1:
            components = [c for c in components for _ in range(times)]
        numbers.append(Numbers(u, listed(base) * times, components))
    labels, numbers = _under_one(operands, numbers, count)
    if labels is None:
        return None
    try:
        multipliers = law(numbers, (value, residual), dtype)
    except (ArithmeticError, ValueError):
        return None
    if multipliers is None:
        return None
    made = None
    for its, weights in zip(numbers, multipliers, strict=False):
        if its.components is not None:
            term = _times(its.components, weights, len(labels))
            made = term if made is None else map(operator.add, made, term)
    own = dtype if value.dtype is dtype else REAL_OF[dtype]
    parts = [c.real for c in made] if own is not dtype else [part for c in made for part in (c.real, c.imag)]
    together = torch.frombuffer(array.array(_CODES[own], parts), dtype=own)
    result = built(value, residual, together.reshape(len(labels), *shape) if shape else together, labels)
    result.discrete = value.dtype is torch.bool
    return result


def _times(components: Sequence[complex], weights: Sequence[complex], count: int) -> Sequence[complex]:
    """The products of so many components and their multipliers."""
    if weights is _MORE:
        return components
    if weights is _LESS:
        return [-c for c in components]
    if len(weights) == 1:
        (weight,) = weights
        return [c * weight for c in components]
    return list(map(operator.mul, components, [*weights] * count))


def are_few(x: Any) -> bool:
    """Whether it is a number, or a few numbers on the host that nobody differentiates, with a few dense components if
    it is decomposed."""
    if type(x) is not DecomposedTensor:
        return type(x) is not _Tensor or not (x.requires_grad or not x.is_cpu or x.numel() > HANDFUL)
    value, origin = x.value, x.origin
    if x.reverse or x.kept is not None or x.discrete or type(value) is not _Tensor or not value.is_cpu:
        return False
    count, elements = len(x.labels), value.numel()
    if (origin is not None and origin.is_near) or not 0 < count <= HANDFUL or elements > HANDFUL:
        return False
    components = x.components  # which are there: others are made when they are asked for
    if components.dtype is not value.dtype or not components.numel() == count * elements <= FEW:
        return False
    return not (value.requires_grad or x.residual.requires_grad or components.requires_grad)


def _under_one(operands: Sequence[Any], numbers: list[Numbers], count: int) -> tuple[Any, list[Numbers]]:
    """The labels of all operands, and these with components under all of them; no labels where there are many."""
    labels: Any = None
    for i, x in enumerate(operands):
        if type(x) is not DecomposedTensor:
            continue
        if labels is None or labels is x.labels or labels == x.labels:
            labels = x.labels
            continue
        labels, places = merged(labels, x.labels)
        if len(labels) > HANDFUL or len(labels) * count > FEW:
            return None, numbers
        first, its = numbers[0].components or (), numbers[i].components or ()
        made = [0j] * (len(labels) * count)
        for row, place in enumerate(places):
            made[place * count : (place + 1) * count] = its[row * count : (row + 1) * count]
        behind = [0j] * (len(made) - len(first))
        numbers = [numbers[0]._replace(components=[*first, *behind]), numbers[1]._replace(components=made)]
    return labels, numbers

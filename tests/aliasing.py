"""The model of arrays that share memory: NumPy's own arrays for the value, the residual and each component.

They are made and sliced by the same operations, so they alias as they should. A write takes the same step in each of
them where it is linear in what is written, and follows the law, in plain NumPy, where it is not.
"""

from __future__ import annotations

import warnings

import numpy
from hypothesis.stateful import RuleBasedStateMachine

import npdec as np

LABELS = ("a", "b", "c")
PARTS = ("value", "residual", *LABELS)
DTYPES = ("float64", "float64", "float32", "complex128", "int64", "int32")
MOST = 8  # arrays alive at once
NODES, WEIGHTS = numpy.polynomial.legendre.leggauss(48)
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2


def named_parts(x, carries):
    """The value of an array or a tensor and, if it carries any, its residual and its contributions by their labels."""
    if not carries:
        return {"value": getattr(x, "value", x)}
    return {"value": x.value, "residual": x.residual} | dict(zip(x.labels, x.components, strict=True))


class Pair:
    """An array (or a number) of npdec, and NumPy's arrays for each of its parts."""

    def __init__(self, array, parts):
        self.array = array
        self.parts = parts

    @property
    def value(self):
        return self.parts["value"]

    @property
    def integral(self):
        return numpy.asarray(self.value).dtype.kind not in "fc"

    @property
    def carries(self):
        """Bits of numbers do not, whose memory is that of numbers that do."""
        return not self.integral or self.floats is None

    @property
    def is_decomposed(self):
        return getattr(self.array, "is_decomposed", False)

    @property
    def floats(self):
        """The dtype of the numbers in memory that are looked at as integers here, or None."""
        if not self.integral or not isinstance(self.value, numpy.ndarray) or owner(self.value).dtype.kind not in "fc":
            return None
        return numpy.dtype(f"f{self.value.itemsize}")

    def taken(self):
        """The parts as they are now. What carries no contributions, bits of decomposed numbers too, has none."""
        if isinstance(self.value, numpy.ndarray) and not self.carries:
            return {name: part.copy() for name, part in constant(self.value).items()}
        return {name: part.copy() if isinstance(part, numpy.ndarray) else part for name, part in self.parts.items()}


def constant(numbers):
    """What numbers without contributions are in each part."""
    nothing = type(numbers)(0)
    if isinstance(numbers, numpy.ndarray):
        nothing = numpy.zeros_like(numbers, dtype=numbers.dtype if numbers.dtype.kind in "fc" else float)
    return {name: numbers if name in ("value", "residual") else nothing for name in PARTS}


def source(rng, shape, dtype, labels, low=-6, high=7):
    """Numbers in an array of their own, plain or decomposed under some of the labels, with their model. Integers have
    real components: those of the numbers that they are made of."""
    dtype = numpy.dtype(dtype)

    def drawn():
        numbers = rng.integers(low, high, shape)
        return (numbers + 1j * rng.integers(low, high, shape) if dtype.kind == "c" else numbers).astype(dtype)

    numbers = numpy.asarray(drawn())
    parts = {name: part.copy() for name, part in constant(numbers).items()}
    if not labels or not numbers.size:
        return Pair(np.array(numbers), parts)
    parts["residual"] = numpy.asarray(drawn())
    groups = numpy.unique(rng.integers(0, len(labels), shape), return_inverse=True)[1].reshape(shape)
    labels = labels[: int(groups.max()) + 1]
    for i, label in enumerate(labels):
        parts[label][...] = numpy.where(groups == i, numbers - parts["residual"], 0)
    real = dtype if dtype.kind in "fc" else numpy.dtype(float)
    bases, values = (np.array(numbers.astype(real)) for numbers in (parts["residual"], numbers))
    made = np.decompose(values, baseline=bases, groups=np.array(groups), labels=labels)
    return Pair(made.astype(dtype.name), parts)


def some_labels(rng):
    return ((), (), LABELS[:1], LABELS[:2], LABELS[1:], LABELS)[rng.integers(0, 6)]


# --- the law ----------------------------------------------------------------------------------------------------------


def smooth(f, *partials):
    """The law for a function of its operands' parts: f of the residuals, and the integral of each partial derivative
    along the straight segment from residuals to values, times the components."""

    def parts(*operands):
        low = [numpy.asarray(o["residual"]) for o in operands]
        step = [numpy.asarray(o["value"]) - r for o, r in zip(operands, low)]
        made = {"residual": f(*low)} | dict.fromkeys(LABELS, 0)
        for t, weight in zip(NODES, WEIGHTS):
            points = [r + t * s for r, s in zip(low, step)]
            for derivative, operand in zip(partials, operands):
                slope = weight * derivative(*points)
                for label in LABELS:
                    made[label] = made[label] + slope * operand[label]
        return made

    return parts


def secant(f, slope):
    """The law for a function of one operand whose derivative the quadrature does not see: jumps and kinks. `slope` is
    the derivative, where residual and value are one."""

    def parts(x, *others):
        value, residual = x["value"], x["residual"]
        step = value - residual
        rise = f(value) - f(residual)
        factor = numpy.where(step == 0, slope(value), rise / numpy.where(step == 0, 1, step))
        return {"residual": f(residual)} | {label: x[label] * factor for label in LABELS}

    return parts


def bilinear(product):
    """The law for a product: each operand's components times the other's midpoint."""

    def parts(a, b):
        half = [numpy.asarray(o["value"]) / 2 + numpy.asarray(o["residual"]) / 2 for o in (a, b)]
        made = {"residual": product(numpy.asarray(a["residual"]), numpy.asarray(b["residual"]))}
        for label in LABELS:
            made[label] = product(numpy.asarray(a[label]), half[1]) + product(half[0], numpy.asarray(b[label]))
        return made

    return parts


def quotient(a, b):
    """The law for a quotient: a product with the reciprocal."""
    inverse = {"value": 1 / numpy.asarray(b["value"])} | smooth(lambda u: 1 / u, lambda u: -1 / u**2)(b)
    return bilinear(numpy.multiply)(a, inverse) | {"residual": numpy.divide(a["residual"], b["residual"])}


def modulus(x):
    """The law for the absolute value of complex numbers: of each component, the part along the number, on the whole way
    from residual to value; the integrals of 1/|z| and of t/|z| in closed form."""
    low, step = (numpy.asarray(its, complex) for its in (x["residual"], x["value"] - x["residual"]))
    length = numpy.where(step == 0, 1, abs(step))
    along, across = (numpy.conj(step) * low / length).real, (numpy.conj(step) * low / length).imag
    # In units of |step|, along the way: z = (along + i across + t |step|) step / |step|
    first, last = along, along + length
    straight = abs(across) <= 1e-12 * (abs(first) + abs(last))
    height = numpy.where(straight, 1, across)
    inverse = numpy.where(
        straight, 0, (numpy.arcsinh(last / height) - numpy.arcsinh(first / height)) * numpy.sign(height)
    )
    real = (
        numpy.where(straight, abs(last) - abs(first), numpy.hypot(last, height) - numpy.hypot(first, height)) / length
    )
    direction = (real + 1j * numpy.where(straight, 0, height * inverse) / length) * step / length
    at_rest = low / numpy.where(low == 0, 1, abs(low))
    unit = numpy.where(step == 0, at_rest, direction)
    made = {"value": abs(x["value"]), "residual": abs(x["residual"])}
    return made | {label: (numpy.conj(unit) * x[label]).real for label in LABELS}


def rounded(parts):
    """Whether parts add up to single precision only, in which some of them were computed: a law that divides by what
    they should add up to, or by what they do, then gives one or the other."""
    value, residual = (numpy.add(parts[name], 0.0) for name in ("value", "residual"))
    with numpy.errstate(all="ignore"):
        missing = numpy.abs(value - residual - sum(parts[label] for label in LABELS))
    return bool(numpy.any(missing > 1e-11 * (1 + numpy.abs(value))))


def into(dtype, y):
    """The law for a cast to a dtype: integers move by steps."""
    if dtype.kind in "fc" or numpy.asarray(y["value"]).dtype.kind not in "fc":
        return y
    value, residual = (numpy.asarray(y[name]).real for name in PARTS[:2])
    step = numpy.trunc(value) - numpy.trunc(residual)
    moved = numpy.isfinite(step) & (step != 0)
    factor = numpy.where(moved, step, 0) / numpy.where(moved, value - residual, 1)
    # Arrays, also of no axes: NumPy writes no scalar that is NaN into integers, but casts an array.
    made = {"value": numpy.asarray(numpy.trunc(value)), "residual": numpy.asarray(numpy.trunc(residual))}
    return made | {label: numpy.where(moved, numpy.real(y[label]) * factor, 0) for label in LABELS}


# --- keys -------------------------------------------------------------------------------------------------------------


def basic_key(rng, shape):
    """Integers, slices (backwards too), None and an Ellipsis, for some of the axes."""
    key = []
    for n in shape:
        kind = rng.integers(0, 7)
        start, stop = sorted(rng.integers(0, n + 1, 2).tolist())
        if kind == 0 and n:
            key.append(int(rng.integers(-n, n)))
        elif kind == 1:
            key.append(slice(start, stop))
        elif kind == 2:
            key.append(slice(None, None, int(rng.integers(1, 3))))
        elif kind == 3:
            key.append(slice(None, None, -int(rng.integers(1, 3))))
        elif kind == 4:
            key.append(slice(stop, None if rng.integers(0, 2) else start, -1))
        else:
            key.append(slice(None))
    key = key[: int(rng.integers(0, len(key) + 1))]
    if rng.integers(0, 4) == 0:
        key.insert(int(rng.integers(0, len(key) + 1)), None)
    if rng.integers(0, 4) == 0:
        left = len(shape) - sum(item is not None for item in key)
        at = int(rng.integers(0, len(key) + 1)) if not left else len(key)
        key.insert(at, Ellipsis)
    return tuple(key)


def any_key(rng, shape):
    """A key with arrays, alone or mixed with slices; now and then one that is out of bounds or does not fit."""
    kind = rng.integers(0, 9)
    n = shape[0] if shape else 0
    if kind < 4 or not shape:
        return basic_key(rng, shape)
    if kind == 4:
        return rng.integers(0, 2, shape).astype(bool)
    if kind == 5:
        return rng.integers(0, 2, n).astype(bool)
    if kind == 6 and n:
        return rng.integers(-n, n, int(rng.integers(0, 4)))
    if kind == 7 and n and len(shape) > 1 and shape[-1]:
        places = rng.integers(0, n, int(rng.integers(1, 3)))
        last = [slice(None, None, -1), slice(0, 2), int(rng.integers(0, shape[-1])), slice(None)][rng.integers(0, 4)]
        return (places, Ellipsis, last)
    if kind == 8 and n and rng.integers(0, 3) == 0:
        return numpy.array([0, n])  # out of bounds
    if n and len(shape) > 1 and shape[1]:
        places = rng.integers(0, n, (2, 1)), rng.integers(0, shape[1], (1, 2))
        return places if len(shape) == 2 else (*places, slice(None))
    return basic_key(rng, shape)


def of(lib, key):
    """The key with its arrays made by the library."""
    if isinstance(key, tuple):
        return tuple(of(lib, item) for item in key)
    return lib.array(key) if isinstance(key, numpy.ndarray) else key


# --- the arrays of a program -----------------------------------------------------------------------------------------


def builtin(error):
    """The class of Python's own that an error is."""
    return next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")


def owner(part):
    """The array that owns the memory. (NumPy has it behind an object that is no array, where it sets strides.)"""
    base = part.base
    while base is not None:
        part = base if isinstance(base, numpy.ndarray) else part
        base = getattr(base, "base", None)
    return part


def restore(root, old):
    """Write what was there before an error, through views that may have been frozen."""
    for name, part in root.parts.items():
        writeable = part.flags.writeable
        if not writeable and not part.flags.owndata:
            continue
        if not writeable:  # NumPy minds of a view of what is frozen by now, though it be writeable
            part.flags.writeable = True
        part[...] = old[name].reshape(part.shape)
        if not writeable:
            part.flags.writeable = False


def small(*pairs):
    """Whether integers do not overflow, whatever is computed of these parts."""
    sizes = [numpy.abs(part).max(initial=0) for pair in pairs for part in pair.parts.values()]
    return all(size < 2**26 for size in sizes)  # NaN is not


def tried(function):
    try:
        return function(), None
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError, RuntimeError) as error:
        return None, error


class Arrays(RuleBasedStateMachine):
    """Arrays beside their models, and one step of writing into both. The rules are in `test_aliasing_machine`."""

    def __init__(self):
        super().__init__()
        self.pairs = []
        self.roots = []  # the models that own memory: restored after an error
        self.log = []

    # -- bookkeeping -----------------------------------------------------------------------------------------------

    def keep(self, pair, root=False):
        if root:
            self.roots.append(Pair(None, {name: owner(part) for name, part in pair.parts.items()}))
        self.pairs.append(pair)
        if len(self.pairs) > MOST:
            self.pairs.pop(0 if len(self.pairs) % 2 else 1)
        return pair

    def pick(self, rng):
        return self.pairs[int(rng.integers(0, len(self.pairs)))]

    def fresh(self, rng, shape, dtype=None, low=-6, high=7):
        return source(rng, shape, dtype or DTYPES[rng.integers(0, len(DTYPES))], some_labels(rng), low, high)

    def operand(self, rng, shape, like):
        """What to write or to add: another array, perhaps over the same memory, a number, or something new."""
        kind = int(rng.integers(0, 10))
        dtype = like.value.dtype
        if kind < 4:
            others = [p for p in self.pairs if p.value.shape == shape or not p.value.ndim]
            if others:
                return others[int(rng.integers(0, len(others)))]
        if kind == 4:
            number = [2, -1, 1.5, True, 1j, numpy.nan][rng.integers(0, 6 if dtype.kind == "f" else 5)]
            return Pair(number, constant(number))
        if kind == 5 and dtype.kind in "fc":
            pair = self.fresh(rng, (2,), dtype)
            return Pair(pair.array[1], {name: part[1] for name, part in pair.parts.items()})
        if kind == 6:
            return self.fresh(rng, shape, None)
        if kind == 7 and shape:
            return self.fresh(rng, shape[1:], dtype)
        if kind == 8 and shape:
            return self.fresh(rng, tuple(1 if rng.integers(0, 2) else n for n in shape), dtype)
        if kind == 9 and rng.integers(0, 3) == 0:
            return self.fresh(rng, (5, *shape), dtype)  # which does not fit
        return self.fresh(rng, shape, dtype)

    # -- one step --------------------------------------------------------------------------------------------------

    def write(self, text, step, target, *others, law=None, mask=None, exact=True):
        """`step(lib, x, *others)` writes into x. Without a law it is the same step in each of the parts."""
        if not target.carries or (target.integral and not small(target, *others)):
            # Contributions to bits, or to what may not fit an integer, are dropped: they are given plain numbers.
            if target.carries and target.is_decomposed:
                return
            others = tuple(Pair(o.array.value, constant(o.value)) if o.is_decomposed else o for o in others)
        self.log.append((text, target.value.shape, str(target.value.dtype)))
        before = [root.taken() for root in self.roots]
        x, ys = target.taken(), [other.taken() for other in others]
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            _, wanted = tried(lambda: step(numpy, target.value, *[y["value"] for y in ys]))
            _, found = tried(lambda: step(np, target.array, *[other.array for other in others]))
            if wanted is not None:
                for old, root in zip(before, self.roots, strict=True):
                    restore(root, old)
                assert found is not None, f"{text}: NumPy raises {wanted!r}"
                assert builtin(found) is builtin(wanted), f"{text}: {found!r}, NumPy {wanted!r}"
                return
            if found is not None:
                raise AssertionError(f"{text}: {found!r}, which NumPy does not raise") from found
            if not target.carries:
                self.drop(target, x["value"])
            elif law is None:
                ys = [into(target.value.dtype, y) for y in ys]
                for name in PARTS[1:]:
                    step(numpy, target.parts[name], *[y[name] for y in ys])
            else:
                made = law(x, *ys)
                for name in PARTS[1:]:
                    part = target.parts[name]
                    part[...] = made[name] if mask is None else numpy.where(mask, made[name], part)
        single = [numpy.asarray(other.value).dtype in (numpy.float32, numpy.complex64) for other in (target, *others)]
        single += [rounded(parts) for parts in (x, *ys)]
        bits = not target.carries or all(pair.floats is None for pair in self.pairs)
        self.compare(exact, any(single), bits)

    def drop(self, target, before):
        """Contributions of numbers whose bits were written. A copy that stands for a reversed view knows no more of a
        write than which bits are others now: then those that are not keep what they have, all of them."""
        if not target.value.flags.writeable:
            return
        same, old = before == target.value, {name: target.parts[name].copy() for name in PARTS[1:]}
        for name in PARTS[1:]:
            target.parts[name][...] = target.value if name == "residual" else 0
        seen = [pair for pair in self.pairs if pair.carries and numpy.shares_memory(pair.value, target.value)]
        ends = [(numpy.asarray(pair.array.residual), pair.parts["residual"]) for pair in seen]
        if not all(numpy.allclose(*both, rtol=1e-9, atol=1e-9, equal_nan=True) for both in ends):
            for name in PARTS[1:]:
                target.parts[name][same] = old[name][same]

    def compare(self, exact, single=False, bits=True):
        """Each array with its model. Values are equal if `exact`, and so are bits if `bits`: what a function leaves of
        a float may have another sign of zero, or another one of the numbers that are none, on another processor."""
        for pair in self.pairs:
            found = named_parts(pair.array, pair.carries)
            undefined = numpy.isnan(pair.value) | numpy.isnan(pair.parts["residual"])
            for name, wanted in pair.parts.items():
                if name in found:
                    part = numpy.asarray(found[name])
                    assert part.shape == wanted.shape, (name, part, wanted)
                    assert part.dtype == wanted.dtype or (pair.integral and name in LABELS), (name, part, wanted)
                elif pair.carries:
                    part = numpy.zeros(wanted.shape)
                else:
                    continue
                if name in LABELS:  # what is not there has contributed nothing to what is no number; 0 · nan is nan
                    nothing = undefined & numpy.isnan(wanted) & (part == 0)
                    part, wanted = (numpy.where(nothing, 0, its) for its in (part, wanted))
                elif not pair.carries and (bits or pair.floats is None):
                    assert numpy.array_equal(part, wanted), (name, part, wanted, self.log[-6:])
                    continue
                elif not pair.carries:
                    part, wanted = (its.view(pair.floats) for its in (part, wanted))
                if name == "value" and exact:
                    assert numpy.array_equal(part, wanted, equal_nan=True), (name, part, wanted, self.log[-6:])
                sizes = (numpy.abs(its[numpy.isfinite(its)]) for its in (pair.value if pair.carries else part, wanted))
                scale = max(1.0, *(float(size.max(initial=0)) for size in sizes))
                coarse = single or wanted.dtype.itemsize // (1 + (wanted.dtype.kind == "c")) == 4
                tolerance = scale * (2e-5 if coarse else 1e-10)
                assert numpy.allclose(part, wanted, rtol=0, atol=tolerance, equal_nan=True), (
                    name, part, wanted, self.log[-6:]
                )  # fmt: skip
        if (
            single
            or not (exact and bits)
            or any(numpy.isnan(pair.parts["residual"] + pair.value).any() for pair in self.pairs)
        ):
            self.settle()

    def settle(self):
        """Take over what was compared to rounding, so that the next step starts from equal numbers."""
        for pair in self.pairs:
            found = named_parts(pair.array, pair.carries)
            for name, part in pair.parts.items():
                if name in found and part.flags.writeable:
                    part[...] = numpy.asarray(found[name])
                elif name in LABELS and pair.carries and part.flags.writeable:  # what is not there, and no 0 · nan
                    part[numpy.isnan(part)] = 0

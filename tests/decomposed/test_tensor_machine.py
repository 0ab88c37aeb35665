"""In-place methods, assignments, `out=` and views in any order on torch tensors, decomposed or not: after every step
value, residual and components are those of plain tensors that share memory as they do, each written by torch itself.

A plain tensor that receives decomposed numbers becomes decomposed, and so does the tensor that it is a view of. Where
another tensor over the memory would not know, it raises, and nothing is changed. npdec arrays wrap some of the tensors,
and are written and looked at in between.
"""

from __future__ import annotations

import operator
import warnings

import numpy
import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import npdec as np
from aliasing import named_parts
from npdec import DecomposedTensor

LABELS = ("a", "b", "c")
PARTS = ("value", "residual", *LABELS)
SEEDS = st.integers(0, 2**20)
DTYPES = (torch.float64, torch.float64, torch.float32, torch.complex128, torch.int64)
MOST, LARGE = 7, 2**10


class Views:
    """Arrays that know of each other, as one is a view of the other. They are read-only if they were made over a tensor
    of which several elements are one in memory."""

    def __init__(self, tensor):
        self.frozen = once(tensor) is not tensor


class Pair:
    """A tensor (or a number), plain tensors for its parts, and an array that wraps it, if there is one."""

    def __init__(self, tensor, parts, array=None, views=None):
        self.tensor = tensor
        self.parts = parts
        self.array = array
        self.views = views

    @property
    def value(self):
        return self.parts["value"]

    @property
    def integral(self):
        return not self.value.is_floating_point() and not self.value.is_complex()

    @property
    def labels(self):
        return self.tensor.labels if isinstance(self.tensor, DecomposedTensor) else ()

    def taken(self):
        return {name: part.clone() if isinstance(part, torch.Tensor) else part for name, part in self.parts.items()}


def constant(numbers):
    nothing = type(numbers)(0)
    if isinstance(numbers, torch.Tensor):  # integers have real contributions
        exact = numbers.is_floating_point() or numbers.is_complex()
        nothing = torch.zeros_like(numbers, dtype=numbers.dtype if exact else torch.float64)
    return {name: numbers if name in ("value", "residual") else nothing for name in PARTS}


def source(rng, shape, dtype, labels):
    numbers = torch.from_numpy(numpy.asarray(rng.integers(-6, 7, shape))).to(dtype)
    parts = {name: part.clone() for name, part in constant(numbers).items()}
    if not labels or not numbers.numel():
        return Pair(numbers.clone(), parts)
    parts["residual"] = torch.from_numpy(numpy.asarray(rng.integers(-6, 7, shape))).to(dtype)
    groups = torch.from_numpy(numpy.asarray(rng.integers(0, len(labels), shape)))
    groups = torch.unique(groups, return_inverse=True)[1].reshape(shape)
    labels = labels[: int(groups.max()) + 1]
    for i, label in enumerate(labels):
        parts[label] = torch.where(groups == i, numbers - parts["residual"], 0).to(parts[label].dtype)
    real = torch.float64 if dtype is torch.int64 else dtype
    ends = [part.to(real, copy=True) for part in (numbers, parts["residual"])]
    made = np.decompose(ends[0], baseline=ends[1], groups=groups, labels=labels)
    return Pair(made.to(dtype), parts)


def exact(x):
    """Integers as the numbers that they are."""
    return x.to(torch.float64) if x.dtype is torch.int64 else x


def into(dtype, y):
    """The law for a cast: integers move by steps."""
    if dtype is not torch.int64 or not isinstance(y["value"], torch.Tensor) or y["value"].dtype is dtype:
        return y
    value, residual = (y[name].real if y[name].is_complex() else y[name] for name in PARTS[:2])
    step = torch.trunc(value) - torch.trunc(residual)
    factor = torch.where(step == 0, 0, step / torch.where(step == 0, 1, value - residual))
    made = {"value": y["value"], "residual": y["residual"]}
    return made | {label: torch.where(step == 0, 0, y[label].real * factor).double() for label in LABELS}


def small(*pairs):
    """Whether integers do not overflow, whatever is computed of these parts."""
    return all(
        float(abs(part).max() if part.numel() else 0) < 2**26
        for pair in pairs
        for part in map(torch.as_tensor, pair.parts.values())
    )


def bilinear(product):
    """The law for a product: each operand's components times the other's midpoint."""

    def parts(a, b):
        half = [exact(o["value"]) / 2 + exact(o["residual"]) / 2 for o in (a, b)]
        made = {"residual": product(a["residual"], b["residual"])}
        return made | {label: product(a[label], half[1]) + product(half[0], b[label]) for label in LABELS}

    return parts


def secant(f, slope):
    """The law for a function of one operand, element by element."""

    def parts(x):
        step = x["value"] - x["residual"]
        rise = f(x["value"]) - f(x["residual"])
        factor = torch.where(step == 0, slope(x["value"]), rise / torch.where(step == 0, 1, step))
        return {"residual": f(x["residual"])} | {label: x[label] * factor for label in LABELS}

    return parts


def tried(function):
    try:
        return function(), None
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return None, error


def once(x, like=None):
    """The elements of a tensor but for those that are one with another in memory, of x or of a tensor like it."""
    steps = (x if like is None else like).stride()
    if all(step or n < 2 for n, step in zip(x.shape, steps, strict=True)):
        return x
    return x[tuple(slice(None) if step else slice(1) for step in steps)]


def share(a, b):
    return a.untyped_storage()._cdata == b.untyped_storage()._cdata


class Tensors(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.pairs = []
        self.log = []

    def keep(self, pair):
        self.pairs.append(pair)
        if len(self.pairs) > MOST:
            self.pairs.pop(len(self.pairs) % 2)

    def pick(self, rng):
        return self.pairs[int(rng.integers(0, len(self.pairs)))]

    def fresh(self, rng, shape, dtype=None):
        labels = ((), (), LABELS[:1], LABELS[:2], LABELS[1:], LABELS)[rng.integers(0, 6)]
        return source(rng, shape, dtype or DTYPES[rng.integers(0, len(DTYPES))], labels)

    def operand(self, rng, shape, like):
        """Another tensor of the shape (not over the same memory, but where it is the same), a number, or a new one."""
        kind = rng.integers(0, 8)
        if like.integral and kind > 4:  # whose steps integers hold
            return self.fresh(rng, shape, torch.float64)
        if kind < 3:
            others = [
                pair
                for pair in self.pairs
                if pair.value.shape == shape and (pair is like or not share(pair.value, like.value))
            ]
            if others:
                return others[int(rng.integers(0, len(others)))]
        if kind == 3:
            number = [2, -1, 0.5, 1j][rng.integers(0, 4)]
            return Pair(number, constant(number))
        if kind == 4:
            return self.fresh(rng, shape)
        if kind == 5 and len(shape):
            return self.fresh(rng, shape[1:], like.value.dtype)
        if kind == 6 and rng.integers(0, 3) == 0:
            return self.fresh(rng, (5, *shape), like.value.dtype)  # which does not fit
        return self.fresh(rng, shape, like.value.dtype)

    # -- one step --------------------------------------------------------------------------------------------------

    def write(self, text, step, target, *others, law=None, exact=True, wrapped=False):
        """`step(x, *others)` writes into x. Without a law it is the same step in each of the parts. If `wrapped`, the
        step is done to the array."""
        if target.integral and not small(target, *others):
            return None  # what overflows carries nothing
        self.log.append((text, tuple(target.value.shape), target.value.dtype))
        relatives = [pair for pair in self.pairs if share(pair.value, target.value)]
        before = [(pair, pair.taken()) for pair in relatives]
        state = [(pair.tensor, type(pair.tensor), pair.labels) for pair in relatives]
        x, ys = target.taken(), [other.taken() for other in others]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, wanted = tried(lambda: step(target.value, *[y["value"] for y in ys]))
            written = target.array if wrapped else target.tensor
            _, found = tried(lambda: step(written, *[other.tensor for other in others]))
        refused = found is not None and "shares its memory" in str(found)
        # Of elements that are one in memory torch refuses some writes, and npdec more.
        expanded = (
            found is not None and "single memory location" in str(found) and once(target.value) is not target.value
        )
        frozen = wrapped and target.views.frozen
        if wanted is not None or refused or expanded or frozen:
            for pair, old in before:
                for name in PARTS:
                    once(pair.parts[name]).copy_(once(old[name], pair.parts[name]))
            assert found is not None, f"{text}: torch raises {wanted!r}"
            assert state == [(pair.tensor, type(pair.tensor), pair.labels) for pair in relatives], text
            if refused:
                new = {label for other in others for label in other.labels} - set(target.labels)
                assert new, (text, found, target.labels)
                alone = all(pair.labels for pair in relatives) and target.value._base is None
                assert not alone, (text, [pair.labels for pair in relatives])
                assert not wrapped or any(pair.views is not target.views for pair in relatives), text
            elif frozen and wanted is None:
                assert "read-only" in str(found), f"{text}: {found!r}"
            elif not expanded:
                assert type(found).__mro__[-3] is type(wanted).__mro__[-3], f"{text}: {found!r}, torch {wanted!r}"
            return self.compare(exact=True)
        if found is not None:
            raise AssertionError(f"{text}: {found!r}, which torch does not raise") from found
        if law is None:
            ys = [into(target.value.dtype, y) for y in ys]
            with warnings.catch_warnings():  # torch's, of elements that are one in memory
                warnings.simplefilter("ignore")
                for name in PARTS[1:]:
                    step(target.parts[name], *[y[name] for y in ys])
        else:
            made = law(x, *ys)
            for name in PARTS[1:]:
                target.parts[name].copy_(made[name])
        single = {torch.float32} & {getattr(other.value, "dtype", None) for other in (target, *others)}
        return self.compare(exact, bool(single))

    def compare(self, exact, single=False):
        for pair in self.pairs:
            found = {"residual": pair.tensor} | named_parts(pair.tensor, isinstance(pair.tensor, DecomposedTensor))
            for name, wanted in pair.parts.items():
                part = found.get(name, torch.zeros_like(wanted))
                assert part.shape == wanted.shape, (name, self.log[-6:])
                assert part.dtype is wanted.dtype or (pair.integral and name in LABELS), (name, self.log[-6:])
                part, coarse = part.to(wanted.dtype), part.dtype is torch.float32
                if name == "value" and exact:
                    assert torch.equal(part, wanted), (name, part, wanted, self.log[-6:])
                scale = max([1.0, *(float(its.abs().max()) for its in (pair.value, wanted) if its.numel())])
                tolerance = scale * (2e-5 if single or coarse else 1e-10)
                assert torch.allclose(part, wanted, rtol=0, atol=tolerance), (name, part, wanted, self.log[-6:])
        if single or not exact:
            for pair in self.pairs:
                if not isinstance(pair.tensor, DecomposedTensor) or not all(pair.value.stride()):
                    continue
                for name, part in named_parts(pair.tensor, True).items():
                    pair.parts[name].copy_(part)

    # -- new tensors -----------------------------------------------------------------------------------------------

    @initialize(seed=SEEDS)
    def first(self, seed):
        self.another(seed)
        self.another(seed + 1)

    @rule(seed=SEEDS)
    def another(self, seed):
        rng = numpy.random.default_rng(seed)
        shape = tuple(rng.integers(1, 4, int(rng.integers(0, 4))).tolist())
        self.keep(self.fresh(rng, (3, 3) if rng.integers(0, 4) == 0 else shape))

    @rule(seed=SEEDS, kind=st.integers(0, 7))
    def computed(self, seed, kind):
        """The result of an operation, whose parts need not lie in memory as its value does. Its model is made of it."""
        rng = numpy.random.default_rng(seed)
        shape = tuple(rng.integers(1, 4, 3).tolist())
        x = source(rng, shape, torch.float64, LABELS[: int(rng.integers(1, 3))]).tensor
        y = source(rng, shape[-1:], torch.float64, ((), LABELS[1:])[rng.integers(0, 2)]).tensor
        made = [
            lambda: x * y,
            lambda: x.permute(2, 1, 0) + y.sum(),
            lambda: torch.tanh(torch.ones(3, 1, dtype=x.dtype) * x[0, 0]),
            lambda: torch.einsum("ijk,k->ikj", x, y),
            lambda: F.linear(x, torch.ones(2, shape[-1], dtype=x.dtype), torch.zeros(2, dtype=x.dtype)),
            lambda: torch.exp(x[0, 0].expand(3, -1) * 0.125),
            lambda: torch.stack([y, y]).T + torch.zeros(2, dtype=x.dtype),
            # Numbers that are no integers make that no row is constant: its norm would be rounding, with a warning.
            lambda: F.layer_norm(x + 0.3 * torch.arange(shape[-1]), shape[-1:]) if shape[-1] > 1 else x + 1,
        ][kind]()
        parts = {"value": made.detach(), "residual": made.detach()}
        if isinstance(made, DecomposedTensor):
            parts = {"value": made.value, "residual": made.residual}
            parts |= dict(zip(made.labels, made.components, strict=True))
        model = {name: torch.empty_strided(made.shape, parts["value"].stride(), dtype=made.dtype) for name in PARTS}
        for name in PARTS:
            model[name].copy_(parts[name]) if name in parts else model[name].zero_()
        self.keep(Pair(made, model))

    @rule(seed=SEEDS)
    def look(self, seed):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        ndim, shape = pair.value.ndim, tuple(pair.value.shape)
        axis = int(rng.integers(0, ndim)) if ndim else 0
        axes = rng.permutation(ndim).tolist()
        n = shape[axis] if ndim else 1
        looks = [
            lambda x: x[0],
            lambda x: x[..., -1],
            lambda x: x[1:],
            lambda x: x[:, ::2],
            lambda x: x[None],
            lambda x: x[...],
            lambda x: x.permute(axes),
            lambda x: x.mT if x.ndim > 1 else x[...],
            lambda x: x.transpose(0, axis),
            lambda x: x.reshape(-1),
            lambda x: x.flatten(),
            lambda x: x.view(*shape, 1),
            lambda x: x.unsqueeze(axis),
            lambda x: x.squeeze(),
            lambda x: x.narrow(axis, 0, max(1, n - 1)),
            lambda x: x.select(axis, n - 1),
            lambda x: x.unbind(axis)[0],
            lambda x: torch.split(x, 1, axis)[-1],
            lambda x: x.chunk(2, axis)[0],
            lambda x: x.diagonal(),
            lambda x: x.expand(2, *shape),
            lambda x: x.movedim(0, axis),
            lambda x: x.unfold(axis, 1, 1),
            lambda x: x.real if x.is_complex() else x.view(shape),
            lambda x: torch.view_as_real(x) if x.is_complex() else x.ravel(),
            lambda x: x.detach(),
            lambda x: x.clone(),
            lambda x: x.contiguous(),
            lambda x: x.flip(0) if x.ndim else x[...],
            lambda x: x + 0,
            lambda x: x.t() if x.ndim == 2 else x.adjoint() if x.ndim > 2 else x[...],
        ]
        kind = int(rng.integers(0, len(looks)))
        seen, error = tried(lambda: looks[kind](pair.value))
        made, found = tried(lambda: looks[kind](pair.tensor))
        if error is not None:
            assert found is not None, (kind, error)
            return
        if found is not None:
            raise AssertionError(f"view {kind}") from found
        assert made.shape == seen.shape, kind
        own = made.value if isinstance(made, DecomposedTensor) else made
        whole = pair.tensor.value if isinstance(pair.tensor, DecomposedTensor) else pair.tensor
        assert share(own, whole) == share(seen, pair.value), (kind, self.log[-6:])
        self.log.append((f"view {kind}", shape, seen.dtype))
        if made is not pair.tensor:
            self.keep(Pair(made, {"value": seen} | {name: looks[kind](pair.parts[name]) for name in PARTS[1:]}))

    # -- writes ----------------------------------------------------------------------------------------------------

    @rule(seed=SEEDS, kind=st.integers(0, 12))
    def assign(self, seed, kind):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        shape = tuple(pair.value.shape)
        n = shape[0] if shape else 1
        if not n:
            return
        mask = torch.from_numpy(numpy.asarray(rng.integers(0, 2, shape).astype(bool)))
        index = torch.from_numpy(rng.permutation(n)[: int(rng.integers(1, n + 1))])
        keys = [0, ..., slice(1, None), (slice(None), slice(None, None, 2)), mask, index, (..., 0), None,
                (None, ..., 0), (index, slice(None), 0), (0, ..., index[:1] * 0), [0, n - 1],
                (mask,)]  # fmt: skip
        key = keys[kind]
        region, _ = tried(lambda: pair.value[key])
        number = region is None or not region.numel()
        value = Pair(2, constant(2)) if number else self.operand(rng, tuple(region.shape), pair)
        if value.value is not value.tensor and isinstance(value.value, torch.Tensor) and value is pair:
            return
        update = int(rng.integers(0, 4))

        def step(x, y):
            if update == 0:
                x[key] += y
            else:
                x[key] = y

        self.write(f"x[{key}] = y ({update})", step, pair, value)

    @rule(seed=SEEDS, kind=st.integers(0, 19))
    def add(self, seed, kind):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        shape, dtype = tuple(pair.value.shape), pair.value.dtype
        value = self.operand(rng, shape, pair)
        same = self.fresh(rng, shape, dtype)
        tall = self.fresh(rng, (2, *shape), dtype)
        mask = torch.from_numpy(numpy.asarray(rng.integers(0, 2, shape).astype(bool)))
        n = shape[0] if shape else 1
        index = torch.from_numpy(rng.permutation(n))
        rows = self.fresh(rng, shape or (1,), dtype)
        steps = [
            (lambda x, y: x.add_(y), value),
            (lambda x, y: x.sub_(y), value),
            (operator.iadd, value),
            (operator.isub, value),
            (lambda x, y: x.copy_(y), same),
            (lambda x, y: x.copy_(y), value if isinstance(value.value, torch.Tensor) else same),
            (lambda x, y: torch.add(y, y, out=x), same),
            (lambda x, y: torch.sub(x, y, out=x), same),
            (lambda x, y: torch.sum(y, 0, out=x), tall),
            (lambda x, y: torch.cat([y[:1], y[1:]], out=x), rows),
            (lambda x, y: x.masked_scatter_(mask, y), same),
            (lambda x, y: x.index_copy_(0, index, y), rows),
            (lambda x, y: x.index_add_(0, index, y), rows),
            (lambda x, y: x.index_put_((index,), y), rows),
            (lambda x, y: x.add_(y, alpha=2), same),
            (lambda x, y: x.lerp_(y, 0.5), same),
            (lambda x, y: x.addcmul_(y, torch.full(shape, 2, dtype=dtype)), same),
            (lambda x, y: x.scatter_(0, torch.zeros(shape, dtype=torch.int64), y), same),
            (lambda x, y: x.index_fill_(0, index[:1], y.reshape(-1)[0]), same),
            (lambda x, y: x.masked_fill_(mask, y.reshape(-1)[0]), same),
        ]
        step, other = steps[kind]
        if (kind == 17 and shape and shape[0] > 1) or (kind == 9 and not shape) or (kind == 5 and other is pair):
            return
        self.write(f"add {kind}", step, pair, other, exact=kind not in (8, 15, 16))

    @rule(seed=SEEDS, kind=st.integers(0, 12))
    def scale(self, seed, kind):
        """By plain numbers: linear, but where numbers are set."""
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        mask = torch.from_numpy(numpy.asarray(rng.integers(0, 2, tuple(pair.value.shape)).astype(bool)))
        number = Pair(3, constant(3))
        if not pair.value.numel() or float(pair.value.abs().max()) > LARGE:
            kind = 2
        steps = [
            (lambda x: x.mul_(2), ()),
            (lambda x: x.neg_(), ()),
            (lambda x, y: x.fill_(y), (number,)),
            (lambda x: x.zero_(), ()),
            (lambda x: operator.imul(x, -1), ()),
            (lambda x: operator.itruediv(x, 2), ()),
            (lambda x, y: x.masked_fill_(mask, y), (number,)),
            (lambda x: torch.neg(x, out=x), ()),
            (lambda x: torch.mul(x, 2, out=x), ()),
            (lambda x: x.cumsum_(0), ()),
            (lambda x: x.triu_(), ()),
            (lambda x, y: x.fill_diagonal_(y), (number,)),
            (lambda x: x.swapaxes(0, -1).mul_(2), ()),
        ]
        step, others = steps[kind]
        self.write(f"scale {kind}", step, pair, *others, exact=kind != 9)

    @rule(seed=SEEDS, kind=st.integers(0, 4))
    def multiply(self, seed, kind):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        value = self.operand(rng, tuple(pair.value.shape), pair)
        if not isinstance(value.value, torch.Tensor):
            return
        if any(float(part.abs().max()) > LARGE for p in (pair, value) for part in p.parts.values() if part.numel()):
            self.scale(seed, 2)
            return
        n = pair.value.shape[-1] if pair.value.ndim else 1
        square = self.fresh(rng, (n, n), pair.value.dtype)
        steps = [
            (lambda x, y: x.mul_(y), value, torch.mul),
            (operator.imul, value, torch.mul),
            (lambda x, y: torch.mul(x, y, out=x), value, torch.mul),
            (lambda x, y: x.copy_(x @ y), square, torch.matmul),
            (lambda x, y: x.mul_(y).mul_(1), value, torch.mul),
        ]
        step, other, product = steps[kind]
        if not torch.can_cast(other.value.dtype, pair.value.dtype) or (kind == 3 and not pair.value.ndim):
            return
        self.write(f"multiply {kind}", step, pair, other, law=bilinear(product), exact=False)

    @rule(seed=SEEDS, kind=st.integers(0, 10))
    def curve(self, seed, kind):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        if pair.value.is_complex() or pair.integral or not pair.value.numel() or float(pair.value.abs().max()) > 64:
            return
        table = [
            (lambda x: x.square_(), torch.square, lambda u: 2 * u),
            (lambda x: x.pow_(2), torch.square, lambda u: 2 * u),
            (lambda x: x.tanh_(), torch.tanh, lambda u: 1 - torch.tanh(u) ** 2),
            (lambda x: x.abs_(), torch.abs, torch.sign),
            (lambda x: F.relu(x, inplace=True), torch.relu, lambda u: (u > 0).to(u.dtype)),
            (lambda x: x.relu_(), torch.relu, lambda u: (u > 0).to(u.dtype)),
            (lambda x: x.clamp_(-2.5, 2.5), lambda u: u.clamp(-2.5, 2.5), lambda u: (u.abs() <= 2.5).to(u.dtype)),
            (lambda x: torch.tanh(x, out=x), torch.tanh, lambda u: 1 - torch.tanh(u) ** 2),
            (lambda x: x.sigmoid_(), torch.sigmoid, lambda u: torch.sigmoid(u) * torch.sigmoid(-u)),
            (lambda x: x.atan_(), torch.atan, lambda u: 1 / (1 + u * u)),
            (lambda x: operator.ipow(x, 2), torch.square, lambda u: 2 * u),
        ]
        step, f, slope = table[kind]
        if kind in (3, 4, 5) and bool((pair.value == 0).any()):
            return  # at the kink each convention is one of several
        self.write(f"curve {kind}", step, pair, law=secant(f, slope), exact=False)

    # -- arrays ----------------------------------------------------------------------------------------------------

    def pick_array(self, rng):
        arrays = [pair for pair in self.pairs if pair.array is not None]
        return arrays[int(rng.integers(0, len(arrays)))] if arrays else None

    @rule(seed=SEEDS)
    def wrap(self, seed):
        pair = self.pick(numpy.random.default_rng(seed))
        array = np.asarray(pair.tensor)
        assert array.tensor is pair.tensor
        if pair.array is None:
            pair.array, pair.views = array, Views(pair.value)
        else:
            self.keep(Pair(pair.tensor, pair.parts, array, Views(pair.value)))

    @rule(seed=SEEDS, kind=st.integers(0, 7))
    def look_at_array(self, seed, kind):
        pair = self.pick_array(numpy.random.default_rng(seed))
        if pair is None or not pair.value.ndim:
            return
        look = [
            lambda x: x[1:],
            lambda x: x[:, ::2],
            lambda x: x[None],
            lambda x: x.reshape(-1),
            lambda x: x.T if x.ndim == 2 else x[...],
            lambda x: x[0, ...],
            lambda x: x.real,
            lambda x: x.swapaxes(0, -1),
        ][kind]
        seen, error = tried(lambda: look(pair.value))
        if error is None:
            made = look(pair.array)
            assert np.shares_memory(made, pair.array) == (share(seen, pair.value) and seen.numel() > 0)
            if share(seen, pair.value):
                parts = {"value": seen} | {name: look(pair.parts[name]) for name in PARTS[1:]}
                self.keep(Pair(made.tensor, parts, made, pair.views))

    @rule(seed=SEEDS, kind=st.integers(0, 6))
    def write_array(self, seed, kind):
        rng = numpy.random.default_rng(seed)
        pair = self.pick_array(rng)
        if pair is None or not pair.value.ndim or not pair.value.numel():
            return
        same = self.fresh(rng, tuple(pair.value.shape), pair.value.dtype)
        row = self.fresh(rng, tuple(pair.value.shape[1:]), pair.value.dtype)
        step, other = [
            (lambda x, y: operator.setitem(x, 0, y), row),
            (lambda x, y: operator.setitem(x, slice(1, None), y[1:]), same),
            (lambda x, y: operator.setitem(x, ..., y), same),
            (operator.iadd, same),
            (lambda x, y: operator.isub(x[1:], y[1:]), same),
            (lambda x, y: np.add(x, y, out=x) if isinstance(x, np.ndarray) else torch.add(x, y, out=x), same),
            (lambda x, y: operator.setitem(x[:1], 0, y), row),
        ][kind]
        self.write(f"array {kind}", step, pair, other, wrapped=True)

    @rule(seed=SEEDS)
    def forget(self, seed):
        if len(self.pairs) > 2:
            self.pairs.pop(int(numpy.random.default_rng(seed).integers(0, len(self.pairs))))

    @invariant()
    def still_agrees(self):
        self.compare(exact=True)


Tensors.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestTensors = pytest.mark.slow(Tensors.TestCase)


class Briefly(Tensors):
    """For the quick tests."""


Briefly.TestCase.settings = settings(Tensors.TestCase.settings, max_examples=8)
TestBriefly = Briefly.TestCase

"""Views, assignments, in-place operators and `out=` in any order, on arrays that share memory, decomposed or not: after
every step value, residual, components and errors are those of the model (`aliasing`) that NumPy computes."""

from __future__ import annotations

import operator

import numpy
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

import npdec as np
from aliasing import (
    LABELS,
    PARTS,
    Arrays,
    Pair,
    any_key,
    basic_key,
    bilinear,
    builtin,
    constant,
    into,
    modulus,
    of,
    quotient,
    secant,
    smooth,
    source,
    tried,
)  # fmt: skip

SEEDS = st.integers(0, 2**20)
LARGE = 2**12


def negate(lib, x, **options):
    """In place. (NumPy 2.4's own negative is wrong of float32 with steps between its elements.)"""
    return lib.negative(x, out=x, **options) if lib is np else lib.multiply(x, -1, out=x, **options)


def no_nan(x):
    """The law for nan_to_num. Where the numbers at both ends are none, zero takes their place, a constant; where one of
    them is none, that is a jump, which those components share that are no numbers themselves."""
    ends = [x["residual"], x["value"]]
    missing = [numpy.isnan(end) for end in ends]
    low, high = map(numpy.nan_to_num, ends)
    wild = {label: ~numpy.isfinite(x[label]) for label in LABELS}
    share = (high - low) / numpy.maximum(sum(its.astype(int) for its in wild.values()), 1)
    made = {label: numpy.where(missing[0] | missing[1], 0, x[label]) for label in LABELS}
    jump = missing[0] ^ missing[1]
    return {"residual": low} | {label: numpy.where(jump & wild[label], share, made[label]) for label in LABELS}


def chosen(bound, measure):
    """The law for x[measure(x) > bound] = y, which is x + (measure(x) > bound) (y - x): linear in the condition and in
    the numbers."""

    def law(x, y):
        size, y = measure(x), into(x["value"].dtype, y)
        before, after = size["residual"] > bound, size["value"] > bound
        jump = after.astype(float) - before
        jump = numpy.where(jump == 0, 0, jump / numpy.where(jump == 0, 1, size["value"] - size["residual"]))
        rise = ((y["value"] - x["value"]) + (y["residual"] - x["residual"])) / 2
        made = {"residual": numpy.where(before, y["residual"], x["residual"])}
        for label in LABELS:
            halves = [numpy.where(mask, y[label], x[label]) / 2 for mask in (before, after)]
            made[label] = halves[0] + halves[1] + numpy.where(jump == 0, 0, jump * size[label] * rise)
        return made

    return law


class Aliasing(Arrays):
    # -- new arrays ------------------------------------------------------------------------------------------------

    @initialize(seed=SEEDS)
    def first(self, seed):
        self.another(seed)
        self.another(seed + 1)

    @rule(seed=SEEDS)
    def another(self, seed):
        rng = numpy.random.default_rng(seed)
        shape = tuple(rng.integers(0 if rng.integers(0, 8) == 0 else 1, 5, int(rng.integers(0, 4))).tolist())
        if rng.integers(0, 4) == 0:
            shape = (3, 3)
        self.keep(self.fresh(rng, shape), root=True)

    @rule(seed=SEEDS, kind=st.integers(0, 11))
    def computed(self, seed, kind):
        """The result of an operation, whose parts need not lie in memory as its value does. Its model is made of it."""
        rng = numpy.random.default_rng(seed)
        shape = tuple(rng.integers(1, 4, 3).tolist())
        dtype = ["float64", "float32", "complex128"][rng.integers(0, 3)]
        x = source(rng, shape, dtype, LABELS[: int(rng.integers(1, 3))]).array
        other = source(rng, shape[-1:], dtype, ((), LABELS[1:])[rng.integers(0, 2)]).array
        made = [
            lambda: x * other,
            lambda: x.T + other[:1],
            lambda: np.exp(x * 0.125),
            lambda: x @ np.ones((shape[-1], 2), dtype=x.dtype),
            lambda: np.einsum("ijk->kij", x) * 2,
            lambda: np.einsum("ijk,k->ikj", x, other),
            lambda: np.concatenate([x, x.swapaxes(1, 2).swapaxes(1, 2)]),
            lambda: np.broadcast_to(other, (2, *other.shape)) * 1,
            lambda: np.where(x.value.real > 0, x, other),
            lambda: np.stack([other, other]).T + np.zeros(2, dtype=x.dtype),
            lambda: x[:, [0, 0]],
            lambda: np.tanh(np.ones((3, 1), dtype=x.dtype) * other),
        ][kind]()
        shape, strides = made.shape, made.strides
        axes = sorted(range(made.ndim), key=lambda axis: -strides[axis])
        value = numpy.empty([shape[axis] for axis in axes], made.dtype.name).transpose(numpy.argsort(axes))
        if value.strides != strides:
            return
        parts = dict.fromkeys(LABELS, 0) | {"value": made.value, "residual": made.residual}
        parts |= dict(zip(made.labels, made.components, strict=True))
        model = {name: numpy.empty_like(value) for name in PARTS}
        for name in PARTS:
            model[name][...] = numpy.asarray(parts[name])
        self.keep(Pair(made, model), root=True)

    @rule(seed=SEEDS, kind=st.integers(0, 29))
    def look(self, seed, kind):
        """A view of an array (or what turns out as a copy, or as the array itself)."""
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        look = self.looks(rng, pair, kind)
        seen, error = tried(lambda: look(numpy, pair.value))
        made, found = tried(lambda: look(np, pair.array))
        if error is not None:
            assert found is not None, (kind, error)
            assert builtin(found) is builtin(error), (kind, found, error)
            return
        if found is not None:
            raise AssertionError(f"view {kind}") from found
        assert isinstance(made, np.ndarray) == isinstance(seen, numpy.ndarray), (kind, made, seen)
        if not isinstance(seen, numpy.ndarray):
            return
        aliased = numpy.shares_memory(seen, pair.value)
        wanted = {"shape": seen.shape, "aliased": aliased, "itself": seen is pair.value}
        told = {"shape": made.shape, "aliased": np.shares_memory(made, pair.array), "itself": made is pair.array}
        if aliased and seen is not pair.value:
            wanted |= {"writeable": seen.flags.writeable, "owndata": seen.flags.owndata}
            told |= {"writeable": made.flags.writeable, "owndata": made.flags.owndata}
        assert told == wanted, (kind, told, wanted, self.log[-5:])
        if made is not pair.array:
            if pair.carries or aliased:
                parts = {"value": seen} | {name: look(numpy, pair.parts[name]) for name in PARTS[1:]}
            else:  # a copy of bits: integers of their own, which may carry from here on
                parts = {"value": seen} | {name: constant(seen)[name].copy() for name in PARTS[1:]}
            self.log.append((f"view {kind}", seen.shape, str(seen.dtype)))
            self.keep(Pair(made, parts), root=not aliased)
            self.compare(exact=True)

    @rule(seed=SEEDS)
    def look_at_bits(self, seed):
        """The same memory as integers, which carry no contributions: what is written so drops those that it covers."""
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        if pair.is_decomposed or pair.integral or not pair.value.flags.writeable or rng.integers(0, 2):
            return
        self.settle()
        dtype = {4: "int32", 8: "int64"}[pair.value.real.itemsize]
        look = lambda x: (x.real if x.dtype.kind == "c" else x).view(dtype)  # noqa: E731
        parts = {name: look(part) for name, part in pair.parts.items()}
        if numpy.shares_memory(parts["value"], pair.value):
            self.keep(Pair(look(pair.array), parts))

    def looks(self, rng, pair, kind):
        shape, ndim = pair.value.shape, pair.value.ndim
        axes = rng.permutation(ndim).tolist()
        axis = int(rng.integers(0, ndim)) if ndim else 0
        other = int(rng.integers(0, ndim)) if ndim else 0
        key = basic_key(rng, shape)
        order = "CFAK"[rng.integers(0, 4)]
        if kind < 6:
            return lambda lib, x: x[key]
        if kind == 6:
            fancy = any_key(rng, shape)
            return lambda lib, x: x[of(lib, fancy)]
        if kind == 7:
            part = ["real", "imag"][rng.integers(0, 2)]
            return lambda lib, x: getattr(x, part) if x.dtype.kind == "c" or part == "real" else x[...]
        if kind == 8:
            sizes = [(-1,), (*shape, 1), (shape[0] if shape else 1, -1) if 0 not in shape else (-1,), shape[::-1]]
            size = sizes[rng.integers(0, 4)]
            return lambda lib, x: x.reshape(size, order=order if order != "K" else "C")
        if kind == 9:
            windows = tuple(int(rng.integers(1, n + 1)) for n in shape if n) or (1,)
            writeable = bool(rng.integers(0, 2)) and all(n == 1 or w == 1 for n, w in zip(shape, windows))
            stride = lambda lib, x: lib.lib.stride_tricks.sliding_window_view(  # noqa: E731
                x, windows, writeable=writeable
            )
            return stride if 0 not in shape else lambda lib, x: x[...]
        if (
            kind == 10 and 0 not in pair.value.strides
        ):  # every second element of every axis, or overlapping windows (read-only here)
            size = tuple((n + 1) // 2 for n in shape)
            return lambda lib, x: lib.lib.stride_tricks.as_strided(x, size, tuple(2 * step for step in x.strides))
        if kind == 11 and ndim and shape[0] > 1:
            size = (shape[0] - 1, 2, *shape[1:])
            return lambda lib, x: lib.lib.stride_tricks.as_strided(x, size, (x.strides[0], *x.strides), writeable=False)
        if kind == 12:
            return lambda lib, x: lib.broadcast_to(x, (2, *x.shape))
        if kind == 13:
            return lambda lib, x: x.view(x.dtype)
        simple = [
            lambda lib, x: x.T,
            lambda lib, x: x.transpose(axes),
            lambda lib, x: x.swapaxes(axis, other),
            lambda lib, x: lib.moveaxis(x, axis, other),
            lambda lib, x: x.ravel(order),
            lambda lib, x: lib.ravel(x, order),
            lambda lib, x: x.diagonal(),
            lambda lib, x: lib.diag(x) if x.ndim == 2 else x.squeeze(),
            lambda lib, x: lib.flip(x, axis),
            lambda lib, x: lib.rot90(x) if x.ndim > 1 else lib.flip(x),
            lambda lib, x: lib.expand_dims(x, axis),
            lambda lib, x: lib.squeeze(x),
            lambda lib, x: lib.split(x, 1, axis)[0],
            lambda lib, x: lib.array_split(x, 2, axis)[-1],
            lambda lib, x: lib.atleast_3d(x),
            lambda lib, x: lib.asarray(x),
            lambda lib, x: x.mT,
            lambda lib, x: list(x)[-1],
            lambda lib, x: x.copy(),
            lambda lib, x: x.flatten(order),
            lambda lib, x: x.astype(x.dtype, copy=False),
            lambda lib, x: lib.real(x),
            lambda lib, x: lib.fliplr(x) if x.ndim > 1 else lib.flip(x),
            lambda lib, x: lib.unstack(x, axis=axis)[0],
            lambda lib, x: lib.ascontiguousarray(x),
            lambda lib, x: lib.require(x, requirements=["F"]),
            lambda lib, x: x.conj() if x.dtype.kind != "c" else x[...],
            lambda lib, x: lib.take(x, [0], axis=axis) if x.size else x.copy(),
            lambda lib, x: x[...] if numpy.isnan(pair.value).any() else lib.nan_to_num(x, copy=False),
            lambda lib, x: lib.permute_dims(x, axes),
            lambda lib, x: lib.broadcast_arrays(x, lib.zeros(x.shape))[0][...] if x.ndim else x[...],
        ]
        return simple[rng.integers(0, len(simple))]

    # -- writes ----------------------------------------------------------------------------------------------------

    @rule(seed=SEEDS)
    def assign(self, seed):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        key = any_key(rng, pair.value.shape)
        region, _ = tried(lambda: numpy.shape(pair.value[key]))
        simple = region is None or 0 in region  # one reason to refuse is enough
        value = self.fresh(rng, region or ()) if simple else self.operand(rng, region, pair)
        kind = rng.integers(0, 8)
        if kind == 0:

            def step(lib, x, y):
                x[of(lib, key)] += y

        elif kind == 1:

            def step(lib, x, y):
                x[of(lib, key)] -= y

        else:

            def step(lib, x, y):
                x[of(lib, key)] = y

        self.write(f"x[{key}] = y ({kind})", step, pair, value)

    @rule(seed=SEEDS)
    def assign_by_value(self, seed):
        """Where a condition holds, which carries what has moved the numbers across the bound."""
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        bound = int(rng.integers(-3, 4))
        array, measured = pair.array, pair.value.dtype.kind == "c"
        mask = abs(pair.value) > bound if measured else pair.value > bound
        number = self.operand(rng, (), pair)
        if numpy.ndim(number.value) and numpy.size(number.value) == mask.sum():
            return  # one for each place: the law below is that of one number

        def step(lib, x, y):
            x[mask if lib is numpy else abs(array) > bound if measured else array > bound] = y

        law = chosen(bound, modulus if measured else lambda x: x)
        self.write("x[x > bound] = y", step, pair, number, law=law)

    @rule(seed=SEEDS)
    def swap(self, seed):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        n = pair.value.shape[0] if pair.value.ndim else 0
        if not n:
            return
        i, j = (int(k) for k in rng.integers(-n, n, 2))
        kind = rng.integers(0, 3)
        places = rng.permutation(n)

        def step(lib, x):
            if kind == 0:
                x[i], x[j] = x[j], x[i]
            elif kind == 1:
                x[[i, j]] = x[[j, i]]
            else:
                x[:] = x[lib.array(places)]

        self.write(f"swap {kind} {i} {j}", step, pair)

    @rule(seed=SEEDS)
    def rows(self, seed):
        """In place in every row that iteration gives."""
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        value = self.operand(rng, pair.value.shape[1:], pair)
        if numpy.shares_memory(value.value, pair.value):
            return

        def step(lib, x, y):
            for row in x:
                row += y

        self.write("for row in x: row += y", step, pair, value)

    @rule(seed=SEEDS, kind=st.integers(0, 9))
    def add(self, seed, kind):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        value = self.operand(rng, pair.value.shape, pair)
        if kind in (7, 8) and pair.integral and not numpy.isfinite(value.value).all():
            return  # what becomes of them as integers is up to the processor
        mask = numpy.asarray(rng.integers(0, 2, pair.value.shape).astype(bool))
        steps = [
            lambda lib, x, y: operator.iadd(x, y),
            lambda lib, x, y: operator.isub(x, y),
            lambda lib, x, y: lib.add(x, y, out=x),
            lambda lib, x, y: lib.subtract(y, x, out=x),
            lambda lib, x, y: lib.add(x, y, x),
            lambda lib, x, y: lib.add(x, y, out=x, where=lib.array(mask)),
            lambda lib, x, y: lib.copyto(x, y),
            lambda lib, x, y: lib.copyto(x, y, where=lib.array(mask), casting="unsafe"),
            lambda lib, x, y: lib.add(x, y, out=(x,), casting="unsafe"),
            lambda lib, x, y: lib.subtract(x, y, out=x[::-1] if x.ndim else x),
        ]
        law = (lambda x, y: into(pair.value.dtype, {name: x[name] + y[name] for name in PARTS})) if kind == 8 else None
        self.write(f"add {kind}", steps[kind], pair, value, law=law)

    @rule(seed=SEEDS, kind=st.integers(0, 7))
    def scale(self, seed, kind):
        """By a plain number: linear."""
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        if not numpy.abs(pair.value).max(initial=0) < LARGE:
            return self.shrink(pair)
        mask = numpy.asarray(rng.integers(0, 2, pair.value.shape).astype(bool))
        factor = [2, -1, 0.5][rng.integers(0, 3)]
        factors = numpy.asarray(rng.integers(-2, 3, pair.value.shape)).astype(pair.value.dtype)
        steps = [
            lambda lib, x: operator.imul(x, factor),
            lambda lib, x: operator.itruediv(x, lib.float64(factor)),
            negate,
            lambda lib, x: negate(lib, x, where=lib.array(mask)),
            lambda lib, x: lib.multiply(x, lib.array(factors), out=x),
            lambda lib, x: lib.conjugate(x, out=x),
            lambda lib, x: lib.cumsum(x, axis=-1, out=x),
            lambda lib, x: lib.add.accumulate(x, axis=0, out=x),
        ]
        self.write(f"scale {kind} {factor}", steps[kind], pair, exact=kind < 6)

    def shrink(self, pair):
        self.write("fill", lambda lib, x, y: x.fill(y), pair, Pair(3, constant(3)))

    @rule(seed=SEEDS, kind=st.integers(0, 3))
    def multiply(self, seed, kind):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        value = self.operand(rng, pair.value.shape, pair)
        largest = [numpy.abs(p.parts[name]).max(initial=0) for p in (pair, value) for name in PARTS]
        if not all(size < LARGE for size in largest):
            return self.shrink(pair)
        mask = numpy.asarray(rng.integers(0, 2, pair.value.shape).astype(bool)) if kind == 2 else None
        steps = [
            lambda lib, x, y: operator.imul(x, y),
            lambda lib, x, y: lib.multiply(y, x, out=x),
            lambda lib, x, y: lib.multiply(x, y, out=x, where=True if mask is None else lib.array(mask)),
            lambda lib, x, y: lib.einsum("...,...->...", x, y, out=x) if y is not x else operator.imul(x, x),
        ]
        exact = kind < 3 and not any(numpy.iscomplexobj(p.value) for p in (pair, value))
        self.write(f"multiply {kind}", steps[kind], pair, value, law=bilinear(numpy.multiply), mask=mask, exact=exact)

    @rule(seed=SEEDS)
    def matmul(self, seed):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        n = pair.value.shape[-1] if pair.value.ndim else 0
        if not n:
            return None
        value = self.fresh(rng, (n, n), None if rng.integers(0, 4) == 0 else pair.value.dtype)
        if not numpy.abs(pair.value).max(initial=0) < LARGE:
            return self.shrink(pair)
        steps = [lambda lib, x, y: operator.imatmul(x, y), lambda lib, x, y: lib.matmul(x, y, out=x)]
        step = steps[rng.integers(0, 2)]
        return self.write("x @= y", step, pair, value, law=bilinear(numpy.matmul), exact=False)

    @rule(seed=SEEDS, kind=st.integers(0, 13))
    def curve(self, seed, kind):
        """Nonlinear functions of new operands, or in place, written into an array."""
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        dtype, shape = pair.value.dtype, pair.value.shape
        a = self.fresh(rng, shape, None if rng.integers(0, 4) == 0 else dtype, 1, 6)
        b = self.fresh(rng, shape[int(rng.integers(0, 2)) :], dtype, 1, 4)
        if kind == 6 and a.integral:  # 1 // a, through which contributions do not pass
            a = source(rng, shape, a.value.dtype, (), 1, 6)
        masked = rng.integers(0, 2) == 0
        mask = numpy.asarray(rng.integers(0, 2, shape).astype(bool)) if masked else None
        where = (lambda lib: {"where": lib.array(mask)}) if masked else (lambda lib: {})
        log = numpy.log
        if kind in (0, 1, 2, 3) and not numpy.abs(pair.value).max(initial=0) < 64:
            return self.shrink(pair)
        table = [
            (lambda lib, x: lib.square(x, out=x, **where(lib)), (), smooth(numpy.square, lambda u: 2 * u)),
            (lambda lib, x: operator.ipow(x, 2), (), smooth(lambda u: u**2, lambda u: 2 * u)),
            (lambda lib, x: operator.ipow(x, 3), (), smooth(lambda u: u**3, lambda u: 3 * u**2)),
            (lambda lib, x: lib.tanh(x, out=x, **where(lib)), (), secant(numpy.tanh, lambda u: 1 - numpy.tanh(u) ** 2)),
            (lambda lib, x, a: lib.exp(a, out=x, **where(lib)), (a,), smooth(numpy.exp, numpy.exp)),
            (lambda lib, x, a: lib.sqrt(a, out=x), (a,), smooth(numpy.sqrt, lambda u: 0.5 / numpy.sqrt(u))),
            (lambda lib, x, a: lib.reciprocal(a, out=x), (a,), smooth(numpy.reciprocal, lambda u: -1 / u**2)),
            (
                lambda lib, x, a, b: lib.divide(a, b, out=x, **where(lib)), (a, b),
                quotient,
            ),
            (
                lambda lib, x, b: operator.itruediv(x, b), (b,),
                quotient,
            ),
            (
                lambda lib, x, a, b: lib.power(a, b, out=x), (a, b),
                smooth(lambda u, v: u**v, lambda u, v: v * u ** (v - 1), lambda u, v: u**v * log(u)),
            ),
            (
                lambda lib, x, a, b: lib.hypot(a, b, out=x), (a, b),
                smooth(numpy.hypot, lambda u, v: u / numpy.hypot(u, v), lambda u, v: v / numpy.hypot(u, v)),
            ),
            (lambda lib, x: operator.ifloordiv(x, 2), (), secant(lambda u: u // 2, lambda u: 0)),
            (lambda lib, x: operator.imod(x, 4), (), secant(lambda u: u % 4, lambda u: 1)),
            (lambda lib, x: lib.abs(x, out=x, **where(lib)), (), secant(numpy.abs, numpy.sign)),
        ]  # fmt: skip
        step, others, law = table[kind]
        if "c" in {numpy.asarray(p.value).dtype.kind for p in (pair, *others)} and kind in (8, 9, 10, 13, 3):
            return None
        if kind == 8 and not numpy.abs(pair.value).max(initial=0) < LARGE:
            return self.shrink(pair)
        if not masked or kind in (1, 2, 5, 6, 8, 9, 10, 11, 12):
            mask = None
        of_operands = law if kind in (0, 1, 2, 3, 8, 11, 12, 13) else lambda x, *operands: law(*operands)
        exact = kind in (0, 1, 7, 11, 12, 13) and not any(numpy.iscomplexobj(p.value) for p in (pair, a, b))
        self.write(f"curve {kind}", step, pair, *others, law=of_operands, mask=mask, exact=exact)
        return None

    @rule(seed=SEEDS, kind=st.integers(0, 13))
    def out_of_functions(self, seed, kind):
        """Functions that are linear, of new operands, written into an array of the shape that they give."""
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        shape, dtype = pair.value.shape, pair.value.dtype
        given = None if rng.integers(0, 4) == 0 else dtype
        if given is None and not pair.value.flags.writeable:
            given = dtype  # one reason to refuse is enough
        tall, same = self.fresh(rng, (3, *shape), given), self.fresh(rng, shape, given)
        others = [p for p in self.pairs if p.value.shape == shape and p.value.dtype == dtype]
        again = others[int(rng.integers(0, len(others)))] if others else same
        n = shape[0] if shape else 0
        index, flat = rng.integers(0, 3, n), self.fresh(rng, (3, *shape[1:]), given)
        table = [
            (lambda lib, x, y: lib.sum(y, axis=0, out=x), (tall,)),
            (lambda lib, x, y: lib.mean(y, axis=0, out=x), (tall,)),
            (lambda lib, x, y: y.sum(0, out=x), (tall,)),
            (lambda lib, x, y: lib.cumsum(y, axis=0, out=x if x.ndim else lib.zeros(1)), (same,)),
            (lambda lib, x, y: lib.take(y, 1, axis=0, out=x), (tall,)),
            (lambda lib, x, y: lib.take(y, lib.array(index), axis=0, out=x), (flat,)),
            (lambda lib, x, y, z: lib.concatenate([y[:1], z[1:]], out=x), (same, again)),
            (lambda lib, x, y, z: lib.stack([y[0], z[0]], out=x[:2]), (same, again)),
            (lambda lib, x, y, z: lib.add(y, z, out=x), (same, again)),
            (lambda lib, x, y: lib.add.reduce(y, axis=0, out=x), (tall,)),
            (lambda lib, x, y: lib.add.reduceat(y, [0] * n, axis=0, out=x), (tall,)),
            (lambda lib, x, y: lib.compress([True] * n, y, axis=0, out=x), (same,)),
            (lambda lib, x, y: lib.einsum("i...->...", y, out=x), (tall,)),
            (lambda lib, x, y: lib.dot(y, lib.ones(3, dtype=y.dtype), out=x), (self.fresh(rng, (*shape, 3), given),)),
        ]
        step, others = table[kind]
        if kind == 7 and (n < 2 or (n > 2 and not pair.carries)):
            return  # the model drops the contributions in all of an array of another dtype, and x[:2] is a part of it
        if kind == 13 and not pair.value.flags.c_contiguous:
            return
        sums = {0: numpy.sum, 1: numpy.mean, 2: numpy.sum, 9: numpy.sum}
        if shape:
            sums |= {3: numpy.cumsum, 10: lambda y, axis: numpy.add.reduceat(y, [0] * n, axis)}
        law = None
        if kind in sums:  # what is cast is the sum
            law = lambda x, y: into(dtype, {name: sums[kind](y[name], axis=0) for name in PARTS})  # noqa: E731
        self.write(f"out= {kind}", step, pair, *others, law=law, exact=False)

    @rule(seed=SEEDS, kind=st.integers(0, 9))
    def put(self, seed, kind):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        x, size = pair.value, pair.value.size
        places = rng.integers(-size, size + (rng.integers(0, 6) == 0), int(rng.integers(1, 4))) if size else [0]
        mask = numpy.asarray(rng.integers(0, 2, x.shape).astype(bool))
        values = self.fresh(rng, (len(places),), None if rng.integers(0, 4) == 0 else x.dtype)
        axis = int(rng.integers(0, x.ndim)) if x.ndim else 0
        along = rng.permuted(numpy.indices(x.shape)[axis], axis=axis) if x.ndim else numpy.zeros((), int)
        number = self.operand(rng, x.shape, pair)
        key = basic_key(rng, (size,))
        steps = [
            (lambda lib, x, y: lib.put(x, lib.array(places), y), values),
            (lambda lib, x, y: x.put(lib.array(places), y, mode="wrap"), values),
            (lambda lib, x, y: lib.place(x, lib.array(mask), y), values),
            (lambda lib, x, y: lib.putmask(x, lib.array(mask), y), values),
            (lambda lib, x, y: lib.put_along_axis(x, lib.array(along), y, axis), number),
            (lambda lib, x, y: lib.fill_diagonal(x, y), values),
            (lambda lib, x, y: x.fill(y[0]), values),
            (lambda lib, x, y: x.flat.__setitem__(key if len(key) != 1 else key[0], y), values),
            (lambda lib, x, y: setattr(x, "flat", y), values),
            (lambda lib, x, y: x.flat.__setitem__(lib.array(places), y), values),
        ]
        step, value = steps[kind]
        if kind in (4,) and numpy.shares_memory(value.value, x):
            return
        if kind in (7, 8, 9) and value.value.dtype.kind == "c" != x.dtype.kind:
            return
        if kind in (2, 3) and not numpy.can_cast(value.value.dtype, x.dtype):
            return
        self.write(f"put {kind}", step, pair, value)

    @rule(seed=SEEDS, kind=st.integers(0, 4))
    def at(self, seed, kind):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        key = any_key(rng, pair.value.shape)
        region, _ = tried(lambda: numpy.shape(pair.value[key]))
        value = self.fresh(rng, region or (), None if rng.integers(0, 6) == 0 else pair.value.dtype)
        if kind == 3 and not numpy.abs(pair.value).max(initial=0) < LARGE:
            return self.shrink(pair)
        steps = [
            (lambda lib, x, y: lib.add.at(x, of(lib, key), y), (value,)),
            (lambda lib, x, y: lib.subtract.at(x, of(lib, key), y), (value,)),
            (lambda lib, x: lib.negative.at(x, of(lib, key)), ()),
            (lambda lib, x: lib.multiply.at(x, of(lib, key), 2), ()),
            (lambda lib, x, y: lib.add.at(x, of(lib, key), y), (self.operand(rng, region or (), pair),)),
        ]
        step, others = steps[kind]
        if pair.integral and any(numpy.asarray(other.value).dtype.kind in "fc" for other in others):
            return None  # each sum is cast, before the next one
        if pair.value.flags.writeable:  # NumPy does not always look
            self.write(f"at {kind} {key}", step, pair, *others)
        return None

    @rule(seed=SEEDS, kind=st.integers(0, 6))
    def parts_and_others(self, seed, kind):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        value = self.fresh(rng, pair.value.shape, "float64" if rng.integers(0, 6) else None)
        stream = int(rng.integers(0, 100))
        steps = [
            lambda lib, x, y: setattr(x, "real", y),
            lambda lib, x, y: setattr(x, "imag", y),
            lambda lib, x: lib.put(x, lib.arange(x.size), x[::-1].copy() if x.ndim else x),
            lambda lib, x: lib.random.default_rng(stream).shuffle(x),
            lambda lib, x: x.setflags(write=False) if x is pair.value or lib is np else None,
            lambda lib, x: setattr(x, "flat", x[::-1].copy()),
            lambda lib, x: lib.nan_to_num(x, copy=False),
        ]
        if (kind == 4 and rng.integers(0, 3)) or (kind == 6 and pair.integral):
            return
        if kind == 6 and pair.value.dtype.kind == "c" and numpy.isnan(pair.value).any():
            return  # of a product that is no number, both parts are none, or one is
        law = no_nan if kind == 6 else None
        self.write(f"others {kind}", steps[kind], pair, *(value,) * (kind < 2), law=law)

    @rule(seed=SEEDS)
    def sort(self, seed):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        x = pair.value
        if not x.ndim or not x.flags.writeable or len(numpy.unique(x)) != x.size or x.dtype.kind == "c":
            return
        axis = int(rng.integers(0, x.ndim))
        order = x.argsort(axis)
        full = rng.integers(0, 2)

        def step(lib, x):
            if full:
                x.sort(axis)
            else:
                x.partition(list(range(x.shape[axis])), axis)

        def law(x):
            return {name: numpy.take_along_axis(x[name], order, axis) for name in PARTS[1:]}

        self.write("sort", step, pair, law=law)

    @rule(seed=SEEDS)
    def two_results(self, seed):
        rng = numpy.random.default_rng(seed)
        pair, other = self.pick(rng), self.pick(rng)
        if pair.value.dtype.kind != "f" or pair.value.dtype != other.value.dtype or not other.value.flags.writeable:
            return
        if pair.value.shape != other.value.shape or numpy.shares_memory(pair.value, other.value):
            return

        if not pair.value.flags.writeable:
            return
        rest = secant(lambda u: u % 4, lambda u: 1)(pair.taken())

        def step(lib, x):
            lib.divmod(x, 4, out=(x, other.array if lib is np else other.value))

        def law(x):
            for name in PARTS[1:]:
                other.parts[name][...] = rest[name]
            return secant(lambda u: u // 4, lambda u: 0)(x)

        self.write("divmod", step, pair, law=law)

    @rule(seed=SEEDS)
    def shape_in_place(self, seed):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        size = pair.value.size
        shape = [(size,), (1, size), (size, 1), (2, size // 2), pair.value.shape[::-1]][rng.integers(0, 5)]
        self.log.append(("shape", shape, pair.value.strides))
        _, wanted = tried(lambda: setattr(pair.value, "shape", shape))
        _, found = tried(lambda: setattr(pair.array, "shape", shape))
        assert (found is None) == (wanted is None), (found, wanted)
        if wanted is None:
            for name in PARTS[1:]:
                pair.parts[name].shape = shape
        else:
            assert builtin(found) is builtin(wanted), (found, wanted)

    @rule(seed=SEEDS)
    def scalars_alias_nothing(self, seed):
        rng = numpy.random.default_rng(seed)
        pair = self.pick(rng)
        if not pair.value.size:
            return
        key = tuple(int(rng.integers(0, n)) for n in pair.value.shape)
        number = pair.array[key]
        number += 1
        numpy.testing.assert_equal(number.value.item(), pair.value[key] + 1)  # NaN is equal to NaN here

    @rule(seed=SEEDS)
    def forget(self, seed):
        if len(self.pairs) > 2:
            self.pairs.pop(int(numpy.random.default_rng(seed).integers(0, len(self.pairs))))

    @invariant()
    def still_agrees(self):
        self.compare(exact=True)


Aliasing.TestCase.settings = settings(
    max_examples=100, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAliasing = pytest.mark.long(Aliasing.TestCase)


class Briefly(Aliasing):
    """For the quick tests."""


Briefly.TestCase.settings = settings(Aliasing.TestCase.settings, max_examples=8)
TestBriefly = Briefly.TestCase

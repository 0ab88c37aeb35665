"""Arrays that share memory, written in every way: value, residual and components against NumPy's own arrays.

The model of a decomposed array is one NumPy array for the value, one for the residual and one for each label. Every
write is linear in what is written, so that each of them takes the same step (a plain number counts for value and
residual, not for the components).
"""

from __future__ import annotations

import gc

import numpy
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

import npdec as np

LABELS = ("a", "b", "c")
PARTS = ("value", "residual", *LABELS)
SEEDS = st.integers(0, 2**16)


class Model:
    """One NumPy array for each part."""

    def __init__(self, parts):
        self.parts = parts

    def map(self, function):
        return Model({name: function(part) for name, part in self.parts.items()})

    @property
    def value(self):
        return self.parts["value"]


def constant(numbers):
    """What an array without contributions is in each part."""
    return Model({name: numbers if name in ("value", "residual") else numpy.zeros_like(numbers) for name in PARTS})


def source(rng, shape, dtype, labels):
    """Numbers to write, plain or decomposed, and their model."""
    numbers = rng.integers(-8, 9, shape).astype(dtype)
    if not labels:
        return np.array(numbers), constant(numbers)
    baseline = rng.integers(-8, 9, shape).astype(dtype)
    groups = rng.integers(0, len(labels), shape)
    groups = numpy.unique(groups, return_inverse=True)[1].reshape(shape)
    labels = labels[: int(groups.max()) + 1] if groups.size else ()
    model = constant(numbers).parts
    model["residual"] = baseline
    for i, label in enumerate(labels):
        model[label] = numpy.where(groups == i, numbers - baseline, 0).astype(dtype)
    return np.decompose(np.array(numbers), baseline=np.array(baseline), groups=np.array(groups), labels=labels), Model(
        model
    )


def basic_key(rng, shape, negative=False):
    key = []
    for n in shape:
        kind = rng.integers(0, 5)
        start, stop = sorted(rng.integers(0, n + 1, 2).tolist())
        if kind == 0 and n:
            key.append(int(rng.integers(-n, n)))
        elif kind == 1:
            key.append(slice(start, stop))
        elif kind == 2:
            key.append(slice(None, None, int(rng.integers(1, 3))))
        elif kind == 3 and negative:
            key.append(slice(None, None, -int(rng.integers(1, 3))))
        else:
            key.append(slice(None))
    key = key[: int(rng.integers(0, len(key) + 1))]
    if rng.integers(0, 4) == 0:
        key.insert(int(rng.integers(0, len(key) + 1)), None)
    if rng.integers(0, 4) == 0:
        key.append(Ellipsis)
    return tuple(key)


class Aliasing(RuleBasedStateMachine):
    arrays = Bundle("arrays")
    views = Bundle("views")

    def __init__(self):
        super().__init__()
        self.all = []

    def keep(self, made, model):
        self.all.append((made, model))
        return made, model

    @initialize(target=arrays, seed=SEEDS)
    def first(self, seed):
        return self.create(seed)

    def create(self, seed):
        rng = numpy.random.default_rng(seed)
        dtype = rng.choice(["float64", "float32", "complex128"])
        labels = LABELS[: int(rng.integers(0, 3))]
        made, model = source(rng, tuple(rng.integers(1, 5, int(rng.integers(1, 4))).tolist()), dtype, labels)
        return self.keep(made, Model({name: part.copy() for name, part in model.parts.items()}))

    @rule(target=arrays, seed=SEEDS)
    def another(self, seed):
        return self.create(seed)

    @rule(target=arrays, pair=arrays, seed=SEEDS)
    def view(self, pair, seed):
        rng = numpy.random.default_rng(seed)
        array, model = pair
        kind = rng.integers(0, 8)
        if kind == 0 and array.ndim > 1:
            axes = rng.permutation(array.ndim).tolist()
            step = lambda x: x.transpose(axes)  # noqa: E731
        elif kind == 1:
            step = lambda x: x.T  # noqa: E731
        elif kind == 2 and model.value.flags.c_contiguous:
            step = lambda x: x.reshape(-1)  # noqa: E731
        elif kind == 3 and array.ndim > 1:
            step = lambda x: x.diagonal()  # noqa: E731  read-only in NumPy
            return pair if model.value.dtype.kind == "c" else self.read_only(array, model, step)
        elif kind == 4 and model.value.dtype.kind == "c":
            part = "real" if rng.integers(0, 2) else "imag"
            step = lambda x: getattr(x, part)  # noqa: E731
        elif kind == 5:
            step = lambda x: x[None]  # noqa: E731
        elif kind == 6:
            step = lambda x: x.swapaxes(0, -1) if x.ndim else x  # noqa: E731
        else:
            key = basic_key(rng, array.shape)
            if not isinstance(model.value[key], numpy.ndarray):
                return pair
            step = lambda x: x[key]  # noqa: E731
        return self.keep(step(array), model.map(step))

    def read_only(self, array, model, step):
        self.keep(step(array), model.map(step))
        return array, model

    @rule(target=arrays, pair=arrays, seed=SEEDS)
    def reversed_view(self, pair, seed):
        array, model = pair
        key = basic_key(numpy.random.default_rng(seed), array.shape, negative=True)
        if not isinstance(model.value[key], numpy.ndarray):
            return pair
        return self.keep(array[key], model.map(lambda x: x[key]))

    @rule(pair=consumes(arrays))
    def forget(self, pair):
        self.all = [kept for kept in self.all if kept[0] is not pair[0]]
        del pair
        gc.collect(0)

    def operand(self, rng, shape, dtype, other):
        """Numbers that broadcast to the shape: another array (perhaps over the same memory), or new ones."""
        if other[1].value.shape == shape and numpy.can_cast(other[1].value.dtype, dtype, "same_kind"):
            return other
        kind = rng.integers(0, 4)
        if kind == 0:
            number = float(rng.integers(-8, 9))
            return number, constant(numpy.array(number))
        if kind == 1 and len(shape):
            shape = shape[1:]
        dtype = "float64" if rng.integers(0, 2) and numpy.dtype(dtype).kind != "f" else dtype
        return source(rng, shape, dtype, (LABELS[:2], LABELS[1:], LABELS[2:], ())[rng.integers(0, 4)])

    @rule(pair=arrays, other=arrays, seed=SEEDS)
    def assign(self, pair, other, seed):
        rng = numpy.random.default_rng(seed)
        array, model = pair
        kind = rng.integers(0, 4)
        if kind == 0:
            key = rng.integers(0, 2, array.shape).astype(bool)
        elif kind == 1 and array.ndim and array.shape[0]:
            key = rng.permutation(array.shape[0])[: int(rng.integers(0, array.shape[0] + 1))]
        else:
            key = basic_key(rng, array.shape, negative=True)
        region = model.value[key]
        number, its = self.operand(rng, numpy.shape(region), model.value.dtype, other)
        array[np.array(key) if isinstance(key, numpy.ndarray) else key] = number
        for name, part in model.parts.items():
            part[key] = its.parts[name].copy()

    @rule(pair=arrays, other=arrays, seed=SEEDS)
    def write(self, pair, other, seed):
        rng = numpy.random.default_rng(seed)
        array, model = pair
        dtype = model.value.dtype
        number, its = self.operand(rng, array.shape, dtype, other)
        taken = {name: part.copy() for name, part in its.parts.items()}
        kind = rng.integers(0, 8)
        mask = rng.integers(0, 2, array.shape).astype(bool)
        if kind == 0:
            array += number
            result = {name: part + taken[name] for name, part in model.parts.items()}
        elif kind == 1:
            array -= number
            result = {name: part - taken[name] for name, part in model.parts.items()}
        elif kind == 2:
            array *= 0.5
            result = {name: part * 0.5 for name, part in model.parts.items()}
        elif kind == 3:
            np.copyto(array, number)
            result = taken
        elif kind == 4:
            np.copyto(array, number, where=np.array(mask))
            result = {name: numpy.where(mask, taken[name], part) for name, part in model.parts.items()}
        elif kind == 5:
            np.add(array, number, out=array)
            result = {name: part + taken[name] for name, part in model.parts.items()}
        elif kind == 6:
            array.fill(2.5)
            result = constant(numpy.array(2.5)).parts
        elif kind == 7:
            np.negative(array, out=array, where=np.array(mask))
            result = {name: numpy.where(mask, -part, part) for name, part in model.parts.items()}
        for name, part in model.parts.items():
            part[...] = result[name]

    @rule(pair=arrays, other=arrays, seed=SEEDS)
    def multiply(self, pair, other, seed):
        array, model = pair
        number, its = self.operand(numpy.random.default_rng(seed), array.shape, model.value.dtype, other)
        a, b = model.parts, {name: part.copy() for name, part in its.parts.items()}
        if max(numpy.abs(a[name]).max(initial=0) for name in PARTS) > 2**7:
            return
        array *= number
        middle_a, middle_b = (a["value"] + a["residual"]) / 2, (b["value"] + b["residual"]) / 2
        result = {name: a[name] * middle_b + middle_a * b[name] for name in LABELS}
        result |= {name: a[name] * b[name] for name in ("value", "residual")}
        for name, part in a.items():
            part[...] = result[name]

    @rule(pair=arrays, seed=SEEDS)
    def put(self, pair, seed):
        rng = numpy.random.default_rng(seed)
        array, model = pair
        if not array.size:
            return
        places = rng.permutation(array.size)[: int(rng.integers(1, 4))]
        number, its = source(rng, (len(places),), model.value.dtype, LABELS[:2])
        kind = rng.integers(0, 3)
        mask = rng.integers(0, 2, array.shape).astype(bool)
        if kind == 0:
            np.put(array, places, number)
        elif kind == 1:
            np.place(array, np.array(mask), number)
        else:
            np.putmask(array, np.array(mask), number)
        for name, part in model.parts.items():
            if kind == 0:
                numpy.put(part, places, its.parts[name])
            elif kind == 1:
                numpy.place(part, mask, its.parts[name])
            else:
                numpy.putmask(part, mask, its.parts[name])

    @rule(pair=arrays)
    def sort(self, pair):
        array, model = pair
        if not array.ndim or model.value.dtype.kind == "c":
            return
        if len(numpy.unique(model.value)) != model.value.size:
            return
        order = model.value.argsort(-1)
        array.sort()
        for part in model.parts.values():
            part[...] = numpy.take_along_axis(part, order, -1)

    @invariant()
    def agrees(self):
        for array, model in self.all:
            parts = {"value": array.value, "residual": array.residual}
            parts |= dict(zip(array.labels, array.components, strict=True))
            for name, wanted in model.parts.items():
                found = parts[name] if name in parts else np.zeros(array.shape)
                numpy.testing.assert_allclose(numpy.asarray(found), wanted, rtol=1e-4, atol=1e-3, err_msg=name)


Aliasing.TestCase.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAliasing = Aliasing.TestCase


RAVELS = {
    "whole": lambda x: x,
    "rows reversed": lambda x: x[::-1],
    "columns reversed": lambda x: x[:, ::-1],
    "a row of it": lambda x: x[::-1][0],
    "rows of it": lambda x: x[::-1][1:2],
    "a row reversed": lambda x: x[0][::-1],
    "both reversed": lambda x: x[::-1, ::-1],
    "one element": lambda x: x[::-1, ::-1][:1, :1],
}


@pytest.mark.parametrize("order", "CFAK")
@pytest.mark.parametrize("take", RAVELS.values(), ids=RAVELS)
def test_ravel_copies_what_does_not_follow_in_memory(take, order):
    def raveled(lib):
        x = lib.arange(6).reshape(2, 3)
        flat = take(x).ravel(order)
        told = flat.flags.owndata, lib.shares_memory(flat, x)
        flat[0] = 99
        return told, flat.tolist(), x.tolist(), lib.ravel(take(x), order).tolist()

    assert raveled(np) == raveled(numpy)


def test_unaligned_views_share_memory():
    for lib in (np, numpy):
        x = lib.zeros(33, dtype="u1")
        view = x[1:].view("f8")
        assert lib.shares_memory(view, x)
        assert not lib.shares_memory(view, x[:1])
        assert not lib.may_share_memory(view[:2], lib.zeros(2))


# --- what random programs found ---------------------------------------------------------------------------------------


def test_an_element_is_written_over_itself():
    x = np.decompose(np.array(3.0))
    x[np.array(True)] = x
    assert x.components == x.value == 3
    x.flat[np.array([0, 0])] = np.array([1.0, 2.0])
    assert x.value == x.residual == 2


def test_what_turns_out_as_a_copy_is_writable_and_no_view():
    for lib in (np, numpy):
        x = lib.broadcast_to(lib.arange(3.0), (2, 3))
        flat = x.ravel()
        flat[0] = 9
        assert x[0, 0] == 0
        assert flat.flags.writeable
        assert flat.flags.owndata


def test_views_of_no_elements_are_writable():
    for lib in (np, numpy):
        assert lib.moveaxis(lib.zeros((4, 0)).T[::2], 0, 1).flags.writeable


def test_arrays_without_axes():
    for lib in (np, numpy):
        x = lib.array(3.0)
        assert lib.permute_dims(x, ()) is not x
        assert isinstance(lib.flip(x), lib.float64)
        assert isinstance(lib.nan_to_num(x, copy=False), lib.float64)


def test_a_broadcast_view_is_alive_when_labels_are_added():
    x = np.decompose(np.array([1.0, 2.0]), labels=["a", "b"])
    rows = np.broadcast_to(x, (3, 2))
    x += np.decompose(np.array([4.0, 8.0]), labels=["c", "d"])
    assert rows.labels == ("a", "b", "c", "d")
    assert rows.value.tolist() == [[5, 10]] * 3
    assert numpy.abs(numpy.asarray(np.completeness(rows))).max() == 0


def test_a_reversed_view_reshaped_is_a_copy_where_numpys_is():
    def reshaped(lib):
        x = lib.arange(6.0).reshape(2, 3)
        told = []
        for view in (x[::-1], x[:, ::-1], x[::-1, ::-1], x[0, ::-1]):
            flat = view.reshape(-1)
            flat[0] += 10
            told.append((flat.tolist(), lib.shares_memory(flat, x)))
        return told, x.tolist()

    assert reshaped(np) == reshaped(numpy)


def test_shapes_set_in_place_beside_reversed_views():
    def written(lib):
        x = lib.arange(6.0)
        back = x[::-1]
        x.shape = (2, 3)
        back[0] = 9
        x[0, 0] = 7
        back.shape = (3, 2)
        back[2, 1] += 1
        rows = x[::-1]
        with pytest.raises(AttributeError):
            rows.shape = (6,)
        return x.tolist(), back.tolist(), rows.tolist()

    assert written(np) == written(numpy)


def test_views_follow_where_contributions_lie_otherwise_in_memory():
    """The residual of a sum lies in another order than its value, so that reshaping copies it alone."""
    x = np.decompose(np.arange(6.0).reshape(2, 3), axis=0, labels=["a", "b"]).T + np.ones((3, 2))
    flat = x.reshape(-1, order="F")
    assert np.shares_memory(flat, x)
    flat[0] = np.decompose(np.array(5.0), baseline=1.0, labels=["b"], axis=())
    x[2, 1] = 2.0
    assert x.residual[0, 0] == flat.residual[0] == 1
    assert x.components[:, 0, 0].tolist() == flat.components[:, 0].tolist() == [0, 4]
    assert x.residual[2, 1] == flat.residual[-1] == 2
    assert not flat.components[:, -1].any()

"""Decomposed arrays of a program's own class: contributions, class and attributes go together."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from npdec.exceptions import DecompositionWarning
from subclasses_of import noted_class

X = [1.5, -2.0, 4.0]


Signal = noted_class(np, "Signal", __name__)


def signal() -> Any:
    return np.decompose(Signal(X, "volt"), labels=["a", "b", "c"])


def check(found: Any, value: Any, components: Any, residual: Any = 0.0) -> None:
    assert type(found) is Signal
    assert found.info == "volt"
    numpy.testing.assert_allclose(numpy.asarray(found.value), value, rtol=1e-14)
    numpy.testing.assert_allclose(numpy.asarray(found.components), components, rtol=1e-14)
    numpy.testing.assert_allclose(numpy.asarray(found.residual), numpy.broadcast_to(residual, numpy.shape(value)))


# Functions that are linear: the contribution of each element is the function of that element alone.
LINEAR: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "product": lambda x: 2.0 * x,
    "of scalars": lambda x: np.float64(2) * x,
    "quotient": lambda x: x / 4,
    "minus": lambda x: -x,
    "sum": lambda x: x.sum(),
    "np.sum": np.sum,
    "mean": lambda x: x.mean(keepdims=True),
    "running": np.cumsum,
    "part": lambda x: x[1:],
    "reversed": lambda x: x[::-1],
    "chosen": lambda x: x[[2, 0]],
    "masked": lambda x: x[[True, False, True]],
    "view": lambda x: x.view(),
    "cast": lambda x: x.astype("f8"),
    "copied": copy.copy,
    "deep": copy.deepcopy,
    "pickled": lambda x: pickle.loads(pickle.dumps(x)),
    "shaped": lambda x: x.reshape(3, 1),
    "repeated": lambda x: np.repeat(x, 2),
    "product of matrices": lambda x: np.arange(9.0).reshape(3, 3) @ x,
    "written": lambda x: written(Signal(numpy.zeros(3), "volt"), x),
    "added in place": lambda x: added(Signal(numpy.zeros(3), "volt"), x),
    "out": lambda x: np.multiply(x, 3.0, out=Signal(numpy.zeros(3), "volt")),
}


def written(target: Any, x: Any) -> Any:
    target[1:] = x[1:]
    target[0] = x[0]
    return target


def added(target: Any, x: Any) -> Any:
    part = target[:]
    target += x
    return part


@pytest.mark.parametrize("name", LINEAR)
def test_class_attributes_and_contributions_go_together(name: str) -> None:
    function = LINEAR[name]
    parts = [numpy.asarray(function(Signal(row, "volt"))) for row in numpy.diag(X)]
    check(function(signal()), numpy.asarray(function(Signal(X, "volt"))), parts)


def test_a_program_is_complete_against_the_baseline() -> None:
    def program(x: Any) -> Any:
        return np.exp(x / 4) * x + np.maximum(x, 0.5) ** 2

    x = np.decompose(Signal(X, "volt"), baseline=0.25)
    made = program(x)
    base = program(numpy.full(3, 0.25))
    check(made, program(numpy.array(X)), numpy.asarray(made.components), numpy.asarray(base))
    numpy.testing.assert_allclose(numpy.asarray(np.completeness(made)), 0.0, atol=1e-14)
    plain = program(np.decompose(np.array(X), baseline=0.25))
    numpy.testing.assert_array_equal(numpy.asarray(made.components), numpy.asarray(plain.components))


def test_text_names_the_class_and_the_contributions() -> None:
    assert repr(signal()) == "Signal([ 1.5, -2. ,  4. ], residual=0, components=3: c 53%, b 27%, a 20%)"
    assert repr(signal().sum()) == "Signal(3.5, residual=0, components=3: c +4, b -2, a +1.5)"
    assert signal().labels == ("a", "b", "c")


def test_plain_arrays_of_it_keep_contributions() -> None:
    x = signal()
    for plain in (np.asarray(x), x.view(np.ndarray), np.concatenate([x, x])[:3], np.array(x)):
        assert type(plain) is np.ndarray
        numpy.testing.assert_array_equal(numpy.asarray(plain.components), numpy.diag(X))
    view = np.asarray(x)
    view[0] = 9.0
    assert x[0].value == 9.0
    assert x.components[0, 0] == 0.0
    assert type(x[1]) is type(np.decompose(np.array(X))[1])


def test_several_inputs_decomposed_together() -> None:
    one, two = np.decompose((Signal([1.0, 2.0], "volt"), np.array(3.0)), labels=["a", "b", "c"])
    assert type(two) is np.ndarray
    check(one * two, [3.0, 6.0], [[1.5, 0.0], [0.0, 3.0], [1.5, 3.0]])


def test_what_goes_into_a_record_or_among_objects_comes_back_or_is_warned_of() -> None:
    x = signal()
    for objects in (x.astype(object), np.array(x, dtype=object), np.array([*x, None], dtype=object)[:3]):
        back = objects.astype(float)
        numpy.testing.assert_array_equal(numpy.asarray(back.components), numpy.diag(X))
    record = np.zeros(3, dtype=[("v", "f8")])
    for put in (lambda: record.__setitem__("v", x), lambda: np.array([(v,) for v in x], dtype=record.dtype)):
        with pytest.warns(DecompositionWarning):
            put()


@pytest.mark.slow
def test_np_jit_grad_and_torch_keep_the_class_within_and_refuse_it_by_name_outside() -> None:
    def square(values: Any) -> Any:
        return (Signal(values, "volt") ** 2).sum()

    numpy.testing.assert_allclose(numpy.asarray(np.grad(square)(np.array(X))), 2 * numpy.array(X))
    with pytest.warns(UserWarning, match="uncompiled"):  # it reads a class
        assert float(np.jit(square)(np.array(X))) == pytest.approx(22.25)
    for refused in (np.grad(square), np.jit(square), lambda x: np.attribute(square, x), np.vmap(lambda v: v * 2)):
        with pytest.raises(TypeError, match=r"class Signal.*np\.asarray"):
            refused(Signal(X))
    assert type(torch.sin(Signal(X))) is np.ndarray
    numpy.testing.assert_array_equal(numpy.asarray(torch.mul(signal(), 2.0).components), 2 * numpy.diag(X))
    assert torch.as_tensor(Signal(X)).tolist() == X


def test_numpys_own_functions_give_the_class() -> None:
    for made in (
        numpy.sin(Signal(X, "volt")),
        numpy.add(numpy.ones(3), Signal(X, "volt")),
        Signal(X, "volt") + [1] * 3,
    ):
        assert type(made) is Signal
        assert made.info == "volt"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert type(numpy.asarray(Signal(X))) is numpy.ndarray


def test_what_torch_cannot_hold_is_of_no_class_of_npdecs() -> None:
    with pytest.raises(TypeError, match=r"derive the class from numpy\.ndarray"):
        np.array(["a"]).view(Signal)
    with pytest.raises(TypeError):
        np.ndarray.__new__(Signal, (2,), object)
    with pytest.raises(TypeError, match="not callable"):
        np.zeros(2).view(type("Broken", (np.ndarray,), {"__array_finalize__": 1}))
    with pytest.raises(ValueError, match="sub-type of ndarray"):
        np.zeros(2).view(type=list)


def test_what_is_called_for_each_element_returns_no_arrays_of_a_class() -> None:
    for function in (np.frompyfunc(lambda v: Signal([v]), 1, 1), np.vectorize(lambda v: Signal([v]), otypes=[float])):
        with pytest.raises((TypeError, ValueError)):
            function(np.array(X))


def test_classes_of_scalars_are_kept() -> None:
    class Volt(np.float64):
        def __add__(self, other: Any) -> str:
            return "added"

        def __radd__(self, other: Any) -> str:
            return "added to"

    assert type(Volt(2)) is Volt
    assert type(Volt(2.5)) is Volt
    assert (Volt(1) + 1, np.float64(1) + Volt(1), 1 + Volt(2)) == ("added", "added to", "added to")
    assert type(Volt(3) * 2) is np.float64

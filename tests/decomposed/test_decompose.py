"""The public interface of decomposition: np.decompose, what a decomposed array says of itself, np.attribute."""

from __future__ import annotations

import numpy
import pytest
import torch

import npdec as np

X = numpy.arange(6.0).reshape(2, 3) + 1


def members(d):
    """For each component the flat positions that belong to it."""
    return [numpy.flatnonzero(c.tolist()).tolist() for c in numpy.asarray(d.components).reshape(len(d.labels), -1)]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, [[0], [1], [2], [3], [4], [5]]),
        ({"axis": 0}, [[0, 1, 2], [3, 4, 5]]),
        ({"axis": -1}, [[0, 3], [1, 4], [2, 5]]),
        ({"axis": (1, 0)}, [[0], [3], [1], [4], [2], [5]]),
        ({"axis": ()}, [[0, 1, 2, 3, 4, 5]]),
        ({"groups": [7, 3, 7]}, [[1, 4], [0, 2, 3, 5]]),
        ({"groups": [[0], [1]]}, [[0, 1, 2], [3, 4, 5]]),
    ],
)
def test_partitions(options, wanted):
    d = np.decompose(np.array(X), **options)
    assert members(d) == wanted
    assert (d.value == X).all()
    assert (d.residual == 0).all()
    assert (d.c_sum() == X).all()
    assert d.is_decomposed
    assert len(set(d.labels)) == len(wanted)


def test_labels_and_baseline():
    d = np.decompose(np.array(X), axis=1, baseline=np.array([1.0, 2.0, 3.0]), labels=["a", "b", "c"])
    assert d.labels == ("a", "b", "c")
    assert d.residual.tolist() == [[1, 2, 3], [1, 2, 3]]
    assert d.components.sum(1).tolist() == [[3, 0, 0], [0, 3, 0], [0, 0, 3]]
    assert repr(np.decompose(np.zeros((2, 2))).labels[2]) == "[1, 0]"


def test_several_arrays_share_labels():
    a, b = np.decompose((np.ones(2), np.ones(3)))
    assert len(a.labels) == 5
    assert a.labels is b.labels
    assert members(a) + members(b) == [[0], [1], [], [], [], [], [], [0], [1], [2]]
    a, b = np.decompose((np.ones((2, 3)), np.ones(3)), axis=-1, labels="xyz")
    assert (a * b).labels == ("x", "y", "z")
    assert (a * b).components.sum((0, 1)).tolist() == [2, 2, 2]
    a, b = np.decompose((np.ones(2), np.ones(2)), groups=([0, 1], [1, 4]), baseline=(0.0, 0.5))
    assert members(a) == [[0], [1], []]
    assert members(b) == [[], [0], [1]]
    assert b.residual.tolist() == [0.5, 0.5]


def test_a_plain_array_is_its_own_residual():
    x = np.array(X)
    assert not x.is_decomposed
    assert x.labels == ()
    assert x.components.shape == (0, 2, 3)
    assert (x.residual == x).all()
    assert (x.c_sum() == x.value).all()
    assert type(x.tensor) is torch.Tensor


def test_the_input_is_left_alone():
    x = np.array(X)
    d = np.decompose(x)
    d[0] = 0.0
    assert (x == X).all()
    t = torch.ones(2)
    np.decompose(t).add_(1)
    assert t.tolist() == [1, 1]
    y = np.ones(2)
    np.attribute(lambda a: a.__iadd__(1).sum(), y)
    assert y.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: np.decompose(np.arange(3)), TypeError, r"dtype\('int64'\).*astype\(float\)"),
        (lambda: np.decompose(np.ones(2), labels=["a"]), ValueError, "2 components need as many labels, not 1"),
        (lambda: np.decompose(np.ones(2), labels=["a", "a"]), ValueError, "distinct"),
        (lambda: np.decompose(np.ones(2), baseline=np.ones(3)), ValueError, r"\(3,\) does not broadcast.*\(2,\)"),
        (lambda: np.decompose(np.ones(2), groups=[0.5, 1]), TypeError, "groups must be integers"),
        (lambda: np.decompose(np.ones(2), groups=[0, 1, 2]), ValueError, r"groups of shape \(3,\)"),
        (lambda: np.decompose(np.ones(2), axis=0, groups=[0, 1]), ValueError, "exclude"),
        (lambda: np.decompose(np.ones(2), axis=1), np.exceptions.AxisError, "axis 1 is out of bounds"),
        (lambda: np.decompose(np.decompose(np.ones(2))), ValueError, "already"),
        (lambda: np.decompose(np.ones(2), baseline=1j), TypeError, "complex baseline"),
        (lambda: np.decompose((np.ones(2), np.ones(3)), axis=0), ValueError, "equal lengths"),
        (lambda: np.decompose((np.ones(2), np.ones(3)), baseline=(0.0,)), ValueError, "as many baselines"),
        (lambda: np.attribute(lambda a: a, np.ones(2)), ValueError, r"shape \(2,\): choose one"),
        (lambda: np.attribute(lambda a: a, np.ones(2), output=2), IndexError, "output 2 is out of range"),
        (lambda: np.attribute(lambda a: a, np.ones((2, 2)), output=1), ValueError, "not one element"),
        (lambda: np.attribute(lambda a: 3.0, np.ones(2)), TypeError, "returned float"),
        (lambda: np.attribute(lambda a: a.sum(), np.arange(3)), TypeError, "int64"),
        (lambda: np.rule("nonsense").__enter__(), ValueError, "unknown rule 'nonsense'"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_attribution_of_chosen_outputs():
    weights = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    x = np.array([1.0, 2.0, 3.0])
    one = np.attribute(lambda a: weights @ a, x, output=1)
    assert (one.value, one.residual) == (32.0, 0.0)
    assert one.attribution.tolist() == [4, 10, 18]
    both = np.attribute(lambda a: weights @ a, x, output=[0, 1], baseline=1.0)
    assert both.value.tolist() == [14, 32]
    assert both.residual.tolist() == [6, 15]
    assert both.attribution.tolist() == [[0, 2, 6], [0, 5, 12]]
    grid = np.attribute(lambda a: np.outer(a, a), x, output=(0, 2))
    assert grid.attribution.tolist() == [1.5, 0, 1.5]


def test_an_output_that_ignores_the_input():
    made = np.attribute(lambda a: np.float64(3.0), np.ones(2))
    assert (made.value, made.residual, made.attribution.tolist()) == (3.0, 3.0, [0.0, 0.0])


def test_torch_in_torch_out():
    t = torch.tensor([1.0, 2.0])
    assert isinstance(np.decompose(t), np.DecomposedTensor)
    made = np.attribute(lambda a: a.prod(), t)
    assert isinstance(made.attribution, torch.Tensor)
    assert made.attribution.tolist() == [1.0, 1.0]
    d = np.decompose(np.asarray(t), labels="ab")
    assert torch.equal(d.tensor.components, d.components.tensor)


def test_values_of_a_decomposed_array_are_what_they_were():
    rng = numpy.random.default_rng(0)
    x = np.array(rng.normal(size=(5, 4)))

    def f(a):
        b = np.tanh(a @ a.T) / (1 + np.abs(a).sum(1))
        b[b > 0.1] *= 2
        return np.sort(b.ravel())[::3].cumsum() + np.linalg.norm(a)

    with pytest.warns(np.DecompositionWarning, match="at the baseline it would choose otherwise"):
        made = f(np.decompose(x, axis=1, baseline=0.1))
    assert (made.value == f(x)).all()
    numpy.testing.assert_allclose(made.c_sum().tolist(), f(x).tolist(), rtol=1e-12)

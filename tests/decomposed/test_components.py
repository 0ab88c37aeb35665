"""Components as a whole: merged by label, the largest, to pandas and xarray, printed; labels survive."""

from __future__ import annotations

import sys

import numpy
import pytest
import torch

import npdec as np

LABELS = ("oil", "gas", "tax", "fee")


def sample(shape=(3,)):
    source = numpy.random.default_rng(0)
    parts = np.array(source.normal(size=(4, *shape)))
    axis = np.decompose(parts, axis=0, labels=LABELS, baseline=0.25)
    return np.exp(axis.sum(0) / 4)


def equal(a, b):
    numpy.testing.assert_array_equal(numpy.asarray(a), numpy.asarray(b))


FACES = pytest.mark.parametrize("face", [lambda x: x, lambda x: x.tensor], ids=["array", "tensor"])
WAYS = {
    "mapping": {"oil": "energy", "gas": "energy"},
    "function": lambda label: "energy" if label in ("oil", "gas") else label,
    "sequence": ["energy", "energy", "tax", "fee"],
    "array": numpy.array(["energy", "energy", "tax", "fee"]),
}


# -- merging -----------------------------------------------------------------------------------------------------------


@FACES
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_groupby(face, way, shape):
    x = sample(shape)
    merged = face(x).groupby(WAYS[way])
    assert type(merged) is type(face(x))
    assert merged.labels == ("energy", "tax", "fee")
    components = x.components
    numpy.testing.assert_allclose(
        numpy.asarray(merged.components),
        numpy.stack([numpy.asarray(c) for c in (components[0] + components[1], components[2], components[3])]),
        rtol=1e-15,
    )
    equal(merged.value, x.value)
    equal(merged.residual, x.residual)
    again = np.asarray(merged) * 2
    assert again.labels == merged.labels
    numpy.testing.assert_allclose(numpy.asarray(again.c_sum()), numpy.asarray(again.value), rtol=1e-14)


def test_groupby_of_labels_that_were_not_given():
    x = np.decompose(np.array([[1.0, 2.0], [3.0, 4.0]])) * 2
    merged = x.groupby(lambda label: label.index[0])
    assert merged.labels == (0, 1)
    assert merged.components.tolist() == [[[2, 4], [0, 0]], [[0, 0], [6, 8]]]
    assert np.asarray(x.tensor.groupby([None] * 4)).labels == (None,)


def test_groupby_refuses():
    x = sample()
    with pytest.raises(KeyError, match="no component is labelled 'coal'; there are 'oil', 'gas'"):
        x.groupby({"coal": "energy"})
    with pytest.raises(ValueError, match="4 components need as many labels, not 1"):
        x.groupby(["a"])
    for name, args in (("groupby", ({},)), ("top", ()), ("contributions", ()), ("to_dataframe", ()), ("to_xarray", ())):
        with pytest.raises(ValueError, match=f"{name}: the array carries no contributions"):
            getattr(np.ones(3), name)(*args)
        with pytest.raises(ValueError, match=f"{name}: the array carries no contributions"):
            getattr(np.float64(3), name)(*args)


def test_groupby_in_autograd():
    t = torch.tensor([0.3, -0.2, 0.5, 0.1], dtype=torch.float64, requires_grad=True)

    def f(t):
        x = np.decompose(t, labels=LABELS)
        return torch.tanh(x * 2).sum().groupby(WAYS["mapping"]).top(1).components

    assert torch.autograd.gradcheck(f, (t,))


# -- the largest -------------------------------------------------------------------------------------------------------


@FACES
def test_top(face):
    x = np.decompose(np.array([1.0, -5.0, 2.0, 0.5]), labels=LABELS).sum()
    most = face(x).top(2)
    assert most.labels == ("gas", "tax", "other")
    assert most.components.tolist() == [-5.0, 2.0, 1.5]
    assert most.value == -1.5
    assert np.completeness(np.asarray(most)) == 0
    assert face(x).top(3, other="rest").labels == ("gas", "tax", "oil", "rest")
    for k in (4, 10):
        assert face(x).top(k).labels == ("gas", "tax", "oil", "fee")
    assert face(x).top(0).labels == ("other",)
    assert face(x).top(0).components.tolist() == [-1.5]


def test_top_of_an_array_and_of_an_element():
    x = np.decompose(np.array([[1.0, -4.0], [3.0, 1.0], [0.0, 2.0]]), axis=0, labels="abc").sum(0)
    assert x.top(1).labels == ("a", "other")
    assert x.top(1).components.tolist() == [[1, -4], [3, 3]]
    assert x[0].top(1).labels == ("b", "other")
    assert x[1].top(2).components.tolist() == [-4, 2, 1]
    assert isinstance(x[0].top(1), np.float64)


def test_top_refuses():
    x = np.decompose(np.array([3.0, 2.0]), labels=["other", "b"])
    with pytest.raises(ValueError, match="named 'other': choose another name"):
        x.sum().top(1)
    with pytest.raises(ValueError, match="a number of components, not -1"):
        x.top(-1)
    assert x.sum().top(1, other="rest").labels == ("other", "rest")
    assert np.decompose(np.array([3.0, 2.0]), labels=["b", "other"]).sum().top(1).labels == ("b", "other")


# -- tables ------------------------------------------------------------------------------------------------------------


@FACES
def test_to_dataframe(face):
    pandas = pytest.importorskip("pandas")
    x = sample((2, 3))
    frame = face(x).to_dataframe()
    assert list(frame.columns) == ["value", "residual", *LABELS]
    assert frame.shape == (6, 6)
    assert list(frame.index.names) == ["axis_0", "axis_1"]
    assert frame.loc[(1, 2), "value"] == x.value[1, 2]
    equal(frame[list(LABELS)].to_numpy().T.reshape(4, 2, 3), x.components)
    numpy.testing.assert_allclose(frame[["residual", *LABELS]].sum(axis=1), frame["value"], rtol=1e-14)
    frame.iloc[0, 0] = 77.0
    assert x.value[0, 0] != 77.0
    one = face(x[0, 0]).to_dataframe()
    assert one.shape == (1, 6)
    assert isinstance(face(x[0]).to_dataframe().index, pandas.RangeIndex)
    single = face(np.decompose(np.array([1.0, 2.0], dtype=np.float32))).to_dataframe()
    assert single.dtypes.tolist() == [numpy.float32] * 4


def test_labels_of_any_kind_in_tables():
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    for labels in ([("a", 1), ("b", 2)], [0, 1], ["a", 1], [None, ("x",)]):
        x = np.decompose(np.array([1.0, 2.0]), labels=labels)
        frame = x.to_dataframe()
        assert list(frame.columns[2:]) == labels
        assert frame.iloc[1, 3] == 2.0
        assert list(x.to_xarray().component.values) == labels
    unnamed = np.decompose(np.array([1.0, 2.0]))
    assert list(map(str, unnamed.to_dataframe().columns)) == ["value", "residual", "[0]", "[1]"]
    with pytest.raises(ValueError, match=r"\['value'\] name columns"):
        np.decompose(np.array([1.0, 2.0]), labels=["value", "b"]).to_dataframe()


@FACES
def test_to_xarray(face):
    pytest.importorskip("xarray")
    x = sample((2, 3))
    made = face(x).to_xarray(["day", "site"])
    assert made.components.dims == ("component", "day", "site")
    assert made.component.values.tolist() == list(LABELS)
    equal(made.components.sel(component="tax"), x.components[2])
    numpy.testing.assert_allclose(made.residual + made.components.sum("component"), made.value, rtol=1e-14)
    assert face(x).to_xarray().value.dims == ("axis_0", "axis_1")
    assert face(x[0, 0]).to_xarray().components.shape == (4,)
    with pytest.raises(ValueError, match="1 dims for 2 axes"):
        face(x).to_xarray(["day"])


@pytest.mark.parametrize(("method", "package"), [("to_dataframe", "pandas"), ("to_xarray", "xarray")])
def test_packages_that_are_not_installed(monkeypatch, method, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"{method}: {package} is not installed"):
        getattr(sample(), method)()
    with pytest.raises(ImportError, match=f"{method}: {package} is not installed"):
        getattr(sample().tensor, method)()


# -- text --------------------------------------------------------------------------------------------------------------


def test_contributions_of_a_number():
    x = np.decompose(np.array([3.0, -1.0, 0.5]), baseline=1.0, labels=["oil", "natural gas", "tax"])
    made = x.sum().contributions()
    assert str(made).splitlines() == [
        "value         2.5",
        "residual        3",
        "oil            +2  -400.0%",
        "natural gas    -2   400.0%",
        "tax          -0.5   100.0%",
    ]
    assert made.value == 2.5
    assert made.residual == 3.0
    assert len(made) == 3
    assert list(made) == [("oil", 2.0), ("natural gas", -2.0), ("tax", -0.5)]
    assert dict(made)["tax"] == made["tax"] == -0.5
    assert dict(made) == dict(zip(made.labels, made.amounts))
    assert list(dict(x.sum().contributions(1))) == ["oil", "other"]
    with pytest.raises(KeyError, match="coal"):
        made["coal"]


def test_contributions_of_an_array():
    x = np.decompose(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0, labels=["a", "b"])
    assert repr(x.contributions()).splitlines() == [
        "value     [[1. 2.]",
        "           [3. 4.]]",
        "residual  [[0. 0.]",
        "           [0. 0.]]",
        "a         [[1. 2.]",
        "           [0. 0.]]",
        "b         [[0. 0.]",
        "           [3. 4.]]",
    ]
    unchanged = np.decompose(np.array([1.0, 2.0]), baseline=np.array([2.0, 1.0])).sum().contributions()
    assert str(unchanged).splitlines()[2:] == ["[0]       -1", "[1]       +1"]
    turned = (np.decompose(np.array([1.0, 2.0]), labels="ab") * 1j).sum().contributions()
    assert str(turned).splitlines()[2] == "a         +0+1j"


def test_labels_survive():
    """A chain of operations of every kind, views, writes and other inputs."""
    x = np.decompose(np.array([1.0, 2.0, 3.0, 4.0]), labels=LABELS)
    y = np.decompose(np.array([0.5]), labels=["rate"])
    made = np.sort(np.exp(-x).reshape(2, 2).T @ np.ones((2, 2)), axis=0)
    assert made.labels == LABELS
    assert np.linalg.norm(made).labels == LABELS
    assert np.concatenate([made, made])[:3, 0].copy().max().labels == LABELS
    out = np.zeros(3)
    out[1:] = x[:2] * y
    assert out.labels == (*LABELS, "rate")
    assert (out[0] + 1).labels == (*LABELS, "rate")
    both = x.sum() * y[0]
    assert dict(both.contributions()).keys() == {*LABELS, "rate"}
    assert torch.softmax(x.tensor, 0).labels == LABELS


def test_a_class_derived_from_decomposed_tensors_is_refused() -> None:
    """Rules know their own class alone, and went round and round on instances of others."""
    with pytest.raises(TypeError, match=r"^Mine: DecomposedTensor cannot be subclassed; keep one"):

        class Mine(np.DecomposedTensor):
            pass

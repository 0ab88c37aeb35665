"""Single elements, read and written, beside NumPy: dtypes, keys, memory, values; and who else must notice."""

from __future__ import annotations

import gc
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from dtype_cases import DTYPES

# Arrays by the way their memory is laid out.
LAYOUTS: dict[str, Callable[[Any, str], Any]] = {
    "vector": lambda np, dtype: np.arange(6).astype(dtype),
    "steps": lambda np, dtype: np.arange(12).astype(dtype)[1::2],
    "reversed": lambda np, dtype: np.arange(6).astype(dtype)[::-1],
    "matrix": lambda np, dtype: np.arange(12).astype(dtype).reshape(3, 4),
    "transposed": lambda np, dtype: np.arange(12).astype(dtype).reshape(3, 4).T,
    "part": lambda np, dtype: np.arange(20).astype(dtype).reshape(4, 5)[1:, 1:4],
    "column": lambda np, dtype: np.arange(12).astype(dtype).reshape(3, 4)[:, 2],
    "row": lambda np, dtype: np.arange(12).astype(dtype).reshape(3, 4)[1],
    "cube": lambda np, dtype: np.arange(24).astype(dtype).reshape(2, 3, 4),
    "none": lambda np, dtype: np.array(3).astype(dtype)[...],
    "empty": lambda np, dtype: np.zeros(0, dtype),
    "broadcast": lambda np, dtype: np.broadcast_to(np.array([1, 2]).astype(dtype), (3, 2)),
}
NUMBERS = [0, 1, -1, 2, -3, 5, -7, 2**70]
ITEMS: list[Callable[[Any], Any]] = [
    lambda np: 1,
    lambda np: -1,
    lambda np: 7,
    lambda np: np.int64(2),
    lambda np: np.uint8(0),
    lambda np: True,
    lambda np: slice(1),
    lambda np: ...,
    lambda np: 1.0,
]
VALUES: list[Callable[[Any], Any]] = [
    lambda np: 2,
    lambda np: -1,
    lambda np: 300,
    lambda np: 2**63,
    lambda np: True,
    lambda np: 1.7,
    lambda np: float("nan"),
    lambda np: float("inf"),
    lambda np: 1e300,
    lambda np: 65519.99999999999,
    lambda np: 1 + 2j,
    lambda np: np.int8(-5),
    lambda np: np.int64(2**62 + 2**38 + 1),
    lambda np: np.uint64(2**64 - 1),
    lambda np: np.float16(0.1),
    lambda np: np.float32(0.1),
    lambda np: np.float64(0.1),
    lambda np: np.complex64(1 - 1j),
    lambda np: np.bool_(True),
    lambda np: np.array(3.5),
    lambda np: "x",
]


def _outcome(function: Callable[[], Any]) -> Any:
    """What comes of a call: the bits and the type of the result, or the type of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = function()
        except Exception as error:
            return next(kind for kind in (IndexError, ValueError, OverflowError, TypeError) if isinstance(error, kind))
    if made is None or isinstance(made, bool):
        return made
    return isinstance(made, (np.generic, numpy.generic)), str(made.dtype), made.shape, numpy.asarray(made).tobytes()


def _twice(function: Callable[[], Any]) -> Any:
    """The outcome of a call, by the window that is opened at the second one as before: both are the same."""
    first, second, third = _outcome(function), _outcome(function), _outcome(function)
    assert first == second == third
    return third


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reading(dtype: str, layout: str) -> None:
    ours, theirs = LAYOUTS[layout](np, dtype), LAYOUTS[layout](numpy, dtype)
    keys: list[Callable[[Any], Any]] = [lambda np, n=n: n for n in NUMBERS]  # type: ignore[misc]
    keys += [lambda np: np.int64(1), lambda np: np.uint8(2), lambda np: np.int8(-1), lambda np: (), lambda np: True]
    for count in (1, 2, 3):
        chosen = list(itertools.product(ITEMS, repeat=count))
        keys += [lambda np, key=key: tuple(item(np) for item in key) for key in chosen[:: 1 if count < 3 else 17]]  # type: ignore[misc]
    for key in keys:
        got, want = _twice(lambda: ours[key(np)]), _twice(lambda: theirs[key(numpy)])  # noqa: B023
        assert got == want, key(numpy)


@pytest.mark.parametrize("layout", ["vector", "steps", "matrix", "transposed", "cube", "none"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_writing(dtype: str, layout: str) -> None:
    ours, theirs = LAYOUTS[layout](np, dtype), LAYOUTS[layout](numpy, dtype)
    for value, number in [*itertools.product(VALUES, (-1, 1)), (VALUES[0], 9)]:
        key = (number,) * theirs.ndim
        for _ in range(3):
            got = _outcome(lambda: ours.__setitem__(key, value(np)))  # noqa: B023
            want = _outcome(lambda: theirs.__setitem__(key, value(numpy)))  # noqa: B023
            assert got == want, value(numpy)
        if not _same_bits(ours, theirs):
            pytest.fail(f"{key}: {value(numpy)!r} is {ours[key]!r}, not {theirs[key]!r}")


def _same_bits(ours: Any, theirs: Any) -> bool:
    return bool(numpy.array_equal(numpy.asarray(ours), theirs, equal_nan=theirs.dtype.kind in "fc"))


def _opened(x: Any) -> Any:
    for _ in range(3):
        x[(0,) * x.ndim]
    return x


def test_torch_sees_what_is_written_and_autograd_notices() -> None:
    x = _opened(np.arange(3.0))
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    product = np.asarray(w) * x  # autograd keeps x
    x[1] = 5.0
    assert x.tensor.tolist() == [0.0, 5.0, 2.0]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.tensor.sum().backward()


def test_views_see_what_is_written() -> None:
    x = _opened(np.arange(12.0).reshape(3, 4))
    views = [x.T, x[1:], x.reshape(-1), x[:, ::-1], x[1], x.T[::-1]]
    want = numpy.arange(12.0).reshape(3, 4)
    others = [want.T, want[1:], want.reshape(-1), want[:, ::-1], want[1], want.T[::-1]]
    for n in range(3):
        x[1, 2] = want[1, 2] = 50.0 + n
        for view, other in zip([x, *views], [want, *others], strict=True):
            assert view.tolist() == other.tolist()
        for view, other in zip(views, others, strict=True):
            key = (1,) * view.ndim if view.ndim == 2 else (2,)
            view[key] = other[key] = 70.0 + n
            assert x.tolist() == want.tolist()
            assert view[key] == other[key]


def test_decomposed_views_see_what_is_written() -> None:
    x = np.zeros(4)
    view = x[1:]
    _opened(x), _opened(view)
    view[0] = np.decompose(np.array(3.0), labels=["a"])
    assert x.is_decomposed
    assert (x[1].residual, x[1].components.tolist()) == (0.0, [3.0])
    x[1] = 7.0
    assert view[0].value == 7.0
    assert view[0].components.tolist() == [0.0]
    assert float(np.completeness(x).sum()) == 0.0


@pytest.mark.parametrize("held", [False, True])
def test_elements_carry_a_graph_that_comes_later(held: bool) -> None:
    x = _opened(np.arange(3.0))
    if held:
        tensor = x.tensor
        _opened(x)
        tensor.requires_grad_()
    else:
        x.tensor.requires_grad_()
    (x[1] * x[2]).tensor.backward()
    assert x.tensor.grad.tolist() == [0.0, 2.0, 1.0]


@pytest.mark.parametrize("write", ["element", "view", "in place", "copyto", "torch"])
def test_elements_carry_a_graph_that_is_written(write: str) -> None:
    x = np.zeros(3)
    view = x[1:]
    _opened(x), _opened(view)
    w = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    given = np.asarray(w)
    if write == "element":
        x[1] = given[0]
    elif write == "view":
        view[0] = given[0]
    elif write == "in place":
        view += given
    elif write == "copyto":
        np.copyto(view, given)
    else:
        view.tensor.copy_(w)
    (x[1] * 5.0).tensor.backward()
    assert w.grad is not None
    assert w.grad.tolist() == [5.0, 0.0]


def test_memory_that_torch_exchanges() -> None:
    x = _opened(np.arange(4.0))
    x.tensor.share_memory_()
    assert x[2] == 2.0
    y = _opened(np.arange(6.0).reshape(2, 3))
    y.tensor.t_()
    assert y[0, 1] == 3.0
    z = np.asarray(torch.arange(3.0))
    _opened(z)
    z.tensor.data = torch.arange(5.0, 8.0)
    assert z[1] == 6.0
    tensor = torch.arange(3.0)
    held = _opened(np.asarray(tensor))
    tensor.resize_(1000).fill_(4.0)
    assert held[999] == 4.0


@pytest.mark.parametrize("exchange", ["share_memory_", "resize_"])
def test_memory_that_torch_exchanges_by_another_tensor(exchange: str) -> None:
    """The storage gets other memory, and the tensor of the array knows nothing of it."""
    x = _opened(np.asarray(torch.arange(4.0, dtype=torch.float64)))
    other = torch.empty(0, dtype=torch.float64).set_(x._t.untyped_storage())
    if exchange == "resize_":
        other.resize_(100000)
    else:
        other.share_memory_()
    other[2] = 9.0
    assert x[2] == 9.0
    x[1] = 7.0
    assert other[1] == 7.0


def test_other_shapes_of_the_same_array() -> None:
    x = _opened(np.arange(6))
    x.shape = (2, 3)
    assert _opened(x)[1, 2] == 5
    x.resize(8)
    assert _opened(x)[7] == 0
    x.dtype = np.int32
    assert _opened(x)[2] == 1


def test_read_only() -> None:
    x = _opened(np.arange(3))
    view = _opened(x[1:])
    x.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    later = x[:2]
    with pytest.raises(ValueError, match="read-only"):
        _opened(later)[0] = 1
    view[0] = 8  # as NumPy's, which is a view of before
    assert x.tolist() == [0, 8, 2]
    x.setflags(write=True)
    x[0] = 4
    assert x.tolist() == [4, 8, 2]


def test_transforms_and_fake_tensors() -> None:
    x = np.arange(3.0)
    assert np.grad(lambda x: _opened(x)[1] ** 2)(x).tolist() == [0.0, 2.0, 0.0]
    assert np.vmap(lambda row: _opened(row)[0] * 2)(np.ones((2, 2))).tolist() == [2.0, 2.0]

    def f(number: Any) -> Any:
        out = _opened(np.zeros(2))
        out[0] = 1.0
        out[1] = number
        return out[0] * out[1]

    assert np.grad(f)(3.0) == 1.0
    assert np.vmap(f)(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    traced = torch.fx.experimental.proxy_tensor.make_fx(lambda t: _opened(np.asarray(t))[0].tensor * 2)(torch.ones(2))
    assert traced(torch.tensor([5.0, 1.0])).item() == 10.0
    tangent = torch.autograd.forward_ad
    with tangent.dual_level():
        _opened(x)
        dual = tangent.make_dual(torch.ones(3, dtype=torch.float64), torch.full((3,), 2.0, dtype=torch.float64))
        x[0] = np.asarray(dual)[0]
        assert tangent.unpack_dual((x[0] * 3).tensor).tangent.item() == 6.0


def test_memory_of_arrays_that_are_gone() -> None:
    row = _opened(np.arange(12.0).reshape(3, 4)[1])
    gc.collect()
    for n in range(4):
        row[n] = n
    assert row.tolist() == [row[n] for n in range(4)] == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("key", [..., None, slice(None), (..., 0), (None, 1), np.array([True, False, True])])
def test_whole_arrays_are_written_by_keys_of_all_kinds(key):
    ours, theirs = np.zeros((3, 2)), numpy.zeros((3, 2))
    ours[key] = 7.0
    theirs[numpy.asarray(key) if isinstance(key, np.ndarray) else key] = 7.0
    numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


@pytest.mark.parametrize("name", ["shape", "strides", "dtype"])
@pytest.mark.filterwarnings("ignore:Setting the strides:DeprecationWarning")
def test_an_array_whose_elements_were_read_and_that_was_laid_out_anew_takes_decomposed_ones(name):
    for setting in {"shape": [(9, 2), (2, 9)], "strides": [(72, 8)], "dtype": ["i8", "f8"]}[name], []:
        x = np.ones((2, 3, 3))
        x.shape = (2, 9)
        for _ in range(3):
            assert x[0, 1] == 1.0
        for value in setting:
            setattr(x, name, value)
        x[:, :2] = np.decompose(np.array([3.0, 4.0]))
        assert x.is_decomposed
        assert x.value[1].tolist() == [3.0, 4.0, *[1.0] * 7]

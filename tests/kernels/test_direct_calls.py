"""The common calls that kernels declare, beside the general way: the same to the last bit, laid out alike in memory."""

from __future__ import annotations

import contextlib
import copy
import inspect
import itertools
import math
import warnings
from typing import Any

import numpy
import pytest
import torch

import npdec as np
import samples
from npdec._core.tags import spec_of

AXES = (0, 1, -1, 2, -4, None, (0,))
DTYPES = ("float64", "float32", "float16", "complex128", "int64", "int32", "uint8", "uint32", "bool")


def _scope(name: str) -> dict[str, Any]:
    function = samples.find(np, name)
    call = vars(type(function))["__call__"] if isinstance(function, np.ufunc) else function
    scope: dict[str, Any] = getattr(call, "__globals__", {})
    return scope


NAMES = sorted(
    name
    for name, known in samples.SAMPLES.items()
    if samples.find(np, name) is not None and "_common" in _scope(name) and not known[0].shape_only
)


def _tree(item: Any, leaf: Any) -> Any:
    if isinstance(item, (list, tuple)):
        made = [_tree(i, leaf) for i in item]
        return type(item)(*made) if hasattr(item, "_fields") else type(item)(made)
    return leaf(item) if type(item) is np.ndarray else item


def _with_corners(x: Any) -> Any:
    """With zeros of both signs, infinities and nan among its elements."""
    if x.dtype.kind not in "fc" or not x.size:
        return x
    made = x.copy()
    for place, number in enumerate((-0.0, 0.0, math.inf, math.nan)):
        made.ravel()[place * 2 % x.size] = number
    return made


VARIANTS = {
    "as they are": lambda x: x,
    "by columns": np.asfortranarray,
    "with gaps": lambda x: np.repeat(x, 2, -1)[..., ::2] if x.ndim else x,
    "of one element": lambda x: x[tuple(slice(0, 1) for _ in x.shape)],
    "empty": lambda x: x[:0] if x.ndim else x,
    "without an axis": lambda x: x[(0,) * x.ndim] if x.size else x,
    "with corners": _with_corners,
    "of one zero": lambda x: np.full_like(x, -0.0) if x.dtype.kind == "f" else np.zeros_like(x),
    "a row": lambda x: x[0].copy() if x.ndim > 1 and len(x) else x,
    "a row that was a column": lambda x: np.resize(x, (12, 1)).T if x.ndim == 2 and x.size else x,
    "with all digits": lambda x: x * math.e if x.dtype.kind == "f" else x,
    "stacked": lambda x: np.stack([x, x]),
    "long": lambda x: np.resize(x, (37, *x.shape[1:])) if x.ndim and x.size else x,
    **{dtype: lambda x, dtype=dtype: x.astype(dtype) for dtype in DTYPES},
}


def _described(item: Any, given: list[Any]) -> Any:
    """All that a caller can tell of a result."""
    if isinstance(item, (list, tuple)):
        return [type(item).__name__, *[_described(i, given) for i in item]]
    if isinstance(item, (np.ndarray, np.generic)):
        if type(item) is np.ndarray and item._m is None:
            assert item._t.dim(), "an array that may have no axes has a family"
        tensor = item.tensor
        content = numpy.asarray(tensor.detach().resolve_conj().numpy()).tobytes()
        known = [type(item).__name__, tensor.dtype, tuple(tensor.shape), content]
        if isinstance(item, np.generic):
            return known
        alias = [np.shares_memory(item, x) for x in given if type(x) is np.ndarray]
        strides = [stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True) if n > 1]
        return [*known, strides if tensor.numel() else None, item.flags.writeable, item.flags.owndata, alias]
    return repr(item)


def _outcome(name: str, args: Any, kwargs: Any) -> Any:
    args, kwargs = copy.deepcopy((args, kwargs))
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            found = samples.find(np, name)(*args, **kwargs)
            result = _described(found, [*args, *kwargs.values()])
        except Exception as error:
            result = [type(error), str(error)]
    written = [_described(x, []) for x in args if type(x) is np.ndarray]
    return [result, written, [(warning.category, str(warning.message)) for warning in met]]


def _refusing(*args: Any) -> Any:
    raise TypeError("there is no common call")


@pytest.mark.parametrize("name", NAMES)
def test_common_calls_give_what_the_general_way_gives(name, monkeypatch):
    calls: list[Any] = []
    axes = [{"axis": axis} for axis in AXES] if "axis" in inspect.signature(samples.find(np, name)).parameters else []
    for sample in samples.SAMPLES[name]:
        args, kwargs = sample.build(np)
        for variant in VARIANTS.values():
            with contextlib.suppress(Exception):  # there is none of such arrays
                varied = _tree(args, variant)
                calls += [(varied, kwargs), *[(varied, {**kwargs, **axis}) for axis in axes]]
    directly = [_outcome(name, *call) for call in calls]
    scope = _scope(name)
    monkeypatch.setitem(scope, "_common", _refusing)
    if "_in_few" in scope:
        monkeypatch.setitem(scope, "_in_few", lambda array: None)
    for call, found in zip(calls, directly, strict=True):
        assert found == _outcome(name, *call), call


def _gradients(name: str, args: Any, kwargs: Any) -> Any:
    """Of a weighted sum of the results, with respect to every array of floats among the arguments."""
    tensors: list[torch.Tensor] = []

    def tracked(x: Any) -> Any:
        if not x.tensor.is_floating_point():
            return x
        tensors.append(x.tensor.detach().clone().requires_grad_())
        return np.asarray(tensors[-1])

    args = _tree(args, tracked)
    try:
        found = samples.find(np, name)(*args, **copy.deepcopy(kwargs))
    except Exception as error:
        return [type(error), str(error)]
    results: list[torch.Tensor] = []
    _tree(found if isinstance(found, (list, tuple)) else [found], lambda x: results.append(x.tensor))
    results = [x for x in [*results, *([found.tensor] if isinstance(found, np.generic) else [])] if x.requires_grad]
    if not results or not tensors:
        return None
    weights = [torch.arange(1.0, x.numel() + 1, dtype=torch.float64).reshape(x.shape).to(x.dtype) for x in results]
    try:
        return torch.autograd.grad(results, tensors, weights, allow_unused=True)
    except RuntimeError as error:  # of what torch does not differentiate
        return [type(error), str(error)]


@pytest.mark.parametrize("name", NAMES)
def test_common_calls_have_the_gradients_of_the_general_way(name, monkeypatch):
    calls = [(args, kwargs) for args, kwargs in (sample.build(np) for sample in samples.SAMPLES[name])]
    directly = [_gradients(name, *call) for call in calls]
    monkeypatch.setitem(_scope(name), "_common", _refusing)
    for call, found in zip(calls, directly, strict=True):
        expected = _gradients(name, *call)
        if not isinstance(expected, tuple):
            assert found == expected, call
            continue
        for x, y in zip(found, expected, strict=True):
            assert (x is None) == (y is None), call
            if x is not None:
                torch.testing.assert_close(x, y, equal_nan=True)


def _decomposed(name: str, args: Any, kwargs: Any, every: bool) -> Any:
    """The parts of the result, of which the first array of floats is decomposed, or `every` one is."""
    left = [True]

    def decomposed(x: Any) -> Any:
        if x.dtype.kind != "f" or not (left[0] or every) or not x.size:
            return x
        left[0] = False
        groups = (np.arange(x.size) % 3).reshape(x.shape) if x.ndim and x.size > 2 else None
        return np.decompose(x, baseline=x * 0.5 - 0.125, groups=groups, labels="abc" if groups is not None else None)

    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            args = _tree(args, decomposed)
            found = samples.find(np, name)(*args, **copy.deepcopy(kwargs))
        except Exception as error:
            return [type(error), str(error)], []
    parts = []
    for item in found if isinstance(found, (list, tuple)) else [found]:
        known = isinstance(item, (np.ndarray, np.generic)) and item.is_decomposed
        parts.append(
            [type(item), item.value, item.residual, item.components, len(item.labels)] if known else repr(item)
        )
    return parts, [str(warning.message) for warning in met]


def _is_linear(name: str) -> bool:
    kernel = getattr(samples.find(np, name), "__kernel__", None)
    return kernel is not None and spec_of(kernel).direct.linear


LINEAR = [name for name in NAMES if _is_linear(name)]


@pytest.mark.parametrize("name", LINEAR)
def test_common_calls_of_decomposed_arrays_give_what_the_general_way_gives(name, monkeypatch):
    calls: list[Any] = []
    axes = [{"axis": axis} for axis in AXES] if "axis" in inspect.signature(samples.find(np, name)).parameters else []
    for sample in samples.SAMPLES[name]:
        args, kwargs = sample.build(np)
        for variant, every in itertools.product(("as they are", "by columns", "with gaps", "a row", "stacked"), (0, 1)):
            with contextlib.suppress(Exception):  # there is none of such arrays
                varied = _tree(args, VARIANTS[variant])
                calls += [(varied, kwargs, every), *[(varied, {**kwargs, **axis}, every) for axis in axes]]
    directly = [_decomposed(name, *call) for call in calls]
    monkeypatch.setitem(_scope(name), "_common", _refusing)
    carried = 0
    for call, (found, said) in zip(calls, directly, strict=True):
        expected, warned = _decomposed(name, *call)
        assert said == warned, call
        assert len(found) == len(expected), call
        for one, other in zip(found, expected, strict=True):
            if not isinstance(other, list):
                assert one == other, call
                continue
            carried += 1
            assert one[0] is other[0], call
            assert one[4] == other[4], call
            for part, wanted in zip(one[1:4], other[1:4], strict=True):
                numpy.testing.assert_allclose(numpy.asarray(part), numpy.asarray(wanted), rtol=1e-12, atol=1e-12)
            assert numpy.asarray(one[1]).tobytes() == numpy.asarray(other[1]).tobytes(), call
    assert carried


def test_many_kernels_declare_a_common_call():
    assert len(NAMES) > 90
    assert len(LINEAR) > 15

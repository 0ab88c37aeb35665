"""The value of what is computed with a decomposed array is the plain run's to the last bit, and lies in memory as that
does, in whatever order and with whatever steps the array lies there; the residual is the function of the baseline."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest
import torch

import npdec as np
import samples
from decomposition_cases import CASES, FREEZES, baseline, inexact, leaves, run
from samples import named
from tiers import turns
from torch_checks import bits_differ, is_decomposed, marked, seeded
from torch_samples import FREEZES as TORCH_FREEZES
from torch_samples import LARGEST, LOOKS, OPERATORS, OWN, REFUSES, Sample, first_sample

Function = Callable[..., Any]
Layout = Callable[[torch.Tensor], torch.Tensor]

pytestmark = pytest.mark.filterwarnings("ignore")  # of singular matrices of equal rows, among others


def _within(x: torch.Tensor, room: Sequence[int], key: Any) -> torch.Tensor:
    memory = x.new_zeros(room)
    memory[key].copy_(x)
    return memory[key]


LAYOUTS: dict[str, Layout] = {
    "reversed axes": lambda x: x.permute(*range(x.ndim - 1, -1, -1)).contiguous().permute(*range(x.ndim - 1, -1, -1)),
    "every other": lambda x: _within(
        x, [2 * n for n in x.shape[:2]] + [*x.shape[2:]], (slice(None, None, 2),) * min(x.ndim, 2)
    ),
    "a column": lambda x: _within(x, (*x.shape, 3), (..., 1)),
    "a column of a wide table": lambda x: _within(x, (*x.shape, 100), (..., 1)),
    "not aligned": lambda x: _within(x.reshape(-1), (x.numel() + 1,), slice(1, None)).view(x.shape),
    "equal rows": lambda x: x[:1].clone().expand(x.shape),
    "equal columns": lambda x: x[..., :1].clone().expand(x.shape),
    "windows": lambda x: x.reshape(-1).repeat(2).as_strided(x.shape, [1] * x.ndim),
}
each_layout = pytest.mark.parametrize("layout", LAYOUTS)
# Several elements are one in memory: of such residuals one row is computed for all.
_ONE_IN_MEMORY = ("equal rows", "equal columns", "windows")


def _laid(layout: str, x: torch.Tensor) -> torch.Tensor:
    return LAYOUTS[layout](x) if x.ndim and x.numel() else x.clone()


def _assert_same(got: Any, want: torch.Tensor, layout: str) -> None:
    value = got.value if is_decomposed(got) else got
    assert value.dtype is want.dtype
    assert value.shape == want.shape
    # Memory between the columns of a wide table is not copied: the steps are shorter.
    if "wide" not in layout and want.numel() and want.layout is torch.strided:
        steps = [tuple(by for by, n in zip(x.stride(), x.shape, strict=True) if n > 1) for x in (value, want)]
        assert steps[0] == steps[1]  # along an axis of one element they say nothing
    assert not bits_differ(value, want)


# -- making ------------------------------------------------------------------------------------------------------------


@each_layout
@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 4), (1, 3), (2, 0)])
def test_what_is_decomposed_lies_as_it_did(layout: str, shape: tuple[int, ...]) -> None:
    x, r = (_laid(layout, torch.rand(shape, dtype=torch.float64)) for _ in range(2))
    made = np.decompose(x, baseline=r)
    several = np.decompose((x, x), baseline=(r, r))[1]
    array = np.decompose(np.asarray(x), baseline=np.asarray(r)).tensor
    host = np.decompose(x.numpy(), baseline=r.numpy()).tensor
    for one in (made, several, array, host, copy.deepcopy(made)):
        _assert_same(one, x, layout)
        _assert_same(one.residual, r, layout)
        assert one.stride() == one.value.stride()
        assert one.value.data_ptr() % 64 == x.data_ptr() % 64 or layout in (*_ONE_IN_MEMORY, "a column of a wide table")
        assert one.value.untyped_storage()._cdata != x.untyped_storage()._cdata
    if not x.numel():
        return
    seen: list[Any] = []
    for mode in ("reverse", "forward"):
        np.attribute(lambda u: (seen.append(u), u.sum())[1], x, baseline=r, mode=mode)
    for one in seen:
        _assert_same(one, x, layout)
        _assert_same(one.residual, r, layout)


def test_memory_between_is_not_copied() -> None:
    table = torch.zeros(1000, 2000)
    made = np.decompose(table[:, 3])
    assert made.value.untyped_storage().nbytes() <= 2 * 1000 * 4 + 64
    square = np.decompose(table[::100, ::100])
    assert square.value.untyped_storage().nbytes() <= 10 * 200 * 4
    assert square.value.stride(0) > square.value.stride(1) > 1


def test_gradients_pass_the_copy() -> None:
    for layout in LAYOUTS.values():
        leaf = torch.rand(3, 4, dtype=torch.float64, requires_grad=True)
        x = layout(leaf) if "copy_" not in layout.__code__.co_names else leaf
        weights = torch.rand(3, 4, dtype=torch.float64)
        (np.decompose(x).value * weights).sum().backward()
        found = leaf.grad
        leaf.grad = None
        (x * weights).sum().backward() if x is leaf else (layout(leaf) * weights).sum().backward()
        assert torch.equal(found, leaf.grad)


def test_elements_that_are_one_in_memory_are_not_written() -> None:
    """As NumPy has it."""
    for make in (
        lambda np: np.broadcast_to(np.arange(3.0), (2, 3)),
        lambda np: np.lib.stride_tricks.sliding_window_view(np.arange(4.0), 2),
    ):
        for x in (make(numpy), np.decompose(make(np))):
            with pytest.raises(ValueError, match="read-only"):
                x[0, 0] = 1.0
            y = x.copy()
            y[0, 0] = 5.0
            assert float(y.sum()) == float(numpy.asarray(make(numpy)).sum()) + 5 - float(x[0, 0])


# -- NumPy -------------------------------------------------------------------------------------------------------------


def _outcome(name: str, sample: samples.Sample, new: dict[Any, Any]) -> Any:
    try:
        return run(name, sample, new)
    except Exception as error:  # whatever it is, the decomposed run raises the same
        return type(error)


@each_layout
def test_functions_of_numpy(layout: str) -> None:
    turn = list(LAYOUTS).index(layout)  # each function in every other layout
    for name, sample in turns(CASES[turn % 2 :: 2], turn // 2, len(LAYOUTS) // 2):
        found = leaves(sample)
        if layout in EXEMPT.get(name, ((), ""))[0]:
            continue

        def plain(found: Any = found) -> dict[Any, Any]:
            return {p: np.asarray(_laid(layout, torch.tensor(leaf.data, dtype=getattr(torch, leaf.dtype))))
                    for p, leaf in found.items()}  # fmt: skip

        def bases(found: Any = found, sample: samples.Sample = sample) -> dict[Any, Any]:
            return {p: np.asarray(_laid(layout, torch.tensor(baseline(leaf, sample.base, p))))
                    for p, leaf in found.items()}  # fmt: skip

        with named(f"{name}{sample}"):
            want, base = _outcome(name, sample, plain()), _outcome(name, sample, bases())
            given = np.decompose(tuple(plain().values()), baseline=tuple(bases().values()))
            made = _outcome(name, sample, dict(zip(found, given, strict=True)))
            if isinstance(want, type) or isinstance(base, type):
                assert made is want or isinstance(base, type) or issubclass(made, want)
                continue
            for i, (got, one) in enumerate(zip(made, want, strict=True)):
                if not isinstance(one, (np.ndarray, np.generic)):
                    continue
                _assert_same(got.tensor, one.tensor, layout)
                exact = layout not in _ONE_IN_MEMORY and name not in FREEZES and not sample.freezes
                if exact and inexact(one) and got.is_decomposed:
                    assert not bits_differ(got.tensor.residual, base[i].tensor), (
                        "the residual is not that of the plain run"
                    )


def _in_place(x: Any) -> Any:
    y = x.copy("K")
    y += 1
    y *= x
    y[1:] -= x[:-1]
    return y


_LONG: dict[str, Function] = {
    "sum": np.sum,
    "sum 0": lambda x: x.sum(0),
    "mean 1": lambda x: x.mean(1),
    "std": lambda x: x.std(0),
    "norm": np.linalg.norm,
    "cumsum": lambda x: np.cumsum(x, 0),
    "prod": lambda x: np.prod(x + 1, 1),
    "matmul": lambda x: x @ x.T,
    "einsum": lambda x: np.einsum("ij,kj->k", x, x),
    "dot": lambda x: np.dot(x[:, 0], x[:, 1]),
    "in place": _in_place,
    "astype": lambda x: x.astype("float64") * 2,
    "copy": lambda x: np.array(x, copy=True) + x.copy("K"),
    "views": lambda x: x.T[1:, ::2].reshape(-1).sum() + x.ravel()[3:].mean(),
    "exp": lambda x: np.exp(x).sum(-1),
    "softmax": lambda x: np.exp(x - np.max(x, axis=1, keepdims=True)) / np.exp(x).sum(1, keepdims=True),
    "out": lambda x: np.add(x, 1, out=np.empty_like(x)),
    "solve": lambda x: np.linalg.solve(x @ x.T + 400 * np.eye(len(x), dtype=x.dtype), x),
}


@pytest.mark.parametrize("name", _LONG)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_long_enough_to_tell_the_order(name: str, dtype: str) -> None:
    source = numpy.random.default_rng(5)
    x, r = (torch.tensor(source.standard_normal((61, 83)).astype(dtype)) for _ in range(2))
    for layout in turns(LAYOUTS, list(_LONG).index(name), 2):
        with named(layout):
            want, base = (_LONG[name](np.asarray(_laid(layout, part))) for part in (x, r))
            given = np.decompose(np.asarray(_laid(layout, x)), axis=0, baseline=np.asarray(_laid(layout, r)))
            made = _LONG[name](given)
            _assert_same(made.tensor, want.tensor, layout)
            if layout not in _ONE_IN_MEMORY:
                assert not bits_differ(made.tensor.residual, base.tensor)


# -- torch -------------------------------------------------------------------------------------------------------------

_UNWRITTEN = "torch gives numbers of memory that nobody wrote"
_RENORMS = "torch writes to the weights, elements of which are one in memory"
_NOT_COPIED = "what lies between the elements is not copied"
_DEFECTIVE = "of equal rows, a matrix with equal eigenvalues and too few eigenvectors: torch has no derivative"
EXEMPT: dict[str, tuple[Sequence[str], str]] = {
    **dict.fromkeys("native_group_norm masked.median".split(), (_ONE_IN_MEMORY, _UNWRITTEN)),
    **{name: (_ONE_IN_MEMORY, _RENORMS) for name in [*OWN, *OPERATORS] if "embedding" in name},
    **dict.fromkeys("as_strided as_strided_copy as_strided_scatter".split(), (tuple(LAYOUTS), _NOT_COPIED)),
    "linalg.eig": (_ONE_IN_MEMORY, _DEFECTIVE),
}


def _torch_outcome(f: Function, inputs: Sequence[torch.Tensor]) -> list[Any] | None:
    try:
        return seeded(f, inputs)
    except (RuntimeError, IndexError, ValueError, TypeError):
        return None


_IN_TABLE = [(name, op.name) for name, op in OPERATORS.items() if op.name not in {*LOOKS, *REFUSES}]


@each_layout
def test_functions_of_torch(layout: str) -> None:
    table = [(name, op, sample) for name, op in _IN_TABLE for sample in first_sample(name)]
    table += [(name, name, Sample(name, function, inputs)) for name, (function, inputs) in OWN.items()]
    turn = list(LAYOUTS).index(layout)
    for name, op, sample in turns(table[turn % 2 :: 2], turn // 2, len(LAYOUTS) // 2):
        if layout in EXEMPT.get(op, ((), ""))[0] or sum(x.numel() for x in sample.leaves.values()) > LARGEST:
            continue

        def laid(given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
            return [_laid(layout, x) for x in given]

        with named(name), torch.no_grad():
            want, base = (_torch_outcome(sample.run, laid(given)) for given in (sample.inputs, sample.bases))
            if want is None or base is None:
                continue
            made = seeded(sample.run, marked(laid(sample.inputs), laid(sample.bases)))
            for got, one, low in zip(made, want, base, strict=True):
                if isinstance(one, torch.Tensor):
                    _assert_same(got, one, layout)
                    if is_decomposed(got) and layout not in _ONE_IN_MEMORY and op not in TORCH_FREEZES:
                        assert not bits_differ(got.residual, low), "the residual is not that of the plain run"

"""Views of decomposed tensors, whose values are made where they are first read: they are as if made at once."""

from __future__ import annotations

import contextlib
import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode

import npdec as np
from native_cases import native

VIEWS: dict[str, Callable[[Any], Any]] = {
    "x[1]": lambda t: t[1],
    "x[:, 1:]": lambda t: t[:, 1:],
    "x.mT": lambda t: t.mT,
    "x.T": lambda t: t.T,
    "x.mH": lambda t: t.mH,
    "x.transpose(0, 1)": lambda t: t.transpose(0, 1),
    "x.permute(1, 0)": lambda t: t.permute(1, 0),
    "x.unsqueeze(1)": lambda t: t.unsqueeze(1),
    "x[None].squeeze()": lambda t: t[None].squeeze(),
    "x[:1].squeeze(0)": lambda t: t[:1].squeeze(0),
    "x.reshape(-1)": lambda t: t.reshape(-1),
    "x.view(3, 2)": lambda t: t.view(3, 2),
    "x.mT[1:].mT": lambda t: t.mT[1:].mT,
    "x.select(1, 2)": lambda t: t.select(1, 2),
}


class Nothing(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


WHERE: dict[str, Callable[[], Any]] = {
    "at once": contextlib.nullcontext,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "a mode": Nothing,
    "fake tensors": FakeTensorMode,
}


def source() -> np.DecomposedTensor:
    value = torch.arange(1.0, 7.0).reshape(2, 3)
    made = np.decompose(value, labels=list("abcdef"), baseline=0.25 * value)
    made[0]  # from the second view on, they are listed without Python
    return made


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("view", VIEWS)
def test_value(view: str, where: str) -> None:
    of = VIEWS[view]
    x = source()
    made, plain = of(x), of(x.value)
    with WHERE[where]():
        value = made.value
    assert type(value) is torch.Tensor
    assert torch.equal(value, plain)
    assert (value.stride(), value.data_ptr()) == (plain.stride(), plain.data_ptr())
    assert value._is_view()
    assert not value.is_inference()
    assert made.value is value
    assert torch.equal(made.residual + made.components.sum(0), plain)


@pytest.mark.parametrize("view", VIEWS)
def test_writes_into_the_view(view: str) -> None:
    x, of = source(), VIEWS[view]
    before, made = x.value.clone(), of(x)
    version = x._version
    made.mul_(3)
    expected = before.clone()
    of(expected).mul_(3)
    assert x._version > version
    for seen in (x.value, x.residual + x.components.sum(0)):
        torch.testing.assert_close(seen, expected)
    torch.testing.assert_close(made.value, of(expected))


@pytest.mark.parametrize("view", VIEWS)
def test_writes_into_the_source(view: str) -> None:
    x, of = source(), VIEWS[view]
    made = of(x)
    x.add_(np.decompose(torch.ones(2, 3), labels=["new"] * 1, groups=torch.zeros(2, 3, dtype=torch.int64)))
    assert made.labels == x.labels
    torch.testing.assert_close(made.value, of(x.value))
    torch.testing.assert_close(made.components[-1], of(x.components[-1]))
    torch.testing.assert_close(made.residual + made.components.sum(0), made.value)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
@pytest.mark.parametrize("view", VIEWS)
def test_copies(view: str, copied: Callable[[Any], Any]) -> None:
    x, of = source(), VIEWS[view]
    made = copied(of(x))
    assert torch.equal(made.value, of(x.value))
    assert torch.equal(made.components, of(x).components)


def test_transforms() -> None:
    """What is read within a transform of torch.func stays a tensor that may be used outside of it."""
    x = source()
    made = x[1]
    gradient = torch.func.grad(lambda y: (made.value * y).sum())(torch.ones(3))
    assert torch.equal(gradient, x.value[1])
    made = x[0]
    torch.func.vmap(lambda y: made.value * y)(torch.ones(2, 3))
    assert not torch._C._functorch.is_functorch_wrapped_tensor(made.value)


@pytest.mark.slow
@pytest.mark.parametrize("view", ["x.mT[1:].mT", "x[:, 1:]", "x.mT", "x.T", "x.mH"])
def test_compiled(view: str) -> None:
    torch.compiler.reset()
    x, of = source(), VIEWS[view]

    def function(t: Any) -> Any:
        return torch.relu(t * 2) + t.sum()

    inside = torch.compile(lambda t: function(of(t)), fullgraph=True, backend="eager")
    outside = torch.compile(function, fullgraph=True, backend="eager")
    expected = function(of(x))
    for made in (inside(x), outside(of(x))):
        assert torch.equal(made.value, expected.value)
        torch.testing.assert_close(made.components, expected.components)


LINEAR: dict[str, Callable[[Any], Any]] = {
    "-t": lambda t: -t,
    "t * 3": lambda t: t * 3,
    "t / 3": lambda t: t / 3,
    "t + t": lambda t: t + t,
    "t - t / 3": lambda t: t - t / 3,
    "t.clone()": lambda t: t.clone(),
    "t * plain": lambda t: t * torch.full(t.shape, 0.1),
}


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("view", VIEWS)
def test_arithmetic(view: str, name: str) -> None:
    """It is torch's of each part, which lies in memory as torch has it."""
    x, of, function = source(), VIEWS[view], LINEAR[name]
    made, plain = function(of(x)), of(x.value)
    parts = (
        (made.value, plain),
        (made.residual, of(x.residual)),
        *zip(made.components, map(of, x.components), strict=True),
    )
    for part, its in parts:
        assert torch.equal(part, function(its))
    assert made.value.stride() == function(plain).stride()


@native
def test_nothing_is_made_before_it_is_read() -> None:
    x = source()
    assert all("value" not in vars(of(x)) for of in VIEWS.values())


@native
def test_views_that_are_gone_are_dropped() -> None:
    x = source()
    kept = [x[0] for _ in range(5)]
    for _ in range(200):
        x.unsqueeze(0)
    assert x.views is not None
    assert len(x.views) <= 16
    assert len(x.views.living()) == 1 + len(kept)
    many = [x[1] for _ in range(50)]
    assert len(x.views.living()) == 1 + len(kept) + len(many)

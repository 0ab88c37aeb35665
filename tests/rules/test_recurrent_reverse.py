"""Recurrent networks in reverse mode: what the steps pass back is what they pass on, and costs as many operations as
there are steps."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils._python_dispatch import TorchDispatchMode

import npdec as np
from npdec._core.memory_meter import Meter

_KINDS: dict[str, Callable[..., nn.Module]] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "tanh": nn.RNN,
    "relu": lambda *args, **named: nn.RNN(*args, nonlinearity="relu", **named),
    "projected": lambda *args, **named: nn.LSTM(*args, proj_size=2, **named),
}


def _net(kind: str, **options: Any) -> nn.Module:
    torch.manual_seed(0)
    return _KINDS[kind](3, 4, **options).double().requires_grad_(False)


def _weighed(*parts: Any) -> Any:
    """A sum in which every number counts otherwise."""
    total: Any = 0.0
    for part in parts:
        weights = torch.linspace(-1, 2, part.numel(), dtype=part.dtype).reshape(part.shape)
        total = total + (part * weights).sum()
    return total


def _states(state: Any) -> tuple[Any, ...]:
    return state if isinstance(state, tuple) else (state,)


def _same(f: Callable[[Any], Any], x: torch.Tensor, baseline: Any) -> None:
    back, ahead = np.attribute(f, x, baseline=baseline), np.attribute(f, x, baseline=baseline, mode="forward")
    torch.testing.assert_close(back.attribution, ahead.attribution, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(back.residual, ahead.residual, rtol=1e-12, atol=1e-13)
    assert torch.equal(torch.as_tensor(back.value), f(x))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", _KINDS)
def test_back_is_forward(kind: str, bidirectional: bool, layers: int) -> None:
    net = _net(kind, num_layers=layers, bidirectional=bidirectional, batch_first=layers == 1, bias=not bidirectional)
    x, r = torch.randn(2, 3, 5, 3, dtype=torch.float64)

    def f(u: Any) -> Any:
        outputs, last = net(u)
        return _weighed(outputs, *_states(last))

    _same(f, x, r)
    _same(f, x, 0.5)  # of which all sequences have the same residual
    _same(lambda u: _weighed(*_states(net(u)[1])), x, r)
    _same(lambda u: _weighed(net(u)[0][:, -1]), x, r)


@pytest.mark.parametrize("kind", _KINDS)
def test_states_that_carry(kind: str) -> None:
    net = _net(kind)
    x, r = torch.randn(2, 5, 3, 3, dtype=torch.float64)
    given, state = torch.randn(5, 3, 3, dtype=torch.float64), net(torch.randn(5, 3, 3, dtype=torch.float64))[1]

    def moved(u: Any, like: Any) -> Any:
        return u.mean((0, 2)).reshape(1, 3, 1) * like

    for inputs in (lambda u: u, lambda u: given):

        def f(u: Any, inputs: Callable[[Any], Any] = inputs) -> Any:
            start = tuple(moved(u, part) for part in _states(state))
            outputs, last = net(inputs(u), start if isinstance(state, tuple) else start[0])
            return _weighed(outputs, *_states(last))

        _same(f, x, r)


@pytest.mark.parametrize("lengths", [(5, 3, 2), (2, 5, 5)])
@pytest.mark.parametrize("kind", _KINDS)
def test_packed_sequences(kind: str, lengths: tuple[int, ...]) -> None:
    net = _net(kind, bidirectional=True)
    x, r = torch.randn(2, 5, 3, 3, dtype=torch.float64)

    def f(u: Any) -> Any:
        outputs, last = net(pack_padded_sequence(u, torch.tensor(lengths), enforce_sorted=False))
        return _weighed(pad_packed_sequence(outputs)[0], *_states(last))

    _same(f, x, r)


@pytest.mark.parametrize("kind", _KINDS)
def test_a_short_path_has_the_slopes_of_autograd(kind: str) -> None:
    net = _net(kind, num_layers=2)
    x = torch.randn(6, 2, 3, dtype=torch.float64)
    step = 1e-7 * torch.randn_like(x)
    leaf = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(_weighed(net(leaf)[0]), leaf)
    found = np.attribute(lambda u: _weighed(net(u)[0]), x, baseline=x - step)
    torch.testing.assert_close(torch.as_tensor(found.attribution), slope * step, rtol=1e-5, atol=1e-13)


def test_what_does_not_move_and_what_is_saturated() -> None:
    net = _net("lstm")
    x = torch.randn(4, 2, 3, dtype=torch.float64)
    x[1] = 0.0
    _same(lambda u: _weighed(net(u)[0]), x, 0.0)
    _same(lambda u: _weighed(net(u * 1e3)[0]), x, 0.0)
    assert np.attribute(lambda u: _weighed(net(u)[0]), x, baseline=x).attribution.abs().max() == 0


class _Counted(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("kind", "most"), [("lstm", 20), ("gru", 12), ("tanh", 12)])
def test_operations_of_a_step(kind: str, most: int) -> None:
    net, counts = _net(kind), []
    for steps in (10, 30):
        x = torch.randn(steps, 2, 3, dtype=torch.float64)
        np.attribute(lambda u: net(u)[0].sum(), x)
        with _Counted() as mode:
            np.attribute(lambda u: net(u)[0].sum(), x)
        with _Counted() as plain:
            net(x)
            net(x)
        counts.append(mode.count - plain.count)
    assert counts[1] - counts[0] <= 20 * most


def test_memory() -> None:
    net = nn.LSTM(16, 16).requires_grad_(False)
    x = torch.randn(50, 8, 16)

    def plain() -> torch.Tensor:
        leaf = x.clone().requires_grad_()
        return torch.autograd.grad(net(leaf)[0].sum(), leaf)[0]

    peaks = []
    for call in (plain, lambda: np.attribute(lambda u: net(u)[0].sum(), x)):
        call()
        with Meter() as meter:
            call()
        peaks.append(meter.peak)
    assert peaks[1] < 5 * peaks[0]


def test_weights_that_are_written_to_before_gradients_go_back() -> None:
    net = _net("gru")
    x = torch.randn(4, 2, 3, dtype=torch.float64)
    wanted = np.attribute(lambda u: net(u)[0].sum(), x).attribution

    def f(u: Any) -> Any:
        with torch.no_grad():
            kept = net.weight_hh_l0.clone()
            made = net(u)[0].sum()
            net.weight_hh_l0.mul_(2)
            net.weight_hh_l0.copy_(kept)
        return made

    torch.testing.assert_close(np.attribute(f, x).attribution, wanted)

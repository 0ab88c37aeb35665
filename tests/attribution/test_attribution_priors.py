"""`np.attribute(create_graph=True)`: attributions that are differentiated themselves."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import npdec as np
import tiers
from torch_checks import carries, seeded, total
from torch_samples import LOOKS, NO_GRADIENT, OPERATORS, REFUSES, samples

D = torch.float64
CHECKED = [n for n, op in OPERATORS.items() if op.name not in LOOKS and op.name not in REFUSES]


def network(w: torch.Tensor, v: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    hidden = torch.tanh(x @ w)
    hidden = torch.softmax(hidden, -1) + torch.nn.functional.layer_norm(hidden, hidden.shape[-1:])
    return (hidden * v).sum() + (x * x).sum() * v[0] + torch.linalg.solve(torch.eye(3, dtype=D) * 4 + w, x)[0]


METHODS: dict[str, dict[str, Any]] = {
    "local": {},
    "path": {"method": "path", "steps": 6},
    "path, adaptive": {"method": "path", "rtol": 1e-2},
    "gradient": {"method": "gradient"},
    "input_x_gradient": {"method": "input_x_gradient"},
    "shapley": {"method": "shapley"},
    "occlusion": {"method": "occlusion"},
    "groups": {"groups": [0, 0, 1]},
    "baselines": {"baselines": torch.tensor([[0.1, 0.2, 0.3], [0.0, -0.4, 0.2]], dtype=D)},
}


def attended(w: torch.Tensor, x: torch.Tensor, mask: Any, causal: bool) -> torch.Tensor:
    rows = (x @ w).reshape(1, 3, 2, 2).transpose(1, 2)
    met = torch.nn.functional.scaled_dot_product_attention(rows, rows.sin(), rows, mask, 0.0, causal, scale=0.7)
    return (met * torch.arange(12.0, dtype=D).reshape(met.shape)).sum()


def written_out(w: torch.Tensor, x: torch.Tensor, mask: Any, causal: bool) -> torch.Tensor:
    rows = (x @ w).reshape(1, 3, 2, 2).transpose(1, 2)
    scores = rows @ rows.sin().transpose(-1, -2) * 0.7
    if causal:
        scores = scores.masked_fill(~torch.ones(3, 3, dtype=torch.bool).tril(), -torch.inf)
    met = (scores if mask is None else scores + mask).softmax(-1) @ rows
    return (met * torch.arange(12.0, dtype=D).reshape(met.shape)).sum()


@pytest.mark.parametrize(("mask", "causal"), [(False, False), (True, False), (False, True)])
def test_attention_whose_kernel_has_one_derivative_has_a_second_one(mask: bool, causal: bool) -> None:
    """torch's fast attention on a processor cannot be differentiated twice: here, what is written out can."""
    draw = torch.Generator().manual_seed(0)
    w, x, base = (torch.randn(*shape, generator=draw, dtype=D) for shape in ((4, 4), (3, 4), (3, 4)))
    given = torch.randn(3, 3, generator=draw, dtype=D) if mask else None
    w.requires_grad_()
    for options in (METHODS["path"], METHODS["gradient"], METHODS["input_x_gradient"]):
        start = {} if options["method"] == "gradient" else {"baseline": base}
        slopes = []
        for f in (attended, written_out):
            found = np.attribute(lambda x, f=f: f(w, x, given, causal), x, create_graph=True, **options, **start)
            slopes.append(torch.autograd.grad(found.attribution.square().sum(), w)[0])
        torch.testing.assert_close(*slopes)
    fast, slow = (
        np.attribute(lambda x, f=f: f(w, x, given, causal), x, baseline=base, axis=0, order=2, steps=5)
        for f in (attended, written_out)
    )
    torch.testing.assert_close(fast.attribution, slow.attribution)
    assert fast.value == attended(w, x, given, causal)


def test_what_torch_cannot_differentiate_twice_is_named() -> None:
    sizes = torch.tensor([4]), torch.tensor([2])

    def loss(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 2]]), *sizes)

    x = torch.arange(20.0, dtype=D).reshape(4, 1, 5).sin()
    said = r"attribute: .*second derivative.*none of {}: .*method='local'"
    with pytest.raises(NotImplementedError, match=said.format(r"aten::_ctc_loss_backward")):
        np.attribute(loss, x, axis=0, order=2, steps=2)
    with pytest.raises(NotImplementedError, match=said.format("_cdist_backward")):
        np.attribute(lambda x: torch.cdist(x, x + 1).square().sum(), x[:, 0], axis=0, order=2, steps=2)
    with pytest.raises(RuntimeError, match=r"^of f$"):
        np.attribute(lambda x: (_ for _ in ()).throw(RuntimeError("of f")), x[:, 0], axis=0, order=2, steps=2)


@pytest.mark.parametrize("name", METHODS)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    w = torch.tensor([[0.5, -0.3, 0.2], [0.1, 0.4, -0.6], [0.7, 0.2, 0.3]], dtype=D)
    v = torch.tensor([1.0, -2.0, 0.5], dtype=D)
    x = torch.tensor([1.0, -0.5, 2.0], dtype=D)

    def attributed(w: torch.Tensor, v: torch.Tensor, x: torch.Tensor) -> Any:
        found = np.attribute(lambda x: network(w, v, x), x, create_graph=True, **METHODS[name])
        parts = [found.value, found.attribution, *([] if found.residual is None else [found.residual])]
        return tuple(parts)

    plain = np.attribute(lambda x: network(w, v, x), x, **METHODS[name])
    assert not plain.attribution.requires_grad
    torch.testing.assert_close(attributed(w, v, x)[1], plain.attribution, rtol=1e-9, atol=1e-10)
    inputs = [t.clone().requires_grad_() for t in (w, v, x)]
    assert torch.autograd.gradcheck(attributed, inputs, fast_mode=tiers.quick)


@pytest.mark.parametrize("rtol", [None, 1e-2], ids=str)
def test_kinks_on_the_path_move_with_the_weights(rtol: float | None) -> None:
    """Of relu(w · x − b) an input has w_i x_i (1 − t), where t = b / (w · x) is the place of the kink."""
    w = torch.tensor([1.0, 2.0, -0.5], dtype=D, requires_grad=True)
    b = torch.tensor(0.7, dtype=D, requires_grad=True)
    x = torch.tensor([1.0, 0.8, 0.3], dtype=D)
    found = np.attribute(lambda x: torch.relu(w @ x - b), x, method="path", rtol=rtol, create_graph=True).attribution
    known = w * x * (1 - b / (w @ x))
    torch.testing.assert_close(found, known)
    for one, other in zip(found, known, strict=True):
        slopes = (torch.autograd.grad(share, (w, b), retain_graph=True) for share in (one, other))
        torch.testing.assert_close(*slopes)


def test_kinks_between_curves_move_with_the_weights() -> None:
    """Of exp(relu(w · x − b)), which moves by exp(w · x − b) − 1, an input has the part w_i x_i / (w · x)."""
    w = torch.tensor([1.0, 2.0, -0.5], dtype=D, requires_grad=True)
    b = torch.tensor(0.7, dtype=D, requires_grad=True)
    x = torch.tensor([1.0, 0.8, 0.3], dtype=D)
    found = np.attribute(lambda x: torch.exp(torch.relu(w @ x - b)), x, method="path", create_graph=True).attribution
    known = w * x / (w @ x) * torch.expm1(w @ x - b)
    torch.testing.assert_close(found, known)
    for one, other in zip(found, known, strict=True):
        slopes = (torch.autograd.grad(share, (w, b), retain_graph=True) for share in (one, other))
        torch.testing.assert_close(*slopes)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHECKED[::13])
def test_operators(name: str) -> None:
    """The derivative by a factor that the argument has, of a combination of the attributions."""
    sample = next(iter(samples(name)), None)
    if sample is None or OPERATORS[name].name in NO_GRADIENT:
        return
    x, base = sample.inputs[0], sample.bases[0]
    if x.is_complex():
        return
    weights = torch.rand(x.shape, generator=torch.Generator().manual_seed(2), dtype=D).to(x.dtype)

    def number(factor: torch.Tensor, **options: Any) -> torch.Tensor:
        def f(x: torch.Tensor) -> torch.Tensor:
            return total(seeded(sample.run, [x * factor, *sample.inputs[1:]]))

        return (np.attribute(f, x, baseline=base, **options).attribution * weights).sum()

    h, one = 1e-5, torch.ones((), dtype=D)
    wide, narrow = ((number(one + k * h) - number(one - k * h)) / (2 * k * h) for k in (2, 1))
    # A kink, or no number: where the function has a pole, 0 · ∞ has no derivative either.
    poles = any(not bool(torch.isfinite(t).all()) for t in seeded(sample.run, sample.inputs) if carries(t))
    poles |= any(not bool(torch.isfinite(t).all()) for t in seeded(sample.run, sample.bases) if carries(t))
    if poles or not torch.allclose(wide, narrow, rtol=1e-4, atol=1e-6):
        return
    found = number(one.requires_grad_(), create_graph=True)
    if not found.requires_grad:  # a comparison, say, knows no derivative
        assert abs(float(narrow)) < 1e-9
        return
    slope = torch.autograd.grad(found, one, allow_unused=True, materialize_grads=True)[0]
    torch.testing.assert_close(slope, narrow.to(D), rtol=1e-4, atol=1e-5 * max(1.0, float(found.detach().abs())))


def test_a_models_own_no_grad_and_detach_drop_no_contribution() -> None:
    w = torch.tensor([1.0, 2.0], dtype=D, requires_grad=True)

    def f(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            y = torch.exp(x * w)
        return (y.detach() * w).sum()

    x = torch.tensor([0.5, 0.25], dtype=D)
    found = np.attribute(f, x, create_graph=True)
    torch.testing.assert_close(found.attribution, np.attribute(f, x).attribution)
    assert float(found.error.detach().abs()) < 1e-12


def test_arrays_and_writes() -> None:
    w = np.array(torch.tensor([1.0, 2.0, 3.0], dtype=D, requires_grad=True))

    def f(x):
        y = np.zeros(3)
        y[[0, 1, 1]] = x * w
        y[1:] *= y[:-1] + w[0]
        return y.sum()

    found = np.attribute(f, np.array([3.0, 5.0, 7.0]), create_graph=True)
    # w0 x0 + w2 x2 (w0 x0 + w0); the product w0 w2 x0 x2 is shared by halves
    (slope,) = torch.autograd.grad(found.attribution[0].tensor, w.tensor)
    assert slope.tolist() == [3 + 3 * 3 * 7 / 2, 0, 3 * 7 / 2]


def test_a_prior_trains() -> None:
    """A network of two inputs that say the same is led to look at the first one alone, and fits as well."""
    source = torch.Generator().manual_seed(0)
    signal = torch.randn(48, 1, generator=source, dtype=D)
    x = torch.cat([signal, signal + 0.01 * torch.randn(48, 1, generator=source, dtype=D)], 1)
    y = signal[:, 0] ** 2

    def trained(strength: float) -> tuple[float, float]:
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(2, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1)).double()
        steps = torch.optim.Adam(net.parameters(), lr=0.03)
        for _ in range(120):
            steps.zero_grad()
            loss = ((net(x)[:, 0] - y) ** 2).mean()
            if strength:
                shares = np.attribute(lambda x: net(x).sum(), x, create_graph=True).attribution
                loss = loss + strength * (shares[:, 1] ** 2).mean()
            loss.backward()
            steps.step()
        shares = np.attribute(lambda x: net(x).sum(), x).attribution
        return float(((net(x)[:, 0] - y) ** 2).mean().detach()), float(shares[:, 1].abs().mean())

    (_, before), (error, after) = trained(0.0), trained(1.0)
    assert after < 0.1 * before
    assert error < 0.1 * float(y.var())


@pytest.mark.parametrize("options", [{"mode": "forward"}, {"order": 2}, {"order": 2, "method": "local"}], ids=str)
def test_where_there_is_no_graph(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="no graph is created: use mode='reverse' and order=1"):
        np.attribute(torch.sum, torch.ones(2), create_graph=True, **options)
    with pytest.raises(TypeError, match="create_graph is True or False"):
        np.attribute(torch.sum, torch.ones(2), create_graph="yes")

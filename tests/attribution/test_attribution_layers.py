"""np.attribute at layers and along paths: Captum's layer methods, chain rules written out, path integrals."""

from __future__ import annotations

import itertools
import math
import warnings

import captum.attr
import numpy
import pytest
import torch
from captum.attr._utils.approximation_methods import approximation_parameters
from torch import nn

import npdec as np
from npdec.attribution import Layer, _integral

F64 = torch.float64
MODES = pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU, nn.GELU])


@pytest.fixture(autouse=True)
def _captum_warns():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Input Tensor 0 did not already require gradients")
        warnings.filterwarnings("ignore", message="Setting forward, backward hooks")
        yield


@pytest.fixture(autouse=True)
def _double():
    torch.set_default_dtype(F64)
    yield
    torch.set_default_dtype(torch.float32)


def mlp(activation, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 6), activation(), nn.Linear(6, 5), activation(), nn.Linear(5, 3))


def ends(n=4, seed=5):
    source = torch.Generator().manual_seed(seed)
    return torch.randn(n, generator=source), torch.randn(n, generator=source)


def close(a, b, atol=1e-12):
    torch.testing.assert_close(torch.as_tensor(a), torch.as_tensor(b).detach(), rtol=0, atol=atol)


class Block(nn.Module):
    """Attention with a stream around it, of which the heads meet in `out`."""

    def __init__(self, width=6, heads=3):
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(0, 1) for part in self.qkv(self.norm(x)).chunk(3, -1))
        mixed = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]
        return x + self.out(mixed.transpose(0, 1).flatten(-2))


class Small(nn.Module):
    """Two blocks and a head for tokens (n, 6): three logits."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.logits = nn.Linear(6, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.logits(x.mean(0))


# -- by the law --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@MODES
def test_every_layer_of_a_chain_is_complete_and_is_captums_layer_deeplift(activation):
    net, (x, base) = mlp(activation), ends()
    change = net(x) - net(base)
    for name in ("0", "1", "2", "3"):
        found = np.attribute(net, x, baseline=base, output=[0, 2], at=name)
        close(found.attribution.sum(-1), change[[0, 2]])
        close(found.around, torch.zeros(2))
        close(found.error, torch.zeros(2))
        if activation is not nn.GELU:
            theirs = captum.attr.LayerDeepLift(net, net.get_submodule(name))
            want = theirs.attribute(x[None], base[None], target=2)
            close(found.attribution[1], want[0], 1e-10)


@MODES
def test_paths_are_products_of_secants(activation):
    net, (x, base) = mlp(activation), ends()
    found = np.attribute(net, x, baseline=base, output=[0, 1, 2], at=["1", "3"], paths=True)
    w0, w1, w2 = (net[i].weight.detach() for i in (0, 2, 4))
    at_x, at_base = [x], [base]
    for layer in net:
        at_x.append(layer(at_x[-1]).detach())
        at_base.append(layer(at_base[-1]).detach())
    slopes = [(at_x[i + 1] - at_base[i + 1]) / (at_x[i] - at_base[i]) for i in (1, 3)]
    want = torch.einsum("ok,k,kj,j,ji,i->ojki", w2, slopes[1], w1, slopes[0], w0, x - base)
    close(found.attribution, want)
    close(found.around, torch.zeros(3))
    assert found.labels == (None, None, None)
    at_once = np.attribute(net, x, baseline=base, output=[0, 1, 2], at=["1", "3"])
    close(found.attribution.sum((2, 3)), at_once.attribution[0])
    close(found.attribution.sum((1, 3)), at_once.attribution[1])


def test_all_modules_of_a_transformer_with_what_goes_around_them():
    net = Small()
    x, base = (torch.randn(4, 6, generator=torch.Generator().manual_seed(s)) for s in (1, 2))
    change = (net(x) - net(base)).detach()
    names = [name for name, _ in net.named_modules() if name and name != "blocks"]
    found = np.attribute(net, x, baseline=base, output=[0, 2], at=names)
    assert len(found.attribution) == len(names)
    for i, name in enumerate(names):
        part = found.attribution[i]
        assert part.shape == (2, *((3,) if name == "logits" else (4, 18) if "qkv" in name else (4, 6)))
        close(part.sum(tuple(range(1, part.ndim))) + found.around[:, i], change[[0, 2]])
        goes_around = "." in name.removeprefix("blocks.")
        assert (found.around[:, i].abs() > 1e-3).all() if goes_around else (found.around[:, i].abs() < 1e-12).all()
    close(found.error, torch.zeros(2))


def test_which_token_by_which_head_to_which_logit():
    net = Small()
    x, base = (torch.randn(4, 6, generator=torch.Generator().manual_seed(s)) for s in (1, 2))
    heads = Layer("blocks.1.out", inputs=True, groups=np.arange(6) // 2, labels=["a", "b", "c"])
    found = np.attribute(
        net, x, baseline=base, output=[0, 1, 2], at=["blocks.0", heads][1:], paths=True, axis=0, labels=list("wxyz")
    )
    assert found.attribution.shape == (3, 3, 4)
    assert found.labels == (("a", "b", "c"), ("w", "x", "y", "z"))
    by_head = np.attribute(net, x, baseline=base, output=[0, 1, 2], at=heads)
    close(found.attribution.sum(-1), by_head.attribution)
    close(found.attribution.sum((1, 2)) + found.around, net(x) - net(base))
    # Each head alone: components that leave the block by the other heads or around it are taken from its output.
    for h in range(3):
        with torch.no_grad():
            only = torch.zeros(6)
            only[2 * h : 2 * h + 2] = 1.0
        marked = np.decompose(x, axis=0, baseline=base, labels=list("wxyz"))

        def through(module, args, only=only):
            (given,) = args
            parts = given.components * only
            return (np.DecomposedTensor(given.value, given.value - parts.sum(0), parts, given.labels),)

        stream = net.blocks[0](marked)
        handle = net.blocks[1].out.register_forward_pre_hook(through)
        added = net.blocks[1](stream).components - stream.components
        handle.remove()
        close(found.attribution[:, h], torch.einsum("oi,cti->oc", net.logits.weight.detach(), added) / 4)


def test_paths_are_shown_by_their_labels_and_several_layers_as_text():
    net, (x, base) = mlp(nn.Tanh), ends()
    units = Layer("1", groups=[0, 0, 0, 1, 1, 1], labels=["a", "b"])
    found = np.attribute(net, x, baseline=base, output=0, at=units, paths=True, axis=0, labels=["u", "v", "w", "x"])
    shown = dict(found.contributions())
    want = {f"{i} → {k}": found.attribution[j, m] for j, k in enumerate("ab") for m, i in enumerate("uvwx")}
    assert {name: float(amount) for name, amount in shown.items() if "→" in name} == {
        name: float(amount) for name, amount in want.items()
    }
    assert "u → a" in found._repr_html_()
    rows = np.attribute(net, torch.stack([x, base]), output=(0, 0), at="1")
    assert "around the layer" in dict(rows.contributions())
    assert np.attribute(net, x, output=0, at=["0", "1"])._repr_html_() is None


def test_what_goes_around_is_the_stream():
    inner = nn.Linear(3, 3)

    def f(x):
        return (2 * x + inner(x)).sum()

    x = torch.tensor([1.0, -2.0, 3.0])
    found = np.attribute(f, x, at=inner)
    close(found.attribution, inner.weight.detach() @ x)
    close(found.around, 2 * x.sum())
    assert "around" not in repr(found)


@pytest.mark.parametrize("inplace", [False, True])
def test_layers_that_write_in_place_and_arrays_of_numpys_kind(inplace):
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=inplace), nn.Linear(4, 2))
    x = torch.tensor([1.0, 2.0, -1.0])

    def f(a):
        return np.asarray(net(a.tensor))

    found = np.attribute(f, np.asarray(x), at=[net[0], net[1]], output=1)
    assert all(type(part) is np.ndarray for part in found.attribution)
    hidden, weight = net[0](x).detach().clone(), net[2].weight.detach()[1]
    start = net[0].bias.detach()
    for part in found.attribution:
        close(torch.as_tensor(numpy.asarray(part)), weight * (hidden.clamp(min=0) - start.clamp(min=0)))


def test_several_arrays_and_several_calls_of_one_module():
    torch.manual_seed(4)
    cell = nn.LSTMCell(2, 3)

    def f(x):
        h = c = x.new_zeros(3)
        for one in x:
            h, c = cell(one, (h, c))
        return h.sum()

    x = torch.randn(3, 2)
    with pytest.raises(ValueError, match=r"called more than once: choose one with Layer\(\.\.\., call=0\)"):
        np.attribute(f, x, at=cell)
    change = f(x) - f(torch.zeros(3, 2))
    for call in range(3):
        found = np.attribute(f, x, at=Layer(cell, call=call))
        h, c = found.attribution
        assert h.shape == c.shape == (3,)
        close(h.sum() + c.sum() + found.around, change)
    close(c, torch.zeros(3))  # the last one's state goes nowhere
    first, last = (np.attribute(f, x, at=Layer(cell, call=i)).around for i in (0, 2))
    assert abs(first) > 1e-3
    close(last, 0.0)
    found = np.attribute(f, x, at=[Layer(cell, axis=(), call=i) for i in range(3)], paths=True, axis=0)
    assert found.attribution.shape == (1, 1, 1, 3)
    close(found.attribution[0, 0, 0, 1:], torch.zeros(2))  # what enters later does not pass through the first
    with pytest.raises(ValueError, match=r"no such place as the output of LSTMCell: it was called 3 times"):
        np.attribute(f, x, at=Layer(cell, call=3))
    with pytest.raises(ValueError, match=r"2 arrays at once need components"):
        np.attribute(f, x, at=[Layer(cell, call=1)], paths=True)


@pytest.mark.slow
def test_a_graph_for_a_prior_on_a_layer():
    net, (x, base) = mlp(nn.Tanh), ends()
    found = np.attribute(net, x, baseline=base, output=1, at="1", create_graph=True)
    found.attribution.pow(2).sum().backward()
    weight = net[4].weight
    step, grads = 1e-6, weight.grad[1].clone()
    for j in range(2):
        moved = []
        for sign in (1, -1):
            with torch.no_grad():
                weight[1, j] += sign * step
            moved.append(np.attribute(net, x, baseline=base, output=1, at="1").attribution.pow(2).sum())
            with torch.no_grad():
                weight[1, j] -= sign * step
        close(grads[j], (moved[0] - moved[1]) / (2 * step), 1e-7)


# -- by other methods --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@MODES
@pytest.mark.parametrize("batched", [False, True, "vmap"])
def test_path_at_a_layer_is_captums_with_the_same_nodes(monkeypatch, activation, batched):
    net, (x, base) = mlp(activation), ends()
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)  # Captum rounds its weights to single precision
    for name in ("0", "1", "2"):
        theirs = captum.attr.LayerIntegratedGradients(net, net.get_submodule(name))
        want = theirs.attribute(x[None], base[None], target=1, n_steps=7, method="gausslegendre")
        found = np.attribute(net, x, baseline=base, output=1, at=name, method="path", steps=7, batched=batched)
        close(found.attribution, want[0])
        assert found.around is None


@pytest.mark.slow
def test_path_from_tokens_is_captums_at_the_embedding():
    torch.manual_seed(6)
    net = nn.Sequential(nn.Embedding(10, 4), nn.Tanh(), nn.Flatten(), nn.Linear(12, 2))
    tokens, pad = torch.tensor([[3, 7, 1]]), torch.zeros(1, 3, dtype=torch.int64)
    theirs = captum.attr.LayerIntegratedGradients(net, net[0])
    want = theirs.attribute(tokens, pad, target=1, n_steps=400, method="gausslegendre")
    for method in ("path", "local"):
        found = np.attribute(net, tokens, baseline=pad, output=(0, 1), at="0", method=method)
        assert found.attribution.shape == (1, 3, 4)
        close(found.attribution.sum(), (net(tokens) - net(pad))[0, 1], 1e-9)
        close(found.attribution, want, 1e-6)
    with pytest.raises(TypeError, match=r"paths lead from inputs of floating numbers"):
        np.attribute(net, tokens, at="0", output=(0, 1), paths=True)
    with pytest.raises(TypeError, match=r"'conductance' moves the inputs.*integers.*method='path'"):
        np.attribute(net, tokens, at="0", output=(0, 1), method="conductance")


@pytest.mark.slow
@MODES
def test_conductance_is_the_integral_of_what_flows_and_captums_limit(activation):
    net, (x, base) = mlp(activation), ends()
    nodes, weights = numpy.polynomial.legendre.leggauss(9)
    for name, upto in (("1", 2), ("2", 3)):
        found = np.attribute(net, x, baseline=base, output=[0, 1], at=name, method="conductance", steps=9)
        want = torch.zeros(2, found.attribution.shape[1])
        for t, w in zip((nodes + 1) / 2, weights / 2, strict=True):
            point = base + t * (x - base)
            hidden, moves = torch.func.jvp(net[:upto], (point,), (x - base,))
            want += w * torch.func.jacrev(net[upto:])(hidden)[:2] * moves
        close(found.attribution, want)
        free = np.attribute(net, x, baseline=base, output=1, at=name, method="conductance", rtol=1e-8)
        close(free.attribution.sum(), (net(x) - net(base))[1], 1e-6)
        theirs = captum.attr.LayerConductance(net, net.get_submodule(name))
        errors = [
            (theirs.attribute(x[None], base[None], target=1, n_steps=n)[0] - free.attribution).abs().max()
            for n in (50, 400)
        ]
        assert errors[1] < 2e-3  # differences between neighbouring nodes: of the first order in their distance
        assert errors[1] < errors[0] / 4


@MODES
@pytest.mark.parametrize("rule", ["gausslegendre", "riemann_trapezoid"])
def test_conductance_is_captums_with_the_same_nodes(monkeypatch, activation, rule):
    """Captum weighs the slope at a node by how far the layer moves to the next one. Where the layer is linear in the
    inputs that is its rate by the distance of the nodes, and the numbers are the same."""
    net, (x, base) = mlp(activation), ends()
    nodes = approximation_parameters(rule)[1](8)
    pairs = tuple((a, b - a) for a, b in itertools.pairwise(nodes))
    monkeypatch.setattr(_integral, "gauss_legendre", lambda steps: pairs)
    units = Layer("0", groups=[0, 0, 1, 1, 2, 2])
    theirs = captum.attr.LayerConductance(net, net[0])
    for target in range(3):
        want = theirs.attribute(x[None], base[None], target=target, n_steps=7, method=rule)[0]
        options = {"baseline": base, "output": target, "method": "conductance", "steps": 7}
        close(np.attribute(net, x, at="0", **options).attribution, want)
        close(np.attribute(net, x, at=units, **options).attribution, want.reshape(3, 2).sum(1))


@pytest.mark.slow
def test_conductance_beside_what_goes_around():
    net = Small()
    x, base = (torch.randn(4, 6, generator=torch.Generator().manual_seed(s)) for s in (1, 2))

    found = np.attribute(net, x, baseline=base, output=1, at=net.blocks[1].out, method="conductance", rtol=1e-9)
    close(found.value, net(x)[1].detach(), 0)
    close(found.attribution.sum() + found.around, (net(x) - net(base))[1], 1e-8)
    assert abs(found.around) > 1e-3


@pytest.mark.slow
def test_other_methods_are_those_of_the_rest_of_the_network():
    net, (x, base) = mlp(nn.Tanh), ends()
    hidden, start = (net[:2](end).detach() for end in (x, base))
    for method in ("gradient", "input_x_gradient", "shapley", "occlusion", "path"):
        own = {} if method == "gradient" else {"baseline": base}
        rest = {} if method == "gradient" else {"baseline": start}
        found = np.attribute(net, x, output=2, at="1", method=method, **own)
        want = np.attribute(net[2:], hidden, output=2, method=method, **rest)
        close(found.attribution, want.attribution)
        close(found.value, net(x)[2])
    found = np.attribute(net, x, output=2, at=Layer("1", groups=[0, 0, 1, 1, 2, 2]), baseline=base, method="shapley")
    want = np.attribute(net[2:], hidden, output=2, groups=[0, 0, 1, 1, 2, 2], baseline=start, method="shapley")
    close(found.attribution, want.attribution)
    many = torch.randn(5, 4, generator=torch.Generator().manual_seed(9))
    for method in ("local", "conductance", "path"):
        found = np.attribute(net, x, output=2, at="1", baselines=many, method=method)
        each = torch.stack([np.attribute(net, x, output=2, at="1", baseline=one, method=method)[2] for one in many])
        close(found.attribution, each.mean(0))
        close(found.standard_error, each.std(0) / math.sqrt(5))


# -- what does not fit -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"at": "9"}, ValueError, r"Sequential has no module '9': it has 0, 1, 2, 3, 4"),
        ({"at": 3}, TypeError, r"at is the name of a module, a module, a Layer or a list of these, not 3"),
        ({"at": []}, ValueError, r"at names no layer"),
        ({"at": nn.Linear(1, 1)}, ValueError, r"no such place as the output of Linear: it was not called"),
        ({"at": ["3", "1"], "paths": True}, ValueError, r"output of 1 does not depend on the output of 3"),
        ({"at": ["1", "3"], "method": "path"}, TypeError, r"several layers are attributed to by method 'local'"),
        (
            {"at": "1", "axis": 0},
            TypeError,
            r"the units of a layer are those of np\.attribution\.Layer\(\.\.\., axis=\)",
        ),
        ({"at": "1", "order": 2, "method": "local"}, TypeError, r"pairs are those of the inputs"),
        ({"at": "1", "mode": "forward"}, TypeError, r"mode.*takes no at=|takes no at="),
        ({"at": "1", "method": "path", "paths": True}, TypeError, r"takes no paths="),
        ({"paths": True}, TypeError, r"say which, with at="),
        ({"method": "conductance"}, TypeError, r"say which, with at="),
        ({"at": "1", "paths": 1}, TypeError, r"paths is True or False, not 1"),
        ({"at": Layer("1", call="x")}, TypeError, r"call of a Layer is an int, which counts from 0, not 'x'"),
        ({"at": Layer("1", call=-1)}, TypeError, r"call of a Layer is an int, which counts from 0, not -1"),
    ],
)
def test_what_does_not_fit_together(options, error, said):
    net, (x, base) = mlp(nn.Tanh), ends()
    with pytest.raises(error, match=said):
        np.attribute(net, x, baseline=base, output=0, **options)
    assert not net[1]._forward_hooks


def test_names_need_a_module():
    net = mlp(nn.Tanh)
    with pytest.raises(TypeError, match=r"but the function is none: give the module"):
        np.attribute(lambda x: net(x) + 0, torch.ones(4), at="1", output=0)
    found = np.attribute(net.forward, torch.ones(4), at="1", output=0)
    close(found.attribution, np.attribute(net, torch.ones(4), at="1", output=0).attribution)

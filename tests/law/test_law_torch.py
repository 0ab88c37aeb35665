"""The law through torch's own calls: every form of an argument, writes in place, the functions of networks."""

from __future__ import annotations

import threading

import pytest
import torch
import torch.nn.functional as F

import npdec as np

torch.manual_seed(0)
B, C = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
INDEX = torch.tensor([[0, 1, 1, 0]])


def written(f):
    """The function that applies f to a copy of its argument and returns the copy."""

    def g(x):
        y = x * 1
        f(y)
        return y

    return g


def rows(y):
    y[0] += 1
    y[1] *= y[2]
    y[:, 0] = y[:, 1]


def into_plain(x):
    y = B.clone()
    y.mul_(x)
    y += x
    return y


CALLS = {
    "div of keywords": lambda x: torch.div(input=x, other=C),
    "div rounded": lambda x: torch.div(x, other=0.7, rounding_mode="floor"),
    "floor_divide": lambda x: x // 0.3,
    "remainder of a number": lambda x: 2 % (x * x + 0.1),
    "amax of keywords": lambda x: torch.amax(input=x, dim=[0, 1], keepdim=True),
    "maximum of keywords": lambda x: torch.maximum(input=x, other=B),
    "clamp_min by a tensor": B.clamp_min,
    "clamp_max of both": lambda x: (2 * x).clamp_max(x),
    "max of a number": lambda x: x.sum().max(0).values[None],
    "sort of keywords": lambda x: torch.sort(input=x * 0 + B * x.sum(), dim=0).values.sum(0),
    "detach": lambda x: x * x.detach() + x.data,
    "scatter": lambda x: B.scatter(0, INDEX, x),
    "scatter a number": lambda x: x.scatter(0, INDEX, value=2.0),
    "scatter and multiply": lambda x: x.scatter(0, INDEX, 2.0, reduce="multiply"),
    "scatter and add": lambda x: x.scatter(0, INDEX, 2.0, reduce="add"),
    "relu in place": written(lambda y: F.relu(y, inplace=True)),
    "elu in place": written(lambda y: F.elu(y, 0.5, True)),
    "hardtanh_": written(F.hardtanh_),
    "fill_diagonal_": written(lambda y: y.fill_diagonal_(3.0)),
    "rows in place": written(rows),
    "into a plain tensor": into_plain,
    "in-place network": torch.nn.Sequential(
        torch.nn.Linear(4, 4), torch.nn.ReLU6(True), torch.nn.Linear(4, 4), torch.nn.SiLU(True)
    ).double(),
    "pad with a number": lambda x: F.pad(x, (1, 1), value=3.0),
    "prelu of channels": lambda x: F.prelu(x, torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)),
    "rrelu": lambda x: F.rrelu(x, training=False),
    "embedding": lambda x: F.embedding(torch.tensor([[1, 2]]), x, padding_idx=1),
    "max_pool1d": lambda x: F.max_pool1d(x[None], 2, stride=1, padding=1),
    "max_pool2d": lambda x: F.max_pool2d(input=x[None], kernel_size=2, stride=1, ceil_mode=True),
    "max_pool2d dilated": lambda x: torch.max_pool2d(x[None], 2, 1, 1, 2),
    "max_pool2d indices": lambda x: F.max_pool2d(x[None], (3, 2), return_indices=True)[0],
    "adaptive_max_pool2d": torch.nn.AdaptiveMaxPool2d((2, 3)),
    "masked softmax": lambda x: torch.softmax(x.masked_fill(B > 0.5, -torch.inf), 1),
    "masked log-sum": lambda x: torch.logsumexp(
        x + torch.zeros(4, dtype=x.dtype).index_fill(0, INDEX[0], -torch.inf), 1
    ),
    "masked exp": lambda x: torch.exp(x.masked_fill(B > 0.5, -torch.inf)),
    "attention": lambda x: F.scaled_dot_product_attention(x[None, None], B[None, None], x[None, None], is_causal=True),
}


@pytest.mark.filterwarnings("ignore:.*at the baseline it would choose otherwise")
@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    f = CALLS[name]
    f = f if name != "adaptive_max_pool2d" else (lambda x, f=f: f(x[None]))
    x, r = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    y = f(np.decompose(x, baseline=r))
    with torch.no_grad():
        assert torch.equal(y.value, f(x))
        torch.testing.assert_close(y.residual, f(r))
    torch.testing.assert_close(y.c_sum(), y.value)
    backward = np.attribute(lambda x: f(x).sum(), x, baseline=r).attribution
    torch.testing.assert_close(backward.flatten(), y.components.flatten(1).sum(1))


def test_random_numbers_depend_on_no_input():
    d = np.decompose(torch.ones(3)) * 2
    d.normal_()
    assert not d.components.any()
    assert torch.equal(d.residual, d.value)
    with pytest.raises(NotImplementedError, match="map_"):
        d.map_(torch.ones(3), max)


def test_an_empty_out_takes_the_shape():
    d = np.decompose(torch.tensor([1.0, 2.0]))
    out = torch.empty(0)
    torch.mul(d, 2, out=out)
    assert out.components.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_a_function_without_derivatives_says_so():
    with pytest.raises(NotImplementedError, match=r"_chunk_cat: .*register_function"):
        torch._chunk_cat([np.decompose(torch.randn(3, 2))], 0, 1)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_attribute_within_a_mode_without_gradients(mode):
    with mode():
        x = torch.tensor([1.0, 2.0])
        made = np.attribute(lambda x: (x * x).sum(), x)
    assert made.attribution.tolist() == [1.0, 4.0]


def test_integer_tensors_hold_steps():
    d = np.decompose(torch.tensor([1.5, 2.0]))
    out = torch.zeros(2, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        torch.add(d, 0, out=out)  # as torch says it
    assert type(out) is torch.Tensor
    out.copy_(d)
    assert (out.value.tolist(), out.residual.tolist(), out.components.tolist()) == ([1, 2], [0, 0], [[1, 0], [0, 2]])
    out[0] = d[1] + 0.5
    assert (out.value.tolist(), out.components.tolist()) == ([2, 2], [[0, 0], [2, 2]])


def test_threads_attribute_at_once():
    """Each thread has its own rule, labels and graph."""
    found = {}

    def work(i):
        x = torch.arange(1.0, 6.0, dtype=torch.float64) + i
        with np.rule("none" if i % 2 else "affine"):
            for _ in range(20):
                forward = torch.tanh(np.decompose(x) / 5).sum().components
                backward = np.attribute(lambda x: (x * x).sum(), x).attribution
        found[i] = forward, backward

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, (forward, backward) in found.items():
        x = torch.arange(1.0, 6.0, dtype=torch.float64) + i
        torch.testing.assert_close(backward, x * x)
        with np.rule("none" if i % 2 else "affine"):
            assert torch.equal(forward, torch.tanh(np.decompose(x) / 5).sum().components)
    assert len(found) == 4


@pytest.mark.parametrize("made_there", [True, False])
def test_inference_mode_throughout(made_there):
    """Tensors made in inference mode count no versions; nothing in a model needs them to."""
    torch.manual_seed(0)
    with torch.inference_mode(made_there):
        layers = [torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.LayerNorm(5), torch.nn.Linear(5, 4), torch.nn.GELU()]
        model = torch.nn.Sequential(*layers).double()
        x = torch.randn(3, 6, dtype=torch.float64)

    def f(a):
        h = model(a)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        return torch.softmax(h @ h.mT, -1) @ h

    with torch.inference_mode():
        made = f(np.decompose(x, axis=1))
        inside = np.attribute(lambda a: f(a)[0, 1], x).attribution
    with torch.no_grad():
        wanted = f(np.decompose(x.clone(), axis=1))
    assert torch.equal(made.value, wanted.value)
    torch.testing.assert_close(made.components, wanted.components)
    torch.testing.assert_close(inside.sum(0), wanted.components[:, 0, 1])


def test_what_is_written_to_in_inference_mode_is_no_longer_what_it_was():
    def normed(d, write):
        mean = d.pow(2).mean(-1, keepdim=True)
        if write:
            d.mul_(2.0)
        return d * torch.rsqrt(mean + 1e-6)

    with torch.inference_mode():
        x = torch.linspace(1.0, 2.0, 6, dtype=torch.float64).reshape(2, 3)
        for write in (False, True):
            made = normed(np.decompose(x, axis=1, baseline=0.5), write)
            torch.testing.assert_close(made.value, normed(x.clone(), write))
            torch.testing.assert_close(made.c_sum(), made.value)


@pytest.mark.parametrize("function", [torch.add, torch.mul, torch.sub, torch.where, torch.maximum, torch.div])
@pytest.mark.parametrize("wide", [torch.float64, torch.float32])
def test_numbers_without_axes_do_not_widen_components(function, wide):
    row = np.decompose(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float16), labels=["a", "b", "c"])
    number = np.decompose(torch.tensor(2.5, dtype=wide), baseline=1.0, labels=["d"])
    given = (torch.tensor([True, False, True]),) if function is torch.where else ()
    made = function(*given, row, number)
    assert made.dtype is made.residual.dtype is made.components.dtype is function(*given, row.value, number.value).dtype

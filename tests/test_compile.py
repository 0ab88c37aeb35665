"""Functions of decomposed tensors under torch.compile, in one graph: the numbers are those without it."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import nn

import npdec as np

pytestmark = [
    pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*"),
]

DOUBLE = torch.float64


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def gpt2_block(attention):
    config = transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2, attn_implementation=attention)
    torch.manual_seed(0)
    return transformers.models.gpt2.modeling_gpt2.GPT2Block(config, layer_idx=0).double().eval()


def mlp():
    torch.manual_seed(0)
    layers = [nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 8), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(8, 3)).double()


def cnn():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3), nn.SiLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3), nn.Softmax(1)
    ).double().eval()  # fmt: skip


def tokens():
    torch.manual_seed(1)
    x = torch.randn(1, 5, 16, dtype=DOUBLE)
    return np.decompose(x, axis=1, baseline=torch.randn_like(x))


def matrix():
    torch.manual_seed(1)
    return np.decompose(torch.randn(3, 4, dtype=DOUBLE), baseline=torch.randn(3, 4, dtype=DOUBLE))


def compare(f, x, backend="eager", rtol=1e-12):
    with torch.no_grad():
        made, plain = torch.compile(f, fullgraph=True, backend=backend)(x), f(x)
    assert type(made) is type(plain)
    assert made.labels == plain.labels
    scale = float(plain.value.abs().max())
    torch.testing.assert_close(made.value, plain.value, rtol=rtol, atol=rtol * scale)
    torch.testing.assert_close(made.residual, plain.residual, rtol=rtol, atol=rtol * scale)
    torch.testing.assert_close(made.components, plain.components, rtol=rtol, atol=rtol * scale)
    assert float(np.completeness(made).abs().max()) <= 1e-10 * scale
    if backend == "eager":
        assert torch.equal(made.value, plain.value)
    return made


def test_mlp():
    compare(mlp(), matrix(), "aot_eager")


def test_cnn():
    torch.manual_seed(1)
    compare(cnn(), np.decompose(torch.randn(2, 1, 8, 8, dtype=DOUBLE), axis=2), "aot_eager")


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_gpt2_block(attention):
    compare(gpt2_block(attention), tokens(), "aot_eager" if attention == "sdpa" else "eager")


def test_inductor():
    """The compiler that torch.compile takes unless told otherwise."""
    compare(lambda x: torch.tanh(x) @ x.mT, matrix(), "inductor")


def in_place(x):
    y = x * 1
    y += x
    y.mul_(2)
    y[:, 0] = x[:, 1]
    return y


CALLS = {
    "joined": lambda x: torch.cat((x, 2 * x), dim=-1),
    "split": lambda x: torch.cat(x.split(2, 1)[::-1]),
    "in place": in_place,
    "quotient": lambda x: 1 / (1 + x / (x * x + 1)),
    "attributes": lambda x: (x.T @ x.mT.T).real * len(x) / x.shape[0],
    "close to the baseline": lambda x: torch.exp((x - x) * 1e-3 + 1),
    "unflatten": lambda x: x.unflatten(1, (2, 2)).movedim(-1, 0).flatten(1),
    "maximum": lambda x: torch.maximum(x.amax(1, keepdim=True), x),
    "norm": lambda x: x / x.norm(),
    "by quadrature": lambda x: torch.linalg.det(x @ x.mT + torch.eye(3, dtype=DOUBLE)) + torch.asinh(x),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
    "rms_norm written out": lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6),
    "mask": lambda x: torch.softmax(x.masked_fill(x.value > 1, -torch.inf), -1),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    compare(CALLS[name], matrix(), rtol=1e-10)


def test_two_inputs_decomposed_apart():
    x, y = np.decompose(torch.randn(3, dtype=DOUBLE)), np.decompose(torch.randn(3, dtype=DOUBLE))

    def f(x, y):
        return x * y + torch.stack([x, y]).sum(0)

    made, plain = torch.compile(f, fullgraph=True, backend="eager")(x, y), f(x, y)
    assert made.labels == plain.labels
    assert torch.equal(made.components, plain.components)


def test_labels_that_meet_are_looked_at_again():
    """A graph that was made for labels of two inputs does not serve one label of both, nor the other way about."""
    product = torch.compile(torch.mul, fullgraph=True, backend="eager")
    a, b = torch.randn(2, dtype=DOUBLE), torch.randn(2, dtype=DOUBLE)
    together, apart = lambda: np.decompose((a, b), axis=0), lambda: (np.decompose(a), np.decompose(b))
    named = lambda: (np.decompose(a, labels=["p", "q"]), np.decompose(b, labels=["q", "p"]))  # noqa: E731
    for make in (together, apart, apart, together, named):
        x, y = make()
        made, plain = product(x, y), x * y
        assert made.labels == plain.labels
        assert torch.equal(made.components, plain.components)


def test_a_tuple_is_the_first_that_is_seen():
    """In a process in which nothing of npdec has been compiled yet."""
    program = (
        "import torch, npdec as np\n"
        "x = np.decompose(torch.tensor([1.0, 2.0]))\n"
        "y = torch.compile(lambda x: torch.cat((x, x)), fullgraph=True, backend='aot_eager')(x)\n"
        "print(y.components.tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[[1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 2.0]]"


def test_a_graph_is_made_once():
    """Other numbers of the same shape and labels run in the same graph."""
    graphs = []

    def count(graph, inputs):
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(mlp(), fullgraph=True, backend=count)
    x = torch.randn(3, 4, dtype=DOUBLE)
    labels = list(range(12))
    with torch.no_grad():
        for value in (x, 2 * x, torch.randn_like(x)):
            y = compiled(np.decompose(value, labels=labels))
            assert float(np.completeness(y).abs().max()) < 1e-14
    assert len(graphs) == 1


@pytest.mark.filterwarnings(
    "ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"
)  # the compiler does
def test_reverse_mode():
    """np.attribute of a compiled function."""
    model, x = mlp(), torch.randn(3, 4, dtype=DOUBLE)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    made = np.attribute(lambda x: compiled(x)[1, 2], x)
    plain = np.attribute(lambda x: model(x)[1, 2], x)
    torch.testing.assert_close(made.attribution, plain.attribution, rtol=1e-12, atol=1e-14)


def test_quadrature_says_at_run_time_what_it_lacks():
    compiled = torch.compile(torch.logdet, fullgraph=True, backend="eager")
    far = torch.eye(2, dtype=DOUBLE) * torch.tensor([1.0, 1e9])
    with pytest.warns(np.DecompositionWarning, match=r"logdet: completeness holds only to .* in compiled code"):
        compiled(np.decompose(far, baseline=torch.eye(2) * 1e-3))


def test_rules_cannot_change_within_a_graph():
    """A graph knows the law alone: within np.rule the function is traced anew, and that says what it cannot do."""
    compiled = torch.compile(torch.tanh, fullgraph=True, backend="eager")
    x = np.decompose(torch.tensor([1.0, 2.0]))
    before = compiled(x)
    with np.rule("none"), pytest.raises(torch._dynamo.exc.Unsupported, match=r"np\.rule or np.check_completeness"):
        compiled(x)
    assert torch.equal(compiled(x).components, before.components)


def test_what_cannot_be_traced_is_named():
    def f(x):
        y = torch.zeros(3, 4, dtype=DOUBLE)
        y[0] = x[0]
        return y

    with pytest.raises(torch._dynamo.exc.Unsupported, match="writing decomposed numbers into a plain tensor"):
        torch.compile(f, fullgraph=True, backend="eager")(matrix())


def test_arrays():
    """NumPy's functions of decomposed arrays."""

    def f(t):
        x = np.asarray(t)
        return (np.exp(-x) * 2 + np.tanh(x).sum(axis=0)).tensor

    compare(f, matrix())

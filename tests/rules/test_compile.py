"""Functions of decomposed tensors under torch.compile, in one graph: the numbers are those without it."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import nn

import npdec as np

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*"),
]

DOUBLE = torch.float64


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def gpt2_block():
    config = transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2, attn_implementation="sdpa")
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


@pytest.mark.long
def test_multihead_attention():
    """Written out, since its weights are asked for; without them it is in the layer below."""
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(16, 2, batch_first=True).double().eval()
    compare(lambda x: layer(x, x, x, need_weights=True)[0], tokens())


@pytest.mark.long
def test_encoder_layer():
    torch.manual_seed(0)
    compare(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).double().eval(), tokens())


@pytest.mark.long
@pytest.mark.parametrize("function", [
    lambda x: x.std(-1), lambda x: torch.var_mean(x, -1)[0], lambda x: x.amax((0, 1)),
    lambda x: torch.zeros(3, 4, dtype=DOUBLE).scatter_add(1, torch.zeros(3, 4).long(), x),
])  # fmt: skip
def test_functions_of_axes(function):
    compare(function, matrix())


def test_cnn():
    torch.manual_seed(1)
    compare(cnn(), np.decompose(torch.randn(2, 1, 8, 8, dtype=DOUBLE), axis=2), "aot_eager")


@pytest.mark.long
def test_gpt2_block():
    compare(gpt2_block(), tokens(), "aot_eager")


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


@pytest.mark.long
@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    compare(CALLS[name], matrix(), rtol=1e-10)


def test_a_graph_that_breaks():
    def inner(row):
        torch._dynamo.graph_break()
        return torch.tanh(row) * row

    for f in (inner, lambda x: torch.vmap(inner)(x)):  # noqa: PLW0108
        with torch.no_grad():
            made, plain = torch.compile(f, backend="aot_eager")(matrix()), f(matrix())
        torch.testing.assert_close(made.components, plain.components)
        assert len(made.labels) == 12


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


@pytest.mark.long
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


@pytest.mark.long
def test_blocks_share_a_graph():
    """Four blocks of one kind, with weights of their own, and other inputs: one graph for the residual of one number
    that a baseline without axes gives, and one for those of its results."""
    graphs = []

    def count(graph, inputs):
        graphs.append(graph)
        return graph.forward

    blocks = [gpt2_block() for _ in range(4)]
    for block in blocks:
        for parameter in block.parameters():
            nn.init.normal_(parameter, std=0.2)
    plain = [copy.deepcopy(block) for block in blocks]
    for block in blocks:
        block.compile(fullgraph=True, backend=count)
    with torch.no_grad():
        for baseline in (0.0, torch.randn(1, 5, 16, dtype=DOUBLE)):
            made = want = np.decompose(torch.randn(1, 5, 16, dtype=DOUBLE), axis=1, baseline=baseline, labels=range(5))
            for block, same in zip(blocks, plain, strict=True):
                made, want = block(made), same(want)
            torch.testing.assert_close(made.components, want.components, rtol=1e-9, atol=1e-11)
    assert len(graphs) == 2


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


class Cube(torch.autograd.Function):
    """Through NumPy."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(x.detach().numpy() ** 3)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.from_numpy(3 * x.detach().numpy() ** 2)


def in_a_plain_tensor(x):
    y = torch.zeros(3, 4, dtype=DOUBLE)
    y[0] = x[0]
    return y


def out_of_a_plain_tensor(x):
    y = torch.zeros(3, 4, dtype=DOUBLE)
    torch.mul(x, 2, out=y)
    return y


def with_a_check(x):
    with np.check_completeness():
        return torch.tanh(x)


def with_a_rule(x):
    with np.rule("none"):
        return torch.tanh(x)


def sequence_loss(x):
    return F.ctc_loss(torch.log_softmax(x, -1)[:, None], torch.tensor([[1, 2]]), torch.tensor([3]), torch.tensor([2]))


UNTRACEABLE = {
    "assignment": (in_a_plain_tensor, r"writing decomposed numbers into a plain tensor.*make a new tensor"),
    "out=": (out_of_a_plain_tensor, r"writing decomposed numbers into a plain tensor.*make a new tensor"),
    "branch": (lambda x: x * 2 if x.value.sum() > 0 else x, r"Data-dependent branching"),
    "branch on the tensor": (lambda x: x * 2 if x.sum() > 0 else x, r"Data-dependent branching"),
    "tolist": (lambda x: x * x[0].tolist()[0], r"torch\.Tensor\.tolist: torch\.compile cannot trace"),
    "nonzero": (lambda x: x[x.value.nonzero()[:, 0]], r"torch\.Tensor\.__getitem__: torch\.compile cannot trace"),
    "masked_select": (lambda x: x.masked_select(x > 0), r"torch\.Tensor\.masked_select: torch\.compile cannot"),
    "median": (lambda x: x.median(), r"torch\.Tensor\.median: torch\.compile cannot trace"),
    "lstsq": (lambda x: torch.linalg.lstsq(x @ x.mT, x)[0], r"torch\.linalg\.lstsq: torch\.compile cannot trace"),
    "ctc_loss": (sequence_loss, r"torch\.nn\.functional\.ctc_loss: torch\.compile cannot trace"),
    "cond": (lambda x: torch.cond(x.value.sum() > 0, torch.sin, torch.cos, (x,)), r"cond: this operator, which takes"),
    "NumPy": (lambda x: Cube.apply(x), r"numpy: a NumPy array cannot carry the contributions"),  # noqa: PLW0108
    "completeness": (with_a_check, r"np\.check_completeness has no place in code that torch\.compile traces"),
    "rule": (with_a_rule, r"np\.rule has no place in code that torch\.compile traces"),
    "decompose": (lambda x: np.decompose(x.value), r"np\.decompose without labels= has no place.*give labels"),
    "attribute": (lambda x: np.attribute(torch.sum, x.value), r"np\.attribute has no place.*torch\.compile\(f\)"),
    "top": (lambda x: x.top(2), r"top has no place in code that torch\.compile traces.*depends on numbers"),
    "grad": (torch.func.grad(torch.sum), r"torch\.func: in compiled code there is no derivative"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", UNTRACEABLE)
def test_what_cannot_be_traced_is_named(name):
    function, words = UNTRACEABLE[name]
    with pytest.raises(RuntimeError, match=f"(?s){words}"), torch.no_grad():
        torch.compile(function, fullgraph=True, backend="eager")(matrix())


@torch.library.custom_op("npdec_compiled::cube", mutates_args=())
def cube(x: torch.Tensor) -> torch.Tensor:
    """An operator of somebody else's, with a derivative of its own."""
    return x**3


@cube.register_fake
def _(x):
    return torch.empty_like(x)


cube.register_autograd(
    lambda ctx, grad: 3 * ctx.saved_tensors[0] ** 2 * grad,
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


def test_operators_are_named(nothing_stays_registered):
    x = matrix()
    torch.testing.assert_close(cube(x).components, (x**3).components, rtol=1e-8, atol=1e-8)
    compiled = torch.compile(lambda x: cube(x), fullgraph=True, backend="eager")  # noqa: PLW0108
    for call in (lambda: compiled(x), lambda: torch.vmap(cube)(x)):
        with pytest.raises((NotImplementedError, torch._dynamo.exc.Unsupported), match=r"npdec_compiled\.cube"):
            call()
    np.overrides.register_function(torch.ops.npdec_compiled.cube.default)(lambda x: x**3)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.vmap(cube)(x).components, (x**3).components, rtol=1e-8, atol=1e-8)
    compare(lambda x: cube(x), x)  # noqa: PLW0108


def test_a_rule_that_calls_its_function(nothing_stays_registered):
    before = torch.special.i1e(matrix())
    np.overrides.register_function(torch.special.i1e)(lambda input: torch.special.i1e(input) * 3)
    torch.testing.assert_close(torch.special.i1e(matrix()).components, 3 * before.components)
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"i1e: its rule calls it again"):
        torch.compile(torch.special.i1e, fullgraph=True, backend="eager")(matrix())


# What looks as if it could not: shapes and numbers that depend on numbers are unknowns of the graph.
DEPENDENT = {
    "boolean mask": lambda x: x[x.value > 0] * 2,
    "its own mask": lambda x: x[x > 0],
    "unique": lambda x: x.unique(),
    "item": lambda x: x * x.value.sum().item(),
    "float": lambda x: x * float(x.sum()),
    "eigenvalues": lambda x: torch.linalg.eigvalsh(x @ x.mT),
    "sorted": lambda x: x.sort(-1)[0],
    "decomposed within": lambda x: np.decompose(x.value, labels=range(12)) * 2,
    "a tree": lambda x: torch.utils._pytree.tree_map(lambda part: part * 2, {"x": x})["x"],
    "vmap": lambda x: torch.vmap(torch.softmax, (0, None), 1)(x, -1),
    "vmap from the back": torch.vmap(lambda t: torch.tanh(t) * t, -1, -1),
    "checkpoint": lambda x: torch.utils.checkpoint.checkpoint(torch.tanh, x, use_reentrant=False),
}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True to a scalar:UserWarning")
@pytest.mark.parametrize("name", DEPENDENT)
@pytest.mark.filterwarnings("ignore:.*at the baseline it would choose otherwise")  # without the compiler it says so
def test_what_depends_on_numbers(name):
    f, x = DEPENDENT[name], matrix()
    compiled = torch.compile(f, fullgraph=True, backend="eager")
    for value in (x.value, -2 * x.value.flip(0) + 0.1):
        given = np.decompose(value, labels=range(12))
        with torch.no_grad():
            made, plain = compiled(given), f(given)
        assert made.labels == plain.labels
        for part in ("value", "residual", "components"):
            torch.testing.assert_close(getattr(made, part), getattr(plain, part), rtol=1e-9, atol=1e-11)


def test_arrays():
    """NumPy's functions of decomposed arrays."""

    def f(t):
        x = np.asarray(t)
        return (np.exp(-x) * 2 + np.tanh(x).sum(axis=0)).tensor

    compare(f, matrix())


def test_a_default_device_was_chosen_before():
    """From then on arrays look where they are to be made, traced or not."""
    with np.set_default_device("cpu"):
        np.zeros(1)
    compare(lambda x: np.decompose(x.value, labels=range(12)) * 2, matrix())


CONDITIONS = {
    "comparison": lambda x: (x > 0) & (x < x.sum(0)),
    "where": lambda x: torch.where(x > 0, x, x**2),
    "masked_fill": lambda x: x.masked_fill(x < 0, -1.0),
    "mask": lambda x: x * (x > 0),
    "count": lambda x: (x > 0).sum(0) * 2,
    "any": lambda x: (x > 1).any(1),
    "cast": lambda x: (3 * x).long(),
    "array": lambda x: np.where(np.asarray(x) > 0, 1.0, np.asarray(x)).tensor,
}


@pytest.mark.long
@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions(name):
    f, x = CONDITIONS[name], matrix()
    made, plain = torch.compile(f, fullgraph=True, backend="eager")(x), f(x)
    assert made.labels == plain.labels
    for part in ("value", "residual", "components"):
        torch.testing.assert_close(getattr(made, part), getattr(plain, part), rtol=1e-9, atol=1e-11)


def made_within(v, r, c):
    t = np.DecomposedTensor(v, r, c, ("a", "b"))
    u = t.neg().mul(2.0).unsqueeze(0)[0]
    u = -u + t.relu().sum(0)
    return u.value, u.residual, u.components


def of_methods(t):
    bound = t.relu
    return bound().exp().softmax(0).reshape(-1, 1).sum(0, keepdim=True) * 2 - t.mean()


def test_methods_that_stand_on_the_class_are_torchs_to_the_compiler():
    v = torch.rand(3, dtype=DOUBLE)
    given = (v, torch.zeros_like(v), torch.stack([v / 2, v / 2]))
    for made, plain in zip(
        torch.compile(made_within, fullgraph=True, backend="eager")(*given), made_within(*given), strict=True
    ):
        torch.testing.assert_close(made, plain)
    compare(of_methods, matrix(), rtol=1e-11)

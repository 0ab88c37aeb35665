"""What torch refuses is refused of decomposed tensors, with an error of the same class: torch's own bad inputs."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import npdec as np
import torch_samples

# Of an `out=` of another dtype, in which the result fits; where to narrow as a decomposed tensor of one number.
TAKEN = frozenset("complex aminmax gather multinomial narrow".split())
# Of several faults torch names another one.
OTHERWISE = frozenset("narrow_copy nn.functional.linear_cross_entropy".split())
OPERATORS = {
    name: op
    for name, op in torch_samples.OPERATORS.items()
    if op.error_inputs_func is not None and op.name not in TAKEN | OTHERWISE
}


def decomposed(item):
    carries = isinstance(item, torch.Tensor) and item.is_floating_point() and item.numel()
    if not carries or item.layout is not torch.strided:
        return item
    return np.decompose(item.detach().clone(), baseline=0.5)


def raised(op, sample, of):
    try:
        op(of(sample.input), *map(of, sample.args), **{name: of(item) for name, item in sample.kwargs.items()})
    except Exception as error:
        return type(error)
    return None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    op = OPERATORS[name]
    for bad in op.error_inputs("cpu"):
        plain = raised(op, bad.sample_input, lambda x: x.clone() if isinstance(x, torch.Tensor) else x)
        assert plain is None or raised(op, bad.sample_input, decomposed) is plain, bad


x = torch.tensor([[1.0, 2.0, 4.0, 8.0], [3.0, 1.0, 2.0, 5.0]])
BAD = {
    "one number a channel": (ValueError, lambda x: F.group_norm(x[:1], 4)),
    "no channels": (IndexError, lambda x: torch.group_norm(x[0], 2)),
    "targets of another batch": (ValueError, lambda x: F.nll_loss(x, torch.tensor([0, 1, 1]))),
    "classes of another batch": (ValueError, lambda x: F.cross_entropy(x, torch.tensor([0, 1, 1]))),
    "a vector of embeddings": (RuntimeError, lambda x: F.embedding(torch.tensor([0]), x[0])),
    "embeddings of three axes": (RuntimeError, lambda x: F.embedding(torch.tensor([0]), x[None])),
    "a pool that stands still": (RuntimeError, lambda x: F.max_pool1d(x, 2, 0)),
    "slopes in the wrong order": (RuntimeError, lambda x: F.rrelu(x, 2.0, 1.0)),
    "several numbers to fill with": (RuntimeError, lambda x: torch.masked_fill(x, x > 2, x[0])),
    "one target for many": (RuntimeError, lambda x: F.cosine_embedding_loss(x[0], torch.ones(3, 3), torch.ones(3))),
}


@pytest.mark.parametrize(("error", "call"), BAD.values(), ids=BAD)
def test_functions(error, call):
    for given in (x, np.decompose(x, baseline=0.5)):
        with pytest.raises(error):
            call(given)

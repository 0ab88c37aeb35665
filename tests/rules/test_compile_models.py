"""A whole model of transformers in torch.compile: one graph, forward and backward, as eager runs."""

from __future__ import annotations

import pytest
import torch

import npdec as np

transformers = pytest.importorskip("transformers")

pytestmark = [
    pytest.mark.slow,
    # The compiler loads code that torch itself deprecates, and looks at gradients of the graph's inputs.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"),
]

NONE = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
SMALL = {"vocab_size": 13, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1}


def llama():
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 8, "use_cache": False}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**heads, **SMALL, **NONE))


# What encoders have beside it is in blocks and layers of test_compile.py.
@pytest.mark.long
def test_a_model_is_one_graph():
    rounding = 4e-6  # Llama's normalisation computes in single precision, whatever it is given
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = llama().double().eval().requires_grad_(False)
    x, start = torch.randn(2, 1, 4, 16, dtype=torch.float64)
    graphs = []

    def count(graph, inputs):
        graphs.append(graph)
        return graph.forward

    f = lambda embeddings: model(inputs_embeds=embeddings).logits  # noqa: E731
    compiled = torch.compile(f, fullgraph=True, backend=count)
    marked = np.decompose(x, axis=1, baseline=start, labels=["a", "b", "c", "d"])
    with torch.no_grad():
        made, want, residual = compiled(marked), f(marked), f(start)
        assert torch.equal(made.value, f(x))
        again = compiled(np.decompose(start, axis=1, baseline=x, labels=["a", "b", "c", "d"]))
    assert len(graphs) == 1
    close = {"rtol": 10 * rounding, "atol": rounding}
    torch.testing.assert_close(made.residual, residual, **close)
    torch.testing.assert_close(made.components, want.components, **close)
    torch.testing.assert_close(again.components, -want.components, **close)  # the way back, of the law's symmetry
    torch.testing.assert_close(made.components.sum(0), made.value - residual, rtol=0, atol=max(1e-9, rounding))
    found, plain = (np.attribute(lambda a, g=g: g(a).reshape(-1)[-1], x, baseline=start) for g in (compiled, f))
    torch.testing.assert_close(found.attribution, plain.attribution, **close)
    torch.testing.assert_close(found.attribution.sum(), f(x).reshape(-1)[-1] - residual.reshape(-1)[-1], **close)

"""Models of the transformers library, as they are: attribution of the numbers that they compute.

Small random configurations in double precision, fed embeddings or pixels. Each is run plain at the value and at the
baseline, which are the references of value and residual; completeness and the agreement of both modes are measured in
units of the largest number. Llama computes its normalisation in single precision, and ViT's own attention its softmax,
whatever they are given.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch
import transformers

import npdec as np

DOUBLE = torch.float64
WIDTH, TOKENS = 16, 6
IN_SINGLE = {"llama-eager", "llama-sdpa", "vit-eager"}
SMALL = {"vocab_size": 13, "hidden_size": WIDTH, "intermediate_size": 24, "num_hidden_layers": 2}
NO_SPECIAL = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


def gpt2(**kw):
    config = transformers.GPT2Config(
        n_embd=WIDTH, n_layer=2, n_head=2, vocab_size=13, n_positions=16, **NO_SPECIAL, **kw
    )
    return transformers.GPT2LMHeadModel(config)


def llama(**kw):
    """Grouped-query attention: four heads of queries, two of keys and values."""
    config = transformers.LlamaConfig(
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32, **SMALL, **NO_SPECIAL, **kw
    )
    return transformers.LlamaForCausalLM(config)


def bert(**kw):
    config = transformers.BertConfig(num_attention_heads=2, max_position_embeddings=32, num_labels=3, **SMALL, **kw)
    return transformers.BertForSequenceClassification(config)


def vit(**kw):
    size = {name: n for name, n in SMALL.items() if name != "vocab_size"}
    config = transformers.ViTConfig(num_attention_heads=2, image_size=8, patch_size=4, num_labels=3, **size, **kw)
    return transformers.ViTForImageClassification(config)


def resnet(layer_type):
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2], num_labels=3, layer_type=layer_type
    )
    return transformers.ResNetForImageClassification(config)


MODELS = {
    **{
        f"{make.__name__}-{attention}": (make, {"attn_implementation": attention})
        for make in (gpt2, llama, bert, vit)
        for attention in ("eager", "sdpa")
    },
    "resnet-basic": (resnet, {"layer_type": "basic"}),
    "resnet-bottleneck": (resnet, {"layer_type": "bottleneck"}),
}


def built(name, dtype=DOUBLE):
    """The model, its weights drawn wide enough that every layer matters; its input and the name of that."""
    torch.manual_seed(3)
    make, options = MODELS[name]
    model = make(**options).to(dtype).eval().requires_grad_(False)
    for weight in model.parameters():
        weight.add_(torch.randn_like(weight), alpha=0.1)
    if name.startswith("resnet"):
        return model, torch.randn(1, 3, 24, 24, dtype=dtype), "pixel_values"
    if name.startswith("vit"):
        return model, torch.randn(1, 3, 8, 8, dtype=dtype), "pixel_values"
    return model, torch.randn(1, TOKENS, WIDTH, dtype=dtype), "inputs_embeds"


def baseline_of(kind, x):
    """Zeros; or a padding token: all positions equal, up to rounding of nothing."""
    if kind == "zero":
        return torch.zeros_like(x)
    if kind == "padding":
        return x[:, :1].mul(1e-3).expand_as(x).clone()
    return torch.randn_like(x)


def check(y, value, base, bound):
    scale = float(value.abs().max())
    assert torch.equal(y.value, value)
    assert torch.equal(y.residual, base)
    assert float(np.completeness(y).abs().max()) <= bound * scale
    assert float(y.components.abs().max()) > 1e-3 * scale  # there is something to complete


@pytest.mark.parametrize("baseline", ["zero", "padding", "random"])
@pytest.mark.parametrize("name", MODELS)
def test_models(name, baseline):
    model, x, key = built(name)
    base = baseline_of(baseline, x)
    plain, at_base = model(**{key: x}).logits, model(**{key: base}).logits
    decomposed = model(**{key: np.decompose(x, axis=1, baseline=base)}).logits
    bound = 1e-5 if name in IN_SINGLE else 1e-8
    check(decomposed, plain, at_base, bound)

    backward = np.attribute(lambda x: model(**{key: x}).logits.flatten()[-1], x, baseline=base)
    assert torch.equal(backward.value, plain.flatten()[-1])
    shares = backward.attribution.transpose(0, 1).flatten(1).sum(1)
    forward = decomposed.components.flatten(1)[:, -1]
    torch.testing.assert_close(shares, forward, rtol=0, atol=bound * float(forward.abs().max()))


@pytest.mark.parametrize("name", ["gpt2-eager", "llama-sdpa", "bert-sdpa", "vit-eager"])
def test_single_precision(name):
    model, x, key = built(name, torch.float32)
    base = torch.zeros_like(x)
    y = model(**{key: np.decompose(x, axis=1, baseline=base)}).logits
    check(y, model(**{key: x}).logits, model(**{key: base}).logits, 1e-4)


def test_padded_batch_and_other_outputs():
    """A mask of padding; hidden states and a loss are decomposed like the logits."""
    model, x, _ = built("bert-eager")
    x = torch.cat([x, torch.randn_like(x)])
    mask = torch.ones(2, TOKENS, dtype=torch.int64)
    mask[1, 4:] = 0
    given = {"attention_mask": mask, "labels": torch.tensor([0, 2]), "output_hidden_states": True}
    plain = model(inputs_embeds=x, **given)
    base = model(inputs_embeds=torch.zeros_like(x), **given)
    made = model(inputs_embeds=np.decompose(x, axis=1), **given)
    check(made.logits, plain.logits, base.logits, 1e-8)
    check(made.loss, plain.loss, base.loss, 1e-8)
    for y, value, r in zip(made.hidden_states, plain.hidden_states, base.hidden_states, strict=True):
        check(y, value, r, 1e-8)
    assert not made.logits.components[4:, 1].any()  # what is masked contributes nothing
    assert made.logits.components[4:, 0].any()


@pytest.mark.parametrize("name", ["gpt2-eager", "llama-eager", "llama-sdpa"])
@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_generation(name, cache):
    """Two greedy steps: keys and values in the cache stay decomposed, and the new token counts from the prompt."""
    model, x, _ = built(name)
    table = model.get_input_embeddings().weight

    def run(prompt, tokens):
        if cache == "static":
            past = transformers.StaticCache(config=model.config, max_cache_len=TOKENS + 2)
        else:
            past = transformers.DynamicCache(config=model.config)
        steps = [model(inputs_embeds=prompt, past_key_values=past, use_cache=True).logits[:, -1]]
        for token in tokens:
            embedded = table[token][:, None]
            steps.append(model(inputs_embeds=embedded, past_key_values=past, use_cache=True).logits[:, -1])
        return steps, past

    first = model(inputs_embeds=x).logits[:, -1].argmax(-1)
    second = run(x, [first])[0][-1].argmax(-1)
    plain, _ = run(x, [first, second])
    base, _ = run(torch.zeros_like(x), [first, second])
    made, past = run(np.decompose(x, axis=1), [first, second])
    bound = 1e-5 if name in IN_SINGLE else 1e-8
    assert all(isinstance(layer.keys, np.decompose(x).__class__) for layer in past.layers)
    for y, value, r in zip(made, plain, base, strict=True):
        check(y, value, r, bound)


def test_generate():
    """The library's own loop, greedy: the scores of each step say which prompt token moved them."""
    model, x, _ = built("gpt2-eager")
    options = {"max_new_tokens": 3, "do_sample": False, "output_scores": True, "return_dict_in_generate": True}
    mask = torch.ones(x.shape[:2], dtype=torch.int64)
    plain = model.generate(inputs_embeds=x, attention_mask=mask, **options)
    made = model.generate(inputs_embeds=np.decompose(x, axis=1), attention_mask=mask, **options)
    assert torch.equal(made.sequences, plain.sequences)
    for y, value in zip(made.scores, plain.scores, strict=True):
        assert torch.equal(y.value, value)
        assert float(np.completeness(y).abs().max()) <= 1e-6 * float(value.abs().max())  # the scores are single


@pytest.mark.parametrize("written", [
    lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6),
    lambda x: torch.rsqrt((x * x).mean(dim=-1, keepdim=True) + 1e-6) * x,
    lambda x: x / torch.sqrt(x.square().mean([-1], True) + 1e-6),
    lambda x: x * torch.pow(torch.mean(x**2, -1, keepdim=True).add(1e-6), -0.5),
    lambda x: x * (1 / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()),
])  # fmt: skip
def test_rms_norm_written_out(written):
    """It is one function, not a product of two arguments that know nothing of each other."""
    x = torch.randn(3, 8, dtype=DOUBLE)
    d = np.decompose(x, axis=1)
    y, one = written(d), torch.nn.functional.rms_norm(d, (8,), None, 1e-6)
    assert torch.equal(y.value, written(x))
    torch.testing.assert_close(y.components, one.components, rtol=1e-10, atol=1e-12)
    assert float(y.components.abs().max()) < 10


def test_example(capsys):
    """examples/transformer.py: the model learns its task, and the tokens that decide are the ones that should."""
    example = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "transformer.py"))
    model = example["build"]()
    assert example["train"](model, steps=170) > 0.95
    words = example["PROMPT"].split()
    guess, lead = example["explain"](model, words)
    assert guess == "again"
    assert abs(float(np.completeness(lead))) < 1e-10
    share = dict(zip(lead.labels, lead.components.tolist(), strict=True))
    assert share["6 isnt"] + share["7 bad"] > 1  # said twice no
    assert share["10 is"] + share["11 bad"] < -1
    example["show"](words, guess, lead)
    shown = capsys.readouterr().out
    assert "-> again" in shown
    assert f"{share['11 bad']:+.3f}" in shown
    with pytest.raises(ValueError, match="no text of 12 words"):
        example["explain"](model, ["food", "is", "blue"])

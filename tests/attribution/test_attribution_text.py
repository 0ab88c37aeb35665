"""np.attribute_text on small models with random weights: log-probabilities, baselines and pieces written out."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

import npdec as np

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

WORDS = "<pad> <eos> <unk> the cat dog sat ran on a mat un ##der .".split()
SMALL = {"vocab_size": len(WORDS), "bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 0}
PROMPT, TARGET = "the cat sat under the", "mat ."


@pytest.fixture(scope="module")
def tokenizer():
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def gpt2():
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=16, n_positions=32, initializer_range=0.3, **SMALL)
    return transformers.GPT2LMHeadModel(config).double().eval()


def llama():
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        initializer_range=0.1, **SMALL,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).double().eval()


def t5():
    torch.manual_seed(0)
    config = transformers.T5Config(
        d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0, initializer_factor=0.5,
        **{**SMALL, "bos_token_id": None},
    )  # fmt: skip
    return transformers.T5ForConditionalGeneration(config).double().eval()


MODELS = pytest.mark.parametrize("make", [gpt2, llama, t5])


@torch.no_grad()
def log_probabilities(model, prompt, target, embedded=None):
    """Of the target tokens, by ids: each token of it predicted by a call of its own."""
    found = []
    for i, token in enumerate(target):
        before = torch.tensor([target[:i]], dtype=torch.int64)
        own = {"input_ids": torch.tensor([prompt])} if embedded is None else {"inputs_embeds": embedded[None]}
        if model.config.is_encoder_decoder:
            logits = model(**own, decoder_input_ids=torch.cat([torch.tensor([[0]]), before], 1)).logits
        elif embedded is None:
            logits = model(torch.cat([own["input_ids"], before], 1)).logits
        else:
            logits = model(
                inputs_embeds=torch.cat([own["inputs_embeds"], model.get_input_embeddings()(before)], 1)
            ).logits
        found.append(logits[0, -1].log_softmax(-1)[token])
    return torch.stack(found)


def ids(tokenizer, text):
    return tokenizer(text)["input_ids"]


# GPT-2 computes in double precision throughout; Llama and T5 normalise in single precision.
def close(a, b, make=gpt2):
    b = torch.as_tensor(b, dtype=a.dtype)
    size = max(1.0, float(a.abs().max()), float(b.abs().max()))
    torch.testing.assert_close(a, b, rtol=0, atol=(1e-10 if make is gpt2 else 2e-6) * size)


@pytest.mark.slow
@MODELS
def test_value_residual_and_sum_are_the_models_own(make, tokenizer):
    model, prompt, target = make(), ids(tokenizer, PROMPT), ids(tokenizer, TARGET)
    embed = model.get_input_embeddings()
    starts = {
        "pad": embed(torch.zeros(len(prompt), dtype=torch.int64)),
        "zero": torch.zeros(len(prompt), 16),
        "mean": embed.weight.mean(0).expand(len(prompt), 16),
        "a dog ran under a": embed(torch.tensor(ids(tokenizer, "a dog ran under a"))),
    }
    if make is t5:
        with pytest.warns(np.DecompositionWarning, match=r"holds only to .* normalisation is steep"):
            found = np.attribute_text(model, tokenizer, PROMPT, TARGET, baseline="zero")
        assert found.error.abs().max() > 1e-3
        del starts["zero"]
    for baseline, start in starts.items():
        found = np.attribute_text(model, tokenizer, PROMPT, TARGET, baseline=baseline)
        assert type(found.attribution) is torch.Tensor
        assert found.attribution.shape == (2, 6)
        close(found.value, log_probabilities(model, prompt, target), make)
        close(found.residual, log_probabilities(model, prompt, target, start.double().detach()), make)
        close(found.residual + found.attribution.sum(1), found.value, make)
        close(found.error, torch.zeros(2), make)
        differs = start[:, 0] != embed(torch.tensor(prompt))[:, 0]
        assert (found.attribution[:, differs].abs() > 1e-9).all()
        assert (found.attribution[:, ~differs] == 0).all()
    given = np.attribute_text(model, tokenizer, prompt, torch.tensor(target), baseline=starts["mean"])
    close(given.attribution, np.attribute_text(model, tokenizer, PROMPT, TARGET, baseline="mean").attribution, make)
    assert found.targets == ("mat", ".")
    assert found.target_ids == tuple(target)
    assert [str(label) for label in found.labels] == ["the", "cat", "sat", "un", "##der", "the"]
    close(found.total.attribution, found.attribution.sum(0), make)
    close(found.total.value, log_probabilities(model, prompt, target).sum(), make)


@pytest.mark.slow
@MODELS
def test_forward_mode_and_the_cache_give_the_same(make, tokenizer):
    model = make()
    found = np.attribute_text(model, tokenizer, PROMPT, TARGET)
    forward = np.attribute_text(model, tokenizer, PROMPT, TARGET, mode="forward")
    close(found.attribution, forward.attribution, make)
    if model.config.is_encoder_decoder:
        return
    embed, target = model.get_input_embeddings(), ids(tokenizer, TARGET)

    def step_by_step(prompt):
        made = model(inputs_embeds=prompt[None], use_cache=True)
        first = made.logits[0, -1].log_softmax(-1)[target[0]]
        made = model(torch.tensor([target[:1]]), past_key_values=made.past_key_values, use_cache=True)
        return torch.stack([first, made.logits[0, -1].log_softmax(-1)[target[1]]])

    prompt = embed(torch.tensor(ids(tokenizer, PROMPT))).detach()
    cached = np.attribute(step_by_step, prompt, baseline=embed.weight[0].detach(), axis=0, output=[0, 1])
    close(found.attribution, cached.attribution, make)


@pytest.mark.slow
@pytest.mark.parametrize("make", [gpt2, t5])
def test_other_methods_are_given_the_same_question(make, tokenizer):
    model, prompt, target = make(), ids(tokenizer, "the cat sat"), ids(tokenizer, "mat")
    embed = model.get_input_embeddings()
    words, pad = embed(torch.tensor(prompt)).detach(), embed.weight[0].detach()
    worth = {
        there: log_probabilities(model, prompt, target, torch.where(torch.tensor(there)[:, None], words, pad))
        for there in itertools.product([False, True], repeat=3)
    }
    want = torch.zeros(3, dtype=torch.float64)
    for order in itertools.permutations(range(3)):
        there = [False] * 3
        for i in order:
            before = worth[tuple(there)]
            there[i] = True
            want[i] += float(worth[tuple(there)] - before) / math.factorial(3)
    found = np.attribute_text(model, tokenizer, "the cat sat", "mat", method="shapley")
    close(found.attribution[0], want, make)
    gone = np.attribute_text(model, tokenizer, "the cat sat", "mat", method="occlusion")
    close(gone.attribution[0, 1], (worth[True, True, True] - worth[True, False, True])[0], make)


@pytest.mark.slow
def test_words_and_segments_are_sums_of_tokens(tokenizer):
    model = gpt2()
    tokens = np.attribute_text(model, tokenizer, PROMPT, TARGET)
    words = np.attribute_text(model, tokenizer, PROMPT, TARGET, by="word")
    assert [str(label) for label in words.labels] == ["the", "cat", "sat", "under", "the"]
    assert len(set(words.labels)) == 5
    sums = [tokens.attribution[:, some].sum(1) for some in ([0], [1], [2], [3, 4], [5])]
    close(words.attribution, torch.stack(sums, 1))
    segments = np.attribute_text(model, tokenizer, PROMPT, TARGET, by=["cat sat", "the"])
    assert [str(label) for label in segments.labels] == ["the", "cat sat", "under", "the"]
    sums = [tokens.attribution[:, some].sum(1) for some in ([0], [1, 2], [3, 4], [5])]
    close(segments.attribution, torch.stack(sums, 1))
    with pytest.raises(ValueError, match=r"no segment 'cow' after those before it"):
        np.attribute_text(model, tokenizer, PROMPT, TARGET, by=["the", "cow"])
    with pytest.raises(ValueError, match=r"by is 'token', 'word' or a list of segments"):
        np.attribute_text(model, tokenizer, PROMPT, TARGET, by="line")
    with pytest.raises(ValueError, match=r"use by='token'"):
        np.attribute_text(model, tokenizer, [3, 4], TARGET, by="word")


@pytest.mark.slow
@MODELS
def test_why_this_rather_than_that(make, tokenizer):
    model = make()
    this, that = (np.attribute_text(model, tokenizer, PROMPT, text).total for text in (TARGET, "dog ran ."))
    found = np.attribute_text(model, tokenizer, PROMPT, TARGET, rather="dog ran .")
    close(found.value[0], this.value - that.value, make)
    close(found.attribution[0], this.attribution - that.attribution, make)
    assert found.targets == ("mat . rather than dog ran .",)


@pytest.mark.slow
@MODELS
def test_what_the_model_says_by_itself_and_batches(make, tokenizer):
    model = make()
    prompt = torch.tensor([ids(tokenizer, PROMPT)])
    own = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=3)[0]
    own = own[1:] if model.config.is_encoder_decoder else own[prompt.shape[1] :]
    found = np.attribute_text(model, tokenizer, PROMPT, max_new_tokens=3)
    assert found.target_ids == tuple(own.tolist())
    close(found.value, log_probabilities(model, prompt[0].tolist(), own.tolist()), make)
    many = np.attribute_text(model, tokenizer, [PROMPT, "a dog"], [TARGET, "ran"])
    close(many[0].attribution, np.attribute_text(model, tokenizer, PROMPT, TARGET).attribution, make)
    close(many[1].attribution, np.attribute_text(model, tokenizer, "a dog", "ran").attribution, make)


@pytest.mark.slow
def test_it_shows_itself(tokenizer):
    found = np.attribute_text(gpt2(), tokenizer, "the cat", TARGET)
    lines = repr(found).splitlines()
    assert lines[0].split() == ["'mat'", "'.'", "sum"]
    assert lines[3].split() == [
        "the",
        *(f"{x:+.3f}" for x in [*found.attribution[:, 0], found.attribution[:, 0].sum()]),
    ]
    assert "cat" in str(found.total.plot.text())
    axes = found.plot.heatmap(found.targets)
    close(torch.as_tensor(axes.images[0].get_array().data), found.attribution.T)


def test_what_does_not_fit(tokenizer):
    model = gpt2()
    for said, options in {
        r"has 2 tokens, the prompt 6": {"baseline": "the cat"},
        r"the target is a text or a list": {"target": ""},
        r"2 prompts need as many items in target, not 1": {"prompt": ["a", "dog"], "target": ["ran"]},
    }.items():
        with pytest.raises(ValueError, match=said):
            np.attribute_text(model, tokenizer, **{"prompt": PROMPT, "target": TARGET, **options})
    with pytest.raises(TypeError, match=r"it chooses axis itself"):
        np.attribute_text(model, tokenizer, PROMPT, TARGET, axis=0)
    with pytest.raises(TypeError, match=r"takes no steps="):
        np.attribute_text(model, tokenizer, PROMPT, TARGET, steps=3)
    with pytest.raises(ValueError, match=r"training mode"):
        np.attribute_text(model.train(), tokenizer, PROMPT, TARGET)


def test_what_is_wrong_is_named(tokenizer):
    model, language = gpt2(), r"language model of transformers"
    bert = transformers.BertModel(
        transformers.BertConfig(vocab_size=14, hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
    ).eval()
    for error, said, options in [
        (TypeError, language, {"model": torch.nn.Linear(2, 2)}),
        (TypeError, language, {"model": "gpt2"}),
        (TypeError, rf"{language}.*BertModel has none: take one with a head", {"model": bert}),
        (TypeError, r"tokenizer is called with a text, and NoneType cannot be", {"tokenizer": None}),
        (ValueError, r"the prompt is a text or a list of the numbers of its tokens", {"prompt": ["a", 3]}),
        (ValueError, r"the prompt is a text or a list of the numbers of its tokens", {"prompt": None}),
        (ValueError, r"the prompt has the token 99, and the model knows those from 0 to 13", {"prompt": [3, 99]}),
        (ValueError, r"the target has the token -1, and the model knows those from 0 to 13", {"target": [-1]}),
        (ValueError, r"by is 'token', 'word' or a list of segments, not 3", {"by": 3}),
        (ValueError, r"by is 'token', 'word' or a list of segments, not \[\]", {"by": []}),
        (ValueError, r"by is 'token', 'word' or a list of segments, not \['cat', 3\]", {"by": ["cat", 3]}),
        (ValueError, r"no segment 'cat' after those before it", {"by": ["sat under the", "cat"]}),
        (ValueError, r"no segment '' after those before it", {"by": ["cat", ""]}),
        (
            ValueError,
            r"baseline of shape \(3, 3\) does not broadcast to the embeddings \(6, 16\)",
            {"baseline": torch.ones(3, 3)},
        ),
        (TypeError, r"baseline is 'pad', 'mean', 'zero', another prompt or an array, not None", {"baseline": None}),
        (ValueError, r"has 2 tokens, the prompt 6", {"baseline": [4, 5]}),
        (
            ValueError,
            r"2 prompts need as many items in rather, not 1, or one text",
            {"prompt": ["a", "dog"], "rather": ["cat"]},
        ),
        (ValueError, r"rather is a text or a list of the numbers of its tokens", {"rather": ["cat"]}),
        (TypeError, r"batched=True.*leave it, or say batched='vmap'", {"method": "shapley", "batched": True}),
        (ValueError, r"max_new_tokens is a positive int, not 0", {"target": None, "max_new_tokens": 0}),
        (ValueError, r"max_new_tokens is a positive int, not '3'", {"target": None, "max_new_tokens": "3"}),
    ]:
        given = {"model": model, "tokenizer": tokenizer, "prompt": PROMPT, "target": TARGET, **options}
        with pytest.raises(error, match=said):
            np.attribute_text(given.pop("model"), given.pop("tokenizer"), **given)


@pytest.mark.slow
def test_prompts_have_their_own_contrasts_and_baselines_may_be_numbers(tokenizer):
    model = gpt2()
    many = np.attribute_text(model, tokenizer, ["the cat", "a dog"], ["ran", "sat"], rather=["sat", "ran"])
    one = np.attribute_text(model, tokenizer, "a dog", "sat", rather="ran")
    close(many[1].attribution, one.attribution)
    numbers = np.attribute_text(model, tokenizer, [[3, 4], [8, 5]], [[6], [7]], rather=[7])
    close(numbers[0].attribution, np.attribute_text(model, tokenizer, [3, 4], [6], rather=[7]).attribution)
    named = np.attribute_text(model, tokenizer, PROMPT, TARGET, baseline="the dog sat under the")
    other = ids(tokenizer, "the dog sat under the")
    for baseline in (other, torch.tensor(other)):
        close(np.attribute_text(model, tokenizer, PROMPT, TARGET, baseline=baseline).attribution, named.attribution)
    model.set_attn_implementation("eager")  # torch warns that it has no rule of vmap for the other one
    alone = np.attribute_text(model, tokenizer, "the cat sat", "mat", method="shapley")
    mapped = np.attribute_text(model, tokenizer, "the cat sat", "mat", method="shapley", batched="vmap")
    close(mapped.attribution, alone.attribution)


def test_a_decoder_begins_with_what_the_configuration_says(tokenizer):
    model = t5()
    found = np.attribute_text(model, tokenizer, "a dog", "ran")
    model.config.decoder_start_token_id, model.generation_config.decoder_start_token_id = None, 0
    close(np.attribute_text(model, tokenizer, "a dog", "ran").attribution, found.attribution)
    model.generation_config.decoder_start_token_id = None
    with pytest.raises(ValueError, match=r"decoder_start_token_id, with which a decoder begins, is not set"):
        np.attribute_text(model, tokenizer, "a dog", "ran")

"""`np.attribute_text`: what each token of a prompt contributes to what a language model says to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from npdec._array.convert import as_tensor
from npdec._core.tracebacks import ends
from npdec._impl import _util
from npdec.attribution._attribute import attribute
from npdec.attribution._result import Attribution
from npdec.exceptions import DecompositionWarning

__all__ = ["Piece", "TextAttribution", "attribute_text"]

_NEW_TOKENS = 20
_VISIBLE = 1e-3  # of the log-probabilities: what completeness may miss without a word


class Piece(NamedTuple):
    """A piece of a prompt: its text, and which one it is, counted from 0. It prints as the text."""

    text: str
    place: int

    def __str__(self) -> str:
        return self.text


class TextAttribution(Attribution[torch.Tensor]):
    """What `np.attribute_text` found: `value`, `residual` and `error` of shape (T,) for the target tokens, and
    `attribution` of shape (T, C), tensors, for the pieces of the prompt, which `labels` holds.

    `targets` are the texts of the target tokens, `target_ids` their numbers. `total` is the attribution of the sum: of
    the log-probability of the whole target. It prints as a table and has the plots of an `Attribution`: `found.plot.
    heatmap(found.targets)` for all tokens, `found.total.plot.text()` for the prompt in colours.
    """

    targets: tuple[str, ...] = ()
    target_ids: tuple[int, ...] = ()

    @property
    def total(self) -> Attribution[torch.Tensor]:
        """The sum over the target: value and residual (), attribution (C,)."""
        value, residual, shares = (part.sum(0) for part in self)
        # Standard errors of tokens, which are of the same samples, do not add up.
        return Attribution(value, residual, shares, error=self.error.sum(0), labels=self.labels)

    def __repr__(self) -> str:
        rows: list[tuple[str, list[float]]] = [
            ("log-probability", self.value.tolist()),
            ("at the baseline", self.residual.tolist()),
            *(
                (str(label), column)
                for label, column in zip(self.labels or (), self.attribution.T.tolist(), strict=True)
            ),
        ]
        several = len(self.targets) > 1
        head = ["", *map(repr, self.targets), *(["sum"] if several else [])]
        lines = [head]
        for name, numbers in rows:
            all_of_them = [*numbers, sum(numbers)] if several else numbers
            lines.append([name, *(f"{number:+.3f}" for number in all_of_them)])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join([line[0].ljust(widths[0]), *(w.rjust(n) for w, n in zip(line[1:], widths[1:], strict=True))])
            for line in lines
        )


@ends
def attribute_text(
    model: Any,
    tokenizer: Any,
    prompt: Any,
    target: Any = None,
    *,
    rather: Any = None,
    by: str | Sequence[str] = "token",
    baseline: Any = "pad",
    max_new_tokens: int = _NEW_TOKENS,
    **options: Any,
) -> Any:
    """What each piece of a prompt contributes to the log-probabilities of what a language model of `transformers` says.

    `model`: a causal language model or one of encoder and decoder, in evaluation mode. `tokenizer`: its tokenizer.
    `prompt`: a text, or the numbers of its tokens; a list of these is attributed one after the other, and gives a list
    (`target`, `rather` and a baseline that is a prompt may be lists then, with one for each).
    `target`: a text that may follow, or the numbers of its tokens; by default what the model says by itself, greedily,
    up to `max_new_tokens` tokens. `rather`: another target: what is attributed is then one number, the log-probability
    of `target` less that of this ("why this rather than that").
    `by`: the pieces of the prompt: "token"; "word", as the tokenizer splits it; or segments, texts that follow each
    other in the prompt, what is between them being pieces too (the last two need a fast tokenizer).
    `baseline`: what the embeddings of the prompt are compared with: "pad", that of the padding token (of the end of
    the text, where there is none), "mean" of the vocabulary, "zero"; another prompt with as many tokens (contrastive);
    or an array that broadcasts to the embeddings (n, d). Positions are left as they are.
    `options` are those of `np.attribute`: `mode="forward"`, `method="path"`, `samples=...`.

    Returns a `TextAttribution` with a row for each token of the target, by the law from one run of the model and a way
    back for each of them: the target is given to the model as it is, so that each token is predicted from the prompt
    and the target tokens before it, which the attribution holds fixed. Rows are complete:
    value == residual + attribution.sum(1).

    Raises ValueError for a model that is in training mode, a prompt or target without tokens, a baseline with another
    number of tokens, and segments that are not in the prompt; TypeError for options that np.attribute does not take, or
    which are given here (`axis`, `groups`, `labels`, `output`, `argnums`). A DecompositionWarning says where shares
    that cancel lose the sum's digits, as those of models that normalise in single precision do from "zero".

    >>> class Letters:  # any callable that gives "input_ids" will do for by="token"
    ...     pad_token_id = eos_token_id = 0
    ...
    ...     def __call__(self, text, add_special_tokens=True):
    ...         return {"input_ids": [ord(letter) - 96 for letter in text]}
    ...
    ...     def decode(self, ids):
    ...         return "".join(chr(i + 96) for i in ids)
    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> small = {"vocab_size": 27, "n_positions": 16, "n_embd": 8, "n_layer": 1, "n_head": 2}
    >>> config = GPT2Config(**small, bos_token_id=0, eos_token_id=0)
    >>> model = GPT2LMHeadModel(config).double().eval()
    >>> found = np.attribute_text(model, Letters(), "abcb", "dd")
    >>> found.attribution.shape, found.targets, [str(label) for label in found.labels]
    (torch.Size([2, 4]), ('d', 'd'), ['a', 'b', 'c', 'b'])
    >>> torch.allclose(found.value, found.residual + found.attribution.sum(1))
    True
    """
    own = {"axis", "groups", "labels", "output", "argnums", "at", "paths", "baselines", "absent"} & options.keys()
    if own:
        raise TypeError(f"attribute_text: it chooses {', '.join(sorted(own))} itself: use np.attribute")
    if options.get("batched") is True:
        raise TypeError("attribute_text: batched=True is of functions of many prompts: leave it, or say batched='vmap'")
    if _is_several(prompt):
        given = {"target": target, "rather": rather, "baseline": baseline}
        columns = [_for_each(one, len(prompt), what) for what, one in given.items()]
        return [
            attribute_text(
                model, tokenizer, one, aim, rather=other, by=by, baseline=start, max_new_tokens=max_new_tokens,
                **options,
            )
            for one, aim, other, start in zip(prompt, *columns, strict=True)
        ]  # fmt: skip
    _check(model, tokenizer, by, max_new_tokens)
    if model.training:
        raise ValueError("attribute_text: the model is in training mode, in which it drops numbers out: model.eval()")
    ids = _ids(model, tokenizer, prompt, "prompt")
    encoded = getattr(model.config, "is_encoder_decoder", False)
    with torch.no_grad():
        aims = [_generated(model, ids, max_new_tokens, encoded) if target is None else
                _ids(model, tokenizer, target, "target", special=False)]  # fmt: skip
        if rather is not None:
            aims.append(_ids(model, tokenizer, rather, "rather", special=False))
        embed = model.get_input_embeddings()
        embedded = embed(ids[None])[0].detach()
        start = _start(model, tokenizer, ids, embedded, baseline)
    member, labels = _pieces(tokenizer, prompt, ids, by)

    def said(prompt: torch.Tensor, aim: torch.Tensor) -> torch.Tensor:
        """The log-probabilities (T,) of the tokens of a target, each after the prompt and those before it."""
        if encoded:
            first = aim.new_tensor([_first(model)])
            before = torch.cat([first, aim[:-1]])
            logits = _logits(model, inputs_embeds=prompt[None], decoder_input_ids=before[None])
        else:
            both = torch.cat([prompt, embed(aim[:-1][None])[0].detach().to(prompt.dtype)])
            logits = _logits(model, inputs_embeds=both[None])[len(ids) - 1 :]
        places = torch.arange(len(aim), device=aim.device)
        return logits.log_softmax(-1)[places, aim]

    def f(prompt: torch.Tensor) -> torch.Tensor:
        if rather is None:
            return said(prompt, aims[0])
        return (said(prompt, aims[0]).sum() - said(prompt, aims[1]).sum())[None]

    count = 1 if rather is not None else len(aims[0])
    found = attribute(
        f, embedded, baseline=start, groups=member[:, None], labels=labels, output=list(range(count)), **options
    )
    if options.get("method") in (None, "local"):  # of the others not all are complete
        _warn_if_lost(found)
    made: Any = TextAttribution(
        found.value, found.residual, found.attribution, found.error, found.standard_error, found.labels
    )
    wholes = [str(tokenizer.decode(aim.tolist())) for aim in aims]
    made.targets = (
        tuple(_text(tokenizer, i) for i in aims[0].tolist()) if rather is None else (" rather than ".join(wholes),)
    )
    made.target_ids = tuple(aims[0].tolist())
    return made


def _warn_if_lost(found: Attribution[Any]) -> None:
    """Warn of what completeness misses, where it can be seen: a model that normalises in single precision."""
    scale = float(torch.maximum(found.value.abs(), found.residual.abs()).max())
    missing = float(found.error.abs().max())
    if not missing <= _VISIBLE * scale:
        most = float(found.attribution.abs().max())
        _util.warn(
            f"attribute_text: completeness holds only to {missing:.1e}: contributions of up to {most:.1e} cancel, as "
            "normalisation is steep near a baseline without spread: choose another baseline",
            DecompositionWarning,
        )


def _is_several(given: Any) -> bool:
    """Whether it is a list of texts, or of lists of numbers of tokens."""
    if not isinstance(given, (list, tuple)) or not len(given):
        return False
    return all(isinstance(one, str) or _is_numbers(one) for one in given)


def _is_numbers(given: Any) -> bool:
    """Whether it is a list, or an array with one axis, of whole numbers."""
    if isinstance(given, (list, tuple)):
        return len(given) > 0 and all(isinstance(one, int) for one in given)
    return getattr(given, "ndim", 0) == 1 and not torch.is_floating_point(as_tensor(given))


def _for_each(given: Any, count: int, what: str) -> list[Any]:
    """What several prompts are given: one for each of them, or the same for all."""
    if not _is_several(given):
        return [given] * count
    if len(given) != count:
        raise ValueError(f"attribute_text: {count} prompts need as many items in {what}, not {len(given)}, or one text")
    return list(given)


def _check(model: Any, tokenizer: Any, by: Any, most: Any) -> None:
    if not (hasattr(model, "get_input_embeddings") and hasattr(model, "config")):
        raise TypeError(
            f"attribute_text: the model is a language model of transformers, not {type(model).__name__}: of other "
            "functions np.attribute is asked"
        )
    if not callable(tokenizer):
        raise TypeError(
            f"attribute_text: a tokenizer is called with a text, and {type(tokenizer).__name__} cannot be: give that "
            "of the model"
        )
    if by not in ("token", "word") and not (_is_several(by) and all(isinstance(one, str) for one in by)):
        raise ValueError(f"attribute_text: by is 'token', 'word' or a list of segments, not {by!r}")
    if not isinstance(most, int) or most < 1:
        raise ValueError(f"attribute_text: max_new_tokens is a positive int, not {most!r}")


def _logits(model: Any, **given: Any) -> torch.Tensor:
    """The scores (n, vocabulary) of what comes next after each token."""
    made = getattr(model(**given, use_cache=False), "logits", None)
    if made is None:
        raise _without_head(model)
    return made[0]


def _without_head(model: Any) -> TypeError:
    return TypeError(
        "attribute_text: a language model of transformers returns logits of what comes next, and "
        f"{type(model).__name__} has none: take one with a head, as AutoModelForCausalLM or AutoModelForSeq2SeqLM make"
    )


def _first(model: Any) -> int:
    """The token with which a decoder begins."""
    for config in (model.config, getattr(model, "generation_config", None)):
        first = getattr(config, "decoder_start_token_id", None)
        if isinstance(first, int):
            return first
    raise ValueError("attribute_text: model.config.decoder_start_token_id, with which a decoder begins, is not set")


def _ids(model: Any, tokenizer: Any, text: Any, what: str, special: bool = True) -> torch.Tensor:
    """The numbers of the tokens of a text, on the model's device."""
    given = tokenizer(text, add_special_tokens=special)["input_ids"] if isinstance(text, str) else text
    weight = model.get_input_embeddings().weight
    try:
        ids = torch.as_tensor(given, device=weight.device)
    except (TypeError, ValueError, RuntimeError):  # no numbers
        ids = weight.new_empty(())
    if ids.ndim != 1 or not len(ids) or ids.is_floating_point():
        raise ValueError(
            f"attribute_text: the {what} is a text or a list of the numbers of its tokens, one at least, not {text!r}"
        )
    wrong = ids[(ids < 0) | (ids >= len(weight))]
    if len(wrong):
        raise ValueError(
            f"attribute_text: the {what} has the token {int(wrong[0])}, and the model knows those from 0 to "
            f"{len(weight) - 1}: give the tokenizer of the model"
        )
    return ids.to(torch.int64)


def _generated(model: Any, ids: torch.Tensor, most: int, encoded: bool) -> torch.Tensor:
    if not getattr(model, "can_generate", bool)():
        raise _without_head(model)
    made = model.generate(
        ids[None], attention_mask=torch.ones_like(ids)[None], do_sample=False, num_beams=1, max_new_tokens=most
    )[0]
    made = made[1 if encoded else len(ids) :]
    if not len(made):
        raise ValueError("attribute_text: the model says nothing to this prompt: give a target")
    return made


def _start(model: Any, tokenizer: Any, ids: torch.Tensor, embedded: torch.Tensor, baseline: Any) -> torch.Tensor:
    """The embeddings (n, d) of the baseline."""
    embed = model.get_input_embeddings()
    if baseline is None:
        raise TypeError("attribute_text: baseline is 'pad', 'mean', 'zero', another prompt or an array, not None")
    if not isinstance(baseline, str) and not _is_numbers(baseline):
        start = as_tensor(baseline).to(embedded)
        try:
            return start.broadcast_to(embedded.shape)
        except RuntimeError:
            raise ValueError(
                f"attribute_text: a baseline of shape {tuple(start.shape)} does not broadcast to the embeddings "
                f"{tuple(embedded.shape)}"
            ) from None
    if baseline == "zero":
        return torch.zeros_like(embedded)
    if baseline == "mean":
        return embed(torch.arange(embed.weight.shape[0], device=ids.device)).mean(0).broadcast_to(embedded.shape)
    if baseline == "pad":
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
        if pad is None:
            raise ValueError("attribute_text: the tokenizer has no padding token: choose another baseline")
        return embed(torch.full_like(ids, pad)[None])[0]
    other = _ids(model, tokenizer, baseline, "baseline")
    if len(other) != len(ids):
        raise ValueError(
            f"attribute_text: the baseline {baseline!r} has {len(other)} tokens, the prompt {len(ids)}: they are "
            "compared token by token"
        )
    return embed(other[None])[0]


def _pieces(tokenizer: Any, prompt: Any, ids: torch.Tensor, by: Any) -> tuple[torch.Tensor, list[Piece]]:
    """For each token the piece that it belongs to, and the pieces."""
    if by == "token":
        texts = [_text(tokenizer, i) for i in ids.tolist()]
        return torch.arange(len(ids)), [Piece(text, i) for i, text in enumerate(texts)]
    if not isinstance(prompt, str) or not getattr(tokenizer, "is_fast", False):
        raise ValueError("attribute_text: words and segments are found in a text, by a fast tokenizer: use by='token'")
    encoding = tokenizer(prompt, return_offsets_mapping=True)
    spans = encoding["offset_mapping"]
    if by == "word":
        names: list[Any] = list(encoding.word_ids())
    else:
        places = _places(prompt, by)
        names = [_segment(prompt, places, *span) for span in spans]
    # A token of no word (one that the tokenizer adds) is a piece by itself; pieces are runs of equal names.
    member: list[int] = []
    for i, name in enumerate(names):
        goes_on = i > 0 and name is not None and name == names[i - 1]
        member.append(member[-1] if goes_on else (member[-1] + 1 if member else 0))
    pieces = []
    for k in range(member[-1] + 1):
        inside = [i for i, m in enumerate(member) if m == k]
        text = prompt[spans[inside[0]][0] : spans[inside[-1]][1]] or _text(tokenizer, int(ids[inside[0]]))
        pieces.append(Piece(text.strip() or text, k))
    return torch.tensor(member), pieces


def _places(prompt: str, segments: Sequence[str]) -> list[tuple[int, int]]:
    """Where each segment begins and ends."""
    places, at = [], 0
    for segment in segments:
        start = prompt.find(segment, at) if segment else -1
        if start < 0:
            raise ValueError(f"attribute_text: the prompt has no segment {segment!r} after those before it")
        at = start + len(segment)
        places.append((start, at))
    return places


def _segment(prompt: str, places: Sequence[tuple[int, int]], first: int, last: int) -> tuple[int, bool] | None:
    """The segment that a token is in, or the gap before one: a token over a border belongs to where it begins."""
    if first == last:
        return None
    while first < last - 1 and prompt[first].isspace():
        first += 1
    for k, (start, end) in enumerate(places):
        if first < end:
            return k, first >= start
    return len(places), False


def _text(tokenizer: Any, token: int) -> str:
    return str(tokenizer.decode([token]))

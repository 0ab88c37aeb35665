"""Which token moved the next one: a small GPT-2, trained for seconds, explained token by token.

    python examples/transformer.py ["food is good , room isnt bad , staff is bad so"]

The text that it learns is made of verdicts as in the argument: three things are good or bad, or are not, and the guest
says "again" if most of it speaks for the hotel, else "never". The model is the GPT-2 of the transformers library,
unedited, on word embeddings that `np.decompose` marks by token; the baseline is the mean embedding, a word without
meaning. The table gives the contribution of each token to the lead of the guess over the other verdict; their sum, with
the lead at the baseline, is the lead itself, to rounding.

Everything is drawn from a fixed seed; nothing is downloaded. It needs transformers; with rich the table has colours.
"""

import sys

import torch

import npdec as np

THINGS = "food room staff".split()
VERDICTS = "never again".split()
WORDS = [*THINGS, "is", "isnt", "bad", "good", ",", "so", *VERDICTS]
NUMBER = {word: i for i, word in enumerate(WORDS)}
PROMPT = "food is good , room isnt bad , staff is bad so"
LENGTH = len(PROMPT.split())


def sentences(count, generator):
    """Random texts as word numbers, (count, 12), with the verdict as the last one."""
    denied = torch.randint(2, (count, 3), generator=generator)
    good = torch.randint(2, (count, 3), generator=generator)
    favourable = (denied ^ good).sum(1) >= 2
    rows = []
    for i in range(count):
        row = []
        for j, thing in enumerate(THINGS):
            row += [thing, ("is", "isnt")[denied[i, j]], ("bad", "good")[good[i, j]], ","]
        rows.append([NUMBER[word] for word in [*row[:-1], "so", VERDICTS[int(favourable[i])]]])
    return torch.tensor(rows)


def build(seed=0):
    """The untrained model, in double precision."""
    import transformers

    transformers.logging.set_verbosity_error()
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        n_layer=2, n_embd=32, n_head=4, n_positions=LENGTH, vocab_size=len(WORDS), bos_token_id=None, eos_token_id=None,
        initializer_range=0.2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config).double()


def train(model, steps=200, batch=64, seed=1):
    """Fit the model to verdicts; returns the share that it guesses right of new ones."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    for _ in range(steps):
        text = sentences(batch, generator)
        logits = model(input_ids=text[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits[:, -1], text[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval().requires_grad_(False)
    text = sentences(500, generator)
    guess = model(input_ids=text[:, :-1]).logits[:, -1].argmax(-1)
    return float((guess == text[:, -1]).double().mean())


def explain(model, words):
    """(guess, lead): the more likely verdict, and by how much its logit leads the other one's, decomposed by token."""
    if len(words) != LENGTH or any(word not in NUMBER for word in words):
        raise ValueError(f"{' '.join(words)!r} is no text of {LENGTH} words like {PROMPT!r}")
    table = model.get_input_embeddings().weight
    embedded = table[[NUMBER[word] for word in words]][None]
    labels = [f"{i} {word}" for i, word in enumerate(words, 1)]
    marked = np.decompose(embedded, axis=1, baseline=table.mean(0), labels=labels)
    logits = model(inputs_embeds=marked).logits[0, -1]
    never, again = (logits[NUMBER[verdict]] for verdict in VERDICTS)
    return ("again", again - never) if again > never else ("never", never - again)


def show(words, guess, lead):
    """Print the prompt, the guess, and what each token did."""
    shares = lead.components.tolist()
    largest = max(abs(share) for share in shares)
    rows = [(label, share, "#" * round(20 * abs(share) / largest)) for label, share in zip(lead.labels, shares)]
    ends = f"baseline {float(lead.residual):+.3f}, all tokens {sum(shares):+.3f}, lead {float(lead.value):+.3f}"
    print(f"{' '.join(words)} -> {guess}")
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        for label, share, bar in rows:
            print(f"{label:10}{share:+9.3f}  {bar}")
    else:
        table = Table(box=None)
        table.add_column("token")
        table.add_column("contribution", justify="right")
        table.add_column("")
        for label, share, bar in rows:
            colour = "green" if share > 0 else "red"
            table.add_row(label, f"{share:+.3f}", f"[{colour}]{bar}[/{colour}]")
        Console().print(table)
    print(ends)


def main(arguments):
    words = (arguments[0] if arguments else PROMPT).split()
    model = build()
    print(f"guesses right: {train(model):.0%}")
    show(words, *explain(model, words))


if __name__ == "__main__":
    main(sys.argv[1:])

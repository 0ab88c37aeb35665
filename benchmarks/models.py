"""What it costs to decompose a transformer: GPT-2 by tokens, beside its plain forward pass.

    python benchmarks/models.py [--turns 7] [--compile] [--check]

GPT-2 of the transformers library, unedited, with random weights: 4 layers, width 256, 4 heads, 64 tokens, float32, one
thread. Forward: all logits decomposed by token (64 components). Reverse: one logit of the last token attributed to all
64 · 256 numbers of the embeddings. All times are ratios to the plain forward pass of the same turn, medians over the
turns; smaller is faster. The floor of the forward mode is what its components cost if they were as many plain passes,
value and residual included: 66. `--compile` adds the columns in which the four blocks went through torch.compile, which
takes minutes; they are ratios to the plain forward pass that is not compiled, and below to the one that is.

PyDec 0.3.0 stands beside it on the network that it can run: the feed-forward half of the blocks (layer norms, linear
layers, GELU). With --check the exit code is 1 if the forward mode, compiled or not, costs more than 1.5 times the
floor, or the reverse mode more than 6 plain passes.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch

import npdec
from decomposition import report, scale

LAYERS, WIDTH, HEADS, TOKENS, WORDS = 4, 256, 4, 64, 512
FLOOR = TOKENS + 2
MAX_FORWARD, MAX_REVERSE = 1.5 * FLOOR, 6.0
COMPILED = ", compiled"


def gpt2(attention: str = "sdpa") -> torch.nn.Module:
    import transformers

    transformers.logging.set_verbosity_error()
    config = transformers.GPT2Config(
        n_layer=LAYERS, n_embd=WIDTH, n_head=HEADS, n_positions=TOKENS, vocab_size=WORDS, attn_implementation=attention
    )
    return transformers.GPT2LMHeadModel(config).eval().requires_grad_(False)


def feed_forward() -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = []
    for _ in range(LAYERS):
        layers += [torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU()]
        layers += [torch.nn.Linear(4 * WIDTH, WIDTH)]
    return torch.nn.Sequential(*layers).eval().requires_grad_(False)


def note(result: Any) -> str:
    error = scale(npdec.completeness(result)) / scale(result.value)
    return f"completeness error {error:.0e}"


def model_columns(title: str, model: torch.nn.Module, x: torch.Tensor) -> tuple[dict[str, Any], dict[str, str]]:
    def logits(inputs: torch.Tensor) -> torch.Tensor:
        return model(inputs_embeds=inputs, use_cache=False).logits

    def attribute() -> Any:
        return npdec.attribute(lambda inputs: logits(inputs)[0, -1, 3], x, baseline=0.0)

    start = npdec.decompose(x, axis=1, baseline=0.0)
    with torch.no_grad():
        result = logits(start)
        assert not title or torch.allclose(result.value, logits(x), rtol=1e-4, atol=1e-5)
    answer = attribute()
    whole = answer.value - answer.residual - answer.attribution.sum()
    columns: dict[str, Callable[[], Any]] = {
        f"npdec forward{title}": torch.no_grad()(lambda: logits(start).components),
        f"npdec reverse{title}": attribute,
    }
    notes = {
        f"npdec forward{title}": note(result),
        f"npdec reverse{title}": f"completeness error {scale(whole) / scale(answer.value):.0e}",
    }
    return columns, notes


def run(turn_count: int, compiled: bool) -> list[str]:
    """Time the transformer; returns the limits that are not met."""
    model, x = gpt2(), torch.randn(1, TOKENS, WIDTH) * 0.02
    plain = "plain forward"
    columns: dict[str, Callable[[], Any]] = {
        plain: torch.no_grad()(lambda: model(inputs_embeds=x, use_cache=False).logits)
    }
    more, notes = model_columns("", model, x)
    columns |= more
    fast: list[str] = []
    if compiled:
        faster = gpt2()
        faster.load_state_dict(model.state_dict())
        for block in faster.transformer.h:
            block.compile(fullgraph=True)
        start = time.perf_counter()
        more, remarks = model_columns(COMPILED, faster, x)
        more = {plain + COMPILED: torch.no_grad()(lambda: faster(inputs_embeds=x, use_cache=False).logits), **more}
        print(f"  compiled in {time.perf_counter() - start:.0f} s\n")
        fast = list(more)
        columns |= more
        notes |= remarks
    # What compiled code allocates cannot be looked at: torch.compile leaves code alone under such a look.
    ratios = report(f"GPT-2, {TOKENS} components", columns, turn_count, notes, fast)
    for name in fast[1:]:
        print(f"    {name}: {ratios[name] / ratios[plain + COMPILED]:.1f} times the compiled plain forward pass")
    missed = []
    for kind, most in (("npdec forward", MAX_FORWARD), ("npdec reverse", MAX_REVERSE)):
        for name in (kind, kind + COMPILED):
            if ratios.get(name, 0.0) > most:
                missed.append(f"{name} {ratios[name]:.1f} is above {most:.0f}")
    return missed


def beside_pydec(turn_count: int) -> None:
    model, x = feed_forward(), torch.randn(TOKENS, WIDTH)
    start = npdec.decompose(x, axis=0, baseline=0.0)
    plain = "plain forward"
    calls: dict[str, Callable[[], Any]] = {plain: lambda: model(x), "npdec forward": lambda: model(start).components}
    notes = {"npdec forward": note(model(start))}
    try:
        import pydec
    except ImportError:
        print("  PyDec is not installed")
    else:
        composition = pydec.as_composition(start.components.clone(), torch.zeros_like(x))
        calls["PyDec 0.3.0 forward"] = lambda: model(composition)
        made = model(composition)
        error = scale(made.c_sum() - model(x)) / scale(model(x))
        notes["PyDec 0.3.0 forward"] = f"completeness error {error:.0e}"
    report(f"feed-forward half, {TOKENS} components", calls, turn_count, notes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=7, help="turns of the columns (7)")
    parser.add_argument("--compile", action="store_true", help="columns of the compiled blocks as well")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is not met")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.filterwarnings("ignore", message="The .grad attribute of a Tensor that is not a leaf")
    print(f"{LAYERS} layers, width {WIDTH}, {TOKENS} tokens, float32, one thread (torch {torch.__version__})\n")
    missed = run(args.turns, args.compile)
    with torch.no_grad():
        beside_pydec(args.turns)
    for line in missed:
        print(f"\nlimit not met: {line}")
    return int(args.check and bool(missed))


if __name__ == "__main__":
    sys.exit(main())

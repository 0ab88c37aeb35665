"""What torch.compile takes for whole models, plain and decomposed, beside what calls take without it.

    python benchmarks/compiled_models.py [NAME ...] [--layers 2] [--backend inductor]

GPT-2, Llama and BERT of the transformers library, unedited, with random weights: width 64, 4 heads, 16 tokens, float32,
one thread. Forward: the logits decomposed by token (16 components). Reverse: one number attributed to all numbers of
the embeddings. Each row is a process of its own with an empty cache. Times to compile are of processors, those of the
compilers that were started among them; those of calls are medians. The last column is the largest difference between
what the compiled and the uncompiled model gave, as a part of the largest number.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch

import npdec as np

TOKENS, WIDTH, HEADS, WORDS = 16, 64, 4, 128
MODELS = "GPT-2", "Llama", "BERT"
WAYS = "plain", "forward", "reverse"


def network(name: str, layers: int) -> Callable[[Any], Any]:
    """The model, from embeddings to logits."""
    import transformers

    transformers.logging.set_verbosity_error()
    none = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    alike = {"vocab_size": WORDS, "hidden_size": WIDTH, "num_hidden_layers": layers, "num_attention_heads": HEADS}
    if name == "GPT-2":
        size = {"n_embd": WIDTH, "n_layer": layers, "n_head": HEADS, "vocab_size": WORDS, "n_positions": TOKENS}
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**size, **none, use_cache=False))
    elif name == "Llama":
        size = {**alike, "num_key_value_heads": 2, "intermediate_size": 3 * WIDTH, "use_cache": False}
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**size, **none))
    else:
        size = {**alike, "intermediate_size": 4 * WIDTH, "num_labels": TOKENS}
        model = transformers.BertForSequenceClassification(transformers.BertConfig(**size))
    model.eval().requires_grad_(False)
    return lambda embeddings: model(inputs_embeds=embeddings).logits


def spent() -> float:
    """Seconds of processors, those of processes that have ended among them."""
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in found)


def median(call: Callable[[], Any], turns: int = 9) -> float:
    seconds = []
    for _ in range(turns):
        began = time.process_time()
        call()
        seconds.append(time.process_time() - began)
    return statistics.median(seconds)


def measure(name: str, way: str, layers: int, backend: str) -> dict[str, float]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, x = network(name, layers), torch.randn(1, TOKENS, WIDTH)
    compiled = torch.compile(model, fullgraph=True, backend=backend)
    marked = np.decompose(x, axis=1, labels=range(TOKENS))

    def run(f: Callable[[Any], Any]) -> torch.Tensor:
        if way == "plain":
            return f(x)
        if way == "forward":
            return f(marked).components
        return np.attribute(lambda a: f(a).reshape(-1)[-1], x).attribution

    with torch.no_grad() if way != "reverse" else contextlib.nullcontext():
        want, began = run(model), spent()
        made = run(compiled)
        took = spent() - began
        error = float((made - want).abs().max() / want.abs().max())
        calls = median(lambda: run(model)), median(lambda: run(compiled))
    return {"compile": took, "eager": calls[0], "compiled": calls[1], "error": error}


def column(name: str, way: str, layers: int, backend: str) -> dict[str, float]:
    """What a process of its own measures."""
    with tempfile.TemporaryDirectory() as cache:
        known = os.environ | {"TORCHINDUCTOR_CACHE_DIR": cache, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        command = [sys.executable, "-W", "ignore", __file__, name, "--layers", str(layers), "--backend", backend]
        made = subprocess.run([*command, "--way", way], env=known, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(made.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=MODELS)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--way", choices=WAYS, help="this way alone, in this process")
    options = parser.parse_args()
    if options.way:
        print(json.dumps(measure(options.names[0], options.way, options.layers, options.backend)))
        return
    print("| model | | compile (s) | a call, compiled (ms) | a call, eager (ms) | difference |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for name in options.names:
        for way in WAYS:
            one = column(name, way, options.layers, options.backend)
            times = f"{one['compile']:.0f} | {1e3 * one['compiled']:.1f} | {1e3 * one['eager']:.1f}"
            print(f"| {name} | {way} | {times} | {one['error']:.0e} |", flush=True)


if __name__ == "__main__":
    main()

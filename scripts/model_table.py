"""Write docs/models.md: the completeness of models of the transformers library, as they are.

    python scripts/model_table.py [NAME ...]  # with names, only these are measured, and nothing is written

Each is made from its configuration with small sizes and random weights, in double precision and evaluation, and gets
the embeddings of a few tokens, which are decomposed by token; the baseline is another sequence of embeddings. Nothing
is downloaded. Some compute a part in single precision whatever they are given, and are complete to its digits.
"""

from __future__ import annotations

import datetime
import statistics
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import transformers  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import npdec as np  # noqa: E402
from npdec._decomposed.completeness import relative_error  # noqa: E402

PAGE = ROOT / "docs" / "models.md"
TOKENS = 6
NAMES = """
albert apertus arcee bamba bert bert-generation biogpt bitnet bloom camembert codegen cohere cohere2 ctrl
data2vec-text deberta deberta-v2 deepseek_v3 diffllama distilbert dots1 electra ernie ernie4_5 esm exaone4 falcon
flaubert gemma gemma2 glm glm4 gpt-sw3 gpt2 gpt_bigcode gpt_neo gpt_neox gpt_neox_japanese gpt_oss gptj granite
granitemoe helium ibert jamba jetmoe layoutlm llama longformer lfm2 luke mamba mamba2 megatron-bert minimax
ministral mistral mixtral mobilebert modernbert mpnet mpt mra nemotron nystromformer olmo olmo2 olmo3 olmoe
openai-gpt opt persimmon phi phi3 phimoe qwen2 qwen2_moe qwen3 qwen3_moe recurrent_gemma rembert roberta
roberta-prelayernorm roc_bert roformer seed_oss smollm3 squeezebert stablelm starcoder2 tapas xglm xlm xlm-roberta
xlm-roberta-xl xlnet xmod yoso zamba
""".split()
# Names of sizes differ by family; a configuration takes those that it has.
SIZES = {
    "vocab_size": 17, "hidden_size": 16, "embedding_size": 16, "intermediate_size": 24, "ffn_dim": 24, "num_layers": 2,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8, "num_heads": 2,
    "max_position_embeddings": 32, "pad_token_id": 0,
    "word_embed_proj_dim": 16, "moe_intermediate_size": 8, "num_local_experts": 2,
    "num_experts": 2, "num_experts_per_tok": 2, "rotary_dim": 4, "d_model": 16, "n_heads": 2, "n_layers": 2,
}  # fmt: skip


class Row(NamedTuple):
    """What was measured of one model: the completeness, relative to the largest magnitude."""

    model: str
    completeness: float
    single: bool
    said: str


class Casts(TorchDispatchMode):
    """Notes whether anything in double precision is cast to single."""

    found = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._to_copy.default and result.dtype == torch.float32:
            self.found |= args[0].dtype == torch.float64
        return result


def built(name: str) -> torch.nn.Module:
    default = transformers.AutoConfig.for_model(name)
    mapped = {**default.to_dict(), **dict.fromkeys(default.attribute_map)}
    sizes = {key: size for key, size in SIZES.items() if key in mapped}
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(name, **sizes)
    return transformers.AutoModel.from_config(config).double().eval().requires_grad_(False)


def measured(model: torch.nn.Module, x: torch.Tensor, plain: torch.Tensor, single: bool) -> Row:
    r = torch.randn_like(x)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", np.DecompositionWarning)
        y = model(inputs_embeds=np.decompose(x, axis=1, baseline=r))[0]
    words = dict.fromkeys(str(w.message).split(":")[0] for w in said if w.category is np.DecompositionWarning)
    if (y.value - plain).abs().max() > 1e-12 * plain.abs().max():
        raise ValueError(f"{type(model).__name__}: the value is not the plain run's")
    return Row(type(model).__name__, relative_error(y)[0], single, "; ".join(words))


def run(name: str) -> Row | str:
    """The row of one family, or why the model itself does not run so."""
    try:
        model = built(name)
        width = model.get_input_embeddings().weight.shape[1]
        x = torch.randn(1, TOKENS, width, dtype=torch.float64)
        with Casts() as casts:
            plain = model(inputs_embeds=x.clone())[0]  # some models write into it
    except Exception as error:  # of transformers or torch, without npdec: sizes that do not fit, no kernel
        return type(error).__name__
    return measured(model, x, plain, casts.found)


def page(rows: dict[str, Row], failed: dict[str, str]) -> str:
    versions = f"transformers {transformers.__version__}, torch {torch.__version__.partition('+')[0]}"
    double = [row for row in rows.values() if not row.single and not row.said]
    single = [row for row in rows.values() if row.single and not row.said]
    warned = [row for row in rows.values() if row.said]
    lines = [
        "# Models of transformers, as they are", "",
        f"Written by `python scripts/model_table.py` on {datetime.date.today()} with {versions}.", "",
        "Each model is made from its configuration with small sizes and random weights, in double precision and",
        f"evaluation, and gets the embeddings of {TOKENS} tokens, decomposed by token; the baseline is another",
        "sequence of embeddings. Nothing is edited, hooked or downloaded. **Missing**:",
        "`|value − residual − components.sum(0)|` at its largest, relative to the largest magnitude. The value was",
        "the plain run's in each.", "",
        "| | models | median | largest |", "| --- | ---: | ---: | ---: |",
        *(
            f"| {title} | {len(of)} | {statistics.median(r.completeness for r in of):.0e} | "
            f"{max(r.completeness for r in of):.0e} |"
            for title, of in [
                ("in double precision throughout", double),
                ("a part in single precision, whatever they are given", single),
                ("with a `DecompositionWarning`, which names the operation", warned),
            ]
            if of
        ),
        "",
        "| configuration | model | missing | |", "| --- | --- | ---: | --- |",
        *(
            f"| `{name}` | `{row.model}` | {row.completeness:.0e} | "
            f"{', '.join(['single precision inside'] * row.single + [f'warns: {row.said}'] * bool(row.said))} |"
            for name, row in rows.items()
        ),
        "",
        "The model itself did not run with these sizes, with embeddings for tokens, or in double precision on this",
        "processor: " + ", ".join(f"`{name}`" for name in failed) + ".", "",
    ]  # fmt: skip
    return "\n".join(lines)


def main(names: list[str]) -> int:
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    results = {name: run(name) for name in names or NAMES}
    rows = {name: row for name, row in results.items() if isinstance(row, Row)}
    failed = {name: row for name, row in results.items() if isinstance(row, str)}
    if names:
        print(*rows.values(), failed, sep="\n")
    else:
        PAGE.write_text(page(rows, failed), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

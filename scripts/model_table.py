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
afmoe albert apertus arcee aria_text axk2 bamba bart beam bert bert-generation big_bird bigbird_pegasus biogpt bitnet
blenderbot-small bloom camembert codegen cohere cohere2 cohere2_moe convbert ctrl cwm data2vec-text deberta
deberta-v2 deepseek_v2 deepseek_v3 diffllama distilbert doge dots1 dpr electra embedding_gemma2_text ernie ernie4_5
ernie4_5_moe esm eurobert exaone4 exaone_moe falcon falcon_h1 falcon_mamba flaubert flex_olmo flint fnet gemma gemma2
gemma3_text gemma4_unified_text glm glm4 glm4_moe glm4_moe_lite glm4v_text gpt-sw3 gpt2 gpt_bigcode gpt_neo gpt_neox
gpt_neox_japanese gpt_oss gptj granite granite_docling_text granite_swa granitemoe granitemoe_swa granitemoehybrid
granitemoeshared gte helium hrm_text hunyuan_v1_dense hunyuan_v1_moe hy_v3 hyperclovax ibert imagegpt inkling_text
internlm3 iquestcoder jais2 jamba jetmoe jina_embeddings_v3 kolibri1 laguna layoutlm led lfm2 lfm2_moe llama
llama4_text longformer longt5 luke m2m_100 mamba mamba2 marian markuplm mbart megatron-bert mellum minicpm3 minimax
minimax_m2 minimax_m3_vl_text ministral ministral3 mistral mistral_large4_text mixtral mobilebert modernbert
modernbert-decoder molmo2_text moshi mpnet mpt mra mt5 muse_glimmer_text muse_spark_text mvp nanochat nemotron
nemotron_h nomic_bert nystromformer olmo olmo2 olmo3 olmo_hybrid olmoe openai-gpt openai_privacy_filter opt pegasus
persimmon phi phi3 phimoe plbart prophetnet qwen2 qwen2_5_vl_text qwen2_moe qwen2_vl_text qwen3 qwen3_5_text
qwen3_moe qwen3_next qwen3_vl_moe_text qwen3_vl_text recurrent_gemma reformer rembert roberta roberta-prelayernorm
roc_bert roformer rwkv seed_oss smollm3 solar_open splinter squeezebert stablelm starcoder2 switch_transformers t5
tapas tipsv2_text_model ultrabert umt5 vaultgemma visual_bert xglm xlm xlm-roberta xlm-roberta-xl xlnet xmod yoso
zamba
""".split()
# Names of sizes differ by family; a configuration takes those that it has.
SIZES = {
    "vocab_size": 17, "hidden_size": 16, "embedding_size": 16, "intermediate_size": 24, "ffn_dim": 24, "num_layers": 2,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8, "num_heads": 2,
    "max_position_embeddings": 32, "pad_token_id": 0,
    "word_embed_proj_dim": 16, "moe_intermediate_size": 8, "num_local_experts": 2,
    "num_experts": 2, "num_experts_per_tok": 2, "rotary_dim": 4, "d_model": 16, "n_heads": 2, "n_layers": 2,
    "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "d_kv": 8, "d_ff": 24, "num_decoder_layers": 2,
}  # fmt: skip
# What else a family asks for, so that its sizes fit together.
_MAMBA = {"mamba_n_heads": 4, "mamba_d_head": 8, "mamba_expand": 2, "mamba_d_state": 8, "mamba_n_groups": 1}
_EXPERTS = {"n_routed_experts": 4, "num_local_experts": 4, "n_shared_experts": 1, "first_k_dense_replace": 1}
_TURNED = {"rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 1e4}}
_MIXED = ["linear_attention", "full_attention"]
OWN: dict[str, dict[str, Any]] = {
    "bamba": {**_MAMBA, "attn_layer_indices": [1]},
    "codegen": {"n_embd": 32, "n_head": 4, "hidden_size": 32, "num_attention_heads": 4},
    "deepseek_v3": {
        **_EXPERTS, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8, "q_lora_rank": 8, "kv_lora_rank": 8,
        "n_group": 2, "topk_group": 1,
    },
    "dots1": _EXPERTS,
    "glm4v_text": _TURNED,
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {**_MAMBA, "layer_types": ["mamba", "attention"]},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 0},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "longformer": {"attention_window": 4, "max_position_embeddings": 40, "pad_token_id": 1},
    "mamba2": {"num_heads": 4, "state_size": 8, "n_groups": 1},
    "qwen2_5_vl_text": _TURNED,
    "qwen2_vl_text": _TURNED,
    "qwen3_5_text": {"layer_types": _MIXED},
    "qwen3_next": {"layer_types": _MIXED},
    "recurrent_gemma": {"num_hidden_layers": 3},
    "reformer": {"axial_pos_embds_dim": [8, 8], "axial_pos_shape": [4, 8]},
    "xlnet": {"d_head": 8, "d_inner": 24, "n_layer": 2, "n_head": 2},
    "xmod": {"languages": ("en_XX",), "default_language": "en_XX"},
    "zamba": {"num_hidden_layers": 4, "layer_types": ["linear_attention", "hybrid"] * 2, "n_mamba_heads": 1},
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
    sizes = {key: size for key, size in SIZES.items() if key in mapped} | OWN.get(name, {})
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(name, **sizes)
    # Experts one after the other: the product of all in one, which is the default, has no double precision.
    model = transformers.AutoModel.from_config(config, experts_implementation="eager")
    return model.double().eval().requires_grad_(False)


def called(model: torch.nn.Module, x: Any) -> Any:
    """The last states of the model, given embeddings; of a decoder that is given some tokens, if it has one."""
    given = {"decoder_input_ids": torch.arange(1, 4)[None]} if model.config.is_encoder_decoder else {}
    return model(inputs_embeds=x, **given)[0]


def measured(model: torch.nn.Module, x: torch.Tensor, plain: torch.Tensor, single: bool) -> Row:
    r = torch.randn_like(x)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", np.DecompositionWarning)
        y = called(model, np.decompose(x, axis=1, baseline=r))
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
            plain = called(model, x.clone())  # some models write into it
    except Exception as error:  # of transformers or torch, without npdec: sizes that do not fit, no kernel
        return str(error).strip().partition("\n")[0] or type(error).__name__
    return measured(model, x, plain, casts.found)


def page(rows: dict[str, Row], failed: dict[str, str]) -> str:
    versions = f"transformers {transformers.__version__}, torch {torch.__version__.partition('+')[0]}"
    double = [row for row in rows.values() if not row.single and not row.said]
    single = [row for row in rows.values() if row.single and not row.said]
    chosen = [row for row in rows.values() if row.said.startswith("topk")]
    warned = [row for row in rows.values() if row.said and row not in chosen]
    lines = [
        "# Models of transformers, as they are", "",
        f"Written by `python scripts/model_table.py` on {datetime.date.today()} with {versions}.", "",
        "Each model is made from its configuration with small sizes and random weights, in double precision and",
        f"evaluation, and gets the embeddings of {TOKENS} tokens, decomposed by token; the baseline is another",
        "sequence of embeddings. (A decoder behind an encoder gets three tokens, which are held fixed.) Nothing is",
        "edited, hooked or downloaded; experts are computed one after the other, because torch's product of all in one",
        "has no double precision on a processor. **Missing**:",
        "`|value − residual − components.sum(0)|` at its largest, relative to the largest magnitude. The value was",
        "the plain run's in each.", "",
        "| | models | median | largest |", "| --- | ---: | ---: | ---: |",
        *(
            f"| {title} | {len(of)} | {statistics.median(r.completeness for r in of):.0e} | "
            f"{max(r.completeness for r in of):.0e} |"
            for title, of in [
                ("in double precision throughout", double),
                ("a part in single precision, whatever they are given", single),
                ("experts that `topk` chooses, by the value at both ends: a `DecompositionWarning` says so", chosen),
                ("with a `DecompositionWarning` of what is lost, which names the operation", warned),
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
        "In `phimoe` a router masks scores by −∞ where a comparison says so, and not the same ones at both ends: what",
        "follows has infinite contributions. In `yoso` attention is a `torch.autograd.Function` whose `backward` is an",
        "estimate of its derivative, and contributions go by that.", "",
        "The model itself does not run in double precision on this processor, without npdec:", "",
        *(f"- `{name}`: {why}" for name, why in failed.items()), "",
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

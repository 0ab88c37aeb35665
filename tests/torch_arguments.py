"""Samples in which every argument of a function of torch is given: torch's own that add one, and some beside them."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

import torch

from torch_samples import LARGEST, OPERATORS, D, Sample, distance, samples
from torch_signatures import Parameter, bound, is_default, public, signatures

__all__ = ["EXEMPT", "UNTOLD", "all_arguments", "covering", "given", "small", "target"]

I = torch.tensor
_LEGACY = {"size_average": False, "reduce": False}


def _weights(sample: Sample) -> torch.Tensor:
    return torch.rand(sample.args[0].shape, generator=torch.Generator().manual_seed(2), dtype=D)


def _mask(sample: Sample) -> torch.Tensor:
    return torch.rand(sample.args[0].shape, generator=torch.Generator().manual_seed(2)) < 0.7


def _n(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=D)


def _fresh(function: Any) -> Any:
    """The function of a copy of its first argument, which it writes into."""
    return lambda input, *args, **kwargs: function(input * 1, *args, **kwargs)


@functools.cache
def _made() -> dict[str, list[Sample]]:
    """Calls of their own."""
    single = _n(3, 4).float()
    square = _n(3, 3) + 3 * torch.eye(3, dtype=D)
    heads = (
        *(_n(4, 2, 4) * s for s in (1, 0.7, -1.2)),
        4,
        2,
        _n(12, 4),
        _n(12),
        None,
        None,
        False,
        0.0,
        _n(4, 4),
        _n(4),
    )
    padding = torch.tensor([[False, False, False, True], [False, True, False, False]])
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("linalg.solve", (square, _n(2, 3)), {"left": False}),
        ("linalg.solve_ex", (square, _n(2, 3)), {"left": False}),
        ("linalg.norm", (single,), {"dtype": D}),
        ("linalg.matrix_norm", (single,), {"dtype": D}),
        ("linalg.vector_norm", (single,), {"dtype": D}),
        ("norm", (single,), {"dtype": D}),
        ("norm", (single, 3, 0), {"dtype": D}),
        ("masked.norm", (single, 2.0), {"dtype": D}),
        ("masked.normalize", (single, 2.0, 1), {"dtype": D}),
        ("clone", (_n(1, 2, 3, 2),), {"memory_format": torch.channels_last}),
        ("contiguous", (_n(1, 2, 3, 2),), {"memory_format": torch.channels_last}),
        ("view", (_n(3, 4), torch.complex128), {}),
        ("view_copy", (_n(3, 4), torch.complex128), {}),
        ("nn.functional.multi_head_attention_forward", heads, {"key_padding_mask": padding}),
        ("nn.functional.multi_head_attention_forward", heads, {"attn_mask": later, "is_causal": True}),
        ("nn.functional.multi_head_attention_forward", heads, {"static_k": _n(4, 5, 2), "static_v": _n(4, 5, 2) * 0.6}),
    ]
    made: dict[str, list[Sample]] = {}
    for name, args, kwargs in calls:
        function = public(name)
        assert function is not None
        made.setdefault(name, []).append(Sample(name, function, args, kwargs, near=distance(name)))
    return made


# Arguments that torch's samples leave out, by the function: what is added to one of them.
EXTRA: dict[str, list[dict[str, Any]]] = {
    "lu_unpack": [{"unpack_data": False}, {"unpack_pivots": False}],
    "nn.functional.cross_entropy": [{"label_smoothing": 0.2}],
    "nn.functional.interpolate": [{"antialias": True}],
    "nn.functional.leaky_relu": [{"negative_slope": 0.3}],
    "nn.functional.elu": [{"alpha": 0.7}],
    "nn.functional.celu": [{"alpha": 0.7}],
    "nn.functional.scaled_dot_product_attention": [{"scale": 0.3}, {"enable_gqa": True}],
    "nn.functional.triplet_margin_loss": [{"eps": 1e-3}, {"p": 3}],
    "nn.functional.l1_loss": [{"weight": _weights}],
    "nn.functional.mse_loss": [{"weight": _weights}],
    "nn.functional.huber_loss": [{"weight": _weights}],
    "nn.functional.multilabel_soft_margin_loss": [{"reduction": "sum"}],
    "topk": [{"largest": False}, {"sorted": False}],
    "triangular_solve": [{"upper": False}, {"transpose": True}, {"unitriangular": True}],
    "nan_to_num": [{"nan": 0.5, "posinf": 2.0, "neginf": -2.0}],
    "pinverse": [{"rcond": 1e-3}],
    "flatten": [{"end_dim": 1}],
    "linalg.cond": [{"p": "fro"}, {"p": 1}],
    "linalg.pinv": [{"atol": 1e-3}, {"rtol": 1e-3}, {"rcond": 1e-3}],
    "linalg.qr": [{"mode": "r"}, {"mode": "complete"}],
    "qr": [{"some": False}],
    "svd": [{"compute_uv": False}],
    "linalg.lstsq": [{"rcond": 1e-3}],
    "stft": [{"normalized": True}, {"win_length": 4}, {"pad_mode": "constant"},
             {"center": False, "align_to_window": True}],
    "masked.normalize": [{"eps": 0.5}, {"mask": _mask}],
    "masked.median": [{"keepdim": True}],
    "nn.functional.linear_cross_entropy": [{"label_smoothing": 0.1}],
    "nn.functional.instance_norm": [{"use_input_stats": False}],
    "nn.functional.multi_head_attention_forward": [{"need_weights": False}, {"average_attn_weights": False}],
}  # fmt: skip
# Arguments that are added wherever they are lacking.
ANYWHERE: dict[str, Any] = {**_LEGACY, "dtype": torch.float32, "inplace": True}


def target(name: str) -> Any:
    """The function that the operator of the name samples, if its parameters can be told."""
    op = OPERATORS[name]
    function = op.op
    if isinstance(function, types.FunctionType) and function.__name__ == "<lambda>":
        function = public(op.name)
    return function if function is not None and signatures(function) else None


def given(name: str, sample: Sample) -> set[str]:
    """The arguments that a sample gives another value than their default."""
    found = bound(target(name), sample.args, sample.kwargs)
    if found is None:
        return set()
    signature, arguments = found
    return {p.name for p in signature if p.name in arguments and not is_default(p, arguments[p.name])}


def all_arguments(name: str) -> dict[str, Parameter]:
    return {p.name: p for signature in signatures(target(name)) for p in signature}


def _runs(sample: Sample) -> bool:
    try:
        sample.run(*sample.inputs)
    except (RuntimeError, TypeError, ValueError, IndexError):
        return False
    return bool(sample.leaves)


def _with(sample: Sample, more: dict[str, Any]) -> Sample:
    more = {key: value(sample) if callable(value) else value for key, value in more.items()}
    function = _fresh(sample.function) if "inplace" in more else sample.function
    return Sample(sample.name, function, sample.args, {**sample.kwargs, **more}, sample.near, sample.looked_at)


def _extended(name: str, lacking: set[str]) -> Iterator[Sample]:
    base = OPERATORS[name].name
    pool = samples(name, most=40, largest=2000)
    wanted = [*EXTRA.get(base, []), *({key: ANYWHERE[key]} for key in sorted(lacking) if key in ANYWHERE)]
    for more in wanted:
        for sample in pool:
            longer = _with(sample, more)
            if bound(target(name), longer.args, longer.kwargs) is not None and _runs(longer):
                yield longer
                break


@functools.cache
def covering(name: str) -> list[Sample]:
    """Samples beside the first ones, until every argument that can be is given somewhere."""
    if target(name) is None:
        return []
    found: set[Any] = set().union(*[_choices(name, s) for s in samples(name)])
    made: list[Sample] = []
    pool = [(s, _choices(name, s)) for s in samples(name, most=10_000, largest=2000)]
    pool += [(s, given(name, s)) for s in samples(name, most=10_000, largest=10**9)]
    pool.sort(key=lambda pair: sum(x.numel() for x in pair[0].leaves.values()))
    while True:
        best, more = max(pool, key=lambda pair: len(pair[1] - found), default=(None, set()))
        if best is None or not more - found:
            break
        made.append(best)
        found |= more
    made = [sample for sample in made if not _is_hollow(sample)]
    lacking = {name for name in all_arguments(name) if name not in found}
    return [*made, *_extended(name, lacking), *_made().get(OPERATORS[name].name, [])]


def _is_hollow(sample: Sample) -> bool:
    """A normalisation of single numbers, which are zero up to rounding."""
    return sample.name.endswith("layer_norm") and all(x.numel() == 1 for x in sample.leaves.values())


def small(name: str) -> list[Sample]:
    """A few samples that differ in their arguments, and the first in any case."""
    found = [*samples(name), *covering(name)]
    return [s for s in found if sum(x.numel() for x in s.leaves.values()) <= LARGEST or s is found[0]][:4]


def _choices(name: str, sample: Sample) -> set[Any]:
    """The arguments given, and which of a few choices they are."""
    found = bound(target(name), sample.args, sample.kwargs)
    if found is None:
        return set()
    chosen = {(key, value) for key, value in found[1].items() if value is None or isinstance(value, (str, bool))}
    return chosen | given(name, sample)


_WRAPPED = "torch's samples call it through another function, whose arguments these are not"
# Functions of which samples do not tell their arguments.
UNTOLD: dict[str, str] = dict.fromkeys("svd_lowrank pca_lowrank polygamma special.polygamma".split(), _WRAPPED)
# Arguments that no sample gives.
_LISTED = {
    "for CUDA only": "addmm.out_dtype baddbmm.out_dtype bmm.out_dtype mm.out_dtype linalg.svd.driver "
    "linalg.svdvals.driver lu.pivot linalg.lu.pivot linalg.lu_factor.pivot linalg.lu_factor_ex.pivot to.pin_memory",
    "errors are raised": "linalg.cholesky_ex.check_errors linalg.inv_ex.check_errors linalg.solve_ex.check_errors "
    "linalg.lu_factor_ex.check_errors",
    "it does nothing": "expand.implicit expand_copy.implicit nn.functional.softmin._stacklevel gather.sparse_grad",
    "the forms with out= are tested elsewhere": "nn.functional.normalize.out tensordot.out norm.out",
    "drawn at random": "nn.functional.fractional_max_pool3d._random_samples normal.generator",
    "there is one layout": "to.layout",
}
EXEMPT: dict[str, dict[str, str]] = {}
for _why, _which in _LISTED.items():
    for _name in _which.split():
        EXEMPT.setdefault(_name.rpartition(".")[0], {})[_name.rpartition(".")[2]] = _why

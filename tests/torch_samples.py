"""Samples of torch's functions: those of torch's own table of operators, which ships with it, and some beside them.

What is known of an operator stands here once: which arguments are only looked at, where the baseline must be near, what
freezes, where torch's own gradient says nothing, what is refused.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.utils import rnn

from seeds import seed, seed_all
from torch_checks import carries

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal import common_utils

    # What torch does before each sample, and before those of an operator, where it looks through the sources of all
    # that runs for a test whose progress it could note: most of what the tables take, if it is left.
    common_utils.set_rng_seed, common_utils.extract_test_fn = seed_all, lambda: None
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo import core

    # The names that it has itself, if another module has loaded it before.
    core.set_rng_seed, core.extract_test_fn = common_utils.set_rng_seed, common_utils.extract_test_fn

Function = Callable[..., Any]
Path = tuple[Any, ...]
D = torch.float64
MOST = 2  # samples of an operator
LARGEST = 130  # elements of a sample, if there are any so small

# -- what is known of operators ----------------------------------------------------------------------------------------

_ORDER, _EQUAL = "the order is the value's", "what is equal is decided at the value"
FREEZES: dict[str, str] = {
    **dict.fromkeys(
        "sort topk kthvalue median nanmedian mode msort quantile nanquantile masked.median".split(), _ORDER
    ),
    **dict.fromkeys("unique unique_consecutive".split(), _EQUAL),
    "nn.functional.rrelu": "in training, the slopes are drawn for what is negative at the value",
    "F.gumbel_softmax": "the largest is the value's, if hard=True",
}
# LAPACK's bits depend on where in memory a matrix lies.
BY_MEMORY = frozenset({"linalg.lstsq"})
# Arguments by position (or name) that are looked at only: they say which, where or how.
LOOKED_AT: dict[str, tuple[int | str, ...]] = {
    "nn.functional.hinge_embedding_loss": (1,),
    "nn.functional.cosine_embedding_loss": (2,),
    "quantile": (1,),
    "nanquantile": (1,),
    "igamma": (0,),
    "igammac": (0,),
    "special.zeta": (0,),
    "nn.functional.batch_norm": (1, 2),
    "native_batch_norm": (3, 4),
    "nn.functional.instance_norm": (1, 2, "running_mean", "running_var"),
    "nn.functional.fractional_max_pool2d": ("_random_samples",),
    "nn.functional.fractional_max_pool3d": ("_random_samples",),
    **{
        f"special.{name}": (1,)
        for name in (
            *(f"{kind}chebyshev_polynomial_{letter}" for kind in ("", "shifted_") for letter in "tuvw"),
            "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
        )
    },
}  # fmt: skip
# Results that are plain whatever they are computed from: they say how many, or which.
LOOKS: dict[str, str] = {
    **dict.fromkeys("bernoulli multinomial histc masked.argmax masked.argmin".split(), "draws, counts or places"),
    **dict.fromkeys("histogram histogramdd".split(), "counts, and edges that are looked at"),
    **dict.fromkeys(
        "empty_like new_empty new_empty_strided rand_like randn_like randint_like zeros_like ones_like full_like "
        "new_zeros new_ones new_full".split(), "made of shape and dtype alone"),
}  # fmt: skip
# A path that leaves the domain, or passes where the function jumps: the baseline is near the value (a fifth of it), or
# nearer.
NEAR = frozenset(
    "acosh cov corrcoef gradient cholesky cholesky_inverse cholesky_solve inverse logdet det slogdet matrix_exp "
    "triangular_solve pinverse qr ormqr lu_solve svd_lowrank pca_lowrank pow float_power __rpow__".split()
)
NEARER = frozenset("linalg.eig linalg.eigvals linalg.lu linalg.lu_factor linalg.lu_factor_ex lu linalg.svd svd "
                   "linalg.lstsq linalg.pinv lu_unpack".split())  # fmt: skip
_HALF = "torch's gradient shares between the two triangles, of which only one is read"
NO_GRADIENT: dict[str, str] = {
    **dict.fromkeys("fake_quantize_per_tensor_affine fake_quantize_per_channel_affine".split(), "straight through"),
    "CrossMapLRN2d": "torch's gradient is of other sums of squares than its numbers",
    **dict.fromkeys(
        "cholesky cholesky_inverse cholesky_solve linalg.cholesky linalg.cholesky_ex linalg.eigh linalg.eigvalsh "
        "linalg.pinv".split(), _HALF),
    "as_strided_scatter": "torch's gradient counts what is overwritten",
    "nn.functional.embedding": "torch's gradient leaves padding out",
    "nn.functional.embedding_bag": "torch's gradient leaves padding out, and may be sparse",
    "nn.functional.max_unpool1d": "torch's gradient counts what is overwritten",
    "nn.functional.max_unpool2d": "torch's gradient counts what is overwritten",
    "nn.functional.max_unpool3d": "torch's gradient counts what is overwritten",
    "normal": "torch has no gradient of the parameters",
    "linalg.norm": "torch's gradient is zero where there is none",
    "prod": "numbers too small to compare",
    "ctc_loss": "torch's gradient is that of the log-softmax before it",
    "linalg.cond": "torch cannot differentiate its own inverse in it",
    "linalg.eig": "torch refuses what depends on how the eigenvectors are turned",
    "linalg.lstsq": "torch's gradient is that of the solution alone",
    "native_batch_norm": "torch's gradient leaves the statistics out",
    "native_layer_norm": "torch's gradient leaves the statistics out",
    "native_group_norm": "torch's gradient leaves the statistics out",
    "nn.functional.interpolate": "torch's gradient is of the input alone",
}  # fmt: skip
_INTERNAL = "an operator of torch's own implementation, which no public function of Python is"
_NO_ARRAY = "takes no tensor of numbers"
NOT_CHECKED: dict[str, str] = {
    **dict.fromkeys(
        "_chunk_cat max_pool2d_with_indices_backward _native_batch_norm_legit _batch_norm_with_update "
        "_upsample_bilinear2d_aa _segment_reduce".split(), _INTERNAL),
    **{op.name: "runs on CUDA only" for op in op_db if op.name.startswith("jiterator")},
    **dict.fromkeys("empty_like new_empty new_empty_strided empty empty_permuted empty_strided".split(),
                    "the contents are undefined"),
    "chalf": "complex numbers of half precision have too few functions",
    "linalg.pinv.singular": "the rank is not that of the path between",
    "linalg.norm.subgradients_at_zero": "at zero there is no derivative",
    "as_strided.partial_views": "beyond the memory of a copy",
    "sparse.sampled_addmm": "sparse", "sparse.mm.reduce": "sparse",
    "nn.functional.ctc_loss": "a large sample: see OWN",
    "scalar_tensor": _NO_ARRAY, "slice_scatter": "see OWN",
    "resize_": "refused", "resize_as_": "refused",
}  # fmt: skip
REFUSES = frozenset("to_sparse geqrf linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve special.airy_ai".split())
WRITES = frozenset("cauchy exponential geometric log_normal normal uniform zero_".split())  # into their argument


# -- a sample ----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Sample:
    """A call: `function(*args, **kwargs)`; `leaves` are the tensors in it that are decomposed, by where they stand."""

    name: str
    function: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    near: float = 1.0
    looked_at: tuple[int | str, ...] = ()

    @functools.cached_property
    def leaves(self) -> dict[Path, torch.Tensor]:
        looked = self.looked_at or LOOKED_AT.get(self.name, ())
        found = dict(_tensors((*self.args, self.kwargs)))
        last = len(self.args)
        return {
            path: x
            for path, x in found.items()
            if (path[0] if path[0] != last else path[1] if len(path) > 1 else None) not in looked
        }

    def placed(self, *tensors: torch.Tensor) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with these in the places of the leaves."""
        made = _placed((*self.args, self.kwargs), (), dict(zip(self.leaves, tensors, strict=True)))
        return list(made[:-1]), made[-1]

    def run(self, *tensors: torch.Tensor, function: Function | None = None) -> Any:
        args, kwargs = self.placed(*tensors)
        if self.name in WRITES:
            args[0] = args[0].clone() if isinstance(args[0], torch.Tensor) else args[0]
        return (function or self.function)(*args, **kwargs)

    @property
    def inputs(self) -> list[torch.Tensor]:
        return [x.contiguous().clone() for x in self.leaves.values()]

    @property
    def bases(self) -> list[torch.Tensor]:
        """Baselines where the function is defined: mixtures of the numbers that are there, or numbers near them."""
        source = torch.Generator().manual_seed(1)
        return [_baseline(x, self.near, source) for x in self.inputs]


def _baseline(x: torch.Tensor, near: float, source: torch.Generator) -> torch.Tensor:
    if near < 1 or x.numel() <= 1:
        noise = torch.randn(x.shape, generator=source, dtype=D).to(x.dtype)
        near = min(near, 0.2)
        return x * (1 - near) + near / 10 * noise * x.abs().mean()
    first, second = (x.flatten()[torch.randperm(x.numel(), generator=source)] for _ in range(2))
    return (0.6 * first + 0.4 * second).reshape(x.shape)


def _tensors(item: Any, path: Path = ()) -> Iterator[tuple[Path, torch.Tensor]]:
    if isinstance(item, torch.Tensor):
        if carries(item) and item.numel() and item.layout == torch.strided and torch.isfinite(item).all():
            yield path, item
    elif isinstance(item, (list, tuple)):
        for i, inner in enumerate(item):
            yield from _tensors(inner, (*path, i))
    elif isinstance(item, dict):
        for key, inner in item.items():
            yield from _tensors(inner, (*path, key))


def _placed(item: Any, path: Path, new: dict[Path, Any]) -> Any:
    if path in new:
        return new[path]
    if isinstance(item, (list, tuple)):
        made = [_placed(inner, (*path, i), new) for i, inner in enumerate(item)]
        return type(item)(*made) if hasattr(item, "_fields") else type(item)(made)
    if isinstance(item, dict):
        return {key: _placed(inner, (*path, key), new) for key, inner in item.items()}
    return item


# -- torch's table -----------------------------------------------------------------------------------------------------


def title(op: Any) -> str:
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


OPERATORS = {
    title(op): op
    for op in op_db
    if D in op.dtypes and title(op) not in NOT_CHECKED and op.name not in NOT_CHECKED
}  # fmt: skip


def distance(name: str) -> float:
    if name in NEARER:
        return 1e-3
    return 0.2 if name in NEAR or name.startswith("linalg.") else 1.0


@functools.cache
def samples(name: str, most: int = MOST, largest: int = LARGEST) -> list[Sample]:
    """A few of the operator's samples in double precision that have numbers in them, small ones if there are any."""
    op = OPERATORS[name]
    seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = list(op.sample_inputs("cpu", D, requires_grad=False))
    made = [
        Sample(op.name, op.op, (s.input, *s.args), dict(s.kwargs), near=distance(op.name)) for s in given
    ]  # fmt: skip
    made = [sample for sample in made if sample.leaves]
    small = [sample for sample in made if sum(x.numel() for x in sample.leaves.values()) <= largest]
    made = small or made
    if len(made) > most:
        made = [made[round(i * (len(made) - 1) / (most - 1))] for i in range(most)]
    return made


@functools.cache
def first_sample(name: str) -> list[Sample]:
    """The first of its samples, if there is any; the others are not made."""
    op = OPERATORS[name]
    seed(0)
    first = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for s in op.sample_inputs("cpu", D, requires_grad=False):
            made = Sample(op.name, op.op, (s.input, *s.args), dict(s.kwargs), near=distance(op.name))
            if made.leaves:
                first = first or made
                if sum(x.numel() for x in made.leaves.values()) <= LARGEST:
                    return [made]
    return [first] if first else []


# -- samples beside torch's --------------------------------------------------------------------------------------------


_SOURCE = torch.Generator().manual_seed(5)


def _n(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=_SOURCE, dtype=D)


def _p(*shape: int) -> torch.Tensor:
    return _n(*shape).abs() + 0.3


I = torch.tensor
_GRID, _POINTS = _n(1, 3, 2, 2), _n(4, 2)
_LOGS = F.log_softmax(_n(6, 2, 4), -1)
_MASK = torch.tensor([[True, False, True, False], [False, True, True, False], [True, True, False, False]])


def _flat_weights(kind: str, gates: int, size: int = 3) -> list[torch.Tensor]:
    return [_n(gates * size, 4), _n(gates * size, size), _n(gates * size), _n(gates * size) * 0.5]


def _packed(x: torch.Tensor, **options: Any) -> Any:
    packed = rnn.pack_padded_sequence(x, [4, 2, 3], batch_first=True, enforce_sorted=False)
    return packed.data, rnn.pad_packed_sequence(packed, **options)[0]


def _bag(weight: torch.Tensor, scales: torch.Tensor | None = None, **options: Any) -> Any:
    return F.embedding_bag(I([1, 2, 4, 1, 0, 3]), weight, I([0, 2, 2]), per_sample_weights=scales, **options)


def _looked_up(weight: torch.Tensor, **options: Any) -> Any:
    weight = weight * 1
    return F.embedding(I([[1, 0], [3, 1]]), weight, **options), weight


OWN: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "ctc_loss": (lambda x: F.ctc_loss(x, I([[1, 2], [3, 3]]), I([6, 5]), I([2, 2])), (_LOGS,)),
    "ctc_loss none": (lambda x: F.ctc_loss(x, I([1, 2, 3]), (6, 6), (2, 1), 0, "none"), (_LOGS,)),
    "ctc_loss hopeless": (
        lambda x: F.ctc_loss(x, I([[1, 1], [2, 3]]), I([2, 6]), I([2, 2]), reduction="sum", zero_infinity=True),
        (_LOGS,),
    ),
    "ctc_loss single": (lambda x: F.ctc_loss(x, I([1, 2]), I(6), I(2)), (_LOGS[:, 0],)),
    "lstm_cell": (lambda x, h, c, *w: torch.lstm_cell(x, (h, c), *w), (_n(2, 4), _n(2, 3), _n(2, 3),
                                                                      *_flat_weights("lstm", 4))),
    "gru_cell": (torch.gru_cell, (_n(2, 4), _n(2, 3), *_flat_weights("gru", 3))),
    "rnn_tanh_cell": (torch.rnn_tanh_cell, (_n(2, 4), _n(2, 3), *_flat_weights("rnn", 1))),
    "rnn_relu_cell": (torch.rnn_relu_cell, (_n(2, 4), _n(2, 3), *_flat_weights("rnn", 1))),
    "lstm": (lambda x, h, c, *w: torch.lstm(x, (h, c), list(w), True, 1, 0.0, False, False, False),
             (_n(3, 2, 4), _n(1, 2, 3), _n(1, 2, 3), *_flat_weights("lstm", 4))),
    "gru": (lambda x, h, *w: torch.gru(x, h, list(w), True, 1, 0.0, False, False, True),
            (_n(2, 3, 4), _n(1, 2, 3), *_flat_weights("gru", 3))),
    "rnn_tanh": (lambda x, h, *w: torch.rnn_tanh(x, h, list(w), True, 1, 0.0, False, False, False),
                 (_n(3, 2, 4), _n(1, 2, 3), *_flat_weights("rnn", 1))),
    "rnn_relu": (lambda x, h, *w: torch.rnn_relu(x, I([2, 1, 1]), h, list(w), True, 1, 0.0, False, False),
                 (_n(4, 4), _n(1, 2, 3), *_flat_weights("rnn", 1))),
    "_pack_padded_sequence _pad_packed_sequence": (_packed, (_n(3, 4, 2),)),
    "_pad_packed_sequence with a number": (lambda x: _packed(x, batch_first=True, padding_value=2.0, total_length=6),
                                           (_n(3, 4, 2),)),
    "pad_sequence": (lambda a, b: rnn.pad_sequence([a, b], True, 2.0, "left"), (_n(2, 3), _n(4, 3))),
    "embedding_bag": (_bag, (_n(5, 3),)),
    "embedding_bag weights": (lambda w, s: _bag(w, s, mode="sum", include_last_offset=True), (_n(5, 3), _n(6))),
    "embedding_bag max": (lambda w: _bag(w, mode="max", padding_idx=1), (_n(5, 3),)),
    "embedding_bag norms": (lambda w: _bag(w * 1, mode="mean", max_norm=0.9, norm_type=2.0), (_n(5, 3),)),
    "_embedding_bag": (lambda w: torch._embedding_bag(w, I([1, 2, 4]), I([0, 2]))[0], (_n(5, 3),)),
    "embedding embedding_renorm_": (lambda w: _looked_up(w, max_norm=1.0, norm_type=2.0), (_n(4, 3),)),
    "torch.embedding": (lambda w: torch.embedding(w, I([1, 2]), 1), (_n(4, 3),)),
    "grid_sampler": (lambda x, g: F.grid_sample(x, g, "bicubic", "reflection", False),
                     (_n(1, 2, 4, 5), _n(1, 3, 2, 2))),
    "grid_sample nearest": (lambda x, g: F.grid_sample(x, g, "nearest", "border", True),
                            (_n(1, 2, 4, 5), _n(1, 3, 2, 2))),
    "grid_sample of a plain grid": (lambda x: F.grid_sample(x, _GRID, align_corners=False), (_n(1, 2, 4, 5),)),
    "affine_grid affine_grid_generator": (
        lambda t: F.affine_grid(t, [2, 3, 2, 4], align_corners=False), (_n(2, 2, 3),)),
    "gumbel_softmax": (lambda x: F.gumbel_softmax(x, 0.7), (_n(2, 4),)),
    "fractional_max_pool2d fractional_max_pool2d_with_indices": (
        lambda x: F.fractional_max_pool2d(x, (2, 3), output_ratio=(0.5, 0.5), return_indices=True), (_n(2, 7, 8),)),
    "fractional_max_pool3d fractional_max_pool3d_with_indices": (
        lambda x: F.fractional_max_pool3d(x, 2, output_size=(2, 3, 2)), (_n(1, 2, 4, 6, 5),)),
    "max_unpool1d": (lambda x: F.max_unpool1d(x, I([[[1, 2, 5]]]), 2), (_n(1, 1, 3),)),
    "lp_pool1d": (lambda x: F.lp_pool1d(x, 2, 2, ceil_mode=True), (_n(1, 2, 5),)),
    "lp_pool3d": (lambda x: F.lp_pool3d(x, 3.0, 2), (_n(1, 1, 4, 2, 2),)),
    "dropout": (lambda x: torch.dropout(x, 0.4, True), (_n(3, 4),)),
    "native_dropout": (lambda x: torch.native_dropout(x, 0.4, True)[0], (_n(3, 4),)),
    "alpha_dropout": (lambda x: F.alpha_dropout(x, 0.4, True), (_n(3, 4),)),
    "feature_dropout": (lambda x: torch.feature_dropout(x, 0.4, True), (_n(3, 4, 2),)),
    "feature_alpha_dropout": (lambda x: F.feature_alpha_dropout(x, 0.4, True), (_n(3, 4, 2),)),
    "cosine_similarity": (lambda a, b: F.cosine_similarity(a, b, 0), (_n(3, 4), _n(3, 4))),
    "cummax": (lambda x: torch.cummax(x, 0), (_n(5, 3),)),
    "put": (lambda x, s: torch.put(x, I([1, 4]), s, accumulate=True), (_n(2, 3), _n(2))),
    "bincount": (lambda w: torch.bincount(I([1, 0, 1, 3]), w, 6), (_n(4),)),
    "histogram": (lambda w: torch.histogram(I([0.1, 0.4, 2.0, 1.0], dtype=D), 3, range=(0.0, 1.0), weight=w,
                                            density=True)[0], (_p(4),)),
    "histogramdd": (lambda w: torch.histogramdd(_POINTS, [2, 2], range=[-2.0, 2.0, -2.0, 2.0], weight=w)[0], (_n(4),)),
    "convolution": (lambda x, w, b: torch.convolution(x, w, b, [1], [1], [1], False, [0], 1),
                    (_n(2, 3, 5), _n(2, 3, 3), _n(2))),
    "conv_tbc": (torch.conv_tbc, (_n(4, 2, 3), _n(2, 3, 2), _n(2))),
    "constant_pad_nd": (lambda x: torch.constant_pad_nd(x, (1, 2), 3.0), (_n(2, 3),)),
    "slice_scatter": (lambda x, s: torch.slice_scatter(x, s, 1, 0, 4, 2), (_n(3, 4), _n(3, 2))),
    "unsafe_split_with_sizes": (lambda x: torch.unsafe_split_with_sizes(x, [1, 2]), (_n(3, 2),)),
    "native_channel_shuffle": (lambda x: torch.native_channel_shuffle(x, 2), (_n(1, 4, 2),)),
    "pin_memory conj_physical": (torch.conj_physical, (torch.complex(_n(3), _n(3)),)),
    "norm_except_dim": (lambda v: torch.norm_except_dim(v, 2, 0), (_n(3, 4),)),
    "frobenius_norm": (lambda x: torch.frobenius_norm(x, [0, 1]), (_n(3, 4),)),
    "nuclear_norm": (torch.nuclear_norm, (_n(3, 3) + 3 * torch.eye(3, dtype=D),)),
    "local_response_norm": (lambda x: F.local_response_norm(x, 2), (_n(2, 4, 3),)),
    "triplet_margin_with_distance_loss": (
        lambda a, p, n: F.triplet_margin_with_distance_loss(
            a, p, n, distance_function=lambda u, v: (u - v).abs().sum(-1), swap=True),
        (_n(3, 4), _n(3, 4) + 1, _n(3, 4) - 1)),
    "softmin": (lambda x: F.softmin(x, 0), (_n(3, 4),)),
    "xlogy": (lambda x, y: x.xlogy(y), (_p(3), _p(3))),
    "arctan2": (lambda x, y: x.arctan2(y), (_p(3), _p(3))),
    "polygamma": (lambda x: x.polygamma(1), (_p(3),)),
    "rrelu_": (lambda x: F.rrelu_(x * 1, training=False), (_n(4),)),
    "lu": (lambda x: x.lu()[0], (_n(3, 3) + 3 * torch.eye(3, dtype=D),)),
    "svdvals": (torch.linalg.svdvals, (_n(3, 3) + 3 * torch.eye(3, dtype=D),)),
    "view_as_complex_copy": (torch.view_as_complex_copy, (_n(3, 2),)),
    "view_as_real_copy": (torch.view_as_real_copy, (torch.complex(_n(3), _n(3)),)),
    "alias_copy": (torch.alias_copy, (_n(3),)),
    "detach_copy": (torch.detach_copy, (_n(3),)),
    "as_strided_copy": (lambda x: torch.as_strided_copy(x, (2, 2), (1, 2)), (_n(6),)),
    "diagonal_copy": (torch.diagonal_copy, (_n(3, 3),)),
    "expand_copy": (lambda x: torch.expand_copy(x, (2, 3)), (_n(3),)),
    "narrow_copy": (lambda x: torch.narrow_copy(x, 0, 1, 2), (_n(4),)),
    "permute_copy": (lambda x: torch.permute_copy(x, (1, 0)), (_n(2, 3),)),
    "select_copy": (lambda x: torch.select_copy(x, 0, 1), (_n(2, 3),)),
    "slice_copy": (lambda x: torch.slice_copy(x, 0, 1, 3), (_n(4, 2),)),
    "split_copy": (lambda x: torch.split_copy(x, 2), (_n(4, 2),)),
    "split_with_sizes_copy": (lambda x: torch.split_with_sizes_copy(x, [1, 3]), (_n(4, 2),)),
    "squeeze_copy": (torch.squeeze_copy, (_n(1, 2),)),
    "t_copy": (torch.t_copy, (_n(3, 2),)),
    "transpose_copy": (lambda x: torch.transpose_copy(x, 0, 1), (_n(3, 2),)),
    "unbind_copy": (torch.unbind_copy, (_n(3, 2),)),
    "unfold_copy": (lambda x: torch.unfold_copy(x, 0, 2, 1), (_n(4),)),
    "unsqueeze_copy": (lambda x: torch.unsqueeze_copy(x, 0), (_n(4),)),
    "view_copy": (lambda x: torch.view_copy(x, (2, 2)), (_n(4),)),
    "addcdiv in place": (lambda x, a, b: (x * 1).addcdiv_(a, b, value=0.5), (_n(3), _n(3), _p(3))),
    "linear_cross_entropy": (
        lambda x, w: F.linear_cross_entropy(x, w, I([1, 0]), label_smoothing=0.1), (_n(2, 3), _n(4, 3))),
    "_native_multi_head_attention": (
        lambda x, qw, qb, w, b: torch._native_multi_head_attention(x, x, x, 4, 2, qw, qb, w, b, None, True, False),
        (_n(2, 3, 4), _n(12, 4), _n(12), _n(4, 4), _n(4))),
    "_transformer_encoder_layer_fwd": (
        lambda x, *w: torch._transformer_encoder_layer_fwd(x, 4, 2, *w[:4], True, True, 1e-5, *w[4:],
                                                           ~_MASK[:2, :3], 1),
        (_n(2, 3, 4), _n(12, 4), _n(12), _n(4, 4), _n(4), _p(4), _n(4), _p(4), _n(4), _n(5, 4), _n(5), _n(4, 5),
         _n(4))),
    "CrossMapLRN2d": (torch.nn.CrossMapLRN2d(3, alpha=0.5, beta=0.75, k=1.2), (_n(2, 6, 2, 2),)),
    "CrossMapLRN2d of few channels": (torch.nn.CrossMapLRN2d(7, alpha=0.5), (_n(1, 3, 2, 2),)),
    "SyncBatchNorm": (torch.nn.SyncBatchNorm(3).double().requires_grad_(False), (_n(4, 3, 2),)),
    "SyncBatchNorm in evaluation": (torch.nn.SyncBatchNorm(3).double().eval().requires_grad_(False), (_n(4, 3, 2),)),
    "native_batch_norm": (lambda x, w, b: torch.native_batch_norm(x, w, b, _POINTS[0].clone(), _POINTS[1] ** 2, False,
                                                                  0.1, 1e-5), (_n(3, 2, 2), _n(2), _n(2))),
    "logcumsumexp of complex numbers": (lambda x: torch.logcumsumexp(x, 0), (torch.complex(_n(4), _n(4) / 3),)),
    "fake_quantize_per_tensor_affine": (
        lambda x: torch.fake_quantize_per_tensor_affine(x, 0.3, 2, 0, 15), (_n(3, 5),)),
    "fake_quantize_per_channel_affine": (
        lambda x: torch.fake_quantize_per_channel_affine(
            x, I([0.1, 0.3, 0.2]), I([0, 2, 1], dtype=torch.int32), 0, 0, 15), (_n(3, 5),)),
    "view as pairs": (lambda x: (x * 1).view(D), (torch.complex(_n(2, 3), _n(2, 3)),)),
    "view of pairs": (lambda x: (x * 1).view(torch.complex128), (_n(2, 6),)),
    "prelu of channels": (F.prelu, (_n(2, 3, 2), _n(3))),
    "scatter_reduce mean": (lambda x, s: x.scatter_reduce(0, I([[0, 1], [0, 0]]), s, "mean", include_self=False),
                            (_n(3, 2), _n(2, 2))),
    "segment_reduce": (lambda x: torch.segment_reduce(x, "max", lengths=I([2, 0, 3]), initial=0.1), (_n(5, 2),)),
    "__floordiv__ __rfloordiv__": (lambda x, y: (x // y, 2.0 // y), (_p(3), _p(3))),
    "__reversed__": (torch.Tensor.__reversed__, (_n(3, 2),)),
    "istft": (lambda x, w: torch.istft(x, 8, 4, window=w), (torch.complex(_n(5, 6), _n(5, 6)), _p(8))),
    "lp_pool2d": (lambda x: F.lp_pool2d(x, 2, 2), (_n(1, 4, 4),)),
    "unique along an axis": (lambda x: torch.unique(torch.cat([x, x.detach()]), dim=0), (_n(3, 2),)),
}  # fmt: skip

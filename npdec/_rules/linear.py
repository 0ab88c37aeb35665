"""Torch's functions that are linear in one argument, or jointly in several: sums, casts, views, moves of elements."""

from __future__ import annotations

from typing import Any

import torch

from npdec._core.tags import Linear, Opaque
from npdec._decomposed.batching_rules import (
    flipped,
    of_axes,
    permuted,
    reduced,
    reshaped,
    swapped,
    taken,
    unsqueezed,
)
from npdec._decomposed.registry import Trait
from npdec._law import ordinary
from npdec._law.law import TaggedRule
from npdec._rules.rule import rule

_VIEW = Trait.TRANSPOSE | Trait.MOVE | Trait.STRIDED
_CUT = Trait.SPLIT | Trait.MOVE | Trait.STRIDED
_RESHAPE = Trait.RESHAPE | Trait.MOVE | Trait.STRIDED


def _linear(names: str, traits: int = 0, batch: Any = None) -> None:
    """Functions that are linear in their first argument, and take no other tensor that could be decomposed."""
    rule(names, traits=traits, batch=batch)(_OF_THE_FIRST)


_OF_THE_FIRST = TaggedRule.of("Linear")

# Element by element, and sums.
_linear("neg", Trait.ELEMENTWISE | Trait.EACH)
_linear("negative positive deg2rad rad2deg", Trait.EACH)
_linear("conj real imag", Trait.ELEMENTWISE | Trait.EACH | Trait.STRIDED)
_linear("resolve_conj resolve_neg", Trait.ELEMENTWISE | Trait.EACH)
_linear("sum", Trait.SUM | Trait.STRIDED, reduced)
_linear("mean", Trait.MEAN | Trait.STRIDED, reduced)
_linear("cumsum", 0, of_axes(0, 1))
_linear("trace sum_to_size conj_physical")

# Views, and copies that could be.
_linear("reshape flatten", _RESHAPE, reshaped)
_linear("unflatten", Trait.RESHAPE | Trait.MOVE, reshaped)
_linear("squeeze", _RESHAPE, of_axes(0, 1))
_linear("unsqueeze", _VIEW, unsqueezed)
_linear("permute", _VIEW, permuted)
_linear("transpose swapaxes swapdims", _VIEW, of_axes(0, 2))
_linear("t", _VIEW, swapped)
_linear("moveaxis movedim T", _VIEW)
_linear("mT", _VIEW, swapped)
_linear("adjoint", Trait.TRANSPOSE | Trait.STRIDED)
_linear("H mH view_as_real", Trait.STRIDED)
_linear("view_as_complex")
_linear("select", _VIEW, of_axes(0, 1))
_linear("unbind", _VIEW, of_axes(0, 1, (0,)))
_linear("chunk", _VIEW, of_axes(1, 2, (0,)))
_linear("split", _CUT, of_axes(1, 2, (0,)))
_linear("split_with_sizes", _CUT)
_linear("expand broadcast_to diagonal ravel", Trait.MOVE | Trait.STRIDED)

# Elements elsewhere.
_linear("flip", Trait.MOVE | Trait.SELECT, flipped)
_linear("take", Trait.MOVE | Trait.SELECT, taken)
_linear(
    "fliplr flipud rot90 roll tile repeat repeat_interleave masked_select take_along_dim gather",
    Trait.MOVE | Trait.SELECT,
)
_linear("hsplit vsplit dsplit diag diag_embed diagflat tril triu combinations", Trait.MOVE)
_linear("pixel_shuffle pixel_unshuffle channel_shuffle", Trait.MOVE)
rule(torch.Tensor.unfold, traits=Trait.MOVE | Trait.STRIDED)(_OF_THE_FIRST)
_linear("fold im2col col2im")
rule(torch.nn.functional.unfold)(_OF_THE_FIRST)
_linear("reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d")

# Means and interpolation of neighbours.
_linear("avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d")
_linear("interpolate upsample affine_grid_generator upsample_nearest1d upsample_nearest2d upsample_nearest3d")
_linear("_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d")
_linear("upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa")

# Fourier transforms.
_linear("fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 hfft2 ihfft2 fftn ifftn rfftn irfftn hfftn ihfftn")
_linear("fftshift ifftshift")

# Other devices and precisions.
_linear("pin_memory ipu xpu mtia _autocast_to_full_precision _autocast_to_reduced_precision")


# -- several arguments -------------------------------------------------------------------------------------------------


@rule("cat concat concatenate stack", traits=Trait.MOVE, short=ordinary.joined)
@rule("hstack vstack row_stack dstack", traits=Trait.MOVE)
def joined(tensors: Linear, *args: Any, **kwargs: Any) -> Any: ...


@rule("block_diag broadcast_tensors meshgrid atleast_1d atleast_2d atleast_3d", traits=Trait.MOVE)
def together(*tensors: Linear, **kwargs: Any) -> Any: ...


@rule("add", traits=Trait.ELEMENTWISE | Trait.ADD)
def add(input: Linear, other: Linear, *, alpha: Any = 1) -> Any: ...


@rule("sub subtract", traits=Trait.ELEMENTWISE | Trait.SUBTRACT)
def sub(input: Linear, other: Linear, *, alpha: Any = 1) -> Any: ...


@rule("__rsub__ rsub", traits=Trait.ELEMENTWISE | Trait.SUBTRACT_FROM)
def rsub(input: Linear, other: Linear, *, alpha: Any = 1) -> Any: ...


@rule("complex")
def complex(real: Linear, imag: Linear) -> Any: ...


@rule("masked_scatter", traits=Trait.MOVE)
def masked_scatter(input: Linear, mask: Opaque, source: Linear) -> Any: ...


@rule("index_put", traits=Trait.MOVE | Trait.PUT)
def index_put(input: Linear, indices: Opaque, values: Linear, accumulate: bool = False) -> Any: ...


@rule("put", traits=Trait.MOVE | Trait.PUT)
def put(input: Linear, index: Opaque, source: Linear, accumulate: bool = False) -> Any: ...


@rule("select_scatter slice_scatter diagonal_scatter", traits=Trait.MOVE)
def slice_scatter(input: Linear, src: Linear, *args: Any, **kwargs: Any) -> Any: ...

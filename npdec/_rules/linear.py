"""Torch's functions that are linear in one argument, or jointly in several: sums, casts, views, moves of elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from npdec._core.tags import Linear, Opaque
from npdec._decomposed import batching_rules as batch
from npdec._decomposed.axes import axes_named
from npdec._decomposed.registry import Trait
from npdec._law import ordinary_joined, ordinary_linear, ordinary_places, ordinary_reverse, reverse_joint
from npdec._law.law import TaggedRule
from npdec._law.ordinary_linear import itself
from npdec._law.ordinary_together import of_one_shape
from npdec._law.reverse_complex import along_axes, seen, transform
from npdec._law.reverse_forms import affine, all_but, also, before
from npdec._rules.rule import rule

_VIEW = Trait.TRANSPOSE | Trait.MOVE | Trait.STRIDED
_CUT = Trait.SPLIT | Trait.MOVE | Trait.STRIDED
_RESHAPE = Trait.RESHAPE | Trait.MOVE | Trait.STRIDED


def _linear(names: str, traits: int = 0, batched: Any = None, along: Any = None, leading: Any = None) -> None:
    """Functions that are linear in their first argument, and take no other tensor that could be decomposed. Those that
    give new memory, and look at each row of the `leading` axes alone, have a form in reverse mode."""
    reverse = None if leading is None else partial(affine, leading)
    rule(names, traits=traits, batch=batched, along=along, reverse=reverse)(_OF_THE_FIRST)


_OF_THE_FIRST = TaggedRule.of("Linear")

# Element by element, and sums.
_linear("neg negative deg2rad rad2deg", Trait.ELEMENTWISE | Trait.EACH | Trait.FRESH)
rule("conj real imag", traits=Trait.ELEMENTWISE | Trait.EACH | Trait.STRIDED, reverse=seen)(_OF_THE_FIRST)
_linear("resolve_conj resolve_neg conj_physical", Trait.ELEMENTWISE | Trait.EACH)
_linear("sum", Trait.SUM | Trait.STRIDED | Trait.FRESH, batch.reduced, axes_named)
_linear("mean", Trait.MEAN | Trait.STRIDED | Trait.FRESH, batch.reduced, axes_named)
_linear("cumsum", Trait.FRESH, batch.of_axes(0, 1), leading=before(1))
_linear("trace", Trait.STRIDED, batch.traced)
_linear("sum_to_size")
_linear("gradient")  # distances that are decomposed go by quadrature, and all else with them


@rule("positive", traits=Trait.ELEMENTWISE | Trait.EACH, short=itself)
def _positive(func: Callable[..., Any], x: Any) -> Any:
    """The tensor itself, as torch gives it back, which has no `positive` of booleans."""
    func(x.value)
    return x


# Views, and copies that could be.
_linear("reshape flatten", _RESHAPE, batch.reshaped)
_linear("squeeze", _RESHAPE, batch.squeezed)
_linear("unflatten", Trait.RESHAPE | Trait.MOVE, batch.reshaped)
_linear("unsqueeze", _VIEW, batch.unsqueezed)
_linear("permute", _VIEW, batch.permuted)
_linear("transpose swapaxes swapdims", _VIEW, batch.of_axes(0, 2))
_linear("t", _VIEW, batch.swapped)
_linear("moveaxis movedim", _VIEW, batch.moved)
_linear("T", _VIEW, batch.reversed_axes)
_linear("mT", _VIEW, batch.swapped)
_linear("adjoint", Trait.TRANSPOSE | Trait.STRIDED, batch.adjoint)
_linear("H mH", Trait.STRIDED, batch.adjoint)
rule("view_as_real", traits=Trait.STRIDED, batch=batch.of_last_axes(0, 0), reverse=seen)(_OF_THE_FIRST)
_linear("view_as_complex", 0, batch.of_last_axes(1, 0))
_linear("select", _VIEW, batch.of_axes(0, 1))
_linear("unbind", _VIEW, batch.of_axes(0, 1, (0,)))
_linear("chunk", _VIEW, batch.of_axes(1, 2, (0,)))
_linear("split", _CUT, batch.of_axes(1, 2, (0,)))
_linear("split_with_sizes", _CUT)
_linear("expand broadcast_to", Trait.MOVE | Trait.STRIDED, batch.expanded)
rule(torch.diagonal, torch.Tensor.diagonal, traits=Trait.MOVE | Trait.STRIDED, batch=batch.diagonal)(_OF_THE_FIRST)
rule(torch.linalg.diagonal, traits=Trait.MOVE | Trait.STRIDED, batch=batch.of_last_axes(2, 0))(_OF_THE_FIRST)
_linear("ravel", Trait.MOVE | Trait.STRIDED, batch.reshaped)

# Elements elsewhere.
_linear("flip", Trait.MOVE | Trait.SELECT | Trait.FRESH, batch.flipped, leading=before(1, "dims"))
_linear("take", Trait.MOVE | Trait.SELECT | Trait.FRESH, batch.taken, leading=0)
_linear("flipud", Trait.MOVE | Trait.SELECT | Trait.FRESH, batch.flipped_along(0), leading=0)
_linear("fliplr", Trait.MOVE | Trait.SELECT | Trait.FRESH, batch.flipped_along(1), leading=1)
_linear("rot90", Trait.MOVE | Trait.SELECT | Trait.FRESH, batch.rotated)
_linear("roll", Trait.MOVE | Trait.SELECT | Trait.FRESH, batch.rolled, leading=before(2, "dims"))
_linear("tile repeat", Trait.MOVE | Trait.SELECT | Trait.FRESH, batch.repeated, leading=0)
_linear("gather", Trait.MOVE | Trait.SELECT | Trait.FRESH, batch.gathered, leading=0)
_linear("repeat_interleave", Trait.MOVE | Trait.SELECT | Trait.FRESH, batch.of_axes(1, 2), leading=before(2))
_linear("take_along_dim", Trait.MOVE | Trait.SELECT | Trait.FRESH)
rule("masked_select", traits=Trait.MOVE | Trait.SELECT | Trait.FRESH, short=ordinary_places.mask_selected)(
    _OF_THE_FIRST
)
_linear("tril triu", Trait.MOVE | Trait.FRESH, batch.of_last_axes(2, 1), leading=all_but(2))
_linear("diag", Trait.MOVE, batch.diagonals)
_linear("diag_embed", Trait.MOVE | Trait.FRESH, batch.of_last_axes(0, 1))
_linear("pixel_shuffle pixel_unshuffle", Trait.MOVE, batch.of_last_axes(3, 1), leading=all_but(3))
_linear("hsplit vsplit dsplit diagflat combinations channel_shuffle", Trait.MOVE)
rule(torch.Tensor.unfold, traits=Trait.MOVE | Trait.STRIDED, batch=batch.of_axes(0, 1))(_OF_THE_FIRST)
_linear("fold im2col col2im", leading=all_but(3))
rule(torch.nn.functional.unfold, reverse=partial(affine, all_but(3)))(_OF_THE_FIRST)
_linear("reflection_pad1d replication_pad1d", leading=all_but(1))
_linear("reflection_pad2d replication_pad2d", leading=all_but(2))
_linear("reflection_pad3d replication_pad3d", leading=all_but(3))

# Means and interpolation of neighbours.
rule(
    "avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d",
    short=ordinary_reverse.averaged,
)(_OF_THE_FIRST)
_linear("interpolate upsample", leading=1)
_linear("affine_grid_generator")
_linear("upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d", leading=1)
_linear("_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d", leading=1)
_linear("upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d", leading=1)
_linear("_upsample_bilinear2d_aa _upsample_bicubic2d_aa", leading=1)


# Fourier transforms.
def _fourier(names: str, batched: Any, leading: Any) -> None:
    short = also(ordinary_linear.of_one(batched, 0), partial(transform, leading))  # which takes options, too
    rule(names, batch=batched, short=short)(_OF_THE_FIRST)


_fourier("fft ifft rfft irfft hfft ihfft", batch.of_last_axes(1, 1), along_axes(1))
_fourier("fft2 ifft2 rfft2 irfft2 hfft2 ihfft2", batch.of_last_axes(2, 1), along_axes(2))
_fourier("fftn ifftn rfftn irfftn hfftn ihfftn", batch.of_all_axes, along_axes(None))
_fourier("fftshift ifftshift", batch.of_all_axes, along_axes(None, 1, None))

# Other devices and precisions.
_linear("pin_memory ipu xpu mtia _autocast_to_full_precision _autocast_to_reduced_precision")


# -- several arguments -------------------------------------------------------------------------------------------------


@rule("cat concat concatenate stack", traits=Trait.MOVE, short=ordinary_joined.joined, reverse=reverse_joint.joined)
@rule("hstack vstack row_stack dstack", traits=Trait.MOVE)
def joined(tensors: Linear, *args: Any, **kwargs: Any) -> Any: ...


@rule("broadcast_tensors", traits=Trait.MOVE, short=of_one_shape)
@rule("block_diag meshgrid atleast_1d atleast_2d atleast_3d", traits=Trait.MOVE)
def together(*tensors: Linear, **kwargs: Any) -> Any: ...


@rule("add", traits=Trait.ELEMENTWISE | Trait.ADD)
def add(input: Linear, other: Linear, *, alpha: Any = 1) -> Any: ...


@rule("sub subtract", traits=Trait.ELEMENTWISE | Trait.SUBTRACT)
def sub(input: Linear, other: Linear, *, alpha: Any = 1) -> Any: ...


@rule("__rsub__ rsub", traits=Trait.ELEMENTWISE | Trait.SUBTRACT_FROM)
def rsub(input: Linear, other: Linear, *, alpha: Any = 1) -> Any: ...


@rule("complex")
def complex(real: Linear, imag: Linear) -> Any: ...


@rule(
    "masked_scatter",
    traits=Trait.MOVE,
    short=ordinary_places.mask_scattered,
    reverse=partial(reverse_joint.jointly, (0, 2)),
)
def masked_scatter(input: Linear, mask: Opaque, source: Linear) -> Any: ...


@rule("index_put", traits=Trait.MOVE | Trait.PUT)
def index_put(input: Linear, indices: Opaque, values: Linear, accumulate: bool = False) -> Any: ...


@rule("put", traits=Trait.MOVE | Trait.PUT)
def put(input: Linear, index: Opaque, source: Linear, accumulate: bool = False) -> Any: ...


@rule(
    "select_scatter slice_scatter diagonal_scatter",
    traits=Trait.MOVE,
    short=ordinary_places.put_over,
    reverse=partial(reverse_joint.jointly, (0, 1)),
)
def slice_scatter(input: Linear, src: Linear, *args: Any, **kwargs: Any) -> Any: ...


@rule("tensor_split", traits=Trait.MOVE, indices=(1, "tensor_indices_or_sections", "indices_or_sections"))
def _tensor_split(func: Any, x: Any, sections: Any = None, dim: int = 0, *, indices: Any = None) -> Any:
    """Into so many pieces, or before these places: numbers, or a tensor of them."""
    cut = sections if indices is None else indices
    cut = cut.tolist() if isinstance(cut, torch.Tensor) else cut
    return _OF_THE_FIRST(func, (x, cut, dim), {})

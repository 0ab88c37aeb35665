"""What it means that a part of an input is absent: other things than that it has its baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._core.tracebacks import ends

__all__ = ["blurred", "dropped"]


@ends
def blurred(image: Any, sigma: float, axes: Sequence[int] = (-2, -1)) -> Any:
    """An image out of focus, as a baseline: `np.attribute(f, image, baseline=blurred(image, 4.0), groups=patches)`
    leaves patches out by blurring them (R. Fong and A. Vedaldi, "Interpretable explanations of black boxes by
    meaningful perturbation", ICCV 2017).

    A floating array or tensor of any shape, weighed along `axes` by a Gaussian of the deviation `sigma` elements, cut
    off at four of them, with the weights of what lies in the image, which sum to one. Raises ValueError for a `sigma`
    that is not positive and for axes that the image does not have, TypeError for dtypes that are not floating.

    >>> np.attribution.blurred(np.array([0.0, 0.0, 1.0, 0.0, 0.0]), 0.5, axes=[0]).round(2)
    array([0.  , 0.11, 0.79, 0.11, 0.  ])
    """
    made = as_tensor(image)
    if not (type(sigma) in (int, float) or hasattr(sigma, "__float__")) or not (0 < float(sigma) < math.inf):
        raise ValueError(f"blurred: sigma is a positive number of elements, not {sigma!r}")
    if not made.is_floating_point():
        raise TypeError(f"blurred: an image is of floating numbers, not {wrap.dtype_repr(made.dtype)}")
    for axis in axes:
        if not -made.ndim <= axis < made.ndim:
            raise ValueError(f"blurred: an image of shape {tuple(made.shape)} has no axis {axis}: say axes=")
        place = torch.arange(made.shape[axis], device=made.device, dtype=torch.float64)
        away = (place[:, None] - place).abs()
        weights = torch.where(away <= math.ceil(4 * sigma), torch.exp(-((away / sigma) ** 2) / 2), 0.0)
        weights = (weights / weights.sum(1, keepdim=True)).to(made.dtype)
        made = torch.movedim(torch.movedim(made, axis, -1) @ weights.T, -1, axis)
    return made if isinstance(image, torch.Tensor) else wrap.wrap_array(made)


class dropped:
    """Absent parts are cut out: `np.attribute(f, tokens, axis=0, method="shapley", absent=np.attribution.dropped(0))`.

    Of the axis the indices remain at which anything is present; where nothing is, the axis has length 0, which the
    function then has to take.

    >>> np.attribute(lambda x: x.sum() / max(len(x), 1), np.array([1.0, 3.0]), method="occlusion",
    ...              absent=np.attribution.dropped(0)).attribution
    array([-1.,  1.])
    """

    def __init__(self, axis: int) -> None:
        if not isinstance(axis, int):
            raise TypeError(f"dropped: axis is an int, not {axis!r}")
        self.axis = axis

    def __call__(self, x: Any, present: Any) -> Any:
        tensor, there = as_tensor(x), as_tensor(present)
        if not -tensor.ndim <= self.axis < tensor.ndim:
            raise ValueError(f"dropped: an input of shape {tuple(tensor.shape)} has no axis {self.axis}")
        others = [a for a in range(tensor.ndim) if a != self.axis % tensor.ndim]
        kept = (there.any(dim=others) if others else there).nonzero()[:, 0]
        made = tensor.index_select(self.axis, kept)
        return made if isinstance(x, torch.Tensor) else wrap.wrap_array(made)

"""Attribution of an output to every element of an input, in reverse mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from npdec import _wrap
from npdec._base import ArrayBase
from npdec._decomposed import DecomposedTensor
from npdec._decomposition import split_input

__all__ = ["Attribution", "attribute"]

_WHOLE = ("all inputs",)


class Attribution(NamedTuple):
    """`value == residual + attribution.sum()`; the attribution has the shape of the input."""

    value: Any
    residual: Any
    attribution: Any


def attribute(f: Callable[[Any], Any], x: Any, *, baseline: Any = 0.0, output: Any = None) -> Attribution:
    """How much each element of `x` contributes to `f(x) - f(baseline)`, at a cost that does not grow with their number.

    `f` takes an array (a torch tensor if `x` is one) and returns a scalar, or an array of which `output` chooses: an
    index (an int or a tuple of ints) for one element, a list of indices for several. `x` has shape S and a floating
    dtype; `baseline` broadcasts to S. Returns the named tuple `(value, residual, attribution)`; the attribution has
    shape S, or (k, *S) for k chosen outputs.

    It runs `f` once with all contributions as one, and differentiates that with the multipliers held fixed: the same
    numbers as the components of `np.decompose(x)`.

    Raises ValueError if the output has several elements and none is chosen, TypeError if it is not an array, and
    NotImplementedError under a rule that is not linear in the components (abs_affine, hybrid_affine).

    >>> np.attribute(lambda x: x[0] * x[1], np.array([3.0, 4.0]))
    Attribution(value=np.float64(12.0), residual=np.float64(0.0), attribution=array([6., 6.]))
    """
    with torch.inference_mode(False), torch.enable_grad():  # what the caller disables is about the caller's gradients
        return _attribute(f, x, baseline, output)


def _attribute(f: Callable[[Any], Any], x: Any, baseline: Any, output: Any) -> Attribution:
    as_torch = isinstance(x, torch.Tensor)
    value, residual = split_input("attribute", x, baseline)
    value, residual = value.detach(), residual.detach()
    change = value - residual
    carrier = change.clone().requires_grad_()
    marked = DecomposedTensor(value, residual, carrier[None], _WHOLE, whole=True)
    result = f(marked if as_torch else _wrap.wrap_array(marked))
    made = result._t if isinstance(result, ArrayBase) else result
    if not isinstance(made, torch.Tensor):
        raise TypeError(f"attribute: the function returned {type(result).__name__}, not an array or scalar")
    chosen, several = _choose(made, output)
    rows = []
    for i, one in enumerate(chosen):
        if isinstance(one, DecomposedTensor) and one.components.requires_grad:
            rows.append(_shares(one.components.squeeze(0), carrier, change, retain=i + 1 < len(chosen)))
        else:
            rows.append(torch.zeros_like(change))
    values = [one.value if isinstance(one, DecomposedTensor) else one for one in chosen]
    residuals = [one.residual if isinstance(one, DecomposedTensor) else one for one in chosen]
    if not several:
        parts = [values[0], residuals[0], rows[0]]
    else:
        parts = [torch.stack(values), torch.stack(residuals), torch.stack(rows)]
    parts = [part.detach() for part in parts]
    if as_torch:
        return Attribution(*parts)
    return Attribution(_wrap.wrap(parts[0]), _wrap.wrap(parts[1]), _wrap.wrap_array(parts[2]))


def _shares(component: torch.Tensor, carrier: torch.Tensor, change: torch.Tensor, retain: bool) -> torch.Tensor:
    """What each element of the change contributes to one number, which is linear in the carrier."""
    if component.is_complex():
        parts = torch.view_as_real(component)
        return torch.complex(_shares(parts[0], carrier, change, True), _shares(parts[1], carrier, change, retain))
    slopes: Sequence[torch.Tensor | None] = torch.autograd.grad(
        component, carrier, retain_graph=retain, allow_unused=True
    )
    slope = slopes[0]
    if slope is None:
        return torch.zeros_like(change.real)
    # The gradient of a real number by a complex one is du + i dv for the change u + i v: the share is the real product.
    return (slope.conj() * change).real if change.is_complex() else slope * change


def _choose(made: torch.Tensor, output: Any) -> tuple[list[torch.Tensor], bool]:
    """The chosen 0-d outputs, and whether a list of them was asked for."""
    if output is None:
        if made.numel() != 1:
            raise ValueError(
                f"attribute: the function returned an array of shape {tuple(made.shape)}: choose one element with "
                "output="
            )
        return [made.reshape(())], False
    indices = output if isinstance(output, list) else [output]
    chosen = []
    for index in indices:
        try:
            one = made[index]
        except IndexError:
            raise IndexError(
                f"attribute: output {index} is out of range for an array of shape {tuple(made.shape)}"
            ) from None
        if one.ndim:
            raise ValueError(f"attribute: output {index} chooses an array of shape {tuple(one.shape)}, not one element")
        chosen.append(one)
    return chosen, isinstance(output, list)

"""`np.attribute` as it is asked most: of one input, in reverse mode, with a number as the baseline and one output.

What is done is what `npdec.attribution._local` does of a `Problem`; what is left out is reading what was not given,
which takes longer than a small network does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from npdec._array import wrap
from npdec._core.base import ArrayBase
from npdec._decomposed.reverse_graph import freed, overwritten
from npdec._decomposed.size_limits import HANDFUL, is_for_one_thread
from npdec._decomposed.tensor import DecomposedTensor, carries, copy_of
from npdec._law.create_graph import graph_wanted
from npdec._native import calls
from npdec._torch.backward import gradient_of_number
from npdec._torch.functorch import is_transformed
from npdec._torch.interrupts import undisturbed
from npdec.attribution._local import component_of, look_at, marked_in_reverse, shares_of
from npdec.attribution._problem import choose
from npdec.attribution._result import Attribution

__all__ = ["attributed"]

_REAL = (torch.float64, torch.float32)
_uses: Any = vars(torch.Tensor.__base__)["_use_count"]
_of_storage: Any = torch._C._storage_Use_Count


def attributed(f: Callable[..., Any], given: Any, baseline: Any, output: Any) -> Attribution[Any] | None:
    """The attribution; None where it is to be found the general way, before `f` is called or after its state of random
    numbers was put back."""
    if type(output) not in (type(None), int, tuple) or type(baseline) not in (type(None), float, int):
        return None
    as_torch = type(given) is torch.Tensor
    x: Any = given if as_torch else given._t if isinstance(given, ArrayBase) else None
    if type(x) is not torch.Tensor or x.dtype not in _REAL or x.layout is not torch.strided or x.is_meta:
        return None
    if not x.numel() or not torch.is_grad_enabled() or torch.is_inference_mode_enabled() or is_transformed():
        return None
    if x.is_inference() or graph_wanted.get():
        return None
    start = 0.0 if baseline is None else float(baseline)
    if start and not abs(start) <= torch.finfo(x.dtype).max:
        return None
    return undisturbed(_attributed, f, x.detach(), start, output, as_torch)


def _attributed(
    f: Callable[..., Any], x: torch.Tensor, start: float, output: Any, as_torch: bool
) -> Attribution[Any] | None:
    row = x.new_full((1,) * (x.ndim - 1) + x.shape[-1:], start)
    base = row if row.shape == x.shape else None
    if base is None and x.numel() <= HANDFUL and x.is_contiguous():
        base = row.expand_as(x).contiguous()
    change = x - row if start else x  # which less zero is what it is
    marked, leaf = marked_in_reverse(copy_of(x), base, row)
    state = torch.default_generator.get_state()
    try:
        one = f(marked if as_torch else wrap.wrap_array(marked))
        if output is not None or type(one) is not DecomposedTensor or one.ndim:
            ((one,), _) = choose(one, output)
        target = component_of(one)
        shares, sums = (None, None) if target is None else _shares(target, leaf, change)
    except RuntimeError as error:
        if not (freed(error) or overwritten(error)):
            raise
        torch.default_generator.set_state(state)
        return None
    if shares is None:
        shares = torch.zeros_like(change)
    if isinstance(one, DecomposedTensor):
        value, residual = one.value.detach(), one.residual.detach()
        ends = high, low = value.item(), residual.item()
        moved = high - low if "components" not in vars(one) else target.item()  # type: ignore[union-attr]
    else:
        value = residual = one.detach()
        ends = high, low = value.item(), value.item()
        moved = 0.0
    total = look_at((change,), value, residual, shares, moved, sums, ends)
    dtype = value.dtype if carries(value.dtype) else shares.dtype
    missed = calls.tensor_of(high - low - total, dtype) if calls is not None and value.is_cpu else None
    if missed is None:
        missed = torch.scalar_tensor(high - low - total, dtype=dtype, device=value.device)
    if as_torch:
        return Attribution(value, residual, shares, missed)
    return Attribution(wrap.wrap(value), wrap.wrap(residual), wrap.wrap_array(shares), wrap.wrap(missed))


def _shares(target: torch.Tensor, leaf: torch.Tensor, change: torch.Tensor) -> tuple[torch.Tensor | None, Any]:
    """What each element of the change contributes, None of nothing; and the sum of the magnitudes and the sum, where
    they are known."""
    if not target.requires_grad:
        return None, None
    if target.is_complex():
        return shares_of(target, [leaf], [change], False, False)[0], None
    slope = gradient_of_number(target, leaf)
    if slope is None:
        return None, None
    if calls is not None and is_for_one_thread(slope.numel()):
        # Memory that nobody else has takes the products.
        alone = slope.is_contiguous() and _uses(slope) == 1 and sys.getrefcount(slope) == 2 and slope._base is None
        made = slope if alone and _of_storage(slope.untyped_storage()._cdata) == 2 else torch.empty_like(change)
        sums = calls.shares(slope, change, made)
        if sums is not None:
            return made, sums
    return slope * change, None

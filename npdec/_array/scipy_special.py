"""SciPy's special functions on decomposed arrays: the numbers are SciPy's, the contributions those of torch's function.

SciPy's ufuncs reach npdec by `__array_ufunc__`. Those that torch has too, with a derivative, pass contributions on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._decomposed.tensor import DecomposedTensor

__all__ = ["special"]

# torch's functions by the names that SciPy has for them.
_COUNTERPARTS: dict[str, Callable[..., torch.Tensor]] = {
    name: getattr(torch.special, name)
    for name in (
        "digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln i0 i0e i1 i1e log1p log_ndtr logit ndtr ndtri psi "
        "xlog1py xlogy"
    ).split()
} | {"log_expit": torch.nn.functional.logsigmoid}


def special(ufunc: Any, inputs: Sequence[Any], by_scipy: Callable[[Sequence[Any]], Any]) -> Any:
    """What a ufunc of `scipy.special` gives for decomposed inputs; None if it is not one that torch has.

    `by_scipy` computes it for plain ones.
    """
    function = _COUNTERPARTS.get(ufunc.__name__)
    if function is None or getattr(sys.modules.get("scipy.special"), ufunc.__name__, None) is not ufunc:
        return None
    tensors = [as_tensor(x) for x in inputs]
    made = function(*tensors)
    if not isinstance(made, DecomposedTensor):
        return None
    parts = [(t.value, t.residual) if isinstance(t, DecomposedTensor) else (t, t) for t in tensors]
    value, residual = (as_tensor(by_scipy([wrap.wrap(t) for t in side])) for side in zip(*parts, strict=True))
    return wrap.wrap(DecomposedTensor(value, residual.to(value.dtype), made.components, made.labels, made.reverse))

"""Rules of torch's pointwise functions, as type-tagged signatures; those of NumPy's ufuncs stand with the ufuncs.

`POINTWISE` names the functions that act element by element on their first argument and take no other tensor that could
be decomposed; `STEPWISE` those among such functions that have jumps.
"""

from __future__ import annotations

from typing import Any

import torch

from npdec._core.tags import Pointwise, Stepwise, torch_rule
from npdec._impl import _interpolate

# Names in torch, torch.Tensor, torch.nn.functional, torch.special: each is registered wherever it exists.
POINTWISE = """
    relu relu6 leaky_relu gelu silu elu selu celu softplus softsign tanhshrink hardtanh hardsigmoid hardswish mish
    sigmoid expit logsigmoid softshrink
    abs absolute exp exp2 expm1 log log1p log2 log10 sqrt rsqrt square reciprocal sin cos tan asin acos atan arcsin
    arccos arctan sinh cosh tanh asinh acosh atanh arcsinh arccosh arctanh erf erfc erfinv erfcx lgamma gammaln digamma
    psi i0 i0e i1 i1e ndtr ndtri log_ndtr sinc logit nan_to_num mvlgamma entr bessel_j0 bessel_j1
""".split()
STEPWISE = "round floor ceil trunc fix frac sign sgn angle threshold hardshrink frexp".split()


@torch_rule(torch.pow, torch.Tensor.pow, torch.Tensor.__rpow__, torch.float_power, torch.Tensor.float_power,
            torch.atan2, torch.Tensor.atan2, torch.arctan2, torch.hypot, torch.Tensor.hypot, torch.logaddexp,
            torch.Tensor.logaddexp, torch.logaddexp2, torch.Tensor.logaddexp2, torch.xlogy,
            torch.special.xlogy)  # fmt: skip
def two_arguments(input: Pointwise, other: Pointwise, *args: Any, **kwargs: Any): ...


@torch_rule(torch.fmod, torch.Tensor.fmod, torch.copysign,
            torch.Tensor.copysign, torch.heaviside, torch.Tensor.heaviside)  # fmt: skip
def two_arguments_with_jumps(input: Stepwise, other: Stepwise, *args: Any, **kwargs: Any): ...


@torch_rule(_interpolate.lines)
def interpolated(x: Pointwise, points: Any): ...


@torch_rule(torch.polygamma, torch.special.polygamma)
def polygamma(n: int, input: Pointwise): ...

"""Rules for torch's functions, methods and modules: registering one, asking which there are, and insisting on them.

>>> from npdec.overrides import Pointwise, register_function
>>> def cube(x):
...     if torch.overrides.has_torch_function((x,)):
...         return torch.overrides.handle_torch_function(cube, (x,), x)
...     return x**3
>>> @register_function(cube)
... def _(x: Pointwise): ...
>>> cube(np.decompose(torch.tensor([2.0]))).components
tensor([[8.]])
"""

from __future__ import annotations

from npdec._core.tags import Linear, Multilinear, Opaque, Pointwise, Smooth, Stepwise
from npdec.overrides._coverage import Coverage, Used, coverage
from npdec.overrides._registry import (
    is_registered,
    register_autograd,
    register_function,
    register_method,
    register_module,
    registered,
)
from npdec.overrides._strict import strict

register_torch_function = register_function  # PyDec's name

__all__ = [
    "Coverage", "Linear", "Multilinear", "Opaque", "Pointwise", "Smooth", "Stepwise", "Used", "coverage",
    "is_registered", "register_autograd", "register_function", "register_method", "register_module",
    "register_torch_function", "registered", "strict",
]  # fmt: skip

"""Rules for torch functions: registering one of your own, and asking which has one.

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

from collections.abc import Callable
from typing import Any

from npdec import _law
from npdec._signature import read_parameters
from npdec._tags import ArrayLike, Linear, Multilinear, Opaque, Pointwise, Smooth, Stepwise

__all__ = [
    "ArrayLike", "Linear", "Multilinear", "Opaque", "Pointwise", "Smooth", "Stepwise", "is_registered",
    "register_function",
]  # fmt: skip


def register_function(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a torch function the rule that a type-tagged signature states. The last registration wins.

    The decorated function only lends its signature: names as in the original, tags from this module. Raises TypeError
    for an unknown tag.
    """

    def register(signature: Callable[..., Any]) -> Callable[..., Any]:
        _law.rules[function] = _law.TaggedRule(read_parameters(signature))
        return signature

    return register


def is_registered(function: Callable[..., Any]) -> bool:
    """Whether the torch function has a rule of its own (others go by quadrature).

    >>> np.overrides.is_registered(torch.tanh), np.overrides.is_registered(torch.linalg.inv)
    (True, False)
    """
    return function in _law.rules and not _law.is_default(function)

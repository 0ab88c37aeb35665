"""Adding an operation: one type-tagged function on tensors becomes a function of npdec, with all that belongs to one.

>>> from npdec.extend import Pointwise, operation
>>> @operation(method=True)
... def log1pexp(x: Pointwise):
...     "log(1 + exp(x))"
...     return torch.log1p(torch.exp(x))
>>> x = np.decompose(np.array([0.5, -0.5]))
>>> np.log1pexp(x).is_decomposed, bool((x.log1pexp() == np.log1pexp(x)).all())
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npdec._array import wrap
from npdec._core import tags
from npdec._core.tags import (
    Affine,
    Array,
    ArrayLike,
    ArrayLikeOrScalar,
    AxisLike,
    Coefficients,
    CountedMask,
    DTypeLike,
    Flat,
    Frozen,
    Inexact,
    InPlace,
    KeepDims,
    Like,
    Linear,
    Mask,
    Mirror,
    Multilinear,
    NoValue,
    Opaque,
    OutArray,
    Pointwise,
    ShapeLike,
    Smooth,
    Stepwise,
    View,
    gives_back,
    out_casting,
    writes_back,
)  # fmt: skip
from npdec._core.tracebacks import ends
from npdec._normalizer.normalizer import compile_function
from npdec._normalizer.operators import attach_methods, attach_operators

__all__ = [
    "Affine", "Array", "ArrayLike", "ArrayLikeOrScalar", "AxisLike", "Coefficients", "CountedMask", "DTypeLike", "Flat",
    "Frozen", "Inexact", "InPlace", "KeepDims", "Like", "Linear", "Mask", "Mirror", "Multilinear", "NoValue",
    "Opaque", "OutArray", "Pointwise", "ShapeLike", "Smooth", "Stepwise", "View", "gives_back", "operation",
    "out_casting", "ufunc", "writes_back",
]  # fmt: skip


@ends
def operation(kernel: Callable[..., Any] | None = None, **declaration: Any) -> Any:
    """Publish a kernel: a function on torch tensors whose parameters carry tags. Decorator, with or without arguments.

    `name` (default: the kernel's), `method` (True, or the name of a method of arrays), `aliases`. The public function
    is returned and stands in the namespace of npdec. Raises TypeError for a parameter without a known tag, and for a
    name that is taken.
    """

    def publish(kernel: Callable[..., Any]) -> Any:
        return _publish(tags.public(kernel, **declaration))

    return publish if kernel is None else publish(kernel)


def ufunc(torch_function: Callable[..., Any] | None = None, **declaration: Any) -> Callable[[Callable[..., Any]], Any]:
    """Publish a kernel as a universal function. `loops` says which dtypes it computes in ("inexact": floating and
    complex, integers as floats); `operator`, `identity`, `method` and `torch_function` are as `npdec._core.tags.Spec`
    describes them.
    """

    def publish(kernel: Callable[..., Any]) -> Any:
        return _publish(tags.ufunc(torch_function, **declaration)(kernel))

    return publish


def _publish(kernel: Callable[..., Any]) -> Any:
    spec = tags.spec_of(kernel)
    namespace = wrap.NAMESPACE.value
    for name in (spec.name, *spec.aliases):
        if hasattr(namespace, name):
            raise TypeError(f"npdec.{name} exists already: choose another name")
    function = compile_function(kernel)
    attach_methods([kernel])
    attach_operators([function])
    for name in (spec.name, *spec.aliases):
        setattr(namespace, name, function)
    return function

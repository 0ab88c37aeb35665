"""The chapters of the main namespace, published: every kernel that they declare, as function, method and operator."""

from __future__ import annotations

from typing import Any

from npdec import _wrap
from npdec._convert import as_tensor
from npdec._impl import _host
from npdec._impl import (
    creation_impl,
    creation_matrices_impl,
    creation_ranges_impl,
    elementwise_extrema_impl,
    elementwise_float_impl,
    elementwise_impl,
    elementwise_integer_impl,
    elementwise_logic_impl,
    elementwise_math_impl,
    extremes_impl,
    joining_impl,
    nan_impl,
    products_impl,
    quantile_impl,
    reduction_impl,
    shape_impl,
)
from npdec._normalizer import kernels_of, publish
from npdec._operators import attach_matmul, attach_methods, attach_operators

__all__ = ["functions"]

_host.install(as_tensor, _wrap.wrap_array)

CHAPTERS = (
    creation_impl,
    creation_matrices_impl,
    creation_ranges_impl,
    elementwise_extrema_impl,
    elementwise_float_impl,
    elementwise_impl,
    elementwise_integer_impl,
    elementwise_logic_impl,
    elementwise_math_impl,
    extremes_impl,
    joining_impl,
    nan_impl,
    products_impl,
    quantile_impl,
    reduction_impl,
    shape_impl,
)

functions: dict[str, Any] = publish("npdec", *CHAPTERS)
attach_operators({id(function): function for function in functions.values()}.values())
attach_matmul(functions["matmul"])
attach_methods(kernel for chapter in CHAPTERS for kernel in kernels_of(chapter))

"""The chapters of the main namespace, published: every kernel that they declare, as function, method and operator."""

from __future__ import annotations

from types import ModuleType

from npdec._array import wrap
from npdec._array.foreign_arrays import as_argument
from npdec._array.together import brought
from npdec._core.tags import spec_of
from npdec._impl import (  # noqa: F401 - the chapters
    _host,
    assigning_impl,
    bits_impl,
    calculus_impl,
    creation_impl,
    creation_matrices_impl,
    creation_ranges_impl,
    elementwise_angles_impl,
    elementwise_closeness_impl,
    elementwise_extrema_impl,
    elementwise_float_impl,
    elementwise_impl,
    elementwise_integer_impl,
    elementwise_logic_impl,
    elementwise_math_impl,
    elementwise_powers_impl,
    extremes_impl,
    histogram_impl,
    index_tricks_impl,
    indexing_impl,
    joining_impl,
    nan_impl,
    padding_impl,
    polynomial_impl,
    products_impl,
    products_stacked_impl,
    quantile_impl,
    rearranging_impl,
    reduction_impl,
    selection_impl,
    sets_impl,
    shape_impl,
    sorting_impl,
    statistics_impl,
    windows_impl,
)
from npdec._normalizer.carried_operators import attach_carried_operators
from npdec._normalizer.native import attach_native
from npdec._normalizer.operators import attach_matmul, attach_methods, attach_operators
from npdec._normalizer.published import Published, kernels_of
from npdec._normalizer.scalar_operators import attach_scalar_operators

__all__ = ["functions"]

_host.install(as_argument, wrap.wrap_array, brought)

CHAPTERS = [found for name, found in vars().items() if isinstance(found, ModuleType) and name.endswith("_impl")]

functions = Published("npdec", *CHAPTERS)
for name, kernel in functions.kernels.items():
    folded = spec_of(kernel).folds
    if folded is not None:
        functions.ufuncs[folded].reduction = functions[name]
attach_operators({id(function): function for function in functions.ufuncs.values()}.values())
declared = [spec_of(function.__kernel__) for function in functions.ufuncs.values()]
attach_scalar_operators({spec.operator: spec for spec in declared if spec.operator is not None})
attach_carried_operators(functions.ufuncs.values())
attach_matmul(functions["matmul"])
attach_methods(kernel for chapter in CHAPTERS for kernel in kernels_of(chapter))
attach_native(functions.ufuncs.values())

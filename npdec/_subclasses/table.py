"""Which functions and methods give results of an argument's class, and how: as NumPy's do. What does not stand here
gives plain arrays."""

from __future__ import annotations

from typing import Any

from npdec._array import wrap
from npdec._core.base import SubclassBase
from npdec._subclasses.array import adopt
from npdec._subclasses.results import (
    Call,
    Give,
    drop,
    each,
    joined,
    keep,
    of,
    parts,
    when,
    wraps,
    wraps_arrays,
)  # fmt: skip
from npdec._subclasses.wrapping import dominant

__all__ = ["BY_METHOD", "CALLING", "FUNCTIONS", "GIVEN", "METHODS", "UNASKED"]


def _named(give: Give, names: str) -> dict[str, Give]:
    return dict.fromkeys(names.split(), give)


def _subok(default: bool, place: int = 64, give: Give = keep) -> Give:
    """Of functions with `subok`: where it says so."""
    return when(lambda result, call: call.option(place, "subok", default), give, drop)


def _from_nothing(result: Any, call: Call) -> Any:
    """An array of the class of the first argument, told that it comes from nothing."""
    if type(result) is not wrap.ARRAY or not isinstance(call.first, SubclassBase):
        return drop(result, call)
    return adopt(type(call.first), result, None)


def _first(give: Give) -> Give:
    """Of the first argument, whatever the others are."""
    return lambda result, call: give(result, call._replace(inputs=call.inputs[:1]))


def _last(give: Give) -> Give:
    """Of the last one first."""
    return lambda result, call: give(result, call._replace(inputs=call.inputs[::-1]))


def _strictly(give: Give) -> Give:
    """Of the first argument, unless the priority of another is higher."""
    return lambda result, call: give(result, call) if _is_leading(call) else drop(result, call)


def _is_leading(call: Call) -> bool:
    if not getattr(call.first, "ndim", 0):  # a number, by which the other is multiplied
        return True
    return isinstance(call.first, SubclassBase) or dominant(call.inputs) is not None


def _unique(result: Any, call: Call) -> Any:
    """Of `unique` the elements and their places."""
    if call.option(4, "axis", None) is not None:
        return drop(result, call)
    places = [wraps] if call.option(1, "return_index", False) else []
    return parts(wraps, *places, drop, drop)(result, call)


# Functions that ask a method of the same name.
BY_METHOD = {
    name: name
    for name in (
        "all any argmax argmin argpartition argsort choose cumprod cumsum diagonal max mean min prod ravel repeat "
        "reshape round searchsorted squeeze std sum swapaxes take trace transpose var nonzero"
    ).split()
} | {"amax": "max", "amin": "min", "around": "round", "permute_dims": "transpose"}

# The arguments that NumPy's functions give these methods in any case.
GIVEN = {
    **dict.fromkeys(("sum", "prod", "max", "min", "all", "any", "argmax", "argmin"), ("axis", "out")),
    **dict.fromkeys(("mean", "std", "var", "cumsum", "cumprod"), ("axis", "dtype", "out")),
}

# Functions for which no class is asked: they make arrays, or look at what they are given.
UNASKED = frozenset(
    (
        "array asarray asanyarray asarray_chkfinite ascontiguousarray asfortranarray require from_dlpack frombuffer "
        "fromiter fromfunction empty zeros ones full eye identity tri indices arange diag_indices tril_indices "
        "triu_indices mask_indices broadcast_shapes isscalar fft.fftfreq fft.rfftfreq bartlett blackman hamming "
        "hanning kaiser promote_types mintypecode issubdtype isdtype format_float_positional format_float_scientific "
        "binary_repr base_repr typename isfortran iterable lib.stride_tricks.as_strided finfo iinfo"
    ).split()
)

# Functions that call one of the program's: where it stands, and the array whose parts it is given.
CALLING = {"apply_along_axis": (0, 2), "piecewise": (2, 0)}

# What methods give that does not keep the class.
METHODS: dict[str, Give] = {
    **_named(
        drop,
        "nonzero searchsorted __array__ to_numpy item tolist tobytes __bytes__ dump dumps tofile contributions "
        "components to_dataframe to_xarray to_shap tensor data flags ctypes flat",
    ),
    **_named(wraps, "all any clip conj conjugate cumprod cumsum max mean min prod std sum var c_sum"),
    "astype": _subok(True, 4),
    "round": when(lambda result, call: call.option(1, "decimals", 0) and call.first.dtype.kind != "c", drop, wraps),
    "trace": wraps_arrays,
    "dot": _strictly(wraps_arrays),
}

FUNCTIONS: dict[str, Give] = {
    **_named(
        wraps,
        "i0 fix ptp nansum nanprod nanmean nanvar nanstd nanmax nanmin median nanmedian diagflat geomspace delete "
        "angle nan_to_num isposinf isneginf isreal isclose nancumsum nancumprod ediff1d apply_along_axis unique_values "
        "kron linalg.inv linalg.pinv linalg.matrix_power linalg.cholesky linalg.matmul linalg.vecdot real_if_close "
        "linalg.qr clip",
    ),
    **_named(
        _first(wraps),
        "insert piecewise gradient setdiff1d polyadd polysub linalg.tensorsolve",
    ),
    **_named(_last(wraps), "linspace logspace trapezoid"),
    **_named(
        wraps_arrays,
        "nanargmax nanargmin quantile percentile nanquantile nanpercentile count_nonzero linalg.trace",
    ),
    **_named(_strictly(wraps_arrays), "dot inner linalg.multi_dot correlate"),
    **_named(
        keep,
        "matrix_transpose moveaxis rollaxis expand_dims imag real tile flip fliplr flipud rot90 roll trim_zeros sort "
        "partition linalg.diagonal linalg.matrix_transpose asanyarray astype split hsplit vsplit dsplit array_split "
        "unstack",
    ),
    **_named(each, "atleast_1d atleast_2d atleast_3d meshgrid"),
    **_named(joined, "concatenate concat stack vstack row_stack hstack dstack column_stack block append"),
    "resize": when(lambda result, call: not (result.size and call.first.size), keep, joined),
    **_named(_from_nothing, "packbits unpackbits"),
    **_named(_subok(True), "empty_like zeros_like ones_like full_like"),
    **_named(_subok(False), "array copy"),
    "broadcast_to": _subok(False, 2),
    "broadcast_arrays": _subok(False, give=each),
    "lib.stride_tricks.as_strided": _subok(False, 3),
    "lib.stride_tricks.sliding_window_view": _subok(False),
    "require": when(lambda result, call: "E" in str(call.option(2, "requirements", "")).upper(), drop, keep),
    "compress": of(1, "a"),
    "extract": of(1, "arr"),
    "polyval": of(1, "x"),
    "linalg.solve": of(1, "b", wraps),
    "linalg.lstsq": of(1, "b", parts(wraps, wraps, drop, drop)),
    "diag": when(lambda result, call: result.ndim == 1, keep, drop),
    "take_along_axis": when(lambda result, call: call.option(2, "axis", -1) is None, drop, keep),
    "iscomplex": when(lambda result, call: call.first.dtype.kind == "c", wraps, drop),
    "diff": when(lambda result, call: {"prepend", "append"} & {*call.kwargs}, joined, wraps),
    "average": parts(wraps, of(2, "weights", wraps)),
    **_named(
        when(lambda result, call: call.kwargs.get("include_initial"), joined, wraps), "cumulative_sum cumulative_prod"
    ),
    "linalg.eig": parts(drop, wraps),
    "linalg.eigh": parts(drop, wraps),
    "linalg.svd": when(lambda result, call: isinstance(result, tuple), parts(wraps, drop, wraps), drop),
    "polydiv": parts(drop, _first(wraps)),
    "unique": _unique,
    "unique_counts": parts(wraps, drop),
    "unique_inverse": parts(wraps, drop),
    "unique_all": parts(wraps, wraps, drop, drop),
    "intersect1d": parts(drop, _first(wraps), drop),
}

"""Where `npdec._native` is built, elements, scalars, views, operators and calls of ufuncs are tried there first."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from types import FunctionType
from typing import Any

import torch
from torch.autograd import forward_ad, profiler
from torch.utils import _python_dispatch as _dispatch

from npdec._array import fp_state, transforms, wrap
from npdec._array.backwards import reverse
from npdec._array.convert import dtype_name
from npdec._array.element_memory import LETTERS, taken_by
from npdec._array.elements import NOT_YET, ElementAccess, sample_array
from npdec._array.family import Family
from npdec._array.methods import ArrayMethods
from npdec._array.ordinary import stand_backwards
from npdec._core.base import NDArrayBase
from npdec._core.installed_numpy import numpy_or_none
from npdec._core.tags import spec_of
from npdec._dtypes.dtype import SCALARS
from npdec._dtypes.spelling import SPELLINGS
from npdec._impl import _devices, _promotion, dtypes_impl
from npdec._impl._by_numpy import MANY
from npdec._native import calls
from npdec._normalizer.number_calls import keeper
from npdec._normalizer.number_operators import BETWEEN
from npdec._normalizer.scalar_operators import turned
from npdec._normalizer.ufunc import ufunc
from npdec._torch.functorch import is_transformed, is_wrapped
from npdec._torch.outside import ordinarily

__all__ = ["attach_native"]

# What is the same for all calls of ufuncs.
_SHARED = {"wrap": wrap.wrap, "most": MANY}


def attach_native(ufuncs: Iterable[ufunc]) -> None:
    """Called once, when arrays and scalars have their methods and operators."""
    if calls is None:
        return
    _attach_scalars()
    _attach_arrays()
    ufuncs = tuple(ufuncs)
    stems = {spec_of(function.__kernel__).operator: function for function in ufuncs}
    calls.attach_ufuncs({stem: stems[stem] for stem in (*BETWEEN, "pow") if stem in stems})
    for function in ufuncs:
        _attach_call(type(function).__call__, function, 1)
    for name, operator in [*vars(ArrayMethods).items(), *vars(wrap.ARRAY).items()]:
        scope = operator.__globals__ if isinstance(operator, FunctionType) else {}
        if "_kept" in scope:
            _attach_operator(operator, scope)
        elif name == "__matmul__":
            names = {"torch": torch.Tensor.matmul, "dtypes": scope["_direct"], "result": None, "reduces": True}
            calls.attach_call(operator, 2, 0, _SHARED | names)
        elif name in ("__neg__", "__pos__", "__abs__", "__invert__"):
            _attach_call(operator, scope["_function"], 0)


def _attach_scalars() -> None:
    classes = {letter: SCALARS[dtype] for dtype, letter in LETTERS.items()}
    numbers = {letter: (cls, vars(cls)["_n"], vars(cls)["_t"]) for letter, cls in classes.items()}
    calls.attach_scalars(numbers, tuple(wrap.BOOLS), vars(fp_state))
    for cls in classes.values():
        for stem in (*BETWEEN, "pow", "divmod"):
            for name, reflected in ((f"__{stem}__", False), (f"__r{stem}__", True)):
                if name in vars(cls):
                    exchanged = turned(stem, cls._torch_dtype, reflected)
                    calls.attach_operator(vars(cls)[name], stem, reflected, exchanged)


def _attach_arrays() -> None:
    slots = tuple(vars(NDArrayBase)[name] for name in ("_t", "_d", "_m", "_w", "_ro"))
    of_families = tuple(vars(Family)[name] for name in ("limit", "most", "origin", "mirrors", "mixed"))
    methods, own = vars(ArrayMethods), vars(wrap.ARRAY)
    functions = [methods["T"].fget, own["shape"].fget, methods["ndim"].fget, methods["size"].fget, own["__len__"]]
    functions += [methods["nbytes"].fget, methods["real"].fget, methods["imag"].fget, own["__float__"]]
    taken = _limits(), _promotion.KEPT
    calls.attach_arrays(wrap.ARRAY, torch.Tensor, slots, Family, of_families, vars(_dispatch), tuple(functions), *taken)
    calls.attach_writes(vars(forward_ad), is_transformed, transforms.current)
    sample = sample_array()
    calls.attach_elements(
        ElementAccess.__getitem__,
        ElementAccess.__setitem__,
        torch._C._increment_version,
        NOT_YET,
        calls.references(sample._w),
    )
    of_memory = torch.strided, is_wrapped, taken_by
    calls.attach_windows(calls.Elements, LETTERS, *of_memory)
    _attach_lazy()


def _attach_lazy() -> None:
    told = torch._C._len_torch_function_stack, torch.is_inference_mode_enabled, is_transformed, torch.is_grad_enabled
    asked = torch._C._storage_Use_Count, torch._C._increment_version, *told, torch._C._is_tracing
    of_views = ordinarily, reverse, stand_backwards
    slot, view = vars(NDArrayBase)["_e"], torch.empty(2)[1:]
    capsule = torch.Tensor.__dlpack_c_exchange_api__
    calls.attach_lazy(capsule, slot, NDArrayBase, view, vars(profiler), (*asked, *of_views))
    pairs = {a + b: LETTERS[_promotion.promote_types(d, e)] for d, a in LETTERS.items() for e, b in LETTERS.items()}
    calls.attach_few(pairs, torch.get_num_threads)
    calls.attach_creation(_devices, SPELLINGS)
    calls.attach_products(_computed_by_torch)
    numpy = numpy_or_none()
    if numpy is not None:
        calls.attach_numpy(
            numpy.ndarray, numpy.generic, {letter: numpy.dtype(dtype_name(dtype)) for dtype, letter in LETTERS.items()}
        )


def _computed_by_torch(operator: str, letter: str, form: str, x: bytes, y: bytes) -> bytes:
    """The bytes of what torch makes of complex numbers: two scalars, two arrays, or an array and a scalar beside it."""
    dtype = torch.complex64 if letter == "F" else torch.complex128
    a, b = (torch.frombuffer(bytearray(given), dtype=dtype) for given in (x, y))
    if form in ("of", "scalars"):
        a = a.reshape(())
    if form in ("by", "scalars"):
        b = b.reshape(())
    found = torch.mul(a, b) if operator == "mul" else torch.div(a, b)
    return ctypes.string_at(found.data_ptr(), found.nbytes)


def _limits() -> dict[type, dict[torch.dtype, int]]:
    """Below which absolute value a number is taken as a tensor that is kept, by its type and the dtype of the array:
    wherever that may be, in operators, calls and writes, Python takes it so."""
    floats = {dtype: min(most, _promotion.WHOLE) for dtype, most in _promotion.KEEPS.items() if dtype.is_floating_point}
    return {int: _promotion.KEEPS | floats, float: floats}


def _attach_call(called: Any, function: ufunc, skipped: int) -> None:
    """The call of a ufunc, or the operator that is one; `skipped` arguments stand before its operands."""
    scope = type(function).__call__.__globals__
    if "_arrays" not in scope or function.nin > 2:
        return
    one = function.nin == 1
    dtypes = scope["_arrays"]
    same = dtypes_impl.LOOPS[function._loops].output == "same"
    names = {
        "torch": scope["_torch"] if scope["_bare"] is None else scope["_bare"],
        "dtypes": scope["_direct"] if one else dtypes,
        "many": scope["_many"],
        "result": None if same else False,
        "numbers": {} if one else _numbers_beside(function),
        "hosts": {cls: dtype for dtype, cls in SCALARS.items() if dtype in _promotion.KEEPS},
        "devices": scope["_devices"],
        "few": function.__name__,
    }
    if one and skipped and (keep := keeper(spec_of(function.__kernel__))) is not None:
        names["keep"] = keep
    calls.attach_call(called, function.nin, skipped, _SHARED | names)


def _numbers_beside(function: ufunc) -> dict[type, set[torch.dtype]]:
    """The dtypes of arrays beside which a ufunc takes Python's numbers as tensors."""
    kept = function._arrays & _promotion.KEEPS.keys()
    return {int: fp_state.guarded(kept), float: fp_state.guarded(d for d in kept if d.is_floating_point)}


def _attach_operator(operator: FunctionType, scope: dict[str, Any]) -> None:
    in_place = "_is_free" in scope
    names = {
        "torch": scope["_torch"],
        "dtypes": scope["_arrays"],
        "many": scope["_many"],
        "result": torch.bool if operator.__name__.strip("_") in ("lt", "le", "gt", "ge", "eq", "ne") else None,
        "numbers": scope["_numbers"] if scope["_keeps"] or not in_place else {},
        "bare": not scope["_keeps"],  # numbers are torch's as they are
        "hosts": {cls: cls._torch_dtype for cls in scope["_hosts"]},
        "few": scope["_name"],
        "turned": operator.__name__.startswith("__r") and operator.__name__ not in ("__rshift__",),
    }
    if in_place:
        names["apart"] = scope["_complex"]
    calls.attach_call(operator, 2, 0, _SHARED | names)

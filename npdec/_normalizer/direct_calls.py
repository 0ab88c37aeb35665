"""The common call of a public function, compiled into its wrapper ahead of all conversions: plain arrays, no options.

What a kernel declares as `direct` (`npdec._core.direct`) is asked first; where it has no answer, or torch refuses, the
statements behind these find out why.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any
from weakref import ref

import torch
from torch.autograd import forward_ad
from torch.utils import _python_dispatch as dispatch

from npdec._array import fp_state, memory, wrap
from npdec._array.family import family_of
from npdec._array.ordinary import is_free
from npdec._core.signatures import Parameter
from npdec._core.tags import Spec
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import SCALARS
from npdec._impl._promotion import RANGES
from npdec._impl.products_impl import DIRECT
from npdec._native import calls
from npdec._normalizer import few_by_numpy
from npdec._normalizer.conversions import tensor_of
from npdec._normalizer.few_by_numpy import default_of, indented
from npdec._normalizer.results import FROZEN, wrap_tuple, wrap_view
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import tracing

__all__ = ["statements"]

_Kind, _Tensor = inspect.Parameter, torch.Tensor
# The functions that `npdec._native` computes of few numbers, or leaves to Python, and how many parameters it is given.
_FEW = {"zeros": 2, "ones": 2, "empty": 2, "zeros_like": 1, "ones_like": 1, "empty_like": 1, "copy": 1, "arange": 4}
_FEW |= {"where": 3, "max": 1, "min": 1, "concatenate": 2, "stack": 2, "hstack": 1, "vstack": 1, "reshape": 2}
_FEW |= {"ravel": 1, "nonzero": 1, "trace": 1, "take_along_axis": 3, "searchsorted": 3}
_FEW |= {"transpose": 2, "squeeze": 2, "full": 3, "column_stack": 1, "clip": 4, "eye": 4, "diag": 2, "diagonal": 2}
_WRITTEN = {"put_along_axis": 4, "copyto": 4, "putmask": 3, "fill_diagonal": 2}  # which say whether they have
# Those that it computes by name of an array, and along an axis.
_REDUCED = frozenset({"any", "all", "count_nonzero", "argmax", "argmin", "sum", "prod"})
_OF_INTEGERS = {"sum": frozenset(RANGES) | {torch.bool}, "prod": frozenset(RANGES)}
_RUNNING = {"cumsum": "sum", "cumprod": "prod"}
_TURNED = {"convolve": True, "correlate": False}  # whether the second sequence is
_PAIRED = {"outer": "multiply"}
_FROZEN_VIEWS = frozenset({"diag", "diagonal"})  # which are told for what reason they are read-only
_AT_LEAST = {"atleast_1d": 1, "atleast_2d": 2, "atleast_3d": 3}
_REFUSALS = (RuntimeError, IndexError, TypeError, ValueError, OverflowError)


def statements(
    spec: Spec,
    parameters: tuple[Parameter, ...],
    returns: str | None,
    lent: str,
    convert: Callable[[Parameter], list[str]],
    namespace: dict[str, Any],
) -> list[str]:
    """The statements that return what the common call gives; none for a kernel that declares no such call. `lent`:
    by which attribute lazy arrays lend their tensors."""
    first = _in_native(spec.name, parameters, namespace)
    direct = spec.direct
    if direct is None:
        return first
    dtypes = direct.dtypes
    namespace |= {"_common": direct.function, "_refusals": _REFUSALS, "_alike": _alike}
    namespace |= {
        "_family_of": family_of,
        "_ref": ref,
        "_settle": memory.settle,
        "_mirror": memory.mirror,
        "_seen_frozen": memory.seen_frozen,
        "_wrap_view": wrap_view,
        "_is_free": is_free,
        "_FROZEN": FROZEN,
        "_wrap_tuple": wrap_tuple,
        "_wrap": wrap.wrap,
        "_wrap_total": wrap.wrap_total,
        "_index_of": lambda number: wrap.on_host(SCALARS[torch.int64], number),
        "_Decomposed": DecomposedTensor,
        "_view": None if calls is None else calls.view,
        "_lazy_view": None if calls is None else calls.lazy_view,
    }
    if dtypes is not None:
        namespace["_direct_dtypes"] = dtypes if spec.errors is None else fp_state.guarded(dtypes)
    elif spec.errors is not None:
        raise TypeError(f"{spec.name}: a direct call in any dtype would pass over floating-point errors")

    if direct.linear and returns not in (None, "Array"):
        raise TypeError(f"{spec.name}: a direct call of decomposed arrays makes no views, nor what stands for one")

    arrays = [p for p in parameters if p.is_array and not p.sequence and _is_required(p) and p.name not in direct.given]
    tests = [f"type({p.name}) is _Array" for p in arrays]
    tensors = {p.name: f"_t_{p.name}" if lent else f"{p.name}._t" for p in arrays}
    asked = {name: f"({tensor} := {tensor_of(name, lent)})" if lent else tensor for name, tensor in tensors.items()}
    kinds = "(type({}) is _Tensor or type({}) is _Decomposed)" if direct.linear else "type({}) is _Tensor"
    plain = [kinds.format(asked[p.name], tensors[p.name]) for p in arrays]
    if dtypes is not None and arrays:
        plain.append(f"{arrays[0].name}._d in _direct_dtypes")
        plain += [f"{p.name}._d is {arrays[0].name}._d" for p in arrays[1:]]
    written = [p for p in arrays if p.tag == "InPlace"]  # the function says whether it has written
    for p in written:
        plain += [f"not {q.name}._t.requires_grad" for q in arrays]
        plain.append(f"_is_free({p.name})")
    words, given, lines = [], None, []
    for p in parameters:
        if p in arrays:
            words.append(tensors[p.name])
        elif p.is_array and p.sequence and p.name not in direct.given:
            known = "_direct_dtypes" if dtypes is not None else "None"
            words.append(f"_alike({p.name}, {known}, {direct.of_one_rank}, {direct.linear})")
        elif _is_required(p):
            words.append(f"({p.name}._t if type({p.name}) is _Array else {p.name})" if written else p.name)
        elif p.name in direct.given and (p.tag == "AxisLike" or p.plain == "int"):
            given = p
        elif p.name in direct.given:
            lines += convert(p) if p.tag == "DTypeLike" else []
            words.append(p.name)
        elif p.kind in (_Kind.VAR_POSITIONAL, _Kind.VAR_KEYWORD):
            tests.append(f"not {p.name}")
        else:
            tests.append(f"{p.name} is {default_of(p)}")
    call = f"_common({', '.join(words)})"
    if given is None:
        if direct.few is not None:
            namespace["_in_few"] = _in_few(direct.few, direct.few_dtype)
            lines += [f"_c = _in_few({tensors[arrays[0].name]}, {arrays[0].name}._d)", "if _c is not None: return _c"]
        lines.append(f"_r = {call}")
    elif direct.total and direct.few is not None:
        namespace["_in_few"] = _in_few(direct.few, direct.few_dtype)
        lines.append(f"if {given.name} is {default_of(given)}:")
        lines += [
            f"    _c = _in_few({tensors[arrays[0].name]}, {arrays[0].name}._d)",
            f"    return {_as_total(call, arrays)} if _c is None else _c",
        ]
        lines.append(_with_int(given, words))
    elif direct.total:
        lines += [f"if {given.name} is {default_of(given)}: return {_as_total(call, arrays)}", _with_int(given, words)]
    else:
        lines += [f"if {given.name} is {default_of(given)}: _r = {call}", f"el{_with_int(given, words)}"]
    if given is not None:
        lines.append("else: _r = None")
    source = arrays[0].name if arrays else ""
    body = ["try:", *indented(lines), "except _refusals: _r = None"]
    if written:
        body += ["if _r is True: return None"]
    elif returns == "Plain":
        body += ["if _r is not None: return _r"]
    else:
        body += [
            "if type(_r) is _Tensor:",
            *indented(_delivered(returns, source, direct.total and given is None, parameters, direct.given)),
        ]
    if direct.total and given is None:
        body.append("if type(_r) is int: return _index_of(_r)")
    if direct.linear:
        wrapped = "_wrap_array(_r)" if returns == "Array" else "_wrap(_r)"
        body += [f"if type(_r) is _Decomposed: return {wrapped}"]
    if returns is None and not direct.total:
        body += ["if isinstance(_r, tuple): return _wrap_tuple(_r)"]
    if returns == "View":
        made = f"_wrap_view({source}, _v)"
        if calls is not None:
            made = f"{made} if _tracing() or (_c := _view({source}, _v)) is None else _c"
        body += [f"if type(_r) is list: return [{made} for _v in _r]"]
    return [*first, f"if {' and '.join([*tests, *plain]) or True}:", *indented(body)]


def _in_native(name: str, parameters: tuple[Parameter, ...], namespace: dict[str, Any]) -> list[str]:
    if calls is None:
        return []
    if (found := few_by_numpy.statements(name, parameters, namespace)) is not None:
        more = _by_operator(namespace) if name == "dot" else _of_sequences(name, namespace) if name in _TURNED else []
        return [*found, *more]
    if not any(name in table for table in (_FEW, _WRITTEN, _REDUCED, _RUNNING, _PAIRED, _AT_LEAST)):
        return []
    count = (_FEW | _WRITTEN).get(name, 2)
    given, others = parameters[:count], parameters[count:]
    words = [p.name for p in given]
    if name in _FEW or name in _WRITTEN:
        few = getattr(calls, f"few_{name}")
        words += ["_FROZEN"] if name in _FROZEN_VIEWS else []
        namespace["_FROZEN"] = FROZEN
    elif name in _PAIRED:
        few, words = calls.few_outer, [repr(_PAIRED[name]), *words]
    elif name in _AT_LEAST:
        few, words = calls.few_at_least, [*words, str(_AT_LEAST[name])]
    elif name in _REDUCED:
        few, words = calls.few_reduced, [repr(name), *words]
    else:
        few, words = calls.few_running, [repr(_RUNNING[name]), *words]
    namespace["_few"] = few
    tests = [f"not {p.name}" if p.kind is _Kind.VAR_KEYWORD else f"{p.name} is {default_of(p)}" for p in others]
    tests.append("not _tracing()")
    if name in _OF_INTEGERS:  # which is seen sooner here
        namespace["_few_dtypes"] = _OF_INTEGERS[name]
        tests.insert(0, f"type({given[0].name}) is _Array and {given[0].name}._d in _few_dtypes")
    namespace |= {f"_default_{p.name}": p.default for p in others}
    call = f"_few({', '.join(words)})"
    if name == "where":  # without choices, the places of what is true
        namespace["_few_places"] = calls.few_nonzero
        places = "_few_places(condition) if x is _NoValue and y is _NoValue else "
        call = places + call
    if name in _WRITTEN:
        return [f"if {' and '.join([*tests, call])}: return None"]
    return [f"if {' and '.join(tests)}:", *indented([f"_c = {call}", "if _c is not None: return _c"])]


def _by_operator(namespace: dict[str, Any]) -> list[str]:
    """Products of vectors and tables, of arrays that may be lazy, are the operator's."""
    namespace |= {"_operator_dtypes": fp_state.guarded(DIRECT), "_by_operator": operator.matmul}
    tests = [
        "type(a) is type(b) is _Array",
        "a._d is b._d and a._d in _operator_dtypes",
        "0 < a.ndim <= 2 and 0 < b.ndim <= 2",
    ]
    tests += ["a.shape[-1] == b.shape[0]", "out is None", "not _tracing()"]
    return [f"if {' and '.join(tests)}: return _by_operator(a, b)"]


def _of_sequences(name: str, namespace: dict[str, Any]) -> list[str]:
    namespace["_of_sequences"] = calls.few_correlate
    lines = [f"_c = _of_sequences(a, v, mode, {_TURNED[name]})", "if _c is not None: return _c"]
    return ["if type(a) is _Array and not _tracing():", *indented(lines)]


def _in_few(find: Callable[[torch.Tensor], Any], dtype: torch.dtype | None) -> Callable[[Any, torch.dtype], Any]:
    """What gives the scalar that is found in the tensor of an array on the host, or None."""
    bools, new, float64 = wrap.BOOLS, float.__new__, torch.float64

    def found(tensor: Any, its: torch.dtype) -> Any:
        if not (  # `are_numbers`, written out
            type(tensor) is _Tensor
            and tensor.is_cpu
            and not tensor.requires_grad
            and not is_transformed()
            and not dispatch._is_in_torch_dispatch_mode
            and forward_ad._current_level < 0
            and not tracing()
        ):
            return None
        number = find(tensor)
        if number is None:
            return None
        kind = dtype or its
        if kind is float64:
            scalar: Any = new(wrap.FLOAT64, number)
            scalar._n = number
            return scalar
        return bools[number] if kind is torch.bool else wrap.on_host(SCALARS[kind], number)

    return found


def _alike(items: Any, dtypes: Any, of_one_rank: bool, linear: bool) -> list[torch.Tensor]:
    """The tensors of plain arrays of one dtype, whose elements lie in row-major order; with `linear` decomposed ones
    may be among them. Raises TypeError for others."""
    if (type(items) is not list and type(items) is not tuple) or not items:
        raise TypeError
    found: list[torch.Tensor] = []
    array, dtype = wrap.ARRAY, None
    for item in items:
        if type(item) is not array:
            raise TypeError
        if item._d is not dtype:
            if dtype is not None or (dtypes is not None and item._d not in dtypes):
                raise TypeError
            dtype = item._d
        tensor = item._t
        if type(tensor) is not _Tensor and not (linear and type(tensor) is DecomposedTensor):
            raise TypeError
        if not tensor.is_contiguous():
            raise TypeError
        if of_one_rank and found and tensor.dim() != found[0].dim():
            raise TypeError
        found.append(tensor)
    return found


def _is_required(p: Parameter) -> bool:
    return p.default is _Kind.empty and p.kind not in (_Kind.VAR_POSITIONAL, _Kind.VAR_KEYWORD)


def _with_int(p: Parameter, words: list[str]) -> str:
    return f"if type({p.name}) is int: _r = _common({', '.join([*words, p.name])})"


def _as_total(call: str, arrays: list[Parameter]) -> str:
    return f"_wrap_total({call}, {arrays[0].name}._d)" if arrays else f"_wrap_scalar({call})"


def _delivered(
    returns: str | None, source: str, total: bool, parameters: tuple[Parameter, ...], given: tuple[str, ...]
) -> list[str]:
    """Statements that return the tensor `_r` as the function returns it."""
    made = ["_c = _new(_Array); _c._t = _r; _c._d = _r.dtype; _c._m = None", "return _c"]
    if returns in ("View", "Flat"):  # `memory.seen`, written out
        seen = []
        if calls is not None:
            seen += [f"_c = None if _tracing() else _view({source}, _r)", "if _c is not None: return _c"]
        seen += [f"_c = _new(_Array); _c._t = _r; _c._d = {source}._d"]
        seen += [f"_m = {source}._m", f"if _m is None: _m = _family_of({source})"]
        seen += ["_c._m = _m", "_m.append(_ref(_c))", f"if len(_m) > _m.limit: _settle({source}, _c)"]
        return [*seen, "return _c" if returns == "View" else "if _m.origin is None: return _c"]
    if returns == "Frozen":
        lazily = [f"_c = None if _tracing() else _lazy_view({source}, _r, _FROZEN)", "if _c is not None: return _c"]
        return [*(lazily if calls is not None else []), f"return _seen_frozen({source}, _r, _FROZEN)"]
    if returns == "Mirror":  # of a function of nothing but the array
        return [made[0].replace("_r.dtype", f"{source}._d"), f"_mirror({source}, _c, _common)", "return _c"]
    if returns == "Array":  # of joined arrays: in their one dtype, and with axes
        of_several = next((p.name for p in parameters if p.is_array and p.sequence and p.name not in given), None)
        if of_several is not None and not source:
            return [made[0].replace("_r.dtype", f"{of_several}[0]._d"), made[1]]
        return ["if _r.dim():", *indented(made), "return _wrap_array(_r)"]
    number = f"return _wrap_total(_r, {source}._d)" if source else "return _wrap_scalar(_r)"
    return [number] if total else ["if _r.dim():", *indented(made), number]

"""Methods of decomposed tensors that ordinary calls are answered by at once.

What torch does before `__torch_function__` is called (it reads the arguments, and packs them again) takes as long as a
function of a few numbers. So methods that have a short way (`npdec._law.ordinary`) stand on the class as well, in
Python, and go that way where it is open; where it is not, they are torch's own. torch.compile sees torch's own alone
(`npdec._torch.patch_dynamo`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._core.tracebacks import met
from npdec._decomposed import completeness, settings
from npdec._decomposed.aliasing import link_lazily, link_ordinary
from npdec._decomposed.axes import narrowed
from npdec._decomposed.parts import Views
from npdec._decomposed.plain_values import enable_grad, of_no_class, part
from npdec._decomposed.registry import Row, close_of, functions, rows
from npdec._decomposed.reverse_graph import derived_twice, with_vjp
from npdec._decomposed.size_limits import MANY
from npdec._decomposed.size_warnings import STEEP, STEEPEST, half_of_digits
from npdec._decomposed.tensor import DecomposedTensor, dispatch, merged
from npdec._impl import _util, slopes_impl
from npdec._law import ordinary_reverse, reverse_beside
from npdec._law.all_components import current as chunk
from npdec._law.close_of_few import CLOSE
from npdec._law.complex_laws import LAWS, REAL_OF
from npdec._law.complex_order_of_few import ORDERS
from npdec._law.create_graph import graph_wanted
from npdec._law.means_of_few import LIMITS
from npdec._law.of_few import LONGEST, RANGE
from npdec._law.ordinary import is_moderate, is_observed, is_ordinary, of_the_value, pointwise, rows_of
from npdec._law.ordinary_arithmetic import EVEN
from npdec._law.ordinary_linear import element, of_equal_rows
from npdec._law.overrides_scope import current as watched
from npdec._law.powers_of_few import COMPLEX_NODES
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._law.secant import KEPT
from npdec._law.secant_at_once import least_in_doubles
from npdec._native import calls
from npdec._rules.argument_names import follow, following
from npdec._rules.rms_norm_pattern import FAR, remember
from npdec._torch.interrupts import undisturbed
from npdec._torch.tracing import direct, tracing

__all__ = ["install"]

Function = Callable[..., Any]

# Operators, and the methods that torch calls of them.
_OPERATORS = {
    "__pow__": "pow",
    "__add__": "add",
    "__sub__": "sub",
    "__mul__": "mul",
    "__truediv__": "div",
    "__matmul__": "matmul",
}
_TRANSPOSES = "T", "mT", "H", "mH"  # the short forms that are properties which nobody sets
_OF_TWO = {*_OPERATORS, "__getitem__"}
_is_asked, _modes = torch._C._is_torch_function_enabled, torch._C._len_torch_function_stack


def install() -> None:
    """Give the class the methods. Those of two arguments in exchanged order stay torch's, which Python asks first."""
    DecomposedTensor._element = _element
    for name in dir(torch.Tensor):
        own = getattr(torch.Tensor, name)
        function = own if name not in _OPERATORS else getattr(torch.Tensor, _OPERATORS[name])
        row = rows.get(function) if callable(own) else None
        if row is None or row.short is None or name.startswith("__r"):
            continue
        if name not in vars(DecomposedTensor):
            if row.short is of_the_value:
                method = _blind(name, own)
            else:
                method = _operator(own, function) if name in _OF_TWO else _method(own, function)
            method.__name__, method.__qualname__ = name, f"{DecomposedTensor.__qualname__}.{name}"
            method.__doc__ = _text(name)
            in_c = calls is not None and row.short is not of_the_value
            setattr(DecomposedTensor, name, calls.Method(method, function, own) if in_c else method)
            direct.add(name)
    for name in _TRANSPOSES:
        own = getattr(torch.Tensor, name).__get__
        method = _method(own, own)
        getter = method if calls is None else calls.Method(method, own, own)
        setattr(DecomposedTensor, name, property(getter, doc=_text(name)))
        direct.add(name)
    if calls is not None:
        _attach()


def _text(name: str) -> str:
    return f"`torch.Tensor.{name}`, which see, of a decomposed tensor.\n\n:meta private:"


def _answered(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """What a torch function gives that has no short way, or whose short way is not open, as C found."""
    try:
        return undisturbed(dispatch.value, func, args, options or {})
    except Exception as error:
        raise met(error)  # noqa: B904


def _attach() -> None:
    """Let calls with ordinary tensors be answered in C (`npdec/_native/forms.c`)."""
    slots = vars(Row)["short"], vars(Views)["limit"]
    variables = watched, completeness.current, graph_wanted
    told = torch._C._is_fwd_grad_enabled, _is_asked
    negatives, even = frozenset(functions("neg negative __neg__")), (EVEN[torch.float32], EVEN[torch.float64])
    called = (
        link_ordinary,
        rows_of,
        is_moderate,
        of_equal_rows,
        narrowed,
        torch.matmul,
        follow,
        of_no_class,
        part,
        enable_grad,
        merged,
    )
    calls.attach_decomposed(
        DecomposedTensor, torch.nn.Parameter, rows, *slots, variables, told, MANY, STEEP, even, negatives, called
    )
    _util.in_memory = calls.tensor_of
    calls.attach_origins(remember, *FAR)
    calls.set_kept(KEPT)
    calls.set_closed(slopes_impl.tanh, slopes_impl.sigmoid)
    calls.attach_close(list(CLOSE))
    ranges = [(*RANGE[dtype], torch.finfo(dtype).eps) for dtype in (torch.float32, torch.float64)]
    calls.attach_few_slopes(settings.current, settings.USUAL, chunk, vars(Row)["close"], LONGEST, KEPT, *ranges)
    sizes = {dtype: torch.finfo(dtype) for dtype in (torch.complex64, torch.complex128)}
    steepest = {dtype: (STEEPEST.get(dtype, STEEP), half_of_digits(REAL_OF[dtype])) for dtype in sizes}
    limits = [(info.eps, info.tiny, *steepest[dtype]) for dtype, info in sizes.items()]
    calls.attach_complex((*LAWS, *ORDERS), vars(Row)["few_complex"], *limits, *COMPLEX_NODES)
    means = [LIMITS[dtype] for dtype in (torch.float32, torch.float64)]
    calls.attach_means(KEPT, *means, *map(gauss_legendre, (10, 12, 16)))
    doubles = partial(torch.empty, dtype=torch.float64)
    calls.attach_slopes(ordinary_reverse.finished, least_in_doubles, doubles, ordinary_reverse.where_still, close_of)
    own = ordinary_reverse.on_graph_of, link_lazily, torch.empty_like, with_vjp
    calls.attach_reverse(pointwise, *own, derived_twice, settings.current, settings.USUAL)
    calls.set_beside(reverse_beside.node)
    calls.attach_torch_function(vars(DecomposedTensor)["__torch_function__"].__func__, _answered)


def _element(self: DecomposedTensor, key: tuple[int, ...]) -> Any:
    """`self[key].clone()`, of as many ints as there are axes."""
    found = None if calls is None or tracing() else calls.few_element(self, key)
    if found is not None:
        return found
    if is_observed() or not _is_asked() or _modes() or tracing() or not is_ordinary(self):
        return self[key].clone()
    return element(self, key)


def _blind(name: str, own: Function) -> Function:
    """A method that looks at no number."""

    def method(self: DecomposedTensor, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs or watched.get() is not None or not _is_asked() or _modes() or tracing():
            if name != "is_contiguous" or not _is_asked():
                return own(self, *args, **kwargs)
            # It asks with the method of the class, this one, where the others ask with torch's own:
            # https://github.com/pytorch/pytorch/blob/v2.13.0/tools/autograd/templates/python_variable_methods.cpp
            return torch.overrides.handle_torch_function(own, (self,), self, *args, **kwargs)
        try:
            return own(self.value)
        except Exception as error:
            raise met(error)  # noqa: B904

    return method


def _method(own: Function, function: Function) -> Function:
    def method(self: DecomposedTensor, *args: Any, **kwargs: Any) -> Any:
        row = rows[function]
        short: Any = row.short
        if short is None or is_observed() or not _is_asked() or _modes() or tracing():
            return own(self, *args, **kwargs)
        try:
            given, options = following(function, (self, *args), kwargs) if kwargs else ((self, *args), kwargs)
            if not options:
                made = short(function, given)
            else:
                made = short(function, given, options) if row.options else NotImplemented
        except Exception as error:
            raise met(error)  # noqa: B904
        return own(self, *args, **kwargs) if made is NotImplemented else made

    return method


def _operator(own: Function, function: Function) -> Function:
    """The same of two arguments."""

    def method(self: DecomposedTensor, other: Any) -> Any:
        short = rows[function].short
        if short is None or is_observed() or not _is_asked() or _modes() or tracing():
            return own(self, other)
        try:
            made = short(function, (self, other))
        except Exception as error:
            raise met(error)  # noqa: B904
        return own(self, other) if made is NotImplemented else made

    return method

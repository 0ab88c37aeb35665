"""Forms of ordinary calls in reverse mode (`npdec._law.ordinary_reverse`) that are made of torch's own functions: the
value is put on the graph by a linear function that has the mean derivative, and autograd's nodes take gradients back
without Python."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from npdec._decomposed.axes import row_by_row
from npdec._decomposed.broadcast_residuals import materialised_residual, of_rows
from npdec._decomposed.size_warnings import has_finite_sum
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._storage import shares_memory
from npdec._law.native_forms import in_c
from npdec._law.ordinary import Form
from npdec._law.ordinary_reverse import ANY, REAL, is_ordinary, on_graph, on_graph_of

__all__ = [
    "Operands", "Single", "affine", "affine_in_first", "all_but", "also", "before", "constant", "einsum_in_reverse",
    "filled", "of_body", "of_both", "on_graph_with", "operands_of", "padded", "pair_of", "product_beside",
    "product_with", "single", "taken",
]  # fmt: skip

Function = Callable[..., Any]
_CONSTANTS = (torch.Tensor, torch.nn.Parameter)
_KEYS = (torch.Tensor, slice, int, type(None))


def also(short: Form | None, reverse: Function) -> Form:
    """A form, and behind it one of tensors in reverse mode, which takes options."""
    takes = _takes_options(short)

    def form(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
        made = NotImplemented
        if short is not None and (takes or not options):
            made = short(func, args, options) if options else short(func, args)
        return reverse(func, args, options) if made is NotImplemented else made

    return form if short is None else in_c("also", batch=short, known=(reverse,))(form)


def _takes_options(form: Any) -> bool:
    function = form.func if isinstance(form, partial) else form
    return form is not None and "options" in function.__code__.co_varnames


class Operands(NamedTuple):
    """The operands of a call in reverse mode, constants among them; what is on the graph of the others, and which those
    are; and the first of them."""

    values: list[torch.Tensor]
    residuals: list[torch.Tensor]
    carriers: list[torch.Tensor]
    moving: list[bool]
    like: DecomposedTensor


def operands_of(given: Sequence[Any]) -> Operands | None:
    """The operands, if they are ordinary ones under the same labels, and constants of their dtype; else None."""
    like = next((t for t in given if type(t) is DecomposedTensor), None)
    if like is None:
        return None
    found = Operands([], [], [], [type(t) is DecomposedTensor for t in given], like)
    for t, moves in zip(given, found.moving, strict=True):
        if moves:
            if not is_ordinary(t) or t.labels != like.labels or t.value.dtype is not like.value.dtype:
                return None
            value, residual = t.value, t.residual
            found.carriers.append(on_graph_of(t))
        else:
            value = residual = constant(t, like.value)
            if value is None:
                return None
        found.values.append(value)
        found.residuals.append(residual)
    return found


def constant(t: Any, like: torch.Tensor, is_any: bool = False) -> torch.Tensor | None:
    """A plain tensor of the dtype without its graph, where autograd may keep it; None of another. Real ones may be
    beside complex ones of their precision where `is_any` says so."""
    if type(t) not in _CONSTANTS or t.layout is not torch.strided or t.is_meta:
        return None
    if t.dtype is not like.dtype and not (is_any and _precision(t.dtype) is _precision(like.dtype)):
        return None
    if t.is_inference():
        return None
    return t.detach() if t.requires_grad else t


def _precision(dtype: torch.dtype) -> torch.dtype:
    return dtype.to_real() if dtype.is_complex else dtype


class Single(NamedTuple):
    """A call as a function of its only decomposed argument, an ordinary one in reverse mode."""

    x: DecomposedTensor
    place: int
    args: list[Any]
    options: dict[str, Any]
    func: Function
    plain: int  # how many other tensors there are

    def __call__(self, u: torch.Tensor) -> Any:
        args = self.args
        return self.func(*args[: self.place], u, *args[self.place + 1 :], **self.options)


def single(
    func: Function, args: Sequence[Any], options: dict[str, Any] | None = None, dtypes: tuple[torch.dtype, ...] = REAL
) -> Single | None:
    """The call, of which the other tensors are constants: of the dtype, or indices and masks; None of another. Its
    argument is of one of the `dtypes`; where these are complex too, constants are real or complex."""
    place, given, plain = -1, list(args), 0
    for i, item in enumerate(args):
        if type(item) is DecomposedTensor:
            if place >= 0:
                return None
            place = i
    if place < 0 or not is_ordinary(args[place], dtypes):
        return None
    x = args[place]
    for i, item in enumerate(args):
        if i != place and isinstance(item, (torch.Tensor, tuple, list)):
            if not isinstance(item, torch.Tensor):
                if not all(map(_is_number, item)):
                    return None
                continue
            kept = constant(item, x.value, dtypes is not REAL)
            if kept is None:
                if type(item) is not torch.Tensor or item.dtype.is_floating_point or item.dtype.is_complex:
                    return None
                kept = item
            given[i] = kept
            plain += 1
    for item in (options or {}).values():
        if not (_is_number(item) or (type(item) in (tuple, list) and all(map(_is_number, item)))):
            return None
    return Single(x, place, given, options or {}, func, plain)


def _is_number(item: Any) -> bool:
    return item is None or type(item) in (int, float, bool, str)


def on_graph_with(x: DecomposedTensor, value: torch.Tensor, residual: torch.Tensor, carrier: torch.Tensor) -> Any:
    """The decomposed tensor of a value that gets gradients as the carrier does, which has its shape."""
    carrier.data = value
    return on_graph(value, residual, carrier, x)


def affine(
    leading: int | Callable[[Single], int],
    func: Function,
    args: Sequence[Any],
    options: dict[str, Any] | None = None,
    dtypes: tuple[torch.dtype, ...] = REAL,
) -> Any:
    """A function that is linear in one argument, of one of the `dtypes`, but for a finite constant, and gives new
    memory. It looks at each row of the `leading` axes alone."""
    call = single(func, args, options, dtypes)
    if call is None:
        return NotImplemented
    x = call.x
    carrier = call(on_graph_of(x))
    if type(carrier) is not torch.Tensor or carrier.dtype.to_real() is not x.value.dtype.to_real():
        return NotImplemented
    if shares_memory(carrier, x.value):
        return NotImplemented
    axes = leading(call) if callable(leading) else leading
    residual = row_by_row(call.__call__, x.residual, axes) if axes > 0 else call(materialised_residual(x))
    return on_graph(carrier.detach(), residual, carrier, x)


@in_c("affine", known=(0, -1, False, True))
def affine_in_first(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """The same of a function that is so in its first argument alone."""
    return affine(0, func, args, options) if args and type(args[0]) is DecomposedTensor else NotImplemented


def all_but(last: int) -> Callable[[Single], int]:
    """The axes but the last ones, where no other tensors are beside."""

    def leading(call: Single) -> int:
        return 0 if call.plain else call.x.value.ndim - last

    return leading


def before(place: int, name: str = "dim") -> Callable[[Single], int]:
    """The axes before those that the argument of this place and name says, where no other tensors are beside."""

    def leading(call: Single) -> int:
        given = call.args[place] if len(call.args) > place else call.options.get(name)
        axes = [given] if type(given) is int else given
        if call.plain or not axes or type(axes) not in (tuple, list):
            return 0
        count = call.x.value.ndim
        return int(min(axis % count for axis in axes)) if count else 0

    return leading


def padded(call: Single) -> int:
    """The axes that `pad` leaves as they are."""
    given: Any = call.args[1] if len(call.args) > 1 else call.options.get("pad")
    return call.x.value.ndim - len(given) // 2 if type(given) in (tuple, list) else 0


def filled(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """masked_fill with a number, where a plain mask says so."""
    if options or len(args) != 3 or type(args[2]) not in (int, float) or type(args[1]) is not torch.Tensor:
        return NotImplemented
    if math.isfinite(args[2]):
        return affine(0, func, args)
    call = single(func, args)
    if call is None or call.place or args[1].ndim > call.x.value.ndim:
        return NotImplemented
    x, mask, number = call.args
    value = func(x.value, mask, number)
    if value.shape != x.value.shape:
        return NotImplemented
    axes, shape = value.ndim, (1,) * (value.ndim - mask.ndim) + tuple(mask.shape)
    leading = next((axis for axis in range(axes) if shape[axis] != 1), axes)
    residual = row_by_row(lambda row: func(row, mask.reshape(shape[axes - row.ndim :]), number), x.residual, leading)
    carrier = func(on_graph_of(x), mask, 0)
    return on_graph_with(x, value, residual, carrier)


def taken(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """Elements at places that plain tensors tell, among other items of a key."""
    x, key = args
    items = key if type(key) is tuple else (key,)
    if type(x) is not DecomposedTensor or not is_ordinary(x):
        return NotImplemented
    if not all(type(item) in _KEYS or item is Ellipsis for item in items) or torch.Tensor not in map(type, items):
        return NotImplemented
    carrier = on_graph_of(x)[key]
    if shares_memory(carrier, x.value):
        return NotImplemented
    if type(key) is torch.Tensor and key.dtype is torch.int64 and not x.residual.stride(0):  # of equal rows
        residual = x.residual[:1].reshape(*(1,) * key.ndim, *x.residual.shape[1:]).expand(carrier.shape)
    else:
        residual = x.residual[key]
    return on_graph(carrier.detach(), residual, carrier, x)


def product_with(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """A product of matrices, of which one is constant."""
    call = None if options or len(args) != 2 else single(func, args, None, ANY)
    if call is None or call.plain != 1:
        return NotImplemented
    x, other = call.x, call.args[1 - call.place]
    axes, its = x.value.ndim, other.ndim
    if axes < 2 or its < 1 or other.dtype is not x.value.dtype:
        return NotImplemented
    carrier = call(on_graph_of(x))
    leading = 0 if its > 2 else axes - 2 if call.place else axes - 1
    residual = row_by_row(call.__call__, x.residual, leading) if leading else call(materialised_residual(x))
    return on_graph(carrier.detach(), residual, carrier, x)


def pair_of(args: Sequence[Any]) -> tuple[DecomposedTensor, DecomposedTensor] | None:
    """Two ordinary tensors in reverse mode, of one dtype; None of others."""
    if len(args) != 2 or not type(args[0]) is type(args[1]) is DecomposedTensor:
        return None
    a, b = args
    if not (is_ordinary(a) and (a is b or is_ordinary(b))) or a.labels != b.labels:
        return None
    return (a, b) if a.value.dtype is b.value.dtype else None


def of_both(func: Function, a: DecomposedTensor, b: DecomposedTensor, finite: bool) -> Any:
    """A function that is linear in each of two: each of them beside the other's midpoint, which is to be `finite`."""
    at_a, at_b = (torch.add(t.value / 2, t.residual, alpha=0.5) for t in (a, b))
    if finite and not (has_finite_sum(at_a) and has_finite_sum(at_b)):
        return NotImplemented
    value = func(a.value, b.value)
    if type(value) is not torch.Tensor or value.dtype is not a.value.dtype:
        return NotImplemented
    if func is torch.mul:
        residual = of_rows(func, [a.residual, b.residual], (True, True), value.shape)
    else:
        residual = func(*[materialised_residual(t) for t in (a, b)])
    carrier = func(on_graph_of(a), at_b) + func(at_a, on_graph_of(b))
    return on_graph_with(a, value, residual, carrier)


def product_beside(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """a b, of shapes that broadcast: of two decomposed tensors, or of one and a constant."""
    if options or len(args) != 2:
        return NotImplemented
    pair = pair_of(args)
    if pair is not None:
        return of_both(torch.mul, *pair, True)
    call = single(func, args)
    if call is None or call.plain != 1 or call.args[1 - call.place].dtype is not call.x.value.dtype:
        return NotImplemented
    if not has_finite_sum(call.args[1 - call.place]):
        return NotImplemented
    carrier = call(on_graph_of(call.x))
    parts = [call.x.residual if place == call.place else part for place, part in enumerate(call.args)]
    residual = of_rows(func, parts, [place == call.place for place in range(2)], carrier.shape)
    return on_graph(carrier.detach(), residual, carrier, call.x)


def einsum_in_reverse(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """torch.einsum of one decomposed operand and constants, or of two decomposed ones."""
    if options or len(args) < 2 or type(args[0]) is not str:
        return NotImplemented
    equation = args[0].replace(" ", "")
    pair = pair_of(args[1:])
    if pair is not None:
        return of_both(partial(func, equation), *pair, False)
    call = single(func, args, None, ANY)
    if call is None:
        return NotImplemented
    carrier = call(on_graph_of(call.x))
    if carrier.dtype is not call.x.value.dtype or shares_memory(carrier, call.x.value):
        return NotImplemented
    residual = call(_one_of_equal(call.x.residual, equation, call.place - 1)).expand(carrier.shape)
    return on_graph(carrier.detach(), residual, carrier, call.x)


def _one_of_equal(residual: torch.Tensor, equation: str, place: int) -> torch.Tensor:
    """The residual, once of the equal rows on axes that the result has of this operand alone."""
    given, _, out = equation.partition("->")
    terms = given.split(",")
    if "." in equation or not out or len(terms[place]) != residual.ndim:
        return residual
    others = "".join(terms[:place] + terms[place + 1 :])
    alone = [terms[place].count(letter) == 1 and letter in out and letter not in others for letter in terms[place]]
    strides = zip(residual.stride(), alone, strict=True)
    return residual[tuple([slice(0, 1) if its and not stride else slice(None) for stride, its in strides])]


def of_body(function: types.FunctionType, through: Function) -> Form:
    """The form of a function of torch that is written in Python, by `through`, which runs its body: the functions there
    are answered each by its own rule."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    position = names.index("inplace") if "inplace" in names else None

    def form(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
        x = args[0] if args else None
        if type(x) is not DecomposedTensor or not is_ordinary(x):
            return NotImplemented
        if position is not None and (len(args) > position or (options and options.get("inplace"))):
            return NotImplemented
        return through(func, args, options or {})

    return form

"""The options of a ufunc's call: which loop computes, where results are written, and what is masked."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

from npdec._array import wrap
from npdec._array.convert import as_dtype, as_tensor
from npdec._array.foreign_arrays import as_argument, asks_ufuncs
from npdec._array.output import check_writeable, refuse_numpys, write
from npdec._array.together import beside
from npdec._core import door
from npdec._core.base import MetAsking, UfuncBase
from npdec._core.tags import NoValue
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _storage, _util, dtypes_impl
from npdec._normalizer.loops import check_casting, read_signature, split
from npdec._torch.interrupts import each

__all__ = [
    "Call",
    "as_mask",
    "asked",
    "by_place",
    "choose",
    "deliver",
    "deliver_stacks",
    "left_out",
    "miscounted",
    "placed_out",
    "read",
    "read_out",
    "read_starts",
    "shows_out",
]

_OPTIONS = ("where", "casting", "order", "dtype", "subok", "signature", "sig")
_DOTS = "out=... is only allowed as a keyword argument."
_UNWRITTEN = "'where' used without 'out', expect unitialized memory in output. If this is intentional, use out=None."


class Call(NamedTuple):
    """What the options of a call say. `outs` holds an array or None for each result; None: all results are made, and
    `arrays` says that 0-d ones are arrays too."""

    outs: tuple[Any, ...] | None
    arrays: bool
    mask: torch.Tensor | None
    casting: str
    order: str
    dtype: torch.dtype | None
    chosen: Any


def miscounted(function: UfuncBase, count: int) -> TypeError:
    """The error of a call with so many positional arguments."""
    takes = f"{function.__name__}() takes from {function.nin} to {function.nargs} positional arguments"
    return TypeError(f"{takes} but {count} {'was' if count == 1 else 'were'} given")


def placed_out(function: UfuncBase, placed: tuple[Any, ...], out: Any) -> tuple[Any, tuple[Any, ...]]:
    """What is given by place behind the operands of a ufunc: the first array to write to, and one or None for each
    further result."""
    if out is None and function.nout > 1:
        raise TypeError("'out' must be a tuple of arrays")
    if len(placed) > function.nout:
        raise miscounted(function, function.nin + len(placed))
    if any(item is Ellipsis for item in placed):
        raise TypeError(_DOTS)
    if out is not NoValue:
        raise TypeError("cannot specify 'out' as both a positional and keyword argument")
    if any(isinstance(item, tuple) for item in placed):
        raise TypeError("return arrays must be of ArrayType")
    return placed[0], placed[1:] + (None,) * (function.nout - len(placed))


def by_place(method: str, first: int, placed: tuple[Any, ...], names: tuple[str, ...], named: Any) -> tuple[Any, ...]:
    """The options of a ufunc's method from `out` on, of which some are given by place, the first as that argument."""
    if placed[0] is Ellipsis:
        raise TypeError(_DOTS)
    if len(placed) > len(names):
        most = first + len(names)
        raise TypeError(f"{method}() takes at most {most} positional arguments but {first + len(placed)} were given")
    for i, name in enumerate(names[: len(placed)]):
        if named[i] is not NoValue:
            raise TypeError(f"argument for {method}() given by name ('{name}') and position (position {first + i})")
    return placed + named[len(placed) :]


def shows_out(method: Any) -> Any:
    """The method, in whose signature `out` stands in its place, and not for any that are given so."""
    signature = inspect.signature(method)
    *first, _, out = signature.parameters.values()
    method.__signature__ = signature.replace(
        parameters=[*first, out.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)]
    )
    return method


def read_out(function: UfuncBase, out: Any) -> tuple[Any, ...] | None:
    """`out=` as a tuple with an entry for each result; None if there is none. Raises TypeError, ValueError."""
    if out is None or out is NoValue or out is Ellipsis:
        return None
    if not isinstance(out, tuple):
        if function.nout > 1:
            raise TypeError("'out' must be a tuple of arrays")
        out = (out,)
    if len(out) != function.nout:
        raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
    for item in out:
        if item is Ellipsis:
            raise TypeError("must use `...` as `out=...` and not per-operand/in a tuple")
        if item is not None:
            if type(item) is not wrap.ARRAY:
                if asks_ufuncs(item):
                    raise MetAsking(type(item))
                refuse_numpys(item)
                raise TypeError("return arrays must be of ArrayType")
            check_writeable(function.__name__, item)
    return None if all(item is None for item in out) else out


def as_mask(where: Any, others: Iterable[Any]) -> torch.Tensor | None:
    """`where=` as a tensor of booleans, of a list on the device of the others; None for True. Raises TypeError for
    numbers that are not booleans."""
    if where is True:
        return None
    if asks_ufuncs(where):
        raise MetAsking(type(where))
    if not hasattr(where, "__setitem__") or isinstance(where, list):
        return beside(as_tensor(where, torch.bool), where, others)  # by their truth
    mask = as_tensor(where)
    if mask.dtype is not torch.bool:
        raise TypeError(
            f"Cannot cast array data from {wrap.dtype_repr(mask.dtype)} to dtype('bool') according to the rule 'safe'"
        )
    return mask


def left_out(function: UfuncBase, operands: tuple[Any, ...], mask: torch.Tensor | None) -> tuple[Any, ...]:
    """The operands of a ufunc that refuses some integers, of which it is not to refuse what the mask leaves out."""
    spare, last = function._spare, operands[-1]
    if mask is None or spare is None:
        return operands
    chosen = mask.value if isinstance(mask, DecomposedTensor) else mask
    if isinstance(last, torch.Tensor):
        if dtypes_impl.kind(last.dtype) == "i":
            return (*operands[:-1], torch.where(chosen, last, spare))
        return operands
    if type(last) is not int or last >= 0 or not _util.is_known_true(~chosen.any()):
        return operands  # a number is refused wherever it is needed
    dtype = dtypes_impl.result_type(*operands)
    held = dtypes_impl.kind(dtype) == "i" and last >= torch.iinfo(dtype).min
    return (*operands[:-1], spare) if held else operands


def read_starts(function: UfuncBase, indices: Any, length: int) -> torch.Tensor:
    """The indices of `reduceat`, on an axis of so many elements. Numbers in a list are cut off, as NumPy does; an array
    has to be one of integers (TypeError). Raises ValueError unless they are in a row, IndexError out of bounds."""
    places = as_tensor(indices)
    if hasattr(indices, "dtype") and not dtypes_impl.can_cast(places.dtype, torch.int64):
        raise TypeError(
            f"Cannot cast array data from {wrap.dtype_repr(places.dtype)} to dtype('int64') according to the rule "
            "'safe': reduceat needs indices of integers"
        )
    if not places.ndim:
        raise ValueError("object of too small depth for desired array")
    if places.ndim > 1:
        raise ValueError(
            "setting an array element with a sequence. The requested array would exceed the maximum number of "
            "dimension of 1."
        )
    first = torch.as_tensor([int(i) for i in _util.integers(places)], dtype=torch.int64)
    for start in first[(first < 0) | (first >= length)].tolist():
        raise IndexError(f"index {start} out-of-bounds in {function.__name__}.reduceat [0, {length})")
    return first


def are_known(function: UfuncBase, options: dict[str, Any]) -> bool:
    """Whether options are such that another class may be asked what they mean: of known names, once each."""
    out = options.get("out")
    count = len(out) if isinstance(out, tuple) else 1
    return {*options} <= {"out", *_OPTIONS} and not {"sig", "signature"} <= {*options} and count == function.nout


def asked(function: UfuncBase, inputs: tuple[Any, ...], options: dict[str, Any], error: Exception) -> Any:
    """What a class gives that computes ufuncs itself, where the options can be read by nobody else. Raises the error
    where there is none."""
    if are_known(function, options):
        out = options.get("out")
        for x in (*inputs, *(out if isinstance(out, tuple) else (out,)), options.get("where")):
            if asks_ufuncs(x):
                raise MetAsking(type(x)) from None
        made = door.subclasses.value().asked(function, "__call__", inputs, options)
        if made is not NoValue:
            return made
    raise error


def read(function: UfuncBase, inputs: Any, out: Any, more: tuple[Any, ...], options: dict[str, Any]) -> Call:
    """The options of a call, checked. Raises TypeError and ValueError in NumPy's words."""
    name = function.__name__
    for option in options:
        if option not in _OPTIONS:
            raise TypeError(f"{name}() got an unexpected keyword argument '{option}'")
    if more:
        out = (out, *more)
    casting, order, subok = options.get("casting", "same_kind"), options.get("order", "K"), options.get("subok", True)
    check_casting(casting)
    if type(order) is not str or order != "K":
        order = _storage.check_order(order)
    if order == "A":
        order = "F" if all(map(_is_column_major, inputs)) else "C"
    if not isinstance(subok, bool):
        raise TypeError("'subok' must be a boolean")
    signature, dtype = options.get("signature"), options.get("dtype")
    if "sig" in options:
        if "signature" in options:
            raise TypeError("cannot specify both 'sig' and 'signature'")
        signature = options["sig"]
    chosen, computed = None, None if dtype is None else as_dtype(dtype)
    if signature is not None:
        if dtype is not None:
            raise TypeError("cannot specify both 'signature' and 'dtype'")
        chosen, computed = split(function, read_signature(function, signature))
    outs = read_out(function, out)
    where = options.get("where", True)
    if where is not True and out is NoValue:
        _util.warn(_UNWRITTEN, UserWarning)
    mask = as_mask(where, inputs)
    return Call(outs, out is Ellipsis, mask, casting, order, computed, chosen)


def _is_column_major(x: Any) -> bool:
    """Whether an input counts as one of which the first axis is fastest in memory, as those of one axis do."""
    if type(x) is wrap.ARRAY:
        return bool(x.flags.f_contiguous)
    return as_argument(x).dim() < 2


def deliver(function: UfuncBase, call: Call, results: tuple[torch.Tensor, ...], found: set[str] | None) -> Any:
    """The results as arrays and scalars, or written where `out=` says; errors of their casts are added to `found`."""
    mask = call.mask
    if call.outs is None:
        if mask is not None:
            shape = _broadcast(mask, results[0])
            results = tuple(torch.where(mask, r, torch.zeros_like(r)).expand(shape) for r in results)
        if call.order == "F":
            results = tuple(r.mT.contiguous().mT if r.ndim == 2 else _column_major(r) for r in results)
        elif call.order == "C":
            results = tuple(r.contiguous() for r in results)
        wrapped = tuple(map(wrap.wrap_array if call.arrays else wrap.wrap, results))
        return wrapped if function.nout > 1 else wrapped[0]
    for i, (out, r) in enumerate(zip(call.outs, results, strict=True)):
        if out is not None:
            _check(function, i, out, r, call)
    name, given = function.__name__, zip(call.outs, results, strict=True)
    if function.nout == 1:
        write(name, call.outs[0], results[0], call.casting, mask, found)
        return call.outs[0]
    each(write, [(name, out, r, call.casting, mask, found) for out, r in given if out is not None])
    shape = next(out.shape for out in call.outs if out is not None)
    return tuple(_masked(r, mask, shape) if out is None else out for out, r in zip(call.outs, results, strict=True))


def _masked(r: torch.Tensor, mask: torch.Tensor | None, shape: tuple[int, ...]) -> Any:
    """A result that is written nowhere, in the shape of those that are."""
    made = r if mask is None else torch.where(mask, r, torch.zeros_like(r))
    return wrap.wrap(made if made.shape == shape else made.expand(shape).clone())


def _column_major(r: torch.Tensor) -> torch.Tensor:
    dims = tuple(reversed(range(r.ndim)))
    return r.permute(dims).contiguous().permute(dims)


def _broadcast(mask: torch.Tensor, r: torch.Tensor) -> tuple[int, ...]:
    return _util.broadcast_shapes(r.shape, mask.shape)


def _check(function: UfuncBase, i: int, out: Any, r: torch.Tensor, call: Call) -> None:
    """Raise unless a result can be written into an array."""
    shape = tuple(r.shape) if call.mask is None else _broadcast(call.mask, r)
    target = tuple(out._t.shape)
    if shape != target and _util.broadcast_shapes(shape, target) != target:
        raise ValueError(
            f"non-broadcastable output operand with shape {wrap.shape_repr(target)} doesn't match the broadcast "
            f"shape {wrap.shape_repr(shape)}"
        )
    _check_cast(function, i, r, out, call.casting)


def _check_cast(function: UfuncBase, i: int, r: torch.Tensor, out: Any, casting: str) -> None:
    if not dtypes_impl.can_cast(r.dtype, out._d, casting):
        number = f" {i}" if function.nout > 1 else ""
        raise TypeError(
            f"Cannot cast ufunc '{function.__name__}' output{number} from {wrap.dtype_repr(r.dtype)} to "
            f"{wrap.dtype_repr(out._d)} with casting rule '{casting}'"
        )


# --- generalised ufuncs -----------------------------------------------------------------------------------------------


def choose(function: UfuncBase, signature: Any, dtype: Any) -> torch.dtype | None:
    """The dtype in which a generalised ufunc computes, by `signature=`: all of its operands have the same."""
    if dtype is not None:
        raise TypeError("cannot specify both 'signature' and 'dtype'")
    wanted = set(read_signature(function, signature)) - {None}
    if len(wanted) > 1:
        raise TypeError(f"No loop matching the specified signature and casting was found for ufunc {function.__name__}")
    return wanted.pop() if wanted else None


def deliver_stacks(function: UfuncBase, out: Any, result: torch.Tensor, casting: str) -> Any:
    """The result of a generalised ufunc written into `out`, over whose further axes it is broadcast."""
    outs = read_out(function, out)
    if outs is None:
        return wrap.wrap_array(result) if out is Ellipsis else wrap.wrap(result)
    target = outs[0]
    assert function.signature is not None
    core = [dim for dim in function.signature.partition("->")[2].strip("()").split(",") if dim]
    have, need = tuple(target._t.shape), tuple(result.shape)
    for position in range(-min(len(core), len(need)), 0):
        size = have[position] if len(have) >= -position else None
        if size != need[position]:
            raise ValueError(
                f"{function.__name__}: Output operand 0 has a mismatch in its core dimension {len(core) + position}, "
                f"with gufunc signature {function.signature} (size {size} is different from {need[position]})"
            )
    try:
        fits = _util.broadcast_shapes(need, have) == have
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"non-broadcastable output operand with shape {wrap.shape_repr(have)} doesn't match the broadcast shape "
            f"{wrap.shape_repr(need)}"
        )
    _check_cast(function, 0, result, target, casting)
    write(function.__name__, target, result, casting)
    return target

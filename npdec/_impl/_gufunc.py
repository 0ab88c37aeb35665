"""Generalised ufuncs of two operands: functions on the last axes of stacks of arrays, broadcast over the others.

A signature such as `(m,n),(n)->(m)` names the core dimensions of the operands and of the result; equal names have equal
sizes, and a dimension with a question mark may be missing. Here are the parts of a call that do not depend on what is
computed: `axes=`, `axis=` and `keepdims=`, the checks of shapes, the choice of the dtype, the memory order.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from npdec._core.tags import NoValue
from npdec._impl import _storage, dtypes_impl
from npdec._impl._util import broadcast_shapes, normalize_axis
from npdec.exceptions import AxisError

__all__ = ["Options", "Signature", "call", "column_major", "shape_text", "widened"]

# torch has no products (or sums) of these dtypes on the CPU, or rounds the sum of float16 at every step: compute in a
# wider one. Sums of products wrap around in int64 as they do in any narrower integer, and modulo 2**64 in uint64.
_WIDER = {
    torch.bool: torch.int64,
    torch.uint16: torch.int64,
    torch.uint32: torch.int64,
    torch.uint64: torch.int64,
    torch.float16: torch.float32,
}


def widened(function: Callable[..., torch.Tensor], *operands: torch.Tensor) -> torch.Tensor:
    """`function` of operands of one dtype, computed in a dtype that torch can; a bool result says what is not zero."""
    dtype = operands[0].dtype
    wider = _WIDER.get(dtype)
    if wider is None:
        return function(*operands)
    result = function(*(x.to(dtype=wider) for x in operands))
    return result != 0 if dtype is torch.bool else result.to(dtype=dtype)


def column_major(x: torch.Tensor) -> torch.Tensor:
    """`x` with its first axis fastest in memory."""
    backwards = tuple(reversed(range(x.ndim)))
    return x.permute(backwards).contiguous().permute(backwards)


def shape_text(shape: Any) -> str:
    """A shape as NumPy's messages write it: `(2,3)`, `(2,)`, `()`."""
    sizes = ",".join(map(str, shape))
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"


class Options(NamedTuple):
    """The keyword arguments that all generalised ufuncs share. Arrays of subclasses, which `subok` is about, are not
    seen here."""

    axes: Any
    axis: Any
    keepdims: bool
    casting: str
    order: str
    dtype: torch.dtype | None
    subok: bool
    signature: Any


class Signature:
    """The core dimensions of the operands and of the result, read from a text such as `(m,n),(n)->(m)`."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        inputs, output = text.split("->")
        self.inputs = [self._names(part) for part in inputs.strip("()").split("),(")]
        self.output = self._names(output.strip("()"))
        self.required = [sum(not dim.endswith("?") for dim in dims) for dims in self.inputs]
        self.distinct = {dim for dims in (*self.inputs, self.output) for dim in dims}

    @staticmethod
    def _names(part: str) -> tuple[str, ...]:
        return tuple(filter(None, part.split(",")))

    def fits(self, *ndims: int) -> bool:
        """Whether operands with so many axes have enough of them."""
        return all(ndim >= least for ndim, least in zip(ndims, self.required))

    def core(self, operands: tuple[torch.Tensor, ...]) -> list[tuple[str, ...]]:
        """The core dimensions that each operand has, then those of the result. Raises ValueError on too few."""
        found, missing = [], set()
        for i, (dims, x) in enumerate(zip(self.inputs, operands)):
            required = tuple(dim for dim in dims if not dim.endswith("?"))
            if x.ndim < len(required):
                raise ValueError(
                    f"{self.name}: Input operand {i} does not have enough dimensions (has {x.ndim}, gufunc core with "
                    f"signature {self.text} requires {len(required)})"
                )
            if x.ndim < len(dims):
                missing |= set(dims) - set(required)
                dims = required
            found.append(dims)
        return [*found, tuple(dim for dim in self.output if dim not in missing)]

    def places(self, core: list[tuple[str, ...]], options: Options) -> list[tuple[int, ...]]:
        """Where the core dimensions of each operand, and of the result, are among its axes."""
        if options.keepdims:
            self._check_keepdims()
            core = [*core[:-1], core[0]]
        if options.axis is not NoValue:
            if options.axes is not NoValue:
                raise TypeError("cannot specify both 'axis' and 'axes'")
            if len(self.distinct) > 1:
                raise TypeError(
                    f"{self.name}: axis can only be used with a single shared core dimension, not with the "
                    f"{len(self.distinct)} distinct ones implied by signature {self.text}."
                )
            return [(operator.index(options.axis),) * len(dims) for dims in core]
        if options.axes is NoValue:
            return [tuple(range(-len(dims), 0)) for dims in core]
        return self._read_axes(options.axes, core)

    def _check_keepdims(self) -> None:
        problem = None
        if self.output:
            problem = f"output 0 to have {len(self.output)} core dimensions"
        for i, dims in enumerate(self.inputs):
            if len(dims) != len(self.inputs[0]):
                problem = f"input {i} to have {len(dims)} core dimensions"
        if problem:
            raise TypeError(
                f"{self.name} does not support keepdims: its signature {self.text} requires {problem}, but keepdims "
                "can only be used when all inputs have the same number of core dimensions and all outputs have no core "
                "dimensions."
            )

    def _read_axes(self, axes: Any, core: list[tuple[str, ...]]) -> list[tuple[int, ...]]:
        if not isinstance(axes, list):
            raise TypeError("axes should be a list.")
        if len(axes) == len(core) - 1 and not self.output:
            axes = [*axes, tuple(range(-len(core[-1]), 0))]
        if len(axes) != len(core):
            raise ValueError(
                f"axes should be a list with an entry for all {len(core)} inputs and outputs; entries for outputs can "
                "only be omitted if none of them has core axes."
            )
        places = []
        for i, (item, dims) in enumerate(zip(axes, core)):
            if not isinstance(item, tuple):
                if len(dims) != 1:
                    raise AxisError(
                        f"{self.name}: operand {i} has {len(dims)} core dimensions, "
                        "but the axes item is a single integer."
                    )
                item = (item,)
            if len(item) != len(dims):
                raise AxisError(
                    f"{self.name}: operand {i} has {len(dims)} core dimensions, but {len(item)} dimensions are "
                    "specified by axes tuple."
                )
            places.append(tuple(map(operator.index, item)))
        return places

    def check_sizes(self, core: list[tuple[str, ...]], operands: list[torch.Tensor]) -> None:
        """Raises ValueError where core dimensions of one name differ, or the others do not broadcast."""
        sizes: dict[str, int] = {}
        for i, (dims, x) in enumerate(zip(core, operands)):
            for position, dim in enumerate(dims):
                size = x.shape[x.ndim - len(dims) + position]
                if sizes.setdefault(dim, size) != size:
                    raise ValueError(
                        f"{self.name}: Input operand {i} has a mismatch in its core dimension {position}, with gufunc "
                        f"signature {self.text} (size {size} is different from {sizes[dim]})"
                    )
        stacks = [tuple(x.shape[: x.ndim - len(dims)]) for dims, x in zip(core, operands)]
        try:
            broadcast_shapes(*stacks)
        except ValueError:
            mapped = " ".join(
                f"{shape_text(x.shape)}->({','.join([*map(str, stack), *['newaxis'] * len(core[-1])])})"
                for x, stack in zip(operands, stacks)
            )
            requested = ",".join(str(sizes[dim]) for dim in core[-1])
            raise ValueError(
                f"operands could not be broadcast together with remapped shapes [original->remapped]: {mapped}  "
                f"and requested shape ({requested})"
            ) from None


def call(
    signature: Signature,
    function: Callable[..., torch.Tensor],
    operands: tuple[torch.Tensor, ...],
    options: Options,
) -> torch.Tensor:
    """The generalised ufunc whose `function` takes operands with their core axes last and gives such a result."""
    name = signature.name
    if options.signature is not None:
        raise TypeError(f"{name}: choose the loop with dtype=; signature= is not supported")
    if not isinstance(options.subok, bool):
        raise TypeError("'subok' must be a boolean")
    order = _storage.check_order(options.order)
    core = signature.core(operands)
    stay = options.axes is NoValue and options.axis is NoValue and not options.keepdims
    places = [] if stay else signature.places(core, options)
    moved = [_core_last(i, x, axes) for i, (x, axes) in enumerate(zip(operands, places))] or list(operands)
    signature.check_sizes(core, moved)
    result = widened(function, *_cast(name, moved, options))
    if options.keepdims:
        result = result.reshape(result.shape + (1,) * len(core[0]))
    if places and places[-1]:
        out_axes = tuple(normalize_axis(axis, result.ndim) for axis in places[-1])
        result = torch.movedim(result, tuple(range(-len(out_axes), 0)), out_axes)
    return column_major(result) if order == "F" else result


def _core_last(i: int, x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    positive = tuple(normalize_axis(axis, x.ndim) for axis in axes)
    for axis in positive:
        if positive.count(axis) > 1:
            raise ValueError(f"axes item {i} has value {axis} repeated")
    return torch.movedim(x, positive, tuple(range(-len(positive), 0)))


def _cast(name: str, operands: list[torch.Tensor], options: Options) -> list[torch.Tensor]:
    """The operands in the dtype of the computation, if the casting rule allows it."""
    dtype = options.dtype or dtypes_impl.result_type(*operands)
    for i, x in enumerate(operands):
        if not dtypes_impl.can_cast(x.dtype, dtype, options.casting):
            words = [str(d).removeprefix("torch.") for d in (x.dtype, dtype)]
            raise TypeError(
                f"Cannot cast ufunc '{name}' input {i} from dtype('{words[0]}') to dtype('{words[1]}') with casting "
                f"rule '{options.casting}'"
            )
    return [x.to(dtype=dtype) for x in operands]

"""PyDec's names (NJUNLP, PyDec 0.3.0), over npdec's decomposition: programs for PyDec run by changing their import.

`import npdec.pydec as pydec` is the one way. `add`, `sum`, `reshape` and the others are torch's; a composition is a
`np.DecomposedTensor`, which torch's functions and modules take, and of which `pydec.Composition` is the type.

What differs: the value is computed by the function itself and kept beside the parts; `decOVF.set_decomposition_func`
holds in the thread or task that calls it; contributions pass through products, normalisation and softmax by npdec's law
(`np.rule(normalisation="frozen")` is PyDec's linearised layer_norm). Components are taken by `c.components[...]`.

>>> import npdec.pydec as pydec
>>> c = pydec.diagonal_init(pydec.zeros(2, c_num=2), src=torch.tensor([1.0, 2.0]), dim=0)
>>> torch.relu(torch.mul(c, 2)).components
tensor([[2., 0.],
        [0., 4.]])
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType, SimpleNamespace
from typing import Any

import torch
from torch import nn

from npdec import overrides
from npdec._core.tracebacks import ends
from npdec._decomposed.settings import Settings, current
from npdec._decomposed.tensor import DecomposedTensor, carries
from npdec._law import named_rules
from npdec._torch.tracing import holding, note_context
from npdec.exceptions import MissingNameError

# The functions of torch that PyDec has under its own name.
_TORCH = """
    abs abs_ add all any bmm cat clone concat concatenate detach detach_ diagonal_scatter div divide eq exp exp_ gather
    ge gt index_fill index_select isinf isnan le lt masked_fill masked_scatter masked_select matmul mean mm mul multiply
    mv ne numel permute reciprocal reciprocal_ relu relu_ reshape rnn_relu rnn_tanh round round_ scatter select sigmoid
    sigmoid_ softmax sqrt sqrt_ square square_ squeeze stack sub subtract sum tanh tanh_ transpose unsqueeze var
""".split()
_ABSENT = {
    **dict.fromkeys(
        ["enable_c_accessing", "set_c_accessing_enabled", "is_c_accessing_enabled"],
        "an index is of the value's axes; components are c.components[...]",
    ),
    **dict.fromkeys(["IndexComposition", "empty_indices"], "PyDec itself does not implement it"),
    "void": "a composition without parts has no shape; as_composition makes one of its parts",
}

__all__ = [
    "Composition", "as_composition", "c_apply", "c_cat", "c_index_select", "c_map", "c_masked_fill", "c_numel",
    "c_stack", "c_sum", "decOVF", "diagonal_init", "nn", "numc", "overrides", "zeros", "zeros_like",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _TORCH:
        return getattr(torch, name)
    if name in _ABSENT:
        raise AttributeError(f"npdec.pydec has no {name}: {_ABSENT[name]}")
    raise MissingNameError("npdec.pydec", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_TORCH})


class _Compositions(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, DecomposedTensor)


class Composition(metaclass=_Compositions):
    """`Composition(component_tensor, residual_tensor=None)` or `Composition(composition)`: a DecomposedTensor of copies
    of these parts, without autograd's graph. DecomposedTensors are its instances.

    >>> Composition(torch.ones(3, 2)).c_sum()
    tensor([3., 3.])
    """

    def __new__(cls, component_tensor: Any = None, residual_tensor: Any = None, *, composition: Any = None) -> Any:
        components, residual = composition if component_tensor is None else component_tensor, residual_tensor
        if isinstance(components, DecomposedTensor):
            if residual is not None:
                raise TypeError("Composition: another composition has its residual already")
            components, residual = components.components, components.residual
        if not isinstance(components, torch.Tensor):
            raise TypeError(f"Composition: components are a torch.Tensor, not {components!r}")
        if residual is not None and not isinstance(residual, torch.Tensor):
            raise TypeError(f"Composition: a residual is a torch.Tensor, not {residual!r}")
        return as_composition(components.detach().clone(), None if residual is None else residual.detach().clone())


@ends
def zeros(*size: Any, c_num: int | None = None, dtype: Any = None, device: Any = None, **options: Any) -> Any:
    """A composition of zeros: `zeros(size, c_num)`, `zeros(2, 3, c_num=4)`. `options` are those of torch.zeros.

    >>> zeros((2, 3), 4).c_size()
    torch.Size([4, 2, 3])
    """
    size = (options.pop("size"), *size) if "size" in options else size
    if size and not isinstance(size[0], int):
        size, c_num = tuple(size[0]), size[1] if len(size) > 1 else c_num
    if c_num is None:
        raise TypeError("zeros: c_num, the number of components, is missing")
    given = {"dtype": dtype, "device": device, **options}
    return as_composition(torch.zeros((c_num, *size), **given), torch.zeros(size, **given))


def zeros_like(input: DecomposedTensor, **options: Any) -> DecomposedTensor:
    """A composition of zeros like another one. `options` are those of torch.zeros_like."""
    return as_composition(torch.zeros_like(input.components, **options), torch.zeros_like(input.residual, **options))


def as_composition(components: torch.Tensor, residual: torch.Tensor | None = None) -> DecomposedTensor:
    """The decomposed tensor of these parts, which are not copied: components (C, *S), a residual of shape S (by default
    zeros). Its labels are 0 to C − 1, so that components of equal number belong together.

    Raises TypeError for integers, ValueError for shapes or dtypes that do not fit together.

    >>> np.pydec.as_composition(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    DecomposedTensor(tensor([1., 2.]), residual=0, components=2: 1 67%, 0 33%)
    """
    if not isinstance(components, torch.Tensor) or not components.ndim:
        raise TypeError(f"as_composition: components are a torch.Tensor of shape (C, *S), not {components!r}")
    if residual is None:
        residual = components.new_zeros(components.shape[1:])
    if not carries(components.dtype):
        raise TypeError(f"as_composition: components are real or complex numbers, not {components.dtype}")
    if residual.dtype is not components.dtype or residual.device != components.device:
        raise ValueError(
            f"as_composition: components of dtype {components.dtype} on {components.device} need a residual like them, "
            f"not of {residual.dtype} on {residual.device}"
        )
    labels = tuple(range(len(components)))
    if residual.shape != components.shape[1:]:
        raise ValueError(
            f"as_composition: components of shape {tuple(components.shape)} need a residual of shape "
            f"{tuple(components.shape[1:])}, not {tuple(residual.shape)}"
        )
    return DecomposedTensor(residual + components.sum(0), residual, components, labels)


def diagonal_init(input: DecomposedTensor, src: torch.Tensor, dim: int, offset: int = 0) -> DecomposedTensor:
    """`input` with `src`, of its shape, spread over the components: component i has what `src` has at index i of axis
    `dim`, at that index; with an `offset`, component i is written at index i + `offset`.

    >>> x = torch.tensor([1.0, 2.0])
    >>> diagonal_init(zeros(x.size(), c_num=2), src=x, dim=0).components
    tensor([[1., 0.],
            [0., 2.]])
    """
    dim %= src.ndim
    components = input.components.diagonal_scatter(src.movedim(dim, -1), offset=offset, dim1=0, dim2=dim + 1)
    return as_composition(components, input.residual.clone())


def c_apply(input: DecomposedTensor, callable: Callable[[torch.Tensor], torch.Tensor]) -> DecomposedTensor:
    """What the function makes of the components, as they stand in one tensor, and of the residual."""
    return as_composition(callable(input.components), callable(input.residual))


def c_map(
    input: DecomposedTensor, other: DecomposedTensor, callable: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> DecomposedTensor:
    """What the function makes of the components of both, and of the residuals."""
    return as_composition(callable(input.components, other.components), callable(input.residual, other.residual))


def c_cat(compositions: Sequence[DecomposedTensor], *, sum_residual: bool = True) -> DecomposedTensor:
    """All components, one set after the other; the residual is the sum of the residuals, or zero.

    Raises ValueError for different shapes.
    """
    if any(c.shape != compositions[0].shape for c in compositions):
        raise ValueError(f"c_cat: one shape is needed, not {', '.join(str(tuple(c.shape)) for c in compositions)}")
    residual = torch.stack([c.residual for c in compositions]).sum(0) if sum_residual else None
    return as_composition(torch.cat([c.components for c in compositions]), residual)


def c_stack(components: Sequence[torch.Tensor]) -> DecomposedTensor:
    """A composition with these tensors, of one shape, for components."""
    return as_composition(torch.stack(list(components)))


def c_index_select(input: DecomposedTensor, index: torch.Tensor, with_residual: bool = True) -> DecomposedTensor:
    """The chosen components; the residual is that of the input, or zero."""
    return as_composition(input.components.index_select(0, index), input.residual.clone() if with_residual else None)


def c_masked_fill(input: DecomposedTensor, mask: torch.Tensor, value: Any) -> DecomposedTensor:
    """The components with `value` where the mask, one boolean for each or a tensor that broadcasts to them, is true."""
    if mask.ndim == 1:
        if len(mask) != len(input.labels):
            raise ValueError(f"c_masked_fill: a mask of {len(mask)} for {len(input.labels)} components")
        mask = mask.reshape((-1,) + (1,) * input.ndim)
    return as_composition(input.components.masked_fill(mask, value), input.residual.clone())


def numc(input: Any) -> int:
    """The number of components of a decomposed tensor or array."""
    return len(input.labels)


def c_numel(input: Any, count_residual: bool = False) -> int:
    """The number of elements of all components, and of the residual if that is wanted."""
    return math.prod(input.shape) * (len(input.labels) + bool(count_residual))


def c_sum(input: Any, *, dtype: torch.dtype | None = None) -> Any:
    """`residual + components.sum(0)`: the value, from its parts."""
    made = input.c_sum()
    return made if dtype is None else made.to(dtype)


# -- the rules of pointwise functions ----------------------------------------------------------------------------------


# What set_decomposition_args has set, which holds for the rules that take it.
_options: ContextVar[Mapping[str, Any]] = ContextVar("npdec.pydec.options", default=MappingProxyType({}))


def _set(name: str, options: Mapping[str, Any]) -> None:
    """Let the named rule hold from here on, with those of the options that it takes."""
    with named_rules.rule(name, **named_rules.accepted(name, options)):
        made = current.get()
    note_context(current.get(), False)
    note_context(made, made != Settings())
    current.set(made)
    _options.set(options)


def set_decomposition_func(name: str) -> None:
    """Let pointwise functions follow the named rule (see `np.rule`), from here on in this thread or task.

    Raises ValueError for an unknown name.
    """
    _set(name, _options.get())


def get_decomposition_name() -> str:
    """The name of the rule that pointwise functions follow."""
    return current.get().rule


def using_decomposition_func(name: str) -> Any:
    """Context manager and decorator: `np.rule(name)`, with the options that are set and that the rule takes."""
    return named_rules.rule(name, **named_rules.accepted(name, _options.get()))


def set_decomposition_args(update: bool = True, **options: Any) -> None:
    """Set options for the rules that take them (`threshold` of hybrid_affine), beside those that are set or in place of
    them."""
    _set(current.get().rule, {**(_options.get() if update else {}), **options})


def get_decomposition_args() -> dict[str, Any]:
    """The options that are set."""
    return dict(_options.get())


@contextlib.contextmanager
def using_decomposition_args(update: bool = True, **options: Any) -> Iterator[None]:
    """Context manager and decorator: `set_decomposition_args`, for a while."""
    given = {**(_options.get() if update else {}), **options}
    name = current.get().rule
    with holding(_options, given), named_rules.rule(name, **named_rules.accepted(name, given)):
        yield


def register_decomposition_func(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register `func(input, func, *, ref=None, inplace=False, **options)`, which returns a composition, as a rule.

    `input` is the composition, `func` the function of plain tensors. Raises ValueError if the name is taken.
    """

    def register(decomposition: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(decomposition)  # the options are those of the function
        def rule(
            f: Callable[..., torch.Tensor],
            value: torch.Tensor,
            residual: torch.Tensor,
            components: torch.Tensor,
            f_value: torch.Tensor,
            others: tuple[torch.Tensor, ...],
            **options: Any,
        ) -> tuple[torch.Tensor, torch.Tensor]:
            made = decomposition(as_composition(components, residual), lambda u: f(u, *others), ref=value, **options)
            return made.residual, made.components

        named_rules.register_rule(name)(rule)
        return decomposition

    return register


decOVF = SimpleNamespace(
    register_decomposition_func=register_decomposition_func,
    set_decomposition_func=set_decomposition_func,
    get_decomposition_name=get_decomposition_name,
    using_decomposition_func=using_decomposition_func,
    set_decomposition_args=set_decomposition_args,
    get_decomposition_args=get_decomposition_args,
    using_decomposition_args=using_decomposition_args,
)
core = SimpleNamespace(decOVF=decOVF)

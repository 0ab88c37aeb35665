"""What reverse mode needs of autograd: graphs where contributions flow, none elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import torch

from npdec._decomposed import completeness
from npdec._decomposed.size_warnings import has_finite_sum
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import tracing

__all__ = [
    "carried", "derived_twice", "freed", "graft", "guarded", "uses_vjp", "no_graph", "overwritten", "by_vjp",
    "read_only", "scaled", "several_by_vjp", "several_with_vjp", "stand_in", "with_vjp",
]  # fmt: skip


# Whether the graph that is made will be derived with a graph, which the shorter one of `by_vjp` cannot be.
derived_twice: ContextVar[bool] = ContextVar("npdec.derived_twice", default=False)


class no_graph:
    """Reverse mode differentiates components alone: values and residuals need no graph of the parameters. (This is
    torch.no_grad, which takes longer to make than a small operation to run.)"""

    __slots__ = ("before",)

    def __init__(self, reverse: bool) -> None:
        self.before = torch.is_grad_enabled() if reverse else None

    def __enter__(self) -> None:
        if self.before:
            torch._C._set_grad_enabled(False)

    def __exit__(self, *exception: object) -> None:
        if self.before:
            torch._C._set_grad_enabled(True)


class _Graft(torch.autograd.Function):
    """The difference of two tensors of known value, on the graph of a third one of their shape."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor, base: torch.Tensor, carrier: torch.Tensor) -> torch.Tensor:
        return value - base

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, grads[0]


def graft(value: torch.Tensor, base: torch.Tensor, carrier: torch.Tensor) -> torch.Tensor:
    """`value - base`, through which gradients flow as through `carrier`."""
    return _apply(_Graft, value, base, carrier)


def _apply(function: type[torch.autograd.Function], *args: Any) -> torch.Tensor:
    """`function.apply`, which looks at its arguments for torch.func and decomposed tensors first."""
    if tracing() or is_transformed():
        found: torch.Tensor = function.apply(*args)
    else:
        found = super(torch.autograd.Function, function).apply(*args)  # type: ignore[misc]
    return found


def read_only(components: torch.Tensor) -> torch.Tensor:
    """The components for a function that takes no views of them, of which autograd may keep them though it needs no
    more than their shape: what is written to them later does not concern it."""
    return components.unsafe_chunk(1)[0]


def overwritten(error: RuntimeError) -> bool:
    """Whether torch says that a graph needs what was written over, or a write that one may keep a view of what it is to
    write over (`npdec._decomposed.shared_storage`)."""
    text = str(error)
    return "has been modified by an inplace operation" in text or "its base, what a graph keeps" in text


def freed(error: RuntimeError) -> bool:
    """Whether torch says that a graph needs memory that was given back: fully_shard frees gathered weights after each
    layer, and gathers them again for a backward of the layer's own outputs only."""
    return "setStorage" in str(error) and "storage of size 0" in str(error)


def stand_in(value: torch.Tensor, components: torch.Tensor) -> torch.Tensor:
    """`value` on the graph of the only component: an argument for a function that only reads it. It is no view of the
    component: what a graph keeps of it would keep that one's memory too."""
    if tracing() or is_transformed():
        carrier = components.squeeze(0)
    else:
        carrier = torch.ops.aten._unsafe_view.default(components, components.shape[1:])
    carrier.data = value
    return carrier


def carried(value: torch.Tensor, components: torch.Tensor) -> torch.Tensor:
    """The same for a function that keeps what it reads for the way back: what is written to the component later does
    not touch it."""
    return _apply(_ByVJP, [value], _first_axis, (), False, components)


def _first_axis(grad: torch.Tensor) -> torch.Tensor:
    return grad.unsqueeze(0)


class _ByVJP(torch.autograd.Function):
    """A tensor on the graph of another one, with a derivative that is given."""

    @staticmethod
    def forward(
        ctx: Any,
        made: list[torch.Tensor],
        vjp: Any,
        held: Sequence[torch.Tensor],
        symmetric: bool,
        *carriers: torch.Tensor,
    ) -> torch.Tensor:
        ctx.vjp, ctx.symmetric = vjp, symmetric
        ctx.save_for_backward(*held)
        return made.pop()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if torch.is_grad_enabled():  # with create_graph
            if not ctx.symmetric:
                raise NotImplementedError("the multipliers of reverse mode are constants: they have no derivatives")
            return None, None, None, None, _apply(_Symmetric, ctx.vjp, grads[0])
        found = ctx.vjp(grads[0], *ctx.saved_tensors)
        return (None, None, None, None, *(found if isinstance(found, tuple) else (found,)))


class _SeveralByVJP(torch.autograd.Function):
    """The same for several tensors, of which some may have no gradient."""

    @staticmethod
    def forward(
        ctx: Any, made: list[torch.Tensor], vjp: Any, held: Sequence[torch.Tensor], *carriers: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        ctx.vjp = vjp
        ctx.save_for_backward(*held)
        ctx.set_materialize_grads(False)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if torch.is_grad_enabled():
            raise NotImplementedError("the multipliers of reverse mode are constants: they have no derivatives")
        return (None, None, None, *ctx.vjp(grads, *ctx.saved_tensors))


class _Symmetric(torch.autograd.Function):
    """A linear function that is its own transpose, of which a graph keeps nothing."""

    @staticmethod
    def forward(ctx: Any, function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        ctx.function = function
        return function(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, _apply(_Symmetric, ctx.function, grads[0])


def uses_vjp(reverse: bool, symmetric: bool = False) -> bool:
    """Whether the component of a result may be made by `by_vjp`: in reverse mode, where nothing looks closely, and the
    graph is derived once, if the derivative is not `symmetric`."""
    return (
        reverse
        and not tracing()
        and not is_transformed()
        and completeness.current.get() is None  # which is about the contributions themselves
        and (symmetric or not derived_twice.get())
    )


def by_vjp(
    value: torch.Tensor,
    base: torch.Tensor,
    components: torch.Tensor | Sequence[torch.Tensor],
    vjp: Callable[..., Any],
    difference: torch.Tensor | None = None,
    held: Sequence[torch.Tensor] = (),
    symmetric: bool = False,
) -> torch.Tensor:
    """The component of a result in reverse mode, `value - base`, from those of one argument or several: `vjp` takes
    gradients of the former, (1, *shape), to that of the latter, or to a tuple of them. `difference` is value − base, if
    nobody needs it any more; `held` are tensors that others may write to, which `vjp` takes after the gradients.
    A `symmetric` one of a single argument is its own transpose, and may be derived again."""
    made = value.detach() - base.detach() if difference is None else difference
    carriers = (components,) if isinstance(components, torch.Tensor) else components
    return _apply(_ByVJP, [made.unsqueeze_(0)], vjp, held, symmetric and derived_twice.get(), *carriers)


def with_vjp(
    value: torch.Tensor,
    carriers: torch.Tensor | Sequence[torch.Tensor],
    vjp: Callable[..., Any],
    held: Sequence[torch.Tensor] = (),
) -> torch.Tensor:
    """A new value on the graph of those of one argument or several: `vjp` takes gradients of the value, and what is
    `held`, to that of the one, or to a tuple of theirs."""
    carriers = (carriers,) if isinstance(carriers, torch.Tensor) else carriers
    return _apply(_ByVJP, [value], vjp, held, False, *carriers)


def several_by_vjp(
    values: Sequence[torch.Tensor],
    bases: Sequence[torch.Tensor],
    components: Sequence[torch.Tensor],
    vjp: Callable[..., Any],
    held: Sequence[torch.Tensor] = (),
) -> Sequence[torch.Tensor]:
    """The components of several results of one function: `vjp` takes the sequence of their gradients, None for those
    that have none, and what is `held`, to a sequence of those of the arguments."""
    made = [torch.sub(value.detach(), base.detach()).unsqueeze_(0) for value, base in zip(values, bases, strict=True)]
    return tuple(_apply(_SeveralByVJP, made, vjp, held, *components))


def several_with_vjp(
    values: Sequence[torch.Tensor],
    carriers: Sequence[torch.Tensor],
    vjp: Callable[..., Any],
    held: Sequence[torch.Tensor] = (),
) -> Sequence[torch.Tensor]:
    """Several new values on the graph of those of arguments, by what takes the sequence of their gradients, None for
    those that have none, and what is `held`."""
    return tuple(_apply(_SeveralByVJP, list(values), vjp, held, *carriers))


def scaled(multiplier: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """What takes gradients through a product with the multiplier. Nothing passes where nothing comes from, though the
    multiplier be infinite or NaN: there the result was not chosen."""
    if has_finite_sum(multiplier):
        return lambda grad: grad * multiplier
    return lambda grad: torch.where(grad == 0, 0, grad * multiplier)


class _Guarded(torch.autograd.Function):
    """A product with a constant, whose gradient is zero where that of the result is."""

    @staticmethod
    def forward(ctx: Any, components: torch.Tensor, multiplier: torch.Tensor) -> torch.Tensor:
        ctx.shape, ctx.multiplier, ctx.is_complex = components.shape, multiplier, components.is_complex()
        return torch.where(components == 0, 0, components * multiplier)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grad: torch.Tensor = scaled(ctx.multiplier.conj())(grads[0])
        return (grad if ctx.is_complex else grad.real).sum_to_size(ctx.shape), None


def guarded(components: torch.Tensor, multiplier: torch.Tensor) -> torch.Tensor:
    """Components (1, *shape) times a constant that may be infinite or NaN. What does not move contributes nothing."""
    return _apply(_Guarded, components, multiplier)

"""Calls that are answered in C, of every kind of tensor that torch has, and the methods themselves, as of Python's."""

from __future__ import annotations

import copy
import inspect
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.autograd.forward_ad as forward
from torch.utils._python_dispatch import TorchDispatchMode

import npdec as np
from native_cases import in_python, native, told

pytestmark = native

DOUBLE = torch.float64


def x_of(*shape: int) -> np.DecomposedTensor:
    torch.manual_seed(2)
    value = torch.randn(shape, dtype=DOUBLE)
    return np.decompose(value, labels=[str(i) for i in range(value.numel())], baseline=value * 0.3)


def parts_of(t: Any) -> Any:
    if isinstance(t, tuple):
        return [parts_of(item) for item in t]
    if not isinstance(t, np.DecomposedTensor):
        return t.tolist()
    return [(p.detach().resolve_neg().numpy().tobytes(), p.stride(), p.grad_fn is None) for p in each_part(t)]


def each_part(t: np.DecomposedTensor) -> tuple[torch.Tensor, ...]:
    return t.value, t.residual, t.components


def check(call: Callable[[], Any], what: object) -> None:
    found, expected = told(call), in_python(call)
    assert found[:3] == expected[:3], what  # the first call of some functions of torch warns of their inner ones


CONSTANTS: dict[str, Callable[[], torch.Tensor]] = {
    "negative view": lambda: torch._neg_view(torch.arange(1.0, 4.0, dtype=DOUBLE)),
    "imaginary part": lambda: torch.tensor(1.5 + 2j, dtype=torch.complex128).conj().imag,
    "imaginary parts": lambda: torch.tensor([1.5 + 2j], dtype=torch.complex128).conj().imag,
    "zeros without memory": lambda: torch._efficientzerotensor((3,), dtype=DOUBLE),
    "zero without memory": lambda: torch._efficientzerotensor((), dtype=DOUBLE),
    "lazy clone": lambda: torch._lazy_clone(torch.arange(1.0, 4.0, dtype=DOUBLE)),
    "close to the limit": lambda: torch.full((3,), 577350.269, dtype=torch.float32).double(),
}
ARITHMETIC: list[Callable[[Any, Any], Any]] = [
    lambda x, c: x * c, lambda x, c: c * x, lambda x, c: x + c, lambda x, c: c - x, lambda x, c: x / c,
    torch.rsub, lambda x, c: x @ c, lambda x, c: x.sub(other=c),
]  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("constant", CONSTANTS)
def test_constants(constant: str) -> None:
    for i, call in enumerate(ARITHMETIC):
        for shape in ((3,), (2, 3), ()):
            check(lambda call=call, shape=shape: parts_of(call(x_of(*shape), CONSTANTS[constant]())), (i, shape))


UNARY: list[Callable[[Any], Any]] = [
    lambda x: -x, lambda x: x + 1, lambda x: x * 2, lambda x: x.clone(), lambda x: x + x, lambda x: x.sum(0),
    lambda x: x[0], lambda x: x._element((0, 1)),
]  # fmt: skip


@pytest.mark.quick
def test_parts_that_were_set() -> None:
    """A residual of another dtype is not read as one of the value's; a constant in front that lies turned gives no
    strides to the components."""
    constant = torch.arange(1.0, 7.0, dtype=DOUBLE).reshape(3, 2).mT
    for i, call in enumerate([*ARITHMETIC[:6], lambda x, c: -x, lambda x, c: x.clone(), lambda x, c: x + x]):

        def single(call: Callable[[Any, Any], Any] = call) -> Any:
            x = x_of(2, 3)
            x.residual = x.residual.float()
            return parts_of(call(x, constant.contiguous()))

        check(single, i)
        check(lambda call=call: parts_of(call(x_of(2, 3), constant)), i)


@pytest.mark.parametrize("part", ["value", "residual", "components"])
@pytest.mark.parametrize("kind", [torch._neg_view, lambda p: torch._efficientzerotensor(p.shape, dtype=p.dtype)])
def test_parts(part: str, kind: Callable[[torch.Tensor], torch.Tensor]) -> None:
    for i, call in enumerate(UNARY):

        def run(call: Callable[[Any], Any] = call) -> Any:
            x = x_of(2, 3)
            setattr(x, part, kind(getattr(x, part)))
            return parts_of(call(x))

        check(run, i)


@pytest.mark.quick
@pytest.mark.parametrize("part", ["value", "residual", "components", "constant"])
def test_tangents(part: str) -> None:
    """A tangent goes through what is answered in C as through torch."""
    for i, call in enumerate(ARITHMETIC[:6] + [lambda x, c, f=f: f(x) for f in UNARY]):

        def run(call: Callable[[Any, Any], Any] = call) -> Any:
            x, constant = x_of(2, 3), torch.arange(1.0, 7.0, dtype=DOUBLE).reshape(2, 3)
            with forward.dual_level():
                if part == "constant":
                    constant = forward.make_dual(constant, torch.ones_like(constant))
                else:
                    its = getattr(x, part)
                    setattr(x, part, forward.make_dual(its, torch.ones_like(its)))
                tangents = [forward.unpack_dual(p).tangent for p in each_part(call(x, constant))]
                return [None if t is None else t.tolist() for t in tangents]

        check(run, i)


@pytest.mark.quick
@pytest.mark.parametrize("turned", [False, True])
def test_views_of_inference_tensors(turned: bool) -> None:
    """Of tensors that were made in inference mode torch knows no views, outside of it either: what is written into one
    is in the other."""
    for key in (0, slice(1, None), (slice(None), 0), Ellipsis):

        def run(key: Any = key) -> Any:
            with torch.inference_mode():
                x = x_of(3, 2).mT if turned else x_of(2, 3)
            with torch.no_grad():
                seen = x[key]
            with torch.inference_mode():
                seen.mul_(2)
            return parts_of(seen), parts_of(x)

        check(run, key)


@pytest.mark.quick
def test_arguments_by_name() -> None:
    """By name or by place, one graph is made and one sum formed: zeros keep their signs."""
    calls = [
        (lambda x: x + 1, lambda x: x.add(other=1)),
        (lambda x: torch.sub(x, 2), lambda x: torch.sub(x, other=2)),
        (lambda x: x.sum(0), lambda x: x.sum(dim=0)),
    ]
    for i, (by_place, by_name) in enumerate(calls):

        def run(call: Callable[[Any], Any]) -> Any:
            x = x_of(2, 3)
            components = -x.components.detach()
            x.components = components.requires_grad_()
            found = call(x)
            return parts_of(found), type(found.components.grad_fn).__name__

        check(lambda f=by_name: run(f), i)
        assert run(by_name) == run(by_place), i


def test_gradients_of_constants() -> None:
    """Gradients of a constant that broadcasts are added up in one order."""

    def run() -> Any:
        found = []
        for call in ARITHMETIC[:2] + ARITHMETIC[4:5]:
            for size in range(2, 9):
                shape = (size, 3) if size % 2 else ()
                constant = torch.full(shape, 0.1, dtype=DOUBLE, requires_grad=True)
                made = call(x_of(size, 3), constant)
                gradient = torch.autograd.grad(sum(p.sum() for p in each_part(made)), constant)[0]
                found.append(gradient.tolist())
        return found

    check(run, "gradients")


class Told(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.quick
def test_modes_are_told_what_python_computes() -> None:
    for i, call in enumerate([*UNARY, lambda x: x_of(3) - x, lambda x: torch.ones(2, 3, dtype=DOUBLE) - x]):

        def run(call: Callable[[Any], Any] = call) -> Any:
            x = x_of(2, 3)
            with Told() as mode:
                found = call(x)
            return parts_of(found), mode.names

        check(run, i)


@pytest.mark.filterwarnings("ignore")
def test_traces_read_shapes() -> None:
    """A trace of torch.jit holds for other shapes, where that of Python does."""

    def function(value: torch.Tensor) -> torch.Tensor:
        x = np.DecomposedTensor(value, value * 0.5, (value * 0.5)[None], ("a",))
        return x.reshape(-1).components

    traced = torch.jit.trace(function, torch.ones(2, 3), check_trace=False)
    assert traced(torch.ones(4, 5)).shape == (1, 20)


def test_element_at_numbers_that_c_does_not_have() -> None:
    for index in (10**30, -(10**30)):
        check(lambda index=index: x_of(2, 3)._element((index, 0)), index)


@pytest.mark.quick
def test_methods_are_as_functions() -> None:
    x_of(2).add(1)
    method = vars(np.DecomposedTensor)["add"]
    assert copy.copy(method) is copy.deepcopy(method) is pickle.loads(pickle.dumps(method)) is weakref.ref(method)()
    assert method.__module__ == "npdec._rules.direct"
    assert method.__qualname__ == "DecomposedTensor.add"
    assert repr(method) == repr(inspect.unwrap(method))

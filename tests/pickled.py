"""Arrays, scalars and tensors of every kind that can be sent elsewhere, and what they are, told without npdec; and what
other processes do with them, which import this module and nothing that tests need."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

import npdec as np

FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
WHOLE = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: x,
    "columns": lambda x: x.copy("F"),
    "transposed": lambda x: x.T,
    "strided": lambda x: x[:, ::2],
    "reversed": lambda x: x[::-1, 1:],
    "a row": lambda x: x[1],
    "0-d": lambda x: x[1, 1, ...],
    "scalar": lambda x: x[1, 2],
    "empty": lambda x: x[:0],
    "new axis": lambda x: x[None, :, None],
}


def numbers(dtype: str) -> Any:
    return np.arange(1, 13).reshape(3, 4).astype(dtype)


def _reverse() -> Any:
    found = []
    np.attribute(lambda x: found.append(np.exp(x)) or found[0].sum(), np.array([0.5, -1.0, 2.0]))
    return found[0]


def _put_off() -> torch.Tensor:
    """A large product of components, which is made when they are read (`npdec._decomposed.lazy_products`)."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(2, 24, 256, generator=draw)
    with torch.no_grad():
        return F.linear(np.decompose(x, axis=1), torch.randn(128, 256, generator=draw))


def _frozen() -> Any:
    x = np.decompose(np.array([1.0, 2.0]))
    x.flags.writeable = False
    return x


def _written() -> Any:
    x = np.zeros(4)
    x[1:3] = np.decompose(np.array([1.0, 2.0]), labels=["a", ("b", 1)])
    return x


def _tracked(x: torch.Tensor) -> torch.Tensor:
    return x.requires_grad_()


TABLE: dict[str, Callable[[], Any]] = {
    **{
        f"{dtype} {name}": lambda dtype=dtype, layout=layout: layout(numbers(dtype))
        for dtype, (name, layout) in itertools.product(FLOATS + WHOLE, LAYOUTS.items())
    },
    **{
        f"decomposed {dtype} {name}": lambda dtype=dtype, layout=layout: layout(np.decompose(numbers(dtype), axis=1))
        for dtype, (name, layout) in itertools.product(FLOATS, LAYOUTS.items())
    },
}
CASES: dict[str, Callable[[], Any]] = {
    "labelled": lambda: np.decompose(np.arange(3.0), baseline=1.0, labels=["a", 2, (None, 1.5, True)]),
    "two inputs": lambda: np.decompose(np.arange(3.0)) * np.decompose(np.arange(3.0), baseline=-1),
    "shared labels": lambda: np.exp(sum(np.decompose((np.arange(3.0), np.arange(2.0)[:, None])))),
    "no components": lambda: np.decompose(np.zeros((0, 3))),
    "condition": lambda: np.decompose(np.arange(4.0), axis=0) > np.array([0.0, 2.0, 1.0, 5.0]),
    "one condition": lambda: (np.decompose(np.arange(4.0), baseline=2.0) > 1.0)[0],
    "conditions of windows": lambda: np.decompose(np.arange(100.0)) > 50.0,
    "count": lambda: np.count_nonzero(np.decompose(np.arange(4.0)) > 1.0),
    "counts": lambda: np.cumsum(np.decompose(np.arange(6.0).reshape(2, 3), axis=0) > 1.0, axis=1),
    "tensor of conditions": lambda: np.decompose(torch.arange(6.0).reshape(2, 3), axis=0) > 2,
    "written": _written,
    "read-only": _frozen,
    "input of windows": lambda: np.decompose(np.arange(100.0)),
    "windows": lambda: np.exp(np.decompose(np.arange(100.0) / 100)),
    "windows and components": lambda: (made := np.exp(np.decompose(np.arange(80.0) / 80)), made.components)[0],
    "view of windows": lambda: np.sin(np.decompose(np.arange(400.0).reshape(20, 20), axis=0))[3:7, ::2],
    "groups": lambda: np.decompose(np.arange(900.0).reshape(30, 30), groups=np.arange(900).reshape(30, 30) % 7),
    "put off": _put_off,
    "reverse mode": _reverse,
    "tensor": lambda: np.decompose(torch.arange(6.0).reshape(2, 3), axis=0),
    "tensor of one number": lambda: np.decompose(torch.tensor(2.0)).exp(),
    "view of a tensor": lambda: np.decompose(torch.arange(6.0).reshape(2, 3)).t()[1:],
    "with a gradient": lambda: np.asarray(_tracked(torch.arange(3.0))),
    "result with a gradient": lambda: np.asarray(_tracked(torch.arange(3.0)) * 2),
    "parameter": lambda: np.asarray(torch.nn.Parameter(torch.arange(3.0))),
    "components with a gradient": lambda: np.decompose(np.arange(3.0)) * np.asarray(_tracked(torch.ones(3))),
    "conjugate": lambda: np.asarray(torch.tensor([1 + 2j]).conj()),
    "label": lambda: np.decompose(np.arange(3.0)).labels[1],
    "dtype": lambda: np.dtype("float32"),
    "scalar type": lambda: np.float16,
}


def _bits(tensor: torch.Tensor) -> tuple[str, tuple[int, ...], bytes, bool]:
    plain = tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    numbers = plain.reshape(-1).view(torch.uint8).numpy().tobytes()
    return str(plain.dtype), tuple(plain.shape), numbers, tensor.requires_grad


def told(x: Any) -> Any:
    """What a thing is: its class, and the bits of all that it holds."""
    if isinstance(x, (list, tuple)):
        return [told(item) for item in x]
    if isinstance(x, dict):
        return [(key, told(item)) for key, item in x.items()]
    tensor = getattr(x, "tensor", x)
    if not isinstance(tensor, torch.Tensor) or isinstance(x, type):
        return type(x).__name__, x
    about = type(x).__name__, str(getattr(x, "dtype", None)), isinstance(tensor, np.DecomposedTensor)
    if not isinstance(tensor, np.DecomposedTensor):
        return *about, _bits(tensor)
    return *about, *map(_bits, (tensor.value, tensor.residual, tensor.components)), tensor.labels, tensor.reverse


def double(x: Any) -> Any:
    return x * 2


def made_here(_: Any) -> Any:
    """An input that this process decomposes."""
    return np.decompose(np.array([1.0, 2.0]))


def row_sums(x: Any, i: int) -> Any:
    return x[i].sum()


def answer(given: Any, connection: Any, queue: Any) -> None:
    """What was given as an argument, through a pipe and through a queue, told and sent back by the other way."""
    queue.put((told(given), given))
    piped = connection.recv()
    connection.send((told(piped), piped))


def draws(generator: Any) -> list[float]:
    return generator.random(3).tolist()


def call(function: Any) -> Any:
    return function(np.array([0.5, 1.0]))

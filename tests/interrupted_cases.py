"""Random writes into arrays and tensors that share memory, for `interrupted`: what is there, and one step that writes.

A case is drawn from a seed, so that it can be made again: once to see what is there before the step, once to see what
the step makes of it, and once to interrupt it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
import torch
import torch.nn.functional as F

import npdec as np
from aliasing import any_key, basic_key, of
from npdec import DecomposedTensor

LABELS = ("a", "b", "c")
SHAPES = ((6,), (6,), (4, 3), (4, 3), (3, 3), (2, 3, 2), (), (1,))
DTYPES = ("float64", "float64", "float64", "float32", "complex128", "int64")


@dataclasses.dataclass
class Case:
    """What is looked at before and after a step."""

    seed: int
    text: str = ""
    watched: list[Any] = dataclasses.field(default_factory=list)  # npdec's arrays, tensors, NumPy's arrays
    # Arrays, what selects from their values, and the copies that stand for the views which torch cannot make.
    mirrors: list[tuple[Any, Callable[[Any], Any], Any]] = dataclasses.field(default_factory=list)
    carriers: list[torch.Tensor] = dataclasses.field(default_factory=list)  # what reverse mode differentiates by
    target: Any = None
    step: Callable[[], Any] = lambda: None


def drawn(seed: int) -> Case:
    """The case of a seed."""
    rng = numpy.random.default_rng(seed)
    case = Case(seed)
    (_of_tensors if rng.integers(0, 4) == 0 else _of_arrays)(rng, case)
    return case


# --- what is there ----------------------------------------------------------------------------------------------------


def numbers(rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
    found = rng.integers(1, 9, shape) / 4
    if dtype.startswith("complex"):
        found = found + 1j * rng.integers(1, 9, shape) / 4
    return numpy.asarray(found).astype(dtype)


def tensor(rng: Any, case: Case, shape: tuple[int, ...], dtype: str, kind: str) -> torch.Tensor:
    """Fresh numbers: "plain", under some "labels", or in the "reverse" mode, on a graph."""
    value = torch.from_numpy(numbers(rng, shape, dtype).copy())
    if kind == "plain" or dtype.startswith("int"):
        return value
    residual = torch.from_numpy(numbers(rng, shape, dtype).copy())
    change = value - residual
    if kind == "reverse":
        carrier = change.clone().requires_grad_()
        case.carriers.append(carrier)
        return DecomposedTensor(value, residual, carrier.clone()[None], ("all inputs",), reverse=True)
    labels = [LABELS[:1], LABELS[:2], LABELS[1:], LABELS][rng.integers(0, 4)]
    shares = torch.from_numpy(numbers(rng, (len(labels), *shape), dtype).copy())
    shares[-1] += change - shares.sum(0)
    return DecomposedTensor(value, residual, shares, labels)


def array(rng: Any, case: Case, shape: tuple[int, ...], dtype: str, kind: str) -> Any:
    """The same as an array: in memory of its own, of NumPy or of a torch tensor; by windows if it is large."""
    if kind == "windows":
        return np.decompose(np.array(numbers(rng, (64, 64), "float64")), axis=0, baseline=0.5)
    made = tensor(rng, case, shape, dtype, kind)
    where = rng.integers(0, 6)
    if type(made) is torch.Tensor and where == 0:
        shared = made.numpy()
        case.watched.append(shared)
        return np.asarray(shared)
    if where == 1:
        case.watched.append(made)
        return np.asarray(made)
    return np.array(made)


def _look(rng: Any, case: Case, x: Any) -> Any:
    """A view of an array; noted, if it is a copy that stands for one."""
    kind = int(rng.integers(0, 9))
    if kind < 4 and x.ndim:
        key = basic_key(rng, x.shape) if kind == 0 else (..., slice(None, None, -1))
        found = x[key]
        if any(isinstance(item, slice) and (item.step or 1) < 0 for item in key) and isinstance(found, np.ndarray):
            case.mirrors.append((x[...], lambda value: value[key], found))  # of which nobody sets the shape
        return found
    if kind == 4 and x.ndim:
        found = np.flip(x)
        case.mirrors.append((x[...], numpy.flip, found))
        return found
    if kind == 5 and x.dtype.kind == "c":
        return x.real if rng.integers(0, 2) else x.imag
    if kind == 6:
        return x.reshape(-1)
    if kind == 7 and x.dtype.kind == "f" and not x.is_decomposed and x.ndim and rng.integers(0, 3) == 0:
        return x.view({4: "int32", 8: "int64"}[x.dtype.itemsize])
    if kind == 8 and x.dtype == np.float64 and not x.is_decomposed and x.ndim and rng.integers(0, 3) == 0:
        return x.getfield("float32", 2)  # whose elements are not aligned
    return x.T


def _source(rng: Any, case: Case, target: Any, kinds: tuple[str, ...]) -> Any:
    """What to write into an array: another one, of the same shape or one that broadcasts, or a number."""
    choice = rng.integers(0, 8)
    shape, dtype = tuple(target.shape), str(target.dtype).removeprefix("torch.")
    if choice == 0:
        return 1.5 if not dtype.startswith("int") else 2
    if choice == 1 and shape:
        shape = shape[1:]
    if choice == 2:
        dtype = "float64" if not dtype.startswith("complex") else dtype
    return array(rng, case, shape, dtype, kinds[rng.integers(0, len(kinds))])


# --- steps of arrays --------------------------------------------------------------------------------------------------


def _mask(rng: Any, t: Any) -> Any:
    return np.array(rng.integers(0, 2, t.shape).astype(bool))


def _setitem(rng: Any, t: Any, y: Any) -> Callable[[], Any]:
    key = of(np, any_key(rng, t.shape))
    try:
        wanted = t.value[key].shape
    except IndexError:
        wanted = ()
    if isinstance(y, np.ndarray) and y.size:
        y = np.resize(y, wanted) if not y.is_decomposed else y.reshape(-1)[0] if wanted != y.shape else y
    return lambda: t.__setitem__(key, y)


def _flat(rng: Any, t: Any, y: Any) -> Callable[[], Any]:
    key = [slice(None, None, 2), ..., 0, slice(1, None)][rng.integers(0, 4)]
    return lambda: t.flat.__setitem__(key, y.reshape(-1)[0] if key == 0 and isinstance(y, np.ndarray) else y)


def _inplace_operator(name: str) -> Any:
    return lambda rng, t, y: lambda: getattr(t, f"__i{name}__")(y)


def _places(rng: Any, t: Any) -> Any:
    return np.array(rng.integers(0, max(1, t.size), 3))


def _two(rng: Any, t: Any, y: Any) -> Callable[[], Any]:
    """A function of two outputs, each a half."""
    half = len(t) // 2
    a, b = t[:half], t[half : 2 * half]
    x = (y if isinstance(y, np.ndarray) and y.shape == t.shape else t)[:half] * 1.5
    return lambda: np.divmod(x, 0.75, out=(a, b))


def _along(rng: Any, t: Any, y: Any) -> Callable[[], Any]:
    index = np.array(rng.integers(0, t.shape[-1], (*t.shape[:-1], 1)))
    return lambda: np.put_along_axis(t, index, np.ravel(y)[0], -1)


ARRAY_STEPS: dict[str, Callable[[Any, Any, Any], Callable[[], Any]]] = {
    "setitem": _setitem,
    "setitem 2": _setitem,
    "setitem 3": _setitem,
    "whole": lambda rng, t, y: lambda: t.__setitem__(..., y),
    "mask": lambda rng, t, y: partial(t.__setitem__, _mask(rng, t), np.ravel(y)[0]),
    "add": _inplace_operator("add"),
    "multiply": _inplace_operator("mul"),
    "subtract": _inplace_operator("sub"),
    "divide": _inplace_operator("truediv"),
    "out": lambda rng, t, y: lambda: np.add(t, y, out=t),
    "out where": lambda rng, t, y: partial(np.multiply, t, y, out=t, where=_mask(rng, t)),
    "exp": lambda rng, t, y: lambda: np.exp(t, out=t),
    "cumsum": lambda rng, t, y: lambda: np.cumsum(t, axis=-1, out=t),
    "clip": lambda rng, t, y: lambda: np.clip(t, 0.5, 1.5, out=t),
    "two outputs": _two,
    "sum": lambda rng, t, y: lambda: np.sum(np.stack([t, t * y]), axis=0, out=t),
    "copyto": lambda rng, t, y: lambda: np.copyto(t, y, casting="unsafe"),
    "copyto where": lambda rng, t, y: partial(np.copyto, t, y, where=_mask(rng, t), casting="unsafe"),
    "putmask": lambda rng, t, y: partial(np.putmask, t, _mask(rng, t), y),
    "place": lambda rng, t, y: partial(np.place, t, _mask(rng, t), y),
    "put": lambda rng, t, y: partial(np.put, t, _places(rng, t), y),
    "put_along_axis": _along,
    "fill_diagonal": lambda rng, t, y: lambda: np.fill_diagonal(t, y),
    "fill": lambda rng, t, y: lambda: t.fill(np.ravel(y)[0]),
    "sort": lambda rng, t, y: t.sort,
    "partition": lambda rng, t, y: lambda: t.partition(t.shape[-1] // 2),
    "add.at": lambda rng, t, y: partial(np.add.at, t.reshape(-1), _places(rng, t), np.ravel(y)[0]),
    "flat": _flat,
    "real": lambda rng, t, y: lambda: setattr(t, "real", np.real(y)),
    "imag": lambda rng, t, y: lambda: setattr(t, "imag", np.real(y)),
    "byteswap": lambda rng, t, y: lambda: t.byteswap(inplace=True),
    "setfield": lambda rng, t, y: lambda: t.setfield(1, "int16", 1),
    "random": lambda rng, t, y: lambda: np.random.default_rng(3).random(out=t),
    "shuffle": lambda rng, t, y: lambda: np.random.default_rng(3).shuffle(t),
    "shape": lambda rng, t, y: lambda: setattr(t, "shape", (*t.shape[::-1], 1)),
}  # fmt: skip


def _of_arrays(rng: Any, case: Case) -> None:
    shape = SHAPES[rng.integers(0, len(SHAPES))]
    dtype = DTYPES[rng.integers(0, len(DTYPES))]
    reverse = rng.integers(0, 5) == 0
    marked = "reverse" if reverse else "labels"
    kind = ("plain", marked, marked)[rng.integers(0, 3)]
    if not reverse and rng.integers(0, 12) == 0:
        kind = "windows"
    found = [array(rng, case, shape, dtype, kind)]
    for _ in range(rng.integers(0, 5)):
        x = found[rng.integers(0, len(found))]
        seen = _look(rng, case, x)
        if isinstance(seen, np.ndarray):
            found.append(seen)
    case.watched += found
    target = case.target = found[rng.integers(0, len(found))]
    y = _source(rng, case, target, ("plain", marked, marked))
    if isinstance(y, np.ndarray):
        case.watched.append(y)
    if rng.integers(0, 8) == 0:
        y = found[rng.integers(0, len(found))]
    names = list(ARRAY_STEPS)
    name = names[rng.integers(0, len(names))]
    text = f"{name} of {'decomposed ' * getattr(y, 'is_decomposed', False)}{getattr(y, 'dtype', y)} into {kind}"
    case.text = f"{text} {dtype}{list(target.shape)}, {len(case.mirrors)} mirrors, {len(found)} arrays"
    try:
        case.step = ARRAY_STEPS[name](rng, target, y)
    except (ValueError, TypeError, IndexError, AttributeError):  # which the step would not suit
        case.step = lambda: target.__setitem__(..., y)


# --- steps of tensors -------------------------------------------------------------------------------------------------


TENSOR_STEPS: dict[str, Callable[[Any, Any, Any], Callable[[], Any]]] = {
    "setitem": lambda rng, t, y: lambda: t.__setitem__(..., y),
    "row": lambda rng, t, y: lambda: t.__setitem__(0, y[0]),
    "index": lambda rng, t, y: lambda: t.__setitem__(torch.tensor([0, len(t) - 1]), y[:2]),
    "mask": lambda rng, t, y: lambda: t.__setitem__(torch.arange(len(t)) % 2 == 0, y[0]),
    "copy_": lambda rng, t, y: lambda: t.copy_(y),
    "add_": lambda rng, t, y: lambda: t.add_(y),
    "mul_": lambda rng, t, y: lambda: t.mul_(y),
    "iadd": lambda rng, t, y: lambda: t.__iadd__(y),
    "fill_": lambda rng, t, y: lambda: t.fill_(2.0),
    "zero_": lambda rng, t, y: t.zero_,
    "relu_": lambda rng, t, y: lambda: F.relu(t - 1, inplace=True),
    "clamp_": lambda rng, t, y: lambda: t.clamp_(0.5, 1.5),
    "exp_": lambda rng, t, y: t.exp_,
    "masked_fill_": lambda rng, t, y: lambda: t.masked_fill_(torch.arange(len(t)) % 2 == 0, 0.0),
    "index_add_": lambda rng, t, y: lambda: t.index_add_(0, torch.arange(len(t)), y),
    "index_put_": lambda rng, t, y: lambda: t.index_put_((torch.tensor([0]),), y[:1]),
    "out": lambda rng, t, y: lambda: torch.add(t, y, out=t),
    "two outputs": lambda rng, t, y: lambda: torch.sort(t + y, dim=0, out=(t, torch.empty(0, dtype=torch.int64))),
    "fill_diagonal_": lambda rng, t, y: lambda: t.fill_diagonal_(0.5),
    "detached": lambda rng, t, y: lambda: t.detach().copy_(y),
}


def _of_tensors(rng: Any, case: Case) -> None:
    shape = ((6,), (4, 4), (2, 3, 2))[rng.integers(0, 3)]
    dtype = ("float64", "float64", "float32", "complex128")[rng.integers(0, 4)]
    marked = "reverse" if rng.integers(0, 4) == 0 else "labels"
    kind = ("plain", marked, marked)[rng.integers(0, 3)]
    found = [tensor(rng, case, shape, dtype, kind)]
    for _ in range(rng.integers(0, 3) if kind != "plain" else 0):
        x = found[rng.integers(0, len(found))]
        flat = x.view(-1) if x.is_contiguous() else x
        found.append((x[1:], x.mT if x.ndim > 1 else x[::2], flat, x[..., None])[rng.integers(0, 4)])
    case.watched += found
    target = case.target = found[rng.integers(0, len(found))]
    y = tensor(rng, case, tuple(target.shape), dtype, ("plain", marked, marked)[rng.integers(0, 3)])
    case.watched.append(y)
    names = list(TENSOR_STEPS)
    name = names[rng.integers(0, len(names))]
    case.text = f"tensor {name} into {kind} {dtype}{list(target.shape)}, {len(found)} tensors"
    case.step = TENSOR_STEPS[name](rng, target, y)

"""Calls with ordinary decomposed tensors that are answered in C (`npdec/_native/forms.c`) give what Python gives, to
the bit: parts, strides, graphs, views and errors."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
import tiers
from native_cases import in_python, native, told

pytestmark = native

# Of a decomposed x, plain tensors of its shape (v), of its last axis (row), a matrix behind it (w), one number (one),
# places along the last axis (at), and another decomposed tensor (y).
CALLS = """
-x | torch.neg(x) | x + y | x - y | x * 2 | 2 * x | x * 2.5 | x / 3 | x / 0.25 | x + 1 | x - 1.5 | 1 - x | 3 + x
x * 0 | x / 0 | x * 1e9 | x + 1e9 | x / 1e-9 | x * True | x + 2**70 | x * float("nan") | x + float("inf") | x + v
v + x | x - v | v - x | x * v | v * x | x / v | x + row | row + x | x - row | row - x | x * row | row * x | x / row
x * one | one * x | x + one | one - x | x / one | torch.add(x, v) | torch.sub(x, 2) | torch.rsub(x, v)
torch.rsub(x, 2) | x.add(v, alpha=2) | torch.mul(v, x) | torch.div(x, 2) | x.div(2, rounding_mode="floor")
x * v.double() | x * v.to(torch.int64) | x + x | x - x | x * x | x + v.requires_grad_() | x * v.requires_grad_()
x * one.requires_grad_() | x * (v * 1e8) | x / (v * 0) | x.sum() | x.sum(0) | x.sum(-1) | x.sum(dim=0)
x.sum(-1, keepdim=True) | x.sum(dim=-1, keepdim=True) | torch.sum(x, dim=0) | x.sum(dtype=torch.float64) | x.mean()
x.mean(0) | x.mean(dim=-1) | x.mean(-1, True) | torch.mean(x) | x.sum(()) | x.sum(5) | x.sum((0, -1)) | x.sum([0])
torch.sum(input=x) | x.cumsum(0) | x.cumsum(dim=-1) | x.trace() | x.sum(axis=0) | x.reshape(-1) | x.reshape((-1, 1))
x.view(-1) | x.view(-1, 1) | x.unsqueeze(0) | x.unsqueeze(-1) | x.unsqueeze(dim=1) | x.squeeze() | x.squeeze(0)
x.flatten() | x.ravel() | x.permute(*range(x.ndim - 1, -1, -1)) | x.unsqueeze(9) | x.view(7)
torch.permute(x, tuple(range(x.ndim))) | x.T | x.mT | x.t() | x.transpose(0, -1) | x.swapaxes(0, -1)
x.movedim(0, -1) | x.expand(2, *x.shape) | x.broadcast_to(2, *x.shape) | x.repeat(2, *[1] * x.ndim) | x.flip(0)
x.roll(1) | x.roll(1, 0) | x.tril() | x.triu(1) | x.diag() | x.diagonal() | x.narrow(0, 0, 1) | x.select(0, 0)
x.select(dim=-1, index=0) | x.index_select(0, at) | torch.index_select(x, -1, at)
x.gather(-1, at.expand(*x.shape[:-1], 2)) | x.unfold(-1, 2, 1) | x[0] | x[-1] | x[1:] | x[..., 0] | x[None] | x[...]
x[()] | x[::2] | x[:0] | x[9] | x[0, 0] | x[:, 0] | x[:, None] | x[True] | x[at] | x[..., at] | x[at, at]
x[x.value > 0] | x[[0, 1]] | x[1:][0] | x[1:].unsqueeze(0)[0] | x[0:1].expand(3, *x.shape[1:]) | x.unbind(0)
x.unbind(-1) | x.chunk(2) | x.chunk(2, -1) | x.split(1) | x.split(2, -1) | x.split(1, dim=0) | x.clone()
x.contiguous() | x.T.contiguous() | x.detach() | x.mT.detach() | x.clone(memory_format=torch.contiguous_format)
x.double() | x.float() | x.to(torch.float64) | x.conj() | x.positive() | x.real | x.resolve_neg() | torch.deg2rad(x)
torch.cat([x, x]) | torch.cat([x, y], -1) | torch.cat((x, v)) | torch.stack([x, y]) | torch.stack([x, x, x], -1)
torch.cat([x, y], dim=-1) | torch.cat([x]) | torch.cat([x, x], 7) | torch.concat([x, x.double()]) | x @ w | x @ row
row @ x.mT | w.T @ x.mT | torch.matmul(x, w) | torch.mm(x, w) | torch.bmm(x, w.expand(len(x), *w.shape))
torch.dot(x, row) | torch.mv(w.T, x) | x @ (w * 1e9) | x @ w.double() | x @ x.mT | F.linear(x, w.T)
F.linear(x, w.T, w[0]) | F.linear(x, w.T, bias=None) | F.linear(x, w.T.contiguous().requires_grad_())
F.linear(x, w.double()) | torch.relu(x) | torch.exp(x) | torch.where(v > 0, x, v) | x.masked_fill(v > 0, 0.0)
torch.maximum(x, v) | x > 0
"""
CALLS = [text.strip() for line in CALLS.strip().splitlines() for text in line.split("|")]
SHAPES = [(), (1,), (3,), (2, 3), (1, 3), (2, 1), (2, 2, 3), (0, 3), (40, 50)]
KINDS = ["dense", "equal rows", "no baseline", "turned", "view", "graph", "step"]


@pytest.fixture(autouse=True)
def warned_each_time() -> Iterator[None]:
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


def made(shape: tuple[int, ...], kind: str, dtype: torch.dtype, seed: int) -> dict[str, Any]:
    """The names that calls use."""
    torch.manual_seed(seed)
    last = shape[-1] if shape else 1
    value = torch.randn(shape, dtype=dtype)
    if kind == "turned":
        value = torch.randn(shape[::-1], dtype=dtype).permute(*range(len(shape) - 1, -1, -1))
    baseline: Any = {"equal rows": torch.randn(last, dtype=dtype), "no baseline": None}.get(kind, value * 0.3)
    if kind == "graph":
        value.requires_grad_()
    labels = [f"input {i}" for i in range(value.numel())]
    given = {} if baseline is None else {"baseline": baseline.detach() if shape or kind != "equal rows" else 0.3}
    if value.numel() > 100:
        x = np.decompose(value, axis=0, **given)
        y = x.clone() * 1.5
    else:
        x = np.decompose(value, labels=labels, **given)
        y = x.clone() * 1.5
    if kind == "view" and shape:
        x = torch.cat([x, x])[: shape[0]]
        y = torch.cat([y, y])[: shape[0]]
    if kind == "step":
        x, y = x * x, x + y
    return {
        "x": x,
        "y": y,
        "v": torch.randn(shape, dtype=dtype),
        "row": torch.randn(last, dtype=dtype),
        "w": torch.randn(last, 4, dtype=dtype),
        "one": torch.randn((), dtype=dtype),
        "at": torch.tensor([0, last - 1]),
        "torch": torch,
        "F": F,
    }


def steps(part: torch.Tensor) -> list[int]:
    """The strides of axes that have several elements."""
    return [stride for n, stride in zip(part.shape, part.stride(), strict=True) if n > 1 and part.numel()]


def look(t: Any) -> Any:
    """All that is to be seen of a tensor."""
    if isinstance(t, (tuple, list)):
        return [look(item) for item in t]
    if not isinstance(t, np.DecomposedTensor):
        return type(t), str(t)
    parts = t.value, t.residual, t.components
    seen = [(p.dtype, p.shape, steps(p), p.requires_grad, p.grad_fn is None) for p in parts]
    bits = [p.detach().contiguous().numpy().tobytes() for p in parts]
    return seen, bits, t.labels, t.reverse, t.discrete, t.requires_grad, t._is_view(), type(t.kept), t.origin is None


def called(text: str, names: dict[str, Any]) -> Any:
    """What a call gives, what it is a view of, and what a write into it changes."""
    x = names["x"]
    found = eval(text, names)
    seen = look(found)
    first = found[0] if isinstance(found, tuple) and found else found
    linked = first is x, getattr(first, "views", None) is not None and first.views is x.views
    if isinstance(first, np.DecomposedTensor) and not first.requires_grad and not x.requires_grad:
        try:
            first.mul_(2)
        except RuntimeError as error:
            return seen, linked, str(error)[:60], look(x)
        return seen, linked, look(first), look(x)
    return seen, linked


def are_alike(call: Callable[[], Any]) -> bool:
    """Whether C and Python give the same; where C begins and Python goes on, torch says of its own call again what it
    says."""
    found, expected = told(call), in_python(call)
    if len(found) < 4:  # it raised
        return found == expected
    return found[:3] == expected[:3] and set(found[3]) == set(expected[3])


def checked(text: str, shape: tuple[int, ...], kind: str, dtype: torch.dtype) -> None:
    def run() -> Any:
        return called(text, made(shape, kind, dtype, 3))

    assert are_alike(run), (text, shape, kind, dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_as_in_python(kind: str, dtype: torch.dtype) -> None:
    turn = KINDS.index(kind)
    part = 8 if dtype is torch.float64 else 9  # each call is of each dtype, and of each kind in one of them at least
    rows = list(itertools.product(CALLS, SHAPES))[turn % part :: part]
    for text, shape in tiers.turns(rows, turn, 9):
        checked(text, shape, kind, dtype)


@pytest.mark.parametrize("context", ["no_grad", "inference", "reverse", "check", "vmap", "float16"])
def test_what_is_not_ordinary_is_left_to_python(context: str) -> None:
    for text in (
        "-x",
        "x + 1",
        "x * v",
        "x[0]",
        "x.sum(0)",
        "x.unsqueeze(0)",
        "x @ w",
        "torch.cat([x, x])",
        "x.detach()",
    ):

        def run(text: str = text) -> Any:
            names = made((2, 3), "dense", torch.float16 if context == "float16" else torch.float64, 3)
            call: Callable[[], Any] = lambda: look(eval(text, names))  # noqa: E731
            if context == "no_grad":
                with torch.no_grad():
                    return call()
            if context == "inference":
                with torch.inference_mode():
                    return called(text, names)
            if context == "check":
                with np.check_completeness():
                    return call()
            if context == "reverse":
                return np.attribute(lambda u: eval(text, names | {"x": u}).sum(), names["x"].value).components.tolist()
            if context == "vmap":
                return torch.vmap(lambda u: eval(text, names | {"x": u}))(names["v"]).tolist()
            return call()

        assert are_alike(run), (text, context)


def test_drawn_chains() -> None:
    """Several calls, one after another, of which each may look at the memory of those before."""
    source = random.Random(5)
    for _ in range(tiers.fewer(400)):
        shape, kind = source.choice(SHAPES), source.choice(KINDS)
        texts = source.sample(CALLS, 4)

        def run(shape: Any = shape, kind: str = kind, texts: Any = texts) -> Any:
            names, seen = made(shape, kind, torch.float64, 4), []
            for text in texts:
                try:
                    found = eval(text, names)
                except Exception as error:
                    seen.append((type(error), str(error)[:80]))
                    continue
                seen.append(look(found))
                if isinstance(found, np.DecomposedTensor) and not found.discrete and found.dtype is torch.float64:
                    names["x"] = found
            return seen

        assert are_alike(run), (shape, kind, texts)

"""torch's functions in reverse mode, when what they were given, or what they gave, is written to afterwards."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from torch_checks import carries, check_reverse, flat, marked, seeded
from torch_samples import LOOKS, OPERATORS, REFUSES, Sample, samples

pytestmark = pytest.mark.usefixtures("decomposition_warnings_alone")

CHECKED = [n for n, op in OPERATORS.items() if op.name not in LOOKS and op.name not in REFUSES]


def written_over(sample: Sample) -> Any:
    """The sample's function; then its results are written in place, and its arguments."""

    def f(*tensors: torch.Tensor) -> list[Any]:
        given = [t.clone() for t in tensors]
        made = list(flat(sample.run(*given)))
        for t in made:
            if carries(t):
                t.mul_(2).sub_(1)
        for t in given:
            t.mul_(3).add_(1)
        return made

    return f


@pytest.mark.parametrize("name", CHECKED[::6])  # `scripts/fuzz_writes.py --torch` goes over all
def test_what_was_read_or_given_is_written(name: str) -> None:
    check_operator(name, 1)


def check_operator(name: str, most: int) -> None:
    for sample in samples(name)[:most]:
        f = written_over(sample)
        try:
            plain = seeded(f, sample.inputs)
        except RuntimeError:  # an expanded result, say, that torch lets nobody write to
            continue
        if any(_overlaps(t) for t in plain):
            continue
        check_reverse(f, sample.inputs, sample.bases, seeded(f, marked(sample.inputs, sample.bases)))


def _overlaps(x: Any) -> bool:
    """Whether elements are one in memory: what is written to them depends on the order."""
    if not isinstance(x, torch.Tensor) or x.layout is not torch.strided or not x.numel():
        return False
    place = torch.zeros((), dtype=torch.int64)
    for axis, (n, step) in enumerate(zip(x.shape, x.stride(), strict=True)):
        place = place + (torch.arange(n) * step).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return len(place.unique()) < x.numel()


# -- of several writes to one place, one wins --------------------------------------------------------------------------

I = torch.tensor
PUTS: dict[str, Any] = {
    "index_put_": lambda y, x: y.index_put_((I([0, 0, 2, -3]),), x),
    "index_put_ 2-d": lambda y, x: y.view(1, 3).index_put_((I([[0], [0]]), I([[1, 2], [2, 1]])), x.view(2, 2)),
    "index_put_ one": lambda y, x: y.index_put_((I([0, 0]),), x[0]),
    "index_put": lambda y, x: y.index_put((I([1, 1, 1, 0]),), x),
    "scatter_": lambda y, x: y.scatter_(0, I([1, 2, 1, 1]), x),
    "scatter": lambda y, x: y.scatter(0, I([1, 2, 1]), x),
    "scatter one": lambda y, x: y.scatter(0, I([1, 2, 1]), 3.0) + x[:3],
    "index_copy_": lambda y, x: y.index_copy_(0, I([2, 2, 0, 0]), x),
    "index_copy": lambda y, x: y.index_copy(0, I([2, 2, 0, 0]), x),
    "put_": lambda y, x: y.put_(I([2, -1, 0, 2]), x),
    "put": lambda y, x: y.put(I([[2, -1], [0, 0]]), x),
    "[]": lambda y, x: y.__setitem__(I([1, 1, 0, 1]), x),
    "[] list": lambda y, x: y.__setitem__([1, 1, 0, 1], x),
    "[] mask and index": lambda y, x: y.view(1, 3).__setitem__((I([True]), I([1, 1, 2, 2])), x),
    "[] transposed": lambda y, x: y.view(1, 3).__setitem__((slice(None), I([1, 1, 2, 2])), x.view(1, 4)),
    "[] ellipsis": lambda y, x: y.view(1, 3).__setitem__((..., I([[1, 2], [1, 2]])), x.view(2, 2).T),
    "as_strided_scatter": lambda y, x: y.as_strided_scatter(x.view(2, 2), (2, 2), (1, 1)),
    "accumulate": lambda y, x: y.index_put_((I([0, 0, 2, 2]),), x, accumulate=True),
    "index_add_": lambda y, x: y.index_add_(0, I([0, 0, 2, 2]), x),
    "scatter_add_": lambda y, x: y.scatter_add_(0, I([0, 0, 2, 2]), x),
}


@pytest.mark.whole
@pytest.mark.parametrize("start", ["zeros", "decomposed"])
@pytest.mark.parametrize("name", PUTS)
def test_who_wins(name: str, start: str) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = torch.zeros(3, dtype=torch.float64) if start == "zeros" else x[1:] * 8
        made = PUTS[name](y, x)
        return y if made is None else made

    x, r = I([8.0, 3.0, 5.0, 1.0], dtype=torch.float64), I([7.0, 2.5, 4.0, 0.5], dtype=torch.float64)
    moved = [f(torch.where(torch.arange(4) == i, x, r)) - f(r) for i in range(4)]
    forward = np.attribute(f, x, baseline=r, mode="forward")
    assert torch.equal(forward.value, f(x))
    assert torch.equal(forward.residual, f(r))
    assert torch.equal(forward.attribution, torch.stack(moved, -1).reshape(forward.attribution.shape))
    weights = torch.arange(1.0, 1 + forward.value.numel(), dtype=torch.float64).reshape(forward.value.shape)
    reverse = np.attribute(lambda x: (f(x) * weights).sum(), x, baseline=r)
    assert torch.equal(reverse.attribution, torch.stack([(m * weights).sum() for m in moved]))


def test_who_wins_in_memory_of_another_order() -> None:
    """The order in which torch writes is that of memory: value, residual and contributions have one winner."""
    source = torch.Generator().manual_seed(1)
    for _ in range(20):
        rows, columns = (torch.randint(0, 3, (4, 5), generator=source) for _ in range(2))
        x = torch.randn(5, 4, 2, generator=source, dtype=torch.float64).transpose(0, 1)

        def f(x: torch.Tensor, rows: torch.Tensor = rows, columns: torch.Tensor = columns) -> torch.Tensor:
            y = torch.zeros(2, 3, 3, dtype=torch.float64).permute(2, 1, 0)
            y[rows, columns] = x
            return y

        made = np.attribute(f, x, baseline=x / 2, mode="forward")
        assert torch.equal(made.value, f(x))
        assert torch.equal(made.residual, f(x) / 2)
        assert torch.equal(made.attribution.flatten(3).sum(-1), f(x) / 2)
        assert torch.equal(np.attribute(lambda x: f(x).sum(), x).attribution, np.attribute(
            lambda x: f(x).sum(), x, mode="forward").attribution)  # fmt: skip


def test_rows_are_written_in_a_loop() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        table = x.reshape(2, 2).clone()
        for row in table:
            row.mul_(2)
        first, second = table.split(1)
        first.add_(second)
        for part in table.chunk(2, 1):
            part.sub_(x[:1])
        return (table * torch.arange(4.0, dtype=x.dtype).reshape(2, 2)).sum()

    x = I([1.0, 2.0, 4.0, 8.0], dtype=torch.float64)
    assert torch.equal(np.attribute(f, x).attribution, np.attribute(f, x, mode="forward").attribution)


def test_a_convolution_of_what_is_written_later() -> None:
    kernel = torch.ones(1, 1, 2, dtype=torch.float64)

    def f(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        z = F.conv1d(y.reshape(1, 1, -1), kernel * 1).reshape(-1)
        y.zero_()
        weight = torch.ones(2, 3, dtype=torch.float64)
        z = F.linear(z, weight)
        weight.zero_()
        return z.sum() + y.sum()

    x = I([1.0, 2.0, 4.0, 8.0], dtype=torch.float64)
    assert np.attribute(f, x).attribution.tolist() == [2, 8, 16, 16]

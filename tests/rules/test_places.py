"""Indices and other integers that come beside values: whoever looks at them is told where the baseline has others, and
nobody else."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from npdec.exceptions import DecompositionWarning
from torch_checks import carries, flat, marked, seeded, worst
from torch_samples import LOOKS, OPERATORS, REFUSES, Sample, samples

OTHERWISE = "at the baseline it would choose otherwise"
D = torch.float64
X = torch.tensor([[3.0, 1.0, 2.5, 0.5], [4.0, 5.0, 6.0, 1.0]], dtype=D)
R = torch.tensor([[0.0, 2.0, 1.0, 3.0], [3.0, 2.0, 1.0, 4.0]], dtype=D)
# What comes with the same values of other places: the numbers of both ends are those of one set.
BESIDE: dict[str, Any] = {
    "max": lambda x: torch.max(x, 1),
    "min": lambda x: x.min(dim=1, keepdim=True),
    "cummax": lambda x: torch.cummax(x, 1),
    "cummin": lambda x: x.cummin(0),
    "max_pool1d": lambda x: F.max_pool1d(x, 2, return_indices=True),
    "max_pool2d": lambda x: F.max_pool2d(x[None], 2, 1, return_indices=True),
    "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x, 2, return_indices=True),
    "fractional_max_pool2d": lambda x: F.fractional_max_pool2d(
        x[None], 2, (1, 2), _random_samples=torch.full((1, 1, 2), 0.3, dtype=D), return_indices=True
    ),
}
ORDERED: dict[str, Any] = {
    "sort": lambda x: torch.sort(x, 1),
    "topk": lambda x: x.topk(2),
    "kthvalue": lambda x: torch.kthvalue(x, 3),
    "median": lambda x: torch.median(x, 1),
    "nanmedian": lambda x: x.nanmedian(1, keepdim=True),
}


def decomposed(r: torch.Tensor = R) -> torch.Tensor:
    made: torch.Tensor = np.decompose(X, baseline=r)
    return made


@pytest.mark.parametrize("name", BESIDE)
def test_values_alone_warn_of_nothing(name: str) -> None:
    values, places = BESIDE[name](decomposed())  # warnings are errors
    torch.testing.assert_close(values.residual, BESIDE[name](R)[0])
    assert torch.equal(values.value, BESIDE[name](X)[0])
    known = BESIDE[name](X)[1]
    assert places.tolist() == known.tolist()
    assert (places.shape, places.dtype, str(places)) == (known.shape, known.dtype, str(known))
    with pytest.warns(DecompositionWarning, match=f"indices beside the values of .*{name}.*{OTHERWISE}"):
        taken = X.flatten()[places]
    assert type(taken) is torch.Tensor
    assert torch.equal(taken, X.flatten()[known])
    assert torch.equal(places + 1, known + 1)  # it is said once


@pytest.mark.parametrize("name", ORDERED)
def test_orders(name: str) -> None:
    """Where the sorted numbers at the baseline are not those that are at the value's places, values say so already."""
    even = torch.full_like(R, 2.0)
    values, places = ORDERED[name](decomposed(even))  # warnings are errors
    torch.testing.assert_close(values.residual, ORDERED[name](even)[0])
    with pytest.warns(DecompositionWarning, match=f"indices beside the values of {name}.*{OTHERWISE}"):
        torch.zeros(2, 4, dtype=torch.bool).scatter_(1, places.reshape(len(places), -1), True)


LOOKING: dict[str, Any] = {
    "index": lambda i: torch.arange(8)[i],
    "index of decomposed numbers": lambda i: decomposed()[0, i],
    "gather": lambda i: decomposed().gather(1, i[:, None]),
    "write": lambda i: decomposed().index_fill_(1, i, 0.0),
    "assignment": lambda i: decomposed().__setitem__((0, i), 0.0),
    "one_hot": lambda i: F.one_hot(i, 4),
    "comparison": lambda i: i == torch.tensor([0, 1]),
    "python's index": lambda i: range(i[0]),
    "rows": list,
    "list of them": lambda i: torch.stack([i, i]),
    "copy": copy.deepcopy,
    "NumPy's": lambda i: np.arange(8)[np.asarray(i)],
    "of NumPy's array": lambda i: np.arange(8)[i],
    "embedding": lambda i: F.embedding(i, X.T),
}


@pytest.mark.parametrize("name", LOOKING)
def test_whoever_looks_is_told_on_their_line(name: str) -> None:
    look = LOOKING[name]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = look(torch.max(decomposed(), 1).indices)
    assert [w.category for w in told] == [DecompositionWarning]
    assert told[0].filename.endswith(("test_places.py", "copy.py"))
    wanted = look(torch.max(X, 1).indices)
    for one, other in zip(flat(made), flat(wanted), strict=True):
        if isinstance(one, torch.Tensor):
            assert torch.equal(getattr(one, "value", one), getattr(other, "value", other))


def test_what_does_not_look_is_told_nothing() -> None:
    places = torch.max(decomposed(), 1).indices
    assert (len(places), places.ndim, places.numel(), places.is_floating_point()) == (2, 1, 2, False)
    assert places.device.type == "cpu"
    assert torch.zeros_like(places).tolist() == [0, 0]
    assert f"{places}" == repr(places) == "tensor([0, 2])"


def test_equal_places_and_frozen_conditions_are_plain() -> None:
    assert type(torch.max(decomposed(X / 2), 1).indices) is torch.Tensor
    with np.rule(conditions="frozen"):
        places = torch.max(decomposed(), 1).indices
    assert type(places) is torch.Tensor


def _with_places(name: str) -> list[Sample]:
    return [s for s in samples(name) if any(map(_is_place, flat(s.run(*s.inputs))))]


def _is_place(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and not carries(x) and x.dtype is not torch.bool and x.numel() > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch's own
@pytest.mark.parametrize("name", [n for n, op in OPERATORS.items() if op.name not in LOOKS and op.name not in REFUSES])
def test_operators(name: str) -> None:
    """Integers that an operator gives carry, are the baseline's, or say that they are not when they are looked at;
    and it says nothing itself where its numbers are the function of the baseline."""
    for sample in _with_places(name):
        base = seeded(sample.run, sample.bases)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            made = seeded(sample.run, marked(sample.inputs, sample.bases))
        said = any(OTHERWISE in str(w.message) for w in told)
        of_baseline = True
        for one, there in zip(made, base, strict=True):
            if hasattr(one, "components"):
                of_baseline &= worst(one.residual, there) <= 1e-8
            elif _is_place(there) and not torch.equal(torch.as_tensor(one.tolist(), dtype=there.dtype), there):
                with warnings.catch_warnings(record=True) as looked:
                    warnings.simplefilter("always")
                    one.sum()
                assert said or any(OTHERWISE in str(w.message) for w in looked)
                of_baseline &= not said
        assert not (said and of_baseline)


def test_exponents_carry() -> None:
    """frexp's are integers that jump: x = m · 2**e, where each of the two is a function of x alone."""
    for module, x, r in ((torch, X, R + 0.1), (np, np.asarray(X), np.asarray(R + 0.1))):
        mantissa, exponent = module.frexp(np.decompose(x, baseline=r))
        for made, at, before in zip((mantissa, exponent), module.frexp(x), module.frexp(r), strict=True):
            assert (made.value == at).all()
            assert (made.residual == before).all()
            moved = made.components.sum(0)
            assert float(abs(moved - (at * 1.0 - before)).max()) < 1e-14

"""Plain integers and booleans beside decomposed numbers, in all of torch's functions: what torch computes of them is
what a decomposition computes, and keeps the law. (Torch's functions promote them, each in its own way, and its
derivatives do not always.)"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import memory_calls
import npdec as np
import tiers
from path_integrals import agree, decomposed, parts, reference
from torch_checks import carries, check, seeded, total
from torch_samples import FREEZES

pytestmark = [pytest.mark.usefixtures("decomposition_warnings_alone"), pytest.mark.filterwarnings("ignore")]

F64 = torch.float64
DTYPES = [torch.bool, torch.uint8, torch.int64]
# `x` is decomposed, a vector; `t` are plain integers. X and T are matrices of them, C has three axes, `c` are classes.
CALLS = [
    "x, t", "t, x", "[x, t]", "[t, x]", "*[x, t]", "x, t, x", "t, x, 1 + x", "x, x, t", "x, t, t", "[x, t, x]",
    "x, x, x, t", "x, t, 0.5", "x, 0, t", "x, 0, t, x", "x, (t,), x", "x, (t,), t", "X, t", "t, X", "X, T", "T, X",
    "[X, T]", "X, c", "X, 1, T", "X, 1, T, X", "C, C, C, T",
]  # fmt: skip
VALUE = torch.tensor([0.3, 0.7, 0.21, 0.9, 0.55, 0.41], dtype=F64)
BASE = torch.tensor([0.25, 0.6, 0.3, 0.8, 0.5, 0.45], dtype=F64)
BITS = torch.tensor([1, 0, 1, 1, 0, 0])
FUNCTIONS = {f.name: f.function for f in memory_calls.functions() if f.tensors and "empty" not in f.name}
# torch's gradient counts what is overwritten.
OVERWRITES = ("as_strided_scatter", "index_put", "put", "scatter", "masked_scatter", "index_copy")
# The process ends, of a factor that is no number; a temperature of zero.
NO_CALLS = {("addcmul", "x, 0, t"), ("addcdiv", "x, 0, t"), ("addcmul", "x, 0, t, x"), ("addcdiv", "x, 0, t, x"),
            ("gumbel_softmax", "X, T")}  # fmt: skip


def call(function: Any, arguments: str, dtype: torch.dtype) -> Any:
    """The call as a function of the numbers that are decomposed."""

    def made(x: torch.Tensor) -> Any:
        x, t = x.clone(), BITS.to(dtype, copy=True)
        shapes = {"X": x.reshape(2, 3), "T": t.clone().reshape(2, 3), "C": x.reshape(1, 2, 3), "c": t[::3].clone()}
        return eval(f"f({arguments})", {"f": function, "x": x, "t": t, **shapes})

    return made


def takes(made: Any) -> bool:
    """Whether torch takes the arguments, plain, and gives numbers."""
    try:
        return all(any(map(carries, seeded(made, [x]))) for x in (VALUE, BASE))
    except Exception:  # whatever it refuses is no call
        return False


def gradient(made: Any) -> torch.Tensor | None:
    """Torch's own, if it has one."""
    x = VALUE.clone().requires_grad_()
    try:
        total(seeded(made, [x * 1])).backward()
    except RuntimeError:
        return None
    return x.grad


def has_gradient(function: Any, arguments: str, dtype: torch.dtype) -> bool:
    """Whether torch has the gradient: some of its derivatives subtract from booleans, and negate unsigned integers."""
    own, signed = (gradient(call(function, arguments, d)) for d in (dtype, torch.int64))
    return own is not None and (signed is None or torch.equal(own, signed))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_beside_decomposed_numbers(dtype: torch.dtype) -> None:
    joining = [n for n in FUNCTIONS if n.endswith(("_loss", "stack", "cat", "prod", "tensors", "addexp2", "_scatter"))]
    turn = DTYPES.index(dtype)
    names = set(tiers.turns(list(FUNCTIONS)[turn :: len(DTYPES)], 2 * turn, 50))  # each function beside one of them
    names |= set(tiers.turns(joining, DTYPES.index(dtype), 8))
    count = 0
    for name in sorted(names):
        own = name.rpartition(".")[2]
        for arguments in CALLS:
            made = call(FUNCTIONS[name], arguments, dtype)
            if (own, arguments) in NO_CALLS or not takes(made):
                continue
            count += 1
            small = not own.endswith(OVERWRITES) and has_gradient(FUNCTIONS[name], arguments, dtype)
            try:
                check(made, [VALUE], [BASE], freezes=own in FREEZES, small=small)
            except NotImplementedError:  # says why
                continue
            except Exception as error:
                raise AssertionError(f"{name}({arguments}), {dtype}: {type(error).__name__}: {error}") from error
    assert count > 5


def test_what_depends_on_nothing_decomposed_stays_plain() -> None:
    x, t = np.decompose(VALUE, baseline=BASE), BITS
    for integers in (torch.broadcast_tensors(x, t)[1], torch.atleast_2d(x, t)[1]):
        assert type(integers) is torch.Tensor
        assert torch.equal(integers.reshape(-1), t)


@pytest.mark.parametrize("loss", [F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.mse_loss], ids=lambda f: f.__name__)
def test_losses_by_integers(loss: Any) -> None:
    """By the integral along the path, which passes no kink here."""
    components = parts(VALUE, BASE)
    made = loss(decomposed(VALUE, BASE, components), BITS)
    agree(made.components, reference(lambda x: loss(x, BITS.double()), VALUE, BASE, components))

"""float16 and bfloat16, in all the tables: a result and all its parts have the plain run's dtype, and are complete to
the roundings of half precision.

The bound for an element is `ROUNDINGS` units of the dtype of the terms there, |value| + |residual| + Σ|component| with
one component for each element of the inputs, and beside that what the function's own numbers miss of those of double
precision, at the value and at the residual. Where a warning says that completeness is lost, it may be.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import npdec as np
import samples
from decomposition_cases import CASES, FREEZES, baseline, leaves, run
from samples import named
from tiers import fewer, turns
from torch_checks import bits_differ, carries, flat, is_decomposed, seeded
from torch_modules import LOOKED_AT, MODES, TABLE
from torch_samples import FREEZES as TORCH_FREEZES
from torch_samples import LARGEST, LOOKS, OPERATORS, OWN, REFUSES, Sample, first_sample

D = torch.float64
HALVES = (torch.float16, torch.bfloat16)
ROUNDINGS = 6
# The quotient is known to so many digits of the coefficients that cancel in it.
CANCELS = frozenset({"polydiv"})

Function = Callable[..., Any]


pytestmark = pytest.mark.usefixtures("decomposition_warnings_alone")


def _narrowed(item: Any, dtype: torch.dtype) -> Any:
    """Arguments with dtype in place of double precision."""
    if isinstance(item, torch.Tensor):
        return item.to(dtype) if item.dtype is D else item
    if isinstance(item, (list, tuple)):
        made = [_narrowed(inner, dtype) for inner in item]
        return type(item)(*made) if hasattr(item, "_fields") else type(item)(made)
    if isinstance(item, dict):
        return {key: _narrowed(inner, dtype) for key, inner in item.items()}
    return dtype if item is D else item


def _outcome(f: Function, inputs: Sequence[torch.Tensor]) -> list[Any] | None:
    """The results; None if torch computes no such thing in this precision."""
    try:
        with torch.no_grad():
            return seeded(f, [x.clone() for x in inputs])
    except (RuntimeError, TypeError, ValueError, IndexError):
        return None


def _compare(got: Any, want: torch.Tensor, base: torch.Tensor, freezes: bool) -> None:
    """One result: decomposed, the plain one, and that of the baseline."""
    assert got.dtype is want.dtype
    if not is_decomposed(got):
        assert not carries(want) or freezes or not bits_differ(want, base), "lost its contributions"
        return
    assert got.value.dtype is got.residual.dtype is got.components.dtype is want.dtype
    assert not bits_differ(got.value, want), "the value is not the plain one"
    if not freezes:
        assert not bits_differ(got.residual, base), "the residual is not the function of the baseline"
    F.linear(got.reshape(-1), got.value.new_ones(2, got.numel()))  # a layer takes it


def _check_completeness(got: Any, exact: Sequence[Any], coarse: torch.dtype) -> None:
    """`exact`: the value and the residual of double precision."""
    kind = torch.complex128 if got.is_complex() else D
    value, residual, components = (part.to(kind) for part in (got.value, got.residual, got.components))
    finite = torch.isfinite(value) & torch.isfinite(residual)
    assert bool(torch.isfinite(components[:, finite].abs()).all()), "components that are not finite"
    error = (value - residual - components.sum(0)).abs()
    for own, number in zip((value, residual), exact, strict=True):
        if carries(number) and number.shape == own.shape:
            error = error - (own - number).abs().nan_to_num(0, 0)
    terms = value.abs() + residual.abs() + components.abs().sum(0)
    info = torch.finfo(coarse)
    bound = ROUNDINGS * info.eps * terms.clamp(min=64 * info.tiny)
    assert bool((error <= bound)[finite].all()), (
        f"completeness misses by {float((error / bound)[finite].max()) * ROUNDINGS:.1f} roundings"
    )


def _check(f: Function, exact: Function, inputs: Any, bases: Any, dtype: torch.dtype, freezes: bool = False) -> bool:
    plain, base = _outcome(f, inputs), _outcome(f, bases)
    if plain is None or base is None:
        return False
    doubles = [_outcome(exact, [x.double() for x in given]) for given in (inputs, bases)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", np.DecompositionWarning)
        made = seeded(f, np.decompose(tuple(inputs), baseline=tuple(bases)))
    warned = any(issubclass(warning.category, np.DecompositionWarning) for warning in said)
    assert len(made) == len(plain)
    for i, (got, want) in enumerate(zip(made, plain, strict=True)):
        numbers = [own[i] if (found is None) else found[i] for own, found in zip((plain, base), doubles, strict=True)]
        if not carries(want) or want.dtype is torch.complex32:  # conditions are not of half precision
            continue
        _compare(got, want, base[i], freezes)
        if is_decomposed(got) and not warned:
            _check_completeness(got, numbers, dtype)
    return True


def _check_sample(sample: Sample, dtype: torch.dtype, freezes: bool) -> bool:
    if any(x.dtype is not D for x in sample.leaves.values()):
        return False
    half = Sample(
        sample.name, sample.function, _narrowed(sample.args, dtype), _narrowed(sample.kwargs, dtype), sample.near,
        sample.looked_at,
    )  # fmt: skip
    bases = [base.to(dtype) for base in sample.bases]
    if len(half.leaves) != len(bases):  # what is infinite in half precision is no input
        return False
    return _check(half.run, sample.run, half.inputs, bases, dtype, freezes)


# -- torch -------------------------------------------------------------------------------------------------------------

_IN_TABLE = [name for name, op in OPERATORS.items() if op.name not in {*LOOKS, *REFUSES}]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_operators_of_torch(dtype: torch.dtype) -> None:
    checked = 0
    for name in turns(_IN_TABLE, HALVES.index(dtype), 4):
        for sample in first_sample(name):
            if sum(x.numel() for x in sample.leaves.values()) <= LARGEST:
                with named(name):
                    checked += _check_sample(sample, dtype, OPERATORS[name].name in TORCH_FREEZES)
    assert checked > fewer(350, 4), "most operators compute in half precision"


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_functions_beside_the_table(dtype: torch.dtype) -> None:
    for name, (function, inputs) in turns(OWN.items(), HALVES.index(dtype), 2):
        with named(name):
            _check_sample(Sample(name, function, inputs), dtype, name in TORCH_FREEZES)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_modules(dtype: torch.dtype) -> None:
    checked = 0
    for name, training in turns(MODES, HALVES.index(dtype), 4):
        info = TABLE[name]
        given = info.module_inputs_func(info, device="cpu", dtype=D, requires_grad=False, training=training)[0]
        torch.manual_seed(0)
        exact = info.module_cls(*given.constructor_input.args, **given.constructor_input.kwargs).to(D).train(training)
        module = copy.deepcopy(exact).to(dtype)
        args, kwargs = tuple(given.forward_input.args), dict(given.forward_input.kwargs)
        looked = LOOKED_AT.get(name, ())
        sample = Sample(name, lambda *a, m=exact, **k: copy.deepcopy(m)(*a, **k), args, kwargs, looked_at=looked)
        half = Sample(
            name, lambda *a, m=module, **k: copy.deepcopy(m)(*a, **k), _narrowed(args, dtype), _narrowed(kwargs, dtype),
            looked_at=looked,
        )  # fmt: skip
        if sample.leaves and len(half.leaves) == len(sample.leaves):
            with named(name):
                checked += _check(half.run, sample.run, half.inputs, [b.to(dtype) for b in sample.bases], dtype)
    assert checked > fewer(80, 4), "most modules compute in half precision"


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("scale", [1e-3, 1e-2, 1.0])
def test_rms_norm_without_eps_takes_that_of_single_precision(dtype: torch.dtype, scale: float) -> None:
    x = (torch.linspace(-1, 1, 12) * scale).to(dtype).reshape(2, 6)
    r = (torch.linspace(1, -0.5, 12) * scale).to(dtype).reshape(2, 6)
    made = nn.RMSNorm(6, elementwise_affine=False)(np.decompose(x, baseline=r))
    u = r.double() + torch.linspace(0, 1, 2001, dtype=D)[:, None, None] * (x.double() - r.double())
    u.requires_grad_()
    y = u / (u.square().mean(-1, keepdim=True) + torch.finfo(torch.float32).eps).sqrt()
    for j in range(6):  # of one column of the result: the integral of the gradient, by the trapezoidal rule
        (slope,) = torch.autograd.grad(y[..., j].sum(), u, retain_graph=True)
        want = torch.trapezoid(slope.detach(), dx=1 / 2000, dim=0) * (x.double() - r.double())
        got = made.components.double().detach().reshape(2, 6, 2, 6)[..., j]
        got = torch.stack([got[i, :, i] for i in range(2)])
        assert float((got - want).abs().max()) <= 8 * torch.finfo(dtype).eps * float(y.detach().abs().max())


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("f", [F.gelu, F.silu, torch.tanh, torch.exp, torch.special.erf, F.softplus])
def test_slopes_of_long_and_short_steps_are_those_of_double_precision(dtype: torch.dtype, f: Function) -> None:
    """Near the ends of the exponent range too, where a slope of half precision is none."""
    x = torch.tensor([-9.0, -6.5, -2.0, -1e-3, 0.0, 0.7, 0.701, 3.0, 9.0], dtype=dtype)
    for shift in (1e-3, 0.25, 4.0):
        r = (x.double() - shift).to(dtype)
        made = f(np.decompose(x, baseline=r))
        change = f(x.double()) - f(r.double())
        assert made.components.dtype is dtype
        error = (made.components.double().sum(0) - change).abs()
        own = (f(x).double() - f(x.double())).abs() + (f(r).double() - f(r.double())).abs()
        assert bool((error <= 4 * torch.finfo(dtype).eps * change.abs() + own + torch.finfo(dtype).tiny).all())


# -- NumPy -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_functions_of_numpy(dtype: torch.dtype) -> None:
    checked = 0
    for name, sample in turns(CASES, HALVES.index(dtype), 4):
        found = leaves(sample)
        if name in CANCELS or any(leaf.dtype not in ("float64", "float32") for leaf in found.values()):
            continue

        def calls(*arrays: torch.Tensor, name: str = name, sample: samples.Sample = sample) -> list[Any]:
            new = dict(zip(leaves(sample), map(np.asarray, arrays), strict=True))
            return [
                out.tensor if isinstance(out, (np.ndarray, np.generic)) else out for out in flat(run(name, sample, new))
            ]

        inputs = [torch.tensor(leaf.data, dtype=D).to(dtype) for leaf in found.values()]
        bases = [torch.tensor(baseline(leaf, sample.base, path)).to(dtype) for path, leaf in found.items()]
        with named(f"{name}{sample}"):
            checked += _check(calls, calls, inputs, bases, dtype, name in FREEZES or bool(sample.freezes))
    assert checked > fewer(800, 4)


# -- the end of float16 ------------------------------------------------------------------------------------------------

BEYOND: dict[str, Function] = {
    "sum": lambda x: x.sum(),
    "cumsum": np.cumsum,
    "add": lambda x: x + x,
    "multiply": lambda x: x * 3,
    "square": lambda x: np.square(x / 100),
    "power": lambda x: np.abs(x / 1000) ** (np.abs(x) / 10000),
    "matmul": lambda x: x @ x / 1000,
    "prod": lambda x: np.prod(x / 1000),
    "nanprod": lambda x: np.nanprod(x / 1000),
    "polyval": lambda x: np.polyval(x / 1000, x / 1000),
    "dot": lambda x: np.dot(x, np.ones_like(x)),
    "cumprod": lambda x: np.cumprod(x / 1000),
    "convolve": lambda x: np.convolve(x, x),
    "astype": lambda x: (x.astype("float32") * 3).astype("float16"),
    "exp": lambda x: np.exp(x / 1000),
    "einsum": lambda x: np.einsum("i,j->ij", x, x),
    "clip": lambda x: np.clip(x * 3, -1, 1),
    "norm": lambda x: np.linalg.norm(x, 1),
    "torch.addmm": lambda x: np.asarray(torch.addmm(x.tensor, x.tensor[:, None], x.tensor[None])),
    "linear": lambda x: np.asarray(F.linear(x.tensor, x.tensor[None])),
}


@pytest.mark.parametrize("name", BEYOND)
def test_contributions_beyond_the_range_are_said(name: str) -> None:
    """Of numbers around the largest ones, 65504, some results or their contributions are infinite: then it is said."""
    source, infinite = np.random.default_rng(5), 0
    for scale in (6e4, 3e4, 1e4, 1e2):
        for _ in range(6):
            x, r = (np.array(source.uniform(-1, 1, 4) * scale, "float16") for _ in range(2))
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always", np.DecompositionWarning)
                made = BEYOND[name](np.decompose(x, baseline=r))
            finite = bool(np.isfinite(made.components).all())
            infinite += not finite
            assert finite or any("infinite" in str(one.message) for one in said)
            assert scale > 1e2 or name in GROWING or not said
    assert infinite


GROWING = frozenset({"convolve", "einsum", "torch.addmm", "linear"})

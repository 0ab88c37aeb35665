"""The law, checked of any function of torch tensors: value, residual, completeness, reverse mode, small changes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

import npdec as np
from seeds import seed

Function = Callable[..., Any]
GROUPS = 4  # components of an input: enough to tell them apart


def flat(result: Any) -> Iterator[Any]:
    """The tensors and other things of a result, in order."""
    if isinstance(result, (tuple, list)):
        for item in result:
            yield from flat(item)
    elif isinstance(result, dict):
        for key in result:
            yield from flat(result[key])
    else:
        yield result


def carries(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


def is_decomposed(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and hasattr(x, "components")


def groups_of(x: torch.Tensor, offset: int) -> torch.Tensor:
    return torch.arange(x.numel()).reshape(x.shape) % GROUPS + offset


def seeded(f: Function, inputs: Sequence[torch.Tensor]) -> list[Any]:
    seed(7)
    return list(flat(f(*inputs)))


def bits_differ(a: torch.Tensor, b: torch.Tensor) -> bool:
    return not torch.equal(torch.nan_to_num(a, 1.25), torch.nan_to_num(b, 1.25)) or not torch.equal(
        a.isnan(), b.isnan()
    )


def size_of(*tensors: torch.Tensor) -> float:
    """The largest finite magnitude."""
    sizes = [t.detach().abs().double() for t in tensors]
    return max((float(s[torch.isfinite(s)].max()) for s in sizes if torch.isfinite(s).any()), default=0.0)


def worst(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference, of elements that are not the same infinity or nan."""
    if a.shape != b.shape:
        return torch.inf
    if not a.numel():
        return 0.0
    same = (a == b) | (a.isnan() & b.isnan())
    return float(torch.where(same, 0, a - b).detach().abs().nan_to_num(torch.inf, torch.inf).max())


def digits(dtype: torch.dtype, double: float, single: float, half: float = 2e-2) -> float:
    return {8: double, 4: single, 2: half}[torch.finfo(dtype).bits // 8]


def marked(inputs: Sequence[torch.Tensor], bases: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    groups = tuple(groups_of(x, GROUPS * i) for i, x in enumerate(inputs))
    made: tuple[torch.Tensor, ...] = np.decompose(tuple(inputs), baseline=tuple(bases), groups=groups)
    return made


def total(outputs: Sequence[Any]) -> torch.Tensor:
    """One number of all the results: a fixed linear combination of what is finite."""
    source = torch.Generator().manual_seed(3)
    numbers: Any = 0.0
    for out in outputs:
        if not carries(out) or not out.numel():
            continue
        parts = [torch.real(out), torch.imag(out)] if out.is_complex() else [out]
        for part in parts:
            weights = torch.rand(part.shape, generator=source, dtype=torch.float64) + 0.5
            finite = torch.isfinite(part.value if is_decomposed(part) else part)
            if is_decomposed(part):
                finite &= torch.isfinite(part.residual)
            part = torch.where(finite, part, torch.zeros((), dtype=part.dtype))
            numbers = numbers + (part * weights.to(part.dtype)).sum().double()
    return torch.as_tensor(numbers, dtype=torch.float64)


def check_forward(
    f: Function,
    inputs: Sequence[torch.Tensor],
    bases: Sequence[torch.Tensor],
    *,
    freezes: bool = False,
    exact: bool = True,
) -> list[Any]:
    """Value bit for bit, residual the function of the baseline, completeness. Returns the decomposed results.

    Not `exact` are functions of which torch itself has other bits when the same numbers lie elsewhere in memory."""
    with torch.no_grad():
        plain, base = seeded(f, inputs), seeded(f, bases)
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", ".*at the baseline it would choose otherwise")
        made = seeded(f, marked(inputs, bases))
    assert len(made) == len(plain), f"{len(made)} results, not {len(plain)}"
    for i, (got, want) in enumerate(zip(made, plain, strict=True)):
        if not isinstance(want, torch.Tensor):
            assert got == want or got is want or (got != got and want != want), f"result {i}: {got!r}, not {want!r}"
            continue
        assert got.dtype == want.dtype, f"result {i}: dtype {got.dtype}, not {want.dtype}"
        assert got.shape == want.shape, f"result {i}: shape {got.shape}, not {want.shape}"
        value = got.value if is_decomposed(got) else got
        rounding = 0.0 if exact or not carries(want) else 1e-12 * size_of(want)
        same = worst(value, want) <= rounding if rounding else not bits_differ(value, want)
        assert same, f"result {i}: the value is not the plain one, by {worst(value, want)}"
        if not carries(want):
            if is_decomposed(got):
                assert torch.equal(got.residual, base[i]), f"result {i}: the residual is not f(baseline)"
                change = want.to(got.components.dtype) - base[i].to(got.components.dtype)
                error = worst(got.components.sum(0), change)
                # Contributions to counts are in double precision; their digits are those of what they come from.
                coarsest = min(
                    [got.components.dtype, *[t.dtype for t in inputs if carries(t)]], key=lambda d: d.itemsize
                )
                assert error <= digits(coarsest, 1e-10, 1e-4) * size_of(change, got.components)
            continue
        if not is_decomposed(got):
            assert freezes or not bits_differ(want, base[i]), f"result {i}: lost its contributions"
            continue
        finite = torch.isfinite(got.value) & torch.isfinite(got.residual)
        parts = [got.value[finite], got.residual[finite], got.components[:, finite].abs().sum(0)]
        error = (parts[0] - parts[1] - got.components[:, finite].sum(0)).abs()
        scale, least = size_of(*parts), max(digits(d, 1e-10, 1e-4) for d in (want.dtype, *(x.dtype for x in inputs)))
        largest = float(error.max()) if error.numel() else 0.0
        assert largest <= least * scale, f"result {i}: completeness misses by {largest:.1e} at {scale:.1e}"
        if not freezes or not any("would choose otherwise" in str(warning.message) for warning in caught):
            error_of = worst(got.residual, base[i])
            least = 10 * least * max(scale, size_of(base[i]))
            assert error_of <= least, f"result {i}: the residual is not f(baseline), by {error_of:.1e}"
    return made


def check_reverse(
    f: Function, inputs: Sequence[torch.Tensor], bases: Sequence[torch.Tensor], made: Sequence[Any]
) -> None:
    """What reverse mode attributes to the groups is what forward mode found; of results that are finite."""
    if not all(bool(torch.isfinite(torch.cat([p.flatten() for p in (t.value, t.residual)])).all())
               for t in made if is_decomposed(t)):  # fmt: skip
        return
    forward = total(made)
    for i, (x, base) in enumerate(zip(inputs, bases, strict=True)):

        def one(a: torch.Tensor, i: int = i) -> torch.Tensor:
            there = [(v, v)[0] for v in inputs]
            there[i] = a
            return total(seeded(f, there))

        alone = total(seeded(f, [*inputs[:i], *marked([x], [base]), *inputs[i + 1 :]])) if len(inputs) > 1 else forward
        got = np.attribute(one, x, baseline=base).attribution
        names = sorted({int(g) for g in groups_of(x, 0).flatten()})
        want = alone.components if is_decomposed(alone) else torch.zeros(len(names), dtype=torch.float64)
        sums = torch.zeros(len(names), dtype=torch.float64)
        sums.index_add_(0, groups_of(x, 0).flatten(), got.real.double().flatten())
        scale = max(size_of(want), abs(float(alone)))
        error = worst(sums, want)
        coarse = min(
            [*[t.dtype for t in inputs], *[t.dtype for t in made if carries(t)]], key=lambda d: torch.finfo(d).bits
        )
        assert error <= digits(coarse, 1e-8, 1e-3) * scale, (
            f"input {i}: reverse is not forward, by {error:.1e} at {scale:.1e}"
        )


def check_small_changes(f: Function, inputs: Sequence[torch.Tensor]) -> None:
    """Where the baseline is near the value, the contributions are torch's gradient times the change."""
    if any(torch.finfo(x.dtype).bits < 64 for x in inputs):
        return
    source = torch.Generator().manual_seed(11)
    h = 1e-6
    steps = [h * (torch.rand(x.shape, generator=source, dtype=torch.float64) - 0.5).to(x.dtype) for x in inputs]
    free = [x.detach().clone().requires_grad_() for x in inputs]
    try:
        outputs = seeded(lambda *a: f(*[t * 1 for t in a]), free)
        number = total(outputs)
        if not number.requires_grad or any(carries(t) and torch.finfo(t.dtype).bits < 64 for t in outputs):
            return
        grads = torch.autograd.grad(number, free, allow_unused=True)
    except RuntimeError as error:  # NotImplementedError is one
        words = ("derivative", "differentia", "sparse", "Sparse")
        if not any(word in str(error) for word in words):
            raise
        return
    if not all(g is None or bool(torch.isfinite(g).all()) for g in grads):
        return
    made = total(seeded(f, marked(inputs, [x - d for x, d in zip(inputs, steps, strict=True)])))
    if not is_decomposed(made):
        assert all(g is None or not bool(g.any()) for g in grads), "lost its contributions"
        return
    for i, (g, d) in enumerate(zip(grads, steps, strict=True)):
        places = groups_of(d, 0).flatten()
        want = torch.zeros(GROUPS, dtype=torch.float64)
        if g is not None:
            want.index_add_(0, places, (g.conj() * d).real.double().flatten())
        got = torch.zeros(GROUPS, dtype=torch.float64)
        first = sum(len(set(groups_of(x, 0).flatten().tolist())) for x in inputs[:i])
        count = len(set(places.tolist()))
        got[:count] = made.components[first : first + count]
        largest = size_of(*[x for x in grads if x is not None]) * h
        error = worst(got, want)
        assert error <= 1e-3 * largest + 1e-13 * abs(float(made)), (
            f"input {i}: a small change contributes {got.tolist()}, the gradient says {want.tolist()}"
        )


def check(
    f: Function,
    inputs: Sequence[torch.Tensor],
    bases: Sequence[torch.Tensor],
    *,
    freezes: bool = False,
    small: bool = True,
    exact: bool = True,
) -> list[Any]:
    """All the checks. `freezes`: a selection is made at the value, so that the residual need not be f(baseline)."""
    made = check_forward(f, inputs, bases, freezes=freezes, exact=exact)
    check_reverse(f, inputs, bases, made)
    if small:
        check_small_changes(f, inputs)
    return made

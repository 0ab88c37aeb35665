"""Every public function under decomposition: value, residual, completeness, reverse mode and autograd."""

from __future__ import annotations

import pathlib
import random
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import npdec as np
import samples
from decomposition_cases import (
    CASES,
    CHOICES,
    FREEZES,
    Path,
    baseline,
    decomposed,
    inexact,
    leaves,
    run,
    single,
    variants,
)
from tiers import turns

# Functions without a derivative.
NOT_DIFFERENTIABLE: dict[str, str] = {
    "trim_zeros": "the shape depends on what is zero",
    "unique": "the shape depends on what is equal",
    **dict.fromkeys(
        "unique_all unique_counts unique_inverse unique_values".split(), "the shape depends on what is equal"
    ),
    **dict.fromkeys("union1d intersect1d setdiff1d setxor1d".split(), "the shape depends on what is equal"),
}


def numbers(x: Any) -> Any:
    return x.tensor.detach().resolve_conj().numpy()


def digits(dtype: Any, double: float, single: float, half: float = 1e-2) -> float:
    return {"float16": half, "float32": single, "complex64": single}.get(str(dtype), double)


each_name = pytest.mark.parametrize("name", dict(CASES))


def choices(function: str) -> list[tuple[str, samples.Sample, tuple[Path, ...]]]:
    return [choice for choice in CHOICES if choice[0] == function]


pytestmark = pytest.mark.usefixtures("decomposition_warnings_alone")


def _residual_differs(name: str, sample: samples.Sample, chosen: tuple[Path, ...]) -> bool:
    """Whether the residual is not the function of the baseline; a warning has to say so then."""
    _, bases, marked = decomposed(sample, chosen)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", np.DecompositionWarning)
        made = run(name, sample, marked)
    differs = _differs(made, run(name, sample, bases), bases)
    said = any("would choose otherwise" in str(warning.message) for warning in caught)
    assert said or not differs, "the residual is not the function of the baseline, and nothing says so"
    return differs


def _differs(made: list[Any], wanted: list[Any], bases: dict[Path, Any]) -> bool:
    for got, base in zip(made, wanted, strict=True):
        if isinstance(got, (np.ndarray, np.generic)) and (inexact(got) or got.is_decomposed):
            residual, base = numbers(got.residual), numbers(base)
            if residual.shape != base.shape:
                return True
            if not inexact(got):
                if (residual != base).any():
                    return True
                continue
            rtol = max(digits(x.dtype, 1e-9, 1e-4) for x in (got, *bases.values()))
            scale = numpy.abs(base[numpy.isfinite(base)]).max(initial=0.0)
            if not numpy.allclose(residual, base, rtol=rtol, atol=rtol * scale, equal_nan=True):
                return True
    return False


@pytest.mark.whole
@each_name
def test_value_is_unchanged_and_complete(name):
    samples.check_all(check_value_and_completeness, choices(name))


def check_value_and_completeness(name: str, sample: samples.Sample, chosen: tuple[Path, ...]) -> None:
    plain, _, marked = decomposed(sample, chosen)
    made, wanted = run(name, sample, marked), run(name, sample, plain)
    assert len(made) == len(wanted)
    for got, want in zip(made, wanted, strict=True):
        assert isinstance(got, type(want))
        if not isinstance(want, (np.ndarray, np.generic)):
            continue
        assert not want.is_decomposed
        assert got.dtype == want.dtype
        assert numbers(got.value).tobytes() == numbers(want).tobytes()
        if not got.is_decomposed and not inexact(want):
            continue
        value, residual, components = (numbers(part) for part in (got.value, got.residual, got.components))
        finite = numpy.isfinite(value) & numpy.isfinite(residual)
        with numpy.errstate(all="ignore"):
            error = numpy.abs((value * 1.0 - residual) - components.sum(0))[finite]
            scale = max(
                numpy.abs(1.0 * part[finite]).max(initial=0) for part in (value, residual, numpy.abs(components).sum(0))
            )
        bound = max(digits(x.dtype, 1e-10, 1e-4) for x in (want, *plain.values()))
        assert not error.size or error.max() <= bound * scale


@each_name
def test_residual_is_the_function_of_the_baseline(name):
    samples.check_all(check_residual, choices(name))


def check_residual(name: str, sample: samples.Sample, chosen: tuple[Path, ...]) -> None:
    if name not in FREEZES and not sample.freezes:
        assert not _residual_differs(name, sample, chosen)


@pytest.mark.parametrize("name", FREEZES)
def test_freezing_functions_freeze(name):
    assert any(_residual_differs(*choice) for choice in CHOICES if choice[0] == name), "it does not: off the list"


@pytest.mark.parametrize(("name", "sample"), [case for case in CASES if case[1].freezes], ids=samples.case_id)
def test_freezing_samples_freeze(name, sample):
    assert any(_residual_differs(*choice) for choice in CHOICES if choice[1] is sample), (
        "it does not: off with the hint"
    )


def _total(outputs: list[Any]) -> Any:
    """One number of all the results: a fixed random linear combination."""
    source = random.Random(5)
    total = np.float64(0.0)
    for out in outputs:
        if inexact(out):
            weights = np.array([source.uniform(0.5, 1.5) for _ in range(out.size)]).reshape(out.shape)
            parts = [np.real(out), np.imag(out)] if np.iscomplexobj(out) else [out]
            for i, part in enumerate(parts):
                part = np.atleast_1d(part)
                total = total + (part * weights * (i + 1))[np.isfinite(part.value)].sum()
    return total


@each_name
def test_forward_equals_reverse(name):
    samples.check_all(check_reverse_mode, turns([choice for choice in choices(name) if len(choice[2]) == 1], 0, 2))


def check_reverse_mode(name: str, sample: samples.Sample, chosen: tuple[Path, ...]) -> None:
    (path,) = chosen
    plain, bases, marked = decomposed(sample, (path,))
    x, base = plain[path], bases[path]
    outputs = run(name, sample, {path: marked[path]})
    forward = _total(outputs)
    reverse = np.attribute(lambda a: _total(run(name, sample, {path: a})), x, baseline=base)
    components = forward.components.tensor.reshape(x.shape) if forward.is_decomposed else torch.zeros(x.shape)
    there = ~numpy.isnan(numbers(x))
    got, want = numbers(reverse.attribution)[there], components.numpy()[there]
    scale = max(float(abs(forward.value)), float(numpy.abs(want).max(initial=0)))
    bound = max(digits(out.dtype, 1e-8, 1e-3) for out in (x, *filter(inexact, outputs)))
    numpy.testing.assert_allclose(got, want, rtol=0, atol=bound * scale)


# -- autograd ----------------------------------------------------------------------------------------------------------


def _first(name: str) -> tuple[str, samples.Sample] | None:
    """The first sample of a function of double precision numbers."""
    for sample in samples.SAMPLES[name]:
        found = leaves(sample)
        double = all(leaf.dtype in ("float64", "complex128") for leaf in found.values())
        if found and double and not sample.shape_only and not any(numpy.isnan(x.data).any() for x in found.values()):
            return name, sample
    return None


GRADIENTS = [found for name in dict(CASES) if name not in NOT_DIFFERENTIABLE and (found := _first(name)) is not None]


@pytest.mark.parametrize(("name", "sample"), GRADIENTS, ids=samples.case_id)
def test_gradients_flow_through_plain_arrays(name, sample):
    paths = list(leaves(sample))
    tensors = [torch.tensor(leaf.data, dtype=getattr(torch, leaf.dtype)) for leaf in leaves(sample).values()]

    def function(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outputs = run(name, sample, {path: np.asarray(t) for path, t in zip(paths, inputs, strict=True)})
        return tuple(out.tensor for out in outputs if inexact(out))

    for t in tensors:
        t.requires_grad_()
    outputs = function(*tensors)
    if any(out.requires_grad for out in outputs):
        check: Callable[..., Any] = torch.autograd.gradcheck
        assert check(lambda *i: tuple(out for out in function(*i) if out.requires_grad), tensors, eps=1e-6, atol=1e-5)
    for i, out in enumerate(outputs):
        if not out.requires_grad:  # then nothing moves it
            moved = function(*[(t + 1e-4).detach() for t in tensors])[i]
            assert moved.shape != out.shape or torch.equal(moved, out)


# -- derived calls -----------------------------------------------------------------------------------------------------


@each_name
def test_derived_calls(name):
    """Axes from both ends, axes that are kept, axes of length zero, arrays that broadcast; in both precisions. All
    floating arrays among the arguments are decomposed together."""
    for i, derived in enumerate(turns(variants(name), list(dict(CASES)).index(name), 4)):
        for sample in [(derived, single(derived))[i % 2]]:
            found = leaves(sample)
            args = [samples.make(np, leaf) for leaf in found.values()]
            bases = tuple(np.array(baseline(leaf, sample.base, path)) for path, leaf in found.items())

            def called(*given: Any, sample: samples.Sample = sample, paths: tuple[Path, ...] = tuple(found)) -> Any:
                return run(name, sample, dict(zip(paths, given, strict=True)))

            freezes = bool(sample.freezes) or name in FREEZES
            report = np.testing.check_decomposition(
                called, *args, baselines=bases if len(bases) > 1 else bases[0], freezes=freezes
            )
            rough = any(x.dtype in (np.float32, np.complex64) for x in args) or "float32" in repr(sample)
            assert report.completeness <= (1e-4 if rough else 1e-10), sample


# -- the page ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_page_is_up_to_date():
    """docs/decomposition.md, in a process of its own: tests here publish functions of their own."""
    script = pathlib.Path(__file__).parents[2] / "scripts" / "decomposition_table.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

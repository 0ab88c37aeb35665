"""The calls of tests/samples.py with arrays to decompose, and calls derived from them: the table of tests and of docs.

A sample's floating arrays are its leaves, found by their path among the arguments. From each sample others follow by
rule: single precision, axes counted from both ends, `keepdims`, axes of length zero, arrays that broadcast. NumPy says
which of them are calls at all.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy

import npdec as np
import samples

# Functions whose result follows a selection made at the value, so that the residual need not be f(baseline).
_ORDER, _EQUAL = "the order is the value's", "what is equal is decided at the value"
FREEZES: dict[str, str] = {
    **dict.fromkeys("sort sort_complex partition median nanmedian".split(), _ORDER),
    **dict.fromkeys("quantile nanquantile percentile nanpercentile".split(), _ORDER),
    **dict.fromkeys("unique unique_all unique_counts unique_inverse unique_values".split(), _EQUAL),
    **dict.fromkeys("union1d intersect1d setdiff1d setxor1d".split(), _EQUAL),
    "trim_zeros": "what is zero is decided at the value",
    "interp": "the interval of each point is decided at the value",
}

Path = tuple[Any, ...]
SINGLE = {"float64": "float32", "complex128": "complex64"}


# -- decomposing the arguments of a sample -----------------------------------------------------------------------------


def arrays(sample: samples.Sample) -> dict[Path, samples.Arr]:
    """The arrays among the arguments, by where they stand."""
    found: dict[Path, samples.Arr] = {}

    def visit(item: Any, path: Path) -> None:
        if isinstance(item, samples.Arr):
            found[path] = item
        elif isinstance(item, (list, tuple)):
            for i, inner in enumerate(item):
                visit(inner, (*path, i))

    for key, item in [*enumerate(sample.args), *sample.kwargs.items()]:
        visit(item, (key,))
    return found


def leaves(sample: samples.Sample) -> dict[Path, samples.Arr]:
    """Those of inexact numbers that are not written; infinite ones have no contributions."""
    return {
        path: item
        for path, item in arrays(sample).items()
        if item.inexact
        and not numpy.isinf(numpy.array(item.data, dtype=complex)).any()
        and not (sample.writes and path == (0,))
    }


def replaced(item: Any, path: Path, new: dict[Path, Any]) -> Any:
    """An argument with what stands at these paths exchanged."""
    if path in new:
        return new[path]
    if isinstance(item, (list, tuple)):
        return type(item)(replaced(inner, (*path, i), new) for i, inner in enumerate(item))
    return item


def with_leaves(sample: samples.Sample, new: dict[Path, Any]) -> samples.Sample:
    return dataclasses.replace(
        sample,
        args=tuple(replaced(a, (i,), new) for i, a in enumerate(sample.args)),
        kwargs={k: replaced(a, (k,), new) for k, a in sample.kwargs.items()},
    )


def run(name: str, sample: samples.Sample, new: dict[Path, Any], lib: Any = np) -> list[Any]:
    """The arrays, scalars and other things that the call returns, with these arrays in place of the sample's."""
    args, kwargs = with_leaves(sample, new).build(lib)
    result = samples.find(lib, name)(*args, **kwargs)
    return list(flat(args[0] if sample.writes else result))


def flat(result: Any) -> Iterator[Any]:
    if isinstance(result, (tuple, list)):
        for item in result:
            yield from flat(item)
    else:
        yield result


def baseline(leaf: samples.Arr, kind: str, path: Path) -> Any:
    """A random baseline of the shape of the array, where its functions are defined; nan stays where it is."""
    x = numpy.array(leaf.data, dtype=leaf.dtype)
    source = numpy.random.default_rng([len(path), *[ord(c) for c in f"{path}{x.shape}"]])
    ranges = {"any": (-2, 2), "positive": (0.3, 2.5), "unit": (-0.9, 0.9), "above": (1.1, 3), "near": (-0.05, 0.05)}
    low, high = ranges[kind]
    base = source.uniform(low, high, x.shape)
    if x.dtype.kind == "c":
        base = base + 1j * source.uniform(low, high, x.shape)
    if kind == "near":
        base = base + x
        if x.ndim > 1 and numpy.array_equal(x, numpy.swapaxes(x, -1, -2)):
            base = (base + numpy.swapaxes(base, -1, -2)) / 2
    base[numpy.isnan(x)] = numpy.nan
    return base.astype(x.dtype)


def inexact(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and np.issubdtype(x.dtype, np.inexact)


CASES = [
    (name, sample)
    for name, sample in samples.cases()
    if leaves(sample) and not sample.shape_only and sample.base != "nowhere"
]


# -- derived samples ---------------------------------------------------------------------------------------------------


def single(sample: samples.Sample) -> samples.Sample:
    """The sample in single precision."""
    return with_leaves(sample, {path: x.to(SINGLE.get(x.dtype, x.dtype)) for path, x in leaves(sample).items()})


def _shape(x: samples.Arr) -> tuple[int, ...]:
    return numpy.shape(x.data)


def _emptied(x: samples.Arr, axis: int) -> samples.Arr:
    shape = list(_shape(x))
    shape[axis] = 0
    return samples.Arr(numpy.zeros(shape).tolist() if axis else [], x.dtype)


def _accepts(name: str, word: str) -> bool:
    try:
        return word in inspect.signature(samples.find(np, name)).parameters
    except ValueError:
        return False


def _derived(name: str, sample: samples.Sample) -> Iterator[samples.Sample]:
    found = leaves(sample)
    first = next(iter(found.values()))
    arrays = [path for path, x in found.items() if len(path) == 1 and isinstance(path[0], int) and _shape(x)]
    ndim = len(_shape(first))
    if _accepts(name, "axis") and "axis" not in sample.kwargs:
        for axis in (0, -1, (0, -1)) if ndim > 1 else (-1,):
            yield dataclasses.replace(sample, kwargs={**sample.kwargs, "axis": axis})
    if _accepts(name, "keepdims") and "keepdims" not in sample.kwargs:
        yield dataclasses.replace(sample, kwargs={**sample.kwargs, "keepdims": True})
    if arrays:
        yield with_leaves(sample, {path: _emptied(found[path], 0) for path in arrays})
        if ndim > 1 and len(arrays) == 1:
            yield with_leaves(sample, {path: _emptied(found[path], -1) for path in arrays})
    for path in arrays[1:]:
        twice = [found[path].data, found[path].data]
        yield with_leaves(sample, {path: samples.Arr(twice, found[path].dtype)})
    if len(arrays) == 1 and not sample.writes and "axis" not in sample.kwargs:
        twice = [first.data, first.data]
        yield with_leaves(sample, {arrays[0]: samples.Arr(twice, first.dtype)})


def _is_call(name: str, sample: samples.Sample) -> bool:
    """Whether NumPy takes it, and gives inexact numbers, no infinite ones nor NaN unless that was among its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = run(name, sample, {}, numpy)
        except Exception:  # whatever NumPy refuses is no call
            return False
    numbers = [numpy.asarray(x) for x in made if not isinstance(x, str)]
    numbers = [x for x in numbers if x.dtype.kind in "fc"]
    known = any(numpy.isnan(numpy.array(x.data, dtype=complex)).any() for x in leaves(sample).values())
    return bool(numbers) and (known or all(numpy.isfinite(x).all() for x in numbers))


def variants(name: str) -> list[samples.Sample]:
    """What follows from the samples of a function: each call once."""
    found: dict[str, samples.Sample] = {}
    for own, sample in CASES:
        if own == name and samples.find(numpy, name) is not None:
            for made in _derived(name, sample):
                key = repr(made)
                if key not in found and leaves(made) and _is_call(name, made):
                    found[key] = made
    return list(found.values())


# -- which of a sample's arrays are decomposed -------------------------------------------------------------------------

CHOICES = [
    (name, sample, chosen)
    for name, sample in CASES
    for chosen in [*[(path,) for path in leaves(sample)], *([tuple(leaves(sample))] if len(leaves(sample)) > 1 else [])]
]


def choice_id(item: Any) -> str:
    return (
        "+".join("".join(map(str, path)) for path in item)
        if isinstance(item, tuple) and item and isinstance(item[0], tuple)
        else samples.case_id(item)
    )


def decomposed(
    sample: samples.Sample, chosen: tuple[Path, ...]
) -> tuple[dict[Path, Any], dict[Path, Any], dict[Path, Any]]:
    """The chosen arrays plain, at their baselines, and decomposed under one set of labels."""
    found = leaves(sample)
    plain = {path: samples.make(np, found[path]) for path in chosen}
    bases = {path: np.array(baseline(found[path], sample.base, path)) for path in chosen}
    marked = np.decompose(tuple(plain.values()), baseline=tuple(bases.values()))
    return plain, bases, dict(zip(chosen, marked, strict=True))

"""Every public function against NumPy: values, dtypes, shapes, kinds of results, `out=`, methods, signatures, docs."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
import torch

import npdec as np
import samples
from tiers import turns

RTOL = {"float16": 1e-2, "float32": 1e-5, "complex64": 1e-5, "float64": 1e-12, "complex128": 1e-12}
# Chapters that compute no new floating-point numbers: their results are NumPy's to the bit.
EXACT = (samples.MOVEMENT.keys() | samples.SORTING.keys()) - {"pad"}
CASES = samples.cases()
NAMES = [name for name in dict(CASES) if samples.find(numpy, name) is not None]  # there is nothing to compare others to
each_name = pytest.mark.parametrize("name", NAMES)
FUNCTIONS = [name for name in samples.public_callables() if samples.find(numpy, name) is not None]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """NumPy warns of overflow, division and nan; that is not what is compared here."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


# -- the table is complete ---------------------------------------------------------------------------------------------


def test_every_public_function_has_a_sample_or_a_reason():
    known = samples.SAMPLES.keys() | samples.aliases().keys() | samples.NO_SAMPLE.keys()
    missing = samples.public_callables().keys() - known
    assert not missing, f"add samples of {sorted(missing)} to tests/samples.py"


def test_samples_and_reasons_are_not_stale():
    public = samples.public_callables().keys()
    assert not samples.SAMPLES.keys() - public, "samples of functions that npdec does not have"
    assert not samples.NO_SAMPLE.keys() - public, "reasons for functions that npdec does not have"
    assert not [name for name, found in samples.SAMPLES.items() if not found], "entries without a sample"


def test_public_names_are_numpys_or_npdecs_own():
    own = {
        "Attribution", "Composition", "DecomposedTensor", "DecompositionWarning", "attribute", "attribute_text",
        "attribution",
        "bfloat16", "check_completeness", "completeness", "debug", "decompose", "explain", "extend", "func", "grad",
        "install", "jit", "jvp", "overrides", "pydec", "pytest_plugin", "register_rule", "rule", "set_default_device",
        "value_and_grad", "version",
        "vjp",
        "vmap",
    }  # fmt: skip
    for lib, reference, extra in ((np, numpy, own), (np.linalg, numpy.linalg, set()), (np.fft, numpy.fft, set())):
        leaked = {name for name in dir(lib) if not name.startswith("_")} - set(dir(reference)) - extra
        assert not leaked, f"{lib.__name__} has public names that are no part of it: {sorted(leaked)}"


# -- comparing ---------------------------------------------------------------------------------------------------------


def plain(x: Any) -> Any:
    """An npdec array or scalar as NumPy's."""
    assert type(x.tensor) is torch.Tensor
    return numpy.asarray(x)


def compare(got: Any, want: Any, rtol: float | None = None, sample: Any = None, where: str = "result") -> None:
    """`got`, of npdec, is the counterpart of `want`, of NumPy, in kind, dtype, shape and numbers."""
    if isinstance(want, numpy.ndarray):
        assert type(got) is np.ndarray, f"{where}: {type(got)} instead of an array"
        compare_numbers(plain(got), want, rtol, sample, where)
    elif isinstance(want, numpy.generic):
        assert isinstance(got, np.generic), f"{where}: {type(got)} instead of a scalar"
        compare_numbers(plain(got), numpy.asarray(want), rtol, sample, where)
    elif isinstance(want, numpy.dtype):
        assert isinstance(got, np.dtype), f"{where}: {type(got)} instead of a dtype"
        assert str(got) == str(want), where
    elif isinstance(want, type) and issubclass(want, numpy.generic):
        assert got.__name__ == want.__name__, where
    elif isinstance(want, (tuple, list)):
        kind = tuple if isinstance(want, tuple) else list
        assert isinstance(got, kind), f"{where}: {type(got)} instead of {type(want)}"
        assert len(got) == len(want), where
        if hasattr(want, "_fields"):
            assert (type(got).__name__, got._fields) == (type(want).__name__, want._fields), where
        for i, (g, w) in enumerate(zip(got, want)):
            compare(g, w, rtol, sample, f"{where}[{i}]")
    elif isinstance(want, (types.NoneType, bool, int, float, complex, str, dict)):
        assert type(got) is type(want), f"{where}: {type(got)} instead of {type(want)}"
        assert got == want or (got != got and want != want), where
    else:
        raise AssertionError(f"{where}: no comparison for {type(want)}")


def compare_numbers(got: Any, want: Any, rtol: float | None, sample: Any, where: str) -> None:
    assert got.dtype == want.dtype, f"{where}: dtype {got.dtype} instead of {want.dtype}"
    assert got.shape == want.shape, f"{where}: shape {got.shape} instead of {want.shape}"
    if sample is not None:
        if sample.shape_only:
            return
        if sample.up_to_sign:
            got, want = abs(got), abs(want)
        if sample.up_to_order:
            got, want = numpy.sort(got, None), numpy.sort(want, None)
    if rtol is None:
        rtol = RTOL.get(str(want.dtype), 0.0)
    if rtol:  # rounding is relative to the largest numbers that took part
        finite = abs(want)[numpy.isfinite(want)]
        scale = float(finite.max()) if finite.size else 0.0
        numpy.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * scale, err_msg=where)
    else:
        numpy.testing.assert_array_equal(got, want, err_msg=where)
        if want.dtype.kind in "fc":
            numpy.testing.assert_array_equal(numpy.signbit(got.real), numpy.signbit(want.real), err_msg=where)


def run(lib: Any, name: str, sample: samples.Sample, **more: Any) -> Any:
    args, kwargs = sample.build(lib)
    result = samples.find(lib, name)(*args, **kwargs, **more)
    if sample.writes:
        assert result is None
        return args[0]
    return result


def arrays_in(item: Any) -> Iterator[Any]:
    if isinstance(item, (list, tuple)):
        for i in item:
            yield from arrays_in(i)
    elif isinstance(item, np.ndarray):
        yield item


# -- the samples -------------------------------------------------------------------------------------------------------


@pytest.mark.whole
@each_name
def test_result_is_numpys(name):
    for sample in samples.SAMPLES[name]:
        with samples.named(f"{name}{sample}"):
            compare(run(np, name, sample), run(numpy, name, sample), 0.0 if name in EXACT else None, sample)


@pytest.mark.parametrize("name", samples.aliases())
def test_alias_is_numpys_too(name):
    canonical = samples.aliases()[name]
    assert samples.find(numpy, name) is not None
    for sample in samples.SAMPLES[canonical]:
        compare(run(np, name, sample), run(numpy, name, sample), None, sample)


@each_name
def test_inputs_are_unchanged(name):
    for sample in samples.SAMPLES[name]:
        args, kwargs = sample.build(np)
        given = list(arrays_in([args, list(kwargs.values())]))[1 if sample.writes else 0 :]
        before = [plain(x).copy() for x in given]
        samples.find(np, name)(*args, **kwargs)
        for x, old in zip(given, before, strict=True):
            numpy.testing.assert_array_equal(plain(x), old, err_msg=f"{name}{sample}")


def _takes_out(name: str, sample: samples.Sample) -> bool:
    if {"dtype", "casting"} <= sample.kwargs.keys() and name in ("concatenate", "stack"):
        return False  # a dtype stands in the place of an output
    return "out" in inspect.signature(samples.find(np, name)).parameters


@each_name
def test_out(name):
    samples.check_all(check_out, [(name, sample) for sample in samples.SAMPLES[name] if _takes_out(name, sample)])


def check_out(name: str, sample: samples.Sample) -> None:
    want = run(np, name, sample)
    several = isinstance(want, tuple)
    wanted = want if several else (want,)
    outs = tuple(np.empty(w.shape, dtype=w.dtype) for w in wanted)
    got = run(np, name, sample, out=outs if several else outs[0])
    for g, o, w in zip(got if several else (got,), outs, wanted, strict=True):
        assert g is o
        numpy.testing.assert_array_equal(plain(o), plain(w))
    wrong = tuple(np.empty((*w.shape, 7), dtype=w.dtype) for w in wanted)
    if wanted[0].size != 1 and not isinstance(samples.find(np, name), np.ufunc):
        with pytest.raises(ValueError, match=r"shape|broadcast"):
            run(np, name, sample, out=wrong if several else wrong[0])


# -- methods -----------------------------------------------------------------------------------------------------------


def test_arrays_have_numpys_methods():
    missing = {name for name in dir(numpy.ndarray) if not name.startswith("_")} - set(dir(np.ndarray))
    assert not missing


METHOD_CASES = [
    (name, sample)
    for name, sample in CASES
    if callable(getattr(numpy.ndarray, name, None)) and sample.args and isinstance(sample.args[0], samples.Arr)
    # NumPy's method gives the array itself where there is nothing to conjugate.
    if name != "conjugate" or isinstance(sample.args[0].data, list)
]


@pytest.mark.parametrize(("name", "sample"), METHOD_CASES, ids=samples.case_id)
def test_method_is_numpys(name, sample):
    def run_method(lib):
        (x, *args), kwargs = sample.build(lib)
        try:
            result = getattr(x, name)(*args, **kwargs)
        except TypeError as error:  # the method of NumPy takes fewer arguments than the function
            return type(error)
        return x if sample.writes or result is None else result

    want = run_method(numpy)
    if want is not TypeError:
        compare(run_method(np), want, 0.0 if name in EXACT else None, sample)


# -- printing ----------------------------------------------------------------------------------------------------------

PRINTED = {
    "floats": samples.real(2, 3),
    "spread": samples.arr([1e-10, 1.0, 123456.789]),
    "special": samples.arr([float("nan"), float("inf"), -1.0]),
    "float32": samples.real(3).to("float32"),
    "float16": samples.real(3).to("float16"),
    "integers": samples.integers(2, 3),
    "uint8": samples.integers(3, low=0, dtype="uint8"),
    "booleans": samples.booleans(2, 2),
    "complex": samples.compl(3),
    "long": samples.real(40, 30),
    "cube": samples.real(2, 2, 2),
    "0-d": samples.real(),
    "nothing": samples.real(0),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"precision": 2},
    {"suppress": True, "threshold": 5},
    {"floatmode": "fixed", "sign": "+", "linewidth": 40},
    {"nanstr": "?", "infstr": "!", "edgeitems": 1},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", PRINTED)
def test_text_is_numpys(name, options):
    texts = []
    for lib in (np, numpy):
        x = samples.make(lib, PRINTED[name])
        with lib.printoptions(**options):
            texts.append((repr(x), str(x), [repr(s) for s in x.ravel()[:2]], [str(s) for s in x.ravel()[:2]]))
            assert lib.get_printoptions()["precision"] == options.get("precision", 8)
    assert texts[0] == texts[1]


def test_set_printoptions_is_numpys():
    before = numpy.get_printoptions()
    try:
        for lib in (np, numpy):
            lib.set_printoptions(precision=3)
        assert repr(np.array([1 / 3])) == repr(numpy.array([1 / 3])) == "array([0.333])"
    finally:
        for lib in (np, numpy):
            lib.set_printoptions(**before)
    assert repr(np.array([1 / 3])) == "array([0.33333333])"


# -- signatures and docs -----------------------------------------------------------------------------------------------

# Public functions whose signature differs from NumPy's, and why.
SIGNATURES: dict[str, str] = {
    "array": "NumPy writes ndmax=0, which given is another number than not given; here the default is what it means",
    "where": "NumPy writes None for what is not given; given, None is an object to choose",
    **dict.fromkeys(["sort", "argsort"], "the array API standard's descending= is taken as well"),
    **dict.fromkeys(["fft.fftfreq", "fft.rfftfreq"], "the array API standard's dtype= is taken as well"),
}


def _described(function: Any) -> list[tuple[str, str, str]]:
    """Names, kinds and defaults; NumPy's own marker for no value has the same text as npdec's."""
    return [(p.name, p.kind.description, repr(p.default)) for p in inspect.signature(function).parameters.values()]


def test_signatures_are_numpys():
    samples.check_all(check_signature, zip(FUNCTIONS))


def check_signature(name: str) -> None:
    function, reference = samples.find(np, name), samples.find(numpy, name)
    if reference is numpy.fromstring:  # NumPy states no signature of it
        assert str(inspect.signature(function)).startswith("(string: 'Any', dtype: 'Any' = ")
        return
    described = _described(function), _described(reference)
    if name in SIGNATURES:
        assert described[0] != described[1], f"{name} is exempt for no reason"
    else:
        assert described[0] == described[1]


def test_signature_exemptions_are_of_public_functions():
    assert SIGNATURES.keys() <= set(FUNCTIONS)
    assert all(SIGNATURES.values())


def test_names_and_docs():
    samples.check_all(check_name_and_docs, zip(samples.public_callables()))


def check_name_and_docs(name: str) -> None:
    function = samples.public_callables()[name]
    reference = samples.find(numpy, name)
    names = {name.rpartition(".")[2], getattr(reference, "__name__", ""), samples.aliases().get(name, "")}
    assert function.__name__ in names
    assert function.__module__.partition(".")[0] == "npdec"
    doc = inspect.getdoc(function) or ""
    assert len(doc.split()) > 5, "no docstring"
    assert ">>> " in doc, "no example"
    assert reference is None or doc != inspect.getdoc(reference)


# -- the same samples in other forms -----------------------------------------------------------------------------------


def _converted(item: Any, convert: Callable[[samples.Arr], Any]) -> Any:
    if isinstance(item, samples.Arr):
        return convert(item)
    if isinstance(item, (list, tuple)):
        return type(item)(_converted(i, convert) for i in item)
    return item


def in_form(sample: samples.Sample, convert: Callable[[samples.Arr], Any]) -> samples.Sample:
    """The sample with its arrays converted."""
    return dataclasses.replace(
        sample,
        args=tuple(_converted(a, convert) for a in sample.args),
        kwargs={k: _converted(v, convert) for k, v in sample.kwargs.items()},
    )


def _outcome(lib: Any, name: str, sample: samples.Sample) -> Any:
    try:
        return run(lib, name, sample)
    except Exception as error:
        return error


def compare_outcomes(
    name: str, sample: samples.Sample, reference: samples.Sample | None = None, rtol: float | None = None
) -> None:
    """Run the sample on both libraries (NumPy may be given another form of it): the same result or kind of error."""
    want = _outcome(numpy, name, reference or sample)
    got = _outcome(np, name, sample)
    if isinstance(want, Exception):
        assert isinstance(got, Exception), f"{got!r} instead of {want!r}"
        kinds = {cls.__name__ for cls in type(want).__mro__} - {"Exception", "BaseException", "object"}
        assert type(got).__name__ in kinds, f"{got!r} instead of {want!r}"
    else:
        if isinstance(got, Exception):
            raise got
        compare(got, want, 0.0 if name in EXACT else rtol, sample)


@each_name
def test_in_another_dtype(name):
    for dtype in ("float32", "float16", "complex64", "int64", "int8", "uint16", "bool"):
        with samples.named(dtype):
            check_in_another_dtype(name, dtype)
    for dtype in turns(("int16", "int32", "uint8", "uint32", "uint64"), NAMES.index(name), 5):
        with samples.named(dtype):
            check_in_another_dtype(name, dtype)


def in_dtype(x: numpy.ndarray, dtype: str) -> numpy.ndarray:
    """Numbers in another dtype. Booleans are what lies above the mean of its row: where all were true, matrices would
    be singular, and what LAPACK gives for these is rounding, other on every processor."""
    with numpy.errstate(all="ignore"):
        if dtype == "bool" and x.ndim:
            return x > numpy.nanmean(x, axis=-1, keepdims=True)
        return numpy.nan_to_num(abs(x) if dtype.startswith("u") else x).astype(dtype)


def check_in_another_dtype(name: str, dtype: str) -> None:
    def convert(a: samples.Arr) -> Any:
        if a.dtype != "float64":
            return a
        return samples.Arr(in_dtype(numpy.array(a.data), dtype).tolist(), dtype)

    refused = 0
    for sample in samples.SAMPLES[name]:
        converted = in_form(sample, convert)
        refusal = REFUSED.get((name, dtype))
        got = _outcome(np, name, converted) if refusal else None
        if refusal and (refusal is DIFFERS or isinstance(got, TypeError)):
            assert refusal is DIFFERS or refusal in str(got)
            refused += 1
        elif dtype in sample.degenerate or (
            sample.degenerate and dtype in ("int16", "int32", "uint8", "uint32", "uint64")
        ):
            compare_outcomes(name, converted.of(shape_only=True))
            for left, right in FACTORS[name](converted.build(np)[0][0], _outcome(np, name, converted)):
                compare(left, plain(right), RTOL.get(dtype, 1e-12))
        else:  # NumPy rounds some factors and differences to the precision of the input
            compare_outcomes(name, converted, rtol=RTOL.get(dtype))
    assert bool(refused) is ((name, dtype) in REFUSED)


@each_name
def test_errors_in_bfloat16_are_those_of_float16(name):
    """NumPy has no bfloat16: where it computes with halves, npdec gives a result, and else no error of torch's own."""
    for sample in samples.SAMPLES[name]:
        with samples.named(f"{name}{sample}"):
            want = _outcome(numpy, name, in_form(sample, _half))
            got = _outcome(np, name, in_form(sample, _brain))
            assert isinstance(got, Exception) == isinstance(want, Exception)
            if isinstance(want, Exception):
                assert type(got).__name__ in {cls.__name__ for cls in type(want).__mro__[:-3]}


def _half(a: samples.Arr) -> Any:
    return samples.Made(lambda lib: numpy.array(a.data, "float16")) if a.dtype == "float64" else a


def _brain(a: samples.Arr) -> Any:
    made = lambda lib: lib.asarray(torch.tensor(a.data, dtype=torch.float64).to(torch.bfloat16))  # noqa: E731
    return samples.Made(made) if a.dtype == "float64" else a


DIFFERS = "differs"
# What npdec refuses with a message of its own, or does otherwise.
REFUSED: dict[tuple[str, str], str] = {
    ("histogram", "complex64"): "complex values have no order",
    ("histogram_bin_edges", "complex64"): "complex values have no order",
    ("histogram2d", "complex64"): "complex values have no order",
    ("histogramdd", "complex64"): "complex values have no order",
    ("interp", "complex64"): "must be real",
    **dict.fromkeys(itertools.product(["argsort"], ["uint32", "uint64"]), "differs"),  # in the order of what is equal
    ("poly", "complex64"): DIFFERS,  # NumPy makes the result real where the roots' values are in conjugate pairs
}
# What holds of the vectors even where they are arbitrary: pairs that are equal.
FACTORS: dict[str, Callable[[Any, Any], list[tuple[Any, Any]]]] = {
    "linalg.qr": lambda a, r: [(r.Q @ r.R, a * 1.0)],
    "linalg.svd": lambda a, r: [(r.U * r.S @ r.Vh, a * 1.0), (r.S, np.linalg.svdvals(a))],
    "linalg.eig": lambda a, r: [(a * 1.0 @ r.eigenvectors, r.eigenvectors * r.eigenvalues)],
    "linalg.eigh": lambda a, r: [(r.eigenvectors * r.eigenvalues[..., None, :] @ r.eigenvectors.mT, a * 1.0)],
}


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int64", "int8", "uint16", "bool"])
@pytest.mark.parametrize("name", FACTORS)
def test_degenerate_samples_are(name, dtype):
    """The hint stands exactly where the vectors are not determined: in the dtypes that others fail in at random."""
    for sample in samples.SAMPLES[name]:
        a = in_dtype(numpy.array(sample.args[0].data), dtype).astype(complex)
        if sample.kwargs.get("compute_uv") is False or sample.args[1:] == ("r",):
            determined = True
        else:
            spectrum = numpy.linalg.eigvals(a) if name in ("linalg.eig", "linalg.eigh") else numpy.linalg.svdvals(a)
            gaps = abs(spectrum[..., :, None] - spectrum[..., None, :]) + 9 * numpy.eye(spectrum.shape[-1])
            full_rank = numpy.linalg.matrix_rank(a) == min(a.shape[-2:])
            determined = name == "linalg.qr" or gaps.min() > 1e-6
            determined &= bool(numpy.all(full_rank)) or name in ("linalg.eig", "linalg.eigh")
        assert determined is not (dtype in sample.degenerate)


def _empty(a: samples.Arr) -> samples.Made:
    shape = numpy.shape(a.data)
    return samples.Made(lambda lib: lib.zeros((0, *shape[1:]) if shape else (), dtype=a.dtype))


# NumPy returns uninitialised memory.
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("fft.irfft", "fft.hfft")])
def test_of_nothing(name):
    """Arrays without rows."""
    for sample in samples.SAMPLES[name]:
        compare_outcomes(name, in_form(sample, _empty))


FORMS: dict[str, Callable[[samples.Arr], Any]] = {
    "numpy": lambda a: samples.Made(lambda lib: numpy.array(a.data, dtype=a.dtype)),
    "torch": lambda a: samples.Made(lambda lib: torch.tensor(a.data, dtype=getattr(torch, a.dtype))),
    "strided": lambda a: samples.Made(
        lambda lib: lib.repeat(lib.array(a.data, dtype=a.dtype)[..., None], 2, -1)[..., 1]
    ),
    "column-major": lambda a: samples.Made(lambda lib: lib.array(a.data, dtype=a.dtype, order="F")),
}


@each_name
def test_in_another_form(name):
    """Arrays of NumPy and of torch, and arrays that are not contiguous, are taken like any."""
    for sample, form in itertools.product(samples.SAMPLES[name], FORMS):
        if not (sample.writes and form in ("numpy", "torch")):
            with samples.named(f"{name}{sample}, {form}"):
                converted = in_form(sample, FORMS[form])
                compare_outcomes(name, converted, sample if form in ("numpy", "torch") else None)

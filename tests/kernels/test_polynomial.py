"""The functions of `np.polynomial` against NumPy's: results, dtypes, shapes, errors."""

from __future__ import annotations

import importlib
import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import npdec as np
from tiers import turns

PREFIXES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "hermite": "herm", "hermite_e": "herme",
    "laguerre": "lag",
}  # fmt: skip
DTYPES = ["float64", "float32", "complex128", "complex64", "int64", "int16", "bool"]
RTOL = {"float16": 1e-2, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-10, "complex128": 1e-10}

each_module = pytest.mark.parametrize("module", PREFIXES)
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """NumPy's floating-point warnings are not what is compared here; a contribution that is dropped would be."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", np.DecompositionWarning)
        yield


def modules(module: str) -> tuple[Any, Any]:
    ours, theirs = (importlib.import_module(f"{lib}.polynomial.{module}") for lib in ("npdec", "numpy"))
    return ours, theirs


# -- comparing ---------------------------------------------------------------------------------------------------------


def compare(got: Any, want: Any, where: str, precision: str = "float64") -> None:
    """The same kind of result, dtype and shape, and the same numbers up to rounding."""
    if isinstance(want, (tuple, list)):
        assert type(got) is type(want), where
        assert len(got) == len(want), where
        for g, w in zip(got, want):
            compare(g, w, where, precision)
    elif isinstance(want, (numpy.ndarray, numpy.generic)):
        assert isinstance(got, np.ndarray if isinstance(want, numpy.ndarray) else np.generic), f"{where}: {type(got)}"
        got = numpy.asarray(got)
        assert got.dtype == want.dtype, f"{where}: {got.dtype} instead of {want.dtype}"
        assert got.shape == want.shape, f"{where}: {got.shape} instead of {want.shape}"
        rtol = max(RTOL.get(str(want.dtype), 0.0), RTOL.get(precision, 0.0)) if want.dtype.kind in "fc" else 0.0
        finite = abs(want)[numpy.isfinite(want)]
        scale = float(finite.max()) if finite.size else 0.0
        numpy.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * scale, err_msg=where)
    elif hasattr(want, "coef"):
        assert type(got).__name__ == type(want).__name__, where
        for attribute in ("coef", "variable") if hasattr(want, "variable") else ("coef", "domain", "window", "symbol"):
            compare(getattr(got, attribute), getattr(want, attribute), where, precision)
    else:
        assert type(got) is type(want), f"{where}: {type(got)} instead of {type(want)}"
        assert got == want or got != got, f"{where}: {got} instead of {want}"


def outcome(text: str, names: dict[str, Any]) -> Any:
    try:
        return eval(text, names)
    except Exception as error:
        return error


def compare_calls(texts: list[str], ours: dict[str, Any], theirs: dict[str, Any], dtype: str = "float64") -> None:
    """Each text evaluated in both namespaces: the same result, or an error of the same kind with the same words."""
    for text in texts:
        got, want = outcome(text, dict(ours)), outcome(text, dict(theirs))
        if isinstance(want, Exception):
            assert isinstance(got, Exception), f"{text} {dtype}: {got!r} instead of {want!r}"
            kinds = [cls.__name__ for cls in type(want).__mro__]
            assert type(got).__name__ in kinds, f"{text} {dtype}: {got!r} instead of {want!r}"
            said = str(want).replace("numpy.polynomial", "npdec.polynomial")
            assert str(got) == said or isinstance(want, (IndexError, numpy.linalg.LinAlgError)), f"{text}: {got!r}"
        elif isinstance(got, Exception):
            raise AssertionError(f"{text} {dtype}: {got!r} instead of {want!r}") from got
        else:
            compare(got, want, f"{text} {dtype}", dtype)


def drawn(lib: Any, dtype: str, seed: int = 0) -> dict[str, Any]:
    """Arrays of a dtype by the names that the calls below use: coefficients a to e, points x to z, values v."""
    source = numpy.random.default_rng(seed)

    def draw(*shape: int) -> Any:
        made = source.uniform(-2, 2, shape) + (1j * source.uniform(-2, 2, shape) if "complex" in dtype else 0)
        made = numpy.round(3 * made) if dtype in ("int64", "int16", "bool") else made
        return lib.array(abs(made).tolist() if dtype == "bool" else made.tolist(), dtype=dtype)

    names = {"a": (4,), "b": (3,), "c": (5, 3), "d": (3, 2, 2), "e": (2, 3, 2), "s": (1,), "r": (3,), "r2": (3, 2)}
    names |= {"x": (4,), "y": (4,), "z": (4,), "m": (2, 3), "t": (), "v": (7,), "v2": (7, 2), "p": (7,), "w": (7,)}
    found = {name: draw(*shape) for name, shape in names.items()}
    found["p"] = found["p"] + lib.arange(7).astype(found["p"].dtype)  # different points
    return {"np": lib, **found, "one": found["a"][0], "two": found["x"][1]}


# -- the functions -----------------------------------------------------------------------------------------------------

ARITHMETIC = """
add(a, b); add(b, a); add(a, 3); add([1, 2], [3]); add(a, -a); sub(a, b); sub(b, a); sub(a, a); mulx(a); mulx([0]);
mulx([0, 0]); mul(a, b); mul(b, a); mul(a, s); mul([0], a); mul(a, 2); mul([1, 2, 3], [0, 0, 1]); div(a, b); div(b, a);
div(a, s); div([1, 2, 3], [1, 2, 3]); div(a, [0]); div([1, 2, 3], [0, 2]); pow(a, 0); pow(a, 1); pow(a, 3);
pow(a, 2.5); pow(a, -1); pow(a, 3, 2); pow([1, 2], 17); pow([0, 0], 2); line(3, 4); line(3, 0); line(1.5, 2);
line(one, two); fromroots(r); fromroots([]); fromroots([1, 2, 2]); fromroots([[1]]); fromroots(r2); trim(a);
trim([1, 1e-9, 0], 1e-8); trim(a, -1); add([], [1]); add([[1]], [1]); add(["a"], [1]); zero; one; x; domain
"""
CONVERSIONS = """
{p}2poly(a); {p}2poly([1, 2]); {p}2poly([3]); {p}2poly([1, 2, 0]); {p}2poly([]); poly2{p}(a); poly2{p}(s);
poly2{p}([1, 2]); poly2{p}([0, 0]); poly2{p}([]); {p}2poly(np.arange(9)); poly2{p}(np.arange(9))
"""
VALUES = """
val(x, a); val(t, a); val(two, a); val(2, a); val(2.5, a); val(1j, a); val(True, a); val([1, 2], a); val((1, 2), [1]);
val(m, a); val(x, s); val(m, c); val(x, c); val(b, c, tensor=False); val(x, c, tensor=False); val(2, 5); val(2, []);
val([], a); val([0.0, np.inf], a); val(np.inf, s); val2d(x, y, c); val2d(2, 3.5, c); val2d(x, y, d); val2d(x, b, c);
val3d(x, y, z, d); val3d(x, y, s, d); val3d(1, 2, 3, e); grid2d(x, b, c); grid2d(2, b, c); grid2d(m, x, d);
grid3d(x, b, s, d); grid3d(1, 2, 3, d); vander(x, 3); vander(m, 2); vander(2, 2); vander(x, 0); vander(x, -1);
vander(x, 1.5); vander([], 2); vander2d(x, y, [2, 1]); vander2d(2, 3, [1, 1]); vander2d(x, y, [1]);
vander2d(x, y, [1, -1]); vander3d(x, y, z, [1, 2, 1]); vander3d(m, m, m, (1, 0, 2)); vander3d(x, y, z, [1, 1])
"""
CALCULUS = """
der(a); der(a, 2); der(a, 9); der(a, 0); der(c); der(c, axis=1); der(c, 2, axis=-1); der(a, 2, scl=3); der(s); der(5);
der(a, -1); der(a, 0.5); der(a, axis=1); der(a, axis=0.5); der([]); int(a); int(a, 2); int(a, 3, [1, 2]); int(a, 0);
int(a, k=3); int(a, 2, [1.5, 2], lbnd=-1); int(a, lbnd=0.5, scl=2); int(c); int(c, axis=1); int(c, k=3, axis=1);
int(c, 2, k=[1, 2]); int([0]); int([0], 2); int([0], 3, [1]); int([[0, 0]], k=2); int(5); int(a, -1); int(a, 0.5);
int(a, 1, [1, 2]); int(a, lbnd=[0]); int(a, scl=[1]); int(a, axis=2); int(a, lbnd=one, k=two)
"""
FITTING = """
fit(p, v, 3); fit(p, v, 0); fit(p, v2, 2); fit(p, v, [0, 2]); fit(p, v2, [3, 1]); fit(p, v, 2, w=abs(w) + 1);
fit(p, v2, 1, w=abs(w) + 1); fit(p, v, 2, full=True); fit(p, v2, [1, 2], full=True); fit(p, v, 2, 1e-3, True);
fit([1, 2, 3], [1, 2, 4], 1); fit([1], [1], -1); fit([[1]], [1], 0); fit([], [1], 0); fit([1], [[[1]]], 0);
fit([1, 2], [1], 0); fit([1], [1], 0, w=[[1]]); fit([1], [1], 0, w=[1, 1]); fit([1], [1], [-1]); fit([1], [1], []);
fit([1], [1], 1.5); fit([1], [1], [[1]]); fit([1, 2], [1, 2], 3)
"""
ROOTS = """
companion([1, 2, 3]); companion([1, 2]); companion([1]); companion([]); companion(abs(a) + 1);
companion([1, 2, 3, 4, 5j]); roots([1, 2]); roots([1]); roots([0, 0]); roots([]); roots([6.0, -5, 1]);
roots([1, 2, 3, 4]); roots([1, 2j, 3]); roots(abs(a) + 1)
"""
QUADRATURE = (
    "gauss(1); gauss(2); gauss(5); gauss(12); gauss(0); gauss(1.5); weight(x); weight(0.5); weight(m); weight(two)"
)


def calls(text: str, prefix: str) -> list[str]:
    return [f"{prefix}{call.strip()}" for call in text.replace("\n", " ").split(";")]


def compare_table(module: str, text: str, dtype: str) -> None:
    ours, theirs = modules(module)
    compare_calls(
        calls(text, PREFIXES[module]),
        {**drawn(np, dtype), **vars(ours)},
        {**drawn(numpy, dtype), **vars(theirs)},
        dtype,
    )


TABLES = ["ARITHMETIC", "VALUES", "CALCULUS", "FITTING", "ROOTS"]


@pytest.mark.parametrize(
    ("module", "table", "dtype"), turns(itertools.product(PREFIXES, TABLES, DTYPES), 0, 2), ids="-".join
)
def test_functions_are_numpys(module, table, dtype):
    compare_table(module, globals()[table], dtype)


@pytest.mark.parametrize("dtype", DTYPES[:-1])
@pytest.mark.parametrize("module", list(PREFIXES)[1:])
def test_functions_of_orthogonal_polynomials_are_numpys(module, dtype):
    compare_table(module, QUADRATURE, dtype)
    ours, theirs = modules(module)
    texts = [text.strip() for text in CONVERSIONS.format(p=PREFIXES[module]).replace("\n", " ").split(";")]
    compare_calls(texts, {**drawn(np, dtype), **vars(ours)}, {**drawn(numpy, dtype), **vars(theirs)}, dtype)


@each_dtype
def test_other_functions_are_numpys(dtype):
    names = {lib: {**drawn(lib, dtype), "P": lib.polynomial.polynomial, "C": lib.polynomial.chebyshev,
                   "U": lib.polynomial.polyutils} for lib in (np, numpy)}  # fmt: skip
    compare_calls([text.strip() for text in OTHERS.replace("\n", " ").split(";")], names[np], names[numpy], dtype)


OTHERS = """
P.polyvalfromroots(x, a); P.polyvalfromroots(2, a); P.polyvalfromroots(x, r2); P.polyvalfromroots(m, r2);
P.polyvalfromroots(r2[0], r2, tensor=False); P.polyvalfromroots([1], [1], tensor=False); P.polyvalfromroots(2, []);
C.chebpts1(1); C.chebpts1(4); C.chebpts1(0); C.chebpts1(1.5); C.chebpts2(2); C.chebpts2(5); C.chebpts2(1);
C.chebpts2(2.5); C.chebinterpolate(np.sin, 5); C.chebinterpolate(np.sin, 0); C.chebinterpolate(np.power, 3, (2,));
C.chebinterpolate(np.sin, -1); C.chebinterpolate(np.sin, 2.0); C.chebinterpolate(np.sin, [2]);
C.chebinterpolate(lambda x: np.stack([x, x**2], 1), 3); U.as_series([a, b]); U.as_series([a, 3]);
U.as_series([a, b], trim=False); U.as_series([[0, 0]]); U.as_series([[]]); U.as_series([[[1]]]); U.as_series([["a"]]);
U.as_series([[0, 1, 0]], trim=False); U.trimseq([1, 2, 0, 0]); U.trimseq([]); U.trimseq((0, 0)); U.trimseq(a);
U.trimcoef(a, 1); U.trimcoef(a, 99); U.trimcoef(a, -1); U.getdomain(a); U.getdomain([3]); U.getdomain([]);
U.mapparms([0, 4], [1, 3]); U.mapparms(a, x); U.mapdomain(x, [0, 4], [1, 3]); U.mapdomain([1, 2], (0, 4), (1, 3));
U.mapdomain(1, (0, 4), (1, 3)); U.mapdomain(m, a[:2], x[:2]); U.mapdomain(1, [0, 0], [1, 2]); U.format_float(1.5);
U.format_float(3); U.format_float(one); U.format_float(1j); U.format_float(np.float64(1e9));
U.format_float(np.float32(1e-9), True); U.format_float(np.float64(-1e9), parens=True); U.format_float(np.inf);
U.format_float("a")
"""


def test_degrees_are_large():
    """Far from the first terms the functions still agree."""
    source = numpy.random.default_rng(0)
    a, b, x = source.uniform(-1, 1, 60), source.uniform(-1, 1, 40), source.uniform(-1, 1, 9)
    for module in ("chebyshev", "legendre"):
        names = [{"a": lib.array(a), "b": lib.array(b), "x": lib.array(x)} for lib in (np, numpy)]
        for found, lib in zip(names, modules(module)):
            found.update(vars(lib))
        text = "val(x, a); mul(a, b); der(a); der(a, 3); int(a, 2); vander(x, 80); gauss(60); div(a, b[:9])"
        compare_calls(calls(text, PREFIXES[module]), *names)


def test_many_nodes():
    """Where NumPy's rule overflows, the weights are finite, and so are the moments that they give."""
    for module, mass in (("hermite", numpy.sqrt(numpy.pi)), ("laguerre", 1.0), ("hermite_e", numpy.sqrt(2 * numpy.pi))):
        x, w = getattr(modules(module)[0], f"{PREFIXES[module]}gauss")(180)
        second = {"hermite": mass / 2, "laguerre": 2.0, "hermite_e": mass}[module]
        numpy.testing.assert_allclose([float(w.sum()), float((w * x**2).sum())], [mass, second], rtol=1e-10)


# -- under decomposition -----------------------------------------------------------------------------------------------

FLOWS = """
val(x, a); val(1.5, a); val2d(x, y, c); grid2d(x, b, c); vander(x, 3); add(a, b); sub(a, b); mulx(a); mul(a, b);
div(a, b); pow(b, 3); line(one, two); fromroots(r); der(a); der(c, 2); int(a, 2, k=[one, two]); int(a, lbnd=one);
fit(p, v, 2); fit(p, v2, [0, 2], w=w * w + 1); companion(a); roots(r + 5 * np.arange(3) + 8)
"""


@pytest.mark.parametrize("module", PREFIXES)
@pytest.mark.parametrize("text", [text.strip() for text in FLOWS.replace("\n", " ").split(";")])
def test_contributions_pass(module, text):
    """The value is the plain one, the residual that of the baselines, and the contributions make up the difference."""
    library, prefix = modules(module)[0], PREFIXES[module]
    plain, base = drawn(np, "float64"), drawn(np, "float64", seed=1)
    marked = {}
    for name, x in plain.items():
        if name != "np":
            near = x + 0.01 * base[name] if text.startswith(("roots", "fit", "fromroots")) else base[name]
            base[name] = near
            marked[name] = np.decompose(x, baseline=near)
    results = [eval(prefix + text, {**names, **vars(library), "np": np}) for names in (marked, plain, base)]
    for got, want, residual in zip(*(result if isinstance(result, tuple) else (result,) for result in results)):
        assert got.is_decomposed
        scale = abs(numpy.asarray(want)).max()
        near = {"rtol": 1e-9, "atol": 1e-9 * scale}
        numpy.testing.assert_allclose(numpy.asarray(got.value), numpy.asarray(want), **near)
        numpy.testing.assert_allclose(numpy.asarray(got.residual), numpy.asarray(residual), **near)
        total = numpy.asarray(got.residual) + numpy.asarray(got.components).sum(0)
        numpy.testing.assert_allclose(total, numpy.asarray(got.value), rtol=1e-6, atol=1e-6 * scale)

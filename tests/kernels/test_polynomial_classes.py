"""The classes of `np.polynomial` and `np.poly1d` against NumPy's: methods, text, errors; and under decomposition."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy
import pytest
from test_polynomial import PREFIXES, compare_calls, drawn, modules

import npdec as np
from tiers import turns

CLASSES = ["Polynomial", "Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre"]

each_class = pytest.mark.parametrize("name", CLASSES)
pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:The fit may be poorly conditioned"),
]


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    yield
    for lib in (np, numpy):
        lib.polynomial.set_default_printstyle("unicode")


# -- the classes -------------------------------------------------------------------------------------------------------

CLASS_CALLS = """
K(a); K(a, [0, 2]); K(a, [0, 1], [1, 3], "z"); K(3); K([0, 1, 0]); K([]); K([[1]]); K(["a"]); K([1], [1]);
K([1], None, [1, 2, 3]); K([1], symbol=""); K([1], symbol="3"); K([1], symbol=3); q + r; q - r; q * r; q // r; q % r;
divmod(q, r); divmod(b, q); divmod(q, b); q + 1; 1 + q; q - b; b - q; q * [1, 2]; (1, 2) * q; q * 2; 2.5 * q; q / 2;
q / np.float32(2); q / 0; q / [2]; q / q; 2 / q; q / False; 7 // q; q // 7; q % b; b % q; -q; +q; q**0; q**3; q**-1;
q**1.5; q**101; q + "a"; q + [[1]]; q * None; q + other; q + other_domain; q - other_window; q * other_symbol;
q == q.copy(); q == r; q != r; q == other; q == 3; q != 3; q == other_domain; q == other_symbol; q(2); q(2.5); q(x);
q(m); q([1, 2]); q(r); q(q); q(t); len(q); list(q); hash(q); abs(q); q.degree(); q.cutdeg(1); q.cutdeg(9);
q.cutdeg(-1); q.cutdeg(0.5); q.truncate(2); q.truncate(0); q.truncate(1.5); q.trim(); q.trim(1); q.trim(-1);
K([1, 2, 0]).trim(); q.deriv(); q.deriv(2); q.deriv(9); q.deriv(-1); q.integ(); q.integ(2, [1, 2]);
q.integ(k=3, lbnd=0.5); q.integ(1, [1, 2]); K([6.0, -5, 1]).roots(); K([6.0, -5, 1], [0, 1]).roots(); q.mapparms();
q.linspace(5); q.linspace(3, [0, 1]); q.convert(); q.convert(kind=Other); q.convert([0, 3], Other, [0, 1]);
K.cast(other); K.cast(q, [0, 4]); K.identity(); K.identity([0, 4], [1, 2], "z"); K.basis(0); K.basis(3);
K.basis(2, [0, 1], symbol="z"); K.basis(-1); K.basis(1.5); K.fromroots(r1); K.fromroots(r1, None);
K.fromroots(r1, [0, 3], [0, 1]); K.fromroots([[1]]); K.fit(p, v, 2); K.fit(p, v, [0, 2], [0, 8]);
K.fit(p, v, 1, [], w=w * w); K.fit(p, v, 1, full=True); K.fit([1, 1], [2, 3], 0);
K.fit(p, v, 2, window=[0, 1], symbol="z"); K.fit(p, v2, 1); K.fit(p, v, -1); q.has_samecoef(q.copy());
q.has_samecoef(r); q.has_samedomain(other_domain); q.has_samewindow(other_window); q.has_sametype(other); q.coef;
q.domain; q.window; q.symbol; q.basis_name; q.maxpower; K.domain; K.window; q.copy(); x + q; x[0] * q; q.nothing;
K([True])
"""


def class_names(lib: Any, name: str, dtype: str) -> dict[str, Any]:
    kind, other = (getattr(lib.polynomial, n) for n in (name, "Chebyshev" if name != "Chebyshev" else "Legendre"))
    names = drawn(lib, dtype)
    a, b = names["a"], names["b"]
    return {
        **names, "K": kind, "Other": other, "q": kind(a), "r": kind(b), "r1": names["r"], "other": other(b),
        "other_domain": kind(a, [0, 3]), "other_window": kind(a, None, [0, 3]), "other_symbol": kind(a, symbol="y"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "dtype"), turns(itertools.product(CLASSES, ["float64", "float32", "complex128", "int64"]), 0, 3)
)
def test_classes_are_numpys(name, dtype):
    texts = [text.strip() for text in CLASS_CALLS.replace("\n", " ").split(";")]
    compare_calls(texts, class_names(np, name, dtype), class_names(numpy, name, dtype), dtype)


@each_class
def test_ufuncs_refuse_series(name):
    p = getattr(np.polynomial, name)([1, 2, 3])
    for call in (lambda: np.add(np.ones(3), p), lambda: np.add(p, 1), lambda: np.exp(p), lambda: numpy.exp(p)):
        with pytest.raises(TypeError):
            call()
    assert numpy.ones(2) + p == np.ones(2) + p == p + 1 + type(p)([0, 1])


def test_interpolate_is_numpys():
    texts = ["K.interpolate(np.sin, 4)", "K.interpolate(np.power, 3, [0, 2], (2,))", "K.interpolate(np.sin, -1)"]
    compare_calls(texts, class_names(np, "Chebyshev", "float64"), class_names(numpy, "Chebyshev", "float64"))


@each_class
def test_series_are_copied_and_pickled(name):
    p = getattr(np.polynomial, name)([1, 2, 3], [0, 2], [1, 3], "z")
    for q in (copy.copy(p), copy.deepcopy(p), pickle.loads(pickle.dumps(p)), p.copy()):
        assert q == p
        assert q is not p
    q.coef[0] = 7
    assert p.coef[0] == 1
    with pytest.raises(AttributeError):
        p.symbol = "y"


def _signatures(item: Any) -> dict[str, str]:
    found = {}
    for name in [name for name in dir(item) if not name.startswith("_") or name == "__init__"]:
        member = getattr(item, name)
        if callable(member) and not isinstance(member, type):
            parameters = inspect.signature(member).parameters.values()
            found[name] = str([(p.name, p.kind.description, repr(p.default)) for p in parameters])
    return found


@pytest.mark.parametrize("name", [*CLASSES, "poly1d"])
def test_signatures_of_methods_are_numpys(name):
    got, want = (_signatures(getattr(lib if name == "poly1d" else lib.polynomial, name)) for lib in (np, numpy))
    assert got == want


@pytest.mark.parametrize("module", [*PREFIXES, "polyutils"])
def test_names_signatures_and_docs(module):
    ours, theirs = modules(module)
    assert set(ours.__all__) == set(theirs.__all__)
    assert {n: s for n, s in _signatures(ours).items() if n in ours.__all__} == {
        n: s for n, s in _signatures(theirs).items() if n in theirs.__all__
    }
    for name in _signatures(ours).keys() & set(ours.__all__):
        function = getattr(ours, name)
        assert function.__name__ == getattr(theirs, name).__name__
        assert function.__module__ == getattr(theirs, name).__module__.replace("numpy", "npdec")
        assert ">>> " in function.__doc__
        assert "{" not in function.__doc__.partition(">>>")[0]


# -- text --------------------------------------------------------------------------------------------------------------

TEXTS = [
    ([1, 2, 3], {}), ([-1, 0, 3, -1], {}), ([0.0], {}), ([1e10, -1e-10, 0.1], {}), ([1.5, -2.25], {"domain": [1, 2]}),
    ([1, 2, 3], {"domain": [-2, 0], "symbol": "zz"}), ([1, 2, 3], {"domain": [-0.5, 0.5]}), (list(range(12)), {}),
    ([float("nan"), float("inf"), -float("inf")], {}), ([1j, -1j, 0, -0.0, 1 - 1j, -2 + 2j], {}),
    ([0.1, 1e9, 3.3, -1 / 3, 1 / 7, 12345678.9], {"window": [0, 3]}), ([1, 2], {"domain": [1j, 2]}),
]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [{}, {"precision": 3}, {"floatmode": "fixed"}, {"linewidth": 40, "nanstr": "?"}]


@pytest.mark.parametrize(
    ("name", "options", "dtype"), turns(itertools.product(CLASSES, OPTIONS, ["float64", "float32"]), 0, 3), ids=str
)
def test_text_is_numpys(name, options, dtype):
    for (numbers, more), style in itertools.product(TEXTS, ("unicode", "ascii")):
        texts = []
        for lib in (np, numpy):
            lib.polynomial.set_default_printstyle(style)
            kind = None if numpy.iscomplexobj(numbers) else dtype
            p = getattr(lib.polynomial, name)(lib.array(numbers, dtype=kind), **more)
            with lib.printoptions(**options):
                texts.append((repr(p), str(p), format(p), f"{p:ascii}", f"{p:unicode}", p._repr_latex_()))
        assert texts[0] == texts[1]


def test_styles_are_checked():
    for lib in (np, numpy):
        with pytest.raises(ValueError, match=r"Valid options are 'ascii' and 'unicode'"):
            lib.polynomial.set_default_printstyle("bold")
        with pytest.raises(ValueError, match=r"'\.2f' passed to"):
            format(lib.polynomial.Polynomial([1]), ".2f")


# -- poly1d ------------------------------------------------------------------------------------------------------------

POLY1D_CALLS = """
p; p.c; p.coef; p.coeffs; p.coefficients; p.o; p.order; p.r; p.roots; p.variable; np.poly1d([[1, 2]]); np.poly1d(3);
np.poly1d([]); np.poly1d([0, 0]); np.poly1d([0, 0, 1]); np.poly1d([1, 2], True); np.poly1d(p, variable="z").variable;
p[0]; p[2]; p[5]; p[-1]; p**0; p**2; p**1.5; p**-1; p * 2; 2 * p; p * b; [1, 2] * p; p / 2; 2 / p; p / b; [1, 2] / p;
p + 1; 1 - p; b + p; b * p; -p; +p; p == p; p != p; p == q; p == 3; p != 3; p == np.poly1d([1]); len(p); list(p);
hash(p); p.integ(); p.integ(2, k=[1, 2]); p.deriv(); p.deriv(2); p.deriv(-1); p(2); p(x); p([1, 2]); p(q); p(p);
np.polyval(p, x); np.polyval([1, 2], p); np.polyder(p); np.polyder(p, 2); np.polyint(p); np.polyint(p, 2, [1, 2]);
np.polyadd(p, b); np.polyadd(b, p); np.polysub(p, q); np.polymul(p, b); np.polymul(b, p); np.polydiv(p, q);
np.polydiv(p, b); np.polydiv([1.0, 2, 3], q); np.roots(p); np.asarray(p); np.array(p, dtype=complex); np.sum(p);
x[0] * p; p * x[0]; np.isscalar(p); np.polyadd(a1=p, a2=b); p.nothing; p // 2
"""


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64", "int16"])
def test_poly1d_is_numpys(dtype):
    names = []
    for lib in (np, numpy):
        found = drawn(lib, dtype)
        names.append({**found, "p": lib.poly1d(found["a"]), "q": lib.poly1d(found["b"])})
    compare_calls([text.strip() for text in POLY1D_CALLS.replace("\n", " ").split(";")], *names, dtype)


POLY1D_TEXTS: list[list[Any]] = [
    [1, 2, 3], [0, 0], [0, 0, 3, 0, -1], [-1.5, 0, 1e10, -1e-7, 2.25], [1j, 1 + 2j, -1 - 1j, 0, 2.5, -3j],
    [float("nan"), float("inf"), 1], list(range(1, 25)), [1e-9] * 14, [12345.678] * 9,
]  # fmt: skip


@pytest.mark.parametrize("variable", ["x", "lambda"])
@pytest.mark.parametrize("numbers", POLY1D_TEXTS, ids=lambda numbers: f"{numbers[0]}-{len(numbers)}")
def test_text_of_poly1d_is_numpys(numbers, variable):
    got, want = (lib.poly1d(numbers, variable=variable) for lib in (np, numpy))
    assert (str(got), repr(got)) == (str(want), repr(want))


def test_coefficients_of_poly1d_can_be_written():
    for lib in (np, numpy):
        p = lib.poly1d([1, 2, 3])
        p[0], p[4] = 7, 5
        p.coeffs += 1
        p.c[1] = 0
        assert p.c.tolist() == [6, 0, 2, 3, 8]
        with pytest.raises(ValueError, match="negative powers"):
            p[-1] = 1
        with pytest.raises(AttributeError):
            p.coeffs = lib.array([1])
        with pytest.raises(AttributeError):
            p.order = 3
        q = copy.deepcopy(p)
        assert q == p
        q[0] = 9
        assert q != p
        assert pickle.loads(pickle.dumps(p)) == p


def test_contributions_pass_through_poly1d():
    c, base = np.array([1.0, -2.0, 3.0]), np.array([0.5, 1.0, 2.0])
    p = np.poly1d(np.decompose(c, baseline=base))
    for function in (lambda p: p(1.5), lambda p: (p * p + p)(0.5), lambda p: p.deriv().c, lambda p: p.integ(k=1).c):
        got = function(p)
        got = got.c if isinstance(got, np.poly1d) else got
        numpy.testing.assert_allclose(got.value, function(np.poly1d(c)), rtol=1e-14)
        numpy.testing.assert_allclose(got.residual, function(np.poly1d(base)), rtol=1e-14)
        numpy.testing.assert_allclose(got.residual + got.components.sum(0), got.value, rtol=1e-14)
    assert np.asarray(p).is_decomposed
    assert repr(p) == "poly1d([ 1., -2.,  3.], residual=[0.5, 1, 2],\n      components=3: [1] 67%, [2] 22%, [0] 11%)"


FRACTIONS = [Fraction(1, 2), Fraction(1, 3), Fraction(2, 5)]
OF_FRACTIONS = {
    "add": ([Fraction(1), Fraction(2, 7)],), "sub": ([1, 2],), "mul": ([Fraction(1), Fraction(2, 7)],),
    "div": ([Fraction(1), Fraction(2, 7)],), "pow": (2,), "der": (), "int": (), "mulx": (), "companion": (),
}  # fmt: skip


@pytest.mark.parametrize(("prefix", "cls"), [
    ("poly", "polynomial.Polynomial"), ("cheb", "chebyshev.Chebyshev"), ("leg", "legendre.Legendre"),
    ("herm", "hermite.Hermite"), ("herme", "hermite_e.HermiteE"), ("lag", "laguerre.Laguerre"),
])  # fmt: skip
def test_fractions_give_what_they_give_to_numpy(prefix, cls):
    module, _, name = cls.partition(".")

    def of(lib):
        functions = getattr(lib.polynomial, module)
        for operation, others in OF_FRACTIONS.items():
            yield getattr(functions, prefix + operation)(FRACTIONS, *others)
        yield getattr(functions, prefix + "val")(Fraction(1, 3), FRACTIONS)
        yield getattr(functions, prefix + "val")(lib.array(FRACTIONS, object), lib.array(FRACTIONS, object))
        yield getattr(functions, prefix + "fromroots")(FRACTIONS)
        kind = getattr(functions, name)
        series = kind(FRACTIONS)
        yield (series * series).coef
        yield (series**2 - series).coef
        yield (series // kind(FRACTIONS[:2])).coef
        yield series(Fraction(1, 3))
        yield series.deriv().coef
        yield series.integ().coef

    assert [repr(x) for x in of(np)] == [repr(x) for x in of(numpy)]

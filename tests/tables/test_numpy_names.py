"""Every name of NumPy is there or says why not, as docs/numpy.md tells; signatures outside the main namespace."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest

import npdec as np
import samples

SCRIPT = Path(__file__).parents[2] / "scripts" / "numpy_table.py"
spec = importlib.util.spec_from_file_location("numpy_table", SCRIPT)
assert spec is not None
assert spec.loader is not None
numpy_table = sys.modules.setdefault("numpy_table", importlib.util.module_from_spec(spec))
spec.loader.exec_module(numpy_table)


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_table_is_up_to_date():
    """In a process of its own: tests here publish functions of their own."""
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def present(found: Any) -> int:
    return sum(len(found.having(state)) for state in ("native", "delegated"))


# How many names there are at least: of the main namespace all but what torch cannot hold.
LEAST = {
    "numpy": 465,
    "numpy.linalg": 32,
    "numpy.fft": 18,
    "numpy.random": 60,
    "numpy.polynomial": 7,
    **dict.fromkeys([f"numpy.polynomial.{name}" for name in numpy_table.POLYNOMIALS], 28),
    "numpy.lib.stride_tricks": 2,
    "numpy.emath": 9,
    "numpy.exceptions": 6,
    "numpy.dtypes": 24,
    "numpy.testing": 49,
    "numpy.ndarray": 68,
    "numpy.dtype": 23,
    "numpy.ufunc": 13,
    "numpy.random.Generator": 45,
    "numpy.random.RandomState": 49,
}


@pytest.fixture(scope="module")
def tables():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modules, classes = numpy_table.tables()
    return {one.title: one for one in (*modules, *classes)}


@pytest.mark.parametrize("title", LEAST)
def test_enough_names_are_there(tables, title):
    assert present(tables[title]) >= LEAST[title]


def test_what_is_delegated(tables):
    """The declarations reach the names: a few of each kind."""
    for title, name in {
        "numpy": "array_repr", "numpy.random": "normal", "numpy.testing": "assert_allclose", "numpy.char": "add",
        "numpy.random.Generator": "integers",
    }.items():  # fmt: skip
        assert tables[title].states[name] == "delegated"
    for title, name in {"numpy": "exp", "numpy.linalg": "svd", "numpy.ndarray": "sum", "numpy.fft": "fft"}.items():
        assert tables[title].states[name] == "native"


def test_reasons_are_what_npdec_says(tables):
    for title, one in tables.items():
        for name, why in one.reasons.items():
            dotted = f"{title}.{name}".removeprefix("numpy.")
            assert why
            if isinstance(getattr(np, dotted.split(".")[0], None), type):
                continue  # an attribute of a class: there is no module to say it
            with pytest.raises(np.exceptions.AbsentNameError) as caught:
                numpy_table.find(np, dotted)
            assert str(caught.value) == f"npdec has no {dotted}: {why}"


def _stub(**members: Any) -> types.ModuleType:
    module = types.ModuleType("npdec._stub")
    vars(module).update(members)
    return module


def test_undeclared_and_stale_declarations_are_found(monkeypatch):
    monkeypatch.setitem(sys.modules, "npdec._stub", _stub(DELEGATES_TO_NUMPY=frozenset({"nothing"})))
    assert numpy_table.stale() == ["npdec._stub.nothing is declared as delegated, and does not exist"]

    def goes_to_numpy():
        import numpy

        return numpy.pi

    function = types.FunctionType(goes_to_numpy.__code__, {"__name__": "npdec._stub"}, "kron")
    monkeypatch.setattr(np, "kron", function)
    assert ".kron goes to NumPy: say so in DELEGATES_TO_NUMPY of npdec._stub" in numpy_table.undeclared()
    monkeypatch.setitem(sys.modules, "npdec._stub", _stub(DELEGATES_TO_NUMPY=frozenset({"kron"})))
    assert not [line for line in numpy_table.undeclared() if "kron" in line]


# -- signatures --------------------------------------------------------------------------------------------------------

CHECKED_ELSEWHERE = ("", "linalg", "fft")  # by test_numpy_table.py
NO_FUNCTIONS = ("typing",)


def dotted_functions() -> dict[str, tuple[Any, Any]]:
    """NumPy's and npdec's callables that are no classes: functions of modules and methods of classes."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that NumPy deprecates
        modules = [name for name in numpy_table.MODULES if name not in (*CHECKED_ELSEWHERE, *NO_FUNCTIONS)]
        places = [(name, numpy_table.public_names(name)) for name in modules]
        places += [(name, numpy_table.members(name)) for name in numpy_table.CLASSES]
        for dotted in [f"{place}.{name}" for place, names in places for name in names]:
            try:
                pair = numpy_table.find(numpy, dotted), numpy_table.find(np, dotted)
            except (AttributeError, ModuleNotFoundError):
                continue
            if callable(pair[0]) and not isinstance(pair[0], type) and described(pair[0]) is not None:
                found[dotted] = pair
    return found


def described(function: Any) -> list[tuple[str, str, str]] | None:
    """Names, kinds and defaults, of a method as it is called on an object; None where there is nothing to read."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return None
    if parameters and parameters[0].name == "self":
        del parameters[0]
    return [(p.name, p.kind.description, repr(p.default).replace("npdec.", "numpy.")) for p in parameters]


FUNCTIONS = dotted_functions()

_NAMED = "NumPy's signature leaves keywords to **kwargs, or gives defaults that are the function's; npdec's names them"
_BY_NAME = "NumPy's says that it takes by position only what npdec's, and mostly NumPy's own, takes by name as well"
_OPTIONS = "the options of the ufunc are taken as well"
_OF_ARRAYS: dict[str, str] = {
    **dict.fromkeys("all any argmax argmin max mean min prod std sum var view".split(), _NAMED),
    **dict.fromkeys(
        "argpartition dot partition put repeat searchsorted setfield swapaxes take tofile".split(), _BY_NAME
    ),
    **dict.fromkeys(["conj", "conjugate"], _OPTIONS),
    "argsort": "the array API standard's descending= is taken as well",
    "setflags": "NumPy's takes its arguments by position as well, whatever its signature says",
}
# Functions whose signature differs from NumPy's, and why.
SIGNATURES: dict[str, str] = {
    **{f"ndarray.{name}": why for name, why in _OF_ARRAYS.items()},
    **{f"generic.{name}": why for name, why in _OF_ARRAYS.items() if hasattr(numpy.generic, name)},
    "ufunc.reduce": _NAMED,
}


def test_signatures_are_numpys():
    samples.check_all(check_signature, zip(FUNCTIONS))


def check_signature(name: str) -> None:
    wanted, got = (described(function) for function in FUNCTIONS[name])
    if name in SIGNATURES:
        assert got != wanted, f"{name} is exempt for no reason"
    else:
        assert got == wanted


def test_signature_exemptions_are_of_functions():
    assert SIGNATURES.keys() <= FUNCTIONS.keys()
    assert all(SIGNATURES.values())


def test_signatures_of_numpy_that_say_otherwise():
    for lib in (np, numpy):
        x = lib.array([3.0, 1.0, 2.0])
        assert x.argpartition(kth=1)[1] == 2
        assert x.take(indices=[0]).tolist() == [3.0]
        assert x.searchsorted(v=5.0) == 3
        assert x.repeat(repeats=2).size == 6
        x.put(indices=[1], values=7.0)
        assert x.tolist() == [3.0, 7.0, 2.0]
        x.setflags(False)
        assert not x.flags.writeable


@pytest.mark.slow
def test_the_examples_of_the_installed_package_run():
    code = """
import npdec as np
quiet = ["-q", "-p", "no:cacheprovider"]
assert np.test(tests="npdec.exceptions", durations=1, extra_argv=quiet)
assert not np.test("full", tests=["npdec.no_such_module"], verbose=2, extra_argv=quiet)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    for wrong in ({"label": "quick"}, {"doctests": True}):
        with pytest.raises(ValueError, match=r"np\.test"):
            np.test(**wrong)

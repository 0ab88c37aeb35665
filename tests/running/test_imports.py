"""In chosen packages numpy is npdec, however they import it; in all others it stays NumPy."""

from __future__ import annotations

import builtins
import importlib
import itertools
import subprocess
import sys
import textwrap
import traceback
import types
from unittest import mock

import numpy
import pytest

import npdec as np
from npdec._guests.stand_ins import module_for
from npdec._running import check, states
from npdec._running.finder import is_below

numbers = itertools.count()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A function that writes a module of this text, and gives its name."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def write(text, name=None, suffix=".py"):
        name = name or f"written_{next(numbers)}"
        path = tmp_path.joinpath(*name.split(".")).with_suffix(suffix)
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
        importlib.invalidate_caches()
        return name

    yield write
    for name in set(sys.modules) - before:
        if name.startswith("written_"):
            del sys.modules[name]


# What a module finds under the name that is assigned last, and what that is in npdec and in NumPy.
WAYS = {
    "import numpy as found": "",
    "import numpy; found = numpy": "",
    "import numpy.linalg; found = numpy.linalg": "linalg",
    "import numpy.linalg as found": "linalg",
    "from numpy import linalg as found": "linalg",
    "from numpy.linalg import norm as found": "linalg.norm",
    "from numpy import *; found = arange": "arange",
    "def f():\n    import numpy\n    return numpy\nfound = f()": "",
    "names = {}\nexec('import numpy; from numpy.fft import *', {}, names)\nfound = names['ifft']": "fft.ifft",
    "found = __import__('numpy')": "",
    "import importlib\nfound = importlib.import_module('numpy.random')": "random",
    "from importlib import import_module\nfound = import_module('numpy')": "",
    "import pytest\nfound = pytest.importorskip('numpy', '2.0')": "",
    "from numpy.core.multiarray import array as found": "array",
    "from numpy._core.umath import add as found": "add",
    "from numpy.linalg._linalg import norm as found": "linalg.norm",
    "import numpy; found = numpy.linalg._linalg.norm": "linalg.norm",
    "from numpy.random import mtrand\nfound = mtrand.RandomState": "random.RandomState",
    "import numpy.testing as t; found = t.assert_allclose": "testing.assert_allclose",
    "from numpy.lib.stride_tricks import sliding_window_view as found": "lib.stride_tricks.sliding_window_view",
    "import numpy.typing as found": "typing",
    "import numpy.ma as found": "ma",
}


@pytest.mark.filterwarnings("ignore:numpy.core:DeprecationWarning")  # of NumPy, to those who get it
def test_a_chosen_package_has_npdec_however_it_imports_numpy(package):
    for text, where in WAYS.items():
        chosen, other = package(text), package(text)
        with np.install(chosen):
            ours = importlib.import_module(chosen).found
            theirs = importlib.import_module(other).found
        assert ours is states.find(np, where), text
        assert theirs is states.find(numpy, where), text


@pytest.fixture
def no_name_stays():
    """Submodules that are imported become names of their packages."""
    before = {module: set(vars(module)) for module in (np, np.linalg, np.fft, np.random)}
    yield
    for module, names in before.items():
        for name in vars(module).keys() - names:
            if isinstance(vars(module)[name], types.ModuleType):
                delattr(module, name)


@pytest.mark.usefixtures("no_name_stays")
def test_every_module_of_numpy_has_one_that_stands_for_it():
    names = {name for name in sys.modules if name.startswith("numpy.") and ".tests" not in name}
    assert len(names) > 50
    for name in sorted(names):
        module = module_for(name)
        assert module is module_for(name)
        if isinstance(module, types.ModuleType):
            assert module.__name__.partition(".")[0] == "npdec", name
    core = module_for("numpy.ma.core")
    assert core is np.ma.core
    assert core.MaskedArray is numpy.ma.MaskedArray
    with pytest.raises(ModuleNotFoundError, match=r"numpy\.nothing"):
        module_for("numpy.nothing")


def test_private_functions_take_and_give_npdecs_arrays():
    made = module_for("numpy.lib._stride_tricks_impl")._broadcast_to(np.arange(2), (3, 2), False, True)
    assert type(made) is np.ndarray
    assert made.tolist() == [[0, 1]] * 3


def test_packages_decide_and_not_who_imports_them_first(package):
    inner = package("import numpy\ndef later():\n    from numpy import linalg\n    return linalg")
    name = package(f"import numpy, {inner} as inner, scipy.special\nfound = scipy.special.expit(numpy.zeros(2))")
    with np.install([name]):
        made = importlib.import_module(name)
    assert made.numpy is np
    assert made.inner.numpy is numpy
    assert made.inner.later() is numpy.linalg
    assert type(made.found) in (numpy.ndarray, np.ndarray)
    assert sys.modules["numpy"] is numpy


def test_code_in_c_gets_numpys_modules(package):
    """PyImport_Import asks the builtins of the module that is running, and then `sys.modules`."""
    name = package("""
        import ctypes
        def found(name):
            call = ctypes.PyDLL(None).PyImport_ImportModule
            call.restype = ctypes.py_object
            return call(name.encode())
    """)
    with np.install(name):
        made = importlib.import_module(name)
    for where in ("numpy", "numpy.linalg", "numpy._core.arrayprint", "numpy.lib._user_array_impl"):
        assert made.found(where) is sys.modules[where]


def test_submodules_and_relative_imports_belong_to_the_package(package):
    package("import numpy", "written_package.inner")
    package("import numpy\nfrom . import inner\nfrom .inner import numpy as again", "written_package.__init__")
    package("import numpy", "written_package_2")
    with np.install("written_package"):
        made = importlib.import_module("written_package")
        beside = importlib.import_module("written_package_2")
    assert made.numpy is made.inner.numpy is made.again is np
    assert beside.numpy is numpy


def test_what_is_loaded_keeps_npdec_and_what_is_not_gets_numpy(package):
    first, second = (
        package("import numpy\ndef later():\n    import numpy.fft\n    return numpy"),
        package("import numpy"),
    )
    length = len(sys.meta_path)
    with np.install([first, second]):
        made = importlib.import_module(first)
    assert len(sys.meta_path) == length
    assert made.later() is np
    assert importlib.import_module(second).numpy is numpy
    np.install([first]).undo()  # it is loaded, with npdec
    assert made.__loader__ is made.__spec__.loader
    assert type(made.__loader__).__name__ == "SourceFileLoader"


def test_a_star_brings_no_more_names_than_numpys(package):
    name = package("grad = 1\nfrom numpy import *")
    with np.install(name):
        made = importlib.import_module(name)
    names = {item for item in vars(made) if not item.startswith("__")} - {"grad"}
    assert made.grad == 1
    assert names == {item for item in numpy.__all__ if not item.startswith("__")}
    assert all(vars(made)[item] is getattr(np, item) for item in names)


@pytest.mark.slow
def test_who_looks_through_the_names_of_numpy_finds_them_all(package, tmp_path):
    """Most functions are made when they are first asked for, and a dictionary asks for none."""
    text = "import numpy as np\nimport numpy.linalg as npla\nnames = {*np.__dict__}, {*vars(npla)}\n"
    name = package(text + "print(names[0] >= {'mean', 'zeros', 'matrix', 'add'}, 'norm' in names[1])\n")
    for words in (
        ["-m", "npdec", "run", f"{name}.py"],
        ["-c", f"import npdec; npdec.install({name!r}); import {name}"],
    ):
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.stdout == "True True\n", done.stderr


def test_replaced_builtins_are_replaced_in_chosen_packages_too(package):
    name = package("import numpy\ndef ask():\n    return input()")
    with np.install(name):
        made = importlib.import_module(name)
    with mock.patch("builtins.input", return_value="answered"):
        assert made.ask() == "answered"
    assert vars(made)["__builtins__"]["input"] is input
    builtins.written_name = 3
    try:
        assert vars(made)["__builtins__"]["written_name"] == 3
    finally:
        del builtins.written_name
    assert "written_name" not in vars(made)["__builtins__"]


def test_an_import_that_a_test_replaces_is_asked(package):
    name = package(
        "def f():\n    try:\n        import json\n    except ImportError:\n        return None\n    return json"
    )
    with np.install(name):
        made = importlib.import_module(name)
    with mock.patch("builtins.__import__", side_effect=ImportError):
        assert made.f() is None
    assert made.f() is sys.modules["json"]


def test_tracebacks_have_the_files_and_lines(package):
    name = package("import numpy as np\ndef f(x):\n    return x + np.ones(4)\n")
    with np.install(name):
        made = importlib.import_module(name)
    with pytest.raises(ValueError, match="broadcast") as info:
        made.f(np.ones(3))
    frames = traceback.extract_tb(info.value.__traceback__)
    assert (frames[1].filename, frames[1].lineno, frames[1].line) == (made.__file__, 3, "return x + np.ones(4)")


def test_mistakes_are_told(package):
    with pytest.raises(ModuleNotFoundError, match="no package 'written_nothing'"):
        np.install("written_nothing")
    for name in ("numpy", "npdec.linalg", "torch"):
        with pytest.raises(ValueError, match=name):
            np.install(name)
    name = package("import numpy")
    importlib.import_module(name)
    with pytest.raises(RuntimeError, match="imported already"):
        np.install([name])


def test_arrays_of_c_are_refused(package):
    name = package("", suffix=".cpython-311-x86_64-linux-gnu.so")
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    name = package("a binary with PyCapsule _ARRAY_API in it", suffix=suffix)
    with np.install(name), pytest.raises(ImportError, match="compiled against NumPy's C API") as info:
        importlib.import_module(name)
    assert info.value.name == name


def test_own_files_are_those_below_a_folder(tmp_path):
    assert is_below(str(tmp_path / "a" / "b.py"), tmp_path)
    assert not is_below(str(tmp_path / "venv" / "lib" / "site-packages" / "b.py"), tmp_path)
    assert not is_below(str(tmp_path.parent / "b.py"), tmp_path)
    assert not is_below(str(tmp_path / "site-packages" / "a" / "b.py"), tmp_path / "site-packages")
    assert is_below(str(tmp_path / "site-packages" / "a" / "b.py"), tmp_path / "site-packages" / "a")
    assert not is_below(traceback.__file__, type(tmp_path)("/"))


# --- check ------------------------------------------------------------------------------------------------------------

PROGRAM = """\
from numpy import *
import numpy as np, numpy.linalg as la
from numpy.random import default_rng as rng
from numpy import linalg
def f(np):
    return np.nothing
def g(x, y=np.float64):
    return la.norm(x) + linalg.det(x) + rng(0).normal() + np.pi.real + np.random.default_rng().x
class A(np.ndarray): pass
y = arange(3); np.float_, np.datetime64("x"), np.ma.array(1), np.savetxt
max = 3
max(1), np.__name__
async def h():
    import numpy.fft as q
    return q.fft, lambda la: la.nothing
q.fft, np.core.multiarray.normalize_axis_index
"""
USED = {
    "float64": [7], "linalg.norm": [8], "linalg.det": [8], "random.default_rng": [3, 8], "pi": [8], "ndarray": [9],
    "arange": [10], "float_": [10], "datetime64": [10], "ma.array": [10], "savetxt": [10], "fft.fft": [15],
    "core.multiarray.normalize_axis_index": [16],
}  # fmt: skip


def test_names_are_found_where_they_are_used():
    assert check.uses(PROGRAM) == USED


def test_names_have_the_states_of_the_table():
    want = {"linalg.norm": "native", "datetime64": "guest", "ma.array": "guest", "savetxt": "delegated"}
    for name, state in want.items():
        assert states.state(name) == (state, "")
    assert states.state("float_") == ("absent", f"NumPy {numpy.__version__} has no such name either")
    kind, why = states.state("lib.introspect.opt_func_info")
    assert kind == "absent"
    assert "NumPy's own loops" in why


def test_a_report_counts_and_its_exit_code_tells_of_absent_names(package, tmp_path, capsys):
    from npdec.__main__ import main

    name = package("import numpy as np\nnp.sin(np.ones(2))\nnp.sin(1)")
    assert main(["check", name]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1:] == [
        "  native     ones                     2",
        "  native     sin                      2, 3",
        "2 names of NumPy: 2 native, 0 guest, 0 delegated, 0 absent",
    ]
    package("from numpy import float_", "written_package.inner")
    package("this is no Python", "written_package.broken")
    assert main(["check", "written_package"]) == main(["check", str(tmp_path / "written_package")]) == 1
    out = capsys.readouterr().out
    assert "cannot be read" in out
    assert "1 name of NumPy: 0 native, 0 guest, 0 delegated, 1 absent" in out
    assert "written_package" not in sys.modules
    assert main(["check", "written_nothing"]) == 2
    assert "no such file, folder or package" in capsys.readouterr().err

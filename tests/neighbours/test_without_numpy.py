"""npdec where NumPy cannot be imported: everything but what only NumPy can do, which says so."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

BLOCK = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "scipy", "matplotlib", "sklearn"):
            raise ModuleNotFoundError(f"No module named {name!r} (blocked)", name=name)

sys.meta_path.insert(0, Blocker())
import warnings
warnings.simplefilter("error")
# torch says at its import that NumPy is missing: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/utils/tensor_numpy.cpp
warnings.filterwarnings("ignore", "Failed to initialize NumPy", UserWarning)
import torch
import npdec as np
"""


def run(code: str) -> str:
    """What a program prints that imports npdec and cannot import NumPy."""
    program = BLOCK + textwrap.dedent(code) + "\nassert 'numpy' not in sys.modules\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_import_alone_imports_no_numpy():
    program = "import sys, torch; before = 'numpy' in sys.modules; import npdec; print(before, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    before, after = done.stdout.split()
    assert before == after


@pytest.mark.slow
def test_computing_and_decomposing():
    printed = run(
        """
        x = np.array([[1.0, 2.0], [3.0, 4.0]])
        assert (x @ x).tolist() == [[7.0, 10.0], [15.0, 22.0]]
        assert np.exp(x).sum(axis=0).shape == (2,)
        assert x[x > 1.5].tolist() == [2.0, 3.0, 4.0]
        assert (x[0] + 1).tolist() == [2.0, 3.0]
        assert np.concatenate([x, x]).shape == (4, 2)
        assert abs(np.linalg.det(x) + 2) < 1e-12
        assert np.fft.ifft(np.fft.fft(x[0])).real.tolist() == [1.0, 2.0]
        assert x.mean() == 2.5 and x.max() == 4.0 and x.argmax() == 3
        assert np.arange(3).dtype == np.int64 and str(x.dtype) == "float64"
        assert np.einsum("ij,ij->i", x, x).tolist() == [5.0, 25.0]
        assert isinstance(x[0, 0], np.float64) and f"{x[0, 0]:.2f}" == "1.00"
        assert np.finfo(np.float32).eps == 2**-23 and np.iinfo("int8").max == 127
        assert np.result_type("int8", np.float32) == np.float32
        x[0] = 9
        d = np.decompose(np.array([1.0, 2.0]), baseline=0.5, labels=["a", "b"])
        y = (np.tanh(d) * d).sum()
        assert abs(float(y.value - y.c_sum().value)) < 1e-15
        print(y.labels, np.attribute(lambda u: (u * u).sum(), np.array([1.0, 2.0])).attribution.tolist())
        print(torch.nn.functional.relu(d).components.tolist())
        """
    )
    assert printed.splitlines() == ["('a', 'b') [1.0, 4.0]", "[[0.5, 0.0], [0.0, 1.5]]"]


@pytest.mark.slow
def test_printing():
    printed = run(
        """
        print(repr(np.array([1.5, -2.0])))
        print(np.array([[1, 2], [3, 40]]))
        print(repr(np.array([True, False])), repr(np.float32(0.1)), np.int8(3))
        print(repr(np.zeros((2, 0))), repr(np.array(2.0)))
        print(repr(np.array([1 + 2j])))
        """
    )
    for text in ("array([1.5, -2.])", "3 40]]", "np.float32(0.1) 3", "array(2.)", "array([1+2j])"):
        assert text in printed


@pytest.mark.slow
def test_checks_of_decompositions():
    printed = run(
        """
        report = np.testing.check_decomposition(lambda x: np.exp(x).sum(), np.ones(3))
        found = np.testing.faithfulness(lambda x: x.sum(), np.ones(3), 0.0, np.ones(3))
        with np.check_completeness():
            print(report.outputs, found.shapley.tolist(), np.completeness(np.ones(2)).tolist())
        """
    )
    assert printed.strip() == "1 [1.0, 1.0, 1.0] [0.0, 0.0]"


@pytest.mark.slow
def test_random_numbers():
    assert run("r = np.random.default_rng(0); print(r.normal(size=(2, 3)).shape)").strip() == "(2, 3)"


# Calls, and what their errors have to name beside NumPy.
NEEDS_NUMPY = {
    "np.set_printoptions(precision=3)": "set_printoptions",
    "np.get_printoptions()": "get_printoptions",
    "np.printoptions(precision=3)": "printoptions",
    "np.array2string(np.zeros(2))": "array2string",
    "np.format_float_positional(1.5)": "format_float_positional",
    "np.format_float_scientific(1.5)": "format_float_scientific",
    "np.zeros(2).__array__()": "numpy",
    "np.random.default_rng(0).hypergeometric(3, 3, 3)": "random.hypergeometric",
    "np.random.PCG64": "random.PCG64",
    "np.random.get_bit_generator()": "random.get_bit_generator",
    "np.save('x.npy', np.zeros(2))": "save",
    "np.load('x.npy')": "load",
    "np.loadtxt(['1 2'])": "loadtxt",
    "np.zeros(2).data": "data",
    "np.zeros(2).ctypes": "ctypes",
    "np.is_busday('2024-03-01')": "is_busday",
    "np.str_": "str_",
    "np.strings.upper": "strings",
    "np.testing.assert_equal(1, 1)": "testing.assert_equal",
    "np.testing.assert_raises": "testing.assert_raises",
}


@pytest.mark.slow
def test_what_needs_numpy_says_so():
    printed = run(
        f"""
        for call in {list(NEEDS_NUMPY)}:
            try:
                eval(call)
            except ImportError as error:
                print(error)
        """
    )
    for line, named in zip(printed.splitlines(), NEEDS_NUMPY.values(), strict=True):
        assert "numpy" in line.lower()
        assert named in line

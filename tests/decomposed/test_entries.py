"""Components of many labels: kept by their entries, or found backwards, they are what they are when all are made."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from typing import Any

import numpy
import pytest
import torch

import npdec as np
from decomposition_cases import CHOICES, choice_id, decomposed, inexact, run
from npdec._decomposed import block_sparse, pieces, size_limits

pytestmark = pytest.mark.usefixtures("decomposition_warnings_alone")


@contextlib.contextmanager
def every_array_is_large():
    """As if any number of components were many, and any size large: no rule makes those of more than one number."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_sparse, "_LEAST", 0)
        patch.setattr(block_sparse, "_SMALL", 0)
        patch.setattr(size_limits, "MANY", 0)
        patch.setattr(size_limits, "_LARGE", 0)
        patch.setattr(pieces, "_LEAST", 1)
        patch.setattr(pieces, "_ALIGNED", 1)
        yield


def parts(made: list[Any]) -> list[Any]:
    return [(x.value.tensor, x.residual.tensor, x.components.tensor, x.labels) if inexact(x) else x for x in made]


# The first sample of each function.
SOME = {name: (name, sample, chosen) for name, sample, chosen in reversed(CHOICES)}


@pytest.mark.parametrize(("name", "sample", "chosen"), SOME.values(), ids=choice_id)
def test_functions(name, sample, chosen):
    _, _, marked = decomposed(sample, chosen)
    dense = parts(run(name, sample, marked))
    with every_array_is_large():
        _, _, marked = decomposed(sample, chosen)
        made = run(name, sample, marked)
    for got, want in zip(parts(made), dense, strict=True):
        if isinstance(want, tuple):
            assert len(got[3]) == len(want[3])
            tolerance = 1e-12 if got[0].dtype in (torch.float64, torch.complex128) else 1e-5
            for one, other in zip(got[:3], want[:3], strict=True):
                torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)


# -- against NumPy: what each element contributes ----------------------------------------------------------------------

N = 100_000
A = numpy.linspace(0.1, 2.0, N)
KEYS = numpy.random.default_rng(0).permutation(N)
# A function, and what it makes of an array that is linear in that: the row of the derivative by each element.
LINEAR = {
    "slice": lambda lib, x: x[10:20],
    "steps": lambda lib, x: x[::-3][:7],
    "reshape": lambda lib, x: x.reshape(100, -1).T[:3, 5],
    "fancy": lambda lib, x: x[KEYS][:5],
    "boolean": lambda lib, x: x[A > 1.9][:4],
    "join": lambda lib, x: lib.concatenate([x[:3], 2 * x, x[-2:]])[[0, 7, -1]],
    "stack": lambda lib, x: lib.stack([x, -x])[:, 5],
    "order": lambda lib, x: x[numpy.argsort(-A)][:3],
    "running sum": lambda lib, x: lib.cumsum(x)[[0, 5, -1]],
    "differences": lambda lib, x: lib.diff(x, 2)[7:9],
    "sums": lambda lib, x: x.reshape(-1, 1000).sum(0)[:2],
    "means": lambda lib, x: x - x.mean(),
    "padded": lambda lib, x: lib.pad(x, 2)[[0, 3, -3]],
    "turned": lambda lib, x: lib.roll(x, 3)[:5] + lib.tile(x, 2)[-5:] - lib.repeat(x, 2)[:5],
    "transform": lambda lib, x: lib.fft.rfft(x)[[1, 77]],
    "chosen": lambda lib, x: lib.where(A > 0.5, x, 0.0)[[0, -1]],
}


@pytest.mark.parametrize("name", LINEAR)
def test_each_element_contributes_what_the_function_makes_of_it_alone(name):
    """The functions are linear: the sum of some components is what they make of the elements of these."""
    f, chosen = LINEAR[name], numpy.array([0, 3, 5, 12, 77, N - 1])
    made = f(np, np.decompose(np.array(A)))
    assert len(made.labels) == N
    alone = numpy.zeros(N)
    alone[chosen] = A[chosen]
    merged = made.groupby(numpy.isin(numpy.arange(N), chosen).tolist())
    found = merged.components[merged.labels.index(True)].to_numpy()
    numpy.testing.assert_allclose(found, f(numpy, alone), rtol=1e-10, atol=1e-12)
    error = numpy.abs(np.completeness(made).to_numpy()).max()
    assert error < 1e-9


def test_the_labels_of_many_elements_are_a_tuple_in_all_but_type():
    few, many = np.decompose(np.ones((2, 3))), np.decompose(np.ones((50, 100)))
    for x in (few, many):
        rows, columns = x.shape
        assert len(x.labels) == rows * columns
        assert [label.index for label in x.labels] == list(numpy.ndindex(rows, columns))
        assert x.labels == tuple(x.labels)
        assert hash(x.labels) == hash(tuple(x.labels))
        assert x.labels[-1].index == (rows - 1, columns - 1)
        assert x.labels[1:3] == tuple(x.labels)[1:3]
        assert x.labels.index(x.labels[4]) == 4
        assert x.labels != np.decompose(np.ones(x.shape)).labels
        with pytest.raises(IndexError):
            x.labels[rows * columns]
    pair = np.decompose((np.ones(3000), np.ones((20, 100))))[1]
    assert pair.labels[-1].index == (1, 19, 99)
    both = (many[0] + pair[0]).sum()
    assert len(both.labels) == 10_000
    assert float(both.components.sum()) == 200.0


def test_what_there_is_no_memory_for_says_what_to_do():
    x = np.decompose(np.ones(10**6))
    with pytest.raises(MemoryError, match=r"1000000 labels are 1,000,000,000,000 numbers, 7,450.6 GiB: .*np.attribute"):
        _ = x.components
    with pytest.raises(MemoryError, match=r"np\.attribute"):
        _ = np.cumsum(x).components
    with np.rule("abs_affine"), pytest.raises(MemoryError, match=r"np\.attribute"):
        np.exp(x)


# -- memory ------------------------------------------------------------------------------------------------------------

MEMORY = """
import gc, json, numpy, torch, npdec as np

def peak(f, n):
    x = np.array(numpy.linspace(0.1, 2.0, n))
    f(np.decompose(np.array(numpy.linspace(0.1, 2.0, 5000))))  # what is loaded when it is first called
    gc.collect()
    open("/proc/self/clear_refs", "w").write("5")
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    before = int(status["VmRSS"].split()[0])
    y = f(np.decompose(x))
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return (int(status["VmHWM"].split()[0]) - before) * 1024 / (8 * n)

FUNCTIONS = {
    "slice": lambda x: x[: len(x) // 2], "one": lambda x: x[:10].sum(), "steps": lambda x: x[::-1],
    "reshape": lambda x: x.reshape(-1, 10).T.reshape(5, -1), "elementwise": lambda x: np.exp(np.sin(x) * 2 + x) - x**2,
    "sum": lambda x: x.sum(), "mean": lambda x: x.mean(), "axis": lambda x: x.reshape(-1, 10).sum(0),
    "max": lambda x: x.max(), "std": lambda x: x.std(), "var": lambda x: x.var(),
}
MORE = {
    "norm": np.linalg.norm, "cumsum": np.cumsum, "sort": np.sort, "ordered": lambda x: x[np.argsort(x)],
    "fancy": lambda x: x[np.arange(len(x) - 1, -1, -1)], "boolean": lambda x: x[x.value > 1.0],
    "join": lambda x: np.concatenate([x, 2 * x]), "stack": lambda x: np.stack([x, x]), "median": np.median,
    "percentile": lambda x: np.percentile(x, 30), "where": lambda x: np.where(x.value > 1.0, x, 0.0),
    "clip": lambda x: np.clip(x, 0.5, 1.0), "diff": np.diff, "roll": lambda x: np.roll(x, 3), "flip": np.flip,
    "pad": lambda x: np.pad(x, 2), "dot": lambda x: x @ x, "matrix": lambda x: x.reshape(-1, 100) @ np.ones(100),
    "repeat": lambda x: np.repeat(x, 2), "tile": lambda x: np.tile(x, 2), "split": lambda x: np.split(x, 10),
    "take": lambda x: np.take(x, np.arange(0, len(x), 7)), "min": lambda x: x.min(), "unique": np.unique,
    "last": lambda x: np.cumsum(x)[-1].components,
}
made = {(name, n): peak(f, n) for n in (10**5, 10**6) for name, f in FUNCTIONS.items()}
made.update({(name, 10**5): peak(f, 10**5) for name, f in MORE.items()})
print(json.dumps([[name, n, times] for (name, n), times in made.items()]))
"""


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_memory_grows_with_the_array_and_not_with_its_square():
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=600, check=False)
    assert not run.returncode, run.stderr[-2000:]
    measured = json.loads(run.stdout)
    assert len(measured) > 40
    assert {(name, n): times for name, n, times in measured if times > 20} == {}

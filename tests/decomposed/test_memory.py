"""A hundred thousand elements with a component each cost no more than twenty times the memory of the plain array."""

from __future__ import annotations

import warnings
import zlib

import numpy
import pytest
import torch

import memory_calls
import memory_cases
import npdec as np
import tiers

pytestmark = [
    pytest.mark.usefixtures("decomposition_warnings_alone"),
    pytest.mark.filterwarnings("ignore::npdec.DecompositionWarning", "ignore::RuntimeWarning"),
]

N = 100_000
BOUND = 20
_PART = 16  # of so many functions one is tested here, the same ones whatever others there are


@pytest.mark.parametrize("case", tiers.turns(memory_cases.CASES, 3, 16))
def test_memory(case: str) -> None:
    assert memory_cases.factor(case, tiers.fewer(N)) <= BOUND


def test_the_measure_sees_components_that_are_made():
    """An array of them would be thousands of times as large."""
    assert memory_cases.factor("x[:600].components.sum()", 5000) > 500


def test_what_is_added_at_a_place_keeps_its_component():
    """torch.put and index_put with accumulate=True, of which entries knew the sum of the components' numbers."""
    a = numpy.linspace(0.1, 0.9, 5000)
    x = np.decompose(torch.tensor(a))
    at = torch.tensor([0, 1])
    for made in (torch.put(x, at, x[2:4], accumulate=True), torch.index_put(x, (at,), x[2:4], accumulate=True)):
        expected = numpy.zeros(5000)
        expected[[0, 2]] = a[[0, 2]]
        numpy.testing.assert_allclose(made[0].components.numpy(), expected, rtol=1e-12)


FUNCTIONS = {f.name: f for f in memory_calls.functions() if f.name not in memory_calls.BEYOND}


@pytest.mark.parametrize("name", tiers.turns([n for n in FUNCTIONS if zlib.crc32(n.encode()) % _PART == 0], 3, 12))
def test_memory_of_generated_calls(name: str) -> None:
    """It grows by no more than twenty plain arrays. All functions: `python scripts/memory.py --all`."""
    for arguments in memory_calls.calls(FUNCTIONS[name]):
        if (name, arguments) in memory_calls.CALLS_BEYOND:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.DecompositionWarning)  # of arguments that cancel: memory is measured
            try:
                grown = memory_calls.growth(FUNCTIONS[name], arguments, 20_000, 40_000)
            except (NotImplementedError, ValueError, TypeError):  # refused, of decomposed tensors
                continue
            except RuntimeError as error:  # of the baseline, which is a singular matrix; of so many plain numbers too
                singular = "zero" in str(error) or "singular" in str(error)
                if not singular and memory_calls.takes(FUNCTIONS[name], arguments, 20_000):
                    raise
                continue
        assert grown <= BOUND, arguments


LARGEST = [  # where what was kept until the end of a call was most of its memory
    ("np.corrcoef", "x, p"), ("np.corrcoef", "x.reshape(100, -1)"), ("np.cov", "x, p"), ("np.histogram", "x, 2"),
    ("np.histogram", "[x, p]"),
    ("np.histogram2d", "x, p"), ("np.histogramdd", "x, 2"), ("np.nancumprod", "[x, p]"), ("np.gradient", "p, x"),
    ("torch.nn.functional.gumbel_softmax", "x, m, 0.5"),
    ("torch.nn.functional.local_response_norm", "x.reshape(4, 5, -1), 2"),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("name", "arguments"), LARGEST)
def test_memory_of_what_takes_most(name: str, arguments: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.DecompositionWarning)  # of arguments that are no sensible ones
        assert memory_calls.growth(FUNCTIONS[name], arguments, 50_000, 70_000) <= BOUND


def test_many_decomposed_bounds_are_refused():
    """They would be compared with each element, of which the graph keeps all."""
    x = np.decompose(np.linspace(0.1, 0.9, N))
    with pytest.raises(MemoryError, match=r"bounds that carry contributions.*comparisons"):
        np.searchsorted(x, np.linspace(0.0, 1.0, N))


def test_the_growth_sees_components_that_are_made():
    f = memory_calls.Function("made", lambda x: x[: len(x) // 8].components.sum(), ["x"], tensors=False)
    assert memory_calls.growth(f, "x", 5_000, 6_000) > 500


def test_what_is_known_is_there():
    assert set(memory_calls.BEYOND) <= {f.name for f in memory_calls.functions()}

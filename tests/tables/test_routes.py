"""The way of a decomposed call is short: dispatch, rule, law, result."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import route

MOST = {"linear": (25, 6), **dict.fromkeys(("tanh", "exp", "relu", "mul", "multiply", "divide"), (35, 7))}


@pytest.mark.parametrize("name", MOST)
def test_ordinary_calls_are_short(name):
    functions, files = route.counted(route.CALLS[name])
    assert functions <= MOST[name][0]
    assert files <= MOST[name][1]


def test_functions_of_elements_and_products_of_two_are_short():
    calls = route.of_registry()
    assert {"torch.tanh", "torch.abs", "torch.matmul", "torch.mul", "torch.div", "softplus"} <= calls.keys()
    counts = {name: route.counted(call) for name, call in calls.items()}
    # One file more where C is asked first, which leaves all to Python while its calls are counted.
    assert not {name: count for name, count in counts.items() if count[0] > 35 or count[1] > 8}

"""Tensor-parallel networks and DTensors with contributions: processes of one machine find what one process finds."""

from __future__ import annotations

import pytest
from test_mesh import ranks

pytestmark = pytest.mark.slow


def unequal(found):
    return {name: one for name, one in found.items() if one is not True}


@pytest.mark.long
@pytest.mark.parametrize(
    ("case", "count", "least"),
    [
        ("networks", 2, 70), ("llama", 2, 9), ("collectives", 2, 13),
        ("functions", 4, 200), ("reversed", 2, 200),  # of 4 processes some have no rows
    ],
)  # fmt: skip
def test_parts_on_processes_are_those_of_one(case, count, least, tmp_path):
    found, codes, said = ranks(case, count, tmp_path, "parallel_cases.py")
    assert codes == [0] * count, said
    for one in found:
        assert len(one) >= least
        assert unequal(one) == {}


@pytest.mark.long
def test_what_a_decomposed_dtensor_does_not_pass(tmp_path):
    found, codes, said = ranks("refused", 2, tmp_path, "parallel_cases.py")
    assert codes == [0, 0], said
    for one in found:
        assert unequal(one["cases"]) == {}
        assert one["said"].keys() == EXPECTED.keys()
        for name, part in EXPECTED.items():
            assert part in (one["said"][name] or ""), (name, one["said"][name])


WRITES = "a decomposed DTensor does not pass it: it writes to its argument. Take the part of this process (.to_local())"
EXPECTED = {
    "writes": f"NotImplementedError: add_: {WRITES}",
    "assigns": f"NotImplementedError: __setitem__: {WRITES}",
    "adds in place": f"NotImplementedError: add_: {WRITES}",
    "out": f"NotImplementedError: exp: {WRITES}",
    "largest": "P(max) is not linear in what the processes have",
    "dropout": "each process would draw other numbers (network.eval())",
    "pickle": "TypeError: a decomposed DTensor is in no pickle",
    "func": "Error",
    "compile": "torch.compile follows no decomposed DTensor",
    "mixed": "got mixed torch.Tensor and DTensor",
    "plain": "got mixed torch.Tensor and DTensor",
    "twice": "the local_tensor argument only accepts torch.Tensor",
    "function": "NotImplementedError: Own: an autograd Function sees of a decomposed DTensor its values alone",
}

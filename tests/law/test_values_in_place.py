"""What is written in place has the value of the plain run, bit for bit, however the operands lie in memory: torch's
loops round differently in place, for strided memory, and for a number than for a tensor that holds it."""

from __future__ import annotations

import itertools
import operator

import pytest

import npdec as np
from tiers import turns

LAYOUTS = {
    "rows": lambda x: x.copy(),
    "every second": lambda x: np.stack([x, x], -1)[..., 0],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "columns": lambda x: x.copy(order="F"),
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
}
WRITES = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "**= 2": lambda x, y: operator.ipow(x, 2),
    "**= 3": lambda x, y: operator.ipow(x, 3),
    "**= 2.0": lambda x, y: operator.ipow(x, 2.0),
    "**= -1": lambda x, y: operator.ipow(x, -1),
    "*= 2.5": lambda x, y: operator.imul(x, 2.5),
    "/= 3": lambda x, y: operator.itruediv(x, 3),
    "multiply": lambda x, y: np.multiply(x, y, out=x),
    "divide": lambda x, y: np.divide(x, y, out=x),
    "out apart": lambda x, y: np.multiply(x, y, out=np.zeros_like(x)),
    "exp": lambda x, y: np.exp(x, out=x),
    "tanh": lambda x, y: np.tanh(y, out=x),
    "square": lambda x, y: np.square(x, out=x),
    "reciprocal": lambda x, y: np.reciprocal(x, out=x),
    "mul_": lambda x, y: np.asarray(x.tensor.mul_(y.tensor)),
    "div_": lambda x, y: np.asarray(x.tensor.div_(y.tensor)),
    "pow_": lambda x, y: np.asarray(x.tensor.pow_(2)),
    "addcmul_": lambda x, y: np.asarray(x.tensor.addcmul_(y.tensor, y.tensor)),
    "exp_": lambda x, y: np.asarray(x.tensor.exp_()),
}
DTYPES = ("float16", "float32", "float64", "complex64", "complex128")


@pytest.mark.filterwarnings("ignore:.*less than half of the digits:npdec.exceptions.DecompositionWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_the_plain_runs_bit_for_bit(dtype):
    source = np.random.default_rng(0)

    def drawn(shape):
        x = source.normal(size=shape)
        return (x + 1j * source.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)

    pairs = list(itertools.product([n for n in LAYOUTS if n != "broadcast"], LAYOUTS))
    for name, write in WRITES.items():
        for shape in ((5,), (3, 3), (33,)):
            for first, second in turns(pairs, len(name), 9):
                x, y = drawn(shape), drawn(shape)
                plain = write(LAYOUTS[first](x), LAYOUTS[second](y))
                given = np.decompose(
                    (LAYOUTS[first](x), LAYOUTS[second](y)), baseline=(np.ones_like(x), np.ones_like(y)), axis=0
                )
                made = write(*given)
                assert made.value.tobytes() == plain.tobytes(), (name, shape, first, second)
                missing = abs(made.value - made.residual - made.components.sum(0))
                sizes = abs(made.value) + abs(made.residual) + abs(made.components).sum(0)
                assert (missing <= 64 * np.finfo(dtype).eps * sizes).all(), (name, shape, first, second)


def test_plain_powers_in_place_are_the_operators():
    x = np.random.default_rng(0).normal(size=3000)
    for exponent in (2, 3, 2.0, 0.5, -1):
        for made in (x.copy(), np.stack([x, x], -1)[:, 0], np.concatenate([x, x])[:3000]):
            made **= exponent
            assert (made == x**exponent)[np.isfinite(made)].all()

"""Writes into the parts of complex arrays, where components are too many to be made: each component is what the
program, which is linear, makes of that element alone, run plain."""

import pytest

import npdec as np

N = 4200


def both(x):
    t = np.zeros(N, complex)
    t.real = x
    t.imag = 2 * x[::-1]
    return t


def crossed(x):
    t = both(x)
    t[5] = x[7] * 1j
    t.real[3:9] = x[10:16]
    t[100:200] = x[:100] * (1 + 2j)
    t.imag[150] = x[3]
    return t


def of_views(x):
    t = crossed(x)
    t.T.imag[10:20] += x[10:20]
    t *= 2 - 1j
    return t


def replaced(x):
    t = x * (1 + 1j)
    t.real[:10] = 0
    t.imag[5] = x[0]
    t.real = t.imag
    return t


def of_sums(x):
    t = x * (1 + 1j)
    t.imag[:] = np.cumsum(x)
    t.real[3] = x[1]
    return t


def of_a_view(x):
    t = np.zeros((N, 2))
    z = t.view(complex)[:, 0]
    t[:, 0], t[:, 1] = x, 3 * x
    z[4] = z[5] * 1j
    z.imag[6] = x[8]
    return z.copy()


def transformed(x):
    t = np.zeros(N, complex)
    t.real = np.fft.fft(x).real
    t.imag[:3] = x[:3]
    return t


def of_rows(x):
    t = np.zeros((2, N), complex)
    t.real[1] = x
    t.imag[:, ::2] = x[::2]
    t[0, 4] = x[9]
    return t.ravel()


@pytest.mark.parametrize("program", [both, crossed, of_views, replaced, of_sums, of_a_view, transformed, of_rows])
def test_each_component_is_what_the_program_makes_of_one_element(program):
    x = np.cos(np.arange(N) * 1.7)
    made, plain = program(np.decompose(x)), program(x)
    assert np.array_equal(made.value, plain)
    assert not made.residual.any()
    weights = np.exp(1j * np.arange(made.size))
    summed, some = (weights * made).sum(), [0, 4, 5, 8, 150, N - 6]
    chosen = made[some].components
    for j in (0, 3, 7, 9, 105, N - 1):
        alone = program(np.where(np.arange(N) == j, x, 0))
        assert np.allclose(summed.components[j], (weights * alone).sum())
        assert np.allclose(chosen[j], alone[some])

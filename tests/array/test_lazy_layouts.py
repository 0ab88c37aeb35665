"""Arrays of few elements: parts without axes, and which way results and copies lie in memory; as in NumPy."""

from __future__ import annotations

import operator
import pickle

import numpy
import pytest

import npdec as np

pytestmark = pytest.mark.quick

OPERATORS = "add sub mul truediv floordiv mod lt le eq ne gt and_ or_ xor lshift".split()


def kind(x):
    return "array" if isinstance(x, (numpy.ndarray, np.ndarray)) else "scalar"


def told(x):
    found = numpy.asarray(x)
    return kind(x), found.dtype, found.shape, str(found.tolist())


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float32", "float64"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_parts_without_axes(name, dtype):
    """They give scalars, as numbers do, in the dtype that arrays give."""

    def results(lib):
        a = (lib.arange(12).reshape(3, 4) % 5).astype(dtype)
        found = []
        for y in (a[2, 1, ...], lib.arange(3)[2, ...], 2, 2.5, True, lib.int8(3), lib.float32(1.5), a[1], lib.array(3)):
            for turned in (False, True):
                z = a[1, 2, ...]
                try:
                    made = getattr(operator, name)(*((y, z) if turned else (z, y)))
                except Exception as error:
                    found.append(type(error).__name__)
                else:
                    found.append(told(made))
        return found

    with numpy.errstate(all="ignore"):
        assert results(np) == results(numpy)


def test_parts_without_axes_are_views():
    def run(lib):
        x = lib.arange(12.0).reshape(3, 4)
        z, same, turned = x[1, 2, ...], x[..., 1, 2], x.T[2, 1, ...]
        z[...] = 7
        z += 1
        lib.add(z, 1, out=z)
        found = [told(v) for v in (z, same, turned, z[...], z[()], -z, z.copy(), z.astype(int), z.T, z + x)]
        x[1] = 3
        found += [
            float(z),
            z.item(),
            z.shape,
            z.ndim,
            z.size,
            z.strides,
            bool(z > 2),
            len({z.item()}),
            f"{z:.2f}",
            str(z),
        ]
        found += [
            told(pickle.loads(pickle.dumps(z))),
            z.base is x or z.base is x.base,
            z.flags.writeable,
            told(z.sum()),
        ]
        with pytest.raises(TypeError):
            len(z)
        with pytest.raises(IndexError):
            z[0]
        x.flags.writeable = False
        part = x[0, 0, ...]
        with pytest.raises(ValueError, match="read-only"):
            part[...] = 1
        return found

    assert run(np) == run(numpy)


def test_a_part_without_axes_knows_of_contributions():
    x = np.arange(4.0)
    z = x[2, ...]
    x[2] = np.decompose(np.array([5.0]))[0]
    assert z.value == 5.0 == z.residual + z.components.sum(0)
    y = np.arange(4.0)
    part = y[1, ...]
    part[...] = np.decompose(np.array([5.0]))[0]
    assert y.value.tolist() == [0.0, 5.0, 2.0, 3.0]


EMPTY = [(3, slice(0, 0)), (slice(0, 0), 2), slice(4, 9), slice(2, 2), (slice(None), slice(3, 3)), (-1, slice(0, 0, 2))]
EMPTY += [(slice(0, 0), slice(1, 5, 2)), (1, slice(3, 1)), slice(9, 2, -1)]


@pytest.mark.parametrize("key", EMPTY)
def test_parts_without_elements(key):
    def run(lib):
        a = lib.arange(24.0).reshape(4, 6)
        v = a[key]
        found = [v.shape, v.dtype.name, v.tolist(), v.base is a.base, v[...].base is a.base, v.flags.writeable]
        found += [float(v.sum()), (v + 1).shape, bool(v.any()), v.copy().shape, lib.concatenate([v, v]).shape]
        v[...] = 3
        v += 1
        a[1] = 0
        found += [a.tolist(), a[1, :0] @ a[2, :0], float(lib.dot(a[1, :0], a[2, :0])), (a[:0] @ a.T).shape]
        with pytest.raises(IndexError):
            a[9, :0]
        a.flags.writeable = False
        return [*found, a[key].flags.writeable, (a[:, :0] @ a[:0]).tolist()]

    assert run(np) == run(numpy)


@pytest.mark.parametrize("axes", [(1, 0), (0, 2, 1), (2, 0, 1), (1, 2, 0)])
def test_results_and_copies_lie_as_in_numpy(axes):
    def run(lib):
        x = lib.arange(24).reshape((4, 6) if len(axes) == 2 else (2, 3, 4)).transpose(axes)
        y = x.astype(float)
        made = [x, y, -x, lib.square(y), x * 2, 2.5 - x, x + x, y * x, x > 3, lib.maximum(y, 4), lib.copy(x)]
        made += [lib.array(y), x.astype("uint8"), lib.array(x, dtype="float32"), x.copy(), lib.ascontiguousarray(x)]
        made += [lib.asfortranarray(x), lib.ascontiguousarray(x, dtype=float)]
        itself = lib.ascontiguousarray(x) is x, lib.asfortranarray(x) is x, lib.ascontiguousarray(made[14]) is made[14]
        return [(m.strides, m.flags.c_contiguous, m.tolist(), m.dtype.name) for m in made], itself

    assert run(np) == run(numpy)


def test_contiguous_arrays_of_what_is_no_table():
    for lib in (np, numpy):
        assert lib.ascontiguousarray(3.0).shape == lib.asfortranarray(3.0).shape == (1,)
        assert lib.ascontiguousarray([[1, 2], [3, 4]]).flags.c_contiguous
        assert lib.asfortranarray([[1, 2], [3, 4]]).flags.f_contiguous
        assert lib.asfortranarray(lib.arange(3)).shape == (3,)


def test_scalars_are_bounds_lengths_and_items_of_keys():
    def run(lib):
        x, n = lib.arange(20).reshape(4, 5), lib.array([1, 3, -1])
        i, j, last = n
        found = [
            x[i:j],
            x[i, j:],
            x[i:, last],
            x[:, i:last],
            x[j:i:last],
            x[lib.uint8(1), : lib.int16(2)],
            x[i, ..., j],
        ]
        found += [x[range(2), (1, 3)], x[(0, 2), :], x[(0, 2), (1, 1)], x[i, (0, 4)]]
        x[i, j:] = 7
        x[(0, 1), (2, 0)] += 5
        x[j:, :i] = x[:i, :i]
        found += [x, lib.zeros(j), lib.ones((i, j)), x.reshape(lib.int64(5), -1)]
        for key in ((i, lib.int64(9)), (lib.int64(4),)):
            with pytest.raises(IndexError):
                x[key]
        with pytest.raises(TypeError):
            x[lib.float64(1.0) : j]
        return [told(y) for y in found]

    assert run(np) == run(numpy)


def test_flat_goes_on_at_the_last_index_that_was_assigned():
    def run(lib):
        found = []
        for key, value in ((3, 1.0), ([0, 5], [7.0, 8.0]), (slice(1, 4), 2.0), (lib.array([2, 4]), 3.0), ([], 1.0)):
            flat = lib.arange(6.0).reshape(2, 3).flat
            next(flat)
            flat[key] = value
            found.append((flat.index, flat.coords, float(next(flat))))
        return found

    assert run(np) == run(numpy)

"""np.any and np.all of many booleans, which are tested as bytes: in every layout, over all axes."""

from __future__ import annotations

import itertools

import numpy
import pytest

import npdec as np


@pytest.mark.parametrize("share", [0.0, 0.0005, 0.9995, 1.0])
@pytest.mark.parametrize("name", ["any", "all"])
def test_as_numpys(name, share):
    given = numpy.random.default_rng(3).random((18, 20, 16)) < share
    x = np.array(given)
    views = [lambda x: x, lambda x: x.T, lambda x: x[::2, 1:], lambda x: x.reshape(-1), lambda x: x[:, ::-1]]
    for view, keepdims in itertools.product(views, (False, True)):
        ours, theirs = view(x), view(given)
        for axis in (None, 0, -1, *([(0, 2), 1, (0, 1, 2)] if theirs.ndim > 1 else [])):
            made = getattr(np, name)(ours, axis, keepdims=keepdims)
            want = getattr(numpy, name)(theirs, axis, keepdims=keepdims)
            assert made.dtype == want.dtype
            numpy.testing.assert_array_equal(numpy.asarray(made), want)
            # A byte that is neither would be another number here.
            numpy.testing.assert_array_equal(numpy.asarray(np.asarray(made).astype("int64")), want.astype("int64"))
        numpy.testing.assert_array_equal(numpy.asarray(getattr(ours, name)()), getattr(theirs, name)())

"""An Ellipsis beside arrays of indices, wherever it stands and however many axes it stands for."""

import itertools

import numpy

import npdec as np


def test_an_ellipsis_stands_for_the_axes_that_are_left():
    for shape in ((2,), (2, 3), (2, 1), (2, 3, 2)):
        theirs = numpy.arange(float(numpy.prod(shape))).reshape(shape)
        ours = np.array(theirs)
        for count in range(1, len(shape) + 1):
            for kinds in itertools.product("sai", repeat=count):
                if "a" not in kinds:
                    continue
                for place in range(count + 1):
                    keys = []
                    for lib in (np, numpy):
                        made = {"s": slice(None, None, 2), "a": lib.array([-1, 0][: shape[-1]]), "i": 0}
                        items = [made[kind] for kind in kinds]
                        keys.append((*items[:place], Ellipsis, *items[place:]))
                    got, want = ours[keys[0]], theirs[keys[1]]
                    assert got.shape == want.shape, (shape, keys[1])
                    assert numpy.array_equal(numpy.asarray(got), want), (shape, keys[1])
                    again, copy = np.array(theirs), theirs.copy()
                    again[keys[0]] = 9.0
                    copy[keys[1]] = 9.0
                    assert numpy.array_equal(numpy.asarray(again), copy), (shape, keys[1])

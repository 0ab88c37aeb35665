"""What is made by indexing: r_, c_, mgrid, ogrid, s_, index_exp, beside NumPy's own; integers as text."""

from __future__ import annotations

import numpy
import pytest

import npdec as np
from outcomes import same

TEXTS = """
np.mgrid[0:3]|np.mgrid[0:1:3j]|np.mgrid[0:3, 0:2]|np.mgrid[0:1:3j, 0:2]|np.mgrid[0:3:0.5, 0:2]|np.mgrid[()]|np.ogrid[()]
np.mgrid[f4(0):f4(1):f4(.5), 0:2]|np.mgrid[f4(0):f4(1):3j]|np.mgrid[f4(0):f4(1):3j, f4(0):1]|np.mgrid[:3, :2]
np.mgrid[3]|np.mgrid[3, 4]|np.mgrid[0:]|np.mgrid[0:1j:3j]|np.mgrid[0:3:1j, 0:2]|np.mgrid[0:3:1j]|np.mgrid[0:3:0j]
np.mgrid[5:0:-1]|np.mgrid[5:0:-1, 0:2]|np.mgrid[3:0, 0:2]|np.mgrid[3:0]|np.ogrid[0:3]|np.ogrid[0:3,]|np.mgrid[0:3:0,]
np.ogrid[0:3, 0:1:2j]|np.mgrid[np.int8(0):np.int8(3),]|np.mgrid[np.int8(0):np.int8(3)]|np.mgrid[0:3:2.5j]
np.mgrid[0:3:np.complex64(3j)]|np.mgrid[0:3:np.complex64(3j),]|np.mgrid[np.array(0):np.array(2),]|np.mgrid[True:3,]
np.mgrid[1:3:1+2j,]|np.mgrid[1:3:1j,]|np.ogrid[0:2, 0:3, 0:2]|len(np.r_)|np.r_[1:3]|np.r_[()]|np.r_[1, '0']
np.r_['x', 1]|np.r_['1,x', 1]|np.r_[0:3j]|np.r_['-1', [[1]], [[2]]]|np.r_[f4(1), 2.5]|np.r_[np.ones(2, 'f4'), 1.5, 2]
np.r_[1:6:1, 2.5]|np.r_[1:2:3j, [[1]]]|np.r_['0,2,0', 1:3, [3]]|np.r_['0,3,1', [1, 2], [[3, 4]]]|np.r_[0:3:1.5j]
np.r_['0,3,-1', [1, 2], [[3, 4]]]|np.c_[1:3, [3, 4]]|np.c_[1, 2]|np.c_[[[1]], [[2]]]|np.r_[True, False]|np.r_[True, 2]
np.r_[np.array(3), 4]|np.r_['1,2', np.array(3), 4]|np.r_['0,3,2', 1:3]|np.c_[np.ones((2, 2, 2)), np.ones((2, 2, 1))]
np.r_['1,2,0,4', [1], [2]]|np.r_['0,2,3', [1], [2]]|np.r_[1:5:2, np.int8(3)]|np.r_[300, np.int8(3)]|np.r_['1,1', 1, 2]
np.r_[1, 'b', 2]|np.r_['0,2,1', np.array(5), [1, 2]]|np.r_['0,2,0', np.array(5), [1, 2]]|np.r_[:3]|np.r_[0.0:1:4j]
np.r_[np.arange(3), np.arange(2) * 1j]|np.r_[f4(0):f4(1):3j]|np.r_[np.int8(0):np.int8(3)]|np.c_[[1, 2], [1.5, 2]]
np.r_['0,2', np.arange(3), [[1, 2, 3]]]|np.r_['0,3,-2', [1, 2], [3, 4]]|np.r_['0,3,-2', 1:3, [3, 4]]
np.s_[1:2]|np.s_[1:2, ...]|np.index_exp[1]|np.index_exp[1, 2]
np.binary_repr(3.5)|np.binary_repr(np.uint8(200))|np.binary_repr(10, 2)|np.binary_repr(-5, 3)|np.binary_repr(0, 0)
np.binary_repr(5, -3)|np.binary_repr(1, 0)|np.binary_repr(-1, 1)|np.base_repr(3, 1)|np.base_repr(3, 37)
np.base_repr(3.5)
np.base_repr(0, 2, 3)|np.base_repr(-12, 3, 4)|np.typename('Z')|np.astype([1], float)|np.isfortran([1])|np.little_endian
type(np.float32(3)) in np.ScalarType|np.kaiser(3, 1j)|np.hanning([3, 4])|np.packbits([1.0])|np.unpackbits([1])
np.packbits([1], bitorder='x')|np.unpackbits(np.uint8([3]), count=-20)|np.unpackbits(np.uint8(3), axis=1)
np.packbits(np.zeros((0, 3), int), axis=1)|np.unpackbits(np.uint8([3]), count=2.0)|np.packbits(np.uint64(2**63))
np.unwrap(3.0)|np.unwrap([1j, 9])|np.unwrap([1.0], axis=2)
np.unwrap(np.int16([1, 200, 30, 100, 0]), period=7)|np.unwrap(np.array([True, False]), period=3)
"""
PROGRAMS = [text for line in TEXTS.split("\n") for text in line.split("|") if text]


@pytest.mark.parametrize("text", PROGRAMS)
def test_as_numpys(text):
    same(lambda lib: eval(text, {"np": lib, "f4": lib.float32}))


def test_contributions_are_joined():
    x = np.decompose(np.array([0.0, 4.0]), labels=["a", "b"])
    assert np.r_[x, 1.0, x[1]].components.tolist() == [[0.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 4.0]]
    assert np.c_[x, x].components[1].tolist() == [[0.0, 0.0], [4.0, 4.0]]
    for spaced in (np.r_[x[0] : x[1] : 3j], np.mgrid[x[0] : x[1] : 3j], np.ogrid[x[0] : x[1] : 3j, 0:2][0][:, 0]):
        assert spaced.components.tolist() == [[0.0, 0.0, 0.0], [0.0, 2.0, 4.0]]


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("key", [("r", 1, 2), ("c", [1]), "row; row", ("r", np.ones(2), 3)], ids=str)
def test_matrices_are_numpys(key):
    row = [[1, 2]]
    if isinstance(key, str):
        theirs = numpy.r_[key]
    else:
        theirs = numpy.r_[tuple(item.to_numpy() if isinstance(item, np.ndarray) else item for item in key)]
    made = np.r_[key]
    assert row
    assert type(made) is type(theirs) is np.matrix
    assert made.tolist() == theirs.tolist()

"""What libraries make of `np.__version__`: they cut it at its points, and compare it with versions of NumPy."""

from __future__ import annotations

import pickle

import numpy
import pytest
from packaging.version import Version

import npdec


@pytest.mark.parametrize(
    "read",
    [
        lambda text: tuple(map(int, text.split("."))),
        lambda text: tuple(map(int, text.split(".")[:3])),
        lambda text: tuple(map(int, text.split(".dev")[0].split("."))),
        lambda text: [int(part) for part in text.split(".", 2)],
        lambda text: float(text.rsplit(".", 1)[0]),
        lambda text: Version(text) >= Version("2.0"),
        lambda text: Version(text).release,
        lambda text: int(text.partition(".")[0]),
        lambda text: numpy.lib.NumpyVersion(text).major,
    ],
)
def test_the_version_is_read_as_one_of_numpys(read):
    assert read(npdec.__version__) == read(npdec.version.short_version)


def test_the_version_has_npdecs_own_behind():
    text = npdec.__version__
    assert isinstance(text, str)
    assert text == f"{npdec.version.short_version}+npdec.{npdec.version}"
    assert pickle.loads(pickle.dumps(text)) == text == npdec.version.version

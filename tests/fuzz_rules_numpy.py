"""Where single functions of NumPy have a defect, or a quirk that nobody means: what it is, with a program."""

from __future__ import annotations

import re

import numpy

from fuzz_rules import Difference, rule
from fuzz_special import given


@rule(
    "NumPy drops the out= of hfft, ifft2 and irfft2, and writes what comes between into that of fftn",
    "fft.hfft",
    "a = np.ones((6,))\nr = np.fft.hfft([1j, 2.0, 3.0, 4.0], out=a)",
)
def _out_of_transforms(d: Difference) -> bool:
    return d.program.name.startswith("fft.") and "out=" in d.program.call and not isinstance(d.got, Exception)


@rule(
    "whether LAPACK notices nan in a matrix depends on its size and maker",
    "linalg.cholesky",
    "pass\nr = np.linalg.cholesky([[np.nan]])",
    varies=True,
)
def _cholesky_of_nan(d: Difference) -> bool:
    return d.program.name == "linalg.cholesky" and isinstance(d.want, dict) and not numpy.isfinite(d.want["r"]).all()


@rule(
    "NumPy cannot unwrap unsigned integers, half of whose period is negative",
    "unwrap",
    "a = np.ones(3, 'uint8')\nr = np.unwrap(a, period=4)",
)
def _unsigned_periods(d: Difference) -> bool:
    odd = isinstance(d.want, OverflowError) or isinstance(d.got, TypeError) or "period=-" in d.program.call
    return d.program.name == "unwrap" and odd


@rule(
    "BLAS leaves out products with a zero, also of nan and infinities",
    "dot",
    "a = np.array([0.0, np.nan]); b = np.array(0.0)\nr = np.dot(a, b)",
    varies=True,
)
def _zero_times_nan(d: Difference) -> bool:
    names = ("dot", "inner", "ndarray.dot", "linalg.lstsq")
    if d.program.name not in names or not isinstance(d.got, dict) or not isinstance(d.want, dict):
        return False
    got, want = (r[0] if isinstance(r, tuple) else r for r in (d.got["r"], d.want["r"]))
    wrong = numpy.isnan(numpy.asarray(got))
    return bool(wrong.any()) and numpy.array_equal(
        numpy.where(wrong, 0, numpy.asarray(got)), numpy.where(wrong, 0, want)
    )


@rule(
    "NumPy counts unsigned bounds of arange around the end of their dtype",
    "arange",
    "a = np.array(0, 'uint16')\nr = np.arange(5, stop=a)",
)
def _windows_of_unsigned(d: Difference) -> bool:
    return d.program.name == "arange" and "uint" in d.program.setup


@rule(
    "only some of NumPy's nan-functions refuse integers as out= of floats, and only for some arrays",
    "nanmean",
    "a = np.zeros((2, 0)); b = np.ones(2, 'int64')\nr = np.nanmedian(a, axis=1, out=b)",
)
def _inexact_out(d: Difference) -> bool:
    return d.program.name.startswith("nan") and bool(re.search("must be inexact|Cannot cast", f"{d.want}{d.got}"))


@rule(
    "NumPy takes the length of a list for the length of whatever axis is split",
    "split",
    "pass\nr = np.split([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1], axis=-1)",
)
def _list_in_parts(d: Difference) -> bool:
    return (
        "split" in d.program.name
        and isinstance(d.want, (dict, IndexError))
        and not hasattr(given(d.program)[0][0], "shape")
    )


@rule(
    "ldexp gives floats, which are no exponents: NumPy reduces by it for some dtypes, by accident of its loops",
    "ldexp.reduce",
    "pass\nr = np.ldexp.reduce([0, 0, 0])",
)
def _ldexp_over(d: Difference) -> bool:
    return d.program.name.startswith("ldexp.") and isinstance(d.got, TypeError)


@rule(
    "NumPy's vector instructions take the first number of power and arctan2 for all of them",
    "power.reduce",
    "pass\nr = np.power.reduce([2.0, 3.0], initial=2)",
    feature="AVX512_SKX",
)
def _vectorised(d: Difference) -> bool:
    return d.program.name in ("power.reduce", "arctan2.reduce", "power.reduceat", "arctan2.reduceat")


@rule(
    "whether LAPACK takes nan for a zero pivot depends on its maker",
    "linalg.inv",
    "a = np.array([[np.nan, 0.0], [0.0, 0.0]])\nr = np.linalg.inv(a)",
    varies=True,
)
def _pivot_of_nan(d: Difference) -> bool:
    return d.program.name in ("linalg.inv", "linalg.solve", "linalg.matrix_power") and "np.nan" in d.program.setup


@rule(
    "NumPy writes the product of a vector and a matrix into the wrong places of a column-major out=",
    "vecmat",
    "a = np.array([[1j, 2.0], [3.0, 4.0]]); b = np.array([[5.0, 6.0], [7.0, 8.0]]); c = np.ones((2, 2), complex).T\n"
    "r = np.vecmat(a, b, out=c)",
)
def _column_major_products(d: Difference) -> bool:
    return d.program.name in ("vecmat", "matvec") and "out=" in d.program.call and ".T" in d.program.setup

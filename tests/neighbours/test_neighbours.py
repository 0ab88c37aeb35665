"""Libraries that were not written for npdec, on its arrays: einops, array-api-extra, xarray, dask, opt_einsum, joblib,
cloudpickle and torch's DataLoader keep arrays and contributions; pandas and matplotlib take the numbers."""

from __future__ import annotations

import io
import pickle
from typing import Any

import array_api_extra as xpx
import cloudpickle
import dask.array
import einops.array_api as einops
import joblib
import matplotlib.pyplot as plt
import numpy
import opt_einsum
import pandas
import pytest
import torch
import xarray
from torch.utils.data import DataLoader

import npdec as np

source = numpy.random.default_rng(0)
X = source.normal(size=(2, 3, 4))
BASE = source.normal(size=(2, 3, 4))
DIMS = ("run", "row", "column")


def blocks(x: Any) -> Any:
    return dask.array.from_array(x, chunks=(1, 3, 4), asarray=False)


def named(x: Any) -> Any:
    return xarray.DataArray(x, dims=DIMS, coords={"run": [10, 20]})


CALLS: dict[str, Any] = {
    "einops.rearrange": lambda x: einops.rearrange(x, "a b c -> (a b) c"),
    "einops.reduce": lambda x: einops.reduce(x, "a b c -> a c", "mean"),
    "einops.repeat": lambda x: einops.repeat(x, "a b c -> a b c k", k=2),
    "einops.pack": lambda x: einops.pack([x, x], "* b c")[0],
    "array_api_extra.at": lambda x: xpx.at(x)[0, 0].set(5.0),
    "array_api_extra.cov": lambda x: xpx.cov(x[0]),
    "array_api_extra.kron": lambda x: xpx.kron(x[0], x[1]),
    "array_api_extra.pad": lambda x: xpx.pad(x, 1),
    "array_api_extra.sinc": xpx.sinc,
    "array_api_extra.apply_where": lambda x: xpx.apply_where(x == x, x, lambda v: v * v, lambda v: -v),
    "xarray": lambda x: named(x).data,
    "xarray.mean": lambda x: named(x).mean("row").data,
    "xarray arithmetic": lambda x: (named(x) * xarray.DataArray(x[0], dims=DIMS[1:])).data,
    "xarray.sel": lambda x: named(x).sel(run=20).data,
    "xarray.concat": lambda x: xarray.concat([named(x)] * 2, "run").data,
    "xarray.dot": lambda x: xarray.dot(named(x), named(x), dim="column").data,
    "xarray.groupby": lambda x: named(x).groupby("run").mean().data,
    "numpy.exp of xarray": lambda x: numpy.exp(named(x)).data,
    "dask.sum": lambda x: (blocks(x) * 2).sum(axis=1).compute(),
    "dask.exp": lambda x: dask.array.exp(blocks(x)).mean().compute(),
    "dask.matmul": lambda x: (blocks(x) @ blocks(x).transpose(0, 2, 1)).compute(),
    "dask.map_blocks": lambda x: blocks(x).map_blocks(lambda block: block + 1).compute(),
    "opt_einsum": lambda x: opt_einsum.contract("abc,abd,d->ac", x, x, x[0, 0]),
    "joblib.Parallel": lambda x: joblib.Parallel(n_jobs=2, backend="threading")(
        joblib.delayed(lambda row: (row * row).sum(0))(x[i]) for i in range(2)
    )[1],
    "cloudpickle": lambda x: pickle.loads(cloudpickle.dumps(x)),
}


@pytest.mark.parametrize("name", CALLS)
def test_numbers_and_contributions(name):
    f = CALLS[name]
    want = f(X)
    plain = f(np.array(X))
    assert isinstance(plain, (np.ndarray, np.generic))
    assert plain.dtype == want.dtype
    assert plain.shape == want.shape
    numpy.testing.assert_allclose(numpy.asarray(plain), want, rtol=1e-12)
    y = f(np.decompose(np.array(X), axis=2, baseline=np.array(BASE), labels=["a", "b", "c", "d"]))
    assert y.labels == ("a", "b", "c", "d")
    assert numpy.array_equal(numpy.asarray(y.value), numpy.asarray(plain))
    numpy.testing.assert_allclose(numpy.asarray(y.c_sum()), want, rtol=1e-11, atol=1e-12)
    numpy.testing.assert_allclose(numpy.asarray(y.residual), f(BASE), rtol=1e-11, atol=1e-12)


def test_joblib_stores_contributions():
    file = io.BytesIO()
    joblib.dump(np.decompose(np.array(X), axis=0, labels=["first", "second"]), file)
    file.seek(0)
    again = joblib.load(file)
    assert again.labels == ("first", "second")
    assert numpy.array_equal(numpy.asarray(again.components.sum(0)), X)


# -- batches -----------------------------------------------------------------------------------------------------------


def test_batches_are_tensors():
    """As of NumPy's arrays and scalars."""
    rows = [{"x": x, "y": y, "n": n} for n, (x, y) in enumerate(zip(np.array(X[0]), np.arange(3.0), strict=True))]
    as_numpy = [{"x": numpy.asarray(row["x"]), "y": numpy.float64(row["y"]), "n": row["n"]} for row in rows]
    for got, want in zip(DataLoader(rows, batch_size=2), DataLoader(as_numpy, batch_size=2), strict=True):
        assert got.keys() == want.keys()
        for key in want:
            assert got[key].dtype is want[key].dtype
            assert torch.equal(got[key], want[key])


def test_batches_keep_contributions():
    x = np.decompose(np.array(X[0]), axis=1, labels=["a", "b", "c", "d"])
    batch = next(iter(DataLoader(x, batch_size=2)))
    assert isinstance(batch, np.DecomposedTensor)
    assert batch.labels == ("a", "b", "c", "d")
    assert torch.equal(batch.components.sum(0), torch.tensor(X[0, :2]))


# -- what takes the numbers --------------------------------------------------------------------------------------------


def plotted(x: Any) -> Any:
    axes = plt.figure().subplots()
    axes.errorbar(x[0], x[1], yerr=abs(x[2]))
    axes.hist(x.reshape(-1))
    axes.imshow(x)
    axes.fill_between(x[0], x[1], x[2])
    return axes.plot(x[0], x[1])[0].get_xydata()


TAKES: dict[str, Any] = {
    "pandas.DataFrame": lambda x: pandas.DataFrame(x, columns=list("abcd")).to_numpy(),
    "pandas of columns": lambda x: pandas.DataFrame({"a": x[0], "b": x[1]}).mean().to_numpy(),
    "pandas.Series": lambda x: pandas.Series(x[0]).to_numpy(),
    "matplotlib": plotted,
}


@pytest.mark.parametrize("name", TAKES)
def test_numbers_are_taken(name):
    f = TAKES[name]
    numpy.testing.assert_array_equal(f(np.array(X[0])), f(X[0]))
    with pytest.warns(np.DecompositionWarning, match="contributions|components"):
        numpy.testing.assert_array_equal(f(np.decompose(np.array(X[0]))), f(X[0]))
    plt.close("all")

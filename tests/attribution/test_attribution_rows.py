"""Attribution over data: every row as by itself, one batch at a time, and summaries of them by NumPy."""

from __future__ import annotations

import gc
import os
import signal
import warnings
import weakref
from concurrent.futures.process import BrokenProcessPool

import numpy
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import npdec as np
from npdec.attribution import attribute_rows, summarize

F64 = torch.float64


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3)).double().eval()


def rows(n=23):
    return torch.randn(n, 4, generator=torch.Generator().manual_seed(1), dtype=F64)


def close(a, b, atol=1e-12):
    torch.testing.assert_close(torch.as_tensor(a), torch.as_tensor(b).detach(), rtol=0, atol=atol)


@pytest.mark.parametrize("method", ["local", "input_x_gradient", pytest.param("path", marks=pytest.mark.slow)])
def test_each_row_is_as_by_itself(method):
    net, x, base = network(), rows(), torch.tensor([0.1, -0.2, 0.3, 0.0], dtype=F64)
    options = {"rtol": 1e-10} if method == "path" else {}
    found = list(attribute_rows(net, x, baseline=base, output=1, batch_size=10, method=method, **options))
    assert [len(one.value) for one in found] == [10, 10, 3]
    shares = torch.cat([one.attribution for one in found])
    close(torch.cat([one.value for one in found]), net(x)[:, 1])
    close(torch.cat([one.residual for one in found]), net(base)[1].expand(23))
    for row, share in zip(x, shares, strict=True):
        close(share, np.attribute(net, row, baseline=base, output=1, method=method, **options).attribution, 1e-8)
    errors = torch.cat([one.error for one in found])
    if method != "input_x_gradient":
        close(errors, torch.zeros(23, dtype=F64), 1e-8)
    close(errors, net(x)[:, 1] - net(base)[1] - shares.sum(1))


def test_loaders_generators_arrays_and_functions_of_one_number():
    net, x = network(), rows()
    want = torch.cat([one.attribution for one in attribute_rows(net, x, output=0)])
    loader = DataLoader(TensorDataset(x, torch.zeros(23)), batch_size=7)
    close(torch.cat([one.attribution for one in attribute_rows(net, loader, output=0)]), want)
    close(torch.cat([one.attribution for one in attribute_rows(net, iter(x.split(5)), output=0)]), want)
    close(torch.cat([one.attribution for one in attribute_rows(lambda a: net(a)[:, :1], x)]), want)
    square = list(attribute_rows(lambda a: (a**2).sum(axis=1), numpy.asarray(x), batch_size=20))
    assert type(square[0].attribution) is np.ndarray
    close(numpy.concatenate([numpy.asarray(one.attribution) for one in square]), x**2)
    still = next(attribute_rows(lambda a: torch.ones(len(a)), x))
    assert still.attribution.count_nonzero() == 0
    assert still.residual.tolist() == [1.0] * 23


def test_no_more_than_a_batch_is_kept():
    net, alive, drawn = network(), [], []

    def batches():
        for i in range(6):
            batch = rows(5) + i
            alive.append(weakref.ref(batch))
            drawn.append(i)
            yield batch

    stream = attribute_rows(net, batches(), output=0)
    assert drawn == []
    for i, found in enumerate(stream):
        assert drawn == list(range(i + 1))
        del found
        gc.collect()
        assert sum(ref() is not None for ref in alive) <= 1


@pytest.mark.slow
def test_summaries_are_numpys():
    values = numpy.random.default_rng(2).standard_normal((500, 2, 3)) + 5
    found = summarize(torch.as_tensor(part) for part in numpy.split(values, [3, 4, 200]))
    assert found.count == 500
    for got, want in (
        (found.mean, values.mean(0)),
        (found.mean_magnitude, numpy.abs(values).mean(0)),
        (found.deviation, values.std(0, ddof=1)),
        (found.quantiles([0.1, 0.5]), numpy.quantile(values, [0.1, 0.5], axis=0)),
        (found.quantiles(0.9), numpy.quantile(values, 0.9, axis=0)),
    ):
        close(numpy.asarray(got), want, 1e-12)
    few = summarize([torch.as_tensor(values)], keep=50, seed=3)
    assert few.sample.shape == (50, 2, 3)
    kept = {tuple(row.ravel()) for row in values} & {tuple(numpy.asarray(row).ravel()) for row in few.sample}
    assert len(kept) == 50  # rows, each once
    # Every row is as likely to be kept: over many seeds the places are even.
    places = numpy.zeros(40)
    for seed in range(300):
        sample = summarize([torch.arange(40.0)[:, None]], keep=10, seed=seed).sample
        places[numpy.asarray(sample).astype(int).ravel()] += 1
    assert numpy.abs(places - 75).max() < 5 * (300 * 0.25 * 0.75) ** 0.5
    of_batches = summarize(attribute_rows(network(), rows(), output=0, batch_size=4))
    whole = summarize(attribute_rows(network(), rows(), output=0))
    close(numpy.asarray(of_batches.mean), numpy.asarray(whole.mean))
    assert 0 < of_batches.largest_error < 1e-12


def test_what_does_not_fit():
    net, x = network(), rows()
    with pytest.raises(
        ValueError, match=r"a number for each of 23 rows \(choose one with output=\), not shape \(23, 3\)"
    ):
        list(attribute_rows(net, x))
    for options in ({"method": "shapley"}, {"mode": "forward"}, {"axis": 1}, {"steps": 3}):
        with pytest.raises(TypeError, match="attribute"):
            list(attribute_rows(net, x, output=0, **options))
    with pytest.raises(ValueError, match="batch_size is positive"):
        attribute_rows(net, x, batch_size=0)
    for size in ("a", 2.5, None):
        with pytest.raises(TypeError, match="attribute_rows: batch_size is an int, not"):
            attribute_rows(net, x, batch_size=size)
    for data, said in {
        None: r"data is an array of rows, or an iterable of batches, not NoneType",
        5: r"data is an array of rows, or an iterable of batches, not int",
        "rows": r"data is an array of rows, or an iterable of batches, not str",
    }.items():
        with pytest.raises(TypeError, match=said):
            attribute_rows(net, data, output=0)
    with pytest.raises(TypeError, match=r"data has no rows: its shape is \(\)"):
        attribute_rows(net, torch.tensor(1.0), output=0)
    with pytest.raises(TypeError, match=r"a batch is an array of rows, .*not a dict: give .*batch\['x'\]"):
        list(attribute_rows(net, [{"x": x}], output=0))
    with pytest.raises(ValueError, match="there are no rows"):
        summarize([])
    with pytest.raises(ValueError, match=r"summarize: batches have rows of shapes \(3,\) and \(4,\)"):
        summarize([torch.ones(2, 3), torch.ones(2, 4)])
    with pytest.raises(TypeError, match=r"summarize: batches are an iterable of attributions, not NoneType"):
        summarize(None)
    with pytest.raises(ValueError, match=r"quantiles: q is between 0 and 1, not 2.0"):
        summarize([torch.ones(2, 3)]).quantiles(2.0)


def test_rows_that_depend_on_each_other_are_warned_of():
    x = rows()
    mixing = lambda a: ((a - a.mean(0)) ** 2).sum(1)  # noqa: E731
    with pytest.warns(np.DecompositionWarning, match=r"rows of a batch depend on each other.*evaluation mode"):
        (found,) = attribute_rows(mixing, x)
    assert found.error.abs().max() > 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in ("local", "path"):
            list(attribute_rows(network(), x, output=0, method=method))
        list(attribute_rows(network().half(), x.half(), output=0))
        list(attribute_rows(mixing, x, method="input_x_gradient"))  # which is not complete anyway


def _or_killed(block, flag, value):
    if flag.exists() and value in block:
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.long
def test_a_lost_worker_of_dask_loses_nothing_that_was_written(tmp_path):
    array, dask = pytest.importorskip("dask.array"), pytest.importorskip("dask")
    pytest.importorskip("pyarrow")
    flag, out = tmp_path / "kill", tmp_path / "out"
    flag.touch()
    plain = numpy.arange(24.0).reshape(8, 3)
    data = array.from_array(plain, chunks=(2, 3))
    data = data.map_blocks(_or_killed, flag, 12.0, dtype=float, meta=numpy.empty((0, 0)))
    f = lambda a: (a * a).sum(1)  # noqa: E731
    given = []
    with dask.config.set(scheduler="processes", num_workers=1):
        with pytest.raises(BrokenProcessPool, match="terminated abruptly"):
            given.extend(attribute_rows(f, data, batch_size=2, out=out))
        assert len(given) == 2
        assert sorted(path.name for path in out.iterdir()) == ["part-00000.parquet", "part-00001.parquet"]
        flag.unlink()
        again = list(attribute_rows(f, data, batch_size=2, out=out, resume=True))
    numpy.testing.assert_array_equal(numpy.concatenate([numpy.asarray(one.attribution) for one in again]), plain**2)
    assert len(list(out.iterdir())) == 4

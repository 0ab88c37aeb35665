"""Rows attributed into a folder of Parquet: what is read again, what is refused, and arrays that are read by parts."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy
import pytest
import torch

import npdec as np
from npdec.attribution import attribute_rows

F64 = torch.float64


def squares(a):
    return (a**2).sum(1)


def rows(n=11, k=3):
    return torch.randn(n, k, generator=torch.Generator().manual_seed(1), dtype=F64)


def test_a_folder_is_written_once_and_read_again(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    x, calls = rows(), []

    def f(a):
        calls.append(len(a))
        return squares(a)

    for i, found in enumerate(attribute_rows(f, x, batch_size=4, out=tmp_path)):
        table = parquet.read_table(tmp_path / f"part-{i:05}.parquet")  # there before it is given
        assert table.column("value").to_pylist() == found.value.tolist()
    table = parquet.read_table(tmp_path)
    numpy.testing.assert_allclose(table.column("value").to_pylist(), squares(x), rtol=1e-15)
    numpy.testing.assert_allclose(table.column("attribution").to_pylist(), x**2, rtol=1e-15)
    assert table.column("residual").to_pylist() == [0.0] * 11
    (tmp_path / "part-00001.parquet").unlink()
    calls.clear()
    again = list(attribute_rows(f, x, batch_size=4, out=tmp_path, resume=True))
    assert calls == [4, 4]  # the first to see that the function is the same, and what is not there
    assert torch.equal(torch.cat([one.attribution for one in again]), x * x)
    with pytest.raises(FileExistsError, match="resume=True goes on with them"):
        attribute_rows(f, x, out=tmp_path)


def test_a_store_is_written_once_and_read_again(tmp_path):
    zarr = pytest.importorskip("zarr")
    x, calls, store = rows(), [], tmp_path / "found.zarr"

    def f(a):
        calls.append(len(a))
        return squares(a)

    for i, found in enumerate(attribute_rows(f, x, batch_size=4, out=store)):
        group = zarr.open_group(store, mode="r")[f"part-{i:05}"]  # there before it is given
        assert group["value"][...].tolist() == found.value.tolist()
    groups = [group for _, group in sorted(zarr.open_group(store, mode="r").groups())]
    for name, expected in {"value": squares(x), "attribution": x**2, "residual": torch.zeros(11)}.items():
        numpy.testing.assert_allclose(numpy.concatenate([g[name][...] for g in groups]), expected, rtol=1e-15)
    shutil.rmtree(store / "part-00001")
    (tmp_path / ".found.zarr.part-00001.0").mkdir()  # left by a process that was killed
    calls.clear()
    again = list(attribute_rows(f, x, batch_size=4, out=store, resume=True))
    assert calls == [4, 4]
    assert torch.equal(torch.cat([one.attribution for one in again]), x * x)
    assert [path.name for path in tmp_path.iterdir()] == ["found.zarr"]
    with pytest.raises(FileExistsError, match="resume=True goes on with them"):
        attribute_rows(f, x, out=store)
    for other in ({"data": x + 1}, {"baseline": 1.0}, {"f": lambda a: squares(a) * 1.001}, {"data": x[:8]}):
        with pytest.raises(ValueError, match=r"other rows|other baseline|another function|more: part-00002"):
            list(attribute_rows(**({"f": f, "data": x} | other), batch_size=4, out=store, resume=True))
    with pytest.raises(TypeError, match="Zarr has no bfloat16"):
        list(attribute_rows(squares, x.bfloat16(), out=tmp_path / "other.zarr"))


def test_a_store_that_another_rank_makes_at_the_same_time(monkeypatch, tmp_path):
    zarr = pytest.importorskip("zarr")
    store, made = tmp_path / "found.zarr", zarr.open_group

    def overtaken(path, mode, **options):
        missing = path == store and not store.joinpath("zarr.json").exists()
        group = made(path, mode=mode, **options)
        if missing:  # what Zarr raises where a group appears between its look and its write
            raise zarr.errors.ContainsGroupError(store, "")
        return group

    monkeypatch.setattr(zarr, "open_group", overtaken)
    count = len(list(attribute_rows(squares, rows(), out=store)))
    assert len(list(made(store, mode="r").groups())) == count


def test_zarr_is_asked_for(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "zarr", None)
    with pytest.raises(ImportError, match=r"\.zarr folder needs zarr"):
        attribute_rows(squares, rows(), out=tmp_path / "found.zarr")


@pytest.mark.parametrize(("needs", "suffix"), [("pyarrow", ""), pytest.param("zarr", ".zarr", marks=pytest.mark.slow)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_what_is_read_has_the_bits_that_were_written(dtype, shape, needs, suffix, tmp_path):
    pytest.importorskip(needs)
    x = torch.randn(5, *shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    for data in (x, np.array(x)):
        folder = tmp_path / f"{type(data).__name__}{suffix}"

        def f(a):
            return (a * a).reshape(len(a), -1).sum(1)

        streams = [list(attribute_rows(f, data, batch_size=2, **at)) for at in (
            {}, {"out": folder}, {"out": folder, "resume": True}
        )]  # fmt: skip
        for alone, written, read in zip(*streams, strict=True):
            assert type(read.attribution) is type(alone.attribution)
            for name in ("value", "residual", "attribution", "error"):
                a, b, c = (getattr(one, name) for one in (alone, written, read))
                assert a.dtype == b.dtype == c.dtype
                assert a.shape == b.shape == c.shape
                assert numpy.asarray(a).tobytes() == numpy.asarray(b).tobytes() == numpy.asarray(c).tobytes()


def test_what_was_written_with_something_else_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    x = rows()
    list(attribute_rows(squares, x, baseline=torch.ones(3, dtype=F64), batch_size=4, out=tmp_path))
    given = {"f": squares, "data": x, "baseline": torch.ones(3, dtype=F64), "batch_size": 4}
    list(attribute_rows(**given, out=tmp_path, resume=True))
    for other, said in (
        ({"data": x + 1}, "other rows"),
        ({"batch_size": 5}, "other rows"),
        ({"data": x.float()}, "other rows"),
        ({"baseline": torch.ones(3, dtype=F64) * 2}, "other baseline"),
        ({"baseline": 1.0}, "other baseline"),
        ({"method": "input_x_gradient"}, "other method"),
        ({"f": lambda a: squares(a) * 1.001}, "for another function: made anew, its value is not"),
        ({"f": lambda a: a[:, 0] ** 2 + a[:, 1] ** 2 + a[:, 2] * a[:, 2].detach().abs()}, "for another function"),
        ({"data": x[:8]}, "the data has 2 batches, and .* more: part-00002.parquet"),
    ):
        with pytest.raises(ValueError, match=said):
            list(attribute_rows(**(given | other), out=tmp_path, resume=True))
    with pytest.raises(TypeError, match="Parquet has no bfloat16"):
        list(attribute_rows(squares, x.bfloat16(), out=tmp_path / "other"))
    with pytest.raises(TypeError, match="say which, with out="):
        attribute_rows(squares, x, resume=True)


@pytest.mark.parametrize(("name", "needs"), [("out", "pyarrow"), ("out.zarr", "zarr")])
def test_a_part_that_cannot_be_read_is_named(name, needs, tmp_path):
    """As a disk that fails leaves it, or another program."""
    pytest.importorskip(needs)
    x, out = rows(), tmp_path / name
    whole = list(attribute_rows(squares, x, batch_size=4, out=out))
    part = sorted(out.glob("part-*"))[1]
    inside = part if part.is_file() else next(part.glob("attribution/c/**/0"))
    if part.is_file():
        inside.write_bytes(inside.read_bytes()[:40])
    else:
        (part / "attribution" / "zarr.json").unlink()
    (out / "part-notes.parquet").write_text("of somebody else")
    with pytest.raises(ValueError, match=rf"{part.name} cannot be read as a batch.*: remove it, and it is made anew"):
        list(attribute_rows(squares, x, batch_size=4, out=out, resume=True))
    shutil.rmtree(part) if part.is_dir() else part.unlink()
    again = list(attribute_rows(squares, x, batch_size=4, out=out, resume=True))
    assert all(torch.equal(a.attribution, b.attribution) for a, b in zip(whole, again, strict=True))
    if name == "out":
        from pyarrow import parquet, table

        parquet.write_table(table({"value": [1.0]}), part)
        with pytest.raises(ValueError, match=rf"{part.name} cannot be read as a batch"):
            list(attribute_rows(squares, x, batch_size=4, out=out, resume=True))


def test_out_is_a_folder(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "taken").write_text("")
    with pytest.raises(FileExistsError, match=r"attribute_rows: out=.*taken is a file: give a folder"):
        attribute_rows(squares, rows(), out=tmp_path / "taken")
    with pytest.raises(TypeError, match=r"attribute_rows: out is the name of a folder, not 3"):
        attribute_rows(squares, rows(), out=3)


def test_pyarrow_is_asked_for(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match="out= needs pyarrow"):
        attribute_rows(squares, rows(), out=tmp_path)


@pytest.mark.slow
def test_of_an_array_on_disk_or_of_dask_no_more_than_a_batch_is_made(tmp_path):
    x = rows().numpy()
    asked = []

    class Lazy:
        shape = x.shape

        def __len__(self):
            return len(x)

        def __getitem__(self, key):
            asked.append(key)
            return x[key]

    stream = attribute_rows(squares, Lazy(), batch_size=4)
    assert asked == []
    assert next(stream).value.shape == (4,)
    assert asked == [slice(0, 4)]
    found = [*stream]
    numpy.testing.assert_allclose(numpy.asarray(found[-1].attribution), x[8:] ** 2, rtol=1e-15)
    numpy.save(tmp_path / "rows.npy", x)
    mapped = numpy.load(tmp_path / "rows.npy", mmap_mode="r")
    dask = pytest.importorskip("dask.array")
    computed = []

    def seen(block):
        computed.append(len(block))
        return block

    blocks = dask.from_array(x, chunks=(4, 3)).map_blocks(seen, dtype=x.dtype, meta=x[:0])
    for data in (mapped, blocks):
        first, *rest = attribute_rows(squares, data, batch_size=4)
        shares = numpy.concatenate([numpy.asarray(one.attribution) for one in (first, *rest)])
        numpy.testing.assert_allclose(shares, x**2, rtol=1e-15)
    computed.clear()
    next(attribute_rows(squares, blocks, batch_size=4))
    assert computed == [4]


@pytest.mark.slow
def test_blocks_of_dask_are_attributed_by_its_workers():
    """As the guide shows; in threads of their own, which have the same law."""
    dask = pytest.importorskip("dask.array")
    text = (Path(__file__).parents[2] / "docs" / "guides" / "data.md").read_text("utf-8")
    (shown,) = (block for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) if "map_blocks" in block)
    names: dict = {}
    exec(shown, names)
    x = rows(40).numpy()
    shares = names["shares_of"](lambda a: np.tanh(a * a).sum(1), dask.from_array(x, chunks=(7, 3)))
    found = shares.compute(scheduler="threads", num_workers=4)
    numpy.testing.assert_allclose(found, numpy.tanh(x * x), rtol=1e-14)

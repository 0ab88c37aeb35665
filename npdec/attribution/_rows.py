"""Attribution over data: batch by batch, in the memory of one batch, and summaries of all rows."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._core.base import ArrayBase
from npdec._core.tracebacks import ends
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _util
from npdec.attribution._attribute import attribute
from npdec.attribution._bits import digest
from npdec.attribution._problem import whole
from npdec.attribution._ranks import shared
from npdec.attribution._result import Attribution
from npdec.exceptions import DecompositionWarning

if TYPE_CHECKING:
    from npdec.attribution._parts import PartFiles

__all__ = ["Summary", "attribute_rows", "summarize"]

_MISSED = 1e-2  # of the largest number of a row
_METHODS = ("local", "path", "input_x_gradient")


@ends
def attribute_rows(
    f: Callable[[Any], Any],
    data: Any,
    *,
    baseline: Any = 0.0,
    output: int | tuple[int, ...] | None = None,
    batch_size: int = 1024,
    method: str = "local",
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    mesh: Any = None,
    **options: Any,
) -> Iterator[Attribution[Any]]:
    """Attribute each row of a data set, batch by batch: an iterator, which keeps no more than a batch.

    `f` takes rows (m, *S) and returns (m,), or (m, *O), of which `output` chooses for each row; what it returns for a
    row must not depend on the other rows (a normalisation over the batch is in evaluation mode). `data`: an array or
    tensor (n, *S), of which `batch_size` rows are taken at a time (also one on disk, or dask's, of which no more than
    that is read or computed), or an iterable of such batches: a generator, a
    `DataLoader`; of a batch that is a tuple or list, as of inputs and targets, the first item. `baseline` broadcasts to
    a batch.
    `method`: "local", "path" or "input_x_gradient", and their `options`, those of `np.attribute`; all rows of a batch
    are attributed in one run.

    `out`: a folder, in which each batch is written to a Parquet file of its own before it is given (by pyarrow: columns
    `value`, `residual`, `error`, and `attribution`, a list for each row); where its name ends in `.zarr`, to a group of
    arrays in that store (by zarr), `part-00000` and so on. A file or group is there as a whole or not at all,
    whatever ends the process. With `resume=True` batches that are there are read, not computed: run again what was
    killed, and it goes on. `mesh`: a `torch.distributed` DeviceMesh of one dimension, whose ranks all make this call
    with the same data and weights (ValueError otherwise): each attributes every n-th batch (and writes it, to a folder
    that all of them see), and is given all of them, bit for bit those of one process.

    Each item is an `Attribution` with `value`, `residual` and `error` of shape (m,), and `attribution` of shape
    (m, *S). A DecompositionWarning says where rows depend on each other. Raises ValueError for what f returns in
    another shape, TypeError for other methods, which leave components out, and for options that attribute does not
    take; FileExistsError where the folder has batches and resume is false, ValueError where it has those of other rows,
    options or of another function (which what is read first tells, made anew), or what cannot be read.

    >>> rows = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> for found in np.attribution.attribute_rows(lambda x: x[:, 0] * x[:, 1], rows, batch_size=2):
    ...     print(found.value, found.attribution.tolist())
    [ 2. 12.] [[1.0, 1.0], [6.0, 6.0]]
    [30.] [[15.0, 15.0]]
    """
    if method not in _METHODS:
        raise TypeError(f"attribute_rows: method is one of {', '.join(_METHODS)}, not {method!r}")
    if options.get("mode") == "forward" or options.get("order", 1) != 1:
        raise TypeError("attribute_rows: rows are attributed backwards, to first order: leave mode and order")
    own = {"axis", "groups", "labels", "argnums", "baselines", "at", "paths", "batched"} & options.keys()
    if own:
        raise TypeError(f"attribute_rows: it takes no {', '.join(sorted(own))}")
    if not isinstance(batch_size, int):
        raise TypeError(f"attribute_rows: batch_size is an int, not {batch_size!r}")
    if batch_size < 1:
        raise ValueError(f"attribute_rows: batch_size is positive, not {batch_size}")
    if out is None and resume:
        raise TypeError("attribute_rows: resume=True goes on with what is in a folder: say which, with out=")
    _check_data(data)
    parts = None
    if out is not None:
        parts = _parts(out)(out, resume, {"baseline": baseline, "output": output, "method": method, **options})
    ranks = None
    if mesh is not None:
        from npdec.attribution._ranks import Ranks

        device = getattr(data, "device", None)
        ranks = Ranks("attribute_rows", mesh, device if isinstance(device, torch.device) else torch.device("cpu"))

    def computed(numbered: tuple[int, Callable[[], Any]], parts: PartFiles | None = None) -> tuple[Any, ...]:
        number, rows = numbered
        x = rows()

        def compute() -> tuple[torch.Tensor, ...]:
            return _of_batch(f, x, baseline, output, method, options)

        made = compute() if parts is None else parts.made(number, as_tensor(x), compute)
        return *made, isinstance(x, torch.Tensor)

    def seen(numbered: tuple[int, Callable[[], Any]]) -> str | None:
        """What is compared between ranks: the batches that all of them draw, and what f makes of the first."""
        number, rows = numbered
        if number and hasattr(data, "shape"):
            return None
        x = rows()
        with torch.no_grad():
            return digest([as_tensor(x)] if number else [as_tensor(x), as_tensor(f(x))])

    one = functools.partial(computed, parts=parts)
    batches = enumerate(_batches(data, batch_size))
    return _attributed(shared(ranks, batches, one, at_once=False, spare=computed, seen=seen), parts)


def _parts(out: str | os.PathLike[str]) -> type[PartFiles]:
    """What writes to a folder of that name."""
    if not isinstance(out, (str, os.PathLike)):
        raise TypeError(f"attribute_rows: out is the name of a folder, not {out!r}")
    if os.fspath(out).endswith(".zarr"):
        from npdec.attribution._parts_zarr import PartGroups

        return PartGroups
    from npdec.attribution._parts import PartFiles

    return PartFiles


def _check_data(data: Any) -> None:
    if hasattr(data, "shape"):
        if not len(data.shape):
            raise TypeError("attribute_rows: data has no rows: its shape is ()")
    elif isinstance(data, (str, bytes)) or not (hasattr(data, "__iter__") or hasattr(data, "__getitem__")):
        raise TypeError(
            f"attribute_rows: data is an array of rows, or an iterable of batches, not {type(data).__name__}"
        )


def _attributed(batches: Iterator[Sequence[Any]], parts: PartFiles | None) -> Iterator[Attribution[Any]]:
    count = 0
    for *tensors, as_torch in batches:
        yield Attribution(*(tensors if as_torch else map(wrap.wrap_array, tensors)))
        count += 1
    if parts is not None:
        parts.end(count)


def _batches(data: Any, size: int) -> Iterator[Callable[[], Any]]:
    """What makes each batch: a part of an array is taken (read, computed) by the rank that attributes it."""
    if hasattr(data, "shape"):
        for first in range(0, len(data), size):
            yield functools.partial(_taken, data, first, first + size)
        return
    for batch in data:
        yield functools.partial(_itself, batch[0] if isinstance(batch, (tuple, list)) else batch)


def _taken(data: Any, first: int, stop: int) -> Any:
    rows = data[first:stop]
    if isinstance(rows, (torch.Tensor, ArrayBase)):
        return rows
    return wrap.wrap_array(as_tensor(rows.compute() if hasattr(rows, "compute") else rows))


def _itself(batch: Any) -> Any:
    if isinstance(batch, dict):
        key = next(iter(batch), "x")
        raise TypeError(
            "attribute_rows: a batch is an array of rows, or a tuple or list that begins with one, not a dict: give "
            f"those, (batch[{key!r}] for batch in data)"
        )
    return batch


def _of_batch(
    f: Callable[[Any], Any], x: Any, baseline: Any, output: Any, method: str, options: dict[str, Any]
) -> tuple[torch.Tensor, ...]:
    """Value, residual, attribution and error of the rows."""
    rows = len(x)
    seen: list[Any] = []

    def chosen(made: Any) -> torch.Tensor:
        tensor = whole(made._t if isinstance(made, ArrayBase) else as_tensor(made))
        if output is not None:
            index = output if isinstance(output, tuple) else (output,)
            tensor = tensor[(slice(None), *index)]
        if tuple(tensor.shape) not in ((rows,), (rows, 1)):
            raise ValueError(
                f"attribute_rows: f has to return a number for each of {rows} rows (choose one with output=), not "
                f"shape {tuple(tensor.shape)}"
            )
        return tensor.reshape(rows)

    def total(made: Any) -> torch.Tensor:
        numbers = chosen(made)
        seen[:] = [numbers]
        return numbers.sum()

    found = attribute(f, x, baseline=baseline, output=total, method=method, **options)
    if method == "local":
        (numbers,) = seen
        carried = isinstance(numbers, DecomposedTensor)
        value, residual = (numbers.value, numbers.residual) if carried else (numbers, numbers)
    else:
        start = torch.broadcast_to(as_tensor(baseline).to(as_tensor(x)), tuple(x.shape)).clone()
        with torch.no_grad():
            value, residual = (
                chosen(f(end)) for end in (x, start if isinstance(x, torch.Tensor) else wrap.wrap_array(start))
            )
    value, residual = value.detach(), residual.detach()
    shares = as_tensor(found.attribution)
    error = value - residual - shares.reshape(rows, -1).sum(1)
    if method != "input_x_gradient" and "steps" not in options:  # those are not complete anyway
        _warn_if_mixed(value, residual, shares.reshape(rows, -1), error)
    return value, residual, shares, error


def _warn_if_mixed(value: torch.Tensor, residual: torch.Tensor, shares: torch.Tensor, error: torch.Tensor) -> None:
    """Warn where a row's shares miss it, while those of all rows together, which `attribute` looks at, do not."""
    scale = torch.stack([value.abs(), residual.abs(), shares.abs().sum(1)]).max(0).values
    missed = error.abs() > _MISSED * scale
    if missed.any():
        _util.warn(
            f"attribute_rows: contributions miss {int(missed.sum())} of {len(value)} rows by more than a hundredth: "
            "rows of a batch depend on each other, or f does not compute the same each time: take a network in "
            "evaluation mode, and means and deviations of all data",
            DecompositionWarning,
        )


@dataclass(frozen=True)
class Summary:
    """What `summarize` found, in the shape S of a row: the `mean` of the shares, the `mean_magnitude` of their absolute
    values, their standard `deviation` (n − 1), over `count` rows. `sample` (k, *S) are rows drawn evenly from all of
    them, all where they are few; all arrays are plain arrays of float64. `largest_error` is what completeness misses at
    most."""

    count: int
    mean: Any
    mean_magnitude: Any
    deviation: Any
    sample: Any
    largest_error: float

    def quantiles(self, q: Any) -> Any:
        """The quantiles of the shares, shape (*Q, *S), of the sample: exact where it is all rows."""
        wanted = as_tensor(q).to(torch.float64)
        if not ((wanted >= 0) & (wanted <= 1)).all():
            raise ValueError(f"quantiles: q is between 0 and 1, not {q}")
        flat = self.sample._t.reshape(len(self.sample), -1)
        made = torch.quantile(flat, wanted.reshape(-1), dim=0)
        return wrap.wrap_array(made.reshape(*wanted.shape, *self.sample.shape[1:]))


@ends
def summarize(batches: Iterable[Any], *, keep: int = 1000, seed: int = 0) -> Summary:
    """Summarise the attributions of rows, of which `attribute_rows` gives batches, in the memory of a batch and of
    `keep` rows, which are drawn with `seed` (J. Vitter, "Random sampling with a reservoir", ACM TOMS 1985).

    Raises ValueError where there are no rows.

    >>> rows = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> found = np.attribution.summarize(np.attribution.attribute_rows(lambda x: x[:, 0] * x[:, 1], rows))
    >>> found.count, found.mean_magnitude.round(2), found.quantiles(0.5)
    (3, array([7.33, 7.33]), array([6., 6.]))
    """
    if keep < 1:
        raise ValueError(f"summarize: keep is a number of rows, not {keep}")
    if not hasattr(batches, "__iter__"):
        raise TypeError(f"summarize: batches are an iterable of attributions, not {type(batches).__name__}")
    source = torch.Generator().manual_seed(seed)
    count, worst = 0, 0.0
    mean = spread = magnitude = None
    sample: list[torch.Tensor] = []
    for batch in batches:
        rows = as_tensor(getattr(batch, "attribution", batch)).detach().cpu().to(torch.float64)
        error = getattr(batch, "error", None)
        if not len(rows):
            continue
        if sample and rows.shape[1:] != sample[0].shape:
            shapes = f"{tuple(sample[0].shape)} and {tuple(rows.shape[1:])}"
            raise ValueError(f"summarize: batches have rows of shapes {shapes}: give those of one function")
        if error is not None:
            worst = max(worst, float(as_tensor(error).abs().max()))
        m, own = len(rows), rows.mean(0)
        around, size = (rows - own).square().sum(0), rows.abs().sum(0)
        if mean is None or spread is None or magnitude is None:
            mean, spread, magnitude = own, around, size
        else:  # T. Chan, G. Golub and R. LeVeque, 1979: no digits are lost to a square of the mean
            apart = own - mean
            mean = mean + apart * (m / (count + m))
            spread = spread + around + apart.square() * (count * m / (count + m))
            magnitude = magnitude + size
        for i, row in enumerate(rows, count):
            if i < keep:
                sample.append(row.clone())
            else:
                place = int(torch.randint(i + 1, (), generator=source))
                if place < keep:
                    sample[place] = row.clone()
        count += m
    if mean is None or spread is None or magnitude is None:
        raise ValueError("summarize: there are no rows")
    deviation = (spread / max(count - 1, 1)).sqrt()
    made = [wrap.wrap_array(part) for part in (mean, magnitude / count, deviation, torch.stack(sample))]
    return Summary(count, made[0], made[1], made[2], made[3], worst)

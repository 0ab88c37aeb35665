"""Many rows at once: in one call where the function takes many rows, else over all cores.

A function that is written for one row may take a table and mean something else by it. So what it makes of many rows is
compared with what it makes of one at a time, and of other sets of rows: only where these agree is it believed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

import npdec as np
from npdec.explain.errors import InputError
from npdec.explain.explanation import Explanation
from npdec.explain.runner import Model, Start, Task, noting
from npdec.explain.work import Counting

__all__ = ["explain_all"]

_FEWEST = 8  # rows for which one call is tried
_CHUNK = 1000  # rows in one call
_CLOSE = 1e-9  # how far results of one call and of many may differ, relative to the largest number
_SMALL = 1e8  # multiplications (10 ms) of a call, below which torch's threads wait for one another more than work
_WORTH = 6.0  # seconds of work, below which processes of their own take longer to start


def explain_all(
    model: Model,
    tasks: Sequence[Task],
    start: Start,
    shown: Callable[[Sequence[Task]], Any],
    jobs: int | None,
    again: Callable[[], contextlib.AbstractContextManager[Model]] | None,
) -> list[Explanation]:
    """The explanations of all rows, in their order. `shown` goes over tasks and shows how far it is; `again` makes the
    model anew in another process."""
    if len(tasks) >= _FEWEST:
        made: list[Explanation] = []
        for i in range(0, len(tasks), _CHUNK):
            part = in_one_call(model, tasks[i : i + _CHUNK], start)
            if part is None:
                break
            made += part
        else:
            return made
    cores = jobs or os.cpu_count() or 1
    if again is None or cores < 2 or len(tasks) < _FEWEST or importlib.util.find_spec("joblib") is None:
        return [model.explain(task, start) for task in shown(tasks)]
    with _one_thread():  # as in processes of their own, of which the time decides
        first = [model.explain(task, start) for task in tasks[:2]]
        began = time.perf_counter()
        first.append(model.explain(tasks[2], start))
        rest = tasks[3:]
        if (time.perf_counter() - began) * len(rest) < _WORTH:
            return first + [model.explain(task, start) for task in shown(rest)]
        return first + _over_cores(model, rest, start, cores, again)


# One call.


def in_one_call(model: Model, tasks: Sequence[Task], start: Start) -> list[Explanation] | None:
    """The explanations of several rows by one call of the function, or None if it does not take several rows.

    torch's threads are as many as before where a call is worth them; on a busy machine they multiply a short one.
    """
    with _one_thread() as threads:
        return _in_one_call(model, tasks, start, threads)


@contextlib.contextmanager
def _one_thread() -> Iterator[int]:
    """Context manager: torch computes in one thread. What sums come to in the last digit goes by how many there are, so
    that it is never the time of a call that decides. Gives how many there were."""
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        yield threads
    finally:
        torch.set_num_threads(threads)


def _in_one_call(model: Model, tasks: Sequence[Task], start: Start, threads: int) -> list[Explanation] | None:
    warned: dict[str, None] = {}
    x = np.array([task.point.features for task in tasks])
    try:
        with noting(warned), start.named_rule():
            with Counting() as counted:
                values = _values(model, x)
            if counted.multiplications > _SMALL:
                torch.set_num_threads(threads)
            if values is None or not _same_by_halves(model, x, values):
                return None
            attributed = (_forward if start.mode == "forward" else _reverse)(model, x, start)
    except (InputError, ValueError, TypeError, IndexError, RuntimeError, NotImplementedError):
        return None  # one row at a time says what is wrong, if anything is
    if attributed is None:
        return None
    made = []
    try:
        for task, value, residual, contributions in zip(tasks, *attributed):
            made.append(model.explained(task, start, value, residual, contributions, True))
        for i in {0, len(tasks) // 3, len(tasks) - 1}:
            if not _are_close(made[i], model.explain(tasks[i], start)):
                return None
    except InputError:
        return None
    model.warned.update(warned)
    return made


def _values(model: Model, x: Any) -> Any:
    """The function's numbers at the rows of `x`, an array (n,), decomposed if `x` is; None for another shape."""
    made = np.asarray(model.call(x, "all rows"))
    n = len(x)
    if made.dtype.kind not in "fiu" or made.ndim == 0 or made.shape[0] != n:
        return None
    table = made.reshape(n, -1)
    if model.output is not None:
        return table[:, model.output] if -table.shape[1] <= model.output < table.shape[1] else None
    return table[:, 0] if table.shape[1] == 1 else None


def _same_by_halves(model: Model, x: Any, values: Any) -> bool:
    """Whether each row has its value whatever the others are."""
    largest = float(np.abs(values).max()) if len(x) else 0.0
    for part in (slice(0, None, 2), slice(1, None, 2)):
        found = _values(model, x[part])
        if found is None or not bool((np.abs(found - values[part]) <= _CLOSE * largest).all()):
            return False
    return True


def _reverse(model: Model, x: Any, start: Start) -> tuple[list[Any], list[Any], list[list[float]]] | None:
    """Values, residuals and contributions (n, features): each row's value depends on its own numbers alone, so that the
    attribution of their sum is that of each."""
    kept: list[Any] = []

    def total(inputs: Any) -> Any:
        made = _values(model, inputs)
        kept.append(made)
        return made.sum()

    base = np.broadcast_to(np.array(start.point.features), x.shape)
    parts = np.attribute(total, x, baseline=base)
    made = kept[-1]
    if made is None or not made.is_decomposed:
        return None
    return made.value.tolist(), made.residual.tolist(), parts.attribution.tolist()


def _forward(model: Model, x: Any, start: Start) -> tuple[list[Any], list[Any], list[list[float]]] | None:
    labels = list(range(x.shape[1]))
    base = np.broadcast_to(np.array(start.point.features), x.shape)
    made = _values(model, np.decompose(x, axis=1, baseline=base, labels=labels))
    if made is None or not made.is_decomposed:
        return None
    found = dict(zip(made.labels, made.components.tolist()))
    rows = [list(row) for row in zip(*[found.get(label, [0.0] * len(x)) for label in labels])]
    return made.value.tolist(), made.residual.tolist(), rows


def _are_close(one: Explanation, other: Explanation) -> bool:
    size = max(one.scale, other.scale, *map(abs, one.contributions), *map(abs, other.contributions))
    pairs = zip((one.value, one.residual, *one.contributions), (other.value, other.residual, *other.contributions))
    return all(abs(a - b) <= _CLOSE * size for a, b in pairs)


# All cores.


def _over_cores(
    model: Model,
    tasks: Sequence[Task],
    start: Start,
    cores: int,
    again: Callable[[], contextlib.AbstractContextManager[Model]],
) -> list[Explanation]:
    from joblib import Parallel, delayed

    size = max(1, -(-len(tasks) // (4 * cores)))
    parts = [tasks[i : i + size] for i in range(0, len(tasks), size)]
    made: list[Explanation] = []
    for explanations, error, warned in Parallel(n_jobs=min(cores, len(parts)))(
        delayed(_work)(again, part, start, str(Path.cwd())) for part in parts
    ):
        model.warned.update(warned)
        if error is not None:
            raise InputError(error)
        made += explanations
    return made


def _work(
    again: Callable[[], contextlib.AbstractContextManager[Model]], tasks: Sequence[Task], start: Start, folder: str
) -> tuple[list[Explanation], str | None, dict[str, None]]:
    """What one process does: it loads the model, whose output was shown once already."""
    os.chdir(folder)
    with contextlib.redirect_stdout(io.StringIO()), _one_thread():
        try:
            with again() as model:
                return [model.explain(task, start) for task in tasks], None, model.warned
        except InputError as error:
            return [], str(error), {}

"""What two columns make together: the law's second order, whose rows add up to the contributions."""

from __future__ import annotations

import math
from typing import Any

import npdec as np
from npdec.explain.errors import InputError, one_line
from npdec.explain.runner import Model, Start, Task, noting

__all__ = ["Pair", "interactions"]

Pair = tuple[str, str, float]  # a column twice for what it makes alone


def interactions(model: Model, task: Task, start: Start) -> list[Pair]:
    """What each column makes alone and each two make together, largest first: all of it is the change of the value.

    `np.attribute(..., order=2)` has the definition. Raises InputError where an operation of the function is refused.
    """

    def f(x: Any) -> Any:
        return model(x, f"row {task.row}")

    try:
        with noting(model.warned), start.named_rule():
            x, base = np.array(task.point.features), np.array(start.point.features)
            matrix = np.attribute(f, x, baseline=base, method="local", mode="forward", order=2).attribution.tolist()
    except InputError:
        raise
    except Exception as error:  # as of the contributions themselves
        raise InputError(f"--interactions: {model.name} at row {task.row}: {one_line(error)}") from error
    ends = [sum(model.widths[: i + 1]) for i in range(len(model.widths))]
    spans = [range(end - width, end) for end, width in zip(ends, model.widths)]
    pairs: list[Pair] = []
    for i, name in enumerate(model.names):
        pairs.append((name, name, math.fsum(matrix[a][b] for a in spans[i] for b in spans[i])))
        for j in range(i):
            both = math.fsum(matrix[a][b] + matrix[b][a] for a in spans[i] for b in spans[j])
            pairs.append((model.names[j], name, both))
    return sorted(pairs, key=lambda pair: -abs(pair[2]))

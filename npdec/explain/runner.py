"""Calls the user's function on rows of the data and attributes its number to the columns."""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import npdec as np
from npdec.explain.errors import InputError, one_line
from npdec.explain.explanation import Explanation
from npdec.explain.inputs import Inputs, Point

__all__ = ["Model", "Source", "Start", "Task", "noting"]


class Source(Protocol):
    """Where a function comes from: a script, or a file with a fitted model."""

    path: Path

    def find(self, name: str) -> Any: ...

    def describe(self, error: BaseException, what: str) -> str: ...


@dataclass(frozen=True)
class Task:
    """One row that is explained: its number, its title, the group that it is in, and where it is."""

    row: int
    title: str
    point: Point
    group: str | None = None


@dataclass(frozen=True)
class Start:
    """What all rows are explained from, and how: the baseline, the function's value there, the mode and the rule."""

    point: Point
    value: float
    mode: str = "reverse"
    rule: str | None = None

    def named_rule(self) -> contextlib.AbstractContextManager[Any]:
        return np.rule(self.rule) if self.rule else contextlib.nullcontext()


@contextlib.contextmanager
def noting(warned: dict[str, None]) -> Iterator[None]:
    """Collect warnings, each once, instead of printing them amid the report."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)  # about the code, not about the numbers
        yield
    for warning in caught:
        warned[one_line(warning.message)] = None


@dataclass
class Model:
    """The user's function, the columns that it takes, and how it takes them.

    `by_name` says that it is called with one scalar per column, as keywords; otherwise with one row. `warned` collects
    the warnings of all calls.
    """

    script: Source
    name: str
    function: Callable[..., Any]
    names: tuple[str, ...]
    by_name: bool
    output: int | None
    warned: dict[str, None]
    widths: tuple[int, ...] = ()
    coded: frozenset[str] = frozenset()

    @classmethod
    def bind(
        cls, script: Source, name: str, columns: Sequence[str], output: int | None, warned: dict[str, None]
    ) -> Model:
        """Decide how the function is called, from its signature. Raises InputError if no way fits."""
        function = script.find(name)
        names, by_name = _columns_of(function, name, tuple(columns))
        return cls(script, name, function, names, by_name, output, warned)

    def takes(self, inputs: Inputs) -> None:
        """Say how many numbers each column is."""
        self.names, self.widths, self.coded = inputs.names, inputs.widths, frozenset(inputs.categories)

    def call(self, x: Any, where: str) -> Any:
        """What the function returns at `x`: a row of all numbers, or several rows in an array of two dimensions."""
        try:
            return self.function(**self._by_name(x)) if self.by_name else self.function(x)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            message = self.script.describe(error, f"{self.name} failed at {where}")
            given = f"; it was given the columns {', '.join(self.names)}"
            raise InputError(message + one_line(given, 200)) from error

    def _by_name(self, x: Any) -> dict[str, Any]:
        pieces, place = {}, 0
        for name, width in zip(self.names, self.widths):
            key = slice(place, place + width) if name in self.coded else place
            pieces[name] = x[key] if x.ndim == 1 else x[:, key]
            place += width
        return pieces

    def __call__(self, x: Any, where: str) -> Any:
        """The function's number at `x`, a 1-d array of the columns: an array of shape (), decomposed if `x` is."""
        return self._number(self.call(x, where), where)

    def _number(self, result: Any, where: str) -> Any:
        kind = type(result).__name__
        if result is None or isinstance(result, (str, bytes, dict, set, frozenset)):
            raise InputError(f"{self.name} returned {kind if result is not None else 'None'} at {where}, not a number")
        try:
            array = np.asarray(result)
        except Exception:  # whatever __array__ or an element of the user's raises
            raise InputError(f"{self.name} returned {kind} at {where}, not a number") from None
        if array.dtype.kind == "b":
            raise InputError(f"{self.name} returned a truth value at {where}, not a number")
        if array.dtype.kind == "c":
            raise InputError(f"{self.name} returned a complex number at {where}; return its real or imaginary part")
        if self.output is not None:
            if not -array.size <= self.output < array.size:
                raise InputError(f"--output {self.output}: {self.name} returned {array.size} numbers, counted from 0")
            array = array.reshape(-1)[self.output]
        elif array.size != 1:
            shape = tuple(array.shape)
            advice = f"; choose one with --output 0 to {array.size - 1}" if array.size else ""
            raise InputError(f"{self.name} returned an array of shape {shape} at {where}, not one number{advice}")
        return array.reshape(())

    def at_baseline(self, point: Point) -> float:
        """The function's plain value at the baseline."""
        with noting(self.warned):
            return self._finite(self(np.array(point.features), "the baseline"), "the baseline")

    def explain(self, task: Task, start: Start) -> Explanation:
        """Attribute the function's value at one row. Raises InputError for a value that is no finite number."""
        where = f"row {task.row}"
        decomposed: list[bool] = []
        x, base = task.point.features, start.point.features

        def f(x: Any) -> Any:
            result = self(x, where)
            decomposed.append(result.is_decomposed)
            return result

        try:
            with noting(self.warned), start.named_rule():
                if start.mode == "forward":
                    value, residual, contributions = self._forward(f, x, base)
                else:
                    parts = np.attribute(f, np.array(x), baseline=np.array(base))
                    value, residual, contributions = parts.value, parts.residual, parts.attribution.tolist()
        except InputError:
            raise
        except Exception as error:  # the law runs the user's operations; whatever they raise is about this function
            raise InputError(f"{self.name} cannot be attributed at {where}: {one_line(error)}") from error
        return self.explained(task, start, value, residual, contributions, decomposed[-1])

    def explained(
        self, task: Task, start: Start, value: Any, residual: Any, contributions: Sequence[float], decomposed: bool
    ) -> Explanation:
        """The explanation of these parts, a contribution for each number that the function is given. Raises InputError
        where one of them is not finite, or contributions were lost."""
        where = f"row {task.row}"
        made = Explanation(
            task.row,
            task.title,
            self.names,
            task.point.cells,
            start.point.cells,
            self._of_columns(contributions),
            self._finite(value, where),
            start.value,
            self._finite(residual, f"the baseline of {where}"),
            task.group,
        )
        for name, contribution in zip(self.names, made.contributions):
            if not math.isfinite(contribution):
                raise InputError(f"{self.name} at {where}: the contribution of {name!r} is {contribution}")
        if not made.has_finite_sums():
            raise InputError(f"{self.name} at {where}: the sum of the contributions is too large for a float64")
        if not decomposed and made.not_attributed:
            raise InputError(
                f"{self.name} at {where}: the result changes with the inputs but carries no contributions; float(), "
                "int(), math.* and comparisons drop them: compute with np.* on the arrays that the function is given"
            )
        return made

    def _of_columns(self, contributions: Sequence[float]) -> tuple[float, ...]:
        """One contribution for each column: the sum of those of its categories."""
        if not self.coded:
            return tuple(contributions)
        sums, place = [], 0
        for width in self.widths:
            sums.append(math.fsum(contributions[place : place + width]))
            place += width
        return tuple(sums)

    def _forward(
        self, f: Callable[[Any], Any], inputs: Sequence[float], baseline: Sequence[float]
    ) -> tuple[Any, Any, list[float]]:
        labels = range(len(inputs))
        x = np.decompose(np.array(inputs), axis=0, baseline=np.array(baseline), labels=list(labels))
        made = f(x)
        if not made.is_decomposed:
            return made, made, [0.0] * len(inputs)
        found = dict(zip(made.labels, made.components.tolist()))
        return made.value, made.residual, [found.get(label, 0.0) for label in labels]

    def _finite(self, number: Any, where: str) -> float:
        value = float(number)
        if not math.isfinite(value):
            raise InputError(f"{self.name} returned {value} at {where}, not a finite number")
        return value


def _columns_of(function: Callable[..., Any], name: str, columns: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """The columns that the function takes, and whether by name.

    Several parameters that are columns are filled by name, others keep their defaults. One parameter takes the row.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin that does not tell
        return columns, False
    kinds = {p.kind for p in parameters}
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    nameable = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    known = tuple(p.name for p in nameable if p.name in columns)
    if inspect.Parameter.VAR_KEYWORD in kinds and not positional:
        return columns, True
    if (len(known) > 1 or (known and required and required[0].kind is inspect.Parameter.KEYWORD_ONLY)) and all(
        p.name in known for p in required
    ):
        return known, True
    takes_row = positional or inspect.Parameter.VAR_POSITIONAL in kinds
    if takes_row and all(p is positional[0] for p in required):
        return columns, False
    if not parameters:
        raise InputError(f"{name} takes no arguments; it must take a row, or parameters named like columns")
    unknown = next((p.name for p in required if p.name not in known), required[-1].name if required else "")
    raise InputError(
        f"{name} has a parameter {unknown!r} that is no column; it must take a row, or parameters named like columns: "
        f"{one_line(', '.join(columns), 200)}"
    )

"""Calls the user's function on rows of the data and attributes its number to the columns."""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import npdec as np
from npdec.explain.errors import InputError, one_line
from npdec.explain.loader import Script

__all__ = ["Contribution", "Explanation", "Model", "noting"]

_VISIBLE = 1e-9  # relative to the numbers of the bridge: what is smaller is rounding


@dataclass(frozen=True)
class Contribution:
    """One line of the table. `share` is the fraction of the whole change; None where nothing changes."""

    name: str
    input: float
    baseline: float
    contribution: float
    share: float | None


@dataclass(frozen=True)
class Explanation:
    """The bridge of one row: `value == baseline_value + not_attributed + sum + error`.

    `residual` is what the law starts from. It is the function's value at the baseline unless a branch, a mask or a sort
    order differs between the two (the row's selection holds on the whole path) or the rule says so; that difference is
    `not_attributed`.
    """

    row: int
    title: str
    names: tuple[str, ...]
    inputs: tuple[float, ...]
    baselines: tuple[float, ...]
    contributions: tuple[float, ...]
    value: float
    baseline_value: float
    residual: float

    @property
    def change(self) -> float:
        return self.value - self.baseline_value

    @property
    def sum(self) -> float:
        return math.fsum(self.contributions)

    def has_finite_sums(self) -> bool:
        """Whether all sums of the numbers, in any order, can be written as a float64."""
        numbers = (*self.contributions, self.value, self.baseline_value, self.residual)
        return math.isfinite(sum(map(abs, numbers)))

    @property
    def scale(self) -> float:
        """The largest of the numbers between which the bridge runs."""
        return max(abs(self.value), abs(self.baseline_value), abs(self.residual))

    @property
    def not_attributed(self) -> float:
        """`residual - baseline_value`, or 0.0 where that is rounding."""
        gap = self.residual - self.baseline_value
        return gap if abs(gap) > _VISIBLE * max(self.scale, *map(abs, self.contributions)) else 0.0

    @property
    def error(self) -> float:
        """The completeness error, `value - residual - sum`."""
        return math.fsum((self.value, -self.residual, *(-c for c in self.contributions)))

    @property
    def relative_error(self) -> float:
        return abs(self.error) / self.scale if self.scale else 0.0

    def share(self, contribution: float) -> float | None:
        visible = abs(self.change) > _VISIBLE * max(self.scale, *map(abs, self.contributions))
        return contribution / self.change if visible else None

    def ranked(self) -> list[Contribution]:
        """The contributions, largest magnitude first; equal ones in the order of the columns."""
        lines = [
            Contribution(*line, self.share(line[-1]))
            for line in zip(self.names, self.inputs, self.baselines, self.contributions)
        ]
        return sorted(lines, key=lambda line: -abs(line.contribution))


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

    script: Script
    name: str
    function: Callable[..., Any]
    names: tuple[str, ...]
    by_name: bool
    output: int | None
    warned: dict[str, None]

    @classmethod
    def bind(
        cls, script: Script, name: str, columns: Sequence[str], output: int | None, warned: dict[str, None]
    ) -> Model:
        """Decide how the function is called, from its signature. Raises InputError if no way fits."""
        function = script.find(name)
        names, by_name = _columns_of(function, name, tuple(columns))
        return cls(script, name, function, names, by_name, output, warned)

    def __call__(self, x: Any, where: str) -> Any:
        """The function's number at `x`, a 1-d array of the columns: an array of shape (), decomposed if `x` is."""
        try:
            result = self.function(**dict(zip(self.names, x))) if self.by_name else self.function(x)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            message = self.script.describe(error, f"{self.name} failed at {where}")
            given = f"; it was given the columns {', '.join(self.names)}"
            raise InputError(message + one_line(given, 200)) from error
        return self._number(result, where)

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

    def at_baseline(self, baseline: Sequence[float]) -> float:
        """The function's plain value at the baseline."""
        with noting(self.warned):
            return self._finite(self(np.array(baseline), "the baseline"), "the baseline")

    def explain(
        self,
        row: int,
        title: str,
        inputs: Sequence[float],
        baseline: Sequence[float],
        baseline_value: float,
        mode: str,
        rule: str | None,
    ) -> Explanation:
        """Attribute the function's value at one row. Raises InputError for a value that is no finite number."""
        where = f"row {row}"
        decomposed: list[bool] = []

        def f(x: Any) -> Any:
            result = self(x, where)
            decomposed.append(result.is_decomposed)
            return result

        try:
            with noting(self.warned), np.rule(rule) if rule else contextlib.nullcontext():
                if mode == "forward":
                    value, residual, contributions = self._forward(f, inputs, baseline)
                else:
                    parts = np.attribute(f, np.array(inputs), baseline=np.array(baseline))
                    value, residual, contributions = parts.value, parts.residual, parts.attribution.tolist()
        except InputError:
            raise
        except Exception as error:  # the law runs the user's operations; whatever they raise is about this function
            raise InputError(f"{self.name} cannot be attributed at {where}: {one_line(error)}") from error

        made = Explanation(
            row,
            title,
            self.names,
            tuple(inputs),
            tuple(baseline),
            tuple(contributions),
            self._finite(value, where),
            baseline_value,
            self._finite(residual, f"the baseline of {where}"),
        )
        for name, contribution in zip(self.names, contributions):
            if not math.isfinite(contribution):
                raise InputError(f"{self.name} at {where}: the contribution of {name!r} is {contribution}")
        if not made.has_finite_sums():
            raise InputError(f"{self.name} at {where}: the sum of the contributions is too large for a float64")
        if not decomposed[-1] and made.not_attributed:
            raise InputError(
                f"{self.name} at {where}: the result changes with the inputs but carries no contributions; float(), "
                "int(), math.* and comparisons drop them: compute with np.* on the arrays that the function is given"
            )
        return made

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

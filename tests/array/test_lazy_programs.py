"""Drawn programs over a few arrays give the same in all that can be seen where their arrays are lazy, where all is left
to Python, and as far as values go, in NumPy."""

from __future__ import annotations

import random
import sys
import warnings
from typing import Any

import numpy
import pytest

import npdec
import tiers

DTYPES = "? i1 i4 i8 i8 u1 u8 f4 f8 f8 f8".split()
BETWEEN = "+ - * / // % & | ^ < <= > >= == !=".split()
IN_PLACE = "+= -= *= &= |= ^=".split()
TWO = "add subtract multiply divide bitwise_and logical_and logical_or less equal not_equal fmax".split()
ONE = "negative absolute square reciprocal floor ceil trunc invert logical_not isnan isinf isfinite sign".split()
VIEWS = "swapaxes({}, 0, -1);moveaxis({}, 0, -1);expand_dims({}, 0);expand_dims({}, -1);squeeze({});ravel({})".split(
    ";"
)
VIEWS += (
    "diagonal({});broadcast_to({}, (2, *{}.shape));rollaxis({}, -1);atleast_2d({});permute_dims({});rot90({})".split(
        ";"
    )
)
VIEWS += "split({}, 1)[0];unstack({})[-1];array_split({}, 2)[1];flip({});einsum('...i->...i', {});real({})".split(";")
TOTALS = "sum sum mean max all argmin".split()
BY_TORCH = "sort cumsum diff median nan_to_num trim_zeros ediff1d".split()
NUMBERS = "0 1 2 -1 7 100 255 300 2**31 2**53+1 2**64 1.5 -0.0 3.5e38 float('nan') True 1j".split()
NUMBERS += ["np.float64(1.5)", "np.float32(0.1)", "np.int64(3)", "np.uint8(200)", "np.bool_(True)"]


class Drawn:
    """The statements of a program, drawn one after the other."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.names: list[str] = []
        self.count = 0
        self.lines: list[str] = []
        for _ in range(self.draw.randint(1, 3)):
            self.create()
        steps = [self.create, *[self.view] * 4, *[self.write] * 4, *[self.compute] * 4, self.look, self.drop]
        for _ in range(self.draw.randint(10, 30)):
            self.draw.choice(steps)()

    def of(self, choices: Any) -> Any:
        return self.draw.choice(choices)

    def name(self) -> str:
        return str(self.of(self.names))

    def assign(self, expression: str) -> None:
        self.count += 1
        self.lines.append(f"a{self.count} = {expression}")
        self.names.append(f"a{self.count}")

    def create(self) -> None:
        shape = [self.of([1, 2, 3, 3, 4]) for _ in range(self.of([1, 1, 2, 2, 3]))]
        dtype, size = self.of(DTYPES), numpy.prod(shape)
        numbers = [self.of([0, 1, 2, 3, 7, 100] + ([-1, -2] if dtype[0] != "u" else [])) for _ in range(size)]
        self.assign(f"np.array({numbers}, {dtype!r}).reshape({shape}){self.of(['', '.copy()', ' * 1'])}")

    def slice(self) -> str:
        start, stop = self.of(["", "", "0", "1", "2", "-2"]), self.of(["", "", "1", "3", "9", "-1"])
        return f"{start}:{stop}{self.of(['', '', ':2', ':-1', ':-2'])}"

    def key(self) -> str:
        index = str(self.of([0, 1, 2, -1, -2, 5]))
        several = ",".join(self.of([index, self.slice(), self.slice(), "None"]) for _ in range(2))
        chosen = "np.array([-1, 0])", f"{self.name()} > 0"
        return str(self.of([index, self.slice(), self.slice(), several, several, "...", *chosen]))

    def value(self) -> str:
        name = self.name()
        return str(self.of([self.of(NUMBERS), name, f"{name}[{self.key()}]", f"({name} + {self.name()})"]))

    def view(self) -> None:
        part = f"[{self.key()}]"
        ways = [part, part, part, ".T", ".reshape(-1)", ".view()", ".real", "[None]", ".mT", ".swapaxes(0, -1)"]
        name = self.name()
        made = f"np.{self.of(VIEWS).replace('{}', name)}"
        self.assign(name + self.of([*ways, ".squeeze()", ".diagonal()"]) if self.draw.random() < 0.7 else made)

    def write(self) -> None:
        name, operator, value = self.name(), self.of(IN_PLACE), self.value()
        self.lines.append(
            self.of(
                [
                    f"{name}[{self.key()}] = {value}",
                    f"{name}[{self.key()}] {operator} {value}",
                    f"{name} {operator} {value}",
                    f"{name} **= 2",
                    f"{name}.fill({self.of(NUMBERS)})",
                    f"np.add({name}, {value}, out={self.name()})",
                    f"{name}.setflags(write=False)" if self.draw.random() < 0.2 else f"{name} -= 1",
                ]
            )
        )

    def compute(self) -> None:
        name, value = self.name(), self.value()
        made = [f"{name} {self.of(BETWEEN)} {value}", f"{value} {self.of(BETWEEN)} {name}", f"{name} ** 2"]
        made += [f"np.{self.of(TWO)}({name}, {value})", f"np.{self.of(ONE)}({name})", f"{name}.copy()"]
        made += [
            f"np.where({name} > 0, {name}[{self.key()}], {self.name()})",
            f"np.zeros_like({name})",
            f"np.{self.of(BY_TORCH)}({name})",
            f"-{name}",
            f"~{name}",
        ]
        self.assign(self.of(made))

    def look(self) -> None:
        name = self.name()
        looks = [
            f"{name}.base is None",
            f"len({name})",
            f"{name}.{self.of(TOTALS)}()",
            f"settle({name})",
            f"bool({name})",
        ]
        looks += [f"np.shares_memory({name}, {self.name()})", f"{name}[0]", f"list({name})", f"{name}.flags.writeable"]
        self.lines.append(f"look({self.of(looks)})")

    def drop(self) -> None:
        if len(self.names) > 2:
            self.lines.append(f"del {self.names.pop(self.draw.randrange(len(self.names)))}")


def comparable(found: Any, fully: bool) -> Any:
    """All that can be seen of something, or what NumPy says as well."""
    if isinstance(found, npdec.ndarray | numpy.ndarray):
        told = (str(found.dtype), found.shape, comparable(found.tolist(), fully), found.flags.writeable)
        return (*told, found.base is None) if fully else told
    if isinstance(found, list):
        return [comparable(one, fully) for one in found]
    if isinstance(found, npdec.generic | numpy.generic):
        return str(found.dtype), comparable(found.item(), fully)
    return repr(found) if fully or not isinstance(found, float | complex) else f"{found + 0:.5g}"  # zeros have no sign


def run(lines: list[str], module: Any, fully: bool, in_python: bool = False) -> list[Any]:
    seen: list[Any] = []
    names: dict[str, Any] = {"np": module, "look": lambda found: seen.append(comparable(found, fully))}
    names["settle"] = lambda found: getattr(found, "_t", None) is None
    for line in lines if fully else [line for line in lines if "settle" not in line]:
        code = compile(line, line, "exec")
        before = sys.getprofile()
        try:
            if in_python:
                sys.setprofile(lambda *event: None)
            exec(code, names)
        except Exception as error:
            seen.append((line, type(error), str(error)) if fully else line)
        finally:
            sys.setprofile(before)
    return [*seen, *[(name, comparable(found, fully)) for name, found in names.items() if name[1:].isdigit()]]


@pytest.mark.parametrize("part", range(4))
def test_drawn_programs(part: int) -> None:
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in range(part, tiers.fewer(600, 20), 4):
            lines = Drawn(seed).lines
            assert run(lines, npdec, True) == run(lines, npdec, True, in_python=True), "\n".join(lines)
            assert run(lines, npdec, False) == run(lines, numpy, False), "\n".join(lines)

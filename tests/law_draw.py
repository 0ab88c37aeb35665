"""Drawing whole programs: inputs of every dtype, shape and layout, their baselines and groups, and lines that run."""

from __future__ import annotations

import math
import random
from typing import Any

import torch

import npdec as np
from fuzz_draw import nested, text_of
from law_lines import KINDS, Lines
from law_programs import Input, Program, compiled, evaluate, numbers, quietly

DTYPES = (
    ("float64",) * 9 + ("float32",) * 4 + ("float16",) * 3 + ("bfloat16",) * 2 + ("complex128",) * 2 + ("complex64",)
)
SHAPES = (
    ((2, 3),) * 5 + ((3,),) * 4 + ((3, 3),) * 2 + ((5,), (4,), (2, 3, 4), (), (), (1,), (2, 1), (0,), (2, 0), (1, 3))
)
LAYOUTS = ("{}",) * 5 + (
    "np.asfortranarray({})", "{}.T", "np.repeat({}, 2, -1)[..., ::2]", "np.stack([{0}, {0}])[1]", "{}[::-1]",
    "np.broadcast_to({0}, (2, *{0}.shape))", "np.stack([{0}, {0}], -1)[..., 0]",
)  # fmt: skip
GRID = (0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, 0.1, -0.7, 1.5)
LARGEST = {"float16": 500.0, "bfloat16": 1e3, "float32": 1e3}
MOST = 60  # elements of a variable


class Drawing:
    """A program in the making: its lines so far have run on the values and on the baselines."""

    def __init__(self, seed: int, choices: bool = True, steep: bool = False, longest: int = 15) -> None:
        self.source = random.Random(seed)
        self.lines = Lines(self.source, choices)
        self.steep = steep
        self.weights = seed
        self.accepted: list[str] = []
        self.names: list[str] = []
        self.inputs = self._inputs()
        self._restart()
        wanted = self.source.randint(3, longest)
        for _ in range(3 * wanted):
            if len(self.accepted) == wanted:
                break
            self._draw()

    def program(self) -> Program:
        return Program(self.inputs, tuple(self.accepted), tuple(self.names), self.weights)

    # -- inputs -------------------------------------------------------------------------------------------------------

    def _inputs(self) -> tuple[Input, ...]:
        pick, chance = self.lines.pick, self.lines.chance
        main, shape, made = pick(DTYPES), pick(SHAPES), []
        for name in "abc"[: pick((1, 1, 2, 2, 3))]:
            dtype = pick(DTYPES) if chance(7) else main
            layout = pick(LAYOUTS)
            own = shape if chance(2) else pick(SHAPES)
            if not own:
                layout = "{}"
            value = self._data(dtype, own, rounded := chance(2))
            base = self._baseline(value, dtype, rounded)
            texts = [layout.format(_array(x, own, dtype)) for x in (value, base)]
            made.append((name, *texts))
        sizes = [int(evaluate(text).size) for _, text, _ in made]
        count, total = 0, sum(sizes)
        if not total:
            return self._inputs()
        each = total <= 4 or (total <= 12 and chance(3))
        groups = list(range(total)) if each else [self.source.randrange(3) for _ in range(total)]
        groups = [sorted(set(groups)).index(g) for g in groups]
        inputs = []
        for (name, value, base), size in zip(made, sizes, strict=True):
            inputs.append(Input(name, value, base, tuple(groups[count : count + size])))
            count += size
        return tuple(inputs)

    def _data(self, dtype: str, shape: tuple[int, ...], rounded: bool) -> list[Any]:
        def draw() -> float:
            return self.lines.pick(GRID) if rounded else round(self.source.uniform(-2, 2), 3)

        complexes = dtype.startswith("complex")
        return [complex(draw(), draw()) if complexes else draw() for _ in range(math.prod(shape))]

    def _baseline(self, value: list[Any], dtype: str, rounded: bool) -> list[Any]:
        kind = self.lines.pick(("zero", "number", "other", "other", "some", "close"))
        number = self.lines.pick(GRID)
        other = self._data(dtype, (len(value),), rounded)
        close = self.lines.pick((1e-2, 1e-5, 1e-9))
        made = {
            "zero": lambda x, r: 0.0,
            "number": lambda x, r: number,
            "other": lambda x, r: r,
            "some": lambda x, r: self.lines.pick((x, r)),
            "close": lambda x, r: x + close * r,
        }[kind]
        return [made(x, r) for x, r in zip(value, other, strict=True)]

    # -- lines --------------------------------------------------------------------------------------------------------

    def _restart(self) -> None:
        """Run what is accepted again, after a line that is no part of the program may have written."""
        program = self.program()
        self.scopes = [program.scope(arrays) for arrays in program.arrays()]
        for scope in self.scopes:
            for place, line in enumerate(self.accepted):
                quietly(lambda scope=scope, line=line, place=place: exec(compiled(line, place), scope))
        self._known()

    def _known(self) -> None:
        self.lines.arrays = {
            name: x for name, x in numbers(self.scopes[0]).items() if x.dtype == np.bool_ or _inexact(x)
        }
        self.lines.fresh = next(letter for letter in "defghijklmnopqstuvwxyz" if letter not in self.scopes[0])
        self.frozen = {
            name: x.tobytes()
            for name, x in numbers(self.scopes[0]).items()
            if isinstance(x, np.ndarray) and not x.flags.writeable
        }

    def _draw(self) -> None:
        kind = self.lines.pick(KINDS)
        line = getattr(self.lines, kind)()
        if not line:
            return
        fresh = line.startswith(f"{self.lines.fresh} = ")
        if fresh and ";" not in line:
            line = self._chosen(line)
        place = len(self.accepted)
        try:
            code = compiled(line, place)
            for scope in self.scopes:
                quietly(lambda scope=scope: exec(code, scope))
            fits = self._fits(fresh)
        except Exception:  # whatever is refused is no line
            fits = False
        if fits:
            self.accepted.append(line)
            self.names.append(self.lines.taken)
            self._known()
        elif fresh and ";" not in line:
            for scope in self.scopes:
                scope.pop(self.lines.fresh, None)
        else:
            self._restart()

    def _chosen(self, line: str) -> str:
        """The line, made to choose one if the function returns several."""
        expression = line.partition(" = ")[2]
        if not any(word in expression for word in SEVERAL):
            return line
        try:
            made = quietly(lambda: eval(expression, dict(self.scopes[0])))
        except Exception:
            return line
        return f"{line}[{self.source.randrange(len(made))}]" if isinstance(made, (tuple, list)) and made else line

    def _fits(self, fresh: bool) -> bool:
        """Whether what the last line made or wrote is of moderate numbers, of one shape for value and baseline."""
        values, bases = map(numbers, self.scopes)
        choices = self.lines.choices
        if fresh and self.lines.fresh not in values:
            return False
        if any(name in values and values[name].tobytes() != old for name, old in self.frozen.items()):
            return False  # through torch, which knows nothing of read-only arrays
        for name, x in values.items():
            if fresh and name != self.lines.fresh:
                continue
            base = bases.get(name)
            if base is None or base.dtype != x.dtype or not (_inexact(x) or (choices and x.dtype == np.bool_)):
                return False
            if (base.shape != x.shape and not choices) or x.size > MOST:
                return False
            largest = LARGEST.get(str(x.dtype), 1e4)
            if not _moderate(x, largest) or not (self.steep or _moderate(base, largest)):
                return False
        return True


SEVERAL = (
    "split", "meshgrid", "broadcast_arrays", "unstack", "divmod", "frexp", "modf", "linalg", "unique", "atleast",
    "gradient", "histogram", "polyfit", "average", "linspace", "intersect", "std_mean", "roots", "nonzero",
)  # fmt: skip


def _array(data: list[Any], shape: tuple[int, ...], dtype: str) -> str:
    return f"np.array({text_of(nested(data, shape))}, '{dtype}')" if data else f"np.zeros({shape}, '{dtype}')"


def _inexact(x: Any) -> bool:
    return bool(np.issubdtype(x.dtype, np.inexact))


def _moderate(x: Any, largest: float) -> bool:
    tensor = x.tensor
    if tensor.dtype is torch.bool:
        return True
    magnitudes = tensor.abs()
    return not magnitudes.numel() or bool(magnitudes.max() <= largest)  # NaN is not

"""Lines of random programs: calls of every function that has a sample, operators, views, writes, masks, torch's own.

A line is drawn for the arrays that there are; whether it is one (shapes that fit, finite numbers) is found by running
it. What is drawn where: `KINDS`, at the end.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy

import decomposition_cases
import npdec as np
import samples
from fuzz_draw import text_of

NUMBERS = (0.5, 2.0, -1.5, 3.0, 0.1, 1.0, -0.7)
# How a variable becomes an argument of a domain of samples.Sample.base; "near" are small changes of the sample's own.
DOMAINS = {
    "any": ("{}", "{}", "{}", "np.tanh({})"),
    "positive": ("np.abs({}) + 0.5", "np.exp(np.tanh({}))", "np.square({}) + 0.3"),
    "unit": ("0.9 * np.tanh({})", "np.sin({}) / 1.5"),
    "above": ("1.5 + np.abs({})", "1.1 + np.square({})"),
}
DECIDES = frozenset(decomposition_cases.FREEZES) | {
    "argmax", "argmin", "argsort", "argpartition", "lexsort", "searchsorted", "digitize", "nonzero", "flatnonzero",
    "argwhere", "choose", "extract", "compress", "place", "select", "isclose", "allclose",
}  # fmt: skip


def _table() -> dict[str, list[tuple[int, samples.Sample]]]:
    """The samples of each function that takes arrays to decompose, with their places in samples.SAMPLES."""
    found: dict[str, list[tuple[int, samples.Sample]]] = {}
    for name, sample in decomposition_cases.CASES:
        place = next(i for i, s in enumerate(samples.SAMPLES[name]) if s is sample)
        found.setdefault(name, []).append((place, sample))
    return found


TABLE = _table()


class Lines:
    """What lines are drawn from: a source of chance, the arrays by their names, and the dtype that most have.

    `choices`: whether lines may choose by comparing; `taken` is the function or kind of the line drawn last.
    """

    def __init__(self, source: random.Random, choices: bool) -> None:
        self.source, self.choices = source, choices
        self.arrays: dict[str, Any] = {}
        self.fresh = "d"
        self.taken = ""

    # -- choosing -----------------------------------------------------------------------------------------------------

    def pick(self, options: Sequence[Any]) -> Any:
        return options[int(self.source.random() * len(options))]

    def chance(self, n: float) -> bool:
        return self.source.random() * n < 1

    def name(self, kind: str = "fc") -> str:
        """A name of an array of one of these kinds of dtype; the later the likelier."""
        found = [name for name, x in self.arrays.items() if _kind(x) in kind] or list(self.arrays)
        return found[max(self.source.randrange(len(found)), self.source.randrange(len(found)))]

    def number(self) -> str:
        return repr(self.pick(NUMBERS))

    def dtype(self, name: str) -> str:
        return str(self.arrays[name].dtype)

    # -- calls of the samples -----------------------------------------------------------------------------------------

    def call(self) -> str:
        name = self.pick(CALLED)
        if not self.choices and name in DECIDES:
            return ""
        place, sample = self.pick(TABLE[name])
        if sample.freezes and not self.choices:
            return ""
        self.taken = name
        return Call(self, name, sample, f"samples.SAMPLES[{name!r}][{place}]").line()

    # -- operators ----------------------------------------------------------------------------------------------------

    def operator(self) -> str:
        word, left = self.pick("+ - * / ** @ // % + - *".split()), self.name()
        right = self.name() if self.chance(1.7) else self.number()
        self.taken = f"ndarray.{word}"
        if word in ("/", "//", "%"):
            right = f"(np.abs({right}) + 0.5)"
        elif word == "**":
            left, right = (left, self.pick(("2", "3", "0"))) if self.chance(2) else (f"(np.abs({left}) + 0.5)", right)
        elif word == "@":
            right = self.name()
        if self.chance(6):
            left, right = right, left
        return f"{self.fresh} = {left} {word} {right}"

    # -- views --------------------------------------------------------------------------------------------------------

    def index(self, n: int, fancy: bool = True) -> str:
        where = self.source.randrange(-n, n) if n else 0
        simple = [str(where), ":", "1:", "::2", ":-1", "::-1", ":"]
        several = [self.source.randrange(-n, n) if n else 0 for _ in range(self.pick((1, 2, 2, 3)))]
        return str(
            self.pick([*simple, text_of(several), f"np.array({several if n else []}, int)"] if fancy else simple)
        )

    def key(self, name: str, fancy: bool = True) -> str:
        shape = self.arrays[name].shape
        if not shape:
            return self.pick(("...", "()", "None"))
        if fancy and self.chance(6):
            mask = numpy.reshape([self.chance(2) for _ in range(math.prod(shape))], shape)
            return text_of(mask.tolist()) if mask.size else "..."
        count = self.source.randrange(len(shape)) + 1
        lead = "..., " if self.chance(8) else ""
        items = [self.index(n, fancy) for n in (shape[-count:] if lead else shape[:count])]
        if self.chance(10):
            items.insert(0, "None")
        return lead + ", ".join(items)

    def view(self) -> str:
        name = self.name()
        self.taken = "ndarray view"
        made = self.pick(("[]", "[]", "[]", ".T", ".reshape(-1)", ".real", ".mT", ".ravel()", ".copy()", ".imag"))
        return f"{self.fresh} = {name}" + (f"[{self.key(name)}]" if made == "[]" else made)

    # -- writes -------------------------------------------------------------------------------------------------------

    def make(self) -> str:
        shape = self.arrays[self.name()].shape or self.pick(((3,), (2, 3)))
        self.taken = "zeros"
        return f"{self.fresh} = np.{self.pick(('zeros', 'ones'))}({shape}, '{self.dtype(self.name())}')"

    def write(self) -> str:
        name = self.name()
        key = f"{name}[{self.key(name)}]"
        value = self.name() if self.chance(1.2) else self.number()
        if self.chance(4):
            value += f"[{self.key(value, False)}]" if value in self.arrays else ""
        word = self.pick(("=", "=", "=", "+=", "-=", "*=", "/="))
        self.taken = f"ndarray[]{word}"
        if word == "/=":
            value = f"np.abs({value}) + 0.5"
        return f"{key if self.chance(1.3) else name + '[...]' if word == '=' else name} {word} {value}"

    def written(self) -> str:
        """A write by a function or method."""
        x, y = self.name(), self.name()
        n = len(self.arrays[x].shape) and self.arrays[x].shape[0]
        at = text_of([self.source.randrange(-n, n) if n else 0 for _ in range(2)])
        flat = max(1, math.prod(self.arrays[x].shape))
        line = self.pick((
            "np.copyto({x}, {y})", "np.add({x}, {y}, out={x})", "np.tanh({y}, out={x})", "np.add.at({x}, {at}, {y})",
            "np.multiply.at({x}, {at}, {y})", "np.put({x}, {flat}, {y})", "{x}.flat[{flat}] = {y}",
            "np.fill_diagonal({x}, {y})", "np.matmul({y}, {y}.mT, out={x})", "np.cumsum({y}, out={x})",
            "np.sum({y}, 0, out={x})", "{x}.T[...] = {y}", "{x}[::-1][...] = {y}", "{x}.fill({y})",
            "{x}.put({flat}, {y})", "np.subtract({x}, {y}, out={x}[...])", "{x}.real[...] = {y}",
            *(("{x}.sort()", "{x}.partition(0)", "{x}.sort(0)") if self.choices else ()),
        ))  # fmt: skip
        self.taken = line
        some = text_of([self.source.randrange(flat) for _ in range(self.pick((1, 2, 3)))])
        return line.format(x=x, y=y, at=at, flat=some)

    # -- masks and conditions -----------------------------------------------------------------------------------------

    def mask(self, name: str) -> str:
        """A mask of the shape of the array: fixed, or computed from a variable."""
        shape = self.arrays[name].shape
        if not self.choices or self.chance(3):
            mask = numpy.reshape([self.chance(2) for _ in range(math.prod(shape))], shape)
            return f"np.array({text_of(mask.tolist())}, bool).reshape({shape})"
        if self.chance(4):
            return self.name("b")
        x, y = self.name("f"), self.name("f") if self.chance(2) else self.number()
        return f"({x} {self.pick('> < >= <= > < != =='.split())} {y})"

    def masked(self) -> str:
        x, y, z = self.name(), self.name(), self.name() if self.chance(1.5) else self.number()
        line = self.pick((
            "{d} = np.where({m}, {y}, {z})", "{x}[{m}] = {z}", "{x}[{m}] += {z}", "np.copyto({x}, {z}, where={m})",
            "np.putmask({x}, {m}, {z})", "{d} = {m} * {y}", "{d} = np.select([{m}], [{y}], {z})",
            "{d} = np.sum({x}, where={m})", "np.add({x}, {z}, out={x}, where={m})", "{d} = {m}.astype(float)",
            "np.place({x}, {m}, {y})", "{d} = np.piecewise({x}, [{m}], [lambda t: t * t, 1.5])",
            *(("{d} = {m}", "{d} = {m} & {k}", "{d} = ~{m} | {k}", "{d} = np.clip({x}, {y}, {z})", "{d} = {x}[{m}]",
               "{d} = {y} if np.sum({x}) > {t} else {y} * 2", "{d} = {x}[np.argmax({y})]", "{d} = np.mean({m})",
               "{d} = np.heaviside({x}, {t})", "{d} = np.any({m}) * {y}", "{d} = np.sum({m}) * {y}") * self.choices),
        ))  # fmt: skip
        self.taken = line
        return line.format(d=self.fresh, x=x, y=y, z=z, m=self.mask(x), k=self.mask(x), t=self.number())

    # -- torch --------------------------------------------------------------------------------------------------------

    def torch(self) -> str:
        line = self.pick(TORCH)
        self.taken = line.partition("(")[0]
        return f"{self.fresh} = np.asarray({line.format(x=self.name() + '.tensor', y=self.name() + '.tensor')})"


_F = "torch.nn.functional."
TORCH = (
    *(f"{_F}{name}({{x}})" for name in "gelu silu softplus elu relu hardswish mish selu logsigmoid tanhshrink".split()),
    *(f"{_F}{name}({{x}}, dim=-1)" for name in "softmax log_softmax normalize".split()),
    f"{_F}layer_norm({{x}}, {{x}}.shape[-1:])", f"{_F}rms_norm({{x}}, {{x}}.shape[-1:])", f"{_F}linear({{x}}, {{y}})",
    f"{_F}mse_loss({{x}}, {{y}})", f"{_F}smooth_l1_loss({{x}}, {{y}})", f"{_F}glu({{x}}, -1)",
    *(f"torch.{name}({{x}})" for name in "sigmoid erf relu trunc amax logcumsumexp deg2rad tril".split()),
    *(f"torch.{name}({{x}}, 0)" for name in "cumsum logsumexp softmax cumprod flip std_mean unsqueeze".split()),
    *(f"torch.{name}({{x}}, {{y}})" for name in "add mul lerp maximum hypot atan2 outer dot mv minimum".split()),
    "torch.lerp({x}, {y}, 0.3)", "torch.addcmul({x}, {x}, {y}, value=0.5)", "torch.clamp({x}, -0.5, 0.7)",
    "torch.cdist({x}, {y})", "torch.baddbmm({x}, {x}, {y})", "{x}.clone().mul_(2).add_({y})", "{x}.flip(0).exp()",
    "{x}.expand(2, *{x}.shape)", "{x}.unbind(0)[0]", "torch.stack([{x}, {x} * {y}])", "torch.var({x}, -1)",
    "{x}.masked_fill(torch.arange({x}.shape[-1]) > 0, 0.5)", "torch.einsum('...i,...i->...', {x}, {y})",
)  # fmt: skip


def _kind(x: Any) -> str:
    return "b" if x.dtype == np.bool_ else "c" if np.issubdtype(x.dtype, np.complexfloating) else "f"


class Call:
    """A call of a sample with variables for some of its arrays."""

    def __init__(self, lines: Lines, name: str, sample: samples.Sample, path: str) -> None:
        self.lines, self.function, self.sample, self.path = lines, name, sample, path
        self.leaves = decomposition_cases.leaves(sample)
        places = list(self.leaves)
        self.taken = {lines.pick(places), *(p for p in places if lines.chance(2))}
        self.main = lines.name()

    def line(self) -> str:
        lines, sample = self.lines, self.sample
        if sample.writes:
            target = lines.name()
            words = [target, *(self.item(a, (i,)) for i, a in enumerate(sample.args) if i)]
            made = f"np.{self.function}({self._joined(words)})"
            if lines.chance(2) or not isinstance(sample.args[0], samples.Arr):
                return made
            first = self.constant(sample.args[0])
            return f"{lines.fresh} = {first}; " + made.replace(f"({target}", f"({lines.fresh}", 1)
        words = [self.item(a, (i,)) for i, a in enumerate(sample.args)]
        if words[:1] == [self.main] and self.function in METHODS and lines.chance(3):
            return f"{lines.fresh} = {self.main}.{self.function}({self._joined(words[1:])})"
        return f"{lines.fresh} = np.{self.function}({self._joined(words)})"

    def _joined(self, words: list[str]) -> str:
        options = [f"{key}={self.item(value, (key,))}" for key, value in self.sample.kwargs.items()]
        return ", ".join([*words, *options])

    def constant(self, a: samples.Arr) -> str:
        own = self.lines.dtype(self.main)
        dtype = own if a.dtype == "float64" and not own.startswith("complex") else a.dtype
        data = text_of(a.data)
        made = f"np.array({data}, '{dtype}')"
        return made if numpy.size(a.data) else f"np.zeros({numpy.shape(a.data)}, '{dtype}')"

    def item(self, item: Any, path: tuple[Any, ...]) -> str:
        if path in self.leaves:
            return self.embedded(self.leaves[path]) if path in self.taken else self.constant(self.leaves[path])
        if isinstance(item, samples.Arr):
            mask = item.dtype == "bool" and self.lines.choices and self.lines.chance(3)
            return self.lines.mask(self.main) if mask else f"np.array({text_of(item.data)}, '{item.dtype}')"
        if isinstance(item, (list, tuple)):
            parts = [self.item(part, (*path, i)) for i, part in enumerate(item)]
            comma = "," if isinstance(item, tuple) and len(parts) == 1 else ""
            return f"[{', '.join(parts)}]" if isinstance(item, list) else f"({', '.join(parts)}{comma})"
        if isinstance(item, float) and math.isfinite(item) and self.lines.chance(6):
            scalars = [name for name, x in self.lines.arrays.items() if not x.shape and _kind(x) == "f"]
            return self.lines.pick([*scalars, repr(item)])
        if item is None or isinstance(item, (bool, int, float, complex, str, bytes, slice)):
            return text_of(item)
        if isinstance(item, type) and item.__module__ == "builtins":
            return item.__name__
        first = f".args[{path[0]}]" if isinstance(path[0], int) else f".kwargs[{path[0]!r}]"
        where = first + "".join(f"[{key!r}]" for key in path[1:])
        return f"{self.path}{where}" + (".make(np)" if isinstance(item, samples.Made) else "")

    def embedded(self, leaf: samples.Arr) -> str:
        """An expression of a variable in the leaf's domain, mostly of its shape."""
        lines, shape = self.lines, numpy.shape(leaf.data)
        fitting = [name for name, x in lines.arrays.items() if x.shape == shape and _kind(x) != "b"]
        name = lines.pick(fitting) if fitting and not lines.chance(4) else self.main
        ours, text = lines.arrays[name], name
        if self.sample.base == "near":
            if ours.shape != shape:
                text = f"np.resize({name}, {shape})"
            return f"{self.constant(leaf)} + 0.05 * np.tanh({text})"
        if ours.shape != shape and not lines.chance(3):
            text = f"np.resize({name}, {shape})"
        return str(lines.pick(DOMAINS[self.sample.base])).format(text)


CALLED = list(TABLE)
METHODS = {name for name in TABLE if hasattr(np.ndarray, name)} - {"sort", "partition", "resize"}  # which write
KINDS = (
    *("call",) * 14, *("operator",) * 3, *("view",) * 3, "make", *("write",) * 3, *("written",) * 2, *("masked",) * 2,
    *("torch",) * 2,
)  # fmt: skip

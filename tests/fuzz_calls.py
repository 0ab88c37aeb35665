"""Programs for every public function: its samples, with their arrays, axes and options changed at random.

The functions are those of the namespaces, nothing lists them. What the arguments may be comes from the samples, from
the tags of the parameters, and from `fuzz_words`.
"""

from __future__ import annotations

import inspect
import math
import numbers as kinds
from collections.abc import Callable
from typing import Any

import numpy

import npdec
import samples
from fuzz_draw import DTYPES, FLOATS, JUNK, Builder, Program, nested, numbers, text_of
from fuzz_words import ATTRIBUTES, IN_PLACE, METHODS, OPERATORS, UFUNC_METHODS, WORDS
from npdec._core.signatures import MASKS, read_parameters

# Subjects in which huge numbers overflow midway, or cancel: they are drawn without these.
ELEMENTWISE = {
    n
    for n, f in samples.public_callables().items()
    if isinstance(f, npdec.ufunc) and getattr(f, "signature", None) is None
}
BITWISE = (samples.MOVEMENT.keys() | samples.SORTING.keys()) - {"pad"} | ELEMENTWISE

NOT_FUZZED = {
    "printoptions": "a context manager",
    "set_printoptions": "changes the state of the process",
    "get_printoptions": "reads the state of the process",
    "einsum_path": "a plan, which may be another one",
    "from_dlpack": "what is no array has no capsule",
    **samples.NO_SAMPLE,
}


class Call:
    """One call being drawn from a sample: how lengths and dtypes change is decided once for all its arrays."""

    def __init__(self, b: Builder, name: str, sample: samples.Sample, path: str) -> None:
        self.b, self.name, self.path = b, name, path
        self.lengths: dict[int, int] = {}
        self.reshaped = b.chance(2)
        self.keep_numbers = not b.chance(3)
        self.dtype = b.pick((None, *DTYPES)) if b.chance(2) else None
        self.args = [self.item(item, f"args[{i}]") for i, item in enumerate(sample.args)]
        self.kwargs = {key: self.option(key, item) for key, item in sample.kwargs.items()}

    def array(self, a: samples.Arr) -> str:
        b, data = self.b, numpy.array(a.data, dtype=a.dtype)
        shape, dtype = data.shape, a.dtype
        if self.reshaped:
            for n in shape:
                if n not in self.lengths:
                    self.lengths[n] = b.pick((n, 1, 2, 3, 0, 4))
            shape = tuple(self.lengths[n] for n in shape)
        if b.chance(5):
            change = b.pick(("one", "drop", "add", "any"))
            if change == "one" and shape:
                at = b.pick(range(len(shape)))
                shape = (*shape[:at], 1, *shape[at + 1 :])
            elif change == "drop":
                shape = shape[1:]
            elif change == "add":
                shape = (b.pick((1, 2)), *shape)
            else:
                shape = b.shape()
        indices = data.dtype.kind in "iub"
        if self.dtype and not (indices and not b.chance(3)):
            dtype = self.dtype
        elif b.chance(6):
            dtype = b.pick(DTYPES)
        if math.prod(shape) > 80:
            shape = tuple(min(n, 2) for n in shape)
        kept = None
        if self.keep_numbers and shape == data.shape:
            with numpy.errstate(all="ignore"):
                cast = data if dtype == a.dtype else (abs(data) if dtype.startswith("u") else data).astype(dtype)
            kept = cast.reshape(-1).tolist()
        return b.array(shape, dtype, kept)

    def item(self, item: Any, path: str) -> str:
        b = self.b
        if b.chance(30):
            return str(b.pick(JUNK))
        if isinstance(item, samples.Arr):
            return self.array(item)
        if isinstance(item, samples.Made):
            return f"{self.path}.{path}.make(np)"
        if isinstance(item, (list, tuple)):
            flat = numpy.array(item).reshape(-1).tolist() if _numeric(item) else []
            if flat and b.chance(4):
                return self.array(samples.Arr(item, str(numpy.array(item).dtype)))
            parts = [self.item(part, f"{path}[{i}]") for i, part in enumerate(item)]
            comma = "," if isinstance(item, tuple) and len(parts) == 1 else ""
            return f"[{', '.join(parts)}]" if isinstance(item, list) else f"({', '.join(parts)}{comma})"
        if isinstance(item, bool) or item is None:
            return repr(not item) if item is not None and b.chance(4) else repr(item)
        if isinstance(item, int):
            return str(b.pick((0, 1, 2, -1, 3, -2, 5, 8))) if b.chance(4) else repr(item)
        if isinstance(item, (float, complex)):
            return text_of(b.pick(numbers("float64", b.profile))) if b.chance(4) else text_of(item)
        if isinstance(item, type):
            return item.__name__ if item.__module__ == "builtins" else f"{self.path}.{path}"
        if isinstance(item, (str, bytes, slice)):
            return repr(item)
        return f"{self.path}.{path}"

    def option(self, key: str, item: Any) -> str:
        b = self.b
        if b.chance(3):
            drawn = hint(b, self.name, key)
            if drawn is not None:
                return drawn
        return self.item(item, f"kwargs[{key!r}]")


def _numeric(item: Any) -> bool:
    if isinstance(item, (list, tuple)):
        return bool(item) and all(map(_numeric, item)) and len({numpy.shape(i) for i in item}) == 1
    return isinstance(item, kinds.Number)


def parameters_of(function: Any) -> dict[str, tuple[str | None, str | None]]:
    """The tag and plain type of each parameter."""
    kernel = getattr(function, "__kernel__", None)
    if kernel is not None:
        found = {p.name: (p.tag or ("Array" if p.sequence else None), p.plain) for p in read_parameters(kernel)}
        if isinstance(function, npdec.ufunc) and getattr(function, "signature", None) is None:
            found |= {"where": ("Mask", None), "dtype": ("DTypeLike", None), "casting": (None, "str"),
                      "order": (None, "str"), "subok": (None, "bool")}  # fmt: skip
        return found
    return {p.name: (None, None) for p in inspect.signature(function).parameters.values()}


def hint(b: Builder, name: str, key: str, tag: str | None = None, plain: str | None = None) -> str | None:
    """An expression for a parameter that a sample does not give, or gives differently."""
    if b.chance(25):
        return str(b.pick(JUNK))
    given = [s.kwargs[key] for s in samples.SAMPLES.get(name, ()) if isinstance(s.kwargs.get(key), (str, int, float))]
    if given and b.chance(2):
        return text_of(b.pick(given))
    if key == "dtype" or tag == "DTypeLike":
        return str(b.pick([*map(repr, DTYPES), "float", "int", "bool", "complex", "None", "'nope'"]))
    if key in WORDS and (key != "where" or b.chance(2)):
        return str(b.pick(WORDS[key]))
    if tag in MASKS or key == "where":
        return b.array(b.shape(most=2), "bool")
    if tag == "KeepDims" or plain == "bool":
        return str(b.pick(("True", "False", "1")))
    if tag == "AxisLike":
        return str(b.pick(WORDS["axis"]))
    if plain == "int":
        return str(b.pick((0, 1, 2, -1, 3, "True", "2.0", "np.int8(1)")))
    if plain == "float":
        return str(b.pick((0.5, 1, 0.0, "np.float32(2)")))
    if tag == "ShapeLike":
        return text_of(b.shape())
    if tag not in (None, "OutArray", "InPlace"):
        return b.array(b.shape(), b.pick(DTYPES))
    return None


def _with_out(b: Builder, name: str, words: list[str], function: str) -> None:
    """Add `out=`: an array of the shape that NumPy's result has, mostly."""
    plain = b.program(name, f"r = {function}({', '.join(words)})").run(numpy)
    if isinstance(plain, Exception):
        return
    outs = []
    several = isinstance(plain["r"], tuple)
    for result in plain["r"] if several else (plain["r"],):
        if not isinstance(result, (numpy.ndarray, numpy.generic)) or result.dtype.name not in DTYPES:
            return
        unchecked = "cum" in name or "accumulate" in name  # NumPy writes past the end of a smaller array
        shape = b.shape(most=2) if b.chance(8) and not unchecked else result.shape
        dtype = b.pick(DTYPES) if b.chance(3) else result.dtype.name
        view = b.pick(("", "", "", ".T")) if len(shape) == 2 and shape[0] == shape[1] else ""
        outs.append(b.bind(f"np.ones({shape}, '{dtype}'){view}"))
    if outs:
        grouped = several or (name.split(".", maxsplit=1)[0] in ELEMENTWISE and b.chance(6))
        words.append(f"out=({', '.join(outs)},)" if grouped else f"out={outs[0]}")


def function_program(b: Builder, name: str, canonical: str) -> Program:
    function = samples.find(npdec, name)
    parameters = parameters_of(function)
    given = samples.SAMPLES.get(canonical, [])
    text = f"np.{name}"
    if canonical in ELEMENTWISE and (not given or not b.chance(4)):
        words, keywords = ufunc_operands(b, function.nin), {}
    elif given:
        index = b.pick(range(len(given)))
        call = Call(b, canonical, given[index], f"samples.SAMPLES[{canonical!r}][{index}]")
        words, keywords = call.args, call.kwargs
    else:
        words, keywords = [], {}
        for p in inspect.signature(function).parameters.values():
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                words.append(
                    hint(b, name, p.name, *parameters.get(p.name, (None, None))) or b.array(b.shape(), "float64")
                )
    free = [
        n
        for n in list(parameters)[len(words) :]
        if n not in keywords
        and n
        not in ("out", "like", "signature", "keepdims" if name in ("matmul", "matvec", "vecmat", "vecdot") else "")
    ]
    for _ in range(2):
        if free and b.chance(3):
            key = b.pick(free)
            free.remove(key)
            drawn = hint(b, name, key, *parameters[key])
            shown = inspect.signature(function).parameters.get(key)  # a keyword that is taken may be left out
            if drawn is not None and (shown is None or shown.kind in (shown.KEYWORD_ONLY, shown.POSITIONAL_OR_KEYWORD)):
                keywords[key] = drawn
    words = [*words, *(f"{key}={value}" for key, value in keywords.items())]
    if "out" in inspect.signature(function).parameters and "out" not in keywords and b.chance(5):
        _with_out(b, name, words, text)
    return b.program(name, f"r = {text}({', '.join(words)})")


def ufunc_operands(b: Builder, count: int) -> list[str]:
    """Operands that broadcast, mostly, in dtypes of which two are often the same."""
    shape, words, dtype = b.shape(), [], b.pick(DTYPES)
    for _ in range(count):
        one = shape
        if b.chance(3):
            one = one[1:]
        if b.chance(4):
            one = tuple(1 if b.chance(2) else n for n in one)
        if b.chance(25):
            words.append(str(b.pick(JUNK)))
            continue
        if b.chance(6):
            one = ()
        words.append(b.array(one, b.pick(DTYPES) if b.chance(3) else dtype))
    return words


def ufunc_method_program(b: Builder, name: str) -> Program:
    stem, method = name.split(".")
    dtype = b.pick(DTYPES)
    text, chosen = f"np.{name}", []
    if method == "outer":
        words = [b.array(b.shape(most=2), dtype), b.array(b.shape(most=2), b.pick(DTYPES) if b.chance(3) else dtype)]
    elif method == "at":
        shape = b.shape(least=1, most=2)
        target = b.array(shape, dtype, form="plain")
        words = [target, index_key(b, shape)]
        if samples.find(npdec, stem).nin == 2 or b.chance(9):
            words.append(b.array(b.pick(((), (1,), shape)), b.pick(DTYPES) if b.chance(4) else dtype))
    else:
        shape = b.shape(least=0 if b.chance(4) else 1)
        words = [b.array(shape, dtype)]
        if method == "reduceat":
            words.append(text_of([b.pick((0, 1, 2, 0, 3, -1)) for _ in range(b.pick((1, 2, 3)))]))
        options = [
            key
            for key in ("axis", "dtype", "keepdims", "initial", "where")
            if method == "reduce" or key in ("axis", "dtype")
        ]
        for key in options:
            if b.chance(3):
                plain = "bool" if key == "keepdims" else None
                value = b.array(shape, "bool") if key == "where" else hint(b, name, key, plain=plain)
                chosen.append(f"{key}={value}")
    if b.chance(30):
        words[b.pick(range(len(words)))] = str(b.pick(JUNK))
    words += chosen
    if method not in ("outer", "at") and b.chance(6):
        _with_out(b, name, words, text)
    return b.program(name, f"r = {text}({', '.join(words)})")


# -- arrays: methods, operators, indexing ------------------------------------------------------------------------------


def index_item(b: Builder, n: int) -> str:
    kind = b.pick(("int", "slice", "slice", "int", "list", "mask", "array", "None", "...", "odd"))
    inside = list(range(-n, n)) or [0]
    if kind == "int":
        return str(b.pick([*inside, n]) if b.chance(5) else b.pick(inside))
    if kind == "slice":
        bounds = (None, 0, 1, -1, 2, -2, 5)
        return f"slice({b.pick(bounds)}, {b.pick(bounds)}, {b.pick((None, 1, 2, -1, -2, 3))})"
    if kind == "list":
        return text_of([b.pick(inside) for _ in range(b.pick((1, 2, 0, 3)))])
    if kind == "array":
        shape = b.shape(most=2)
        count = math.prod(shape)
        flat = [b.pick(inside) for _ in range(count)]
        if not count:
            return f"np.zeros({shape}, int)"
        return f"np.array({text_of(nested(flat, shape))}, '{b.pick(('int64', 'int8', 'int32', 'int64'))}')"
    if kind == "mask":
        return text_of([b.chance(2) for _ in range(n + b.chance(8))]) if n else "np.zeros(0, bool)"
    if kind == "odd":
        odd = (
            "True",
            "False",
            "np.int8(0)",
            "np.array(0)",
            "1.0",
            "'a'",
            "np.array([0.0])",
            "slice(None, None, 0)",
            "[[0]]",
            "()",
        )
        return str(b.pick(odd))
    return kind


def index_key(b: Builder, shape: tuple[int, ...]) -> str:
    if shape and b.chance(6):
        count = math.prod(shape)
        return f"np.array({text_of(nested(b.flat('bool', count), shape))})" if count else f"np.zeros({shape}, bool)"
    items = [index_item(b, n) for n in shape[: b.pick(range(len(shape) + 1))]] if shape else []
    if b.chance(8):
        items.append(index_item(b, 2))
    if not items:
        return "..." if b.chance(2) else "()"
    key = ", ".join(items)
    return f"({key},)" if len(items) > 1 or b.chance(2) else key


def array_program(b: Builder, name: str) -> Program:
    word = name.removeprefix("ndarray.")
    dtype = b.pick(DTYPES)
    shape = b.shape(least=0 if b.chance(5) else 1)
    if word in OPERATORS or word in IN_PLACE:
        left, right = ufunc_operands(b, 2)
        if word in IN_PLACE:
            left = b.array(b.shape(), dtype, form=b.pick(("plain", "F", "offset")))
            return b.program(name, f"r = {left}; r {word} {right}")
        return b.program(name, f"r = {left} {word} {right}")
    if word in ("[]", "[]=", "flat[]", "flat[]="):
        target = b.array(shape, dtype, form=b.pick(("plain", "plain", "F", "step", "offset")))
        flat = ".flat" if word.startswith("flat") else ""
        key = index_item(b, math.prod(shape)) if flat else index_key(b, shape)
        if word.endswith("="):
            value = b.array(b.pick(((), shape[1:], shape, (1,), (2,))), b.pick(DTYPES) if b.chance(2) else dtype)
            return b.program(name, f"{target}{flat}[{key}] = {value}; r = None")
        return b.program(name, f"r = {target}{flat}[{key}]")
    target = b.array(shape, dtype, form=b.pick(("plain", "F", "step", "offset", "broadcast", "reversed")))
    if word in ATTRIBUTES:
        return b.program(name, f"r = {target}.{word}")
    template = str(b.pick(METHODS[word]))
    for key in ("dtype", "casting", "order", "copy", "axis"):
        if f"{{{key}}}" in template:
            template = template.replace(f"{{{key}}}", hint(b, "", key) or "None")
    return b.program(name, f"r = {target}.{word}{template}")


def method_program(b: Builder, name: str) -> Program:
    """A method that is a function too: the function's sample, with the array in front."""
    word = name.removeprefix("ndarray.")
    program = function_program(b, word, samples.aliases().get(word, word))
    head, _, rest = program.call.partition("(")
    first, comma, others = rest.partition(", ")
    if not comma:
        first, others = rest[:-1], ")"
    if len(first) == 1 and head.startswith("r = np."):
        return Program(name, program.setup, f"r = {first}.{word}({others}")
    return Program(name, program.setup, program.call)


# -- subjects ----------------------------------------------------------------------------------------------------------


def subjects() -> dict[str, Callable[[Builder], Program]]:
    """What is fuzzed: functions by their dotted names, methods of ufuncs and of arrays, operators, indexing."""
    aliases = samples.aliases()
    found: dict[str, Callable[[Builder], Program]] = {}
    for name, item in samples.public_callables().items():
        if name in NOT_FUZZED or samples.find(numpy, name) is None or aliases.get(name, name) not in samples.SAMPLES:
            continue
        found[name] = lambda b, name=name: function_program(b, name, aliases.get(name, name))
        if name in ELEMENTWISE and name not in aliases:
            for method in UFUNC_METHODS:
                if (item.nin == 2 and item.nout == 1) or method == "at":
                    found[f"{name}.{method}"] = lambda b, name=f"{name}.{method}": ufunc_method_program(b, name)
    for word in (*METHODS, *ATTRIBUTES, *OPERATORS, *IN_PLACE, "[]", "[]=", "flat[]", "flat[]="):
        found[f"ndarray.{word}"] = lambda b, name=f"ndarray.{word}": array_program(b, name)
    for word in dir(numpy.ndarray):
        if f"ndarray.{word}" not in found and word in found and hasattr(npdec.ndarray, word):
            found[f"ndarray.{word}"] = lambda b, name=f"ndarray.{word}": method_program(b, name)
    return found


def profiles(name: str) -> tuple[str, ...]:
    """The numbers that a subject is given: those at the ends of their range where rounding cannot tell much else."""
    stem = name.removeprefix("ndarray.").removesuffix("=")
    bitwise = stem in BITWISE or stem.split(".")[0] in ELEMENTWISE or stem in (*OPERATORS, *METHODS, *ATTRIBUTES)
    bitwise = bitwise or "[]" in name
    return ("tame", "tame", "special", "extreme") if bitwise else ("tame", "tame", "special")


__all__ = ["FLOATS", "NOT_FUZZED", "profiles", "subjects"]

"""Einstein summation: subscripts read and checked, operands contracted at once or pair by pair along a path."""

from __future__ import annotations

import functools
import string
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from npdec._impl import _einsum_call, _storage, _util, dtypes_impl
from npdec._impl._einsum_paths import ALGORITHMS, cost, volume
from npdec._impl._gufunc import column_major, shape_text, widened

__all__ = ["contract", "contraction_path", "describe", "parse", "subscript_text"]

_LETTERS = string.ascii_letters

# The subscripts of one operand once an ellipsis is spelled out: one label for each axis.
Term = tuple[str, ...]


# --- subscripts -------------------------------------------------------------------------------------------------------


def subscript_text(sublist: Iterable[Any]) -> str:
    """The letters that a list of integers and Ellipsis stands for: 0 is A, 26 is a."""
    letters = string.ascii_uppercase + string.ascii_lowercase
    words = []
    for item in sublist:
        if item is Ellipsis:
            words.append("...")
            continue
        try:
            number = item.__index__()
        except AttributeError:
            raise TypeError("each subscript must be either an integer or an ellipsis") from None
        if not 0 <= number < len(letters):
            raise ValueError(f"subscript is not within the valid range [0, {len(letters)})")
        words.append(letters[number])
    return "".join(words)


def _split(part: str, where: str) -> tuple[str, str | None]:
    """The letters before the ellipsis and those after it, None if there is no ellipsis."""
    before, dots, after = part.partition("...")
    if "." in before + after:
        raise ValueError(
            f"einstein sum subscripts string contains a '.' that is not part of an ellipsis ('...') in {where}"
        )
    for letter in before + after:
        if letter not in _LETTERS:
            raise ValueError(
                f"invalid subscript '{letter}' in einstein sum subscripts string, subscripts must be letters"
            )
    return before, after if dots else None


def _label_axes(parts: tuple[str, str | None], shape: Sequence[int], i: int) -> Term:
    """One label for each axis; the axes under the ellipsis are numbered from the last, as they broadcast."""
    before, after = parts
    hidden = len(shape) - len(before) - len(after or "")
    if hidden < 0:
        raise ValueError(
            f"einstein sum subscripts string contains too many subscripts for operand {i} of shape {shape_text(shape)}"
        )
    if after is None:
        if hidden:
            raise ValueError(
                "operand has more dimensions than subscripts given in einstein sum, but no '...' ellipsis provided to "
                f"broadcast the extra dimensions: operand {i} of shape {shape_text(shape)}"
            )
        return tuple(before)
    return (*before, *map(str, reversed(range(hidden))), *after)


def parse(subscripts: str, shapes: Sequence[Sequence[int]]) -> tuple[list[Term], Term]:
    """The labels of each operand and of the result. A number as a label stands for an axis under an ellipsis.

    Raises ValueError where the subscripts make no sense or do not fit the shapes.
    """
    left, arrow, right = "".join(subscripts.split()).partition("->")
    parts = left.split(",")
    if len(parts) != len(shapes):
        many = "more" if len(parts) < len(shapes) else "fewer"
        raise ValueError(f"{many} operands provided to einstein sum function than specified in the subscripts string")
    terms = [_label_axes(_split(part, f"operand {i}"), shape, i) for i, (part, shape) in enumerate(zip(parts, shapes))]
    hidden = sorted({label for term in terms for label in term if label.isdecimal()}, key=int, reverse=True)
    letters = [label for term in terms for label in term if not label.isdecimal()]
    if not arrow:
        return terms, (*hidden, *sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    before, after = _split(right, "the output")
    if after is None and hidden:
        raise ValueError(
            "output has more dimensions than subscripts given in einstein sum, but no '...' ellipsis provided to "
            "broadcast the extra dimensions."
        )
    output = (*before, *hidden, *(after or ""))
    for label in before + (after or ""):
        if output.count(label) > 1:
            raise ValueError(f"einstein sum subscripts string includes output subscript '{label}' multiple times")
        if label not in letters:
            raise ValueError(
                f"einstein sum subscripts string included output subscript '{label}' which never appeared in an input"
            )
    return terms, output


def sizes_of(terms: Sequence[Term], shapes: Sequence[Sequence[int]]) -> dict[str, int]:
    """The length of each label. Raises ValueError where lengths differ and none of them is one."""
    sizes: dict[str, int] = {}
    for i, (term, shape) in enumerate(zip(terms, shapes)):
        here: dict[str, int] = {}
        for label, size in zip(term, shape):
            if here.setdefault(label, size) != size:
                raise ValueError(
                    f"dimensions in operand {i} for collapsing index '{label}' don't match ({here[label]} != {size})"
                )
        for label, size in here.items():
            known = sizes.get(label, 1)
            if known != size and 1 not in (known, size):
                axes = " ".join(f"{shape_text(s)}->[{','.join(t)}]" for t, s in zip(terms, shapes))
                raise ValueError(f"operands could not be broadcast together: '{label}' is {known} and {size} in {axes}")
            sizes[label] = size if known == 1 else known
    return sizes


# --- contraction ------------------------------------------------------------------------------------------------------


def _diagonal(x: torch.Tensor, term: Term) -> tuple[torch.Tensor, Term]:
    """`x` with axes of equal labels replaced by their diagonal: a view."""
    for label in dict.fromkeys(term):
        while term.count(label) > 1:
            first = term.index(label)
            second = term.index(label, first + 1)
            x = torch.diagonal(x, 0, first, second)
            rest = tuple(other for axis, other in enumerate(term) if axis not in (first, second))
            term = (*rest, label)
    return x, term


def _alone(x: torch.Tensor, term: Term, output: Term) -> torch.Tensor:
    """The sum over the labels that the output lacks, and the others in its order: a view if nothing is summed."""
    x, term = _diagonal(x, term)
    summed = tuple(axis for axis, label in enumerate(term) if label not in output)
    if summed:
        x = widened(lambda t: torch.sum(t, summed, dtype=t.dtype), x)
        term = tuple(label for label in term if label in output)
    return x.permute([term.index(label) for label in output])


def _together(operands: Sequence[torch.Tensor], terms: Sequence[Term], output: Term) -> torch.Tensor:
    """One contraction of several operands of one dtype."""
    if len(operands) == 1:
        return _alone(operands[0], terms[0], output)
    operands, terms = zip(*map(_diagonal, operands, terms))
    equation = _spelled(terms, output)
    if operands[0].device.type != "cpu" and not (operands[0].is_floating_point() or operands[0].is_complex()):
        return _products_summed(operands, terms, output)
    # A sum of integers has the dtype int64 in torch, which its own product of that and narrower ones then refuses.
    dtype = operands[0].dtype
    wide = [x.to(torch.int64) for x in operands] if dtype in _NARROW else operands
    return widened(lambda *xs: torch.einsum(equation, *xs).to(xs[0].dtype), *wide).to(dtype)


_NARROW = frozenset({torch.int8, torch.int16, torch.int32, torch.uint8})


def _products_summed(operands: Sequence[torch.Tensor], terms: Sequence[Term], output: Term) -> torch.Tensor:
    """The same in elementary steps, because torch has no integer products of matrices on accelerators."""
    summed = [label for label in dict.fromkeys(label for term in terms for label in term) if label not in output]
    every = (*output, *summed)
    product: torch.Tensor | None = None
    for x, term in zip(operands, terms):
        spread = x.permute([term.index(label) for label in every if label in term])
        for axis, label in enumerate(every):
            if label not in term:
                spread = spread.unsqueeze(axis)
        product = spread if product is None else widened(torch.mul, product, spread)
    assert product is not None
    return _alone(product, every, output)


@functools.lru_cache(256)
def _equation(subscripts: str, ndims: tuple[int, ...]) -> str | None:
    """What torch.einsum is given for such subscripts, by which operands with so many axes are contracted in one; None
    where more is to be done: a diagonal to be taken, or something to be said that is wrong."""
    try:
        terms, output = parse(subscripts, [(1,) * ndim for ndim in ndims])
    except (ValueError, TypeError):
        return None
    if len(terms) < 2 or any(len(set(term)) < len(term) for term in terms):
        return None
    return _spelled(terms, output)


def _spelled(terms: Sequence[Term], output: Term) -> str:
    letter = dict(zip(dict.fromkeys(label for term in terms for label in term), _LETTERS))
    text = ",".join("".join(letter[label] for label in term) for term in terms)
    return f"{text}->{''.join(letter[label] for label in output)}"


_FLOATS = frozenset({torch.float32, torch.float64, torch.complex64, torch.complex128})


def _at_once(subscripts: str, operands: Sequence[torch.Tensor]) -> torch.Tensor | None:
    """The contraction of several operands of one dtype; None where it takes more than one step."""
    if len({x.dtype for x in operands}) > 1 or operands[0].dtype not in _FLOATS:
        return None
    equation = _equation(subscripts, tuple([x.dim() for x in operands]))
    if equation is None:
        return None
    try:
        return _einsum_call.einsum(equation, operands)
    except RuntimeError:  # sizes that do not fit: what follows says which
        return None


def contract(
    subscripts: str,
    operands: Sequence[torch.Tensor],
    optimize: Any = False,
    dtype: torch.dtype | None = None,
    casting: str = "safe",
    order: str = "K",
) -> torch.Tensor:
    """The Einstein sum of the operands; a view of a single operand if nothing is summed."""
    if optimize is False and dtype is None and order == "K" and type(subscripts) is str:
        found = _at_once(subscripts, operands)
        if found is not None:
            return found
    order = _storage.check_order(order)
    terms, output = parse(subscripts, [x.shape for x in operands])
    sizes_of(terms, [x.shape for x in operands])
    computed = dtype or dtypes_impl.result_type(*operands)
    for i, x in enumerate(operands):
        if not dtypes_impl.can_cast(x.dtype, computed, casting):
            words = [str(d).removeprefix("torch.") for d in (x.dtype, computed)]
            raise TypeError(
                f"Iterator operand {i} dtype could not be cast from dtype('{words[0]}') to dtype('{words[1]}') "
                f"according to the rule '{casting}'"
            )
    tensors = [_util.cast(x, computed) for x in operands]
    for chosen in contraction_path(terms, output, [x.shape for x in tensors], optimize):
        rest = [(x, term) for i, (x, term) in enumerate(zip(tensors, terms)) if i not in chosen]
        needed = {label for _, term in rest for label in term} | set(output)
        used = [terms[i] for i in chosen]
        # The last result is the output, an intermediate one keeps the labels that are needed later.
        kept = tuple(dict.fromkeys(label for term in used for label in term if label in needed)) if rest else output
        result = _together([tensors[i] for i in chosen], used, kept)
        tensors, terms = [x for x, _ in rest] + [result], [term for _, term in rest] + [kept]
    (result,) = tensors
    if len(operands) == 1 or order == "K":
        return result
    if order == "F" or (order == "A" and all(map(_is_column_major, operands))):
        return column_major(result)
    return result.contiguous()


def _is_column_major(x: torch.Tensor) -> bool:
    return x.ndim > 1 and x.permute(tuple(reversed(range(x.ndim)))).is_contiguous()


# --- the order of the contractions ------------------------------------------------------------------------------------


def contraction_path(
    terms: Sequence[Term], output: Term, shapes: Sequence[Sequence[int]], optimize: Any
) -> list[tuple[int, ...]]:
    """Which operands to contract at each step; the result of a step joins the remaining operands at the end.

    `optimize` is False (all at once), True, "greedy" or "optimal", one of these names with a limit for the number of
    elements of an intermediate result, or a path that begins with "einsum_path".
    """
    everything = [tuple(range(len(terms)))]
    if optimize is False or optimize is None:
        return everything
    limit: float | None = None
    if not isinstance(optimize, (bool, str)):
        if len(optimize) and optimize[0] == "einsum_path":
            path = [tuple(step) for step in optimize[1:]]
            left = len(terms) - sum(len(step) - 1 for step in path)
            if left > 1:
                raise RuntimeError(f"Invalid einsum_path is specified: {left - 1} more operands has to be contracted.")
            return path
        if len(optimize) != 2 or not isinstance(optimize[0], str) or not isinstance(optimize[1], (int, float)):
            raise TypeError(f"Did not understand the path: {optimize!r}")
        optimize, limit = optimize[0], float(optimize[1])
    name = "greedy" if optimize is True else optimize
    if name not in ALGORITHMS:
        raise KeyError(f"Path name {name} not found; there are {', '.join(ALGORITHMS)}")
    if len(terms) <= 2 or {label for term in terms for label in term} == set(output):  # nothing is summed
        return everything
    sizes = sizes_of(terms, shapes)
    if limit is None:
        limit = max(volume(set(term), sizes) for term in (*terms, output))
    return ALGORITHMS[name]([frozenset(term) for term in terms], frozenset(output), sizes, limit)


def describe(
    terms: Sequence[Term], output: Term, shapes: Sequence[Sequence[int]], path: Sequence[tuple[int, ...]]
) -> str:
    """A table of what the path costs, beside the cost of contracting all operands at once."""
    sizes = sizes_of(terms, shapes)
    spelled = list(dict.fromkeys(label for term in (*terms, output) for label in term))
    unused = iter(sorted(set(_LETTERS) - set(spelled)))
    letter = {label: next(unused) if label.isdecimal() else label for label in spelled}

    def text(term: Iterable[str]) -> str:
        return "".join(letter[label] for label in term)

    remaining, lines, scalings, costs, largest = list(terms), [], [], [], 1
    for step in path:
        used = [remaining[i] for i in sorted(step, reverse=True)]
        rest = [term for i, term in enumerate(remaining) if i not in step]
        involved = {label for term in used for label in term}
        kept = involved & {label for term in (output, *rest) for label in term}
        result = output if not rest else tuple(sorted(kept, key=lambda label: (sizes[label], label)))
        remaining = [*rest, result]
        scalings.append(len(involved))
        costs.append(cost(involved, sizes, len(used), involved != kept))
        largest = max(largest, volume(result, sizes))
        contraction = f"{','.join(map(text, used))}->{text(result)}"
        then = f"{','.join(map(text, remaining))}->{text(output)}"
        lines.append(f"\n{scalings[-1]:4d}    {contraction:>24} {then:>40}")
    total = sum(costs) + 1  # NumPy counts one more
    labels = {label for term in terms for label in term}
    naive = cost(labels, sizes, len(terms), labels != set(output))
    head = [
        f"  Complete contraction:  {','.join(map(text, terms))}->{text(output)}\n",
        f"         Naive scaling:  {len(labels)}\n",
        f"     Optimized scaling:  {max(scalings)}\n",
        f"      Naive FLOP count:  {naive:.3e}\n",
        f"  Optimized FLOP count:  {total:.3e}\n",
        f"   Theoretical speedup:  {naive / total:.3f}\n",
        f"  Largest intermediate:  {largest:.3e} elements\n",
        "-" * 74 + "\n",
        f"{'scaling':>6} {'current':>24} {'remaining':>40}\n",
        "-" * 74,
    ]
    return "".join(head + lines)

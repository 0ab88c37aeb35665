"""What is attributed to what: the function, its inputs and baselines, their components, and the chosen outputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._array.decompose import components_of, split_input
from npdec._core.base import ArrayBase, plain_of
from npdec._decomposed.input_labels import Indices, input_labels
from npdec._decomposed.tensor import DecomposedTensor, Labels, copy_of
from npdec.attribution import _trees
from npdec.attribution._ranks import Ranks

__all__ = ["Found", "Problem", "baseline_rows", "choose", "plain"]

Function = Callable[..., Any]
Split = Callable[[str, Any, Any], tuple[torch.Tensor, torch.Tensor]]
_ELEMENTS_AT_ONCE = 2**22  # elements of the inputs in one call of a batched function
_ELEMENTS_IN_CACHE = 2**17  # where temporaries that a processor's cache holds cost half of what larger ones do
_POINTS_AT_LEAST = 64  # in a call, for which the cache is given up


@dataclasses.dataclass
class Found:
    """Plain tensors: `value` and `residual` of shape O; `shares` of shape (*O, C), or (*O, C, C) for pairs. Of layers,
    `units` says what each has shares for (those of one layer after those of the other), and `around`, shape (*O, L),
    what reaches the outputs on other ways."""

    value: torch.Tensor
    residual: torch.Tensor | None
    shares: torch.Tensor
    standard_error: torch.Tensor | None = None
    around: torch.Tensor | None = None
    units: Sequence[Problem] = dataclasses.field(default=(), init=False)


@dataclasses.dataclass
class Problem:
    """`values`, `residuals`: a plain tensor for each leaf of `tree`, the attributed inputs. `member` says for each leaf
    which of the `count` components an element belongs to; None: each element is one of its own, in order."""

    f: Function
    tree: Any
    place: Callable[[Iterable[Any]], tuple[Any, ...]]  # the arguments of f with these leaves in place
    given: tuple[bool, ...]  # for each leaf, whether it was given as a torch tensor
    structure: Callable[[Iterable[Any]], Any]  # the attributed inputs with these leaves in place
    values: list[torch.Tensor]
    residuals: list[torch.Tensor]
    member: list[torch.Tensor] | None
    count: int
    labels: Labels | None
    output: Any
    batched: bool | str = False
    chunk_size: int | None = None
    needs_all: bool = False  # whether a chunk of components was found to need all others as one more
    ranks: Ranks | None = None  # of a mesh, among which the work is shared
    graph: bool = False  # whether what is found is to be differentiated
    split: Split = split_input  # how an input and its baseline are read
    absent: Callable[..., Any] | None = None  # what makes an input of one of which a part is absent
    evaluated: bool = (
        False  # whether f is evaluated and nothing else: then it may leave npdec, and return NumPy's arrays
    )

    def kept(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor that is found: with its graph, if that is wanted."""
        return tensor if self.graph else tensor.detach()

    def evaluating(self) -> torch.set_grad_enabled:
        """Where the function is evaluated, not differentiated."""
        return torch.set_grad_enabled(self.graph)

    # -- the function ------------------------------------------------------------------------------------------------

    def call(self, tensors: Sequence[torch.Tensor]) -> Any:
        """f of these leaves, each as what was given."""
        leaves = [t if as_torch else wrap.wrap_array(t) for t, as_torch in zip(tensors, self.given, strict=True)]
        made = self.f(*self.place(leaves))
        ours = isinstance(made, (ArrayBase, torch.Tensor)) or not hasattr(made, "__array_interface__")
        return made if ours or not self.evaluated else as_tensor(made)

    def one(self, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
        """The chosen outputs, shape () or (k,)."""
        chosen, several = choose(self.call(tensors), self.output)
        numbers = [plain(number) for number in chosen]
        return torch.stack(numbers) if several else numbers[0]

    def many(self, points: Sequence[torch.Tensor]) -> torch.Tensor:
        """The chosen outputs, shape (m,) or (m, k), at m points: each leaf has one more leading axis."""
        count = len(points[0])
        if self.batched == "vmap":
            return torch.vmap(lambda *leaves: self.one(leaves))(*points)
        if not self.batched:
            # each a copy: what f writes in place must not touch what autograd keeps of the others
            return torch.stack([self.one([leaf[i].clone() for leaf in points]) for i in range(count)])
        chosen, several = choose(self.call(points), self.output, count)
        numbers = [plain(number) for number in chosen]
        return torch.stack(numbers, 1) if several else numbers[0]

    def at_once(self) -> int:
        """How many points a batched function is given in one call."""
        if self.chunk_size is not None:
            return self.chunk_size
        size = max(1, sum(v.numel() for v in self.values))
        most = max(1, min(4096, _ELEMENTS_AT_ONCE // size))
        return min(most, max(_POINTS_AT_LEAST, _ELEMENTS_IN_CACHE // size)) if self.device.type == "cpu" else most

    def ends(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The chosen outputs at the values and at the residuals."""
        with self.evaluating():
            return self._end(self.values), self._end(self.residuals)

    def _end(self, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
        if self.batched is True:
            return self.many([t.clone()[None] for t in tensors])[0]
        return self.one([copy_of(t) for t in tensors])

    # -- components ----------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> torch.dtype:
        """The widest real dtype among the inputs."""
        dtype = torch.float16
        for value in self.values:
            dtype = torch.promote_types(dtype, value.abs().dtype if value.is_complex() else value.dtype)
        return dtype

    @property
    def device(self) -> torch.device:
        return self.values[0].device

    def of_elements(self, weights: torch.Tensor) -> Iterator[torch.Tensor]:
        """Of a row of numbers for the components, (*lead, C), the number of each element: (*lead, *S) for each leaf."""
        start = 0
        for i, value in enumerate(self.values):
            if self.member is None:
                part = weights[..., start : start + value.numel()].reshape(*weights.shape[:-1], *value.shape)
                start += value.numel()
            else:
                part = weights[..., self.member[i].to(weights.device)]
            yield part.to(value.device)

    def along(self, weights: torch.Tensor, inside: bool = True) -> list[torch.Tensor]:
        """The inputs with each component taken by its weight: r + Σ w_i c_i for weights (*lead, C). With `inside` false
        they count from the value, which weights of one give exactly: x + Σ (w_i − 1) c_i."""
        points = []
        for value, residual, weight in zip(self.values, self.residuals, self.of_elements(weights), strict=True):
            change = value - residual
            real = change.abs().dtype if change.is_complex() else change.dtype
            weight = weight.to(real)
            points.append(residual + weight * change if inside else value + (weight - 1) * change)
        return points

    def present(self, coalitions: torch.Tensor) -> list[torch.Tensor]:
        """The inputs with the components of a coalition, booleans (*lead, C), and the others at the baseline."""
        parts = zip(self.values, self.residuals, self.of_elements(coalitions), strict=True)
        return [torch.where(here, value, residual) for value, residual, here in parts]

    def with_absent(self, coalition: torch.Tensor) -> torch.Tensor:
        """The chosen outputs where only a coalition, booleans (C,), is present, as `absent` understands that."""
        assert self.absent is not None
        leaves = []
        for value, here, as_torch in zip(self.values, self.of_elements(coalition), self.given, strict=True):
            parts = copy_of(value), here.expand(value.shape).clone()
            made = self.absent(*(part if as_torch else wrap.wrap_array(part) for part in parts))
            leaves.append(made if isinstance(made, torch.Tensor) else _absent(made))
        return self.one(leaves)

    def collected(self, shares: Sequence[torch.Tensor]) -> torch.Tensor:
        """Shares of the elements, (*lead, *S) for each leaf, summed to those of the components: (*lead, C)."""
        lead = shares[0].shape[: shares[0].ndim - self.values[0].ndim]
        dtype, device = shares[0].dtype, shares[0].device
        for share in shares:
            dtype = torch.promote_types(dtype, share.dtype)
        rows = [share.reshape(*lead, -1).to(device, dtype) for share in shares]
        flat = torch.cat(rows, -1) if len(rows) > 1 else rows[0]
        if self.member is None:
            return flat
        index = torch.cat([member.reshape(-1).to(device) for member in self.member])
        return flat.new_zeros((*lead, self.count)).index_add(-1, index, flat)

    def with_baseline(self, baselines: Sequence[Any]) -> Problem:
        """The same from other baselines, one for each leaf."""
        residuals = [
            self.kept(self.split("attribute", value, base)[1])
            for value, base in zip(self.values, baselines, strict=True)
        ]
        return dataclasses.replace(self, residuals=residuals)

    # -- results -----------------------------------------------------------------------------------------------------

    @property
    def as_torch(self) -> bool:
        return self.given[0]

    def number(self, tensor: torch.Tensor | None) -> Any:
        """A tensor as it is returned: itself, or an array or scalar."""
        return tensor if tensor is None or self.as_torch else wrap.wrap(tensor)

    def shaped(self, shares: torch.Tensor | None, pairs: bool = False) -> Any:
        """Shares (*O, C) as they are returned: in the structure and the shapes of the inputs, or one array of them."""
        if shares is None:
            return None
        if pairs or self.labels is not None:
            return shares if self.as_torch else wrap.wrap_array(shares)
        sizes = [value.numel() for value in self.values]
        parts = shares.split(sizes, -1)
        made = []
        for part, value, as_torch in zip(parts, self.values, self.given, strict=True):
            part = part.reshape((*shares.shape[:-1], *value.shape))
            made.append(part if as_torch else wrap.wrap_array(part))
        made = self.structure(made)
        return tuple(made) if isinstance(made, _trees.Inputs) else made

    @classmethod
    def make(
        cls,
        f: Function,
        inputs: tuple[Any, ...],
        argnums: Any,
        baseline: Any,
        axis: Any,
        groups: Any,
        labels: Sequence[Any] | None,
        output: Any,
        graph: bool = False,
        split: Split = split_input,
    ) -> Problem:
        """Read what the caller gave. Raises ValueError and TypeError for what does not fit together."""
        chosen, single = _positions(argnums, len(inputs))
        tree: Any = inputs[chosen[0]] if single else _trees.Inputs([inputs[i] for i in chosen])
        leaves, structure = _trees.flatten(tree)
        if not leaves:
            raise ValueError("attribute: the inputs hold no array")
        ends = [
            split("attribute", leaf, base)
            for leaf, base in zip(leaves, _trees.spread(baseline, tree, "baseline"), strict=True)
        ]
        values = [value if graph else value.detach() for value, _ in ends]

        def place(leaves: Iterable[Any]) -> tuple[Any, ...]:
            made = structure(leaves)
            arguments = list(inputs)
            for i, item in zip(chosen, (made,) if single else made, strict=True):
                arguments[i] = item
            return tuple(arguments)

        member: list[torch.Tensor] | None = None
        count, names = sum(value.numel() for value in values), None
        if axis is not None or groups is not None or labels is not None:
            partitions = [None] * len(leaves) if groups is None else _trees.spread(groups, tree, "groups")
            several = len(leaves) > 1
            member, names = components_of("attribute", values, axis, partitions, labels, several)
            count = len(names)
        return cls(
            f,
            tree,
            place,
            tuple(isinstance(leaf, torch.Tensor) for leaf in leaves),
            structure,
            values,
            [residual if graph else residual.detach() for _, residual in ends],
            member,
            count,
            names,
            output,
            graph=graph,
            split=split,
        )

    def element_labels(self) -> Labels:
        """The labels, or one for each element where there are none."""
        if self.labels is not None:
            return self.labels
        return input_labels(Indices([(self.count,)], numbered=False))


def _positions(argnums: Any, count: int) -> tuple[list[int], bool]:
    """The positions of the attributed inputs, and whether the attribution is that of one, not a tuple."""
    if not count:
        raise TypeError("attribute: there is nothing to attribute to: give the inputs of the function after it")
    if argnums is None:
        return list(range(count)), count == 1
    single = not isinstance(argnums, (tuple, list))
    chosen = [argnums] if single else list(argnums)
    for i in chosen:
        if not isinstance(i, int) or isinstance(i, bool):
            raise TypeError(f"attribute: argnums is an int or a tuple of ints, not {argnums!r}")
        if not -count <= i < count:
            raise ValueError(f"attribute: argnums {i} for a function of {count} inputs")
    chosen = [i % count for i in chosen]
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"attribute: argnums names each input once, and one at least, not {argnums!r}")
    return chosen, single


def _absent(made: Any) -> torch.Tensor:
    if isinstance(made, ArrayBase) or hasattr(made, "__array_interface__"):
        return as_tensor(made)
    raise TypeError(f"attribute: absent returns the input to be used, an array, not {type(made).__name__}")


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The values alone."""
    return tensor.value if isinstance(tensor, DecomposedTensor) else tensor


def choose(result: Any, output: Any, batch: int | None = None, whole: bool = False) -> tuple[list[torch.Tensor], bool]:
    """The chosen outputs, each of shape (), and whether a list of them was asked for. With `batch`, all have a
    leading axis of that length, shape (batch,). With `whole`, an array may be chosen as it is."""
    outputs = output if isinstance(output, list) else [output]
    return [_chosen(result, one, batch, whole) for one in outputs], isinstance(output, list)


def _chosen(result: Any, output: Any, batch: int | None, whole: bool) -> torch.Tensor:
    index: tuple[Any, ...] = ()
    if callable(output):
        result = output(result)
    elif output is not None:
        index = output if isinstance(output, tuple) else (output,)
        while index and _is_tree(result):
            result = _item(result, index[0])
            index = index[1:]
    made = _tensor(result)
    lead = () if batch is None else (batch,)
    if batch is not None and tuple(made.shape[:1]) != lead:
        raise ValueError(
            f"attribute: a function of {batch} inputs at once has to return as many outputs, not shape "
            f"{tuple(made.shape)}"
        )
    shape = tuple(made.shape[len(lead) :])
    if not index:
        if whole:
            return made
        if made.numel() != (batch or 1):
            raise ValueError(
                f"attribute: the function returned an array of shape {shape}: choose one element with output="
            )
        return made if shape == () else made.reshape(lead)
    said = index[0] if len(index) == 1 else index
    try:
        one = made[(slice(None), *index)] if lead else made[said]
    except IndexError:
        raise IndexError(f"attribute: output {said} is out of range for an array of shape {shape}") from None
    if one.ndim > len(lead) and not whole:
        raise ValueError(
            f"attribute: output {said} chooses an array of shape {tuple(one.shape[len(lead) :])}, not one element"
        )
    return one


def _is_tree(result: Any) -> bool:
    return isinstance(result, (dict, list, tuple)) and not isinstance(result, torch.Tensor)


def _item(result: Any, key: Any) -> Any:
    try:
        return result[key]
    except (KeyError, IndexError, TypeError):
        known = sorted(map(str, result)) if isinstance(result, dict) else f"0 to {len(result) - 1}"
        kind = type(result).__name__
        raise ValueError(f"attribute: the function returned a {kind} without {key!r}: {known}") from None


def _tensor(result: Any) -> torch.Tensor:
    result = plain_of(result)
    made = result._t if isinstance(result, ArrayBase) else result
    if isinstance(made, (list, tuple)) and len(made) == 1:
        return _tensor(made[0])
    if isinstance(made, (dict, list, tuple)):
        raise TypeError(f"attribute: the function returned a {type(made).__name__}: choose one element with output=")
    if not isinstance(made, torch.Tensor):
        raise TypeError(f"attribute: the function returned {type(result).__name__}, not an array or scalar")
    return whole(made)


def whole(tensor: Any) -> torch.Tensor:
    """The tensor; of a DTensor, of which each process has a part, all parts."""
    gathered = getattr(tensor, "full_tensor", None)
    made: torch.Tensor = tensor if gathered is None else gathered()
    return made


def baseline_rows(problem: Problem, baselines: Any) -> list[list[torch.Tensor]]:
    """A distribution of baselines, each leaf with one more leading axis: for each baseline its leaves."""
    leaves = [as_tensor(leaf) for leaf in _trees.spread(baselines, problem.tree, "baselines")]
    lengths = {leaf.shape[0] if leaf.ndim else 0 for leaf in leaves}
    if len(lengths) > 1 or 0 in lengths:
        shapes = [tuple(leaf.shape) for leaf in leaves]
        raise ValueError(f"attribute: baselines are stacked along a first axis of one length, not of shapes {shapes}")
    return [[leaf[i] for leaf in leaves] for i in range(lengths.pop())]

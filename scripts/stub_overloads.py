"""What a function or method returns for which arguments, where that depends on them: the overloads of the stubs.

A row names parameters and what they are there, and the result; a parameter that it does not name is as in the
function's own signature. The last row of a function is for all other arguments, and for those of which nothing is
known.
"""

from __future__ import annotations

Row = tuple[dict[str, str], str]

# `*inputs` becomes one input, by position.
FUNCTIONS: dict[str, list[Row]] = {
    "decompose": [
        ({"x": "tuple[torch.Tensor, ...]"}, "tuple[DecomposedTensor, ...]"),
        ({"x": "tuple[ndarray, ...]"}, "tuple[ndarray, ...]"),
        ({"x": "tuple[Any, ...]"}, "tuple[Any, ...]"),
        ({"x": "torch.Tensor"}, "DecomposedTensor"),
        ({}, "ndarray"),
    ],
    "attribute": [
        ({"*inputs": "x: torch.Tensor", "at": "None = ..."}, "Attribution[torch.Tensor]"),
        ({"*inputs": "x: ndarray", "at": "None = ..."}, "Attribution[ndarray]"),
        ({}, "Attribution[Any]"),
    ],
    "where": [({"x": "Any", "y": "Any"}, "ndarray"), ({}, "Any")],
    "__getitem__": [({"key": "slice | ndarray | list[Any]"}, "ndarray"), ({}, "Any")],
}

_ALL = {"axis": "None = ...", "out": "None = ...", "keepdims": "Literal[False] = ..."}
_ALONG = {"axis": "{axis}", "out": "None = ..."}
# A reduction of all elements gives a scalar; along an axis, as an operator, an array, although the scalar of a vector.
REDUCTIONS = {
    **dict.fromkeys("sum prod min max amin amax mean std var median ptp".split(), "_Number"),
    **dict.fromkeys("nansum nanprod nanmin nanmax nanmean nanstd nanvar nanmedian".split(), "_Number"),
    **dict.fromkeys("all any".split(), "bool_"),
    **dict.fromkeys("argmin argmax nanargmin nanargmax".split(), "int64"),
}


def rows(name: str, names: list[str], axis: str) -> list[Row]:
    """The overloads of a function with parameters of these names; `axis` is the type of an axis that is given."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    if name not in REDUCTIONS:
        return []
    whole = {name: kind for name, kind in _ALL.items() if name in names}
    along = {name: kind.format(axis=axis) for name, kind in _ALONG.items() if name in names}
    return [(whole, REDUCTIONS[name]), (along, "ndarray"), ({}, "Any")]


def ufunc_class(nin: int, nout: int) -> list[str]:
    """The class of ufuncs that take so many operands: an array among them makes the result one."""
    operands = [f"x{i}" for i in range(1, nin + 1)]
    options = "out: Any = ..., *, where: Any = ..., casting: str = ..., order: str = ..., dtype: Any = ..., "
    options += "subok: builtins.bool = ..., signature: Any = ..."
    result = "ndarray" if nout == 1 else f"tuple[{', '.join(['ndarray'] * nout)}]"
    lines = [f"class _UFunc{nin}{nout}(ufunc):  # of {nin} operand{'s' * (nin > 1)}"]
    for place in range(nin + 1):
        kinds = ["ndarray" if i == place else "Any" for i in range(nin)]
        words = ["self", *(f"{x}: {kind}" for x, kind in zip(operands, kinds, strict=True)), "/", *options.split(", ")]
        lines += ["    @overload", "    def __call__(", *(f"        {word}," for word in words)]
        lines.append(f"    ) -> {result if place < nin else 'Any'}: ...")
    return lines

"""Random programs for the law, as text: what they are, and how one is run plain, on its baselines and decomposed.

A program makes a few arrays `a`, `b`, `c`, and continues line by line, each line an assignment of a new letter or a
write. It is text, so that a failure is its own reproduction.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional

import npdec as np
import samples

FILE = "<program>"
WIDE = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "complex64": "complex128"}


@dataclasses.dataclass(frozen=True)
class Input:
    """An array and its baseline as expressions, and the component that each element belongs to (flat)."""

    name: str
    value: str
    baseline: str
    groups: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Program:
    """`names`: the functions that the lines are of; `weights`: a seed for what is summed up for reverse mode."""

    inputs: tuple[Input, ...]
    lines: tuple[str, ...]
    names: tuple[str, ...] = ()
    weights: int = 0

    @property
    def text(self) -> str:
        """A program of a few lines that runs by itself, and prints by how much completeness is missed."""
        made = [f"{i.name}, r{i.name} = {i.value}, {i.baseline}" for i in self.inputs]
        names, bases = (_tuple(prefix + i.name for i in self.inputs) for prefix in ("", "r"))
        groups = _tuple(f"np.array({list(i.groups)}, int).reshape({i.name}.shape)" for i in self.inputs)
        last = next((line[0] for line in self.lines[::-1] if line[1:].startswith(" = ")), self.inputs[0].name)
        needs = "".join(
            f"import {name}\n" for name in ("torch", "samples") if any(f"{name}." in line for line in self.lines)
        )
        return "\n".join([
            f"{needs}import npdec as np",
            *made,
            f"{names} = np.decompose({names}, baseline={bases}, groups={groups})",
            *self.lines,
            f"print({last}.value, {last}.residual, {last}.components, {last}.value - {last}.c_sum())",
        ])  # fmt: skip

    def arrays(self, wide: bool = False) -> tuple[list[Any], list[Any]]:
        """The inputs and their baselines, with `wide` in double precision."""
        pairs = [[evaluate(text, wide) for text in (i.value, i.baseline)] for i in self.inputs]
        return [x for x, _ in pairs], [r for _, r in pairs]

    def run(self, arrays: Sequence[Any], moved: Callable[[str, Any], Any] | None = None) -> dict[str, Any]:
        """The names after the program, which begins with these arrays.

        `moved(name, x)` stands in place of each variable wherever it is used and of each result, if they are no views,
        with an empty name where the result has none.
        """
        scope = self.scope(arrays)
        known = numbers(scope)
        for place, line in enumerate(self.lines):
            exec(compiled(line, place), scope)
            if moved is not None and (made := line.partition(" = ")[0]) not in known and _is_apart(scope, made):
                exec(moving(line, place), {**scope, "moved": moved}, scope)
                scope[made] = moved(made, scope[made])
            known = numbers(scope)
        return known

    def scope(self, arrays: Sequence[Any]) -> dict[str, Any]:
        return {**GLOBALS, **{i.name: x for i, x in zip(self.inputs, arrays, strict=True)}}

    def widened(self) -> Program:
        return dataclasses.replace(self, lines=tuple(map(widened, self.lines)))


GLOBALS: dict[str, Any] = {"__name__": "program", "np": np, "torch": torch, "samples": samples}


def _tuple(items: Iterator[str]) -> str:
    found = list(items)
    return f"({', '.join(found)}{',' if len(found) == 1 else ''})"


@functools.lru_cache(4096)
def compiled(line: str, place: int) -> Any:
    return compile("\n" * place + line, FILE, "exec")


def widened(text: str) -> str:
    for name, wide in WIDE.items():
        text = text.replace(f"'{name}'", f"'{wide}'")
    return text


def _moved(name: str, node: ast.AST) -> ast.Call:
    return ast.Call(ast.Name("moved", ast.Load()), [ast.Constant(name), node], [])


class _Moving(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.AST:
        if len(node.id) > 1 or isinstance(node.ctx, ast.Store):
            return node
        return _moved(node.id, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return _moved("", self.generic_visit(node))

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node


@functools.lru_cache(4096)
def moving(line: str, place: int) -> Any:
    """The line with `moved('x', x)` in place of each variable x, and `moved('', y)` of each result y of a call."""
    tree = _Moving().visit(ast.parse(line))
    return compile("\n" * place + ast.unparse(tree), FILE, "exec")


def evaluate(text: str, wide: bool = False) -> Any:
    return eval(widened(text) if wide else text, dict(GLOBALS))


def _is_apart(scope: dict[str, Any], name: str) -> bool:
    made = scope.get(name)
    return isinstance(made, (np.ndarray, np.generic)) and not any(
        np.may_share_memory(made, x) for other, x in numbers(scope).items() if other != name
    )


def numbers(scope: dict[str, Any]) -> dict[str, Any]:
    """The arrays and scalars among the names."""
    return {name: item for name, item in scope.items() if len(name) == 1 and isinstance(item, (np.ndarray, np.generic))}


def quietly(function: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function()


def heard(function: Callable[[], Any]) -> tuple[Any, list[warnings.WarningMessage]]:
    """What the function returns, and the DecompositionWarnings that it gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", np.exceptions.DecompositionWarning)
        made = function()
    return made, caught

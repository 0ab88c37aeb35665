"""Exploring programs by their seeds, and making one that breaks a promise short."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator

import numpy
import torch

import law_singles
from law_draw import Drawing
from law_programs import Input, Program, evaluate
from law_promises import Broken, Check

# What torch cannot differentiate, and says so.
REFUSED = (
    "does not support automatic differentiation for outputs with complex dtype",
    "up to multiplication by e^{i phi}",
)

# Writes of contributions that something else would not know of: one number with two sets of them; a tensor of torch
# that was made of a plain array (`x.tensor.unbind()`), and looks at the memory in which the array becomes decomposed.
REFUSED_WRITES = ("several elements are one in memory", "into a tensor that shares its memory with another one")


def broken(program: Program) -> Broken | None:
    """The promise that the program breaks; an exception that its plain run does not raise is one."""
    torch.manual_seed(0)
    check = Check(program)
    try:
        check.everything()
    except Broken as failure:
        return failure
    except Exception as error:
        if check.doing == "plain":
            raise
        if check.doing == "reverse" and any(words in str(error) for words in REFUSED):
            return None
        if isinstance(error, RuntimeError) and any(words in str(error) for words in REFUSED_WRITES):
            return None
        return Broken("runs", check.doing, f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}")
    return None


def explore(seed: int, choices: bool = True, steep: bool = True) -> tuple[Program, Broken | None]:
    """The program of a seed, and the promise that it breaks; every twentieth is a single call."""
    if seed % 20 == 0:
        program = law_singles.drawn(seed)
        if program is not None:
            return program, broken(program) or single(program)
    program = Drawing(seed, choices, steep).program()
    return program, broken(program)


def single(program: Program) -> Broken | None:
    try:
        law_singles.agrees(program)
    except Broken as failure:
        return failure
    return None


def shortened(program: Program, promise: str, tries: int = 600) -> Program:
    """A shorter program that breaks the same promise."""
    again = True
    while again and tries > 0:
        again = False
        for smaller in _smaller(program):
            tries -= 1
            if tries < 0:
                break
            try:
                failure = broken(smaller)
            except Exception:  # no program: a name that is not made, shapes that do not fit
                continue
            if failure is not None and failure.promise == promise:
                program, again = smaller, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    lines = program.lines
    for i in reversed(range(len(lines))):
        rest = lines[:i] + lines[i + 1 :]
        yield dataclasses.replace(program, lines=rest)
        made = re.match(r"(\w) = ", lines[i])
        if made:
            for other in dict.fromkeys([n.name for n in program.inputs] + re.findall(r"\b[a-z]\b", lines[i])[1:]):
                renamed = tuple(re.sub(rf"\b{made[1]}\b", other, line) for line in lines[i + 1 :])
                yield dataclasses.replace(program, lines=lines[:i] + renamed)
    for i, one in enumerate(program.inputs):
        if len(program.inputs) > 1:
            kept = program.inputs[:i] + program.inputs[i + 1 :]
            yield dataclasses.replace(program, inputs=_regrouped(kept))
        for smaller in _smaller_inputs(one):
            yield dataclasses.replace(program, inputs=(*program.inputs[:i], smaller, *program.inputs[i + 1 :]))
    for i in reversed(range(len(lines))):
        for line in _smaller_lines(lines[i]):
            yield dataclasses.replace(program, lines=(*lines[:i], line, *lines[i + 1 :]))


def _regrouped(inputs: tuple[Input, ...]) -> tuple[Input, ...]:
    numbers = sorted({g for one in inputs for g in one.groups})
    return tuple(dataclasses.replace(one, groups=tuple(map(numbers.index, one.groups))) for one in inputs)


def _smaller_inputs(one: Input) -> Iterator[Input]:
    shape = evaluate(one.value).shape
    found = re.findall(r"np\.array\(.*?, '\w+'\)", one.value), re.findall(r"np\.array\(.*?, '\w+'\)", one.baseline)
    if found[0] and found[1] and found[0][0] != one.value and evaluate(found[0][0]).shape == shape:
        yield dataclasses.replace(one, value=found[0][0], baseline=found[1][0])
    zeros = f"np.zeros({shape}, '{evaluate(one.value).dtype}')"
    if one.baseline != zeros and numpy.asarray(evaluate(one.baseline).tolist()).any():
        yield dataclasses.replace(one, baseline=zeros)
    if "float64" not in one.value and "complex" not in one.value:
        yield dataclasses.replace(
            one, **{key: re.sub(r"'b?float\d+'", "'float64'", getattr(one, key)) for key in ("value", "baseline")}
        )


def _smaller_lines(line: str) -> Iterator[str]:
    """The line with one expression in it replaced by a part of that expression."""
    tree = ast.parse(line)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Call, ast.BinOp, ast.Subscript)) and isinstance(
            getattr(node, "ctx", ast.Load()), ast.Load
        ):
            whole = ast.get_source_segment(line, node)
            parts = [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else (
                [node.left, node.right] if isinstance(node, ast.BinOp) else [node.value]
            )  # fmt: skip
            for part in parts:
                text = ast.get_source_segment(line, part)
                if whole and text and re.search(r"\b[a-z]\b", text):
                    yield line.replace(whole, text, 1)
            if isinstance(node, ast.Call) and whole:
                for keyword in node.keywords:
                    said = ast.get_source_segment(line, keyword)
                    if said:
                        yield line.replace(f", {said}", "", 1)

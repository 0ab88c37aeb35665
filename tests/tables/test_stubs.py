"""The stubs are what `scripts/stubs.py` writes, and say the truth."""

from __future__ import annotations

import ast
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import npdec as np
import samples

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "stubs.py"
STUBS = {"": "__init__.pyi", "linalg.": "linalg.pyi", "fft.": "fft.pyi"}


@pytest.mark.slow
def test_stubs_are_up_to_date() -> None:
    """In a process of its own: tests here publish functions of their own."""
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _results() -> dict[str, str]:
    """What the stubs say that functions return, by dotted names."""
    return {
        prefix + node.name: ast.unparse(node.returns)
        for prefix, name in STUBS.items()
        for node in ast.parse((ROOT / "npdec" / name).read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.returns is not None
    }


def _is(result: Any, annotation: str) -> bool:
    annotation = annotation.removeprefix("builtins.")
    if annotation in ("Any", "_DType", "type[generic]"):
        return True
    if annotation == "ndarray":
        return type(result) is np.ndarray
    kind, _, inside = annotation.removesuffix("]").removesuffix(", ...").partition("[")
    if inside:
        kinds = {cls.__name__ for cls in type(result).__mro__}  # a named tuple is a tuple
        return kind in kinds and all(_is(item, inside) for item in result)
    return type(result).__name__.removesuffix("Type") == kind


RESULTS = _results()


def test_functions_return_what_the_stub_says() -> None:
    samples.check_all(check_result, [case for case in samples.cases() if RESULTS.get(case[0], "Any") != "Any"])


def check_result(name: str, sample: samples.Sample) -> None:
    args, kwargs = sample.build(np)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = samples.find(np, name)(*args, **kwargs)
    assert _is(result, RESULTS[name]), f"{type(result)} is no {RESULTS[name]}"


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_members_of_arrays_are_what_the_stub_says(shape: tuple[int, ...]) -> None:
    tree = ast.parse((ROOT / "npdec" / "__init__.pyi").read_text("utf-8"))
    (stub,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ndarray")
    own = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    args: dict[str, tuple[Any, ...]] = {"astype": (float,), "reshape": ((-1,),), "repeat": (2,), "to_device": ("cpu",)}
    args["groupby"] = ({},)
    x = np.ones(shape)
    for name, node in own.items():
        result = ast.unparse(node.returns) if node.returns is not None else ""
        if result != "ndarray" or name.startswith("__") or (name in ("diagonal", "mT", "swapaxes") and x.ndim < 2):
            continue
        member = getattr(np.decompose(x) if name in ("groupby", "top") else x, name)
        made = member(*args.get(name, (0, 1) if name == "swapaxes" else ())) if callable(member) else member
        assert type(made) is np.ndarray, name


def test_reductions_return_what_their_overloads_say() -> None:
    """A scalar of all elements, of the type that is named; an array along an axis."""
    tree = ast.parse((ROOT / "npdec" / "__init__.pyi").read_text("utf-8"))
    (stub,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ndarray")
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    checked = 0
    for owner, body in ((np, tree.body), (x, stub.body)):
        for node in body:
            if not isinstance(node, ast.FunctionDef) or not node.decorator_list or node.returns is None:
                continue
            axis = next((a.annotation for a in node.args.args if a.arg == "axis"), None)
            if (
                axis is None
                or node.name in ("decompose", "attribute")
                or (result := ast.unparse(node.returns)) == "Any"
            ):
                continue
            args = (x,) if owner is np else ()
            whole = ast.unparse(axis) == "None"
            made = getattr(owner, node.name)(*args) if whole else getattr(owner, node.name)(*args, 0)
            wanted = {"ndarray": np.ndarray, "_Number": np.floating}.get(result) or getattr(np, result)
            assert isinstance(made, wanted), f"{node.name}: {type(made)} is no {result}"
            checked += 1
    assert checked > 50


def test_what_is_given_to_decompose_and_attribute_decides_the_type() -> None:
    tensor, array = torch.ones(2), np.ones(2)
    assert type(np.decompose(tensor)) is np.DecomposedTensor
    assert type(np.decompose((tensor, tensor))[1]) is np.DecomposedTensor
    for x in (array, np.float64(1.0), 1.0, [1.0], np.ones(())):
        assert type(np.decompose(x)) is np.ndarray
    for part in np.attribute(torch.sum, tensor):
        assert type(part) is torch.Tensor
    value, residual, attribution = np.attribute(np.sum, array)
    assert isinstance(value, np.floating)
    assert isinstance(residual, np.floating)
    assert type(attribution) is np.ndarray


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_where_chooses_or_finds(shape: tuple[int, ...]) -> None:
    assert type(np.where(np.ones(shape) > 0, 1.0, 2.0)) is np.ndarray
    if shape:
        found = np.where(np.ones(shape) > 0)
        assert type(found) is tuple
        assert all(type(part) is np.ndarray for part in found)


@pytest.mark.parametrize("key", [slice(1, None), np.array([True, False]), np.array([0]), [0, 1]], ids=str)
def test_what_chooses_several_gives_an_array(key: Any) -> None:
    assert type(np.ones(2)[key]) is np.ndarray


def test_ufuncs_are_of_the_class_that_says_how_many_operands_they_take() -> None:
    tree = ast.parse((ROOT / "npdec" / "__init__.pyi").read_text("utf-8"))
    checked = 0
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and (kind := ast.unparse(node.annotation)).startswith("_UFunc"):
            function = getattr(np, ast.unparse(node.target))
            assert kind == f"_UFunc{function.nin}{function.nout}"
            checked += 1
    assert checked > 80

"""The stubs are what `scripts/stubs.py` writes, say the truth, and let a type checker tell right from wrong."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import npdec as np
import samples

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "stubs.py"
STUBS = {"": "__init__.pyi", "linalg.": "linalg.pyi", "fft.": "fft.pyi"}

RIGHT = """
import torch

import npdec as np


def shapes(x: np.ndarray) -> tuple[int, ...]:
    y: np.ndarray = np.reshape(x + 1, (-1,))
    for row in x:
        np.add(row, 1.0, out=None)
    total = x.sum(axis=0) + np.sum(x, axis=(0, np.int64(1)), keepdims=True)
    x += 2
    x[1:] = x[0]
    return (*y.shape, x[1:].size, len(x), int(total))


def scaled(x: np.ndarray, by: np.float64) -> np.ndarray:
    assert isinstance(by, np.floating)
    return -x.T * float(by) + x.astype("f8") % 2 > 3


def contributions(x: np.ndarray) -> list[float]:
    with np.rule("none"), np.printoptions(precision=3):
        d = np.decompose(x, axis=0, baseline=np.zeros_like(x))
    value, residual, attribution = np.attribute(lambda u: np.linalg.norm(u, axis=-1), x)
    made: torch.Tensor = x.components.tensor
    one, two = np.split(x, 2)
    print(value, residual, attribution, made, d.labels, one.value, np.fft.rfft(two).real, np.pi)
    numbers: list[float] = np.array([1, 2], dtype=np.float32).tolist()
    return numbers


def compared(x: np.ndarray) -> float:
    np.testing.assert_allclose(x, [1.0], rtol=1e-5)
    with np.check_completeness(), np.testing.assert_raises(ValueError):
        x.reshape(-1, 7)
    return np.testing.check_decomposition(np.exp, x).completeness


def drawn(n: int) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=n)
    kind: np.dtype = np.result_type(np.int8, "float32", np.bool)
    return np.asarray(np.where(x > 0, x, 0)) if kind == np.bool_ else np.asarray(np.True_)
"""

# Each line is wrong, and a checker says so in the words after it.
WRONG = """
import npdec as np
x = np.array([1.0])
np.ad(x, x)  # Module has no attribute "ad"
np.ArrayLike  # Module has no attribute "ArrayLike"
np.testing.assert_equal(x, y=x)  # Unexpected keyword argument "y" for "assert_equal"
np.linalg.nrm(x)  # Module has no attribute "nrm"
x.summ()  # "ndarray" has no attribute "summ"
np.float64(1.0).decomposed  # "float64" has no attribute "decomposed"
np.sum(x, axes=0)  # Unexpected keyword argument "axes" for "sum"
np.reshape(x)  # Missing positional argument "shape" in call to "reshape"
x.sum(axis="rows")  # Argument "axis" to "sum" of "ndarray" has incompatible type "str"
np.split(x, 2).shape  # "list[ndarray]" has no attribute "shape"
"""


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


@pytest.mark.slow
def test_a_type_checker_knows_the_package(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "right.py").write_text(RIGHT, "utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", "--no-pretty"]
    command += ["--cache-dir", str(ROOT / ".mypy_cache" / "stubs"), str(tmp_path / "right.py")]
    command += [str(tmp_path / "wrong.py"), *(str(ROOT / "npdec" / name) for name in STUBS.values())]
    done = subprocess.run(
        command, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    said = [line for line in done.stdout.splitlines() if ": error:" in line]
    wanted = {i: line.split("  # ")[1] for i, line in enumerate(WRONG.splitlines(), 1) if "  # " in line}
    unexpected = [
        line for line in said if not any(f"wrong.py:{i}: error: {text}" in line for i, text in wanted.items())
    ]
    assert not unexpected, done.stdout + done.stderr
    assert len(said) == len(wanted), f"not every wrong line is reported:\n{done.stdout}{done.stderr}"

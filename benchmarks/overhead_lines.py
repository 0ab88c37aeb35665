"""Source text that `overhead.py --all` runs in all three libraries: methods, operators, indexing and assignment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch

__all__ = ["LINES", "Line", "arrays"]


class Line(NamedTuple):
    """Source text over the arrays of `arrays`; `torch` is torch's own text, where that is another."""

    text: str
    torch: str | None = None


def arrays(lib: Any) -> dict[str, Any]:
    """The arrays that lines are written with, of ten elements or fewer."""
    make: Any = (lambda data, dtype: torch.tensor(data, dtype=getattr(torch, dtype))) if lib is torch else lib.array
    ten = [0.1 * i for i in range(10)]
    made = {
        "x": make(ten, "float64"),
        "y": make([1.0 - 0.05 * i for i in range(10)], "float64"),
        "f": make([0.1 * i + 0.1 for i in range(10)], "float32"),
        "n": make(list(range(10)), "int64"),
        "k": make([3, 1, 2] * 3 + [1], "int64"),
        "u": make(list(range(10)), "uint32"),
        "v": make([3, 1, 2] * 3 + [1], "uint32"),
        "h": make(list(range(10)), "uint8"),
        "m": make([i % 2 == 0 for i in range(10)], "bool"),
        "o": make([i % 3 == 0 for i in range(10)], "bool"),
        "c": make([complex(i, 1) for i in range(10)], "complex128"),
        "i": make([1, 4, 2], "int64"),
        "j": make([0, 1, 2], "int64"),
        "A": make([[1.0 * i + j for j in range(5)] for i in range(5)], "float64"),
        "B": make([[1.0 * i - j for j in range(5)] for i in range(5)], "float64"),
        "e": make([1.0] * 10, "float64"),
        "z": make([1.0, 2.0, 3.0, 4.0, 5.0], "float64"),
        "np": lib,
        "torch": torch,
    }
    made["s"], made["t"] = (1.5, 2.5) if lib is torch else (lib.float64(1.5), lib.float64(2.5))
    if lib is torch:
        made["s"], made["t"] = torch.tensor(1.5, dtype=torch.float64), torch.tensor(2.5, dtype=torch.float64)
    return made


def _operators() -> Iterator[Line]:
    for op in ("+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!="):
        # NumPy's remainder has the sign of the divisor where it is zero, too.
        signed = ("({}).copysign_({})" if op == "%" else "{}").format
        yield Line(f"x {op} y", signed(f"x {op} y", "y"))
        yield Line(f"x {op} 1.5", signed(f"x {op} 1.5", "1.5"))
        yield Line(f"f {op} f", signed(f"f {op} f", "f"))
        # NumPy's quotient of integers is float64, not float32.
        yield Line(f"n {op} k", f"n.to(torch.float64) {op} k" if op == "/" else None)
        yield Line(f"n {op} 2", f"n.to(torch.float64) {op} 2" if op == "/" else None)
        if op not in ("<", "<=", ">", ">=", "==", "!="):
            yield Line(f"1.5 {op} y", signed(f"1.5 {op} y", "y"))
            yield Line(f"x {op}= e", "x.remainder_(e).copysign_(e)" if op == "%" else None)
    for op in ("&", "|", "^"):
        yield Line(f"n {op} k")
        yield Line(f"m {op} o")
        yield Line(f"n {op} 3")
        yield Line(f"h {op} h")
        yield Line(f"n {op}= k")
        yield Line(f"m {op}= o")
    yield from (Line("n << k"), Line("n >> k"), Line("n >> 1"), Line("n <<= 0"))
    yield from (Line("-x"), Line("+x", "x.clone()"), Line("abs(x)"), Line("~n"), Line("~m"), Line("-n"), Line("abs(n)"))
    yield from (Line("x += 1.5"), Line("x *= 1.0"), Line("n += 1"), Line("f *= 1.5"), Line("x -= 0.5"))
    yield from (Line("A @ z"), Line("A @ B"), Line("z @ z"), Line("divmod(n, 3)", "(n // 3, n % 3)"))


UNSIGNED = (
    Line("u + v", "(u.view(torch.int32) + v.view(torch.int32)).view(torch.uint32)"),
    Line("u * v", "(u.view(torch.int32) * v.view(torch.int32)).view(torch.uint32)"),
    Line("u - v", "(u.view(torch.int32) - v.view(torch.int32)).view(torch.uint32)"),
    Line("u & v", "u & v"),
    Line("u ^ v", "u ^ v"),
    Line("u >> 1", "(u.to(torch.int64) >> 1).to(torch.uint32)"),
    Line("u << 1", "(u.view(torch.int32) << 1).view(torch.uint32)"),
    Line("u < v", "u.to(torch.int64) < v.to(torch.int64)"),
    Line("u == v", "u == v"),
    Line("u // v", "(u.to(torch.int64) // v.to(torch.int64)).to(torch.uint32)"),
    Line("u % v", "(u.to(torch.int64) % v.to(torch.int64)).to(torch.uint32)"),
    Line("u + 1", "(u.view(torch.int32) + 1).view(torch.uint32)"),
    Line("u[2:5]"),
    Line("u[i]", "u.view(torch.int32)[i].view(torch.uint32)"),
    Line("u.sum()", "u.to(torch.int64).sum().view(torch.uint64)"),
    Line("u.astype('float64')", "u.to(torch.float64)"),
    Line("h + h"),
    Line("h >> 1"),
)

INDEXING = (
    Line("x[3]", "x[3].clone()"),
    Line("x[-1]", "x[-1].clone()"),
    Line("x[2:5]"),
    Line("x[:-1]"),
    Line("x[1:]"),
    Line("x[::2]"),
    Line("x[::-1]", "x.flip(0)"),
    Line("x[...]"),
    Line("x[None]"),
    Line("x[:, None]"),
    Line("x[i]"),
    Line("x[m]"),
    Line("x[[1, 4, 2]]"),
    Line("A[2]"),
    Line("A[2, 3]", "A[2, 3].clone()"),
    Line("A[2, :3]"),
    Line("A[1:3, 1:3]"),
    Line("A[:, 2]"),
    Line("A[..., 0]"),
    Line("A[i, j]"),
    Line("A[i]"),
    Line("A[:, i]"),
    Line("A[1:3, i]"),
    Line("A[A > 3.0]"),
    Line("n[i]"),
    Line("m[i]"),
    Line("f[i]"),
    Line("c[i]"),
    Line("x[x > 0.5]"),
    Line("x[n < 4]"),
    Line("list(x)", "[e for e in x]"),
    Line("list(A)", "[e for e in A]"),
    Line("x[3] = 1.5"),
    Line("x[2:5] = 1.5"),
    Line("x[2:5] = x[5:8]", "x[2:5] = x[5:8].clone()"),
    Line("x[:] = y"),
    Line("x[...] = y"),
    Line("x[i] = 1.5"),
    Line("x[i] = y[j]"),
    Line("x[m] = 1.5"),
    Line("x[m] = y[m]"),
    Line("A[1:3] = A[3:5]", "A[1:3] = A[3:5].clone()"),
    Line("A[2, :3] = 1.5"),
    Line("A[:, 2] = z"),
    Line("A[2] = z"),
    Line("A[2, 3] = 1.5"),
    Line("A[i, j] = 1.5"),
    Line("A[A > 9.0] = 1.5"),
    Line("n[2:5] = 3"),
    Line("u[2:5] = 3"),
    Line("f[2:5] = 1.5"),
    Line("m[2:5] = True"),
    Line("x[2:5] += 1.5"),
    Line("x[i] += 1.5"),
    Line("A[1] += z"),
    Line("A[:, 1] *= 1.0"),
)

CREATING = (
    Line("np.array([1., 2., 3.])", "torch.tensor([1., 2., 3.], dtype=torch.float64)"),
    Line("np.array([1, 2, 3])", "torch.tensor([1, 2, 3])"),
    Line("np.array([[1, 2], [3, 4]])", "torch.tensor([[1, 2], [3, 4]])"),
    Line("np.array([1, 2, 3], dtype=np.float32)", "torch.tensor([1, 2, 3], dtype=torch.float32)"),
    Line("np.array([1, 2, 3], dtype='uint8')", "torch.tensor([1, 2, 3], dtype=torch.uint8)"),
    Line("np.array(x)", "x.clone()"),
    Line("np.asarray(x)", "x.view_as(x)"),
    Line("np.array(1.5)", "torch.tensor(1.5, dtype=torch.float64)"),
    Line("np.array([s, t])", "torch.stack([s, t])"),
    Line("np.array([x, y])", "torch.stack([x, y])"),
    Line("np.zeros(10)", "torch.zeros(10, dtype=torch.float64)"),
    Line("np.zeros((2, 5))", "torch.zeros((2, 5), dtype=torch.float64)"),
    Line("np.zeros(10, dtype=np.int64)", "torch.zeros(10, dtype=torch.int64)"),
    Line("np.zeros(10, dtype=bool)", "torch.zeros(10, dtype=torch.bool)"),
    Line("np.zeros(10, dtype='uint32')", "torch.zeros(10, dtype=torch.uint32)"),
    Line("np.ones(10)", "torch.ones(10, dtype=torch.float64)"),
    Line("np.empty(10)", "torch.empty(10, dtype=torch.float64)"),
    Line("np.full(10, 1.5)", "torch.full((10,), 1.5, dtype=torch.float64)"),
    Line("np.arange(10)", "torch.arange(10)"),
    Line("np.arange(1, 10)", "torch.arange(1, 10)"),
    Line("np.arange(0, 10, 2)", "torch.arange(0, 10, 2)"),
    Line("np.arange(10.0)", "torch.arange(10.0, dtype=torch.float64)"),
    Line("np.arange(0.0, 1.0, 0.1)", "torch.arange(0.0, 1.0, 0.1, dtype=torch.float64)"),
    Line("np.linspace(0.0, 1.0, 10)", "torch.linspace(0.0, 1.0, 10, dtype=torch.float64)"),
    Line("np.zeros_like(x)"),
    Line("np.eye(5)", "torch.eye(5, dtype=torch.float64)"),
    Line("np.concatenate([x, x])", "torch.cat([x, x])"),
    Line("np.stack([x, y])", "torch.stack([x, y])"),
    Line("np.hstack([x, y])", "torch.hstack([x, y])"),
    Line("np.concatenate([A, B], axis=1)", "torch.cat([A, B], dim=1)"),
    Line("np.einsum('ij,j->i', A, z)", "torch.einsum('ij,j->i', A, z)"),
    Line("np.einsum('ij,jk->ik', A, B)", "torch.einsum('ij,jk->ik', A, B)"),
    Line("np.dot(A, z)", "torch.mv(A, z)"),
    Line("np.where(x > 0.5, x, 0.0)", "torch.where(x > 0.5, x, 0.0)"),
    Line("np.add(x, y, out=x)", "torch.add(x, y, out=x)"),
    Line("np.sqrt(x, out=x)", "torch.sqrt(x, out=x)"),
    Line("np.maximum(x, 0.5)", "torch.clamp(x, min=0.5)"),
    Line("np.sum(x)", "torch.sum(x)"),
    Line("np.sum(A, axis=1)", "torch.sum(A, 1)"),
    Line("np.add.reduce(x)", "torch.sum(x, 0)"),
    Line("np.add.at(x, i, 1.0)", "x.index_put_((i,), torch.tensor(1.0, dtype=torch.float64), accumulate=True)"),
    Line("np.multiply.outer(z, z)", "torch.outer(z, z)"),
    Line("np.add.accumulate(x)", "torch.cumsum(x, 0)"),
    Line("np.sin(f)", "torch.sin(f)"),
    Line("np.sqrt(n)", "torch.sqrt(n.to(torch.float64))"),
    Line("np.exp(1.5)", "torch.exp(torch.tensor(1.5, dtype=torch.float64))"),
)

METHODS = (
    Line("x.sum()"), Line("x.sum(axis=0)"), Line("A.sum(axis=1)"), Line("A.sum(1, keepdims=True)"),
    Line("n.sum()"), Line("m.sum()"), Line("f.sum()"), Line("x.mean()"), Line("A.mean(axis=0)"),
    Line("x.std()", "x.std(correction=0)"), Line("x.var()", "x.var(correction=0)"), Line("x.min()"), Line("x.max()"),
    Line("A.max(axis=1)", "A.amax(1)"), Line("x.argmin()"), Line("x.argmax()"), Line("x.prod()"),
    Line("x.cumsum()", "x.cumsum(0)"), Line("x.cumprod()", "x.cumprod(0)"), Line("m.all()"), Line("m.any()"),
    Line("x.all()"), Line("x.any()"), Line("x.round(1)", "x.round(decimals=1)"), Line("x.clip(0.2, 0.7)"),
    Line("x.clip(0.2)"), Line("x.copy()", "x.clone()"), Line("x.reshape(2, 5)"), Line("x.reshape((5, 2))"),
    Line("x.ravel()"), Line("A.ravel()"), Line("A.flatten()", "A.flatten().clone()"), Line("A.T"),
    Line("A.transpose()", "A.T"), Line("A.transpose(1, 0)"), Line("A.swapaxes(0, 1)"), Line("A.diagonal()"),
    Line("A.trace()"), Line("x.dot(y)"), Line("A.dot(z)", "A.mv(z)"), Line("x.astype(int)", "x.to(torch.int64)"),
    Line("x.astype(np.float32)", "x.to(torch.float32)"), Line("n.astype(float)", "n.to(torch.float64)"),
    Line("x.astype('float64')", "x.clone()"), Line("x.tolist()"), Line("x.item(3)", "x[3].item()"),
    Line("x.argsort()"), Line("x.nonzero()", "x.nonzero(as_tuple=True)"), Line("x.repeat(2)", "x.repeat_interleave(2)"),
    Line("x.take(i)"), Line("x.fill(1.5)", "x.fill_(1.5)"), Line("y.sort()", "y.copy_(y.sort().values)"),
    Line("np.ptp(x)", "x.max() - x.min()"), Line("c.conj()", "c.conj().resolve_conj()"),
    Line("c.real"), Line("c.imag"), Line("x.shape"), Line("x.ndim"), Line("x.size", "x.numel()"), Line("x.dtype"),
    Line("x.view(np.int64)", "x.view(torch.int64)"), Line("x.searchsorted(0.35)", "torch.searchsorted(x, 0.35)"),
    Line("x.squeeze()"), Line("x.put(0, 1.5)", "x.put_(i[:1], y[:1])"), Line("x.tobytes()", "x.numpy().tobytes()"),
    Line("m.astype(int)", "m.to(torch.int64)"), Line("x.nbytes"), Line("len(x)"), Line("x.compress(m)", "x[m]"),
    Line("bool(x.any())"), Line("float(x.sum())"),
)  # fmt: skip

LINES: dict[str, Iterable[Line]] = {
    "operators": tuple(_operators()),
    "unsigned": UNSIGNED,
    "indexing": INDEXING,
    "calls": CREATING,
    "methods": METHODS,
}

"""What is computed of an array with a component for each element, as expressions and programs: the table of
`scripts/memory.py` and of tests/decomposed/test_memory.py.

`x` is the decomposed array, `y` one that was decomposed with it, `p` a plain one, `m` a mask, `i` a permutation, and
`n` the number of elements. A program leaves its result in `t`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy
import torch

import npdec as np
from npdec._core.memory_meter import Meter

UNARY = """exp exp2 expm1 sin cos tan sinh cosh tanh arctan arcsinh square negative positive conjugate log log2 log10
    log1p sqrt reciprocal arcsin arccos arctanh cbrt fabs degrees radians rad2deg deg2rad floor ceil trunc signbit
    absolute rint sign logical_not isnan isfinite sinc fix i0 round nan_to_num real_if_close real imag""".split()
BINARY = """add subtract multiply divide floor_divide remainder fmod logaddexp arctan2 hypot maximum minimum fmax fmin
    copysign heaviside less less_equal greater greater_equal equal not_equal logical_and logical_or logical_xor
    isclose""".split()
REDUCTIONS = """sum mean var std max min ptp all any count_nonzero cumsum nansum nanmean nanmax nanmin nancumsum
    median""".split()
MOVES = """x[:10] x[::-1] x[::2] x[5] x[i] x[m] x[x>0.5] x[None] x[[0,5,5]] x.reshape(100,-1)[:,3]
    x.reshape(100,-1)[[1,2],[3,4]] x.reshape(100,-1).T.ravel() x.reshape(100,-1,order='F') x.flatten()
    np.moveaxis(x.reshape(10,10,-1),0,-1) np.swapaxes(x.reshape(100,-1),0,1) np.broadcast_to(x,(3,n))
    np.concatenate([x,x]) np.concatenate([p,x]) np.stack([x,p],1) np.hstack([x,x]) np.column_stack([x,x])
    np.block([[x,x],[p,x]]) np.split(x,10) np.tile(x,2) np.repeat(x,2) np.resize(x,2*n) np.flip(x) np.roll(x,3)
    np.rot90(x.reshape(100,-1)) np.append(x,1.0) np.insert(x,3,9.0) np.delete(x,3) np.diagonal(x.reshape(100,-1))
    np.tril(x.reshape(100,-1)) np.take(x,i) np.pad(x,2) np.pad(x,2,mode='edge') np.pad(x,3,mode='wrap') np.diff(x)
    np.diff(x,2) np.ediff1d(x) np.gradient(x) np.compress(m,x) np.extract(m,x) np.sort(x) np.sort(x.reshape(100,-1),0)
    x[np.argsort(x)] np.partition(x,n//2) np.take_along_axis(x,np.argsort(x),0) np.unique(x)
    np.percentile(x,30) np.quantile(x,[0.1,0.5,0.9])""".split()
OTHERS = """
    (x - x.mean()) / 0.3
    x / x.sum()
    x * x.sum()
    x - x.mean()
    x.reshape(100, -1) - x.reshape(100, -1).mean(0)
    x.reshape(100, -1) / x.reshape(100, -1).sum(1, keepdims=True)
    np.exp(x) * np.sin(x) + x ** 2
    np.clip(x, 0.2, 0.5)
    np.clip(x, y, 0.9)
    np.maximum(np.minimum(x, 0.7), 0.2)
    np.where(x > 0.5, x, 0)
    np.where(x > y, x, y)
    np.where(m, x, y)
    np.select([x > 0.6, x > 0.3], [x, 2 * x], 0.0)
    np.choose(m.astype(int), [x, 2 * x])
    (x > 0.5).sum()
    (x > 0.5) & (x < 0.7)
    np.linalg.norm(x)
    np.linalg.norm(x, 1)
    np.linalg.norm(x, np.inf)
    np.linalg.norm(x.reshape(100, -1), axis=1)
    np.std(x, keepdims=True)
    x.reshape(50, 20, -1).std((0, 2))
    np.average(x, weights=p)
    np.bincount(i % 7, weights=x)
    np.histogram(p, 10, weights=x)
    x @ p
    x @ y
    x.reshape(-1, 100) @ np.ones(100)
    np.convolve(x, [1.0, 2.0, 1.0])
    np.fft.rfft(x)
    np.einsum('i,i->', x, p)
    ((x - y) ** 2).mean()
    np.cumsum(x)[-1]
    np.sort(x)[: n // 2].sum()
""".strip().splitlines()
WRITES = """
    t[3:7] = x[:4]
    t[:] = x
    t[::2] = x[::2]
    t[5] = x[0]
    t[i] = x
    t[m] = x[m]
    t[m] = 0
    t[x > 0.5] = x[0]
    t += x
    t += 1
    t *= 2
    t[3:7] = 0
    t[t > 0.5] *= 2
    t.sort()
    t.fill(2.0)
    t.fill(x[0])
    t -= t.mean()
    t[1:] += t[:-1]
    np.exp(x, out=t)
    np.copyto(t, x)
    np.copyto(t, x, where=m)
    np.put(t, [0, 3], x[:2])
    np.putmask(t, m, x)
    np.place(t, m, x[:10])
    np.put_along_axis(t, i, x, 0)
    np.add.at(t, i, x)
    np.cumsum(x, out=t)
    t[0] = x.sum()
    v = t[:10]; v *= 2; t[0] = 1
    t.reshape(100, -1).T[3] = x[:100]
""".strip().splitlines()
MORE = """
    np.prod(x)
    np.prod(x.reshape(100, -1), 1)
    np.cumprod(x)
    np.cumprod(x.reshape(100, -1), 0)
    np.add.accumulate(x)
    np.multiply.accumulate(x)
    np.add.reduce(x)
    np.maximum.reduce(x)
    np.logaddexp.reduce(x)
    np.add.reduceat(x, [0, 5, 100])
    np.diff(x, 3)
    np.gradient(x, p)
    np.gradient(x, y)
    np.interp(x, np.sort(p), p)
    np.linspace(x[0], x[1], n)
    np.linspace(x, p, 5)
    np.logspace(x[0], x[1], n)
    np.arange(x[0], n)
    np.angle(x)
    np.convolve(x, np.ones(9))
    np.trapezoid(x, p)
    np.histogram(x, 10, (0, 1))
    np.histogram(x, 10, (0, 1), weights=y)
    np.histogramdd(x.reshape(-1, 2), 3)
    np.quantile(x, p)
    np.quantile(p, x)
    np.nanquantile(x, [0.1, 0.5])
    np.percentile(x, 100 * y)
    x - x.max()
    np.polymul(x, [1.0, 2.0])
    np.bincount(i % 7, weights=x)
    torch.special.chebyshev_polynomial_t(x.tensor, 3)
    torch.special.shifted_chebyshev_polynomial_w(x.tensor, p.tensor)
    torch.special.hermite_polynomial_h(x.tensor, 3)
    torch.special.laguerre_polynomial_l(x.tensor, 3)
    torch.special.spherical_bessel_j0(x.tensor)
    torch.special.xlog1py(x.tensor, p.tensor)
    torch.cummax(x.tensor, 0)
    torch.cummin(x.tensor.reshape(100, -1), 1)
    torch.logcumsumexp(x.tensor, 0)
    torch.logcumsumexp(x.tensor.reshape(100, -1), 0)
    torch.nn.functional.normalize(x.tensor.reshape(100, -1), 1.0)
    torch.nn.functional.huber_loss(x.tensor, i.tensor)
""".strip().splitlines()
TORCH = """add_(1) mul_(2) exp_() relu_() clamp_(0.2,0.5) fill_(1.0) zero_() copy_(p.tensor) add_(x.tensor) round_()
    mul_(p.tensor) masked_fill_(m.tensor,0.0) index_fill_(0,i.tensor[:5],0.0) index_copy_(0,i.tensor[:5],x.tensor[:5])
    index_put_((i.tensor[:5],),x.tensor[:5]) scatter_(0,i.tensor,x.tensor) put_(i.tensor[:5],x.tensor[:5]) neg_()
    sqrt_() lerp_(p.tensor,0.5) addcmul_(p.tensor,p.tensor) nan_to_num_() unsqueeze_(0)""".split()

CASES: list[str] = [
    *(f"np.{name}(x)" for name in [*UNARY, *REDUCTIONS]),
    *(f"np.{name}({args})" for name in BINARY for args in ("x, p", "p, x", "x, y", "x, 0.5")),
    *(f"np.{name}(x.reshape(100, -1), axis={axis})" for name in REDUCTIONS for axis in (0, 1)),
    *MOVES,
    *(line.strip() for line in [*OTHERS, *MORE]),
    *(f"t = {start}; {line.strip()}" for line in WRITES for start in ("np.zeros(n)", "x", "x.copy()")),
    *(f"t = x.tensor{copy}; t.{method}" for method in TORCH for copy in ("", ".clone()")),
]


def names(n: int) -> dict[str, Any]:
    source = numpy.random.default_rng(0)
    a, b = source.uniform(0.1, 0.9, n), source.uniform(0.1, 0.9, n)
    arrays = {"x": np.array(a), "y": np.array(b), "p": np.array(b), "m": np.array(a > 0.5)}
    return {"np": np, "torch": torch, "n": n, "i": np.array(source.permutation(n)), **arrays}


def run(case: str, known: dict[str, Any]) -> Any:
    """The result, with `x` (and `y`, if it is meant) decomposed."""
    two = re.search(r"\by\b", case) is not None
    known["x"], known["y"] = np.decompose((known["x"], known["y"])) if two else (np.decompose(known["x"]), known["y"])
    if "t = " not in case:
        return eval(case, known)
    exec(case, known)
    return known["t"]


def arrays(case: str) -> int:
    """How many plain arrays there would be in memory."""
    return (
        1
        + bool(re.search(r"\by\b", case))
        + bool(re.search(r"\bi\b", case))
        + ("t = np.zeros" in case or "copy()" in case or "clone()" in case)
    )


def factor(case: str, n: int) -> float:
    """The memory that torch's tensors take at once, in units of the plain arrays, or of a result that is larger."""
    known = names(n)
    with Meter() as meter:
        made = run(case, known)
    items = made if isinstance(made, (tuple, list)) else [made]
    size = sum(
        v for item in items if not isinstance(item, (int, float)) and isinstance(v := getattr(item, "nbytes", 0), int)
    )
    return meter.peak / max(8 * n * arrays(case), size)

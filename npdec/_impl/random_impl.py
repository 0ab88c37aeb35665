"""Random numbers from a torch.Generator, for where NumPy, whose streams these are not, is absent.

Every function takes the generator first, then its parameters as tensors that broadcast, then the shape of the result
(None: that of the parameters). Continuous distributions are differentiable in their parameters where the method allows
it. Methods: inverse of the distribution function unless a comment says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from npdec._impl._gufunc import shape_text
from npdec._impl._util import broadcast_shapes

__all__ = ["DISTRIBUTIONS", "choice", "integers", "permutation", "permuted"]

Shape = tuple[int, ...] | None
Kernel = Callable[..., torch.Tensor]

# The distributions by their names in `numpy.random`.
DISTRIBUTIONS: dict[str, Kernel] = {}


def _distribution(kernel: Kernel) -> Kernel:
    DISTRIBUTIONS[kernel.__name__] = kernel
    return kernel


def _shape(size: Shape, *parameters: torch.Tensor) -> tuple[int, ...]:
    """The shape of the draws. Raises ValueError if the parameters do not broadcast to it."""
    try:
        common = broadcast_shapes(*(p.shape for p in parameters))
        if size is not None and broadcast_shapes(common, size) != tuple(size):
            raise ValueError
    except ValueError:
        shapes = " ".join(shape_text(p.shape) for p in parameters)
        wanted = "" if size is None else f" to the size {shape_text(size)}"
        raise ValueError(f"shape mismatch: parameters of shapes {shapes} cannot be broadcast{wanted}") from None
    return common if size is None else tuple(size)


def _check(condition: torch.Tensor, message: str) -> None:
    if not bool(condition.all()):
        raise ValueError(message)


def _uniforms(g: torch.Generator, shape: Sequence[int]) -> torch.Tensor:
    """In [0, 1)"""
    return torch.rand(tuple(shape), generator=g, dtype=torch.float64, device=g.device)


def _exponentials(g: torch.Generator, shape: Sequence[int]) -> torch.Tensor:
    return -torch.log1p(-_uniforms(g, shape))


def _normals(g: torch.Generator, shape: Sequence[int]) -> torch.Tensor:
    return torch.randn(tuple(shape), generator=g, dtype=torch.float64, device=g.device)


def _gammas(g: torch.Generator, a: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    _check(a >= 0, "shape < 0")
    return torch._standard_gamma(a.expand(tuple(shape)).contiguous(), generator=g)


def _counts(g: torch.Generator, rates: torch.Tensor) -> torch.Tensor:
    return torch.poisson(rates.contiguous(), generator=g)


# --- continuous -------------------------------------------------------------------------------------------------------


@_distribution
def random(g: torch.Generator, size: Shape = None) -> torch.Tensor:
    return _uniforms(g, size or ())


@_distribution
def uniform(g: torch.Generator, low: torch.Tensor, high: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(torch.isfinite(high - low), "Range exceeds valid bounds")
    return low + (high - low) * _uniforms(g, _shape(size, low, high))


@_distribution
def standard_normal(g: torch.Generator, size: Shape = None) -> torch.Tensor:
    return _normals(g, size or ())


@_distribution
def normal(g: torch.Generator, loc: torch.Tensor, scale: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(scale >= 0, "scale < 0")
    return loc + scale * _normals(g, _shape(size, loc, scale))


@_distribution
def lognormal(g: torch.Generator, mean: torch.Tensor, sigma: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(sigma >= 0, "sigma < 0")
    return torch.exp(normal(g, mean, sigma, size))


@_distribution
def standard_exponential(g: torch.Generator, size: Shape = None) -> torch.Tensor:
    return _exponentials(g, size or ())


@_distribution
def exponential(g: torch.Generator, scale: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(scale >= 0, "scale < 0")
    return scale * _exponentials(g, _shape(size, scale))


@_distribution
def standard_gamma(g: torch.Generator, shape: torch.Tensor, size: Shape = None) -> torch.Tensor:
    return _gammas(g, shape, _shape(size, shape))


@_distribution
def gamma(g: torch.Generator, shape: torch.Tensor, scale: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(scale >= 0, "scale < 0")
    return scale * _gammas(g, shape, _shape(size, shape, scale))


@_distribution
def beta(g: torch.Generator, a: torch.Tensor, b: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(a > 0, "a <= 0")
    _check(b > 0, "b <= 0")
    size = _shape(size, a, b)
    x, y = _gammas(g, a, size), _gammas(g, b, size)  # the share of one gamma variate in the sum of two
    return x / (x + y)


@_distribution
def chisquare(g: torch.Generator, df: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(df > 0, "df <= 0")
    return 2.0 * _gammas(g, df / 2.0, _shape(size, df))


@_distribution
def noncentral_chisquare(g: torch.Generator, df: torch.Tensor, nonc: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(df > 0, "df <= 0")
    _check(nonc >= 0, "nonc < 0")
    size = _shape(size, df, nonc)
    more = 2.0 * _counts(g, (nonc / 2.0).expand(size))  # a mixture of central ones, by a Poisson number
    return 2.0 * _gammas(g, (df + more) / 2.0, size)


@_distribution
def f(g: torch.Generator, dfnum: torch.Tensor, dfden: torch.Tensor, size: Shape = None) -> torch.Tensor:
    size = _shape(size, dfnum, dfden)
    return (chisquare(g, dfnum, size) / dfnum) / (chisquare(g, dfden, size) / dfden)


@_distribution
def noncentral_f(
    g: torch.Generator, dfnum: torch.Tensor, dfden: torch.Tensor, nonc: torch.Tensor, size: Shape = None
) -> torch.Tensor:
    size = _shape(size, dfnum, dfden, nonc)
    return (noncentral_chisquare(g, dfnum, nonc, size) / dfnum) / (chisquare(g, dfden, size) / dfden)


@_distribution
def standard_t(g: torch.Generator, df: torch.Tensor, size: Shape = None) -> torch.Tensor:
    size = _shape(size, df)
    return _normals(g, size) / torch.sqrt(chisquare(g, df, size) / df)


@_distribution
def standard_cauchy(g: torch.Generator, size: Shape = None) -> torch.Tensor:
    return torch.tan(math.pi * (_uniforms(g, size or ()) - 0.5))


@_distribution
def laplace(g: torch.Generator, loc: torch.Tensor, scale: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(scale >= 0, "scale < 0")
    size = _shape(size, loc, scale)
    return loc + scale * (_exponentials(g, size) - _exponentials(g, size))


@_distribution
def logistic(g: torch.Generator, loc: torch.Tensor, scale: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(scale >= 0, "scale < 0")
    return loc + scale * torch.logit(_uniforms(g, _shape(size, loc, scale)))


@_distribution
def gumbel(g: torch.Generator, loc: torch.Tensor, scale: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(scale >= 0, "scale < 0")
    return loc - scale * torch.log(_exponentials(g, _shape(size, loc, scale)))


@_distribution
def pareto(g: torch.Generator, a: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(a > 0, "a <= 0")
    return torch.expm1(_exponentials(g, _shape(size, a)) / a)


@_distribution
def power(g: torch.Generator, a: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(a > 0, "a <= 0")
    return torch.exp(-_exponentials(g, _shape(size, a)) / a)


@_distribution
def rayleigh(g: torch.Generator, scale: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(scale >= 0, "scale < 0")
    return scale * torch.sqrt(2.0 * _exponentials(g, _shape(size, scale)))


@_distribution
def weibull(g: torch.Generator, a: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(a > 0, "a <= 0")
    return _exponentials(g, _shape(size, a)) ** (1.0 / a)


@_distribution
def triangular(
    g: torch.Generator, left: torch.Tensor, mode: torch.Tensor, right: torch.Tensor, size: Shape = None
) -> torch.Tensor:
    _check(left <= mode, "left > mode")
    _check(mode <= right, "mode > right")
    _check(left < right, "left == right")
    u = _uniforms(g, _shape(size, left, mode, right))
    width, rise = right - left, mode - left
    rising = left + torch.sqrt(u * width * rise)
    falling = right - torch.sqrt((1.0 - u) * width * (right - mode))
    return torch.where(u * width <= rise, rising, falling)


@_distribution
def wald(g: torch.Generator, mean: torch.Tensor, scale: torch.Tensor, size: Shape = None) -> torch.Tensor:
    """Michael, Schucany and Haas (1976): a chi-square variate leads to two roots, of which one is chosen."""
    _check(mean > 0, "mean <= 0")
    _check(scale > 0, "scale <= 0")
    size = _shape(size, mean, scale)
    y = mean * _normals(g, size).square()
    root = mean + mean * (y - torch.sqrt(4.0 * scale * y + y.square())) / (2.0 * scale)
    return torch.where(_uniforms(g, size) <= mean / (mean + root), root, mean * mean / root)


# --- discrete ---------------------------------------------------------------------------------------------------------


@_distribution
def poisson(g: torch.Generator, lam: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(lam >= 0, "lam < 0 or lam is NaN")
    return _counts(g, lam.expand(_shape(size, lam))).to(torch.int64)


@_distribution
def binomial(g: torch.Generator, n: torch.Tensor, p: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(n >= 0, "n < 0")
    _check((p >= 0) & (p <= 1), "p < 0, p > 1 or p is NaN")
    size = _shape(size, n, p)
    count, chance = torch.floor(n).expand(size).contiguous(), p.expand(size).contiguous()
    return torch.binomial(count, chance, generator=g).to(torch.int64)


@_distribution
def negative_binomial(g: torch.Generator, n: torch.Tensor, p: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(n > 0, "n <= 0")
    _check((p > 0) & (p <= 1), "p <= 0, p > 1 or p contains NaNs")
    rates = _gammas(g, n, _shape(size, n, p)) * ((1.0 - p) / p)  # Poisson numbers with a gamma variate as their rate
    return _counts(g, rates).to(torch.int64)


@_distribution
def geometric(g: torch.Generator, p: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check((p > 0) & (p <= 1), "p <= 0, p > 1 or p contains NaNs")
    trials = torch.ceil(_exponentials(g, _shape(size, p)) / -torch.log1p(-p))
    return torch.clamp(trials, min=1.0).to(torch.int64)


def integers(
    g: torch.Generator, low: torch.Tensor, high: torch.Tensor, size: Shape, dtype: torch.dtype
) -> torch.Tensor:
    """Integers in [low, high)."""
    _check(low < high, "low >= high")
    shape = _shape(size, low, high)
    if low.ndim == high.ndim == 0:
        drawn = torch.randint(int(low), int(high), shape, generator=g, device=g.device)
    else:
        _check(high - low < 2**53, "bounds in arrays must be less than 2**53 apart without NumPy")
        drawn = low + torch.floor(_uniforms(g, shape) * (high - low)).to(torch.int64)
    return drawn.to(dtype)


# --- vectors ----------------------------------------------------------------------------------------------------------


@_distribution
def dirichlet(g: torch.Generator, alpha: torch.Tensor, size: Shape = None) -> torch.Tensor:
    _check(alpha > 0, "alpha < 0")
    shares = _gammas(g, alpha, (*(size or ()), len(alpha)))
    return shares / torch.sum(shares, -1, keepdim=True)


@_distribution
def multinomial(g: torch.Generator, n: torch.Tensor, pvals: torch.Tensor, size: Shape = None) -> torch.Tensor:
    """Category by category: a binomial number of the trials that are left."""
    _check(torch.sum(pvals[..., :-1], -1) <= 1.0 + 1e-12, "sum(pvals[:-1]) > 1.0")
    shape = _shape(size, n, pvals[..., 0])
    left, chance, found = n.expand(shape), torch.ones_like(pvals[..., 0]), []
    for p in torch.unbind(pvals[..., :-1], -1):
        share = torch.clamp(torch.where(chance > 0, p / chance, 0.0), 0.0, 1.0)
        found.append(binomial(g, left.to(torch.float64), share, shape))
        left, chance = left - found[-1], chance - p
    return torch.stack([*found, left.to(torch.int64)], -1)


@_distribution
def multivariate_normal(g: torch.Generator, mean: torch.Tensor, cov: torch.Tensor, size: Shape = None) -> torch.Tensor:
    """A linear map of independent normal variates, by the eigenvalues of the covariance matrix."""
    if mean.ndim != 1:
        raise ValueError("mean must be 1 dimensional")
    if cov.ndim != 2 or cov.shape[0] != cov.shape[1]:
        raise ValueError("cov must be 2 dimensional and square")
    if len(mean) != len(cov):
        raise ValueError("mean and cov must have same length")
    values, vectors = torch.linalg.eigh(cov)
    root = vectors * torch.sqrt(torch.clamp(values, min=0.0))
    return mean + torch.matmul(_normals(g, (*(size or ()), len(mean))), root.mT)


# --- orders and selections --------------------------------------------------------------------------------------------


def permutation(g: torch.Generator, n: int) -> torch.Tensor:
    """The numbers 0 to n - 1 in random order."""
    return torch.randperm(n, generator=g, device=g.device)


def permuted(g: torch.Generator, positions: torch.Tensor, axis: int | None) -> torch.Tensor:
    """Integers with each line along an axis (None: all of them) in a random order of its own."""
    if axis is None:
        return positions.reshape(-1)[permutation(g, positions.numel())].reshape(positions.shape)
    order = torch.argsort(_uniforms(g, positions.shape), axis)
    return torch.take_along_dim(positions, order, axis)


def choice(g: torch.Generator, n: int, size: Shape, replace: bool, p: torch.Tensor | None) -> torch.Tensor:
    """Numbers below n, with the probabilities `p` (all the same without), with or without repetition."""
    shape = size or ()
    count = math.prod(shape)
    if count and n < 1:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and count > n:
        raise ValueError("Cannot take a larger sample than population when 'replace=False'")
    if p is not None:
        if tuple(p.shape) != (n,):
            raise ValueError("'a' and 'p' must have same size")
        _check(p >= 0, "Probabilities are not non-negative")
        if abs(float(p.sum()) - 1.0) > max(1.5e-8, torch.finfo(p.dtype).eps ** 0.5):
            raise ValueError("Probabilities do not sum to 1")
        chosen = torch.multinomial(p, count, replace, generator=g) if count else permutation(g, 0)
    elif replace:
        chosen = torch.randint(0, max(n, 1), (count,), generator=g, device=g.device)
    else:
        chosen = permutation(g, n)[:count]
    return chosen.reshape(shape)

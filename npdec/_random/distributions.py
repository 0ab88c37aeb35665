"""The distributions that the old and the new generators of random numbers have in common, with equal signatures."""

from __future__ import annotations

from typing import Any

from npdec._random.streams import Stream, TorchStream, numpy_random

__all__ = ["Distributions", "is_bit_generator"]

DELEGATES_TO_NUMPY = True


class Distributions:
    """Draws from distributions. Parameters broadcast; `size` is the shape of the result.

    Without `size` the result has the shape of the parameters, and is a number if they are numbers. Parameters outside
    their range raise ValueError. Without NumPy, a distribution that torch cannot draw from raises ImportError.
    """

    _stream: Stream
    _poisson_lam_max = 2**63 - 1 - (2**63 - 1) ** 0.5 * 10  # NumPy's name for the largest mean that poisson takes

    _bit_generator: Any  # by this name SciPy asks for it

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """NumPy's class of this name, where NumPy draws: SciPy, scikit-learn and pandas draw from instances of it."""
        own = type(self)
        if isinstance(self._stream, TorchStream):
            return own
        return getattr(numpy_random("random"), own.__name__, own)

    def __getattr__(self, name: str) -> Any:
        """`capsule` and `lock` are the bit generator's, by which NumPy's own `default_rng` draws from this stream."""
        if name in ("capsule", "lock"):
            return getattr(self._bit_generator, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def beta(self, a: Any, b: Any, size: Any = None) -> Any:
        """Beta distribution on [0, 1] with the density proportional to x^(a-1) (1-x)^(b-1).

        >>> np.random.default_rng(0).beta(2.0, 3.0, size=4).shape
        (4,)
        """
        return self._stream.draw("beta", a, b, size=size)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Binomial distribution: the number of successes in n trials with probability p each.

        >>> np.random.default_rng(0).binomial(10, 0.5, size=4).shape
        (4,)
        """
        return self._stream.draw("binomial", n, p, size=size)

    def chisquare(self, df: Any, size: Any = None) -> Any:
        """Chi-square distribution: the sum of df squared standard normal variates.

        >>> np.random.default_rng(0).chisquare(3.0, size=4).shape
        (4,)
        """
        return self._stream.draw("chisquare", df, size=size)

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        """Dirichlet distribution: vectors of shares that add up to 1, with concentrations alpha.

        >>> np.random.default_rng(0).dirichlet([1.0, 2.0, 3.0], size=4).shape
        (4, 3)
        """
        return self._stream.draw("dirichlet", alpha, size=size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Exponential distribution with the mean `scale`.

        >>> np.random.default_rng(0).exponential(2.0, size=4).shape
        (4,)
        """
        return self._stream.draw("exponential", scale, size=size)

    def f(self, dfnum: Any, dfden: Any, size: Any = None) -> Any:
        """F distribution: the ratio of two chi-square variates, each divided by its degrees of freedom.

        >>> np.random.default_rng(0).f(2.0, 5.0, size=4).shape
        (4,)
        """
        return self._stream.draw("f", dfnum, dfden, size=size)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        """Gamma distribution with the density proportional to x^(shape-1) exp(-x/scale).

        >>> np.random.default_rng(0).gamma(2.0, 0.5, size=4).shape
        (4,)
        """
        return self._stream.draw("gamma", shape, scale, size=size)

    def geometric(self, p: Any, size: Any = None) -> Any:
        """Geometric distribution: the number of trials until the first success, of probability p each.

        >>> np.random.default_rng(0).geometric(0.25, size=4).shape
        (4,)
        """
        return self._stream.draw("geometric", p, size=size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Gumbel distribution: the limit of the largest of many variates.

        >>> np.random.default_rng(0).gumbel(0.0, 2.0, size=4).shape
        (4,)
        """
        return self._stream.draw("gumbel", loc, scale, size=size)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Any:
        """Hypergeometric distribution: the good ones among nsample drawn without replacement.

        >>> np.random.default_rng(0).hypergeometric(5, 5, 3, size=4).shape
        (4,)
        """
        return self._stream.draw("hypergeometric", ngood, nbad, nsample, size=size)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Laplace distribution: exponential on both sides of `loc`.

        >>> np.random.default_rng(0).laplace(0.0, 2.0, size=4).shape
        (4,)
        """
        return self._stream.draw("laplace", loc, scale, size=size)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Logistic distribution, whose distribution function is the sigmoid of (x - loc) / scale.

        >>> np.random.default_rng(0).logistic(0.0, 2.0, size=4).shape
        (4,)
        """
        return self._stream.draw("logistic", loc, scale, size=size)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
        """Log-normal distribution: the exponential of a normal variate.

        >>> np.random.default_rng(0).lognormal(0.0, 0.5, size=4).shape
        (4,)
        """
        return self._stream.draw("lognormal", mean, sigma, size=size)

    def logseries(self, p: Any, size: Any = None) -> Any:
        """Logarithmic series distribution: k with a probability proportional to p^k / k.

        >>> np.random.default_rng(0).logseries(0.5, size=4).shape
        (4,)
        """
        return self._stream.draw("logseries", p, size=size)

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """Multinomial distribution: how often each outcome occurs in n trials; a vector for each draw.

        >>> np.random.default_rng(0).multinomial(10, [0.2, 0.8], size=4).shape
        (4, 2)
        """
        return self._stream.draw("multinomial", n, pvals, size=size)

    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Negative binomial distribution: the failures before the n-th success, of probability p each.

        >>> np.random.default_rng(0).negative_binomial(3, 0.5, size=4).shape
        (4,)
        """
        return self._stream.draw("negative_binomial", n, p, size=size)

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Any = None) -> Any:
        """Noncentral chi-square distribution: squared normal variates whose means are not zero.

        >>> np.random.default_rng(0).noncentral_chisquare(3.0, 1.0, size=4).shape
        (4,)
        """
        return self._stream.draw("noncentral_chisquare", df, nonc, size=size)

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None) -> Any:
        """Noncentral F distribution: F with a noncentral chi-square variate in the numerator.

        >>> np.random.default_rng(0).noncentral_f(2.0, 5.0, 1.0, size=4).shape
        (4,)
        """
        return self._stream.draw("noncentral_f", dfnum, dfden, nonc, size=size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Normal distribution with the mean `loc` and the standard deviation `scale`.

        >>> np.random.default_rng(0).normal(1.0, 2.0, size=4).shape
        (4,)
        """
        return self._stream.draw("normal", loc, scale, size=size)

    def pareto(self, a: Any, size: Any = None) -> Any:
        """Pareto distribution of the second kind (Lomax): density a / (1 + x)^(a+1).

        >>> np.random.default_rng(0).pareto(3.0, size=4).shape
        (4,)
        """
        return self._stream.draw("pareto", a, size=size)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """Poisson distribution: the number of events where `lam` are expected.

        >>> np.random.default_rng(0).poisson(4.0, size=4).shape
        (4,)
        """
        return self._stream.draw("poisson", lam, size=size)

    def power(self, a: Any, size: Any = None) -> Any:
        """Power distribution on [0, 1] with the density a x^(a-1).

        >>> np.random.default_rng(0).power(3.0, size=4).shape
        (4,)
        """
        return self._stream.draw("power", a, size=size)

    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Rayleigh distribution: the length of a vector of two normal variates.

        >>> np.random.default_rng(0).rayleigh(2.0, size=4).shape
        (4,)
        """
        return self._stream.draw("rayleigh", scale, size=size)

    def standard_cauchy(self, size: Any = None) -> Any:
        """Standard Cauchy distribution: the ratio of two standard normal variates.

        >>> np.random.default_rng(0).standard_cauchy(size=4).shape
        (4,)
        """
        return self._stream.draw("standard_cauchy", size=size)

    def standard_t(self, df: Any, size: Any = None) -> Any:
        """Student's t distribution with df degrees of freedom.

        >>> np.random.default_rng(0).standard_t(5.0, size=4).shape
        (4,)
        """
        return self._stream.draw("standard_t", df, size=size)

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
        """Triangular distribution from `left` to `right` with its peak at `mode`.

        >>> np.random.default_rng(0).triangular(0.0, 1.0, 4.0, size=4).shape
        (4,)
        """
        return self._stream.draw("triangular", left, mode, right, size=size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Uniform distribution on [low, high).

        >>> np.random.default_rng(0).uniform(-1.0, 1.0, size=4).shape
        (4,)
        """
        return self._stream.draw("uniform", low, high, size=size)

    def vonmises(self, mu: Any, kappa: Any, size: Any = None) -> Any:
        """Von Mises distribution of angles around mu, with concentration kappa.

        >>> np.random.default_rng(0).vonmises(0.0, 4.0, size=4).shape
        (4,)
        """
        return self._stream.draw("vonmises", mu, kappa, size=size)

    def wald(self, mean: Any, scale: Any, size: Any = None) -> Any:
        """Wald (inverse Gaussian) distribution.

        >>> np.random.default_rng(0).wald(3.0, 2.0, size=4).shape
        (4,)
        """
        return self._stream.draw("wald", mean, scale, size=size)

    def weibull(self, a: Any, size: Any = None) -> Any:
        """Standard Weibull distribution with the shape a.

        >>> np.random.default_rng(0).weibull(1.5, size=4).shape
        (4,)
        """
        return self._stream.draw("weibull", a, size=size)

    def zipf(self, a: Any, size: Any = None) -> Any:
        """Zipf distribution: k with a probability proportional to 1 / k^a, a > 1.

        >>> np.random.default_rng(0).zipf(2.5, size=4).shape
        (4,)
        """
        return self._stream.draw("zipf", a, size=size)

    def bytes(self, length: int) -> bytes:
        """Random bytes.

        >>> len(np.random.default_rng(0).bytes(10))
        10
        """
        return self._stream.bytes(length)


def is_bit_generator(x: Any) -> bool:
    """Whether it is one, of NumPy's or another library's."""
    return hasattr(x, "capsule") and not isinstance(x, Distributions)

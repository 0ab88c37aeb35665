"""Random numbers: `numpy.random`.

With NumPy installed these are NumPy's own streams, bit for bit, drawn on the host; without it torch draws the common
distributions, and the others raise ImportError. NumPy's bit generators (`PCG64`, `MT19937`, ...) and `SeedSequence`
are NumPy's classes.
"""

from __future__ import annotations

import sys
from typing import Any

from npdec._core import absent
from npdec._random.generator import Generator, default_rng
from npdec._random.legacy import (
    NUMPY_CLASSES,
    RandomState,
    get_bit_generator,
    legacy,
    numpy_class,
    ranf,
    sample,
    seed,
    set_bit_generator,
)

__all__ = [
    "Generator",
    "RandomState",
    "beta",
    "binomial",
    "bytes",
    "chisquare",
    "choice",
    "default_rng",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "get_bit_generator",
    "get_state",
    "gumbel",
    "hypergeometric",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "random",
    "random_integers",
    "random_sample",
    "ranf",
    "rayleigh",
    "sample",
    "seed",
    "set_bit_generator",
    "set_state",
    "shuffle",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
    "triangular",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]

beta = legacy.beta
binomial = legacy.binomial
bytes = legacy.bytes
chisquare = legacy.chisquare
choice = legacy.choice
dirichlet = legacy.dirichlet
exponential = legacy.exponential
f = legacy.f
gamma = legacy.gamma
geometric = legacy.geometric
get_state = legacy.get_state
gumbel = legacy.gumbel
hypergeometric = legacy.hypergeometric
laplace = legacy.laplace
logistic = legacy.logistic
lognormal = legacy.lognormal
logseries = legacy.logseries
multinomial = legacy.multinomial
multivariate_normal = legacy.multivariate_normal
negative_binomial = legacy.negative_binomial
noncentral_chisquare = legacy.noncentral_chisquare
noncentral_f = legacy.noncentral_f
normal = legacy.normal
pareto = legacy.pareto
permutation = legacy.permutation
poisson = legacy.poisson
power = legacy.power
rand = legacy.rand
randint = legacy.randint
randn = legacy.randn
random = legacy.random
random_integers = legacy.random_integers
random_sample = legacy.random_sample
rayleigh = legacy.rayleigh
set_state = legacy.set_state
shuffle = legacy.shuffle
standard_cauchy = legacy.standard_cauchy
standard_exponential = legacy.standard_exponential
standard_gamma = legacy.standard_gamma
standard_normal = legacy.standard_normal
standard_t = legacy.standard_t
triangular = legacy.triangular
uniform = legacy.uniform
vonmises = legacy.vonmises
wald = legacy.wald
weibull = legacy.weibull
zipf = legacy.zipf
_rand = legacy  # the generator behind these functions, by the name that older libraries know


def __getattr__(name: str) -> Any:
    if name == "mtrand":  # the module of NumPy that has the functions above: RandomState, _rand, normal, ...
        return sys.modules[__name__]
    if name == "test":
        raise absent.absent("random.test")
    return numpy_class(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *NUMPY_CLASSES, "mtrand"})

"""SciPy and scikit-learn on npdec's arrays: NumPy's numbers, arrays that come out, and contributions that pass through.

SciPy asks for the namespace of its arguments where SCIPY_ARRAY_API is set (see conftest.py), scikit-learn where
`array_api_dispatch` is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy
import pandas
import pytest
import scipy.cluster
import scipy.differentiate
import scipy.fft
import scipy.integrate
import scipy.ndimage
import scipy.optimize.elementwise
import scipy.signal
import scipy.special
import scipy.stats
import sklearn
from scipy.spatial.transform import Rotation
from sklearn import metrics
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import npdec as np

source = numpy.random.default_rng(0)
ROWS = source.normal(size=(6, 8))
BASE = source.normal(size=(6, 8))

# Computed in the namespace of the argument, so that contributions pass through.
PASSES: dict[str, Any] = {
    "special.softmax": lambda x: scipy.special.softmax(x, axis=1),
    "special.log_softmax": lambda x: scipy.special.log_softmax(x, axis=0),
    "special.logsumexp": lambda x: scipy.special.logsumexp(x, axis=1),
    "special.xlogy": lambda x: scipy.special.xlogy(abs(x), abs(x)),
    "special.rel_entr": lambda x: scipy.special.rel_entr(abs(x), abs(x) + 1),
    "stats.zscore": lambda x: scipy.stats.zscore(x, axis=1),
    "stats.skew": lambda x: scipy.stats.skew(x, axis=1),
    "stats.kurtosis": lambda x: scipy.stats.kurtosis(x, axis=1),
    "stats.gmean": lambda x: scipy.stats.gmean(abs(x), axis=1),
    "stats.hmean": lambda x: scipy.stats.hmean(abs(x), axis=1),
    "stats.moment": lambda x: scipy.stats.moment(x, 3, axis=1),
    "stats.variation": lambda x: scipy.stats.variation(x, axis=1),
    "stats.sem": lambda x: scipy.stats.sem(x, axis=1),
    "stats.tmean": scipy.stats.tmean,
    "signal.fftconvolve": lambda x: scipy.signal.fftconvolve(x, x, axes=1),
    "signal.hilbert": lambda x: scipy.signal.hilbert(x, axis=1),
    "signal.resample": lambda x: scipy.signal.resample(x, 4, axis=1),
    "fft.fft": scipy.fft.fft,
    "fft.rfft": scipy.fft.rfft,
    "fft.fftn": scipy.fft.fftn,
    "fft.fftshift": scipy.fft.fftshift,
    "integrate.trapezoid": lambda x: scipy.integrate.trapezoid(x, axis=1),
    "integrate.cumulative_trapezoid": lambda x: scipy.integrate.cumulative_trapezoid(x, axis=1),
    "integrate.cumulative_simpson": lambda x: scipy.integrate.cumulative_simpson(x, axis=1),
    "optimize.find_minimum": lambda x: (
        scipy.optimize.elementwise.find_minimum(
            lambda t, c: (t - c) ** 2, (0 * x[0] - 9, 0 * x[0], 0 * x[0] + 9), args=(x[0],)
        ).x
    ),
    "differentiate.derivative": lambda x: scipy.differentiate.derivative(lambda t: t**2, x[0]).df,
    "cluster.whiten": scipy.cluster.vq.whiten,
    "rotation.as_matrix": lambda x: Rotation.from_quat(x[:, :4]).as_matrix(),
    "rotation.apply": lambda x: Rotation.from_rotvec(x[:, :3]).apply(x[:, 3:6]),
}
# What SciPy decides at the value, so that the residual need not be the function of the baseline.
FREEZES = {"special.logsumexp": "which element is the largest", "optimize.find_minimum": "the steps of the search"}
# Computed by SciPy on the host: arrays come out, and contributions stay behind with a warning.
ON_THE_HOST: dict[str, Any] = {
    "special.expit": scipy.special.expit,
    "special.gammaln": lambda x: scipy.special.gammaln(abs(x) + 0.1),
    "special.betainc": lambda x: scipy.special.betainc(abs(x), abs(x) + 1, 0 * x + 0.3),
    "signal.detrend": lambda x: scipy.signal.detrend(x, axis=1),
    "fft.dct": scipy.fft.dct,
    "ndimage.gaussian_filter": lambda x: scipy.ndimage.gaussian_filter(x, 1.0),
    "ndimage.zoom": lambda x: scipy.ndimage.zoom(x, 2),
    "cluster.kmeans2": lambda x: scipy.cluster.vq.kmeans2(x, x[:2] * 1, minit="matrix")[0],
    "cluster.linkage": scipy.cluster.hierarchy.linkage,
}
PLAIN: dict[str, Any] = {
    "stats.pearsonr": lambda x: scipy.stats.pearsonr(x, x[::-1], axis=1).statistic,
    "integrate.tanhsinh": lambda x: scipy.integrate.tanhsinh(lambda t: t**2, 0 * x[0], abs(x[0])).integral,
    "stats.rankdata": lambda x: scipy.stats.rankdata(x, axis=1),
    "ndimage.label": lambda x: scipy.ndimage.label(x > 0)[0],
}


def equal(got: Any, want: Any) -> None:
    assert isinstance(got, (np.ndarray, np.generic))
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [*PASSES, *ON_THE_HOST, *PLAIN])
def test_scipy_gives_its_numbers(name):
    f = {**PASSES, **ON_THE_HOST, **PLAIN}[name]
    equal(f(np.array(ROWS)), f(ROWS))


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.filterwarnings("ignore:.*at the baseline it would choose otherwise")
@pytest.mark.filterwarnings("ignore:.*infinite or not a number at the baseline")
def test_contributions_pass_through_scipy(name):
    f = PASSES[name]
    with np.rule(conditions="frozen" if name in FREEZES else None):
        y = f(np.decompose(np.array(ROWS), axis=1, baseline=np.array(BASE)))
    assert y.is_decomposed
    equal(y.value, f(ROWS))
    scale = max(abs(numpy.asarray(part)).max() for part in (y.value, y.residual, y.components))
    assert abs(numpy.asarray(np.completeness(y))).max() <= 1e-10 * scale
    if name not in FREEZES:
        numpy.testing.assert_allclose(numpy.asarray(y.residual), f(BASE), rtol=1e-8, atol=1e-10 * scale)


@pytest.mark.filterwarnings("ignore:.*at the baseline it would choose otherwise")
@pytest.mark.parametrize("name", ON_THE_HOST)
def test_contributions_that_stay_behind_are_warned_of(name):
    x = np.decompose(np.array(ROWS), axis=1)
    with pytest.warns(np.DecompositionWarning, match="drops the contributions"):
        y = ON_THE_HOST[name](x)
    assert not y.is_decomposed


# -- scikit-learn ------------------------------------------------------------------------------------------------------

TABLE = source.normal(size=(40, 5))
CLASSES = (TABLE[:, 0] + 0.3 * TABLE[:, 1] > 0).astype(numpy.int64)
TARGET = TABLE[:, 0] * 2 - TABLE[:, 3] + 1
MEANS = TABLE.mean(0)

# How an estimator is fitted, and what it is asked then; whether its answer is linear in the columns.
ESTIMATORS: dict[str, tuple[Any, str, bool]] = {
    "StandardScaler": (lambda x, c, t: StandardScaler().fit(x), "transform", True),
    "MinMaxScaler": (lambda x, c, t: MinMaxScaler().fit(x), "transform", True),
    "PCA": (lambda x, c, t: PCA(2, svd_solver="full").fit(x), "transform", True),
    "LDA": (lambda x, c, t: LinearDiscriminantAnalysis().fit(x, c), "decision_function", True),
    "LDA, probability": (lambda x, c, t: LinearDiscriminantAnalysis().fit(x, c), "predict_proba", False),
    "Ridge": (lambda x, c, t: Ridge(solver="svd").fit(x, t), "predict", True),
    "GaussianNB": (lambda x, c, t: GaussianNB().fit(x, c), "predict_proba", False),
}
METRICS: dict[str, Any] = {
    "accuracy_score": lambda x, c: metrics.accuracy_score(c, 1 - c),
    "r2_score": lambda x, c: metrics.r2_score(x[:, 0], x[:, 1]),
    "mean_squared_error": lambda x, c: metrics.mean_squared_error(x[:, 0], x[:, 1]),
}


@pytest.fixture(autouse=True)
def _dispatch() -> Iterator[None]:
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_give_their_numbers(name):
    fit, method, _ = ESTIMATORS[name]
    want = getattr(fit(TABLE, CLASSES, TARGET), method)(TABLE)
    fitted = fit(np.array(TABLE), np.array(CLASSES), np.array(TARGET))
    equal(getattr(fitted, method)(np.array(TABLE)), want)


@pytest.mark.parametrize("name", METRICS)
def test_metrics_give_their_numbers(name):
    want = METRICS[name](TABLE, CLASSES)
    assert METRICS[name](np.array(TABLE), np.array(CLASSES)) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_contribution_of_each_column(name):
    """Of a linear answer a column contributes what it changes alone, from the means of the columns."""
    fit, method, is_linear = ESTIMATORS[name]
    answer = getattr(fit(np.array(TABLE), np.array(CLASSES), np.array(TARGET)), method)
    plain = getattr(fit(TABLE, CLASSES, TARGET), method)
    columns = ["age", "weight", "height", "pulse", "sleep"]
    y = answer(np.decompose(np.array(TABLE[:3]), axis=1, baseline=np.array(MEANS), labels=columns))
    assert y.labels == tuple(columns)
    numpy.testing.assert_allclose(numpy.asarray(y.c_sum()), plain(TABLE[:3]), rtol=1e-10)
    if is_linear:
        for i, contribution in enumerate(y.components):
            changed = numpy.tile(MEANS, (3, 1))
            changed[:, i] = TABLE[:3, i]
            alone = plain(changed) - plain(numpy.tile(MEANS, (3, 1)))
            numpy.testing.assert_allclose(numpy.asarray(contribution), alone, atol=1e-10)


# -- SciPy's ufuncs, without SCIPY_ARRAY_API ---------------------------------------------------------------------------

UFUNCS = """
import sys, warnings, numpy, scipy.special, npdec as np

warnings.simplefilter("error")
x, base = numpy.linspace(0.1, 0.9, 5), numpy.linspace(0.8, 0.2, 5)
one = "digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln i0 i0e i1 i1e log1p log_expit log_ndtr logit ndtr"
for name in [*one.split(), "ndtri", "psi", "xlogy", "xlog1py"]:
    f = getattr(scipy.special, name)
    count = f.nin
    y = f(*[np.decompose(np.array(x), baseline=np.array(base))] * count)
    assert y.is_decomposed, name
    assert numpy.array_equal(numpy.asarray(y.value), f(*[x] * count)), name
    assert numpy.array_equal(numpy.asarray(y.residual), f(*[base] * count)), name
    diagonal = numpy.diag(f(*[x] * count) - f(*[base] * count))
    numpy.testing.assert_allclose(numpy.asarray(y.components), diagonal, rtol=1e-10, atol=1e-12, err_msg=name)
    plain = f(*[np.array(x)] * count)
    assert type(plain) is np.ndarray and numpy.array_equal(numpy.asarray(plain), f(*[x] * count)), name
try:
    scipy.special.j0(np.decompose(np.array(x)))
except np.DecompositionWarning:
    print("warned")
"""


@pytest.mark.slow
def test_special_functions_that_torch_has_too():
    environment = {name: text for name, text in os.environ.items() if name != "SCIPY_ARRAY_API"}
    command = [sys.executable, "-c", UFUNCS]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    assert done.stdout == "warned\n", done.stderr


DRAWS = {
    "norm": lambda rng: scipy.stats.norm.rvs(size=4, random_state=rng),
    "gaussian_kde": lambda rng: scipy.stats.gaussian_kde(ROWS[:2]).resample(3, seed=rng),
    "differential_evolution": lambda rng: scipy.optimize.differential_evolution(abs, [(-1, 1)], maxiter=2, rng=rng).x,
    "bootstrap": lambda rng: scipy.stats.bootstrap((ROWS[0],), numpy.mean, n_resamples=9, rng=rng).standard_error,
    "Sobol": lambda rng: scipy.stats.qmc.Sobol(2, seed=rng).random(4),
    "LatinHypercube": lambda rng: scipy.stats.qmc.LatinHypercube(2, seed=rng).random(4),
    "KMeans": lambda rng: KMeans(2, n_init=2, random_state=rng).fit(ROWS).cluster_centers_,
    "train_test_split": lambda rng: train_test_split(ROWS, random_state=rng)[0],
    "pandas": lambda rng: pandas.DataFrame(ROWS).sample(3, random_state=rng),
}


@pytest.mark.parametrize("name", DRAWS)
def test_they_draw_from_generators(name: str) -> None:
    """NumPy's numbers, from a generator of npdec's that goes on where NumPy's does."""
    old = ("KMeans", "train_test_split")  # scikit-learn takes no generators of the new kind
    new = ("Sobol", "LatinHypercube", "bootstrap", "differential_evolution")  # and these parameters no old ones
    for kind in ["default_rng"] * (name not in old) + ["RandomState"] * (name not in new):
        ours, theirs = getattr(np.random, kind)(3), getattr(numpy.random, kind)(3)
        assert numpy.asarray(DRAWS[name](ours)).tolist() == numpy.asarray(DRAWS[name](theirs)).tolist()
        assert ours.normal() == theirs.normal()

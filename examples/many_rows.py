"""A forest over 20,000 rows, streamed: what each column contributes to each, in the memory of one batch.

    python examples/many_rows.py [--rows 20000] [--out columns.png]

The forest tells malignant from benign tumours, by the breast cancer data that scikit-learn bundles. The rows come from
a generator, 100 at a time, as they would from a database: measurements of that data with noise of a tenth of their
spread (a smooth bootstrap). `np.attribution.attribute_rows` explains each batch by the forest's own comparisons, from
the mean patient on, and `np.attribution.summarize` keeps means and a sample of 300 rows, which the picture shows. All
contributions of a row add up to the change of its probability; the peak of the process's memory is said at the end.

It needs scikit-learn and matplotlib.
"""

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import npdec as np

sys.path.insert(0, str(Path(__file__).parent))
from forest import evaluate, written_out  # the trees as arrays, and what they say in NumPy's functions

BATCH = 100


def trees_of(forest):
    """The trees, whose leaves hold the probability of the second class."""

    class Tree:
        def __init__(self, tree):
            self.children_left, self.children_right = tree.children_left, tree.children_right
            self.feature, self.threshold = tree.feature, tree.threshold
            self.value = tree.value[:, 0, 1] / tree.value[:, 0].sum(1)

    return [Tree(estimator.tree_) for estimator in forest.estimators_]


def batches(data, count, seed=1):
    """`count` rows, a batch at a time."""
    draw = numpy.random.default_rng(seed)
    spread = data.std(0) / 10
    for first in range(0, count, BATCH):
        rows = data[draw.integers(len(data), size=min(BATCH, count - first))]
        yield np.array(rows + spread * draw.standard_normal(rows.shape))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--out", default="columns.png")
    options = parser.parse_args()
    bundled = load_breast_cancer()
    forest = RandomForestClassifier(25, max_depth=4, random_state=0).fit(bundled.data, 1 - bundled.target)
    model = written_out(trees_of(forest), 0.0, 1 / len(forest.estimators_))
    arrays = {name: np.array(value) for name, value in model.items()}

    began = time.perf_counter()
    stream = np.attribution.attribute_rows(
        lambda x: evaluate(arrays, x), batches(bundled.data, options.rows), baseline=np.array(bundled.data.mean(0))
    )
    found = np.attribution.summarize(stream, keep=300)
    seconds = time.perf_counter() - began

    names = bundled.feature_names.tolist()
    print(f"{found.count} rows in {seconds:.0f} s; completeness misses {found.largest_error:.0e} at most")
    for i in numpy.argsort(-numpy.asarray(found.mean_magnitude))[:5].tolist():
        print(f"  {names[i]:24} {float(found.mean_magnitude[i]):.4f}")
    draw(found, names, options.out)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(f"written: {options.out}; peak of memory {peak / 1e6:.0f} MB")


def draw(found, names, out):
    """The ten largest columns: a point for each row of the sample."""
    from matplotlib.figure import Figure

    axes = Figure(figsize=(8, 5), layout="constrained").subplots()
    order = numpy.argsort(-numpy.asarray(found.mean_magnitude))[:10][::-1]
    noise = numpy.random.default_rng(0)
    for place, i in enumerate(order.tolist()):
        shares = numpy.asarray(found.sample[:, i])
        axes.scatter(shares, place + noise.uniform(-0.25, 0.25, len(shares)), s=6, alpha=0.5, color="#0072b2")
    axes.axvline(0.0, color="grey", linewidth=0.8)
    axes.set_yticks(range(len(order)), [names[i] for i in order.tolist()])
    axes.set(xlabel="contribution to the probability", title=f"A sample of {len(found.sample)} of {found.count} rows")
    axes.figure.savefig(out, dpi=100)


if __name__ == "__main__":
    main()

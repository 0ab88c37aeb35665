"""
Beside SHAP, Captum and PyDec
=============================

All of these share out a number that a model computes to its inputs. They differ in what they ask of the model, and in
whether the shares add up. What is measured below was measured when this page was built, by the versions that it
prints.

"The SHAP explanations do not sum up to the model's output"
------------------------------------------------------------

That assertion, and the reports of it, are among the most frequent in SHAP's tracker: of a CNN with an LSTM
(`2765 <https://github.com/shap/shap/issues/2765>`__), of an LSTM in torch
(`3949 <https://github.com/shap/shap/issues/3949>`__), of attention over sequences
(`3612 <https://github.com/shap/shap/issues/3612>`__). The usual reason: a tool that hooks ``nn.Module`` objects
replaces the derivative of those modules that it knows (``nn.ReLU``, ``nn.Linear``) and leaves that of all else as it
is. A product of two tensors, a recurrent layer, attention, a softmax that is a function and no module: their
derivatives at one point say nothing of the whole change, and the shares miss it.

npdec hooks nothing. Each *operation* of torch is answered by a rule whose shares add up, so it does not matter
whether it stands in a module. Here is a model of each kind that is reported, with random weights: SHAP's
``DeepExplainer`` and Captum's ``DeepLift`` (both DeepLIFT by hooks), Captum's integrated gradients with its 50 nodes,
PyDec, and npdec.
"""

import contextlib
import datetime
import importlib.metadata
import warnings

import matplotlib.pyplot as plt
import torch
from torch import nn

import npdec as np

warnings.filterwarnings("ignore")  # of the others: npdec's own are errors below
torch.manual_seed(0)
DOUBLE = torch.float64


# %%
# A CNN with an LSTM
# ------------------


class ConvolutionsThenLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv1d(3, 8, 3)
        self.pool = nn.MaxPool1d(2)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        h = self.pool(torch.relu(self.convolution(x))).transpose(1, 2)
        return self.head(self.lstm(h)[0][:, -1])


# %%
# A transformer of a time series, padded, with rotary embeddings
# --------------------------------------------------------------
#
# The first four steps are padding and masked out. Rotary embeddings turn queries and keys by an angle for each step.


class TimeSeriesTransformer(nn.Module):
    def __init__(self, width=16, padding=4):
        super().__init__()
        self.embed, self.query, self.key, self.content = (
            nn.Linear(3, width),
            *(nn.Linear(width, width) for _ in range(3)),
        )
        self.norm, self.head, self.padding = nn.LayerNorm(width), nn.Linear(width, 1), padding

    def turned(self, h):
        steps, half = h.shape[1], h.shape[2] // 2
        rates = 100.0 ** -(torch.arange(half, dtype=h.dtype) / half)
        angle = torch.arange(steps, dtype=h.dtype)[:, None] * rates
        a, b = h[..., :half], h[..., half:]
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)

    def forward(self, x):
        h = self.embed(x.transpose(1, 2))
        scores = self.turned(self.query(h)) @ self.turned(self.key(h)).transpose(1, 2) / h.shape[2] ** 0.5
        padded = torch.arange(h.shape[1]) < self.padding
        h = h + torch.softmax(scores.masked_fill(padded, -torch.inf), -1) @ self.content(h)
        return self.head(self.norm(h)[:, -1])


# %%
# A softmax at the end
# --------------------
#
# A classifier that returns probabilities, of which one is explained.


class Probabilities(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(48, 32), nn.Tanh(), nn.Linear(32, 4))

    def forward(self, x):
        return torch.softmax(4 * self.layers(x), -1)[:, :1]


MODELS = {
    "CNN with LSTM": ConvolutionsThenLSTM,
    "time-series transformer": TimeSeriesTransformer,
    "softmax": Probabilities,
}

# %%
# The tools
# ---------
#
# Each gets a model, an input (1, 3, 16) and a baseline of the same shape, and returns the shares.


def by_npdec(model, x, r):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return np.attribute(lambda x: model(x)[0, 0], x, baseline=r).attribution


def by_shap(model, x, r):
    import shap

    return shap.DeepExplainer(model, r).shap_values(x, check_additivity=False)


def by_deeplift(model, x, r):
    from captum.attr import DeepLift

    return DeepLift(model).attribute(x, r)


def by_integrated_gradients(model, x, r):
    from captum.attr import IntegratedGradients

    return IntegratedGradients(model).attribute(x, r)


def by_pydec(model, x, r):
    import pydec

    parts = torch.diag((x - r).flatten()).reshape(-1, *x.shape)
    return model(pydec.as_composition(parts, r)).components[:, 0, 0]


TOOLS = {
    "SHAP DeepExplainer": by_shap,
    "Captum DeepLift": by_deeplift,
    "Captum IntegratedGradients": by_integrated_gradients,
    "PyDec": by_pydec,
    "npdec": by_npdec,
}

# %%
# What the shares miss
# --------------------
#
# In each cell: what f(x) − f(baseline) − Σ shares is, as a part of f(x) − f(baseline), in double precision. 0 is
# complete, 100% means that as much is missing as was to be shared.


def missing(tool, model, x, r):
    """The part of the change that the shares miss, or why there are none."""
    with torch.no_grad():
        change = float(model(x)[0, 0] - model(r)[0, 0])
    try:
        shares = tool(model, x, r)
    except ImportError:
        return "not installed"
    except Exception as error:
        print(f"{tool.__name__}, {type(model).__name__}: {str(error).splitlines()[0][:90]}")
        return type(error).__name__
    return abs(change - float(torch.as_tensor(shares).sum())) / abs(change)


table = {}
for name, make in MODELS.items():
    torch.manual_seed(1)
    model = make().to(DOUBLE).eval()
    x, r = torch.randn(1, 3, 16, dtype=DOUBLE), torch.zeros(1, 3, 16, dtype=DOUBLE)
    table[name] = {tool: missing(run, model, x, r) for tool, run in TOOLS.items()}

print(f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}", end="")
for package in ("torch", "shap", "captum", "pydec"):
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        print(f", {package} {importlib.metadata.version(package)}", end="")
print("\n\n" + " " * 28 + "".join(f"{name:>25}" for name in table))
for tool in TOOLS:
    cells = [table[name][tool] for name in table]
    print(f"{tool:28}" + "".join(f"{c if isinstance(c, str) else format(c, '.1e'):>25}" for c in cells))

# %%
# npdec's warnings were errors while it ran. It misses what rounding leaves:

assert all(row["npdec"] < 1e-12 for row in table.values())

colours = dict(zip(TOOLS, ["#d55e00", "#e69f00", "#56b4e9", "#999999", "#0072b2"], strict=True))
figure, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
for j, tool in enumerate(TOOLS):
    for i, name in enumerate(table):
        cell = table[name][tool]
        place = i + 0.16 * (j - 2)
        if isinstance(cell, str):
            axes.text(place, 2e-17, cell, rotation=90, ha="center", va="bottom", fontsize=7, color="0.35")
        else:
            axes.bar(place, max(cell, 2e-17), width=0.15, color=colours[tool], label=tool if i == 0 else None)
axes.set_yscale("log")
axes.set_ylim(1e-17, 10)
axes.set_xticks(range(len(table)), list(table))
axes.set_ylabel("part of the change\nthat is missing")
axes.axhline(1, color="0.3", linewidth=0.8)
axes.legend(frameon=False, fontsize=8, ncols=1, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# Your own model
# --------------
#
# If the assertion is raised for a model of yours, these lines say what npdec makes of it. ``found.error`` is what is
# missing.

model = ConvolutionsThenLSTM().to(DOUBLE).eval()
x = torch.randn(1, 3, 16, dtype=DOUBLE)
found = np.attribute(lambda x: model(x)[0, 0], x, baseline=0.0)
print("value", float(found.value), "baseline", float(found.residual), "missing", float(found.error))

# %%
# A sample of backgrounds, as SHAP's explainers take, is ``baselines=``: the shares are averaged, and add up to the
# mean change.

background = torch.randn(10, 1, 3, 16, dtype=DOUBLE)
found = np.attribute(lambda x: model(x)[0, 0], x, baselines=background)
print("value", float(found.value), "mean of the background", float(found.residual), "missing", float(found.error))

# %%
# What else differs
# -----------------
#
# .. list-table::
#    :header-rows: 1
#    :widths: 24 19 19 19 19
#
#    * -
#      - npdec
#      - SHAP
#      - Captum
#      - PyDec
#    * - shares
#      - Aumann–Shapley of each operation
#      - Shapley values, estimated or by the kind of model
#      - many methods
#      - a rule for each function
#    * - models
#      - NumPy code and torch, unedited
#      - any function (sampled), trees, torch and TensorFlow modules
#      - torch modules
#      - torch functions on its compositions
#    * - attributes
#      - any array in the program
#      - the output
#      - the output, layers, neurons
#      - any tensor in the program
#    * - Shapley values
#      - exact to 16 inputs or sampled (``method="shapley"``)
#      - yes
#      - sampled
#      - no
#    * - pictures
#      - matplotlib by hand, ``explain --plot``
#      - many
#      - some
#      - no
#
# Shapley values of whole models are another answer than the law's: they ask what a model gives when an input is
# absent, in every company; the law asks what each input did along one path. They agree for products of two, and for
# models that add up functions of single inputs. :py:func:`np.testing.faithfulness <npdec.testing.faithfulness>`
# measures how far any attribution is from them.
#
# Completeness of 77 unedited models of the transformers library is in :doc:`/models`: those that compute in double
# precision throughout miss 7e-15 of the largest number at most.
#
# Cost is measured by ``benchmarks/decomposition.py``, which prints npdec's time beside those of PyDec and Captum's
# DeepLift on four networks.

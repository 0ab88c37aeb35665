"""
npdec beside SHAP, Captum and PyDec
===================================

All four divide a model's output among its inputs. They differ in what they require of the model, and in whether the
contributions add up. This page measures that on three models. The numbers were measured when the page was built, with
the versions that it prints.

"The SHAP explanations do not sum up to the model's output"
------------------------------------------------------------

This assertion is among the most frequent reports in SHAP's tracker, for example for a CNN with an LSTM (`2765
<https://github.com/shap/shap/issues/2765>`__), an LSTM in torch (`3949 <https://github.com/shap/shap/issues/3949>`__)
and attention over sequences (`3612 <https://github.com/shap/shap/issues/3612>`__). Others are 1550, 2785, 2874, 2894,
3274, 3476, 3477 and 3881. The usual reason is that the tool hooks ``nn.Module`` objects. It replaces the derivatives of
the modules it knows (``nn.ReLU``, ``nn.Linear``) and leaves all others as they are. For a product of two tensors, a
recurrent layer, attention, or a softmax called as a function, the derivative at one point does not describe the whole
change, and the contributions miss it.

npdec hooks nothing. It has a rule for each *operation* of torch whose contributions add up, whether or not the
operation is in a module. Below is one model of each reported kind, with random weights, explained by SHAP's
``DeepExplainer`` and Captum's ``DeepLift`` (both implement DeepLIFT with hooks), Captum's integrated gradients with 50
nodes, PyDec, and npdec."""

import contextlib
import datetime
import importlib.metadata
import warnings

import matplotlib.pyplot as plt
import torch
from torch import nn

import npdec as np

warnings.filterwarnings("ignore")  # the other tools' warnings; npdec's are errors below
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
# A time-series transformer with padding and rotary embeddings
# ------------------------------------------------------------
#
# The first four steps are padding and masked out. Rotary embeddings rotate queries and keys by an angle that depends on
# the step.


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
# A classifier that returns probabilities. One of them is explained.


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
# Each tool gets a model, an input of shape (1, 3, 16) and a baseline of the same shape, and returns the contributions.


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
# What the contributions miss
# ---------------------------
#
# Each cell is \|f(x) − f(baseline) − Σ contributions\| / \|f(x) − f(baseline)\|, in double precision. 0 means complete,
# and 1 means that as much is missing as there was to divide.


def missing(tool, model, x, r):
    """The part of the change that the contributions miss, or why there are none."""
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
# npdec ran with its warnings as errors. What it misses is rounding:

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
axes.set_ylabel("missing part\nof the change")
axes.axhline(1, color="0.3", linewidth=0.8)
axes.legend(frameon=False, fontsize=8, ncols=1, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# Your own model
# --------------
#
# If SHAP raises this assertion for your model, try these lines. ``found.error`` is what is missing.

model = ConvolutionsThenLSTM().to(DOUBLE).eval()
x = torch.randn(1, 3, 16, dtype=DOUBLE)
found = np.attribute(lambda x: model(x)[0, 0], x, baseline=0.0)
print("value", float(found.value), "baseline", float(found.residual), "missing", float(found.error))

# %%
# To compare with a sample of backgrounds, as SHAP's explainers do, pass ``baselines=``. The contributions are averaged,
# and add up to the mean change.

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
#    * - Method
#      - the Aumann–Shapley value of each operation; others for comparison
#      - Shapley values, sampled or specific to a kind of model
#      - many
#      - a rule for each function
#    * - Models
#      - NumPy code and torch, unedited; scikit-learn's by their arrays
#      - any function (sampled), trees, torch and TensorFlow modules
#      - torch modules
#      - torch functions on its compositions
#    * - Attributes
#      - any array in the program
#      - the output
#      - the output, layers, neurons
#      - any tensor in the program
#    * - Shapley values
#      - exact up to 16 inputs, or sampled (``method="shapley"``)
#      - yes
#      - sampled
#      - no
#    * - Plots
#      - :doc:`eight kinds </guides/plots>`, and SHAP's with ``to_shap()``
#      - many
#      - some
#      - no
#
# Shapley values of a whole model answer another question than npdec's law. They ask what the model gives without an
# input, averaged over all sets of other inputs. The law asks what each input did along one path. Both agree for
# products of two factors, and for sums of functions of single inputs. :py:func:`np.testing.faithfulness
# <npdec.testing.faithfulness>` measures how far an attribution is from exact Shapley values, and :doc:`/methods` has
# the numbers for ten problems and seven methods.
#
# :doc:`/models` measures 77 unedited models of the transformers library. Those that compute in double precision
# throughout miss at most 7e-15 of the largest number.
#
# To compare costs, run ``benchmarks/decomposition.py``, which times npdec, PyDec and Captum's DeepLift on four
# networks.

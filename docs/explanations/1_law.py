r"""
The law, step by step
=====================

This page derives npdec's rules from one question. Most steps have a picture, and code that checks them, first against a
sum over the path that uses none of npdec's rules.

1. The question
---------------

The inputs of a function :math:`f` moved from :math:`r` (the *baseline*) to :math:`x`. The move has parts,

.. math:: x = r + c_1 + c_2 + \cdots + c_n,

one for each input, or group of inputs. How much of :math:`f(x) - f(r)` is due to each part? An answer is a list of
numbers :math:`\varphi_1, \ldots, \varphi_n`, one *contribution* per part. It is **complete** if

.. math:: f(x) = f(r) + \varphi_1 + \varphi_2 + \cdots + \varphi_n .

2. The answer for one operation
-------------------------------

Let all inputs move together, in a straight line, from :math:`r` at :math:`t = 0` to :math:`x` at :math:`t = 1`. At each
point, part :math:`i` moves :math:`f` by the derivative in the direction :math:`c_i`. Its contribution is the integral:

.. math:: \varphi_i = \int_0^1 \nabla f(r + t\,(x - r)) \cdot c_i \; dt .

The sum over :math:`i` is the integral of :math:`\frac{d}{dt} f(r + t(x - r))`, which is :math:`f(x) - f(r)` by the
fundamental theorem of calculus. So the answer is **complete for every function**. It is the Aumann–Shapley value
(*Values of Non-Atomic Games*, 1974).
"""

import matplotlib.pyplot as plt
from matplotlib.patches import Polygon

import npdec as np

BLUE, ORANGE, GREY = "#0072b2", "#e69f00", "0.45"


def along_the_path(f, x, r, parts, steps=4000, h=1e-6):
    """The integral above, by midpoints of the path and central differences of f."""
    t = (np.arange(steps) + 0.5) / steps
    points = r[:, np.newaxis] + t * (x - r)[:, np.newaxis]
    ahead, behind = ([f(points + side * h * c[:, np.newaxis]) for c in parts] for side in (1, -1))
    return np.array([((up - down) / (2 * h)).mean() for up, down in zip(ahead, behind, strict=True)])


def f(x):
    return np.sin(x[0]) * x[1] + x[1] ** 2 / 4


x, r = np.array([1.4, 1.6]), np.array([0.3, 0.4])
parts = np.diag(x - r)
shares = along_the_path(f, x, r, parts)
print("contributions", shares, "sum", float(shares.sum()), "f(x) - f(r)", float(f(x) - f(r)))

a, b = np.meshgrid(np.linspace(0, 2.4, 60), np.linspace(0, 2.0, 60))
t = np.linspace(0, 1, 60)
line = r[:, np.newaxis] + t * (x - r)[:, np.newaxis]
slopes = [np.cos(line[0]) * line[1] * parts[0, 0], (np.sin(line[0]) + line[1] / 2) * parts[1, 1]]
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
axes[0].contourf(a, b, f(np.stack([a, b])), 14, cmap="Greys", alpha=0.6)
axes[0].annotate("", xy=x.tolist(), xytext=r.tolist(), arrowprops={"arrowstyle": "->", "lw": 2})
axes[0].text(0.25, 0.2, "r")
axes[0].text(1.45, 1.62, "x")
axes[0].set(xlabel="first input", ylabel="second input", title="both inputs move together")
axes[1].stackplot(t, *slopes, colors=[BLUE, ORANGE], labels=["by the first", "by the second"])
axes[1].set(xlabel="t", title="areas: contributions; in all: f(x) − f(r)")
axes[1].legend(frameon=False)
plt.show()

# %%
# 3. From one operation to a program
# ----------------------------------
#
# A program is a chain of operations. npdec keeps each intermediate quantity as :math:`x = r + \sum_i c_i`: its *value*,
# its *residual* (the same quantity computed from the baseline), and its *components*. An operation :math:`y = f(u_1,
# \ldots, u_k)` computes these three from those of its arguments:
#
# .. math::
#
#    y_{\text{value}} &= f(x_1, \ldots, x_k) \\
#    y_{\text{residual}} &= f(r_1, \ldots, r_k) \\
#    y_{c_i} &= \sum_j \int_0^1 \frac{\partial f}{\partial u_j}(r + t\,(x - r)) \cdot c_{j,i} \; dt
#
# Each step is complete, so the program is complete. This holds for any operations. The rules that follow are only
# closed forms of the third line, chosen by how an argument enters.

y = f(np.decompose(x, baseline=r, labels=["first", "second"]))
print(y.contributions())
print("off by", float(np.completeness(y)))

# %%
# These contributions differ from those of section 2. There the program was one operation. Here it is five, and each has
# its own straight path. Both are complete, and section 9 says when they agree.
#
# 4. Linear: the operation itself
# -------------------------------
#
# In sums, slices, reshapes and products with constants, the derivative is the same everywhere. So :math:`y_{c_i} =
# f(c_i)`, exactly.
#
# 5. Products: the midpoint of the other factor
# ---------------------------------------------
#
# For :math:`y = a\,b`, the integral of :math:`b` along the path is the mean of its two ends:
#
# .. math:: y_{c_i} = c_{a,i}\,\frac{b_x + b_r}{2} + \frac{a_x + a_r}{2}\,c_{b,i} .
#
# In the picture, the L-shaped region is what the product gained. The corner needs both factors, and the diagonal gives
# half of it to each. This is the Shapley value of a product. Matrix products, ``einsum`` and convolutions are sums of
# products, so the same holds for them.

ar, ax, br, bx = 1.0, 2.6, 0.8, 1.7
figure, axes = plt.subplots(figsize=(5, 3.3), layout="constrained")
for corners, colour, text, place in [
    ([(0, 0), (ar, 0), (ar, br), (0, br)], "0.85", "residual", (0.28, 0.35)),
    ([(ar, 0), (ax, 0), (ax, bx), (ar, br)], BLUE, "by a", (1.9, 0.5)),
    ([(0, br), (ar, br), (ax, bx), (0, bx)], ORANGE, "by b", (0.6, 1.3)),
]:
    axes.add_patch(Polygon(corners, facecolor=colour, edgecolor="white", alpha=0.85))
    axes.text(*place, text)
axes.set(xlim=(0, 2.8), ylim=(0, 1.9), xticks=[ar, ax], yticks=[br, bx])
axes.set_xticklabels(["a at the baseline", "a"])
axes.set_yticklabels(["b at the\nbaseline", "b"])
plt.show()

a, b = np.decompose((np.array(ax), np.array(bx)), baseline=(ar, br), labels=["a", "b"])
print((a * b).components, "areas", (ax - ar) * (br + bx) / 2, (bx - br) * (ar + ax) / 2)

# %%
# 6. Element by element: the secant
# ---------------------------------
#
# If :math:`y = f(u)` maps one number to one number, the integral of the derivative along the path is the slope of the
# secant:
#
# .. math:: y_{c_i} = \frac{f(x) - f(r)}{x - r}\; c_i .
#
# This is DeepLIFT's Rescale rule (Shrikumar, Greenside and Kundaje, ICML 2017), which here follows from the law. If
# :math:`x` is close to :math:`r`, the difference loses digits, and npdec uses the derivative at the midpoint instead.
#
# 7. Conditions: the secant of a step
# -----------------------------------
#
# A comparison is a step, and its derivative is a point mass at the threshold. The integral is again the slope of the
# secant, now of a function that jumps from 0 to 1. So ``x > 0`` carries contributions, and ``np.where(x > 0, a, b)`` is
# a product of the condition and its branches.

u = np.linspace(-2, 3, 300)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
for axis, g, name in [(axes[0], np.tanh, "tanh"), (axes[1], lambda u: (u > 0) * 1.0, "u > 0")]:
    low, high = -0.8, 2.2
    axis.plot(u, g(u), color=GREY)
    ends = [float(g(np.float64(p))) for p in (low, high)]
    axis.plot([low, high], ends, color=BLUE, marker="o", label="secant")
    axis.set(title=name, xticks=[low, high])
    axis.set_xticklabels(["r", "x"])
    axis.legend(frameon=False, loc="upper left")
plt.show()

terms = np.decompose(np.array([1.2, 1.0]), baseline=np.array([-0.5, -0.3]), labels=["first", "second"])
print((terms.sum() > 0).components, np.tanh(terms.sum()).components)

# %%
# The maximum of several elements is *routed*. Along the path the elements are straight lines, and the maximum is their
# upper envelope. Each element passes its contributions on for that part of the path on which it is the largest.

starts, ends = np.array([0.9, 0.2, 0.5]), np.array([0.3, 1.4, 0.9])
t = np.linspace(0, 1, 200)
lines = starts[:, np.newaxis] + t * (ends - starts)[:, np.newaxis]
plt.figure(figsize=(5.5, 3), layout="constrained")
plt.plot(t, lines.T, color="0.7")
leader = lines.argmax(axis=0)
for i, colour in enumerate([BLUE, ORANGE, "#009e73"]):
    plt.plot(t, np.where(leader == i, lines[i], np.nan), color=colour, linewidth=3)
plt.xlabel("t")
plt.title("the envelope of three lines")
plt.show()

decomposed = np.decompose(ends, baseline=starts).max()
led = np.array([float((leader == i).mean()) for i in range(3)])
print(decomposed.components, "by hand", led * (ends - starts))

# %%
# 8. All other functions: quadrature that measures itself
# -------------------------------------------------------
#
# For a function without a closed form, npdec sums Jacobian-vector products over Gauss–Legendre nodes. Completeness
# tells how many nodes are needed: the contributions must add up to :math:`f(x) - f(r)`, which is known. If they do not,
# the path is halved. The picture shows the error for a softmax with a fixed number of nodes.

from numpy.polynomial import legendre

r, x = np.array([0.0, 1.0, -1.0]), np.array([6.0, -3.0, 2.0])


def softmax(u):
    e = np.exp(u - u.max())
    return e / e.sum()


errors = []
for count in range(1, 25):
    nodes, weights = legendre.leggauss(count)
    total = np.zeros(3)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        s = softmax(r + node * (x - r))
        total = total + weight * (s * (x - r) - s * (s * (x - r)).sum())
    errors.append(float(np.abs(total - (softmax(x) - softmax(r))).max()))
plt.figure(figsize=(5.5, 3), layout="constrained")
plt.semilogy(range(1, 25), errors, marker="o", color=BLUE)
plt.xlabel("nodes")
plt.ylabel("what the contributions miss")
plt.show()

marked = np.decompose(x, baseline=r)
print("npdec misses", float(np.abs(np.completeness(softmax(marked))).max()))

# %%
# 9. What follows
# ---------------
#
# - **The numbers do not change.** The same kernel computes the value as for a plain array, bit for bit.
# - **Components do not interact.** Given value and residual, each operation is linear in the components. They can be
#   computed in chunks, or on several devices, with the same answer.
# - **The number of inputs costs nothing in reverse.** One component with a graph and one backward pass give the
#   contributions of all inputs to one number: :py:func:`np.attribute <npdec.attribute>`.
#
# npdec applies the law operation by operation. Integrated gradients (Sundararajan, Taly and Yan, ICML 2017) apply
# section 2 to the whole program at once. Both are complete. They agree if the program is linear, a product, or one
# function of a sum. Otherwise they differ, because the law's path is straight in every intermediate quantity, and that
# of integrated gradients only in the inputs. Here is the program of section 3, both ways:

x, r = np.array([1.4, 1.6]), np.array([0.3, 0.4])
print("law ", np.attribute(f, x, baseline=r).attribution)
print("path", np.attribute(f, x, baseline=r, method="path").attribution, "by definition", shares)

# %%
# **What is frozen.** An order (``sort``, ``argmax``), an index, a size, and Python's own ``if`` follow the value.
# Contributions still add up, but the residual follows the value's choice too. If the baseline would choose otherwise, a
# ``DecompositionWarning`` names the line. :doc:`/decomposition` lists this for each of NumPy's functions, and
# :doc:`/torch` for torch's.
#
# **What counts as one operation.** Models of the Llama family write out the normalisation by the root mean square (``x
# * rsqrt(mean(x**2) + eps)``). npdec treats it as a single operation, because from a baseline of zero the contributions
# of its two factors would be huge and cancel. Division is a product with the reciprocal.

"""What a decomposition costs: npdec beside the plain network, PyDec and Captum, in one process and one thread.

    python benchmarks/decomposition.py [--turns 15] [--check]

A network of three layers (512-512-512-10, float32, batch 64), once with ReLU and once with tanh.

Forward: the output decomposed into 32 components, blocks of 16 input features. The floor is what must be computed in
any case: 32 components, value and residual, as 34 plain passes run as one batch. All run without autograd.
Reverse: the attribution of one output of every example to all inputs, beside one plain forward and backward pass.

All times are ratios to the plain pass of the same turn, medians over the turns; smaller is faster. PyDec and Captum
come with `pip install 'npdec[bench]'`; without them their columns stay empty. With --check the exit code is 1 if npdec
takes longer than the floor, than PyDec, than two passes in reverse, or than Captum's DeepLift.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

import npdec
from timing import ratio, turns

BATCH, WIDTH, OUTPUTS, COMPONENTS = 64, 512, 10, 32
TARGET = 3
MAX_REVERSE = 2.0


def network(activation: Callable[[], torch.nn.Module]) -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Linear(WIDTH, WIDTH),
        activation(),
        torch.nn.Linear(WIDTH, WIDTH),
        activation(),
        torch.nn.Linear(WIDTH, OUTPUTS),
    )


def scale(x: torch.Tensor) -> float:
    return float(x.detach().abs().max())


def report(title: str, seconds: dict[str, list[float]], plain: str, notes: dict[str, str]) -> dict[str, float]:
    """Print a column a line, and return the ratios to `plain`."""
    ratios = {name: ratio(values, seconds[plain]) for name, values in seconds.items()}
    print(f"  {title}")
    for name, values in seconds.items():
        note = notes.get(name, "")
        print(f"    {name:44}{1e3 * median(values):9.2f} ms{ratios[name]:9.2f} x   {note}".rstrip())
    return ratios


def forward(model: torch.nn.Sequential, x: torch.Tensor, repeats: int) -> list[str]:
    """Time the forward decomposition; returns the limits that are not met."""
    blocks = torch.arange(WIDTH) // (WIDTH // COMPONENTS)
    parts = torch.where(blocks == torch.arange(COMPONENTS)[:, None, None], x, 0.0)
    stacked = torch.cat([parts, x[None], torch.zeros_like(x)[None]]).reshape(-1, WIDTH)
    groups = npdec.asarray(blocks)
    array = npdec.asarray(x)
    start = npdec.decompose(array, groups=groups, baseline=0.0).tensor

    calls: dict[str, Callable[[], Any]] = {
        "plain forward": lambda: model(x),
        f"floor: {COMPONENTS + 2} plain passes as one batch": lambda: model(stacked),
        "npdec": lambda: model(start),
        "npdec, with np.decompose of the input": lambda: model(
            npdec.decompose(array, groups=groups, baseline=0.0).tensor
        ),
    }
    plain, floor, own = list(calls)[:3]
    result = npdec.asarray(model(start))
    components = torch.as_tensor(result.components)
    error = scale(torch.as_tensor(result.value) - torch.as_tensor(result.residual) - components.sum(0))
    notes = {own: f"completeness error {error:.0e}"}
    assert torch.equal(torch.as_tensor(result.value), model(x)), "decomposing changed the value"

    other = None
    try:
        import pydec
    except ImportError:
        print("  PyDec is not installed")
    else:
        other = "PyDec 0.3.0"
        composition = pydec.as_composition(parts, torch.zeros_like(x))
        calls[other] = lambda: model(composition)
        difference = scale(model(composition).components - components)
        notes[other] = f"components differ from npdec's by {difference:.0e}"

    ratios = report("forward, 32 components", turns(calls, repeats), plain, notes)
    missed = []
    if ratios[own] > ratios[floor]:
        missed.append(f"npdec {ratios[own]:.1f} is above the floor {ratios[floor]:.1f}")
    if other is not None and ratios[own] >= ratios[other]:
        missed.append(f"npdec {ratios[own]:.1f} is not below PyDec {ratios[other]:.1f}")
    return missed


def reverse(model: torch.nn.Sequential, x: torch.Tensor, repeats: int) -> list[str]:
    """Time the reverse mode; returns the limits that are not met."""

    def gradient() -> torch.Tensor:
        leaf = x.clone().requires_grad_()
        return torch.autograd.grad(model(leaf)[:, TARGET].sum(), leaf)[0]

    def attribute() -> Any:
        return npdec.attribute(lambda inputs: model(inputs)[:, TARGET].sum(), x, baseline=0.0)

    plain, own = "plain forward and backward", "npdec"
    calls: dict[str, Callable[[], Any]] = {plain: gradient, own: attribute}
    answer = attribute()
    attribution = torch.as_tensor(answer.attribution)
    error = scale(torch.as_tensor(answer.value) - torch.as_tensor(answer.residual) - attribution.sum())
    notes = {own: f"completeness error {error:.0e} of {scale(attribution.sum()):.1f}"}

    other = None
    try:
        from captum.attr import DeepLift
    except ImportError:
        print("  Captum is not installed")
    else:
        other = "Captum DeepLift"
        explainer, leaf, baseline = DeepLift(model), x.clone().requires_grad_(), torch.zeros_like(x)
        calls[other] = lambda: explainer.attribute(leaf, baseline, target=TARGET)
        notes[other] = f"attributions differ from npdec's by {scale(calls[other]() - attribution):.0e}"

    ratios = report("reverse, one output", turns(calls, repeats * 4), plain, notes)
    missed = []
    if ratios[own] > MAX_REVERSE:
        missed.append(f"reverse mode {ratios[own]:.2f} is above {MAX_REVERSE}")
    if other is not None and ratios[own] >= ratios[other]:
        missed.append(f"reverse mode {ratios[own]:.2f} is not below DeepLift {ratios[other]:.2f}")
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=15, help="turns of the forward columns (15)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is not met")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    # Captum says at every call that it hooks the activations.
    warnings.filterwarnings("ignore", message="Setting forward, backward hooks", category=UserWarning)

    print(f"{WIDTH}-{WIDTH}-{WIDTH}-{OUTPUTS}, batch {BATCH}, float32, one thread (torch {torch.__version__})")
    missed = []
    for name, activation in (("ReLU", torch.nn.ReLU), ("tanh", torch.nn.Tanh)):
        model, x = network(activation), torch.randn(BATCH, WIDTH)
        print(f"\n{name}")
        with torch.no_grad():
            missed += [f"{name}: {line}" for line in forward(model, x, args.turns)]
        missed += [f"{name}: {line}" for line in reverse(model, x, args.turns)]
    for line in missed:
        print(f"\nlimit not met: {line}")
    return int(args.check and bool(missed))


if __name__ == "__main__":
    sys.exit(main())

"""What a decomposition costs: npdec beside the plain network, PyDec and Captum, in one process and one thread.

    python benchmarks/decomposition.py [--turns 15] [--network mlp] [--components 8 64] [--device cuda] [--check]

Four networks in float32: an MLP (512-512-512-10 with ReLU, batch 64), the CNN of PyTorch's MNIST example (convolutions
of 32 and 64 channels, a pool, two linear layers, batch 4 of 28 by 28 pixels), a small CNN in which pooling weighs more
(16 and 32 channels, a pool after each, batch 16 of 3 by 32 by 32 pixels), and a transformer's block of the sizes of
BERT-mini (attention and MLP with normalisations, batch 2 of 64 tokens of 256 numbers).

Forward: the components of the output, read, where the input has C of them, blocks of its elements. The floor is what is
to be computed if nothing is known of them: C components, value and residual, as C + 2 plain passes run as one batch.
The transformer's block ends in a mean over its tokens, which npdec takes before the last products. All run without
autograd.
Reverse: the attribution of one output of every example to all inputs, beside one plain forward and backward pass.
Path: integrated gradients of the same outputs by 50 nodes, run as one batch.

Times and peaks of memory (what torch's operations make and is there at once) are ratios to the plain pass; times to
that of the same turn, medians over the turns; smaller is better. PyDec and Captum come with `pip install
'npdec[bench]'`; without them their columns stay empty. A column that its library cannot compute says why. With --check
the exit code is 1 if npdec takes longer than the floor, than PyDec, than two passes in reverse, or than DeepLift where
that is complete to a hundredth.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from collections.abc import Callable, Collection
from statistics import median
from typing import Any

import torch
from torch import nn

import npdec
from npdec._core.memory_meter import Meter
from timing import ratio, turns

TARGET, STEPS = 3, 50
MOST_MEMORY = 3e9  # bytes, beyond which a column of PyDec's is left out
MAX_REVERSE = 1.8
COMPLETE = 0.01  # of the change, by which DeepLift may miss it and count

Calls = dict[str, Callable[[], Any]]


class Attention(nn.Module):
    """A block of a transformer, of functions that PyDec has as well."""

    def __init__(self, width: int, outputs: int) -> None:
        super().__init__()
        self.query, self.key, self.values, self.out = (nn.Linear(width, width) for _ in range(4))
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gelu, self.head = nn.GELU(), nn.Linear(width, outputs)

    def forward(self, x: Any) -> Any:
        h = self.before(x)
        scores = torch.bmm(self.query(h), self.key(h).transpose(1, 2)) / x.shape[-1] ** 0.5
        x = x + self.out(torch.bmm(torch.softmax(scores, -1), self.values(h)))
        x = x + self.down(self.gelu(self.up(self.between(x))))
        return self.head(x.mean(1))


def mlp() -> tuple[nn.Module, torch.Tensor]:
    layers = [nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
    return nn.Sequential(*layers), torch.randn(64, 512)


def cnn() -> tuple[nn.Module, torch.Tensor]:
    layers = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    layers += [nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)]
    return nn.Sequential(*layers), torch.randn(4, 1, 28, 28)


def pools() -> tuple[nn.Module, torch.Tensor]:
    layers = [nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(32 * 8 * 8, 10)), torch.randn(16, 3, 32, 32)


def attention() -> tuple[nn.Module, torch.Tensor]:
    return Attention(256, 10), torch.randn(2, 64, 256)


NETWORKS = {"mlp": mlp, "cnn": cnn, "pools": pools, "attention": attention}


def scale(x: torch.Tensor) -> float:
    return float(x.detach().abs().max())


def peak(call: Callable[[], Any]) -> int:
    with Meter() as meter:
        call()
    return meter.peak


def report(
    title: str, calls: Calls, repeats: int, notes: dict[str, str], unmetered: Collection[str] = ()
) -> dict[str, float]:
    """Time the columns and print one a line; returns the ratios of time to the first. The memory of some is not looked
    at."""
    seconds, plain = turns(calls, repeats), next(iter(calls))
    ratios = {name: ratio(values, seconds[plain]) for name, values in seconds.items()}
    least = peak(calls[plain])
    print(f"  {title}{'time':>38}{'':12}memory")
    for name, values in seconds.items():
        memory = f"{'-':>11}" if name in unmetered else f"{peak(calls[name]) / least:9.2f} x"
        line = f"    {name:36}{1e3 * median(values):9.2f} ms{ratios[name]:8.2f} x{memory}   {notes.get(name, '')}"
        print(line.rstrip())
    for name in notes.keys() - calls.keys():
        print(f"    {name:36}{notes[name]}")
    return ratios


def forward(model: nn.Module, x: torch.Tensor, count: int, repeats: int) -> list[str]:
    """Time the forward decomposition into `count` components; returns the limits that are not met."""
    size = x[0].numel()
    blocks = (torch.arange(size, device=x.device) * count // size).reshape(x.shape[1:])
    parts = torch.where(blocks == torch.arange(count, device=x.device).reshape(-1, *[1] * x.ndim), x, 0.0)
    stacked = torch.cat([parts, x[None], torch.zeros_like(x)[None]]).flatten(0, 1)
    start = npdec.decompose(x, groups=blocks)

    plain, floor, own = "plain forward", f"floor: {count + 2} plain passes as one batch", "npdec"
    calls: Calls = {
        plain: lambda: model(x),
        floor: lambda: model(stacked),
        own: lambda: model(start).components,
        "npdec, with np.decompose of the input": lambda: model(npdec.decompose(x, groups=blocks)).components,
    }
    result = model(start)
    error = scale(result.value - result.residual - result.components.sum(0))
    notes = {own: f"completeness error {error:.0e}"}
    assert torch.equal(result.value, model(x)), "decomposing changed the value"

    other = "PyDec 0.3.0"
    try:
        import pydec
    except ImportError:
        print("  PyDec is not installed")
    else:
        few = 4
        trial = pydec.as_composition(parts[:few], torch.zeros_like(x))
        try:
            needed = peak(lambda: model(trial)) / few * count
        except (RuntimeError, TypeError, AttributeError) as refusal:
            needed, notes[other] = 0.0, f"refuses: {str(refusal).splitlines()[0][:60]}"
        if needed > MOST_MEMORY:
            notes[other] = f"left out: would take about {needed / 1e9:.0f} GB"
        elif needed:
            composition = pydec.as_composition(parts, torch.zeros_like(x))
            calls[other] = lambda: model(composition)
            theirs = model(composition)
            error = scale(theirs.c_sum() - model(x))
            difference = scale(theirs.components - result.components)
            notes[other] = f"completeness error {error:.0e}, differs from npdec by {difference:.0e}"

    ratios = report(f"forward, {count:3} components", calls, repeats, notes)
    missed = []
    if ratios[own] > ratios[floor]:
        missed.append(f"npdec {ratios[own]:.1f} is above the floor {ratios[floor]:.1f}")
    if other in ratios and ratios[own] >= ratios[other]:
        missed.append(f"npdec {ratios[own]:.1f} is not below PyDec {ratios[other]:.1f}")
    return [f"forward, {count} components: {line}" for line in missed]


def reverse(model: nn.Module, x: torch.Tensor, repeats: int) -> list[str]:
    """Time the reverse mode and the path; returns the limits that are not met."""
    zeros = torch.zeros_like(x)

    def gradient() -> torch.Tensor:
        leaf = x.clone().requires_grad_()
        return torch.autograd.grad(model(leaf)[:, TARGET].sum(), leaf)[0]

    def total(inputs: torch.Tensor) -> Any:
        return model(inputs)[:, TARGET].sum()

    def many(inputs: torch.Tensor) -> torch.Tensor:
        return model(inputs.flatten(0, 1))[:, TARGET].reshape(len(inputs), -1).sum(1)

    plain, own, path = "plain forward and backward", "npdec", f"npdec, path of {STEPS} nodes"
    calls: Calls = {
        plain: gradient,
        own: lambda: npdec.attribute(total, x),
        path: lambda: npdec.attribute(many, x, method="path", steps=STEPS, batched=True, chunk_size=STEPS),
    }
    change = float(total(x) - total(zeros))
    found = {name: torch.as_tensor(calls[name]().attribution) for name in (own, path)}
    others = {}
    try:
        from captum.attr import DeepLift, IntegratedGradients
    except ImportError:
        print("  Captum is not installed")
    else:
        leaf, lift, gradients = x.clone().requires_grad_(), DeepLift(model), IntegratedGradients(model)
        others["Captum DeepLift"] = lambda: lift.attribute(leaf, zeros, target=TARGET)
        others[f"Captum IG, {STEPS} steps"] = lambda: gradients.attribute(
            leaf, zeros, target=TARGET, n_steps=STEPS, method="gausslegendre"
        )
    notes = {}
    for name, call in others.items():
        try:
            found[name] = call().detach()
        except (RuntimeError, AssertionError) as refusal:
            notes[name] = f"refuses: {str(refusal).splitlines()[0][:60]}"
        else:
            calls[name] = call
    for name, attribution in found.items():
        notes[name] = f"completeness error {abs(change - float(attribution.sum())):.0e} of {abs(change):.1f}"
    for name, like in (("Captum DeepLift", own), (f"Captum IG, {STEPS} steps", path)):
        if name in found:
            notes[name] += f", differs by {scale(found[name] - found[like]):.0e}"

    ratios = report("reverse, one output    ", calls, repeats, notes)
    missed = []
    if ratios[own] > MAX_REVERSE:
        missed.append(f"reverse mode {ratios[own]:.2f} is above {MAX_REVERSE}")
    theirs = found.get("Captum DeepLift", torch.zeros(()))
    complete = abs(change - float(theirs.sum())) < COMPLETE * abs(change)
    if complete and ratios[own] >= ratios["Captum DeepLift"]:
        missed.append(f"reverse mode {ratios[own]:.2f} is not below DeepLift {ratios['Captum DeepLift']:.2f}")
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=15, help="turns of the columns (15; fewer for many components)")
    parser.add_argument("--network", choices=NETWORKS, action="append", help="one of the networks (all)")
    parser.add_argument("--components", type=int, nargs="+", default=[8, 64, 512], help="how many (8 64 512)")
    parser.add_argument("--device", action="append", help="one to measure on (the processor, and an accelerator)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is not met")
    args = parser.parse_args()
    torch.set_num_threads(1)
    # Captum says at every call that it hooks the activations.
    warnings.filterwarnings("ignore", message="Setting forward, backward hooks", category=UserWarning)

    print(f"float32, one thread (torch {torch.__version__})")
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    devices = args.device or ["cpu", *([accelerator.type] if accelerator else [])]
    missed = []
    for device, name in itertools.product(devices, args.network or NETWORKS):
        torch.manual_seed(0)
        model, x = NETWORKS[name]()
        model, x = model.to(device).requires_grad_(False), x.to(device)
        print(f"\n{name}, input {tuple(x.shape)}, on {device}")
        for count in args.components:
            with torch.no_grad():
                missed += [
                    f"{name}: {line}" for line in forward(model, x, count, max(3, args.turns * 8 // max(8, count)))
                ]
        missed += [f"{name}: {line}" for line in reverse(model, x, args.turns)]
    for line in missed:
        print(f"\nlimit not met: {line}")
    return int(args.check and bool(missed))


if __name__ == "__main__":
    sys.exit(main())

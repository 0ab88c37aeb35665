"""What a decomposition costs on several processes: a model of time, memory and traffic, checked against runs here, and
what it says of 70 billion parameters on GPUs. Writes the tables of docs/scale.md.

    python benchmarks/scale.py [--repeats 7]

Counts (operations, bytes) are exact. Times are of processors: ranks that share a core, or a machine with other work,
take longer by the clock. A rank's is beside that of the whole work on the same rank at the same time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

import npdec as np
from npdec._core.memory_meter import Meter

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from forked import forked

# -- the model of the cost ---------------------------------------------------------------------------------------------


class Shape(NamedTuple):
    """A transformer: layers, width, width of the gated layer, heads, tokens, columns of keys and values."""

    layers: int
    width: int
    inner: int
    heads: int
    tokens: int
    keys: int

    @property
    def weights(self) -> int:
        """The weights of its layers, all of them in matrices."""
        return self.layers * self.width * (2 * self.width + 2 * self.keys + 3 * self.inner)


def plain_operations(s: Shape) -> float:
    """Of one plain pass: two for each weight and token, and the two products of attention."""
    return 2 * s.weights * s.tokens + 4 * s.layers * s.tokens**2 * s.width


def pass_operations(s: Shape, chunk: int) -> float:
    """Of one pass with `chunk` components, each a token: value and residual are plain passes, a component is one
    through a matrix of weights, and two through a product of two decomposed arrays. Until the first attention it has
    numbers in its own row only, of which alone products are made."""
    first = s.width * (s.width + 2 * s.keys)
    of_weights = 2 * s.weights + chunk * (s.weights - first)
    return 2 * of_weights * s.tokens + (2 + 2 * chunk) * 4 * s.layers * s.tokens**2 * s.width


def passes(components: int, chunk: int, ranks: int) -> int:
    """That one rank makes one after the other."""
    return math.ceil(math.ceil(components / chunk) / ranks)


def elements(s: Shape, chunk: int, of_scores: float, of_rows: float) -> float:
    """That live at one time: of attention, or of the layers of weights, whichever is more."""
    return (2 + chunk) * max(of_scores * s.heads * s.tokens**2, of_rows * s.tokens * (s.width + s.inner))


# -- runs on this machine ----------------------------------------------------------------------------------------------


class Block(torch.nn.Module):
    """A layer as Llama has them."""

    def __init__(self, s: Shape) -> None:
        super().__init__()
        linear = torch.nn.Linear
        self.heads = s.heads
        self.first, self.second = torch.nn.RMSNorm(s.width), torch.nn.RMSNorm(s.width)
        self.query, self.out = linear(s.width, s.width, bias=False), linear(s.width, s.width, bias=False)
        self.key, self.value = linear(s.width, s.keys, bias=False), linear(s.width, s.keys, bias=False)
        self.gate, self.up = linear(s.width, s.inner, bias=False), linear(s.width, s.inner, bias=False)
        self.down = linear(s.inner, s.width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.first(x)
        q, k, v = (
            p(normed).unflatten(-1, (self.heads, -1)).transpose(0, 1) for p in (self.query, self.key, self.value)
        )
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(0, 1).flatten(1))
        normed = self.second(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


SMALL = Shape(layers=2, width=192, inner=672, heads=4, tokens=64, keys=192)


RUN = SMALL._replace(tokens=96)  # for times


def network(s: Shape) -> Callable[[torch.Tensor], torch.Tensor]:
    torch.manual_seed(0)
    blocks = torch.nn.Sequential(*[Block(s) for _ in range(s.layers)]).eval()
    return lambda x: blocks(x)[-1].square().mean()


def embedded(s: Shape) -> torch.Tensor:
    return torch.randn(s.tokens, s.width, generator=torch.Generator().manual_seed(1))


def attributed(s: Shape, chunk: int, **more: Any) -> Any:
    return np.attribute(network(s), embedded(s), axis=0, mode="forward", chunk_size=chunk, **more)


def counted(call: Callable[[], Any]) -> int:
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def peak_elements(s: Shape, chunk: int) -> float:
    """That one pass holds at most, beside weights and inputs."""
    first = list(range(chunk)) + [chunk] * (s.tokens - chunk)
    net, x = network(s), embedded(s)
    with Meter() as meter:
        np.attribute(net, x, groups=torch.tensor(first)[:, None].expand(x.shape), mode="forward", chunk_size=chunk + 1)
    return meter.peak / x.element_size()


def on_rank(rank: int, ranks: int, folder: Path, chunk: int, repeats: int) -> dict[str, Any]:
    """Seconds of the processor for an attribution alone, while the other ranks do the same, and on the mesh, in turns;
    those of the clock there; the bytes that all ranks send."""
    from torch import distributed
    from torch.distributed.device_mesh import init_device_mesh

    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=ranks)
    mesh = init_device_mesh("cpu", (ranks,))
    moved = [0]
    broadcast = distributed.broadcast

    def counting(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        moved[0] += tensor.nbytes
        return broadcast(tensor, *args, **kwargs)

    net, x = network(RUN), embedded(RUN)
    found: dict[str, Any] = {"alone": [], "shared": [], "clock": []}
    for turn in range(repeats + 1):
        for name, on in (("alone", None), ("shared", mesh)):
            distributed.barrier()
            distributed.broadcast = counting if turn == repeats else broadcast
            began, wall = time.process_time(), time.perf_counter()
            made = np.attribute(net, x, axis=0, mode="forward", chunk_size=chunk, mesh=on)
            found[name].append(time.process_time() - began)
        found["clock"].append(time.perf_counter() - wall)
    return {name: seconds[1:] for name, seconds in found.items()} | {
        "moved": moved[0],
        "shares": made.attribution.tolist(),
    }


def run(ranks: int, chunk: int, repeats: int) -> list[dict[str, Any]]:
    """`on_rank` in as many processes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def one(rank: int) -> None:
            (folder / f"{rank}.json").write_text(json.dumps(on_rank(rank, ranks, folder, chunk, repeats)))

        if any(forked(ranks, one)):
            raise RuntimeError(f"scale: a rank of {ranks} failed")
        return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(ranks)]


def table(head: str, rows: list[list[str]]) -> None:
    names = head.split(" | ")
    print("| " + head + " |\n| --- |" + " ---: |" * (len(names) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def check_operations() -> None:
    rows = []
    for s in (SMALL, SMALL._replace(tokens=128), SMALL._replace(width=384, keys=384, inner=1344)):
        net, x = network(s), embedded(s)
        plain = counted(lambda net=net, x=x: net(x))
        for chunk in (8, 32):
            made = counted(lambda s=s, chunk=chunk: attributed(s, chunk))
            said = passes(s.tokens, chunk, 1) * pass_operations(s, chunk)
            rows.append([
                f"width {s.width}, {s.tokens} tokens, chunks of {chunk}", f"{plain / plain_operations(s):.3f}",
                f"{made / 1e9:.2f}", f"{said / 1e9:.2f}", f"{made / said:.3f}",
            ])  # fmt: skip
        back = counted(lambda net=net, x=x: np.attribute(net, x))
        rows.append([f"width {s.width}, {s.tokens} tokens, in reverse mode", "", f"{back / 1e9:.2f}",
                     f"{3 * plain / 1e9:.2f}", f"{back / (3 * plain):.3f}"])  # fmt: skip
    table("operations | plain: counted / model | counted (10⁹) | model (10⁹) | counted / model", rows)


def check_memory() -> tuple[float, float]:
    """The two coefficients of `elements`, each found where its term is the larger one, and the model beside runs."""
    scores, rows = (
        SMALL._replace(width=64, keys=64, inner=64, tokens=256),
        SMALL._replace(width=512, keys=512, inner=1792),
    )
    of_scores = max(peak_elements(scores, c) / ((2 + c) * scores.heads * scores.tokens**2) for c in (8, 16))
    of_rows = max(peak_elements(rows, c) / ((2 + c) * rows.tokens * (rows.width + rows.inner)) for c in (8, 16))
    lines = []
    for s in (SMALL, SMALL._replace(tokens=192), SMALL._replace(layers=4)):
        for chunk in (8, 24):
            made, said = peak_elements(s, chunk), elements(s, chunk, of_scores, of_rows)
            name = f"{s.layers} layers, {s.tokens} tokens, chunks of {chunk}"
            lines.append([name, f"{made / 1e6:.2f}", f"{said / 1e6:.2f}", f"{made / said:.2f}"])
    table("memory | measured (10⁶ numbers) | model | measured / model", lines)
    print(f"of_scores = {of_scores:.2f}, of_rows = {of_rows:.2f}\n")
    return of_scores, of_rows


def check_time(repeats: int) -> None:
    lines = []
    shares: Any = None
    for ranks in (1, 2, 4):
        found = run(ranks, 8, repeats)
        shares = shares or found[0]["shares"]
        assert all(one["shares"] == shares for one in found), "not the bits of one process"
        alone, there, clock = (max(median(one[name]) for one in found) for name in ("alone", "shared", "clock"))
        ideal = max(median(b * ranks / a for a, b in zip(one["alone"], one["shared"], strict=True)) for one in found)
        results = 4 * (RUN.tokens + 2 * passes(RUN.tokens, 8, 1)) + 2 * len(torch.random.get_rng_state())
        lines.append([
            str(ranks), f"{alone * 1e3:.0f}", f"{there * 1e3:.0f}", f"{ideal:.2f}", f"{clock * 1e3:.0f}",
            str(found[0]["moved"]), str(results),
        ])  # fmt: skip
    table(
        "ranks | whole work, processor (ms) | slowest rank (ms) | over ideal, 1/n | clock (ms) | bytes moved | model",
        lines,
    )
    seconds: dict[int, list[float]] = {4: [], 8: [], 16: []}
    for turn in range(repeats + 1):
        for chunk, times in seconds.items():
            began = time.process_time()
            attributed(RUN, chunk)
            times.extend([time.process_time() - began] * (turn > 0))
    few, some, many = (median(seconds[chunk]) / passes(RUN.tokens, chunk, 1) for chunk in (4, 8, 16))
    each = (many - few) / 12
    fixed = few - 4 * each
    print(f"A pass: {fixed * 1e3:.1f} ms, and {each * 1e3:.2f} ms for each component, from chunks of 4 and of 16.")
    print(f"With chunks of 8 it takes {some / (fixed + 8 * each):.2f} of what that says.\n")


# -- what it says of GPUs ----------------------------------------------------------------------------------------------

LARGE = Shape(layers=80, width=8192, inner=28672, heads=64, tokens=4096, keys=1024)
GPU = {"memory": 80e9, "operations": 989e12 * 0.4, "in a machine": 450e9, "between machines": 50e9}


def extrapolate(of_scores: float, of_rows: float) -> None:
    rows = []
    s = LARGE
    layer = 2 * s.weights / s.layers
    for gpus in (8, 64):
        held = 2 * s.weights / gpus + 2 * layer  # its part of all weights, and two layers gathered
        for chunk in (1, 2, 4, 8, 16):
            size = held + 2 * elements(s, chunk, of_scores, of_rows)
            compute = pass_operations(s, chunk) / GPU["operations"]
            gather = 2 * s.weights * (gpus - 1) / gpus / GPU["in a machine" if gpus <= 8 else "between machines"]
            count = passes(s.tokens, chunk, gpus)
            rows.append([
                f"{gpus} GPUs, chunks of {chunk}", str(count), f"{compute:.1f}", f"{gather:.1f}",
                f"{count * max(compute, gather) / 60:.1f}", f"{count * 2 * s.weights / 1e12:.0f}",
                f"{size / 1e9:.0f}" + ("" if size < GPU["memory"] else " (does not fit)"),
            ])  # fmt: skip
    table(
        "70 billion, 4,096 tokens | passes of a rank | a pass computes (s) | its weights arrive (s) | in all (min) | "
        "a rank receives (TB) | memory (GB)",
        rows,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(f"{os.cpu_count()} cores; weights of the large model: {LARGE.weights / 1e9:.1f} billion in its layers\n")
    check_time(given.repeats)  # before anything starts threads: it forks
    check_operations()
    extrapolate(*check_memory())


if __name__ == "__main__":
    main()

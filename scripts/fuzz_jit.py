"""Random programs of views and writes under np.jit, held to NumPy: numbers, dtypes, and which arrays share memory.

    python scripts/fuzz_jit.py [--programs 1000] [--seed 0] [--backend eager] [--only SEED]

The tests run a few of them (tests/jit_programs.py). `--backend inductor` compiles, which takes seconds for each.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from jit_programs import Drawn, difference
from npdec._jit.jit import compiler


def main() -> int:
    """Print each program that differs, and how many ran."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--only", type=int, help="one program by its seed, which is shown")
    args = parser.parse_args()
    torch.set_num_threads(1)
    failed = compiled = 0

    def backend(graph: torch.fx.GraphModule, tensors: list[torch.Tensor]) -> object:
        nonlocal compiled
        compiled += 1
        if args.backend == "eager":
            return graph.forward
        return compiler("inductor", None, None)(graph, tensors)

    seeds = range(args.seed, args.seed + args.programs) if args.only is None else [args.only]
    for seed in seeds:
        drawn = Drawn(seed)
        try:
            found = difference(drawn, backend=backend)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        if found or args.only is not None:
            failed += bool(found)
            print(f"program {seed}: {found}\n{drawn.source}", flush=True)
    print(f"{len(seeds)} programs, {compiled} graphs, {failed} that differ")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

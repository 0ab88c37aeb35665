"""Every kind of write, key, source and target of tests/writes.py, in both modes and through np.grad and its kin.

The tests draw a few of these programs. `--share 0.1` goes over a tenth of them, drawn with `--seed`. `--torch` goes
over torch's functions instead, whose arguments and results are written to afterwards.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / folder) for folder in ("", "law", "rules")]

from test_reverse_writes import check_derivatives, check_modes  # noqa: E402
from test_torch_reverse_writes import CHECKED, check_operator  # noqa: E402

from writes import KEYS, TARGETS, WHOLE, is_numpys, keyed, keyed_cases, whole  # noqa: E402


def main() -> int:
    """Print every program that fails, and how many ran."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--torch", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    source = random.Random(given.seed)
    programs = [((name, target), whole(target, name)) for name in WHOLE for target in TARGETS]
    programs += [
        ((name, of, key, shape, target), keyed(target, shape, KEYS[shape][key], name, of))
        for target, shape, key, name, of in keyed_cases()
    ]
    tries = [(title, program, check) for title, program in programs for check in (check_modes, check_derivatives)]
    if given.torch:
        tries = [(name, name, lambda name: check_operator(name, 2)) for name in CHECKED]
    run = failed = 0
    for title, program, check in tries:
        if source.random() < given.share and (given.torch or is_numpys(program)):
            run += 1
            try:
                check(program)
            except Exception as error:
                failed += 1
                print(title, type(error).__name__, " ".join(str(error).split())[:160])
    print(f"{run} checks, {failed} failures")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

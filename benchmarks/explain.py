"""`npdec explain` from the start of the interpreter to its end, beside `import torch`: processor time.

The shipped example with one row and with 2,000, whose explanation is to take less than 2 s.

    python benchmarks/explain.py [--repeats 5]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

EXAMPLES = Path(__file__).parents[1] / "examples"


def seconds(*words: str) -> float:
    """Of processor time that Python takes for these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    header, *lines = (EXAMPLES / "diabetes.csv").read_text().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "rows.csv")
        data.write_text("\n".join([header, *(lines * 5)[:2000]]) + "\n")
        explain = ["-m", "npdec", "explain", f"{EXAMPLES}/diabetes.py:predict", "--data", str(data)]
        commands = {
            "import torch": ["-c", "import torch"],
            "explain --row 0": [*explain, "--row", "0", "--baseline", "mean"],
            "explain --row all (2,000)": [*explain, "--row", "all", "--baseline", "mean"],
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(repeats):
            for name, words in commands.items():
                taken[name].append(seconds(*words))
    for name, numbers in taken.items():
        ratio = median(a / b for a, b in zip(numbers, taken["import torch"], strict=True))
        print(f"{name:<28} {median(numbers):6.2f} s  {ratio:5.2f} times import torch")


if __name__ == "__main__":
    main()

"""Write all that is generated: the stubs, and the tables in docs/. `--check` writes nothing, and says what is old.

A new op, tag or rule needs this one command. What only a run of another test suite can tell (docs/conformance.md) has
a script of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPTS = ("stubs.py", "numpy_table.py", "torch_table.py", "decomposition_table.py")


def main(words: list[str]) -> int:
    if words not in ([], ["--check"]):
        sys.stderr.write("usage: python scripts/regenerate.py [--check]\n")
        return 2
    folder = Path(__file__).parent
    started = [subprocess.Popen([sys.executable, folder / script, *words]) for script in SCRIPTS]
    return max(process.wait() != 0 for process in started)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

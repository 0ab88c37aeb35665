"""How much the tests notice: `python scripts/mutants.py --mutants 60 [--seed N] [--tier quick,default,all]`.

A mutant is npdec with one small fault: an operator, a constant or a condition changed, two arguments exchanged, a line
taken out, in one of the files of MODULES. Faults are drawn at random, of each kind as many, and the same for the same
seed. Each is made in a copy of the tree, on which pytest runs until the first failure. A mutant that passes one tier
goes on to the next that is named, and with `--programs N` in the end to N programs of scripts/fuzz_law.py.

Prints for each mutant the fault and the file of tests that caught it, and for each tier how many it caught of all.
What no tier catches may be equivalent, which is to be judged by reading it. `--only 7` runs the seventh alone, `--list`
shows the faults, and words after `--` go to pytest (`-- -n auto`, `-- tests/law/test_law.py`).
"""

from __future__ import annotations

import argparse
import ast
import collections
import difflib
import importlib.util
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# The law, the rules, what turns kernels into functions, indexing, and memory.
MODULES = """
npdec/_law/*.py npdec/_rules/*.py npdec/_decomposed/*.py npdec/_normalizer/*.py npdec/_array/*.py
""".split()
TIERS = {"quick": "quick", "default": "not long", "all": ""}
SECONDS = 3600  # for one mutant in one tier; one that takes longer is caught

SWAPS: dict[type[ast.AST], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*", ast.Pow: "*",
    ast.MatMult: "*", ast.BitAnd: "|", ast.BitOr: "&", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip

# Functions of which the order of arguments does not matter, or the other order is no call.
SYMMETRIC = frozenset("min max minimum maximum equal add multiply hypot isinstance hasattr getattr".split())


class Fault(NamedTuple):
    """One edit of a file: the text from one offset to another becomes `text`."""

    kind: str
    path: Path
    start: int
    end: int
    text: str

    def mutated(self) -> str:
        source = self.path.read_text("utf-8")
        return source[: self.start] + self.text + source[self.end :]

    def __str__(self) -> str:
        before, after = (text.splitlines() for text in (self.path.read_text("utf-8"), self.mutated()))
        lines = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
        line = self.path.read_text("utf-8")[: self.start].count("\n") + 1
        return "\n".join([f"{self.path.relative_to(ROOT)}:{line} ({self.kind})", *(f"    {text}" for text in lines)])


def faults(path: Path) -> Iterator[Fault]:
    """All that can be made in a file."""
    source = path.read_text("utf-8")
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = source.splitlines()

    def offset(line: int, column: int) -> int:  # columns are counted in bytes
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def span(node: ast.AST) -> tuple[int, int]:
        return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def text(node: ast.AST) -> str:
        return source[slice(*span(node))]

    def between(left: ast.AST, right: ast.AST, operator: ast.AST) -> Iterator[Fault]:
        """The operator that stands between two operands, which may be in parentheses."""
        start, end = span(left)[1], span(right)[0]
        found = re.search(
            r"[^\s()\\#]+(?:\s+(?:not|in)\b)?", re.sub(r"#[^\n]*", lambda m: " " * len(m[0]), source[start:end])
        )
        if found and type(operator) in SWAPS:
            yield Fault("operator", path, start + found.start(), start + found.end(), SWAPS[type(operator)])

    def inside(node: ast.AST) -> Iterator[ast.AST]:
        """What runs and computes: no annotations, messages of errors, texts or imports."""
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "msg", "type_comment"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(child, (ast.Raise, ast.JoinedStr, ast.alias)):
                    if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
                        continue
                    yield child
                    yield from inside(child)

    for node in inside(ast.parse(source)):
        if isinstance(node, ast.BinOp):
            yield from between(node.left, node.right, node.op)
        elif isinstance(node, ast.BoolOp):
            yield from between(node.values[0], node.values[1], node.op) if len(node.values) == 2 else ()
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from between(node.left, node.comparators[0], node.ops[0])
        elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
            value = not node.value if isinstance(node.value, bool) else node.value + 1
            yield Fault("constant", path, *span(node), repr(value))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
            yield Fault("operator", path, *span(node), f"({text(node.operand)})")
        if isinstance(node, (ast.If, ast.IfExp, ast.While)):
            yield Fault("condition", path, *span(node.test), f"(not ({text(node.test)}))")
        elif isinstance(node, ast.Call) and len(node.args) >= 2:
            first, second = node.args[:2]
            if not any(isinstance(a, ast.Starred) for a in (first, second)) and text(first) != text(second):
                if ast.unparse(node.func).rpartition(".")[2] in SYMMETRIC:
                    continue
                swapped = text(second) + source[span(first)[1] : span(second)[0]] + text(first)
                yield Fault("arguments", path, span(first)[0], span(second)[1], swapped)
        elif isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.Continue, ast.Break, ast.Delete)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            if node.col_offset:  # of a module's own lines, most are tables
                yield Fault("line", path, *span(node), "pass")


def drawn(number: int, seed: int) -> list[Fault]:
    """So many faults, of each kind as many, spread over the files."""
    paths = sorted({path for pattern in MODULES for path in ROOT.glob(pattern)})
    kinds: dict[str, list[Fault]] = collections.defaultdict(list)
    for path in paths:
        for fault in faults(path):
            kinds[fault.kind].append(fault)
    source = random.Random(seed)
    for found in kinds.values():
        source.shuffle(found)
    made: list[Fault] = []
    for i in range(max(map(len, kinds.values()))):
        for kind in sorted(kinds):
            if i < len(kinds[kind]) and len(made) < number and _compiles(kinds[kind][i]):
                made.append(kinds[kind][i])
    return made


def _compiles(fault: Fault) -> bool:
    try:
        return ast.dump(ast.parse(fault.mutated())) != ast.dump(ast.parse(fault.path.read_text("utf-8")))
    except SyntaxError:
        return False


def caught(tree: Path, fault: Fault, command: list[str]) -> str | None:
    """Run the command on the tree with the fault. What caught it: a file of tests, or how the command ended."""
    place = tree / fault.path.relative_to(ROOT)
    cached = Path(importlib.util.cache_from_source(str(place)))
    place.write_text(fault.mutated(), "utf-8")
    cached.unlink(missing_ok=True)  # it would pass for up to date, made within the same second
    environment = {**os.environ, "PYTHONPATH": str(tree), "CI": "1"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, errors="replace", check=False,
            timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "the time that it took"
    finally:
        shutil.copyfile(fault.path, place)
        cached.unlink(missing_ok=True)
    if not done.returncode:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+?)(?:::| |$)", done.stdout, re.MULTILINE)
    return found[1] if found else f"exit status {done.returncode}: {(done.stderr or done.stdout).strip()[-80:]!r}"


def main(words: list[str]) -> int:
    own, more = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    parser = argparse.ArgumentParser(description="Count the small faults that the tests notice.")
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="run the mutant of this number alone")
    parser.add_argument("--from", type=int, default=1, dest="first", help="go on with the mutant of this number")
    parser.add_argument("--tier", default="quick", help="tiers to pass one after another: quick, default, all")
    parser.add_argument("--programs", type=int, default=0, help="random programs for the mutants that pass the tests")
    parser.add_argument("--list", action="store_true", help="show the faults, and run nothing")
    options = parser.parse_args(own)
    pytest = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider"]
    commands = {tier: [*pytest, "-m", TIERS[tier], *more] for tier in options.tier.split(",")}
    if options.programs:
        fuzz = [sys.executable, "scripts/fuzz_law.py", "--programs", str(options.programs)]
        commands["programs"] = fuzz
    numbered = list(enumerate(drawn(options.mutants, options.seed), 1))
    chosen = [(i, fault) for i, fault in numbered if i >= options.first and options.only in (None, i)]
    if options.list:
        print(*(f"{i} {fault}" for i, fault in chosen), sep="\n")
        return 0
    counts: collections.Counter[str] = collections.Counter()
    by_file: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        names = subprocess.run(
            ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
        )
        for name in names.stdout.decode().split("\0"):
            if name and (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, tree / name)
        for i, fault in chosen:
            print(i, fault, flush=True)
            for tier, command in commands.items():
                by = caught(tree, fault, command)
                if by is not None:
                    counts[tier] += 1
                    by_file[by] += 1
                    print(f"    caught by {tier}: {by}", flush=True)
                    break
            else:
                print("    caught by none", flush=True)
    total = 0
    for tier in commands:
        total += counts[tier]
        print(f"{tier}: {total} of {len(chosen)}")
    print(*(f"{count:4} {name}" for name, count in by_file.most_common()), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

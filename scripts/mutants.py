"""How much the tests notice: `python scripts/mutants.py --mutants 60 [--seed N] [--tiers quick,slow,long]`.

A mutant is npdec with one small fault: an operator, a constant or a condition changed, two arguments exchanged, a line
taken out, in one of the files of MODULES. Faults are drawn at random, of each kind as many, and the same for the same
seed. All is done in a copy of the tree, at the lowest priority.

Each tier runs once with a mark before every fault, which says what tests come by it. Of each mutant only those tests
run, until the first fails: a few of them first, those that come by the fewest other faults. A mutant that passes one
tier goes on to the next, and with `--programs N` in the end to N programs of scripts/fuzz_law.py. What comes by a fault
while npdec is imported, or once for all in a function with a cache, comes by it in every test.

Prints for each mutant the fault and the test that caught it, and for each tier how many it caught, of all and of those
that any caught. What none catches is equivalent or a gap, which is to be judged by reading it: mutants_equivalent.toml
has those that were read, with the reason. What caught a mutant has to pass without it, which is seen in the end.

`--only 7` runs the seventh alone, `--list` shows the faults, and words after `--` go to pytest (`-- -n auto`). What was
seen of the tests is kept in the folder that `--marks` gives, for another run with the same faults.
"""

from __future__ import annotations

import argparse
import ast
import collections
import difflib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# The law, the rules, what turns kernels into functions, indexing, and memory.
MODULES = """
npdec/_law/*.py npdec/_rules/*.py npdec/_decomposed/*.py npdec/_normalizer/*.py npdec/_array/*.py
""".split()
TIERS = {"quick": "quick", "slow": "slow and not long", "long": "long", "all": ""}
SECONDS = 900  # for one mutant in one tier; one that takes longer is caught

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

    def lines(self) -> list[str]:
        """What is taken away and what comes."""
        before, after = (text.splitlines() for text in (self.path.read_text("utf-8"), self.mutated()))
        return [line[0] + line[1:].strip() for line in difflib.ndiff(before, after) if line[0] in "+-"]

    def __str__(self) -> str:
        line = self.path.read_text("utf-8")[: self.start].count("\n") + 1
        words = (f"    {text}" for text in self.lines())
        return "\n".join([f"{self.path.relative_to(ROOT)}:{line} ({self.kind})", *words])


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


def line_of(node: ast.stmt) -> int:
    """The first line of a statement, its decorators included."""
    return min([node.lineno, *(word.lineno for word in getattr(node, "decorator_list", []))])


def statement(fault: Fault) -> tuple[ast.stmt, bool]:
    """The statement before which a mark can stand that is passed whenever the fault is; and whether that is seen in one
    test only of many: outside of functions, and in a function with a cache."""
    source = fault.path.read_text("utf-8")
    line = source[: fault.start].count("\n") + 1
    found: list[ast.stmt] = []
    once = True

    def descend(nodes: list[ast.stmt], chain: bool) -> None:
        """`chain`: these are the `elif` of what is above."""
        nonlocal once
        for node in nodes:
            if not line_of(node) <= line <= (node.end_lineno or node.lineno):
                continue
            if not chain:
                found.append(node)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and line >= node.body[0].lineno:
                once = any("cache" in ast.unparse(word) for word in node.decorator_list)
            for name in ("body", "orelse", "finalbody", "handlers", "cases"):
                for child in getattr(node, name, []):
                    inner = child.body if isinstance(child, (ast.ExceptHandler, ast.match_case)) else [child]
                    elif_ = isinstance(node, ast.If) and name == "orelse" and isinstance(child, ast.If)
                    descend(inner, elif_ and source.splitlines()[child.lineno - 1].lstrip().startswith("elif"))

    descend(ast.parse(source).body, False)
    return found[-1], once


MARKS = '''"""Says which tests come by a fault, and leaves out those that do not."""
import os
import pathlib

seen = set()


def mark(number):
    """A line for each test that comes by: what it starts in other processes says so as well."""
    name = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if (number, name) not in seen:
        seen.add((number, name))
        with open(os.path.join(os.environ["MUTANT_MARKS"], str(number)), "a") as file:
            file.write(name + "\\n")


def pytest_collection_modifyitems(config, items):
    if "MUTANT_TESTS" in os.environ:
        wanted = {name: i for i, name in enumerate(pathlib.Path(os.environ["MUTANT_TESTS"]).read_text().split("\\n"))}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in wanted])
        items[:] = sorted((item for item in items if item.nodeid in wanted), key=lambda item: wanted[item.nodeid])
'''


class Tree:
    """A copy of the working tree, in which the tests run."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        self.root, self.words, self.names = folder / "tree", words, folder / "names"
        listed = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
        for name in names:
            if name and (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, self.root / name)
        (self.root / "mutant_marks.py").write_text(MARKS, "utf-8")

    def run(self, *command: str, seconds: float = SECONDS, **environment: str) -> subprocess.CompletedProcess[str]:
        # Compiled code of a file would pass for up to date where the file is written twice within a second.
        own = {"PYTHONPATH": str(self.root), "CI": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            [sys.executable, *command], cwd=self.root, env={**os.environ, **own, **environment}, capture_output=True,
            text=True, errors="replace", check=False, timeout=seconds,
        )  # fmt: skip

    def pytest(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        quiet = ("-q", "--tb=no", "-p", "no:cacheprovider", "-p", "mutant_marks")
        return self.run("-m", "pytest", *quiet, *words, *self.words, **options)

    def write(self, path: Path, text: str) -> None:
        (self.root / path.relative_to(ROOT)).write_text(text, "utf-8")

    def marked(self, faults: dict[int, Fault], tier: str, folder: Path) -> dict[int, set[str]]:
        """The tests of a tier that come by each fault; "" among them stands for all."""
        if not folder.exists():
            folder.mkdir(parents=True)
            for path in {fault.path for fault in faults.values()}:
                lines = path.read_text("utf-8").splitlines(keepends=True)
                places: list[tuple[int, str]] = []
                for number, fault in faults.items():
                    if fault.path == path:
                        node, once = statement(fault)
                        mark = f'__import__("mutant_marks").mark({number})'
                        places.append((line_of(node), " " * node.col_offset + mark + "\n"))
                        if once:
                            (folder / str(number)).write_text("\n", "utf-8")
                for line, mark in sorted(places, reverse=True):
                    lines.insert(line - 1, mark)
                self.write(path, "".join(lines))
            done = self.pytest("-m", TIERS[tier], seconds=60 * SECONDS, MUTANT_MARKS=str(folder))
            if done.returncode not in (0, 1, 5):  # no failing test, but none that ran
                raise RuntimeError(f"{tier}: pytest ends with {done.returncode}: {done.stderr[-2000:]}")
            print(f"{tier}: {done.stdout.strip().splitlines()[-1]}", flush=True)
            for fault in faults.values():
                self.write(fault.path, fault.path.read_text("utf-8"))
        found = {number: folder / str(number) for number in faults}
        return {
            i: set(path.read_text("utf-8").split("\n")[:-1]) if path.exists() else set() for i, path in found.items()
        }

    def failing(self, tests: list[str], tier: str, seconds: float) -> str | None:
        """The first of the tests that fails, or how else they end; no names stand for all of the tier."""
        chosen = {"MUTANT_TESTS": str(self.names)} if tests else {}
        self.names.write_text("\n".join(tests), "utf-8")
        files = dict.fromkeys(name.partition("::")[0] for name in tests)
        try:
            done = self.pytest("-x", "-m", TIERS[tier], *files, seconds=seconds, **chosen)
        except subprocess.TimeoutExpired:
            return "the time that it took"
        if done.returncode in (0, 5):  # 5: no tests
            return None
        found = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
        return found[1] if found else f"exit status {done.returncode}: {(done.stderr or done.stdout).strip()[-80:]!r}"

    def catching(self, fault: Fault, tier: str, tests: list[str], seconds: float) -> str | None:
        """What catches the mutant, of the tests given in the order in which they tell most."""
        self.write(fault.path, fault.mutated())
        try:
            named = [name for name in tests if name]
            few: list[str] = []
            files: dict[str, int] = collections.Counter()
            for name in named:  # of few files, since what takes long is to load them
                file = name.partition("::")[0]
                if (file in files or len(files) < 5) and files[file] < 40:
                    files[file] += 1
                    few.append(name)
            by = self.failing(few, tier, seconds) if few else None
            rest = [] if "" in tests else [name for name in named if name not in set(few)]
            return self.failing(rest, tier, seconds) if by is None and (rest or "" in tests) else by
        finally:
            self.write(fault.path, fault.path.read_text("utf-8"))


def equivalent(fault: Fault) -> str | None:
    """Why a fault is none, where somebody has read it."""
    for row in tomllib.loads((Path(__file__).parent / "mutants_equivalent.toml").read_text("utf-8"))["mutant"]:
        if row["file"] == str(fault.path.relative_to(ROOT)) and row["fault"] == fault.lines():
            return str(row["reason"])
    return None


def main(words: list[str]) -> int:
    own, more = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    parser = argparse.ArgumentParser(description="Count the small faults that the tests notice.")
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="+", help="run the mutants of these numbers alone")
    parser.add_argument("--tiers", default="quick,slow", help="to pass one after another: quick, slow, long")
    parser.add_argument("--programs", type=int, default=0, help="random programs for the mutants that pass the tests")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="one that takes longer is caught")
    parser.add_argument("--marks", type=Path, help="a folder for what is seen of the tests, with these faults")
    parser.add_argument("--nice", type=int, default=19)
    parser.add_argument("--list", action="store_true", help="show the faults, and run nothing")
    options = parser.parse_args(own)
    numbered = dict(enumerate(drawn(options.mutants, options.seed), 1))
    chosen = {i: fault for i, fault in numbered.items() if options.only is None or i in options.only}
    if options.list:
        print(*(f"{i} {fault}" for i, fault in chosen.items()), sep="\n")
        return 0
    os.nice(options.nice)
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # which the tests of interrupts inherit, in a shell's background too
    with tempfile.TemporaryDirectory() as folder:
        tree, marks = Tree(Path(folder), more), (options.marks or Path(folder) / "marks").absolute()
        left = {i: fault for i, fault in chosen.items() if equivalent(fault) is None}
        for i, fault in chosen.items():
            if i not in left:
                print(f"{i} {fault}\n    equivalent: {equivalent(fault)}", flush=True)
        caught: dict[str, dict[int, str]] = {}
        for tier in options.tiers.split(","):
            caught[tier] = {}
            seen = tree.marked(numbered, tier, marks / tier)
            often = collections.Counter(name for names in seen.values() for name in names)
            for i, fault in list(left.items()):
                tests = sorted(seen[i], key=lambda name: (often[name], name))
                by = tree.catching(fault, tier, tests, options.seconds)
                print(f"{i} {fault}\n    {tier}, {len(tests)} tests: {by or 'passed'}", flush=True)
                if by is not None:
                    caught[tier][i] = by
                    del left[i]
        if options.programs:
            caught["programs"] = {}
            for i, fault in list(left.items()):
                tree.write(fault.path, fault.mutated())
                if tree.run("scripts/fuzz_law.py", "--programs", str(options.programs), seconds=3600).returncode:
                    caught["programs"][i] = "fuzz_law.py"
                    del left[i]
                tree.write(fault.path, fault.path.read_text("utf-8"))
        names = sorted({by for found in caught.values() for by in found.values() if "::" in by})
        if names and (by := tree.failing(names, "all", 60 * options.seconds)):
            print(f"fails without any fault: {by}")
    total, of = 0, sum(map(len, caught.values()))
    for tier, found in caught.items():
        total += len(found)
        print(f"{tier}: {total} of {len(chosen)} mutants, {total} of the {of} that the tests catch")
    print(f"equivalent: {sum(equivalent(fault) is not None for fault in chosen.values())}; passed by all: {list(left)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

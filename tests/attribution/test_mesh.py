"""Attribution on a mesh: processes of one machine find what one process finds, bit for bit, and say what went wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import torch

import mesh_cases
from npdec.attribution import attribute_rows

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[1]


def ranks(case, count, folder, script="mesh_cases.py"):
    """What each rank found, None where it ended without a word, and the exit statuses."""
    known = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS.parent), os.environ.get("PYTHONPATH", "")])}
    run = subprocess.run(
        [sys.executable, str(TESTS / script), case, str(count), str(folder)],
        env=known | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    files = [folder / f"{rank}.json" for rank in range(count)]
    found = [json.loads(file.read_text()) if file.exists() else None for file in files]
    return found, json.loads((folder / "codes.json").read_text()), run.stderr


@pytest.mark.long
@pytest.mark.parametrize(("case", "count"), [("bits", 1), ("bits", 2), ("bits", 4), ("rows", 2)])
def test_the_bits_are_those_of_one_process(case, count, tmp_path):
    found, codes, said = ranks(case, count, tmp_path)
    assert codes == [0] * count, said
    for one in found:
        assert len(one) > 10
        assert [name for name, equal in one.items() if not equal] == []


@pytest.mark.long
def test_what_goes_wrong_on_one_rank_ends_the_call_on_all(tmp_path):
    (first, last), codes, said = ranks("errors", 2, tmp_path)
    assert codes == [0, 0], said
    assert last.pop("fails") == "KeyError: 'no such price'"
    assert (
        "RuntimeError: attribute: rank 1 failed, and no rank returns anything: KeyError: 'no such price'"
        in first.pop("fails")
    )
    assert first == last
    for name, part in {
        "inputs": "ValueError: attribute: the arguments of rank 1 are not those of rank 0",
        "options": "ValueError: attribute: the arguments of rank 1 are not those of rank 0",
        "weights": "ValueError: attribute: the function gave another value when it was called again",
        "weights of a game": "ValueError: attribute: the outputs of rank 1 are not those of rank 0",
        "weights over baselines": "ValueError: attribute: the outputs of rank 1 are not those of rank 0",
        "noise": "ValueError: attribute: the function draws random numbers",
        "rows": "ValueError: attribute_rows: rank 1 has other work than rank 0",
        "weights of rows": "ValueError: attribute_rows: rank 1 has other work than rank 0",
        "later rows": "ValueError: attribute_rows: rank 1 has other work than rank 0",
        "more rows": "ValueError: attribute_rows: rank 1 has other work than rank 0",
        "two dimensions": "ValueError: attribute: work is shared over a mesh of one dimension, not of 2: choose",
    }.items():
        assert part in first.pop(name), name
    assert first == {"works": None, "one of two": None}


@pytest.mark.long
def test_networks_whose_weights_are_sharded(tmp_path):
    found, codes, said = ranks("sharded", 2, tmp_path)
    assert codes == [0, 0], said
    assert found[0] == found[1]
    for name, part in {
        "replicated": "NotImplementedError: torch.distributed.broadcast: what other processes send",
        "mixed": "got mixed torch.Tensor and DTensor",
        "broadcast": "NotImplementedError: torch.distributed.broadcast",
    }.items():
        assert part in (found[0].pop(name) or ""), name
    assert len(found[0]) > 8
    assert all(found[0].values()), found[0]


@pytest.mark.long
def test_decomposed_tensors_are_sent_as_objects(tmp_path):
    found, codes, said = ranks("objects", 2, tmp_path)
    assert codes == [0, 0], said
    assert found == [{"its own": True, "the other's": True, "the same": True, "refused": True}] * 2


@pytest.mark.long
def test_a_lost_rank_is_an_error_on_the_others(tmp_path):
    found, codes, said = ranks("lost", 4, tmp_path)
    assert codes == [0, 0, 0, -9], said
    assert found[3] is None
    for rank, one in enumerate(found[:3]):
        assert f"RuntimeError: attribute: rank {rank} of 4 lost the others: one of them ended" in one["lost"]


def of_parquet(folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    return {path.name: parquet.read_table(path).to_pydict() for path in sorted(folder.glob("*.parquet"))}


def of_zarr(folder):
    zarr = pytest.importorskip("zarr")
    found = {path.name: zarr.open_group(path, mode="r") for path in sorted(folder.glob("part-*"))}
    return {part: {name: array[...].tolist() for name, array in group.arrays()} for part, group in found.items()}


# A batch is two of these syncs in Parquet, and some twenty in Zarr.
@pytest.mark.long
@pytest.mark.parametrize(
    ("count", "name", "read", "writing"),
    [(1, "out", of_parquet, 5), (2, "out.zarr", of_zarr, 70)],
)
def test_a_killed_process_loses_nothing_that_was_written(count, name, read, writing, tmp_path):
    out = tmp_path / name
    read(tmp_path)  # what it needs is there

    def parts():
        return {path.name: path.stat().st_ino for path in sorted(out.glob("part-*"))}

    seen = {}
    for kill in (f"writing {writing}", "computing 4", "never"):
        for old in (tmp_path / "rendezvous", *tmp_path.glob("*.json")):
            old.unlink(missing_ok=True)
        (tmp_path / "kill").write_text(f"{kill}\n{name}")
        found, codes, said = ranks("stored", count, tmp_path)
        before, seen = seen, parts()
        assert {part: seen[part] for part in before} == before
        if kill != "never":
            assert codes == [0] * (count - 1) + [-9], said
            assert all("lost the others" in one["rows"] for one in found[:-1])
            assert len(before) < len(seen) < 14
    assert found == [{"rows": None}] * count
    assert list(seen) == [f"part-{i:05}{'.parquet' if name == 'out' else ''}" for i in range(14)]
    left = {path.name for path in (*out.iterdir(), *tmp_path.glob(".*"))} - seen.keys()
    assert left <= {"zarr.json"}  # nothing half-written
    net, x = mesh_cases.network(), mesh_cases.numbers(40, 9)
    once = list(attribute_rows(lambda a: net(a)[:, 1], x, batch_size=3))
    columns = list(read(out).values())
    for column in ("value", "residual", "error", "attribution"):
        numbers = numpy.asarray(torch.cat([getattr(one, column) for one in once])).tolist()
        assert numbers == [row for part in columns for row in part[column]]  # every bit: no number is NaN or −0
    value = torch.tensor([row for part in columns for row in part["value"]])
    torch.testing.assert_close(value, net(x)[:, 1].detach())

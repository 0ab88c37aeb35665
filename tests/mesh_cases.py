"""What processes of a mesh do, for tests/attribution/test_mesh.py: `python tests/mesh_cases.py CASE RANKS FOLDER`.

The parent imports torch and npdec once, and forks the ranks; each writes what it found into its own file."""

from __future__ import annotations

import datetime
import json
import os
import signal
import sys
import warnings
from pathlib import Path

import torch

import npdec as np
from forked import forked
from npdec.attribution import attribute_rows

F64 = torch.float64


def network():
    torch.manual_seed(0)
    layers = torch.nn.Linear(9, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3)
    return torch.nn.Sequential(*layers).eval()


def numbers(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


CALLS = {
    "chunks": {"mode": "forward", "chunk_size": 2},
    "chunks of one": {"mode": "forward", "chunk_size": 1, "output": 1},
    "one chunk": {"mode": "forward"},
    "outputs": {"mode": "forward", "chunk_size": 4, "output": [2, 0]},
    "coalitions": {"method": "shapley", "samples": "all", "output": 0},
    "orders": {"method": "shapley", "samples": 5, "output": 2},
    "hierarchy": {"method": "shapley", "hierarchy": [[0, 1, 2], [3, [4, 5]], 6, 7, 8], "output": 2},
    "occlusion": {"method": "occlusion", "output": 1},
    "batched": {"method": "occlusion", "output": 1, "batched": True, "chunk_size": 2},
    "baselines": {"baselines": numbers(3, 9, seed=2), "output": 0},
    "baselines in chunks": {"baselines": numbers(5, 9, seed=2), "mode": "forward", "chunk_size": 4},
    "baselines of a path": {"baselines": numbers(5, 9, seed=2), "method": "path", "steps": 5, "output": 0},
    "baselines of a layer": {"baselines": numbers(3, 9, seed=2), "at": "1", "output": 2},
    "coalitions at a layer": {"method": "occlusion", "at": "1", "output": 2},
}


def same(a, b):
    """Whether two results are the same to the last bit."""
    if isinstance(a, torch.Tensor):
        return type(a) is type(b) and torch.equal(a, b)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return a is b is None if a is None else bool((np.asarray(a) == np.asarray(b)).all())


def everything(found):
    return *found, found.error, found.standard_error, found.around


def rows(mesh):
    """Rows on the mesh, of an array, a loader and a generator, are those of one process, in their order."""
    net, x, found = network(), numbers(23, 9), {}
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x), batch_size=5)
    for name, data in {"tensor": x, "array": np.array(x), "loader": loader, "list": [x[:3]], "nothing": []}.items():
        streams = [list(attribute_rows(net, data, output=1, batch_size=4, **on)) for on in ({"mesh": mesh}, {})]
        found[name] = same(*([everything(one) for one in stream] for stream in streams))
        found[f"{name} is"] = [type(a.value) for a in streams[0]] == [type(b.value) for b in streams[1]]
    drawn = []
    stream = attribute_rows(net, (drawn.append(i) or x[i : i + 1] for i in range(9)), output=0, mesh=mesh)
    next(stream)
    found["no more is drawn than the ranks work on"] = len(drawn) == mesh.size()
    return found


def stored(mesh, folder):
    """Rows into a folder. The last rank kills itself in the midst of a batch, or before what it wrote has its name."""
    last, net, done = mesh.get_local_rank() == mesh.size() - 1, network(), [0]
    kill, _, name = (folder / "kill").read_text().partition("\n")
    word, _, count = kill.partition(" ")

    def killed(*_):
        done[0] += 1
        if last and done[0] == int(count):
            os.kill(os.getpid(), signal.SIGKILL)

    def f(a):
        if word == "computing":
            killed()
        return net(a)[:, 1]

    if word == "writing":
        os.fsync = killed
    options = {"batch_size": 3, "out": folder / name, "resume": True, "mesh": mesh}
    return {"rows": error_of(lambda: [*attribute_rows(f, numbers(40, 9), **options)])}


def sharded(mesh):
    """A network whose weights are shared over the same ranks: gathered by its layers it is attributed as a whole one,
    with parts of them it is refused."""
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Replicate, distribute_tensor

    whole, x, found = network(), numbers(9), {}
    calls = {
        "forward": {"mode": "forward", "chunk_size": 4},
        "on the mesh": {"mode": "forward", "chunk_size": 4, "mesh": mesh},  # 3 chunks
        "occlusion": {"method": "occlusion", "output": 1, "mesh": mesh},
        "path": {"method": "path", "output": 1},
        "reverse": {"output": 1},
    }
    for freed in (True, False):
        net = network()
        for module in (net[0], net[3], net):
            fully_shard(module, mesh=mesh, reshard_after_forward=freed)
        for name, options in calls.items():
            made = np.attribute(net, x, **options)
            options = {key: value for key, value in options.items() if key != "mesh"}
            wanted = np.attribute(whole, x, **options)
            found[f"{name} {freed}"] = same([*made, made.around], [*wanted, wanted.around])
            # What is missing is rounding, added up in another order where a network is attributed in steps.
            found[f"{name} {freed}, error"] = bool(np.allclose(made.error, wanted.error, rtol=0, atol=1e-6))
        streams = [list(attribute_rows(a, numbers(5, 9), output=0, batch_size=2, **on)) for a, on in (
            (whole, {}), (net, {"mesh": mesh})
        )] if not freed else []  # fmt: skip
        found[f"rows {freed}"] = same(*([everything(one) for one in stream] for stream in streams)) if streams else True
    marked = np.decompose(x, axis=0)
    found["replicated"] = error_of(lambda: distribute_tensor(marked, mesh, [Replicate()]))
    found["mixed"] = error_of(lambda: marked * distribute_tensor(x, mesh, [Replicate()]))
    found["broadcast"] = error_of(lambda: torch.distributed.broadcast(marked, 0))
    return found


def objects(mesh):
    """Decomposed tensors as objects keep their contributions, in lists and dicts; as tensors they are refused, on each
    rank before it waits for others."""
    rank, send, receive = mesh.get_local_rank(), torch.distributed.send_object_list, torch.distributed.recv_object_list
    mine = np.decompose(numbers(3, seed=rank).to(F64), baseline=0.5)
    gathered, sent = [None, None], [None]
    torch.distributed.all_gather_object(gathered, {"here": [mine]})
    parts = [one["here"][0] for one in gathered]
    total = (parts[0] * parts[1]).sum()
    for turn in range(2):
        sent = [total] if turn == rank else [None]
        (send if turn == rank else receive)(sent, 1 - rank)
    values = [numbers(3, seed=seed).to(F64) for seed in range(2)]
    expected = [(values[i] - 0.5) * (values[1 - i] + 0.5) / 2 for i in range(2)]
    found = {}
    for name, one in {"its own": total, "the other's": sent[0]}.items():
        found[name] = one.labels == (*parts[0].labels, *parts[1].labels)
        torch.testing.assert_close(one.value, (values[0] * values[1]).sum())
        torch.testing.assert_close(one.residual, torch.tensor(0.75, dtype=F64))
        torch.testing.assert_close(one.components, torch.cat(expected))
    found["the same"] = mine.labels == parts[rank].labels
    out, listed = torch.zeros(3, dtype=F64), [mine, mine]
    refused = {
        "scatter": lambda: torch.distributed.scatter(out, None if rank else listed),
        "gather": lambda: torch.distributed.gather(out, None if rank else listed),
        "all_to_all": lambda: torch.distributed.all_to_all(listed, [out, out]),
    }
    said = {name: error_of(call) for name, call in refused.items() if not rank}
    found["refused"] = all(one.startswith("NotImplementedError: torch.distributed.") for one in said.values())
    return found


def error_of(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def bits(mesh):
    """By every call on the mesh what one process finds."""
    net, x, found = network(), numbers(9), {}
    for name, options in CALLS.items():
        made = np.attribute(net, x, mesh=mesh, **options)
        found[name] = same(everything(made), everything(np.attribute(net, x, **options)))
    array = np.array(numbers(7).to(F64))
    f = lambda a: np.exp(a).sum() * a[0]  # noqa: E731
    options = {"mode": "forward", "chunk_size": 2}
    made = np.attribute(f, array, mesh=mesh, **options)
    found["arrays"] = same(tuple(made), tuple(np.attribute(f, array, **options)))
    found["arrays are"] = type(made.attribution) is np.ndarray
    complex_ = np.array(numbers(6).to(torch.complex128) * 1j)
    found["complex"] = same(
        *(tuple(np.attribute(lambda a: (a * a).sum(), complex_, **options, **on)) for on in ({"mesh": mesh}, {}))
    )
    torch.manual_seed(mesh.get_local_rank())  # of which that of rank 0 counts
    noisy = lambda a: net(torch.nn.functional.dropout(a, 0.5))  # noqa: E731
    made, after = np.attribute(noisy, x, mesh=mesh, **options), torch.rand(1)
    torch.manual_seed(0)
    found["noise"] = same(tuple(made), tuple(np.attribute(noisy, x, **options)))
    found["noise after it"] = same(after, torch.rand(1))
    return found


def errors(mesh):
    """What goes wrong on one rank ends the call on all of them, and the mesh works on."""
    rank, net, x = mesh.get_local_rank(), network(), numbers(9)
    last = rank == mesh.size() - 1

    def failing(a):
        if last:
            raise KeyError("no such price")
        return net(a)

    other = network()
    if last:
        other[0].weight.data[0, 0] += 1e-3
    plane = torch.distributed.device_mesh.init_device_mesh("cpu", (mesh.size(), 1), mesh_dim_names=("rows", "others"))
    options = {"mode": "forward", "chunk_size": 2}
    calls = {
        "fails": lambda: np.attribute(failing, x, mesh=mesh, **options),
        "inputs": lambda: np.attribute(net, x + 1e-3 * last, mesh=mesh, **options),
        "options": lambda: np.attribute(net, x, mesh=mesh, mode="forward", chunk_size=2 + last),
        "weights": lambda: np.attribute(other, x, mesh=mesh, **options),
        "weights of a game": lambda: np.attribute(other, x, mesh=mesh, method="occlusion", output=0),
        "weights over baselines": lambda: np.attribute(other, x, mesh=mesh, baselines=numbers(4, 9), output=0),
        "noise": lambda: np.attribute(
            lambda a: net(torch.dropout(a, 0.5, True)).sum(), x, mesh=mesh, method="occlusion"
        ),
        "rows": lambda: [*attribute_rows(net, x[None] + last, output=0, mesh=mesh)],
        "weights of rows": lambda: [*attribute_rows(other, x[None], output=0, mesh=mesh)],
        "later rows": lambda: [*attribute_rows(net, [x[None], x[None] + last], output=0, mesh=mesh)],
        "more rows": lambda: [*attribute_rows(net, [x[None]] * (3 + last), output=0, mesh=mesh)],
        "two dimensions": lambda: np.attribute(net, x, mesh=plane, **options),
        "one of two": lambda: np.attribute(net, x, mesh=plane["rows"], **options),
        "works": lambda: np.attribute(net, x, mesh=mesh, **options),
    }
    return {name: error_of(call) for name, call in calls.items()}


def lost(mesh):
    """The last rank is killed in the midst of its second chunk."""
    calls = []

    def f(a):
        calls.append(0)
        if mesh.get_local_rank() == mesh.size() - 1 and len(calls) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return a.exp()

    return {"lost": error_of(lambda: np.attribute(f, numbers(16), mesh=mesh, mode="forward", chunk_size=2))}


CASES = {case.__name__: case for case in (bits, errors, lost, objects, rows, sharded, stored)}


def rank_of(cases, case, rank, ranks, folder):
    from torch.distributed.device_mesh import init_device_mesh

    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=ranks,
        timeout=datetime.timedelta(seconds=60),
    )  # fmt: skip
    more = (folder,) if case == "stored" else ()
    found = cases[case](init_device_mesh("cpu", (ranks,)), *more)
    (folder / f"{rank}.json").write_text(json.dumps(found))


def main_of(cases):
    case, ranks, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    warnings.simplefilter("ignore")
    codes = forked(ranks, lambda rank: rank_of(cases, case, rank, ranks, folder))
    (folder / "codes.json").write_text(json.dumps(codes))


if __name__ == "__main__":
    main_of(CASES)

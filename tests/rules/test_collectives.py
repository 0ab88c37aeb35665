"""What sends tensors to other processes and devices carries contributions or refuses: none is left behind."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import collective_cases
import npdec as np
from npdec._torch import patches

SENT = re_sent = "torch.*what other processes send has other contributions, or none, and these would be lost"
# Of accelerators: without one torch refuses plain tensors too, or the second of two operations fails.
WITHOUT = {
    "distributed.batch_isend_irecv", "nn.parallel.data_parallel", "nn.parallel.gather", "nn.parallel.parallel_apply",
    "nn.parallel.replicate",
}  # fmt: skip
CARRIED = {
    # sums and pieces
    "distributed.all_reduce": [0], "distributed.nn.functional.all_reduce": [0], "ProcessGroup.allreduce": [0],
    "Backend.allreduce": [0], "ops._c10d_functional.all_reduce": [0],
    **{
        f"distributed._functional_collectives.{name}": [0]
        for name in (
            "all_gather_single", "all_gather_single_autograd", "all_gather_tensor", "all_gather_tensor_autograd",
            "all_reduce", "all_reduce_inplace", "reduce_scatter_single", "reduce_scatter_single_autograd",
            "reduce_scatter_tensor", "reduce_scatter_tensor_autograd", "wait_tensor",
        )
    },
    # DTensors
    "distributed.tensor.distribute_tensor, of this rank": [0], "distributed.tensor.DTensor.from_local": [0],
    "distributed.tensor.DTensor": [0], "distributed.tensor.parallel.parallelize_module": [0],
    "distributed.tensor.experimental.context_parallel": [0],
    "distributed.all_gather_object": [0], "distributed.broadcast_object_list": [0], "distributed.gather_object": [0],
    "distributed.scatter_object_list": [0], "distributed.rpc.rpc_sync": [0], "distributed.rpc.rpc_async": [0],
    "distributed.rpc.remote": [0], "distributed.tensor.experimental.local_map": [0],
    "distributed.fsdp.fully_shard": [0], "distributed.fsdp.FullyShardedDataParallel": [0],
    "nn.parallel.DataParallel": [0], "nn.parallel.DistributedDataParallel": [0],
    "nn.parallel.DistributedDataParallel, unused": [0],
    # written to, by what is received of plain tensors
    "distributed._functional_collectives.all_gather_inplace": [0, 1],
    "distributed._functional_collectives.all_gather_tensor_inplace": [0, 1],
    "distributed._functional_collectives.all_to_all_inplace": [0],
    "distributed._functional_collectives.reduce_scatter_tensor_inplace": [0, 1],
}  # fmt: skip


@pytest.mark.long
def test_every_function_carries_or_refuses(tmp_path):
    run = [sys.executable, "-W", "ignore", collective_cases.__file__, tmp_path / "found.json"]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "found.json").read_text())
    assert not made["unknown"], f"functions that take tensors and have no row in {Path(collective_cases.__file__).name}"
    assert len(made["found"]) > 130
    for name, found in made["found"].items():
        for place, one in enumerate(found):
            expected = {"carried"} if place in CARRIED.get(name, ()) else {"refused"}
            if name in WITHOUT and (place or name.startswith("nn")) and not torch.cuda.is_available():
                expected = {"as plain"}
            assert one in expected, (name, place, one)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:torch.distributed is disabled:UserWarning")  # no_dist=True says that it is meant
def test_a_checkpoint_keeps_contributions(tmp_path):
    from torch.distributed import checkpoint

    saved = np.decompose(torch.tensor([1.0, 2.0]), baseline=0.5) * 2
    checkpoint.save({"a": {"b": [saved]}}, checkpoint_id=tmp_path, no_dist=True)
    loaded = {"a": {"b": [saved * 0]}}
    checkpoint.load(loaded, checkpoint_id=tmp_path, no_dist=True)
    found = loaded["a"]["b"][0]
    assert found.labels == saved.labels
    torch.testing.assert_close(found.value, torch.tensor([2.0, 4.0]))
    torch.testing.assert_close(found.residual, torch.ones(2))
    torch.testing.assert_close(found.components, torch.tensor([[1.0, 0.0], [0.0, 3.0]]))
    with pytest.raises(checkpoint.api.CheckpointException, match="writing decomposed numbers into a tensor"):
        checkpoint.load({"a": {"b": [torch.zeros(2)]}}, checkpoint_id=tmp_path, no_dist=True)


def test_groups_and_devices_refuse_what_holds_contributions():
    decomposed, plain = np.decompose(torch.ones(2)), torch.ones(2)
    group = torch.distributed.ProcessGroup(0, 1)
    calls = {
        "distributed.ProcessGroup.broadcast": lambda: group.broadcast([decomposed]),
        "distributed.ProcessGroup.scatter": lambda: group.scatter([plain], [[plain, decomposed]]),
        "distributed.ProcessGroup.send": lambda: group.send(tensors=[decomposed], dstRank=0, tag=0),
        "nn.parallel.comm.scatter": lambda: torch.nn.parallel.comm.scatter(decomposed, [0]),
        "distributed._broadcast_coalesced": lambda: torch.distributed._broadcast_coalesced(group, [decomposed], 1, 0),
        "ops._c10d_functional.all_reduce": lambda: torch.ops._c10d_functional.all_reduce(decomposed, "max", "0"),
    }
    for name, call in calls.items():
        with pytest.raises(NotImplementedError, match=rf"^torch\.{name}: what other processes send") as error:
            call()
        assert "all_gather_object" in str(error.value)
    assert len([target for target in patches.OF_PROCESSES if patches.is_applied(target)]) > 40


def test_a_graph_is_in_no_pickle():
    """Reverse mode's contributions are a graph, which a copy of the numbers does not have."""
    x = torch.tensor([1.0, 2.0])
    copied = lambda a: (pickle.loads(pickle.dumps(a)) ** 2).sum() + a.sum()  # noqa: E731
    torch.testing.assert_close(np.attribute(copied, x, mode="forward").attribution, torch.tensor([2.0, 6.0]))
    with pytest.warns(np.exceptions.DecompositionWarning, match=r"miss more than a hundredth .* mode='forward'"):
        np.attribute(copied, x)
